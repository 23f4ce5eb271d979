//! What came of a request to compress.
use super::method::CompressMethod;
use crate::{
    Named,
    compress::{Attempt, Certificate, Found, Metrics, Path, Verdict},
    machine::{Machine, PathMetadata, SizeMetrics},
    watch::Status,
};

/// A smaller machine and how it came about.
#[derive(Debug)]
pub struct Compressed {
    /// The machine.
    pub machine: Machine,
    /// The machine of every size that metrics were made for, smallest first; the last is `machine`.
    pub sizes: Vec<(SizeMetrics, Machine)>,
    /// Every size, where nothing was done with the machines afterwards.
    pub path: Option<Path>,
    /// The method that was asked for.
    pub method: CompressMethod,
    /// The strategy that led to the machine: the method itself, or the best that auto tried.
    pub strategy: String,
    /// How the machine was validated, where it was.
    pub validation: Option<Validation>,
    /// What is missing of the goals; empty where they are met.
    pub missing: Vec<String>,
    /// More vectors were requested than there are.
    pub capped: bool,
    /// How the run ended.
    pub status: Status,
    /// What the user should know, in sentences.
    pub notes: Vec<String>,
}

/// The machine on rows that it was not made from.
#[derive(Clone, Debug)]
pub struct Validation {
    /// Why this size.
    pub why: String,
    /// How many rows; 0 where the distance of the weight vectors alone was compared.
    pub n_rows: usize,
    /// The machine there.
    pub metrics: Metrics,
    /// The loss of the large machine there.
    pub loss_before: Option<f64>,
    /// All that was tried, in order.
    pub tried: Vec<Attempt>,
    /// The machine was trained further on all rows afterwards.
    pub trained_further: bool,
    /// What holds on new rows, where goals are about them.
    pub certificate: Option<Certificate>,
    /// Whether the goals hold on new rows, where they are about them.
    pub verdict: Option<Verdict>,
    /// Why it cannot be known where the rows come from.
    pub doubt: Option<String>,
}

impl Compressed {
    pub(super) fn of_validation(method: CompressMethod, found: Found, sizes: Vec<(SizeMetrics, Machine)>) -> Self {
        let Found {
            machine,
            strategy,
            metrics,
            loss_before,
            held_out,
            tried,
            why,
            missing,
            status,
            trained_further,
            certificate,
            verdict,
            doubt,
            ..
        } = found;
        let validation =
            Some(Validation { why, n_rows: held_out, metrics, loss_before, tried, trained_further, certificate, verdict, doubt });
        Compressed { machine, sizes, path: None, method, strategy, validation, missing, capped: false, status, notes: vec![] }
    }

    pub(super) fn of_path(
        method: CompressMethod,
        machine: Machine,
        sizes: Vec<(SizeMetrics, Machine)>,
        path: Option<Path>,
        notes: Vec<String>,
        status: Status,
    ) -> Self {
        let strategy = method.name().into();
        Compressed { machine, sizes, path, method, strategy, validation: None, missing: vec![], capped: false, status, notes }
    }

    /// Whether the goals are met: those about new rows as far as can be known, others for certain; none where nothing was validated.
    pub fn goals_met(&self) -> Option<Verdict> {
        let validation = self.validation.as_ref()?;
        let certain = if self.missing.is_empty() { Verdict::Met } else { Verdict::Missed };
        Some(validation.verdict.unwrap_or(certain))
    }

    /// The largest machine of at most so many vectors, where one is known.
    pub fn at(&self, vectors: usize) -> Option<Machine> {
        let every = self.path.as_ref().and_then(|path| path.at(vectors));
        every.or_else(|| self.sizes.iter().rev().map(|(_, machine)| machine).find(|machine| machine.n_vectors() <= vectors).cloned())
    }

    /// The metrics of all sizes, for the model file.
    pub(super) fn path_metadata(&self, vectors_before: usize) -> PathMetadata {
        PathMetadata { method: self.strategy.clone(), vectors_before, levels: self.sizes.iter().map(|(metrics, _)| *metrics).collect() }
    }
}
