//! How good is a small machine? On rows that it was not made from, beside the large one.
use crate::{
    Error, Result,
    data::{Dataset, Target, plain_split, stratified_split},
    evaluate::{Scores, agreement, score},
    linalg::Matrix,
    machine::{Decision, Machine, Prediction},
    sparsify::{residual, squared_norm},
};

/// The part of the rows that is held out, and the most of them.
const HELD_OUT: f64 = 0.25;
const MOST_HELD_OUT: usize = 10_000;

/// With fewer rows than this all are used for both.
const FEW: usize = 20;

/// What the loss on rows with targets is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metric {
    /// The part of the rows that is wrong.
    Error,
    /// The same for each class, averaged over the classes.
    BalancedError,
    /// The mean squared error.
    Mse,
}

impl Metric {
    /// All of them.
    pub const ALL: [Metric; 3] = [Metric::Error, Metric::BalancedError, Metric::Mse];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Metric::Error => "error",
            Metric::BalancedError => "balanced-error",
            Metric::Mse => "mse",
        }
    }

    /// The metric with this name.
    pub fn named(name: &str) -> Option<Metric> {
        Metric::ALL.into_iter().find(|metric| metric.name() == name)
    }

    /// The usual one for a machine.
    pub fn of(machine: &Machine) -> Metric {
        if machine.decision.labels().is_empty() { Metric::Mse } else { Metric::Error }
    }

    fn loss(self, scores: &Scores) -> Result<f64> {
        match (self, scores) {
            (Metric::Mse, Scores::Values { mse, .. }) => Ok(*mse),
            (Metric::Error, Scores::Classes(confusion)) => Ok(confusion.error()),
            (Metric::BalancedError, Scores::Classes(confusion)) => Ok(confusion.balanced_error()),
            (metric, Scores::Values { .. }) => Err(Error::parameter("metric", metric.name(), "mse for a machine that predicts numbers")),
            (metric, Scores::Classes(_)) => {
                Err(Error::parameter("metric", metric.name(), "error or balanced-error for a machine that tells classes apart"))
            }
        }
    }
}

/// What is known of a small machine.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Figures {
    /// The squared distance of the weight vectors over their squared size; none where the machines have other outputs.
    pub residual: Option<f64>,
    /// The part of the held-out rows that it predicts as the large machine does; none without rows or classes.
    pub agreement: Option<f64>,
    /// The loss on held-out rows; none without targets.
    pub loss: Option<f64>,
    /// The squared difference of the outputs on held-out rows over their variance; none where the machines have other outputs.
    pub output_error: Option<f64>,
}

/// What counts first when machines are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum First {
    /// The loss on held-out rows, where it is known.
    Loss,
    /// What is predicted as before on them.
    Agreement,
    /// The distance of the weight vectors, and nothing else.
    Residual,
}

/// The large machine on the rows that judge.
pub struct Judge<'a> {
    machine: &'a Machine,
    /// What loss means.
    pub metric: Metric,
    squared_norm: f64,
    held_out: Option<Seen>,
    /// What counts first.
    first: First,
}

/// What the large machine makes of the held-out rows.
struct Seen {
    rows: Dataset,
    outputs: Matrix,
    prediction: Prediction,
    loss: Option<f64>,
}

/// Rows to make small machines from, and rows to judge them by.
pub struct Parts {
    /// To make them from.
    pub rows: Dataset,
    /// To judge by.
    pub held_out: Dataset,
}

impl Parts {
    /// A quarter of the rows, drawn at random with classes in equal parts, is held out; very few rows are used for both.
    pub fn of(data: &Dataset, seed: u64) -> Result<Parts> {
        data.check_lengths()?;
        if data.len() < FEW {
            return Ok(Parts { rows: data.clone(), held_out: data.clone() });
        }
        let part = HELD_OUT.min(MOST_HELD_OUT as f64 / data.len() as f64);
        let (rows, held_out) = match data.target {
            Target::Classes(_) => stratified_split(&data.target, part, seed)?,
            _ => plain_split(data.len(), part, seed)?,
        };
        Ok(Parts { rows: data.select(&rows), held_out: data.select(&held_out) })
    }
}

impl<'a> Judge<'a> {
    /// A judge with these rows; without rows by the distance of the weight vectors.
    pub fn new(machine: &'a Machine, held_out: Option<Dataset>, metric: Option<Metric>, first: First) -> Result<Self> {
        let metric = metric.unwrap_or(Metric::of(machine));
        let mut judge = Judge { machine, metric, squared_norm: squared_norm(&machine.expansion)?.iter().sum(), held_out: None, first };
        if let Some(rows) = held_out {
            let (outputs, prediction) = (machine.outputs_for(&rows.points)?, machine.predict(&rows.points)?);
            let loss = judge.loss(&prediction, &rows)?;
            judge.held_out = Some(Seen { rows, outputs, prediction, loss });
        }
        Ok(judge)
    }

    /// The loss of the large machine.
    pub fn loss_before(&self) -> Option<f64> {
        self.held_out.as_ref().and_then(|seen| seen.loss)
    }

    /// The rows that judge.
    pub fn rows(&self) -> Option<&Dataset> {
        self.held_out.as_ref().map(|seen| &seen.rows)
    }

    fn loss(&self, prediction: &Prediction, rows: &Dataset) -> Result<Option<f64>> {
        let comparable = match (&rows.target, &self.machine.decision) {
            (_, Decision::Novelty | Decision::Features) | (Target::None, _) => false,
            (Target::Classes(_), decision) => !decision.labels().is_empty(),
            (Target::Values(_), decision) => decision.labels().is_empty(),
        };
        if !comparable {
            return Ok(None);
        }
        self.metric.loss(&score(prediction, rows)?).map(Some)
    }

    /// All that is known of a small machine.
    pub fn figures(&self, small: &Machine) -> Result<Figures> {
        // As many outputs of another meaning, such as three pairs and three classes, are not alike.
        let alike = small.decision == self.machine.decision;
        let mut figures = Figures::default();
        if alike {
            figures.residual = Some(residual(&self.machine.expansion, &small.expansion)? / self.squared_norm);
        }
        if let Some(Seen { rows, outputs, prediction, .. }) = &self.held_out {
            let theirs = small.predict(&rows.points)?;
            figures.agreement = agreement(prediction, &theirs);
            figures.loss = self.loss(&theirs, rows)?;
            if alike {
                figures.output_error = Some(relative_error(outputs, &small.outputs_for(&rows.points)?));
            }
        }
        Ok(figures)
    }

    /// Figures in the order in which they count, smaller is better: the loss and what is predicted otherwise, the outputs, the weight vectors.
    fn ranks(&self, figures: &Figures) -> [f64; 4] {
        let last = f64::INFINITY;
        let residual = figures.residual.unwrap_or(last);
        if self.first == First::Residual || self.held_out.is_none() {
            return [residual, 0.0, 0.0, 0.0];
        }
        let loss = figures.loss.unwrap_or(if self.loss_before().is_some() { last } else { 0.0 });
        let otherwise = figures.agreement.map_or(0.0, |agreement| 1.0 - agreement);
        let (one, two) = if self.first == First::Agreement { (otherwise, loss) } else { (loss, otherwise) };
        [one, two, figures.output_error.unwrap_or(last), residual]
    }

    /// True when one machine is better than another.
    pub fn better(&self, one: &Figures, other: &Figures) -> bool {
        let (one, other) = (self.ranks(one), self.ranks(other));
        one.iter().zip(&other).map(|(a, b)| a.total_cmp(b)).find(|order| order.is_ne()).is_some_and(|order| order.is_lt())
    }

    /// The figure that counts first, and how far it may be off by chance.
    pub fn first_figure(&self, figures: &Figures) -> (f64, f64) {
        let Some(seen) = self.held_out.as_ref().filter(|_| self.first != First::Residual) else {
            return (figures.residual.unwrap_or(f64::INFINITY), 0.0);
        };
        let chance = |part: f64| (part * (1.0 - part) / seen.rows.len().max(1) as f64).max(0.0).sqrt();
        match (figures.loss, figures.agreement) {
            (Some(loss), Some(_)) => (loss, chance(loss)),
            (Some(loss), None) => (loss, 0.01 * loss),
            (None, Some(agreement)) => (1.0 - agreement, chance(agreement)),
            (None, None) => (figures.output_error.unwrap_or(f64::INFINITY), 0.0),
        }
    }
}

/// The squared difference over the variance of the first; the squares themselves where it does not vary.
fn relative_error(outputs: &Matrix, others: &Matrix) -> f64 {
    let (n, q) = (outputs.rows().max(1) as f64, outputs.cols());
    let (mut error, mut spread) = (0.0, 0.0);
    for k in 0..q {
        let (a, b) = (outputs.col(k), others.col(k));
        let mean = a.iter().sum::<f64>() / n;
        error += a.iter().zip(&b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>();
        spread += a.iter().map(|a| (a - mean) * (a - mean)).sum::<f64>();
    }
    if spread > 0.0 { error / spread } else { error }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        data::banana,
        kernel::Kernel,
        learn::{Learner, Svc},
        sparsify::part_of,
        watch::Watch,
    };

    #[test]
    fn the_large_machine_is_as_good_as_itself_and_a_part_of_it_is_worse() {
        let data = banana(300, 1);
        let full = Svc { kernel: Kernel::gaussian(1.0), c: 10.0, ..Svc::default() }.learn(&data, &Watch::none()).unwrap().machine;
        let Parts { rows, held_out } = Parts::of(&data, 0).unwrap();
        assert_eq!((rows.len(), held_out.len()), (225, 75));
        let judge = Judge::new(&full, Some(held_out), None, First::Loss).unwrap();
        let own = judge.figures(&full).unwrap();
        assert_eq!((own.agreement, own.loss, own.output_error), (Some(1.0), judge.loss_before(), Some(0.0)));
        assert!(own.residual.unwrap() < 1e-12);
        let part = judge.figures(&part_of(&full, &[0, 1, 2])).unwrap();
        assert!(judge.better(&own, &part) && !judge.better(&part, &own) && !judge.better(&own, &own));
        assert!(judge.first_figure(&part).0 > judge.first_figure(&own).0);
        let right = Figures { loss: Some(0.1), agreement: Some(0.8), ..Figures::default() };
        let faithful = Figures { loss: Some(0.2), agreement: Some(0.9), ..Figures::default() };
        assert!(judge.better(&right, &faithful) && Judge { first: First::Agreement, ..judge }.better(&faithful, &right));
        assert!(Judge::new(&full, Some(data), Some(Metric::Mse), First::Loss).is_err());
    }

    #[test]
    fn without_rows_the_distance_judges() {
        let full = Svc { kernel: Kernel::gaussian(1.0), ..Svc::default() }.learn(&banana(60, 1), &Watch::none()).unwrap().machine;
        let judge = Judge::new(&full, None, None, First::Loss).unwrap();
        let (near, far) = (Figures { residual: Some(0.1), ..Figures::default() }, Figures { residual: Some(0.2), ..Figures::default() });
        assert!(judge.better(&near, &far));
        assert_eq!(judge.first_figure(&near), (0.1, 0.0));
        let few = Parts::of(&banana(10, 1), 0).unwrap();
        assert_eq!(few.rows, few.held_out);
    }
}
