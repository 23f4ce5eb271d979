//! Vectors taken from given points: out of a machine ([`Pursuit`], [`L1`], [`L0`], [`Independent`]), or as a basis before training.
mod chunked;
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
pub use greedy_basis::GreedyBasis;
pub use independent::Independent;
pub use kmeans::KMeans;
pub use l0::L0;
pub use l1::{L1, Weights};
pub use pursuit::{Criterion, Outputs, Pursuit};
pub use random::RandomBasis;
pub use rpcholesky::RpCholesky;
