//! The learners by name: what each needs, which flags it uses, and how it is made.
//!
//! A new learner is one entry in [`LEARNERS`] and a function that makes it.
use clap::{
    Args, ValueEnum,
    builder::{PossibleValuesParser, TypedValueParser},
};
use kernelet::{
    data::read::Wanted,
    evaluate::Threshold,
    kernel::Kernel,
    learn::{
        BestSize, ClassWeights, Components, Fisher, FrameLearner, Learner, Multiclass, NadarayaWatson, NuSvc, NuSvr, OneClass, Parzen, Pca,
        Penalty, Ridge, Rvm, Svc, Svr,
    },
};

use crate::{
    bases, direct,
    failure::{Failure, Result},
    words,
};

/// One learner.
#[derive(Debug)]
pub struct Choice {
    /// The name on the command line.
    pub name: &'static str,
    /// The target it learns from.
    pub wanted: Wanted,
    /// The setting that `--tune` searches beside the width, where there is one.
    pub cost: Option<Cost>,
    /// The flags it uses.
    uses: &'static [&'static str],
    make: Make,
}

/// How a learner is made.
#[derive(Debug)]
enum Make {
    /// It can also learn on a basis.
    OnBasis(fn(Kernel, &Settings) -> Box<dyn FrameLearner>),
    /// It is a full machine always.
    Full(fn(Kernel, &Settings) -> Box<dyn Learner>),
}

/// The setting that weighs errors against smoothness.
#[derive(Debug)]
pub struct Cost {
    /// The flag and JSON key.
    pub name: &'static str,
    /// The values that `--tune` tries first, in factors of 10.
    pub grid: &'static [f64],
    place: fn(&mut Settings) -> &mut Option<f64>,
}

/// All learners, the default first.
pub const LEARNERS: &[Choice] = &[
    Choice {
        name: "svc",
        wanted: Wanted::Classes,
        cost: Some(C),
        uses: &["c", "tolerance", "cache", "class-weight", "multiclass"],
        make: Make::OnBasis(svc),
    },
    Choice {
        name: "nu-svc",
        wanted: Wanted::Classes,
        cost: Some(NU),
        uses: &["nu", "tolerance", "cache", "multiclass"],
        make: Make::OnBasis(nu_svc),
    },
    Choice { name: "svr", wanted: Wanted::Values, cost: Some(C), uses: &["c", "epsilon", "tolerance", "cache"], make: Make::OnBasis(svr) },
    Choice { name: "nu-svr", wanted: Wanted::Values, cost: Some(C), uses: &["c", "nu", "tolerance", "cache"], make: Make::OnBasis(nu_svr) },
    Choice {
        name: "one-class",
        wanted: Wanted::Nothing,
        cost: Some(NU),
        uses: &["nu", "tolerance", "cache"],
        make: Make::OnBasis(one_class),
    },
    Choice { name: "ridge", wanted: Wanted::Values, cost: Some(LAMBDA), uses: &["lambda"], make: Make::OnBasis(ridge) },
    Choice { name: "fisher", wanted: Wanted::Classes, cost: Some(LAMBDA), uses: FISHER, make: Make::OnBasis(fisher) },
    Choice { name: "pca", wanted: Wanted::Nothing, cost: None, uses: PCA, make: Make::Full(pca) },
    Choice { name: "rvm", wanted: Wanted::Classes, cost: None, uses: &["task", "tolerance", "cache"], make: Make::Full(rvm) },
    Choice { name: "parzen", wanted: Wanted::Classes, cost: None, uses: &["class-weight"], make: Make::Full(parzen) },
    Choice { name: "nadaraya-watson", wanted: Wanted::Values, cost: None, uses: &[], make: Make::Full(nadaraya_watson) },
];

const FISHER: &[&str] = &["lambda", "penalty", "bias", "c", "class-weight", "cache"];
const PCA: &[&str] = &["components", "explained", "whiten", "tolerance", "cache"];

const C: Cost = Cost { name: "c", grid: &[0.1, 1.0, 10.0, 100.0, 1000.0], place: |settings| &mut settings.c };
// Half a step of the grid up is still a nu that most data allow.
const NU: Cost = Cost { name: "nu", grid: &[0.001, 0.01, 0.1], place: |settings| &mut settings.nu };
const LAMBDA: Cost = Cost { name: "lambda", grid: &[1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1.0], place: |settings| &mut settings.lambda };

fn svc(kernel: Kernel, settings: &Settings) -> Box<dyn FrameLearner> {
    let usual = Svc::default();
    Box::new(Svc {
        kernel,
        c: settings.c.unwrap_or(usual.c),
        class_weights: settings.class_weight.clone().unwrap_or_default(),
        multiclass: settings.basis.multiclass(settings.multiclass),
        tolerance: settings.tolerance.unwrap_or(usual.tolerance),
        cache_bytes: settings.cache_bytes(usual.cache_bytes),
        ..usual
    })
}

fn nu_svc(kernel: Kernel, settings: &Settings) -> Box<dyn FrameLearner> {
    let usual = NuSvc::default();
    Box::new(NuSvc {
        kernel,
        nu: settings.nu.unwrap_or(usual.nu),
        multiclass: settings.multiclass.unwrap_or_default(),
        tolerance: settings.tolerance.unwrap_or(usual.tolerance),
        cache_bytes: settings.cache_bytes(usual.cache_bytes),
        ..usual
    })
}

fn svr(kernel: Kernel, settings: &Settings) -> Box<dyn FrameLearner> {
    let usual = Svr::default();
    Box::new(Svr {
        kernel,
        c: settings.c.unwrap_or(usual.c),
        epsilon: settings.epsilon.unwrap_or(usual.epsilon),
        tolerance: settings.tolerance.unwrap_or(usual.tolerance),
        cache_bytes: settings.cache_bytes(usual.cache_bytes),
        ..usual
    })
}

fn nu_svr(kernel: Kernel, settings: &Settings) -> Box<dyn FrameLearner> {
    let usual = NuSvr::default();
    Box::new(NuSvr {
        kernel,
        c: settings.c.unwrap_or(usual.c),
        nu: settings.nu.unwrap_or(usual.nu),
        tolerance: settings.tolerance.unwrap_or(usual.tolerance),
        cache_bytes: settings.cache_bytes(usual.cache_bytes),
        ..usual
    })
}

fn one_class(kernel: Kernel, settings: &Settings) -> Box<dyn FrameLearner> {
    let usual = OneClass::default();
    Box::new(OneClass {
        kernel,
        nu: settings.nu.unwrap_or(usual.nu),
        tolerance: settings.tolerance.unwrap_or(usual.tolerance),
        cache_bytes: settings.cache_bytes(usual.cache_bytes),
        ..usual
    })
}

fn ridge(kernel: Kernel, settings: &Settings) -> Box<dyn FrameLearner> {
    Box::new(Ridge { kernel, lambda: settings.lambda.unwrap_or(Ridge::default().lambda) })
}

fn fisher(kernel: Kernel, settings: &Settings) -> Box<dyn FrameLearner> {
    let usual = Fisher::default();
    let cost = settings.c.unwrap_or(1.0);
    Box::new(Fisher {
        kernel,
        penalty: settings.penalty.unwrap_or_default(),
        lambda: settings.lambda.unwrap_or(usual.lambda),
        bias: settings.bias.and_then(|rule| Threshold::named(rule.name(), cost)).unwrap_or_default(),
        class_weights: settings.class_weight.clone().unwrap_or_default(),
        cache_bytes: settings.cache_bytes(usual.cache_bytes),
    })
}

fn pca(kernel: Kernel, settings: &Settings) -> Box<dyn Learner> {
    let usual = Pca::default();
    let count = settings.components.map(Components::Count);
    Box::new(Pca {
        kernel,
        components: settings.explained.map(Components::Explained).or(count).unwrap_or(usual.components),
        whiten: settings.whiten,
        tolerance: settings.tolerance.unwrap_or(usual.tolerance),
        cache_bytes: settings.cache_bytes(usual.cache_bytes),
        seed: settings.seed,
    })
}

fn rvm(kernel: Kernel, settings: &Settings) -> Box<dyn Learner> {
    let usual = Rvm::default();
    Box::new(Rvm {
        kernel,
        tolerance: settings.tolerance.unwrap_or(usual.tolerance),
        cache_bytes: settings.cache_bytes(usual.cache_bytes),
        ..usual
    })
}

fn parzen(kernel: Kernel, settings: &Settings) -> Box<dyn Learner> {
    Box::new(Parzen { kernel, class_weights: settings.class_weight.clone().unwrap_or_default() })
}

fn nadaraya_watson(kernel: Kernel, _: &Settings) -> Box<dyn Learner> {
    Box::new(NadarayaWatson { kernel })
}

/// What is learned, by learners that can learn either.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    /// Classes.
    Classification,
    /// Numbers.
    Regression,
}

/// Settings of the learners; what is not given is the learner's default.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Learner")]
pub struct Settings {
    /// Cost of an error (svc, svr, nu-svr; fisher with --bias svm) [default: 1].
    #[arg(long, value_name = "C", allow_negative_numbers = true)]
    pub c: Option<f64>,
    /// Part of the rows that may be margin errors (nu-svc) or lie outside (nu-svr, one-class), above 0 and at most 1 [default: 0.5].
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub nu: Option<f64>,
    /// Errors up to this cost nothing (svr) [default: 0.1].
    #[arg(long, value_name = "E", allow_negative_numbers = true)]
    pub epsilon: Option<f64>,
    /// Penalty of large coefficients (ridge, fisher) [default: 1; fisher 0.001].
    #[arg(long, value_name = "L", allow_negative_numbers = true)]
    pub lambda: Option<f64>,
    /// What is learned: classification or regression (rvm) [default: classification].
    #[arg(long, value_name = "WHAT", value_enum, hide_possible_values = true)]
    pub task: Option<Task>,
    /// Stop when the optimality conditions (support vector learners), the evidence (rvm) or eigenvectors (pca) hold up to this [default: 0.001; pca 1e-8].
    #[arg(long, value_name = "T", allow_negative_numbers = true)]
    pub tolerance: Option<f64>,
    /// Megabytes for kernel values that are kept; fisher and pca keep all [default: 200; rvm 1024; fisher, pca 8192].
    #[arg(long, value_name = "MB", value_parser = clap::value_parser!(u32).range(1..))]
    pub cache: Option<u32>,
    /// Factors of C (svc), of the scatter (fisher) or of the shares (parzen) for the classes: balanced, or LABEL=W,.. [default: all 1].
    #[arg(long, value_name = "W", value_parser = words::class_weights, allow_hyphen_values = true)]
    pub class_weight: Option<ClassWeights>,
    /// How several classes become two-class problems: one-vs-one, one-vs-rest, ecoc, or with a budget of vectors shared (svc, nu-svc)
    /// [default: one-vs-one; for svc with a budget shared].
    #[arg(long, value_name = "HOW", value_parser = words::multiclass)]
    pub multiclass: Option<Multiclass>,
    /// What lambda penalises: weight, coefficients, or none (fisher) [default: weight].
    #[arg(long, value_name = "WHAT", value_parser = words::penalty)]
    pub penalty: Option<Penalty>,
    /// How the threshold is chosen: midpoint, equal-mahalanobis, least-error or svm (fisher) [default: least-error].
    #[arg(long, value_name = "RULE", value_parser = words::bias)]
    pub bias: Option<Threshold>,
    /// Components to keep (pca) [default: 10].
    #[arg(long, value_name = "K", conflicts_with = "explained")]
    pub components: Option<usize>,
    /// Keep as many components as have this part of the variance, such as 0.95 (pca).
    #[arg(long, value_name = "PART", allow_negative_numbers = true)]
    pub explained: Option<f64>,
    /// Divide the features by their standard deviations (pca).
    #[arg(long)]
    pub whiten: bool,
    /// The seed of the run.
    #[arg(skip)]
    pub seed: u64,
    /// Flags of a basis.
    #[command(flatten)]
    pub basis: bases::Flags,
    /// Flags of direct training.
    #[command(flatten)]
    pub direct: direct::DirectFlags,
}

impl Settings {
    /// The settings with a seed for what they draw: the words of output codes, the first block of an eigen-solver, bases.
    pub fn seeded(mut self, seed: u64) -> Self {
        self.seed = seed;
        self.basis.seed = seed;
        self.basis.cache_bytes = self.cache.map(|megabytes| (megabytes as usize) << 20);
        if let Some(Multiclass::OutputCodes { seed: old }) = &mut self.multiclass {
            *old = seed;
        }
        self
    }

    fn cache_bytes(&self, usual: usize) -> usize {
        self.cache.map_or(usual, |megabytes| (megabytes as usize) << 20)
    }

    /// The flags that were given.
    fn given(&self) -> Vec<&'static str> {
        let flags = [
            ("c", self.c.is_some()),
            ("nu", self.nu.is_some()),
            ("epsilon", self.epsilon.is_some()),
            ("lambda", self.lambda.is_some()),
            ("task", self.task.is_some()),
            ("tolerance", self.tolerance.is_some()),
            ("cache", self.cache.is_some()),
            ("class-weight", self.class_weight.is_some()),
            ("multiclass", self.multiclass.is_some()),
            ("penalty", self.penalty.is_some()),
            ("bias", self.bias.is_some()),
            ("components", self.components.is_some()),
            ("explained", self.explained.is_some()),
            ("whiten", self.whiten),
        ];
        flags.into_iter().filter(|(_, given)| *given).map(|(name, _)| name).collect()
    }

    /// Refuses a flag that another one makes useless.
    fn check_together(&self) -> Result<()> {
        if self.penalty == Some(Penalty::None) && self.lambda.is_some() {
            return Err(Failure::usage("--lambda is not used with --penalty none"));
        }
        if self.c.is_some() && !matches!(self.bias, Some(Threshold::Svm { .. })) {
            return Err(Failure::usage("--c is used by fisher only with --bias svm"));
        }
        Ok(())
    }
}

impl Choice {
    /// Refuses flags that this learner does not use.
    pub fn check(&self, settings: &Settings) -> Result<()> {
        let able: Vec<&str> = LEARNERS.iter().filter(|choice| matches!(choice.make, Make::OnBasis(_))).map(|choice| choice.name).collect();
        settings.basis.check(self.name, &able)?;
        match (settings.basis.is_direct(self.name), settings.direct.given()) {
            (true, _) => direct::check(settings)?,
            (false, Some(flag)) => return Err(Failure::usage(format!("--{flag} goes with --method margin"))),
            (false, None) => {}
        }
        let Some(flag) = settings.given().into_iter().find(|flag| !self.uses.contains(flag)) else {
            return if self.name == "fisher" { settings.check_together() } else { Ok(()) };
        };
        let users: Vec<&str> = LEARNERS.iter().filter(|choice| choice.uses.contains(&flag)).map(|choice| choice.name).collect();
        Err(Failure::usage(format!("--{flag} is not used by {}, only by {}", self.name, users.join(", "))))
    }

    /// The target it learns from, with these settings.
    pub fn target(&self, settings: &Settings) -> Wanted {
        match settings.task {
            Some(Task::Regression) => Wanted::Values,
            _ => self.wanted,
        }
    }

    /// The learner, on a basis where the settings have one.
    pub fn make(&self, kernel: Kernel, settings: &Settings) -> Box<dyn Learner> {
        if let (true, Some(vectors)) = (settings.basis.is_direct(self.name), settings.basis.vectors) {
            return Box::new(settings.direct.margin(kernel, settings, vectors));
        }
        match self.make {
            Make::Full(make) => make(kernel, settings),
            Make::OnBasis(make) => settings.basis.learner(|| make(kernel.clone(), settings)),
        }
    }

    /// The learner with the number of its vectors chosen by cross-validation, where the settings ask for that.
    pub fn best_size(&self, kernel: Kernel, settings: &Settings) -> Option<BestSize> {
        let Make::OnBasis(make) = self.make else { return None };
        settings.basis.best_size(|| make(kernel.clone(), settings))
    }

    /// The setting that `--tune` searches beside the width, with these settings.
    pub fn cost(&self, settings: &Settings) -> Option<&Cost> {
        self.cost.as_ref().filter(|_| settings.penalty != Some(Penalty::None))
    }

    /// The cost that was given.
    pub fn given_cost(&self, settings: &Settings) -> Option<f64> {
        self.cost.as_ref().and_then(|cost| *(cost.place)(&mut settings.clone()))
    }

    /// The settings with another cost, where the learner has one.
    pub fn with_cost(&self, settings: &Settings, value: f64) -> Settings {
        let mut settings = settings.clone();
        if let Some(cost) = &self.cost {
            *(cost.place)(&mut settings) = Some(value);
        }
        settings
    }
}

/// Reads the name of a learner.
pub fn by_name() -> impl TypedValueParser<Value = &'static Choice> {
    let names = PossibleValuesParser::new(LEARNERS.iter().map(|choice| choice.name));
    names.try_map(|name| LEARNERS.iter().find(|choice| choice.name == name).ok_or("there is no such learner"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_are_those_of_the_library() {
        let none = Settings::default();
        for choice in LEARNERS {
            assert_eq!(choice.make(Kernel::gaussian(1.0), &none).name(), choice.name);
            assert_eq!(choice.given_cost(&choice.with_cost(&none, 2.0)), choice.cost.as_ref().map(|_| 2.0));
            assert!(choice.cost.as_ref().is_none_or(|cost| choice.uses.contains(&cost.name)));
        }
    }
}
