//! The methods of `compress` by name, and how each is made from the flags.
//!
//! A new method is one entry in [`METHODS`] and a function that makes it.
use clap::{
    Args, ValueEnum,
    builder::{PossibleValuesParser, TypedValueParser},
};
use kernelet::{
    compress::{
        Sparsifier,
        construct::{FixedPoint, Gradient, Objective, Refine, RefineFrom, Refinement, Starts, StartsFrom},
        select::{Chunked, Criterion, Independent, L0, L1, Outputs, Pursuit, Separate, Weights},
    },
    data::Points,
};

use crate::failure::{Failure, Result};

/// One method.
#[derive(Debug)]
pub struct Method {
    /// The name on the command line.
    pub name: &'static str,
    /// The flags it uses.
    uses: &'static [&'static str],
    /// True when it ends by itself, without a budget.
    pub ends_by_itself: fn(&Settings) -> bool,
    make: fn(&Settings, u64) -> Box<dyn Sparsifier>,
}

/// All methods; the first is what `auto` means where flags of methods are given.
pub const METHODS: &[Method] = &[
    Method { name: "pursuit", uses: &["criterion", "outputs", "sample", "plain", "chunk", "passes"], ends_by_itself: never, make: pursuit },
    Method { name: "l1", uses: &["outputs", "weights", "chunk", "passes"], ends_by_itself: never, make: l1 },
    Method {
        name: "l0",
        uses: &["outputs", "lossless", "tolerance", "chunk", "passes"],
        ends_by_itself: |settings| settings.lossless,
        make: l0,
    },
    Method { name: "independent", uses: &["tolerance", "chunk", "passes"], ends_by_itself: |_| true, make: independent },
    Method { name: "fixed-point", uses: &["outputs", "starts", "start-from", "starts-from"], ends_by_itself: never, make: fixed_point },
    Method { name: "gradient", uses: &["outputs", "starts", "start-from", "starts-from"], ends_by_itself: never, make: gradient },
    Method { name: "refine", uses: &["start-from"], ends_by_itself: never, make: refine },
];

fn never(_: &Settings) -> bool {
    false
}

fn pursuit(settings: &Settings, seed: u64) -> Box<dyn Sparsifier> {
    Box::new(Pursuit {
        criterion: settings.criterion.unwrap_or(CriterionFlag::Weights).into(),
        outputs: settings.outputs(),
        backfit: !settings.plain,
        sample: settings.sample,
        seed,
    })
}

fn l1(settings: &Settings, _seed: u64) -> Box<dyn Sparsifier> {
    let weights = match settings.weights {
        Some(WeightsFlag::Inverse) => Weights::Inverse,
        _ => Weights::Equal,
    };
    settings.for_each(Box::new(L1 { weights }))
}

fn l0(settings: &Settings, _seed: u64) -> Box<dyn Sparsifier> {
    let defaults = L0::default();
    settings.for_each(Box::new(L0 { lossless: settings.lossless, tolerance: settings.tolerance.unwrap_or(defaults.tolerance), ..defaults }))
}

fn independent(settings: &Settings, _seed: u64) -> Box<dyn Sparsifier> {
    Box::new(Independent { tolerance: settings.tolerance.unwrap_or(Independent::default().tolerance) })
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
    /// One set of vectors for all outputs, or one for each (pursuit, l1, l0, fixed-point, gradient) [default: joint].
    #[arg(long, value_name = "HOW", value_enum)]
    pub outputs: Option<OutputsFlag>,
    /// Look at a random sample of N candidates for each vector; 59 has one of the best 5 % with probability 0.95 (pursuit) [default: all].
    #[arg(long, value_name = "N")]
    pub sample: Option<usize>,
    /// Set only the newest coefficient instead of refitting all after each vector (pursuit).
    #[arg(long)]
    pub plain: bool,
    /// How much the penalty weighs on each vector (l1) [default: equal].
    #[arg(long, value_name = "HOW", value_enum)]
    pub weights: Option<WeightsFlag>,
    /// Leave out only vectors that the others can stand for exactly; needs no --vectors (l0).
    #[arg(long)]
    pub lossless: bool,
    /// Vectors nearer than this part to the span of others count as lying in it (independent, l0 --lossless) [default: 1e-10].
    #[arg(long, value_name = "T", allow_negative_numbers = true)]
    pub tolerance: Option<f64>,
    /// Work on N vectors at a time, the others held fixed: for machines too large to be looked at whole [default: all].
    #[arg(long, value_name = "N")]
    pub chunk: Option<usize>,
    /// How often each chunk has its turn (with --chunk) [default: 2].
    #[arg(long, value_name = "P", requires = "chunk")]
    pub passes: Option<usize>,
    /// Searches for each vector, of which the best is kept (fixed-point, gradient) [default: 10].
    #[arg(long, value_name = "N")]
    pub starts: Option<usize>,
    /// Where searches begin (fixed-point, gradient, refine) [default: vectors; kmeans for refine].
    #[arg(long, value_name = "WHERE", value_enum)]
    pub start_from: Option<StartFlag>,
    /// Searches begin at rows of this file instead, each drawn at random or taken for explaining most (fixed-point, gradient).
    #[arg(long, value_name = "FILE", conflicts_with = "start_from")]
    pub starts_from: Option<String>,
    /// The rows of that file.
    #[arg(skip)]
    pub start_points: Option<Points>,
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

/// How much the penalty weighs on each vector.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum WeightsFlag {
    /// The same on all.
    Equal,
    /// The inverse of the vector's coefficient.
    Inverse,
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
        let from = match (&self.start_points, self.start_from) {
            (Some(points), _) => StartsFrom::Given(points.clone()),
            (None, Some(StartFlag::Kmeans)) => StartsFrom::KMeans,
            (None, Some(StartFlag::Vectors) | None) => StartsFrom::Vectors,
        };
        Starts { from, count: self.starts.unwrap_or(Starts::default().count), seed }
    }

    /// The method, for each output by itself where that is asked for.
    fn for_each(&self, method: Box<dyn Sparsifier>) -> Box<dyn Sparsifier> {
        match self.outputs {
            Some(OutputsFlag::Separate) => Box::new(Separate { method }),
            _ => method,
        }
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

    /// The flags of methods that were given.
    pub fn given(&self) -> Vec<&'static str> {
        let flags = [
            ("criterion", self.criterion.is_some()),
            ("outputs", self.outputs.is_some()),
            ("sample", self.sample.is_some()),
            ("plain", self.plain),
            ("weights", self.weights.is_some()),
            ("lossless", self.lossless),
            ("tolerance", self.tolerance.is_some()),
            ("chunk", self.chunk.is_some()),
            ("passes", self.passes.is_some()),
            ("starts", self.starts.is_some()),
            ("start-from", self.start_from.is_some()),
            ("starts-from", self.starts_from.is_some()),
        ];
        flags.into_iter().filter(|(_, given)| *given).map(|(name, _)| name).collect()
    }
}

impl Method {
    /// True when it makes new vectors, whose search begins somewhere.
    pub fn makes_vectors(&self) -> bool {
        self.uses.contains(&"start-from")
    }

    /// The method with its settings; flags that it does not use are refused.
    pub fn make(&self, settings: &Settings, seed: u64) -> Result<Box<dyn Sparsifier>> {
        if let Some(flag) = settings.given().into_iter().find(|flag| !self.uses.contains(flag)) {
            let users: Vec<&str> = METHODS.iter().filter(|method| method.uses.contains(&flag)).map(|method| method.name).collect();
            return Err(Failure::usage(format!("--{flag} is not used by {}, only by {}", self.name, users.join(", "))));
        }
        let mut made = (self.make)(settings, seed);
        if ["l1", "l0"].contains(&self.name) && settings.outputs == Some(OutputsFlag::Pooled) {
            return Err(Failure::usage("--outputs pooled is for vectors that are made; l1 and l0 have joint or separate"));
        }
        if settings.chunk.is_some() && settings.outputs == Some(OutputsFlag::Separate) {
            return Err(Failure::usage("--chunk goes with joint outputs; leave out --outputs separate"));
        }
        if let Some(size) = settings.chunk {
            made = Box::new(Chunked { method: made, size, passes: settings.passes.unwrap_or(2) });
        }
        made.check()?;
        Ok(made)
    }
}

/// The method that was asked for.
#[derive(Clone, Copy, Debug)]
pub enum Chosen {
    /// Whatever is best.
    Auto,
    /// This one.
    Named(&'static Method),
}

/// Reads the name of a method.
pub fn by_name() -> impl TypedValueParser<Value = Chosen> {
    let names = PossibleValuesParser::new(std::iter::once("auto").chain(METHODS.iter().map(|method| method.name)));
    names.try_map(|name| match name.as_str() {
        "auto" => Ok(Chosen::Auto),
        _ => METHODS.iter().find(|method| method.name == name).map(Chosen::Named).ok_or("there is no such method"),
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
