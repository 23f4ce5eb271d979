//! A smaller machine from a machine: the request.
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    cascade::CascadeSettings,
    compress_fields::FIELDS,
    compressed::Compressed,
    field::{self, Field},
    method::{CompressMethod, MethodSettings},
};
use crate::{
    Error, Named, Result,
    compress::{
        Auto, Budget, Comparison, Compression, Effort, EmpiricalMap, Finish, Found, Goals, Metric, Origin, Refit, Steps, Strategy, Task,
        bytes_of, cost_of, heaviest, part_of,
    },
    data::{Dataset, Points},
    device::Device,
    kernel::Kernel,
    machine::{Machine, SizeMetrics},
    model::native,
    watch::{Status, Watch},
};

/// The most sizes that a size path has; of longer runs those that grow by the same factor.
const MOST_SIZES: usize = 64;

/// A machine to be made smaller. What is left out has a default; without any goal the knee of the curve is taken.
///
/// ```
/// use kernelet::{data::banana, prelude::*};
///
/// let data = banana(200, 1);
/// let full = Train::from_json(r#"{"gamma": 1, "c": 10}"#)?.run(&data, &Given::default(), &Watch::none())?;
/// let compress = Compress::from_json(r#"{"vectors": 8, "method": "pursuit"}"#)?;
/// let small = compress.run(full.machine(), Some(&data), None, &Watch::none())?;
/// assert_eq!(small.machine.n_vectors(), 8);
/// # Ok::<(), kernelet::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct Compress {
    /// How vectors are found; none for auto.
    #[serde(with = "crate::named", skip_serializing_if = "Option::is_none")]
    pub method: Option<CompressMethod>,
    /// How long auto may try; none for normal.
    #[serde(with = "crate::named", skip_serializing_if = "Option::is_none")]
    pub effort: Option<Effort>,
    /// Seconds after which the best machine so far is the result; none for no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<f64>,
    /// Learn from the labels of the rows too, not from the machine's predictions alone.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub labels: bool,
    /// Whether trained machines may learn a scale for each feature.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub ard: bool,
    /// Outputs of a one-vs-one machine; none for shared.
    #[serde(with = "crate::named", skip_serializing_if = "Option::is_none")]
    pub layout: Option<Layout>,
    /// How small, and how good.
    #[serde(flatten)]
    pub goals: Goals,
    /// What loss means; none for the usual.
    #[serde(with = "crate::named", skip_serializing_if = "Option::is_none")]
    pub metric: Option<Metric>,
    /// The probability with which goals about rows hold; none for 0.95.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f64>,
    /// Where the rows come from; none to find out.
    #[serde(with = "crate::named", skip_serializing_if = "Option::is_none")]
    pub rows: Option<Origin>,
    /// Small machines before the large one.
    #[serde(flatten)]
    pub cascade: CascadeSettings,
    /// Choose vectors among the rows instead of the machine's own.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub from_data: bool,
    /// Coefficients of the vectors found; none for those of the method.
    #[serde(with = "crate::named", skip_serializing_if = "Option::is_none")]
    pub refit: Option<Refit>,
    /// Cost of an error; none for that of the machine, or its largest coefficient where it does not store C.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub c: Option<f64>,
    /// Offsets; none for those of the machine or the refit.
    #[serde(with = "crate::named", skip_serializing_if = "Option::is_none")]
    pub threshold: Option<Offsets>,
    /// Whether smaller sizes are wanted too.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub path: bool,
    /// Settings of the method.
    #[serde(flatten)]
    pub settings: MethodSettings,
    /// Where machines are trained on rows; none for the processor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// Seed of everything random.
    #[serde(skip_serializing_if = "is_zero")]
    pub seed: u64,
}

fn is_zero(seed: &u64) -> bool {
    *seed == 0
}

/// What the outputs of a small one-vs-one machine are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Layout {
    /// All outputs share all vectors, and votes of pairs may become one output for each class.
    #[default]
    Shared,
    /// All pairs of classes stay, and share all vectors.
    Pairs,
    /// Each vector belongs to one class, as LIBSVM's files want it.
    Libsvm,
}

impl Named for Layout {
    const NAMES: &'static [(&'static str, Self)] = &[("shared", Layout::Shared), ("pairs", Layout::Pairs), ("libsvm", Layout::Libsvm)];
}

/// Which offsets the outputs get.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Offsets {
    /// Those of the machine or the refit.
    #[default]
    Keep,
    /// Those of least error on the rows.
    TrainError,
}

impl Named for Offsets {
    const NAMES: &'static [(&'static str, Self)] = &[("keep", Offsets::Keep), ("train-error", Offsets::TrainError)];
}

impl Compress {
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

    /// The method.
    pub fn method(&self) -> CompressMethod {
        self.method.unwrap_or_default()
    }

    pub(super) fn is_auto(&self) -> bool {
        self.method() == CompressMethod::Auto
    }

    /// The machine made smaller, for a request that was checked.
    pub(super) fn run_checked(
        &self,
        machine: &Machine,
        data: Option<&Dataset>,
        start: Option<&Points>,
        watch: &Watch,
    ) -> Result<Compressed> {
        // A precomputed kernel has values between vectors only in the space of its empirical map, where vectors are chosen and never made.
        let map = EmpiricalMap::of(machine, data)?;
        let mapped = map.as_ref().zip(data).map(|(map, data)| map.rows(data)).transpose()?;
        let (large, rows) = map.as_ref().map_or((machine, data), |map| (&map.machine, mapped.as_ref()));
        if map.is_some() && (self.method().makes_vectors() || self.settings.refinement().is_some() || self.from_data) {
            return Err(Error::request(
                "a precomputed kernel has values with the training rows alone: choose among the model's vectors with the `method` pursuit, l1, l0 or independent",
            ));
        }
        let asked = Compress { goals: self.goals_for(large)?, ..self.clone() };
        let mut small = asked.on(large, rows, start, map.is_some(), watch)?;
        if let Some(map) = &map {
            small.machine = map.back(&small.machine)?;
            for (_, machine) in &mut small.sizes {
                *machine = map.back(machine)?;
            }
            small.path = small.path.map(|path| path.mapped(|machine| map.back(machine))).transpose()?;
        }
        if let (Some(data), None) = (data, &map) {
            small = self.estimated(machine, data, small, watch)?;
        }
        if let Some(data) = data.filter(|_| self.goals.max_bytes.is_none()) {
            small.recalibrate(machine, data)?;
        }
        small.capped = self.goals.max_vectors.is_some_and(|wanted| wanted > self.most(large, rows));
        small.notes.extend(self.notes(machine, &small));
        small.machine.metadata.request = self.stored();
        if small.machine.n_vectors() < machine.n_vectors() {
            small.machine.metadata.seen = None;
        }
        small.machine.metadata.table = machine.metadata.table.clone();
        // Sizes that were tried anyway are kept too, unless bytes are counted.
        if self.path || (small.sizes.len() > 1 && self.goals.max_bytes.is_none()) {
            small.machine.metadata.path = Some(small.path_metadata(machine.n_vectors()));
        }
        Ok(small)
    }

    /// The goals, where the request that the small model keeps counts among its bytes.
    fn goals_for(&self, machine: &Machine) -> Result<Goals> {
        let Some(bytes) = self.goals.max_bytes.filter(|_| machine.n_vectors() > 0) else { return Ok(self.goals.clone()) };
        let before = part_of(machine, &[0]);
        let mut after = before.clone();
        after.metadata.request = self.stored();
        let (before, after) = (native::to_bytes(&before)?.len(), native::to_bytes(&after)?.len());
        let (around, each) = bytes_of(machine)?;
        let least = (around + each + after).saturating_sub(before);
        if bytes < least {
            return Err(Error::parameter("max-bytes", bytes, format!("at least {least}, the size of a model with one vector")));
        }
        Ok(Goals { max_bytes: Some((bytes + before).saturating_sub(after).max(1)), ..self.goals.clone() })
    }

    /// The number of vectors that can be chosen from.
    fn most(&self, machine: &Machine, rows: Option<&Dataset>) -> usize {
        if self.from_data { rows.map_or(0, |rows| rows.len()) } else { machine.n_vectors() }
    }

    /// The small machine of a large one whose kernel has a formula; new vectors are not made where `chosen` ones are wanted.
    fn on(&self, machine: &Machine, data: Option<&Dataset>, start: Option<&Points>, chosen: bool, watch: &Watch) -> Result<Compressed> {
        let candidates = match self.from_data {
            true => Task { machine, data, candidates: None }.scaled_rows()?,
            false => None,
        };
        let task = Task { machine, data, candidates: candidates.as_ref() };
        if self.is_auto() {
            return self.by_strategies(task, chosen, watch);
        }
        let strategy = Strategy {
            name: self.method().name().into(),
            steps: Steps::Sparsify {
                method: self.settings.make(self.method(), start, self.seed, self.path)?,
                finish: self.finish(machine),
            },
            from: vec![],
            candidate: true,
            scales: None,
        };
        match self.goals.needs_rows() {
            false => self.by_path(&strategy, task, watch),
            true => {
                let (goals, metric, curve, most_rows, trust, seed) =
                    (&self.goals, self.metric, self.path, usize::MAX, self.trust(), self.seed);
                let strategies = [strategy];
                let found = Compression { task, strategies: &strategies, goals, metric, curve, most_rows, trust, seed }.run(watch)?;
                self.validated(found, task, watch)
            }
        }
    }

    /// What is done with the vectors of a named method.
    fn finish(&self, machine: &Machine) -> Finish {
        Finish {
            refinement: self.settings.refinement().filter(|_| self.method() != CompressMethod::Refine),
            refit: self.refit.unwrap_or(Refit::None),
            c: Some(self.c.unwrap_or_else(|| cost_of(machine))),
            least_error: self.threshold == Some(Offsets::TrainError),
            owned: self.layout == Some(Layout::Libsvm),
        }
    }

    /// What a model keeps of the request: not where it was run.
    fn stored(&self) -> Option<Value> {
        serde_json::to_value(Compress { device: None, ..self.clone() }).ok()
    }

    /// Where machines are trained.
    pub(super) fn device(&self) -> Result<Device> {
        self.device.as_deref().map_or(Ok(Device::Cpu), Device::named)
    }

    /// Takes a device where none is given and machines can be trained there.
    pub fn prefer_device(&mut self, device: Device, machine: &Machine, has_rows: bool) {
        let trains = self.is_auto() && has_rows && matches!(machine.expansion.kernel, Kernel::Gaussian(_));
        if device != Device::Cpu && self.device.is_none() && trains {
            self.device = Some(device.name());
        }
    }

    /// The device, which is there and can train with the kernel of the machine.
    fn device_for(&self, machine: &Machine) -> Result<Device> {
        let device = self.device()?;
        let kernel = &machine.expansion.kernel;
        if device != Device::Cpu && !matches!(kernel, Kernel::Gaussian(_)) {
            let name = kernel.name();
            return Err(Error::request(format!("`device` gpu trains with the gaussian kernel alone, not with {name}; leave `device` out")));
        }
        device.open()?;
        Ok(device)
    }

    /// By whatever is best on validation rows.
    fn by_strategies(&self, task: Task, chosen: bool, watch: &Watch) -> Result<Compressed> {
        let auto = Auto {
            device: self.device_for(task.machine)?,
            effort: self.effort.unwrap_or_default(),
            labels: self.labels,
            keep_pairs: matches!(self.layout, Some(Layout::Pairs | Layout::Libsvm)) || chosen,
            refit: self.refit,
            least_error: self.threshold == Some(Offsets::TrainError),
            owned: self.layout == Some(Layout::Libsvm),
            chosen,
            c: self.c,
            metric: self.metric,
            curve: self.path,
            trust: self.trust(),
            ard: self.ard,
            seed: self.seed,
        };
        let found = auto.run(task, &self.goals, watch)?;
        self.validated(found, task, watch)
    }

    /// A machine that was validated, and the sizes that were tried.
    fn validated(&self, found: Found, task: Task, watch: &Watch) -> Result<Compressed> {
        let comparison = Comparison::new(task.machine, task.data, None);
        let mut sizes = vec![];
        // The machine of the size that was chosen is the one that is returned.
        let smaller = found.path.iter().map(|(small, _)| small).filter(|small| small.n_vectors() != found.machine.n_vectors());
        for small in smaller.chain([&found.machine]) {
            if watch.cancelled() && small.n_vectors() != found.machine.n_vectors() {
                continue;
            }
            sizes.push((comparison.metrics(small)?, small.clone()));
        }
        sizes.sort_by_key(|(size, _)| size.n_vectors);
        Ok(Compressed::of_validation(self.method(), found, sizes))
    }

    /// By one run of a method, without validation rows.
    fn by_path(&self, strategy: &Strategy, task: Task, watch: &Watch) -> Result<Compressed> {
        let Steps::Sparsify { method, finish } = &strategy.steps else {
            return Err(Error::data("only methods that find vectors have a path"));
        };
        let comparison = Comparison::new(task.machine, task.data, None);
        let path = match method.sparsify(&task, &self.budget(&task)?, watch) {
            Ok(path) if !path.is_empty() || !watch.out_of_time() => path,
            Err(error) if !watch.out_of_time() => return Err(error),
            _ => {
                let small = heaviest(&task, self.goals.most_vectors(task.machine)?)?;
                let sizes = vec![(comparison.metrics(&small)?, small.clone())];
                return Ok(Compressed::of_path(self.method(), small, sizes, None, vec![], Status::Cancelled));
            }
        };
        let mut sizes = vec![];
        // Moving all vectors is too expensive for every size.
        let moves = finish.refinement.is_some();
        for i in if self.path { spaced(path.len(), moves) } else { (0..path.len()).skip(path.len().saturating_sub(1)).collect() } {
            let Some(found) = path.machine(i).filter(|_| sizes.is_empty() || !watch.cancelled() || i + 1 == path.len()) else { continue };
            let small = finish.apply(found, &task, watch)?;
            sizes.push((comparison.metrics(&small)?, small));
        }
        let (_, machine): &(SizeMetrics, Machine) = sizes.last().ok_or_else(|| self.nothing_found(watch))?;
        machine.check()?;
        let (machine, notes, status) = (machine.clone(), path.note.clone().into_iter().collect(), path.status);
        let whole = finish.is_nothing().then_some(path);
        Ok(Compressed::of_path(self.method(), machine, sizes, whole, notes, status))
    }

    /// The bounds of one run.
    fn budget(&self, task: &Task) -> Result<Budget> {
        let goals = Goals { max_vectors: None, ..self.goals.clone() };
        let most = if goals.about_size() { Some(goals.most_vectors(task.machine)?) } else { None };
        // More vectors than there are is no error, and of candidates there may be more than the machine has.
        let most = [self.goals.max_vectors, most].into_iter().flatten().fold(usize::MAX, usize::min);
        Ok(Budget { max_residual: self.goals.max_residual.unwrap_or(0.0), ..Budget::vectors(most) })
    }
}

/// Squared distances between weight vectors are sums of products of coefficients, which must not overflow.
pub(super) fn check_coefficients(machine: &Machine) -> Result<()> {
    const LARGEST: f64 = 1e100;
    let coefficients = machine.expansion.coefficients.stored();
    match coefficients.iter().position(|row| row.iter().any(|value| value.abs() > LARGEST)) {
        None => Ok(()),
        Some(place) => Err(Error::data(format!(
            "vector {} has a coefficient above {LARGEST:e}: the squared length of the weights is not finite, and nothing can be compared with them",
            place + 1
        ))),
    }
}

/// Which of so many sizes are kept: all of few, of many those that grow by the same factor, or those that double; the last one always.
fn spaced(levels: usize, doubling: bool) -> Vec<usize> {
    if doubling {
        return (0..levels).filter(|i| (i + 1).is_power_of_two() || i + 1 == levels).collect();
    }
    if levels <= MOST_SIZES {
        return (0..levels).collect();
    }
    let factor = (levels as f64).powf(1.0 / (MOST_SIZES - 1) as f64);
    let mut kept: Vec<usize> = (0..MOST_SIZES).map(|i| (factor.powi(i as i32).round() as usize).clamp(1, levels) - 1).collect();
    kept.push(levels - 1);
    kept.dedup();
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sizes_that_are_kept_rise_to_the_last() {
        for levels in [1, 5, 64, 65, 200, 5000] {
            assert_eq!(spaced(levels, true).last(), Some(&(levels - 1)));
            let kept = spaced(levels, false);
            assert!(kept.windows(2).all(|pair| pair[0] < pair[1]) && kept.len() <= MOST_SIZES + 1);
            assert_eq!(kept.last(), Some(&(levels - 1)));
        }
        assert!(spaced(0, false).is_empty());
    }
}
