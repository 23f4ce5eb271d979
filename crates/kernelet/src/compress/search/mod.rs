//! How small may a machine be, and which strategy leads there?
//!
//! A [`Strategy`] makes a machine of a given size; a [`Validator`] says how good it is on rows that it was not made from; [`Goals`] say how small and how good
//! it must be. [`Compression`] tries the strategies, searches the size and keeps the best, with a record of what was tried. [`Auto`] chooses the strategies
//! by kernel, data and [`Effort`].
mod auto;
mod certificate;
mod certify;
mod compression;
mod effort;
mod fallback;
mod goals;
mod interpolates;
mod origin;
mod recalibrate;
mod run;
mod scales;
mod sizes;
mod strategy;
mod trained;
mod validation;

pub use auto::Auto;
pub(crate) use auto::cost_of;
pub(crate) use certificate::check_confidence;
pub use certificate::{Certificate, RowKind, Tally, Verdict};
pub use certify::Trust;
pub use compression::{Attempt, Compression, Found};
pub use effort::Effort;
pub(crate) use fallback::heaviest;
pub use goals::Goals;
pub(crate) use goals::bytes_of;
pub use origin::{Origin, Recognised, recognise};
pub(crate) use recalibrate::recalibrated;
pub use strategy::{Finish, Steps, Strategy};
pub(crate) use trained::trained;
pub use validation::{Metric, Metrics};
