//! What came of a cascade, as people and programs read it.
use std::path::Path;

use kernelet::{
    machine::{
        Machine,
        cascade::{Cascade, Stage},
    },
    model::cascade::to_bytes,
};
use serde::Serialize;

use crate::{
    failure::Result,
    layout::{count, counted, figure, lines, percent, seconds, table},
    session::Answer,
};

/// A cascade: its stages, what they cost and what is promised.
#[derive(Serialize)]
pub struct Shown {
    kind: &'static str,
    kernel: &'static str,
    stages: Vec<ShownStage>,
    /// Vectors of the full machine, in the file or not.
    vectors_before: usize,
    /// All vectors in the file.
    vectors: usize,
    dim: usize,
    classes: Vec<String>,
    /// Kernel evaluations of a row as a fraction of the full machine's, on the calibration rows.
    cost: f64,
    evaluations_per_row: f64,
    max_disagreement: f64,
    /// The upper bound of the disagreement.
    bound: f64,
    confidence: f64,
    by_class: bool,
    abstain: bool,
    calibration_rows: usize,
    disagreements: usize,
    bytes: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agreement: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub test_error: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub test_error_before: Option<f64>,
    /// The fraction of the test rows without an answer, of a cascade that abstains; agreement and errors are then those of the others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub test_unanswered: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub test_cost: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
    model: String,
}

#[derive(Serialize)]
struct ShownStage {
    vectors: usize,
    threshold: f64,
    exits: f64,
    head: bool,
}

impl Shown {
    /// What is in a cascade.
    pub fn new(cascade: &Cascade, model: &Path) -> Result<Self> {
        let promise = &cascade.promise;
        let machines = || cascade.stages.iter().map(|stage| &stage.machine).chain(&cascade.full);
        let of = |stage: &Stage| ShownStage {
            vectors: stage.machine.n_vectors(),
            threshold: stage.threshold,
            exits: stage.exits,
            head: stage.head.is_some(),
        };
        Ok(Shown {
            kind: "cascade",
            kernel: cascade.stages.first().map_or("", |stage| stage.machine.expansion.kernel.name()),
            stages: cascade.stages.iter().map(of).collect(),
            vectors_before: promise.full_vectors,
            vectors: machines().map(Machine::n_vectors).sum(),
            dim: cascade.dim(),
            classes: cascade.labels().iter().map(ToString::to_string).collect(),
            cost: promise.cost,
            evaluations_per_row: promise.cost * promise.full_vectors as f64,
            max_disagreement: promise.max_disagreement,
            bound: promise.bound,
            confidence: promise.confidence,
            by_class: promise.by_class,
            abstain: cascade.full.is_none(),
            calibration_rows: promise.calibration_rows,
            disagreements: promise.disagreements,
            bytes: to_bytes(cascade)?.len(),
            agreement: None,
            test_error: None,
            test_error_before: None,
            test_unanswered: None,
            test_cost: None,
            seconds: None,
            model: model.display().to_string(),
        })
    }
}

impl Answer for Shown {
    fn text(&self) -> String {
        let header = ["stage", "vectors", "threshold", "rows answered"].map(String::from);
        let mut rows: Vec<Vec<String>> = (self.stages.iter().enumerate())
            .map(|(place, stage)| {
                let score = if stage.head { "margin over error" } else { "margin" };
                vec![(place + 1).to_string(), count(stage.vectors), format!("{score} {}", figure(stage.threshold)), percent(stage.exits)]
            })
            .collect();
        let left = 1.0 - self.stages.iter().map(|stage| stage.exits).sum::<f64>();
        let last = if self.abstain { "no answer" } else { "full machine" };
        rows.push(vec![
            last.into(),
            if self.abstain { String::new() } else { count(self.vectors_before) },
            String::new(),
            percent(left.max(0.0)),
        ]);
        let each = if self.by_class { " of each class" } else { "" };
        let differ = if self.abstain { "have an answer that differs" } else { "differ" };
        let mut pairs = vec![
            (
                "promise",
                format!(
                    "at most {} of new rows{each} {differ} from the full machine, with {} confidence",
                    percent(self.max_disagreement),
                    percent(self.confidence)
                ),
            ),
            (
                "calibration",
                format!(
                    "{}, {} differ, upper bound {}",
                    counted(self.calibration_rows, "row"),
                    count(self.disagreements),
                    percent(self.bound)
                ),
            ),
            (
                "a row costs",
                format!("{} kernel evaluations on average, {} of the full machine's", figure(self.evaluations_per_row), percent(self.cost)),
            ),
        ];
        pairs.extend(self.test_unanswered.map(|value| ("test rows", format!("{} have no answer; of the others:", percent(value)))));
        pairs.extend(self.agreement.map(|value| ("agreement", percent(value))));
        pairs.extend(self.test_error.map(|value| ("test error", percent(value))));
        pairs.extend(self.test_error_before.map(|value| ("test error before", percent(value))));
        pairs.extend(self.test_cost.map(|value| ("cost on test rows", percent(value))));
        pairs.push(("bytes", count(self.bytes)));
        pairs.extend(self.seconds.map(|value| ("time", seconds(value))));
        pairs.push(("model", self.model.clone()));
        table(&header, &rows) + "\n" + &lines(&pairs)
    }
}
