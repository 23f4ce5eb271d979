//! Data that cannot be used: exit status 1, an error message, and no file is written.
use std::fs;

use crate::program::{Folder, run, two_classes};

/// Trains on a file with this content, which must fail.
#[track_caller]
fn refused(name: &str, content: &str, words: &str) {
    let folder = Folder::new();
    let data = folder.file(name, content);
    run(&["train", &data, "-o", &folder.path("m")]).failed(1, words);
    assert_eq!(folder.names(), [name]);
}

#[test]
fn numbers_that_are_not_finite_are_named_by_row_and_column() {
    refused("a.svm", "1 1:1 2:2\n2 1:1 2:nan\n", "a.svm: a value in row 2, column 2 is NaN");
    refused("a.svm", "1 1:inf\n2 1:1\n", "a value in row 1, column 1 is inf");
    refused("a.csv", "1,2,a\n3,-inf,b\n", "a value in row 2, column 2 is -inf");
    refused("a.csv", "x,y,z\nu,2,a\nv,-inf,b\n", "a.csv, line 3, column 2: the value \"-inf\" of \"y\" is not a finite number");
}

#[test]
fn data_without_rows_are_rejected() {
    refused("a.svm", "", "a.svm: the data have no rows");
    refused("a.svm", "# nothing\n\n", "the data have no rows");
    refused("a.csv", "", "a.csv");
    refused("a.csv", "x,y\n", "a.csv");
}

#[test]
fn one_class_is_too_few() {
    refused("a.svm", "1 1:1\n1.0 1:2\n", "all 2 rows have the label 1; a classifier needs at least two classes");
}

#[test]
fn missing_labels_are_named_by_line() {
    refused("a.svm", "1 1:1\n1:2\n", "a.svm, line 2, column 1: no label");
    refused("a.csv", "1,a\n2,\n", "a.csv, line 2, column 2");
}

#[test]
fn ragged_rows_are_named_by_line() {
    refused("a.csv", "1,2,a\n1,b\n", "a.csv, line 2: this row has 2 fields, but the first row has 3");
}

#[test]
fn indices_that_repeat_or_descend_are_named_by_place() {
    refused("a.svm", "1 1:1 1:2\n2 1:1\n", "a.svm, line 1, column");
    refused("a.svm", "1 2:1 1:2\n2 1:1\n", "a.svm, line 1, column");
    refused("a.svm", "1 0:1\n2 1:1\n", "a.svm, line 1, column");
    refused("a.svm", "1 1\n2 1:1\n", "a.svm, line 1, column");
}

#[test]
fn numbers_to_predict_are_not_taken_for_classes() {
    let text: String = (0..120).map(|i| format!("{i},{}\n", f64::from(i) * 0.37)).collect();
    refused("a.csv", &text, "hint: for numbers use --learner ridge");
}

#[test]
fn words_cannot_be_regressed() {
    let folder = Folder::new();
    let data = folder.file("a.csv", "1,a\n2,b\n");
    run(&["train", &data, "-o", &folder.path("m"), "--learner", "ridge"]).failed(1, "\"a\" is not a number");
}

#[test]
fn missing_files_directories_and_unknown_extensions_have_different_errors() {
    let folder = Folder::new();
    let (model, out) = (folder.model(), folder.path("out"));
    let directory = folder.path("");
    for command in ["train", "evaluate", "predict"] {
        let on = |data: &str| match command {
            "train" => run(&["train", data, "-o", &out]),
            _ => run(&[command, &model, data]),
        };
        on(&folder.path("none.svm")).failed(1, "none.svm: there is no such file");
        on(&directory).failed(1, "error: ");
        on(&folder.file("a.xls", "")).failed(1, "spreadsheets are not read; save the sheet as CSV");
        on(&folder.file("a.doc", "")).failed(1, "the extension .doc is not known");
    }
    fs::create_dir(folder.path("folder.svm")).unwrap();
    run(&["train", &folder.path("folder.svm"), "-o", &out]).failed(1, "folder.svm: this is a directory, not a file");
    assert!(!folder.names().contains(&"out".to_string()));
}

#[test]
fn outputs_that_cannot_be_written_are_rejected_before_the_work() {
    let folder = Folder::new();
    let (model, data) = (folder.model(), folder.path("train.svm"));
    let locked = folder.file("locked", "");
    let mut permissions = fs::metadata(&locked).unwrap().permissions();
    permissions.set_readonly(true);
    fs::set_permissions(&locked, permissions).unwrap();
    let outputs = [
        (folder.path("none/m"), "the directory"),
        (folder.path(""), "this is a directory, not a file"),
        (format!("{model}/m"), "is not a directory"),
        (locked, "the file is read-only"),
    ];
    let before = folder.names();
    for (output, words) in &outputs {
        run(&["train", &data, "-o", output]).failed(1, words);
        run(&["predict", &model, &data, "-o", output]).failed(1, words);
        run(&["export", &model, "-o", output, "--to", "libsvm"]).failed(1, words);
    }
    assert_eq!(folder.names(), before);
}

#[test]
fn rows_to_predict_must_be_finite_too() {
    let folder = Folder::new();
    let model = folder.model();
    for command in ["predict", "evaluate"] {
        run(&[command, &model, &folder.file("a.svm", "1 1:1\n1 2:nan\n")]).failed(1, "a value in row 2, column 2 is NaN");
        run(&[command, &model, &folder.file("a.svm", "")]).failed(1, "the data have no rows");
    }
}

#[test]
fn good_data_pass_the_same_road() {
    let folder = Folder::new();
    run(&["train", &folder.file("a.svm", two_classes(20)), "-o", &folder.path("m")]).succeeded();
    assert_eq!(folder.names(), ["a.svm", "m"]);
}
