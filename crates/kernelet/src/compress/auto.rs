//! Which ways are worth trying? By the kernel, the rows there are, and the time that may be spent.
//!
//! | there are | ways |
//! |---|---|
//! | no rows | vectors chosen by pursuit or made by fixed-point steps, then all moved together: the distance of the weight vectors judges |
//! | rows | those with coefficients that fit the outputs on the rows, and distillation, from the vectors of pursuit and from its own |
//! | labels that are to be used | direct training on them, from the vectors of pursuit and from its own |
//!
//! Kernels with a corner have vectors chosen, never moved.
use super::{
    goals::Goals,
    judge::Metric,
    search::{Compressed, Compression},
    way::{Steps, Way},
};
use crate::{
    Result,
    kernel::Argument,
    machine::{Decision, Machine},
    sparsify::{
        Refit, Sparsifier, Task,
        construct::{FixedPoint, Gradient, Refinement, Starts},
        direct::{Distil, Margin, Search},
        select::Pursuit,
    },
    watch::Watch,
};

/// How much time may be spent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Effort {
    /// One way, few steps.
    Quick,
    /// Some ways.
    #[default]
    Normal,
    /// More ways, starts and steps.
    Thorough,
}

impl Effort {
    /// All of them.
    pub const ALL: [Effort; 3] = [Effort::Quick, Effort::Normal, Effort::Thorough];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Effort::Quick => "quick",
            Effort::Normal => "normal",
            Effort::Thorough => "thorough",
        }
    }

    /// The effort with this name.
    pub fn named(name: &str) -> Option<Effort> {
        Effort::ALL.into_iter().find(|effort| effort.name() == name)
    }

    fn steps(self) -> usize {
        match self {
            Effort::Quick => 30,
            Effort::Normal => 100,
            Effort::Thorough => 300,
        }
    }

    /// Rows that are looked at.
    pub fn most_rows(self) -> usize {
        match self {
            Effort::Quick => 5_000,
            Effort::Normal => 20_000,
            Effort::Thorough => usize::MAX,
        }
    }

    /// What a step of training may cost: rows times the square of the vectors times outputs.
    fn most_training(self) -> f64 {
        match self {
            Effort::Quick => 2e9,
            Effort::Normal => 2e10,
            Effort::Thorough => f64::INFINITY,
        }
    }

    fn starts(self) -> usize {
        if self == Effort::Thorough { 3 } else { 1 }
    }
}

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
    /// The cost of an error; none for that of the machine.
    pub c: Option<f64>,
    /// What loss means; none for the usual.
    pub metric: Option<Metric>,
    /// Whether sizes on the way are wanted where the size is given.
    pub curve: bool,
    /// Seed of all that is drawn.
    pub seed: u64,
}

impl Auto {
    /// The smallest machine that meets the goals, or the best of the size that is asked for.
    pub fn run(&self, task: Task, goals: &Goals, watch: &Watch) -> Result<Compressed> {
        let (machine, most_rows) = (task.machine, self.effort.most_rows());
        // Where the distance of the weight vectors alone counts, rows are of no use.
        let by_residual = goals.max_residual.is_some() && !goals.needs_rows();
        let known = Knowledge {
            rows: task.data.filter(|_| !by_residual).map_or(0, |data| data.len().min(most_rows)),
            labels: self.labels,
            keep_pairs: self.keep_pairs,
            c: self.c.or(machine.facts.c).unwrap_or(1.0),
            vectors: if goals.about_size() { goals.most_vectors(machine)? } else { (machine.vectors() / 10).clamp(1, USUAL) },
            seed: self.seed,
        };
        let ways = ways_for(machine, known, self.effort);
        let (metric, curve, seed) = (self.metric, self.curve, self.seed);
        Compression { task, ways: &ways, goals, metric, curve, most_rows, seed }.run(watch)
    }
}

/// What there is to compress with.
#[derive(Clone, Copy, Debug)]
pub(super) struct Knowledge {
    /// Rows that were given and will be used; 0 for none.
    pub rows: usize,
    /// Their labels are to be learned from.
    pub labels: bool,
    /// The outputs of a one-vs-one machine are to stay those of pairs.
    pub keep_pairs: bool,
    /// The cost of an error.
    pub c: f64,
    /// The vectors that are expected.
    pub vectors: usize,
    /// Seed of all that is drawn.
    pub seed: u64,
}

/// Kernel values times features that making vectors one after another may look at, before it takes too long.
const MOST_WORK: f64 = 3e7;

/// The ways to try.
pub(super) fn ways_for(machine: &Machine, known: Knowledge, effort: Effort) -> Vec<Way> {
    let kernel = &machine.expansion.kernel;
    let smooth = kernel.profile().smooth();
    let trained = smooth && kernel.profile().definite();
    let size = machine.vectors() as f64 * known.vectors as f64;
    let refit = if known.rows > 0 { Refit::Outputs } else { Refit::None };
    let votes = matches!(machine.decision, Decision::Votes { .. });
    let mut ways = vec![found_by(Box::new(Pursuit { seed: known.seed, ..Pursuit::default() }), effort, refit, smooth)];
    let search = Search { iterations: effort.steps(), starts: effort.starts(), seed: known.seed, ..Search::default() };
    let classes = !machine.decision.labels().is_empty() && machine.decision != Decision::Novelty;
    let labels = known.labels && classes;
    let taught = || match labels {
        true => Steps::Margin(Margin { kernel: kernel.clone(), c: known.c, search: search.clone(), ..Margin::default() }),
        false => Steps::Distil(Distil { c: known.c, search: search.clone() }),
    };
    let outputs = if votes { machine.decision.labels().len() } else { machine.outputs() };
    let training = known.rows as f64 * (known.vectors as f64).powi(2) * outputs as f64;
    if known.rows > 0 && trained && !(known.keep_pairs && votes) && (labels || training < effort.most_training()) {
        let name = if labels { "margin" } else { "distil" };
        ways.push(Way { name: format!("pursuit + refine + {name}"), steps: taught(), from: Some(0), rival: true });
        if effort != Effort::Quick {
            ways.push(Way { name: name.into(), steps: taught(), from: None, rival: true });
        }
        if labels {
            // What imitates a model that has seen the held-out rows is no rival for what learns from the others alone.
            ways[0].rival = false;
            return ways;
        }
    }
    let work = size * (machine.dim() + machine.outputs() + 10) as f64;
    if smooth && effort != Effort::Quick && (work < MOST_WORK || effort == Effort::Thorough) {
        let starts = Starts { seed: known.seed, ..Starts::default() };
        ways.push(match kernel.profile().argument() {
            Argument::SquaredDistance => found_by(Box::new(FixedPoint { starts, ..FixedPoint::default() }), effort, refit, true),
            Argument::DotProduct => found_by(Box::new(Gradient { starts, ..Gradient::default() }), effort, refit, true),
        });
    }
    ways
}

/// Vectors of a method, moved together where the kernel is smooth.
fn found_by(method: Box<dyn Sparsifier>, effort: Effort, refit: Refit, smooth: bool) -> Way {
    let parts = [method.name(), if smooth { " + refine" } else { "" }, if refit == Refit::Outputs { " + outputs" } else { "" }];
    let refinement = smooth.then(|| Refinement { max_steps: effort.steps(), ..Refinement::default() });
    Way { name: parts.concat(), steps: Steps::Sparsify { method, refinement, refit, c: None, least_error: false }, from: None, rival: true }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{kernel::Kernel, sparsify::toy};

    fn names(kernel: Kernel, rows: bool, labels: bool, effort: Effort) -> Vec<String> {
        let machine = toy::machine(kernel, 30, 1);
        let known = Knowledge { rows: 40 * usize::from(rows), labels, keep_pairs: false, c: 1.0, vectors: 5, seed: 0 };
        ways_for(&machine, known, effort).into_iter().map(|way| way.name).collect()
    }

    #[test]
    fn the_ways_follow_from_kernel_rows_and_effort() {
        let gaussian = || Kernel::gaussian(0.5);
        assert_eq!(names(gaussian(), false, false, Effort::Quick), ["pursuit + refine"]);
        assert_eq!(names(gaussian(), false, false, Effort::Normal), ["pursuit + refine", "fixed-point + refine"]);
        assert_eq!(names(gaussian(), true, false, Effort::Quick), ["pursuit + refine + outputs", "pursuit + refine + distil"]);
        let all = ["pursuit + refine + outputs", "pursuit + refine + distil", "distil", "fixed-point + refine + outputs"];
        assert_eq!(names(gaussian(), true, false, Effort::Normal), all);
        let labels = ["pursuit + refine + outputs", "pursuit + refine + margin", "margin"];
        assert_eq!(names(gaussian(), true, true, Effort::Normal), labels);
        let many = Knowledge { rows: 1_000_000, labels: false, keep_pairs: false, c: 1.0, vectors: 300, seed: 0 };
        assert_eq!(ways_for(&toy::machine(gaussian(), 30, 1), many, Effort::Quick).len(), 1, "training on so many rows takes long");
        let polynomial = Kernel::named("polynomial", 1.0, 3, 1.0).unwrap();
        assert_eq!(names(polynomial, false, false, Effort::Thorough), ["pursuit + refine", "gradient + refine"]);
        let corner = Kernel::named("exponential", 1.0, 0, 0.0).unwrap();
        assert_eq!(names(corner, true, false, Effort::Normal), ["pursuit + outputs"]);
    }
}
