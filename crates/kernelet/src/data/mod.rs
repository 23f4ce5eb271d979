//! How do numbers come in? Points, targets, data sets; where they are read, made, scaled and split.
mod csr;
mod dataset;
mod points;
pub mod read;
mod scale;
mod target;

pub use csr::{Csr, SparseRow};
pub use dataset::Dataset;
pub use points::{DENSE_ABOVE, Points};
pub use scale::Scale;
pub use target::{Classes, Interner, Label, Target};
