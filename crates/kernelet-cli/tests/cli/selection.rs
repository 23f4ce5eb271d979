//! `kernelet compress --method l1`, `l0` and `independent`, whole and in chunks.
use crate::program::{Folder, run, three_classes};

#[test]
fn penalties_find_the_number_of_vectors_asked_for_and_the_machine_predicts() {
    let folder = Folder::new();
    let (model, small, data) = (folder.model(), folder.path("small.model"), folder.path("train.svm"));
    for flags in [&["--method", "l1"][..], &["--method", "l1", "--weights", "inverse"], &["--method", "l0"]] {
        let all = [&["compress", &model, "-o", &small, "--vectors", "8", "--data", &data, "--path", "--json"], flags].concat();
        let json = run(&all).json();
        let vectors = json["vectors"].as_u64().unwrap();
        assert!(json["method"] == flags[1] && (6..=8).contains(&vectors), "{json}");
        let path = json["path"].as_array().unwrap();
        let residuals: Vec<f64> = path.iter().map(|level| level["residual"].as_f64().unwrap()).collect();
        assert!(residuals.windows(2).all(|w| w[1] < w[0]), "{json}");
        assert!(json["relative_residual"].as_f64().unwrap() < 1.0 && json["agreement"].is_number());
        assert_eq!(run(&["inspect", &small, "--json"]).json()["vectors"].as_u64(), Some(vectors));
        assert_eq!(run(&["predict", &small, &data]).succeeded().lines().len(), 60);
    }
}

#[test]
fn exact_reduction_needs_no_budget_and_changes_no_decision() {
    let folder = Folder::new();
    let (data, model, small) = (folder.file("a.csv", three_classes(90)), folder.path("m"), folder.path("s"));
    run(&["train", &data, "-o", &model, "--kernel", "polynomial", "--degree", "2", "--gamma", "1", "--coef0", "1"]).succeeded();
    for flags in [&["--method", "independent"][..], &["--method", "l0", "--lossless"]] {
        let ran = run(&[&["compress", &model, "-o", &small, "--data", &data, "--json"], flags].concat());
        let json = ran.json();
        // Polynomials of degree 2 in two variables have six monomials.
        assert!(json["vectors"].as_u64().unwrap() <= 6 && json["vectors_before"].as_u64().unwrap() > 6, "{json}");
        assert!(json["relative_residual"].as_f64().unwrap() < 1e-12 && json["agreement"] == 1.0, "{json}");
        assert!(!ran.err.contains("full rank"), "{ran:?}");
    }
}

#[test]
fn a_full_rank_is_said() {
    let folder = Folder::new();
    let (model, small) = (folder.model(), folder.path("small.model"));
    let ran = run(&["compress", &model, "-o", &small, "--method", "independent", "--json"]).succeeded();
    assert!(ran.err.contains("has full rank (tolerance 1e-10)"), "{ran:?}");
    let json = ran.json();
    assert_eq!(json["vectors"], json["vectors_before"]);
}

#[test]
fn chunks_keep_the_budget() {
    let folder = Folder::new();
    let (model, small) = (folder.model(), folder.path("small.model"));
    for method in ["pursuit", "l1", "l0"] {
        let flags = ["compress", &model, "-o", &small, "--method", method, "--vectors", "6", "--chunk", "10", "--passes", "2", "--json"];
        let json = run(&flags).json();
        let vectors = json["vectors"].as_u64().unwrap();
        assert!((1..=6).contains(&vectors) && json["relative_residual"].as_f64().unwrap() < 1.0, "{json}");
    }
}

#[test]
fn flags_that_make_no_sense_are_wrong_usage() {
    let folder = Folder::new();
    let (model, small) = (folder.model(), folder.path("small.model"));
    let compress = |flags: &[&str]| run(&[&["compress", &model, "-o", &small][..], flags].concat());
    compress(&["--method", "l1"]).failed(2, "say how small: --vectors, --fraction or --max-residual");
    compress(&["--method", "l0"]).failed(2, "say how small");
    compress(&["--method", "independent", "--tolerance", "-1"]).failed(2, "tolerance is -1, but must be above 0 and below 1");
    compress(&["--vectors", "3", "--lossless"]).failed(2, "--lossless is not used by pursuit, only by l0");
    compress(&["--vectors", "3", "--weights", "inverse"]).failed(2, "only by l1");
    compress(&["--vectors", "3", "--passes", "2"]).failed(2, "--chunk");
    compress(&["--vectors", "3", "--chunk", "0"]).failed(2, "chunk is 0, but must be at least 1");
    compress(&["--vectors", "3", "--chunk", "5", "--passes", "0"]).failed(2, "passes is 0, but must be at least 1");
}
