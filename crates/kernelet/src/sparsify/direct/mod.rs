//! Data and a budget become a sparse machine: vectors and coefficients are found together (Wu2006, section 2).
//!
//! A learner says what its optimum on given vectors is and what pulls at it ([`inner`]); [`objective`] makes W(Z) and its gradient of
//! that, and [`search`] descends. A further learner is an [`inner::Inner`] and a [`search::Direct`], and nothing else.
mod checkpoint;
mod coordinates;
#[cfg(test)]
mod gradients;
mod grow;
mod hinge;
mod init;
mod inner;
mod learner;
mod margin;
mod objective;
mod own;
mod search;
mod squared;
mod squared_hinge;

pub use init::Init;
pub use learner::{DirectLearner, DirectTask};
pub use margin::{DirectLoss, Margin, Sharing};
pub use search::{Growth, Search};
