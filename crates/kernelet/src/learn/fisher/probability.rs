//! Normal distributions of the outputs within each class, from the training rows.
//!
//! Two classes have a variance each. Several share one covariance, as the discriminant itself assumes; the outputs of several classes
//! depend on one another, so its inverse is a pseudo-inverse. Rows that were learned from lie closer to their means than new ones do:
//! these probabilities are too sure of themselves where the penalty is small, and a calibration on other rows is better.
use crate::{
    Result,
    linalg::{Eigen, Matrix},
    machine::NormalClasses,
};

/// No standard deviation is taken to be below this part of the distance of the means.
const LEAST_DEVIATION: f64 = 1e-6;

/// The distributions; None where the outputs do not vary at all.
pub(super) fn normal_classes(outputs: &Matrix, codes: &[usize], weights: &[f64], classes: usize) -> Result<Option<NormalClasses>> {
    let q = outputs.cols();
    let (mut sums, mut means) = (vec![0.0; classes], vec![vec![0.0; q]; classes]);
    for ((row, &code), weight) in outputs.iter().zip(codes).zip(weights) {
        sums[code] += weight;
        means[code].iter_mut().zip(row).for_each(|(mean, f)| *mean += weight * f);
    }
    means.iter_mut().zip(&sums).for_each(|(mean, sum)| mean.iter_mut().for_each(|m| *m /= sum));
    let mut covariances: Vec<Matrix> = vec![Matrix::zeros(q, q); classes];
    for ((row, &code), weight) in outputs.iter().zip(codes).zip(weights) {
        let apart: Vec<f64> = row.iter().zip(&means[code]).map(|(f, mean)| f - mean).collect();
        for (i, a) in apart.iter().enumerate() {
            covariances[code].row_mut(i).iter_mut().zip(&apart).for_each(|(sum, b)| *sum += weight * a * b);
        }
    }
    let whole: f64 = sums.iter().sum();
    let spans = means.iter().map(|mean| mean.iter().zip(&means[0]).map(|(a, b)| (a - b) * (a - b)).sum::<f64>());
    let least = LEAST_DEVIATION * LEAST_DEVIATION * spans.fold(0.0, f64::max);
    if least <= 0.0 || !least.is_finite() {
        return Ok(None);
    }
    let logs: Vec<f64> = sums.iter().map(|sum| (sum / whole).ln()).collect();
    if q == 1 {
        let variances: Vec<f64> = covariances.iter().zip(&sums).map(|(c, sum)| (c.at(0, 0) / sum).max(least)).collect();
        let constants = logs.iter().zip(&variances).map(|(log, variance)| log - 0.5 * variance.ln()).collect();
        return Ok(Some(NormalClasses { constants, means, precisions: variances.iter().map(|v| vec![1.0 / v]).collect() }));
    }
    let pooled = Matrix::from_fn(q, q, |i, j| covariances.iter().map(|c| c.at(i, j)).sum::<f64>() / whole);
    Ok(pseudo_inverse(&pooled, least).map(|precision| NormalClasses { constants: logs, means, precisions: vec![precision] }))
}

/// The inverse on the directions that the outputs of several classes can move in, all but one; variances below `least` are raised to it.
fn pseudo_inverse(covariance: &Matrix, least: f64) -> Option<Vec<f64>> {
    let eigen = Eigen::of(covariance)?;
    let used = eigen.values.len() - 1;
    let mut inverse = Matrix::zeros(covariance.rows(), covariance.rows());
    for (value, vector) in eigen.values.iter().zip(eigen.vectors.iter()).take(used) {
        for (i, a) in vector.iter().enumerate() {
            inverse.row_mut(i).iter_mut().zip(vector).for_each(|(sum, b)| *sum += a * b / value.max(least));
        }
    }
    Some(inverse.into_values())
}
