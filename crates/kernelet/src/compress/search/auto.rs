//! Which strategies are worth trying? By the kernel, the rows there are, and the time that may be spent.
//!
//! | there are | strategies |
//! |---|---|
//! | no rows | vectors chosen by pursuit or made by fixed-point steps, then all moved together: the distance of the weight vectors decides |
//! | rows | those with coefficients that fit the outputs on the rows, and distillation, from the vectors of both and from its own |
//! | labels that are to be used | direct training on them, from the vectors of both and from its own |
//!
//! Of the starts of training the one with the least objective is kept: it separates them better than the error on some validation rows.
//!
//! Rows that the machine fits near-perfectly give optimistic error estimates for what imitates its weights. Where the best machine of a size is chosen by
//! the labels of such rows, imitation is used as a warm start for training, not as a candidate.
//!
//! With kernels that are not differentiable at zero distance, vectors are chosen, never moved. Where a learned metric is asked for, training goes on with a scale for
//! each feature, as one more candidate for each penalty.
use super::{
    certify::Trust,
    compression::{Compression, Found},
    effort::Effort,
    goals::Goals,
    interpolates::fits_training_rows,
    scales::{PENALTIES, check_scales},
    strategy::{Finish, Steps, Strategy},
    validation::{Metric, PrimaryMetric},
};
use crate::{
    Named, Result,
    compress::{
        Distil, Refit, Sparsifier, Task,
        construct::{FixedPoint, Gradient, Refinement, Starts},
        select::Pursuit,
    },
    device::Device,
    kernel::Argument,
    learn::direct::{Margin, Search},
    machine::{Decision, Machine},
    watch::Watch,
};

/// Vectors that are expected where no size is asked for, at most.
const USUAL: usize = 200;

/// Compression by whatever is best.
#[derive(Clone, Copy, Debug, Default)]
pub struct Auto {
    /// How much time may be spent.
    pub effort: Effort,
    /// The labels of the rows are to be learned from, not the machine's outputs.
    pub labels: bool,
    /// The outputs of a one-vs-one machine are to stay those of pairs.
    pub keep_pairs: bool,
    /// The coefficients of the vectors; none for those that suit the rows. Machines that are trained have their own, and are left out.
    pub refit: Option<Refit>,
    /// Offsets of least error on the rows.
    pub least_error: bool,
    /// Each vector belongs to one class, as LIBSVM's files have it.
    pub owned: bool,
    /// Vectors are chosen among those of the machine, never made.
    pub chosen: bool,
    /// The cost of an error; none for the machine's own, or its largest coefficient where it does not store C.
    pub c: Option<f64>,
    /// What loss means; none for the usual.
    pub metric: Option<Metric>,
    /// Whether the size path is wanted where the size is given.
    pub curve: bool,
    /// How sure promises are, and where the rows come from.
    pub trust: Trust,
    /// Whether trained machines may learn a scale for each feature.
    pub ard: bool,
    /// Seed of all that is drawn.
    pub seed: u64,
    /// Where the sums over rows of training are computed.
    pub device: Device,
}

impl Auto {
    /// The smallest machine that meets the goals, or the best of the size that is asked for.
    pub fn run(&self, task: Task, goals: &Goals, watch: &Watch) -> Result<Found> {
        let (machine, most_rows) = (task.machine, self.effort.most_rows());
        // Where the distance of the weight vectors alone counts, rows are of no use.
        let by_residual = goals.primary() == PrimaryMetric::Residual;
        let c = self.c.unwrap_or_else(|| cost_of(machine));
        let known = Knowledge {
            n_rows: task.data.filter(|_| !by_residual).map_or(0, |data| data.len().min(most_rows)),
            labels: self.labels,
            fits_training_rows: !goals.about_quality() && fits_training_rows(&task)?,
            keep_pairs: self.keep_pairs,
            chosen: self.chosen,
            trains: self.refit.is_none() && !self.least_error && !self.owned,
            c,
            n_vectors: if goals.about_size() { goals.most_vectors(machine)? } else { (machine.n_vectors() / 10).clamp(1, USUAL) },
            seed: self.seed,
            device: self.device,
        };
        let usual = if known.n_rows > 0 { Refit::Outputs } else { Refit::None };
        let (refit, least_error, owned) = (self.refit.unwrap_or(usual), self.least_error, self.owned);
        let finish = Finish { refinement: None, refit, c: Some(c), least_error, owned };
        let mut strategies = strategies_for(machine, known, &finish, self.effort);
        if self.ard {
            strategies.extend(with_scales(machine, known, self.effort, &strategies)?);
        }
        let (metric, curve, trust, seed) = (self.metric, self.curve, self.trust, self.seed);
        Compression { task, strategies: &strategies, goals, metric, curve, most_rows, trust, seed }.run(watch)
    }
}

/// What there is to compress with.
#[derive(Clone, Copy, Debug)]
pub(super) struct Knowledge {
    /// Rows that were given and will be used; 0 for none.
    pub n_rows: usize,
    /// Their labels are to be learned from.
    pub labels: bool,
    /// Validation is by their labels, and the machine fits them near-perfectly.
    pub fits_training_rows: bool,
    /// The outputs of a one-vs-one machine are to stay those of pairs.
    pub keep_pairs: bool,
    /// Vectors are chosen, never made.
    pub chosen: bool,
    /// Machines may be trained, with coefficients of their own.
    pub trains: bool,
    /// The cost of an error.
    pub c: f64,
    /// The vectors that are expected.
    pub n_vectors: usize,
    /// Seed of all that is drawn.
    pub seed: u64,
    /// Where training is done.
    pub device: Device,
}

/// Kernel values times features that making vectors one after another may look at, before it takes too long.
const MOST_WORK: f64 = 3e7;

/// What only starts the training is refined in so many times fewer steps.
const STEPS_OF_A_START: usize = 5;

/// The strategies to try.
pub(super) fn strategies_for(machine: &Machine, known: Knowledge, finish: &Finish, effort: Effort) -> Vec<Strategy> {
    let kernel = &machine.expansion.kernel;
    let smooth = kernel.profile().smooth() && !known.chosen;
    let pursuit = || Box::new(Pursuit { seed: known.seed, ..Pursuit::default() });
    let trained = |from: usize| trained_strategy(machine, known, effort, (0..from).collect());
    // A model that fits the validation rows gives optimistic estimates for what imitates it, so that imitation only starts the training.
    if (known.labels || known.fits_training_rows)
        && let Some(trained) = trained(1)
    {
        let start = found_by(pursuit(), effort.steps() / STEPS_OF_A_START, finish, smooth);
        return vec![Strategy { candidate: false, ..start }, trained];
    }
    let mut strategies = vec![found_by(pursuit(), effort.steps(), finish, smooth)];
    let work = machine.n_vectors() as f64 * known.n_vectors as f64 * (machine.expansion.vectors.dim() + machine.n_outputs() + 10) as f64;
    if smooth && effort != Effort::Quick && (work < MOST_WORK || effort == Effort::Thorough) {
        let starts = Starts { seed: known.seed, ..Starts::default() };
        let method: Box<dyn Sparsifier> = match kernel.profile().argument() {
            Argument::SquaredDistance => Box::new(FixedPoint { starts, ..FixedPoint::default() }),
            Argument::DotProduct => Box::new(Gradient { starts, ..Gradient::default() }),
        };
        strategies.push(found_by(method, effort.steps(), finish, true));
    }
    strategies.extend(trained(strategies.len()));
    strategies
}

/// The trained strategy once more for each penalty of feature scales, from where it ends with the metric as it is.
fn with_scales(machine: &Machine, known: Knowledge, effort: Effort, strategies: &[Strategy]) -> Result<Vec<Strategy>> {
    let trained = strategies.iter().position(Strategy::is_trained);
    check_scales(machine, trained.is_some())?;
    let again = |penalty: f64| {
        let before = trained_strategy(machine, known, effort, trained.into_iter().collect())?;
        Some(Strategy { name: format!("{} + scales {penalty}", before.name), scales: Some(penalty), ..before })
    };
    Ok(PENALTIES.into_iter().filter_map(again).collect())
}

/// Training on the machine's outputs, or on labels, from the vectors of other strategies and from its own.
fn trained_strategy(machine: &Machine, known: Knowledge, effort: Effort, from: Vec<usize>) -> Option<Strategy> {
    let kernel = &machine.expansion.kernel;
    let votes = matches!(machine.decision, Decision::Votes { .. });
    if known.chosen
        || !known.trains
        || known.n_rows == 0
        || !kernel.profile().smooth()
        || !kernel.profile().definite()
        || (known.keep_pairs && votes)
    {
        return None;
    }
    let classes = !machine.decision.labels().is_empty() && machine.decision != Decision::Novelty;
    let labels = known.labels && classes;
    let outputs = if votes { machine.decision.labels().len() } else { machine.n_outputs() };
    let step = known.n_rows as f64 * known.n_vectors as f64 * (machine.expansion.vectors.dim() + known.n_vectors * outputs) as f64;
    let (iterations, starts) = effort.training(step, labels)?;
    let search = Search { iterations, starts, seed: known.seed, device: known.device, ..Search::default() };
    let (c, own) = (known.c, effort != Effort::Quick);
    let (name, steps) = match labels {
        true => ("margin", Steps::Margin { taught: Margin { kernel: kernel.clone(), c, search, ..Margin::default() }, own }),
        false => ("distil", Steps::Distil { taught: Distil { c, search }, own }),
    };
    Some(Strategy { name: name.into(), steps, from, candidate: true, scales: None })
}

/// Vectors of a method, moved together where the kernel is smooth.
fn found_by(method: Box<dyn Sparsifier>, max_steps: usize, finish: &Finish, smooth: bool) -> Strategy {
    let refit = if finish.refit == Refit::None { String::new() } else { format!(" + {}", finish.refit.name()) };
    let name = format!("{}{}{refit}", method.name(), if smooth { " + refine" } else { "" });
    let refinement = smooth.then(|| Refinement { max_steps, ..Refinement::default() });
    let steps = Steps::Sparsify { method, finish: Finish { refinement, ..finish.clone() } };
    Strategy { name, steps, from: vec![], candidate: true, scales: None }
}

/// The cost C that a machine was trained with. Machines of the support vector family that do not store it, such as those of LIBSVM, have it as their
/// largest coefficient, unless no row is at the bound; for others errors cost 1.
pub fn cost_of(machine: &Machine) -> f64 {
    let family = machine.metadata.learner.as_deref().is_none_or(|name| ["svc", "nu-svc", "svr", "nu-svr", "one-class"].contains(&name));
    let largest = || machine.expansion.coefficients.stored().values().iter().fold(f64::MIN_POSITIVE, |a, b| a.max(b.abs()));
    machine.metadata.c.unwrap_or_else(|| if family { largest() } else { 1.0 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{compress::toy, kernel::Kernel};

    fn finish(known: Knowledge) -> Finish {
        Finish { refit: if known.n_rows > 0 { Refit::Outputs } else { Refit::None }, ..Finish::default() }
    }

    fn names(kernel: Kernel, rows: bool, labels: bool, effort: Effort) -> Vec<String> {
        let machine = toy::machine(kernel, 30, 1);
        let known = Knowledge {
            n_rows: 40 * usize::from(rows),
            labels,
            fits_training_rows: false,
            keep_pairs: false,
            chosen: false,
            trains: true,
            c: 1.0,
            n_vectors: 5,
            seed: 0,
            device: Device::Cpu,
        };
        strategies_for(&machine, known, &finish(known), effort).into_iter().map(|strategy| strategy.name).collect()
    }

    #[test]
    fn the_strategies_follow_from_kernel_rows_and_effort() {
        let gaussian = || Kernel::gaussian(0.5);
        assert_eq!(names(gaussian(), false, false, Effort::Quick), ["pursuit + refine"]);
        assert_eq!(names(gaussian(), false, false, Effort::Normal), ["pursuit + refine", "fixed-point + refine"]);
        assert_eq!(names(gaussian(), true, false, Effort::Quick), ["pursuit + refine + outputs", "distil"]);
        let found = ["pursuit + refine + outputs", "fixed-point + refine + outputs"];
        assert_eq!(names(gaussian(), true, false, Effort::Normal), [found.as_slice(), &["distil"]].concat());
        assert_eq!(names(gaussian(), true, true, Effort::Normal), [found[0], "margin"]);
        let many = Knowledge {
            n_rows: 1_000_000,
            labels: false,
            fits_training_rows: false,
            keep_pairs: false,
            chosen: false,
            trains: true,
            c: 1.0,
            n_vectors: 300,
            seed: 0,
            device: Device::Cpu,
        };
        let machine = toy::machine(gaussian(), 30, 1);
        assert_eq!(strategies_for(&machine, many, &finish(many), Effort::Quick).len(), 1, "training on so many rows takes long");
        let candidates = |known| {
            strategies_for(&machine, known, &finish(known), Effort::Normal).iter().map(|strategy| strategy.candidate).collect::<Vec<_>>()
        };
        let few = Knowledge { n_rows: 40, n_vectors: 5, ..many };
        assert_eq!(candidates(few), [true; 3]);
        assert_eq!(candidates(Knowledge { fits_training_rows: true, ..few }), [false, true]);
        assert_eq!(candidates(Knowledge { labels: true, ..few }), [false, true]);
        assert_eq!(
            candidates(Knowledge { fits_training_rows: true, n_rows: usize::MAX, ..few }),
            [true; 2],
            "nothing is trained, and imitation is all there is"
        );
        let polynomial = Kernel::named("polynomial", 1.0, 3, 1.0).unwrap();
        assert_eq!(names(polynomial, false, false, Effort::Thorough), ["pursuit + refine", "gradient + refine"]);
        let nonsmooth = Kernel::named("exponential", 1.0, 0, 0.0).unwrap();
        assert_eq!(names(nonsmooth, true, false, Effort::Normal), ["pursuit + outputs"]);
    }
}
