//! A machine from data: the request.
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    Method,
    field::{self, Field},
    kernel::{Gamma, KernelChoice},
    learner::{LearnerName, Settings, TaskName},
    metric::{MetricSettings, note_of},
    plan::Plan,
    train_fields::FIELDS,
    trained::{Trained, notes_of},
    vectors::{Pursuit, Search, Vectors},
};
use crate::{
    Error, Result,
    data::{Dataset, Fingerprints, Scale, Scaling, read::Wanted},
    evaluate::{
        Candidate,
        bounds::{Bound, fisher_bound},
    },
    learn::{Calibrated, Fit, HowToScale, Learner, Scaled, Shape},
    machine::{Decision, Machine},
    watch::{Status, Watch},
};

/// The bound on the error of a greedy Fisher discriminant holds with a probability of 1 less this.
const DELTA: f64 = 0.05;

/// Folds of a cross-validation where nothing else is asked for.
const FOLDS: usize = 5;

/// A machine to be trained. What is left out has a default.
///
/// Settings are read by their names, which are those of the program's flags, or set as fields:
///
/// ```
/// use kernelet::{data::banana, prelude::*, request::{Gamma, KernelChoice, Settings, Vectors}};
///
/// let train = Train::from_json(r#"{"learner": "svc", "gamma": 1, "c": 10, "vectors": 8}"#)?;
/// let trained = train.run(&banana(200, 1), &Given::default(), &Watch::none())?;
/// assert_eq!(trained.machine().n_vectors(), 8);
///
/// let same = Train {
///     learner: Some(LearnerName::Svc),
///     kernel: KernelChoice { gamma: Some(Gamma::Given(1.0)), ..KernelChoice::default() },
///     settings: Settings { c: Some(10.0), ..Settings::default() },
///     vectors: Vectors { count: Some(8), ..Vectors::default() },
///     ..Train::default()
/// };
/// assert_eq!(same, train);
/// # Ok::<(), kernelet::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct Train {
    /// The estimator; none for svc.
    #[serde(with = "crate::named", skip_serializing_if = "Option::is_none")]
    pub learner: Option<LearnerName>,
    /// The kernel.
    #[serde(flatten)]
    pub kernel: KernelChoice,
    /// How features are scaled; none for not at all, or for standard where a metric is learned.
    #[serde(with = "crate::named", skip_serializing_if = "Option::is_none")]
    pub scale: Option<Scaling>,
    /// Settings of the estimator.
    #[serde(flatten)]
    pub settings: Settings,
    /// How many vectors, and how they are found.
    #[serde(flatten)]
    pub vectors: Vectors,
    /// Settings of direct training.
    #[serde(flatten)]
    pub search: Search,
    /// What of the kernel's metric is learned.
    #[serde(flatten)]
    pub metric: MetricSettings,
    /// Settings of fisher-pursuit.
    #[serde(flatten)]
    pub pursuit: Pursuit,
    /// Choose the cost (C, nu or lambda) and gamma by cross-validation; what is given as a number is kept.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub tune: bool,
    /// Folds of cross-validation; none for 5.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folds: Option<usize>,
    /// Probabilities, by a curve of this shape fitted by cross-validation.
    #[serde(with = "crate::named", skip_serializing_if = "Option::is_none")]
    pub probability: Option<Shape>,
    /// Whether smaller sizes are wanted too, where the number of vectors grows.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub path: bool,
    /// Seed of everything random.
    #[serde(skip_serializing_if = "is_zero")]
    pub seed: u64,
}

fn is_zero(seed: &u64) -> bool {
    *seed == 0
}

/// What a request is given beside the rows.
#[derive(Clone, Debug, Default)]
pub struct Given {
    /// An earlier machine of the same kind to start from.
    pub start: Option<Machine>,
    /// A scale to be used as it is, in place of one fitted on the rows.
    pub scale: Option<Scale>,
    /// Rows to calibrate prediction sets on, which must not be among those trained on.
    pub calibrate: Option<Dataset>,
}

impl Train {
    /// Every setting, for interfaces.
    pub fn fields() -> &'static [Field] {
        FIELDS
    }

    /// The request that names and values describe. Unknown names, wrong types and settings given twice are errors.
    pub fn read(given: Map<String, Value>) -> Result<Self> {
        field::read(FIELDS, given)
    }

    /// The same from JSON text.
    pub fn from_json(text: &str) -> Result<Self> {
        Self::read(
            serde_json::from_slice(text.as_bytes())
                .map_err(|error| Error::request(format!("this is no JSON object of settings: {error}")))?,
        )
    }

    /// The estimator.
    pub fn learner(&self) -> LearnerName {
        self.learner.unwrap_or_default()
    }

    /// The target that the estimator learns from.
    pub fn wanted(&self) -> Wanted {
        match self.settings.task {
            Some(TaskName::Regression) => Wanted::Values,
            _ => self.learner().wanted(),
        }
    }

    /// True where vectors are found with the machine.
    pub fn is_direct(&self) -> bool {
        self.plan().is_ok_and(|plan| plan == Plan::Direct)
    }

    /// The names of the settings that are given.
    pub(super) fn given(&self) -> Vec<String> {
        match serde_json::to_value(self) {
            // A cache that is a file is for training by blocks, see `check_blocks`.
            Ok(Value::Object(map)) => {
                let used = |(name, value): &(String, Value)| !(value.is_null() || name == "cache" && value.is_string());
                map.into_iter().filter(used).map(|(name, _)| name).collect()
            }
            _ => vec![],
        }
    }

    pub(super) fn folds(&self) -> usize {
        self.folds.unwrap_or(FOLDS)
    }

    /// True where the penalty of a discriminant is chosen by cross-validation because it is not given: what is good for all rows as vectors
    /// is far from good for few.
    pub(super) fn chooses_penalty(&self) -> bool {
        self.learner() == LearnerName::Fisher && self.is_direct() && self.settings.lambda.is_none() && !self.tune
    }

    /// Trains. Cancelling returns the machine of the work so far.
    pub fn run(&self, data: &Dataset, given: &Given, watch: &Watch) -> Result<Trained> {
        self.check_with(given)?;
        data.check()?;
        if let Some(rows) = &given.calibrate {
            self.check_calibration_rows(rows, data)?;
        }
        if self.by_blocks() == Some(true) {
            if given.calibrate.is_some() {
                return Err(Error::request("prediction sets are calibrated for machines trained in memory; leave `blocks` out"));
            }
            return Ok(self.run_held(data, given, watch)?.trained);
        }
        let mut notes = self.kernel.notes();
        let asked = self.within(data.len(), &mut notes);
        let request = serde_json::to_value(asked.stored()).ok();
        let mut trained = match asked.after_metric(data, given, &mut notes, watch)? {
            None => asked.trained(data, given, notes, watch)?,
            Some((later, given, metric)) => {
                let mut trained = later.trained(data, &given, notes, watch)?;
                trained.fits_mut().for_each(|fit| fit.machine.metadata.metric = Some(metric.clone()));
                trained
            }
        };
        trained.notes.extend(trained.fit.machine.metadata.metric.as_ref().and_then(note_of));
        for fit in trained.fits_mut() {
            (fit.machine.metadata.request, fit.machine.metadata.table) = (request.clone(), data.table.clone());
            fit.machine.metadata.seen = given.start.as_ref().and_then(|start| start.metadata.seen.clone());
            fit.machine.recognise(Fingerprints::of(&data.points, fit.machine.most_fingerprints()));
            fit.machine.metadata.sets = given.calibrate.as_ref().map(|rows| fit.machine.set_scores(rows)).transpose()?;
        }
        Ok(trained)
    }

    /// Trains a request whose settings fit the rows.
    fn trained(&self, data: &Dataset, given: &Given, mut notes: Vec<String>, watch: &Watch) -> Result<Trained> {
        let how = match &given.scale {
            Some(scale) => HowToScale::Given(scale.clone()),
            None => {
                let scaling = self.scaling();
                notes.extend(scaling.note(&data.points).map(String::from));
                HowToScale::Fitted(scaling)
            }
        };
        self.check_rows(data, &how)?;
        let (learner, tried) = self.chosen(data, &how, &mut notes, watch)?;
        let learner = self.with_probabilities(Box::new(Scaled { how, learner }));
        let mut fits = match &given.start {
            Some(earlier) => vec![learner.learn_from(earlier, data, watch)?],
            None if self.path || (self.plan()? == Plan::Direct && self.probability.is_none()) => learner.learn_path(data, watch)?,
            None => vec![learner.learn(data, watch)?],
        };
        let fit = fits.pop().ok_or_else(|| Error::data("nothing was learned"))?;
        if !fit.report.objective.is_finite() {
            return Err(Error::data("the objective is not finite: numbers of this size cannot be trained on; scale rows and targets"));
        }
        notes.extend(watch.take_notes());
        notes.extend(notes_of(&fit));
        let bound = self.bound(&fit, data, &mut notes)?;
        Ok(Trained { tuned: self.tuned_name().filter(|_| self.tune), fit, smaller: fits, tried, bound, notes })
    }

    /// The request with no more vectors than there are rows.
    pub(super) fn within(&self, rows: usize, notes: &mut Vec<String>) -> Train {
        let mut asked = self.clone();
        if let Some(count) = self.vectors.count.filter(|count| *count > rows && self.is_direct()) {
            notes.push(format!("{count} vectors were requested, but there are only {rows} rows"));
            asked.vectors.count = Some(rows);
        }
        asked
    }

    /// The request as a model keeps it: without what does not change the machine.
    pub(super) fn stored(&self) -> Train {
        let mut stored = self.clone();
        // Whether rows come in blocks changes no more than the rounding.
        (stored.search.blocks, stored.search.device) = (None, None);
        (stored.search.checkpoint, stored.search.memory, stored.settings.cache, stored.path) = (None, None, None, false);
        // What is a default whether it is given or not.
        stored.learner = stored.learner.filter(|learner| *learner != LearnerName::default());
        stored.kernel.name = stored.kernel.name.filter(|name| name != "gaussian");
        stored.kernel.gamma = stored.kernel.gamma.filter(|gamma| *gamma != Gamma::Scale);
        stored.vectors.method = stored.vectors.method.filter(|method| *method != Method::Auto);
        stored
    }

    fn with_probabilities(&self, learner: Box<dyn Learner>) -> Box<dyn Learner> {
        match self.probability {
            None => learner,
            Some(shape) => Box::new(Calibrated { shape, folds: self.folds(), seed: self.seed, learner }),
        }
    }

    /// The learner with its settings, as given or as found by cross-validation, and what that tried.
    fn chosen(
        &self,
        data: &Dataset,
        how: &HowToScale,
        notes: &mut Vec<String>,
        watch: &Watch,
    ) -> Result<(Box<dyn Learner>, Vec<Candidate>)> {
        if self.tune {
            let tried = self.search_settings(data, how, notes, watch)?;
            let best = tried.first().ok_or_else(|| Error::data("no settings were tried"))?;
            let kernel = self.kernel.kernel()?.with_gamma(best.gamma);
            let mut chosen = self.with_cost(best.cost);
            chosen.metric.costs = self.costs_around(best.cost);
            return Ok((chosen.learner_for(kernel)?, tried));
        }
        let kernel = self.kernel_for(data, how)?;
        if !self.chooses_penalty() {
            return Ok((self.learner_for(kernel)?, vec![]));
        }
        let fixed = Train { kernel: KernelChoice::of(&kernel), ..self.clone() };
        let tried = fixed.search_settings(data, how, notes, watch).map_err(|error| match error {
            Error::Cancelled => Error::Cancelled,
            error => Error::request(format!("{error}; without `lambda` cross-validation chooses the penalty: give it")),
        })?;
        let best = tried.first().ok_or_else(|| Error::data("no penalty was tried"))?;
        notes.push(format!("lambda {:.3e} has the least error of {} tried in cross-validation", best.cost, tried.len()));
        Ok((self.with_cost(best.cost).learner_for(kernel)?, vec![]))
    }

    /// The bound on the error of a greedy Fisher discriminant of two classes.
    fn bound(&self, fit: &Fit, data: &Dataset, notes: &mut Vec<String>) -> Result<Option<Bound>> {
        if self.plan()? != Plan::Basis(Method::FisherPursuit) {
            return Ok(None);
        }
        if let Some(stages) = self.pursuit.stages.filter(|&stages| stages > fit.machine.n_vectors()) {
            notes.push(format!("`stages` {stages} is above the number of vectors: all were chosen by their first scores"));
        }
        match fit.report.status == Status::Cancelled || !matches!(fit.machine.decision, Decision::Sign { .. }) {
            true => Ok(None),
            false => fisher_bound(&fit.machine, data, DELTA).map(Some),
        }
    }
}
