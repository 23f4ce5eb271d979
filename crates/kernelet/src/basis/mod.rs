//! Which basis do sparse methods share, and how is it chosen before training?
//!
//! A [`Frame`] is an orthonormal basis of the span of expansion vectors. A [`BasisMethod`] chooses the vectors of a [`Basis`] from rows without training a
//! machine: one file each. `growth` adds one vector after the other; `blocks` and `field` are the sums over rows that selection, construction and direct
//! training share.
mod blocks;
pub(crate) mod empirical_points;
pub(crate) mod field;
mod fisher;
mod frame;
pub(crate) mod gram;
mod greedy_basis;
pub(crate) mod growth;
mod kernel_rows;
mod kmeans;
mod matching_pursuit;
mod method;
mod online;
mod pre_image;
mod random;
mod rpcholesky;

pub(crate) use empirical_points::EmpiricalPoints;
pub use fisher::{Deflation, FisherCriterion, FisherPursuit, Numerator, Stage};
pub use frame::Frame;
#[cfg(feature = "cuda")]
pub(crate) use frame::raising;
pub(crate) use frame::{DEPENDENT, JITTER, check_definite};
pub use greedy_basis::{First, GreedyBasis};
pub use kmeans::KMeans;
pub(crate) use kmeans::nearest;
pub use matching_pursuit::MatchingPursuit;
pub use method::{Basis, BasisBudget, BasisMethod};
pub use online::{OnePass, OnlineBasis};
pub use pre_image::{PreImages, mean_on_vectors};
pub use random::RandomBasis;
pub(crate) use random::distinct_rows;
pub use rpcholesky::RpCholesky;
