//! `evaluate`: predictions against the truth.
use crate::program::{Folder, numbers, run, three_classes, two_classes};

#[test]
fn a_classifier_has_error_accuracy_and_confusion() {
    let folder = Folder::new();
    let (model, data) = (folder.model(), folder.file("test.svm", "+1 1:2 2:0\n-1 1:1 2:0\n-1 1:2 2:0\n"));
    let json = run(&["evaluate", &model, &data, "--json"]).json();
    assert_eq!(json["rows"], 3);
    assert!((json["error"].as_f64().unwrap() - 1.0 / 3.0).abs() < 1e-15);
    assert!((json["accuracy"].as_f64().unwrap() - 2.0 / 3.0).abs() < 1e-15);
    assert_eq!(json["confusion"], serde_json::json!({"labels": ["-1", "+1"], "counts": [[1, 1], [0, 1]]}));
    assert!(json["agreement"].is_null() && json["seconds"].as_f64() > Some(0.0) && json["rows_per_second"].as_f64() > Some(0.0));
    let text = run(&["evaluate", &model, &data]).succeeded().out;
    assert!(text.contains("33.33 % (1 wrong)") && text.contains("true \\ predicted  -1  +1"), "{text}");
}

#[test]
fn labels_are_the_same_when_their_numbers_are() {
    let folder = Folder::new();
    let model = folder.model();
    let data = folder.file("test.svm", "1 1:2 2:0\n-1.0 1:1 2:0\n1.0 1:-2 2:0\n");
    assert_eq!(run(&["evaluate", &model, &data, "--json"]).json()["error"], 0.0);
}

#[test]
fn labels_that_the_model_does_not_know_count_as_errors() {
    let folder = Folder::new();
    let model = folder.model();
    let json = run(&["evaluate", &model, &folder.file("t.svm", "7 1:2 2:0\n+1 1:2 2:0\n"), "--json"]).json();
    assert_eq!((json["error"].as_f64(), &json["confusion"]["labels"]), (Some(0.5), &serde_json::json!(["-1", "+1", "7"])));
    let note = "no row has a label of the model, which are -1, +1;";
    assert!(run(&["evaluate", &model, &folder.file("u.svm", "7 1:2 2:0\n8 1:2 2:0\n")]).succeeded().err.contains(note));
    assert!(!run(&["evaluate", &model, &folder.path("t.svm")]).succeeded().err.contains(note));
}

#[test]
fn a_regressor_has_squared_error_and_r2() {
    let folder = Folder::new();
    let (data, model) = (folder.file("a.csv", numbers(60)), folder.path("m"));
    run(&["train", &data, "-o", &model, "--learner", "ridge", "--lambda", "1e-6", "--gamma", "0.5"]).succeeded();
    let json = run(&["evaluate", &model, &data, "--json"]).json();
    assert!(json["mse"].as_f64().unwrap() < 1e-6 && json["r2"].as_f64().unwrap() > 0.999 && json["mae"].as_f64().unwrap() < 1e-3);
    assert!(json["error"].is_null() && json["confusion"].is_null());
}

#[test]
fn agreement_is_the_part_of_rows_with_the_same_label() {
    let folder = Folder::new();
    let (model, data) = (folder.model(), folder.path("train.svm"));
    let rigid = folder.path("rigid");
    run(&["train", &data, "-o", &rigid, "--kernel", "linear"]).succeeded();
    let other = run(&["evaluate", &model, &data, "--against", &rigid, "--json"]).json();
    let accuracy = run(&["evaluate", &rigid, &data, "--json"]).json()["accuracy"].clone();
    // The first model is right everywhere, so agreeing with it is being right.
    assert_eq!(other["agreement"], accuracy);
    assert_eq!(run(&["evaluate", &model, &data, "--against", &model, "--json"]).json()["agreement"], 1.0);
}

#[test]
fn models_with_columns_in_different_order_can_be_compared() {
    let folder = Folder::new();
    let text = three_classes(60);
    let moved: String =
        text.lines().map(|line| line.split(',').collect::<Vec<_>>()).map(|r| format!("{},{},{}\n", r[1], r[0], r[2])).collect();
    let (data, moved) = (folder.file("a.csv", &text), folder.file("b.csv", moved));
    let (one, two) = (folder.path("one"), folder.path("two"));
    run(&["train", &data, "-o", &one]).succeeded();
    run(&["train", &moved, "-o", &two]).succeeded();
    assert_eq!(run(&["evaluate", &one, &data, "--against", &two, "--json"]).json()["agreement"], 1.0);
}

#[test]
fn rows_without_a_target_cannot_be_evaluated() {
    let folder = Folder::new();
    let model = folder.model();
    run(&["evaluate", &model, &folder.file("a.csv", "1,2\n3,4\n")]).failed(1, "the data have no target to compare with");
    run(&["evaluate", &model, &folder.path("a.csv")]).failed(1, "add the column that it predicts");
    run(&["evaluate", &model, &folder.file("a.svm", "1:1 2:2\n1:0\n")]).failed(1, "the data have no target to compare with");
}

#[test]
fn files_of_many_blocks_are_evaluated_like_those_of_one() {
    let folder = Folder::new();
    let few = folder.file("few.svm", two_classes(300));
    // Blocks are cut every 4 MB; comments make the file long.
    let filler = format!("# {}\n", "x".repeat(4000));
    let long: String = two_classes(3000).lines().map(|line| format!("{line}\n{filler}")).collect();
    let (short, long) = (folder.file("short.svm", two_classes(3000)), folder.file("long.svm", long));
    let (model, other) = (folder.path("m"), folder.path("o"));
    run(&["train", &few, "-o", &model, "--gamma", "0.5", "--c", "0.01", "--probability", "sigmoid"]).succeeded();
    run(&["train", &few, "-o", &other, "--kernel", "linear"]).succeeded();
    let evaluate = |data: &str| run(&["evaluate", &model, data, "--against", &other, "--json"]).json();
    let (one, many) = (evaluate(&short), evaluate(&long));
    assert_eq!(one["rows"], 3000);
    for key in ["rows", "error", "confusion", "agreement"] {
        assert_eq!(one[key], many[key], "{key}");
    }
    for key in ["log_loss", "brier", "calibration_error"] {
        let value = |json: &serde_json::Value| json[key].as_f64().unwrap();
        assert!((value(&one) - value(&many)).abs() < 1e-12, "{key}: {one} {many}");
    }
}
