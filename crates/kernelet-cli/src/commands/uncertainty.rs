//! What `kernelet evaluate` says of probabilities, deviations and prediction sets.
use kernelet::{
    data::Dataset,
    evaluate::{
        CALIBRATION_BINS, DistributionScore, ProbabilityScores, ReliabilityBin, calibration_error, reliability, score_distribution,
        score_probabilities, score_sets,
    },
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
    #[serde(skip)]
    rows: usize,
    #[serde(skip)]
    bins: Vec<ReliabilityBin>,
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

/// The mean over all rows, from that of earlier ones and that of the last, which are such a part of all.
fn mean(before: f64, now: f64, part: f64) -> f64 {
    if part == 1.0 { now } else { before + part * (now - before) }
}

fn take(all: &mut Option<f64>, now: f64, part: f64) {
    *all = Some(mean(all.unwrap_or(now), now, part));
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
    /// Takes in what there is on more rows with their targets.
    pub(super) fn add(&mut self, machine: &Machine, data: &Dataset, confidence: Option<f64>) -> Result<()> {
        let (probabilities, deviations) = (machine.check_probabilities().is_ok(), machine.has_deviations());
        if !probabilities && !deviations && confidence.is_none() {
            return Ok(());
        }
        self.rows += data.len();
        let part = data.len() as f64 / self.rows as f64;
        let outputs = machine.outputs_for(&data.points)?;
        if probabilities {
            let (all, labels) = (machine.probabilities(&outputs)?, machine.decision.labels());
            let ProbabilityScores { log_loss, brier, .. } = score_probabilities(&all, &labels, data)?;
            take(&mut self.log_loss, log_loss, part);
            take(&mut self.brier, brier, part);
            self.take_bins(reliability(&all, &labels, data, CALIBRATION_BINS)?);
        }
        if deviations {
            let DistributionScore { nlpd, cover } = score_distribution(&outputs, &machine.deviations(&data.points)?, data)?;
            take(&mut self.nlpd, nlpd, part);
            take(&mut self.cover, cover, part);
        }
        if let Some(confidence) = confidence {
            let now = score_sets(&machine.prediction_sets(&outputs, &data.points, confidence)?, data)?;
            let sets = self.sets.get_or_insert(Sets { confidence, cover: now.cover, size: now.size, single: now.single, empty: now.empty });
            sets.cover = mean(sets.cover, now.cover, part);
            sets.size = mean(sets.size, now.size, part);
            sets.single = sets.single.zip(now.single).map(|(before, now)| mean(before, now, part));
            sets.empty = sets.empty.zip(now.empty).map(|(before, now)| mean(before, now, part));
        }
        Ok(())
    }

    /// Adds a reliability diagram, and computes the calibration error of all rows so far.
    fn take_bins(&mut self, bins: Vec<ReliabilityBin>) {
        self.bins.resize(bins.len(), ReliabilityBin::default());
        for (all, now) in self.bins.iter_mut().zip(bins).filter(|(_, now)| now.n_rows > 0) {
            all.n_rows += now.n_rows;
            let part = now.n_rows as f64 / all.n_rows as f64;
            all.confidence = mean(all.confidence, now.confidence, part);
            all.accuracy = mean(all.accuracy, now.accuracy, part);
        }
        self.calibration_error = Some(calibration_error(&self.bins));
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
