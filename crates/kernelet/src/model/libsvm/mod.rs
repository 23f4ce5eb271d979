//! LIBSVM model text, in and out: all five svm types, the four vector kernels, several classes, probabilities.
//!
//! Binary models: LIBSVM's decision value above zero means the first label of the `label` line. Several classes: one-vs-one, classes in
//! the order of that line, see [`Pairwise`](crate::machine::Pairwise). An offset is `-rho`.
//!
//! LIBSVM writes eight digits of a support vector's features; written from here they have as many as are needed to read the same number
//! back, so a machine loses nothing but what the format has no place for: feature names, all training metadata but the svm type, and whether
//! vectors were stored dense or sparse. A machine with a scaling is refused: write that to a range file, see [`range`](super::range).
mod number;
mod read;
mod vectors;
mod write;

pub use read::from_bytes;
pub(super) use write::repeated;
pub use write::{evaluations, to_text};

use std::path::Path;

use super::write_atomically;
use crate::{Result, machine::Machine};

/// Words that a header line can begin with, as LIBSVM writes them.
const WORDS: [&str; 13] = [
    "svm_type",
    "kernel_type",
    "degree",
    "gamma",
    "coef0",
    "nr_class",
    "total_sv",
    "rho",
    "label",
    "probA",
    "probB",
    "prob_density_marks",
    "nr_sv",
];

/// Writes the machine as LIBSVM model text, whole or not at all.
pub fn save(machine: &Machine, path: impl AsRef<Path>) -> Result<()> {
    let text = to_text(machine)?;
    write_atomically(path, |writer| writer.write_all(text.as_bytes()))
}

/// True when the content begins like a LIBSVM model.
pub(super) fn recognise(bytes: &[u8]) -> bool {
    let text = bytes.trim_ascii_start();
    let word = &text[..text.iter().position(|byte| byte.is_ascii_whitespace()).unwrap_or(text.len())];
    WORDS.iter().any(|known| known.as_bytes() == word)
}
