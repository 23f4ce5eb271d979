//! Direct training of machines with few vectors: the flags.
use clap::{Args, ValueEnum};
use kernelet::{
    kernel::Kernel,
    learn::Multiclass,
    sparsify::direct::{DirectLoss, Init, Margin},
};

use crate::{
    failure::{Failure, Result},
    learners::Settings,
};

/// Flags of direct training.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Direct training: vectors found with the machine (--vectors, --method margin)")]
pub struct DirectFlags {
    /// What an error costs (margin) [default: squared-hinge].
    #[arg(long, value_name = "NAME", value_enum)]
    pub loss: Option<LossFlag>,
    /// Where the vectors start (margin) [default: kmeans].
    #[arg(long, value_name = "HOW", value_enum)]
    pub init: Option<InitFlag>,
    /// Starts, of which the best is kept (margin) [default: 1].
    #[arg(long, value_name = "N")]
    pub starts: Option<usize>,
    /// Steps of the vectors (margin) [default: 200].
    #[arg(long, value_name = "N")]
    pub iterations: Option<usize>,
}

/// What an error costs.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossFlag {
    /// max(0, 1 - y f), after a phase with the squared hinge.
    Hinge,
    /// max(0, 1 - y f)^2.
    SquaredHinge,
}

/// Where the vectors start.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum InitFlag {
    /// Distinct rows drawn at random.
    Random,
    /// Centres of k-means.
    Kmeans,
    /// Rows spread by k-means++.
    Spread,
    /// Rows chosen by randomly pivoted Cholesky.
    Rpcholesky,
}

impl DirectFlags {
    /// The first flag that was given.
    pub fn given(&self) -> Option<&'static str> {
        let flags = [
            ("loss", self.loss.is_some()),
            ("init", self.init.is_some()),
            ("starts", self.starts.is_some()),
            ("iterations", self.iterations.is_some()),
        ];
        flags.into_iter().find(|(_, given)| *given).map(|(name, _)| name)
    }

    /// The direct learner with so many vectors.
    pub fn margin(&self, kernel: Kernel, settings: &Settings, vectors: usize) -> Margin {
        let usual = Margin::default();
        Margin {
            kernel,
            vectors,
            c: settings.c.unwrap_or(usual.c),
            loss: match self.loss {
                Some(LossFlag::Hinge) => DirectLoss::Hinge,
                _ => DirectLoss::SquaredHinge,
            },
            class_weights: settings.class_weight.clone().unwrap_or_default(),
            init: match self.init {
                Some(InitFlag::Random) => Init::Random,
                Some(InitFlag::Spread) => Init::Spread,
                Some(InitFlag::Rpcholesky) => Init::RpCholesky,
                Some(InitFlag::Kmeans) | None => Init::KMeans,
            },
            starts: self.starts.unwrap_or(usual.starts),
            iterations: self.iterations.unwrap_or(usual.iterations),
            seed: settings.seed,
            ..usual
        }
    }
}

/// Refuses settings that direct training does not use.
pub fn check(settings: &Settings) -> Result<()> {
    if settings.multiclass.is_some_and(|how| how != Multiclass::Shared) {
        return Err(Failure::usage("margin shares its vectors among the classes; leave --multiclass out, or choose a basis with --method"));
    }
    match (settings.tolerance.is_some(), settings.cache.is_some()) {
        (false, false) => Ok(()),
        (true, _) => Err(Failure::usage("--tolerance is not used by margin; --iterations says how far it goes")),
        (_, true) => Err(Failure::usage("--cache is not used by margin")),
    }
}
