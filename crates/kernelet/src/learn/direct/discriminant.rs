//! Fisher's discriminant on given coordinates: minus the logarithm of the generalised eigenvalues.
//!
//! With the means D of the classes (their difference for two classes; each less the mean of all for several), the scatter B within the
//! classes and `G = D'(B + mu I)^-1 D`, the eigenvalues of G are those lambda_k of `D D' w = lambda (B + mu I) w` that are not
//! zero, and `W = -sum_k log lambda_k` [Wu2006 (60)]: for two classes `lambda = m'(B + mu I)^-1 m`, whose logarithm has the same
//! maximum and is far better scaled. With the eigenvectors u_k of G the directions are `w_k = (B + mu I)^-1 D u_k`, and
//! `d lambda_k = 2 w_k'dD u_k - w_k'dB w_k - mu d|w_k|^2` for fixed w_k [Wu2006 (63)].
//!
//! Cost: n m (m / 2 + q), m^3 / 3 and some q^3; memory m^2 and n q.
use super::{
    coordinates::{Coordinates, Work},
    inner::{Inner, Solution},
    squared::add_outputs,
};
use crate::{
    learn::{Scatter, mixes},
    linalg::{Cholesky, Eigen, Matrix, dot, outer_sum},
    watch::Watch,
};

/// The quotient of the scatter between and within classes.
pub(super) struct Discriminant<'a> {
    /// How much each row counts in the scatter, and its class.
    pub scatter: &'a Scatter,
    /// The penalty of `|w|^2`.
    pub mu: f64,
}

impl Discriminant<'_> {
    /// The part of its class's mean that row i has.
    fn part(&self, i: usize) -> f64 {
        self.scatter.units[i] * self.scatter.units[i]
    }

    fn share(&self, i: usize) -> f64 {
        self.scatter.roots[i] * self.scatter.roots[i]
    }

    /// The means of the classes for rows of `width` numbers, which `block` gives.
    fn means(&self, coordinates: &Coordinates) -> Matrix {
        let m = coordinates.cols();
        let mut means: Matrix = Matrix::zeros(self.scatter.count, m);
        let mut work = Work::default();
        for first in (0..coordinates.rows()).step_by(1024) {
            let rows = first..(first + 1024).min(coordinates.rows());
            for (i, v) in rows.clone().zip(coordinates.block(rows, &mut work).chunks_exact(m)) {
                let part = self.part(i);
                means.row_mut(self.scatter.groups[i]).iter_mut().zip(v).for_each(|(mean, v)| *mean += part * v);
            }
        }
        means
    }

    /// B, lower triangle.
    fn spread(&self, coordinates: &Coordinates, means: &Matrix) -> Matrix {
        let m = coordinates.cols();
        outer_sum(coordinates.rows(), m, |rows, out| {
            let mut work = Work::default();
            let block = coordinates.block(rows.clone(), &mut work);
            for ((i, out), v) in rows.zip(out.chunks_exact_mut(m)).zip(block.chunks_exact(m)) {
                let (root, mean) = (self.scatter.roots[i], means.row(self.scatter.groups[i]));
                out.iter_mut().zip(v.iter().zip(mean)).for_each(|(out, (v, mean))| *out = root * (v - mean));
            }
        })
    }

    /// The directions w_k (m x r), the eigenvalues, and how the means of the classes are combined for each (r x classes).
    fn directions(&self, coordinates: &Coordinates) -> Option<(Matrix, Vec<f64>, Matrix)> {
        let m = coordinates.cols();
        let means = self.means(coordinates);
        let mixes = mixes(self.scatter.count);
        let combined = |mix: &[f64], j: usize| -> f64 { (0..mix.len()).map(|g| mix[g] * means.at(g, j)).sum() };
        let projected = Matrix::from_fn(m, mixes.len(), |j, c| combined(&mixes[c], j));
        let mut system = self.spread(coordinates, &means);
        (0..m).for_each(|j| system.row_mut(j)[j] += self.mu);
        let mut solved = projected.clone();
        Cholesky::new(&system)?.solve(&mut solved);
        let square = Matrix::from_fn(mixes.len(), mixes.len(), |a, b| dot(&projected.col(a), &solved.col(b)));
        let symmetric = Matrix::from_fn(mixes.len(), mixes.len(), |a, b| 0.5 * (square.at(a, b) + square.at(b, a)));
        // The means less their mean sum to zero, and m vectors allow no more than m directions.
        let eigen = Eigen::of(&symmetric)?.truncated((self.scatter.count - 1).min(m));
        let u = &eigen.vectors;
        let weights = Matrix::from_fn(m, u.rows(), |j, k| dot(solved.row(j), u.row(k)));
        let mixed = Matrix::from_fn(u.rows(), self.scatter.count, |k, g| (0..mixes.len()).map(|c| u.at(k, c) * mixes[c][g]).sum());
        eigen.values.iter().all(|lambda| *lambda > 0.0).then_some((weights, eigen.values, mixed))
    }
}

impl Inner for Discriminant<'_> {
    fn solve(&mut self, coordinates: &Coordinates, _: &Watch) -> Solution {
        let (n, m) = (coordinates.rows(), coordinates.cols());
        // Where all means coincide on the span there is no direction: a step that leads here is not taken.
        let Some((weights, lambdas, mixed)) = self.directions(coordinates) else {
            let nothing = Matrix::zeros(m, 1);
            return Solution {
                value: f64::INFINITY,
                weights: nothing,
                offsets: vec![0.0],
                negative_gradient: Matrix::zeros(n, 1),
                norms: vec![0.0],
            };
        };
        let r = lambdas.len();
        let mut negative_gradient = Matrix::zeros(n, r);
        add_outputs(coordinates, weights.values(), r, &mut negative_gradient);
        let mut means: Matrix = Matrix::zeros(self.scatter.count, r);
        for i in 0..n {
            let part = self.part(i);
            means.row_mut(self.scatter.groups[i]).iter_mut().zip(negative_gradient.row(i)).for_each(|(mean, f)| *mean += part * f);
        }
        for i in 0..n {
            let (part, share, group) = (self.part(i), self.share(i), self.scatter.groups[i]);
            for (k, f) in negative_gradient.row_mut(i).iter_mut().enumerate() {
                *f = 2.0 * (part * mixed.at(k, group) - share * (*f - means.at(group, k))) / lambdas[k];
            }
        }
        Solution {
            value: -lambdas.iter().map(|lambda| lambda.ln()).sum::<f64>(),
            weights,
            offsets: vec![0.0; r],
            negative_gradient,
            norms: lambdas.iter().map(|lambda| 2.0 * self.mu / lambda).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{super::gradients::assert_gradient, *};
    use crate::{
        basis::{Frame, JITTER},
        data::{Dataset, banana, waveform3},
        kernel::Kernel,
        linalg::product_transposed,
    };

    fn scatter(data: &Dataset) -> Scatter {
        let codes: Vec<usize> = data.classes().unwrap().codes.iter().map(|&code| code as usize).collect();
        let count = |code: usize| codes.iter().filter(|&&other| other == code).count() as f64;
        let shares: Vec<f64> = codes.iter().map(|&code| (1.0 + 0.5 * code as f64) / count(code)).collect();
        Scatter::new(&shares, codes)
    }

    #[test]
    fn eq_63_gradients_of_fisher_agree_with_differences_for_two_classes_and_several() {
        for (data, gamma) in [(banana(120, 3), 0.8), (waveform3(90, 1), 0.05)] {
            let scatter = scatter(&data);
            let kernel = Kernel::gaussian(gamma);
            let inner = || -> Box<dyn Inner> { Box::new(Discriminant { scatter: &scatter, mu: 0.01 }) };
            assert_gradient(&kernel, &data.points, inner, 1e-7);
        }
    }

    #[test]
    fn eq_60_lambda_is_the_generalised_eigenvalue() {
        let data = banana(200, 1);
        let (scatter, mu) = (scatter(&data), 0.01);
        let frame = Frame::fixed(&Kernel::gaussian(1.0), &data.points.select(&(0..8).collect::<Vec<_>>()), JITTER).unwrap();
        let coordinates = Coordinates::new(&frame, &data.points, usize::MAX);
        let solution = Discriminant { scatter: &scatter, mu }.solve(&coordinates, &Watch::none());
        let lambda = (-solution.value).exp();
        // A w = lambda (B + mu I) w, with A and B by their definitions.
        let v = frame.coordinates(&data.points);
        let codes = &data.classes().unwrap().codes;
        let w = solution.weights.col(0);
        let mut f = vec![0.0; 200];
        product_transposed(v.values(), &w, 8, &mut f);
        let mean = |c: u32, of: &dyn Fn(usize) -> f64| -> f64 {
            let rows: Vec<usize> = (0..200).filter(|&i| codes[i] == c).collect();
            rows.iter().map(|&i| of(i)).sum::<f64>() / rows.len() as f64
        };
        let apart = mean(1, &|i| f[i]) - mean(0, &|i| f[i]);
        for j in 0..8 {
            let between = (mean(1, &|i| v.at(i, j)) - mean(0, &|i| v.at(i, j))) * apart;
            let within: f64 = [0, 1]
                .iter()
                .map(|&c| {
                    let (mj, mf) = (mean(c, &|i| v.at(i, j)), mean(c, &|i| f[i]));
                    (1.0 + 0.5 * f64::from(c)) * mean(c, &|i| (v.at(i, j) - mj) * (f[i] - mf))
                })
                .sum();
            assert!((between - lambda * (within + mu * w[j])).abs() < 1e-9 * lambda, "{j}");
        }
    }
}
