//! A row-major matrix: the one dense array of the library.
use super::Real;

/// `rows` rows of `cols` numbers each, stored row by row.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Matrix<R = f64> {
    values: Vec<R>,
    rows: usize,
    cols: usize,
}

impl<R: Real> Matrix<R> {
    /// A matrix from its values in row order. None when the count is not `rows * cols`.
    pub fn new(values: Vec<R>, rows: usize, cols: usize) -> Option<Self> {
        (rows.checked_mul(cols) == Some(values.len())).then_some(Matrix { values, rows, cols })
    }

    /// All zeros.
    pub fn zeros(rows: usize, cols: usize) -> Self {
        Matrix { values: vec![R::default(); rows * cols], rows, cols }
    }

    /// Entry (i, j) is `entry(i, j)`.
    pub fn from_fn(rows: usize, cols: usize, mut entry: impl FnMut(usize, usize) -> R) -> Self {
        let mut values = Vec::with_capacity(rows * cols);
        (0..rows).for_each(|i| values.extend((0..cols).map(|j| entry(i, j))));
        Matrix { values, rows, cols }
    }

    /// A matrix of one column.
    pub fn column(values: Vec<R>) -> Self {
        Matrix { rows: values.len(), cols: 1, values }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Row `i`.
    pub fn row(&self, i: usize) -> &[R] {
        &self.values[i * self.cols..(i + 1) * self.cols]
    }

    /// Row `i`, to write to.
    pub fn row_mut(&mut self, i: usize) -> &mut [R] {
        &mut self.values[i * self.cols..(i + 1) * self.cols]
    }

    /// The entry in row `i` and column `j`.
    pub fn at(&self, i: usize, j: usize) -> R {
        self.row(i)[j]
    }

    /// All rows, first to last. A matrix without columns has rows of length 0.
    pub fn iter(&self) -> impl Iterator<Item = &[R]> {
        (0..self.rows).map(|i| self.row(i))
    }

    /// All values, row by row.
    pub fn values(&self) -> &[R] {
        &self.values
    }

    /// All values, row by row, to write to.
    pub fn values_mut(&mut self) -> &mut [R] {
        &mut self.values
    }

    /// The values alone.
    pub fn into_values(self) -> Vec<R> {
        self.values
    }

    /// A copy of column `j`.
    pub fn col(&self, j: usize) -> Vec<R> {
        self.iter().map(|row| row[j]).collect()
    }

    /// The chosen rows, in the order given.
    pub fn select(&self, indices: &[usize]) -> Self {
        let mut values = Vec::with_capacity(indices.len() * self.cols);
        for &i in indices {
            values.extend_from_slice(self.row(i));
        }
        Matrix { values, rows: indices.len(), cols: self.cols }
    }

    /// Copies the lower triangle of a square matrix to the upper, tile by tile so that both sides stay in cache.
    pub fn mirror_lower(&mut self) {
        const TILE: usize = 64;
        let n = self.rows.min(self.cols);
        for i0 in (0..n).step_by(TILE) {
            for j0 in (0..=i0).step_by(TILE) {
                for i in i0..(i0 + TILE).min(n) {
                    for j in j0..(j0 + TILE).min(i) {
                        let value = self.at(i, j);
                        self.row_mut(j)[i] = value;
                    }
                }
            }
        }
    }

    /// Rows and columns exchanged.
    pub fn transposed(&self) -> Self {
        Matrix::from_fn(self.cols, self.rows, |i, j| self.at(j, i))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_columns_and_transposes_agree() {
        let a = Matrix::from_fn(2, 3, |i, j| (10 * i + j) as f64);
        assert_eq!(a.row(1), [10.0, 11.0, 12.0]);
        assert_eq!(a.col(2), [2.0, 12.0]);
        assert_eq!(a.transposed().row(2), [2.0, 12.0]);
        assert_eq!(a.select(&[1, 1]).values(), [10.0, 11.0, 12.0, 10.0, 11.0, 12.0]);
        assert!(Matrix::new(vec![1.0; 5], 2, 3).is_none());
        assert_eq!(Matrix::<f64>::zeros(3, 0).iter().count(), 3);
    }
}
