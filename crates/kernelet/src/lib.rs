//! Small, fast kernel machines.
//!
//! kernelet trains kernel machines, `f_k(x) = sum_j beta_jk K(z_j, x) + b_k`, and makes them small: few expansion vectors,
//! so that a prediction costs tens of kernel evaluations instead of thousands.
//!
//! # A first machine
//!
//! Rows, labels, a request, a machine:
//!
//! ```
//! use kernelet::prelude::*;
//!
//! let rows = [[0.0, 0.1], [0.2, 0.0], [0.1, 0.3], [1.9, 2.0], [2.1, 1.8], [2.0, 2.2]];
//! let labels = ["left", "left", "left", "right", "right", "right"];
//! let data = Dataset::new(Points::from_rows(&rows)?, Target::from_labels(&labels));
//!
//! let train = Train::from_json(r#"{"learner": "svc", "c": 10}"#)?;
//! let machine = train.run(&data, &Given::default(), &Watch::none())?.fit.machine;
//! let predicted = machine.predict(&Points::from_rows(&[[0.1, 0.1], [2.0, 2.0]])?)?;
//! assert_eq!(predicted.label(1).map(Label::text), Some("right"));
//! # Ok::<(), kernelet::Error>(())
//! ```
//!
//! With `vectors` the machine has no more than so many, optimised together with the estimator:
//!
//! ```
//! use kernelet::{data::digits_split, prelude::*};
//!
//! let (train, test) = digits_split(); // 8x8 images
//! let request = Train::from_json(r#"{"gamma": 4e-4, "c": 10, "vectors": 30, "iterations": 20}"#)?;
//! let machine = request.run(&train, &Given::default(), &Watch::none())?.fit.machine;
//! assert_eq!(machine.n_vectors(), 30);
//! assert!(machine.score(&test)?.loss() < 0.1);
//! # Ok::<(), kernelet::Error>(())
//! ```
//!
//! # Where to find what
//!
//! [`request::Train`] and [`request::Compress`] take every setting by its name, check them together and choose what is left out; they are
//! what the program `kernelet` and the Python package run. The estimators of [`learn`] and the methods of [`compress`] are plain structs
//! for programs that want one of them with its own settings.
//!
//! | task | example |
//! |---|---|
//! | train with few vectors | [`request::Train`], [`learn::direct::Margin`] |
//! | compress a LIBSVM model | [`model`], [`request::Compress`] |
//! | predict labels and decision values | [`Machine::outputs_for`](machine::Machine::outputs_for) |
//! | probabilities | [`Machine::probabilities`](machine::Machine::probabilities) |
//! | regression | [`learn::direct::DirectLearner`] |
//! | novelty detection | [`learn::OneClass`] |
//! | kernel PCA | [`learn::Pca`] |
//! | cross-validation and tuning | [`evaluate`] |
//! | read CSV, LIBSVM text and NumPy arrays | [`data::read::read`] |
//! | ONNX, C source | [`model::onnx`], [`model::c`] |
//! | progress and cancelling | [`watch::Watch`] |
//!
//! # Modules
//!
//! In order of dependence: each uses only those above it.
//!
//! | module | question |
//! |---|---|
//! | [`text`] | How are numbers and text formatted for people? |
//! | [`watch`] | How does a caller see progress and cancel? |
//! | [`linalg`] | The only place that uses the linear-algebra crate: matrices, products, factors. |
//! | [`data`] | How is data read? |
//! | [`kernel`] | What is k(x, z), its slope, and how is a block of them computed fast? |
//! | [`device`] | Where is work done: on the processor, or on an NVIDIA card? |
//! | [`machine`] | What is a trained kernel machine, and how does it predict? |
//! | [`model`] | How is a machine saved and loaded? |
//! | [`basis`] | Which basis do sparse methods share, and how is it chosen before training? |
//! | [`evaluate`] | How good is a machine, and which hyperparameters make a good one? |
//! | [`learn`] | How is a machine trained on rows, full or with a budget? |
//! | [`compress`] | How is a machine compressed, and how small may it be? |
//! | [`request`] | What may be asked for, with which defaults? |
//! | [`prelude`] | Which names do most programs need? |

pub mod basis;
mod clock;
pub mod compress;
pub mod data;
pub mod device;
mod draw;
mod error;
pub mod evaluate;
mod file;
pub mod kernel;
pub mod learn;
pub mod linalg;
pub mod machine;
pub mod model;
mod named;
mod parallel;
pub mod prelude;
pub mod request;
pub mod text;
pub mod watch;

#[cfg(all(target_family = "wasm", target_os = "unknown"))]
pub use clock::set_clock;
pub use error::{Error, Result, spelled};
pub use named::Named;

// The examples of the pages are tests.
#[cfg(doctest)]
mod pages {
    #[doc = include_str!("../../../docs/tutorials/rust.md")]
    struct Tutorial;
    #[doc = include_str!("../../../docs/basis.md")]
    struct Basis;
    #[doc = include_str!("../../../docs/compress.md")]
    struct Compress;
    #[doc = include_str!("../../../docs/svm.md")]
    struct Svm;
}
