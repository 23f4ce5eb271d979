//! Small, fast kernel machines.
//!
//! kernelet trains kernel machines, `f_k(x) = sum_j beta_jk K(z_j, x) + b_k`, and makes them small: few expansion vectors,
//! so that a prediction costs tens of kernel evaluations instead of thousands.
//!
//! The rooms, in the order data flow through them:
//!
//! | room | answers |
//! |---|---|
//! | [`data`] | How do numbers come in? |
//! | [`kernel`] | What is k(x, z), its slope, and a block of them fast? |
//! | [`linalg`] | The only place that sees the linear-algebra crate. |
//! | [`machine`] | What is a trained kernel machine, and how does it predict? |
//! | [`learn`] | How do data become a full machine? |
//! | [`basis`] | Which basis do sparse methods share, and how is it chosen before training? |
//! | [`sparsify`] | How does a machine become small? |
//! | [`compress`] | How small may a machine be, and which way leads there? |
//! | [`evaluate`] | How good is it? |
//! | [`model`] | How does a machine leave and return? |
//! | [`watch`] | How does a caller see progress and stop? |

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
pub mod sparsify;
pub mod watch;

pub use error::{Error, Result};
