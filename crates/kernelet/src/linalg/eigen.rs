//! Eigenvalues and eigenvectors of a dense symmetric matrix.
use faer::{
    Mat, MatRef, Par, Spec,
    diag::Diag,
    dyn_stack::{MemBuffer, MemStack},
    linalg::evd::{ComputeEigenvectors, self_adjoint_evd, self_adjoint_evd_scratch},
};

use super::Matrix;

/// Eigenvalues from the largest down; row i of `vectors` is the unit eigenvector of value i.
#[derive(Clone, Debug, PartialEq)]
pub struct Eigen {
    /// The eigenvalues, largest first.
    pub values: Vec<f64>,
    /// One eigenvector a row.
    pub vectors: Matrix,
}

impl Eigen {
    /// All eigenvalues of the symmetric matrix `a`, of which the lower triangle is read. None where the iteration finds no end, which
    /// numbers that are not finite may cause. Cost: about 9 n^3 on one thread, so that the number of threads changes no bit; memory 3 n^2.
    pub fn of(a: &Matrix) -> Option<Self> {
        let n = a.rows();
        if a.values().iter().any(|v| !v.is_finite()) {
            return None;
        }
        if n == 0 {
            return Some(Eigen { values: vec![], vectors: Matrix::zeros(0, 0) });
        }
        let (mut vectors, mut values) = (Mat::zeros(n, n), Diag::zeros(n));
        let scratch = self_adjoint_evd_scratch::<f64>(n, ComputeEigenvectors::Yes, Par::Seq, Spec::default());
        let mut memory = MemBuffer::new(scratch);
        let stack = MemStack::new(&mut memory);
        let whole = MatRef::from_row_major_slice(a.values(), n, n);
        self_adjoint_evd(whole, values.as_mut(), Some(vectors.as_mut()), Par::Seq, stack, Spec::default()).ok()?;
        Some(Eigen {
            values: (0..n).rev().map(|i| values.column_vector()[i]).collect(),
            vectors: Matrix::from_fn(n, n, |i, j| vectors[(j, n - 1 - i)]),
        })
    }

    /// The first `count` pairs.
    pub fn truncated(&self, count: usize) -> Self {
        let count = count.min(self.values.len());
        Eigen { values: self.values[..count].to_vec(), vectors: self.vectors.select(&(0..count).collect::<Vec<_>>()) }
    }

    /// How many values stand clear of rounding: above `n eps` of the largest.
    pub fn rank(&self, n: usize) -> usize {
        let largest = self.values.first().copied().unwrap_or(0.0).max(0.0);
        self.values.iter().filter(|&&value| value > n as f64 * f64::EPSILON * largest).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::dot;

    #[test]
    fn pairs_satisfy_their_equation_in_falling_order() {
        for n in [1, 2, 7, 60] {
            let a = Matrix::from_fn(n, n, |i, j| ((i * j) as f64).sin() + ((i + j) as f64).cos());
            let eigen = Eigen::of(&a).unwrap();
            assert!(eigen.values.windows(2).all(|pair| pair[0] >= pair[1]));
            for (value, vector) in eigen.values.iter().zip(eigen.vectors.iter()) {
                assert!((dot(vector, vector) - 1.0).abs() < 1e-12);
                for i in 0..n {
                    assert!((dot(a.row(i), vector) - value * vector[i]).abs() < 1e-12 * n as f64);
                }
            }
        }
    }

    #[test]
    fn rank_counts_what_stands_clear_of_rounding_and_bad_numbers_give_nothing() {
        let rows = Matrix::from_fn(30, 3, |i, j| ((i * i * (j + 1)) as f64).sin());
        let a = Matrix::from_fn(30, 30, |i, j| dot(rows.row(i), rows.row(j)));
        let eigen = Eigen::of(&a).unwrap();
        assert_eq!((eigen.rank(30), eigen.truncated(2).values.len(), eigen.truncated(99).values.len()), (3, 2, 30));
        assert!(Eigen::of(&Matrix::from_fn(3, 3, |i, _| if i == 1 { f64::NAN } else { 1.0 })).is_none());
        assert_eq!(Eigen::of(&Matrix::zeros(0, 0)).unwrap().values.len(), 0);
    }
}
