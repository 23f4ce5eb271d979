//! What came of a compression, as people and programs read it.
use std::path::Path;

use kernelet::{
    compress::Attempt,
    data::{Dataset, Target, read::Wanted},
    evaluate::agreement,
    machine::{Machine, PathFacts, SizeFacts},
    model::native,
    sparsify::{residual, squared_norm},
    watch::Status,
};
use serde::Serialize;

use crate::{
    failure::Result,
    input,
    layout::{count, figure, lines, percent, seconds, table},
    session::Answer,
};

/// What came of it.
#[derive(Serialize)]
pub(super) struct Answered {
    method: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub way: Option<String>,
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
    pub status: Status,
    pub capped: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub goals_met: Option<bool>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held_out_rows: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held_out_loss: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held_out_loss_before: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held_out_agreement: Option<f64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tried: Vec<Tried>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<Vec<Shown>>,
    model: String,
    #[serde(skip)]
    classes: bool,
}

/// One size on the way.
#[derive(Serialize)]
pub(super) struct Shown {
    pub vectors: usize,
    pub residual: Option<f64>,
    pub train_error: Option<f64>,
    pub test_error: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agreement: Option<f64>,
}

/// One thing that was tried, with its figures on held-out rows.
#[derive(Serialize)]
pub(crate) struct Tried {
    way: String,
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
        let Attempt { way, vectors, figures, seconds, failed } = attempt.clone();
        Tried { way, vectors, relative_residual: figures.residual, agreement: figures.agreement, loss: figures.loss, seconds, failed }
    }
}

/// The error on rows that have targets.
pub(crate) fn error_on(machine: &Machine, data: Option<&Dataset>) -> Result<Option<f64>> {
    match data.filter(|data| data.target != Target::None && input::target_of(machine) != Wanted::Nothing) {
        None => Ok(None),
        Some(data) => Ok(Some(machine.score(data)?.loss())),
    }
}

/// The part of the rows that both machines predict alike.
pub(crate) fn agreeing(machine: &Machine, small: &Machine, data: &Dataset) -> Result<Option<f64>> {
    Ok(agreement(&machine.predict(&data.points)?, &small.predict(&data.points)?))
}

impl Answered {
    /// The small machine beside the large one, on the rows to work with and those to measure on.
    pub fn measured(
        method: &'static str,
        machine: &Machine,
        small: &Machine,
        rows: (&Option<Dataset>, &Option<Dataset>),
        output: &Path,
    ) -> Result<Self> {
        let (data, test) = (rows.0.as_ref(), rows.1.as_ref());
        let before: f64 = squared_norm(&machine.expansion)?.iter().sum();
        let alike = machine.decision == small.decision;
        let residual = if alike { Some(residual(&machine.expansion, &small.expansion)?) } else { None };
        Ok(Answered {
            method,
            way: None,
            vectors_before: machine.vectors(),
            vectors: small.vectors(),
            residual,
            relative_residual: residual.map(|residual| residual / before),
            agreement: test.or(data).map_or(Ok(None), |data| agreeing(machine, small, data))?,
            train_error: error_on(small, data)?,
            test_error: error_on(small, test)?,
            test_error_before: error_on(machine, test)?,
            bytes: native::to_bytes(small)?.len(),
            seconds: 0.0,
            status: Status::Converged,
            capped: false,
            goals_met: None,
            missing: vec![],
            why: None,
            held_out_rows: None,
            held_out_loss: None,
            held_out_loss_before: None,
            held_out_agreement: None,
            tried: vec![],
            path: None,
            model: output.display().to_string(),
            classes: !machine.decision.labels().is_empty(),
        })
    }

    /// The sizes on the way, to be kept in the model for its report.
    pub fn path_facts(&self) -> PathFacts {
        let before = self.residual.zip(self.relative_residual).map_or(0.0, |(residual, relative)| residual / relative);
        let size = |level: &Shown| SizeFacts {
            vectors: level.vectors,
            relative_residual: level.residual.map(|residual| residual / before).filter(|relative| relative.is_finite()),
            train_error: level.train_error,
            test_error: level.test_error,
        };
        let levels = self.path.iter().flatten().map(size).collect();
        PathFacts { method: self.way.clone().unwrap_or_else(|| self.method.into()), vectors_before: self.vectors_before, levels }
    }

    fn error(&self, error: f64) -> String {
        if self.classes { percent(error) } else { figure(error) }
    }

    fn path_text(&self) -> String {
        let Some(path) = &self.path else { return String::new() };
        let header: Vec<String> = ["vectors", "residual", "train error", "test error"].map(String::from).to_vec();
        let cell = |error: Option<f64>| error.map_or(String::new(), |error| self.error(error));
        let row = |level: &Shown| {
            vec![count(level.vectors), level.residual.map_or(String::new(), figure), cell(level.train_error), cell(level.test_error)]
        };
        table(&header, &path.iter().map(row).collect::<Vec<_>>()) + "\n"
    }

    /// The ways at the size that was chosen; with one way there is nothing to compare.
    fn tried_text(&self) -> String {
        let at_size: Vec<&Tried> = self.tried.iter().filter(|tried| tried.vectors == self.vectors && tried.failed.is_none()).collect();
        if at_size.len() < 2 {
            return String::new();
        }
        let header: Vec<String> = ["tried", "held-out loss", "agreement", "residual", "time"].map(String::from).to_vec();
        let row = |tried: &&Tried| {
            vec![
                tried.way.clone(),
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

impl Answer for Answered {
    fn text(&self) -> String {
        let share = self.vectors as f64 / self.vectors_before.max(1) as f64;
        let way = self.way.as_ref().map_or(String::new(), |way| format!(": {way}"));
        let mut pairs = vec![
            ("method", format!("{}{way}", self.method)),
            ("vectors", format!("{} of {} ({})", count(self.vectors), count(self.vectors_before), percent(share))),
        ];
        pairs.extend(self.why.as_ref().map(|why| ("why this size", why.clone())));
        pairs.extend(self.relative_residual.map(|residual| ("residual", format!("{} of the start", figure(residual)))));
        let errors = [("train error", self.train_error), ("test error", self.test_error), ("test error before", self.test_error_before)];
        pairs.extend(self.held_out_text().map(|text| ("held out", text)));
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
