//! A cascade from a machine: small machines of several sizes, of which the best one or two come before it.
use serde::{Deserialize, Serialize};

use super::compress::Compress;
use crate::{
    Error, Result,
    compress::{CascadeGoal, Effort, Goals, Refit, Task, cascade, check_confidence, recognise, trained},
    data::{Dataset, Fingerprints, Points, Target, shuffled},
    machine::{Machine, cascade::Cascade},
    text::exact,
    watch::Watch,
};

/// The sizes of the small machines, as fractions of the vectors of the large one.
const SIZES: [f64; 4] = [0.006, 0.018, 0.05, 0.12];

/// From this fraction on a machine that takes too long to train is constructed from the weights of the large one: with so many vectors this agrees with it about
/// as often, and is made in seconds.
const IMITATED: f64 = 0.05;

/// The part of the calibration rows that design takes, where there are enough, and with how few rows the others are used for it.
const DESIGN: f64 = 0.25;
const FEWEST_DESIGN: usize = 100;

/// Settings of a cascade.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct CascadeSettings {
    /// Small machines before the large one.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub cascade: bool,
    /// The fraction of new rows whose answer may differ from the large machine's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_disagreement: Option<f64>,
    /// The same for the rows of each class.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub by_class: bool,
    /// Leave the large machine out; rows that it would answer are answered by `?`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub abstain: bool,
}

/// A cascade and what the user should know.
#[derive(Debug)]
pub struct Cascaded {
    /// The cascade.
    pub cascade: Cascade,
    /// Sentences.
    pub notes: Vec<String>,
}

impl Compress {
    /// An error when a request for a cascade makes no sense; with `rows` there are rows to make small machines from, with `calibrate` calibration rows.
    pub fn check_cascade(&self, rows: bool, calibrate: bool) -> Result<CascadeGoal> {
        let settings = &self.cascade;
        let Some(max_disagreement) = settings.max_disagreement else {
            return Err(Error::request("`cascade` needs `max-disagreement`, the fraction of rows whose label may differ, such as 0.001"));
        };
        if !(max_disagreement > 0.0 && max_disagreement < 1.0) {
            return Err(Error::parameter("max-disagreement", max_disagreement, "above 0 and below 1, such as 0.001"));
        }
        if self.goals.about_size() || self.goals.about_quality() {
            return Err(Error::request("`cascade` chooses the sizes of its machines; of goals it takes `max-disagreement` alone"));
        }
        if self.path || self.from_data || !self.is_auto() {
            return Err(Error::request("`cascade` makes its machines by the `method` auto; leave `method`, `path` and `from-data` out"));
        }
        if self.ard {
            return Err(Error::request("`ard` is not used with `cascade`, whose machines keep the metric of the model; leave `ard` out"));
        }
        if self.device.is_some() {
            return Err(Error::request(
                "`device` is not used with `cascade`, whose machines are trained by the processor; leave `device` out",
            ));
        }
        if self.time.is_some() {
            return Err(Error::request("`time` is not used with `cascade`, which needs all its machines; take a smaller `effort`"));
        }
        if !rows {
            return Err(Error::request("`cascade` makes small machines from rows; give them with `data`"));
        }
        if !calibrate {
            return Err(Error::request(
                "`cascade` needs rows that the model was not trained on; give them with `calibrate`, no labels are needed",
            ));
        }
        self.of_stage(1).check(true, false)?;
        let confidence = self.confidence.unwrap_or(self.trust().confidence);
        check_confidence(confidence)?;
        Ok(CascadeGoal { max_disagreement, confidence, by_class: settings.by_class, abstain: settings.abstain })
    }

    /// Makes a cascade: small machines from `data`, thresholds from rows of `calibrate`, which must be new to the machine and need no labels.
    pub fn cascaded(&self, machine: &Machine, data: &Dataset, calibrate: &Points, watch: &Watch) -> Result<Cascaded> {
        let goal = self.check_cascade(true, true)?;
        let mut notes = vec![];
        let fresh = self.new_rows(machine, data, calibrate, &mut notes)?;
        let needed = goal.rows_needed();
        if fresh.len() < needed {
            return Err(Error::data(format!(
                "a disagreement of {} with {} % confidence needs at least {needed} calibration rows that the model was not trained on, without a single disagreement; there are {}",
                exact(goal.max_disagreement),
                100.0 * goal.confidence,
                fresh.len()
            )));
        }
        let order: Vec<usize> = shuffled(fresh.len(), self.seed).into_iter().map(|i| fresh[i]).collect();
        let n_design = ((DESIGN * order.len() as f64) as usize).min(order.len() - needed);
        let (design, calibration) = order.split_at(if n_design < FEWEST_DESIGN { 0 } else { n_design });
        let design = if design.is_empty() { data.points.clone() } else { calibrate.select(design) };
        let small = self.stage_machines(machine, data, watch)?;
        let cascade = cascade(machine, small, &design, &calibrate.select(calibration), &goal)?;
        Ok(Cascaded { cascade, notes })
    }

    /// The calibration rows that neither the machine nor those made from `data` have seen.
    fn new_rows(&self, machine: &Machine, data: &Dataset, calibrate: &Points, notes: &mut Vec<String>) -> Result<Vec<usize>> {
        let rows = Dataset::new(calibrate.clone(), Target::None);
        let recognised = recognise(&Task { machine, data: Some(&rows), candidates: None }, self.trust().origin)?;
        if let Some(doubt) = recognised.doubt {
            return Err(Error::request(format!("{doubt}: if the calibration rows are new to the model, say so with `rows` fresh")));
        }
        let given = Fingerprints::of(&data.points, usize::MAX).known(calibrate);
        let fresh: Vec<usize> = recognised.fresh_rows().into_iter().filter(|&row| given[row] != Some(true)).collect();
        let known = calibrate.len() - fresh.len();
        if 2 * known > calibrate.len() {
            return Err(Error::data(format!(
                "{known} of the {} calibration rows are rows that the model was trained on or its stages are made from, and promise nothing; give new ones",
                calibrate.len()
            )));
        }
        if known > 0 {
            notes.push(format!("{known} calibration rows are left out: they are, or look like, rows of training"));
        }
        Ok(fresh)
    }

    /// The request for a small machine.
    fn of_stage(&self, size: usize) -> Compress {
        let goals = Goals { max_vectors: Some(size), ..Goals::default() };
        Compress { goals, cascade: CascadeSettings::default(), confidence: None, rows: None, ..self.clone() }
    }

    /// The request for a machine of this size that imitates the weights.
    fn of_imitation(&self, size: usize) -> Compress {
        Compress {
            refit: Some(Refit::Outputs),
            effort: Some(Effort::Quick),
            labels: false,
            c: None,
            threshold: None,
            ..self.of_stage(size)
        }
    }

    /// The small machines that may come before the large one, made from rows that it was trained on.
    pub fn stage_machines(&self, machine: &Machine, data: &Dataset, watch: &Watch) -> Result<Vec<Machine>> {
        let mut sizes: Vec<usize> = SIZES.iter().map(|part| ((part * machine.n_vectors() as f64).round() as usize).max(2)).collect();
        sizes.dedup();
        let mut small = vec![];
        for size in sizes.into_iter().filter(|size| 2 * size < machine.n_vectors()) {
            let mut made = self.stage_machine(machine, data, size, watch)?;
            if watch.cancelled() {
                return Err(Error::Cancelled);
            }
            (made.calibration, made.metadata.path) = (None, None);
            small.push(made);
        }
        Ok(small)
    }

    /// Trained directly where that is possible, else imitating or by auto.
    fn stage_machine(&self, machine: &Machine, data: &Dataset, size: usize, watch: &Watch) -> Result<Machine> {
        let task = Task { machine, data: Some(data), candidates: None };
        let free = self.refit.is_none() && self.threshold.is_none() && self.layout.is_none() && !self.ard;
        let made = if free { trained(&task, size, self.c, self.effort.unwrap_or_default(), self.seed, watch)? } else { None };
        if let Some(made) = made {
            return Ok(made);
        }
        let imitating = size as f64 + 1.0 > IMITATED * machine.n_vectors() as f64;
        let request = if imitating { self.of_imitation(size) } else { self.of_stage(size) };
        Ok(request.run(machine, Some(data), None, watch)?.machine)
    }
}
