//! The methods of `compress` by name, and how each is made from the flags.
//!
//! A new method is one entry in [`METHODS`] and a function that makes it.
use clap::{
    Args, ValueEnum,
    builder::{PossibleValuesParser, TypedValueParser},
};
use kernelet::sparsify::{
    Sparsifier,
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
pub const METHODS: &[Method] = &[Method { name: "pursuit", uses: &["criterion", "outputs", "sample", "plain"], make: pursuit }];

fn pursuit(settings: &Settings, seed: u64) -> Box<dyn Sparsifier> {
    Box::new(Pursuit {
        criterion: settings.criterion.unwrap_or(CriterionFlag::Weights).into(),
        outputs: match settings.outputs {
            Some(OutputsFlag::Separate) => Outputs::Separate,
            _ => Outputs::Joint,
        },
        backfit: !settings.plain,
        sample: settings.sample,
        seed,
    })
}

/// Settings of the methods.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Method")]
pub struct Settings {
    /// What a vector is chosen for (pursuit) [default: weights].
    #[arg(long, value_name = "WHAT", value_enum)]
    pub criterion: Option<CriterionFlag>,
    /// One set of vectors for all outputs, or one for each (pursuit) [default: joint].
    #[arg(long, value_name = "HOW", value_enum)]
    pub outputs: Option<OutputsFlag>,
    /// Look at a random sample of N candidates for each vector; 59 has one of the best 5 % with probability 0.95 (pursuit) [default: all].
    #[arg(long, value_name = "N")]
    pub sample: Option<usize>,
    /// Set only the newest coefficient instead of refitting all after each vector (pursuit).
    #[arg(long)]
    pub plain: bool,
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
}

impl Settings {
    fn given(&self) -> Vec<&'static str> {
        let flags = [
            ("criterion", self.criterion.is_some()),
            ("outputs", self.outputs.is_some()),
            ("sample", self.sample.is_some()),
            ("plain", self.plain),
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
