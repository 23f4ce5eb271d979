//! Where results are written: checked before the work begins, so that an hour of training is not lost to a wrong name, and no file is lost to a
//! result.
//!
//! A file that is named with `--output` is replaced; one that the command reads never is. A file that is written beside it was not named, so
//! that one with the same name is replaced only where it is of the kind that would be written, or with `--force`.
use std::{
    fs, io,
    path::{Path, PathBuf},
};

use kernelet::{
    Error,
    model::{self, Kind, range::Range},
};

use crate::{
    failure::{Failure, Result},
    report::page,
};

/// Checks that `output` can be written and is none of the files that are read.
pub fn check_output(output: &Path, inputs: &[&str]) -> Result<()> {
    if output == Path::new("-") {
        return Err(Failure::usage("the result of this command cannot go to standard output; name a file"));
    }
    if let Some(input) = inputs.iter().find(|input| **input != "-" && same(Path::new(input), output)) {
        return Err(Failure::usage(format!("{input} would be read and overwritten; write to another file")));
    }
    Ok(model::check_writable(output)?)
}

/// A file that is written beside the one that is named.
pub enum Beside {
    /// A range file.
    Range,
    /// The header of C source.
    Header,
    /// A native model.
    Model,
    /// The page of a report.
    Page,
    /// This text.
    Text(String),
}

impl Beside {
    /// Checks that the file can be written, is none of the files that are read, and replaces none but one of its kind, unless that is forced.
    pub fn check(&self, path: &Path, inputs: &[&str], force: bool) -> Result<()> {
        check_output(path, inputs)?;
        let there = match fs::read(path) {
            Ok(there) => there,
            Err(error) if force || error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(source) => return Err(Error::io(path, source).into()),
        };
        if force || there.is_empty() || self.is_like(&there) {
            return Ok(());
        }
        let (name, kind) = (path.display(), self.kind());
        let failure = Failure::failed(format!("{name} is there already and is not {kind} made by kernelet; it would be lost"));
        Err(failure.hint("write to another name, or replace it with --force"))
    }

    fn is_like(&self, there: &[u8]) -> bool {
        match self {
            Beside::Range => Range::from_bytes(there, "").is_ok(),
            Beside::Header => there.starts_with(b"/* Made by kernelet "),
            Beside::Model => Kind::of(there) == Some(Kind::Native),
            Beside::Page => page::is_page(there),
            Beside::Text(text) => there == text.as_bytes(),
        }
    }

    fn kind(&self) -> &'static str {
        match self {
            Beside::Range => "a range file",
            Beside::Header => "a header",
            Beside::Model => "a model",
            Beside::Page => "a report",
            Beside::Text(_) => "the file",
        }
    }
}

/// Whether two names lead to one file, through links too; also where it is not there yet.
fn same(a: &Path, b: &Path) -> bool {
    match (fs::metadata(a), fs::metadata(b)) {
        (Ok(first), Ok(second)) => same_file(&first, &second).unwrap_or_else(|| place(a) == place(b)),
        (Err(_), Err(_)) => place(a) == place(b),
        _ => false,
    }
}

/// Whether these are one file, where the system has a number for each.
#[cfg(unix)]
fn same_file(a: &fs::Metadata, b: &fs::Metadata) -> Option<bool> {
    use std::os::unix::fs::MetadataExt;
    Some((a.dev(), a.ino()) == (b.dev(), b.ino()))
}

#[cfg(not(unix))]
fn same_file(_: &fs::Metadata, _: &fs::Metadata) -> Option<bool> {
    None
}

/// Where a name leads to: the whole path of the file, or of its directory with the name.
fn place(path: &Path) -> Option<PathBuf> {
    fs::canonicalize(path).ok().or_else(|| {
        let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        Some(fs::canonicalize(directory).ok()?.join(path.file_name()?))
    })
}
