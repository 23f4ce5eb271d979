//! `kernelet compress` with goals about new rows: promises, estimates, and what cannot be known.
use serde_json::Value;

use crate::program::{Folder, run, two_classes};

/// Rows of the same distribution that are no rows of the other draws: two clusters, a third of the rows between them.
pub fn rows(n: usize, seed: u64) -> String {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut uniform = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as f64 / (1u64 << 31) as f64
    };
    let row = |i: usize, a: f64, b: f64, c: f64| {
        let class = i % 2;
        let centre = if class == 0 { -0.8 } else { 0.8 };
        format!("{class} 1:{:.9} 2:{:.9}\n", centre + 1.5 * (a + b - 1.0), 2.0 * c - 1.0)
    };
    (0..n).map(|i| row(i, uniform(), uniform(), uniform())).collect()
}

fn trained(folder: &Folder) -> (String, String) {
    let (data, model) = (folder.file("train.svm", rows(150, 1)), folder.path("m.model"));
    run(&["train", &data, "-o", &model, "--gamma", "1", "--c", "10"]).succeeded();
    (data, model)
}

fn compress(folder: &Folder, model: &str, flags: &[&str]) -> Value {
    run(&[&["compress", model, "-o", &folder.path("small.model"), "--effort", "quick", "--json"][..], flags].concat()).json()
}

#[test]
fn fresh_rows_certify_a_loss_and_the_report_says_how_sure_it_is() {
    let folder = Folder::new();
    let (_, model) = trained(&folder);
    let fresh = folder.file("fresh.svm", rows(1200, 2));
    let json = compress(&folder, &model, &["--data", &fresh, "--max-loss", "0.05", "--confidence", "0.9"]);
    let validation = &json["validation"];
    assert_eq!((&json["goals_met"], &validation["kind"], &validation["rows"]), (&true.into(), &"fresh".into(), &600.into()), "{json}");
    assert!(validation["upper"].as_f64().unwrap() <= 0.05 && validation["confidence"] == 0.9, "{json}");
    assert!(json["trained_further"].is_null(), "a certified machine is not trained further: {json}");
    let text = run(&["compress", &model, "-o", &folder.path("b.model"), "--effort", "quick", "--data", &fresh, "--max-loss", "0.05"])
        .succeeded()
        .out;
    assert!(text.contains("fresh rows, 95.00 % confidence") && text.contains("goals"), "{text}");
}

#[test]
fn training_rows_are_recognised_and_never_give_a_promise() {
    let folder = Folder::new();
    let (data, model) = trained(&folder);
    let shuffled: String = {
        let text = rows(150, 1);
        let lines: Vec<&str> = text.lines().collect();
        (0..100).map(|i| format!("{}\n", lines[i * 7 % 150])).collect()
    };
    let part = folder.file("part.svm", shuffled);
    for rows in [&data, &part] {
        let json = compress(&folder, &model, &["--data", rows, "--max-loss", "0.3"]);
        assert_eq!((&json["goals_met"], &json["validation"]["kind"]), (&"unknown".into(), &"training".into()), "{json}");
        assert!(json["validation"]["loss"].is_number(), "estimated by training again: {json}");
        assert!(json["missing"][0].as_str().unwrap().contains("no promise"), "{json}");
    }
    let stated = compress(&folder, &model, &["--data", &data, "--max-loss", "0.3", "--rows", "fresh"]);
    assert_eq!((&stated["goals_met"], &stated["validation"]["kind"]), (&true.into(), &"fresh".into()), "the user's word counts: {stated}");
    let mixed = folder.file("mixed.svm", rows(150, 1) + &rows(400, 3));
    let json = compress(&folder, &model, &["--data", &mixed, "--max-loss", "0.3"]);
    // The model keeps a sample of its fingerprints, so that not all new rows are known to be new.
    let certify = json["validation"]["rows"].as_u64().unwrap();
    assert!(json["validation"]["kind"] == "fresh" && (50..=200).contains(&certify), "mixed rows are split: {json}");
}

#[test]
fn too_few_fresh_rows_are_reported_with_the_number_needed() {
    let folder = Folder::new();
    let (_, model) = trained(&folder);
    let few = folder.file("few.svm", rows(100, 2));
    let json = compress(&folder, &model, &["--data", &few, "--max-loss", "0.01"]);
    assert_eq!((&json["goals_met"], &json["validation"]["rows"]), (&"unknown".into(), &50.into()), "{json}");
    let missing: Vec<&str> = json["missing"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert!(missing[0].contains("with 50 fresh rows and 95 % confidence the error is promised to rise by at most"), "{missing:?}");
    assert!(missing[1].contains("fresh rows"), "{missing:?}");
    let model = folder.model();
    let data = folder.file("data.svm", two_classes(90));
    run(&["compress", &model, "-o", &folder.path("c"), "--vectors", "5", "--data", &data, "--confidence", "0.9"])
        .failed(2, "--confidence is about promises; it is used with --max-loss and --min-agreement");
    run(&["compress", &model, "-o", &folder.path("c"), "--max-loss", "0.1", "--data", &data, "--confidence", "1"])
        .failed(2, "confidence is 1, but must be above 0 and below 1");
}
