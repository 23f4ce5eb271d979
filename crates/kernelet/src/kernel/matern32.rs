//! Matern kernel of smoothness 3/2, k(x, z) = (1 + r) exp(-r) with r = gamma |x - z|.
use serde::{Deserialize, Serialize};

use super::{Argument, Profile};
use crate::{Result, error::require_positive};

/// A length scale l in the convention r = sqrt(3) |x - z| / l is `gamma = sqrt(3) / l`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Matern32 {
    /// The width; above 0.
    pub gamma: f64,
}

impl Profile for Matern32 {
    fn name(&self) -> &'static str {
        "matern32"
    }
    fn argument(&self) -> Argument {
        Argument::SquaredDistance
    }
    fn value(&self, u: f64) -> f64 {
        let r = self.gamma * u.sqrt();
        (1.0 + r) * (-r).exp()
    }
    /// d/du (1 + r) exp(-r) = -(gamma^2 / 2) exp(-r): finite at u = 0.
    fn slope(&self, u: f64) -> f64 {
        -0.5 * self.gamma * self.gamma * (-self.gamma * u.sqrt()).exp()
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
