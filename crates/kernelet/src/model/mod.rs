//! How does a machine leave and return? The native format, LIBSVM's text, scaling in `svm-scale` range files.
//!
//! [`load`] tells the formats apart by content, whatever the file is called; [`save`] writes the native one, which loses nothing.
mod arrays;
mod file;
pub mod libsvm;
pub mod native;
pub mod range;

pub use file::write_atomically;

use std::{fs, path::Path};

use crate::{Error, Result, machine::Machine};

/// The machine in a file, native or LIBSVM text.
pub fn load(path: impl AsRef<Path>) -> Result<Machine> {
    let path = path.as_ref();
    let bytes = fs::read(path).map_err(|source| Error::io(path, source))?;
    load_bytes(&bytes, &path.display().to_string())
}

/// The machine in the content of a file, native or LIBSVM text; `origin` names the file in errors.
pub fn load_bytes(bytes: &[u8], origin: &str) -> Result<Machine> {
    if arrays::Arrays::recognise(bytes) {
        return native::from_bytes(bytes, origin);
    }
    if libsvm::recognise(bytes) {
        return libsvm::from_bytes(bytes, origin);
    }
    let reason = if bytes.is_empty() { "the file is empty" } else { "this is neither a kernelet model nor a LIBSVM model" };
    Err(Error::format(origin, None, None, reason))
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
