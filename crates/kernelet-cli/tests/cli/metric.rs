//! Metrics that are learned with the vectors.
use std::{fmt::Write, fs};

use crate::program::{Folder, run, two_classes};

/// Rows with a header: two columns that decide the class, two of noise.
fn table(rows: usize) -> String {
    let mut text = String::from("left,noise,right,hum,class\n");
    for i in 0..rows {
        let spread = |a: usize, b: usize| ((i * a + b) % 1009) as f64 / 1009.0 * 2.0 - 1.0;
        let (a, b, c, d) = (2.0 * spread(619, 7), 50.0 * spread(787, 31), 2.0 * spread(877, 101), spread(523, 3));
        let class = if a * a + c * c < 2.5 { "in" } else { "out" };
        writeln!(text, "{a:.4},{b:.4},{c:.4},{d:.4},{class}").unwrap();
    }
    text
}

#[test]
fn learned_scales_are_reported_kept_and_ranked_by_name() {
    let folder = Folder::new();
    let (data, model) = (folder.file("a.csv", table(300)), folder.path("m"));
    let trained = run(&["train", &data, "-o", &model, "--vectors", "10", "--c", "10", "--ard", "--json"]);
    let json = trained.json();
    let scales: Vec<f64> = json["feature_scales"].as_array().unwrap().iter().map(|scale| scale.as_f64().unwrap()).collect();
    assert_eq!(scales.len(), 4);
    assert!(scales[0].min(scales[2]) > 3.0 * scales[1].max(scales[3]), "{scales:?}");
    assert!(trained.err.contains("validation rows prefer learned scales: an error of"), "{}", trained.err);
    let inspected = run(&["inspect", &model]).out;
    let bars: Vec<&str> = inspected.split("feature scales, learned\n").nth(1).unwrap().lines().collect();
    assert!(bars[0].contains("####") && bars[3].len() < bars[0].len(), "{inspected}");
    assert!(["left", "right"].iter().all(|name| bars[..2].iter().any(|bar| bar.starts_with(name))), "{inspected}");
    let page = folder.path("page.html");
    run(&["report", &model, "--data", &data, "-o", &page]).succeeded();
    assert!(fs::read_to_string(page).unwrap().contains(r#""feature_scales":[["#));
}

#[test]
fn a_full_machine_takes_the_scales_of_a_small_one() {
    let folder = Folder::new();
    let (data, small, full) = (folder.file("a.csv", table(300)), folder.path("small"), folder.path("full"));
    run(&["train", &data, "-o", &small, "--vectors", "10", "--c", "10", "--ard"]).succeeded();
    let with = run(&["train", &data, "-o", &full, "--c", "10", "--scales-from", &small, "--json"]).json();
    let without = run(&["train", &data, "-o", &full, "--c", "10", "--scale", "standard", "--json"]).json();
    assert!(with["vectors"].as_u64() < without["vectors"].as_u64(), "{} {}", with["vectors"], without["vectors"]);
    let both = run(&["train", &data, "-o", &full, "--c", "10", "--ard", "--json"]);
    assert!(both.json()["feature_scales"].is_array() && both.err.contains("the metric is learned with 30 vectors"), "{}", both.err);
    let plain = folder.path("plain");
    run(&["train", &data, "-o", &plain]).succeeded();
    run(&["train", &data, "-o", &full, "--scales-from", &plain]).failed(2, "the model of --scales-from has no scales");
    run(&["train", &data, "-o", &small, "--scales-from", &small]).failed(2, "");
}

#[test]
fn exports_can_leave_features_out() {
    let folder = Folder::new();
    let (data, model, json) = (folder.file("a.csv", table(300)), folder.path("m"), folder.path("m.json"));
    run(&["train", &data, "-o", &model, "--vectors", "10", "--c", "10", "--ard"]).succeeded();
    let exported = run(&["export", &model, "-o", &json, "--to", "json", "--drop-features", "0.3"]);
    assert!(exported.err.contains("2 of 4 features stay: left, right"), "{}", exported.err);
    assert_eq!(run(&["inspect", &json, "--json"]).json()["dim"], 2);
    let plain = folder.path("plain");
    run(&["train", &data, "-o", &plain]).succeeded();
    run(&["export", &plain, "-o", &json, "--to", "json", "--drop-features", "0.3"])
        .failed(2, "--drop-features needs a model with learned scales");
}

#[test]
fn maps_and_widths_are_learned_and_contradictions_rejected() {
    let folder = Folder::new();
    let (data, model) = (folder.file("a.csv", table(300)), folder.path("m"));
    let train = |flags: &[&str]| run(&[&["train", &data, "-o", &model, "--vectors", "6", "--c", "10"][..], flags].concat());
    train(&["--projection", "2", "--metric-penalty", "0.01"]).succeeded();
    assert_eq!(run(&["inspect", &model, "--json"]).json()["projection"]["rows"], 2);
    assert!(run(&["evaluate", &model, &data, "--json"]).json()["error"].as_f64().unwrap() < 0.15);
    train(&["--gamma", "learned"]).succeeded();
    train(&["--ard", "--gamma", "learned"]).failed(2, "--gamma learned contradicts --ard and --projection");
    train(&["--ard", "--projection", "2", "--metric-penalty", "0.01"]).failed(2, "validation rows choose between --ard and --projection");
    assert!(train(&["--ard", "--projection", "2"]).succeeded().err.contains("validation rows prefer"));
    train(&["--metric-penalty", "1"]).failed(2, "--metric-penalty is used with --ard, --projection or --gamma learned");
    train(&["--ard", "--metric-penalty", "-1"]).failed(2, "metric-penalty is -1");
    train(&["--projection", "9"]).failed(2, "projection is 9, but must be at most 4, the number of features");
    train(&["--projection", "0"]).failed(2, "projection is 0, but must be at least 1");
    train(&["--ard", "--checkpoint", &folder.path("c")]).failed(2, "a learned metric goes neither with --start nor with --checkpoint");
    train(&["--ard", "--kernel", "exponential"]).failed(2, "not differentiable");
    let two = folder.file("a.svm", two_classes(60));
    run(&["train", &two, "-o", &model, "--ard", "--method", "rs", "--vectors", "4"]).failed(2, "--ard is not used by");
}
