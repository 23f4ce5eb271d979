//! Our calibrations against scikit-learn: the same curves from the same outputs. `probabilities/make.py` made the reference.
#![allow(clippy::unwrap_used)] // All of this is tests.
use kernelet::learn::{fit_isotonic, fit_sigmoid};
use serde::Deserialize;

#[derive(Deserialize)]
struct Reference {
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    outputs: Vec<f64>,
    positive: Vec<bool>,
    weights: Vec<f64>,
    at: Vec<f64>,
    isotonic: Vec<f64>,
    a: f64,
    b: f64,
}

fn cases() -> Vec<Case> {
    let cases = serde_json::from_str::<Reference>(include_str!("probabilities/reference.json")).unwrap().cases;
    assert_eq!(cases.len(), 3);
    cases
}

#[test]
fn isotonic_curves_agree_with_scikit_learn() {
    for case in cases() {
        let curve = fit_isotonic(&case.outputs, &case.positive, &case.weights).unwrap();
        for (x, want) in case.at.iter().zip(&case.isotonic) {
            assert!((curve.at(*x) - want).abs() < 1e-12, "{x}: {} {want}", curve.at(*x));
        }
    }
}

#[test]
fn sigmoids_agree_with_scikit_learn_to_the_tolerance_of_its_solver() {
    for case in cases() {
        let (a, b) = fit_sigmoid(&case.outputs, &case.positive, &vec![1.0; case.outputs.len()]);
        // scikit-learn stops L-BFGS when the slope is below 1e-6 of its scaled problem.
        assert!((a - case.a).abs() < 1e-3 && (b - case.b).abs() < 1e-3, "{a} {} {b} {}", case.a, case.b);
    }
}
