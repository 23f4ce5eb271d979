//! The Cholesky factor of a symmetric positive definite matrix.
use faer::{
    Mat, MatMut, Par, Spec,
    dyn_stack::{MemBuffer, MemStack},
    linalg::cholesky::llt,
};

use super::{Lower, Matrix};
use crate::parallel::*;

/// Right-hand sides that one thread solves for at a time, whatever the number of threads.
const COLUMNS: usize = 32;

/// Matrices of fewer rows are factored by one thread.
const SMALL: usize = 512;

/// Columns that are copied at a time.
const BLOCK: usize = 32;

/// `A = L L'`. Cost: n^3/3 to factor, 2 n^2 for each right-hand side.
#[derive(Debug)]
pub struct Cholesky {
    factor: Mat<f64>,
}

impl Cholesky {
    /// Factors `a`, of which the lower triangle is read, on all threads of the current pool; the same bits for any number of them.
    /// None when a pivot is not positive: the matrix is not positive definite to working precision.
    pub fn new(a: &Matrix) -> Option<Self> {
        Self::leading(a, a.rows(), |_| 0.0)
    }

    /// The same of the first `n` rows and columns of `a`, with `more(i)` added to entry i of the diagonal.
    pub fn leading(a: &Matrix, n: usize, more: impl Fn(usize) -> f64) -> Option<Self> {
        let mut factor = Mat::zeros(n, n);
        // Rows are read and columns written: in blocks that stay in cache.
        for first in (0..n).step_by(BLOCK) {
            for i in first..n {
                let row = &a.row(i)[first..(first + BLOCK).min(i + 1)];
                row.iter().enumerate().for_each(|(j, value)| factor[(i, first + j)] = *value);
            }
        }
        (0..n).for_each(|i| factor[(i, i)] += more(i));
        // Small matrices come many at a time, and threads would wait for one another more than they work.
        let par = if n < SMALL { Par::Seq } else { all_threads() };
        let scratch = llt::factor::cholesky_in_place_scratch::<f64>(n, par, Spec::default());
        let mut memory = MemBuffer::new(scratch);
        llt::factor::cholesky_in_place(factor.as_mut(), Default::default(), par, MemStack::new(&mut memory), Spec::default()).ok()?;
        Some(Cholesky { factor })
    }

    /// The factor L.
    pub fn lower(&self) -> Lower {
        let n = self.factor.nrows();
        Lower::new(Matrix::from_fn(n, n, |i, j| if j <= i { self.factor[(i, j)] } else { 0.0 }))
    }

    /// Replaces `b` (n x q) by the solution of `A X = B`, on all threads; the same bits for any number of them. Each block of right-hand sides is solved on
    /// one thread, because the linear-algebra crate splits the sums of a product with one vector by the number of threads.
    pub fn solve(&self, b: &mut Matrix) {
        let (n, q) = (b.rows(), b.cols());
        if n == 0 || q == 0 {
            return;
        }
        let right = MatMut::from_row_major_slice_mut(b.values_mut(), n, q);
        column_blocks(right).into_par_iter().for_each(|block| {
            let mut memory = MemBuffer::new(llt::solve::solve_in_place_scratch::<f64>(n, block.ncols(), Par::Seq));
            llt::solve::solve_in_place(self.factor.as_ref(), block, Par::Seq, MemStack::new(&mut memory));
        });
    }

    /// The logarithm of the determinant of A.
    pub fn log_determinant(&self) -> f64 {
        (0..self.factor.nrows()).map(|i| 2.0 * self.factor[(i, i)].ln()).sum()
    }
}

#[cfg(feature = "parallel")]
fn all_threads() -> Par {
    Par::rayon(0)
}

#[cfg(not(feature = "parallel"))]
fn all_threads() -> Par {
    Par::Seq
}

/// Blocks of columns that are solved for side by side.
fn column_blocks(right: MatMut<f64>) -> Vec<MatMut<f64>> {
    let (mut blocks, mut rest) = (vec![], right);
    while rest.ncols() > COLUMNS {
        let (block, after) = rest.split_at_col_mut(COLUMNS);
        blocks.push(block);
        rest = after;
    }
    blocks.push(rest);
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn solutions_have_the_same_bits_on_any_number_of_threads() {
        // Large enough that products with one vector would be shared among threads.
        let n = 700;
        let a = Matrix::from_fn(n, n, |i, j| (-1e-4 * (i as f64 - j as f64).powi(2)).exp() + if i == j { 1e-6 } else { 0.0 });
        for q in [1, 2, 70] {
            let run = |threads| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                let mut x = Matrix::from_fn(n, q, |i, k| ((i + 7 * k) as f64).cos());
                pool.install(|| {
                    let factor = Cholesky::new(&a).unwrap();
                    factor.solve(&mut x);
                    (factor.lower(), x)
                })
            };
            let one = run(1);
            assert!([2, 3].into_iter().all(|threads| run(threads) == one), "{q} columns");
        }
    }

    #[test]
    fn solves_what_it_factored_and_refuses_an_indefinite_matrix() {
        let n = 40;
        let g = Matrix::from_fn(n, n, |i, j| ((i * 31 + j * 17) as f64).sin());
        let a = Matrix::from_fn(n, n, |i, j| super::super::dot(g.row(i), g.row(j)) + f64::from(i == j));
        let mut x = Matrix::from_fn(n, 3, |i, j| ((i + 7 * j) as f64).cos());
        let b = x.clone();
        Cholesky::new(&a).unwrap().solve(&mut x);
        for i in 0..n {
            for k in 0..3 {
                let back = super::super::dot(a.row(i), &x.col(k));
                assert!((back - b.at(i, k)).abs() < 1e-10, "{back}");
            }
        }
        let factor = Cholesky::new(&a).unwrap();
        let lower = factor.lower();
        let lower = lower.matrix();
        let back = Matrix::from_fn(n, n, |i, j| super::super::dot(lower.row(i), lower.row(j)));
        assert!(back.values().iter().zip(a.values()).all(|(x, y)| (x - y).abs() < 1e-10));
        let log: f64 = (0..n).map(|i| lower.at(i, i).powi(2).ln()).sum();
        assert!((factor.log_determinant() - log).abs() < 1e-10);
        let mut indefinite = a;
        indefinite.row_mut(5)[5] = -1.0;
        assert!(Cholesky::new(&indefinite).is_none());
    }
}
