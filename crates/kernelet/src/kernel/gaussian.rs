//! Gaussian kernel, k(x, z) = exp(-gamma |x - z|^2).
use serde::{Deserialize, Serialize};

use super::{Argument, Profile};
use crate::{Result, error::require_positive};

/// A width sigma in the convention exp(-|x - z|^2 / (2 sigma^2)) is `gamma = 1 / (2 sigma^2)`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Gaussian {
    /// The width; above 0.
    pub gamma: f64,
}

impl Profile for Gaussian {
    fn name(&self) -> &'static str {
        "gaussian"
    }
    fn argument(&self) -> Argument {
        Argument::SquaredDistance
    }
    fn value(&self, u: f64) -> f64 {
        (-self.gamma * u).exp()
    }
    fn slope(&self, u: f64) -> f64 {
        -self.gamma * self.value(u)
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
    fn values(&self, u: &mut [f64]) {
        u.iter_mut().for_each(|u| *u *= -self.gamma);
        super::exp_in_place(u);
    }
}
