//! Columns of a data frame as features, by the rules that the library has for tables.
use std::collections::HashSet;

use kernelet::{
    data::{Cell, Encoder, Encoding, Gathered, Tally},
    linalg::Matrix,
};
use numpy::{PyArray2, PyReadonlyArray1};
use pyo3::{exceptions::PyValueError, prelude::*};

use crate::{
    arrays::array,
    work::{guarded, refused},
};

/// The values of a column: numbers, of which NaN are missing, or anything else.
#[derive(FromPyObject)]
pub enum Values<'py> {
    /// Numbers.
    Numbers(PyReadonlyArray1<'py, f64>),
    /// Text, or numbers among text; None is missing.
    Mixed(Vec<Option<Value>>),
}

/// A value that is not missing.
#[derive(FromPyObject)]
pub enum Value {
    /// Text.
    Text(String),
    /// A number.
    Number(f64),
}

impl Values<'_> {
    fn len(&self) -> PyResult<usize> {
        Ok(match self {
            Values::Numbers(values) => values.as_slice()?.len(),
            Values::Mixed(values) => values.len(),
        })
    }

    fn for_each(&self, mut show: impl FnMut(usize, Cell) -> Result<(), String>) -> PyResult<Result<(), String>> {
        let placed = |row: usize| move |reason: String| format!("{reason}, in row {}", row + 1);
        Ok(match self {
            Values::Numbers(values) => {
                values.as_slice()?.iter().enumerate().try_for_each(|(row, &value)| show(row, Cell::Number(value)).map_err(placed(row)))
            }
            Values::Mixed(values) => values.iter().enumerate().try_for_each(|(row, value)| show(row, cell(value)).map_err(placed(row))),
        })
    }
}

fn cell(value: &Option<Value>) -> Cell<'_> {
    match value {
        None => Cell::Missing,
        Some(Value::Text(text)) => Cell::Text(text),
        Some(Value::Number(value)) => Cell::Number(*value),
    }
}

fn refused_column(name: &str, reason: &str) -> PyErr {
    PyValueError::new_err(format!("column {name:?}: {reason}"))
}

/// What is learned from columns, as JSON text; `text` names those that are text even where they have nothing but numbers.
#[pyfunction]
pub fn learn_table(names: Vec<String>, columns: Vec<Values>, text: HashSet<String>) -> PyResult<String> {
    guarded(|| {
        let mut learned = vec![];
        for (name, values) in names.iter().zip(&columns) {
            let mut gathered = match values {
                _ if text.contains(name) => Gathered::text(),
                Values::Numbers(_) => Gathered::numbers(),
                Values::Mixed(values) => Gathered::fitting(values.iter().map(cell)),
            };
            values.for_each(|_, cell| gathered.push(cell))?.map_err(|reason| refused_column(name, &reason))?;
            learned.push(gathered.finish(name).map_err(|reason| PyValueError::new_err(format!("{reason}; leave it out")))?);
        }
        let encoding = Encoding { columns: learned, named: true };
        encoding.check().map_err(refused)?;
        serde_json::to_string(&encoding).map_err(|error| PyValueError::new_err(error.to_string()))
    })
}

/// The features of columns, which are those of a table that are not ignored, and notes for the user.
#[pyfunction]
pub fn encode_table<'py>(py: Python<'py>, table: &str, columns: Vec<Values>) -> PyResult<(Bound<'py, PyArray2<f64>>, Vec<String>)> {
    guarded(|| {
        let encoding = read(table)?;
        let names: Vec<&str> = encoding.used().map(|column| column.name()).collect();
        if names.len() != columns.len() {
            return Err(PyValueError::new_err(format!("there are {} columns, but the table has {}", columns.len(), names.len())));
        }
        let lengths = columns.iter().map(Values::len).collect::<PyResult<Vec<usize>>>()?;
        let n_rows = lengths.first().copied().unwrap_or(0);
        if lengths.iter().any(|&len| len != n_rows) {
            return Err(PyValueError::new_err("the columns have different lengths"));
        }
        let (encoder, mut tally) = (Encoder::new(&encoding), Tally::default());
        let mut points = Matrix::zeros(n_rows, encoder.n_features());
        for (place, (name, values)) in names.iter().zip(&columns).enumerate() {
            let put = values.for_each(|row, cell| encoder.put(place, cell, points.row_mut(row), &mut tally))?;
            put.map_err(|reason| refused_column(name, &reason))?;
        }
        Ok((array(py, points)?, encoder.notes(&tally)))
    })
}

/// The table in its JSON text.
pub fn read(table: &str) -> PyResult<Encoding> {
    let encoding: Encoding = serde_json::from_str(table).map_err(|error| PyValueError::new_err(format!("this is no table: {error}")))?;
    encoding.check().map_err(refused)?;
    Ok(encoding)
}
