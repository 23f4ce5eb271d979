//! How good is a machine, and which settings make a good one?
mod metrics;
mod probability;
pub mod speed;
mod validate;

pub use metrics::{Confusion, Scores, agreement, score};
pub use probability::{ProbabilityScores, score_probabilities};
pub use validate::{Candidate, Tuning, cross_validate};
