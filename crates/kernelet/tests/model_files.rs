//! Model files: golden files written by LIBSVM 3.37 (`tests/models/make.py`) and by earlier versions of this library, and text
//! written for LIBSVM.
//!
//! The text written here is left for `tests/models/check_with_libsvm.py`, which asks LIBSVM itself what it means.
#![allow(clippy::unwrap_used)] // All of this is tests.
use std::{
    fs,
    path::{Path, PathBuf},
};

use kernelet::{
    data::{Csr, Label, Scale},
    kernel::Kernel,
    linalg::Matrix,
    machine::{
        Calibration, Coefficients, Curve, Decision, Expansion, LogVariance, Machine, Metadata, Pairwise, Posterior,
        cascade::{Cascade, Head, Promise, Stage},
    },
    model::{self, libsvm, range::Range},
};

use serde_json::{Value, json};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/models")
}

/// The LIBSVM golden files, by name.
fn golden() -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "model"));
    paths.sort();
    assert_eq!(paths.len(), 13);
    paths
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect()
}

fn rows(value: &Value) -> Vec<Vec<f64>> {
    value.as_array().unwrap().iter().map(numbers).collect()
}

/// f_k(x) = sum_j coefficients_jk K(vectors_j, x) + offsets_k, by the definition; x may have more features than the vectors.
fn outputs(machine: &Machine, x: &[f64]) -> Vec<f64> {
    let mut vectors = Matrix::zeros(machine.n_vectors(), x.len());
    machine.expansion.vectors.copy_rows(0..machine.n_vectors(), x.len(), vectors.values_mut());
    let coefficients = machine.expansion.coefficients.to_dense();
    let kernel = |j: usize| machine.expansion.kernel.eval(vectors.row(j), x);
    let output = |k: usize| (0..machine.n_vectors()).map(|j| coefficients.at(j, k) * kernel(j)).sum::<f64>() + machine.offsets[k];
    (0..machine.n_outputs()).map(output).collect()
}

/// The number LIBSVM would predict.
fn prediction(machine: &Machine, outputs: &[f64]) -> f64 {
    match machine.decision {
        Decision::Values => outputs[0],
        _ => machine.decision.labels()[machine.decision.class(outputs)].value().unwrap(),
    }
}

#[test]
fn machines_read_from_libsvm_decide_as_libsvm_does() {
    for path in golden() {
        let machine = model::load(&path).unwrap();
        let expected: Value = serde_json::from_str(&fs::read_to_string(path.with_extension("expected.json")).unwrap()).unwrap();
        let (decisions, predictions) = (rows(&expected["decisions"]), numbers(&expected["predictions"]));
        for (i, x) in rows(&expected["rows"]).iter().enumerate() {
            let have = outputs(&machine, x);
            assert_eq!(have.len(), decisions[i].len());
            for (have, want) in have.iter().zip(&decisions[i]) {
                assert!((have - want).abs() <= 1e-9 * want.abs().max(1.0), "{}: {have} {want}", path.display());
            }
            assert!((prediction(&machine, &have) - predictions[i]).abs() <= 1e-9 * predictions[i].abs().max(1.0), "{}", path.display());
        }
    }
}

#[test]
fn probabilities_agree_with_libsvm_given_the_same_sigmoids() {
    let mut compared = 0;
    for path in golden() {
        let expected: Value = serde_json::from_str(&fs::read_to_string(path.with_extension("expected.json")).unwrap()).unwrap();
        if expected["probabilities"].is_null() {
            continue;
        }
        let machine = model::load(&path).unwrap();
        let values: Vec<f64> = rows(&expected["rows"]).iter().flat_map(|x| outputs(&machine, x)).collect();
        let values = Matrix::new(values, rows(&expected["rows"]).len(), machine.n_outputs()).unwrap();
        let have = machine.probabilities(&values).unwrap();
        for (have, want) in have.iter().zip(rows(&expected["probabilities"])) {
            // Of two classes LIBSVM names the positive one first; ours come in the order of the labels, where it is the second.
            let have: Vec<f64> = if have.len() == 2 { vec![have[1], have[0]] } else { have.to_vec() };
            for (have, want) in have.iter().zip(&want) {
                assert!((have - want).abs() < 1e-9, "{}: {have} {want}", path.display());
            }
            compared += 1;
        }
    }
    assert_eq!(compared, 18);
}

#[test]
fn machines_read_from_libsvm_are_written_as_the_same_text() {
    for path in golden() {
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(libsvm::to_text(&model::load(&path).unwrap()).unwrap(), text, "{}", path.display());
    }
}

#[test]
fn golden_files_hold_what_their_names_say() {
    let load = |name: &str| model::load(folder().join(name).with_extension("model")).unwrap();
    let learner = |name: &str| load(name).metadata.learner.unwrap();
    assert_eq!([learner("c_svc-rbf"), learner("nu_svc-rbf-probability")], ["svc", "nu-svc"]);
    assert_eq!([learner("one_class-rbf"), learner("epsilon_svr-linear"), learner("nu_svr-sigmoid")], ["one-class", "svr", "nu-svr"]);
    let three = load("c_svc-polynomial-3class-probability");
    assert_eq!(three.decision, Decision::Votes { labels: ["3", "-1", "10"].map(Label::new).to_vec() });
    assert!(matches!(&three.calibration, Some(Calibration::Sigmoid { a, b }) if a.len() == 3 && b.len() == 3));
    assert!(matches!(load("epsilon_svr-rbf-probability").calibration, Some(Calibration::Sigmoid { a, b }) if a.len() == 1 && b.is_empty()));
    assert!(matches!(load("one_class-linear-marks").calibration, Some(Calibration::Marks { marks }) if marks.len() == 10));
    assert!(load("c_svc-linear-sparse").expansion.vectors.is_sparse());
    assert!(!load("c_svc-rbf").expansion.vectors.is_sparse());
}

/// The machine in `native-v1.kernelet`, which uses every part of the format.
fn sparse_machine() -> Machine {
    let vectors = Csr::new(vec![0, 2, 2, 3, 5], vec![0, 4, 2, 1, 3], vec![0.1, -2.5, 1e-300, 1.0 / 3.0, 4.0], 5).unwrap();
    let values = Matrix::new(vec![0.1, 0.2, -0.3, 0.7, 1e-17, -1.0, 2.0, -0.125], 4, 2).unwrap();
    Machine {
        expansion: Expansion {
            kernel: Kernel::named("polynomial", 0.1, 3, 0.7).unwrap(),
            vectors: vectors.into(),
            coefficients: Coefficients::Pairwise(Pairwise { starts: vec![0, 1, 3, 4], values }),
        },
        offsets: vec![-0.1, 0.2, 0.3],
        decision: Decision::Votes { labels: ["1", "two", "3.0"].map(Label::new).to_vec() },
        scale: Some(Scale::new(Some(vec![0.1, 0.2, 0.3, 0.4, 0.5]), vec![1.0, 2.0, 0.0, 0.3, 1e3])),
        names: Some(["a", "b", "größe", "d \"quoted\"", ""].map(String::from).to_vec()),
        calibration: Some(Calibration::Sigmoid { a: vec![-1.1, -1.2, -1.3], b: vec![0.1, 0.2, 0.3] }),
        metadata: Metadata {
            learner: Some("svc".into()),
            c: Some(0.1),
            class_weights: Some(vec![1.0, 2.0, 0.3]),
            n_rows: Some(50),
            ..Metadata::default()
        },
    }
}

/// The machine in `native-v1-dense.kernelet`.
fn dense_machine() -> Machine {
    Machine {
        expansion: Expansion {
            kernel: Kernel::gaussian(1.0 / 3.0),
            vectors: Matrix::new(vec![0.1f32, -0.2, 0.3, 1e-40, 5.0, 6.0], 2, 3).unwrap().into(),
            coefficients: Coefficients::Dense(Matrix::new(vec![0.1, -0.7, 1e300, 0.3], 2, 2).unwrap()),
        },
        offsets: vec![0.1, -0.2],
        decision: Decision::Values,
        scale: None,
        names: None,
        calibration: None,
        metadata: Metadata { learner: Some("ridge".into()), lambda: Some(0.01), ..Metadata::default() },
    }
}

/// The machine in `native-v2-codes.kernelet`.
fn codes_machine() -> Machine {
    let labels = ["a", "b", "c"].map(Label::new).to_vec();
    let decision = Decision::Codes { labels, words: vec![vec![1, 1], vec![1, -1], vec![-1, 1]] };
    Machine { decision, metadata: Metadata { learner: Some("svc".into()), ..Metadata::default() }, ..dense_machine() }
}

/// The machine in `native-v3-map.kernelet`.
fn mapped_machine() -> Machine {
    let map = Matrix::new(vec![0.1, -0.2, 1.0 / 3.0, 4.0, 0.0, 1e-300], 3, 2).unwrap();
    let scale = Scale { shift: Some(vec![0.5, -1.0]), factor: vec![0.3, 1e3], map: Some(map) };
    Machine { scale: Some(scale), names: Some(["width", "height"].map(String::from).to_vec()), ..dense_machine() }
}

/// The machine in `native-v1-heads.kernelet`: numbers with deviations.
fn heads_machine() -> Machine {
    let head = |vectors: Vec<usize>, coefficients: Vec<f64>| LogVariance { vectors, coefficients, offset: -1.0 / 3.0 };
    let heads = vec![head(vec![0, 1], vec![0.1, -1e-300]), head(vec![1], vec![0.7])];
    Machine { calibration: Some(Calibration::LogVariance { heads }), ..dense_machine() }
}

#[test]
fn native_files_of_every_version_still_load() {
    let path = folder().join("native-v1-heads.kernelet");
    if std::env::var_os("KERNELET_UPDATE").is_some() && !path.exists() {
        model::save(&heads_machine(), &path).unwrap();
    }
    let files = [
        ("native-v1-heads.kernelet", heads_machine()),
        ("native-v1.kernelet", sparse_machine()),
        ("native-v1-dense.kernelet", dense_machine()),
        ("native-v2-codes.kernelet", codes_machine()),
        ("native-v3-map.kernelet", mapped_machine()),
    ];
    for (name, machine) in files {
        assert_eq!(model::load(folder().join(name)).unwrap(), machine, "{name}");
    }
}

#[test]
fn json_files_of_every_version_still_load() {
    let files = [("json-v1.json", 1, sparse_machine()), ("json-v2.json", 2, mapped_machine())];
    for (name, version, machine) in files {
        let path = folder().join(name);
        if std::env::var_os("KERNELET_UPDATE").is_some() && !path.exists() {
            model::json::save(&machine, &path).unwrap();
        }
        let text: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        assert_eq!(text["version"], version, "{name}");
        let loaded = model::load(&path).unwrap();
        assert_eq!((&loaded.decision, &loaded.scale, &loaded.offsets), (&machine.decision, &machine.scale, &machine.offsets), "{name}");
        let row = [0.5, -1.0, 2.0, 0.25, 1.0][..machine.expansion.vectors.dim()].to_vec();
        assert_eq!(outputs(&loaded, &row), outputs(&machine, &row), "{name}");
    }
}

/// The cascade in `cascade-v1.kernelet`.
fn cascade() -> Cascade {
    let decision = Decision::Sign { negative: Label::new("-1"), positive: Label::new("1") };
    let machine = |n: usize| {
        let vectors = Matrix::from_fn(n, 2, |i, j| 0.1 * i as f64 - 0.3 * j as f64);
        let coefficients = Coefficients::Dense(Matrix::from_fn(n, 1, |i, _| if i % 2 == 0 { 1.0 / 3.0 } else { -0.7 }));
        let expansion = Expansion { kernel: Kernel::gaussian(0.5), vectors: vectors.into(), coefficients };
        let metadata = Metadata::default();
        Machine { expansion, offsets: vec![0.1], decision: decision.clone(), scale: None, names: None, calibration: None, metadata }
    };
    let head = Head { coefficients: vec![0.25, -0.1], offset: 0.5, floor: 0.01 };
    let promise = Promise {
        max_disagreement: 0.01,
        confidence: 0.95,
        by_class: false,
        bound: 0.009,
        calibration_rows: 1000,
        disagreements: 4,
        cost: 0.4,
        full_vectors: 5,
    };
    let stage = |n: usize, head| Stage { machine: machine(n), head, threshold: 0.125, exits: 0.4 };
    Cascade { stages: vec![stage(2, Some(head)), stage(3, None)], full: Some(machine(5)), promise }
}

#[test]
fn cascades_of_every_version_still_load() {
    let path = folder().join("cascade-v1.kernelet");
    if std::env::var_os("KERNELET_UPDATE").is_some() && !path.exists() {
        model::cascade::save(&cascade(), &path).unwrap();
    }
    let bytes = fs::read(&path).unwrap();
    assert_eq!(model::cascade::from_bytes(&bytes, "c").unwrap(), cascade());
    assert!(model::load(&path).unwrap_err().to_string().contains("a cascade of machines"));
}

#[test]
fn every_kind_of_probability_returns_as_it_left() {
    let curve = |shift: f64| Curve { outputs: vec![-1.0 / 3.0 + shift, 0.1 + shift], probabilities: vec![0.1, 0.7] };
    let posterior = |noise: f64| Posterior { noise, vectors: vec![1], offset: true, factor: vec![0.1, -0.2, 1.0 / 3.0] };
    let labels = ["a", "b"].map(Label::new).to_vec();
    let cases = [
        (Decision::Values, Some(Calibration::Normal { posteriors: vec![posterior(0.1), posterior(0.0)] })),
        (Decision::Largest { labels: labels.clone() }, Some(Calibration::Isotonic { curves: vec![curve(0.0), curve(0.3)] })),
        (Decision::Largest { labels }, Some(Calibration::Shares)),
        (Decision::Ratio, None),
    ];
    for (decision, calibration) in cases {
        let machine = Machine { decision, calibration, ..dense_machine() };
        let bytes = model::native::to_bytes(&machine).unwrap();
        assert_eq!(model::load_bytes(&bytes, "m").unwrap(), machine);
    }
    let alone = Machine { calibration: Some(Calibration::Normal { posteriors: vec![posterior(0.1)] }), ..dense_machine() };
    assert!(model::native::to_bytes(&alone).is_err());
}

#[test]
fn formats_are_recognised_by_content() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("by-content");
    fs::create_dir_all(&folder).unwrap();
    let machine = model::load(&golden()[0]).unwrap();
    let path = folder.join("misleading.txt");
    model::save(&machine, &path).unwrap();
    assert_eq!(model::load(&path).unwrap(), machine);
    libsvm::save(&machine, &path).unwrap();
    assert_eq!(model::load(&path).unwrap(), machine);
    for (content, reason) in [
        (&b"1 1:0.5 2:1\n"[..], "m: this is neither a kernelet model nor a LIBSVM model"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "m: this is neither a kernelet model nor a LIBSVM model"),
        (b"", "m: the file is empty"),
    ] {
        assert_eq!(model::load_bytes(content, "m").unwrap_err().to_string(), reason);
    }
    assert!(model::load(folder.join("missing")).unwrap_err().to_string().ends_with("there is no such file"));
    assert!(model::load(&folder).unwrap_err().to_string().ends_with("this is a directory, not a file"));
}

#[test]
fn rows_are_scaled_as_svm_scale_scaled_them() {
    let expected: Value = serde_json::from_str(&fs::read_to_string(folder().join("svm-scale.expected.json")).unwrap()).unwrap();
    let scale = Range::load(folder().join("svm-scale.range")).unwrap().to_scale(5).unwrap();
    let shift = scale.shift.unwrap();
    for (x, want) in rows(&expected["rows"]).iter().zip(rows(&expected["scaled"])) {
        for j in 0..5 {
            assert!(((x[j] - shift[j]) * scale.factor[j] - want[j]).abs() <= 1e-5, "{j}");
        }
    }
}

#[test]
fn a_scaling_can_travel_in_a_range_file_beside_the_text() {
    let Machine { scale: Some(scale), .. } = sparse_machine() else { panic!("the machine has a scaling") };
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("scaling.range");
    Range::of(&scale).unwrap().save(&path).unwrap();
    let back = Range::load(&path).unwrap().to_scale(scale.dim()).unwrap();
    for (have, want) in back.factor.iter().zip(&scale.factor) {
        assert!((have - want).abs() <= 1e-12 * want.abs());
    }
}

/// Machines that did not come from LIBSVM, but that it can express.
fn ours() -> Vec<(&'static str, Machine)> {
    let labels = |texts: &[&str]| texts.iter().map(|&text| Label::new(text)).collect::<Vec<_>>();
    // The last feature is 0 everywhere, and numbers need all their digits.
    let vectors = Matrix::from_fn(5, 4, |i, j| if j == 3 { 0.0 } else { ((7 * i + 3 * j) as f64).sin() });
    let with = |kernel: &str, outputs: usize, decision: Decision| {
        let coefficients = Matrix::from_fn(5, outputs, |i, k| ((5 * i + 11 * k) as f64).cos());
        Machine {
            expansion: Expansion {
                kernel: Kernel::named(kernel, 0.3, 2, 0.7).unwrap(),
                vectors: vectors.clone().into(),
                coefficients: Coefficients::Dense(coefficients),
            },
            offsets: (0..outputs).map(|k| (k as f64 + 0.3).sin()).collect(),
            decision,
            scale: None,
            names: None,
            calibration: None,
            metadata: Metadata::default(),
        }
    };
    let sign = Decision::Sign { negative: Label::new("-1"), positive: Label::new("1") };
    let mut probable = with("gaussian", 1, sign.clone());
    probable.calibration = Some(Calibration::Sigmoid { a: vec![-1.1], b: vec![0.1] });
    vec![
        ("binary-gaussian", with("gaussian", 1, sign.clone())),
        ("binary-linear", with("linear", 1, sign)),
        ("binary-probability", probable),
        ("four-classes-joint", with("polynomial", 6, Decision::Votes { labels: labels(&["4", "1", "-3", "2"]) })),
        ("novelty", with("gaussian", 1, Decision::Novelty)),
        ("regression-sigmoid", with("sigmoid", 1, Decision::Values)),
    ]
}

#[test]
fn text_written_for_libsvm_means_the_same_when_read_back() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("written-for-libsvm");
    fs::create_dir_all(&folder).unwrap();
    let golden = golden();
    let names = golden.iter().map(|path| path.file_stem().unwrap().to_str().unwrap());
    let from_libsvm = names.zip(golden.iter().map(|path| model::load(path).unwrap()));
    for (name, machine) in ours().into_iter().chain(from_libsvm) {
        let path = folder.join(name).with_extension("model");
        libsvm::save(&machine, &path).unwrap();
        let back = model::load(&path).unwrap();
        assert_eq!((back.dim(), &back.decision, &back.calibration), (machine.dim(), &machine.decision, &machine.calibration));
        let rows: Vec<Vec<f64>> = (0..4).map(|i| (0..machine.dim()).map(|j| ((3 * i + j) as f64).cos()).collect()).collect();
        let decisions: Vec<Vec<f64>> = rows.iter().map(|x| outputs(&machine, x)).collect();
        for (x, want) in rows.iter().zip(&decisions) {
            for (have, want) in outputs(&back, x).iter().zip(want) {
                assert!((have - want).abs() <= 1e-12 * want.abs().max(1.0), "{name}: {have} {want}");
            }
        }
        let predictions: Vec<f64> = decisions.iter().map(|f| prediction(&machine, f)).collect();
        let expected = json!({"rows": rows, "decisions": decisions, "predictions": predictions});
        fs::write(path.with_extension("expected.json"), expected.to_string()).unwrap();
    }
}
