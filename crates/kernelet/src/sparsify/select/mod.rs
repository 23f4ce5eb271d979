//! Vectors taken from given points: out of a machine ([`Pursuit`], [`L1`], [`L0`], [`Independent`]), or as a basis before training.
mod chunked;
mod deflation;
mod fisher_criterion;
#[cfg(test)]
mod fisher_oracle;
mod fisher_pursuit;
mod greedy_basis;
mod homotopy;
mod independent;
mod interior;
mod kmeans;
mod l0;
mod l1;
mod lossless;
mod plain;
mod pursuit;
mod random;
mod rows;
mod rpcholesky;
mod scan;
mod separate;
mod supports;
mod whole;

pub use chunked::Chunked;
pub use deflation::Deflation;
pub use fisher_criterion::{FisherCriterion, Numerator};
pub use fisher_pursuit::{FisherPursuit, Stage};
pub use greedy_basis::GreedyBasis;
pub use independent::Independent;
pub use kmeans::KMeans;
pub use l0::L0;
pub use l1::{L1, Weights};
pub use pursuit::{Criterion, Outputs, Pursuit};
pub use random::RandomBasis;
pub(crate) use random::distinct_rows;
pub use rpcholesky::RpCholesky;
pub(super) use separate::one_output;
