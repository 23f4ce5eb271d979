//! New vectors that carry more than chosen ones.
//!
//! Construction makes vectors instead of taking them: one after the other by the fixed-point iteration ([`FixedPoint`]) or by its gradient
//! ([`Gradient`]), and then, or instead, all of them together ([`refine`], [`Refine`]).
mod distance;
mod fit;
mod fixed_point;
mod from_nothing;
mod gradient;
mod greedy;
mod outputs;
mod refine;
mod residual;
mod starts;
mod target;
#[cfg(test)]
mod tests;

pub use fixed_point::FixedPoint;
pub use from_nothing::{Refine, RefineFrom};
pub use gradient::Gradient;
pub use refine::{Objective, Refined, Refinement, refine};
pub use starts::{Starts, StartsFrom};
