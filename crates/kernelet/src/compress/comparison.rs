//! A small machine beside the one it came from: metrics on rows, with what is known of the large machine computed once.
use std::cell::OnceCell;

use crate::{
    Result,
    data::{Dataset, Target},
    evaluate::{agreement, score},
    machine::{Decision, Machine, Prediction, SizeMetrics, Weights},
};

/// The machine that smaller ones are compared with, and the rows.
pub struct Comparison<'a> {
    machine: &'a Machine,
    data: Option<&'a Dataset>,
    test: Option<&'a Dataset>,
    weights: OnceCell<Weights<'a>>,
    prediction: OnceCell<Prediction>,
}

impl<'a> Comparison<'a> {
    /// A comparison on rows that were worked with, and on others.
    pub fn new(machine: &'a Machine, data: Option<&'a Dataset>, test: Option<&'a Dataset>) -> Self {
        Comparison { machine, data, test, weights: OnceCell::new(), prediction: OnceCell::new() }
    }

    /// All metrics of a small machine: errors on both kinds of rows, agreement on the others where there are any.
    pub fn metrics(&self, small: &Machine) -> Result<SizeMetrics> {
        let residual = self.residual(small)?;
        let on_data = self.data.map(|rows| small.predict(&rows.points)).transpose()?;
        let on_test = self.test.map(|rows| small.predict(&rows.points)).transpose()?;
        let agreement = match (on_test.as_ref().or(on_data.as_ref()), self.prediction()?) {
            (Some(theirs), Some(ours)) => agreement(ours, theirs),
            _ => None,
        };
        Ok(SizeMetrics {
            n_vectors: small.n_vectors(),
            residual: residual.map(|(residual, _)| residual),
            relative_residual: residual.map(|(_, relative)| relative),
            agreement,
            train_error: error_of(small, on_data.as_ref(), self.data)?,
            test_error: error_of(small, on_test.as_ref(), self.test)?,
            ..SizeMetrics::default()
        })
    }

    /// The error of the large machine on the other rows.
    pub fn test_error_before(&self) -> Result<Option<f64>> {
        if self.test.is_none() {
            return Ok(None);
        }
        error_of(self.machine, self.prediction()?, self.test)
    }

    /// The squared distance of the weight vectors and the same relative to their length; none where the machines have other outputs or metrics.
    fn residual(&self, small: &Machine) -> Result<Option<(f64, f64)>> {
        if small.decision != self.machine.decision || small.scale != self.machine.scale {
            return Ok(None);
        }
        if self.weights.get().is_none() {
            let _ = self.weights.set(Weights::of(&self.machine.expansion)?);
        }
        let Some(weights) = self.weights.get() else { return Ok(None) };
        let residual = weights.residual(&small.expansion)?;
        Ok(Some((residual, weights.relative(residual))))
    }

    /// What the large machine predicts.
    fn prediction(&self) -> Result<Option<&Prediction>> {
        let Some(rows) = self.test.or(self.data) else { return Ok(None) };
        if self.prediction.get().is_none() {
            let _ = self.prediction.set(self.machine.predict(&rows.points)?);
        }
        Ok(self.prediction.get())
    }
}

/// The error on rows that have targets.
fn error_of(machine: &Machine, prediction: Option<&Prediction>, rows: Option<&Dataset>) -> Result<Option<f64>> {
    match (prediction, rows) {
        (Some(prediction), Some(rows)) if rows.target != Target::None && machine.decision != Decision::Features => {
            Ok(Some(score(prediction, rows)?.loss()))
        }
        _ => Ok(None),
    }
}
