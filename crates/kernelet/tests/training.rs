//! What holds for every training run: it depends on the data alone, can be stopped, and counts its work.
#![allow(clippy::unwrap_used, clippy::panic)]
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use kernelet::{
    data::{Classes, Dataset, Generator, Points, digits_split, noisy},
    kernel::Kernel,
    learn::{Fit, Learner, Multiclass, Ridge, Svc},
    watch::{Status, Watch},
};

fn on_threads<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(work)
}

fn digits_learner(multiclass: Multiclass) -> Svc {
    Svc { kernel: Kernel::gaussian(0.002), c: 10.0, multiclass, ..Svc::default() }
}

fn noisy_learner() -> Svc {
    Svc { kernel: Kernel::gaussian(0.05), c: 10.0, ..Svc::default() }
}

fn assert_same(a: &Fit, b: &Fit, points: &Points) {
    assert_eq!(a.machine, b.machine);
    assert_eq!((a.report.objective, a.report.iterations), (b.report.objective, b.report.iterations));
    assert_eq!(a.machine.outputs_for(points).unwrap(), b.machine.outputs_for(points).unwrap());
}

#[test]
fn several_classes_give_the_same_bits_on_one_thread_and_on_eight() {
    let (train, test) = digits_split();
    for multiclass in [Multiclass::OneVsOne, Multiclass::OneVsRest, Multiclass::OutputCodes { seed: 3 }] {
        let learner = digits_learner(multiclass);
        let one = on_threads(1, || learner.learn(&train, &Watch::none()).unwrap());
        let eight = on_threads(8, || learner.learn(&train, &Watch::none()).unwrap());
        assert_same(&one, &eight, &test.points);
        // Problems that share kernel rows compute some of them twice at the same time.
        if multiclass == Multiclass::OneVsOne {
            assert_eq!(one.report.evaluations, eight.report.evaluations);
        }
    }
}

/// Wide rows are shared among threads: 1,200 rows of 1,000 features are enough for that. A few hundred steps show it.
#[test]
fn one_large_problem_gives_the_same_bits_on_one_thread_and_on_eight() {
    let train = noisy(1200, 1000, 1).unwrap();
    let learner = Svc { kernel: Kernel::gaussian(1e-3), max_iterations: 300, ..Svc::default() };
    let one = on_threads(1, || learner.learn(&train, &Watch::none()).unwrap());
    let eight = on_threads(8, || learner.learn(&train, &Watch::none()).unwrap());
    assert_same(&one, &eight, &train.points);
}

#[test]
fn the_size_of_the_cache_changes_nothing_but_the_work() {
    let train = Generator::Noisy.make(700, 1);
    let fit = |cache_bytes| Svc { cache_bytes, ..noisy_learner() }.learn(&train, &Watch::none()).unwrap();
    let (large, small, none) = (fit(200 << 20), fit(100 << 10), fit(0));
    assert_same(&large, &small, &train.points);
    assert_same(&large, &none, &train.points);
    assert!(large.report.evaluations < small.report.evaluations && small.report.evaluations < none.report.evaluations);
}

#[test]
fn with_a_cache_for_all_rows_each_kernel_row_is_computed_once() {
    for (train, learner) in [(Generator::Noisy.make(1000, 1), noisy_learner()), (digits_split().0, digits_learner(Multiclass::OneVsRest))] {
        let evaluations = |shrinking| {
            let watch = Watch::none();
            let fit = Svc { shrinking, ..learner.clone() }.learn(&train, &watch).unwrap();
            assert_eq!(watch.evaluations(), fit.report.evaluations);
            fit.report.evaluations
        };
        // One-vs-rest problems share their rows.
        let most = (train.len() * train.len()) as u64;
        let plain = on_threads(1, || evaluations(false));
        assert!(plain > 0 && plain <= most, "{plain} of {most}");
        // Rows that return after shrinking cost their outputs, once early and once at the end.
        let shrunk = on_threads(1, || evaluations(true));
        assert!(shrunk <= 2 * most, "{shrunk} of {most}");
    }
}

#[test]
fn ridge_computes_half_of_the_kernel_matrix() {
    let fit = Ridge::default().learn(&Generator::Sinc.make(100, 1), &Watch::none()).unwrap();
    assert_eq!(fit.report.evaluations, 100 * 101 / 2);
}

#[test]
fn a_cancelled_run_returns_the_machine_of_the_work_so_far() {
    let (digits, test) = digits_split();
    let runs: [(&Dataset, Svc); 3] = [
        (&Generator::Noisy.make(1500, 1), noisy_learner()),
        (&digits, digits_learner(Multiclass::OneVsOne)),
        (&digits, digits_learner(Multiclass::OneVsRest)),
    ];
    for (train, learner) in runs {
        // At a tolerance this fine no problem is done before its first look at the flag.
        let learner = Svc { tolerance: 1e-12, ..learner };
        let watch = Watch::none().with_cancel(Arc::new(AtomicBool::new(true)));
        let fit = learner.learn(train, &watch).unwrap();
        assert_eq!(fit.report.status, Status::Cancelled);
        fit.machine.check().unwrap();
        assert!(fit.machine.n_vectors() > 0);
        let rows = if fit.machine.dim() == test.dim() { &test.points } else { &train.points };
        assert!(fit.machine.outputs_for(rows).unwrap().values().iter().all(|f| f.is_finite()));
    }
}

#[test]
fn a_reporter_may_cancel_the_run_it_watches() {
    let flag = Arc::new(AtomicBool::new(false));
    let watch = Watch::none().with_cancel(flag.clone()).with_reporter(|_| flag.store(true, Ordering::Relaxed));
    let fit = Svc { tolerance: 1e-12, ..noisy_learner() }.learn(&Generator::Noisy.make(1500, 1), &watch).unwrap();
    assert_eq!(fit.report.status, Status::Cancelled);
    assert!(fit.report.iterations < 10_000, "{}", fit.report.iterations);
}

#[test]
fn a_weight_of_two_is_a_row_given_twice_and_a_weight_of_zero_a_row_left_out() {
    let mut train = Generator::Ripley.make(120, 1);
    let weight = |i: usize| i % 3;
    train.weights = Some((0..120).map(|i| weight(i) as f64).collect());
    let rows: Vec<usize> = (0..120).flat_map(|i| std::iter::repeat_n(i, weight(i))).collect();
    let repeated = Dataset { weights: None, ..train.select(&rows) };
    let learner = Svc { kernel: Kernel::gaussian(2.0), tolerance: 1e-6, ..Svc::default() };
    let weighted = learner.learn(&train, &Watch::none()).unwrap();
    let repeated = learner.learn(&repeated, &Watch::none()).unwrap();
    assert!((weighted.report.objective / repeated.report.objective - 1.0).abs() < 1e-6);
    let outputs = |fit: &Fit| fit.machine.outputs_for(&train.points).unwrap();
    // Both stop within the tolerance; kernel values in single precision leave a little more.
    for (a, b) in outputs(&weighted).values().iter().zip(outputs(&repeated).values()) {
        assert!((a - b).abs() < 1e-4, "{a} {b}");
    }
}

#[test]
fn a_class_without_rows_takes_no_part() {
    let (train, test) = digits_split();
    let codes = &train.classes().unwrap().codes;
    let rows: Vec<usize> = (0..train.len()).filter(|&i| codes[i] != 4).take(400).collect();
    let with_empty = train.select(&rows);
    let mut without = with_empty.clone();
    let classes = with_empty.classes().unwrap();
    without.target = kernelet::data::Target::Classes(Classes::new(classes.labels.clone(), &classes.codes));
    let learner = digits_learner(Multiclass::OneVsOne);
    let predicted = |data: &Dataset| {
        let machine = learner.learn(data, &Watch::none()).unwrap().machine;
        match machine.predict(&test.points).unwrap() {
            kernelet::machine::Prediction::Classes { labels, codes } => {
                codes.iter().map(|&c| labels[c as usize].text().to_string()).collect::<Vec<_>>()
            }
            kernelet::machine::Prediction::Values(_) => vec![],
        }
    };
    assert_eq!(predicted(&with_empty), predicted(&without));
}
