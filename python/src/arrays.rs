//! Arrays of Python as rows and targets of the library.
use kernelet::{
    data::{Classes, Csr, Label, Points, Target},
    linalg::{Matrix, Real},
    machine::DenseRows,
};
use numpy::{Element, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::{exceptions::PyValueError, prelude::*};

use rayon::prelude::*;

use crate::work::{self, refused};

/// Rows of features: a C-contiguous array of either precision, or the parts of a CSR matrix with the number of columns.
#[derive(FromPyObject)]
pub enum Rows<'py> {
    /// Dense, double precision.
    F64(PyReadonlyArray2<'py, f64>),
    /// Dense, single precision.
    F32(PyReadonlyArray2<'py, f32>),
    /// Row starts, columns, values and the number of columns.
    Sparse(PyReadonlyArray1<'py, i64>, PyReadonlyArray1<'py, i64>, PyReadonlyArray1<'py, f64>, usize),
}

impl Rows<'_> {
    /// Number of rows.
    pub fn len(&self) -> usize {
        match self {
            Rows::F64(array) => array.shape()[0],
            Rows::F32(array) => array.shape()[0],
            Rows::Sparse(starts, ..) => starts.len().saturating_sub(1),
        }
    }

    /// Number of features.
    pub fn dim(&self) -> usize {
        match self {
            Rows::F64(array) => array.shape()[1],
            Rows::F32(array) => array.shape()[1],
            Rows::Sparse(.., dim) => *dim,
        }
    }

    /// A copy that the library owns.
    pub fn to_points(&self) -> PyResult<Points> {
        match self {
            Rows::F64(array) => Ok(matrix(array)?.into()),
            Rows::F32(array) => Ok(matrix(array)?.into()),
            Rows::Sparse(starts, columns, values, dim) => {
                let starts = counts(starts.as_slice()?)?;
                let columns = columns.as_slice()?.iter().map(|&c| u32::try_from(c)).collect::<Result<_, _>>();
                let columns = columns.map_err(|_| PyValueError::new_err("a column of the sparse rows is negative or too large"))?;
                let rows = Csr::new(starts, columns, values.as_slice()?.to_vec(), *dim).map_err(refused)?;
                Ok(Points::from(rows).densified_if_dense())
            }
        }
    }

    /// The same, by so many threads where the rows lie one after another.
    pub fn to_points_by(&self, threads: usize) -> PyResult<Points> {
        fn copied<R: Real + Element + Copy>(array: &PyReadonlyArray2<R>, threads: usize) -> PyResult<Points>
        where
            Points: From<Matrix<R>>,
        {
            let Ok(values) = array.as_slice() else { return Ok(matrix(array)?.into()) };
            let values = work::pool(threads)?.install(|| values.par_iter().copied().collect());
            Ok(of_values(values, array.shape())?.into())
        }
        match self {
            Rows::F64(array) => copied(array, threads),
            Rows::F32(array) => copied(array, threads),
            Rows::Sparse(..) => self.to_points(),
        }
    }

    /// The rows where they are, if they are dense.
    pub fn borrowed(&self) -> PyResult<Option<DenseRows<'_>>> {
        match self {
            Rows::F64(array) => Ok(Some(DenseRows::F64(array.as_slice()?))),
            Rows::F32(array) => Ok(Some(DenseRows::F32(array.as_slice()?))),
            Rows::Sparse(..) => Ok(None),
        }
    }
}

fn counts(numbers: &[i64]) -> PyResult<Vec<usize>> {
    let counts = numbers.iter().map(|&n| usize::try_from(n)).collect::<Result<_, _>>();
    counts.map_err(|_| PyValueError::new_err("a row start of the sparse rows is negative"))
}

/// A copy of an array in any order.
pub fn matrix<R: Real + Element + Copy>(array: &PyReadonlyArray2<R>) -> PyResult<Matrix<R>> {
    of_values(array.as_array().iter().copied().collect(), array.shape())
}

fn of_values<R: Real>(values: Vec<R>, shape: &[usize]) -> PyResult<Matrix<R>> {
    Matrix::new(values, shape[0], shape[1]).ok_or_else(|| PyValueError::new_err("the array does not have the size of its shape"))
}

/// The target: classes by their place among the labels, which are numbers where none are given; real numbers; or nothing.
pub fn target(codes: Option<PyReadonlyArray1<u32>>, values: Option<PyReadonlyArray2<f64>>, labels: Option<Vec<Label>>) -> PyResult<Target> {
    if let Some(codes) = codes {
        let codes: Vec<u32> = codes.as_array().iter().copied().collect();
        let most = codes.iter().copied().max().unwrap_or(0);
        if labels.as_ref().is_some_and(|labels| most as usize >= labels.len()) {
            return Err(PyValueError::new_err("there is a class that the machine does not know"));
        }
        let labels = labels.unwrap_or_else(|| (0..=most).map(|code| Label::new(code.to_string())).collect());
        // The order of the labels is the caller's.
        return Ok(Target::Classes(Classes { labels, codes }));
    }
    Ok(values.map(|values| matrix(&values)).transpose()?.map_or(Target::None, Target::Values))
}

/// A matrix as an array, without a copy.
pub fn array(py: Python, matrix: Matrix) -> PyResult<Bound<PyArray2<f64>>> {
    let shape = [matrix.rows(), matrix.cols()];
    PyArray1::from_vec(py, matrix.into_values()).reshape(shape)
}
