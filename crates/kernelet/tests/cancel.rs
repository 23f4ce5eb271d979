//! A run that was interrupted never ends as if it were finished: whatever the estimator or method, and whenever it stops.
#![allow(clippy::unwrap_used)]
use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use kernelet::{
    Named, Result,
    basis::{BasisBudget, BasisMethod, FisherPursuit, GreedyBasis, KMeans, RandomBasis, RpCholesky},
    compress::{
        Auto, Baseline, BaselineLearner, Budget, Distil, Effort, Goals, Sparsifier, Task,
        construct::{FixedPoint, Gradient, Refine, RefineFrom, Refinement, Starts, refine},
        select::{Chunked, Criterion, Independent, L0, L1, Outputs, Pursuit, Separate, Weights},
    },
    data::{Dataset, Target, banana, waveform3},
    kernel::Kernel,
    learn::{
        BestSize, Calibrated, Components, Fisher, Fit, FrameLearner, HowToScale, Learner, Logistic, Multiclass, NadarayaWatson, NuSvc,
        NuSvr, OnBasis, OneClass, Parzen, Pca, Ridge, Rvm, Scaled, Shape, Shrink, Svc, Svr,
        direct::{DirectLearner, DirectLoss, DirectTask, Growth, Margin, Search, Sharing},
    },
    linalg::Matrix,
    machine::Machine,
    watch::{Status, Watch},
};

/// A watch that answers so many questions with no, and all later ones with yes; and the number of questions.
fn patient(answers: u64) -> (Watch<'static>, Arc<AtomicU64>) {
    let asked = Arc::new(AtomicU64::new(0));
    let count = asked.clone();
    (Watch::none().with_cancel_when(move || count.fetch_add(1, Ordering::Relaxed) >= answers), asked)
}

/// Interrupts the run at several places; each result is an error, has the status cancelled, or is that of the whole run.
fn check<T: PartialEq + Send>(which: &str, run: impl Fn(&Watch) -> Result<(T, Status)> + Sync) {
    let one_thread = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let run = |answers| {
        let (watch, asked) = patient(answers);
        (one_thread.install(|| run(&watch)), asked.load(Ordering::Relaxed))
    };
    let (whole, asked) = run(u64::MAX);
    let (whole, end) = whole.unwrap();
    assert!(end != Status::Cancelled, "{which}");
    let mut places: Vec<u64> =
        (0..4).chain([1, 2, 3, 4, 5].map(|part| part * asked / 6)).chain((1..6).map(|last| asked.saturating_sub(last))).collect();
    places.sort_unstable();
    places.dedup();
    for answers in places.into_iter().filter(|&answers| answers < asked) {
        if let (Ok((result, status)), _) = run(answers) {
            let fine = status == Status::Cancelled || (result == whole && status == end);
            assert!(fine, "{which}, interrupted at check {answers} of {asked}: {status:?}");
        }
    }
}

fn check_learner(which: &str, learner: &dyn Learner, data: &Dataset) {
    let ended = |fit: Fit| (fit.machine, fit.report.objective.to_bits(), fit.report.status);
    check(which, |watch| learner.learn(data, watch).map(ended).map(|(machine, objective, status)| ((machine, objective), status)));
    check(&format!("the path of {which}"), |watch| {
        let path: Vec<_> = learner.learn_path(data, watch)?.into_iter().map(ended).collect();
        let status = path.last().map_or(Status::Cancelled, |last| last.2);
        Ok((path.into_iter().map(|(machine, ..)| machine).collect::<Vec<Machine>>(), status))
    });
}

fn gaussian() -> Kernel {
    Kernel::gaussian(0.5)
}

/// Two classes, three classes, and numbers.
fn sets() -> (Dataset, Dataset, Dataset) {
    let (two, three) = (banana(90, 1), waveform3(90, 1));
    let values = two.points.to_dense().iter().map(|row| (2.0 * row[0]).sin() + row[1]).collect();
    let numbers = Dataset { target: Target::Values(Matrix::column(values)), ..two.clone() };
    (two, three, numbers)
}

fn svc() -> Svc {
    Svc { kernel: gaussian(), c: 100.0, ..Svc::default() }
}

#[test]
fn full_machines() {
    let (two, three, numbers) = sets();
    let kernel = gaussian;
    let codes = Multiclass::OutputCodes { seed: 0 };
    check_learner("svc", &svc(), &two);
    for multiclass in [Multiclass::OneVsOne, Multiclass::OneVsRest, codes] {
        check_learner("svc of three classes", &Svc { multiclass, ..svc() }, &three);
    }
    check_learner("nu-svc", &NuSvc { kernel: kernel(), nu: 0.2, ..NuSvc::default() }, &two);
    check_learner("svr", &Svr { kernel: kernel(), c: 100.0, epsilon: 0.01, ..Svr::default() }, &numbers);
    check_learner("nu-svr", &NuSvr { kernel: kernel(), c: 100.0, ..NuSvr::default() }, &numbers);
    check_learner("one-class", &OneClass { kernel: kernel(), nu: 0.2, ..OneClass::default() }, &two);
    check_learner("ridge", &Ridge { kernel: kernel(), lambda: 0.1 }, &numbers);
    check_learner("fisher", &Fisher { kernel: kernel(), ..Fisher::default() }, &two);
    check_learner("logistic", &Logistic { kernel: kernel(), ..Logistic::default() }, &two);
    check_learner("logistic of three classes", &Logistic { kernel: kernel(), ..Logistic::default() }, &three);
    check_learner("rvm", &Rvm { kernel: kernel(), ..Rvm::default() }, &two);
    check_learner("rvm of three classes", &Rvm { kernel: kernel(), ..Rvm::default() }, &three);
    check_learner("rvm of numbers", &Rvm { kernel: kernel(), ..Rvm::default() }, &numbers);
    check_learner("parzen", &Parzen { kernel: kernel(), ..Parzen::default() }, &two);
    check_learner("nadaraya-watson", &NadarayaWatson { kernel: kernel() }, &numbers);
    check_learner("pca", &Pca { kernel: kernel(), components: Components::Count(5), ..Pca::default() }, &banana(520, 1));
    let learner = || Box::new(svc());
    check_learner("probabilities", &Calibrated { shape: Shape::Sigmoid, folds: 3, seed: 0, learner: learner() }, &two);
    let how = HowToScale::Fitted(kernelet::data::Scaling::Standard);
    check_learner("scaled", &Scaled { how, learner: learner() }, &two);
}

#[test]
fn machines_on_a_basis() {
    let (two, _, numbers) = sets();
    let bases = || -> Vec<Box<dyn BasisMethod>> {
        vec![
            Box::new(GreedyBasis::default()),
            Box::new(RpCholesky { seed: 1, block: None }),
            Box::new(KMeans::default()),
            Box::new(RandomBasis { seed: 1 }),
        ]
    };
    let classes = || -> Vec<Box<dyn FrameLearner>> {
        vec![
            Box::new(svc()),
            Box::new(Fisher { kernel: gaussian(), ..Fisher::default() }),
            Box::new(Logistic { kernel: gaussian(), ..Logistic::default() }),
            Box::new(Pca { kernel: gaussian(), components: Components::Count(3), ..Pca::default() }),
            Box::new(OneClass { kernel: gaussian(), nu: 0.2, ..OneClass::default() }),
        ]
    };
    let on = |basis: Box<dyn BasisMethod>, learner: Box<dyn FrameLearner>, shrink: Shrink| OnBasis {
        basis,
        budget: BasisBudget::vectors(12),
        learner,
        shrink,
    };
    for place in 0..bases().len() {
        for learner in classes() {
            let basis = bases().remove(place);
            check_learner(&format!("{} on {}", learner.name(), basis.name()), &on(basis, learner, Shrink::Never), &two);
        }
        let svr = Box::new(Svr { kernel: gaussian(), c: 10.0, ..Svr::default() });
        check_learner("svr on a basis", &on(bases().remove(place), svr, Shrink::Never), &numbers);
        check_learner("retrained svc", &on(bases().remove(place), Box::new(svc()), Shrink::Retrain), &two);
    }
    let fisher = || Box::new(Fisher { kernel: gaussian(), ..Fisher::default() });
    let pursuit = on(Box::<FisherPursuit>::default(), fisher(), Shrink::Never);
    check_learner("fisher-pursuit", &pursuit, &two);
    check_learner("the best size", &BestSize { on_basis: pursuit, every: 4, folds: 3, seed: 0 }, &two);
}

#[test]
fn baselines() {
    let (two, three, _) = sets();
    for baseline in Baseline::all() {
        let svc = Svc { multiclass: Multiclass::Shared, ..svc() };
        let learner = BaselineLearner { baseline, svc, n_vectors: 5, starts: 3, seed: 0 };
        check_learner(baseline.name(), &learner, &two);
        check_learner(baseline.name(), &learner, &three);
    }
}

#[test]
fn machines_whose_vectors_are_trained() {
    let (two, three, numbers) = sets();
    let search = Search { n_vectors: 5, iterations: 15, ..Search::default() };
    let searches = [
        search.clone(),
        Search { starts: 3, ..search.clone() },
        Search { growth: Growth::Doubling, ..search.clone() },
        Search { growth: Growth::OneByOne, starts: 2, ..search.clone() },
    ];
    for search in searches {
        let margin = Margin { kernel: gaussian(), c: 10.0, search, hinge_iterations: 10, ..Margin::default() };
        check_learner("margin", &margin, &two);
        check_learner("margin of three classes", &margin, &three);
        check_learner("margin with the hinge", &Margin { loss: DirectLoss::Hinge, ..margin.clone() }, &two);
        check_learner("margin with own vectors", &Margin { sharing: Sharing::Own, ..margin }, &three);
    }
    let kernel = gaussian;
    let fisher = Fisher { kernel: kernel(), lambda: 0.01, ..Fisher::default() };
    let tasks = [
        (DirectTask::Ridge(Ridge { kernel: kernel(), lambda: 0.1 }), &numbers),
        (DirectTask::Fisher { fisher: fisher.clone(), margin: None }, &two),
        (DirectTask::Fisher { fisher, margin: Some(1.0) }, &two),
        (DirectTask::Logistic(Logistic { kernel: kernel(), ..Logistic::default() }), &three),
        (DirectTask::OneClass(OneClass { kernel: kernel(), nu: 0.2, ..OneClass::default() }), &two),
        (DirectTask::Svr(Svr { kernel: kernel(), c: 10.0, ..Svr::default() }), &numbers),
        (DirectTask::Pca(Pca { kernel: kernel(), components: Components::Count(2), ..Pca::default() }), &two),
    ];
    for (task, data) in tasks {
        let learner = DirectLearner { task, search: Search { starts: 2, ..search.clone() } };
        check_learner(&format!("direct {}", learner.name()), &learner, data);
    }
    let machine = svc().learn(&two, &Watch::none()).unwrap().machine;
    let task = Task { data: Some(&two), ..Task::of(&machine) };
    let distil = Distil { c: 10.0, search: Search { starts: 2, ..search } };
    check("distil", |watch| distil.learn(&task, watch).map(|fit| (fit.machine, fit.report.status)));
}

fn sparsifiers() -> Vec<Box<dyn Sparsifier>> {
    let starts = || Starts { count: 3, ..Starts::default() };
    let small = || Box::new(L1 { weights: Weights::Inverse });
    vec![
        Box::new(Pursuit::default()),
        Box::new(Pursuit { criterion: Criterion::Outputs, ..Pursuit::default() }),
        Box::new(Pursuit { backfit: false, ..Pursuit::default() }),
        Box::new(Pursuit { outputs: Outputs::Separate, ..Pursuit::default() }),
        small(),
        Box::new(Separate { method: small() }),
        Box::new(L0::default()),
        Box::new(L0 { lossless: true, ..L0::default() }),
        Box::new(Independent::default()),
        Box::new(Chunked { method: Box::new(Pursuit::default()), size: 15, passes: 2 }),
        Box::new(FixedPoint { starts: starts(), ..FixedPoint::default() }),
        Box::new(FixedPoint { starts: starts(), outputs: Outputs::Separate, ..FixedPoint::default() }),
        Box::new(Gradient { starts: starts(), ..Gradient::default() }),
        Box::new(Refine { grid: true, ..Refine::default() }),
        Box::new(Refine { from: RefineFrom::Random, ..Refine::default() }),
        Box::new(Refine { how: Refinement { max_steps: 0, ..Refinement::default() }, ..Refine::default() }),
    ]
}

#[test]
fn smaller_machines() {
    let (two, three, _) = sets();
    for (data, multiclass) in [(&two, Multiclass::OneVsOne), (&three, Multiclass::OneVsRest)] {
        let machine = Svc { multiclass, ..svc() }.learn(data, &Watch::none()).unwrap().machine;
        let task = Task { data: Some(data), ..Task::of(&machine) };
        for (place, method) in sparsifiers().into_iter().enumerate() {
            check(&format!("{} (number {place})", method.name()), |watch| {
                let path = method.sparsify(&task, &Budget::vectors(6), watch)?;
                Ok(((0..path.len()).map(|i| path.machine(i)).collect::<Vec<_>>(), path.status))
            });
        }
        let small = Pursuit::default().sparsify(&task, &Budget::vectors(6), &Watch::none()).unwrap().last().unwrap();
        check("refinement", |watch| refine(&small, &Refinement::default(), &task, watch).map(|refined| (refined.machine, refined.status)));
    }
}

#[test]
fn compression_by_auto() {
    let (two, ..) = sets();
    let machine = svc().learn(&two, &Watch::none()).unwrap().machine;
    let size = Goals { max_vectors: Some(5), ..Goals::default() };
    let quality = Goals { min_agreement: Some(0.9), ..Goals::default() };
    for (goals, data) in [(&size, Some(&two)), (&size, None), (&quality, Some(&two)), (&Goals::default(), Some(&two))] {
        let auto = Auto { effort: Effort::Quick, curve: true, ..Auto::default() };
        let task = Task { data, ..Task::of(&machine) };
        check("auto", |watch| auto.run(task, goals, watch).map(|found| (found.machine, found.status)));
    }
}
