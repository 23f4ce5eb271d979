//! Ridge regression on given coordinates: several targets, one factor.
//!
//! `min sum_i weight_i |y_i - W'v_i|^2 + lambda |W|^2` is solved by `(V'DV + lambda I) W = V'Dy`. With residuals r the negative gradient is
//! `2 weight_i r_ik`, and `|w_k|^2` counts lambda. Cost: n m (m / 2 + q) and m^3 / 3; memory m^2 and n q.
use crate::parallel::*;

use super::{
    coordinates::{Coordinates, Work},
    inner::{Inner, RowTargets, Solution},
};
use crate::{
    kernel::block::CHUNK,
    linalg::{Cholesky, Matrix, Product, Real, dot, outer_sum},
    watch::Watch,
};

/// The squared loss of several targets.
pub(crate) struct Squared<'a> {
    /// n x q.
    pub targets: &'a Matrix,
    /// Above 0, one for each row.
    pub weights: &'a [f64],
    /// The penalty of `|w|^2`.
    pub lambda: f64,
}

impl Squared<'_> {
    /// `sum_i weight_i r_i r_i'` with rows `r = [v, y]`: the matrix of the system and below it the right-hand sides.
    fn squares(&self, coordinates: &Coordinates) -> Matrix {
        let (m, q) = (coordinates.cols(), self.targets.cols());
        outer_sum(coordinates.rows(), m + q, |rows, out| {
            let mut work = Work::default();
            let block = coordinates.block(rows.clone(), &mut work);
            for ((i, out), v) in rows.zip(out.chunks_exact_mut(m + q)).zip(block.chunks_exact(m)) {
                let root = self.weights[i].sqrt();
                out[..m].iter_mut().zip(v).for_each(|(out, v)| *out = root * v);
                out[m..].iter_mut().zip(self.targets.row(i)).for_each(|(out, y)| *out = root * y);
            }
        })
    }

    /// `y - V W`.
    fn residuals(&self, coordinates: &Coordinates, weights: &Matrix) -> Matrix {
        let q = weights.cols();
        let minus: Vec<f64> = weights.values().iter().map(|w| -w).collect();
        let mut out = self.targets.clone();
        add_outputs(coordinates, &minus, q, &mut out);
        out
    }
}

/// Adds `V W` to `out` (n x q); `weights` is m x q.
pub(super) fn add_outputs(coordinates: &Coordinates, weights: &[f64], q: usize, out: &mut Matrix) {
    let m = coordinates.cols();
    out.values_mut().par_chunks_mut(CHUNK * q).enumerate().for_each_init(Work::default, |work, (c, out)| {
        let rows = c * CHUNK..c * CHUNK + out.len() / q;
        f64::add_product(Product { a: coordinates.block(rows, work), stride: m, inner: m, b: weights, cols: q }, out);
    });
}

impl Inner for Squared<'_> {
    fn rows(&self) -> Option<RowTargets<'_>> {
        Some(RowTargets { targets: self.targets, costs: self.weights, lambda: Some(self.lambda) })
    }

    fn solve(&mut self, coordinates: &Coordinates, _: &Watch) -> Solution {
        let (m, q) = (coordinates.cols(), self.targets.cols());
        let squares = self.squares(coordinates);
        let system = Matrix::from_fn(m, m, |i, j| if j <= i { squares.at(i, j) + if i == j { self.lambda } else { 0.0 } } else { 0.0 });
        let mut weights = Matrix::from_fn(m, q, |j, k| squares.at(m + k, j));
        match Cholesky::new(&system) {
            Some(factor) => factor.solve(&mut weights),
            // Beyond working precision: a step that leads here is not taken.
            None => weights = Matrix::from_fn(m, q, |_, _| f64::NAN),
        }
        let mut negative_gradient = self.residuals(coordinates, &weights);
        let mut value = self.lambda * dot(weights.values(), weights.values());
        for (i, weight) in self.weights.iter().enumerate() {
            let row = negative_gradient.row_mut(i);
            value += weight * dot(row, row);
            row.iter_mut().for_each(|r| *r *= 2.0 * weight);
        }
        Solution { value, weights, offsets: vec![0.0; q], negative_gradient, norms: vec![2.0 * self.lambda; q] }
    }
}

#[cfg(test)]
mod tests {
    use super::{super::gradients::assert_gradient, *};
    use crate::{data::banana, kernel::Kernel};

    #[test]
    fn gradients_of_ridge_agree_with_differences() {
        let points = banana(120, 3).points;
        let rows = points.to_dense();
        let targets = Matrix::from_fn(120, 2, |i, k| (rows.at(i, 0) + k as f64).sin());
        let weights: Vec<f64> = (0..120).map(|i| 1.0 + (i % 3) as f64).collect();
        for kernel in
            [Kernel::gaussian(0.8), Kernel::named("matern52", 0.7, 0, 0.0).unwrap(), Kernel::named("polynomial", 0.3, 3, 1.0).unwrap()]
        {
            let inner = || -> Box<dyn Inner> { Box::new(Squared { targets: &targets, weights: &weights, lambda: 0.1 }) };
            assert_gradient(&kernel, &points, inner, 1e-7);
        }
    }
}
