//! Machines of several sizes, and their metrics as JSON text: a list of objects, smallest size first.
use kernelet::{basis::Basis, compress::Path, linalg::dot, machine::Machine};
use pyo3::{exceptions::PyValueError, prelude::*};
use serde_json::{Value, json};

use crate::{machine::PyMachine, work::guarded};

/// The size path: the machines of every size.
#[pyclass(frozen, name = "Path", module = "kernelet._core")]
pub struct PyPath {
    /// Those with metrics, smallest first.
    pub machines: Vec<Machine>,
    /// Every size, where it is known.
    pub path: Option<Path>,
}

#[pymethods]
impl PyPath {
    /// The largest machine of at most so many vectors.
    fn at(&self, vectors: usize) -> PyResult<PyMachine> {
        guarded(|| {
            let every = self.path.as_ref().and_then(|path| path.at(vectors));
            let measured = || self.machines.iter().rev().find(|machine| machine.n_vectors() <= vectors).cloned();
            let found =
                every.or_else(measured).ok_or_else(|| PyValueError::new_err(format!("every size has more than {vectors} vectors")))?;
            Ok(PyMachine::new(found))
        })
    }
}

/// Vectors, and the largest and the mean squared distance of the rows from their span; for a basis that does not grow one vector at a time only the last.
pub fn metrics_of_basis(basis: &Basis, grows: bool) -> String {
    let (n, most) = (basis.errors.len(), basis.frame.len());
    let mut errors = basis.errors.clone();
    let mut figures = vec![];
    for size in (1..=most).rev() {
        let (largest, sum) = errors.iter().fold((0.0, 0.0), |(largest, sum): (f64, f64), &error| (largest.max(error), sum + error));
        figures.push(json!({ "vectors": size, "largest_error": largest, "mean_error": sum / n.max(1) as f64 }));
        if !grows {
            break;
        }
        errors.iter_mut().zip(basis.coordinates.iter()).for_each(|(error, row)| *error += dot(&row[size - 1..size], &row[size - 1..size]));
    }
    figures.reverse();
    Value::from(figures).to_string()
}
