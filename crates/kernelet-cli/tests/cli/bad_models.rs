//! Model files that cannot be used: exit status 1, an error message, no panic.
use std::fs;

use crate::program::{Folder, run};

const GOOD: &str = "svm_type c_svc\nkernel_type rbf\ngamma 0.5\nnr_class 2\ntotal_sv 2\nrho 0\nlabel 1 -1\nnr_sv 1 1\nSV\n1 1:1\n-1 1:-1\n";

/// No command takes this file for a model.
#[track_caller]
fn refused(folder: &Folder, content: impl AsRef<[u8]>, words: &str) {
    let (model, data) = (folder.file("bad.model", content), folder.file("data.svm", "1 1:1 2:1\n"));
    run(&["inspect", &model]).failed(1, words);
    run(&["predict", &model, &data]).failed(1, words);
    run(&["evaluate", &model, &data]).failed(1, words);
    run(&["export", &model, "-o", &folder.path("out"), "--to", "libsvm"]).failed(1, words);
    assert!(!folder.names().contains(&"out".to_string()));
}

#[test]
fn truncated_models_are_rejected_wherever_they_end() {
    let folder = Folder::new();
    let whole = fs::read(folder.model()).unwrap();
    for length in (9..whole.len()).step_by(97).chain([whole.len() - 1]) {
        refused(&folder, &whole[..length], "bad.model");
    }
    refused(&folder, "", "bad.model: the file is empty");
}

#[test]
fn foreign_files_are_no_models() {
    let folder = Folder::new();
    refused(&folder, "1 1:0.5\n-1 1:0.7\n", "this is neither a kernelet model nor a LIBSVM model");
    refused(&folder, [0u8; 100], "this is neither a kernelet model nor a LIBSVM model");
    refused(&folder, b"\x02\0\0\0\0\0\0\0{}", "not a kernelet model");
}

#[test]
fn inconsistent_models_are_rejected_with_an_error() {
    let folder = Folder::new();
    let cases = [
        ("total_sv 2", "total_sv 3", "bad.model"),
        ("nr_sv 1 1", "nr_sv 2 1", "bad.model"),
        ("gamma 0.5", "gamma -1", "bad.model"),
        ("rho 0", "rho nan", "bad.model"),
        ("rho 0", "rho 0 0", "bad.model"),
        ("label 1 -1", "label 1 1", "bad.model"),
        ("kernel_type rbf", "kernel_type cosine", "bad.model"),
        ("1 1:1", "1 2:1 1:1", "bad.model"),
        ("svm_type c_svc\n", "", "bad.model"),
    ];
    for (from, to, words) in cases {
        assert!(GOOD.contains(from));
        refused(&folder, GOOD.replacen(from, to, 1), words);
    }
    run(&["inspect", &folder.file("good.model", GOOD)]).succeeded();
}

#[test]
fn directories_and_missing_files_are_no_models() {
    let folder = Folder::new();
    run(&["inspect", &folder.path("")]).failed(1, "this is a directory, not a file");
    run(&["inspect", &folder.path("none")]).failed(1, "there is no such file");
}

#[test]
fn a_model_without_vectors_predicts_by_its_offset() {
    let folder = Folder::new();
    let two = GOOD
        .replace("total_sv 2", "total_sv 0")
        .replace("nr_sv 1 1", "nr_sv 0 0")
        .replace("1 1:1\n-1 1:-1\n", "")
        .replace("rho 0", "rho 1");
    let data = folder.file("a.svm", "1 1:1\n-1 2:1\n");
    assert_eq!(run(&["predict", &folder.file("two", two), &data]).succeeded().out, "-1\n-1\n");
    let three = "svm_type c_svc\nkernel_type linear\nnr_class 3\ntotal_sv 0\nrho 1 1 1\nlabel 1 2 3\nnr_sv 0 0 0\nSV\n";
    assert_eq!(run(&["predict", &folder.file("three", three), &data]).succeeded().out, "3\n3\n");
}
