//! The empirical kernel map of the training rows of a precomputed kernel, so that a basis can be chosen among its points.
//!
//! With K the kernel matrix of the training rows and `K = F F'`, the dot products of the rows of F are the kernel values. A method that chooses among rows works on F
//! with the linear kernel; the rows it chose become unit rows again, and the machine's value at a row is a sum of kernel values that the row comes with.
//!
//! Cost for n rows of rank r: n r^2, and n r numbers.
use std::collections::HashMap;

use super::{gram::Gram, growth::Growth};
use crate::{
    Error, Result,
    data::{Csr, Points},
    kernel::{Kernel, Precomputed},
    linalg::{Lower, Matrix, dot},
    machine::{Expansion, Machine},
};

/// Pivots nearer than this fraction of the largest k(x, x) to the span of the others are left out.
const NEAR: f64 = 1e-13;

/// How far K may be from symmetric and from `F F'`, as a fraction of its largest diagonal entry: matrices are often stored in single precision.
const ASYMMETRY: f64 = 1e-5;

/// The training rows as points of the empirical kernel map, and which row each point is.
#[derive(Debug)]
pub struct EmpiricalPoints {
    /// One for each training row; their dot products are the kernel values.
    pub points: Points,
    places: HashMap<Vec<u64>, u32>,
}

impl EmpiricalPoints {
    /// The points of a kernel matrix: one row for each training row, with its values with all of them. An error where it is not square,
    /// not symmetric or not positive semidefinite.
    pub fn of(gram: &Points) -> Result<Self> {
        if gram.dim() != gram.len() {
            return Err(Error::Shape { what: "columns of a precomputed kernel matrix", expected: gram.len(), found: gram.dim() });
        }
        gram.check_finite()?;
        let matrix = gram.to_dense();
        check_symmetric(&matrix)?;
        let (points, ..) = factored(matrix)?;
        // Of equal points the first one counts.
        let places = (0..points.rows()).rev().map(|i| (bits(points.row(i)), i as u32)).collect();
        Ok(EmpiricalPoints { points: points.into(), places })
    }

    /// A machine with the linear kernel on some of the points as one with the precomputed kernel on their rows.
    pub fn back(&self, machine: &Machine) -> Result<Machine> {
        let points = machine.expansion.vectors.to_dense();
        let columns: Option<Vec<u32>> = points.iter().map(|point| self.places.get(&bits(point)).copied()).collect();
        let Some(columns) = columns else {
            return Err(Error::Unsupported {
                method: "new vectors",
                with: "a precomputed kernel, which knows its values with the training rows alone".into(),
                instead: "choose among the rows: greedy-basis, rpcholesky, random, or fisher-pursuit for fisher".into(),
            });
        };
        let rows = Csr::new((0..=columns.len()).collect(), columns, vec![1.0; points.rows()], self.points.len())?;
        let kernel = Kernel::Precomputed(Precomputed {});
        let expansion = Expansion { kernel, vectors: Points::Sparse(rows), coefficients: machine.expansion.coefficients.clone() };
        Ok(Machine { expansion, names: None, ..machine.clone() })
    }
}

pub(crate) fn bits(point: &[f64]) -> Vec<u64> {
    point.iter().map(|v| v.to_bits()).collect()
}

fn largest_of(matrix: &Matrix) -> f64 {
    (0..matrix.rows()).map(|i| matrix.at(i, i)).fold(0.0, f64::max)
}

pub(crate) fn check_symmetric(matrix: &Matrix) -> Result<()> {
    let bound = ASYMMETRY * matrix.values().iter().fold(0.0, |largest: f64, value| largest.max(value.abs()));
    for i in 0..matrix.rows() {
        if let Some(j) = (0..i).find(|&j| (matrix.at(i, j) - matrix.at(j, i)).abs() > bound) {
            return Err(Error::data(format!(
                "the kernel values of the vectors are not symmetric: {} and {}; give the training rows in the order they were trained in",
                matrix.at(i, j),
                matrix.at(j, i)
            )));
        }
    }
    Ok(())
}

/// F with `K = F F'`, the pivots, and the factor of their matrix. A matrix that has no such F is rejected.
pub(crate) fn factored(mut matrix: Matrix) -> Result<(Matrix, Vec<usize>, Lower)> {
    let n = matrix.rows();
    for i in 0..n {
        for j in 0..i {
            let mean = 0.5 * (matrix.at(i, j) + matrix.at(j, i));
            (matrix.row_mut(i)[j], matrix.row_mut(j)[i]) = (mean, mean);
        }
    }
    let largest = largest_of(&matrix);
    let mut growth = Growth::new(Gram::Matrix(matrix.clone()));
    while growth.chosen().len() < n {
        let farthest = growth.gaps().iter().enumerate().fold((0, 0.0), |best, (i, &gap)| if gap > best.1 { (i, gap) } else { best });
        if farthest.1 <= NEAR * largest || !growth.choose(farthest.0) {
            break;
        }
    }
    let (points, factor, chosen) = growth.into_coordinates();
    let off = |i: usize| (0..=i).map(|j| (matrix.at(i, j) - dot(points.row(i), points.row(j))).abs()).fold(0.0, f64::max);
    if (0..n).map(off).fold(0.0, f64::max) > ASYMMETRY * largest || chosen.is_empty() {
        return Err(Error::data("the precomputed kernel matrix is not positive definite, and has no feature space to compare machines in"));
    }
    Ok((points, chosen.clone(), factor.to_lower(chosen.len())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        basis::{BasisBudget, BasisMethod, GreedyBasis},
        data::banana,
        kernel::{Linear, Polynomial, block::block},
        watch::Watch,
    };

    #[test]
    fn dot_products_of_the_points_are_the_kernel_values() {
        let points = banana(40, 1).points;
        let kernel = Kernel::Polynomial(Polynomial { gamma: 0.3, degree: 2, coef0: 1.0 });
        let gram = block(&kernel, &points, &points);
        let empirical = EmpiricalPoints::of(&gram.clone().into()).unwrap();
        let dots = block(&Kernel::Linear(Linear {}), &empirical.points, &empirical.points);
        let far = dots.values().iter().zip(gram.values()).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(far < 1e-9 * gram.values().iter().fold(0.0, |a: f64, b| a.max(*b)), "{far}");
        // The same rows are chosen as by the kernel itself.
        let (budget, watch) = (BasisBudget::vectors(5), Watch::none());
        let method = GreedyBasis::default();
        let want = method.choose(&kernel, &points, &budget, &watch).unwrap();
        let have = method.choose(&Kernel::Linear(Linear {}), &empirical.points, &budget, &watch).unwrap();
        assert_eq!(have.chosen, want.chosen);
    }

    #[test]
    fn matrices_that_are_no_kernel_matrices_are_rejected() {
        let refused = |matrix: Matrix| EmpiricalPoints::of(&matrix.into()).unwrap_err().to_string();
        assert!(refused(Matrix::zeros(2, 3)).contains("columns of a precomputed kernel matrix"));
        assert!(refused(Matrix::from_fn(3, 3, |i, j| (i + 2 * j) as f64)).contains("not symmetric"));
        assert!(refused(Matrix::from_fn(2, 2, |i, j| if i == j { 1.0 } else { 5.0 })).contains("not positive definite"));
        assert!(refused(Matrix::from_fn(2, 2, |_, _| f64::NAN)).contains("NaN"));
    }
}
