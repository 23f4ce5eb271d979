//! The support vector family against scikit-learn and LIBSVM: nu-svc, svr, nu-svr and one-class have the same objective, vectors and outputs.
//!
//! The files in `reference/family/` hold the settings of a case and what the peers found; `reference/make.py` makes them.
#![allow(clippy::unwrap_used, clippy::panic)]
use std::path::PathBuf;

use kernelet::{
    data::{Dataset, Generator, Points},
    kernel::{Kernel, Precomputed, block},
    learn::{Fit, Learner, NuSvc, NuSvr, OneClass, Svr},
    linalg::Matrix,
    watch::{Status, Watch},
};
use serde::Deserialize;

const TEST_ROWS: usize = 20;

#[derive(Deserialize)]
struct Case {
    case: String,
    learner: String,
    set: String,
    rows: usize,
    seed: u64,
    test_seed: u64,
    kernel: Kernel,
    c: Option<f64>,
    nu: Option<f64>,
    epsilon: Option<f64>,
    #[serde(default)]
    sample_weights: bool,
    storage: Option<String>,
    loose: Found,
    tight: Found,
}

/// What scikit-learn found.
#[derive(Deserialize)]
struct Found {
    tolerance: f64,
    objective: f64,
    vectors: usize,
    decisions: Vec<Vec<f64>>,
    libsvm: Option<Libsvm>,
}

/// What LIBSVM itself found.
#[derive(Deserialize)]
struct Libsvm {
    vectors: usize,
    decisions: Vec<Vec<f64>>,
    /// Classes in LIBSVM's order; none for regression and one class.
    labels: Vec<i32>,
}

impl Case {
    fn all() -> Vec<Case> {
        let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/reference/family");
        let mut paths: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        let cases: Vec<Case> = paths.iter().map(|path| serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()).collect();
        assert!(cases.len() >= 15);
        cases
    }

    fn data(&self) -> (Dataset, Points) {
        let generator = Generator::named(&self.set).unwrap();
        let (mut train, mut test) = (generator.make(self.rows, self.seed), generator.make(TEST_ROWS, self.test_seed).points);
        if self.sample_weights {
            train.weights = Some((0..self.rows).map(|i| (1 + i % 3) as f64 / 2.0).collect());
        }
        if self.storage.is_some() {
            test = self.gram(&test, &train.points).into();
            train.points = self.gram(&train.points, &train.points).into();
        }
        (train, test)
    }

    /// A kernel that has no name: the case's kernel plus a tenth of the linear one.
    fn gram(&self, x: &Points, z: &Points) -> Matrix {
        let (a, b) = (block::block(&self.kernel, x, z), block::block(&Kernel::named("linear", 1.0, 0, 0.0).unwrap(), x, z));
        Matrix::from_fn(x.len(), z.len(), |i, j| a.at(i, j) + 0.1 * b.at(i, j))
    }

    fn learner(&self, tolerance: f64) -> Box<dyn Learner> {
        let kernel = if self.storage.is_some() { Kernel::Precomputed(Precomputed {}) } else { self.kernel.clone() };
        let (c, nu) = (self.c.unwrap_or(1.0), self.nu.unwrap_or(0.5));
        match self.learner.as_str() {
            "svr" => Box::new(Svr { kernel, c, epsilon: self.epsilon.unwrap(), tolerance, ..Svr::default() }),
            "nu-svr" => Box::new(NuSvr { kernel, c, nu, tolerance, ..NuSvr::default() }),
            "one-class" => Box::new(OneClass { kernel, nu, tolerance, ..OneClass::default() }),
            "nu-svc" => Box::new(NuSvc { kernel, nu, tolerance, ..NuSvc::default() }),
            other => panic!("unknown learner {other}"),
        }
    }

    fn fits(&self) -> Vec<(&Found, Fit, Points)> {
        let (train, test) = self.data();
        let fit = |found: &Found| {
            let fit = self.learner(found.tolerance).learn(&train, &Watch::none()).unwrap();
            assert_eq!(fit.report.status, Status::Converged, "{}", self.case);
            fit
        };
        [&self.loose, &self.tight].map(|found| (found, fit(found), test.clone())).into()
    }
}

/// The objective is flat near its best point, see `reference.rs`. The nu machines are divided by a margin that is known to the tolerance.
#[test]
fn dual_objectives_are_those_of_the_peers_and_near_the_primal() {
    for case in Case::all() {
        for (found, fit, _) in case.fits() {
            let allowed = if found.tolerance < 1e-4 { 1e-5 } else { 1e-2 };
            let dual = fit.report.dual_objective.unwrap();
            assert!((dual / found.objective - 1.0).abs() < allowed, "{} {}: {dual} {}", case.case, found.tolerance, found.objective);
            assert!((fit.report.objective / -dual - 1.0).abs() < 3.0 * allowed, "{}: {} {dual}", case.case, fit.report.objective);
        }
    }
}

/// Rows exactly on the margin may have a coefficient of zero or nearly so: one in fifty, and at least two.
#[test]
fn the_number_of_vectors_is_that_of_the_peers() {
    for case in Case::all() {
        for (found, fit, _) in case.fits() {
            let near = |count: usize| fit.machine.n_vectors().abs_diff(count) <= (count / 50).max(2);
            assert!(near(found.vectors), "{}: {} {}", case.case, fit.machine.n_vectors(), found.vectors);
            assert!(found.libsvm.as_ref().is_none_or(|libsvm| near(libsvm.vectors)), "{}", case.case);
        }
    }
}

/// Outputs of a one-class machine are sums of up to hundreds of kernel values: their differences are relative to the offset.
#[test]
fn outputs_for_new_rows_are_those_of_the_peers() {
    for case in Case::all() {
        for (found, fit, test) in case.fits() {
            let ours = fit.machine.outputs_for(&test).unwrap();
            let allowed = if found.tolerance < 1e-4 { 3e-5 } else { 2e-2 } * (1.0 + fit.machine.offsets[0].abs());
            let apart = |want: &[Vec<f64>], sign: f64| {
                assert_eq!((ours.rows(), ours.cols()), (want.len(), want[0].len()));
                ours.iter().zip(want).flat_map(|(a, b)| a.iter().zip(b).map(|(a, b)| (a - sign * b).abs())).fold(0.0, f64::max)
            };
            let difference = apart(&found.decisions, 1.0);
            assert!(difference < allowed, "{} at {}: {difference}", case.case, found.tolerance);
            if let Some(libsvm) = found.libsvm.as_ref().filter(|libsvm| libsvm.labels.len() < 3) {
                // A positive output means LIBSVM's first label, and our second in order.
                let sign = if libsvm.labels.first().is_some_and(|first| *first < libsvm.labels[1]) { -1.0 } else { 1.0 };
                let difference = apart(&libsvm.decisions, sign);
                assert!(difference < allowed, "{} at {}: LIBSVM {difference}", case.case, found.tolerance);
            }
        }
    }
}
