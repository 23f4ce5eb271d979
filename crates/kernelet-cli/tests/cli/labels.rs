//! Labels and names as they are in files: kept distinct, and escaped where they are printed.
use std::fs;

use crate::program::{Folder, run};

/// Two labels on two sides, as CSV.
fn sides(labels: [&str; 2], header: &str) -> String {
    let row = |i: usize| format!("{},{},\"{}\"\n", (i % 2) as f64 * 4.0 + (i as f64).sin(), (i as f64).cos(), labels[i % 2]);
    header.to_string() + &(0..40).map(row).collect::<String>()
}

#[test]
fn whole_numbers_that_double_precision_merges_stay_apart() {
    let folder = Folder::new();
    let labels = ["9007199254740993", "9007199254740992"];
    let (data, model) = (folder.file("a.csv", sides(labels, "")), folder.path("m"));
    let json = run(&["train", &data, "-o", &model, "--json"]).json();
    assert_eq!(json["classes"], serde_json::json!(["9007199254740992", "9007199254740993"]));
    let predicted = run(&["predict", &model, &data]).succeeded();
    assert_eq!(predicted.lines()[..2], labels);
    assert_eq!(run(&["evaluate", &model, &data, "--json"]).json()["confusion"]["counts"], serde_json::json!([[20, 0], [0, 20]]));
}

#[test]
fn a_label_of_libsvm_text_that_is_not_a_number_is_missing() {
    let folder = Folder::new();
    let (data, model) = (folder.file("a.svm", "1 1:1\nnan 1:2\n2 1:3\n"), folder.path("m"));
    run(&["train", &data, "-o", &model]).failed(1, "a.svm, line 2, column 1: the label is missing (nan); fill it in or leave the row out");
    // Where no label is wanted, none is looked at.
    let model = folder.model();
    assert_eq!(run(&["predict", &model, &data]).succeeded().lines().len(), 3);
}

#[test]
fn a_label_has_one_line_and_no_power_over_the_terminal() {
    let folder = Folder::new();
    let labels = ["a\nb", "c\u{1b}[31m\r\u{9b}2J"];
    let (data, model) = (folder.file("a.csv", sides(labels, "\"x\u{1b}[0m\",y,z\n")), folder.path("m"));
    let harmless = |text: &str| !text.contains(|c: char| c.is_control() && c != '\n');
    let trained = run(&["train", &data, "-o", &model]).succeeded();
    assert!(harmless(&trained.out) && harmless(&trained.err) && trained.out.contains("a\\nb, c\\u{1b}[31m\\r\\u{9b}2J"), "{trained:?}");
    let predicted = run(&["predict", &model, &data]).succeeded();
    assert_eq!((predicted.lines()[0], predicted.lines().len(), harmless(&predicted.out)), ("a\\nb", 40, true));
    let out = folder.path("out");
    run(&["predict", &model, &data, "-o", &out]).succeeded();
    assert_eq!(fs::read_to_string(&out).unwrap(), predicted.out);
    for values in ["decision", "probability"] {
        let ran = run(&["predict", &model, &data, "--values", values]);
        assert!(harmless(&ran.out) && (ran.code != Some(0) || ran.lines().len() == 41), "{ran:?}");
    }
    for arguments in [vec!["inspect", &model], vec!["evaluate", &model, &data]] {
        let shown = run(&arguments).succeeded();
        assert!(harmless(&shown.out) && harmless(&shown.err) && shown.out.contains("\\u{1b}"), "{shown:?}");
    }
    let json = run(&["predict", &model, &data, "--json"]).json();
    assert_eq!(json["predictions"][0], labels[0]);
}

#[test]
fn an_error_quotes_text_from_files_harmlessly() {
    let folder = Folder::new();
    let model = folder.path("m");
    let cases = [
        folder.file("a.csv", "x,y,z\u{1b}]0;title\u{7}\n1,2,a\n3,4,\n"),
        folder.file("b.svm", "1 1:1\n2 \u{1b}[2J\u{9b}\n"),
        folder.file("c.csv", "\"q\u{1b}[1m\nr\",\"q\u{1b}[1m\nr\",z\n1,2,a\n"),
        folder.path("no\u{1b}[31msuch\n.csv"),
    ];
    for data in cases {
        let ran = run(&["train", &data, "-o", &model]).failed(1, "error: ");
        assert!(!ran.err.contains(|c: char| c.is_control() && c != '\n') && ran.err.lines().count() <= 2, "{ran:?}");
    }
}
