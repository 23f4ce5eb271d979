//! The support vector family: each learner trains, is saved, predicts, is evaluated and leaves as a LIBSVM model.
use std::fs;

use crate::program::{Folder, numbers, run, three_classes, two_classes};

/// Trains, then compares the native model with its LIBSVM export on the training rows.
fn all_commands(folder: &Folder, data: &str, flags: &[&str], svm_type: &str) -> serde_json::Value {
    let (model, text) = (folder.path("m"), folder.path("m.libsvm"));
    let json = run(&[&["train", data, "-o", &model, "--json"], flags].concat()).json();
    assert_eq!(json["status"], "converged");
    assert_eq!(run(&["inspect", &model, "--json"]).json()["facts"]["learner"], json["learner"]);
    run(&["export", &model, "-o", &text, "--to", "libsvm"]).succeeded();
    assert!(fs::read_to_string(&text).unwrap().starts_with(&format!("svm_type {svm_type}\n")));
    let values = |model: &str| run(&["predict", model, data, "--values", "decision", "--json"]).json()["predictions"].clone();
    let (ours, theirs) = (values(&model), values(&text));
    assert!(!ours.as_array().unwrap().is_empty());
    for (a, b) in ours.as_array().unwrap().iter().zip(theirs.as_array().unwrap()) {
        for (a, b) in a.as_array().unwrap().iter().zip(b.as_array().unwrap()) {
            assert!((a.as_f64().unwrap() - b.as_f64().unwrap()).abs() < 1e-10, "{a} {b}");
        }
    }
    json
}

#[test]
fn svr_and_nu_svr_predict_numbers() {
    let folder = Folder::new();
    let data = folder.file("a.csv", numbers(60));
    let json = all_commands(&folder, &data, &["--learner", "svr", "--c", "100", "--epsilon", "0.01", "--gamma", "0.5"], "epsilon_svr");
    assert_eq!((json["c"].as_f64(), json["epsilon"].as_f64(), &json["nu"]), (Some(100.0), Some(0.01), &serde_json::Value::Null));
    assert!(json["dual_objective"].as_f64().unwrap() < 0.0 && json["objective"].as_f64().unwrap() > 0.0);
    assert!(run(&["evaluate", &folder.path("m"), &data, "--json"]).json()["mse"].as_f64().unwrap() < 1e-2);
    let json = all_commands(&folder, &data, &["--learner", "nu-svr", "--c", "100", "--nu", "0.3", "--gamma", "0.5"], "nu_svr");
    assert!(json["nu"].as_f64() == Some(0.3) && json["epsilon"].as_f64().unwrap() > 0.0);
    let text = run(&["train", &data, "-o", &folder.path("m"), "--learner", "svr"]).succeeded().out;
    assert!(text.contains("svr, gaussian") && text.contains("epsilon 0.1") && text.contains("train mse"), "{text}");
}

#[test]
fn nu_svc_predicts_classes_and_rejects_an_infeasible_nu() {
    let folder = Folder::new();
    let data = folder.file("a.svm", two_classes(80));
    let json = all_commands(&folder, &data, &["--learner", "nu-svc", "--nu", "0.2", "--gamma", "0.5"], "nu_svc");
    assert_eq!((json["nu"].as_f64(), json["train_error"].as_f64()), (Some(0.2), Some(0.0)));
    let few = folder.file("few.svm", "1 1:1\n-1 1:2\n-1 1:3\n-1 1:4\n");
    let flags = ["train", &few, "-o", &folder.path("n"), "--learner", "nu-svc", "--nu", "0.9"];
    run(&flags).failed(2, "nu is 0.9, but must be at most 0.5000, twice the fraction of the smaller class");
}

#[test]
fn one_class_needs_no_target_and_separates_outliers() {
    let folder = Folder::new();
    let rows: String = (0..50).map(|i| format!("{},{}\n", (i as f64 * 1.3).sin(), (i as f64 * 0.7).cos())).collect();
    let data = folder.file("a.csv", format!("x,z\n{rows}"));
    let json = all_commands(&folder, &data, &["--learner", "one-class", "--nu", "0.1", "--gamma", "1"], "one_class");
    assert_eq!((json["dim"].as_u64(), json["nu"].as_f64()), (Some(2), Some(0.1)));
    assert!(json["train_error"].as_f64().unwrap() <= 0.2);
    let test = folder.file("t.csv", "x,z,y\n0.5,0.2,1\n9,9,-1\n0.3,0.2,1\n");
    assert_eq!(run(&["predict", &folder.path("m"), &test]).succeeded().out, "1\n-1\n1\n");
    assert_eq!(run(&["evaluate", &folder.path("m"), &test, "--json"]).json()["error"].as_f64(), Some(0.0));
    let text = run(&["train", &data, "-o", &folder.path("m"), "--learner", "one-class"]).succeeded().out;
    assert!(text.contains("rows outside"), "{text}");
    run(&["train", &data, "-o", &folder.path("m"), "--learner", "one-class", "--tune"])
        .failed(2, "--tune has nothing to choose for one-class");
    run(&["train", &data, "-o", &folder.path("m"), "--learner", "one-class", "--nu", "0"])
        .failed(2, "nu is 0, but must be a number above 0");
    run(&["train", &data, "-o", &folder.path("m"), "--learner", "one-class", "--c", "1"]).failed(2, "--c is not used by one-class");
}

#[test]
fn output_codes_are_stored_and_rejected_by_libsvm() {
    let folder = Folder::new();
    let (data, model) = (folder.file("a.csv", three_classes(60)), folder.path("m"));
    let train = |seed: &str| {
        let json = run(&[
            "train",
            &data,
            "-o",
            &model,
            "--multiclass",
            "ecoc",
            "--c",
            "1000",
            "--gamma",
            "10",
            "--scale",
            "standard",
            "--seed",
            seed,
            "--json",
        ]);
        assert_eq!(json.json()["classes"].as_array().unwrap().len(), 3);
    };
    train("1");
    assert_eq!(run(&["inspect", &model, "--json"]).json()["decision"], "codes");
    assert_eq!(run(&["evaluate", &model, &data, "--json"]).json()["error"], 0.0);
    let header = run(&["predict", &model, &data, "--values", "decision"]).succeeded().out;
    assert!(header.starts_with("code1,code2,code3\n"), "{header}");
    run(&["export", &model, "-o", &folder.path("t"), "--to", "libsvm"]).failed(2, "does not work with");
    run(&["train", &data, "-o", &model, "--multiclass", "all"]).failed(2, "one-vs-one, one-vs-rest, ecoc");
}

#[test]
fn a_warm_start_is_sooner_done() {
    let folder = Folder::new();
    let (data, model) = (folder.file("a.csv", numbers(60)), folder.path("m"));
    let train = |model: &str, more: &[&str]| {
        let flags = ["train", &data, "-o", model, "--learner", "svr", "--c", "10", "--gamma", "0.5", "--scale", "standard", "--json"];
        run(&[&flags[..], more].concat()).json()
    };
    let cold = train(&model, &[]);
    let warm = train(&folder.path("warm"), &["--start", &model]);
    assert!(2 * warm["iterations"].as_u64().unwrap() < cold["iterations"].as_u64().unwrap(), "{cold} {warm}");
    run(&["train", &data, "-o", &folder.path("n"), "--learner", "svr", "--start", &folder.path("none")]).failed(1, "no such file");
}
