//! Matern kernel of smoothness 5/2, k(x, z) = (1 + r + r^2/3) exp(-r) with r = gamma |x - z|.
use serde::{Deserialize, Serialize};

use super::{Argument, Profile};
use crate::{Result, error::require_positive};

/// A length scale l in the convention r = sqrt(5) |x - z| / l is `gamma = sqrt(5) / l`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Matern52 {
    /// The width; above 0.
    pub gamma: f64,
}

impl Profile for Matern52 {
    fn name(&self) -> &'static str {
        "matern52"
    }
    fn argument(&self) -> Argument {
        Argument::SquaredDistance
    }
    fn value(&self, u: f64) -> f64 {
        let r = self.gamma * u.sqrt();
        (1.0 + r + r * r / 3.0) * (-r).exp()
    }
    /// d/du (1 + r + r^2/3) exp(-r) = -(gamma^2 / 6) (1 + r) exp(-r).
    fn slope(&self, u: f64) -> f64 {
        let r = self.gamma * u.sqrt();
        -self.gamma * self.gamma / 6.0 * (1.0 + r) * (-r).exp()
    }
    fn smooth(&self) -> bool {
        true
    }
    fn definite(&self) -> bool {
        true
    }
    fn check(&self) -> Result<()> {
        require_positive("gamma", self.gamma)
    }
}
