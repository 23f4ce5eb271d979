//! How good is a machine, and which settings make a good one?
mod metrics;
pub mod speed;
mod validate;

pub use metrics::{Confusion, Scores, agreement, score};
pub use validate::{Candidate, Tuning, cross_validate};
