//! Machines trained with few vectors.
use crate::program::{Folder, run, three_classes, two_classes};

#[test]
fn a_budget_alone_trains_directly_and_the_machine_keeps_it() {
    let folder = Folder::new();
    let (data, model) = (folder.file("a.svm", two_classes(200)), folder.path("m"));
    let json = run(&["train", &data, "-o", &model, "--vectors", "6", "--gamma", "0.5", "--c", "10", "--json"]).json();
    assert_eq!((json["learner"].as_str(), json["vectors"].as_u64()), (Some("svc"), Some(6)));
    assert!(json["train_error"].as_f64().unwrap() < 0.05 && json["iterations"].as_u64().unwrap() > 5, "{json}");
    let named =
        run(&["train", &data, "-o", &model, "--method", "margin", "--vectors", "6", "--gamma", "0.5", "--c", "10", "--json"]).json();
    assert_eq!(named["objective"], json["objective"]);
    assert_eq!(run(&["inspect", &model, "--json"]).json()["vectors"], 6);
    let test = folder.file("b.svm", two_classes(90));
    assert!(run(&["evaluate", &model, &test, "--json"]).json()["error"].as_f64().unwrap() < 0.1);
}

#[test]
fn several_classes_share_their_vectors_whatever_the_start_and_the_loss() {
    let folder = Folder::new();
    let (data, model) = (folder.file("a.csv", three_classes(150)), folder.path("m"));
    let common = ["train", &data, "-o", &model, "--c", "10", "--gamma", "2", "--scale", "standard", "--json"];
    let full = run(&common).json()["train_error"].as_f64().unwrap();
    for flags in [
        &["--init", "random"][..],
        &["--init", "spread", "--starts", "2"],
        &["--loss", "hinge", "--iterations", "20"],
        &["--multiclass", "shared"],
    ] {
        let json = run(&[&common, &["--vectors", "12"][..], flags].concat()).json();
        assert_eq!((json["vectors"].as_u64(), json["classes"].as_array().unwrap().len()), (Some(12), 3));
        // The rings overlap, so that the full machine errs too; guessing has an error of two thirds.
        assert!(json["train_error"].as_f64().unwrap() < full + 0.1, "{full} {flags:?} {json}");
    }
}

#[test]
fn flags_that_do_not_go_together_are_wrong_usage() {
    let folder = Folder::new();
    let (data, model) = (folder.file("a.svm", two_classes(40)), folder.path("m"));
    let train = |flags: &[&str]| run(&[&["train", &data, "-o", &model][..], flags].concat());
    train(&["--method", "margin"]).failed(2, "--method margin needs --vectors");
    train(&["--loss", "hinge"]).failed(2, "--loss goes with --method margin");
    train(&["--vectors", "3", "--multiclass", "one-vs-one"]).failed(2, "margin shares its vectors among the classes");
    train(&["--vectors", "0"]).failed(2, "vectors is 0, but must be at least 1");
    train(&["--vectors", "3", "--kernel", "exponential"]).failed(2, "which has a corner");
    train(&["--vectors", "3", "--max-error", "0.1"]).failed(2, "--max-error goes with a basis");
    train(&["--learner", "ridge", "--method", "margin", "--vectors", "3"]).failed(2, "--method margin goes with svc, not with ridge");
    train(&["--multiclass", "shared"]).succeeded();
    let three = folder.file("a.csv", three_classes(30));
    run(&["train", &three, "-o", &model, "--multiclass", "shared"]).failed(2, "say how many vectors it may have");
}
