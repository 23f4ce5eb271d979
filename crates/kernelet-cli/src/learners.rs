//! The learners by name: what each needs, which flags it uses, and how it is made.
//!
//! A new learner is one entry in [`LEARNERS`] and a function that makes it.
use clap::builder::{PossibleValuesParser, TypedValueParser};
use kernelet::{
    data::read::Wanted,
    kernel::{Kernel, Linear, Precomputed},
    learn::{BestSize, FrameLearner, Learner, OnGram, Penalty},
};

pub use crate::settings::{Settings, Task};
use crate::{
    direct,
    failure::{Failure, Result},
    makers,
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
        make: Make::OnBasis(|kernel, settings| Box::new(makers::svc(kernel, settings))),
    },
    Choice {
        name: "nu-svc",
        wanted: Wanted::Classes,
        cost: Some(NU),
        uses: &["nu", "tolerance", "cache", "multiclass"],
        make: Make::OnBasis(|kernel, settings| Box::new(makers::nu_svc(kernel, settings))),
    },
    Choice {
        name: "svr",
        wanted: Wanted::Values,
        cost: Some(C),
        uses: &["c", "epsilon", "tolerance", "cache"],
        make: Make::OnBasis(|kernel, settings| Box::new(makers::svr(kernel, settings))),
    },
    Choice {
        name: "nu-svr",
        wanted: Wanted::Values,
        cost: Some(C),
        uses: &["c", "nu", "tolerance", "cache"],
        make: Make::OnBasis(|kernel, settings| Box::new(makers::nu_svr(kernel, settings))),
    },
    Choice {
        name: "one-class",
        wanted: Wanted::Nothing,
        cost: Some(NU),
        uses: &["nu", "tolerance", "cache"],
        make: Make::OnBasis(|kernel, settings| Box::new(makers::one_class(kernel, settings))),
    },
    Choice {
        name: "ridge",
        wanted: Wanted::Values,
        cost: Some(LAMBDA),
        uses: &["lambda"],
        make: Make::OnBasis(|kernel, settings| Box::new(makers::ridge(kernel, settings))),
    },
    Choice {
        name: "fisher",
        wanted: Wanted::Classes,
        cost: Some(LAMBDA),
        uses: FISHER,
        make: Make::OnBasis(|kernel, settings| Box::new(makers::fisher(kernel, settings))),
    },
    Choice {
        name: "logistic",
        wanted: Wanted::Classes,
        cost: Some(C),
        uses: &["c", "class-weight", "cache"],
        make: Make::OnBasis(|kernel, settings| Box::new(makers::logistic(kernel, settings))),
    },
    Choice {
        name: "pca",
        wanted: Wanted::Nothing,
        cost: None,
        uses: PCA,
        make: Make::OnBasis(|kernel, settings| Box::new(makers::pca(kernel, settings))),
    },
    Choice {
        name: "rvm",
        wanted: Wanted::Classes,
        cost: None,
        uses: &["task", "tolerance", "cache"],
        make: Make::Full(|kernel, settings| Box::new(makers::rvm(kernel, settings))),
    },
    Choice {
        name: "parzen",
        wanted: Wanted::Classes,
        cost: None,
        uses: &["class-weight"],
        make: Make::Full(|kernel, settings| Box::new(makers::parzen(kernel, settings))),
    },
    Choice {
        name: "nadaraya-watson",
        wanted: Wanted::Values,
        cost: None,
        uses: &[],
        make: Make::Full(|kernel, settings| Box::new(makers::nadaraya_watson(kernel, settings))),
    },
];

const FISHER: &[&str] = &["lambda", "penalty", "bias", "c", "class-weight", "cache"];
const PCA: &[&str] = &["components", "explained", "whiten", "tolerance", "cache"];

const C: Cost = Cost { name: "c", grid: &[0.1, 1.0, 10.0, 100.0, 1000.0], place: |settings| &mut settings.c };
// Half a step of the grid up is still a nu that most data allow.
const NU: Cost = Cost { name: "nu", grid: &[0.001, 0.01, 0.1], place: |settings| &mut settings.nu };
const LAMBDA: Cost = Cost { name: "lambda", grid: &[1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1.0], place: |settings| &mut settings.lambda };

impl Choice {
    /// Refuses flags that this learner does not use.
    pub fn check(&self, settings: &Settings) -> Result<()> {
        let able: Vec<&str> = LEARNERS.iter().filter(|choice| matches!(choice.make, Make::OnBasis(_))).map(|choice| choice.name).collect();
        settings.basis.check(self.name, &able)?;
        match (settings.basis.is_direct(self.name), settings.direct.given()) {
            (true, _) => direct::check(self.name, settings)?,
            (false, Some(flag)) => {
                return Err(Failure::usage(format!("--{flag} goes with direct training: --vectors without another --method")));
            }
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
        if let Some(baseline) = settings.basis.baseline() {
            return Box::new(makers::baseline(baseline, kernel, settings));
        }
        if let (true, Some(vectors)) = (settings.basis.is_direct(self.name), settings.basis.vectors) {
            return direct::learner(self.name, kernel, settings, vectors);
        }
        match self.make {
            Make::Full(make) => make(kernel, settings),
            // Points with the linear kernel take the place of rows of kernel values where these are not enough.
            Make::OnBasis(make) if kernel == Kernel::Precomputed(Precomputed {}) && self.needs_points(settings) => {
                Box::new(OnGram { learner: settings.basis.learner(|| make(Kernel::Linear(Linear {}), settings)) })
            }
            Make::OnBasis(make) => settings.basis.learner(|| make(kernel.clone(), settings)),
        }
    }

    /// True where kernel values between vectors are used beyond those of a row with the training rows: by a basis, and by these learners.
    fn needs_points(&self, settings: &Settings) -> bool {
        settings.basis.method.is_some() || ["ridge", "logistic"].contains(&self.name)
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
