//! Distillation: a small machine trained on the outputs of a large one.
//!
//! The vectors move as in direct training, but rows come with the teacher's outputs f instead of labels, so that what the teacher learned of
//! costs, weights and noise is kept. What the teacher's outputs are for decides what is asked of the small machine:
//!
//! | teacher | loss of an output g |
//! |---|---|
//! | classes, novelty | `c (f - g)^2` where f is between -1 and 1; beyond, where only the side counts, `c max(0, 1 - g sign f)^2` |
//! | votes of pairs | one output for each class: `c max(0, 1 - y g)^2`, y = +1 for the class that won the vote |
//! | values, features | `(f - g)^2`, outputs of values scaled to equal size |
//!
//! The outputs of novelty detection have no natural size: they are divided by the mean of theirs. Cost: as [`Margin`](crate::learn::direct::Margin) and direct ridge.
use std::fmt;

use super::Task;
use crate::{
    Error, Result,
    data::Points,
    error::require_cost,
    learn::{
        Fit,
        direct::{Direct, Init, Inner, Phase, Search, Solution, Squared, SquaredHinge, Transform},
    },
    linalg::Matrix,
    machine::{Coefficients, Decision, Expansion, Machine, squared_norm},
    watch::{Status, Watch},
};

/// Of the squares of the outputs, the fraction that the penalty of a teacher's own weights comes to.
const PENALTY: f64 = 1e-5;

/// A small machine from the outputs of a large one.
#[derive(Clone, Debug)]
pub struct Distil {
    /// The cost of an error of classifiers.
    pub c: f64,
    /// How vectors are searched for.
    pub search: Search,
}

impl Default for Distil {
    fn default() -> Self {
        Distil { c: 10.0, search: Search::default() }
    }
}

impl Distil {
    /// An error for settings or a kernel that cannot be used.
    pub fn check(&self, teacher: &Machine) -> Result<()> {
        require_cost(self.c)?;
        self.search.check("distillation", &teacher.expansion.kernel)
    }

    /// The small machine; the teacher and the rows it speaks about are those of the task.
    pub fn learn(&self, task: &Task, watch: &Watch) -> Result<Fit> {
        self.search.learn(&task.machine.expansion.kernel, &self.lesson(task)?, watch)
    }

    /// The best machine of several starts, most of which make a few steps only, see [`Search::race`].
    pub(crate) fn race(&self, given: Vec<Init>, own: bool, task: &Task, watch: &Watch) -> Result<Fit> {
        self.search.race(&task.machine.expansion.kernel, &self.lesson(task)?, given, own, watch)
    }

    fn lesson<'a>(&self, task: &Task<'a>) -> Result<Lesson<'a>> {
        task.check()?;
        self.check(task.machine)?;
        let rows = task.scaled_rows()?.ok_or_else(|| Error::data("distillation needs rows; give data like those of the model"))?;
        let weights = (0..rows.len()).map(|i| task.data.map_or(1.0, |data| data.weight(i))).collect();
        Lesson::new(task.machine, rows, weights, self)
    }
}

/// What rows should have as outputs, in units of the lesson.
struct Lesson<'a> {
    teacher: &'a Machine,
    steps: usize,
    rows: Points,
    /// n x q.
    targets: Matrix,
    /// One for each row.
    costs: Vec<f64>,
    /// What an output of 1 in the lesson is for the teacher.
    units: Vec<f64>,
    /// The penalty of |w|^2 where values are met; none where sides are taken.
    lambda: Option<f64>,
    decision: Decision,
}

impl<'a> Lesson<'a> {
    fn new(teacher: &'a Machine, rows: Points, weights: Vec<f64>, how: &Distil) -> Result<Self> {
        let bare = Machine { scale: None, names: None, ..teacher.clone() };
        let mut targets = bare.outputs_for(&rows)?;
        let (q, steps) = (targets.cols(), how.search.iterations);
        if matches!(teacher.decision, Decision::Values | Decision::Ratio | Decision::Features) {
            targets.values_mut().chunks_exact_mut(q.max(1)).for_each(|row| row.iter_mut().zip(&teacher.offsets).for_each(|(f, b)| *f -= b));
            let units = if teacher.decision == Decision::Features { vec![1.0; q] } else { (0..q).map(|k| size(&targets.col(k))).collect() };
            divide(&mut targets, &units);
            let squares: f64 = targets.values().iter().map(|t| t * t).sum();
            let norm: f64 = squared_norm(&teacher.expansion)?.iter().zip(&units).map(|(norm, unit)| norm / (unit * unit)).sum();
            let lambda = Some((PENALTY * squares / norm).max(f64::MIN_POSITIVE)).filter(|l| l.is_finite());
            let lambda = Some(lambda.ok_or_else(|| Error::data("the outputs of the model on these rows are too large to learn from"))?);
            return Ok(Lesson { teacher, steps, rows, targets, costs: weights, units, lambda, decision: teacher.decision.clone() });
        }
        let costs = weights.iter().map(|weight| how.c * weight).collect();
        let (targets, units, decision) = match &teacher.decision {
            Decision::Votes { labels } => {
                let winners: Vec<usize> = targets.iter().map(|row| teacher.decision.class(row)).collect();
                let sides = Matrix::from_fn(rows.len(), labels.len(), |i, k| if winners[i] == k { 1.0 } else { -1.0 });
                (sides, vec![1.0; labels.len()], Decision::Largest { labels: labels.clone() })
            }
            other => {
                let units: Vec<f64> = match other {
                    Decision::Novelty => (0..q).map(|k| size(&targets.col(k))).collect(),
                    _ => vec![1.0; q],
                };
                divide(&mut targets, &units);
                targets.values_mut().iter_mut().for_each(|t| *t = t.clamp(-1.0, 1.0));
                (targets, units, other.clone())
            }
        };
        Ok(Lesson { teacher, steps, rows, targets, costs, units, lambda: None, decision })
    }
}

/// The mean size; 1 where all are zero.
fn size(values: &[f64]) -> f64 {
    let mean = values.iter().map(|v| v.abs()).sum::<f64>() / values.len().max(1) as f64;
    if mean > 0.0 { mean } else { 1.0 }
}

fn divide(targets: &mut Matrix, units: &[f64]) {
    targets.values_mut().chunks_exact_mut(units.len().max(1)).for_each(|row| row.iter_mut().zip(units).for_each(|(t, u)| *t /= u));
}

impl Direct for Lesson<'_> {
    fn phases(&self) -> Vec<Phase<'_>> {
        let inner: Box<dyn Inner + '_> = match self.lambda {
            Some(lambda) => Box::new(Squared { targets: &self.targets, weights: &self.costs, lambda }),
            None => Box::new(SquaredHinge::new(&self.targets, &self.costs)),
        };
        vec![Phase { name: "steps", points: &self.rows, inner, single: self.lambda.is_none(), iterations: self.steps }]
    }

    fn machine(&self, expansion: Expansion, solution: &Solution, _: &Transform) -> Result<(Machine, Status)> {
        let mut coefficients = expansion.coefficients.to_dense();
        let q = self.units.len().max(1);
        coefficients.values_mut().chunks_exact_mut(q).for_each(|row| row.iter_mut().zip(&self.units).for_each(|(b, u)| *b *= u));
        let offsets = match self.lambda {
            Some(_) => self.teacher.offsets.clone(),
            None => solution.offsets.iter().zip(&self.units).map(|(b, u)| b * u).collect(),
        };
        let expansion = Expansion { coefficients: Coefficients::Dense(coefficients), ..expansion };
        let machine = Machine { expansion, offsets, decision: self.decision.clone(), ..self.teacher.uncalibrated() };
        Ok((machine, Status::Converged))
    }

    fn problem(&self) -> Box<dyn fmt::Debug + '_> {
        Box::new((self.teacher, self.steps, &self.rows, &self.targets, &self.costs, &self.units, self.lambda))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        data::{Dataset, Target, banana, waveform3},
        evaluate::agreement,
        kernel::Kernel,
        learn::{Components, Learner, Multiclass, OneClass, Pca, Ridge, Svc},
    };

    fn small(machine: &Machine, data: &Dataset, vectors: usize) -> Machine {
        let unlabelled = Dataset { target: Target::None, ..data.clone() };
        let task = Task { machine, data: Some(&unlabelled), candidates: None };
        let search = Search { n_vectors: vectors, iterations: 60, ..Search::default() };
        Distil { search, ..Distil::default() }.learn(&task, &Watch::none()).unwrap().machine
    }

    fn agreeing(machine: &Machine, small: &Machine, data: &Dataset) -> f64 {
        agreement(&machine.predict(&data.points).unwrap(), &small.predict(&data.points).unwrap()).unwrap()
    }

    #[test]
    fn decisions_of_every_kind_are_kept_without_labels() {
        let (two, unseen, three) = (banana(400, 1), banana(1000, 2), waveform3(300, 1));
        let svc = Svc { kernel: Kernel::gaussian(1.0), c: 10.0, ..Svc::default() };
        let full = svc.learn(&two, &Watch::none()).unwrap().machine;
        let machine = small(&full, &two, 15);
        assert!(machine.n_vectors() == 15 && agreeing(&full, &machine, &unseen) > 0.96, "{}", agreeing(&full, &machine, &unseen));
        let pairs = Svc { kernel: Kernel::gaussian(0.02), multiclass: Multiclass::OneVsOne, ..svc.clone() };
        let full = pairs.learn(&three, &Watch::none()).unwrap().machine;
        let machine = small(&full, &three, 20);
        assert!(matches!(machine.decision, Decision::Largest { .. }) && agreeing(&full, &machine, &waveform3(1000, 2)) > 0.9);
        let novelty = OneClass { kernel: Kernel::gaussian(0.5), nu: 0.2, ..OneClass::default() };
        let full = novelty.learn(&two, &Watch::none()).unwrap().machine;
        let machine = small(&full, &two, 15);
        assert!(
            machine.decision == Decision::Novelty && agreeing(&full, &machine, &unseen) > 0.97,
            "{}",
            agreeing(&full, &machine, &unseen)
        );
    }

    #[test]
    fn values_and_features_are_kept_whatever_their_units() {
        let two = banana(300, 1);
        let rows = two.points.to_dense();
        let values = Matrix::from_fn(300, 2, |i, k| (rows.at(i, 0) + k as f64).sin() * [1.0, 1e6][k]);
        let data = Dataset { target: Target::Values(values), ..two.clone() };
        let full = Ridge { kernel: Kernel::gaussian(0.5), lambda: 0.01 }.learn(&data, &Watch::none()).unwrap().machine;
        let pca = Pca { kernel: Kernel::gaussian(0.2), components: Components::Count(3), ..Pca::default() };
        for full in [full, pca.learn(&two, &Watch::none()).unwrap().machine] {
            let machine = small(&full, &data, 30);
            let (a, b) = (full.outputs_for(&data.points).unwrap(), machine.outputs_for(&data.points).unwrap());
            for k in 0..a.cols() {
                let (a, b) = (a.col(k), b.col(k));
                let error: f64 = a.iter().zip(&b).map(|(a, b)| (a - b) * (a - b)).sum();
                let whole: f64 = a.iter().map(|a| a * a).sum();
                assert!(error < 1e-2 * whole, "{k}: {error} of {whole}");
            }
        }
    }

    #[test]
    fn missing_rows_and_kernels_that_are_not_differentiable_are_rejected() {
        let full = Svc { kernel: Kernel::gaussian(1.0), ..Svc::default() }.learn(&banana(60, 1), &Watch::none()).unwrap().machine;
        assert!(Distil::default().learn(&Task::of(&full), &Watch::none()).unwrap_err().to_string().contains("needs rows"));
        let kernel = Kernel::named("exponential", 1.0, 0, 0.0).unwrap();
        let nonsmooth = Svc { kernel, ..Svc::default() }.learn(&banana(60, 1), &Watch::none()).unwrap().machine;
        assert!(Distil::default().check(&nonsmooth).unwrap_err().to_string().contains("not differentiable"));
    }
}
