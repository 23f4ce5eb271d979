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
    /// TEMP
    pub fn apply(&self, p: &crate::data::Points) -> crate::Result<crate::data::Points> {
        let mut d = p.to_dense();
        for i in 0..d.rows() {
            for (j, v) in d.row_mut(i).iter_mut().enumerate() {
                *v = (*v - self.shift.as_ref().map_or(0.0, |s| s[j])) * self.factor[j];
            }
        }
        Ok(d.into())
    }

    /// Number of features.
    pub fn dim(&self) -> usize {
        self.factor.len()
    }
}
