//! A trained machine in Python.
use std::path::PathBuf;

#[cfg(feature = "cuda")]
use kernelet::device::CardArray;
use kernelet::{
    basis,
    data::{Dataset, Encoding, Label, Points},
    device::Device,
    learn::Fit,
    linalg::Matrix,
    machine::{Coefficients, Decision, Machine, Metadata, PredictionSets},
    model,
};
use numpy::{PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2, ToPyArray};
use pyo3::{exceptions::PyValueError, prelude::*, types::PyBytes};
use serde_json::{Value, json};

use crate::{
    arrays::{Rows, array, matrix, target},
    files,
    outputs::Ready,
    parts,
    work::{self, guarded, refused},
};

/// A trained machine.
#[pyclass(frozen, name = "Machine", module = "kernelet._core")]
pub struct PyMachine {
    machine: Machine,
    report: Value,
    ready: Ready,
}

impl PyMachine {
    /// A machine that is ready.
    pub fn new(machine: Machine) -> Self {
        PyMachine { machine, report: Value::Null, ready: Ready::default() }
    }

    /// The machine itself.
    pub fn inner(&self) -> &Machine {
        &self.machine
    }

    /// A machine and how it came about.
    pub fn of_fit(fit: Fit, notes: &[String]) -> Self {
        let report = json!({
            "notes": notes,
            "objective": fit.report.objective,
            "iterations": fit.report.iterations,
            "status": fit.report.status.name(),
            "evaluations": fit.report.evaluations,
            "support": fit.report.support.as_ref().map(|support| json!({ "rows": support.rows, "iterations": support.iterations })),
        });
        PyMachine { report, ..PyMachine::new(fit.machine) }
    }

    /// The outputs of all rows.
    fn all_outputs(&self, py: Python, rows: &Rows, threads: usize) -> PyResult<Matrix> {
        self.ready.outputs(py, &self.machine, rows, threads)
    }
}

#[pymethods]
impl PyMachine {
    /// The same machine, predicting on a device: `cpu`, `gpu` or `gpu:N`.
    fn on(&self, py: Python, device: &str) -> PyResult<PyMachine> {
        guarded(|| {
            let device = Device::named(device).map_err(refused)?;
            let ready = py.detach(|| Ready::on(&self.machine, device)).map_err(refused)?;
            Ok(PyMachine { report: self.report.clone(), ready, ..PyMachine::new(self.machine.clone()) })
        })
    }

    /// Where it predicts.
    #[getter]
    fn device(&self) -> String {
        self.ready.device().name()
    }

    /// Outputs of rows that lie on the machine's card, written to an array there: for each its address, whether it is in double precision, rows and columns. Work is added at the
    /// end of the stream, and is done when this returns.
    fn outputs_on_card(&self, py: Python, rows: (u64, bool, usize, usize), out: (u64, bool, usize, usize), stream: u64) -> PyResult<()> {
        #[cfg(feature = "cuda")]
        return guarded(|| {
            let array = |(place, double, rows, cols)| CardArray { place, double, rows, cols };
            py.detach(|| self.ready.predictor(&self.machine).outputs_on_card(array(rows), array(out), stream)).map_err(refused)
        });
        #[cfg(not(feature = "cuda"))]
        {
            let _ = (py, rows, out, stream);
            Err(PyValueError::new_err("this kernelet was built without support for GPUs"))
        }
    }

    /// The outputs f_k(x) + b_k, one row for each row.
    #[pyo3(signature = (rows, threads=1))]
    fn outputs<'py>(&self, py: Python<'py>, rows: Rows, threads: usize) -> PyResult<Bound<'py, PyArray2<f64>>> {
        guarded(|| array(py, self.all_outputs(py, &rows, threads)?))
    }

    /// The number of each row's class.
    #[pyo3(signature = (rows, threads=1))]
    fn classes<'py>(&self, py: Python<'py>, rows: Rows, threads: usize) -> PyResult<Bound<'py, PyArray1<i64>>> {
        guarded(|| {
            let outputs = self.all_outputs(py, &rows, threads)?;
            let codes: Vec<i64> = outputs.iter().map(|row| self.machine.decision.class(row) as i64).collect();
            Ok(codes.to_pyarray(py))
        })
    }

    /// The probability of each class, one row for each row.
    #[pyo3(signature = (rows, threads=1))]
    fn probabilities<'py>(&self, py: Python<'py>, rows: Rows, threads: usize) -> PyResult<Bound<'py, PyArray2<f64>>> {
        guarded(|| {
            let outputs = self.all_outputs(py, &rows, threads)?;
            array(py, self.machine.probabilities(&outputs).map_err(refused)?)
        })
    }

    /// Standard deviations of predicted numbers, where the machine knows them.
    fn deviations<'py>(&self, py: Python<'py>, rows: Rows) -> PyResult<Bound<'py, PyArray2<f64>>> {
        guarded(|| {
            let points = rows.to_points()?;
            array(py, py.detach(|| self.machine.deviations(&points)).map_err(refused)?)
        })
    }

    /// The same machine with prediction sets calibrated on rows that it was not trained on, with their classes or numbers.
    #[pyo3(signature = (rows, codes=None, values=None))]
    fn calibrated(
        &self,
        py: Python,
        rows: Rows,
        codes: Option<PyReadonlyArray1<u32>>,
        values: Option<PyReadonlyArray2<f64>>,
    ) -> PyResult<PyMachine> {
        guarded(|| {
            let labels = codes.is_some().then(|| self.machine.decision.labels());
            let data = Dataset::new(rows.to_points()?, target(codes, values, labels)?);
            let mut machine = self.machine.clone();
            machine.metadata.sets = Some(py.detach(|| self.machine.set_scores(&data)).map_err(refused)?);
            Ok(PyMachine { report: self.report.clone(), ..PyMachine::new(machine) })
        })
    }

    /// Prediction sets: for each row and class a 1 where the set has it; for numbers the lower ends of the intervals, then the upper ones.
    #[pyo3(signature = (rows, confidence, threads=1))]
    fn prediction_sets<'py>(&self, py: Python<'py>, rows: Rows, confidence: f64, threads: usize) -> PyResult<Bound<'py, PyArray2<f64>>> {
        guarded(|| {
            self.machine.check_sets(confidence).map_err(refused)?;
            let (outputs, points) = (self.all_outputs(py, &rows, threads)?, rows.to_points()?);
            let sets = py.detach(|| self.machine.prediction_sets(&outputs, &points, confidence)).map_err(refused)?;
            let n = outputs.rows();
            let numbers = match &sets {
                PredictionSets::Classes { labels, members } => Matrix::from_fn(n, labels.len(), |i, c| f64::from(u8::from(members[i][c]))),
                PredictionSets::Intervals { lower, upper } => {
                    let q = lower.cols();
                    Matrix::from_fn(n, 2 * q, |i, k| if k < q { lower.at(i, k) } else { upper.at(i, k - q) })
                }
            };
            array(py, numbers)
        })
    }

    /// The content of a model file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        guarded(|| Ok(PyBytes::new(py, &model::native::to_bytes(&self.machine).map_err(refused)?)))
    }

    /// The machine in the content of a model file.
    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<PyMachine> {
        guarded(|| model::load_bytes(bytes, "these bytes").map(PyMachine::new).map_err(refused))
    }

    /// The machine in a model file.
    #[staticmethod]
    fn load(path: PathBuf) -> PyResult<PyMachine> {
        guarded(|| model::load(path).map(PyMachine::new).map_err(refused))
    }

    /// Writes a file: `kernelet` (the program's own), `libsvm`, `json`, `javascript`, `onnx` or `c`, the last two in a precision, `f64` or `f32`.
    #[pyo3(signature = (path, to="kernelet", precision="f64"))]
    fn save(&self, path: PathBuf, to: &str, precision: &str) -> PyResult<()> {
        guarded(|| files::save(&self.machine, &path, to, precision))
    }

    /// Writes C source and its header with numbers of a precision; whole numbers take the ranges of features from `rows`.
    #[pyo3(signature = (path, precision, rows=None))]
    fn save_c(&self, path: PathBuf, precision: &str, rows: Option<Rows>) -> PyResult<()> {
        let rows = rows.map(|rows| rows.to_points()).transpose()?;
        guarded(|| files::save_c(&self.machine, &path, precision, rows.as_ref()).map_err(refused))
    }

    /// The same machine with other names for its classes.
    fn relabelled(&self, labels: Vec<String>) -> PyResult<PyMachine> {
        let mut machine = self.machine.clone();
        let fresh: Vec<Label> = labels.into_iter().map(Label::new).collect();
        if fresh.len() != machine.decision.labels().len() {
            return Err(PyValueError::new_err("there must be one label for each class"));
        }
        match (&mut machine.decision, fresh.as_slice()) {
            (Decision::Sign { negative, positive }, [first, second]) => (*negative, *positive) = (first.clone(), second.clone()),
            (Decision::Votes { labels } | Decision::Largest { labels } | Decision::Codes { labels, .. }, _) => *labels = fresh,
            _ => {}
        }
        Ok(PyMachine { report: self.report.clone(), ..PyMachine::new(machine) })
    }

    /// The same machine for rows of a table, which is JSON text.
    fn with_table(&self, table: &str) -> PyResult<PyMachine> {
        let (mut machine, table): (_, Encoding) = (self.machine.clone(), crate::table::read(table)?);
        (machine.names, machine.metadata.table) = (Some(table.feature_names()), Some(table));
        machine.check().map_err(refused)?;
        Ok(PyMachine { report: self.report.clone(), ..PyMachine::new(machine) })
    }

    /// Features f(x)' matrix + offsets of the features f, as a machine on the same vectors.
    fn combined(&self, mix: PyReadonlyArray2<f64>, offsets: Vec<f64>) -> PyResult<PyMachine> {
        guarded(|| {
            let (dense, mix) = (self.machine.expansion.coefficients.to_dense(), matrix(&mix)?);
            if dense.cols() != mix.rows() || mix.cols() != offsets.len() {
                return Err(PyValueError::new_err("the matrix does not fit the outputs"));
            }
            let entry = |i: usize, k: usize| -> f64 { (0..mix.rows()).map(|j| dense.at(i, j) * mix.at(j, k)).sum() };
            let mixed = Matrix::from_fn(dense.rows(), mix.cols(), entry);
            let mut machine = self.machine.clone();
            machine.expansion.coefficients = Coefficients::Dense(mixed);
            machine.offsets = offsets;
            machine.check().map_err(refused)?;
            Ok(PyMachine::new(machine))
        })
    }

    /// The mean of rows in feature space on the vectors, for [`PyMachine::pre_images`].
    fn mean_on_vectors(&self, py: Python, rows: Rows) -> PyResult<Vec<f64>> {
        guarded(|| {
            let points = rows.to_points()?;
            py.detach(|| basis::mean_on_vectors(&self.machine, &points)).map_err(refused)
        })
    }

    /// The points whose features are nearest to these, in the units of the vectors.
    #[pyo3(signature = (features, mean, threads=1))]
    fn pre_images<'py>(
        &self,
        py: Python<'py>,
        features: PyReadonlyArray2<f64>,
        mean: Vec<f64>,
        threads: usize,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        guarded(|| {
            let (features, back) = (matrix(&features)?, basis::PreImages::new(&self.machine, mean).map_err(refused)?);
            let found = work::interruptible(py, threads, None, move |watch| back.of(&features, watch))?;
            array(py, found.map_err(refused)?)
        })
    }

    /// A machine from its parts; `about` is JSON text with `kernel` and `decision`, and where there are any `scale`, `names`, `calibration`, `facts`, and
    /// `starts` for one-vs-one coefficients in LIBSVM's layout.
    #[staticmethod]
    fn of_parts(about: &str, vectors: Rows, coefficients: PyReadonlyArray2<f64>, offsets: Vec<f64>) -> PyResult<PyMachine> {
        guarded(|| parts::joined(about, &vectors, &coefficients, offsets).map(PyMachine::new))
    }

    /// Everything but the arrays, as JSON text that [`PyMachine::of_parts`] takes with `vectors`, `stored` and `offsets`.
    fn parts(&self) -> String {
        parts::of(&self.machine)
    }

    /// The coefficients as they are kept: those of pairs of classes in LIBSVM's layout.
    fn stored<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        array(py, self.machine.expansion.coefficients.stored().clone())
    }

    /// The coordinates along the first vectors of a basis: the outputs of the first so many, which the other vectors have no part in.
    fn leading(&self, vectors: usize) -> PyResult<PyMachine> {
        guarded(|| {
            let first: Vec<usize> = (0..vectors.min(self.machine.n_vectors())).collect();
            let dense = self.machine.expansion.coefficients.to_dense();
            if self.machine.n_outputs() != self.machine.n_vectors() || first.is_empty() {
                return Err(PyValueError::new_err("only the coordinates of a basis have a first vector"));
            }
            let mut machine = self.machine.clone();
            machine.expansion.vectors = machine.expansion.vectors.select(&first);
            machine.expansion.coefficients = Coefficients::Dense(Matrix::from_fn(first.len(), first.len(), |i, k| dense.at(i, k)));
            machine.offsets.truncate(first.len());
            machine.check().map_err(refused)?;
            Ok(PyMachine::new(machine))
        })
    }

    /// The expansion vectors, or the parts of a CSR matrix with the number of columns.
    fn vectors<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match &self.machine.expansion.vectors {
            Points::Sparse(rows) => {
                let (starts, columns, values) = rows.parts();
                let starts: Vec<i64> = starts.iter().map(|&s| s as i64).collect();
                let columns: Vec<i64> = columns.iter().map(|&c| i64::from(c)).collect();
                Ok((starts.to_pyarray(py), columns.to_pyarray(py), values.to_pyarray(py), rows.dim()).into_pyobject(py)?.into_any())
            }
            dense => Ok(array(py, dense.to_dense())?.into_any()),
        }
    }

    /// One row for each vector, one column for each output.
    fn coefficients<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        array(py, self.machine.expansion.coefficients.to_dense())
    }

    /// One number for each output.
    fn offsets<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.machine.offsets.to_pyarray(py)
    }

    /// What is known of the machine, as JSON text: kernel, decision, labels, metadata and how it came about.
    fn description(&self) -> String {
        let Machine { expansion, decision, metadata, .. } = &self.machine;
        let labels: Vec<String> = decision.labels().iter().map(Label::to_string).collect();
        // Fingerprints of rows are for the library alone.
        let metadata = Metadata { seen: None, ..metadata.clone() };
        let about = json!({
            "kernel": expansion.kernel, "gamma": expansion.kernel.gamma(), "decision": decision, "labels": labels,
            "facts": metadata, "report": self.report, "probabilities": self.machine.check_probabilities().is_ok(),
            "scale": self.machine.scale, "vectors": self.machine.n_vectors(), "outputs": self.machine.n_outputs(), "dim": self.machine.dim(),
        });
        about.to_string()
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        let rebuild = py.get_type::<PyMachine>().getattr("from_bytes")?;
        Ok((rebuild, (self.to_bytes(py)?,)))
    }
}
