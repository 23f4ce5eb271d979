//! `train --calibrate`, and what the other commands make of prediction sets.
use crate::program::{Folder, numbers, run, three_classes, two_classes};

/// Some lines of a text, after its header lines.
fn part(text: &str, header: usize, from: usize, to: usize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let kept = lines[..header].iter().chain(&lines[header + from..header + to]);
    kept.map(|line| format!("{line}\n")).collect()
}

#[test]
fn sets_contain_the_label_of_about_as_many_rows_as_was_asked_for() {
    let folder = Folder::new();
    let all = two_classes(900);
    let data = folder.file("two.svm", part(&all, 0, 0, 100));
    let fresh = folder.file("fresh.svm", part(&all, 0, 100, 400));
    let test = folder.file("test.svm", part(&all, 0, 400, 900));
    let model = folder.path("s.k");
    let answer = run(&["train", &data, "-o", &model, "--gamma", "0.5", "--calibrate", &fresh, "--json"]).json();
    assert_eq!(answer["calibration_rows"], 300);
    let ran = run(&["predict", &model, &test, "--values", "set", "--confidence", "0.9"]).succeeded();
    let truth: Vec<String> = part(&all, 0, 400, 900).lines().map(|line| line.split(' ').next().unwrap().to_string()).collect();
    assert_eq!(ran.lines().len(), 500);
    let covered = ran.out.lines().zip(&truth).filter(|(set, label)| set.split(' ').any(|member| member == *label)).count();
    assert!((430..=475).contains(&covered), "{covered}");
    let scores = run(&["evaluate", &model, &test, "--confidence", "0.9", "--json"]).json();
    assert_eq!(scores["sets"]["cover"].as_f64().unwrap(), covered as f64 / 500.0);
    let json = run(&["predict", &model, &test, "--values", "set", "--json"]).json();
    assert_eq!((json["predictions"][0].is_array(), json["columns"].is_null()), (true, true));
    assert!(run(&["inspect", &model]).succeeded().out.contains("calibrated on 300 rows"));
}

#[test]
fn labels_with_spaces_are_in_quotes_and_columns_are_found_by_name() {
    let folder = Folder::new();
    let all = three_classes(600).replace("inner", "the inner");
    let data = folder.file("a.csv", part(&all, 1, 0, 90));
    let fresh = folder.file("fresh.csv", part(&all, 1, 90, 500));
    let model = folder.path("m");
    run(&["train", &data, "-o", &model, "--gamma", "2", "--vectors", "12", "--probability", "softmax", "--calibrate", &fresh]).succeeded();
    let test = folder.file("test.csv", part(&all, 1, 500, 600));
    let ran = run(&["predict", &model, &test, "--values", "set", "--confidence", "0.99"]).succeeded();
    assert!(ran.out.contains("\"the inner\"") && ran.lines().len() == 100, "{}", ran.out);
    assert_eq!(run(&["inspect", &model, "--json"]).json()["sets"]["score"], "probability");
}

#[test]
fn numbers_have_intervals() {
    let folder = Folder::new();
    let all = numbers(500);
    let (data, fresh) = (folder.file("a.csv", part(&all, 0, 0, 60)), folder.file("fresh.csv", part(&all, 0, 60, 300)));
    let (model, test) = (folder.path("m"), folder.file("test.csv", part(&all, 0, 300, 500)));
    run(&["train", &data, "-o", &model, "--learner", "ridge", "--gamma", "0.5", "--lambda", "1", "--calibrate", &fresh]).succeeded();
    let ran = run(&["predict", &model, &test, "--values", "set", "--confidence", "0.8"]).succeeded();
    assert_eq!((ran.lines()[0], ran.lines().len()), ("lower,upper", 201));
    let scores = run(&["evaluate", &model, &test, "--confidence", "0.8", "--json"]).json();
    let cover = scores["sets"]["cover"].as_f64().unwrap();
    assert!((0.72..=0.88).contains(&cover) && scores["sets"]["size"].as_f64().unwrap() > 0.0, "{scores}");
}

#[test]
fn sets_are_left_out_by_compress_unless_they_are_calibrated_again() {
    let folder = Folder::new();
    let all = two_classes(600);
    let data = folder.file("two.svm", part(&all, 0, 0, 100));
    let fresh = folder.file("fresh.svm", part(&all, 0, 100, 400));
    let (model, small) = (folder.path("m"), folder.path("small"));
    run(&["train", &data, "-o", &model, "--gamma", "0.5", "--calibrate", &fresh]).succeeded();
    let compress = |more: &[&str]| run(&[&["compress", &model, "-o", &small, "--vectors", "6", "--data", &data], more].concat());
    assert!(compress(&[]).succeeded().err.contains("the prediction sets of the model belong to its own outputs and are left out"));
    run(&["predict", &small, &fresh, "--values", "set"]).failed(2, "a model without calibration scores");
    assert!(!compress(&["--calibrate", &fresh]).succeeded().err.contains("left out"));
    run(&["predict", &small, &fresh, "--values", "set"]).succeeded();
    compress(&["--calibrate", &data]).failed(1, "100 of 100 calibration rows are training rows");
    let c = folder.path("m.c");
    assert!(run(&["export", &model, "-o", &c, "--to", "c"]).succeeded().err.contains("lost in this format: the prediction sets"));
}

#[test]
fn what_sets_cannot_be_is_reported() {
    let folder = Folder::new();
    let all = two_classes(200);
    let (data, fresh) = (folder.file("a.svm", part(&all, 0, 0, 60)), folder.file("fresh.svm", part(&all, 0, 60, 100)));
    let model = folder.path("m");
    let mixed = folder.file("mixed.svm", part(&all, 0, 50, 100));
    run(&["train", &data, "-o", &model, "--calibrate", &mixed])
        .failed(1, "10 of 50 calibration rows are training rows, the first in row 1");
    run(&["train", &data, "-o", &model, "--learner", "one-class", "--calibrate", &fresh]).failed(2, "--calibrate is for targets");
    run(&["train", &data, "-o", &model, "--calibrate", &fresh]).succeeded();
    let predict = |more: &[&str]| run(&[&["predict", &model, &fresh], more].concat());
    predict(&["--values", "set", "--confidence", "0.99"]).failed(1, "needs at least 99 calibration rows, but the model has 40");
    predict(&["--values", "set", "--confidence", "1"]).failed(2, "confidence is 1, but must be above 0 and below 1");
    predict(&["--confidence", "0.9"]).failed(2, "--confidence is used only with --values set");
    run(&["evaluate", &model, &fresh, "--confidence", "2"]).failed(2, "above 0 and below 1");
}
