//! Training by passes over blocks of rows.
use std::fs;

use crate::program::{Folder, run, three_classes, two_classes};

const KEYS: [&str; 10] = ["learner", "kernel", "rows", "dim", "classes", "vectors", "objective", "train_error", "seconds", "status"];

#[test]
fn blocks_train_the_machine_that_is_trained_in_memory_and_report_the_same_keys() {
    let folder = Folder::new();
    let (data, a, b) = (folder.file("a.svm", two_classes(900)), folder.path("a"), folder.path("b"));
    for learner in ["svc", "logistic"] {
        let common =
            ["train", &data, "--learner", learner, "--vectors", "6", "--gamma", "0.5", "--c", "10", "--scale", "standard", "--json"];
        let train = |more: &[&str]| run(&[&common[..], more].concat()).json();
        let whole = train(&["-o", &a, "--blocks", "never"]);
        let blocks = train(&["-o", &b, "--blocks", "always", "--memory", "1"]);
        assert!(KEYS.iter().all(|key| !blocks[key].is_null()), "{blocks}");
        assert_eq!(
            (&blocks["rows"], &blocks["dim"], &blocks["classes"], &blocks["vectors"]),
            (&whole["rows"], &whole["dim"], &whole["classes"], &whole["vectors"])
        );
        let value = |json: &serde_json::Value, key: &str| json[key].as_f64().unwrap();
        assert!(value(&blocks, "objective") < 1.1 * value(&whole, "objective"), "{blocks} {whole}");
        let measured = run(&["evaluate", &b, &data, "--json"]).json();
        assert!((value(&measured, "error") - value(&blocks, "train_error")).abs() < 1e-12, "{measured} {blocks}");
    }
}

#[test]
fn a_cache_is_made_once_and_a_sample_may_come_first() {
    let folder = Folder::new();
    let (data, model, cache) = (folder.file("a.csv", three_classes(600)), folder.path("m"), folder.path("rows"));
    let train = |more: &[&str]| {
        run(&[&["train", &data, "-o", &model, "--vectors", "12", "--gamma", "2", "--c", "10", "--scale", "standard", "-v"], more].concat())
    };
    train(&["--cache", &cache]).succeeded();
    let first = fs::read(&model).unwrap();
    let again = train(&["--cache", &cache]);
    assert!(again.err.contains("from the cache"), "{}", again.err);
    again.succeeded();
    assert_eq!(fs::read(&model).unwrap(), first);
    train(&["--sample-first", "200", "--iterations", "40"]).succeeded();
    fs::write(&cache, &fs::read(&cache).unwrap()[..500]).unwrap();
    train(&["--cache", &cache]).failed(1, "the cache is cut short or damaged; delete it, and it is made again");
}

#[test]
fn what_blocks_cannot_do_is_wrong_usage() {
    let folder = Folder::new();
    let (data, model) = (folder.file("a.svm", two_classes(60)), folder.path("m"));
    let train = |flags: &[&str]| run(&[&["train", &data, "-o", &model][..], flags].concat());
    train(&["--blocks", "always"]).failed(2, "--blocks is not used by svc");
    train(&["--vectors", "5", "--blocks", "always", "--learner", "one-class"])
        .failed(2, "training by blocks is for svc, logistic and ridge");
    train(&["--vectors", "5", "--blocks", "always", "--tune"]).failed(2, "training by blocks does not work with --tune");
    train(&["--vectors", "5", "--blocks", "always", "--loss", "hinge"]).failed(2, "training by blocks does not work with --loss hinge");
    train(&["--vectors", "5", "--blocks", "never", "--sample-first", "20"]).failed(2, "leave out --blocks never");
    train(&["--cache", &folder.path("rows")]).failed(2, "a file is for training by blocks");
    train(&["--vectors", "5", "--cache", &data]).failed(2, "would be read and overwritten");
}

#[test]
fn rows_may_come_from_standard_input() {
    let folder = Folder::new();
    let model = folder.path("m");
    let flags = ["train", "-", "--format", "libsvm", "-o", &model, "--vectors", "4", "--gamma", "0.5", "--blocks", "always", "--json"];
    let json = crate::program::run_with_input(&flags, two_classes(300).as_bytes()).json();
    assert_eq!((json["rows"].as_u64(), json["vectors"].as_u64()), (Some(300), Some(4)));
}

#[test]
fn a_stream_goes_on_from_a_model_with_a_sample_of_its_rows() {
    let folder = Folder::new();
    let (data, old, new) = (folder.file("a.svm", two_classes(100)), folder.path("old"), folder.path("new"));
    let common = ["--vectors", "4", "--gamma", "0.5", "--c", "10", "--json"];
    run(&[&["train", &data, "-o", &old][..], &common].concat()).succeeded();
    let flags = ["train", "-", "--format", "libsvm", "-o", &new, "--start", &old, "--reservoir", "300", "--iterations", "10"];
    let ran = crate::program::run_with_input(&[&flags[..], &common].concat(), two_classes(3000).as_bytes());
    assert!(ran.err.contains("trained on 300 rows of 3,000 rows"), "{}", ran.err);
    let json = ran.json();
    assert_eq!((json["rows"].as_u64(), json["vectors"].as_u64()), (Some(300), Some(4)));
    assert!(json["train_error"].as_f64().unwrap() < 0.1, "{json}");
    run(&[&["train", &data, "-o", &new, "--reservoir", "0"][..], &common].concat()).failed(2, "reservoir is 0, but must be at least 1");
    let both = ["train", &data, "-o", &new, "--reservoir", "300", "--blocks", "always"];
    run(&[&both[..], &common].concat()).failed(2, "--reservoir holds its sample in memory");
}
