//! Sequential minimal optimisation: one solver for the whole family of support vector machines.
//!
//! It minimises `1/2 a'Qa + p'a` with `Q_ij = y_i y_j K_ij` subject to `0 <= a_i <= upper_i` and `y'a` constant, two variables at a
//! time. In place of the gradient G it keeps `v_i = -y_i G_i = -y_i p_i - (K beta)_i` with `beta_i = y_i a_i`: then both
//! choices of a variable are plain scans, and at a free variable v_i is the offset b.
//!
//! Cost of a step: two scans of the active rows, and a kernel row of n d where the cache does not have it.
mod cache;
mod packed;
mod rows;
mod scan;
mod solver;

pub(crate) use rows::rows_of_gram;
pub use rows::{RowSource, rows_of};
pub use solver::{Problem, Settings, Solution, solve};
