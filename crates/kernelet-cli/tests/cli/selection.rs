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
        // Measured: at most 0.113.
        assert!(json["relative_residual"].as_f64().unwrap() < 0.13 && json["agreement"] == 1.0, "{json}");
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
fn a_full_rank_is_reported() {
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
        let bounded = ["compress", &model, "-o", &small, "--method", method, "--max-residual", "0.2", "--chunk", "10", "--json"];
        assert!(run(&bounded).json()["relative_residual"].as_f64().unwrap() <= 0.2, "{method}");
        let flags = ["compress", &model, "-o", &small, "--method", method, "--vectors", "6", "--chunk", "10", "--passes", "2", "--json"];
        let json = run(&flags).json();
        let vectors = json["vectors"].as_u64().unwrap();
        // Measured: 0.133 by pursuit, 0.053 by penalties.
        assert!(vectors == 6 && json["relative_residual"].as_f64().unwrap() < 0.15, "{json}");
    }
}

#[test]
fn inverse_weights_go_with_chunks() {
    let folder = Folder::new();
    let (model, small) = (folder.model(), folder.path("small.model"));
    let flags = ["--method", "l1", "--weights", "inverse", "--vectors", "6", "--chunk", "10", "--passes", "3", "--json"];
    let json = run(&[&["compress", &model, "-o", &small][..], &flags].concat()).json();
    assert!((1..=6).contains(&json["vectors"].as_u64().unwrap()), "{json}");
}

#[test]
fn flags_that_make_no_sense_are_wrong_usage() {
    let folder = Folder::new();
    let (model, small) = (folder.model(), folder.path("small.model"));
    let compress = |flags: &[&str]| run(&[&["compress", &model, "-o", &small][..], flags].concat());
    compress(&["--method", "l1"]).failed(2, "say how small: --vectors, --fraction");
    compress(&["--method", "l0"]).failed(2, "say how small");
    compress(&["--method", "independent", "--tolerance", "-1"]).failed(2, "tolerance is -1, but must be above 0 and below 1");
    compress(&["--vectors", "3", "--lossless"]).failed(2, "--lossless is not used by the --method auto, only by l0");
    compress(&["--vectors", "3", "--weights", "inverse"]).failed(2, "only by l1");
    let pursuit = |flags: &[&str]| compress(&[&["--method", "pursuit", "--vectors", "3"][..], flags].concat());
    pursuit(&["--lossless"]).failed(2, "--lossless is not used by the --method pursuit, only by l0");
    pursuit(&["--passes", "2"]).failed(2, "--passes goes with --chunk");
    pursuit(&["--chunk", "0"]).failed(2, "chunk is 0, but must be at least 1");
    pursuit(&["--chunk", "5", "--passes", "0"]).failed(2, "passes is 0, but must be at least 1");
}

#[test]
fn a_precomputed_kernel_is_compressed_with_its_training_rows() {
    let folder = Folder::new();
    // Kernel values of points on a line, 1 / (1 + |x - x'|), with the class as the last column.
    let at = |i: usize| (i as f64 * 0.7).sin() * 3.0 + i as f64 * 0.05;
    let row = |i: usize| {
        let values: Vec<String> = (0..50).map(|j| (-(at(i) - at(j)).powi(2)).exp().to_string()).collect();
        format!("{},{}\n", values.join(","), if at(i).cos() > 0.0 { "near" } else { "far" })
    };
    let rows = |some: std::ops::Range<usize>| some.map(row).collect::<String>();
    let (data, test) = (folder.file("gram.csv", rows(0..50)), folder.file("test.csv", rows(50..80)));
    let (model, small) = (folder.path("m"), folder.path("s"));
    let trained = run(&["train", &data, "-o", &model, "--kernel", "precomputed", "--c", "10", "--json"]).json();
    assert!(trained["vectors"].as_u64().unwrap() > 8, "{trained}");
    for method in ["pursuit", "l1", "l0"] {
        let flags = ["--method", method, "--vectors", "8", "--data", &data, "--test", &test, "--refit", "margin", "--json"];
        let json = run(&[&["compress", &model, "-o", &small][..], &flags].concat()).json();
        // Measured: at most 0.756 after the refit, and no error.
        assert!(json["vectors"].as_u64().unwrap() <= 8 && json["relative_residual"].as_f64().unwrap() < 0.8, "{json}");
        assert_eq!(json["test_error"], 0.0, "{json}");
        // What was saved reads kernel values, and predicts as was measured.
        let error = run(&["evaluate", &small, &test, "--json"]).json()["error"].as_f64().unwrap();
        assert!((error - json["test_error"].as_f64().unwrap()).abs() < 1e-12, "{error} {json}");
    }
    let fails = |flags: &[&str], code, words: &str| {
        run(&[&["compress", &model, "-o", &small, "--vectors", "5"], flags].concat()).failed(code, words);
    };
    fails(&[], 1, "the 50 training rows in their order");
    fails(&["--data", &test], 1, "the 50 training rows in their order");
    fails(&["--data", &data, "--method", "gradient"], 2, "with the training rows alone");
    fails(&["--data", &data, "--method", "pursuit", "--refine"], 2, "with the training rows alone");
    // A basis is chosen among the rows, with a size path that doubles.
    let on_basis = |method: &str| {
        let flags = ["--kernel", "precomputed", "--c", "10", "--method", method, "--vectors", "8", "--path", "--json"];
        run(&[&["train", &data, "-o", &small][..], &flags].concat())
    };
    let json = on_basis("rpcholesky").json();
    let sizes: Vec<u64> = json["path"].as_array().unwrap().iter().map(|size| size["vectors"].as_u64().unwrap()).collect();
    assert_eq!(sizes, [1, 2, 4, 8], "{json}");
    assert!(run(&["evaluate", &small, &test, "--json"]).json()["error"].as_f64().unwrap() < 0.2);
    on_basis("kmeans").failed(2, "choose among the rows");
}

#[test]
fn images_are_smoothed_as_they_are_read() {
    let folder = Folder::new();
    let image = |i: usize| -> String { (0..12).map(|j| format!("{},", ((i * 12 + j) as f64 * 0.9).sin())).collect() };
    let rows: String = (0..40).map(|i| format!("{}{}\n", image(i), i % 2)).collect();
    let (data, model) = (folder.file("images.csv", rows), folder.path("m"));
    let smooth = ["--smooth", "0.75", "--shape", "4x3"];
    let vectors =
        |flags: &[&str]| run(&[&["train", &data, "-o", &model, "--gamma", "0.1", "--json"], flags].concat()).json()["objective"].clone();
    assert!(vectors(&smooth) != vectors(&[]));
    vectors(&smooth);
    // Prediction reads in blocks, evaluation at once: both smooth.
    let with = run(&[&["predict", &model, &data, "--values", "decision"][..], &smooth].concat()).succeeded().out;
    assert!(with != run(&["predict", &model, &data, "--values", "decision"]).succeeded().out);
    run(&[&["evaluate", &model, &data][..], &smooth].concat()).succeeded();
    run(&["train", &data, "-o", &model, "--smooth", "1", "--shape", "5x3"]).failed(1, "pixels of an image");
    run(&["train", &data, "-o", &model, "--smooth", "1"]).failed(2, "--shape");
    run(&["train", &data, "-o", &model, "--smooth", "-1", "--shape", "4x3"]).failed(2, "sigma is -1");
}
