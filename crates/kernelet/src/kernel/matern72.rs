//! Matern kernel of smoothness 7/2, k(x, z) = (1 + r + 2 r^2/5 + r^3/15) exp(-r) with r = gamma |x - z|.
//!
//! The smoothest of the family: functions three times differentiable, between [`Matern52`](super::Matern52) and the Gaussian kernel.
use serde::{Deserialize, Serialize};

use super::{Argument, Profile};
use crate::{Result, error::require_positive};

/// A length scale l in the convention r = sqrt(7) |x - z| / l is `gamma = sqrt(7) / l`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Matern72 {
    /// The width; above 0.
    pub gamma: f64,
}

impl Profile for Matern72 {
    fn name(&self) -> &'static str {
        "matern72"
    }
    fn argument(&self) -> Argument {
        Argument::SquaredDistance
    }
    fn value(&self, u: f64) -> f64 {
        let r = self.gamma * u.sqrt();
        (1.0 + r * (1.0 + r * (0.4 + r / 15.0))) * (-r).exp()
    }
    /// d/du (1 + r + 2 r^2/5 + r^3/15) exp(-r) = -(gamma^2 / 10) (1 + r + r^2/3) exp(-r).
    fn slope(&self, u: f64) -> f64 {
        let r = self.gamma * u.sqrt();
        -self.gamma * self.gamma / 10.0 * (1.0 + r + r * r / 3.0) * (-r).exp()
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        draw::Draw,
        kernel::{Kernel, Matern52, block::symmetric},
        linalg::{Eigen, Matrix},
    };

    #[test]
    fn slopes_are_those_of_differences_at_every_distance() {
        let kernel = Matern72 { gamma: 0.8 };
        for u in [1e-3, 0.3, 7.0, 400.0] {
            let difference = (kernel.value(u + 1e-6) - kernel.value(u - 1e-6)) / 2e-6;
            assert!((kernel.slope(u) - difference).abs() < 1e-9, "{u}: {} {difference}", kernel.slope(u));
        }
        assert!(kernel.value(0.0) == 1.0 && (kernel.slope(0.0) + 0.064).abs() < 1e-15);
    }

    /// A Matern kernel is the integral of the next smoother one: k_7/2'(u) = -(gamma^2 / 10) k_5/2(u).
    #[test]
    fn the_slope_is_the_kernel_one_order_below() {
        let (kernel, below) = (Matern72 { gamma: 1.3 }, Matern52 { gamma: 1.3 });
        for u in [0.0, 0.5, 9.0] {
            assert!((kernel.slope(u) + 0.169 * below.value(u)).abs() < 1e-15, "{u}");
        }
    }

    #[test]
    fn kernel_matrices_are_definite() {
        let mut draw = Draw::seeded(2);
        let points = Matrix::from_fn(20, 3, |_, _| draw.between(-2.0, 2.0)).into();
        let gram = symmetric(&Kernel::Matern72(Matern72 { gamma: 1.0 }), &points);
        let least = Eigen::of(&gram).unwrap().values.iter().copied().fold(f64::INFINITY, f64::min);
        assert!(least > 1e-12, "{least}");
    }
}
