//! What came of a compression, as people and programs read it.
use std::path::Path;

use kernelet::{
    Named,
    compress::{Attempt, Certificate, Comparison, RowKind, Verdict},
    machine::{Machine, SizeMetrics},
    model::native,
    request::{CompressMethod, Compressed},
    watch::Status,
};
use serde::Serialize;

use crate::{
    failure::Result,
    layout::{count, figure, lines, percent, seconds, table},
    session::Answer,
};

/// What came of it.
#[derive(Serialize)]
pub struct Answered {
    method: &'static str,
    #[serde(rename = "way", skip_serializing_if = "Option::is_none")]
    strategy: Option<String>,
    vectors_before: usize,
    vectors: usize,
    /// None where the small machine has other outputs than the large one.
    residual: Option<f64>,
    relative_residual: Option<f64>,
    agreement: Option<f64>,
    train_error: Option<f64>,
    test_error: Option<f64>,
    test_error_before: Option<f64>,
    bytes: usize,
    pub seconds: f64,
    status: Status,
    capped: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    goals_met: Option<Verdict>,
    #[serde(skip_serializing_if = "Option::is_none")]
    validation: Option<Certificate>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    missing: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    held_out_rows: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    held_out_loss: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    held_out_loss_before: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    held_out_agreement: Option<f64>,
    /// The machine was trained further on all rows after it was validated.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    trained_further: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tried: Vec<Tried>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<Vec<SizeMetrics>>,
    model: String,
    #[serde(skip)]
    classes: bool,
}

/// One thing that was tried, with its metrics on validation rows.
#[derive(Serialize)]
pub struct Tried {
    #[serde(rename = "way")]
    strategy: String,
    vectors: usize,
    relative_residual: Option<f64>,
    agreement: Option<f64>,
    loss: Option<f64>,
    seconds: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    failed: Option<String>,
}

impl Tried {
    pub fn of(attempt: &Attempt) -> Self {
        let Attempt { strategy, n_vectors: vectors, metrics, seconds, failed } = attempt.clone();
        Tried { strategy, vectors, relative_residual: metrics.residual, agreement: metrics.agreement, loss: metrics.loss, seconds, failed }
    }
}

impl Answered {
    /// The small machine beside the large one.
    pub fn new(machine: &Machine, small: &Compressed, comparison: &Comparison, output: &Path) -> Result<Self> {
        let metrics = comparison.metrics(&small.machine)?;
        let validation = small.validation.as_ref();
        let auto = small.method == CompressMethod::Auto;
        Ok(Answered {
            method: small.method.name(),
            strategy: auto.then(|| small.strategy.clone()),
            vectors_before: machine.n_vectors(),
            vectors: small.machine.n_vectors(),
            residual: metrics.residual,
            relative_residual: metrics.relative_residual,
            agreement: metrics.agreement,
            train_error: metrics.train_error,
            test_error: metrics.test_error,
            test_error_before: comparison.test_error_before()?,
            bytes: native::to_bytes(&small.machine)?.len(),
            seconds: 0.0,
            status: small.status,
            capped: small.capped,
            goals_met: small.goals_met(),
            validation: validation.and_then(|validation| validation.certificate.clone()),
            missing: small.missing.clone(),
            why: validation.map(|validation| validation.why.clone()),
            held_out_rows: validation.map(|validation| validation.n_rows).filter(|rows| *rows > 0),
            held_out_loss: validation.and_then(|validation| validation.metrics.loss),
            held_out_loss_before: validation.and_then(|validation| validation.loss_before),
            held_out_agreement: validation.and_then(|validation| validation.metrics.agreement),
            trained_further: validation.is_some_and(|validation| validation.trained_further),
            tried: validation.iter().flat_map(|validation| &validation.tried).map(Tried::of).collect(),
            path: None,
            model: output.display().to_string(),
            classes: !machine.decision.labels().is_empty(),
        })
    }

    fn error(&self, error: f64) -> String {
        if self.classes { percent(error) } else { figure(error) }
    }

    fn path_text(&self) -> String {
        let Some(path) = &self.path else { return String::new() };
        let header: Vec<String> = ["vectors", "residual", "train error", "test error"].map(String::from).to_vec();
        let cell = |error: Option<f64>| error.map_or(String::new(), |error| self.error(error));
        let row = |level: &SizeMetrics| {
            vec![count(level.n_vectors), level.residual.map_or(String::new(), figure), cell(level.train_error), cell(level.test_error)]
        };
        table(&header, &path.iter().map(row).collect::<Vec<_>>()) + "\n"
    }

    /// The strategies at the chosen size; a single strategy needs no table.
    fn tried_text(&self) -> String {
        let at_size: Vec<&Tried> = self.tried.iter().filter(|tried| tried.vectors == self.vectors && tried.failed.is_none()).collect();
        if at_size.len() < 2 {
            return String::new();
        }
        let header: Vec<String> = ["tried", "validation loss", "agreement", "residual", "time"].map(String::from).to_vec();
        let row = |tried: &&Tried| {
            vec![
                tried.strategy.clone(),
                tried.loss.map_or(String::new(), |loss| self.error(loss)),
                tried.agreement.map_or(String::new(), percent),
                tried.relative_residual.map_or(String::new(), figure),
                seconds(tried.seconds),
            ]
        };
        table(&header, &at_size.iter().map(row).collect::<Vec<_>>()) + "\n"
    }

    fn held_out_text(&self) -> Option<String> {
        let rows = self.held_out_rows?;
        let loss = self.held_out_loss.zip(self.held_out_loss_before);
        let loss = loss.map(|(after, before)| format!("{} before, {} now", self.error(before), self.error(after)));
        let agreement = self.held_out_agreement.map(|agreement| format!("agreement {}", percent(agreement)));
        let figures: Vec<String> = loss.into_iter().chain(agreement).collect();
        Some(format!("{} ({} rows)", figures.join(", "), count(rows)))
    }
}

impl Answered {
    /// What is promised of new rows, in words.
    fn promise_text(&self) -> Option<String> {
        let Certificate { loss, lower, upper, agreement, agreement_lower, n_rows, kind, confidence, .. } = self.validation.as_ref()?;
        let change = |value: f64| if self.classes { format!("{:+.2} points", 100.0 * value) } else { figure(value) };
        let loss = match (kind, loss, lower, upper) {
            (RowKind::Fresh, Some(loss), _, Some(upper)) => Some(format!("loss {}, at most {}", change(*loss), change(*upper))),
            (RowKind::Training, Some(loss), Some(lower), Some(upper)) => {
                Some(format!("loss {} ({} to {})", change(*loss), change(*lower), change(*upper)))
            }
            _ => None,
        };
        let agreement =
            agreement.zip(*agreement_lower).map(|(value, lower)| format!("agreement {}, at least {}", percent(value), percent(lower)));
        let words: Vec<String> = loss.into_iter().chain(agreement).collect();
        let (rows, confidence) = (count(*n_rows), percent(*confidence));
        Some(match (kind, words.is_empty()) {
            (_, true) => "nothing: there are no fresh rows, or too few of them".into(),
            (RowKind::Fresh, false) => format!("{} ({rows} fresh rows, {confidence} confidence)", words.join("; ")),
            (RowKind::Training, false) => format!("no promise; estimated by training again: {} ({rows} rows)", words.join("; ")),
        })
    }

    fn verdict_text(&self) -> Option<&'static str> {
        Some(match (self.validation.as_ref().and(self.goals_met))? {
            Verdict::Met => "met",
            Verdict::Missed => "not met",
            Verdict::Unknown => "unknown",
        })
    }
}

impl Answer for Answered {
    fn text(&self) -> String {
        let fraction = self.vectors as f64 / self.vectors_before.max(1) as f64;
        let strategy = self.strategy.as_ref().map_or(String::new(), |strategy| format!(": {strategy}"));
        let mut pairs = vec![
            ("method", format!("{}{strategy}", self.method)),
            ("vectors", format!("{} of {} ({})", count(self.vectors), count(self.vectors_before), percent(fraction))),
        ];
        pairs.extend(self.why.as_ref().map(|why| ("why this size", why.clone())));
        pairs.extend(self.relative_residual.map(|residual| ("relative residual", figure(residual))));
        let errors = [("train error", self.train_error), ("test error", self.test_error), ("test error before", self.test_error_before)];
        pairs.extend(self.held_out_text().map(|text| ("validation", text)));
        pairs.extend(self.promise_text().map(|text| ("on new rows", text)));
        pairs.extend(self.verdict_text().map(|text| ("goals", text.into())));
        pairs.extend(self.agreement.map(|agreement| ("agreement", percent(agreement))));
        pairs.extend(errors.iter().filter_map(|(name, error)| error.map(|error| (*name, self.error(error)))));
        pairs.push(("bytes", count(self.bytes)));
        if self.status != Status::Converged {
            pairs.push(("status", self.status.name().into()));
        }
        pairs.push(("time", seconds(self.seconds)));
        pairs.push(("model", self.model.clone()));
        self.path_text() + &self.tried_text() + &lines(&pairs)
    }
}
