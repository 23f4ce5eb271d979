//! The deviation of a predicted number as a second function on the machine's vectors: the variance is `exp(sum_j e_j K(z_j, x) + e_0)`.
//!
//! Vectors that were found for the mean say little about its error by their span alone; a function of its own, fitted to residuals of rows that were not
//! trained on, does. The kernel values are those of the prediction; cost a row: m d for them and m for each deviation.
use serde::{Deserialize, Serialize};

/// The logarithm of the variance of one predicted number.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LogVariance {
    /// The places of the vectors that it uses.
    pub vectors: Vec<usize>,
    /// A coefficient for each of them.
    pub coefficients: Vec<f64>,
    /// What is added.
    pub offset: f64,
}

impl LogVariance {
    /// The standard deviation where the vectors of the machine have these kernel values.
    pub fn deviation(&self, kernel: &[f64]) -> f64 {
        let sum: f64 = self.vectors.iter().zip(&self.coefficients).map(|(&j, e)| e * kernel[j]).sum();
        (0.5 * (sum + self.offset)).exp()
    }

    /// True where the parts fit each other and a machine of this many vectors.
    pub(super) fn fits(&self, vectors: usize) -> bool {
        self.vectors.len() == self.coefficients.len() && self.vectors.iter().all(|&j| j < vectors)
    }
}
