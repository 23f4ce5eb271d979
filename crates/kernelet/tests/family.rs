//! What holds for every learner of the support vector family: the data alone decide, it can be stopped, and bad input is no panic.
#![allow(clippy::unwrap_used, clippy::panic)]
use std::sync::{Arc, atomic::AtomicBool};

use kernelet::{
    data::{Classes, Csr, Dataset, Generator, Points, Target, noisy},
    kernel::Kernel,
    learn::{Learner, Multiclass, NuSvc, NuSvr, OneClass, Svc, Svr},
    linalg::Matrix,
    watch::{Status, Watch},
};

fn learners(kernel: &Kernel, tolerance: f64) -> Vec<Box<dyn Learner>> {
    let kernel = || kernel.clone();
    let multiclass = Multiclass::OutputCodes { seed: 5 };
    vec![
        Box::new(Svc { kernel: kernel(), tolerance, ..Svc::default() }),
        Box::new(Svc { kernel: kernel(), tolerance, multiclass, ..Svc::default() }),
        Box::new(NuSvc { kernel: kernel(), nu: 0.3, tolerance, ..NuSvc::default() }),
        Box::new(Svr { kernel: kernel(), tolerance, ..Svr::default() }),
        Box::new(NuSvr { kernel: kernel(), nu: 0.3, tolerance, ..NuSvr::default() }),
        Box::new(OneClass { kernel: kernel(), nu: 0.3, tolerance, ..OneClass::default() }),
    ]
}

/// The target that the learner wants: the class, or the class as a number with a wave on it.
fn for_learner(learner: &dyn Learner, data: &Dataset) -> Dataset {
    let classes = data.classes().unwrap();
    match learner.name() {
        "svr" | "nu-svr" => {
            let number = |i: usize| f64::from(classes.codes[i]) + (i as f64).sin();
            Dataset { target: Target::Values(Matrix::from_fn(data.len(), 1, |i, _| number(i))), ..data.clone() }
        }
        "one-class" => Dataset { target: Target::None, ..data.clone() },
        _ => data.clone(),
    }
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    // Wide rows are shared among threads; the few steps that a coarse tolerance takes show it.
    let (wide, plain) = (noisy(1100, 1000, 1).unwrap(), Generator::Waveform.make(400, 1));
    for (data, gamma, tolerance) in [(&wide, 1e-3, 1.0), (&plain, 0.02, 1e-3)] {
        for learner in learners(&Kernel::gaussian(gamma), tolerance) {
            let data = for_learner(&*learner, data);
            let on = |threads| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                pool.install(|| learner.learn(&data, &Watch::none()).unwrap())
            };
            let (one, eight) = (on(1), on(8));
            assert_eq!(one.machine, eight.machine, "{}", learner.name());
            assert_eq!(one.report.objective, eight.report.objective, "{}", learner.name());
        }
    }
}

#[test]
fn a_cancelled_run_returns_the_machine_of_the_work_so_far() {
    let data = Generator::Noisy.make(600, 1);
    for learner in learners(&Kernel::gaussian(0.05), 1e-12) {
        let watch = Watch::none().with_cancel(Arc::new(AtomicBool::new(true)));
        let fit = learner.learn(&for_learner(&*learner, &data), &watch).unwrap();
        assert_eq!(fit.report.status, Status::Cancelled, "{}", learner.name());
        fit.machine.check().unwrap();
        assert!(fit.machine.outputs_for(&data.points).unwrap().values().iter().all(|v| v.is_finite()));
    }
}

#[test]
fn dense_sparse_and_wide_sparse_rows_give_the_same_machine() {
    let data = Generator::Ringnorm.make(200, 1);
    let x = data.points.to_dense();
    let spread = Matrix::from_fn(200, 2000, |i, j| if j % 100 == 0 { x.at(i, j / 100) } else { 0.0 });
    for learner in learners(&Kernel::gaussian(0.05), 1e-6) {
        let learn = |points: Points| {
            let data = Dataset { points, ..for_learner(&*learner, &data) };
            learner.learn(&data, &Watch::none()).unwrap()
        };
        let dense = learn(x.clone().into());
        for points in [Points::from(Csr::from_dense(&x)), Points::from(Csr::from_dense(&spread))] {
            let test = points.clone();
            let sparse = learn(points);
            let close = (sparse.report.objective / dense.report.objective - 1.0).abs() < 1e-5;
            assert!(close, "{}: {} {}", learner.name(), sparse.report.objective, dense.report.objective);
            let (a, b) = (sparse.machine.outputs_for(&test).unwrap(), dense.machine.outputs_for(&data.points).unwrap());
            assert!(a.values().iter().zip(b.values()).all(|(a, b)| (a - b).abs() < 1e-3), "{}", learner.name());
        }
    }
}

#[test]
fn bad_rows_are_rejected_and_odd_ones_do_no_harm() {
    let texts: Vec<&str> = (0..20).map(|i| ["a", "b"][i % 2]).collect();
    let data = |x: Matrix| Dataset::new(x, Target::Classes(Classes::from_texts(&texts)));
    for learner in learners(&Kernel::gaussian(1.0), 1e-3) {
        let try_on = |x: Matrix| learner.learn(&for_learner(&*learner, &data(x)), &Watch::none());
        assert!(try_on(Matrix::from_fn(20, 2, |i, _| if i == 3 { f64::NAN } else { 1.0 })).is_err());
        assert!(try_on(Matrix::from_fn(20, 2, |i, _| i as f64 * 1e200)).is_err());
        // All rows the same, with both labels: no margin can be had, anything else has an answer.
        match try_on(Matrix::from_fn(20, 2, |_, _| 1.0)) {
            Ok(fit) => fit.machine.check().unwrap(),
            Err(error) => assert!(error.to_string().contains("no margin is left between"), "{error}"),
        }
        let none = Dataset { weights: Some(vec![0.0; 20]), ..for_learner(&*learner, &data(Matrix::from_fn(20, 2, |i, _| i as f64))) };
        assert_eq!(learner.learn(&none, &Watch::none()).unwrap_err().to_string(), "no row has a weight above 0");
        assert!(learner.learn(&none.select(&[]), &Watch::none()).is_err());
    }
}
