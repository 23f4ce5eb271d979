//! Training by passes over blocks of rows: what may be asked for, and how it runs.
use std::path::Path;

use super::{
    kernel::Gamma,
    learner::{Cache, LearnerName, Settings},
    plan::Plan,
    train::{Given, Train},
    trained::{Trained, notes_of},
    vectors::{BlocksName, Search},
};
use crate::{
    Error, Named, Result,
    data::{Dataset, HeldBlocks, Outline, RowBlocks, Scale},
    device::Device,
    kernel::Kernel,
    learn::{
        Logistic, Multiclass,
        blocks::{BlockEstimator, BlockLearner, Engine, ScoutSums, engine_on},
        direct::{DirectLoss, Growth, Init},
    },
    text::counted,
    watch::Watch,
};

/// A request's sentence with its names of settings.
fn reason(error: &Error) -> String {
    if let Error::Request(sentence) = error { sentence.clone() } else { error.to_string() }
}

/// What came of a request to train by blocks.
#[derive(Debug)]
pub struct TrainedBlocks {
    /// The machine, and how it came about.
    pub trained: Trained,
    /// The fraction of wrong labels, or the mean squared error, on all rows.
    pub train_error: f64,
    /// Passes over the rows.
    pub passes: u64,
}

impl Train {
    /// Whether training passes over blocks of rows; none where that depends on the size of the file.
    pub(super) fn by_blocks(&self) -> Option<bool> {
        if self.device().is_ok_and(|device| device != Device::Cpu) {
            return Some(true);
        }
        match self.search.blocks.unwrap_or_default() {
            BlocksName::Always => Some(true),
            BlocksName::Never => Some(false),
            BlocksName::Auto => (self.search.sample_first.is_some() || self.cache_file().is_some()).then_some(true),
        }
    }

    /// Where the sums over rows are computed.
    pub fn device(&self) -> Result<Device> {
        self.search.device.as_deref().map_or(Ok(Device::Cpu), Device::named)
    }

    /// Takes a device where none is given and the request can be trained there.
    pub fn prefer_device(&mut self, device: Device) {
        if device != Device::Cpu && self.search.device.is_none() && self.is_direct() {
            self.search.device = Some(device.name());
            if self.check().is_err() {
                self.search.device = None;
            }
        }
    }

    /// Refuses what a card cannot train.
    fn check_device(&self, plan: Plan) -> Result<()> {
        if self.device()? == Device::Cpu {
            return Ok(());
        }
        if self.search.blocks == Some(BlocksName::Never) {
            return Err(Error::request("`device` gpu passes over the rows in blocks; leave out `blocks` never"));
        }
        let gaussian = matches!(self.kernel.kernel()?, Kernel::Gaussian(_));
        match self.check_passes(plan) {
            Ok(()) if gaussian => Ok(()),
            Ok(()) => Err(Error::request("`device` gpu trains with the gaussian kernel alone; leave `device` out")),
            Err(error) => Err(Error::request(format!("`device` gpu is not possible here: {}", reason(&error)))),
        }
    }

    /// The file of rows in binary.
    pub fn cache_file(&self) -> Option<&Path> {
        match &self.settings.cache {
            Some(Cache::File(file)) => Some(file),
            _ => None,
        }
    }

    /// Bytes for rows and what is computed of them.
    pub fn memory_bytes(&self) -> usize {
        self.search().memory_bytes
    }

    /// Whether the rows of a file of so many bytes are passed over in blocks. With `blocks` auto, where the file is larger than the memory and the
    /// request can be trained so.
    pub fn passes_over(&self, bytes: u64) -> bool {
        self.by_blocks()
            .unwrap_or_else(|| bytes > self.memory_bytes() as u64 && self.plan().is_ok_and(|plan| self.check_passes(plan).is_ok()))
    }

    /// Settings of blocks that contradict others.
    pub(super) fn check_blocks(&self, plan: Plan) -> Result<()> {
        self.check_device(plan)?;
        let never = self.search.blocks == Some(BlocksName::Never);
        if never && (self.search.sample_first.is_some() || self.cache_file().is_some()) {
            return Err(Error::request("`sample-first` and a file as `cache` are for training by blocks; leave out `blocks` never"));
        }
        if self.cache_file().is_some() && plan != Plan::Direct {
            return Err(Error::parameter("cache", "a file", "a number of megabytes; a file is for training by blocks, with `vectors`"));
        }
        if self.by_blocks() == Some(true) { self.check_passes(plan) } else { Ok(()) }
    }

    /// Refuses what cannot be trained by passes.
    fn check_passes(&self, plan: Plan) -> Result<()> {
        let refuse = |what: &str| Err(Error::request(format!("training by blocks does not work with {what}; use `blocks` never")));
        let learner = self.learner();
        let able = matches!(learner, LearnerName::Svc | LearnerName::Logistic | LearnerName::Ridge);
        if plan != Plan::Direct || !able {
            return Err(Error::request(format!(
                "training by blocks is for svc, logistic and ridge with a number of `vectors`, not for {}; use `blocks` never",
                self.described(plan)
            )));
        }
        match () {
            () if self.probability.is_some() => refuse("`probability`"),
            () if self.path => refuse("`path`"),
            () if self.search.growth.is_some_and(|growth| growth != Growth::None) => refuse("`growth`"),
            () if self.search.parts.is_some() || self.settings.multiclass == Some(Multiclass::OneVsRest) => {
                refuse("vectors of their own for each class")
            }
            () if self.search.loss == Some(DirectLoss::Hinge) => refuse(&format!("`loss` {}", DirectLoss::Hinge.name())),
            () => Ok(()),
        }
    }

    /// Trains on rows in memory, by blocks.
    pub(super) fn run_held(&self, data: &Dataset, given: &Given, watch: &Watch) -> Result<TrainedBlocks> {
        let held = HeldBlocks::within(data, self.memory_bytes())?;
        self.run_blocks(&mut *engine_on(self.device()?, &held)?, held.outline(), given, watch)
    }

    /// Trains by passes of an engine over rows with this outline. Cancelling returns the machine of the work so far.
    pub fn run_blocks(&self, engine: &mut dyn Engine, outline: &Outline, given: &Given, watch: &Watch) -> Result<TrainedBlocks> {
        self.check_with(given)?;
        self.check_passes(self.plan()?)?;
        if self.tune || !self.learned().is_empty() {
            return self.run_chosen(engine, outline, given, watch);
        }
        let mut notes = self.kernel.notes();
        let asked = self.within(outline.n_rows.min(usize::MAX as u64) as usize, &mut notes);
        let mut learner = asked.block_learner();
        if let Some(earlier) = &given.start {
            learner.search.init = Init::Given(earlier.expansion.vectors.to_dense());
        }
        watch.report("reading", 0, None, None);
        let scout = learner.scout(engine, outline)?;
        let scale = asked.block_scale(given, &scout, &mut notes)?;
        let summary = match &scale {
            Some(Scale { map: Some(_), .. }) if self.kernel.fixed_gamma().is_none() => {
                return Err(Error::request("with the learned map of another model training by blocks needs `gamma` as a number"));
            }
            Some(scale) => scout.summary.scaled(scale),
            None => scout.summary.clone(),
        };
        let kernel = asked.kernel.for_summary(&summary)?;
        let found = learner.learn(engine, outline, &scout, &kernel, scale.as_ref(), watch)?;
        let mut fit = found.fit;
        fit.machine.metadata.request = serde_json::to_value(asked.stored()).ok();
        fit.machine.metadata.table = outline.table.clone();
        let earlier = given.start.as_ref().and_then(|start| start.metadata.seen.clone());
        earlier.into_iter().for_each(|seen| fit.machine.recognise(seen));
        notes.extend(notes_of(&fit));
        let trained = Trained { fit, smaller: vec![], tried: vec![], tuned: None, bound: None, notes };
        Ok(TrainedBlocks { trained, train_error: found.train_error, passes: found.passes })
    }

    /// Chooses settings and learns a metric on a sample of the rows, which is in memory; then trains on all rows with what was found, from the vectors of the
    /// sample's machine.
    fn run_chosen(&self, engine: &mut dyn Engine, outline: &Outline, given: &Given, watch: &Watch) -> Result<TrainedBlocks> {
        let scout = self.block_learner().scout(engine, outline)?;
        let rows = scout.sample.dataset(outline);
        let search = Search { blocks: None, sample_first: None, device: None, ..self.search.clone() };
        let on_sample = Train { search, settings: Settings { cache: None, ..self.settings.clone() }, ..self.clone() };
        let first = on_sample.run(&rows, given, watch)?;
        if watch.cancelled() {
            return Err(Error::Cancelled);
        }
        let machine = first.machine();
        let mut later = Train { tune: false, folds: None, ..self.with_one_width() };
        if let Some(cost) = if self.learner() == LearnerName::Ridge { machine.metadata.lambda } else { machine.metadata.c } {
            later = later.with_cost(cost);
        }
        if let Some(gamma) = machine.expansion.kernel.gamma() {
            later.kernel.gamma = Some(Gamma::Given(gamma));
        }
        let scale = machine.scale.clone();
        later.scale = self.scale.filter(|_| scale.is_none());
        let given = Given { start: Some(machine.clone()), scale, ..given.clone() };
        let mut done = later.run_blocks(engine, outline, &given, watch)?;
        let metadata = &mut done.trained.fit.machine.metadata;
        metadata.request = serde_json::to_value(self.stored()).ok();
        metadata.metric = machine.metadata.metric.clone();
        let chosen = format!("settings, scaling and metric were chosen on {}, drawn at random", counted(rows.len(), "row"));
        done.trained.notes = [first.notes, vec![chosen], done.trained.notes].concat();
        (done.trained.tried, done.trained.tuned) = (first.tried, first.tuned);
        Ok(TrainedBlocks { passes: done.passes + 1, ..done })
    }

    fn block_learner(&self) -> BlockLearner {
        let (c, class_weights) = (self.settings.c, self.settings.class_weight.clone().unwrap_or_default());
        let estimator = match self.learner() {
            LearnerName::Logistic => BlockEstimator::Logistic { c: c.unwrap_or(Logistic::default().c), class_weights },
            LearnerName::Ridge => BlockEstimator::Ridge { lambda: self.settings.lambda.unwrap_or(1.0) },
            _ => BlockEstimator::Margin { c: c.unwrap_or(1.0), class_weights },
        };
        BlockLearner { estimator, search: self.search(), sample_first: self.search.sample_first, ..BlockLearner::default() }
    }

    fn block_scale(&self, given: &Given, scout: &ScoutSums, notes: &mut Vec<String>) -> Result<Option<Scale>> {
        if let Some(scale) = &given.scale {
            return Ok(Some(scale.clone()));
        }
        let scaling = self.scale.unwrap_or_default();
        notes.extend(scaling.note(&scout.sample.points).map(String::from));
        scout.summary.scale(scaling)
    }
}
