//! Points: rows of features, dense in either precision or sparse.
use std::ops::Range;

use crate::parallel::*;

use super::{csr::Csr, memory};
use crate::{
    Error, Result,
    linalg::{Matrix, Real},
};

/// Above this density sparse rows are held dense: products are then faster and the memory no more than threefold.
const DENSE_ABOVE: f64 = 0.25;

/// Rows of features. Arithmetic is in double precision whatever the storage.
#[derive(Clone, Debug, PartialEq)]
pub enum Points {
    /// Dense, double precision.
    F64(Matrix<f64>),
    /// Dense, single precision: half the memory.
    F32(Matrix<f32>),
    /// Only what is not zero.
    Sparse(Csr),
}

impl From<Matrix<f64>> for Points {
    fn from(matrix: Matrix<f64>) -> Self {
        Points::F64(matrix)
    }
}

impl From<Matrix<f32>> for Points {
    fn from(matrix: Matrix<f32>) -> Self {
        Points::F32(matrix)
    }
}

impl From<Csr> for Points {
    fn from(rows: Csr) -> Self {
        Points::Sparse(rows)
    }
}

impl Points {
    /// Dense points from rows in memory. Rows of different lengths are an error.
    ///
    /// ```
    /// use kernelet::data::Points;
    ///
    /// let points = Points::from_rows(&[[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]])?;
    /// assert_eq!((points.len(), points.dim()), (3, 2));
    /// assert!(Points::from_rows(&[vec![0.0, 1.0], vec![2.0]]).is_err());
    /// # Ok::<(), kernelet::Error>(())
    /// ```
    pub fn from_rows<R: AsRef<[f64]>>(rows: &[R]) -> Result<Points> {
        let dim = rows.first().map_or(0, |row| row.as_ref().len());
        if let Some(other) = rows.iter().find(|row| row.as_ref().len() != dim) {
            return Err(Error::Shape { what: "features of a row", expected: dim, found: other.as_ref().len() });
        }
        Ok(Points::F64(Matrix::from_fn(rows.len(), dim, |i, j| rows[i].as_ref()[j])))
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        match self {
            Points::F64(m) => m.rows(),
            Points::F32(m) => m.rows(),
            Points::Sparse(rows) => rows.len(),
        }
    }

    /// True when there is no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of features.
    pub fn dim(&self) -> usize {
        match self {
            Points::F64(m) => m.cols(),
            Points::F32(m) => m.cols(),
            Points::Sparse(rows) => rows.dim(),
        }
    }

    /// True for sparse storage.
    pub fn is_sparse(&self) -> bool {
        matches!(self, Points::Sparse(_))
    }

    /// Writes rows `range` densely to `out`, which holds `width` numbers a row.
    /// Features beyond `width` are left out, missing ones are zero.
    pub fn copy_rows<R: Real>(&self, range: Range<usize>, width: usize, out: &mut [R]) {
        for (i, out) in range.zip(out.chunks_exact_mut(width.max(1))) {
            match self {
                Points::F64(m) => copy(m.row(i), out),
                Points::F32(m) => copy(m.row(i), out),
                Points::Sparse(rows) => {
                    out.fill(R::default());
                    let (columns, values) = rows.row(i);
                    for (&c, &v) in columns.iter().zip(values).take_while(|(c, _)| (**c as usize) < width) {
                        out[c as usize] = R::from_f64(v);
                    }
                }
            }
        }
    }

    /// All rows in dense double precision.
    pub fn to_dense(&self) -> Matrix {
        let mut dense = Matrix::zeros(self.len(), self.dim());
        self.copy_rows(0..self.len(), self.dim(), dense.values_mut());
        dense
    }

    /// The same where `what` needs it, or an error where sparse points would take more memory than the limit.
    pub fn dense(&self, what: &str) -> Result<Matrix> {
        if self.is_sparse() {
            memory::require(what, self.len(), self.dim())?;
        }
        Ok(self.to_dense())
    }

    /// Dense storage where more than a quarter of the values are stored, else as it is.
    pub fn densified_if_dense(self) -> Points {
        match &self {
            Points::Sparse(rows) if rows.density() > DENSE_ABOVE => Points::F64(self.to_dense()),
            _ => self,
        }
    }

    /// `|x|^2` of every row.
    pub fn squared_norms(&self) -> Vec<f64> {
        let norm = |row: &[f64]| crate::linalg::dot(row, row);
        match self {
            Points::F64(m) => m.iter().map(norm).collect(),
            Points::F32(m) => m.iter().map(|row| row.iter().map(|&v| f64::from(v) * f64::from(v)).sum()).collect(),
            Points::Sparse(rows) => (0..rows.len()).map(|i| norm(rows.row(i).1)).collect(),
        }
    }

    /// The rows of both, one after the other. Sparse rows may differ in width; dense ones must not.
    pub fn stacked(&self, other: &Points) -> Result<Points> {
        let dim = self.dim().max(other.dim());
        if let (Points::Sparse(a), Points::Sparse(b)) = (self, other) {
            let ((s, c, v), (starts, columns, values)) = (a.parts(), b.parts());
            let starts = s.iter().copied().chain(starts[1..].iter().map(|start| start + v.len())).collect();
            return Ok(Csr::new(starts, [c, columns].concat(), [v, values].concat(), dim)?.into());
        }
        if self.dim() != other.dim() && !(self.is_sparse() || other.is_sparse()) {
            return Err(Error::Shape { what: "features", expected: self.dim(), found: other.dim() });
        }
        let mut all: Matrix = Matrix::zeros(self.len() + other.len(), dim);
        let (first, second) = all.values_mut().split_at_mut(self.len() * dim);
        self.copy_rows(0..self.len(), dim, first);
        other.copy_rows(0..other.len(), dim, second);
        Ok(all.into())
    }

    /// The chosen rows, in the order given and in the same storage.
    pub fn select(&self, indices: &[usize]) -> Points {
        match self {
            Points::F64(m) => Points::F64(m.select(indices)),
            Points::F32(m) => Points::F32(m.select(indices)),
            Points::Sparse(rows) => Points::Sparse(rows.select(indices)),
        }
    }

    /// True when all numbers of some rows are finite.
    pub(crate) fn are_finite(&self, rows: Range<usize>) -> bool {
        match self {
            Points::F64(m) => first_bad(&m.values()[rows.start * m.cols()..rows.end * m.cols()]).is_none(),
            Points::F32(m) => first_bad(&m.values()[rows.start * m.cols()..rows.end * m.cols()]).is_none(),
            Points::Sparse(m) => {
                let (starts, _, values) = m.parts();
                first_bad(&values[starts[rows.start]..starts[rows.end]]).is_none()
            }
        }
    }

    /// An error that names the first number that is NaN or infinite.
    pub fn check_finite(&self) -> Result<()> {
        let bad = match self {
            Points::F64(m) => first_bad(m.values()).map(|(at, v)| (at / m.cols(), at % m.cols(), v)),
            Points::F32(m) => first_bad(m.values()).map(|(at, v)| (at / m.cols(), at % m.cols(), v)),
            Points::Sparse(rows) => {
                let (starts, columns, values) = rows.parts();
                first_bad(values).map(|(at, v)| (starts.partition_point(|&s| s <= at) - 1, columns[at] as usize, v))
            }
        };
        match bad {
            None => Ok(()),
            Some((row, column, value)) => Err(Error::NotFinite { what: "a value", row, column, value }),
        }
    }
}

fn copy<A: Real, B: Real>(row: &[A], out: &mut [B]) {
    let common = row.len().min(out.len());
    for (to, from) in out.iter_mut().zip(row) {
        *to = B::from_f64(from.to_f64());
    }
    out[common..].fill(B::default());
}

/// Numbers that are looked at before the loop may end, and those that one thread looks at at a time.
const BLOCK: usize = 256;
const PART: usize = 1 << 20;

/// Blocks without a way out of their loop are looked at several numbers at a time.
fn first_bad<R: Real>(values: &[R]) -> Option<(usize, f64)> {
    if values.len() <= PART {
        return first_bad_of_part(values);
    }
    let found: Vec<Option<(usize, f64)>> = values.par_chunks(PART).map(first_bad_of_part).collect();
    found.into_iter().enumerate().find_map(|(part, found)| found.map(|(at, value)| (part * PART + at, value)))
}

fn first_bad_of_part<R: Real>(values: &[R]) -> Option<(usize, f64)> {
    let sound = |block: &[R]| block.iter().fold(true, |sound, v| sound & v.to_f64().is_finite());
    let (c, block) = values.chunks(BLOCK).enumerate().find(|(_, block)| !sound(block))?;
    let at = block.iter().position(|v| !v.to_f64().is_finite())?;
    Some((c * BLOCK + at, block[at].to_f64()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn storages() -> [Points; 3] {
        let m = Matrix::new(vec![1.0, 0.0, 2.0, 0.0, 0.0, 3.0], 2, 3).unwrap();
        let single = Matrix::new(m.values().iter().map(|&v| v as f32).collect(), 2, 3).unwrap();
        [Points::Sparse(Csr::from_dense(&m)), m.into(), single.into()]
    }

    #[test]
    fn every_storage_holds_the_same_rows() {
        for points in storages() {
            assert_eq!((points.len(), points.dim()), (2, 3));
            assert_eq!(points.squared_norms(), [5.0, 9.0]);
            assert_eq!(points.to_dense().values(), [1.0, 0.0, 2.0, 0.0, 0.0, 3.0]);
            assert_eq!(points.select(&[1]).to_dense().values(), [0.0, 0.0, 3.0]);
            let mut wide = [9.0f32; 4];
            points.copy_rows(1..2, 4, &mut wide);
            assert_eq!(wide, [0.0, 0.0, 3.0, 0.0]);
            let mut narrow = [9.0; 2];
            points.copy_rows(0..1, 2, &mut narrow);
            assert_eq!(narrow, [1.0, 0.0]);
            assert!(points.check_finite().is_ok());
        }
    }

    #[test]
    fn a_bad_number_is_named_by_row_and_column() {
        for points in storages() {
            let mut dense = points.to_dense();
            dense.row_mut(1)[2] = f64::INFINITY;
            let points = if points.is_sparse() { Csr::from_dense(&dense).into() } else { Points::from(dense) };
            assert!(points.are_finite(0..1) && !points.are_finite(0..2) && !points.are_finite(1..2));
            let text = points.check_finite().unwrap_err().to_string();
            assert_eq!(text, "a value in row 2, column 3 is inf; every number must be finite");
        }
    }
}
