//! `kernelet compress` with goals: strategies are compared, a size is found, and goals that are not reached are reported.
use serde_json::Value;

use crate::program::{Folder, run, three_classes, two_classes};

fn compress(folder: &Folder, model: &str, flags: &[&str]) -> crate::program::Ran {
    run(&[&["compress", model, "-o", &folder.path("small.model")][..], flags].concat())
}

fn number(json: &Value, key: &str) -> f64 {
    json[key].as_f64().unwrap_or(f64::NAN)
}

#[test]
fn the_best_strategy_on_validation_rows_is_kept_and_all_are_reported() {
    let folder = Folder::new();
    let (model, data) = (folder.model(), folder.path("train.svm"));
    let test = folder.file("test.svm", two_classes(90));
    let json = compress(&folder, &model, &["--vectors", "6", "--data", &data, "--test", &test, "--json"]).json();
    assert_eq!((&json["method"], number(&json, "vectors"), &json["goals_met"]), (&"auto".into(), 6.0, &true.into()));
    // The model fits its training rows near-perfectly: imitation of its weights is a warm start for training, not a candidate.
    let tried = json["tried"].as_array().unwrap();
    assert_eq!((tried.len(), &tried[0]["way"], &json["way"]), (1, &"distil".into(), &"distil".into()), "{json}");
    assert!(number(&json, "held_out_loss") == number(&tried[0], "loss") && number(&json, "agreement") > 0.9, "{json}");
    let faithful = compress(&folder, &model, &["--vectors", "6", "--data", &data, "--min-agreement", "0.9", "--json"]).json();
    let candidates: Vec<_> = faithful["tried"].as_array().unwrap().iter().filter(|one| one["vectors"] == faithful["vectors"]).collect();
    assert_eq!(candidates.len(), 3, "{faithful}");
    let best = candidates.iter().map(|one| number(one, "agreement")).fold(0.0, f64::max);
    assert!(number(&faithful, "held_out_agreement") == best && candidates.iter().any(|one| one["way"] == faithful["way"]), "{faithful}");
    let text = compress(&folder, &model, &["--vectors", "6", "--data", &data, "--min-agreement", "0.9"]).succeeded().out;
    assert!(text.contains("tried") && text.contains("validation") && text.contains("why this size"), "{text}");
    let labels = compress(&folder, &model, &["--vectors", "6", "--data", &data, "--labels", "--json"]).json();
    assert!(labels["tried"].as_array().unwrap().iter().any(|one| one["way"] == "margin"), "{labels}");
}

#[test]
fn goals_of_quality_find_a_size_with_any_method() {
    let folder = Folder::new();
    let (model, data) = (folder.model(), folder.path("train.svm"));
    for method in ["auto", "pursuit", "fixed-point"] {
        let json = compress(&folder, &model, &["--method", method, "--data", &data, "--min-agreement", "0.9", "--json"]).json();
        assert!(number(&json, "agreement") > 0.8 && number(&json, "vectors") < number(&json, "vectors_before"), "{method} {json}");
    }
    let loss = compress(&folder, &model, &["--data", &data, "--max-loss", "0.05", "--effort", "quick", "--json"]).json();
    assert!(number(&loss, "held_out_loss") <= number(&loss, "held_out_loss_before") + 0.05 && loss["goals_met"] == "unknown", "{loss}");
    let residual = compress(&folder, &model, &["--max-residual", "0.2", "--effort", "quick", "--json"]).json();
    assert!(number(&residual, "relative_residual") <= 0.2, "{residual}");
    let bytes = compress(&folder, &model, &["--max-bytes", "900", "--effort", "quick", "--json"]).json();
    assert!(number(&bytes, "bytes") <= 900.0 && std::fs::metadata(folder.path("small.model")).unwrap().len() <= 900, "{bytes}");
    let knee = compress(&folder, &model, &["--effort", "quick", "--path", "--json"]).json();
    assert!(knee["why"].as_str().unwrap().contains("knee") && knee["path"].as_array().unwrap().len() > 1, "{knee}");
}

#[test]
fn goals_that_are_not_reached_are_reported_with_the_value_reached() {
    let folder = Folder::new();
    let model = folder.model();
    let ran = compress(&folder, &model, &["--vectors", "2", "--max-residual", "0.0001", "--effort", "quick", "--json"]).succeeded();
    let json: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((number(&json, "vectors"), &json["goals_met"]), (2.0, &false.into()));
    assert!(ran.err.contains("not reached: the relative residual is") && json["missing"].as_array().unwrap().len() == 2, "{ran:?}");
}

#[test]
fn votes_become_outputs_of_classes_or_keep_their_owners() {
    let folder = Folder::new();
    // LIBSVM's labels are numbers.
    let numbered =
        ["inner", "middle", "outer"].iter().zip(["1", "2", "3"]).fold(three_classes(150), |text, (name, n)| text.replace(name, n));
    let (data, model) = (folder.file("a.csv", numbered), folder.path("m"));
    run(&["train", &data, "-o", &model, "--multiclass", "one-vs-one"]).succeeded();
    let json = compress(&folder, &model, &["--vectors", "9", "--data", &data, "--labels", "--effort", "quick", "--json"]).json();
    // Measured: 0.987, and a residual of 0.097 below.
    assert!(number(&json, "agreement") > 0.97 && json["residual"].is_null() && json["way"] == "margin", "{json}");
    let pairs = compress(&folder, &model, &["--vectors", "9", "--data", &data, "--layout", "pairs", "--json"]).json();
    assert!(number(&pairs, "agreement") > 0.9 && pairs["residual"].is_number(), "{pairs}");
    let owned = compress(&folder, &model, &["--vectors", "9", "--layout", "libsvm", "--json"]).json();
    assert!(number(&owned, "relative_residual") < 0.12 && number(&owned, "vectors") <= 9.0, "{owned}");
    let (small, exported) = (folder.path("small.model"), folder.path("small.libsvm"));
    run(&["export", &small, "-o", &exported, "--to", "libsvm"]).succeeded();
    assert_eq!(run(&["inspect", &exported, "--json"]).json()["vectors"], owned["vectors"]);
}

#[test]
fn probabilities_are_learned_again_from_those_of_the_model() {
    let folder = Folder::new();
    let (data, model) = (folder.file("a.svm", two_classes(200)), folder.path("m"));
    run(&["train", &data, "-o", &model, "--probability", "sigmoid"]).succeeded();
    let ran = compress(&folder, &model, &["--vectors", "8", "--data", &data, "--effort", "quick"]).succeeded();
    assert!(ran.err.contains("learned again"), "{ran:?}");
    let small = folder.path("small.model");
    let of = |model: &str| -> Vec<f64> {
        let out = run(&["predict", model, &data, "--values", "probability"]).succeeded().out;
        out.lines().skip(1).map(|line| line.split(',').next_back().unwrap().parse().unwrap()).collect()
    };
    let (a, b) = (of(&model), of(&small));
    let apart = a.iter().zip(&b).map(|(a, b)| (a - b).abs()).sum::<f64>() / a.len() as f64;
    assert!(apart < 0.1, "{apart}");
}

#[test]
fn what_cannot_be_asked_has_a_sentence() {
    let folder = Folder::new();
    let (model, data) = (folder.model(), folder.path("train.svm"));
    let plain = folder.file("plain.csv", "x,z\n1,2\n3,4\n2,1\n0.5,0.1\n");
    compress(&folder, &model, &["--max-loss", "0.01"]).failed(2, "measured on rows; give them with --data");
    compress(&folder, &model, &["--max-loss", "-1", "--data", &data]).failed(2, "max-loss is -1");
    compress(&folder, &model, &["--max-loss", "0.01", "--data", &plain]).failed(2, "which have none; ask for --min-agreement");
    compress(&folder, &model, &["--labels", "--data", &plain]).failed(2, "--labels needs rows with labels; leave it out");
    compress(&folder, &model, &["--metric", "mse", "--data", &data, "--vectors", "4"]).failed(2, "error or balanced-error");
    compress(&folder, &model, &["--effort", "huge"]).failed(2, "possible values: quick, normal, thorough");
    compress(&folder, &model, &["--max-bytes", "10"]).failed(2, "a model with one vector");
    compress(&folder, &model, &["--layout", "libsvm", "--vectors", "4", "--refit", "none"]).failed(2, "leave --refit out");
}
