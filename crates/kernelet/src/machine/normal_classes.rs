//! Probabilities of classes from a normal distribution of the outputs within each class.
//!
//! With the outputs f of a row, `P(c | f)` is proportional to `prior_c N(f; mean_c, precision_c^-1)`: scores
//! `constant_c - 1/2 (f - mean_c)' precision_c (f - mean_c)`, then exponentials over their sum. Cost a row: classes times outputs squared.
use serde::{Deserialize, Serialize};

use crate::linalg::dot;

/// A normal distribution of the outputs for each class.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NormalClasses {
    /// The logarithm of each class's prior, plus half the logarithm of the determinant of its precision.
    pub constants: Vec<f64>,
    /// The mean outputs of each class.
    pub means: Vec<Vec<f64>>,
    /// The inverse covariance, row by row: one for all classes, or one for each.
    pub precisions: Vec<Vec<f64>>,
}

impl NormalClasses {
    /// The probability of each class, for one row's outputs.
    pub fn probabilities(&self, outputs: &[f64]) -> Vec<f64> {
        let score = |(class, constant): (usize, &f64)| {
            let apart: Vec<f64> = outputs.iter().zip(&self.means[class]).map(|(f, mean)| f - mean).collect();
            let precision = &self.precisions[class.min(self.precisions.len() - 1)];
            let squared: f64 = precision.chunks_exact(apart.len()).zip(&apart).map(|(row, a)| a * dot(row, &apart)).sum();
            constant - 0.5 * squared
        };
        let scores: Vec<f64> = self.constants.iter().enumerate().map(score).collect();
        let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if !most.is_finite() {
            return vec![1.0 / scores.len() as f64; scores.len()];
        }
        let parts: Vec<f64> = scores.iter().map(|score| (score - most).exp()).collect();
        let sum: f64 = parts.iter().sum();
        parts.iter().map(|part| part / sum).collect()
    }

    /// Whether there are as many numbers as `classes` and `outputs` need.
    pub fn fits(&self, classes: usize, outputs: usize) -> bool {
        classes > 0
            && outputs > 0
            && self.constants.len() == classes
            && self.means.len() == classes
            && self.means.iter().all(|mean| mean.len() == outputs)
            && (self.precisions.len() == 1 || self.precisions.len() == classes)
            && self.precisions.iter().all(|precision| precision.len() == outputs * outputs)
    }

    /// Whether the probabilities are a softmax of the outputs: no priors, and one precision that is a multiple of the unit matrix.
    pub fn is_softmax(&self) -> bool {
        let q = self.means.first().map_or(0, Vec::len);
        let unit = |precision: &Vec<f64>| {
            precision.iter().enumerate().all(|(at, &value)| value == if at % (q + 1) == 0 { precision[0] } else { 0.0 })
        };
        self.constants.iter().all(|&constant| constant == 0.0) && self.precisions.len() == 1 && self.precisions.iter().all(unit)
    }

    /// All numbers.
    pub fn numbers(&self) -> Vec<&[f64]> {
        std::iter::once(&self.constants).chain(&self.means).chain(&self.precisions).map(Vec::as_slice).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probabilities_are_those_of_bayes() {
        // Deviations 0.5 and 2, priors 0.3 and 0.7.
        let constants = vec![0.3f64.ln() + 2.0f64.ln(), 0.7f64.ln() + 0.5f64.ln()];
        let classes = NormalClasses { constants, means: vec![vec![-1.0], vec![1.0]], precisions: vec![vec![4.0], vec![0.25]] };
        assert!(classes.fits(2, 1) && !classes.fits(3, 1) && !classes.fits(2, 2));
        for f in [-2.0f64, 0.0, 0.7] {
            let density = |mean: f64, deviation: f64| (-0.5 * ((f - mean) / deviation).powi(2)).exp() / deviation;
            let (below, above) = (0.3 * density(-1.0, 0.5), 0.7 * density(1.0, 2.0));
            let have = classes.probabilities(&[f]);
            assert!((have[0] - below / (below + above)).abs() < 1e-14 && (have[0] + have[1] - 1.0).abs() < 1e-14);
        }
        for far in [1e200, f64::INFINITY] {
            assert!(classes.probabilities(&[far]).iter().all(|p| (0.0..=1.0).contains(p)));
        }
    }

    #[test]
    fn one_precision_serves_all_classes() {
        let means = vec![vec![0.0, 0.0], vec![2.0, 0.0], vec![0.0, 4.0]];
        let classes = NormalClasses { constants: vec![0.0; 3], means, precisions: vec![vec![1.0, 0.0, 0.0, 0.25]] };
        let have = classes.probabilities(&[1.0, 1.0]);
        let scores = [1.25f64, 1.25, 3.25].map(|squared| (-0.5 * squared).exp());
        let sum: f64 = scores.iter().sum();
        assert!(have.iter().zip(scores).all(|(p, score)| (p - score / sum).abs() < 1e-14));
    }
}
