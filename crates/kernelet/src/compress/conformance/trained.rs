//! What every method promises that trains its vectors on rows: direct training of every estimator, and distillation.
use super::{largest_difference, toy};
use crate::{
    Error, Result,
    compress::{Distil, Task},
    data::{Dataset, Target, banana, waveform3},
    kernel::Kernel,
    learn::{
        Components, Fisher, Fit, Huber, Learner, Logistic, Multiclass, OneClass, Pca, Ridge, Svc, Svr,
        direct::{DirectLearner, DirectLoss, DirectTask, Margin, Search, Sharing},
    },
    linalg::Matrix,
    machine::{Coefficients, Machine},
    model,
    watch::{Progress, Status, Watch},
};
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

/// The vectors that are asked for.
const ASKED: usize = 7;

type Learn = Box<dyn Fn(&Dataset, &Watch) -> Result<Fit> + Sync>;

/// A method with the rows it is tried on.
struct Method {
    name: String,
    data: Dataset,
    learn: Learn,
}

fn search() -> Search {
    Search { n_vectors: ASKED, iterations: 12, ..Search::default() }
}

fn two() -> Dataset {
    banana(80, 1)
}

fn three() -> Dataset {
    waveform3(80, 1)
}

/// Rows of two classes with two numbers to predict, `scale` times as large.
fn values(scale: f64, targets: usize) -> Dataset {
    let data = two();
    let points = data.points.to_dense();
    let value = |i: usize, k: usize| scale * ((1.0 + k as f64) * points.at(i, 0)).sin() + scale * points.at(i, 1);
    Dataset { target: Target::Values(Matrix::from_fn(data.len(), targets, value)), ..data }
}

fn directly(task: DirectTask, data: Dataset) -> Method {
    let learner = DirectLearner { task, search: search() };
    of_learner(format!("{} trained directly, {} features", learner.name(), data.dim()), learner, data)
}

fn of_learner(name: String, learner: impl Learner + 'static, data: Dataset) -> Method {
    Method { name, data, learn: Box::new(move |data, watch| learner.learn(data, watch)) }
}

fn distilled(name: &str, teacher: Machine, data: Dataset) -> Method {
    let distil = Distil { search: search(), ..Distil::default() };
    let learn = move |data: &Dataset, watch: &Watch| distil.learn(&Task { data: Some(data), ..Task::of(&teacher) }, watch);
    Method { name: format!("distillation of {name}"), data, learn: Box::new(learn) }
}

fn taught(learner: &dyn Learner, data: &Dataset) -> Machine {
    learner.learn(data, &Watch::none()).unwrap().machine
}

fn all() -> Vec<Method> {
    let (wide, narrow) = (Kernel::gaussian(0.5), Kernel::gaussian(0.02));
    let fisher = |kernel: &Kernel| Fisher { kernel: kernel.clone(), lambda: 0.01, ..Fisher::default() };
    let logistic = |kernel: &Kernel| Logistic { kernel: kernel.clone(), ..Logistic::default() };
    let svc = |multiclass, kernel: &Kernel| Svc { kernel: kernel.clone(), multiclass, ..Svc::default() };
    let ridge = || Ridge { kernel: Kernel::gaussian(0.5), lambda: 0.01 };
    let pca = || Pca { kernel: Kernel::gaussian(0.5), components: Components::Count(3), ..Pca::default() };
    let mut all = vec![
        directly(DirectTask::Ridge(ridge()), values(1.0, 2)),
        directly(DirectTask::Fisher { fisher: fisher(&wide), margin: None }, two()),
        directly(DirectTask::Fisher { fisher: fisher(&narrow), margin: Some(1.0) }, three()),
        directly(DirectTask::Logistic(logistic(&wide)), two()),
        directly(DirectTask::Logistic(logistic(&narrow)), three()),
        directly(DirectTask::OneClass(OneClass { kernel: wide.clone(), nu: 0.2, ..OneClass::default() }), two()),
        directly(DirectTask::Svr(Svr { kernel: wide.clone(), ..Svr::default() }), values(1.0, 1)),
        directly(DirectTask::Huber(Huber { kernel: wide.clone(), ..Huber::default() }), values(1.0, 2)),
        directly(DirectTask::Pca(pca()), two()),
        distilled("two classes", taught(&svc(Multiclass::OneVsOne, &wide), &two()), two()),
        distilled("votes", taught(&svc(Multiclass::OneVsOne, &narrow), &three()), three()),
        distilled("several classes", taught(&svc(Multiclass::OneVsRest, &narrow), &three()), three()),
        distilled("values", taught(&ridge(), &values(1.0, 2)), two()),
        distilled("features", taught(&pca(), &two()), two()),
    ];
    for (loss, sharing) in
        [(DirectLoss::SquaredHinge, Sharing::All), (DirectLoss::Hinge, Sharing::All), (DirectLoss::SquaredHinge, Sharing::Own)]
    {
        let learner = |kernel: &Kernel| Margin {
            kernel: kernel.clone(),
            loss,
            sharing: sharing.clone(),
            search: search(),
            hinge_iterations: 4,
            ..Margin::default()
        };
        all.push(of_learner(format!("margin of three classes, {loss:?}, {sharing:?}"), learner(&narrow), three()));
        if sharing == Sharing::All {
            all.push(of_learner(format!("margin, {loss:?}"), learner(&wide), two()));
        }
    }
    all
}

fn learn(method: &Method) -> Machine {
    (method.learn)(&method.data, &Watch::none()).unwrap().machine
}

#[test]
fn the_budget_is_that_of_all_outputs_together() {
    for method in all() {
        let machine = learn(&method);
        machine.check().unwrap();
        assert_eq!(machine.n_vectors(), ASKED, "{}", method.name);
    }
}

#[test]
fn values_times_a_number_become_the_same_times_that_number() {
    let scaled = |machine: &Machine| {
        let mut scaled = machine.clone();
        if let Coefficients::Dense(values) = &mut scaled.expansion.coefficients {
            values.values_mut().iter_mut().for_each(|v| *v *= 64.0);
        }
        scaled.offsets.iter_mut().for_each(|b| *b *= 64.0);
        scaled
    };
    let ridge = Ridge { kernel: Kernel::gaussian(0.5), lambda: 0.01 };
    let teacher = taught(&ridge, &values(1.0, 2));
    let pairs = [
        [directly(DirectTask::Ridge(ridge.clone()), values(1.0, 2)), directly(DirectTask::Ridge(ridge), values(64.0, 2))],
        [distilled("values", teacher.clone(), two()), distilled("values", scaled(&teacher), two())],
    ];
    for [one, many] in pairs {
        let rows = &one.data.points;
        let (want, have) = (scaled(&learn(&one)).outputs_for(rows).unwrap(), learn(&many).outputs_for(rows).unwrap());
        let size = want.values().iter().fold(0.0, |a: f64, b| a.max(b.abs()));
        assert!(largest_difference(&want, &have) < 1e-6 * size, "{}: {}", one.name, largest_difference(&want, &have) / size);
    }
}

#[test]
fn repeated_rows_and_fewer_different_ones_than_vectors_do_no_harm() {
    for method in all() {
        // Both classes, and all three, are among the first five rows.
        for distinct in [40, 5] {
            let rows: Vec<usize> = (0..80).map(|i| i % distinct).collect();
            let data = method.data.select(&rows);
            let machine = (method.learn)(&data, &Watch::none()).unwrap_or_else(|why| panic!("{}: {why}", method.name)).machine;
            machine.check().unwrap();
            let finite = machine.outputs_for(&data.points).unwrap().values().iter().all(|v| v.is_finite());
            assert!(finite && machine.n_vectors() <= ASKED, "{}", method.name);
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_bits_on_one_thread_and_on_eight() {
    for method in all() {
        let with = |threads: usize| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(|| learn(&method));
        let one = with(1);
        assert_eq!(one, with(8), "{}", method.name);
        assert_eq!(one, with(1), "{}", method.name);
    }
}

#[test]
fn cancelling_returns_the_work_so_far() {
    for method in all() {
        for at_once in [true, false] {
            let flag = Arc::new(AtomicBool::new(at_once));
            let reporter =
                |progress: &Progress| flag.store(at_once || flag.load(Ordering::Relaxed) || progress.done >= 2, Ordering::Relaxed);
            let fit = (method.learn)(&method.data, &Watch::none().with_reporter(reporter).with_cancel(flag.clone()));
            let fit = fit.unwrap_or_else(|why| panic!("{}: {why}", method.name));
            assert!(flag.load(Ordering::Relaxed), "{} reports nothing", method.name);
            assert_eq!(fit.report.status, Status::Cancelled, "{} goes on", method.name);
            fit.machine.check().unwrap();
            assert!(fit.machine.n_vectors() <= ASKED, "{}", method.name);
        }
    }
}

#[test]
fn saved_and_loaded_it_predicts_the_same_bits() {
    let path = std::env::temp_dir().join(format!("kernelet-conformance-trained-{}.model", std::process::id()));
    for method in all() {
        let machine = learn(&method);
        model::save(&machine, &path).unwrap();
        let again = model::load(&path).unwrap();
        let rows = &method.data.points;
        assert_eq!(machine.outputs_for(rows).unwrap(), again.outputs_for(rows).unwrap(), "{}", method.name);
    }
    let _ = std::fs::remove_file(&path);
}

#[test]
fn numbers_that_are_not_finite_are_rejected_with_their_row() {
    for method in all() {
        let mut points = method.data.points.to_dense();
        points.row_mut(7)[1] = f64::NAN;
        let bad = Dataset { points: points.into(), ..method.data.clone() };
        let refused = (method.learn)(&bad, &Watch::none());
        assert!(matches!(refused, Err(Error::NotFinite { row: 7, .. })), "{}: {refused:?}", method.name);
    }
    let bad = toy::machine(Kernel::gaussian(f64::NAN), 10, 1);
    assert!((distilled("a bad kernel", bad, two()).learn)(&two(), &Watch::none()).is_err());
}
