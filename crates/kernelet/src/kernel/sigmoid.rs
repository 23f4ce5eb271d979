//! Sigmoid kernel, k(x, z) = tanh(gamma x.z + coef0).
use serde::{Deserialize, Serialize};

use super::{Argument, Profile};
use crate::{Error, Result, error::require_positive};

/// Not definite: there is no feature space, so only methods that look at outputs apply.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sigmoid {
    /// Factor of the dot product; above 0.
    pub gamma: f64,
    /// Added to the dot product.
    pub coef0: f64,
}

impl Profile for Sigmoid {
    fn name(&self) -> &'static str {
        "sigmoid"
    }
    fn argument(&self) -> Argument {
        Argument::DotProduct
    }
    fn value(&self, u: f64) -> f64 {
        (self.gamma * u + self.coef0).tanh()
    }
    fn slope(&self, u: f64) -> f64 {
        let k = self.value(u);
        self.gamma * (1.0 - k * k)
    }
    fn smooth(&self) -> bool {
        true
    }
    fn definite(&self) -> bool {
        false
    }
    fn check(&self) -> Result<()> {
        require_positive("gamma", self.gamma)?;
        match self.coef0.is_finite() {
            true => Ok(()),
            false => Err(Error::parameter("coef0", self.coef0, "a finite number")),
        }
    }
}
