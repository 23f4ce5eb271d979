//! How good is a machine, and which settings make a good one?
mod metrics;
mod reconstruction;
pub mod speed;
mod threshold;
mod validate;

pub use metrics::{Confusion, Scores, agreement, score};
pub use reconstruction::{Reconstruction, reconstruction};
pub use threshold::{Line, Spread, Threshold};
pub use validate::{Candidate, Tuning, cross_validate};
