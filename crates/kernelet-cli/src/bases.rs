//! Bases chosen before training: the flags, and the methods by name.
use clap::{
    Args,
    builder::{PossibleValuesParser, TypedValueParser},
};
use kernelet::{
    basis::{BasisBudget, BasisMethod, FisherPursuit, GreedyBasis, KMeans, RandomBasis, RpCholesky},
    compress::Baseline,
    data::Dataset,
    learn::{BestSize, Fit, FrameLearner, Learner, Multiclass, OnBasis, Shrink},
};

use crate::{
    direct,
    failure::{Failure, Result},
    fisher_pursuit::{self, BoundReport, PursuitFlags},
    session::Session,
};

/// A method that chooses a basis.
#[derive(Debug)]
pub struct Method {
    /// The name on the command line.
    pub name: &'static str,
    /// None for direct training and the papers' baselines, which choose no basis.
    make: Option<fn(u64) -> Box<dyn BasisMethod>>,
}

/// All methods.
pub const METHODS: &[Method] = &[
    Method { name: "margin", make: None },
    Method { name: "ridge", make: None },
    Method { name: "svr", make: None },
    Method { name: "fisher", make: None },
    Method { name: "logistic", make: None },
    Method { name: "one-class", make: None },
    Method { name: "pca", make: None },
    Method { name: "greedy-basis", make: Some(|seed| Box::new(GreedyBasis { seed })) },
    Method { name: "rpcholesky", make: Some(|seed| Box::new(RpCholesky { seed, ..RpCholesky::default() })) },
    Method { name: "kmeans", make: Some(|seed| Box::new(KMeans { seed, ..KMeans::default() })) },
    Method { name: "random", make: Some(|seed| Box::new(RandomBasis { seed })) },
    Method { name: "rs", make: None },
    Method { name: "mrs", make: None },
    Method { name: "rsvm", make: None },
    Method { name: "mrsvm", make: None },
    Method { name: "rvm-margin", make: None },
    Method { name: fisher_pursuit::NAME, make: Some(|seed| Box::new(FisherPursuit { seed, ..FisherPursuit::default() })) },
];

/// Flags of a basis.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Basis: train a small machine at once")]
pub struct Flags {
    /// How few vectors are found: with the machine, which --vectors alone means (margin for svc; ridge, svr, fisher, logistic, one-class, pca for the learners of these names); or on a basis chosen before:
    /// greedy-basis, rpcholesky, kmeans or random, with --vectors, --max-error or both; fisher-pursuit, by the classes, for fisher; or, for svc, as the machines that papers compare with:
    /// rs, mrs (new vectors near the full machine), rsvm, mrsvm (random rows), rvm-margin (relevance vectors).
    #[arg(long, value_name = "NAME", value_parser = by_name())]
    pub method: Option<&'static Method>,
    /// The number of vectors, whatever the number of classes.
    #[arg(long, value_name = "M")]
    pub vectors: Option<usize>,
    /// Stop adding vectors once no row is farther than this from their span, in squared distance in feature space (greedy-basis, rpcholesky).
    #[arg(long, value_name = "E", allow_negative_numbers = true)]
    pub max_error: Option<f64>,
    /// Where fewer rows support the machine than the basis has vectors: never, sv (take them instead) or retrain (on them) (svc) [default: never].
    #[arg(long, value_name = "HOW", value_parser = shrink)]
    pub shrink: Option<Shrink>,
    /// Seed of the choice.
    #[arg(skip)]
    pub seed: u64,
    /// Bytes for kernel values that are kept.
    #[arg(skip)]
    pub cache_bytes: Option<usize>,
    /// Flags of fisher-pursuit.
    #[command(flatten)]
    pub pursuit: PursuitFlags,
}

impl Flags {
    /// Refuses flags that say too little or do not go together, for a learner that can or cannot learn on a basis.
    pub fn check(&self, learner: &str, able: &[&str]) -> Result<()> {
        let names: Vec<&str> = METHODS.iter().filter(|method| method.make.is_some()).map(|method| method.name).collect();
        if let (Some(flag), false) = (self.pursuit.given(), self.is_pursuit()) {
            return Err(Failure::usage(format!("--{flag} goes with --method {}", fisher_pursuit::NAME)));
        }
        if let Some(baseline) = self.baseline() {
            return self.check_baseline(baseline, learner);
        }
        if self.is_direct(learner) {
            return self.check_direct(learner);
        }
        if self.is_pursuit() && self.max_error.is_none() {
            return self.pursuit.check(learner, self.vectors);
        }
        let Some(method) = self.method else {
            let given = [("vectors", self.vectors.is_some()), ("max-error", self.max_error.is_some()), ("shrink", self.shrink.is_some())];
            let Some((flag, _)) = given.into_iter().find(|(_, given)| *given) else { return Ok(()) };
            let sentence = format!("--{flag} needs a --method that chooses the vectors");
            return Err(Failure::usage(sentence).hint(format!("there are {}; rpcholesky is a good first choice", names.join(", "))));
        };
        if !able.contains(&learner) {
            return Err(Failure::usage(format!("--method {} goes with {}, not with {learner}", method.name, able.join(", "))));
        }
        if self.vectors.is_none() && self.max_error.is_none() {
            return Err(Failure::usage(format!("--method {} needs --vectors, --max-error or both", method.name)));
        }
        if self.max_error.is_some() && !["greedy-basis", "rpcholesky"].contains(&method.name) {
            return Err(Failure::usage(format!("--max-error is not used by {}, only by greedy-basis, rpcholesky", method.name)));
        }
        match self.max_error {
            // Without a number of vectors a bound of 0 would ask for all of them.
            Some(error) if error == 0.0 && self.vectors.is_none() => Err(Failure::usage("--max-error 0 needs --vectors as well")),
            _ => Ok(()),
        }
    }

    /// True when the vectors are chosen by fisher-pursuit.
    pub fn is_pursuit(&self) -> bool {
        self.method.is_some_and(|method| method.name == fisher_pursuit::NAME)
    }

    /// True when the vectors are to be found with the machine: by name, or because there is a budget and no other method.
    pub fn is_direct(&self, learner: &str) -> bool {
        match self.method {
            Some(method) => method.make.is_none() && self.baseline().is_none(),
            None => self.vectors.is_some() && direct::method_of(learner).is_some(),
        }
    }

    /// The baseline of a paper that the flags name.
    pub fn baseline(&self) -> Option<Baseline> {
        self.method.and_then(|method| Baseline::named(method.name))
    }

    fn check_baseline(&self, baseline: Baseline, learner: &str) -> Result<()> {
        let name = baseline.name();
        if learner != "svc" {
            return Err(Failure::usage(format!("--method {name} goes with svc, not with {learner}")));
        }
        let useless = [("max-error", self.max_error.is_some()), ("shrink", self.shrink.is_some())];
        if let Some((flag, _)) = useless.into_iter().find(|(_, given)| *given) {
            return Err(Failure::usage(format!("--{flag} goes with a basis, which {name} does not choose")));
        }
        match (baseline, self.vectors) {
            (Baseline::RvmMargin, Some(_)) => {
                Err(Failure::usage("rvm-margin has the vectors that the relevance vector machine finds; leave --vectors away"))
            }
            (Baseline::RvmMargin, None) | (_, Some(_)) => Ok(()),
            (_, None) => Err(Failure::usage(format!("--method {name} needs --vectors"))),
        }
    }

    fn check_direct(&self, learner: &str) -> Result<()> {
        let useless = [("max-error", self.max_error.is_some()), ("shrink", self.shrink.is_some())];
        let name = self.method.map_or_else(|| direct::method_of(learner).unwrap_or_default(), |method| method.name);
        if direct::method_of(learner) != Some(name) {
            return Err(Failure::usage(format!("--method {name} goes with {}, not with {learner}", direct::learner_of(name))));
        }
        if let Some((flag, _)) = useless.into_iter().find(|(_, given)| *given) {
            return Err(Failure::usage(format!("--{flag} goes with a basis; {name} finds its vectors with the machine")));
        }
        match self.vectors {
            Some(_) => Ok(()),
            None => Err(Failure::usage(format!("--method {name} needs --vectors"))),
        }
    }

    /// How several classes become two-class problems: as asked for, else each against the others on the vectors that a basis gives to all.
    pub fn multiclass(&self, asked: Option<Multiclass>) -> Multiclass {
        let usual = if self.method.is_some() { Multiclass::Shared } else { Multiclass::default() };
        asked.unwrap_or(usual)
    }

    /// The learner on the basis that the flags ask for, where they ask for one.
    pub fn on(&self, learner: impl FnOnce() -> Box<dyn FrameLearner>) -> Option<OnBasis> {
        let (basis, budget) = self.chosen()?;
        Some(OnBasis { basis, budget, learner: learner(), shrink: self.shrink.unwrap_or_default() })
    }

    /// The method that chooses the basis and its budget, where the flags ask for one.
    pub fn chosen(&self) -> Option<(Box<dyn BasisMethod>, BasisBudget)> {
        let make = self.method?.make?;
        let (basis, most) = match self.is_pursuit() {
            true => (Box::new(self.pursuit.method(self.seed, self.cache_bytes)) as Box<dyn BasisMethod>, self.pursuit.most(self.vectors)),
            false => (make(self.seed), self.vectors.unwrap_or(usize::MAX)),
        };
        let budget = BasisBudget { max_vectors: most, max_error: self.max_error.unwrap_or(0.0) };
        Some((basis, budget))
    }

    /// Lets cross-validation choose the number of vectors of fisher-pursuit; `alone`: nothing else uses the folds.
    pub fn choose_size_by(&mut self, folds: Option<usize>, alone: bool) {
        self.pursuit.folds = folds;
        if self.is_pursuit() && folds.is_some() && alone {
            self.pursuit.every.get_or_insert(fisher_pursuit::USUAL_STEP);
        }
    }

    /// The bound of a machine of fisher-pursuit; stages that are more than its vectors are said aloud.
    pub fn bound(&self, fit: &Fit, data: &Dataset, session: &Session) -> Result<Option<BoundReport>> {
        if self.is_pursuit() { self.pursuit.bound(fit, data, session) } else { Ok(None) }
    }

    /// The same with the number of vectors chosen by cross-validation, where the flags ask for that.
    pub fn best_size(&self, learner: impl FnOnce() -> Box<dyn FrameLearner>) -> Option<BestSize> {
        let every = self.pursuit.every.filter(|_| self.is_pursuit())?;
        Some(BestSize { on_basis: self.on(learner)?, every, folds: self.pursuit.folds.unwrap_or(5), seed: self.seed })
    }

    /// The learner that the flags ask for, on a basis where they ask for one.
    pub fn learner(&self, make: impl Fn() -> Box<dyn FrameLearner>) -> Box<dyn Learner> {
        if let Some(sized) = self.best_size(&make) {
            return Box::new(sized);
        }
        match self.on(&make) {
            Some(on_basis) => Box::new(on_basis),
            None => make(),
        }
    }
}

fn by_name() -> impl TypedValueParser<Value = &'static Method> {
    PossibleValuesParser::new(METHODS.iter().map(|method| method.name)).try_map(|name| named(&name).ok_or("there is no such method"))
}

/// The method with this name.
pub fn named(name: &str) -> Option<&'static Method> {
    METHODS.iter().find(|method| method.name == name)
}

fn shrink(name: &str) -> std::result::Result<Shrink, String> {
    Shrink::named(name).ok_or_else(|| format!("there are {}", Shrink::NAMES.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_are_those_of_the_library() {
        for method in METHODS {
            assert!(method.make.is_none_or(|make| make(0).name() == method.name));
        }
    }
}
