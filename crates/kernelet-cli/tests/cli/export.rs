//! `export`: a machine in another format.
use std::fs;

use crate::program::{Folder, run, three_classes};

#[test]
fn libsvm_text_predicts_the_same() {
    let folder = Folder::new();
    let (model, data, text) = (folder.model(), folder.path("train.svm"), folder.path("m.libsvm"));
    assert_eq!(run(&["export", &model, "-o", &text, "--to", "libsvm"]).succeeded().out, format!("{text}\n"));
    assert!(fs::read_to_string(&text).unwrap().starts_with("svm_type c_svc\nkernel_type rbf\n"));
    let decisions = |model: &str| run(&["predict", model, &data, "--values", "decision"]).succeeded().out;
    let (ours, theirs) = (decisions(&model), decisions(&text));
    for (a, b) in ours.lines().zip(theirs.lines()).skip(1) {
        assert!((a.parse::<f64>().unwrap() - b.parse::<f64>().unwrap()).abs() < 1e-12);
    }
}

#[test]
fn a_scaling_goes_to_a_range_file() {
    let folder = Folder::new();
    let (data, model) = (folder.file("a.svm", "1 1:10 2:5\n-1 1:20 2:4\n1 1:12 2:7\n-1 1:18 2:8\n"), folder.path("m"));
    run(&["train", &data, "-o", &model, "--scale", "minmax"]).succeeded();
    let (text, range) = (folder.path("t"), folder.path("r"));
    let json = run(&["export", &model, "-o", &text, "--to", "libsvm", "--json"]).json();
    assert_eq!(json["files"], serde_json::json!([text, format!("{text}.range")]));
    run(&["export", &model, "-o", &range, "--to", "range"]).succeeded();
    assert_eq!(fs::read_to_string(&range).unwrap(), "x\n-1 1\n1 10.0 20.0\n2 4.0 8.0\n");
    assert_eq!(fs::read_to_string(format!("{text}.range")).unwrap(), fs::read_to_string(&range).unwrap());
    assert!(run(&["inspect", &text, "--json"]).json()["scale"].is_null());
}

#[test]
fn what_a_format_cannot_hold_is_refused_and_nothing_is_written() {
    let folder = Folder::new();
    let (data, model, out) = (folder.file("a.csv", three_classes(30)), folder.path("m"), folder.path("out"));
    run(&["train", &data, "-o", &model, "--scale", "standard"]).succeeded();
    run(&["export", &model, "-o", &out, "--to", "libsvm"]).failed(2, "LIBSVM's model format does not work with");
    run(&["export", &folder.model(), "-o", &out, "--to", "range"]).failed(1, "the model has no scaling");
    run(&["export", &model, "-o", &model, "--to", "range"]).failed(2, "would be read and overwritten");
    assert_eq!(folder.names(), ["a.csv", "m", "m.model", "train.svm"]);
}
