//! How a sum over kernel values changes when the vectors move.
//!
//! For `f(Z) = sum_ij P_ij k(x_i, z_j)` the gradient in z_j is `2 sum_i P_ij k'_ij (z_j - x_i)` for functions of the squared distance and
//! `sum_i P_ij k'_ij x_i` for functions of the dot product: two matrix products. Cost: n m d.
use crate::{
    kernel::Argument,
    linalg::{Matrix, Product, Real},
};

/// Adds the part of some rows to the gradient (m x d) and, for distances, to the sums `sum_i P_ij k'_ij`: `weighted` holds `P_ij k'_ij`
/// row by row (a x m), `x` the rows (a x d).
pub(super) fn add_rows(weighted: &[f64], x: &[f64], dim: usize, gradient: &mut Matrix, sums: &mut [f64]) {
    let (m, rows) = (sums.len(), x.len() / dim.max(1));
    let mut turned = vec![0.0; weighted.len()];
    for (i, row) in weighted.chunks_exact(m.max(1)).enumerate() {
        for (j, &w) in row.iter().enumerate() {
            sums[j] += w;
            turned[j * rows + i] = w;
        }
    }
    f64::add_product(Product { a: &turned, stride: rows, inner: rows, b: x, cols: dim }, gradient.values_mut());
}

/// Turns the sums over rows into the gradient.
pub(super) fn finish(argument: Argument, z: &Matrix, gradient: &mut Matrix, sums: &[f64]) {
    if argument == Argument::SquaredDistance {
        for (j, sum) in sums.iter().enumerate() {
            for (g, z) in gradient.row_mut(j).iter_mut().zip(z.row(j)) {
                *g = 2.0 * (sum * z - *g);
            }
        }
    }
}
