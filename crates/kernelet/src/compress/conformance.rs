//! What every sparsifier promises, tested on every one of them. Methods that train on rows are in [`trained`].
mod trained;

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use super::{
    Budget, Path, Sparsifier, Task,
    construct::{FixedPoint, Gradient, Refine, RefineFrom, Refinement, Starts},
    select::{Chunked, Criterion, Independent, L0, L1, Outputs, Pursuit, Separate, Weights},
    toy,
};
use crate::{
    Error, Result,
    kernel::{Argument, Kernel},
    linalg::Matrix,
    machine::{Coefficients, Machine, residual, squared_norm},
    model,
    watch::{Progress, Status, Watch},
};

/// A sparsifier, and whether the budget is that of all outputs together or of each.
struct Method {
    sparsifier: Box<dyn Sparsifier>,
    joint: bool,
}

fn all(kernel: &Kernel) -> Vec<Method> {
    let mut all = vec![];
    let mut joint = |sparsifier: Box<dyn Sparsifier>| all.push(Method { sparsifier, joint: true });
    for criterion in [Criterion::Weights, Criterion::RefittedWeights] {
        joint(Box::new(Pursuit { criterion, ..Pursuit::default() }));
    }
    joint(Box::new(Pursuit { sample: Some(9), seed: 3, ..Pursuit::default() }));
    joint(Box::new(Pursuit { backfit: false, ..Pursuit::default() }));
    joint(Box::new(L1 { weights: Weights::Equal }));
    joint(Box::new(L1 { weights: Weights::Inverse }));
    joint(Box::<L0>::default());
    joint(Box::new(L0 { lossless: true, ..L0::default() }));
    joint(Box::<Independent>::default());
    joint(Box::new(Chunked { method: Box::new(Pursuit::default()), size: 15, passes: 2 }));
    joint(Box::new(Chunked { method: Box::new(L1 { weights: Weights::Inverse }), size: 15, passes: 2 }));
    joint(Box::new(Chunked { method: Box::new(L0::default()), size: 15, passes: 2 }));
    joint(Box::new(Gradient { starts: starts(), ..Gradient::default() }));
    for from in [RefineFrom::KMeans, RefineFrom::Random] {
        joint(Box::new(Refine { how: Refinement { max_steps: 20, ..Refinement::default() }, from, ..Refine::default() }));
    }
    // Fixed points are those of functions of the distance.
    if kernel.profile().argument() == Argument::SquaredDistance {
        joint(Box::new(FixedPoint { starts: starts(), ..FixedPoint::default() }));
    }
    let each: [Box<dyn Sparsifier>; 3] = [
        Box::new(Pursuit { outputs: Outputs::Separate, ..Pursuit::default() }),
        Box::new(Separate { method: Box::new(L1 { weights: Weights::Equal }) }),
        Box::new(Separate { method: Box::new(Pursuit::default()) }),
    ];
    all.extend(each.into_iter().map(|sparsifier| Method { sparsifier, joint: false }));
    all
}

fn starts() -> Starts {
    Starts { count: 3, ..Starts::default() }
}

/// A Gaussian machine, and one of a kernel without full rank.
fn machines(outputs: usize) -> Vec<Machine> {
    let kernels = [Kernel::gaussian(0.4), Kernel::named("polynomial", 1.0, 2, 1.0).unwrap()];
    kernels.into_iter().map(|kernel| toy::machine(kernel, 40, outputs)).collect()
}

fn run(method: &Method, machine: &Machine, vectors: usize) -> Result<Path> {
    method.sparsifier.sparsify(&Task::of(machine), &Budget::vectors(vectors), &Watch::none())
}

fn each(outputs: &[usize], mut promise: impl FnMut(&Method, &Machine, &str)) {
    for &outputs in outputs {
        for machine in machines(outputs) {
            for (i, method) in all(&machine.expansion.kernel).into_iter().enumerate() {
                let which = format!("{} (number {i}), {outputs} outputs, {}", method.sparsifier.name(), machine.expansion.kernel.name());
                promise(&method, &machine, &which);
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
        let most = if method.joint { 6 } else { 6 * machine.n_outputs() };
        assert!(!path.is_empty(), "{which}");
        let mut last = f64::INFINITY;
        for (i, level) in path.levels().into_iter().enumerate() {
            let small = path.machine(i).unwrap();
            assert!(level.n_vectors == small.n_vectors() && level.n_vectors <= most, "{which}: {level:?}");
            let direct = residual(&machine.expansion, &small.expansion).unwrap();
            assert!((direct - level.residual).abs() < 1e-9 * start && level.residual <= last, "{which}: {direct} {level:?}");
            last = level.residual;
        }
        let reached = Budget { max_residual: 0.3, ..Budget::default() };
        let path = method.sparsifier.sparsify(&Task::of(machine), &reached, &Watch::none()).unwrap();
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
        // New vectors do not reach the machine itself: the same machine with each vector once says how near they come.
        let mut once = machine.clone();
        if let Coefficients::Dense(values) = &mut once.expansion.coefficients {
            (0..10).for_each(|i| values.row_mut(i).iter_mut().for_each(|v| *v *= 3.0));
        }
        let near = run(method, &once, 60).unwrap().levels().last().unwrap().relative_residual;
        let last = path.levels().last().copied().unwrap();
        let constructs = ["fixed-point", "gradient", "refine"].iter().any(|name| which.starts_with(name));
        let bound = if constructs { f64::max(1e-3, 1.5 * near) } else { 1e-3 };
        assert!(last.relative_residual < bound && small.n_vectors() <= 60, "{which}: {last:?} {near}");
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
            let path = method.sparsifier.sparsify(&Task::of(machine), &Budget::vectors(30), &watch).unwrap();
            drop(watch);
            assert!(flag.load(Ordering::Relaxed), "{which} reports nothing");
            assert!(path.status == Status::Cancelled && !late.into_inner(), "{which} goes on: {:?}", path.status);
            assert!(at_once || path.last().is_some(), "{which} loses its work");
            let most = if method.joint { 30 } else { 30 * machine.n_outputs() };
            assert!(path.last().is_none_or(|small| small.check().is_ok() && small.n_vectors() <= most), "{which}");
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
fn numbers_that_are_not_finite_and_machines_without_vectors_are_rejected() {
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
        assert!(method.sparsifier.sparsify(&task, &Budget::vectors(5), &Watch::none()).is_err(), "{which}");
        let mut empty = machine.clone();
        empty.expansion.vectors = empty.expansion.vectors.select(&[]);
        empty.expansion.coefficients = Coefficients::Dense(Matrix::zeros(0, 1));
        assert!(run(method, &empty, 5).is_err() && run(method, machine, 0).is_err(), "{which}");
    });
}
