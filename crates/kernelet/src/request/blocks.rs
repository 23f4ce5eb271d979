//! Training by passes over blocks of rows: what may be asked for, and how it runs.
use std::path::Path;

use super::{
    learner::{Cache, LearnerName},
    metric::note_of,
    plan::{Plan, is_chosen_on_a_sample},
    train::{Given, Train},
    trained::{Trained, notes_of},
    vectors::BlocksName,
};
use crate::{
    Error, Named, Result,
    data::{Dataset, HeldBlocks, Outline, RowBlocks, Scale, Scaling},
    device::Device,
    evaluate::Candidate,
    kernel::Kernel,
    learn::{
        HowToScale, Logistic, Multiclass, Shape,
        blocks::{BlockEstimator, BlockLearner, Engine, ScoutSums, engine_on},
        centred,
        direct::{DirectLoss, Growth, Init, Metric, Search, feature_scales},
    },
    linalg::Matrix,
    machine::{BasisMetadata, MetricMetadata},
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

/// A request whose settings are chosen, and where its search begins.
struct Settled {
    train: Train,
    kernel: Kernel,
    scale: Option<Scale>,
    /// The metric that is learned, and the vectors to start from.
    start: Option<(Metric, Matrix)>,
    metric: Option<MetricMetadata>,
    tried: Vec<Candidate>,
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
        if self.cache_file().is_some() && !matches!(plan, Plan::Direct | Plan::Basis(_)) {
            return Err(Error::parameter("cache", "a file", "a number of megabytes; a file is for training by blocks, with `vectors`"));
        }
        if self.by_blocks() == Some(true) { self.check_passes(plan) } else { Ok(()) }
    }

    /// Refuses what cannot be trained by passes.
    fn check_passes(&self, plan: Plan) -> Result<()> {
        let refuse = |what: &str| Err(Error::request(format!("training by blocks does not work with {what}; use `blocks` never")));
        let learner = self.learner();
        let able = match plan {
            Plan::Direct => matches!(learner, LearnerName::Svc | LearnerName::Logistic | LearnerName::Ridge),
            Plan::Basis(_) if learner == LearnerName::Svc => {
                return Err(Error::request(format!(
                    "{} has the hinge loss, which needs all rows at once; direct training with `iterations` 0 and `init` kmeans, random or rpcholesky has \
                     the squared hinge on vectors that stay where they are, or use `blocks` never",
                    self.described(plan)
                )));
            }
            Plan::Basis(method) => is_chosen_on_a_sample(method, learner),
            Plan::Full | Plan::Baseline(_) => false,
        };
        if !able {
            return Err(Error::request(format!(
                "training by blocks is for svc, logistic and ridge with a number of `vectors`, not for {}; use `blocks` never",
                self.described(plan)
            )));
        }
        match () {
            () if plan != Plan::Direct && self.vectors.max_error.is_some() => {
                refuse("`max-error`, which holds for the rows of the sample alone that the basis is chosen on")
            }
            () if plan != Plan::Direct && !self.learned().is_empty() => refuse("a learned metric on a basis"),
            () if self.probability == Some(Shape::Normal) => {
                Err(Error::request("training by blocks has no `probability`; train in memory, with `blocks` never"))
            }
            () if self.probability.is_some() => Err(Error::request(
                "training by blocks has no `probability`; use the `learner` logistic, which has probabilities of its own, or train in memory, with `blocks` never",
            )),
            () if self.path => Err(Error::request(
                "training by blocks makes a machine of one size; leave `path` out and train once for each number of `vectors`, or train in memory, with `blocks` never",
            )),
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
        let mut notes = self.kernel.notes();
        let asked = self.within(outline.n_rows.min(usize::MAX as u64) as usize, &mut notes);
        watch.report("reading", 0, None, None);
        let scout = asked.block_learner().scout(engine, outline)?;
        let scale = asked.block_scale(given, &scout, &mut notes)?;
        let summary = match &scale {
            Some(Scale { map: Some(_), .. }) if self.kernel.fixed_gamma().is_none() => {
                return Err(Error::request("with the learned map of another model training by blocks needs `gamma` as a number"));
            }
            Some(scale) => scout.summary.scaled(scale),
            None => scout.summary.clone(),
        };
        let kernel = asked.kernel.for_summary(&summary)?;
        let Settled { train, kernel, scale, start, metric, tried } = asked.settled((outline, &scout), kernel, scale, &mut notes, watch)?;
        let mut learner = train.block_learner();
        if let Some(earlier) = &given.start {
            learner.search.init = Init::Given(earlier.expansion.vectors.to_dense());
        }
        if let Some((metric, vectors)) = start {
            (learner.search.metric, learner.search.init) = (metric, Init::Given(vectors));
        }
        let basis = train.basis_by_blocks((outline, &scout), &kernel, scale.as_ref(), &mut notes, watch)?;
        if let Some((vectors, _)) = &basis {
            // The vectors stay where they are.
            learner.search = Search { n_vectors: vectors.rows(), init: Init::Given(vectors.clone()), iterations: 0, ..learner.search };
            learner.sample_first = None;
        }
        let found = learner.learn(engine, outline, &scout, &kernel, scale.as_ref(), watch)?;
        let mut fit = found.fit;
        fit.machine.metadata.request = serde_json::to_value(asked.stored()).ok();
        fit.machine.metadata.table = outline.table.clone();
        fit.machine.metadata.basis = basis.map(|(_, metadata)| metadata);
        if let Some(chosen) = metric {
            let found = fit.machine.metadata.metric.take().unwrap_or_default();
            let feature_scales = if found.feature_scales.is_empty() { chosen.feature_scales } else { found.feature_scales };
            let metric = MetricMetadata { feature_scales, penalty: found.penalty.or(chosen.penalty), ..chosen };
            notes.extend(note_of(&metric));
            fit.machine.metadata.metric = Some(metric);
        }
        let earlier = given.start.as_ref().and_then(|start| start.metadata.seen.clone());
        earlier.into_iter().for_each(|seen| fit.machine.recognise(seen));
        notes.extend(notes_of(&fit));
        let tuned = self.tuned_name().filter(|_| self.tune);
        let trained = Trained { fit, smaller: vec![], tried, tuned, bound: None, notes };
        Ok(TrainedBlocks { trained, train_error: found.train_error, passes: found.passes })
    }

    /// The vectors of a basis that is chosen on the sample of the first pass, where the request has one.
    fn basis_by_blocks(
        &self,
        (outline, scout): (&Outline, &ScoutSums),
        kernel: &Kernel,
        scale: Option<&Scale>,
        notes: &mut Vec<String>,
        watch: &Watch,
    ) -> Result<Option<(Matrix, BasisMetadata)>> {
        let Plan::Basis(method) = self.plan()? else { return Ok(None) };
        let Some(learner) = self.learner().in_frame(kernel.clone(), self) else { return Ok(None) };
        let mut rows = scout.sample.dataset(outline);
        if (rows.len() as u64) < outline.n_rows {
            notes.push(format!("the basis was chosen on {}, drawn at random", counted(rows.len(), "row")));
        }
        if let Some(scale) = scale {
            rows.points = scale.apply(&rows.points)?;
        }
        if self.settings.centre {
            rows = centred(&rows)?.0;
        }
        let (basis, metadata) = self.with_basis(method, learner).chosen(&rows, watch)?;
        Ok(Some((basis.frame.vectors().to_dense(), metadata)))
    }

    /// Settings that validation rows choose, and the penalty of a learned metric, from a sample of the rows that is in memory; everything else is left to the search
    /// on all rows.
    fn settled(
        &self,
        (outline, scout): (&Outline, &ScoutSums),
        kernel: Kernel,
        scale: Option<Scale>,
        notes: &mut Vec<String>,
        watch: &Watch,
    ) -> Result<Settled> {
        let mut settled = Settled { train: self.clone(), kernel, scale, start: None, metric: None, tried: vec![] };
        if !self.tune && self.learned().is_empty() {
            return Ok(settled);
        }
        let rows = scout.sample.dataset(outline);
        let drawn = if (rows.len() as u64) < outline.n_rows { ", drawn at random" } else { "" };
        notes.push(format!("settings were chosen on {}{drawn}", counted(rows.len(), "row")));
        if self.tune {
            let how = settled.scale.clone().map_or(HowToScale::Fitted(Scaling::None), HowToScale::Given);
            settled.tried = self.search_settings(&rows, &how, notes, watch)?;
            let best = settled.tried.first().ok_or_else(|| Error::data("no settings were tried"))?;
            settled.kernel = settled.kernel.with_gamma(best.gamma);
            settled.train = self.with_cost(best.cost);
            settled.train.metric.costs = self.costs_around(best.cost);
        }
        if !self.learned().is_empty() {
            self.settle_metric(&mut settled, rows, outline.n_rows, watch)?;
        }
        match watch.cancelled() {
            true => Err(Error::Cancelled),
            false => Ok(settled),
        }
    }

    fn settle_metric(&self, settled: &mut Settled, mut rows: Dataset, n_rows: u64, watch: &Watch) -> Result<()> {
        if let Some(scale) = &settled.scale {
            rows.points = scale.apply(&rows.points)?;
        }
        let (cost, kernel, chosen) = settled.train.chosen_metric(&settled.kernel, &rows, watch)?;
        (settled.train, settled.kernel) = (settled.train.with_cost(cost), kernel);
        let mut metadata = MetricMetadata { feature_scales: vec![1.0; rows.dim()], ..chosen.metadata };
        let Some((mut metric, vectors)) = chosen.start else {
            settled.metric = Some(metadata);
            return Ok(());
        };
        if self.device()? != Device::Cpu {
            // A card has no sums for a metric: that of the sample is part of the scaling.
            let transform = metric
                .transform(&metric.first(rows.dim())?, rows.dim())
                .ok_or_else(|| Error::data("the learned metric is out of range"))?;
            settled.start = Some((Metric::default(), transform.vectors(&vectors).into_owned()));
            if let Some(learned) = transform.scale() {
                metadata.feature_scales = feature_scales(&learned);
                settled.scale = Some(settled.scale.as_ref().map_or_else(|| Ok(learned.clone()), |scale| scale.then(&learned))?);
            }
        } else {
            // Losses of all rows weigh more than those of the sample, and so must a penalty that was found on it.
            if self.metric.penalty.is_none() {
                metric.penalty *= n_rows as f64 / rows.len().max(1) as f64;
            }
            settled.start = Some((metric, vectors));
        }
        settled.metric = Some(metadata);
        Ok(())
    }

    fn block_learner(&self) -> BlockLearner {
        let (c, class_weights) = (self.settings.c, self.settings.class_weight.clone().unwrap_or_default());
        let estimator = match self.learner() {
            LearnerName::Logistic => BlockEstimator::Logistic { c: c.unwrap_or(Logistic::default().c), class_weights },
            LearnerName::Ridge => BlockEstimator::Ridge { lambda: self.settings.lambda.unwrap_or(1.0) },
            _ => BlockEstimator::Margin { c: c.unwrap_or(1.0), class_weights },
        };
        BlockLearner {
            estimator,
            search: self.search(),
            sample_first: self.search.sample_first,
            centred: self.settings.centre,
            ..BlockLearner::default()
        }
    }

    fn block_scale(&self, given: &Given, scout: &ScoutSums, notes: &mut Vec<String>) -> Result<Option<Scale>> {
        if let Some(scale) = &given.scale {
            return Ok(Some(scale.clone()));
        }
        let scaling = self.scaling();
        notes.extend(scaling.note(&scout.sample.points).map(String::from));
        scout.summary.scale(scaling)
    }
}
