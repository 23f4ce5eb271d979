//! A trained machine in Python.
use std::{
    path::{Path, PathBuf},
    sync::{Mutex, OnceLock, TryLockError},
};

#[cfg(feature = "cuda")]
use kernelet::device::CardArray;
use kernelet::{
    Error, Named, basis,
    data::{Dataset, Encoding, Label, Points, Scale},
    device::Device,
    kernel::Kernel,
    learn::Fit,
    linalg::Matrix,
    machine::{Calibration, Coefficients, Decision, DenseRows, Expansion, Machine, Metadata, Pairwise, PredictionSets, Predictor, Work},
    model::{
        self, Precision, c,
        fixed::{Fixed, Width},
    },
};
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, ToPyArray};
use pyo3::{exceptions::PyValueError, prelude::*, types::PyBytes};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    arrays::{Rows, matrix},
    work::{self, guarded, pool, refused},
};

/// Kernel values times features of the work between two looks at Ctrl-C: some tenths of a second on one thread.
const TURN: usize = 2_000_000_000;

/// Up to so many multiplications are done at once where they are asked for: starting threads would take longer.
const SMALL: usize = 200_000;

/// A trained machine.
#[pyclass(frozen, name = "Machine", module = "kernelet._core")]
pub struct PyMachine {
    machine: Machine,
    report: Value,
    predictor: OnceLock<Predictor>,
    device: Device,
    spare: Mutex<Work>,
}

impl PyMachine {
    /// A machine that is ready.
    pub fn new(machine: Machine) -> Self {
        PyMachine { machine, report: Value::Null, predictor: OnceLock::new(), device: Device::Cpu, spare: Mutex::default() }
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

    /// That of a card was made with the machine, see [`PyMachine::on`].
    fn predictor(&self) -> &Predictor {
        self.predictor.get_or_init(|| Predictor::new(&self.machine))
    }

    /// The outputs of all rows. Dense rows are read where they are.
    fn all_outputs(&self, py: Python, rows: &Rows, threads: usize) -> PyResult<Matrix> {
        let (n, q) = (rows.len(), self.machine.n_outputs());
        if rows.dim() != self.machine.dim() {
            return Err(PyValueError::new_err(format!("X has {} features, but the machine expects {}", rows.dim(), self.machine.dim())));
        }
        let cost = self.machine.n_vectors().max(1).saturating_mul(self.machine.dim().max(1));
        let Some(dense) = rows.borrowed()? else {
            let points = rows.to_points()?;
            let pool = pool(threads)?;
            return py.detach(|| pool.install(|| self.predictor().outputs(&points))).map_err(refused);
        };
        let mut out = Matrix::zeros(n, q);
        if cost.saturating_mul(n) <= SMALL && self.device == Device::Cpu {
            self.few(dense, &mut out)?;
            return Ok(out);
        }
        let pool = pool(threads)?;
        let turn = (TURN / cost).clamp(1024, usize::MAX / 2).saturating_mul(threads.max(1));
        for (place, out) in out.values_mut().chunks_mut(turn.saturating_mul(q.max(1))).enumerate() {
            let first = place * turn;
            let part = part(dense, first, first + out.len() / q.max(1), self.machine.dim());
            py.detach(|| pool.install(|| self.predictor().outputs_of(part, out))).map_err(refused)?;
            py.check_signals()?;
        }
        Ok(out)
    }

    /// Few rows, one after another on this thread.
    fn few(&self, rows: DenseRows, out: &mut Matrix) -> PyResult<()> {
        let mut own = Work::default();
        let mut spare = match self.spare.try_lock() {
            Ok(spare) => Some(spare),
            Err(TryLockError::Poisoned(spare)) => Some(spare.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        };
        let work = spare.as_deref_mut().unwrap_or(&mut own);
        let (dim, mut row) = (self.machine.dim(), vec![]);
        for i in 0..out.rows() {
            let row: &[f64] = match part(rows, i, i + 1, dim) {
                DenseRows::F64(values) => values,
                DenseRows::F32(values) => {
                    row.clear();
                    row.extend(values.iter().map(|&v| f64::from(v)));
                    &row
                }
            };
            self.predictor().row(row, out.row_mut(i), work).map_err(refused)?;
        }
        Ok(())
    }
}

#[pymethods]
impl PyMachine {
    /// The same machine, predicting on a device: `cpu`, `gpu` or `gpu:N`.
    fn on(&self, py: Python, device: &str) -> PyResult<PyMachine> {
        guarded(|| {
            let device = Device::named(device).map_err(refused)?;
            let predictor = py.detach(|| Predictor::on(&self.machine, device)).map_err(refused)?;
            Ok(PyMachine { report: self.report.clone(), predictor: predictor.into(), device, ..PyMachine::new(self.machine.clone()) })
        })
    }

    /// Where it predicts.
    #[getter]
    fn device(&self) -> String {
        self.device.name()
    }

    /// Outputs of rows that lie on the machine's card, written to an array there: for each its address, whether it is in double precision, rows and columns. Work is added at the
    /// end of the stream, and is done when this returns.
    fn outputs_on_card(&self, py: Python, rows: (u64, bool, usize, usize), out: (u64, bool, usize, usize), stream: u64) -> PyResult<()> {
        #[cfg(feature = "cuda")]
        return guarded(|| {
            let array = |(place, double, rows, cols)| CardArray { place, double, rows, cols };
            py.detach(|| self.predictor().outputs_on_card(array(rows), array(out), stream)).map_err(refused)
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
            let data = Dataset::new(rows.to_points()?, crate::arrays::target(codes, values, labels)?);
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
        let real = match precision {
            "f64" => model::Precision::F64,
            "f32" => model::Precision::F32,
            other => return Err(PyValueError::new_err(format!("precision is {other:?}, but must be 'f64' or 'f32'"))),
        };
        let saved = || match to {
            "kernelet" => Ok(model::save(&self.machine, path)),
            "libsvm" => Ok(model::libsvm::save(&self.machine, path)),
            "json" => Ok(model::json::save(&self.machine, path)),
            "onnx" => {
                Ok(model::onnx::save(&self.machine, &model::onnx::Options { precision: real, ..Default::default() }, path).map(|_| ()))
            }
            "javascript" => Ok(model::javascript::save(&self.machine, path)),
            "c" => Ok(save_c(&self.machine, &path, precision, None)),
            _ => Err(PyValueError::new_err(format!("there is no format {to:?}; there are kernelet, libsvm, json, onnx, javascript, c"))),
        };
        guarded(saved)?.map_err(refused)
    }

    /// Writes C source and its header with numbers of a precision; whole numbers take the ranges of features from `rows`.
    #[pyo3(signature = (path, precision, rows=None))]
    fn save_c(&self, path: PathBuf, precision: &str, rows: Option<Rows>) -> PyResult<()> {
        let rows = rows.map(|rows| rows.to_points()).transpose()?;
        guarded(|| save_c(&self.machine, &path, precision, rows.as_ref()).map_err(refused))
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
        let about: About =
            serde_json::from_str(about).map_err(|error| PyValueError::new_err(format!("these are no parts of a machine: {error}")))?;
        guarded(|| {
            let values = matrix(&coefficients)?;
            let coefficients = match about.starts {
                None => Coefficients::Dense(values),
                Some(starts) => Coefficients::Pairwise(Pairwise { starts, values }),
            };
            let expansion = Expansion { kernel: about.kernel, vectors: vectors.to_points()?, coefficients };
            let About { decision, scale, names, calibration, metadata, .. } = about;
            let machine = Machine { expansion, offsets, decision, scale, names, calibration, metadata };
            machine.check().map_err(refused)?;
            Ok(PyMachine::new(machine))
        })
    }

    /// Everything but the arrays, as JSON text that [`PyMachine::of_parts`] takes with `vectors`, `stored` and `offsets`.
    fn parts(&self) -> String {
        let Machine { expansion, decision, metadata, scale, names, calibration, .. } = &self.machine;
        let starts = match &expansion.coefficients {
            Coefficients::Dense(_) => None,
            Coefficients::Pairwise(pairwise) => Some(&pairwise.starts),
        };
        let about = json!({
            "kernel": expansion.kernel, "decision": decision, "facts": metadata, "scale": scale, "names": names, "calibration": calibration,
            "starts": starts,
        });
        about.to_string()
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

/// Everything of a machine but its arrays.
#[derive(Deserialize)]
struct About {
    kernel: Kernel,
    decision: Decision,
    scale: Option<Scale>,
    names: Option<Vec<String>>,
    calibration: Option<Calibration>,
    #[serde(default, rename = "facts")]
    metadata: Metadata,
    starts: Option<Vec<usize>>,
}

/// Rows `first..end`.
fn part(rows: DenseRows, first: usize, end: usize, dim: usize) -> DenseRows {
    match rows {
        DenseRows::F64(values) => DenseRows::F64(&values[first * dim..end * dim]),
        DenseRows::F32(values) => DenseRows::F32(&values[first * dim..end * dim]),
    }
}

/// A matrix as an array, without a copy.
pub fn array(py: Python, matrix: Matrix) -> PyResult<Bound<PyArray2<f64>>> {
    let shape = [matrix.rows(), matrix.cols()];
    PyArray1::from_vec(py, matrix.into_values()).reshape(shape)
}

/// Writes C source with numbers of a precision, by its name.
fn save_c(machine: &Machine, path: &Path, precision: &str, rows: Option<&Points>) -> kernelet::Result<()> {
    let (name, header_name) = (c::name_of(path), c::header_name(path)?);
    let code = match (Width::named(precision), precision, rows) {
        (Some(width), _, rows) => c::fixed_code(machine, &Fixed::of(machine, width, rows)?, &name, &header_name)?,
        (None, "f64" | "f32", Some(_)) => {
            return Err(Error::request("X goes with precision=\"i16\" or \"i8\", which take the ranges of features from it"));
        }
        (None, "f64", None) => c::to_code(machine, &c::Options { name, precision: Precision::F64 }, &header_name)?,
        (None, "f32", None) => c::to_code(machine, &c::Options { name, precision: Precision::F32 }, &header_name)?,
        _ => return Err(Error::parameter("precision", format!("{precision:?}"), "'f64' or 'f32', or 'i16' or 'i8'")),
    };
    c::write(&code, path)
}
