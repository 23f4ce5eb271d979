//! How small may a machine be, and which way leads there?
//!
//! A [`Way`] makes a machine of a given size; a [`Judge`] says how good it is on rows that it was not made from; [`Goals`] say how small and how good
//! it must be. [`Compression`] tries the ways, searches the size and keeps the best, with a record of what was tried. [`Auto`] chooses the ways
//! by kernel, data and [`Effort`].
mod auto;
mod by_heart;
mod effort;
mod goals;
mod judge;
mod recalibrate;
mod run;
mod search;
mod sizes;
mod way;

pub use auto::Auto;
pub use effort::Effort;
pub use goals::Goals;
pub use judge::{Figures, First, Judge, Metric, Parts};
pub use search::{Attempt, Compressed, Compression};
pub use way::{Steps, Way};
