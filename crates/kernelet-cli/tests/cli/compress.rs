//! `kernelet compress`.
use crate::program::{Folder, run, three_classes, two_classes};

#[test]
fn a_small_machine_agrees_with_the_large_one_and_says_so() {
    let folder = Folder::new();
    let (model, small) = (folder.model(), folder.path("small.model"));
    let (data, test) = (folder.path("train.svm"), folder.file("test.svm", two_classes(90)));
    let json =
        run(&["compress", &model, "-o", &small, "--method", "pursuit", "--vectors", "8", "--data", &data, "--test", &test, "--json"])
            .json();
    assert_eq!((json["method"].as_str(), json["vectors"].as_u64(), json["capped"].as_bool()), (Some("pursuit"), Some(8), Some(false)));
    assert!(json["vectors_before"].as_u64().unwrap() > 8 && json["agreement"].as_f64().unwrap() > 0.9, "{json}");
    let relative = json["relative_residual"].as_f64().unwrap();
    // Measured: 0.062.
    assert!(relative > 0.0 && relative < 0.075 && json["test_error"] == 0.0 && json["status"] == "converged");
    let inspected = run(&["inspect", &small, "--json"]).json();
    assert_eq!(inspected["vectors"], 8);
    let agreement = run(&["evaluate", &small, &test, "--against", &model, "--json"]).json()["agreement"].clone();
    assert_eq!(agreement, json["agreement"]);
}

#[test]
fn the_path_shows_every_size_and_the_residual_falls() {
    let folder = Folder::new();
    let (model, small) = (folder.model(), folder.path("small.model"));
    let json = run(&["compress", &model, "-o", &small, "--method", "pursuit", "--vectors", "6", "--path", "--json"]).json();
    let path = json["path"].as_array().unwrap();
    let sizes: Vec<u64> = path.iter().map(|level| level["vectors"].as_u64().unwrap()).collect();
    assert_eq!(sizes, [1, 2, 3, 4, 5, 6]);
    let residuals: Vec<f64> = path.iter().map(|level| level["residual"].as_f64().unwrap()).collect();
    assert!(residuals.windows(2).all(|w| w[1] <= w[0]));
    assert!((residuals[5] - json["residual"].as_f64().unwrap()).abs() < 1e-9 * residuals[0]);
    assert!(path[0]["train_error"].is_null() && json["agreement"].is_null());
    let text = run(&["compress", &model, "-o", &small, "--fraction", "0.2", "--path"]).succeeded();
    assert!(text.out.contains("vectors") && text.out.contains("relative residual"), "{text:?}");
}

#[test]
fn coefficients_are_refitted_as_asked() {
    let folder = Folder::new();
    let (model, small) = (folder.model(), folder.path("small.model"));
    let data = folder.path("train.svm");
    let with = |refit: &str| run(&["compress", &model, "-o", &small, "--vectors", "6", "--data", &data, "--refit", refit, "--json"]).json();
    let residual = |refit: &str| with(refit)["relative_residual"].as_f64().unwrap();
    let projected = residual("projection");
    assert!((projected - residual("none")).abs() < 1e-6);
    for other in ["outputs", "margin", "rsvm"] {
        assert!(residual(other) >= projected, "{other}");
    }
    assert!(with("margin")["train_error"].as_f64().unwrap() <= with("none")["train_error"].as_f64().unwrap() + 0.05);
}

#[test]
fn offsets_are_kept_or_found_anew_after_any_method() {
    let folder = Folder::new();
    let (model, small) = (folder.model(), folder.path("small.model"));
    let data = folder.path("train.svm");
    let (mut all_kept, mut all_tuned) = (0.0, 0.0);
    for method in ["pursuit", "l1", "fixed-point"] {
        let with = |threshold: &str| {
            let flags = ["--method", method, "--vectors", "3", "--data", &data, "--threshold", threshold, "--path", "--json"];
            run(&[&["compress", &model, "-o", &small][..], &flags].concat()).json()
        };
        let (kept, tuned) = (with("keep"), with("train-error"));
        let error = |json: &serde_json::Value| json["train_error"].as_f64().unwrap();
        assert!(error(&tuned) <= error(&kept), "{method}");
        assert_eq!(tuned["residual"], kept["residual"], "{method}");
        let of = |json: &serde_json::Value| json["path"].as_array().unwrap().iter().map(error).collect::<Vec<_>>();
        assert!(of(&tuned).iter().zip(of(&kept)).all(|(tuned, kept)| *tuned <= kept), "{method}");
        all_kept += of(&kept).iter().sum::<f64>();
        all_tuned += of(&tuned).iter().sum::<f64>();
    }
    assert!(all_tuned < all_kept, "{all_tuned} {all_kept}");
    run(&["compress", &model, "-o", &small, "--vectors", "3", "--threshold", "train-error"])
        .failed(2, "--threshold train-error needs rows; give them with --data");
}

#[test]
fn several_classes_share_their_vectors_or_have_their_own() {
    let folder = Folder::new();
    let (data, model, small) = (folder.file("a.csv", three_classes(120)), folder.path("m"), folder.path("s"));
    run(&["train", &data, "-o", &model, "--multiclass", "one-vs-rest"]).succeeded();
    let joint = run(&["compress", &model, "-o", &small, "--method", "pursuit", "--vectors", "9", "--data", &data, "--json"]).json();
    let separate = run(&[
        "compress",
        &model,
        "-o",
        &small,
        "--method",
        "pursuit",
        "--vectors",
        "3",
        "--outputs",
        "separate",
        "--data",
        &data,
        "--json",
    ])
    .json();
    assert_eq!(joint["vectors"], 9);
    assert!(separate["vectors"].as_u64().unwrap() <= 9);
    assert!(joint["relative_residual"].as_f64().unwrap() < separate["relative_residual"].as_f64().unwrap());
}

#[test]
fn budgets_that_make_no_sense_are_wrong_usage_and_too_large_ones_are_capped() {
    let folder = Folder::new();
    let (model, small) = (folder.model(), folder.path("small.model"));
    let compress = |flags: &[&str]| run(&[&["compress", &model, "-o", &small][..], flags].concat());
    compress(&["--method", "pursuit"])
        .failed(2, "say how small: --vectors, --fraction, --max-bytes, --max-residual, --max-loss or --min-agreement");
    compress(&["--vectors", "0"]).failed(2, "vectors is 0, but must be at least 1");
    compress(&["--fraction", "1.5"]).failed(2, "fraction is 1.5, but must be above 0 and at most 1");
    compress(&["--max-residual", "-1"]).failed(2, "max-residual is -1");
    compress(&["--vectors", "3", "--refit", "margin"]).failed(2, "--refit margin needs rows; give them with --data");
    compress(&["--vectors", "3", "--method", "magic"]).failed(2, "auto, pursuit, l1, l0, independent, fixed-point, gradient, refine");
    compress(&["--vectors", "3", "--method", "pursuit", "--sample", "0"]).failed(2, "sample is 0");
    assert!(!std::path::Path::new(&small).exists());
    let capped = compress(&["--vectors", "10000", "--json"]).json();
    assert_eq!(capped["capped"], true);
    run(&["compress", &small, "-o", &small, "--vectors", "3"]).failed(2, "would be read and overwritten");
}

#[test]
fn data_of_another_dimension_are_rejected() {
    let folder = Folder::new();
    let (model, small) = (folder.model(), folder.path("small.model"));
    let wide = folder.file("wide.csv", "1,2,3,4,5\n1,2,3,4,6\n");
    run(&["compress", &model, "-o", &small, "--vectors", "3", "--data", &wide]).failed(1, "the model has 2 features");
}

#[test]
fn of_rows_that_do_not_fit_the_memory_a_random_sample_is_taken() {
    let folder = Folder::new();
    let (few, many) = (folder.file("few.svm", two_classes(300)), folder.file("many.svm", two_classes(30_000)));
    let (model, small) = (folder.path("m"), folder.path("s"));
    run(&["train", &few, "-o", &model, "--gamma", "0.5", "--c", "10"]).succeeded();
    let flags = ["compress", &model, "-o", &small, "--vectors", "4", "--method", "pursuit", "--data", &many, "--json"];
    let all = run(&flags);
    assert!(!all.err.contains("drawn at random"), "{}", all.err);
    let some = run(&[&flags[..], &["--memory", "1"]].concat());
    assert!(some.err.contains("5,461 rows of 30,000 rows were drawn at random, because the file is larger than --memory"), "{}", some.err);
    let (all, some) = (all.json(), some.json());
    assert!((all["agreement"].as_f64().unwrap() - some["agreement"].as_f64().unwrap()).abs() < 0.05, "{all} {some}");
    run(&[&flags[..], &["--memory", "0"]].concat()).failed(2, "--memory");
}
