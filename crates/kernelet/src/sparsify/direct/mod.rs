//! Data and a budget become a sparse machine: vectors and coefficients are found together.
mod margin;
mod newton;
mod objective;

pub use margin::{DirectLoss, Init, Margin};
