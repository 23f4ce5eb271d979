//! The binding of the Python package: arrays and requests in, machines out. Estimators are written in Python, requests are read by the library.
mod arrays;
mod blocks;
mod cascade;
mod compress;
mod files;
mod machine;
mod outputs;
mod parts;
mod path;
mod table;
mod work;

use kernelet::{
    basis::OnlineBasis,
    data::{Dataset, Label, Points},
    machine::DenseRows,
    request::{Given, Train},
};
use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::{exceptions::PyValueError, prelude::*};
use serde_json::json;

use arrays::Rows;
use machine::PyMachine;

/// The compiled part of kernelet.
#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<PyMachine>()?;
    module.add_class::<path::PyPath>()?;
    module.add_class::<cascade::PyCascade>()?;
    module.add_function(wrap_pyfunction!(cascade::compress_cascade, module)?)?;
    module.add_function(wrap_pyfunction!(compress::compress, module)?)?;
    module.add_function(wrap_pyfunction!(table::learn_table, module)?)?;
    module.add_function(wrap_pyfunction!(table::encode_table, module)?)?;
    blocks::register(module)?;
    module.add_function(wrap_pyfunction!(devices, module)?)?;
    module.add_function(wrap_pyfunction!(train, module)?)?;
    module.add_function(wrap_pyfunction!(basis, module)?)?;
    module.add_function(wrap_pyfunction!(online_basis, module)?)?;
    #[cfg(debug_assertions)]
    module.add_function(wrap_pyfunction!(panicking, module)?)?;
    module.add_function(wrap_pyfunction!(all_finite, module)?)
}

/// Trains as a request in JSON asks for, from the vectors of `start` where it is given; gives the machine, the smaller ones of the size path, and as JSON text the metrics of all and
/// the settings that tuning tried.
#[pyfunction]
#[pyo3(signature = (request, rows, labels=None, codes=None, values=None, weights=None, threads=1, report=None, start=None))]
#[expect(clippy::too_many_arguments, reason = "keywords in Python")]
fn train(
    py: Python,
    request: &str,
    rows: Rows,
    labels: Option<Vec<String>>,
    codes: Option<PyReadonlyArray1<u32>>,
    values: Option<PyReadonlyArray2<f64>>,
    weights: Option<Vec<f64>>,
    threads: usize,
    report: Option<Py<PyAny>>,
    start: Option<PyRef<PyMachine>>,
) -> PyResult<(PyMachine, Vec<PyMachine>, String, Option<String>)> {
    work::guarded(|| {
        let request = Train::from_json(request).map_err(work::refused)?;
        let labels = labels.map(|labels| labels.into_iter().map(Label::new).collect());
        let data = Dataset { weights, ..Dataset::new(rows.to_points_by(threads)?, arrays::target(codes, values, labels)?) };
        let given = Given { start: start.map(|machine| machine.inner().clone()), ..Given::default() };
        let done = work::interruptible(py, threads, report, move |watch| {
            let trained = request.run(&data, &given, watch)?;
            let metrics = if trained.smaller.is_empty() { vec![] } else { trained.metrics(&data, watch)? };
            Ok((trained, metrics))
        })?;
        let (trained, metrics) = done.map_err(work::refused)?;
        let one = || json!([{ "vectors": trained.machine().n_vectors(), "objective": trained.fit.report.objective, "train_error": null }]);
        let metrics = if metrics.is_empty() { one() } else { json!(metrics) };
        let tried = (!trained.tried.is_empty()).then(|| json!(trained.settings_tried()).to_string());
        let notes = trained.notes;
        let smaller = trained.smaller.into_iter().map(|fit| PyMachine::of_fit(fit, &[])).collect();
        Ok((PyMachine::of_fit(trained.fit, &notes), smaller, metrics.to_string(), tried))
    })
}

/// Chooses a basis; the machine's outputs are the coordinates of a row in its frame. Also gives which rows were chosen, where they are rows, and as
/// JSON text how far the rows are from the span of the first vectors.
#[pyfunction]
#[pyo3(signature = (request, rows, threads=1, report=None))]
fn basis(py: Python, request: &str, rows: Rows, threads: usize, report: Option<Py<PyAny>>) -> PyResult<(PyMachine, Vec<usize>, String)> {
    work::guarded(|| {
        let request = Train::from_json(request).map_err(work::refused)?;
        let points = rows.to_points()?;
        let done = work::interruptible(py, threads, report, move |watch| request.span(&points, watch))?;
        let spanned = done.map_err(work::refused)?;
        let metrics = path::metrics_of_basis(&spanned.basis, spanned.grows);
        Ok((PyMachine::new(spanned.machine), spanned.basis.chosen, metrics))
    })
}

/// Adds a block of rows to the basis of `vectors`, where there is one: rows at least `epsilon` away from the span join.
#[pyfunction]
#[pyo3(signature = (request, rows, epsilon, vectors=None, threads=1, report=None))]
fn online_basis(
    py: Python,
    request: &str,
    rows: Rows,
    epsilon: f64,
    vectors: Option<Rows>,
    threads: usize,
    report: Option<Py<PyAny>>,
) -> PyResult<PyMachine> {
    work::guarded(|| {
        let request = Train::from_json(request).map_err(work::refused)?;
        let blocks: Vec<Points> = vectors.into_iter().chain([rows]).map(|rows| rows.to_points()).collect::<PyResult<_>>()?;
        let grown = work::interruptible(py, threads, report, move |_| -> kernelet::Result<_> {
            let last = blocks.last().ok_or_else(|| kernelet::Error::data("there are no rows"))?;
            let mut basis = OnlineBasis::new(&request.kernel.for_rows(last)?, epsilon)?;
            for block in &blocks {
                basis.push_block(block)?;
            }
            Ok(basis.frame())
        })?;
        let frame = grown.map_err(work::refused)?;
        frame
            .map(|frame| PyMachine::new(frame.coordinates_machine()))
            .ok_or_else(|| PyValueError::new_err("no row is as far as epsilon from nothing; choose a smaller epsilon"))
    })
}

/// The NVIDIA cards of this machine, as JSON text.
#[pyfunction]
fn devices(py: Python) -> String {
    json!(py.detach(kernelet::device::devices)).to_string()
}

/// True when no number is NaN or infinite.
#[pyfunction]
fn all_finite(py: Python, rows: Rows) -> PyResult<bool> {
    let finite = |rows| match rows {
        // NaN and infinity survive a product with 0 and every sum, so that a block needs no branch.
        DenseRows::F64(values) => values.chunks(4096).all(|block| block.iter().map(|v| v * 0.0).sum::<f64>() == 0.0),
        DenseRows::F32(values) => values.chunks(4096).all(|block| block.iter().map(|v| v * 0.0).sum::<f32>() == 0.0),
    };
    match (&rows, rows.borrowed()?) {
        (_, Some(dense)) if rows.len() * rows.dim() < 10_000 => Ok(finite(dense)),
        (_, Some(dense)) => Ok(py.detach(|| finite(dense))),
        (Rows::Sparse(_, _, values, _), None) => Ok(finite(DenseRows::F64(values.as_slice()?))),
        _ => Ok(false),
    }
}

/// Work that panics, on a thread of its own or not, to be seen in tests.
#[cfg(debug_assertions)]
#[pyfunction]
#[pyo3(name = "_panicking")]
fn panicking(py: Python, own_thread: bool, rows: Vec<f64>) -> PyResult<f64> {
    match own_thread {
        true => work::interruptible(py, 1, None, move |_| rows[rows.len()]),
        false => work::guarded(|| Ok(rows[rows.len()])),
    }
}
