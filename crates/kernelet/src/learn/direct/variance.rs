//! Principal components on given coordinates: what the best directions of the span leave of the variance.
//!
//! `W = total - sum_k lambda_k` with the largest eigenvalues of the covariance S of the coordinates. At a unit eigenvector w_k,
//! `lambda_k = w_k'S w_k / |w_k|^2`, so that the negative gradient is `2 d_i (f_ik - mean_k)` for their shares d_i, and `|w_k|^2` counts lambda_k.
//! Smooth where the first eigenvalue that is left out is below the last that is kept.
//!
//! Cost: n m (m / 2 + q) and 9 m^3 on one thread; memory m^2 and n q.
use super::{
    coordinates::{Coordinates, Work},
    inner::{Inner, Solution},
    squared::add_outputs,
};
use crate::{
    linalg::{Eigen, Matrix, outer_sum},
    watch::Watch,
};

/// The variance that is left.
pub(super) struct Variance<'a> {
    /// The part of the whole that each row is.
    pub shares: &'a [f64],
    /// Components that are kept.
    pub count: usize,
    /// The variance along all directions of feature space.
    pub total: f64,
}

impl Variance<'_> {
    /// `sum_i d_i r_i r_i'` with `r = [v, 1]`: the second moments and, below them, the means.
    fn moments(&self, coordinates: &Coordinates) -> Matrix {
        let m = coordinates.cols();
        outer_sum(coordinates.rows(), m + 1, |rows, out| {
            let mut work = Work::default();
            let block = coordinates.block(rows.clone(), &mut work);
            for ((i, out), v) in rows.zip(out.chunks_exact_mut(m + 1)).zip(block.chunks_exact(m)) {
                let root = self.shares[i].sqrt();
                out[..m].iter_mut().zip(v).for_each(|(out, v)| *out = root * v);
                out[m] = root;
            }
        })
    }
}

impl Inner for Variance<'_> {
    fn solve(&mut self, coordinates: &Coordinates, _: &Watch) -> Solution {
        let (n, m) = (coordinates.rows(), coordinates.cols());
        let moments = self.moments(coordinates);
        let means = moments.row(m)[..m].to_vec();
        let covariance = Matrix::from_fn(m, m, |i, j| if j <= i { moments.at(i, j) - means[i] * means[j] } else { 0.0 });
        let Some(eigen) = Eigen::of(&covariance).map(|eigen| eigen.truncated(self.count)) else {
            let nothing = Matrix::zeros(m, 1);
            return Solution {
                value: f64::NAN,
                weights: nothing,
                offsets: vec![0.0],
                negative_gradient: Matrix::zeros(n, 1),
                norms: vec![0.0],
            };
        };
        let q = eigen.values.len();
        let weights = eigen.vectors.transposed();
        let offsets: Vec<f64> = (0..q).map(|k| -(0..m).map(|j| weights.at(j, k) * means[j]).sum::<f64>()).collect();
        let mut negative_gradient = Matrix::from_fn(n, q, |_, k| offsets[k]);
        add_outputs(coordinates, weights.values(), q, &mut negative_gradient);
        for (i, share) in self.shares.iter().enumerate() {
            negative_gradient.row_mut(i).iter_mut().for_each(|f| *f *= 2.0 * share);
        }
        let value = self.total - eigen.values.iter().sum::<f64>();
        Solution { value, weights, offsets, negative_gradient, norms: eigen.values.iter().map(|lambda| 2.0 * lambda).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::{super::gradients::assert_gradient, *};
    use crate::{data::waveform3, kernel::Kernel};

    #[test]
    fn gradients_of_principal_components_agree_with_differences() {
        let points = waveform3(90, 1).points;
        let shares: Vec<f64> = (0..90).map(|i| (1.0 + (i % 2) as f64) / 135.0).collect();
        let kernel = Kernel::gaussian(0.05);
        assert_gradient(&kernel, &points, || -> Box<dyn Inner> { Box::new(Variance { shares: &shares, count: 3, total: 1.0 }) }, 1e-7);
    }
}
