//! Reading the vectors of LIBSVM model text: a line of coefficients and `index:value` pairs for each.
use super::read::Header;
use crate::{
    Error, Result,
    data::{Csr, Points},
    linalg::Matrix,
    model::in_file,
};

/// The lines below `SV`, one vector each. Returns the vectors and the coefficients, `width` for each.
pub(super) fn read_vectors<'a>(lines: impl Iterator<Item = (usize, &'a str)>, header: &Header, width: usize) -> Result<(Points, Matrix)> {
    let total: usize = header.single("total_sv", "a whole number")?;
    let mut rows = Rows { starts: vec![0], ..Rows::default() };
    let mut last = header.end;
    for (number, line) in lines {
        if rows.starts.len() > total {
            return Err(header.bad(number, format!("a line follows the last vector: total_sv is {total}")));
        }
        rows.push(Place { line, number, origin: header.origin }, width)?;
        last = number;
    }
    let found = rows.starts.len() - 1;
    if found < total {
        return Err(header.bad(last, format!("the file ends after {found} of {total} vectors")));
    }
    let mismatch = || header.bad(last, "the coefficients do not fit the vectors");
    let coefficients = Matrix::new(rows.coefficients, found, width).ok_or_else(mismatch)?;
    let vectors = Csr::new(rows.starts, rows.columns, rows.values, rows.dim).map_err(|error| in_file(header.origin, error))?;
    Ok((Points::Sparse(vectors).densified_if_dense(), coefficients))
}

/// The vectors read so far.
#[derive(Default)]
struct Rows {
    starts: Vec<usize>,
    columns: Vec<u32>,
    values: Vec<f64>,
    coefficients: Vec<f64>,
    dim: usize,
}

impl Rows {
    /// Reads `width` coefficients, then the features that are not zero.
    fn push(&mut self, place: Place, width: usize) -> Result<()> {
        let mut tokens = place.line.split_ascii_whitespace();
        for found in 0..width {
            let Some(token) = tokens.next().filter(|token| !token.contains(':')) else {
                let reason = format!("the vector has {found} coefficients, but {width} are needed");
                return Err(Error::format(place.origin, Some(place.number), None, reason));
            };
            self.coefficients.push(place.value(token, token)?);
        }
        let mut highest = 0u32;
        for token in tokens {
            let pair = token.split_once(':');
            let (index, value) = pair.ok_or_else(|| place.bad(token, format!("{token:?} is not of the form index:value")))?;
            let index: u32 = index.parse().map_err(|_| place.bad(token, format!("{index:?} is not an index")))?;
            if index == 0 {
                return Err(place.bad(token, "the index is 0, but indices count from 1"));
            }
            if index <= highest {
                return Err(place.bad(token, format!("index {index} follows index {highest}, but indices must ascend")));
            }
            highest = index;
            let value = place.value(token, value)?;
            // A written zero only says how many features there are.
            if value.to_bits() != 0 {
                self.columns.push(index - 1);
                self.values.push(value);
            }
        }
        self.dim = self.dim.max(highest as usize);
        self.starts.push(self.columns.len());
        Ok(())
    }
}

/// A line of the file.
#[derive(Clone, Copy)]
struct Place<'a> {
    line: &'a str,
    number: usize,
    origin: &'a str,
}

impl Place<'_> {
    /// An error at a token of the line.
    fn bad(&self, token: &str, reason: impl Into<String>) -> Error {
        let column = (token.as_ptr() as usize).saturating_sub(self.line.as_ptr() as usize) + 1;
        Error::format(self.origin, Some(self.number), Some(column), reason)
    }

    /// The number that a part of a token spells.
    fn value(&self, token: &str, text: &str) -> Result<f64> {
        match text.parse::<f64>() {
            Ok(value) if value.is_finite() => Ok(value),
            Ok(value) => Err(self.bad(token, format!("the number is {value}; every number must be finite"))),
            Err(_) => Err(self.bad(token, format!("{text:?} is not a number"))),
        }
    }
}
