//! Inverse multiquadric kernel, k(x, z) = (1 + gamma |x - z|^2)^exponent with an exponent below 0, -1/2 where none is given.
//!
//! Definite for every such exponent: it is a mixture of Gaussians of all widths with positive weights.
use serde::{Deserialize, Serialize};

use super::{Argument, Profile};
use crate::{Error, Result, error::require_positive};

/// Falls slowly: with the exponent -1/2 to half the value at distance sqrt(3 / gamma).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InverseMultiquadric {
    /// The width; above 0.
    pub gamma: f64,
    /// The power; below 0.
    #[serde(default = "usual", skip_serializing_if = "is_usual")]
    pub exponent: f64,
}

fn usual() -> f64 {
    InverseMultiquadric::EXPONENT
}

fn is_usual(exponent: &f64) -> bool {
    *exponent == usual()
}

impl InverseMultiquadric {
    /// The exponent that the kernel is named for.
    pub const EXPONENT: f64 = -0.5;
}

impl Profile for InverseMultiquadric {
    fn name(&self) -> &'static str {
        "inverse-multiquadric"
    }
    fn argument(&self) -> Argument {
        Argument::SquaredDistance
    }
    fn value(&self, u: f64) -> f64 {
        let base = 1.0 + self.gamma * u;
        if is_usual(&self.exponent) { base.sqrt().recip() } else { base.powf(self.exponent) }
    }
    fn slope(&self, u: f64) -> f64 {
        self.exponent * self.gamma * self.value(u) / (1.0 + self.gamma * u)
    }
    fn smooth(&self) -> bool {
        true
    }
    fn definite(&self) -> bool {
        true
    }
    fn check(&self) -> Result<()> {
        require_positive("gamma", self.gamma)?;
        match self.exponent < 0.0 && self.exponent.is_finite() {
            true => Ok(()),
            false => Err(Error::parameter("exponent", self.exponent, "a finite number below 0")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        draw::Draw,
        kernel::{Kernel, block::symmetric},
        linalg::{Eigen, Matrix},
    };

    #[test]
    fn values_are_powers_and_slopes_are_those_of_differences_for_every_exponent() {
        for exponent in [-0.1, -0.5, -1.0, -1.7, -3.0] {
            let kernel = InverseMultiquadric { gamma: 0.8, exponent };
            for u in [0.0, 0.3, 7.0, 400.0] {
                let by_powers = |u: f64| (1.0 + 0.8 * u).powf(exponent);
                assert!((kernel.value(u) - by_powers(u)).abs() < 1e-15);
                let difference = (by_powers(u + 1e-5) - by_powers(u - 1e-5)) / 2e-5;
                assert!((kernel.slope(u) - difference).abs() < 1e-9, "{exponent} {u}: {} {difference}", kernel.slope(u));
            }
        }
    }

    #[test]
    fn kernel_matrices_are_definite_for_every_exponent() {
        let mut draw = Draw::seeded(2);
        let points = Matrix::from_fn(20, 3, |_, _| draw.between(-2.0, 2.0)).into();
        for exponent in [-0.1, -1.0, -2.5] {
            let gram = symmetric(&Kernel::InverseMultiquadric(InverseMultiquadric { gamma: 1.0, exponent }), &points);
            let least = Eigen::of(&gram).unwrap().values.iter().copied().fold(f64::INFINITY, f64::min);
            assert!(least > 1e-12, "{exponent}: {least}");
        }
    }

    #[test]
    fn exponents_that_are_not_below_zero_are_rejected_and_the_usual_one_is_not_written() {
        for exponent in [0.0, 1.0, f64::NAN, f64::NEG_INFINITY] {
            let error = InverseMultiquadric { gamma: 1.0, exponent }.check().unwrap_err().to_string();
            assert_eq!(error, format!("exponent is {exponent}, but must be a finite number below 0"));
        }
        let written = |exponent: f64| serde_json::to_string(&InverseMultiquadric { gamma: 2.0, exponent }).unwrap();
        assert_eq!((written(-0.5).as_str(), written(-1.0).as_str()), (r#"{"gamma":2.0}"#, r#"{"gamma":2.0,"exponent":-1.0}"#));
        let read: InverseMultiquadric = serde_json::from_str(&written(-0.5)).unwrap();
        assert_eq!(read.exponent, -0.5);
    }
}
