//! The Cholesky factor of a symmetric positive definite matrix.
use faer::{
    Mat, MatMut, Par, Spec,
    dyn_stack::{MemBuffer, MemStack},
    linalg::cholesky::llt,
};

use super::{Lower, Matrix};

/// `A = L L'`. Cost: n^3/3 to factor, 2 n^2 for each right-hand side.
#[derive(Debug)]
pub struct Cholesky {
    factor: Mat<f64>,
}

impl Cholesky {
    /// Factors `a`, of which the lower triangle is read, on all threads of the current pool.
    /// None when a pivot is not positive: the matrix is not positive definite to working precision.
    pub fn new(a: &Matrix) -> Option<Self> {
        let n = a.rows();
        let mut factor = Mat::from_fn(n, n, |i, j| a.at(i, j));
        let par = Par::rayon(0);
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

    /// Replaces `b` (n x q) by the solution of `A X = B`.
    pub fn solve(&self, b: &mut Matrix) {
        let (n, q) = (b.rows(), b.cols());
        if n == 0 || q == 0 {
            return;
        }
        let par = Par::rayon(0);
        let scratch = llt::solve::solve_in_place_scratch::<f64>(n, q, par);
        let mut memory = MemBuffer::new(scratch);
        let rhs = MatMut::from_row_major_slice_mut(b.values_mut(), n, q);
        llt::solve::solve_in_place(self.factor.as_ref(), rhs, par, MemStack::new(&mut memory));
    }

    /// The logarithm of the determinant of A.
    pub fn log_determinant(&self) -> f64 {
        (0..self.factor.nrows()).map(|i| 2.0 * self.factor[(i, i)].ln()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
