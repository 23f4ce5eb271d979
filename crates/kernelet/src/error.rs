//! The one error type of the library. Messages are whole sentences: what is wrong, where, and what would be right.
use std::{fmt::Display, io, path::Path};

use crate::text::exact;

/// A `Result` with this library's [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

/// Everything that can go wrong. Rows, columns and lines are counted from 1 in messages and from 0 in fields named `row` and `column`.
#[non_exhaustive]
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A parameter lies outside its allowed range.
    #[error("{name} is {value}, but must be {allowed}")]
    Parameter {
        /// The parameter, as the user writes it.
        name: &'static str,
        /// The value given.
        value: String,
        /// The values that are allowed.
        allowed: String,
    },
    /// Two sizes that must agree do not.
    #[error("{what}: expected {expected}, found {found}")]
    Shape {
        /// What is counted.
        what: &'static str,
        /// The number that would be right.
        expected: usize,
        /// The number that is there.
        found: usize,
    },
    /// A number is NaN or infinite.
    #[error("{what} in row {}, column {} is {value}; every number must be finite", row + 1, column + 1)]
    NotFinite {
        /// What the number is: `a value`, `a target`, `a weight`.
        what: &'static str,
        /// The row, from 0.
        row: usize,
        /// The column, from 0.
        column: usize,
        /// NaN, inf or -inf.
        value: f64,
    },
    /// Classification needs at least two classes.
    #[error("all {rows} rows have the label {label}; a classifier needs at least two classes")]
    OneClass {
        /// The label all rows have.
        label: String,
        /// How many rows there are.
        rows: usize,
    },
    /// The data cannot be used as asked, for the reason given.
    #[error("{0}")]
    Data(String),
    /// A device cannot be used, or has failed, for the reason given.
    #[error("{0}")]
    Device(String),
    /// Settings that contradict each other, are unknown or would be ignored. Names of settings stand in backticks, see [`Error::spelled`].
    #[error("{}", .0.replace('`', ""))]
    Request(String),
    /// The run was cancelled before there was anything to keep.
    #[error("interrupted before there was a result")]
    Cancelled,
    /// The method is not defined for this kernel or machine.
    #[error("{method} does not work with {with}: {instead}")]
    Unsupported {
        /// The method asked for.
        method: &'static str,
        /// The kernel or machine it cannot work with.
        with: String,
        /// What to do instead.
        instead: String,
    },
    /// A file's content is not what its format demands.
    #[error("{path}{}: {reason}", place(*line, *column))]
    Format {
        /// The file.
        path: String,
        /// The line, from 1, where there is one.
        line: Option<usize>,
        /// The column (a byte of a text line, or a field of a table), from 1, where there is one.
        column: Option<usize>,
        /// What is wrong.
        reason: String,
    },
    /// A model file was written by a newer version.
    #[error("{path}: this model has format version {found}, but this program reads up to version {newest}; update kernelet to read it")]
    Version {
        /// The file.
        path: String,
        /// Its version.
        found: u32,
        /// The newest version known here.
        newest: u32,
    },
    /// The operating system refused to read or write.
    #[error("{path}: {}", io_reason(source))]
    Io {
        /// The file.
        path: String,
        /// The error of the system.
        source: io::Error,
    },
}

impl Error {
    /// A parameter outside its range: `Error::parameter("gamma", -1.0, "a finite number above 0")`.
    pub fn parameter(name: &'static str, value: impl Display, allowed: impl Into<String>) -> Self {
        Error::Parameter { name, value: short(value.to_string()), allowed: allowed.into() }
    }

    /// Settings that cannot be used; names of settings in backticks.
    pub fn request(sentence: impl Into<String>) -> Self {
        Error::Request(sentence.into())
    }

    /// The message with the names of settings as an interface writes them: `--max-error` or `max_error`.
    pub fn spelled(&self, spell: impl Fn(&str) -> String) -> String {
        match self {
            Error::Request(sentence) => spelled(sentence, spell),
            other => other.to_string(),
        }
    }

    /// Data that cannot be used, with the reason as a sentence.
    pub fn data(reason: impl Into<String>) -> Self {
        Error::Data(reason.into())
    }

    /// A device that cannot be used, with the reason as a sentence.
    pub(crate) fn device(reason: impl Into<String>) -> Self {
        Error::Device(reason.into())
    }

    /// A failed read or write of `path`.
    pub fn io(path: impl AsRef<Path>, source: io::Error) -> Self {
        Error::Io { path: path.as_ref().display().to_string(), source }
    }

    /// Bad content at a place of a file; `line` and `column` count from 1.
    pub fn format(path: impl Display, line: Option<usize>, column: Option<usize>, reason: impl Into<String>) -> Self {
        Error::Format { path: path.to_string(), line, column, reason: reason.into() }
    }
}

/// A sentence with the names of settings, which stand in backticks, as an interface writes them.
pub fn spelled(sentence: &str, spell: impl Fn(&str) -> String) -> String {
    let parts = sentence.split('`').enumerate();
    parts.map(|(i, part)| if i % 2 == 1 { spell(part) } else { part.to_string() }).collect()
}

/// Checks that a parameter is a finite number above zero.
pub(crate) fn require_positive(name: &'static str, value: f64) -> Result<()> {
    match value.is_finite() && value > 0.0 {
        true => Ok(()),
        false => Err(Error::parameter(name, value, "a finite number above 0")),
    }
}

/// The most that an error may cost, and a row may weigh: beyond, what is left of the penalty in double precision is rounding.
pub(crate) const MOST_COST: f64 = 1e12;

/// Checks the cost C of an error.
pub(crate) fn require_cost(value: f64) -> Result<()> {
    require_positive("c", value)?;
    match value <= MOST_COST {
        true => Ok(()),
        false => Err(Error::parameter("c", format!("{value:e}"), format!("at most {MOST_COST:e}"))),
    }
}

/// A number of many zeros with an exponent instead.
fn short(text: String) -> String {
    const LONGEST: usize = 24;
    match text.parse() {
        Ok(value) if text.len() > LONGEST => exact(value),
        _ => text,
    }
}

/// What is wrong with the weight of a row, if anything.
pub(crate) fn wrong_weight(weight: f64) -> Option<String> {
    match weight {
        weight if !weight.is_finite() || weight < 0.0 => Some(format!("{}, but must be a finite number of at least 0", exact(weight))),
        weight if weight > MOST_COST => Some(format!("{weight:e}, but must be at most {MOST_COST:e}")),
        _ => None,
    }
}

/// Checks that a parameter is a finite number of at least zero.
pub(crate) fn require_not_negative(name: &'static str, value: f64) -> Result<()> {
    match value.is_finite() && value >= 0.0 {
        true => Ok(()),
        false => Err(Error::parameter(name, value, "a finite number of at least 0")),
    }
}

/// Checks that a parameter is a part of a whole that is not nothing.
pub(crate) fn require_share(name: &'static str, value: f64) -> Result<()> {
    match value > 0.0 && value <= 1.0 {
        true => Ok(()),
        false => Err(Error::parameter(name, value, "a number above 0 and at most 1")),
    }
}

fn place(line: Option<usize>, column: Option<usize>) -> String {
    match (line, column) {
        (Some(line), Some(column)) => format!(", line {line}, column {column}"),
        (Some(line), None) => format!(", line {line}"),
        (None, Some(column)) => format!(", column {column}"),
        (None, None) => String::new(),
    }
}

fn io_reason(source: &io::Error) -> String {
    match source.kind() {
        io::ErrorKind::NotFound => "there is no such file".into(),
        io::ErrorKind::PermissionDenied => "permission denied".into(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "there is no space left on the disk".into(),
        io::ErrorKind::IsADirectory => "this is a directory, not a file".into(),
        _ => source.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_say_what_is_wrong_and_what_would_be_right() {
        let cases = [
            (Error::parameter("gamma", -1.0, "a finite number above 0"), "gamma is -1, but must be a finite number above 0"),
            (Error::parameter("c", -1e-300, "above 0"), "c is -1e-300, but must be above 0"),
            (Error::parameter("nu", 1e300, "at most 1"), "nu is 1e300, but must be at most 1"),
            (Error::parameter("seed", u64::MAX, "less"), "seed is 18446744073709551615, but must be less"),
            (Error::Shape { what: "columns", expected: 3, found: 2 }, "columns: expected 3, found 2"),
            (
                Error::NotFinite { what: "a value", row: 0, column: 4, value: f64::NAN },
                "a value in row 1, column 5 is NaN; every number must be finite",
            ),
            (Error::format("a.svm", Some(3), Some(7), "no colon"), "a.svm, line 3, column 7: no colon"),
            (Error::io("b.svm", io::Error::from(io::ErrorKind::NotFound)), "b.svm: there is no such file"),
        ];
        for (error, text) in cases {
            assert_eq!(error.to_string(), text);
        }
    }
}
