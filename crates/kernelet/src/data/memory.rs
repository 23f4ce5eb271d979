//! How much memory dense storage may take. Sparse rows may have features of any number, and what is made dense by such a number is
//! checked before: the need is computed and rejected above a limit, so that no file can make a program ask for more than there is.
use std::sync::{
    LazyLock,
    atomic::{AtomicUsize, Ordering},
};

use crate::{Error, Result};

/// Megabytes where nothing else is said.
const USUAL: usize = 2048;

/// The environment variable with the limit in megabytes, for every command and for Python.
const VARIABLE: &str = "KERNELET_MEMORY";

static LIMIT: LazyLock<AtomicUsize> = LazyLock::new(|| {
    let given = std::env::var(VARIABLE).ok().and_then(|megabytes| megabytes.parse::<usize>().ok());
    AtomicUsize::new(given.unwrap_or(USUAL).saturating_mul(1 << 20))
});

/// Raises the limit for this process to so many bytes; a lower limit than the present one changes nothing.
pub fn raise_limit(bytes: usize) {
    LIMIT.fetch_max(bytes, Ordering::Relaxed);
}

/// The limit in bytes.
pub fn limit() -> usize {
    LIMIT.load(Ordering::Relaxed)
}

/// An error where `rows` x `columns` numbers in double precision exceed the limit; `what` needs them.
pub fn require(what: &str, rows: usize, columns: usize) -> Result<()> {
    let needed = rows.saturating_mul(columns).saturating_mul(size_of::<f64>());
    match needed <= limit() {
        true => Ok(()),
        false => Err(Error::data(format!(
            "{what} needs dense storage of {rows} x {columns} numbers, {} MB, above the limit of {} MB; memory (in MB) in training or the environment variable {VARIABLE} raises it",
            needed >> 20,
            limit() >> 20
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_exceeds_the_limit_is_rejected_with_the_figure() {
        assert!(require("a test", 10, 10).is_ok());
        let error = require("a test", 16, 4_294_967_294).unwrap_err().to_string();
        assert!(error.starts_with("a test needs dense storage of 16 x 4294967294 numbers, 524287 MB, above the limit of "), "{error}");
        assert!(require("a test", usize::MAX, 2).is_err());
    }
}
