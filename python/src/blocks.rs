//! Training by passes over blocks of rows that Python keeps: in files, in other processes, on other machines.
use std::sync::{Arc, Mutex, PoisonError};

use kernelet::{
    Error,
    data::{
        Label, Outline, RowBlock, RowBlocks,
        read::{FileBlocks, Reading},
    },
    learn::blocks::{ARITY, Ask, Engine, RidgeSums, Sums, block_sums as sums_of, engine_on},
    request::{Given, Train},
};
use numpy::PyReadonlyArray2;
use pyo3::{prelude::*, pybacked::PyBackedBytes, types::PyBytes};

use crate::{
    arrays::{Rows, matrix},
    machine::PyMachine,
    work,
};

/// Adds what this file offers to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("SUMS_ARITY", ARITY)?;
    module.add_class::<PyFileBlocks>()?;
    module.add_function(wrap_pyfunction!(block_sums, module)?)?;
    module.add_function(wrap_pyfunction!(add_sums, module)?)?;
    module.add_function(wrap_pyfunction!(train_blocks, module)?)?;
    module.add_function(wrap_pyfunction!(ridge_sums, module)?)
}

fn block(rows: &Rows, targets: &PyReadonlyArray2<f64>, weights: Option<Vec<f64>>, first: u64) -> PyResult<RowBlock> {
    Ok(RowBlock { first, points: rows.to_points()?, targets: matrix(targets)?, weights })
}

/// The sums of one block of rows, of which `first` rows come before.
#[pyfunction]
#[pyo3(signature = (ask, rows, targets, weights=None, first=0, threads=1))]
fn block_sums<'py>(
    py: Python<'py>,
    ask: &[u8],
    rows: Rows,
    targets: PyReadonlyArray2<f64>,
    weights: Option<Vec<f64>>,
    first: u64,
    threads: usize,
) -> PyResult<Bound<'py, PyBytes>> {
    work::guarded(|| {
        let ask = Ask::from_bytes(ask).map_err(work::refused)?;
        let (block, pool) = (block(&rows, &targets, weights, first)?, work::own_pool(threads)?);
        let bytes = py.detach(|| pool.install(|| sums_of(&ask, &block).and_then(|sums| sums.to_bytes())));
        Ok(PyBytes::new(py, &bytes.map_err(work::refused)?))
    })
}

/// Sums of several blocks in their order, added up.
#[pyfunction]
fn add_sums<'py>(py: Python<'py>, parts: Vec<PyBackedBytes>) -> PyResult<Bound<'py, PyBytes>> {
    work::guarded(|| {
        let added = || -> kernelet::Result<Vec<u8>> {
            let mut parts = parts.iter().map(|part| Sums::from_bytes(part));
            let mut sum = parts.next().unwrap_or_else(|| Err(Error::data("there are no sums to add")))?;
            parts.try_for_each(|part| sum.add(part?))?;
            sum.to_bytes()
        };
        Ok(PyBytes::new(py, &py.detach(added).map_err(work::refused)?))
    })
}

/// Passes that a function of Python does: it gets the bytes of an ask and gives those of the sums of all rows.
struct Asking {
    passes: Py<PyAny>,
    raised: Arc<Mutex<Option<PyErr>>>,
}

impl Engine for Asking {
    fn pass(&mut self, ask: &Ask) -> kernelet::Result<Sums> {
        let bytes = ask.to_bytes()?;
        let answer = Python::attach(|py| self.passes.call1(py, (PyBytes::new(py, &bytes),))?.extract::<Vec<u8>>(py));
        let answer = answer.map_err(|error| {
            let sentence = Error::data(error.to_string());
            *self.raised.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
            sentence
        })?;
        Sums::from_bytes(&answer)
    }
}

/// The rows of a file, which the library reads in every pass.
#[pyclass(name = "FileBlocks", module = "kernelet", frozen)]
pub struct PyFileBlocks {
    blocks: Arc<FileBlocks>,
}

#[pymethods]
impl PyFileBlocks {
    /// Opens a file for a request in JSON, which says what the target is to be read as, and where a cache of the rows is; `target` names its column in a table, none the last.
    #[new]
    #[pyo3(signature = (path, request, target=None))]
    fn open(py: Python, path: &str, request: &str, target: Option<String>) -> PyResult<Self> {
        work::guarded(|| {
            let request = Train::from_json(request).map_err(work::refused)?;
            let open = || {
                request.check()?;
                let how = Reading { wanted: request.wanted(), target_column: target, ..Reading::default() };
                FileBlocks::open(path, &how, request.cache_file(), request.memory_bytes())
            };
            let blocks = py.detach(open).map_err(work::refused)?;
            Ok(PyFileBlocks { blocks: Arc::new(blocks) })
        })
    }

    /// The labels of the classes; empty for numbers.
    #[getter]
    fn labels(&self) -> Vec<String> {
        self.blocks.outline().labels.iter().map(ToString::to_string).collect()
    }

    /// Rows, features, and columns of targets.
    #[getter]
    fn sizes(&self) -> (u64, usize, usize) {
        let outline = self.blocks.outline();
        (outline.n_rows, outline.dim, outline.n_targets)
    }

    /// What the user should know of the file.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.blocks.notes.clone()
    }
}

/// Trains as a request in JSON asks for, by passes over the `n_rows` rows of a file, or that a function does; gives the machine, the error on all rows and the
/// number of passes.
#[pyfunction]
#[pyo3(signature = (request, passes, n_rows, dim, labels, n_targets, start=None, threads=1, report=None))]
#[expect(clippy::too_many_arguments, reason = "keywords in Python")]
fn train_blocks(
    py: Python,
    request: &str,
    passes: Py<PyAny>,
    n_rows: u64,
    dim: usize,
    labels: Vec<String>,
    n_targets: usize,
    start: Option<PyRef<PyMachine>>,
    threads: usize,
    report: Option<Py<PyAny>>,
) -> PyResult<(PyMachine, f64, u64)> {
    work::guarded(|| {
        let request = Train::from_json(request).map_err(work::refused)?;
        let labels = labels.into_iter().map(Label::new).collect();
        let outline = Outline { n_rows, dim, labels, n_targets, ..Outline::default() };
        let given = Given { start: start.map(|machine| machine.inner().clone()), ..Given::default() };
        let raised: Arc<Mutex<Option<PyErr>>> = Arc::default();
        let file = passes.extract::<PyRef<PyFileBlocks>>(py).map(|file| file.blocks.clone()).ok();
        let mut asking = Asking { passes, raised: raised.clone() };
        let done = work::interruptible_apart(py, threads, report, move |watch| match file {
            Some(file) => request.run_blocks(&mut *engine_on(request.device()?, &*file)?, file.outline(), &given, watch),
            None => request.run_blocks(&mut asking, &outline, &given, watch),
        })?;
        if let (Err(_), Some(error)) = (&done, raised.lock().unwrap_or_else(PoisonError::into_inner).take()) {
            return Err(error);
        }
        let done = done.map_err(work::refused)?;
        let notes = done.trained.notes;
        Ok((PyMachine::of_fit(done.trained.fit, &notes), done.train_error, done.passes))
    })
}

/// Adds rows to the sums of ridge on the vectors of a machine, where there are some; gives the sums and the machine of all rows so far.
#[pyfunction]
#[pyo3(signature = (machine, lam, rows, targets, weights=None, sums=None, threads=1))]
#[expect(clippy::too_many_arguments, reason = "keywords in Python")]
fn ridge_sums<'py>(
    py: Python<'py>,
    machine: PyRef<PyMachine>,
    lam: f64,
    rows: Rows,
    targets: PyReadonlyArray2<f64>,
    weights: Option<Vec<f64>>,
    sums: Option<&[u8]>,
    threads: usize,
) -> PyResult<(Bound<'py, PyBytes>, PyMachine)> {
    work::guarded(|| {
        let (block, pool, machine) = (block(&rows, &targets, weights, 0)?, work::pool(threads)?, machine.inner());
        let run = || -> kernelet::Result<_> {
            let mut all = match sums {
                Some(sums) => RidgeSums::from_bytes(sums, machine)?,
                None => RidgeSums::new(machine, lam, block.targets.cols())?,
            };
            all.add_rows(&block)?;
            Ok((all.to_bytes()?, all.machine()?))
        };
        let (bytes, machine) = py.detach(|| pool.install(run)).map_err(work::refused)?;
        Ok((PyBytes::new(py, &bytes), PyMachine::new(machine)))
    })
}
