//! The C library: load a model from a file or from memory, predict rows, ask for labels, probabilities and the last error.
//!
//! `include/kernelet.h` is made from `border.rs` by cbindgen; a test fails when they differ. `border.rs` is the one file with `unsafe`: it turns pointers into
//! slices and catches panics, and calls `model.rs`, which has neither.
mod border;
mod failure;
mod model;

pub use border::*;
