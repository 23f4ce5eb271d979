//! Inverse multiquadric kernel, k(x, z) = (1 + gamma |x - z|^2)^(-1/2).
use serde::{Deserialize, Serialize};

use super::{Argument, Profile};
use crate::{Result, error::require_positive};

/// Falls slowly: half the value at distance sqrt(3 / gamma).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InverseMultiquadric {
    /// The width; above 0.
    pub gamma: f64,
}

impl Profile for InverseMultiquadric {
    fn name(&self) -> &'static str {
        "inverse-multiquadric"
    }
    fn argument(&self) -> Argument {
        Argument::SquaredDistance
    }
    fn value(&self, u: f64) -> f64 {
        (1.0 + self.gamma * u).sqrt().recip()
    }
    fn slope(&self, u: f64) -> f64 {
        let k = self.value(u);
        -0.5 * self.gamma * k * k * k
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
