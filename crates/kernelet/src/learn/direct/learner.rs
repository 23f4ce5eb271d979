//! Any learner whose vectors are found with it.
//!
//! Section 2 of Wu2006 is a recipe: minimise over the vectors Z what the learner reaches on their span. The search sees the learner as
//! an [`Inner`]; the machine at the end is the learner's own on the basis Z, with everything it brings (thresholds, probabilities),
//! so that with all training rows as vectors it is its full twin.
//!
//! Cost: that of the search, see [`super::Search`]; at the end the coordinates of all rows once, n m numbers.
use std::{borrow::Cow, fmt};

use super::{
    choice::Searched,
    init::Init,
    inner::Solution,
    metric::Transform,
    objective::Variables,
    ready::Ready,
    search::{Direct, Phase, Search},
};
use crate::{
    Error, Named, Result,
    basis::{Basis, JITTER},
    data::Dataset,
    error::require_cost,
    evaluate::score_probabilities,
    kernel::Kernel,
    learn::{
        Components, Fisher, Fit, FrameLearner, Huber, InFrame, Learner, Logistic, Multiclass, OneClass, Pca, Penalty, Ridge, Svc, Svr, fit,
        rows_that_count,
    },
    machine::{Expansion, Machine, Metadata},
    watch::{Status, Watch},
};

/// The estimator and its settings.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum DirectTask {
    /// Regression with squared loss.
    Ridge(Ridge),
    /// Fisher's discriminant with the penalty `weight`.
    Fisher {
        /// The discriminant.
        fisher: Fisher,
        /// The cost C of an error where coefficients and offsets are those of a large-margin machine on the vectors, as in the paper's
        /// experiments (Wu2006, appendix A); none for Fisher's own.
        margin: Option<f64>,
    },
    /// Classes with probabilities.
    Logistic(Logistic),
    /// Where do the rows lie? Vectors by a soft form of the loss, then the exact machine.
    OneClass(OneClass),
    /// Regression with errors that cost nothing up to epsilon. Vectors by a soft form of the loss, then the exact machine.
    Svr(Svr),
    /// Regression with Huber's loss.
    Huber(Huber),
    /// Principal components that share their vectors; their number must be given.
    Pca(Pca),
}

impl DirectTask {
    fn twin(&self) -> &dyn FrameLearner {
        match self {
            DirectTask::Ridge(ridge) => ridge,
            DirectTask::Fisher { fisher, .. } => fisher,
            DirectTask::Logistic(logistic) => logistic,
            DirectTask::OneClass(one_class) => one_class,
            DirectTask::Svr(svr) => svr,
            DirectTask::Huber(huber) => huber,
            DirectTask::Pca(pca) => pca,
        }
    }

    /// Refuses forms of a learner that cannot be trained directly.
    fn check(&self, vectors: usize) -> Result<()> {
        self.twin().check()?;
        match self {
            DirectTask::Fisher { fisher, .. } if fisher.penalty != Penalty::Weight => Err(Error::Unsupported {
                method: "direct training of fisher",
                with: format!("the penalty {}, which depends on how the direction is written", fisher.penalty.name()),
                instead: "use the penalty weight".into(),
            }),
            DirectTask::Fisher { margin: Some(c), .. } => require_cost(*c),
            DirectTask::Pca(Pca { components: Components::Explained(_), .. }) => Err(Error::Unsupported {
                method: "direct training of pca",
                with: "a fraction of the variance in place of a number of components".into(),
                instead: "say how many components".into(),
            }),
            DirectTask::Pca(Pca { components: Components::Count(count), .. }) if *count > vectors => {
                Err(Error::parameter("components", count, format!("at most {vectors}, the number of vectors")))
            }
            _ => Ok(()),
        }
    }

    /// The machine on a basis.
    fn learn_on(&self, rows: &Dataset, basis: &Basis) -> Result<InFrame> {
        // A cancelled search still has a whole machine on its vectors.
        let watch = Watch::none();
        let DirectTask::Fisher { fisher, margin: Some(c) } = self else { return self.twin().learn_in_frame(rows, basis, &watch) };
        let svc = Svc {
            kernel: fisher.kernel.clone(),
            c: *c,
            class_weights: fisher.class_weights.clone(),
            multiclass: Multiclass::Shared,
            ..Svc::default()
        };
        let found = svc.learn_in_frame(rows, basis, &watch)?;
        let metadata = Metadata { learner: Some(fisher.name().into()), lambda: Some(fisher.lambda), ..found.metadata };
        Ok(InFrame { metadata, ..found })
    }
}

/// An estimator with few vectors, which are optimised together with it. [`Margin`](super::Margin) is the same for support vector
/// classification.
///
/// ```
/// use kernelet::{data::sinc, learn::{Ridge, direct::{DirectLearner, DirectTask, Search}}, prelude::*};
///
/// let data = sinc(200, 0.1, 1)?;
/// let ridge = Ridge { kernel: Kernel::gaussian(0.3), lambda: 1e-3 };
/// let search = Search { n_vectors: 10, ..Search::default() };
/// let machine = DirectLearner { task: DirectTask::Ridge(ridge), search }.learn(&data, &Watch::none())?.machine;
/// assert_eq!(machine.n_vectors(), 10);
/// assert!(machine.score(&data)?.loss() < 0.02); // the mean squared error; the noise has a variance of 0.01
///
/// // Support vector regression, as a request:
/// let train = Train::from_json(r#"{"learner": "svr", "gamma": 0.3, "c": 10, "vectors": 10}"#)?;
/// assert_eq!(train.run(&data, &Given::default(), &Watch::none())?.machine().n_vectors(), 10);
/// # Ok::<(), kernelet::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct DirectLearner {
    /// The estimator; its kernel must be smooth and positive definite.
    pub task: DirectTask,
    /// How vectors are searched for.
    pub search: Search,
}

impl Learner for DirectLearner {
    fn name(&self) -> &'static str {
        self.task.twin().name()
    }

    fn check(&self) -> Result<()> {
        self.search.check(self.name(), self.kernel())?;
        self.task.check(self.search.n_vectors)
    }

    fn learn(&self, data: &Dataset, watch: &Watch) -> Result<Fit> {
        let rows = self.rows(data)?;
        self.search.learn(self.kernel(), &self.prepared(&rows, data)?, watch)
    }

    fn warm_starts(&self) -> bool {
        true
    }

    /// Starts from the vectors of the earlier machine.
    fn learn_from(&self, earlier: &Machine, data: &Dataset, watch: &Watch) -> Result<Fit> {
        let init = Init::Given(earlier.expansion.vectors.dense("a warm start")?);
        DirectLearner { search: Search { init, ..self.search.clone() }, ..self.clone() }.learn(data, watch)
    }

    fn learn_path(&self, data: &Dataset, watch: &Watch) -> Result<Vec<Fit>> {
        let rows = self.rows(data)?;
        self.search.learn_path(self.kernel(), &self.prepared(&rows, data)?, watch)
    }
}

impl Searched for DirectLearner {
    fn search_mut(&mut self) -> &mut Search {
        &mut self.search
    }

    fn found(&self, data: &Dataset, watch: &Watch) -> Result<(Fit, Variables)> {
        let rows = self.rows(data)?;
        self.search.found(self.kernel(), &self.prepared(&rows, data)?, watch)
    }

    /// The log loss where there are probabilities, else the error or the mean squared error.
    fn loss(&self, machine: &Machine, rows: &Dataset) -> Result<f64> {
        if machine.check_probabilities().is_err() {
            return Ok(machine.score(rows)?.loss());
        }
        let probabilities = machine.probabilities(&machine.outputs_for(&rows.points)?)?;
        Ok(score_probabilities(&probabilities, &machine.decision.labels(), rows)?.log_loss)
    }
}

impl DirectLearner {
    fn kernel(&self) -> &Kernel {
        self.task.twin().kernel()
    }

    /// The rows that count.
    fn rows(&self, data: &Dataset) -> Result<Dataset> {
        self.check()?;
        data.check()?;
        Ok(data.select(&rows_that_count(data)?))
    }

    fn prepared<'a>(&'a self, rows: &'a Dataset, all: &Dataset) -> Result<Prepared<'a>> {
        Ok(Prepared { learner: self, rows, all: all.len(), ready: Ready::new(&self.task, rows)? })
    }
}

/// A learner with its rows.
struct Prepared<'a> {
    learner: &'a DirectLearner,
    rows: &'a Dataset,
    /// Rows that were given.
    all: usize,
    ready: Ready<'a>,
}

impl Direct for Prepared<'_> {
    fn phases(&self) -> Vec<Phase<'_>> {
        let iterations = self.learner.search.iterations;
        vec![Phase { name: "steps", points: &self.rows.points, inner: self.ready.inner(), single: false, iterations }]
    }

    fn machine(&self, expansion: Expansion, solution: &Solution, transform: &Transform) -> Result<(Machine, Status)> {
        let rows = match transform.rows(&self.rows.points, vec![]) {
            Cow::Borrowed(_) => Cow::Borrowed(self.rows),
            Cow::Owned(points) => Cow::Owned(Dataset { points, ..self.rows.clone() }),
        };
        let basis = Basis::of_vectors(&expansion.kernel, &rows.points, &expansion.vectors, vec![], JITTER)?;
        let Fit { mut machine, report } = fit(&basis, self.learner.task.learn_on(&rows, &basis)?, &rows)?;
        let objective = Some(solution.value).filter(|value| value.is_finite());
        machine.metadata = Metadata { n_rows: Some(self.all), objective, ..machine.metadata };
        Ok((machine, report.status))
    }

    fn problem(&self) -> Box<dyn fmt::Debug + '_> {
        Box::new((&self.learner.task, self.rows, self.all))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        data::{Classes, Target, banana, waveform3},
        draw::Draw,
        learn::direct::Growth,
        linalg::Matrix,
        machine::Decision,
    };

    /// Two numbers that depend on two others without noise.
    pub(super) fn waves(n: usize, seed: u64) -> Dataset {
        let mut draw = Draw::seeded(seed);
        let points = Matrix::from_fn(n, 2, |_, _| 2.0 * draw.normal());
        let values = Matrix::from_fn(n, 2, |i, k| (points.at(i, 0) + k as f64).sin() * points.at(i, 1).cos());
        Dataset::new(points, Target::Values(values))
    }

    fn ridge(lambda: f64) -> DirectTask {
        DirectTask::Ridge(Ridge { kernel: Kernel::gaussian(0.3), lambda })
    }

    /// The search with these rows as vectors, which do not move.
    fn still(task: DirectTask, data: &Dataset) -> Fit {
        let init = Init::Given(data.points.to_dense());
        DirectLearner { task, search: Search { n_vectors: data.len(), init, iterations: 0, ..Search::default() } }
            .learn(data, &Watch::none())
            .unwrap()
    }

    fn largest_difference(a: &Machine, b: &Machine, data: &Dataset) -> f64 {
        let (a, b) = (a.outputs_for(&data.points).unwrap(), b.outputs_for(&data.points).unwrap());
        a.values().iter().zip(b.values()).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
    }

    #[test]
    fn ridge_with_all_rows_as_vectors_is_full_ridge() {
        let mut data = waves(120, 1);
        data.weights = Some((0..120).map(|i| f64::from(i % 3)).collect());
        let full = Ridge { kernel: Kernel::gaussian(0.3), lambda: 0.1 }.learn(&data, &Watch::none()).unwrap();
        let all = still(ridge(0.1), &data);
        assert!((all.report.objective - full.report.objective).abs() < 1e-6 * full.report.objective);
        assert!(largest_difference(&all.machine, &full.machine, &data) < 1e-6);
        assert_eq!(all.machine.metadata.n_rows, Some(120));
    }

    #[test]
    fn every_learner_with_all_rows_as_vectors_is_its_full_twin() {
        let kernel = Kernel::gaussian(0.3);
        let (two, three) = (banana(100, 1), waveform3(60, 1));
        let agree = |task: DirectTask, data: &Dataset, tolerance: f64| {
            let full: &dyn Learner = task.twin();
            let full = full.learn(data, &Watch::none()).unwrap();
            let all = still(task.clone(), data);
            let apart = largest_difference(&all.machine, &full.machine, data);
            assert!(apart < tolerance, "{}: {apart}", full.machine.metadata.learner.unwrap_or_default());
            assert_eq!(all.machine.decision, full.machine.decision);
        };
        let fisher = |gamma, lambda| DirectTask::Fisher {
            fisher: Fisher { kernel: Kernel::gaussian(gamma), lambda, ..Fisher::default() },
            margin: None,
        };
        agree(fisher(0.3, 0.01), &two, 1e-4);
        agree(fisher(0.02, 0.01), &three, 1e-4);
        let logistic = |gamma| DirectTask::Logistic(Logistic { kernel: Kernel::gaussian(gamma), c: 5.0, ..Logistic::default() });
        agree(logistic(0.3), &two, 1e-5);
        agree(logistic(0.02), &three, 1e-5);
        agree(DirectTask::OneClass(OneClass { kernel: kernel.clone(), nu: 0.2, tolerance: 1e-7, ..OneClass::default() }), &two, 1e-4);
        agree(DirectTask::Svr(Svr { kernel: kernel.clone(), c: 3.0, tolerance: 1e-7, ..Svr::default() }), &waves(80, 1), 1e-4);
        let pca = Pca { kernel, components: Components::Count(3), ..Pca::default() };
        let (full, all) = (pca.learn(&two, &Watch::none()).unwrap(), still(DirectTask::Pca(pca), &two));
        let (a, b) = (full.machine.metadata.features.unwrap(), all.machine.metadata.features.unwrap());
        assert!((a.total_variance - b.total_variance).abs() < 1e-9 * a.total_variance);
        assert!(a.variances.iter().zip(&b.variances).all(|(a, b)| (a - b).abs() < 1e-6 * a), "{a:?} {b:?}");
        assert!((full.report.objective - all.report.objective).abs() < 1e-6 * a.total_variance);
    }

    #[test]
    fn every_learner_gains_by_vectors_that_move() {
        let (two, three) = (banana(300, 1), waveform3(200, 1));
        let kernel = Kernel::gaussian(0.5);
        let fisher = Fisher { kernel: kernel.clone(), lambda: 0.01, ..Fisher::default() };
        let tasks = [
            (DirectTask::Fisher { fisher: fisher.clone(), margin: None }, &two),
            (DirectTask::Fisher { fisher: Fisher { kernel: Kernel::gaussian(0.02), ..fisher }, margin: Some(1.0) }, &three),
            (DirectTask::Logistic(Logistic { kernel: kernel.clone(), c: 10.0, ..Logistic::default() }), &two),
            (DirectTask::Logistic(Logistic { kernel: Kernel::gaussian(0.02), ..Logistic::default() }), &three),
            (DirectTask::OneClass(OneClass { kernel: kernel.clone(), nu: 0.1, ..OneClass::default() }), &two),
            (DirectTask::Pca(Pca { kernel: kernel.clone(), components: Components::Count(3), ..Pca::default() }), &two),
            (DirectTask::Svr(Svr { kernel, c: 10.0, ..Svr::default() }), &waves(300, 1)),
        ];
        for (task, data) in tasks {
            let run = |iterations| {
                let search = Search { n_vectors: 8, iterations, ..Search::default() };
                DirectLearner { task: task.clone(), search }.learn(data, &Watch::none()).unwrap()
            };
            let (still, moved) = (run(0), run(40));
            assert!(moved.report.objective < still.report.objective, "{}", task.twin().name());
            assert_eq!(moved.machine.n_vectors(), 8);
            // The labels of the rows are not what one class is about.
            if let (Ok(score), false) = (moved.machine.score(data), moved.machine.decision == Decision::Novelty) {
                // Measured: 0.075 to 0.11 for classes, 0.027 for values.
                let most = if matches!(task, DirectTask::Svr(_)) { 0.04 } else { 0.13 };
                assert!(score.loss() < most, "{} {}", task.twin().name(), score.loss());
            }
        }
    }

    #[test]
    fn one_row_a_class_and_equal_rows_work_and_too_many_components_are_rejected() {
        let texts: Vec<String> = (0..4).map(|i| i.to_string()).collect();
        let classes = Target::Classes(Classes::from_texts(&texts));
        let data = Dataset::new(Matrix::from_fn(4, 2, |i, j| (3 * i + j) as f64), classes);
        let search = Search { n_vectors: 3, iterations: 10, ..Search::default() };
        let tasks = [
            DirectTask::Fisher { fisher: Fisher::default(), margin: None },
            DirectTask::Logistic(Logistic::default()),
            DirectTask::OneClass(OneClass::default()),
        ];
        for task in tasks {
            let fit = DirectLearner { task, search: search.clone() }.learn(&data, &Watch::none()).unwrap();
            assert!(fit.machine.check().is_ok());
        }
        let pca = |count| DirectTask::Pca(Pca { components: Components::Count(count), ..Pca::default() });
        let many = DirectLearner { task: pca(4), search: search.clone() };
        assert_eq!(many.check().unwrap_err().to_string(), "components is 4, but must be at most 3, the number of vectors");
        let equal = Dataset::new(Matrix::from_fn(9, 2, |_, _| 1.0), Target::None);
        assert!(DirectLearner { task: pca(1), search }.learn(&equal, &Watch::none()).unwrap_err().to_string().contains("varies"));
    }

    #[test]
    fn an_outlier_of_a_million_million_gives_a_finite_machine_or_words() {
        let kernel = Kernel::gaussian(0.5);
        let fisher = Fisher { kernel: kernel.clone(), lambda: 0.01, ..Fisher::default() };
        let tasks = [
            DirectTask::Fisher { fisher: fisher.clone(), margin: None },
            DirectTask::Fisher { fisher, margin: Some(1.0) },
            DirectTask::Logistic(Logistic { kernel: kernel.clone(), ..Logistic::default() }),
            DirectTask::OneClass(OneClass { kernel: kernel.clone(), nu: 0.1, ..OneClass::default() }),
            DirectTask::Pca(Pca { kernel: kernel.clone(), components: Components::Count(2), ..Pca::default() }),
            DirectTask::Svr(Svr { kernel, c: 10.0, ..Svr::default() }),
            ridge(0.01),
        ];
        let far = |points: &crate::data::Points| {
            let mut points = points.to_dense();
            points.row_mut(7).fill(1e12);
            points
        };
        let (classes, numbers) = (banana(120, 1), waves(120, 1));
        let mut target = numbers.values().unwrap().clone();
        target.row_mut(9)[0] = 1e12;
        let outliers = [
            Dataset { points: far(&classes.points).into(), ..classes },
            Dataset { points: far(&numbers.points).into(), ..numbers.clone() },
            Dataset { target: Target::Values(target), ..numbers },
        ];
        let mut learned = 0;
        for task in &tasks {
            for data in &outliers {
                let search = Search { n_vectors: 6, iterations: 15, ..Search::default() };
                match (DirectLearner { task: task.clone(), search }).learn(data, &Watch::none()) {
                    Ok(fit) => {
                        let outputs = fit.machine.outputs_for(&data.points).unwrap();
                        assert!(outputs.values().iter().all(|f| f.is_finite()), "{}", task.twin().name());
                        learned += 1;
                    }
                    Err(error) => assert!(error.to_string().len() > 20, "{error}"),
                }
            }
        }
        // Classes, numbers and neither: each learner has at least the sets that are for it.
        assert!(learned >= 3 + 2 * 3 + 2 * 2, "{learned}");
    }

    #[test]
    fn vectors_that_move_beat_those_that_do_not_and_grow_from_size_to_size() {
        let (train, test) = (waves(500, 1), waves(500, 2));
        let search = Search { n_vectors: 24, growth: Growth::Doubling, iterations: 60, ..Search::default() };
        let learner = DirectLearner { task: ridge(0.01), search };
        let path = learner.learn_path(&train, &Watch::none()).unwrap();
        assert_eq!(path.iter().map(|fit| fit.machine.n_vectors()).collect::<Vec<_>>(), [3, 6, 12, 24]);
        assert!(path.windows(2).all(|pair| pair[1].report.objective < pair[0].report.objective));
        let start = DirectLearner { search: Search { iterations: 0, growth: Growth::None, ..learner.search.clone() }, ..learner.clone() };
        let before = start.learn(&train, &Watch::none()).unwrap().machine.score(&test).unwrap().loss();
        let after = path[3].machine.score(&test).unwrap().loss();
        assert!(after < 0.5 * before, "{before} {after}");
        let again = learner.learn_from(&path[3].machine, &train, &Watch::none()).unwrap();
        assert_eq!(again.machine.n_vectors(), 24);
    }

    #[test]
    fn constant_targets_and_outliers_give_finite_machines_and_bad_settings_words() {
        let mut data = waves(60, 3);
        data.target = Target::Values(Matrix::from_fn(60, 1, |_, _| 4.0));
        let small = |task| DirectLearner { task, search: Search { n_vectors: 5, iterations: 20, ..Search::default() } };
        let machine = small(ridge(1e-3)).learn(&data, &Watch::none()).unwrap().machine;
        assert!(machine.score(&data).unwrap().loss().is_finite());
        data.target = Target::Values(Matrix::from_fn(60, 1, |i, _| if i == 7 { 1e12 } else { i as f64 }));
        let machine = small(ridge(1e-3)).learn(&data, &Watch::none()).unwrap().machine;
        assert!(machine.score(&data).unwrap().loss().is_finite());
        assert!(small(ridge(0.0)).check().unwrap_err().to_string().contains("lambda"));
        assert!(DirectLearner { search: Search { n_vectors: 0, ..Search::default() }, ..small(ridge(1.0)) }.check().is_err());
        let words = Dataset::new(Matrix::<f64>::zeros(3, 1), Target::None);
        assert!(small(ridge(1.0)).learn(&words, &Watch::none()).is_err());
    }
}
