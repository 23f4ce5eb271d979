//! The binding of the Python package: arrays in, machines out. What estimators are is said in Python; what learners are, in the library;
//! which flags make which learner, by the program.
mod arrays;
mod compress;
mod machine;
mod path;
mod work;

use std::ffi::OsString;

use kernelet::{
    data::{Dataset, Points},
    kernel::{Kernel, Linear},
    linalg::Matrix,
    machine::{Coefficients, Decision, DenseRows, Expansion, Facts, Machine},
    sparsify::{GramPoints, OnlineBasis},
};
use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::{exceptions::PyValueError, prelude::*};

use arrays::Rows;
use machine::PyMachine;

/// The compiled part of kernelet.
#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<PyMachine>()?;
    module.add_class::<path::PyPath>()?;
    module.add_function(wrap_pyfunction!(compress::compress, module)?)?;
    module.add_function(wrap_pyfunction!(train, module)?)?;
    module.add_function(wrap_pyfunction!(basis, module)?)?;
    module.add_function(wrap_pyfunction!(online_basis, module)?)?;
    module.add_function(wrap_pyfunction!(has_direct, module)?)?;
    module.add_function(wrap_pyfunction!(all_finite, module)?)?;
    #[cfg(debug_assertions)]
    module.add_function(wrap_pyfunction!(panicking, module)?)?;
    module.add_function(wrap_pyfunction!(program, module)?)
}

/// Trains the learner that flags of `kernelet train` describe; gives the machine, the smaller ones on the way, and as JSON text the figures of all.
#[pyfunction]
#[pyo3(signature = (flags, rows, codes=None, values=None, weights=None, threads=1, report=None))]
#[expect(clippy::too_many_arguments, reason = "keywords in Python")]
fn train(
    py: Python,
    flags: Vec<String>,
    rows: Rows,
    codes: Option<PyReadonlyArray1<u32>>,
    values: Option<PyReadonlyArray2<f64>>,
    weights: Option<Vec<f64>>,
    threads: usize,
    report: Option<Py<PyAny>>,
) -> PyResult<(PyMachine, Vec<PyMachine>, String)> {
    work::guarded(|| {
        let target = arrays::target(codes, values, None)?;
        let (learner, told) = kernelet_cli::learner(&flags).map_err(wrong_flags)?;
        let data = Dataset { weights, ..Dataset::new(rows.to_points()?, target) };
        let learned = work::interruptible(py, threads, report, move |watch| {
            let fits = if told { learner.learn_path(&data, watch)? } else { vec![learner.learn(&data, watch)?] };
            let figures = path::figures_of_training(&fits, &data, watch)?;
            Ok((fits, figures))
        })?;
        let (fits, figures) = learned.map_err(work::refused)?;
        let mut machines: Vec<PyMachine> = fits.into_iter().map(PyMachine::of_fit).collect();
        let last = machines.pop().ok_or_else(|| PyValueError::new_err("nothing was learned"))?;
        Ok((last, machines, figures))
    })
}

/// A basis for Python: the machine of coordinates, the rows chosen, and as JSON text the figures of every size.
type Chosen = (PyMachine, Vec<usize>, String);

/// Chooses a basis; the machine's outputs are the coordinates of a row in its frame. Also gives which rows were chosen, where they are rows, and how far
/// the rows are from the span of the first vectors.
#[pyfunction]
#[pyo3(signature = (flags, rows, threads=1, report=None))]
fn basis(py: Python, flags: Vec<String>, rows: Rows, threads: usize, report: Option<Py<PyAny>>) -> PyResult<Chosen> {
    work::guarded(|| {
        let (kernel, method, budget) = kernelet_cli::basis(&flags).map_err(wrong_flags)?;
        let points = rows.to_points()?;
        let chosen = work::interruptible(py, threads, report, move |watch| match kernel {
            // Values between vectors are not in rows of kernel values; points with the linear kernel have them.
            Kernel::Precomputed(_) => {
                let stand = GramPoints::of(&points)?;
                let basis = method.choose(&Kernel::Linear(Linear {}), &stand.points, &budget, watch)?;
                Ok((stand.back(&coordinates(&basis.frame))?, path::figures_of_basis(&basis, method.grows()), basis.chosen))
            }
            _ => {
                let basis = method.choose(&kernel, &points, &budget, watch)?;
                Ok((coordinates(&basis.frame), path::figures_of_basis(&basis, method.grows()), basis.chosen))
            }
        })?;
        let (machine, figures, chosen) = chosen.map_err(work::refused)?;
        Ok((PyMachine::new(machine), chosen, figures))
    })
}

/// Adds a block of rows to the basis of `vectors`, where there is one: rows at least `epsilon` away from the span join.
#[pyfunction]
#[pyo3(signature = (flags, rows, epsilon, vectors=None, threads=1))]
fn online_basis(py: Python, flags: Vec<String>, rows: Rows, epsilon: f64, vectors: Option<Rows>, threads: usize) -> PyResult<PyMachine> {
    work::guarded(|| {
        let (kernel, ..) = kernelet_cli::basis(&flags).map_err(wrong_flags)?;
        let blocks: Vec<Points> = vectors.into_iter().chain([rows]).map(|rows| rows.to_points()).collect::<PyResult<_>>()?;
        let grown = work::interruptible(py, threads, None, move |_| -> kernelet::Result<_> {
            let mut basis = OnlineBasis::new(&kernel, epsilon)?;
            for block in &blocks {
                basis.push_block(block)?;
            }
            Ok(basis.frame())
        })?;
        let frame = grown.map_err(work::refused)?;
        frame
            .map(|frame| PyMachine::new(coordinates(&frame)))
            .ok_or_else(|| PyValueError::new_err("no row is as far as epsilon from nothing; choose a smaller epsilon"))
    })
}

/// The coordinates in a frame as a machine: c(x) = L^-1 k_z(x).
fn coordinates(frame: &kernelet::frame::Frame) -> Machine {
    let m = frame.len();
    let identity = Matrix::from_fn(m, m, |i, j| if i == j { 1.0 } else { 0.0 });
    let coefficients = Coefficients::Dense(frame.coefficients(&identity));
    let expansion = Expansion { kernel: frame.kernel().clone(), vectors: frame.vectors().clone(), coefficients };
    let facts = Facts { learner: Some("basis".into()), ..Facts::default() };
    let decision = Decision::Features;
    Machine { expansion, offsets: vec![0.0; m], decision, scale: None, names: None, calibration: None, facts }
}

/// True for learners that find few vectors together with the machine when they are only told how many.
#[pyfunction]
fn has_direct(learner: &str) -> bool {
    kernelet_cli::has_direct(learner)
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

/// Runs the program `kernelet` with its arguments, its name first; gives the exit status.
#[pyfunction]
fn program(py: Python, arguments: Vec<OsString>) -> PyResult<u8> {
    work::guarded(|| Ok(py.detach(|| kernelet_cli::run(arguments))))
}

/// Work that panics, on a thread of its own or not, to be seen in tests.
#[cfg(debug_assertions)]
#[pyfunction]
fn panicking(py: Python, own_thread: bool, rows: Vec<f64>) -> PyResult<f64> {
    match own_thread {
        true => work::interruptible(py, 1, None, move |_| rows[rows.len()]),
        false => work::guarded(|| Ok(rows[rows.len()])),
    }
}

fn wrong_flags(sentence: String) -> PyErr {
    PyValueError::new_err(sentence)
}
