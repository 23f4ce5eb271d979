//! Any learner whose vectors are found with it.
//!
//! Section 2 of Wu2006 is a recipe: minimise over the vectors Z what the learner reaches on their span. The search sees the learner as
//! an [`Inner`]; the machine at the end is the learner's own on the basis Z, with everything it brings (thresholds, probabilities),
//! so that with all training rows as vectors it is its full twin.
//!
//! Cost: that of the search, see [`super::Objective`]; at the end the coordinates of all rows once, n m numbers.
use super::{
    init::Init,
    inner::{Inner, Solution},
    search::{Direct, Phase, Search},
    squared::Squared,
};
use crate::{
    Result,
    data::Dataset,
    frame::JITTER,
    kernel::Kernel,
    learn::{Fit, FrameLearner, Learner, Ridge, fit, rows_that_count},
    linalg::Matrix,
    machine::{Expansion, Facts, Machine},
    sparsify::Basis,
    watch::Watch,
};

/// Who learns.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum DirectTask {
    /// Regression with squared loss.
    Ridge(Ridge),
}

impl DirectTask {
    fn twin(&self) -> &dyn FrameLearner {
        match self {
            DirectTask::Ridge(ridge) => ridge,
        }
    }
}

/// A learner with few vectors that are found with it.
#[derive(Clone, Debug)]
pub struct DirectLearner {
    /// Who learns; its kernel must be smooth and positive definite.
    pub task: DirectTask,
    /// How vectors are searched for.
    pub search: Search,
}

impl Learner for DirectLearner {
    fn name(&self) -> &'static str {
        self.task.twin().name()
    }

    fn check(&self) -> Result<()> {
        self.task.twin().check()?;
        self.search.check(self.name(), self.kernel())
    }

    fn learn(&self, data: &Dataset, watch: &Watch) -> Result<Fit> {
        let rows = self.rows(data)?;
        self.search.learn(self.kernel(), &self.prepared(&rows, data)?, watch)
    }

    /// Starts from the vectors of the earlier machine.
    fn learn_from(&self, earlier: &Machine, data: &Dataset, watch: &Watch) -> Result<Fit> {
        let init = Init::Given(earlier.expansion.vectors.to_dense());
        DirectLearner { search: Search { init, ..self.search.clone() }, ..self.clone() }.learn(data, watch)
    }

    fn learn_path(&self, data: &Dataset, watch: &Watch) -> Result<Vec<Fit>> {
        let rows = self.rows(data)?;
        self.search.learn_path(self.kernel(), &self.prepared(&rows, data)?, watch)
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
        let weights = (0..rows.len()).map(|i| rows.weight(i)).collect();
        let ready = match &self.task {
            DirectTask::Ridge(ridge) => Ready::Ridge { targets: rows.values()?, lambda: ridge.lambda },
        };
        Ok(Prepared { learner: self, rows, all: all.len(), weights, ready })
    }
}

/// A learner with its rows.
struct Prepared<'a> {
    learner: &'a DirectLearner,
    rows: &'a Dataset,
    /// Rows that were given.
    all: usize,
    weights: Vec<f64>,
    ready: Ready<'a>,
}

/// What each learner makes of its rows before the search.
enum Ready<'a> {
    Ridge { targets: &'a Matrix, lambda: f64 },
}

impl Direct for Prepared<'_> {
    fn phases(&self) -> Vec<Phase<'_>> {
        let inner: Box<dyn Inner + '_> = match &self.ready {
            Ready::Ridge { targets, lambda } => Box::new(Squared { targets, weights: &self.weights, lambda: *lambda }),
        };
        vec![Phase { name: "steps", points: &self.rows.points, inner, iterations: self.learner.search.iterations }]
    }

    fn machine(&self, expansion: Expansion, solution: &Solution) -> Result<Machine> {
        let basis = Basis::of_vectors(&expansion.kernel, &self.rows.points, &expansion.vectors, vec![], JITTER)?;
        // A cancelled search still has a whole machine on its vectors.
        let found = self.learner.task.twin().learn_in_frame(self.rows, &basis, &Watch::none())?;
        let mut machine = fit(&basis, found, self.rows)?.machine;
        machine.facts = Facts { rows: Some(self.all), objective: Some(solution.value), ..machine.facts };
        Ok(machine)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        data::{Target, draw::Draw},
        sparsify::direct::Growth,
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
        DirectLearner { task, search: Search { vectors: data.len(), init, iterations: 0, ..Search::default() } }
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
        assert_eq!(all.machine.facts.rows, Some(120));
    }

    #[test]
    fn vectors_that_move_beat_those_that_do_not_and_grow_from_size_to_size() {
        let (train, test) = (waves(500, 1), waves(500, 2));
        let search = Search { vectors: 24, growth: Growth::Doubling, iterations: 60, ..Search::default() };
        let learner = DirectLearner { task: ridge(0.01), search };
        let path = learner.learn_path(&train, &Watch::none()).unwrap();
        assert_eq!(path.iter().map(|fit| fit.machine.vectors()).collect::<Vec<_>>(), [3, 6, 12, 24]);
        assert!(path.windows(2).all(|pair| pair[1].report.objective < pair[0].report.objective));
        let start = DirectLearner { search: Search { iterations: 0, growth: Growth::None, ..learner.search.clone() }, ..learner.clone() };
        let before = start.learn(&train, &Watch::none()).unwrap().machine.score(&test).unwrap().loss();
        let after = path[3].machine.score(&test).unwrap().loss();
        assert!(after < 0.5 * before, "{before} {after}");
        let again = learner.learn_from(&path[3].machine, &train, &Watch::none()).unwrap();
        assert_eq!(again.machine.vectors(), 24);
    }

    #[test]
    fn constant_targets_and_outliers_give_finite_machines_and_bad_settings_words() {
        let mut data = waves(60, 3);
        data.target = Target::Values(Matrix::from_fn(60, 1, |_, _| 4.0));
        let small = |task| DirectLearner { task, search: Search { vectors: 5, iterations: 20, ..Search::default() } };
        let machine = small(ridge(1e-3)).learn(&data, &Watch::none()).unwrap().machine;
        assert!(machine.score(&data).unwrap().loss().is_finite());
        data.target = Target::Values(Matrix::from_fn(60, 1, |i, _| if i == 7 { 1e12 } else { i as f64 }));
        let machine = small(ridge(1e-3)).learn(&data, &Watch::none()).unwrap().machine;
        assert!(machine.score(&data).unwrap().loss().is_finite());
        assert!(small(ridge(0.0)).check().unwrap_err().to_string().contains("lambda"));
        assert!(DirectLearner { search: Search { vectors: 0, ..Search::default() }, ..small(ridge(1.0)) }.check().is_err());
        let words = Dataset::new(Matrix::<f64>::zeros(3, 1), Target::None);
        assert!(small(ridge(1.0)).learn(&words, &Watch::none()).is_err());
    }
}
