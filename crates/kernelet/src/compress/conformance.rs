//! What every sparsifier promises, tested on every one of them.
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use super::{
    Budget, Path, Sparsifier, Task,
    select::{Chunked, Criterion, Independent, L0, L1, Outputs, Pursuit, Separate, Weights},
    toy,
};
use crate::{
    Error, Result,
    kernel::Kernel,
    linalg::Matrix,
    machine::{Coefficients, Machine, residual, squared_norm},
    model,
    watch::{Progress, Status, Watch},
};

fn all() -> Vec<Box<dyn Sparsifier>> {
    let pursuits = [Criterion::Weights, Criterion::RefittedWeights].map(|criterion| Pursuit { criterion, ..Pursuit::default() });
    let mut all: Vec<Box<dyn Sparsifier>> = vec![];
    all.extend(pursuits.into_iter().map(|pursuit| Box::new(pursuit) as Box<dyn Sparsifier>));
    all.push(Box::new(Pursuit { sample: Some(9), seed: 3, ..Pursuit::default() }));
    all.push(Box::new(Pursuit { backfit: false, ..Pursuit::default() }));
    all.push(Box::new(Pursuit { outputs: Outputs::Separate, ..Pursuit::default() }));
    all.push(Box::new(Separate { method: Box::new(L1 { weights: Weights::Equal }) }));
    all.push(Box::new(L1 { weights: Weights::Equal }));
    all.push(Box::new(L1 { weights: Weights::Inverse }));
    all.push(Box::new(L0::default()));
    all.push(Box::new(L0 { lossless: true, ..L0::default() }));
    all.push(Box::new(Independent::default()));
    all.push(Box::new(Chunked { method: Box::new(Pursuit::default()), size: 15, passes: 2 }));
    all.push(Box::new(Chunked { method: Box::new(L1 { weights: Weights::Inverse }), size: 15, passes: 2 }));
    all.push(Box::new(Chunked { method: Box::new(L0::default()), size: 15, passes: 2 }));
    all
}

/// A Gaussian machine, and one of a kernel without full rank.
fn machines(outputs: usize) -> Vec<Machine> {
    let kernels = [Kernel::gaussian(0.4), Kernel::named("polynomial", 1.0, 2, 1.0).unwrap()];
    kernels.into_iter().map(|kernel| toy::machine(kernel, 40, outputs)).collect()
}

fn run(method: &dyn Sparsifier, machine: &Machine, vectors: usize) -> Result<Path> {
    method.sparsify(&Task::of(machine), &Budget::vectors(vectors), &Watch::none())
}

fn each(outputs: &[usize], mut promise: impl FnMut(&dyn Sparsifier, &Machine, &str)) {
    for &outputs in outputs {
        for machine in machines(outputs) {
            for (i, method) in all().into_iter().enumerate() {
                let which = format!("{} (number {i}), {} outputs, {}", method.name(), outputs, machine.expansion.kernel.name());
                promise(method.as_ref(), &machine, &which);
            }
        }
    }
}

/// The outputs of a machine on some rows.
fn outputs(machine: &Machine) -> Matrix {
    machine.outputs_for(&toy::rows(25).points).unwrap()
}

fn largest_difference(a: &Matrix, b: &Matrix) -> f64 {
    a.values().iter().zip(b.values()).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

#[test]
fn the_budget_is_kept_at_every_level_and_residuals_are_true_and_never_rise() {
    each(&[1, 3], |method, machine, which| {
        let path = run(method, machine, 6).unwrap();
        let start: f64 = squared_norm(&machine.expansion).unwrap().iter().sum();
        // The separate form has a budget for each output.
        let most = 6 * machine.n_outputs();
        assert!(!path.is_empty(), "{which}");
        let mut last = f64::INFINITY;
        for (i, level) in path.levels().into_iter().enumerate() {
            let small = path.machine(i).unwrap();
            let separate = level.n_vectors > 6;
            assert!(level.n_vectors == small.n_vectors() && level.n_vectors <= if separate { most } else { 6 }, "{which}: {level:?}");
            let direct = residual(&machine.expansion, &small.expansion).unwrap();
            assert!((direct - level.residual).abs() < 1e-9 * start && level.residual <= last, "{which}: {direct} {level:?}");
            last = level.residual;
        }
        let reached = Budget { max_residual: 0.3, ..Budget::default() };
        let path = method.sparsify(&Task::of(machine), &reached, &Watch::none()).unwrap();
        assert!(path.levels().last().unwrap().relative_residual <= 0.3 + 1e-9, "{which}");
    });
}

#[test]
fn a_machine_times_a_number_becomes_the_same_times_that_number() {
    each(&[1, 2], |method, machine, which| {
        let mut scaled = machine.clone();
        if let Coefficients::Dense(values) = &mut scaled.expansion.coefficients {
            values.values_mut().iter_mut().for_each(|v| *v *= 64.0);
        }
        scaled.offsets.iter_mut().for_each(|b| *b *= 64.0);
        let (a, b) = (run(method, machine, 6).unwrap().last().unwrap(), run(method, &scaled, 6).unwrap().last().unwrap());
        let mut want = outputs(&a);
        want.values_mut().iter_mut().for_each(|v| *v *= 64.0);
        let size = want.values().iter().fold(0.0, |a: f64, b| a.max(b.abs()));
        assert!(largest_difference(&want, &outputs(&b)) < 1e-6 * size, "{which}");
    });
}

#[test]
fn repeated_vectors_do_no_harm() {
    each(&[1, 2], |method, machine, which| {
        let mut repeated = machine.clone();
        let twice: Vec<usize> = (0..40).chain(0..10).chain(0..10).collect();
        repeated.expansion.vectors = machine.expansion.vectors.select(&twice);
        repeated.expansion.coefficients = Coefficients::Dense(machine.expansion.coefficients.to_dense().select(&twice));
        let path = run(method, &repeated, 60).unwrap();
        let small = path.last().unwrap();
        small.check().unwrap();
        assert!(outputs(&small).values().iter().all(|v| v.is_finite()), "{which}");
        assert!(path.levels().last().unwrap().relative_residual < 1e-3 && small.n_vectors() <= 60, "{which}: {:?}", path.levels().last());
    });
}

#[test]
fn the_same_seed_gives_the_same_bits_on_one_thread_and_on_eight() {
    each(&[1, 3], |method, machine, which| {
        let with = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| run(method, machine, 8).unwrap().last().unwrap())
        };
        let one = with(1);
        assert_eq!(one, with(8), "{which}");
        assert_eq!(one, with(1), "{which}");
    });
}

#[test]
fn cancelling_returns_the_work_so_far() {
    each(&[1, 2], |method, machine, which| {
        for at_once in [true, false] {
            let (flag, late) = (Arc::new(AtomicBool::new(at_once)), AtomicBool::new(false));
            // Once two of something are done the end is asked for, and nothing takes that back: the run must not go on.
            let reporter = |progress: &Progress| match progress.done {
                _ if flag.load(Ordering::Relaxed) => late.store(true, Ordering::Relaxed),
                done => flag.store(done >= 2, Ordering::Relaxed),
            };
            let watch = Watch::none().with_reporter(reporter).with_cancel(flag.clone());
            let path = method.sparsify(&Task::of(machine), &Budget::vectors(30), &watch).unwrap();
            drop(watch);
            assert!(flag.load(Ordering::Relaxed), "{which} reports nothing");
            assert!(path.status == Status::Cancelled && !late.into_inner(), "{which} goes on: {:?}", path.status);
            assert!(at_once || path.last().is_some(), "{which} loses its work");
            assert!(path.last().is_none_or(|small| small.check().is_ok() && small.n_vectors() <= 60), "{which}");
        }
    });
}

#[test]
fn saved_and_loaded_it_predicts_the_same_bits() {
    let path = std::env::temp_dir().join(format!("kernelet-conformance-{}.model", std::process::id()));
    each(&[1, 3], |method, machine, which| {
        let small = run(method, machine, 6).unwrap().last().unwrap();
        model::save(&small, &path).unwrap();
        let again = model::load(&path).unwrap();
        assert_eq!(outputs(&small), outputs(&again), "{which}");
    });
    let _ = std::fs::remove_file(&path);
}

#[test]
fn numbers_that_are_not_finite_and_machines_without_vectors_are_refused() {
    each(&[1], |method, machine, which| {
        let mut bad = machine.clone();
        let mut vectors = bad.expansion.vectors.to_dense();
        vectors.row_mut(7)[1] = f64::NAN;
        bad.expansion.vectors = vectors.clone().into();
        let refused = |result: Result<Path>| matches!(result, Err(Error::NotFinite { row: 7, .. }));
        assert!(refused(run(method, &bad, 5)), "{which}");
        let mut bad = machine.clone();
        if let Coefficients::Dense(values) = &mut bad.expansion.coefficients {
            values.row_mut(7)[0] = f64::INFINITY;
        }
        assert!(refused(run(method, &bad, 5)), "{which}");
        let points = vectors.into();
        let task = Task { candidates: Some(&points), ..Task::of(machine) };
        assert!(method.sparsify(&task, &Budget::vectors(5), &Watch::none()).is_err(), "{which}");
        let mut empty = machine.clone();
        empty.expansion.vectors = empty.expansion.vectors.select(&[]);
        empty.expansion.coefficients = Coefficients::Dense(Matrix::zeros(0, 1));
        assert!(run(method, &empty, 5).is_err() && run(method, machine, 0).is_err(), "{which}");
    });
}
