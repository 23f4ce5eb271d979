//! How does a machine leave and return? The native format, LIBSVM's text, JSON, scaling in `svm-scale` range files; and out only: C source in floating point or
//! whole numbers, JavaScript, ONNX graphs and images of the vectors.
//!
//! [`load`] recognises the format by content, whatever the file is called; [`save`] writes the native one, which loses nothing.
//!
//! A model that LIBSVM trained is read and compressed, at a given rise of the error that rows which the model has not seen certify:
//!
//! ```
//! use kernelet::{compress::{Effort, Goals, Verdict}, data::banana, model::libsvm, prelude::*};
//!
//! let data = banana(300, 1);
//! let full = Svc { c: 10.0, ..Svc::default() }.learn(&data, &Watch::none())?.machine;
//! let text = libsvm::to_text(&full)?;
//! let large = model::load_bytes(text.as_bytes(), "banana.model")?; // or model::load("banana.model")
//! let goals = Goals { max_loss: Some(0.03), ..Goals::default() };
//! let fresh = banana(2000, 2);
//! let compress = Compress { goals, effort: Some(Effort::Quick), ..Compress::default() };
//! let small = compress.run(&large, Some(&fresh), None, &Watch::none())?;
//! assert_eq!(small.goals_met(), Some(Verdict::Met));
//! assert!(small.machine.n_vectors() * 2 < large.n_vectors());
//!
//! let path = std::env::temp_dir().join(format!("kernelet-small-{}.model", std::process::id()));
//! model::save(&small.machine, &path)?;
//! assert_eq!(model::load(&path)?.predict(&data.points)?, small.machine.predict(&data.points)?);
//! # std::fs::remove_file(&path).ok();
//! # Ok::<(), kernelet::Error>(())
//! ```
mod arrays;
pub mod c;
pub mod cascade;
pub mod centre_scale;
pub mod fixed;
pub mod images;
pub mod javascript;
pub mod json;
pub mod libsvm;
pub mod native;
pub mod onnx;
pub mod range;
mod target;

pub use crate::file::{check_writable, write_atomically, write_together};
pub use target::Precision;

use std::{fs::File, io::Read, path::Path};

use crate::{Error, Result, machine::Machine};

/// The machine in a file: native, LIBSVM text or JSON.
pub fn load(path: impl AsRef<Path>) -> Result<Machine> {
    let path = path.as_ref();
    load_bytes(&read_bytes(path)?, &path.display().to_string())
}

/// The content of a model file. What does not begin like a model is rejected by its first bytes, so that a device or another large file that was
/// given by mistake does not fill the memory.
pub fn read_bytes(path: impl AsRef<Path>) -> Result<Vec<u8>> {
    const FIRST: u64 = 1 << 12;
    let path = path.as_ref();
    let failed = |source| Error::io(path, source);
    let mut file = File::open(path).map_err(failed)?;
    let mut bytes = vec![];
    file.by_ref().take(FIRST).read_to_end(&mut bytes).map_err(failed)?;
    if Kind::of(&bytes).is_none() {
        return Err(unknown(&bytes, &path.display().to_string()));
    }
    file.read_to_end(&mut bytes).map_err(failed)?;
    Ok(bytes)
}

fn unknown(bytes: &[u8], origin: &str) -> Error {
    let reason = if bytes.is_empty() { "the file is empty" } else { "this is neither a kernelet model nor a LIBSVM model" };
    Error::format(origin, None, None, reason)
}

/// The machine in the content of a file: native, LIBSVM text or JSON; `origin` names the file in errors.
pub fn load_bytes(bytes: &[u8], origin: &str) -> Result<Machine> {
    match Kind::of(bytes) {
        Some(Kind::Native) => native::from_bytes(bytes, origin),
        Some(Kind::Libsvm) => libsvm::from_bytes(bytes, origin),
        Some(Kind::Json) => json::from_bytes(bytes, origin),
        None => Err(unknown(bytes, origin)),
    }
}

/// The kinds of model file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The format that loses nothing.
    Native,
    /// LIBSVM model text.
    Libsvm,
    /// Plain JSON.
    Json,
}

impl Kind {
    /// What a file with this content begins like; whether it is whole is seen when it is read.
    pub fn of(bytes: &[u8]) -> Option<Kind> {
        match bytes {
            _ if arrays::Arrays::recognise(bytes) => Some(Kind::Native),
            _ if libsvm::recognise(bytes) => Some(Kind::Libsvm),
            _ if json::recognise(bytes) => Some(Kind::Json),
            _ => None,
        }
    }

    /// `native`, `libsvm` or `json`.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Native => "native",
            Kind::Libsvm => "libsvm",
            Kind::Json => "json",
        }
    }
}

/// Writes the machine to a native model file, whole or not at all.
pub fn save(machine: &Machine, path: impl AsRef<Path>) -> Result<()> {
    let bytes = native::to_bytes(machine)?;
    write_atomically(path, |writer| writer.write_all(&bytes))
}

/// The same error with the file named, where it does not name one yet.
fn in_file(origin: &str, error: Error) -> Error {
    match error {
        Error::Format { .. } | Error::Version { .. } | Error::Io { .. } => error,
        other => Error::format(origin, None, None, other.to_string()),
    }
}
