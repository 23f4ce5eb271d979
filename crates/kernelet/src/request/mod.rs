//! What may be asked for, with which defaults?
//!
//! [`Train`] and [`Compress`] are plain structs that every interface fills: flags of the program, a dictionary in Python, TOML in experiments, or
//! fields in Rust. Each has `check`, which rejects settings that are out of range, contradict each other or would be ignored, and `run`. Defaults, grids
//! and what follows from what is known of the data stand here and nowhere else, so that one request has one answer.
mod basis;
mod blocks;
mod calibrate;
mod cascade;
mod compress;
mod compress_checks;
mod compress_fields;
mod compress_notes;
mod compressed;
mod field;
mod guess;
mod kernel;
mod learner;
mod like;
mod method;
mod metric;
mod plan;
mod refitted;
mod time_limit;
mod train;
mod train_checks;
mod train_fields;
mod trained;
mod tuning;
mod vectors;

pub use basis::Spanned;
pub use blocks::TrainedBlocks;
pub use cascade::{CascadeSettings, Cascaded};
pub use compress::{Compress, Layout, Offsets};
pub use compressed::{Compressed, Validation};
pub use field::{Field, Takes};
pub use kernel::{Gamma, KernelChoice};
pub use learner::{Cache, LearnerName, Settings, TaskName};
pub use method::{CompressInit, CompressMethod, MethodSettings};
pub use metric::MetricSettings;
pub use train::{Given, Train};
pub use trained::Trained;
pub use vectors::{BlocksName, Coefficients, InitName, Method, Pursuit, Search, Vectors};
