//! What came of a request to train.
use crate::{
    Result,
    data::Dataset,
    evaluate::{Candidate, bounds::Bound},
    learn::{Fisher, Fit},
    machine::{Decision, Machine, Prediction, SizeMetrics},
    watch::{Status, Watch},
};
use serde_json::{Value, json};

/// A trained machine, smaller ones where the number of vectors grew, and how they came about.
#[derive(Debug)]
pub struct Trained {
    /// The machine that was asked for, and how it came about.
    pub fit: Fit,
    /// The machines of smaller sizes, smallest first, where the number of vectors grew.
    pub smaller: Vec<Fit>,
    /// What tuning tried, the best first.
    pub tried: Vec<Candidate>,
    /// The name of the cost that tuning searched, where it did.
    pub tuned: Option<&'static str>,
    /// A bound on the error, where there is one.
    pub bound: Option<Bound>,
    /// What the user should know, in sentences.
    pub notes: Vec<String>,
}

impl Trained {
    /// The machine that was asked for.
    pub fn machine(&self) -> &Machine {
        &self.fit.machine
    }

    /// All machines, the smallest first.
    pub(super) fn fits_mut(&mut self) -> impl Iterator<Item = &mut Fit> {
        self.smaller.iter_mut().chain([&mut self.fit])
    }

    /// What tuning tried, the best first: settings by their names, and the mean loss over the folds.
    pub fn settings_tried(&self) -> Vec<Value> {
        let has_gamma = self.machine().expansion.kernel.gamma().is_some();
        let named = |candidate: &Candidate| {
            let cost = self.tuned.map(|name| (name, candidate.cost));
            let gamma = has_gamma.then_some(("gamma", candidate.gamma));
            cost.into_iter().chain(gamma).chain([("loss", candidate.loss)]).map(|(name, value)| (name.to_string(), json!(value))).collect()
        };
        self.tried.iter().map(named).map(Value::Object).collect()
    }

    /// The metrics of every size; errors on the training rows unless the run is cancelled.
    pub fn metrics(&self, data: &Dataset, watch: &Watch) -> Result<Vec<SizeMetrics>> {
        let of = |fit: &Fit| {
            let train_error = if watch.cancelled() { None } else { training_error(fit, data)? };
            Ok(SizeMetrics {
                n_vectors: fit.machine.n_vectors(),
                objective: Some(fit.report.objective),
                train_error,
                ..SizeMetrics::default()
            })
        };
        self.smaller.iter().chain([&self.fit]).map(of).collect()
    }
}

/// The error on the training rows, for one class the fraction of them that lies outside; features have none.
fn training_error(fit: &Fit, data: &Dataset) -> Result<Option<f64>> {
    match fit.machine.decision {
        Decision::Features => Ok(None),
        Decision::Novelty => {
            let Prediction::Classes { codes, .. } = fit.machine.predict(&data.points)? else { return Ok(None) };
            Ok(Some(codes.iter().filter(|&&code| code == 0).count() as f64 / codes.len().max(1) as f64))
        }
        _ => Ok(Some(fit.machine.score(data)?.loss())),
    }
}

/// What the user should know of how training ended.
pub(super) fn notes_of(fit: &Fit) -> Vec<String> {
    let mut notes = vec![];
    let metadata = &fit.machine.metadata;
    if let Some(rank) = metadata.rank {
        notes.push(format!("{rank} directions have more than {:.0e} of the largest scatter; all others are left out", Fisher::NO_SCATTER));
    }
    if let Some(basis) = metadata.basis.as_ref().filter(|basis| basis.capped && basis.asked < usize::MAX) {
        let found = fit.machine.n_vectors();
        notes.push(format!("{} vectors were requested, but the rows span no more; the machine has {found}", basis.asked));
    }
    match fit.report.status {
        Status::Converged | Status::Completed => {}
        Status::Capped if metadata.basis.is_some() => {}
        Status::Capped => notes.push(format!("the rows span no more than {} components; all are kept", fit.machine.n_outputs())),
        // The vectors kept are reported at the end.
        Status::Cancelled => {}
        Status::IterationLimit => notes.push(
            "training ended at the limit of iterations, before its tolerance was reached; more of them may give a better machine".into(),
        ),
    }
    notes
}
