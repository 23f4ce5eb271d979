//! How good is a small machine? Metrics on validation rows, which it was not made from, beside the large one.
use crate::{
    Error, Named, Result,
    data::{Dataset, Target, plain_split, stratified_split},
    evaluate::{Scores, agreement, score},
    linalg::Matrix,
    machine::{Decision, Machine, Prediction, Weights},
};

/// The fraction of the rows that validate, and the most of them.
const HELD_OUT: f64 = 0.25;
const MOST_HELD_OUT: usize = 10_000;

/// With fewer rows than this all are used for both.
pub(super) const FEW: usize = 20;

/// What the loss on rows with targets is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metric {
    /// The fraction of the rows that is wrong.
    Error,
    /// The same for each class, averaged over the classes.
    BalancedError,
    /// The mean squared error.
    Mse,
}

impl Named for Metric {
    const NAMES: &'static [(&'static str, Self)] =
        &[("error", Metric::Error), ("balanced-error", Metric::BalancedError), ("mse", Metric::Mse)];
}

impl Metric {
    /// The usual one for a machine.
    pub fn of(machine: &Machine) -> Metric {
        if machine.decision.labels().is_empty() { Metric::Mse } else { Metric::Error }
    }

    fn loss(self, scores: &Scores) -> Result<f64> {
        match (self, scores) {
            (Metric::Mse, Scores::Values { mse, .. }) => Ok(*mse),
            (Metric::Error, Scores::Classes(confusion)) => Ok(confusion.error()),
            (Metric::BalancedError, Scores::Classes(confusion)) => Ok(confusion.balanced_error()),
            (metric, Scores::Values { .. }) => Err(Error::parameter("metric", metric.name(), "mse for regression")),
            (metric, Scores::Classes(_)) => Err(Error::parameter("metric", metric.name(), "error or balanced-error for a classifier")),
        }
    }
}

/// What is known of a small machine.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Metrics {
    /// The squared distance of the weight vectors over their squared size; none where the machines have other outputs or metrics.
    pub residual: Option<f64>,
    /// The fraction of the validation rows that it predicts as the large machine does; none without rows or classes.
    pub agreement: Option<f64>,
    /// The loss on validation rows; none without targets.
    pub loss: Option<f64>,
    /// The squared difference of the outputs on validation rows over their variance; none where the machines have other outputs.
    pub output_error: Option<f64>,
}

/// The metric that is compared before all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrimaryMetric {
    /// The loss on validation rows, where it is known.
    Loss,
    /// What is predicted as before on them.
    Agreement,
    /// The distance of the weight vectors, and nothing else.
    Residual,
}

/// The large machine on the validation rows.
pub struct Validator<'a> {
    machine: &'a Machine,
    /// What loss means.
    pub metric: Metric,
    weights: Weights<'a>,
    held_out: Option<Seen>,
    /// What is compared first.
    primary: PrimaryMetric,
}

/// What the large machine makes of the validation rows.
struct Seen {
    rows: Dataset,
    outputs: Matrix,
    prediction: Prediction,
    loss: Option<f64>,
}

/// Rows to make small machines from, and rows to validate them on.
pub struct Parts {
    /// To make them from.
    pub rows: Dataset,
    /// To validate on.
    pub held_out: Dataset,
}

impl Parts {
    /// A quarter of the rows, drawn at random with classes in equal parts, validates; very few rows are used for both.
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

impl<'a> Validator<'a> {
    /// A validator with these rows; without rows by the distance of the weight vectors.
    pub fn new(machine: &'a Machine, held_out: Option<Dataset>, metric: Option<Metric>, primary: PrimaryMetric) -> Result<Self> {
        let metric = metric.unwrap_or(Metric::of(machine));
        let mut validator = Validator { machine, metric, weights: Weights::of(&machine.expansion)?, held_out: None, primary };
        if let Some(rows) = held_out {
            rows.points.check_finite()?;
            let outputs = machine.outputs_for(&rows.points)?;
            let prediction = machine.decision.prediction(outputs.clone());
            let loss = validator.loss(&prediction, &rows)?;
            validator.held_out = Some(Seen { rows, outputs, prediction, loss });
        }
        Ok(validator)
    }

    /// The loss of the large machine.
    pub fn loss_before(&self) -> Option<f64> {
        self.held_out.as_ref().and_then(|seen| seen.loss)
    }

    /// The validation rows.
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
    pub fn metrics(&self, small: &Machine) -> Result<Metrics> {
        // As many outputs of another meaning, such as three pairs and three classes, are not alike.
        let alike = small.decision == self.machine.decision;
        let mut metrics = Metrics::default();
        if alike && small.scale == self.machine.scale {
            metrics.residual = Some(self.weights.relative(self.weights.residual(&small.expansion)?));
        }
        if let Some(Seen { rows, outputs, prediction, .. }) = &self.held_out {
            let small_outputs = small.outputs_for(&rows.points)?;
            metrics.output_error = alike.then(|| relative_error(outputs, &small_outputs));
            let theirs = small.decision.prediction(small_outputs);
            metrics.agreement = agreement(prediction, &theirs);
            metrics.loss = self.loss(&theirs, rows)?;
        }
        Ok(metrics)
    }

    /// Metrics in the order in which they count, smaller is better: the loss and what is predicted otherwise, the outputs, the weight vectors.
    fn ranks(&self, metrics: &Metrics) -> [f64; 4] {
        let last = f64::INFINITY;
        let residual = metrics.residual.unwrap_or(last);
        if self.primary == PrimaryMetric::Residual || self.held_out.is_none() {
            return [residual, 0.0, 0.0, 0.0];
        }
        let loss = metrics.loss.unwrap_or(if self.loss_before().is_some() { last } else { 0.0 });
        let otherwise = metrics.agreement.map_or(0.0, |agreement| 1.0 - agreement);
        let (one, two) = if self.primary == PrimaryMetric::Agreement { (otherwise, loss) } else { (loss, otherwise) };
        [one, two, metrics.output_error.unwrap_or(last), residual]
    }

    /// True when one machine is better than another.
    pub fn better(&self, one: &Metrics, other: &Metrics) -> bool {
        let (one, other) = (self.ranks(one), self.ranks(other));
        one.iter().zip(&other).map(|(a, b)| a.total_cmp(b)).find(|order| order.is_ne()).is_some_and(|order| order.is_lt())
    }

    /// The primary metric, and how far it may be off by chance.
    pub fn primary_value(&self, metrics: &Metrics) -> (f64, f64) {
        let Some(seen) = self.held_out.as_ref().filter(|_| self.primary != PrimaryMetric::Residual) else {
            return (metrics.residual.unwrap_or(f64::INFINITY), 0.0);
        };
        let chance = |part: f64| (part * (1.0 - part) / seen.rows.len().max(1) as f64).max(0.0).sqrt();
        match (metrics.loss, metrics.agreement) {
            (Some(loss), Some(_)) => (loss, chance(loss)),
            (Some(loss), None) => (loss, 0.01 * loss),
            (None, Some(agreement)) => (1.0 - agreement, chance(agreement)),
            (None, None) => (metrics.output_error.unwrap_or(f64::INFINITY), 0.0),
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
        compress::part_of,
        data::banana,
        kernel::Kernel,
        learn::{Learner, Svc},
        watch::Watch,
    };

    #[test]
    fn the_large_machine_is_as_good_as_itself_and_a_part_of_it_is_worse() {
        let data = banana(300, 1);
        let full = Svc { kernel: Kernel::gaussian(1.0), c: 10.0, ..Svc::default() }.learn(&data, &Watch::none()).unwrap().machine;
        let Parts { rows, held_out } = Parts::of(&data, 0).unwrap();
        assert_eq!((rows.len(), held_out.len()), (225, 75));
        let validator = Validator::new(&full, Some(held_out), None, PrimaryMetric::Loss).unwrap();
        let own = validator.metrics(&full).unwrap();
        assert_eq!((own.agreement, own.loss, own.output_error), (Some(1.0), validator.loss_before(), Some(0.0)));
        assert!(own.residual.unwrap() < 1e-12);
        let part = validator.metrics(&part_of(&full, &[0, 1, 2])).unwrap();
        assert!(validator.better(&own, &part) && !validator.better(&part, &own) && !validator.better(&own, &own));
        assert!(validator.primary_value(&part).0 > validator.primary_value(&own).0);
        let right = Metrics { loss: Some(0.1), agreement: Some(0.8), ..Metrics::default() };
        let faithful = Metrics { loss: Some(0.2), agreement: Some(0.9), ..Metrics::default() };
        assert!(
            validator.better(&right, &faithful) && Validator { primary: PrimaryMetric::Agreement, ..validator }.better(&faithful, &right)
        );
        assert!(Validator::new(&full, Some(data), Some(Metric::Mse), PrimaryMetric::Loss).is_err());
    }

    #[test]
    fn without_rows_the_distance_decides() {
        let full = Svc { kernel: Kernel::gaussian(1.0), ..Svc::default() }.learn(&banana(60, 1), &Watch::none()).unwrap().machine;
        let validator = Validator::new(&full, None, None, PrimaryMetric::Loss).unwrap();
        let (near, far) = (Metrics { residual: Some(0.1), ..Metrics::default() }, Metrics { residual: Some(0.2), ..Metrics::default() });
        assert!(validator.better(&near, &far));
        assert_eq!(validator.primary_value(&near), (0.1, 0.0));
        let few = Parts::of(&banana(10, 1), 0).unwrap();
        assert_eq!(few.rows, few.held_out);
    }
}
