//! `inspect`: what is in a model file.
use std::fs;

use crate::program::{Folder, run, three_classes};

#[test]
fn a_native_model_reports_all_its_metadata() {
    let folder = Folder::new();
    let model = folder.model();
    let json = run(&["inspect", &model, "--json"]).json();
    for key in "kernel vectors dim outputs classes bytes evaluations_per_row decision facts source".split(' ') {
        assert!(!json[key].is_null(), "{key}");
    }
    assert_eq!((&json["kernel"], &json["parameters"]["gamma"], &json["source"]), (&"gaussian".into(), &0.5.into(), &"native".into()));
    assert_eq!((json["dim"].as_u64(), json["outputs"].as_u64(), &json["decision"]), (Some(2), Some(1), &"sign".into()));
    assert_eq!(json["bytes"], fs::metadata(&model).unwrap().len());
    assert_eq!((&json["evaluations_per_row"], &json["facts"]["c"]), (&json["vectors"], &10.0.into()));
    let text = run(&["inspect", &model]).succeeded().out;
    assert!(text.contains("gaussian, gamma 0.5") && text.contains("svc, c 10"), "{text}");
}

#[test]
fn names_and_scaling_are_kept() {
    let folder = Folder::new();
    let (data, model) = (folder.file("a.csv", three_classes(30)), folder.path("m"));
    run(&["train", &data, "-o", &model, "--scale", "minmax"]).succeeded();
    let json = run(&["inspect", &model, "--json"]).json();
    assert_eq!((&json["names"], &json["scale"]), (&serde_json::json!(["width", "height"]), &"shifts and factors".into()));
}

#[test]
fn libsvm_models_are_known_by_content() {
    let folder = Folder::new();
    let (model, text) = (folder.model(), folder.path("anything.csv"));
    run(&["export", &model, "-o", &text, "--to", "libsvm"]).succeeded();
    let json = run(&["inspect", &text, "--json"]).json();
    assert_eq!((&json["source"], &json["kernel"], &json["facts"]["learner"]), (&"libsvm".into(), &"gaussian".into(), &"svc".into()));
}

#[test]
fn a_linear_map_is_shown_with_its_size() {
    let folder = Folder::new();
    let model = folder.mapped_model();
    let json = run(&["inspect", &model, "--json"]).json();
    assert_eq!(
        (&json["projection"], &json["dim"], &json["scale"]),
        (&serde_json::json!({"rows": 2, "cols": 3}), &3.into(), &"factors".into())
    );
    assert!(run(&["inspect", &model]).succeeded().out.contains("map            2 x 3\n"));
    assert!(run(&["inspect", &folder.model(), "--json"]).json().get("projection").is_none());
    let images = run(&["inspect", &model, "--images", "1x2", "-o", &folder.path("v.png")]);
    images.failed(2, "those of this model are behind a linear map");
}
