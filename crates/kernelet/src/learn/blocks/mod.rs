//! Direct training on rows that come in blocks: from memory, from a file larger than memory, or from other processes.
//!
//! What the search needs of the rows are small sums ([`Sums`]): losses, the gradient by the weights, Newton's systems, and for the gradient by the vectors
//! `M X` and `M 1`. A pass asks all blocks ([`Ask`]) and adds up their answers in a fixed tree; an [`Engine`] is whoever does that. The same blocks
//! give the same bits, whichever engine and however many threads or workers.
//!
//! With m vectors, d features and q outputs an ask has `8 (m d + m^2 + (m + 1) q)` bytes, its answer up to `8 (q (m + 1)^2 + m d)`. On rows in memory,
//! [`direct`](crate::learn::direct) reaches the same optimum and holds coordinates between rounds, which is faster.
mod ask;
#[cfg(feature = "cuda")]
mod card_engine;
#[cfg(feature = "cuda")]
mod card_held;
#[cfg(feature = "cuda")]
mod card_rounds;
#[cfg(feature = "cuda")]
#[cfg(test)]
mod card_tests;
mod checkpoint;
mod engine;
mod learner;
mod losses;
mod newton;
mod packed;
mod pass;
mod ridge_sums;
mod sample;
mod search;
mod solver;
mod sums;
mod taught;
#[cfg(test)]
mod tests;

pub use ask::{Ask, FitAsk, Problem, RowLossName};
#[cfg(feature = "cuda")]
pub use card_engine::CardEngine;
pub use engine::{Engine, LocalEngine, engine_on};
pub use learner::{BlockEstimator, BlockFit, BlockLearner};
pub use newton::{Beginning, Optimum, Rounds};
pub use pass::block_sums;
pub use ridge_sums::RidgeSums;
pub use sample::Sample;
pub use sums::{ARITY, FitSums, ScoutSums, Sums};
pub(crate) use taught::taught_on_device;
