//! Principal components within the span of a basis: eigenvectors of the covariance of the coordinates.
//!
//! `S = sum_i d_i (v_i - mean)(v_i - mean)'` for the shares d_i of the rows; a component is an eigenvector of S, its feature is
//! `w.(v - mean)`. Cost: n m^2 / 2 and 9 m^3 on one thread, and n^2 / 2 kernel values for the variance that all directions have together,
//! none of which is kept.
use crate::parallel::*;

use super::{FrameLearner, InFrame};
use crate::{
    Error, Result,
    basis::Basis,
    data::{Dataset, Points},
    kernel::{
        Kernel,
        block::{block, diagonal},
    },
    learn::{Components, Learner, Pca, Report},
    linalg::{Eigen, Matrix, dot, weighted_gram},
    machine::{Decision, FeatureMetadata, Metadata},
    watch::{Status, Watch},
};

/// Rows of one block of kernel values.
const ROWS: usize = 512;

/// The variance of the rows in feature space along all directions: `sum_i d_i k(x_i, x_i) - d'K d`.
pub(crate) fn total_variance(kernel: &Kernel, points: &Points, shares: &[f64]) -> f64 {
    let n = points.len();
    let part = |c: usize| -> f64 {
        let rows: Vec<usize> = (c * ROWS..((c + 1) * ROWS).min(n)).collect();
        let some = points.select(&rows);
        let sum = |from: usize| {
            let others: Vec<usize> = (from..(from + ROWS).min(n)).collect();
            let values = block(kernel, &some, &points.select(&others));
            // What lies beside the diagonal blocks counts twice.
            let twice = if from == c * ROWS { 1.0 } else { 2.0 };
            twice
                * rows
                    .iter()
                    .zip(values.iter())
                    .map(|(&i, values)| shares[i] * dot(values, &shares[from..from + others.len()]))
                    .sum::<f64>()
        };
        (c * ROWS..n).step_by(ROWS).map(sum).sum()
    };
    let parts: Vec<f64> = (0..n.div_ceil(ROWS)).into_par_iter().map(part).collect();
    diagonal(kernel, points).iter().zip(shares).map(|(k, d)| k * d).sum::<f64>() - parts.iter().sum::<f64>()
}

/// The shares of the rows by weight.
pub(crate) fn shares(data: &Dataset) -> Vec<f64> {
    let whole: f64 = (0..data.len()).map(|i| data.weight(i)).sum();
    (0..data.len()).map(|i| data.weight(i) / whole).collect()
}

impl FrameLearner for Pca {
    fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    fn learn_in_frame(&self, data: &Dataset, basis: &Basis, _: &Watch) -> Result<InFrame> {
        data.check_lengths()?;
        let (shares, rows) = (shares(data), &basis.coordinates);
        let total = total_variance(&self.kernel, &data.points, &shares);
        let mean: Vec<f64> = (0..rows.cols()).map(|j| rows.iter().zip(&shares).map(|(v, d)| d * v[j]).sum()).collect();
        let mut centred = rows.clone();
        (0..rows.rows()).for_each(|i| centred.row_mut(i).iter_mut().zip(&mean).for_each(|(v, mean)| *v -= mean));
        let Some(eigen) = Eigen::of(&weighted_gram(&centred, &shares)) else {
            return Err(Error::data("the eigenvalues were not found; scale the data"));
        };
        let rank = eigen.rank(rows.cols());
        if rank == 0 || total.is_nan() || total <= 0.0 {
            return Err(Error::data("nothing varies on the span of these vectors; other rows or another kernel are needed"));
        }
        let eigen = eigen.truncated(self.wanted(&eigen.values[..rank], total));
        let short = matches!(self.components, Components::Count(count) if eigen.values.len() < count);
        Ok(self.features(data, &eigen, &mean, (total, short)))
    }
}

impl Pca {
    /// How many of these variances are kept.
    fn wanted(&self, variances: &[f64], total: f64) -> usize {
        match self.components {
            Components::Count(count) => count.min(variances.len()),
            Components::Explained(part) => {
                let mut sum = 0.0;
                let enough = variances.iter().position(|value| {
                    sum += value;
                    sum >= part * total * (1.0 - 1e-12)
                });
                enough.map_or(variances.len(), |last| last + 1)
            }
        }
    }

    fn features(&self, data: &Dataset, eigen: &Eigen, mean: &[f64], (total, short): (f64, bool)) -> InFrame {
        let factor = |k: usize| {
            let u = eigen.vectors.row(k);
            let largest = u.iter().fold(0.0, |a: f64, b| if b.abs() > a.abs() { *b } else { a });
            largest.signum() / if self.whiten { eigen.values[k].sqrt() } else { 1.0 }
        };
        let weights = Matrix::from_fn(mean.len(), eigen.values.len(), |j, k| factor(k) * eigen.vectors.at(k, j));
        let objective = (total - eigen.values.iter().sum::<f64>()).max(0.0);
        let features = FeatureMetadata {
            variances: eigen.values.clone(),
            total_variance: total,
            whitened: self.whiten,
            weighted: (0..data.len()).any(|i| data.weight(i) != data.weight(0)),
        };
        InFrame {
            offsets: (0..eigen.values.len()).map(|k| -dot(&weights.col(k), mean)).collect(),
            weights,
            decision: Decision::Features,
            calibration: None,
            metadata: Metadata { learner: Some(self.name().into()), features: Some(features), ..Metadata::default() },
            report: Report {
                objective,
                dual_objective: None,
                iterations: 1,
                status: if short { Status::Capped } else { Status::Converged },
                evaluations: 0,
                support: None,
            },
            multipliers: None,
        }
    }
}
