//! Readers: LIBSVM text, CSV, NumPy arrays and Parquet tables become data sets.
//!
//! The format is told by the extension or named by the caller; gzip is known by its first bytes. Every error says what is
//! wrong and at which line and column. What a reader decides by itself, such as which column is the target, it says in
//! [`Read::notes`].
mod columns;
mod csv;
mod libsvm;
mod source;
mod targets;

use super::Dataset;
use crate::{
    Error, Result,
    linalg::{Matrix, Real},
};

/// The file formats that can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A label and `index:value` pairs a line.
    Libsvm,
    /// A table of text: one row a line, fields between commas, semicolons or tabs.
    Csv,
    /// One NumPy array.
    Npy,
    /// Named NumPy arrays: `X`, `y` and optionally `sample_weight`.
    Npz,
    /// A Parquet table, with the cargo feature `parquet`.
    Parquet,
}

impl Format {
    /// All formats.
    pub const ALL: [Format; 5] = [Format::Libsvm, Format::Csv, Format::Npy, Format::Npz, Format::Parquet];

    /// The name by which users choose the format.
    pub fn name(self) -> &'static str {
        match self {
            Format::Libsvm => "libsvm",
            Format::Csv => "csv",
            Format::Npy => "npy",
            Format::Npz => "npz",
            Format::Parquet => "parquet",
        }
    }

    /// The format with this name.
    pub fn named(name: &str) -> Result<Format> {
        let found = Format::ALL.into_iter().find(|format| format.name() == name);
        found.ok_or_else(|| Error::parameter("format", format!("{name:?}"), NAMES))
    }

    /// The format that the extension of `path` stands for; a trailing `.gz` does not count.
    pub fn from_path(path: &str) -> Result<Format> {
        let lower = path.to_ascii_lowercase();
        let name = lower.rsplit(['/', '\\']).next().unwrap_or_default();
        let name = name.strip_suffix(".gz").unwrap_or(name);
        let extension = name.rsplit_once('.').map(|(_, extension)| extension);
        match extension {
            Some("svm" | "libsvm" | "svmlight" | "txt") => Ok(Format::Libsvm),
            Some("csv" | "tsv") => Ok(Format::Csv),
            Some("npy") => Ok(Format::Npy),
            Some("npz") => Ok(Format::Npz),
            Some("parquet") => Ok(Format::Parquet),
            _ => {
                let what = extension.map_or("the name has no extension".into(), |e| format!("the extension .{e} is not known"));
                let known = ".svm, .libsvm, .svmlight, .txt, .csv, .tsv, .npy, .npz and .parquet";
                Err(Error::format(path, None, None, format!("{what}; known are {known}, or give the format with --format")))
            }
        }
    }
}

const NAMES: &str = "libsvm, csv, npy, npz or parquet";

/// What the target is to be read as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Wanted {
    /// No target is needed; one that is there is left out.
    #[default]
    Nothing,
    /// Class labels.
    Classes,
    /// Real numbers.
    Values,
}

/// How to read.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Reading {
    /// The format; none: told by the extension.
    pub format: Option<Format>,
    /// What the target is to be read as.
    pub wanted: Wanted,
    /// The target's column in a table, by name or by number from 1; none: the last.
    pub target_column: Option<String>,
    /// The feature names of a model. Columns are matched by these, in any order, and the target may be absent.
    pub names: Option<Vec<String>>,
    /// The number of features of a model. Shorter LIBSVM rows are padded to it, and the target may be absent.
    pub dim: Option<usize>,
}

impl Reading {
    /// The number of features a model expects, if there is a model.
    fn expected_dim(&self) -> Option<usize> {
        self.names.as_ref().map(Vec::len).or(self.dim)
    }
}

/// What was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Read {
    /// The data. Their numbers are not yet known to be finite; see [`Dataset::check`].
    pub dataset: Dataset,
    /// What the user should be told, a sentence each.
    pub notes: Vec<String>,
}

/// Reads a file, or standard input for `-`.
pub fn read(path: &str, how: &Reading) -> Result<Read> {
    if path != "-" {
        return read_bytes(&source::load(path)?, path, how);
    }
    if how.format.is_none() {
        let reason = format!("there is no extension that tells the format; give --format {NAMES}");
        return Err(Error::format(source::STANDARD_INPUT, None, None, reason));
    }
    read_bytes(&source::load(path)?, source::STANDARD_INPUT, how)
}

/// Reads what is already in memory; `origin` names it in messages and gives the format where `how` does not.
pub fn read_bytes(bytes: &[u8], origin: &str, how: &Reading) -> Result<Read> {
    let format = how.format.map_or_else(|| Format::from_path(origin), Ok)?;
    let bytes = source::unpacked(bytes, origin)?;
    match format {
        Format::Libsvm => libsvm::read(&bytes, origin, how),
        Format::Csv => csv::read(&bytes, origin, how),
        _ => Err(Error::data(format!("{origin}: the format {} cannot be read yet", format.name()))),
    }
}

fn matrix<R: Real>(values: Vec<R>, rows: usize, cols: usize) -> Result<Matrix<R>> {
    let found = values.len();
    Matrix::new(values, rows, cols).ok_or(Error::Shape { what: "values", expected: rows.saturating_mul(cols), found })
}
