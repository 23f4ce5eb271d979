//! The methods of `compress` by name, and how each is made from the flags.
//!
//! A new method is one entry in [`METHODS`] and a function that makes it.
use clap::{
    Args, ValueEnum,
    builder::{PossibleValuesParser, TypedValueParser},
};
use kernelet::sparsify::{
    Sparsifier,
    construct::{FixedPoint, Gradient, Objective, Refine, RefineFrom, Refinement, Starts, StartsFrom},
    select::{Criterion, Outputs, Pursuit},
};

use crate::failure::{Failure, Result};

/// One method.
#[derive(Debug)]
pub struct Method {
    /// The name on the command line.
    pub name: &'static str,
    /// The flags it uses.
    uses: &'static [&'static str],
    make: fn(&Settings, u64) -> Box<dyn Sparsifier>,
}

/// All methods, the default first.
pub const METHODS: &[Method] = &[
    Method { name: "pursuit", uses: &["criterion", "outputs", "sample", "plain"], make: pursuit },
    Method { name: "fixed-point", uses: &["outputs", "starts", "start-from"], make: fixed_point },
    Method { name: "gradient", uses: &["outputs", "starts", "start-from"], make: gradient },
    Method { name: "refine", uses: &["start-from"], make: refine },
];

fn pursuit(settings: &Settings, seed: u64) -> Box<dyn Sparsifier> {
    Box::new(Pursuit {
        criterion: settings.criterion.unwrap_or(CriterionFlag::Weights).into(),
        outputs: settings.outputs(),
        backfit: !settings.plain,
        sample: settings.sample,
        seed,
    })
}

fn fixed_point(settings: &Settings, seed: u64) -> Box<dyn Sparsifier> {
    Box::new(FixedPoint { starts: settings.starts(seed), outputs: settings.outputs(), ..FixedPoint::default() })
}

fn gradient(settings: &Settings, seed: u64) -> Box<dyn Sparsifier> {
    Box::new(Gradient { starts: settings.starts(seed), outputs: settings.outputs(), ..Gradient::default() })
}

fn refine(settings: &Settings, seed: u64) -> Box<dyn Sparsifier> {
    let from = if settings.start_from == Some(StartFlag::Vectors) { RefineFrom::Random } else { RefineFrom::KMeans };
    Box::new(Refine { how: settings.refinement().unwrap_or_default(), from, grid: settings.grid, seed })
}

/// Settings of the methods.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Method")]
pub struct Settings {
    /// What a vector is chosen for (pursuit) [default: weights].
    #[arg(long, value_name = "WHAT", value_enum)]
    pub criterion: Option<CriterionFlag>,
    /// One set of vectors for all outputs, or one for each (pursuit, fixed-point, gradient) [default: joint].
    #[arg(long, value_name = "HOW", value_enum)]
    pub outputs: Option<OutputsFlag>,
    /// Look at a random sample of N candidates for each vector; 59 has one of the best 5 % with probability 0.95 (pursuit) [default: all].
    #[arg(long, value_name = "N")]
    pub sample: Option<usize>,
    /// Set only the newest coefficient instead of refitting all after each vector (pursuit).
    #[arg(long)]
    pub plain: bool,
    /// Searches for each vector, of which the best is kept (fixed-point, gradient) [default: 10].
    #[arg(long, value_name = "N")]
    pub starts: Option<usize>,
    /// Where searches begin (fixed-point, gradient, refine) [default: vectors; kmeans for refine].
    #[arg(long, value_name = "WHERE", value_enum)]
    pub start_from: Option<StartFlag>,
    /// Move all vectors together afterwards, after any method; =WHAT says what for [default: weights].
    #[arg(long, value_name = "WHAT", value_enum, num_args = 0..=1, require_equals = true, default_missing_value = "weights")]
    pub refine: Option<RefineFlag>,
    /// The most steps of --refine and of the method refine [default: 200].
    #[arg(long, value_name = "N")]
    pub refine_steps: Option<usize>,
    /// Move coefficients together with the vectors instead of eliminating them; for --refine and the method refine.
    #[arg(long)]
    pub refine_joint: bool,
    /// Whether sizes on the way are wanted.
    #[arg(skip)]
    pub grid: bool,
}

/// Where searches begin.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartFlag {
    /// Vectors of the model, or rows with --from-data.
    Vectors,
    /// Centres of clusters of them.
    Kmeans,
}

/// What vectors are moved for.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefineFlag {
    /// The distance of the weight vectors in feature space.
    Weights,
    /// The squared error of the outputs on the rows of --data.
    Outputs,
    /// The same, where rows near the decision count more.
    Margins,
}

/// What a vector is chosen for.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum CriterionFlag {
    /// The distance of the weight vectors in feature space.
    Weights,
    /// The same once all coefficients are refitted.
    RefittedWeights,
    /// The difference of the outputs on the rows of --data.
    Outputs,
}

impl From<CriterionFlag> for Criterion {
    fn from(flag: CriterionFlag) -> Self {
        match flag {
            CriterionFlag::Weights => Criterion::Weights,
            CriterionFlag::RefittedWeights => Criterion::RefittedWeights,
            CriterionFlag::Outputs => Criterion::Outputs,
        }
    }
}

/// How several outputs share vectors.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputsFlag {
    /// One set of vectors for all.
    Joint,
    /// Each output has its own; --vectors is for each.
    Separate,
    /// Each output constructs its own, and all of them use those of all (fixed-point, gradient).
    Pooled,
}

impl Settings {
    fn outputs(&self) -> Outputs {
        match self.outputs {
            Some(OutputsFlag::Separate) => Outputs::Separate,
            Some(OutputsFlag::Pooled) => Outputs::Pooled,
            Some(OutputsFlag::Joint) | None => Outputs::Joint,
        }
    }

    fn starts(&self, seed: u64) -> Starts {
        let from = if self.start_from == Some(StartFlag::Kmeans) { StartsFrom::KMeans } else { StartsFrom::Vectors };
        Starts { from, count: self.starts.unwrap_or(Starts::default().count), seed }
    }

    /// How vectors are moved together, where that is asked for.
    pub fn refinement(&self) -> Option<Refinement> {
        let asked = self.refine.is_some() || self.refine_steps.is_some() || self.refine_joint;
        asked.then(|| Refinement {
            objective: match self.refine {
                Some(RefineFlag::Outputs) => Objective::Outputs,
                Some(RefineFlag::Margins) => Objective::Margins,
                Some(RefineFlag::Weights) | None => Objective::Weights,
            },
            max_steps: self.refine_steps.unwrap_or(Refinement::default().max_steps),
            joint: self.refine_joint,
        })
    }

    fn given(&self) -> Vec<&'static str> {
        let flags = [
            ("criterion", self.criterion.is_some()),
            ("outputs", self.outputs.is_some()),
            ("sample", self.sample.is_some()),
            ("plain", self.plain),
            ("starts", self.starts.is_some()),
            ("start-from", self.start_from.is_some()),
        ];
        flags.into_iter().filter(|(_, given)| *given).map(|(name, _)| name).collect()
    }
}

impl Method {
    /// The method with its settings; flags that it does not use are refused.
    pub fn make(&self, settings: &Settings, seed: u64) -> Result<Box<dyn Sparsifier>> {
        if let Some(flag) = settings.given().into_iter().find(|flag| !self.uses.contains(flag)) {
            let users: Vec<&str> = METHODS.iter().filter(|method| method.uses.contains(&flag)).map(|method| method.name).collect();
            return Err(Failure::usage(format!("--{flag} is not used by {}, only by {}", self.name, users.join(", "))));
        }
        let made = (self.make)(settings, seed);
        made.check()?;
        Ok(made)
    }
}

/// Reads the name of a method; `auto` is the default.
pub fn by_name() -> impl TypedValueParser<Value = &'static Method> {
    let names = PossibleValuesParser::new(std::iter::once("auto").chain(METHODS.iter().map(|method| method.name)));
    names.try_map(|name| match name.as_str() {
        "auto" => METHODS.first().ok_or("there is no method"),
        _ => METHODS.iter().find(|method| method.name == name).ok_or("there is no such method"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_are_those_of_the_library() {
        for method in METHODS {
            assert_eq!(method.make(&Settings::default(), 0).unwrap().name(), method.name);
        }
    }
}
