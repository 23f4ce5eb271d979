//! Which requests to compress are rejected: settings out of range, contradicting, ignored, or without the rows they need.
use serde_json::Value;

use super::{
    cascade::CascadeSettings,
    compress::{Compress, Layout, Offsets},
    method::CompressMethod,
};
use crate::{
    Error, Named, Result,
    compress::{Refit, check_confidence, construct::Objective},
    data::{Dataset, Target},
    device::Device,
};

/// Settings that every method has.
const ALWAYS: &[&str] = &[
    "method",
    "layout",
    "vectors",
    "fraction",
    "max-bytes",
    "max-residual",
    "max-loss",
    "min-agreement",
    "metric",
    "confidence",
    "rows",
    "refit",
    "c",
    "threshold",
    "path",
    "seed",
    "time",
];
/// Settings that every method but auto has.
const NAMED: &[&str] = &["from-data", "refine", "refine-steps", "refine-joint"];

impl Compress {
    /// An error when a setting is out of range, contradicts another, would be ignored, or needs `rows` where there are none; with a `start`
    /// there are rows that searches begin at.
    pub fn check(&self, rows: bool, start: bool) -> Result<()> {
        self.goals.check()?;
        if self.cascade != CascadeSettings::default() {
            return Err(Error::request(
                "`max-disagreement`, `by-class` and `abstain` go with `cascade`, which needs rows given with `calibrate`",
            ));
        }
        self.check_used()?;
        self.check_time()?;
        if start && !matches!(self.method(), CompressMethod::FixedPoint | CompressMethod::Gradient) {
            let name = self.method().name();
            return Err(Error::request(format!("`init-data` is not used by the `method` {name}, only by fixed-point, gradient")));
        }
        if start && self.settings.init.is_some() {
            return Err(Error::request("`init` and `init-data` contradict each other; give one of them"));
        }
        self.settings.make(self.method(), None, self.seed, self.path)?;
        let refinement = self.settings.refinement().unwrap_or_default();
        refinement.check()?;
        let ends = self.method() == CompressMethod::Independent || self.settings.lossless;
        if !self.is_auto() && !self.goals.about_size() && !self.goals.about_quality() && !ends {
            return Err(Error::request("say how small: `vectors`, `fraction`, `max-bytes`, `max-residual`, `max-loss` or `min-agreement`"));
        }
        let needs = [
            (self.goals.needs_rows(), "`max-loss` and `min-agreement` are measured on rows".to_string()),
            (refinement.objective != Objective::Weights, "`refine` outputs and margins need rows".into()),
            (self.threshold == Some(Offsets::TrainError), "`threshold` train-error needs rows".into()),
            (self.refit_needs_rows(), format!("`refit` {} needs rows", self.refit.map_or("", Named::name))),
            (self.from_data, "`from-data` needs rows".into()),
            (self.labels, "`labels` needs rows".into()),
            (self.ard, "`ard` needs rows".into()),
            (self.device()? != Device::Cpu, "`device` gpu trains machines on rows, and needs some".into()),
        ];
        match needs.into_iter().find(|(needed, _)| *needed && !rows) {
            Some((_, sentence)) => Err(Error::request(format!("{sentence}; give them with `data`"))),
            None => Ok(()),
        }
    }

    fn refit_needs_rows(&self) -> bool {
        matches!(self.refit, Some(Refit::Margin | Refit::Rsvm | Refit::RsvmSquared | Refit::Outputs))
    }

    /// Rejects settings that would be ignored.
    fn check_used(&self) -> Result<()> {
        let (method, own) = (self.method(), self.method().uses());
        let used = |name: &str| ALWAYS.contains(&name) || own.contains(&name) || (method != CompressMethod::Auto && NAMED.contains(&name));
        if let Some(setting) = self.given().into_iter().find(|name| !used(name)) {
            let users: Vec<&str> = CompressMethod::NAMES
                .iter()
                .filter(|(_, method)| {
                    method.uses().contains(&setting.as_str()) || (*method != CompressMethod::Auto && NAMED.contains(&setting.as_str()))
                })
                .map(|(name, _)| *name)
                .collect();
            return Err(Error::request(format!("`{setting}` is not used by the `method` {}, only by {}", method.name(), users.join(", "))));
        }
        if self.c.is_some()
            && method != CompressMethod::Auto
            && !matches!(self.refit, Some(Refit::Margin | Refit::Rsvm | Refit::RsvmSquared))
        {
            return Err(Error::request("`c` is used with `refit` margin, rsvm or rsvm-squared, or by the `method` auto"));
        }
        for (name, given) in [("confidence", self.confidence.is_some()), ("rows", self.rows.is_some())] {
            if given && !self.goals.needs_rows() {
                return Err(Error::request(format!("`{name}` is about promises; it is used with `max-loss` and `min-agreement`")));
            }
        }
        self.confidence.map_or(Ok(()), check_confidence)?;
        if self.metric.is_some() && method != CompressMethod::Auto && self.goals.max_loss.is_none() {
            return Err(Error::request("`metric` is used with `max-loss`, or by the `method` auto"));
        }
        match self.layout == Some(Layout::Libsvm) && !matches!(self.refit, None | Some(Refit::Projection)) {
            true => Err(Error::request("`layout` libsvm projects each pair of classes on its own vectors; leave `refit` out")),
            false => Ok(()),
        }
    }

    fn given(&self) -> Vec<String> {
        match serde_json::to_value(self) {
            Ok(Value::Object(map)) => map.into_iter().filter(|(_, value)| !value.is_null()).map(|(name, _)| name).collect(),
            _ => vec![],
        }
    }

    pub(super) fn check_targets(&self, data: Option<&Dataset>) -> Result<()> {
        let unlabelled = data.is_some_and(|data| data.target == Target::None);
        if self.labels && unlabelled {
            return Err(Error::request("`labels` needs rows with labels; leave it out, or give labelled rows with `data`"));
        }
        match self.goals.max_loss.is_some() && unlabelled {
            true => Err(Error::request(
                "`max-loss` compares with the targets of the rows, which have none; ask for `min-agreement`, or give rows with targets",
            )),
            false => Ok(()),
        }
    }
}
