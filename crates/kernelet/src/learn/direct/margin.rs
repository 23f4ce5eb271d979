//! Sparse large-margin machines trained directly: the vectors Z that make the machine on their span best.
//!
//! Minimises W(Z) by the search of [`direct`](super) (Wu2006, section 3). With several classes one set of vectors is shared by all of them
//! and W is the sum over the one-vs-rest machines: a row costs m kernel evaluations whatever the number of classes. The squared hinge
//! finds the vectors; for the hinge loss it is the first phase, after which a few steps with the hinge itself follow.
//!
//! Cost of a step: n m (d + m / 2) for the coordinates, the Newton systems of rows with an error, and the gradient over rows whose derivative is not zero.
use std::{borrow::Cow, fmt};

use super::{
    choice::Searched,
    coordinates,
    hinge::Hinge,
    init::Init,
    inner::Solution,
    metric::{Learned, Transform},
    objective::Variables,
    own,
    search::{Direct, Phase, Search},
    squared_hinge::SquaredHinge,
};
use crate::{
    Error, Named, Result,
    data::{Dataset, Label, Points, check_classes},
    error::require_cost,
    kernel::Kernel,
    learn::{ClassWeights, Fit, Learner},
    linalg::Matrix,
    machine::{Decision, Expansion, Machine, Metadata},
    watch::{Status, Watch},
};

/// What an error costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum DirectLoss {
    /// `max(0, 1 - y f)`: vectors by the squared hinge first, then by the hinge.
    Hinge,
    /// `max(0, 1 - y f)^2`.
    #[default]
    SquaredHinge,
}

impl Named for DirectLoss {
    const NAMES: &'static [(&'static str, Self)] = &[("squared-hinge", DirectLoss::SquaredHinge), ("hinge", DirectLoss::Hinge)];
}

/// Who has which of the vectors.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum Sharing {
    /// All classes all of them.
    #[default]
    All,
    /// Each class as many of its own as any other.
    Own,
    /// Each class so many of its own.
    Parts(Vec<usize>),
}

/// Sparse large-margin classification: a support vector machine with a given number of vectors, which all classes share.
///
/// ```
/// use kernelet::{data::digits_split, learn::direct::{Margin, Search}, prelude::*};
///
/// let (train, test) = digits_split();
/// let search = Search { n_vectors: 30, iterations: 20, ..Search::default() };
/// let margin = Margin { kernel: Kernel::gaussian(4e-4), c: 10.0, search, hinge_iterations: 5, ..Margin::default() };
/// let machine = margin.learn(&train, &Watch::none())?.machine;
/// assert_eq!(machine.n_vectors(), 30);
/// assert!(machine.score(&test)?.loss() < 0.1); // the fraction of wrong labels
/// # Ok::<(), kernelet::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Margin {
    /// The kernel; smooth and positive definite.
    pub kernel: Kernel,
    /// The cost of an error.
    pub c: f64,
    /// What an error costs.
    pub loss: DirectLoss,
    /// Factors of C for each class.
    pub class_weights: ClassWeights,
    /// Who has which of the vectors, where there are several classes.
    pub sharing: Sharing,
    /// How vectors are searched for; its steps are those with the squared hinge.
    pub search: Search,
    /// Steps with the hinge afterwards.
    pub hinge_iterations: usize,
}

impl Default for Margin {
    fn default() -> Self {
        Margin {
            kernel: Kernel::gaussian(1.0),
            c: 1.0,
            loss: DirectLoss::SquaredHinge,
            class_weights: ClassWeights::Equal,
            sharing: Sharing::All,
            search: Search::default(),
            hinge_iterations: 60,
        }
    }
}

impl Learner for Margin {
    fn name(&self) -> &'static str {
        "margin"
    }

    fn check(&self) -> Result<()> {
        require_cost(self.c)?;
        self.search.check(self.name(), &self.kernel)
    }

    fn learn(&self, data: &Dataset, watch: &Watch) -> Result<Fit> {
        let rows = self.rows(data)?;
        match self.parts(rows.signs.cols())? {
            Some(parts) => own::learn(&rows, &parts, watch),
            None => self.search.learn(&self.kernel, &rows, watch),
        }
    }

    fn warm_starts(&self) -> bool {
        true
    }

    /// Starts from the vectors of the earlier machine.
    fn learn_from(&self, earlier: &Machine, data: &Dataset, watch: &Watch) -> Result<Fit> {
        let init = Init::Given(earlier.expansion.vectors.dense("a warm start")?);
        Margin { search: Search { init, ..self.search.clone() }, ..self.clone() }.learn(data, watch)
    }

    fn learn_path(&self, data: &Dataset, watch: &Watch) -> Result<Vec<Fit>> {
        let rows = self.rows(data)?;
        match self.parts(rows.signs.cols())? {
            Some(parts) => Ok(vec![own::learn(&rows, &parts, watch)?]),
            None => self.search.learn_path(&self.kernel, &rows, watch),
        }
    }
}

impl Searched for Margin {
    fn search_mut(&mut self) -> &mut Search {
        &mut self.search
    }

    fn found(&self, data: &Dataset, watch: &Watch) -> Result<(Fit, Variables)> {
        let rows = self.rows(data)?;
        self.parts(rows.signs.cols())?;
        self.search.found(&self.kernel, &rows, watch)
    }

    /// The squared hinge, summed over outputs.
    fn loss(&self, machine: &Machine, rows: &Dataset) -> Result<f64> {
        let (classes, outputs) = (rows.classes()?, machine.outputs_for(&rows.points)?);
        let known = machine.decision.labels();
        let place: Vec<Option<usize>> = classes.labels.iter().map(|label| known.iter().position(|known| known == label)).collect();
        let of_row = |(i, row): (usize, &[f64])| -> f64 {
            let class = place[classes.codes[i] as usize];
            let side = |k: usize| class.and_then(|class| machine.decision.side(k, class)).unwrap_or(-1.0);
            row.iter().enumerate().map(|(k, f)| (1.0 - side(k) * f).max(0.0).powi(2)).sum()
        };
        Ok(outputs.iter().enumerate().map(of_row).sum::<f64>() / rows.len().max(1) as f64)
    }
}

impl Margin {
    /// The best machine of several starts, most of which make a few steps only, see [`Search::race`]; all classes share its vectors.
    pub(crate) fn race(&self, given: Vec<Init>, own: bool, data: &Dataset, watch: &Watch) -> Result<Fit> {
        let rows = self.rows(data)?;
        self.search.race(&self.kernel, &rows, given, own, watch)
    }

    /// How many vectors each of `outputs` machines has of its own; none where they share.
    fn parts(&self, outputs: usize) -> Result<Option<Vec<usize>>> {
        let vectors = self.search.n_vectors;
        let parts = match &self.sharing {
            Sharing::All => return Ok(None),
            _ if outputs == 1 => return Ok(None),
            Sharing::Own => (0..outputs).map(|k| vectors * (k + 1) / outputs - vectors * k / outputs).collect(),
            Sharing::Parts(parts) => parts.clone(),
        };
        if self.search.checkpoint.is_some() {
            return Err(Error::Unsupported {
                method: "checkpoint",
                with: "vectors of their own for each class".into(),
                instead: "let all classes share their vectors".into(),
            });
        }
        if self.search.metric.learned != Learned::Nothing {
            return Err(Error::Unsupported {
                method: "a learned metric",
                with: "vectors of their own for each class".into(),
                instead: "let all classes share their vectors".into(),
            });
        }
        if parts.len() != outputs || parts.contains(&0) {
            return Err(Error::parameter("vectors", vectors, format!("at least {outputs}, one for each class")));
        }
        Ok(Some(parts))
    }

    fn rows<'a>(&'a self, data: &'a Dataset) -> Result<Rows<'a>> {
        self.check()?;
        let classes = check_classes(data)?;
        let weights = self.class_weights.of(classes)?;
        let used: Vec<usize> = (0..data.len()).filter(|&i| weights[classes.codes[i] as usize] * data.weight(i) > 0.0).collect();
        let codes: Vec<usize> = used.iter().map(|&i| classes.codes[i] as usize).collect();
        let labels = classes.labels.clone();
        let decision = match labels.len() {
            2 => Decision::Sign { negative: labels[0].clone(), positive: labels[1].clone() },
            _ => Decision::Largest { labels },
        };
        let outputs = decision.n_outputs().unwrap_or(1);
        let needed = coordinates::bytes(used.len(), self.search.n_vectors);
        if self.loss == DirectLoss::Hinge && needed > self.search.memory_bytes {
            return Err(Error::data(format!(
                "hinge loss holds {} MB for {} rows and {} vectors, above the limit of {} MB; raise the limit, or use squared-hinge",
                needed >> 20,
                used.len(),
                self.search.n_vectors,
                self.search.memory_bytes >> 20
            )));
        }
        Ok(Rows {
            learner: self,
            data,
            points: if used.len() == data.len() { Cow::Borrowed(&data.points) } else { Cow::Owned(data.points.select(&used)) },
            signs: Matrix::from_fn(used.len(), outputs, |i, k| decision.side(k, codes[i]).unwrap_or(0.0)),
            costs: used.iter().zip(&codes).map(|(&i, &code)| self.c * weights[code] * data.weight(i)).collect(),
            decision,
            weights,
        })
    }
}

/// The rows that count, on which side of each class they should be, and what their errors cost.
pub(super) struct Rows<'a> {
    pub learner: &'a Margin,
    data: &'a Dataset,
    points: Cow<'a, Points>,
    pub signs: Matrix,
    costs: Vec<f64>,
    decision: Decision,
    weights: Vec<f64>,
}

impl Rows<'_> {
    /// The problem of one class against all others, with other settings.
    pub fn of_class<'b>(&'b self, k: usize, learner: &'b Margin) -> Rows<'b> {
        let [negative, positive] = ["others", "class"].map(Label::new);
        Rows {
            learner,
            data: self.data,
            points: Cow::Borrowed(&self.points),
            signs: Matrix::column(self.signs.col(k)),
            costs: self.costs.clone(),
            decision: Decision::Sign { negative, positive },
            weights: self.weights.clone(),
        }
    }
}

impl Direct for Rows<'_> {
    fn phases(&self) -> Vec<Phase<'_>> {
        let points = &*self.points;
        let squared = Box::new(SquaredHinge::new(&self.signs, &self.costs));
        let mut phases = vec![Phase { name: "steps", points, inner: squared, single: true, iterations: self.learner.search.iterations }];
        if self.learner.loss == DirectLoss::Hinge {
            let inner = Box::new(Hinge::new(&self.signs, &self.costs));
            phases.push(Phase { name: "steps, hinge", points, inner, single: false, iterations: self.learner.hinge_iterations });
        }
        phases
    }

    fn machine(&self, expansion: Expansion, solution: &Solution, _: &Transform) -> Result<(Machine, Status)> {
        Ok((self.machine_of(expansion, solution.offsets.clone(), solution.value), Status::Converged))
    }

    fn problem(&self) -> Box<dyn fmt::Debug + '_> {
        let Margin { c, class_weights, loss, hinge_iterations, .. } = self.learner;
        let settings = (self.learner.name(), c, class_weights, loss, hinge_iterations);
        Box::new((settings, &*self.points, &self.signs, &self.costs, &self.decision, &self.data.names))
    }
}

impl Rows<'_> {
    /// The machine of these vectors, coefficients and offsets.
    pub fn machine_of(&self, expansion: Expansion, offsets: Vec<f64>, objective: f64) -> Machine {
        let metadata = Metadata {
            learner: Some(self.learner.name().into()),
            c: Some(self.learner.c),
            class_weights: (self.learner.class_weights != ClassWeights::Equal).then(|| self.weights.clone()),
            n_rows: Some(self.data.len()),
            objective: Some(objective),
            ..Metadata::default()
        };
        Machine {
            expansion,
            offsets,
            decision: self.decision.clone(),
            scale: None,
            names: self.data.names.clone(),
            calibration: None,
            metadata,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Growth;
    use super::*;
    use crate::{
        data::{Generator, Target, banana, waveform3},
        learn::Svc,
        machine::Coefficients,
    };

    #[test]
    fn few_vectors_reach_the_error_of_the_full_machine() {
        let (train, test) = (banana(400, 1), banana(2000, 2));
        let kernel = Kernel::gaussian(1.0);
        let full = Svc { kernel: kernel.clone(), c: 10.0, ..Svc::default() }.learn(&train, &Watch::none()).unwrap().machine;
        for loss in [DirectLoss::Hinge, DirectLoss::SquaredHinge] {
            let search = Search { n_vectors: 10, ..Search::default() };
            let small =
                Margin { kernel: kernel.clone(), c: 10.0, loss, search, ..Margin::default() }.learn(&train, &Watch::none()).unwrap();
            assert_eq!(small.machine.n_vectors(), 10);
            let (a, b) = (small.machine.score(&test).unwrap().loss(), full.score(&test).unwrap().loss());
            assert!(a < b + 0.02, "{loss:?}: {a} {b}, {} vectors", full.n_vectors());
        }
    }

    #[test]
    fn classes_share_their_vectors_and_w_falls_from_every_start() {
        let (train, test) = (waveform3(300, 1), waveform3(1000, 2));
        for init in [Init::Random, Init::KMeans, Init::Spread, Init::RpCholesky] {
            let search = Search { n_vectors: 6, init, ..Search::default() };
            let learner = Margin { kernel: Kernel::gaussian(0.02), c: 1.0, search, ..Margin::default() };
            let fit = learner.learn(&train, &Watch::none()).unwrap();
            let still = Search { iterations: 0, ..learner.search.clone() };
            let none = Margin { search: still, ..learner.clone() }.learn(&train, &Watch::none()).unwrap();
            assert!(fit.report.objective < none.report.objective);
            assert!(fit.machine.score(&test).unwrap().loss() < 0.19, "{:?}", learner.search.init);
            assert_eq!((fit.machine.n_vectors(), fit.machine.n_outputs()), (6, 3));
        }
    }

    #[test]
    fn more_starts_are_never_worse_and_seeds_repeat() {
        let train = banana(200, 1);
        let learner = |starts, seed| Margin {
            kernel: Kernel::gaussian(1.0),
            search: Search { n_vectors: 4, init: Init::Random, starts, seed, iterations: 30, ..Search::default() },
            ..Margin::default()
        };
        let run = |starts, seed| learner(starts, seed).learn(&train, &Watch::none()).unwrap();
        assert!(run(4, 0).report.objective <= run(1, 0).report.objective);
        assert_eq!(run(1, 5).machine, run(1, 5).machine);
    }

    #[test]
    fn hard_settings_give_finite_machines() {
        let train = Generator::Banana.make(80, 1);
        for (gamma, c) in [(1e-12, 1.0), (1e6, 1.0), (1.0, 1e9), (1.0, 1e-9)] {
            for loss in [DirectLoss::Hinge, DirectLoss::SquaredHinge] {
                let search = Search { n_vectors: 5, iterations: 20, ..Search::default() };
                let fit = Margin { kernel: Kernel::gaussian(gamma), c, loss, search, hinge_iterations: 5, ..Margin::default() };
                let machine = fit.learn(&train, &Watch::none()).unwrap().machine;
                assert!(machine.check().is_ok() && machine.offsets[0].is_finite(), "{gamma} {c} {loss:?}");
            }
        }
        let points = Matrix::from_fn(20, 2, |_, j| j as f64);
        let equal = Dataset::new(
            points,
            Target::Classes(crate::data::Classes::from_texts(&(0..20).map(|i| (i % 2).to_string()).collect::<Vec<_>>())),
        );
        let with = |vectors| Margin { search: Search { n_vectors: vectors, ..Search::default() }, ..Margin::default() };
        assert_eq!(with(5).learn(&equal, &Watch::none()).unwrap().machine.n_vectors(), 1);
        assert!(with(0).learn(&train, &Watch::none()).is_err());
        assert!(Margin { kernel: Kernel::named("exponential", 1.0, 0, 0.0).unwrap(), ..Margin::default() }.check().is_err());
    }

    #[test]
    fn vectors_grow_in_number_and_w_falls_from_size_to_size() {
        let train = waveform3(300, 1);
        for (growth, sizes) in [(Growth::Doubling, vec![3, 5, 9]), (Growth::OneByOne, vec![1, 2, 3, 4])] {
            let search = Search { n_vectors: sizes[sizes.len() - 1], growth, iterations: 50, ..Search::default() };
            let learner = Margin { kernel: Kernel::gaussian(0.02), search, ..Margin::default() };
            let path = learner.learn_path(&train, &Watch::none()).unwrap();
            assert_eq!(path.iter().map(|fit| fit.machine.n_vectors()).collect::<Vec<_>>(), sizes);
            assert!(path.windows(2).all(|pair| pair[1].report.objective < pair[0].report.objective));
            assert_eq!(learner.learn(&train, &Watch::none()).unwrap().machine, path[path.len() - 1].machine);
        }
    }

    #[test]
    fn with_vectors_of_their_own_each_class_has_its_part_of_them() {
        let (train, test) = (waveform3(300, 1), waveform3(1000, 2));
        let search = Search { n_vectors: 8, iterations: 40, ..Search::default() };
        let learner = Margin { kernel: Kernel::gaussian(0.02), sharing: Sharing::Own, search, ..Margin::default() };
        let fit = learner.learn(&train, &Watch::none()).unwrap();
        assert_eq!((fit.machine.n_vectors(), fit.machine.n_outputs()), (8, 3));
        let Coefficients::Dense(coefficients) = &fit.machine.expansion.coefficients else { panic!() };
        assert!(coefficients.iter().all(|row| row.iter().filter(|b| **b != 0.0).count() == 1));
        // Measured: 0.118.
        assert!(fit.machine.score(&test).unwrap().loss() < 0.13);
        // The second class alone, as a problem of two classes, has the same machine.
        let classes = train.classes().unwrap();
        let texts: Vec<&str> = classes.codes.iter().map(|&code| if code == 1 { "b" } else { "a" }).collect();
        let two = Dataset::new(train.points.to_dense(), Target::Classes(crate::data::Classes::from_texts(&texts)));
        let alone =
            Margin { search: Search { n_vectors: 3, ..learner.search.clone() }, ..learner.clone() }.learn(&two, &Watch::none()).unwrap();
        assert_eq!(alone.machine.offsets[0], fit.machine.offsets[1]);
        // Fewer vectors than classes: a class would have none.
        let few = Margin { search: Search { n_vectors: 2, ..learner.search.clone() }, ..learner };
        assert!(few.learn(&train, &Watch::none()).unwrap_err().to_string().contains("at least 3"));
    }
}
