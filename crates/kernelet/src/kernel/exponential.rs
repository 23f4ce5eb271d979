//! Exponential kernel, k(x, z) = exp(-gamma |x - z|).
use serde::{Deserialize, Serialize};

use super::{Argument, Profile};
use crate::{Result, error::require_positive};

/// Falls to 1/e at distance 1/gamma. The distance is Euclidean, not the sum of absolute differences.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Exponential {
    /// The width; above 0.
    pub gamma: f64,
}

impl Profile for Exponential {
    fn name(&self) -> &'static str {
        "exponential"
    }
    fn argument(&self) -> Argument {
        Argument::SquaredDistance
    }
    fn value(&self, u: f64) -> f64 {
        (-self.gamma * u.sqrt()).exp()
    }
    /// The kernel is not differentiable at u = 0; there the slope is 0 by convention, see [`Profile::smooth`].
    fn slope(&self, u: f64) -> f64 {
        if u == 0.0 {
            return 0.0;
        }
        -self.gamma * self.value(u) / (2.0 * u.sqrt())
    }
    fn smooth(&self) -> bool {
        false
    }
    fn definite(&self) -> bool {
        true
    }
    fn check(&self) -> Result<()> {
        require_positive("gamma", self.gamma)
    }
    fn values(&self, u: &mut [f64]) {
        u.iter_mut().for_each(|u| *u = -self.gamma * u.sqrt());
        super::exp_in_place(u);
    }
}
