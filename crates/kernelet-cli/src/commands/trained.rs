//! What `kernelet train` says in the end.
use kernelet::{
    evaluate::bounds::Bound,
    machine::{BasisMetadata, Machine, SizeLoss, SizeMetrics},
    watch::Status,
};
use serde::Serialize;
use serde_json::Value;

use crate::{
    layout::{count, counted, figure, lines, list, percent, seconds, table},
    session::Answer,
};

/// What came of it.
#[derive(Serialize)]
pub(super) struct Trained {
    pub(super) learner: &'static str,
    pub(super) kernel: &'static str,
    pub(super) gamma: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) c: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) nu: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) epsilon: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) lambda: Option<f64>,
    pub(super) rows: usize,
    pub(super) dim: usize,
    pub(super) classes: Vec<String>,
    pub(super) vectors: usize,
    pub(super) objective: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) dual_objective: Option<f64>,
    pub(super) train_error: Option<f64>,
    pub(super) iterations: u64,
    pub(super) evaluations: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) probability: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) calibration_rows: Option<usize>,
    pub(super) seconds: f64,
    pub(super) status: Status,
    pub(super) model: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tried: Option<Vec<Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) path: Option<Vec<SizeMetrics>>,
    #[serde(skip)]
    pub(super) cost: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) penalty: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) bias: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) rank: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) components: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) explained: Option<Vec<f64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) feature_scales: Option<FeatureScales>,
    #[serde(flatten)]
    pub(super) basis: Option<Spanned>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) bound: Option<BoundReport>,
}

/// The learned scale of each feature, and the names of the features.
#[derive(Serialize)]
#[serde(transparent)]
pub(super) struct FeatureScales {
    scales: Vec<f64>,
    #[serde(skip)]
    ranked: Vec<(String, f64)>,
}

impl FeatureScales {
    /// Those of a machine whose metric was learned.
    pub(super) fn of(machine: &Machine) -> Option<Self> {
        let scales = machine.metadata.metric.as_ref()?.feature_scales.clone();
        Some(FeatureScales { scales, ranked: machine.ranked_features() })
    }

    fn text(&self) -> String {
        let ranked = &self.ranked;
        let first: Vec<String> = ranked.iter().take(5).map(|(name, scale)| format!("{name} {}", figure(*scale))).collect();
        first.join(", ") + if ranked.len() > first.len() { ", .." } else { "" }
    }

    /// The same as bars, one line for each of the first features.
    pub(super) fn bars(&self) -> String {
        const MOST: usize = 20;
        const LONGEST: f64 = 40.0;
        let ranked = &self.ranked;
        let largest = ranked.first().map_or(1.0, |(_, scale)| scale.max(f64::MIN_POSITIVE));
        let bar = |scale: f64| "#".repeat((LONGEST * scale / largest).round() as usize);
        let shown = ranked.iter().take(MOST);
        let pairs: Vec<(&str, String)> =
            shown.map(|(name, scale)| (name.as_str(), format!("{:>8}  {}", figure(*scale), bar(*scale)).trim_end().into())).collect();
        let more = ranked.len().saturating_sub(MOST);
        let rest = if more > 0 { format!("and {} with smaller scales\n", counted(more, "feature")) } else { String::new() };
        format!("\nfeature scales, learned\n{}{rest}", lines(&pairs))
    }
}

/// The basis of a machine that was trained on one.
#[derive(Serialize)]
pub(super) struct Spanned {
    pub(super) method: String,
    pub(super) capped: bool,
    pub(super) basis_error: BasisError,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) shrunk: Option<String>,
    pub(super) evaluations_of_the_paper: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) variant: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) sizes: Vec<SizeLoss>,
}

/// Squared distances of the training rows from the span.
#[derive(Serialize)]
pub(super) struct BasisError {
    pub(super) largest: f64,
    pub(super) mean: f64,
}

/// A bound on the error on new rows.
#[derive(Serialize)]
pub(super) struct BoundReport {
    error: f64,
    probability: f64,
    says_nothing: bool,
    /// The same as a sentence.
    pub(super) sentence: String,
}

impl BoundReport {
    pub(super) fn new(bound: &Bound) -> Self {
        BoundReport { error: bound.error, probability: bound.probability, says_nothing: bound.says_nothing(), sentence: bound.sentence() }
    }
}

impl Spanned {
    pub(super) fn new(metadata: &BasisMetadata) -> Self {
        Spanned {
            method: metadata.method.clone(),
            capped: metadata.capped,
            basis_error: BasisError { largest: metadata.largest_error, mean: metadata.mean_error },
            shrunk: metadata.shrunk.clone(),
            evaluations_of_the_paper: metadata.evaluations_of_the_paper,
            variant: metadata.variant.clone(),
            sizes: metadata.sizes.clone(),
        }
    }
}

impl Answer for Trained {
    fn text(&self) -> String {
        let mut settings = vec![format!("{}, {}", self.learner, self.kernel)];
        let numbers = [("gamma", self.gamma), ("c", self.c), ("nu", self.nu), ("epsilon", self.epsilon), ("lambda", self.lambda)];
        settings.extend(numbers.iter().filter_map(|(name, value)| value.map(|value| format!("{name} {}", figure(value)))));
        settings.extend(self.penalty.iter().map(|penalty| format!("penalty {penalty}")));
        settings.extend(self.bias.iter().map(|bias| format!("bias {bias}")));
        let mut pairs =
            vec![("machine", settings.join(", ")), ("rows", format!("{} of {}", count(self.rows), counted(self.dim, "feature")))];
        if !self.classes.is_empty() {
            pairs.push(("classes", list(&self.classes)));
        }
        pairs.push(("vectors", count(self.vectors)));
        if let Some(Spanned { method, basis_error: BasisError { largest, mean }, shrunk, variant, sizes, .. }) = &self.basis {
            let by = if shrunk.is_some() { format!("{method}, then its support vectors") } else { method.clone() };
            let form = variant.as_ref().map_or(String::new(), |variant| format!(" ({variant})"));
            pairs.push(("chosen by", by + &form));
            if let Some(best) = sizes.iter().map(|size| size.loss).reduce(f64::min) {
                pairs.push(("number by", format!("cross-validation of {} with {} at best", counted(sizes.len(), "size"), percent(best))));
            }
            pairs.push(("basis error", format!("mean {}, largest {}", figure(*mean), figure(*largest))));
        }
        if let Some(explained) = &self.explained {
            let first: Vec<String> = explained.iter().take(5).map(|&part| percent(part)).collect();
            let more = if explained.len() > first.len() { ", .." } else { "" };
            pairs.push(("components", format!("{} with {} of the variance", count(explained.len()), percent(explained.iter().sum()))));
            pairs.push(("each has", format!("{}{more}", first.join(", "))));
        }
        pairs.extend(self.feature_scales.as_ref().map(|scales| ("feature scales", scales.text())));
        pairs.push(("objective", figure(self.objective)));
        match (self.train_error, self.classes.is_empty()) {
            (None, _) => {}
            (Some(outside), _) if self.learner == "one-class" => pairs.push(("rows outside", percent(outside))),
            (Some(error), false) => pairs.push(("train error", percent(error))),
            (Some(mse), true) => pairs.push(("train mse", figure(mse))),
        }
        pairs.extend(self.bound.as_ref().map(|bound| ("bound", bound.sentence.clone())));
        pairs.extend(self.probability.map(|name| ("probabilities", name.into())));
        pairs.extend(self.calibration_rows.map(|rows| ("prediction sets", format!("calibrated on {}", counted(rows, "row")))));
        pairs.push(("status", format!("{} after {}", self.status.name(), counted(self.iterations as usize, "iteration"))));
        pairs.push(("time", seconds(self.seconds)));
        pairs.push(("model", self.model.clone()));
        self.search_text() + &self.path_text() + &lines(&pairs)
    }
}

impl Trained {
    /// The size path.
    fn path_text(&self) -> String {
        let Some(path) = &self.path else { return String::new() };
        let header = ["vectors", "objective", "train error"].map(String::from);
        let row = |level: &SizeMetrics| {
            let (objective, error) = (level.objective.map(figure), level.train_error.map(percent));
            vec![count(level.n_vectors), objective.unwrap_or_default(), error.unwrap_or_default()]
        };
        table(&header, &path.iter().map(row).collect::<Vec<_>>()) + "\n"
    }

    /// The best few of the settings tried.
    fn search_text(&self) -> String {
        const SHOWN: usize = 5;
        let Some(tried) = &self.tried else { return String::new() };
        let keys: Vec<&str> = self.cost.into_iter().chain(["gamma", "loss"]).collect();
        let keys = keys.iter().filter(|key| tried.iter().all(|candidate| candidate.get(key).is_some()));
        let header: Vec<String> = std::iter::once("tried").chain(keys.clone().copied()).map(String::from).collect();
        let row = |(place, candidate): (usize, &Value)| {
            let values = keys.clone().map(|key| candidate[key].as_f64().map(figure).unwrap_or_default());
            std::iter::once((place + 1).to_string()).chain(values).collect()
        };
        let rows: Vec<Vec<String>> = tried.iter().enumerate().take(SHOWN).map(row).collect();
        let more = format!("the best {} of {} settings tried\n\n", rows.len(), tried.len());
        table(&header, &rows) + &more
    }
}
