//! `predict`: one line for each row.
use std::fs;

use crate::program::{Folder, numbers, run, three_classes, two_classes};

#[test]
fn labels_are_bare_and_print_as_they_came() {
    let folder = Folder::new();
    let (model, data) = (folder.model(), folder.path("train.svm"));
    let ran = run(&["predict", &model, &data]).succeeded();
    let truth: Vec<String> = two_classes(60).lines().map(|line| line.split(' ').next().unwrap().to_string()).collect();
    assert_eq!(ran.lines(), truth);
}

#[test]
fn decisions_stand_under_a_header_and_agree_with_labels() {
    let folder = Folder::new();
    let (model, data) = (folder.model(), folder.path("train.svm"));
    let ran = run(&["predict", &model, &data, "--values", "decision"]).succeeded();
    assert_eq!((ran.lines()[0], ran.lines().len()), ("+1", 61));
    let labels = run(&["predict", &model, &data]).succeeded();
    for (decision, label) in ran.lines()[1..].iter().zip(labels.lines()) {
        assert_eq!(decision.parse::<f64>().unwrap() > 0.0, label == "+1");
    }
}

#[test]
fn several_classes_have_a_column_for_each_pair_or_each_label() {
    let folder = Folder::new();
    let data = folder.file("a.csv", three_classes(60));
    for (how, header) in [("one-vs-one", "inner|middle,inner|outer,middle|outer"), ("one-vs-rest", "inner,middle,outer")] {
        let model = folder.path(how);
        run(&["train", &data, "-o", &model, "--multiclass", how]).succeeded();
        let ran = run(&["predict", &model, &data, "--values", "decision"]).succeeded();
        assert_eq!(ran.lines()[0], header);
        assert!(ran.lines()[1..].iter().all(|line| line.split(',').count() == 3));
        assert!(run(&["predict", &model, &data]).succeeded().lines().iter().all(|label| ["inner", "middle", "outer"].contains(label)));
    }
}

#[test]
fn regression_prints_the_number() {
    let folder = Folder::new();
    let (data, model) = (folder.file("a.csv", numbers(40)), folder.path("m"));
    run(&["train", &data, "-o", &model, "--learner", "ridge", "--lambda", "1e-8", "--gamma", "0.5"]).succeeded();
    let ran = run(&["predict", &model, &data]).succeeded();
    for (line, row) in ran.lines().iter().zip(numbers(40).lines()) {
        let truth: f64 = row.rsplit(',').next().unwrap().parse().unwrap();
        assert!((line.parse::<f64>().unwrap() - truth).abs() < 1e-3);
    }
    assert_eq!(run(&["predict", &model, &data, "--values", "decision"]).succeeded().lines()[0], "value1");
}

#[test]
fn the_target_may_be_absent_and_columns_may_be_moved() {
    let folder = Folder::new();
    let text = three_classes(30);
    let (data, model) = (folder.file("a.csv", &text), folder.path("m"));
    run(&["train", &data, "-o", &model]).succeeded();
    let expected = run(&["predict", &model, &data]).succeeded().out;
    let rows = || text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let without: String = rows().map(|row| format!("{},{}\n", row[0], row[1])).collect();
    let moved: String = rows().map(|row| format!("{},{},{},9\n", row[2], row[1], row[0])).collect();
    let bare: String = rows().skip(1).map(|row| format!("{},{}\n", row[0], row[1])).collect();
    for (name, text) in [("without.csv", without), ("moved.csv", moved.replacen(",9\n", ",extra\n", 1)), ("bare.csv", bare)] {
        assert_eq!(run(&["predict", &model, &folder.file(name, text)]).succeeded().out, expected, "{name}");
    }
    let misnamed = folder.file("misnamed.csv", text.replacen("width", "breadth", 1));
    run(&["predict", &model, &misnamed]).failed(1, "there is no column \"width\", which the model needs");
}

#[test]
fn shorter_and_longer_libsvm_rows_are_handled_and_wrong_tables_are_not() {
    let folder = Folder::new();
    let model = folder.model();
    let ran = run(&["predict", &model, &folder.file("b.svm", "0 1:1\n0 2:1 9:5\n0\n1:2 2:2\n")]).succeeded();
    assert_eq!(ran.lines().len(), 4);
    assert!(ran.err.contains("features up to 9, the model has 2"));
    run(&["predict", &model, &folder.file("b.csv", "1,2,3,4\n")]).failed(1, "the model has 2 features: expected 2 columns");
}

#[test]
fn a_file_takes_the_predictions_whole() {
    let folder = Folder::new();
    let (model, data, out) = (folder.model(), folder.path("train.svm"), folder.path("out.txt"));
    let expected = run(&["predict", &model, &data]).succeeded().out;
    let ran = run(&["predict", &model, &data, "-o", &out]).succeeded();
    assert_eq!((ran.out.as_str(), fs::read_to_string(&out).unwrap()), ("", expected));
    assert!(ran.err.contains("60 predictions written"));
    run(&["predict", &model, &data, "-o", &model]).failed(2, "would be read and overwritten");
    let json = run(&["predict", &model, &data, "-o", &out, "--json"]).json();
    assert_eq!((&json["output"], json["predictions"].is_null()), (&out.into(), true));
}

#[test]
fn json_holds_the_predictions() {
    let folder = Folder::new();
    let (model, data) = (folder.model(), folder.path("train.svm"));
    let labels = run(&["predict", &model, &data, "--json"]).json();
    assert_eq!((labels["rows"].as_u64(), &labels["predictions"][0], &labels["predictions"][1]), (Some(60), &"-1".into(), &"+1".into()));
    let decisions = run(&["predict", &model, &data, "--values", "decision", "--json"]).json();
    assert_eq!((&decisions["columns"][0], decisions["predictions"][0].as_array().unwrap().len()), (&"+1".into(), 1));
}

#[test]
fn probabilities_follow_libsvm() {
    let folder = Folder::new();
    let text = "svm_type c_svc\nkernel_type linear\nnr_class 2\ntotal_sv 2\nrho 0\nlabel 3 1\nprobA -2\nprobB 0.5\nnr_sv 1 1\nSV\n1 1:1 \n-1 1:-1 \n";
    let (model, data) = (folder.file("p.model", text), folder.file("a.svm", "3 1:1\n1 1:-1\n"));
    let ran = run(&["predict", &model, &data, "--values", "probability"]).succeeded();
    assert_eq!(ran.lines()[0], "1,3");
    // The decision of the first row is 2, so P(3) = 1 / (1 + exp(-2 * 2 + 0.5)).
    let row: Vec<f64> = ran.lines()[1].split(',').map(|field| field.parse().unwrap()).collect();
    assert!((row[1] - 1.0 / (1.0 + (-3.5f64).exp())).abs() < 1e-15 && (row[0] + row[1] - 1.0).abs() < 1e-15);
    let three = "svm_type c_svc\nkernel_type linear\nnr_class 3\ntotal_sv 3\nrho 0 0 0\nlabel 1 2 3\nprobA 1 1 1\nprobB 0 0 0\nnr_sv 1 1 1\nSV\n1 1 1:1\n1 1 1:2\n1 1 1:3\n";
    let ran = run(&["predict", &folder.file("three", three), &data, "--values", "probability"]).succeeded();
    assert_eq!(ran.lines()[0], "1,2,3");
    for line in &ran.lines()[1..] {
        assert!((line.split(',').map(|field| field.parse::<f64>().unwrap()).sum::<f64>() - 1.0).abs() < 1e-12);
    }
}

#[test]
fn single_precision_agrees_with_double_to_its_digits() {
    let folder = Folder::new();
    let (model, data) = (folder.model(), folder.path("train.svm"));
    let decisions = |precision: &str| {
        let ran = run(&["predict", &model, &data, "--values", "decision", "--precision", precision]).succeeded();
        ran.lines()[1..].iter().map(|line| line.parse().unwrap()).collect::<Vec<f64>>()
    };
    let (double, single) = (decisions("f64"), decisions("f32"));
    assert_ne!(double, single);
    // The coefficients are at most C = 10 and there are at most 60 of them.
    assert!(double.iter().zip(&single).all(|(a, b)| (a - b).abs() < 600.0 * 1e-6));
    run(&["predict", &model, &data, "--precision", "f16"]).failed(2, "possible values: f64, f32");
}

#[test]
fn predictions_that_a_model_does_not_support_are_reported() {
    let folder = Folder::new();
    let (model, data) = (folder.model(), folder.path("train.svm"));
    run(&["predict", &model, &data, "--values", "probability"]).failed(2, "a model trained without them: train it with --probability");
    run(&["predict", &model, &data, "--values", "features"]).failed(2, "the model makes no features");
}

/// Rows of text, more than one block of the reader.
fn many_rows(n: usize) -> String {
    (0..n).map(|i| format!("{} 1:{} 2:{}\n", i % 2, (i as f64 * 0.37).sin(), (i as f64 * 0.11).cos())).collect()
}

#[test]
fn files_of_many_blocks_are_predicted_row_by_row_like_their_parts() {
    let folder = Folder::new();
    let model = folder.model();
    let text = many_rows(200_000);
    let (data, out) = (folder.file("many.svm", &text), folder.path("out.txt"));
    run(&["predict", &model, &data, "-o", &out, "--values", "decision"]).succeeded();
    let all = fs::read_to_string(&out).unwrap();
    let all: Vec<&str> = all.lines().collect();
    assert_eq!(all.len(), 200_001);
    let last: String = text.lines().skip(199_000).map(|line| format!("{line}\n")).collect();
    let part = run(&["predict", &model, &folder.file("last.svm", last), "--values", "decision"]).succeeded();
    assert_eq!(part.lines()[1..], all[199_001..]);
    let csv: String = text.lines().map(|line| line[2..].replace("1:", "").replace(" 2:", ",") + "\n").collect();
    let from_table = run(&["predict", &model, &folder.file("many.csv", format!("a,b\n{csv}")), "--values", "decision"]).succeeded();
    assert_eq!(from_table.lines(), all);
}

#[test]
fn a_bad_row_late_in_a_file_is_named_and_leaves_no_output_file() {
    let folder = Folder::new();
    let (model, out) = (folder.model(), folder.path("out.txt"));
    let bad = folder.file("bad.svm", many_rows(150_000) + "1 1:x\n");
    run(&["predict", &model, &bad, "-o", &out]).failed(1, "bad.svm, line 150001, column 5: the value \"x\" of feature 1 is not a number");
    assert!(!std::path::Path::new(&out).exists());
    let bad = folder.file("nan.svm", many_rows(150_000) + "1 1:nan\n");
    run(&["predict", &model, &bad, "-o", &out]).failed(1, "a value in row 150001, column 1 is NaN");
}

#[cfg(target_os = "linux")]
#[test]
fn memory_does_not_grow_with_the_file() {
    use std::{io::Write, process::Command, thread, time::Duration};
    const ROWS: usize = 4_000_000;
    let folder = Folder::new();
    let (model, data, out) = (folder.model(), folder.path("grown.csv"), folder.path("out.txt"));
    let mut file = std::io::BufWriter::new(fs::File::create(&data).unwrap());
    (0..ROWS).for_each(|i| writeln!(file, "0.{i},0.5").unwrap());
    file.into_inner().unwrap();
    let arguments = ["predict", &model, &data, "-o", &out, "--threads", "2", "--quiet"];
    let mut child = Command::new(env!("CARGO_BIN_EXE_kernelet")).args(arguments).spawn().unwrap();
    // The most memory that was ever in use, as the system counts it while the program runs.
    let mut peak_kib = 0;
    let status = loop {
        let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB"));
        peak_kib = peak.map_or(peak_kib, |kib| kib.parse().unwrap());
        match child.try_wait().unwrap() {
            Some(status) => break status,
            None => thread::sleep(Duration::from_millis(10)),
        }
    };
    assert!(status.success());
    let as_numbers_kib = ROWS * 2 * size_of::<f64>() / 1024;
    assert!((1..as_numbers_kib).contains(&peak_kib), "{peak_kib} KiB for a file of {as_numbers_kib} KiB");
}
