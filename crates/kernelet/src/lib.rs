//! Small, fast kernel machines.
//!
//! kernelet trains kernel machines, `f_k(x) = sum_j beta_jk K(z_j, x) + b_k`, and makes them small: few expansion vectors,
//! so that a prediction costs tens of kernel evaluations instead of thousands.
//!
//! The modules in the order of dependence: each uses only those above it (`tests/modules.rs` keeps it so).
//!
//! | module | answers |
//! |---|---|
//! | [`text`] | How are numbers and text written for people? |
//! | [`watch`] | How does a caller see progress and stop? |
//! | [`linalg`] | The only place that sees the linear-algebra crate. |
//! | [`data`] | How do numbers come in? |
//! | [`kernel`] | What is k(x, z), its slope, and a block of them fast? |
//! | [`machine`] | What is a trained kernel machine, and how does it predict? |
//! | [`model`] | How does a machine leave and return? |
//! | [`basis`] | Which basis do sparse methods share, and how is it chosen before training? |
//! | [`evaluate`] | How good is a machine, and which settings make a good one? |
//! | [`learn`] | How do rows become a machine, full or with a budget of vectors? |
//! | [`compress`] | How does a machine become small, and how small may it be? |
//! | [`request`] | What may be asked for, with which defaults? |

pub mod basis;
pub mod compress;
pub mod data;
mod draw;
mod error;
pub mod evaluate;
pub mod kernel;
pub mod learn;
pub mod linalg;
pub mod machine;
pub mod model;
mod named;
pub mod request;
pub mod text;
pub mod watch;

pub use error::{Error, Result};
pub use named::Named;
