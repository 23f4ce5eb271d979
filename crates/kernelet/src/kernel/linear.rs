//! Linear kernel, k(x, z) = x.z.
use serde::{Deserialize, Serialize};

use super::{Argument, Profile};
use crate::Result;

/// Has no parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Linear {}

impl Profile for Linear {
    fn name(&self) -> &'static str {
        "linear"
    }
    fn argument(&self) -> Argument {
        Argument::DotProduct
    }
    fn value(&self, u: f64) -> f64 {
        u
    }
    fn slope(&self, _: f64) -> f64 {
        1.0
    }
    fn smooth(&self) -> bool {
        true
    }
    fn definite(&self) -> bool {
        true
    }
    fn check(&self) -> Result<()> {
        Ok(())
    }
    fn values(&self, _: &mut [f64]) {}
}
