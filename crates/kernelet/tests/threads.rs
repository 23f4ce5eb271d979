//! The number of threads changes no bit of a model: every learner and every compression method, on one, two and three threads.
//!
//! Full machines and some of the bases have more than 512 unknowns and one target: from there on products with one vector may be shared among threads.
#![allow(clippy::unwrap_used)]
use kernelet::{
    Named, Result,
    basis::{BasisBudget, BasisMethod, FisherPursuit, GreedyBasis, KMeans, RandomBasis, RpCholesky},
    compress::{
        Auto, Baseline, BaselineLearner, Budget, Distil, Effort, Goals, Refit, Sparsifier, Task,
        construct::{FixedPoint, Gradient, Objective, Refine, Refinement, Starts, refine},
        refit,
        select::{Chunked, Criterion, Independent, L0, L1, Outputs, Pursuit, Separate},
    },
    data::{Dataset, Generator, Target, digits_split},
    kernel::Kernel,
    learn::{
        Components, Fisher, FrameLearner, Learner, Logistic, Multiclass, NadarayaWatson, NuSvc, NuSvr, OnBasis, OneClass, Parzen, Pca,
        Penalty, Ridge, Rvm, Shrink, Svc, Svr,
        direct::{DirectLearner, DirectLoss, DirectTask, Init, Margin, Search, Sharing},
    },
    linalg::Matrix,
    machine::Machine,
    model::native,
    watch::Watch,
};

/// What differs, by name, so that one run shows all of it.
#[derive(Default)]
struct Differences(Vec<String>);

impl Differences {
    fn look(&mut self, name: impl Into<String>, work: impl Fn() -> Result<Machine> + Sync) {
        let bytes = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            native::to_bytes(&pool.install(&work).unwrap()).unwrap()
        };
        let one = bytes(1);
        if [2, 3].into_iter().any(|threads| bytes(threads) != one) {
            self.0.push(name.into());
        }
    }

    fn learn(&mut self, name: impl Into<String>, learner: &dyn Learner, data: &Dataset) {
        self.look(name, || Ok(learner.learn(data, &Watch::none())?.machine));
    }
}

impl Drop for Differences {
    fn drop(&mut self) {
        assert!(std::thread::panicking() || self.0.is_empty(), "the number of threads changes {:?}", self.0);
    }
}

fn kernel() -> Kernel {
    Kernel::gaussian(0.02)
}

/// Three classes of 21 features.
fn classes(rows: usize) -> Dataset {
    Generator::Waveform3.make(rows, 1)
}

/// The same rows with one number to predict.
fn values(rows: usize) -> Dataset {
    targets(rows, 1)
}

/// The same rows with some numbers to predict.
fn targets(rows: usize, count: usize) -> Dataset {
    let data = classes(rows);
    let points = data.points.to_dense();
    let number = |i: usize, k: usize| (points.row(i)[3 + k] * 0.7).sin() + 0.1 * points.row(i)[9] * points.row(i)[12 + k];
    Dataset { target: Target::Values(Matrix::from_fn(rows, count, number)), ..data }
}

/// Every learner that can learn on a basis, with data for it.
fn framed(rows: usize) -> Vec<(Box<dyn FrameLearner>, Dataset)> {
    let (classes, values) = (classes(rows), values(rows));
    let shared = Svc { kernel: kernel(), multiclass: Multiclass::Shared, ..Svc::default() };
    let nu_svc = NuSvc { kernel: kernel(), nu: 0.2, multiclass: Multiclass::Shared, ..NuSvc::default() };
    vec![
        (Box::new(shared), classes.clone()),
        (Box::new(nu_svc), classes.clone()),
        (Box::new(Svr { kernel: kernel(), ..Svr::default() }), values.clone()),
        (Box::new(NuSvr { kernel: kernel(), ..NuSvr::default() }), values.clone()),
        (Box::new(OneClass { kernel: kernel(), nu: 0.2, ..OneClass::default() }), classes.clone()),
        (Box::new(Ridge { kernel: kernel(), ..Ridge::default() }), values),
        (Box::new(Fisher { kernel: kernel(), ..Fisher::default() }), classes.clone()),
        (Box::new(Logistic { kernel: kernel(), ..Logistic::default() }), classes.clone()),
        (Box::new(Pca { kernel: kernel(), components: Components::Count(5), ..Pca::default() }), classes),
    ]
}

#[test]
fn full_machines() {
    let mut differences = Differences::default();
    for (learner, data) in framed(600) {
        // Sharing is for few vectors.
        match learner.name() {
            "svc" | "nu-svc" => {}
            name => differences.learn(name, learner.as_ref(), &data),
        }
    }
    let (classes, values) = (classes(600), values(600));
    for multiclass in [Multiclass::OneVsOne, Multiclass::OneVsRest] {
        differences.learn("svc", &Svc { kernel: kernel(), multiclass, ..Svc::default() }, &classes);
        differences.learn("nu-svc", &NuSvc { kernel: kernel(), nu: 0.2, multiclass, ..NuSvc::default() }, &classes);
    }
    for penalty in [Penalty::Coefficients, Penalty::None] {
        differences.learn(
            format!("fisher, penalty {}", penalty.name()),
            &Fisher { kernel: kernel(), penalty, ..Fisher::default() },
            &classes,
        );
    }
    differences.learn("ridge of two targets", &Ridge { kernel: kernel(), ..Ridge::default() }, &targets(600, 2));
    differences.learn("rvm of classes", &Rvm { kernel: kernel(), ..Rvm::default() }, &classes);
    differences.learn("rvm of values", &Rvm { kernel: kernel(), ..Rvm::default() }, &values);
    differences.learn("parzen", &Parzen { kernel: kernel(), ..Parzen::default() }, &classes);
    differences.learn("nadaraya-watson", &NadarayaWatson { kernel: kernel() }, &values);
}

#[test]
fn machines_on_every_basis() {
    let methods: [fn() -> Box<dyn BasisMethod>; 4] = [
        || Box::new(GreedyBasis::default()),
        || Box::new(RpCholesky::default()),
        || Box::new(KMeans::default()),
        || Box::new(RandomBasis::default()),
    ];
    let mut differences = Differences::default();
    for method in methods {
        for (learner, data) in framed(400) {
            let name = format!("{} on {}", learner.name(), method().name());
            let (basis, budget, shrink) = (method(), BasisBudget::vectors(150), Shrink::Never);
            differences.learn(name, &OnBasis { basis, budget, learner, shrink }, &data);
        }
    }
    for (learner, data) in framed(600).into_iter().filter(|(learner, _)| ["svc", "ridge", "fisher", "logistic"].contains(&learner.name())) {
        let name = format!("{} on many vectors", learner.name());
        let (basis, budget, shrink) = (Box::new(RandomBasis::default()), BasisBudget::vectors(540), Shrink::Never);
        differences.learn(name, &OnBasis { basis, budget, learner, shrink }, &data);
    }
    let fisher = Box::new(Fisher { kernel: kernel(), ..Fisher::default() });
    let (basis, budget) = (Box::new(FisherPursuit::default()), BasisBudget::vectors(30));
    differences.learn("fisher-pursuit", &OnBasis { basis, budget, learner: fisher, shrink: Shrink::Never }, &classes(600));
}

#[test]
fn machines_trained_with_few_vectors() {
    let (classes, values) = (classes(600), values(600));
    let search = || Search { n_vectors: 24, iterations: 8, starts: 2, ..Search::default() };
    let tasks = [
        DirectTask::Ridge(Ridge { kernel: kernel(), ..Ridge::default() }),
        DirectTask::Fisher { fisher: Fisher { kernel: kernel(), ..Fisher::default() }, margin: None },
        DirectTask::Logistic(Logistic { kernel: kernel(), ..Logistic::default() }),
        DirectTask::OneClass(OneClass { kernel: kernel(), nu: 0.2, ..OneClass::default() }),
        DirectTask::Svr(Svr { kernel: kernel(), ..Svr::default() }),
        DirectTask::Pca(Pca { kernel: kernel(), components: Components::Count(4), ..Pca::default() }),
    ];
    let mut differences = Differences::default();
    for task in tasks {
        let data = if matches!(task, DirectTask::Ridge(_) | DirectTask::Svr(_)) { &values } else { &classes };
        let learner = DirectLearner { task, search: search() };
        differences.learn(format!("{} trained directly", learner.name()), &learner, data);
    }
    for (loss, sharing) in
        [(DirectLoss::SquaredHinge, Sharing::All), (DirectLoss::Hinge, Sharing::All), (DirectLoss::SquaredHinge, Sharing::Own)]
    {
        let margin = Margin { kernel: kernel(), loss, sharing, search: search(), hinge_iterations: 4, ..Margin::default() };
        differences.learn(format!("margin, {loss:?}, {:?}", margin.sharing), &margin, &classes);
    }
    let many = Search { n_vectors: 530, iterations: 2, init: Init::Random, ..Search::default() };
    differences.learn("margin with many vectors", &Margin { kernel: kernel(), search: many.clone(), ..Margin::default() }, &classes);
    let ridge = DirectTask::Ridge(Ridge { kernel: kernel(), ..Ridge::default() });
    differences.learn("ridge with many vectors", &DirectLearner { task: ridge, search: many }, &values);
}

#[test]
fn baselines_of_the_papers() {
    let data = Generator::Waveform.make(300, 1);
    let mut differences = Differences::default();
    for baseline in Baseline::all() {
        let svc = Svc { kernel: kernel(), multiclass: Multiclass::OneVsRest, ..Svc::default() };
        let learner = BaselineLearner { baseline, svc, n_vectors: 12, starts: 3, seed: 1 };
        differences.learn(baseline.name(), &learner, &data);
    }
}

fn sparsifiers() -> Vec<Box<dyn Sparsifier>> {
    let starts = || Starts { count: 3, ..Starts::default() };
    let how = Refinement { max_steps: 10, ..Refinement::default() };
    let mut all: Vec<Box<dyn Sparsifier>> = vec![];
    for criterion in [Criterion::Weights, Criterion::RefittedWeights, Criterion::Outputs] {
        all.push(Box::new(Pursuit { criterion, ..Pursuit::default() }));
    }
    all.push(Box::new(Pursuit { outputs: Outputs::Separate, ..Pursuit::default() }));
    all.push(Box::new(L1::default()));
    all.push(Box::new(Separate { method: Box::new(L1::default()) }));
    all.push(Box::new(L0::default()));
    all.push(Box::new(L0 { lossless: true, ..L0::default() }));
    all.push(Box::new(Independent::default()));
    all.push(Box::new(Chunked { method: Box::new(Pursuit::default()), size: 150, passes: 1 }));
    for outputs in [Outputs::Joint, Outputs::Separate, Outputs::Pooled] {
        all.push(Box::new(FixedPoint { starts: starts(), outputs, ..FixedPoint::default() }));
    }
    all.push(Box::new(Gradient { starts: starts(), ..Gradient::default() }));
    all.push(Box::new(Refine { how, ..Refine::default() }));
    all
}

/// A machine of three outputs and some hundred vectors.
fn large(rows: usize) -> (Machine, Dataset) {
    let data = classes(rows);
    let svc = Svc { kernel: kernel(), multiclass: Multiclass::OneVsRest, ..Svc::default() };
    (svc.learn(&data, &Watch::none()).unwrap().machine, data)
}

#[test]
fn compression_methods() {
    let (machine, data) = large(500);
    let task = Task { data: Some(&data), ..Task::of(&machine) };
    let mut differences = Differences::default();
    for (i, method) in sparsifiers().into_iter().enumerate() {
        let run = || Ok(method.sparsify(&task, &Budget::vectors(12), &Watch::none())?.last().unwrap());
        differences.look(format!("{} (number {i})", method.name()), run);
    }
    let small = Pursuit::default().sparsify(&task, &Budget::vectors(150), &Watch::none()).unwrap().last().unwrap();
    for how in Refit::all() {
        differences.look(format!("refit by {}", how.name()), || refit(&small, how, &task, Some(1.0), &Watch::none()));
    }
    for objective in [Objective::Weights, Objective::Outputs, Objective::Margins] {
        let how = Refinement { objective, max_steps: 3, ..Refinement::default() };
        differences.look(format!("refinement of {objective:?}"), || Ok(refine(&small, &how, &task, &Watch::none())?.machine));
    }
    let distil = Distil { search: Search { n_vectors: 24, iterations: 8, ..Search::default() }, ..Distil::default() };
    differences.look("distil", || Ok(distil.learn(&task, &Watch::none())?.machine));
}

#[test]
fn compression_by_auto() {
    let (machine, data) = large(300);
    let mut differences = Differences::default();
    for labels in [false, true] {
        let auto = Auto { effort: Effort::Quick, labels, ..Auto::default() };
        let goals = Goals { max_vectors: Some(8), ..Goals::default() };
        let task = || Task { data: Some(&data), ..Task::of(&machine) };
        differences.look(format!("auto, labels {labels}"), || Ok(auto.run(task(), &goals, &Watch::none())?.machine));
    }
}

#[test]
fn wide_rows_of_many_classes() {
    let (digits, _) = digits_split();
    let some = digits.select(&(0..400).collect::<Vec<_>>());
    let mut differences = Differences::default();
    let svc = Svc { kernel: Kernel::gaussian(0.002), c: 10.0, ..Svc::default() };
    differences.learn("one-vs-one", &svc, &some);
    differences.learn(
        "ridge",
        &Ridge { kernel: Kernel::gaussian(0.002), ..Ridge::default() },
        &Dataset { target: values(400).target, ..some },
    );
}
