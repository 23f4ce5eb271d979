//! A normal distribution around a predicted number, as the relevance vector machine gives it.
//!
//! Over the coefficients w of some of the vectors (and of the offset) there is a normal posterior with covariance S = L L'; then the
//! variance of a prediction is `noise + phi(x)' S phi(x) = noise + |L' phi(x)|^2` with phi(x) the kernel values and a 1 for the offset.
//! Cost a row: m d for the kernel values and m^2 for the product.
use crate::parallel::*;
use serde::{Deserialize, Serialize};

use super::{Calibration, Decision, Machine};
use crate::{
    Error, Result,
    data::Points,
    kernel::block::{CHUNK, Columns, Scratch},
    linalg::Matrix,
};

/// The uncertainty of one output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Posterior {
    /// The variance of a target around the function.
    pub noise: f64,
    /// The places of the vectors that the output uses.
    pub vectors: Vec<usize>,
    /// True where the offset is uncertain too; it comes after the vectors.
    pub offset: bool,
    /// The lower triangle, row by row, of the factor L of the coefficients' covariance.
    pub factor: Vec<f64>,
}

impl Posterior {
    fn size(&self) -> usize {
        self.vectors.len() + usize::from(self.offset)
    }

    /// True where the parts fit each other and a machine of this many vectors.
    pub(super) fn fits(&self, vectors: usize) -> bool {
        let m = self.size();
        self.noise >= 0.0 && self.vectors.iter().all(|&j| j < vectors) && self.factor.len() == m * (m + 1) / 2
    }

    /// The variance where the vectors of the machine have these kernel values; `product` is work space.
    fn variance(&self, kernel: &[f64], product: &mut Vec<f64>) -> f64 {
        product.clear();
        product.resize(self.size(), 0.0);
        let mut row = &self.factor[..];
        for (i, value) in self.vectors.iter().map(|&j| kernel[j]).chain(self.offset.then_some(1.0)).enumerate() {
            let (this, rest) = row.split_at(i + 1);
            product.iter_mut().zip(this).for_each(|(sum, l)| *sum += l * value);
            row = rest;
        }
        self.noise + product.iter().map(|v| v * v).sum::<f64>()
    }
}

impl Machine {
    /// The standard deviation of each predicted number, one row for each row of `points`: where it was trained with `probability` normal, or is a relevance
    /// vector machine for regression, or a LIBSVM regression model trained with probabilities (the same for all rows).
    pub fn deviations(&self, points: &Points) -> Result<Matrix> {
        match (&self.calibration, &self.decision) {
            (Some(Calibration::Normal { posteriors }), _) => {
                let deviation = |posterior: &Posterior, kernel: &[f64], product: &mut Vec<f64>| posterior.variance(kernel, product).sqrt();
                self.deviations_by(posteriors, points, deviation)
            }
            (Some(Calibration::LogVariance { heads }), _) => self.deviations_by(heads, points, |head, kernel, _| head.deviation(kernel)),
            // Laplace noise of scale a has the variance 2 a^2.
            (Some(Calibration::Sigmoid { a, .. }), Decision::Values) => {
                Ok(Matrix::from_fn(points.len(), a.len(), |_, k| std::f64::consts::SQRT_2 * a[k].abs()))
            }
            _ => Err(Error::Unsupported {
                method: "asking for a distribution",
                with: "this model".into(),
                instead: "train a regressor with --probability normal, or a relevance vector machine".into(),
            }),
        }
    }

    /// True where predicted numbers have deviations.
    pub fn has_deviations(&self) -> bool {
        self.deviations(&Matrix::<f64>::zeros(0, self.dim()).into()).is_ok()
    }

    /// The deviations of all rows, where `deviation` is that of one output from the kernel values of a row; it may use a vector as work space.
    fn deviations_by<T: Sync>(
        &self,
        parts: &[T],
        points: &Points,
        deviation: impl Fn(&T, &[f64], &mut Vec<f64>) -> f64 + Sync,
    ) -> Result<Matrix> {
        if !points.is_sparse() && points.dim() != self.dim() {
            return Err(Error::Shape { what: "features of a row", expected: self.dim(), found: points.dim() });
        }
        points.check_finite()?;
        let scaled = self.scale.as_ref().map(|scale| scale.apply(points)).transpose()?;
        let points = scaled.as_ref().unwrap_or(points);
        let (columns, m, q) = (Columns::new(&self.expansion.kernel, &self.expansion.vectors), self.n_vectors(), parts.len());
        let mut out = Matrix::zeros(points.len(), q);
        let work = || (Scratch::default(), vec![], vec![]);
        out.values_mut().par_chunks_mut((CHUNK * q).max(1)).enumerate().for_each_init(work, |(scratch, values, product), (c, out)| {
            let rows = out.len() / q;
            values.resize(rows * m, 0.0);
            columns.fill(points, c * CHUNK..c * CHUNK + rows, values, scratch);
            for (i, out) in out.chunks_exact_mut(q).enumerate() {
                let kernel = &values[i * m..(i + 1) * m];
                out.iter_mut().zip(parts).for_each(|(out, part)| *out = deviation(part, kernel, product));
            }
        });
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        data::Scale,
        kernel::Kernel,
        machine::{Coefficients, Expansion, Metadata},
    };

    #[test]
    fn deviations_agree_with_the_definition() {
        let vectors = Matrix::from_fn(3, 2, |i, j| (i + 2 * j) as f64 * 0.3);
        // L over vectors 2 and 0 and the offset.
        let l = [[0.5, 0.0, 0.0], [-0.2, 0.7, 0.0], [0.1, 0.3, 0.9]];
        let factor = vec![0.5, -0.2, 0.7, 0.1, 0.3, 0.9];
        let scale = Scale::new(Some(vec![1.0, 0.0]), vec![2.0, 0.5]);
        let machine = Machine {
            expansion: Expansion {
                kernel: Kernel::gaussian(0.4),
                vectors: vectors.clone().into(),
                coefficients: Coefficients::Dense(Matrix::zeros(3, 1)),
            },
            offsets: vec![0.0],
            decision: Decision::Values,
            scale: Some(scale.clone()),
            names: None,
            calibration: Some(Calibration::Normal {
                posteriors: vec![Posterior { noise: 0.01, vectors: vec![2, 0], offset: true, factor }],
            }),
            metadata: Metadata::default(),
        };
        assert!(machine.check().is_ok());
        let x = Matrix::from_fn(600, 2, |i, j| ((3 * i + j) as f64).sin());
        let have = machine.deviations(&x.clone().into()).unwrap();
        for i in 0..x.rows() {
            let row = scale.apply_row(x.row(i).to_vec());
            let k = |j: usize| machine.expansion.kernel.eval(&row, vectors.row(j));
            let phi = [k(2), k(0), 1.0];
            let mut variance = 0.01;
            for a in 0..3 {
                for b in 0..3 {
                    let covariance: f64 = (0..3).map(|r| l[a][r] * l[b][r]).sum();
                    variance += phi[a] * covariance * phi[b];
                }
            }
            assert!((have.at(i, 0) - variance.sqrt()).abs() < 1e-12);
        }
        assert!(machine.deviations(&Matrix::<f64>::zeros(1, 3).into()).is_err());
        let mut wrong = machine;
        wrong.calibration =
            Some(Calibration::Normal { posteriors: vec![Posterior { noise: 0.01, vectors: vec![3], offset: false, factor: vec![1.0] }] });
        assert!(wrong.check().is_err());
    }
}
