//! Vectors taken from those of a machine or from other points: [`Pursuit`], [`L1`], [`L0`], [`Independent`].
mod chunked;
mod descent;
mod homotopy;
mod independent;
mod interior;
mod l0;
mod l1;
mod lossless;
mod plain;
mod pursuit;
mod rows;
mod scan;
mod separate;
mod sparsest;
mod supports;
mod whole;

pub use chunked::Chunked;
pub use independent::Independent;
pub use l0::L0;
pub use l1::{L1, Weights};
pub use pursuit::{Criterion, Outputs, Pursuit};
pub use separate::Separate;
pub(super) use separate::one_output;
