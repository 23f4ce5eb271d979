//! How good is a machine, and which settings make a good one?
pub mod bounds;
mod metrics;
mod probability;
mod reconstruction;
pub mod speed;
mod validate;

pub use metrics::{Confusion, Scores, agreement, score};
pub use probability::{ProbabilityScores, score_probabilities};
pub use reconstruction::{Reconstruction, reconstruction};
pub use validate::{Candidate, Tuning, cross_validate};
