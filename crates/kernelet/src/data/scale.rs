//! Scaling of features. It is part of the model, so that prediction takes raw rows.
use serde::{Deserialize, Serialize};

/// x_j becomes `(x_j - shift_j) * factor_j`. Without shifts zero stays zero and sparse rows stay sparse.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scale {
    /// Subtracted first; None: nothing is.
    pub shift: Option<Vec<f64>>,
    /// Multiplied afterwards.
    pub factor: Vec<f64>,
}

impl Scale {
    /// Number of features.
    pub fn dim(&self) -> usize {
        self.factor.len()
    }
}
