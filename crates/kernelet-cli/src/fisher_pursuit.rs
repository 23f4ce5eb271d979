//! Greedy kernel Fisher discriminants: the flags.
use clap::{
    Args,
    builder::{PossibleValuesParser, TypedValueParser},
};
use kernelet::{
    basis::{Deflation, FisherCriterion, FisherPursuit, Numerator, Stage},
    data::Dataset,
    evaluate::bounds::fisher_bound,
    learn::Fit,
    machine::Decision,
    watch::Status,
};
use serde::Serialize;

use crate::{
    failure::{Failure, Result},
    session::Session,
};

/// The name of the method.
pub const NAME: &str = "fisher-pursuit";

/// The bound holds with a probability of 1 less this.
const DELTA: f64 = 0.05;

/// The most vectors that cross-validation looks at where nothing else is said.
const USUAL_MOST: usize = 200;

/// The steps between the sizes that cross-validation compares.
pub const USUAL_STEP: usize = 10;

/// Flags of fisher-pursuit.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Greedy Fisher discriminants (--learner fisher --method fisher-pursuit)")]
pub struct PursuitFlags {
    /// Which row is chosen next, by Fisher's quotient of its kernel column: optimal (largest), pseudo (largest numerator), reverse, reverse-pseudo (smallest) or random [default: pseudo].
    #[arg(long, value_name = "NAME", value_parser = criteria(), hide_possible_values = true)]
    pub criterion: Option<FisherCriterion>,
    /// How a chosen column is taken off the others: none, hotelling, projection, schur, ortho-hotelling, ortho-projection or ortho-schur [default: projection].
    #[arg(long, value_name = "NAME", value_parser = deflations(), hide_possible_values = true)]
    pub deflation: Option<Deflation>,
    /// Rows chosen before all are scored anew [default: 1].
    #[arg(long, value_name = "S", conflicts_with = "threshold")]
    pub stages: Option<usize>,
    /// Choose all rows with a score beyond this before all are scored anew, and stop when there is none.
    #[arg(long, value_name = "T", allow_negative_numbers = true)]
    pub threshold: Option<f64>,
    /// What is above the line of the quotient: class-means, or printed as in the paper, which is Fisher's only for classes of equal size [default: class-means].
    #[arg(long, value_name = "NAME", value_parser = numerators(), hide_possible_values = true)]
    pub numerator: Option<Numerator>,
    /// Score a random sample of so many rows each time instead of all; 59 is usual, for many rows.
    #[arg(long, value_name = "N")]
    pub sample: Option<usize>,
    /// Choose the number of vectors by cross-validation: multiples of this, up to --vectors [default: 10 with --folds].
    #[arg(long, value_name = "STEP")]
    pub every: Option<usize>,
    /// Folds of that cross-validation.
    #[arg(skip)]
    pub folds: Option<usize>,
}

impl PursuitFlags {
    /// The first flag that was given.
    pub fn given(&self) -> Option<&'static str> {
        let flags = [
            ("criterion", self.criterion.is_some()),
            ("deflation", self.deflation.is_some()),
            ("stages", self.stages.is_some()),
            ("threshold", self.threshold.is_some()),
            ("numerator", self.numerator.is_some()),
            ("sample", self.sample.is_some()),
            ("every", self.every.is_some()),
        ];
        flags.into_iter().find(|(_, given)| *given).map(|(name, _)| name)
    }

    /// Refuses a learner or a budget that it does not work with.
    pub fn check(&self, learner: &str, vectors: Option<usize>) -> Result<()> {
        if learner != "fisher" {
            return Err(Failure::usage(format!("--method {NAME} goes with --learner fisher, not with {learner}")));
        }
        match vectors.is_some() || self.every.is_some() {
            true => Ok(()),
            false => Err(Failure::usage(format!("--method {NAME} needs --vectors"))
                .hint("--folds 5 chooses their number by cross-validation, every 10 up to 200")),
        }
    }

    /// The largest number of vectors.
    pub fn most(&self, vectors: Option<usize>) -> usize {
        vectors.unwrap_or(USUAL_MOST)
    }

    /// The bound, for two classes.
    pub fn bound(&self, fit: &Fit, data: &Dataset, session: &Session) -> Result<Option<BoundReport>> {
        if let Some(stages) = self.stages.filter(|&stages| stages > fit.machine.vectors()) {
            session.note(format!("--stages {stages} is above the number of vectors: all were chosen by their first scores"));
        }
        if !matches!(fit.machine.decision, Decision::Sign { .. }) || fit.report.status == Status::Cancelled {
            return Ok(None);
        }
        let bound = fisher_bound(&fit.machine, data, DELTA)?;
        let (says_nothing, sentence) = (bound.says_nothing(), bound.sentence());
        Ok(Some(BoundReport { error: bound.error, probability: bound.probability, says_nothing, sentence }))
    }

    /// The method.
    pub fn method(&self, seed: u64, cache_bytes: Option<usize>) -> FisherPursuit {
        let usual = FisherPursuit::default();
        FisherPursuit {
            criterion: self.criterion.unwrap_or_default(),
            deflation: self.deflation.unwrap_or_default(),
            stage: match (self.stages, self.threshold) {
                (Some(count), _) => Stage::Count(count),
                (_, Some(bound)) => Stage::Beyond(bound),
                _ => usual.stage,
            },
            numerator: self.numerator.unwrap_or_default(),
            sample: self.sample,
            cache_bytes: cache_bytes.unwrap_or(usual.cache_bytes),
            seed,
        }
    }
}

/// What can be said of the error on new rows.
#[derive(Serialize)]
pub struct BoundReport {
    error: f64,
    probability: f64,
    says_nothing: bool,
    /// The same in words.
    pub sentence: String,
}

fn criteria() -> impl TypedValueParser<Value = FisherCriterion> {
    PossibleValuesParser::new(FisherCriterion::ALL.map(FisherCriterion::name))
        .try_map(|name| FisherCriterion::named(&name).ok_or("there is no such criterion"))
}

fn deflations() -> impl TypedValueParser<Value = Deflation> {
    PossibleValuesParser::new(Deflation::ALL.map(Deflation::name))
        .try_map(|name| Deflation::named(&name).ok_or("there is no such deflation"))
}

fn numerators() -> impl TypedValueParser<Value = Numerator> {
    PossibleValuesParser::new(Numerator::NAMES).try_map(|name| Numerator::named(&name).ok_or("there is no such numerator"))
}
