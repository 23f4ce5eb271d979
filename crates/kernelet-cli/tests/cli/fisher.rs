//! `--learner fisher`: from data to probabilities.
use crate::program::{Folder, run, three_classes, two_classes};

#[test]
fn a_discriminant_is_trained_saved_and_predicts_labels_decisions_and_probabilities() {
    let folder = Folder::new();
    let (data, model) = (folder.file("a.svm", two_classes(80)), folder.path("m"));
    let json = run(&["train", &data, "-o", &model, "--learner", "fisher", "--gamma", "0.5", "--lambda", "0.01", "--json"]).json();
    assert_eq!((&json["learner"], &json["penalty"], &json["bias"]), (&"fisher".into(), &"weight".into(), &"least-error".into()));
    assert_eq!((json["lambda"].as_f64(), json["vectors"].as_u64(), json["train_error"].as_f64()), (Some(0.01), Some(80), Some(0.0)));
    assert!(json["c"].is_null() && json["rank"].is_null() && json["components"].is_null());
    assert_eq!(run(&["evaluate", &model, &data, "--json"]).json()["error"].as_f64(), Some(0.0));
    let inspected = run(&["inspect", &model]).succeeded().out;
    assert!(inspected.contains("penalty weight, bias least-error") && inspected.contains("probabilities  yes"), "{inspected}");
    let text = run(&["predict", &model, &data, "--values", "probability"]).succeeded();
    let rows: Vec<Vec<f64>> = text.lines()[1..].iter().map(|line| line.split(',').map(|p| p.parse().unwrap()).collect()).collect();
    assert_eq!((text.lines()[0], rows.len()), ("-1,+1", 80));
    assert!(rows.iter().enumerate().all(|(i, p)| (p[0] + p[1] - 1.0).abs() < 1e-12 && (p[1] > 0.5) == (i % 2 == 1)));
    assert_eq!(run(&["predict", &model, &data, "--values", "decision"]).lines()[0], "+1");
}

#[test]
fn several_classes_share_the_vectors_and_have_probabilities() {
    let folder = Folder::new();
    let (data, model) = (folder.file("a.csv", three_classes(90)), folder.path("m"));
    for bias in ["midpoint", "equal-mahalanobis", "least-error", "svm"] {
        let json = run(&["train", &data, "-o", &model, "--learner", "fisher", "--gamma", "2", "--bias", bias, "--json"]).json();
        // All rows of the inner class are one point, so that its standard deviation is zero.
        assert!(json["train_error"].as_f64().unwrap() < 0.1 || bias == "equal-mahalanobis", "{bias}: {json}");
    }
    let text = run(&["predict", &model, &data, "--values", "probability"]).succeeded();
    assert_eq!(text.lines()[0], "inner,middle,outer");
    let sum: f64 = text.lines()[1].split(',').map(|p| p.parse::<f64>().unwrap()).sum();
    assert!((sum - 1.0).abs() < 1e-12);
}

#[test]
fn penalties_and_what_goes_with_them() {
    let folder = Folder::new();
    let (data, model) = (folder.file("a.svm", two_classes(60)), folder.path("m"));
    let train = |flags: &[&str]| run(&[&["train", &data, "-o", &model, "--learner", "fisher"], flags].concat());
    assert_eq!(train(&["--penalty", "coefficients", "--json"]).json()["penalty"], "coefficients");
    let none = train(&["--penalty", "none", "--kernel", "polynomial", "--degree", "2", "--coef0", "1"]).succeeded();
    assert!(none.err.contains("5 directions have more than 1e-10 of the largest scatter; all others are left out"), "{}", none.err);
    train(&["--penalty", "none", "--lambda", "1"]).failed(2, "--lambda is not used with --penalty none");
    train(&["--c", "1"]).failed(2, "--c is used by fisher only with --bias svm");
    train(&["--penalty", "ridge"]).failed(2, "possible values: weight, coefficients, none");
    train(&["--bias", "zero"]).failed(2, "possible values: midpoint, equal-mahalanobis, least-error, svm");
    train(&["--lambda", "0"]).failed(2, "lambda is 0, but must be a finite number above 0");
    train(&["--kernel", "sigmoid"]).failed(2, "does not work with the sigmoid kernel");
    train(&["--kernel", "sigmoid", "--penalty", "coefficients"]).succeeded();
    let tuned = train(&["--tune", "--json"]).json();
    assert!(tuned["tried"][0]["lambda"].is_number() && tuned["tried"][0]["gamma"].is_number());
    assert!(train(&["--tune", "--penalty", "none", "--json"]).json()["tried"][0]["lambda"].is_null());
    run(&["train", &data, "-o", &model, "--penalty", "none"]).failed(2, "--penalty is not used by svc, only by fisher");
}

#[test]
fn the_libsvm_format_takes_the_machine_without_its_probabilities() {
    let folder = Folder::new();
    let (data, model, out) = (folder.file("a.svm", two_classes(60)), folder.path("m"), folder.path("m.libsvm"));
    run(&["train", &data, "-o", &model, "--learner", "fisher", "--gamma", "0.5"]).succeeded();
    assert!(run(&["export", &model, "-o", &out, "--to", "libsvm"]).succeeded().err.contains("lost in this format: the probabilities"));
    let labels = |model: &str| run(&["predict", model, &data]).succeeded().out.replace('+', "");
    assert_eq!(labels(&model), labels(&out));
}
