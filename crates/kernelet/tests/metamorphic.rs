//! What must not matter does not: the order of rows and features, rows written twice with half the weight, the names of classes, the unit of targets. And
//! sizes at the edge: a thousand classes, one row against very many, ten thousand features.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout)]
use kernelet::{
    data::{Classes, Dataset, Target, banana, sinc, waveform3},
    linalg::Matrix,
    prelude::*,
};

const CLASSIFIERS: [&str; 7] = [
    r#"{"learner": "svc", "gamma": 0.5, "c": 3, "tolerance": 1e-7}"#,
    r#"{"learner": "nu-svc", "gamma": 0.5, "nu": 0.4, "tolerance": 1e-7}"#,
    r#"{"learner": "fisher", "gamma": 0.5, "lambda": 0.01}"#,
    r#"{"learner": "logistic", "gamma": 0.5, "c": 3}"#,
    r#"{"learner": "one-class", "gamma": 0.5, "nu": 0.2, "tolerance": 1e-7}"#,
    r#"{"learner": "svc", "gamma": 0.5, "c": 3, "kernel": "matern52", "tolerance": 1e-7}"#,
    r#"{"learner": "rvm", "gamma": 0.5}"#,
];

const REGRESSORS: [&str; 4] = [
    r#"{"learner": "svr", "gamma": 0.3, "c": 3, "epsilon": 0.1, "tolerance": 1e-7}"#,
    r#"{"learner": "nu-svr", "gamma": 0.3, "c": 3, "nu": 0.5, "tolerance": 1e-7}"#,
    r#"{"learner": "ridge", "gamma": 0.3, "lambda": 0.01}"#,
    r#"{"learner": "rvm", "gamma": 0.3, "task": "regression"}"#,
];

fn outputs(request: &str, data: &Dataset, at: &Points) -> Matrix {
    let trained = Train::from_json(request).unwrap().run(data, &Given::default(), &Watch::none());
    let trained = trained.unwrap_or_else(|error| panic!("{request}: {error}"));
    Predictor::new(trained.machine()).outputs(at).unwrap()
}

/// The same up to the tolerance of the solvers, as a fraction of the largest output.
fn assert_same(a: &Matrix, b: &Matrix, factor: f64, what: &str) {
    let largest = a.values().iter().fold(1e-12f64, |most, f| most.max(f.abs()));
    let apart = a.values().iter().zip(b.values()).fold(0.0f64, |most, (a, b)| most.max((factor * a - b).abs()));
    assert!(apart <= 1e-3 * largest * factor.abs(), "{what}: outputs differ by {apart} of {largest}");
}

fn columns(points: &Points, order: &[usize]) -> Points {
    let dense = points.to_dense();
    Matrix::from_fn(dense.rows(), dense.cols(), |i, j| dense.at(i, order[j])).into()
}

/// The rows in another order: every seventh, again and again.
fn shuffled(n: usize) -> Vec<usize> {
    (0..7).flat_map(|first| (first..n).step_by(7)).collect()
}

#[test]
fn the_order_of_rows_and_features_does_not_matter() {
    let (classes, numbers) = (banana(90, 1), sinc(80, 0.1, 1).unwrap());
    for (requests, data) in [(&CLASSIFIERS[..], &classes), (&REGRESSORS[..], &numbers)] {
        for request in requests {
            let want = outputs(request, data, &data.points);
            let other = data.select(&shuffled(data.len()));
            assert_same(&want, &outputs(request, &other, &data.points), 1.0, &format!("{request}, other rows"));
            let order: Vec<usize> = (0..data.dim()).rev().collect();
            let points = columns(&data.points, &order);
            let turned = Dataset { points: points.clone(), ..data.clone() };
            assert_same(&want, &outputs(request, &turned, &points), 1.0, &format!("{request}, other features"));
        }
    }
}

#[test]
fn rows_written_twice_with_half_the_weight_are_the_same_rows() {
    let (classes, numbers) = (banana(60, 1), sinc(60, 0.1, 1).unwrap());
    let weighted = |request: &&&str| !request.contains("nu-sv");
    for (requests, data) in [(&CLASSIFIERS[..], &classes), (&REGRESSORS[..], &numbers)] {
        for request in requests.iter().filter(weighted) {
            let twice: Vec<usize> = (0..data.len()).chain(0..data.len()).collect();
            let doubled = Dataset { weights: Some(vec![0.5; 2 * data.len()]), ..data.select(&twice) };
            let (want, found) = (outputs(request, data, &data.points), outputs(request, &doubled, &data.points));
            assert_same(&want, &found, 1.0, request);
        }
    }
}

/// Also the evidence, which would show a better machine with the same outputs.
#[test]
fn relevance_vectors_of_doubled_rows_have_the_same_evidence_and_number() {
    for data in [banana(60, 1), sinc(60, 0.1, 1).unwrap(), waveform3(60, 1)] {
        let task = if data.values().is_ok() { r#", "task": "regression""# } else { "" };
        let rvm = Train::from_json(&format!(r#"{{"learner": "rvm", "gamma": 0.5{task}}}"#)).unwrap();
        let learn = |data: &Dataset| rvm.run(data, &Given::default(), &Watch::none()).unwrap().fit;
        let twice: Vec<usize> = (0..data.len()).chain(0..data.len()).collect();
        let doubled = Dataset { weights: Some(vec![0.5; 2 * data.len()]), ..data.select(&twice) };
        let (one, two) = (learn(&data), learn(&doubled));
        let (a, b) = (one.report.objective, two.report.objective);
        assert!((a - b).abs() <= 1e-6 * a.abs(), "{a} {b}");
        assert_eq!(one.machine.n_vectors(), two.machine.n_vectors());
    }
}

#[test]
fn names_of_classes_only_turn_the_sign_and_units_of_targets_only_scale() {
    let data = banana(90, 1);
    let codes = data.classes().unwrap().codes.clone();
    let named = |names: [&str; 2]| {
        let texts: Vec<&str> = codes.iter().map(|&code| names[code as usize]).collect();
        Dataset { target: Target::Classes(Classes::from_texts(&texts)), ..data.clone() }
    };
    for request in CLASSIFIERS.iter().filter(|request| !request.contains("one-class")) {
        let (plain, turned) = (named(["a", "b"]), named(["b", "a"]));
        let (a, b) = (outputs(request, &plain, &data.points), outputs(request, &turned, &data.points));
        assert_same(&a, &b, -1.0, request);
    }
    let numbers = sinc(80, 0.1, 1).unwrap();
    let values = numbers.values().unwrap();
    let scaled = Matrix::from_fn(values.rows(), 1, |i, _| 1000.0 * values.at(i, 0));
    let scaled = Dataset { target: Target::Values(scaled), ..numbers.clone() };
    for (request, other) in [
        (REGRESSORS[0], r#"{"learner": "svr", "gamma": 0.3, "c": 3000, "epsilon": 100, "tolerance": 1e-4}"#),
        (REGRESSORS[1], r#"{"learner": "nu-svr", "gamma": 0.3, "c": 3000, "nu": 0.5, "tolerance": 1e-4}"#),
        (REGRESSORS[2], REGRESSORS[2]),
        (REGRESSORS[3], REGRESSORS[3]),
    ] {
        let (a, b) = (outputs(request, &numbers, &numbers.points), outputs(other, &scaled, &numbers.points));
        assert_same(&a, &b, 1000.0, request);
    }
}

#[test]
fn a_thousand_classes_are_told_apart() {
    let points =
        Matrix::from_fn(2000, 2, |i, j| if j == 0 { (i % 1000 % 40) as f64 } else { (i % 1000 / 40) as f64 } + 0.01 * (i / 1000) as f64);
    let texts: Vec<String> = (0..2000).map(|i| (i % 1000).to_string()).collect();
    let data = Dataset::new(points, Target::Classes(Classes::from_texts(&texts)));
    let ridge = r#"{"learner": "svc", "gamma": 4, "c": 10, "multiclass": "one-vs-rest"}"#;
    let trained =
        Train::from_json(ridge).unwrap().run(&data.select(&(0..1000).collect::<Vec<_>>()), &Given::default(), &Watch::none()).unwrap();
    assert_eq!(trained.machine().decision.labels().len(), 1000);
    assert_eq!(trained.machine().score(&data).unwrap().loss(), 0.0);
    let bytes = model::native::to_bytes(trained.machine()).unwrap();
    assert_eq!(&model::load_bytes(&bytes, "bytes").unwrap(), trained.machine());
}

/// One row of a class against very many of the other: 100,000 with `KERNELET_HARD=1`.
#[test]
fn one_row_against_very_many_is_found_when_classes_are_balanced() {
    let n = if std::env::var_os("KERNELET_HARD").is_some() { 100_000 } else { 5_000 };
    let points = Matrix::from_fn(n + 1, 2, |i, j| if i == n { 6.0 } else { ((i * (j + 3)) as f64 * 0.37).sin() });
    let texts: Vec<&str> = (0..=n).map(|i| if i == n { "rare" } else { "usual" }).collect();
    let data = Dataset::new(points, Target::Classes(Classes::from_texts(&texts)));
    for request in [r#"{"gamma": 0.5, "class-weight": "balanced"}"#, r#"{"gamma": 0.5, "vectors": 5, "iterations": 20}"#] {
        let trained = Train::from_json(request).unwrap().run(&data, &Given::default(), &Watch::none()).unwrap();
        let predicted = trained.machine().predict(&data.points.select(&[0, n])).unwrap();
        assert_eq!(predicted.label(0).unwrap().to_string(), "usual");
        assert!(predicted.label(1).unwrap().to_string() == "rare" || request.contains("vectors"), "{request}");
    }
}

#[test]
fn ten_thousand_features_are_trained_on_compressed_and_exported() {
    let points = Matrix::from_fn(40, 10_000, |i, j| ((i * 31 + j * 17) as f64).sin() + f64::from(u8::from(i % 2 == 0 && j < 200)));
    let texts: Vec<String> = (0..40).map(|i| (i % 2).to_string()).collect();
    let data = Dataset::new(points, Target::Classes(Classes::from_texts(&texts)));
    for request in [r#"{"c": 10}"#, r#"{"vectors": 3, "iterations": 20}"#, r#"{"learner": "ridge", "kernel": "linear", "lambda": 1}"#] {
        let ridge = request.contains("ridge");
        let numbers = Target::Values(Matrix::from_fn(40, 1, |i, _| (i % 2) as f64));
        let data = if ridge { Dataset { target: numbers, ..data.clone() } } else { data.clone() };
        let trained = Train::from_json(request).unwrap().run(&data, &Given::default(), &Watch::none()).unwrap();
        let loss = trained.machine().score(&data).unwrap().loss();
        // A linear function without an offset cannot fit these numbers: the rows with 1 lie in a plane through the origin.
        assert!(ridge || loss < 0.15, "{request}: {loss}");
        let small = Compress::from_json(r#"{"method": "pursuit", "vectors": 2}"#).unwrap();
        assert!(small.run(trained.machine(), None, None, &Watch::none()).unwrap().machine.n_vectors() <= 2);
    }
}
