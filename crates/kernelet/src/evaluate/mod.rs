//! How good is a machine, and which hyperparameters make a good one?
//!
//! Cross-validation of any function that fits a machine, and a search over C and gamma by it:
//!
//! ```
//! use kernelet::{data::banana, evaluate::cross_validate, prelude::*};
//!
//! let data = banana(150, 1);
//! let svc = |gamma| Svc { kernel: Kernel::gaussian(gamma), c: 10.0, ..Svc::default() };
//! let error_of = |gamma| cross_validate(|rows, watch| Ok(svc(gamma).learn(rows, watch)?.machine), &data, 5, 0, &Watch::none());
//! assert!(error_of(1.0)? < error_of(1e-4)?);
//!
//! // `tune` searches C and gamma on a grid; what is given as a number is kept.
//! let train = Train::from_json(r#"{"learner": "svc", "tune": true, "gamma": 1, "folds": 3}"#)?;
//! let trained = train.run(&data, &Given::default(), &Watch::none())?;
//! let best = &trained.tried[0];
//! assert!(best.loss < 0.3);
//! assert_eq!(trained.machine().metadata.c, Some(best.cost));
//! # Ok::<(), kernelet::Error>(())
//! ```
mod beta;
pub mod binomial;
pub mod bounds;
pub mod exits;
mod metrics;
pub mod paired;
mod probability;
mod reconstruction;
mod running;
mod sets;
pub mod speed;
mod validate;

pub use beta::incomplete_beta;
pub use metrics::{Confusion, Scores, agreement};
pub use probability::{CALIBRATION_BINS, ProbabilityScores, score_probabilities};
pub use reconstruction::{Reconstruction, reconstruction};
pub use running::{RunningScores, score};
pub use sets::{DistributionScore, ReliabilityBin, SetScore, calibration_error, reliability, score_distribution, score_sets};
pub use validate::{Candidate, Tuning, cross_validate};
