//! Polynomial kernel, k(x, z) = (gamma x.z + coef0)^degree.
use serde::{Deserialize, Serialize};

use super::{Argument, Profile};
use crate::{Error, Result, error::require_positive};

/// The degree is a whole number, as in LIBSVM; with `coef0 >= 0` the kernel is definite.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Polynomial {
    /// Factor of the dot product; above 0.
    pub gamma: f64,
    /// The power; at least 1.
    pub degree: u32,
    /// Added to the dot product.
    pub coef0: f64,
}

impl Profile for Polynomial {
    fn name(&self) -> &'static str {
        "polynomial"
    }
    fn argument(&self) -> Argument {
        Argument::DotProduct
    }
    fn value(&self, u: f64) -> f64 {
        (self.gamma * u + self.coef0).powi(self.degree as i32)
    }
    fn slope(&self, u: f64) -> f64 {
        f64::from(self.degree) * self.gamma * (self.gamma * u + self.coef0).powi(self.degree as i32 - 1)
    }
    fn smooth(&self) -> bool {
        true
    }
    fn definite(&self) -> bool {
        self.coef0 >= 0.0
    }
    fn check(&self) -> Result<()> {
        require_positive("gamma", self.gamma)?;
        if !(1..=100).contains(&self.degree) {
            return Err(Error::parameter("degree", self.degree, "a whole number from 1 to 100"));
        }
        if !self.coef0.is_finite() {
            return Err(Error::parameter("coef0", self.coef0, "a finite number"));
        }
        Ok(())
    }
}
