//! A machine made smaller by the flags of `kernelet compress`.
use kernelet::data::Dataset;
use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::{exceptions::PyValueError, prelude::*};
use serde_json::{Value, json};

use crate::{
    arrays::{self, Rows},
    machine::PyMachine,
    path::PyPath,
    work,
};

/// Makes a machine smaller; gives it, every size on the way, and as JSON text the figures of the sizes and how it went. Classes are the
/// places of the machine's labels.
#[pyfunction]
#[pyo3(signature = (flags, machine, rows=None, codes=None, values=None, threads=1, report=None))]
#[expect(clippy::too_many_arguments, reason = "keywords in Python")]
pub fn compress(
    py: Python,
    flags: Vec<String>,
    machine: &PyMachine,
    rows: Option<Rows>,
    codes: Option<PyReadonlyArray1<u32>>,
    values: Option<PyReadonlyArray2<f64>>,
    threads: usize,
    report: Option<Py<PyAny>>,
) -> PyResult<(PyMachine, PyPath, String)> {
    work::guarded(|| {
        let labels = machine.inner().decision.labels();
        let target = arrays::target(codes, values, (!labels.is_empty()).then_some(labels))?;
        let data = rows.map(|rows| rows.to_points()).transpose()?.map(|points| Dataset::new(points, target));
        let (original, before) = (machine.inner().clone(), machine.inner().vectors());
        let done = work::interruptible(py, threads, report, move |watch| kernelet_cli::compress(&flags, &original, data, watch))?;
        let small = done.map_err(PyValueError::new_err)?;
        let (sizes, machines): (Vec<_>, Vec<_>) = small.sizes.into_iter().unzip();
        let mut about = json!({
            "method": small.method, "status": small.status.name(), "notes": small.notes, "path": sizes,
            "vectors_before": before, "vectors": small.machine.vectors(),
        });
        if let (Value::Object(about), Value::Object(report)) = (&mut about, small.report) {
            about.extend(report);
        }
        Ok((PyMachine::new(small.machine), PyPath { machines, path: small.path }, about.to_string()))
    })
}
