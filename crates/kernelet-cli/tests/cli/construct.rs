//! `kernelet compress` with new vectors, and `inspect --images`.
use std::fs;

use crate::program::{Folder, run, three_classes};

fn residual(json: &serde_json::Value) -> f64 {
    json["relative_residual"].as_f64().unwrap()
}

#[test]
fn new_vectors_are_nearer_than_chosen_ones_and_refined_ones_nearer_still() {
    let folder = Folder::new();
    let (model, small) = (folder.model(), folder.path("small.model"));
    let compress = |flags: &[&str]| run(&[&["compress", &model, "-o", &small, "--vectors", "3", "--json"][..], flags].concat()).json();
    let chosen = compress(&["--method", "pursuit"]);
    for method in ["fixed-point", "gradient"] {
        let made = compress(&["--method", method]);
        assert_eq!((&made["method"], &made["vectors"]), (&method.into(), &3.into()));
        assert!(residual(&made) < residual(&chosen), "{made}");
        assert!(residual(&compress(&["--method", method, "--refine"])) < residual(&made));
    }
    assert!(residual(&compress(&["--method", "pursuit", "--refine"])) < residual(&chosen));
    assert!(residual(&compress(&["--method", "pursuit", "--refine", "--refine-joint", "--refine-steps", "20"])) < residual(&chosen));
    assert!(residual(&compress(&["--method", "refine", "--start-from", "vectors"])) < residual(&chosen));
    assert_eq!(compress(&["--method", "fixed-point", "--starts", "3", "--start-from", "kmeans"])["vectors"], 3);
    let data = folder.path("train.svm");
    for objective in ["--refine=outputs", "--refine=margins"] {
        assert!(compress(&["--method", "pursuit", "--data", &data, objective])["train_error"].is_number());
    }
    assert!(run(&["predict", &small, &data]).succeeded().out.lines().count() >= 60);
}

#[test]
fn refined_paths_double_in_size() {
    let folder = Folder::new();
    let (model, small) = (folder.model(), folder.path("small.model"));
    for method in [["--method", "fixed-point", "--refine"], ["--method", "refine", "--refine=weights"]] {
        let json = run(&[&["compress", &model, "-o", &small, "--vectors", "6", "--path", "--json"][..], &method].concat()).json();
        let sizes: Vec<u64> = json["path"].as_array().unwrap().iter().map(|level| level["vectors"].as_u64().unwrap()).collect();
        assert_eq!(sizes, [1, 2, 4, 6], "{json}");
    }
}

#[test]
fn outputs_share_new_vectors_have_their_own_or_pool_them() {
    let folder = Folder::new();
    let (data, model, small) = (folder.file("a.csv", three_classes(120)), folder.path("m"), folder.path("s"));
    run(&["train", &data, "-o", &model, "--multiclass", "one-vs-rest"]).succeeded();
    let with = |vectors: &str, outputs: &str| {
        run(&["compress", &model, "-o", &small, "--method", "fixed-point", "--vectors", vectors, "--outputs", outputs, "--json"]).json()
    };
    let (joint, separate, pooled) = (with("6", "joint"), with("2", "separate"), with("2", "pooled"));
    assert_eq!((&joint["vectors"], &separate["vectors"]), (&6.into(), &6.into()));
    assert!(residual(&pooled) <= residual(&separate) && pooled["vectors"].as_u64().unwrap() <= 6);
}

#[test]
fn what_does_not_go_together_is_wrong_usage() {
    let folder = Folder::new();
    let (model, small) = (folder.model(), folder.path("small.model"));
    let compress = |flags: &[&str]| run(&[&["compress", &model, "-o", &small, "--vectors", "3"][..], flags].concat());
    compress(&["--starts", "3"]).failed(2, "--starts is not used by the --method auto, only by fixed-point, gradient");
    compress(&["--refine"]).failed(2, "--refine is not used by the --method auto");
    let compress = |flags: &[&str]| compress(&[&["--method", "pursuit"][..], flags].concat());
    compress(&["--starts", "3"]).failed(2, "--starts is not used by the --method pursuit, only by fixed-point, gradient");
    let fixed_point = ["compress", &model, "-o", &small, "--vectors", "3", "--method", "fixed-point", "--starts", "0"];
    run(&fixed_point).failed(2, "starts is 0, but must be at least 1");
    compress(&["--refine=outputs"]).failed(2, "need rows; give them with --data");
    compress(&["--outputs", "pooled"]).failed(2, "pooled goes with fixed-point and gradient");
    compress(&["--refine=outputs", "--refine-joint", "--data", &folder.path("train.svm")]).failed(2, "joint is true");
    let data = folder.path("train.svm");
    for (kernel, words) in [("polynomial", "use gradient"), ("exponential", "is not differentiable")] {
        let other = folder.path(kernel);
        run(&["train", &data, "-o", &other, "--kernel", kernel]).succeeded();
        run(&["compress", &other, "-o", &small, "--vectors", "3", "--method", "fixed-point"]).failed(2, words);
    }
    let polynomial = folder.path("polynomial");
    run(&["compress", &polynomial, "-o", &small, "--vectors", "2", "--method", "gradient", "--refine"]).succeeded();
}

#[test]
fn vectors_are_drawn_as_images() {
    let folder = Folder::new();
    let (model, picture) = (folder.model(), folder.path("vectors.png"));
    run(&["inspect", &model, "--images", "2x1", "-o", &picture]).succeeded();
    assert!(fs::read(&picture).unwrap().starts_with(b"\x89PNG"));
    run(&["inspect", &model, "--images", "3x3", "-o", &picture]).failed(2, "has 9 pixels, but the vectors have 2 features");
    run(&["inspect", &model, "--images", "2x", "-o", &picture]).failed(2, "such as 16x16");
    run(&["inspect", &model, "--images", "2x1"]).failed(2, "--output");
    run(&["inspect", &model, "--images", "2x1", "-o", &model]).failed(2, "would be read and overwritten");
}

#[test]
fn searches_begin_at_the_rows_of_a_file() {
    let folder = Folder::new();
    let (model, small) = (folder.model(), folder.path("small.model"));
    let compress = |starts: &str, flags: &[&str]| {
        run(&[&["compress", &model, "-o", &small, "--vectors", "2", "--starts-from", starts, "--json"], flags].concat())
    };
    for method in ["fixed-point", "gradient"] {
        let data = folder.path("train.svm");
        let json = compress(&data, &["--method", method]).json();
        // Measured: 0.32 by both.
        assert!(json["vectors"] == 2 && residual(&json) < 0.35, "{json}");
        // One start, far from everything, finds less than the best of many.
        let far = folder.file("far.svm", "+1 1:3 2:3\n");
        let poor = compress(&far, &["--method", method]).json();
        assert!(residual(&poor) >= residual(&json), "{poor} {json}");
    }
    compress("none.svm", &["--method", "fixed-point"]).failed(1, "none.svm");
    compress(&model, &["--method", "pursuit"]).failed(2, "--init-data is not used by the --method pursuit, only by fixed-point, gradient");
}
