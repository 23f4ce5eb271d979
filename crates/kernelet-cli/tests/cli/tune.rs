//! `train --tune`.
use crate::program::{Folder, numbers, run, two_classes};

#[test]
fn the_search_shows_what_it_chose_and_what_it_tried() {
    let folder = Folder::new();
    let (data, model) = (folder.file("a.svm", two_classes(60)), folder.path("m"));
    let json = run(&["train", &data, "-o", &model, "--tune", "--json"]).json();
    let tried = json["tried"].as_array().unwrap();
    assert_eq!(tried.len(), 5 * 6 + 8);
    assert_eq!((&tried[0]["c"], &tried[0]["gamma"]), (&json["c"], &json["gamma"]));
    assert!(tried.windows(2).all(|w| w[0]["loss"].as_f64() <= w[1]["loss"].as_f64()));
    let text = run(&["train", &data, "-o", &model, "--tune", "--folds", "3"]).succeeded().out;
    assert!(text.contains("the best 5 of 38 settings tried"), "{text}");
}

#[test]
fn given_numbers_are_kept() {
    let folder = Folder::new();
    let (data, model) = (folder.file("a.csv", numbers(60)), folder.path("m"));
    let tune = |flags: &[&str]| run(&[&["train", &data, "-o", &model, "--learner", "ridge", "--tune", "--json"], flags].concat());
    let gamma = tune(&["--gamma", "0.3"]).json();
    assert_eq!((gamma["gamma"].as_f64(), gamma["tried"].as_array().unwrap().len()), (Some(0.3), 6 + 2));
    let lambda = tune(&["--lambda", "0.01"]).json();
    assert_eq!((lambda["lambda"].as_f64(), lambda["tried"].as_array().unwrap().len()), (Some(0.01), 6 + 2));
    let linear = tune(&["--kernel", "linear"]).json();
    assert!(linear["gamma"].is_null() && linear["tried"][0]["gamma"].is_null());
    tune(&["--lambda", "0.01", "--gamma", "0.3"]).failed(2, "--tune has nothing to choose");
}

#[test]
fn folds_must_fit_the_rows() {
    let folder = Folder::new();
    let (data, model) = (folder.file("a.svm", two_classes(10)), folder.path("m"));
    for folds in ["0", "1", "11"] {
        run(&["train", &data, "-o", &model, "--tune", "--folds", folds]).failed(2, &format!("folds is {folds}, but must be at least 2"));
    }
    run(&["train", &data, "-o", &model, "--folds", "3"]).failed(2, "--tune");
    assert_eq!(folder.names(), ["a.svm"]);
}

#[test]
fn a_class_with_fewer_rows_than_folds_can_be_searched() {
    let folder = Folder::new();
    let data = folder.file("a.svm", two_classes(30) + "7 1:9 2:9\n");
    let json = run(&["train", &data, "-o", &folder.path("m"), "--tune", "--c", "1", "--json"]).json();
    assert_eq!(json["classes"].as_array().unwrap().len(), 3);
}

#[test]
fn large_data_are_searched_in_part_and_that_is_reported() {
    let folder = Folder::new();
    let data = folder.file("a.csv", numbers(5200));
    let ran = run(&["train", &data, "-o", &folder.path("m"), "--tune", "--kernel", "linear", "--folds", "2", "--c", "1"]);
    ran.failed(1, "too many to be classes");
    let data = folder.file("a.svm", two_classes(5200));
    let ran = run(&["train", &data, "-o", &folder.path("m"), "--tune", "--gamma", "1", "--folds", "2"]).succeeded();
    assert!(ran.err.contains("the settings are chosen on 5000 of 5200 rows"), "{}", ran.err);
}
