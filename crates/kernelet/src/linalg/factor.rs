//! A Cholesky factor that grows one row at a time.
use faer::{
    MatMut, MatRef, Par,
    linalg::triangular_solve::{solve_lower_triangular_in_place, solve_upper_triangular_in_place},
};

use super::{Matrix, dot};

/// The lower triangle L of `A = L L'`, packed row by row. The first m rows are the factor of the first m rows and columns of A, so a
/// factor holds the factors of all smaller sizes. The paper grows the inverse [Weston2004 (8)] by blocks [Weston2004 (9)], whose off-diagonal ones
/// are printed without their minus, or the inverse R of L by a row [Weston2004 (10)]; solving with L instead does not lose its digits.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Factor {
    rows: Vec<f64>,
    len: usize,
}

impl Factor {
    /// Number of rows.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True before the first row.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Row `i`, up to its diagonal.
    pub fn row(&self, i: usize) -> &[f64] {
        &self.rows[i * (i + 1) / 2..(i + 1) * (i + 2) / 2]
    }

    /// Adds a row; its last number, the diagonal, must be above zero.
    pub fn push(&mut self, row: &[f64]) {
        debug_assert!(row.len() == self.len + 1 && row[self.len] > 0.0);
        self.rows.extend_from_slice(row);
        self.len += 1;
    }

    /// The new row that belongs to a new column `a` of A, with `square` on the diagonal: its numbers left of the diagonal, and the
    /// square of the diagonal, which may come out as zero or below. Cost: m^2 / 2.
    pub fn row_for(&self, mut a: Vec<f64>, square: f64) -> (Vec<f64>, f64) {
        for i in 0..self.len {
            let row = self.row(i);
            a[i] = (a[i] - dot(&row[..i], &a[..i])) / row[i];
        }
        let rest = square - dot(&a, &a);
        (a, rest)
    }

    /// Replaces the first rows of `y` (m x q) by `L_m^-T y`, where m is the number of rows of `y`.
    pub fn solve_transposed(&self, y: &mut Matrix) {
        for k in 0..y.cols() {
            let mut column = y.col(k);
            self.solve_column_transposed(&mut column);
            column.iter().enumerate().for_each(|(i, value)| y.row_mut(i)[k] = *value);
        }
    }

    /// Replaces `y` by `L_m^-T y`, where m is the length of `y`. Cost: m^2.
    pub fn solve_column_transposed(&self, y: &mut [f64]) {
        for i in (0..y.len()).rev() {
            let row = self.row(i);
            let value = y[i] / row[i];
            y[i] = value;
            y[..i].iter_mut().zip(row).for_each(|(y, l)| *y -= l * value);
        }
    }

    /// Takes row and column `i` of A away: the rows behind have one number too many, which rotations of their columns take out.
    /// Cost: 3 (m - i)^2.
    pub fn remove(&mut self, i: usize) {
        let mut rest: Vec<Vec<f64>> = (i + 1..self.len).map(|k| self.row(k).to_vec()).collect();
        self.rows.truncate(i * (i + 1) / 2);
        self.len = i;
        for k in 0..rest.len() {
            let at = i + k;
            let (a, b) = (rest[k][at], rest[k][at + 1]);
            let length = a.hypot(b);
            let (cosine, sine) = (a / length, b / length);
            for row in &mut rest[k..] {
                (row[at], row[at + 1]) = (cosine * row[at] + sine * row[at + 1], cosine * row[at + 1] - sine * row[at]);
            }
            self.rows.extend_from_slice(&rest[k][..=at]);
            self.len += 1;
        }
    }

    /// The first `m` rows as a square matrix, zeros above the diagonal.
    pub fn to_lower(&self, m: usize) -> Lower {
        Lower { matrix: Matrix::from_fn(m, m, |i, j| if j <= i { self.row(i)[j] } else { 0.0 }) }
    }
}

/// A lower triangle in a square matrix, for solving with many right-hand sides at once.
#[derive(Clone, Debug, PartialEq)]
pub struct Lower {
    matrix: Matrix,
}

impl Lower {
    /// From a square matrix, of which the lower triangle is used.
    pub fn new(matrix: Matrix) -> Self {
        Lower { matrix }
    }

    /// The matrix.
    pub fn matrix(&self) -> &Matrix {
        &self.matrix
    }

    /// Replaces each row v of `rows` by `L^-1 v`. One thread. Cost: m^2 a row.
    pub fn solve_rows(&self, rows: &mut [f64]) {
        let m = self.matrix.rows();
        if m > 0 && !rows.is_empty() {
            let right = MatMut::from_row_major_slice_mut(rows, rows.len() / m, m).transpose_mut();
            solve_lower_triangular_in_place(self.view(), right, Par::Seq);
        }
    }

    /// Replaces each row v of `rows` by `L^-T v`. One thread.
    pub fn solve_rows_transposed(&self, rows: &mut [f64]) {
        let m = self.matrix.rows();
        if m > 0 && !rows.is_empty() {
            let right = MatMut::from_row_major_slice_mut(rows, rows.len() / m, m).transpose_mut();
            solve_upper_triangular_in_place(self.view().transpose(), right, Par::Seq);
        }
    }

    fn view(&self) -> MatRef<'_, f64> {
        MatRef::from_row_major_slice(self.matrix.values(), self.matrix.rows(), self.matrix.rows())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spd(n: usize) -> Matrix {
        let g = Matrix::from_fn(n, n + 3, |i, j| ((i * 31 + j * 17) as f64).sin());
        Matrix::from_fn(n, n, |i, j| dot(g.row(i), g.row(j)) + f64::from(i == j))
    }

    fn grown(a: &Matrix) -> Factor {
        let mut factor = Factor::default();
        for m in 0..a.rows() {
            let (mut row, rest) = factor.row_for(a.row(m)[..m].to_vec(), a.at(m, m));
            row.push(rest.sqrt());
            factor.push(&row);
        }
        factor
    }

    #[test]
    fn rows_multiply_back_to_the_matrix() {
        let a = spd(12);
        let factor = grown(&a);
        for i in 0..12 {
            for j in 0..=i {
                let product = dot(&factor.row(i)[..=j], factor.row(j));
                assert!((product - a.at(i, j)).abs() < 1e-12, "{i} {j}");
            }
        }
        assert_eq!((factor.len(), factor.is_empty(), Factor::default().is_empty()), (12, false, true));
    }

    #[test]
    fn eq_8_9_10_the_inverse_grows_by_the_blocks_and_its_factor_by_the_row_of_the_paper() {
        let (m, a) = (7, spd(8));
        let factor = grown(&a);
        // Columns of R' = L^-T at a size, from the factor.
        let inverse_factor = |size: usize| {
            let mut r = Matrix::from_fn(size, size, |i, j| f64::from(i == j));
            factor.solve_transposed(&mut r);
            r.transposed()
        };
        let inverse = |size: usize| {
            let r = inverse_factor(size);
            Matrix::from_fn(size, size, |i, j| dot(&r.col(i), &r.col(j)))
        };
        let (small, large, r) = (inverse(m), inverse(m + 1), inverse_factor(m + 1));
        let column: Vec<f64> = (0..m).map(|i| a.at(i, m)).collect();
        let solved: Vec<f64> = small.iter().map(|row| dot(row, &column)).collect();
        let lambda = 1.0 / (a.at(m, m) - dot(&column, &solved));
        let close = |have: f64, want: f64| assert!((have - want).abs() < 1e-12, "{have} {want}");
        for i in 0..m {
            (0..m).for_each(|j| close(large.at(i, j), small.at(i, j) + lambda * solved[i] * solved[j]));
            close(large.at(i, m), -lambda * solved[i]);
            close(large.at(m, i), -lambda * solved[i]);
            close(r.at(m, i), -lambda.sqrt() * solved[i]);
        }
        close(large.at(m, m), lambda);
        close(r.at(m, m), lambda.sqrt());
    }

    #[test]
    fn solutions_multiply_back_at_every_size() {
        let factor = grown(&spd(12));
        for m in [1, 5, 12] {
            let y = Matrix::from_fn(m, 2, |i, k| ((i + 5 * k) as f64).cos());
            let mut beta = y.clone();
            factor.solve_transposed(&mut beta);
            let lower = factor.to_lower(m);
            let (mut rows, mut back) = (y.transposed(), y.transposed());
            lower.solve_rows_transposed(rows.values_mut());
            lower.solve_rows(back.values_mut());
            for i in 0..m {
                for k in 0..2 {
                    let product: f64 = (i..m).map(|j| factor.row(j)[i] * beta.at(j, k)).sum();
                    assert!((product - y.at(i, k)).abs() < 1e-12);
                    assert!((rows.at(k, i) - beta.at(i, k)).abs() < 1e-12);
                    let forward: f64 = (0..=i).map(|j| factor.row(i)[j] * back.at(k, j)).sum();
                    assert!((forward - y.at(i, k)).abs() < 1e-12);
                }
            }
        }
    }

    #[test]
    fn a_row_taken_away_leaves_the_factor_of_the_rest() {
        let a = spd(12);
        for gone in [0, 5, 11] {
            let mut factor = grown(&a);
            factor.remove(gone);
            let stay: Vec<usize> = (0..12).filter(|i| *i != gone).collect();
            assert_eq!(factor.len(), 11);
            for i in 0..11 {
                for j in 0..=i {
                    let product = dot(&factor.row(i)[..=j], factor.row(j));
                    assert!((product - a.at(stay[i], stay[j])).abs() < 1e-12, "{gone}: {i} {j}");
                }
            }
        }
    }
}
