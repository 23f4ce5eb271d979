//! Sequential minimal optimisation: one solver for the whole family of support vector machines.
//!
//! It minimises `1/2 b'Kb - t'b + width sum |b|` over a box with sums of b held, see [`Problem`], two variables at a time. In place of the
//! gradient it keeps `v = t - Kb`: then both choices of a variable are plain scans, and at a free variable v is the offset, but for
//! the width.
//!
//! Cost of a step: two scans of the active rows, and a kernel row of n d where the cache does not have it.
mod cache;
mod packed;
mod problem;
mod rows;
mod scan;
mod shared;
mod solver;
mod sparse;

pub use problem::{Held, Parts, Problem, Settings, Solution};
pub(crate) use rows::rows_of_gram;
pub use rows::{RowSource, rows_of};
pub(crate) use shared::SharedRows;
pub use solver::solve;
