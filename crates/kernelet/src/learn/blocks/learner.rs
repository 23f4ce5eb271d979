//! Estimators whose vectors are found with them, on rows that come in blocks.
use std::cell::RefCell;

use super::{
    ask::{Ask, Problem, RowLossName},
    checkpoint::Kept,
    engine::{Engine, LocalEngine},
    newton::Optimum,
    search::{Descent, Found, MakeMachine, Place},
    solver::Solver,
    sums::{ScoutSums, Sums},
};
use crate::{
    Error, Result,
    basis::field::check_dense,
    data::{Dataset, Fingerprints, HeldBlocks, Outline, Scale, Target, memory},
    error::{require_cost, require_positive},
    kernel::Kernel,
    learn::{
        ClassWeights, Fit, LogisticRows, Report,
        direct::{Growth, Init, Learned, Search, Variables, feature_scales, status},
    },
    machine::{Coefficients, Decision, Expansion, Machine, Metadata, MetricMetadata},
    watch::Watch,
};

/// Rows for each vector that a start looks at, and the fewest in all.
const ROWS_A_VECTOR: usize = 50;
const FEWEST_SAMPLED: usize = 10_000;

/// Numbers of a sample for a start; rows of many features are fewer.
const MOST_SAMPLED: usize = 1 << 22;

/// After a search on a sample, all rows get this fraction of the steps.
const STEPS_AFTER_SAMPLE: usize = 10;

/// Numbers of each feature that the summaries of the rows have.
const SUMMARISED: usize = 16;

/// What is learned.
#[derive(Clone, Debug, PartialEq)]
pub enum BlockEstimator {
    /// Large-margin classification with the squared hinge.
    Margin {
        /// The cost of an error.
        c: f64,
        /// Factors of C for each class.
        class_weights: ClassWeights,
    },
    /// Classes with probabilities.
    Logistic {
        /// The cost of an error.
        c: f64,
        /// Factors of C for each class.
        class_weights: ClassWeights,
    },
    /// Regression with squared loss.
    Ridge {
        /// The penalty of the squared weights.
        lambda: f64,
    },
}

impl BlockEstimator {
    fn name(&self) -> &'static str {
        match self {
            BlockEstimator::Margin { .. } => "margin",
            BlockEstimator::Logistic { .. } => "logistic",
            BlockEstimator::Ridge { .. } => "ridge",
        }
    }

    /// What the value is multiplied by: for ridge it is divided by `2 lambda`, so that the weights' penalty is that of all others.
    fn factor(&self) -> f64 {
        if let BlockEstimator::Ridge { lambda } = self { 2.0 * lambda } else { 1.0 }
    }

    /// The weights of the classes; 1 for values.
    fn class_weights(&self, outline: &Outline, scout: &ScoutSums) -> Result<Vec<f64>> {
        let counts: Vec<usize> = scout.counts.iter().map(|&count| count as usize).collect();
        match self {
            BlockEstimator::Ridge { .. } => Ok(vec![1.0]),
            BlockEstimator::Margin { class_weights, .. } | BlockEstimator::Logistic { class_weights, .. } => {
                class_weights.of_counts(&outline.labels, &counts)
            }
        }
    }

    fn decision(&self, outline: &Outline) -> Decision {
        match (self, &outline.labels[..]) {
            (BlockEstimator::Ridge { .. }, _) => Decision::Values,
            (_, [negative, positive]) => Decision::Sign { negative: negative.clone(), positive: positive.clone() },
            (_, labels) => Decision::Largest { labels: labels.to_vec() },
        }
    }
}

/// An estimator with few vectors, trained by passes over blocks of rows.
///
/// ```
/// use kernelet::{
///     data::{HeldBlocks, RowBlocks, banana},
///     learn::{blocks::{BlockEstimator, BlockLearner, LocalEngine}, direct::Search},
///     prelude::*,
/// };
///
/// let (train, test) = (banana(400, 1), banana(1000, 2));
/// let blocks = HeldBlocks::of(&train, 128)?;
/// let mut engine = LocalEngine { blocks: &blocks };
/// let estimator = BlockEstimator::Margin { c: 10.0, class_weights: Default::default() };
/// let learner = BlockLearner { estimator, search: Search { n_vectors: 8, iterations: 30, ..Search::default() }, ..BlockLearner::default() };
/// let scout = learner.scout(&mut engine, blocks.outline())?;
/// let trained = learner.learn(&mut engine, blocks.outline(), &scout, &Kernel::gaussian(1.0), None, &Watch::none())?;
/// assert_eq!(trained.fit.machine.n_vectors(), 8);
/// assert!(trained.fit.machine.score(&test)?.loss() < 0.15);
/// # Ok::<(), kernelet::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct BlockLearner {
    /// What is learned.
    pub estimator: BlockEstimator,
    /// How vectors are searched for.
    pub search: Search,
    /// Search on a sample of so many rows first, then on all.
    pub sample_first: Option<usize>,
    /// Early in the search, rounds that promise less than this fraction of the value are left out.
    pub inexact: f64,
    /// Whether the means of the targets are subtracted, and are the offsets of the machine.
    pub centred: bool,
}

impl Default for BlockLearner {
    fn default() -> Self {
        let estimator = BlockEstimator::Margin { c: 1.0, class_weights: ClassWeights::Equal };
        BlockLearner { estimator, search: Search::default(), sample_first: None, inexact: 1e-4, centred: false }
    }
}

/// What was learned.
#[derive(Debug)]
pub struct BlockFit {
    /// The machine, and how it came about.
    pub fit: Fit,
    /// The fraction of wrong labels, or the mean squared error, on all rows.
    pub train_error: f64,
    /// Passes over the rows, that of the scout included.
    pub passes: u64,
}

impl BlockLearner {
    /// Refuses what cannot be trained by passes.
    pub fn check(&self, kernel: &Kernel) -> Result<()> {
        self.search.check(self.estimator.name(), kernel)?;
        match &self.estimator {
            BlockEstimator::Margin { c, .. } | BlockEstimator::Logistic { c, .. } => require_cost(*c)?,
            BlockEstimator::Ridge { lambda } => require_positive("lambda", *lambda)?,
        }
        let unsupported = |with: &str, instead: &str| {
            Err(Error::Unsupported { method: "training by blocks", with: with.into(), instead: instead.into() })
        };
        match () {
            () if self.search.growth != Growth::None => unsupported("a growing number of vectors", "use all vectors from the beginning"),
            () if self.sample_first == Some(0) => Err(Error::parameter("sample-first", 0, "at least 1")),
            () if self.sample_first.is_some() && self.search.checkpoint.is_some() => {
                unsupported("a sample first and a checkpoint", "leave one of them out")
            }
            () => Ok(()),
        }
    }

    /// The pass that comes before all others: moments, classes, finiteness, and a sample for the start.
    pub fn scout(&self, engine: &mut dyn Engine, outline: &Outline) -> Result<ScoutSums> {
        let vectors = self.search.n_vectors;
        memory::require("training by blocks", vectors.saturating_add(SUMMARISED), outline.dim)?;
        let fewer = (MOST_SAMPLED / outline.dim.max(1)).max(2 * vectors);
        let sample = (ROWS_A_VECTOR * vectors).max(FEWEST_SAMPLED).min(fewer).max(self.sample_first.unwrap_or(0));
        let values = matches!(self.estimator, BlockEstimator::Ridge { .. });
        let n_classes = if values { 0 } else { outline.labels.len() };
        if values != outline.labels.is_empty() || outline.n_targets == 0 {
            let wanted = if values { "a number to predict" } else { "a class label" };
            return Err(Error::data(format!("this needs {wanted} for every row, but the data have none")));
        }
        let outputs = if n_classes == 2 { 1 } else { n_classes.max(outline.n_targets) };
        let fingerprints = Fingerprints::most_beside(vectors.saturating_mul(outline.dim + outputs));
        let Sums::Scout(scout) = engine.pass(&Ask::Scout { seed: self.search.seed, sample, fingerprints, n_classes })? else {
            return Err(Error::data("the engine answered another ask"));
        };
        let present: Vec<usize> = (0..scout.weighty.len()).filter(|&class| scout.weighty[class] > 0.0).collect();
        match (present.len(), values) {
            (0, _) => Err(Error::data("no row has a weight above 0")),
            (1, false) => Err(Error::OneClass { label: outline.labels[present[0]].to_string(), rows: scout.weighty[present[0]] as usize }),
            _ => Ok(*scout),
        }
    }

    /// Trains on scaled rows; the scale becomes part of the machine.
    pub fn learn(
        &self,
        engine: &mut dyn Engine,
        outline: &Outline,
        scout: &ScoutSums,
        kernel: &Kernel,
        scale: Option<&Scale>,
        watch: &Watch,
    ) -> Result<BlockFit> {
        self.check(kernel)?;
        let problem = self.problem(outline, scout, scale)?;
        let points = &scout.sample.points;
        let rows = scale.map(|scale| scale.apply(points)).transpose()?;
        let rows = rows.as_ref().unwrap_or(points);
        check_dense("direct training", rows, self.search.n_vectors)?;
        let make = |place: &Place, optimum: &Optimum| self.machine(outline, scout, (kernel, &problem), place, optimum);
        let mut best: Option<Found> = None;
        let mut passes = 1;
        for number in 0..self.search.starts as u64 {
            if watch.cancelled() && best.is_some() {
                break;
            }
            let seed = self.search.seed.wrapping_add(number);
            let dim = rows.dim();
            let n_vectors = self.search.n_vectors;
            let mut kept = None;
            let mut begun = None;
            if let Some(file) = self.search.checkpoint.as_deref() {
                // What changes no bit of the result is left out.
                let settings = Search { checkpoint: None, memory_bytes: 0, ..self.search.clone() };
                let about = (kernel, settings, &problem, outline.n_rows, &scout.summary, self.inexact);
                let (file, known) = Kept::open(file, &about, dim, watch)?;
                (kept, begun) = (Some(RefCell::new(file)), known);
            }
            let (mut start, earlier) = match begun {
                Some((vectors, steps)) => (Variables::of_values(&vectors, vectors.len() / dim.max(1), dim), steps),
                None => {
                    let z = self.search.init.first(kernel, rows, n_vectors, seed, watch)?;
                    (Variables { z, metric: self.search.metric.first(dim)? }, 0)
                }
            };
            let mut search = self.search.clone();
            // The value is divided by the factor of the estimator.
            search.metric.penalty /= self.estimator.factor();
            if let Some(count) = self.sample_first.filter(|&count| (count as u64) < outline.n_rows) {
                start = self.on_sample((outline, scout), &problem, &search, (kernel, start, count), watch)?;
                search.iterations = self.search.iterations.div_ceil(STEPS_AFTER_SAMPLE);
            }
            let descent = Descent { kernel, search: &search, inexact: self.inexact, machine: &make, kept, watch };
            let solver = Solver { engine: &mut *engine, problem: &problem, last: None, passes: 0, engine_failed: false };
            let found = descent.run(solver, start, earlier)?;
            passes += found.passes;
            if best.as_ref().is_none_or(|best| found.value < best.value) {
                best = Some(found);
            }
        }
        let found = best.ok_or_else(|| Error::data("no start led to a machine"))?;
        self.finished(found, outline, &make, passes, watch)
    }

    fn finished(&self, found: Found, outline: &Outline, make: &MakeMachine, passes: u64, watch: &Watch) -> Result<BlockFit> {
        let Found { place, optimum, value, iterations, ended, .. } = found;
        let machine = make(&place, &optimum)?;
        machine.check()?;
        let report = Report {
            objective: self.estimator.factor() * value,
            dual_objective: None,
            iterations: iterations as u64,
            status: status(ended),
            evaluations: passes.saturating_mul(outline.n_rows).saturating_mul(place.at.z.rows() as u64),
            support: None,
        };
        let each = if outline.labels.is_empty() { machine.n_outputs() as f64 } else { 1.0 };
        let train_error = optimum.errors / (each * optimum.rows.max(1.0));
        Ok(BlockFit { fit: Fit { machine, report }.ended(watch), train_error, passes })
    }

    fn problem(&self, outline: &Outline, scout: &ScoutSums, scale: Option<&Scale>) -> Result<Problem> {
        let weights = self.estimator.class_weights(outline, scout)?;
        let (loss, cost) = match &self.estimator {
            BlockEstimator::Margin { c, .. } => (RowLossName::SquaredHinge, *c),
            BlockEstimator::Logistic { c, .. } => (RowLossName::Logistic, *c),
            BlockEstimator::Ridge { lambda } => (RowLossName::Squared, 0.5 / lambda),
        };
        let n_outputs = match (loss, outline.labels.len()) {
            (RowLossName::Squared, _) => outline.n_targets,
            (_, 2) => 1,
            (_, classes) => classes,
        };
        let costs = weights.iter().map(|weight| cost * weight).collect();
        let centre = match (self.centred && loss == RowLossName::Squared, &scout.totals[..]) {
            (true, [weight, totals @ ..]) => totals.iter().map(|total| total / weight).collect(),
            _ => vec![],
        };
        Ok(Problem { loss, n_classes: outline.labels.len(), n_outputs, costs, scale: scale.cloned(), centre })
    }

    /// The variables of a search on the first rows of the sample, whose losses stand for all.
    fn on_sample(
        &self,
        (outline, scout): (&Outline, &ScoutSums),
        problem: &Problem,
        search: &Search,
        (kernel, start, count): (&Kernel, Variables, usize),
        watch: &Watch,
    ) -> Result<Variables> {
        let sample = &scout.sample;
        let rows: Vec<usize> = (0..sample.keys.len().min(count)).collect();
        let held = Dataset {
            weights: Some(rows.iter().map(|&i| sample.weights[i]).collect()),
            ..Dataset::new(sample.points.select(&rows), Target::Values(sample.targets.select(&rows)))
        };
        let held = HeldBlocks::within(&held, self.search.memory_bytes)?;
        let stands_for = outline.n_rows as f64 / rows.len().max(1) as f64;
        let problem = Problem { costs: problem.costs.iter().map(|cost| cost * stands_for).collect(), ..problem.clone() };
        let make = |_: &Place, _: &Optimum| Err(Error::data("a sample has no machine of its own"));
        let descent = Descent { kernel, search, inexact: self.inexact, machine: &make, kept: None, watch };
        let mut engine = LocalEngine { blocks: &held };
        let solver = Solver { engine: &mut engine, problem: &problem, last: None, passes: 0, engine_failed: false };
        Ok(descent.run(solver, start, 0)?.place.at)
    }

    fn machine(
        &self,
        outline: &Outline,
        scout: &ScoutSums,
        (kernel, problem): (&Kernel, &Problem),
        place: &Place,
        optimum: &Optimum,
    ) -> Result<Machine> {
        let (transform, m) = (&place.transform, place.at.z.rows());
        let scale = match (&problem.scale, transform.scale()) {
            (Some(scale), Some(learned)) => Some(scale.then(&learned)?),
            (scale, learned) => learned.or_else(|| scale.clone()),
        };
        let offsets = match problem.offset() {
            1 => optimum.x.row(m).to_vec(),
            _ if problem.centre.is_empty() => vec![0.0; problem.n_outputs],
            _ => problem.centre.clone(),
        };
        let objective = Some(self.estimator.factor() * optimum.value).filter(|value| value.is_finite());
        let metric = MetricMetadata {
            learned: self.search.metric.learned.name().into(),
            used: true,
            penalty: Some(self.search.metric.penalty),
            feature_scales: transform.scale().as_ref().map(feature_scales).unwrap_or_default(),
            ..MetricMetadata::default()
        };
        let common = Metadata {
            metric: (self.search.metric.learned != Learned::Nothing).then_some(metric),
            learner: Some(self.estimator.name().into()),
            n_rows: Some(outline.n_rows as usize),
            seen: Some(scout.seen.clone()),
            objective,
            ..Metadata::default()
        };
        let (metadata, calibration) = match &self.estimator {
            BlockEstimator::Margin { c, class_weights } | BlockEstimator::Logistic { c, class_weights } => {
                let weights = self.estimator.class_weights(outline, scout)?;
                let class_weights = (*class_weights != ClassWeights::Equal).then_some(weights);
                let probable = matches!(self.estimator, BlockEstimator::Logistic { .. });
                (Metadata { c: Some(*c), class_weights, ..common }, probable.then(|| LogisticRows::calibration(outline.labels.len())))
            }
            BlockEstimator::Ridge { lambda } => (Metadata { lambda: Some(*lambda), ..common }, None),
        };
        Ok(Machine {
            expansion: Expansion {
                kernel: kernel.clone(),
                vectors: place.hats().into_owned().into(),
                coefficients: Coefficients::Dense(optimum.coefficients.clone()),
            },
            offsets,
            decision: self.estimator.decision(outline),
            scale,
            names: outline.names.clone(),
            calibration,
            metadata,
        })
    }

    /// The same with vectors to start from.
    pub fn starting_from(&self, earlier: &Machine) -> Self {
        let init = Init::Given(earlier.expansion.vectors.to_dense());
        BlockLearner { search: Search { init, ..self.search.clone() }, ..self.clone() }
    }
}
