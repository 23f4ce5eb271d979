//! A cascade of machines in Python.
use std::{borrow::Cow, path::PathBuf};

use kernelet::{
    data::{Dataset, Label},
    evaluate::exits::exit_rate,
    machine::{
        Prediction,
        cascade::{Cascade, CascadePredictor},
    },
    model,
    request::Compress,
};
use numpy::{PyArray1, PyReadonlyArray1, ToPyArray};
use pyo3::{prelude::*, types::PyBytes};
use serde_json::json;

use crate::{
    arrays::{self, Rows},
    machine::PyMachine,
    work::{self, guarded, pool, refused},
};

/// One whole number for each row.
type Codes<'py> = Bound<'py, PyArray1<i64>>;

/// Small machines before a large one.
#[pyclass(frozen, name = "Cascade", module = "kernelet._core")]
pub struct PyCascade {
    ready: CascadePredictor<'static>,
}

impl PyCascade {
    fn new(cascade: Cascade) -> Self {
        PyCascade { ready: CascadePredictor::new(Cow::Owned(cascade)) }
    }
}

#[pymethods]
impl PyCascade {
    /// For each row the place of its class and the stage that answered, and the kernel evaluations of all rows.
    #[pyo3(signature = (rows, threads=1))]
    fn answers<'py>(&self, py: Python<'py>, rows: Rows, threads: usize) -> PyResult<(Codes<'py>, Codes<'py>, u64)> {
        guarded(|| {
            let (points, pool) = (rows.to_points()?, pool(threads)?);
            let answers = py.detach(|| pool.install(|| self.ready.predict(&points))).map_err(refused)?;
            let codes: Vec<i64> = match &answers.prediction {
                Prediction::Classes { codes, .. } => codes.iter().map(|&code| i64::from(code)).collect(),
                Prediction::Values(_) => vec![],
            };
            let stages: Vec<i64> = answers.stages.iter().map(|&stage| stage as i64).collect();
            Ok((codes.to_pyarray(py), stages.to_pyarray(py), answers.evaluations))
        })
    }

    /// The exit rate of rows beside that of calibration, as JSON text.
    #[pyo3(signature = (rows, threads=1))]
    fn monitor(&self, py: Python, rows: Rows, threads: usize) -> PyResult<String> {
        guarded(|| {
            let (points, pool) = (rows.to_points()?, pool(threads)?);
            let rate = py.detach(|| pool.install(|| exit_rate(&self.ready, &points))).map_err(refused)?;
            Ok(json!(rate).to_string())
        })
    }

    /// Stages, promise and labels, as JSON text.
    fn description(&self) -> String {
        let cascade = self.ready.cascade();
        let stages = cascade.stages.iter().map(|stage| {
            json!({ "vectors": stage.machine.n_vectors(), "threshold": stage.threshold, "exits": stage.exits, "head": stage.head.is_some() })
        });
        let labels: Vec<String> = cascade.labels().iter().map(Label::to_string).collect();
        let about = json!({
            "stages": stages.collect::<Vec<_>>(), "promise": cascade.promise, "labels": labels, "dim": cascade.dim(),
            "abstain": cascade.full.is_none(),
        });
        about.to_string()
    }

    /// The content of a file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        guarded(|| Ok(PyBytes::new(py, &model::cascade::to_bytes(self.ready.cascade()).map_err(refused)?)))
    }

    /// The cascade in the content of a file.
    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<PyCascade> {
        guarded(|| model::cascade::from_bytes(bytes, "these bytes").map(PyCascade::new).map_err(refused))
    }

    /// Writes a file that the program reads.
    fn save(&self, path: PathBuf) -> PyResult<()> {
        guarded(|| model::cascade::save(self.ready.cascade(), path).map_err(refused))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        let rebuild = py.get_type::<PyCascade>().getattr("from_bytes")?;
        Ok((rebuild, (self.to_bytes(py)?,)))
    }
}

/// Makes a cascade as a request in JSON asks for: small machines from `rows`, thresholds from `calibrate`. Also gives what the user should know.
#[pyfunction]
#[pyo3(signature = (request, machine, rows, calibrate, codes=None, threads=1, report=None))]
#[expect(clippy::too_many_arguments, reason = "keywords in Python")]
pub fn compress_cascade(
    py: Python,
    request: &str,
    machine: &PyMachine,
    rows: Rows,
    calibrate: Rows,
    codes: Option<PyReadonlyArray1<u32>>,
    threads: usize,
    report: Option<Py<PyAny>>,
) -> PyResult<(PyCascade, Vec<String>)> {
    guarded(|| {
        let request = Compress::from_json(request).map_err(refused)?;
        let labels = machine.inner().decision.labels();
        let target = arrays::target(codes, None, (!labels.is_empty()).then_some(labels))?;
        let (data, calibrate) = (Dataset::new(rows.to_points()?, target), calibrate.to_points()?);
        let original = machine.inner().clone();
        let done = work::interruptible(py, threads, report, move |watch| request.cascaded(&original, &data, &calibrate, watch))?;
        let made = done.map_err(refused)?;
        Ok((PyCascade::new(made.cascade), made.notes))
    })
}
