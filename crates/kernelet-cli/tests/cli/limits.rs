//! Sizes and numbers beyond what can be computed with: sentences instead of aborts, hangs and results that are not finite.
use crate::program::{Folder, numbers, run, two_classes};

/// Rows with one feature of this index.
fn far(index: u64) -> String {
    let row = |i: u64| format!("{} 1:{} 2:{} {index}:{}\n", ["-1", "+1"][i as usize % 2], i as f64 * 0.1, i * 7 % 5, 1 + i % 3);
    (0..24).map(row).collect()
}

#[test]
fn features_that_never_occur_cost_nothing_and_dense_storage_is_refused_with_the_figure() {
    let folder = Folder::new();
    let model = folder.path("m");
    let near = folder.file("near.svm", far(3));
    for index in [100_000_000u64, 4_294_967_294] {
        let data = folder.file("far.svm", far(index));
        let train = |data: &str, flags: &[&str]| run(&[&["train", data, "-o", &model, "--gamma", "0.5", "--json"], flags].concat());
        for flags in [
            &[][..],
            &["--kernel", "linear"],
            &["--learner", "ridge", "--lambda", "0.1"],
            &["--method", "random", "--vectors", "4"],
            &["--method", "kmeans", "--vectors", "4"],
            &["--vectors", "4", "--iterations", "5"],
        ] {
            let found = train(&data, flags).json();
            run(&["predict", &model, &data]).succeeded();
            run(&["evaluate", &model, &data]).succeeded();
            let exported = run(&["export", &model, "-o", &folder.path("e.libsvm"), "--to", "libsvm"]);
            if index > i32::MAX as u64 {
                exported.failed(2, "LIBSVM's model format does not work with 4294967294 features: its indices end at 2147483647");
            } else {
                exported.succeeded();
                run(&["evaluate", &folder.path("e.libsvm"), &data]).succeeded();
            }
            run(&["export", &model, "-o", &folder.path("e.onnx"), "--to", "onnx"]).failed(1, "the export needs dense storage of ");
            let want = train(&near, flags).json();
            // Near features are few enough to be held dense, where sums have another order.
            let [a, b] = [&found, &want].map(|json| json["train_error"].as_f64().unwrap());
            assert!(found["vectors"] == want["vectors"] && (a - b).abs() < 1e-6, "{flags:?}: {found} {want}");
        }
        for flags in [
            &["--scale", "minmax"][..],
            &["--scale", "standard", "--vectors", "4"],
            &["--vectors", "4", "--blocks", "always"],
            &["--vectors", "4", "--blocks", "always", "--learner", "ridge"],
        ] {
            let said = train(&data, flags).failed(1, "needs dense storage of ").err;
            assert!(
                said.contains(
                    " MB, above the limit of 2048 MB; memory (in MB) in training or the environment variable KERNELET_MEMORY raises it"
                ),
                "{said}"
            );
        }
    }
}

#[test]
fn a_device_is_neither_a_model_nor_data() {
    let folder = Folder::new();
    let (model, data) = (folder.model(), folder.file("a.svm", two_classes(10)));
    run(&["predict", "/dev/zero", &data]).failed(1, "this is neither a kernelet model nor a LIBSVM model");
    run(&["inspect", "/dev/zero"]).failed(1, "this is neither a kernelet model nor a LIBSVM model");
    run(&["predict", &model, "/dev/null", "--format", "libsvm"]).failed(1, "/dev/null");
    let (output, description) = (folder.path("o"), folder.path("d.toml"));
    std::os::unix::fs::symlink("/dev/zero", &description).unwrap();
    let endless: [&[&str]; 4] = [
        &["train", &data, "-o", &output, "--scale-file", "/dev/zero"],
        &["export", &model, "-o", &output, "--to", "native", "--scale-file", "/dev/zero"],
        &["export", &model, "-o", &output, "--to", "native", "--target-scale-file", "/dev/zero"],
        &["reproduce", &description],
    ];
    for command in endless {
        let output = crate::program::command(command).env("KERNELET_MEMORY", "8").output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(1) && said.contains("the device does not end; give a file"), "{command:?}: {said}");
    }
}

#[test]
fn costs_and_weights_beyond_double_precision_are_rejected() {
    let folder = Folder::new();
    let (data, output) = (folder.file("a.svm", two_classes(20)), folder.path("m"));
    let more: [&[&str]; 5] = [
        &[],
        &["--vectors", "3"],
        &["--learner", "svr", "--vectors", "3"],
        &["--learner", "logistic"],
        &["--method", "mrs", "--vectors", "2"],
    ];
    for more in more {
        run(&[&["train", &data, "-o", &output, "--c", "1e300"], more].concat()).failed(2, "c is 1e300, but must be at most 1e12");
    }
    let weighted = ["train", &data, "-o", &output, "--class-weight", "+1=1e300"];
    run(&weighted).failed(2, "class-weight is +1=1e300, but must be at most 1e12");
}

#[test]
fn rows_that_overflow_a_kernel_are_named() {
    let folder = Folder::new();
    let (data, model) = (folder.file("a.svm", two_classes(20) + "+1 1:1e60 2:1\n"), folder.path("m"));
    let poly = ["train", &data, "-o", &model, "--kernel", "poly", "--gamma", "1"];
    run(&poly).failed(1, "the kernel value k(x, x) of row 21 is inf with the polynomial kernel");
    run(&["train", &data, "-o", &model, "--kernel", "linear"]).failed(1, "of row 21 is 1.0e120");
    let fine = folder.file("b.svm", two_classes(20));
    run(&["train", &fine, "-o", &model, "--kernel", "poly", "--gamma", "1", "--degree", "9"]).succeeded();
    for command in ["predict", "evaluate"] {
        run(&[command, &model, &data]).failed(1, "an output in row 21, column 1 is");
    }
    let huge = folder.file("huge.svm", two_classes(20) + "+1 1:1e200 2:1\n");
    run(&["train", &huge, "-o", &model, "--gamma", "1"]).failed(1, "the squared length |x|^2 of row 21 is inf");
    // A width beyond all bounds gives finite outputs or a sentence, never NaN.
    run(&["export", &folder.model(), "-o", &folder.path("m.json"), "--to", "json"]).succeeded();
    let text = std::fs::read_to_string(folder.path("m.json")).unwrap().replace("\"gamma\":0.5", "\"gamma\":1e200");
    let wide = folder.file("wide.json", text);
    let said = run(&["predict", &wide, &fine, "--values", "decision"]);
    assert!(!said.out.contains("NaN") && !said.out.contains("inf") && [Some(0), Some(1)].contains(&said.code), "{said:?}");
    // Targets whose squares overflow.
    let targets = folder.file("t.csv", numbers(20) + "1,1,1e200\n");
    let ran = run(&["train", &targets, "-o", &model, "--learner", "ridge", "--gamma", "1", "--lambda", "0.1", "--json"]);
    assert!(ran.code == Some(1) || !ran.json()["objective"].is_null(), "{ran:?}");
}

#[test]
fn a_solver_that_no_longer_improves_ends_and_says_so() {
    let folder = Folder::new();
    let (data, model) = (folder.file("a.svm", two_classes(24)), folder.path("m"));
    let ran = run(&["train", &data, "-o", &model, "--gamma", "0.5", "--c", "1000", "--tolerance", "1e-16", "--json"]).succeeded();
    let status = ran.json()["status"].clone();
    assert!(status == "converged" || status == "stalled" && ran.err.contains("the objective no longer improves"), "{ran:?}");
    run(&["train", &data, "-o", &model, "--vectors", "2", "--starts", "99999999999999"]).failed(2, "all together would take about");
    let full = folder.model();
    run(&["compress", &full, "-o", &model, "--method", "fixed-point", "--vectors", "2", "--starts", "99999999999"]).failed(2, "starts is");
}

#[test]
fn bounds_that_no_vector_is_needed_for_are_sentences_of_their_own() {
    let folder = Folder::new();
    let (model, small) = (folder.model(), folder.path("s"));
    for method in ["pursuit", "fixed-point", "gradient"] {
        run(&["compress", &model, "-o", &small, "--method", method, "--max-residual", "1"])
            .failed(2, "--max-residual 1 is met without any vector");
    }
    let same: String = (0..10).map(|i| format!("{} 1:1 2:2\n", ["-1", "+1"][i % 2])).collect();
    let (data, constant) = (folder.file("same.svm", same), folder.path("constant"));
    run(&["train", &data, "-o", &constant, "--gamma", "0.5"]).succeeded();
    for method in ["fixed-point", "gradient"] {
        run(&["compress", &constant, "-o", &small, "--method", method, "--vectors", "2"]).failed(1, "its outputs are constant");
    }
    run(&["export", &model, "-o", &folder.path("m.json"), "--to", "json"]).succeeded();
    let mut json: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(folder.path("m.json")).unwrap()).unwrap();
    json["coefficients"][3][0] = 1e200.into();
    let steep = folder.file("steep.json", json.to_string());
    for method in ["pursuit", "l0", "fixed-point", "gradient", "auto"] {
        run(&["compress", &steep, "-o", &small, "--method", method, "--vectors", "2"]).failed(1, "vector 4 has a coefficient above 1e100");
    }
}

#[test]
fn what_would_be_ignored_is_refused() {
    let folder = Folder::new();
    let (data, model) = (folder.file("a.svm", two_classes(24)), folder.path("m"));
    run(&["train", &data, "-o", &model, "--target", "3"]).failed(2, "--target 3 names a column of a table, but ");
    let trained = folder.model();
    run(&["inspect", &trained, "--images", "2x1", "-o", &folder.path("v.svg")]).failed(2, "does not end in .png");
    run(&["inspect", &trained, "--images", "2x1", "-o", &folder.path("v.png")]).succeeded();
}
