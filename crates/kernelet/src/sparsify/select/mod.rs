//! Vectors taken from given points: out of a machine ([`Pursuit`]), or as a basis before training.
mod greedy_basis;
mod kmeans;
mod plain;
mod pursuit;
mod random;
mod rpcholesky;
mod separate;

pub use greedy_basis::GreedyBasis;
pub use kmeans::KMeans;
pub use pursuit::{Criterion, Outputs, Pursuit};
pub use random::RandomBasis;
pub(super) use random::distinct_rows;
pub use rpcholesky::RpCholesky;
pub(super) use separate::one_output;
