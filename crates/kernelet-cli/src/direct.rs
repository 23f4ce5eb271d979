//! Direct training of machines with few vectors: the flags.
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use kernelet::{
    kernel::Kernel,
    learn::{
        Learner, Multiclass,
        direct::{DirectLearner, DirectLoss, DirectTask, Growth, Init, Margin, Search, Sharing},
    },
};

use crate::{
    failure::{Failure, Result},
    makers,
    settings::Settings,
};

/// Learners whose vectors can be found with them, and what the method is called.
const DIRECT: &[(&str, &str)] = &[
    ("svc", "margin"),
    ("ridge", "ridge"),
    ("svr", "svr"),
    ("fisher", "fisher"),
    ("logistic", "logistic"),
    ("one-class", "one-class"),
    ("pca", "pca"),
];

/// The direct method of a learner.
pub fn method_of(learner: &str) -> Option<&'static str> {
    DIRECT.iter().find(|(name, _)| *name == learner).map(|(_, method)| *method)
}

/// The learner of a direct method.
pub fn learner_of(method: &str) -> &'static str {
    DIRECT.iter().find(|(_, name)| *name == method).map_or("no learner", |(learner, _)| *learner)
}

/// The learner with this name, whose vectors are found with it.
pub fn learner(name: &str, kernel: Kernel, settings: &Settings, vectors: usize) -> Box<dyn Learner> {
    let task = match name {
        "ridge" => DirectTask::Ridge(makers::ridge(kernel, settings)),
        "svr" => DirectTask::Svr(makers::svr(kernel, settings)),
        "fisher" => DirectTask::Fisher { fisher: makers::fisher(kernel, settings), margin: settings.direct.margin_cost(settings) },
        "logistic" => DirectTask::Logistic(makers::logistic(kernel, settings)),
        "one-class" => DirectTask::OneClass(makers::one_class(kernel, settings)),
        "pca" => DirectTask::Pca(makers::pca(kernel, settings)),
        _ => return Box::new(settings.direct.margin(kernel, settings, vectors)),
    };
    Box::new(DirectLearner { task, search: settings.direct.search(settings, vectors) })
}

/// Flags of direct training.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Direct training: vectors found with the machine (--vectors alone)")]
pub struct DirectFlags {
    /// What an error costs (margin) [default: squared-hinge].
    #[arg(long, value_name = "NAME", value_enum)]
    pub loss: Option<LossFlag>,
    /// Coefficients and offsets on the vectors: own, or margin, those of a large-margin machine with --c (fisher) [default: own].
    #[arg(long, value_name = "WHOSE", value_enum)]
    pub refit: Option<RefitFlag>,
    /// Where the vectors start [default: kmeans].
    #[arg(long, value_name = "HOW", value_enum)]
    pub init: Option<InitFlag>,
    /// Starts, of which the best is kept [default: 1].
    #[arg(long, value_name = "N")]
    pub starts: Option<usize>,
    /// Steps of the vectors [default: 200].
    #[arg(long, value_name = "N")]
    pub iterations: Option<usize>,
    /// Let the number of vectors grow: none, doubling or one-by-one [default: none].
    #[arg(long, value_name = "HOW", value_enum)]
    pub growth: Option<GrowthFlag>,
    /// A model file that is written every half minute and when the run is stopped; the same command then goes on from it.
    #[arg(long, value_name = "FILE")]
    pub checkpoint: Option<PathBuf>,
    /// Megabytes for the rows in coordinates of the vectors; what does not fit is computed again, which takes longer [default: 2048].
    #[arg(long, value_name = "MB")]
    pub memory: Option<usize>,
    /// How many vectors each class has of its own; experiments alone say so.
    #[arg(skip)]
    pub parts: Option<Vec<usize>>,
}

/// Whose coefficients a discriminant has on its vectors.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefitFlag {
    /// Fisher's.
    Own,
    /// Those of a large-margin machine.
    Margin,
}

/// How the number of vectors grows.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum GrowthFlag {
    /// All of them from the beginning.
    None,
    /// In doubling groups, new ones where the machine falls short.
    Doubling,
    /// One after another.
    OneByOne,
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
            ("refit", self.refit.is_some()),
            ("init", self.init.is_some()),
            ("starts", self.starts.is_some()),
            ("iterations", self.iterations.is_some()),
            ("growth", self.growth.is_some()),
            ("checkpoint", self.checkpoint.is_some()),
            ("memory", self.memory.is_some()),
        ];
        flags.into_iter().find(|(_, given)| *given).map(|(name, _)| name)
    }

    /// The direct learner with so many vectors.
    pub fn margin(&self, kernel: Kernel, settings: &Settings, vectors: usize) -> Margin {
        let usual = Margin::default();
        Margin {
            kernel,
            c: settings.c.unwrap_or(usual.c),
            loss: match self.loss {
                Some(LossFlag::Hinge) => DirectLoss::Hinge,
                _ => DirectLoss::SquaredHinge,
            },
            class_weights: settings.class_weight.clone().unwrap_or_default(),
            sharing: match (&self.parts, settings.multiclass) {
                (Some(parts), _) => Sharing::Parts(parts.clone()),
                (None, Some(Multiclass::OneVsRest)) => Sharing::Own,
                _ => Sharing::All,
            },
            search: self.search(settings, vectors),
            ..usual
        }
    }

    /// The cost of an error where a large-margin machine gives the coefficients.
    pub fn margin_cost(&self, settings: &Settings) -> Option<f64> {
        (self.refit == Some(RefitFlag::Margin)).then(|| settings.c.unwrap_or(1.0))
    }

    /// The search for so many vectors.
    pub fn search(&self, settings: &Settings, vectors: usize) -> Search {
        let usual = Search::default();
        Search {
            vectors,
            init: match self.init {
                Some(InitFlag::Random) => Init::Random,
                Some(InitFlag::Spread) => Init::Spread,
                Some(InitFlag::Rpcholesky) => Init::RpCholesky,
                Some(InitFlag::Kmeans) | None => Init::KMeans,
            },
            growth: match self.growth {
                Some(GrowthFlag::Doubling) => Growth::Doubling,
                Some(GrowthFlag::OneByOne) => Growth::OneByOne,
                Some(GrowthFlag::None) | None => Growth::None,
            },
            memory_bytes: self.memory.map_or(usual.memory_bytes, |megabytes| megabytes.saturating_mul(1 << 20)),
            checkpoint: self.checkpoint.clone(),
            starts: self.starts.unwrap_or(usual.starts),
            iterations: self.iterations.unwrap_or(usual.iterations),
            seed: settings.seed,
        }
    }
}

/// Refuses settings that the direct training of a learner does not use.
pub fn check(learner: &str, settings: &Settings) -> Result<()> {
    if settings.direct.refit.is_some() && learner != "fisher" {
        return Err(Failure::usage(format!("--refit goes with fisher, not with {learner}")));
    }
    if learner != "svc" {
        return match settings.direct.loss {
            Some(_) => Err(Failure::usage(format!("--loss goes with --method margin; {learner} has its own"))),
            None => Ok(()),
        };
    }
    if settings.multiclass.is_some_and(|how| !matches!(how, Multiclass::Shared | Multiclass::OneVsRest)) {
        return Err(Failure::usage(
            "margin has one machine for each class against the others; use --multiclass shared (one set of vectors) or one-vs-rest (each its own), \
             or choose a basis with --method",
        ));
    }
    match (settings.tolerance.is_some(), settings.cache.is_some()) {
        (false, false) => Ok(()),
        (true, _) => Err(Failure::usage("--tolerance is not used by margin; --iterations says how far it goes")),
        (_, true) => Err(Failure::usage("--cache is not used by margin")),
    }
}
