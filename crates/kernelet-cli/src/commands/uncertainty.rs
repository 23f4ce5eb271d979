//! What `kernelet evaluate` says of probabilities, deviations and prediction sets.
use kernelet::{
    data::Dataset,
    evaluate::{DistributionScore, ProbabilityScores, SetScore, score_distribution, score_probabilities, score_sets},
    machine::Machine,
};
use serde::Serialize;

use crate::{
    failure::Result,
    layout::{figure, percent},
};

/// How well the model knows what it does not know, as far as it says.
#[derive(Serialize, Default)]
pub(super) struct Uncertainty {
    #[serde(skip_serializing_if = "Option::is_none")]
    log_loss: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    brier: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    calibration_error: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    nlpd: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cover: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sets: Option<Sets>,
}

/// Prediction sets of one confidence.
#[derive(Serialize)]
struct Sets {
    confidence: f64,
    cover: f64,
    size: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    single: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    empty: Option<f64>,
}

impl Uncertainty {
    /// What there is, on rows with their targets.
    pub(super) fn of(machine: &Machine, data: &Dataset, confidence: Option<f64>) -> Result<Self> {
        let mut found = Uncertainty::default();
        let (probabilities, deviations) = (machine.check_probabilities().is_ok(), machine.has_deviations());
        if !probabilities && !deviations && confidence.is_none() {
            return Ok(found);
        }
        let outputs = machine.outputs_for(&data.points)?;
        if probabilities {
            let all = machine.probabilities(&outputs)?;
            let ProbabilityScores { log_loss, brier, calibration_error } = score_probabilities(&all, &machine.decision.labels(), data)?;
            (found.log_loss, found.brier, found.calibration_error) = (Some(log_loss), Some(brier), Some(calibration_error));
        }
        if deviations {
            let DistributionScore { nlpd, cover } = score_distribution(&outputs, &machine.deviations(&data.points)?, data)?;
            (found.nlpd, found.cover) = (Some(nlpd), Some(cover));
        }
        if let Some(confidence) = confidence {
            let SetScore { cover, size, single, empty } = score_sets(&machine.prediction_sets(&outputs, &data.points, confidence)?, data)?;
            found.sets = Some(Sets { confidence, cover, size, single, empty });
        }
        Ok(found)
    }

    /// The same for people.
    pub(super) fn pairs(&self) -> Vec<(&'static str, String)> {
        let numbers =
            [("log loss", self.log_loss), ("brier score", self.brier), ("calibration error", self.calibration_error), ("nlpd", self.nlpd)];
        let mut pairs: Vec<_> = numbers.iter().filter_map(|(name, value)| value.map(|value| (*name, figure(value)))).collect();
        pairs.extend(self.cover.map(|cover| ("cover", format!("{} within 1.96 deviations", percent(cover)))));
        pairs.extend(self.sets.as_ref().map(|sets| ("prediction sets", sets.text())));
        pairs
    }
}

impl Sets {
    fn text(&self) -> String {
        let size = match (self.single, self.empty) {
            (Some(single), Some(empty)) => {
                format!("{} labels on average, {} have one, {} none", figure(self.size), percent(single), percent(empty))
            }
            _ => format!("{} wide on average", figure(self.size)),
        };
        format!("{} cover at a confidence of {}; {size}", percent(self.cover), self.confidence)
    }
}
