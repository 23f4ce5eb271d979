//! Precomputed kernel: a row already holds the kernel values with all training rows.
use serde::{Deserialize, Serialize};

use super::{Argument, Profile};
use crate::Result;

/// A vector is then the unit row of its training row's place, so that x.z picks the value out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Precomputed {}

impl Profile for Precomputed {
    fn name(&self) -> &'static str {
        "precomputed"
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
