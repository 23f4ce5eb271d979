//! What is k(x, z), its slope, and a block of them fast?
//!
//! A kernel is a function of one scalar u of the pair: u = |x - z|^2 or u = x.z. That scalar comes from one matrix product for a
//! whole block ([`block`](mod@block)), and value and slope of the [`Profile`] are all that any method needs of a kernel.
pub mod block;
pub(crate) mod exp;
mod exponential;
pub(crate) mod few_columns;
pub(crate) mod fused;
pub(crate) mod fused_rows;
mod fused_walk;
mod gaussian;
mod in_registers;
mod inverse_multiquadric;
mod linear;
mod matern32;
mod matern52;
mod matern72;
mod polynomial;
mod precomputed;
mod sigmoid;
pub(crate) mod simd;
mod width;

pub use exp::{exp_in_place, exp_in_place_f32};
pub use exponential::Exponential;
pub use gaussian::Gaussian;
pub use inverse_multiquadric::InverseMultiquadric;
pub use linear::Linear;
pub use matern32::Matern32;
pub use matern52::Matern52;
pub use matern72::Matern72;
pub use polynomial::Polynomial;
pub use precomputed::Precomputed;
pub use sigmoid::Sigmoid;
pub use width::{gamma_by_scale, gamma_by_variance};

use serde::{Deserialize, Serialize};

use crate::{Error, Result, data::Points};

/// The scalar of a pair (x, z) that a kernel is a function of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Argument {
    /// u = |x - z|^2.
    SquaredDistance,
    /// u = x.z.
    DotProduct,
}

/// A kernel written as a function of one scalar: k(x, z) = value(u).
pub trait Profile: Send + Sync {
    /// The name on the command line, in Python and in model files.
    fn name(&self) -> &'static str;
    /// The scalar the kernel is a function of.
    fn argument(&self) -> Argument;
    /// k at u.
    fn value(&self, u: f64) -> f64;
    /// dk/du, the k' of [Schoelkopf1998 (10)].
    fn slope(&self, u: f64) -> f64;
    /// False where the kernel is not differentiable at zero distance, so that gradients with respect to a vector do not exist everywhere.
    fn smooth(&self) -> bool;
    /// True when every kernel matrix is positive semidefinite.
    fn definite(&self) -> bool;
    /// An error when a parameter is outside its range.
    fn check(&self) -> Result<()>;
    /// Replaces every u by k(u).
    fn values(&self, u: &mut [f64]) {
        u.iter_mut().for_each(|u| *u = self.value(*u));
    }
}

/// The kernels. Each variant is a file of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Kernel {
    /// exp(-gamma |x - z|^2)
    Gaussian(Gaussian),
    /// exp(-gamma |x - z|)
    Exponential(Exponential),
    /// Matern, smoothness 3/2
    Matern32(Matern32),
    /// Matern, smoothness 5/2
    Matern52(Matern52),
    /// Matern, smoothness 7/2
    Matern72(Matern72),
    /// (gamma x.z + coef0)^degree
    Polynomial(Polynomial),
    /// x.z
    Linear(Linear),
    /// tanh(gamma x.z + coef0)
    Sigmoid(Sigmoid),
    /// (1 + gamma |x - z|^2)^exponent, the exponent below 0 and usually -1/2
    InverseMultiquadric(InverseMultiquadric),
    /// Rows are kernel values already
    Precomputed(Precomputed),
}

impl Kernel {
    /// The Gaussian kernel.
    pub fn gaussian(gamma: f64) -> Self {
        Kernel::Gaussian(Gaussian { gamma })
    }

    /// The kernel with this name, or None. `rbf` and `poly` are accepted for `gaussian` and `polynomial`.
    pub fn named(name: &str, gamma: f64, degree: u32, coef0: f64) -> Option<Self> {
        Some(match name {
            "gaussian" | "rbf" => Kernel::gaussian(gamma),
            "exponential" => Kernel::Exponential(Exponential { gamma }),
            "matern32" => Kernel::Matern32(Matern32 { gamma }),
            "matern52" => Kernel::Matern52(Matern52 { gamma }),
            "matern72" => Kernel::Matern72(Matern72 { gamma }),
            "polynomial" | "poly" => Kernel::Polynomial(Polynomial { gamma, degree, coef0 }),
            "linear" => Kernel::Linear(Linear {}),
            "sigmoid" => Kernel::Sigmoid(Sigmoid { gamma, coef0 }),
            "inverse-multiquadric" => Kernel::InverseMultiquadric(InverseMultiquadric { gamma, exponent: InverseMultiquadric::EXPONENT }),
            "precomputed" => Kernel::Precomputed(Precomputed {}),
            _ => return None,
        })
    }

    /// The same kernel with another exponent; unchanged where it has none.
    pub fn with_exponent(mut self, exponent: f64) -> Self {
        if let Kernel::InverseMultiquadric(k) = &mut self {
            k.exponent = exponent;
        }
        self
    }

    /// True for an inverse multiquadric kernel whose exponent is not the usual one, which older files do not have.
    pub(crate) fn has_other_exponent(&self) -> bool {
        matches!(self, Kernel::InverseMultiquadric(k) if k.exponent != InverseMultiquadric::EXPONENT)
    }

    /// The names of the kernels that are functions of two vectors.
    pub const NAMES: &'static [&'static str] =
        &["gaussian", "exponential", "matern32", "matern52", "matern72", "polynomial", "linear", "sigmoid", "inverse-multiquadric"];

    /// Kernels of each kind that is a function of two vectors, for tests and benchmarks that go through all of them.
    pub fn examples() -> Vec<Kernel> {
        let other = Kernel::InverseMultiquadric(InverseMultiquadric { gamma: 0.5, exponent: -1.0 });
        Kernel::NAMES.iter().filter_map(|name| Kernel::named(name, 0.5, 3, 1.0)).chain([other]).collect()
    }

    /// The kernel as a function of one scalar.
    pub fn profile(&self) -> &dyn Profile {
        match self {
            Kernel::Gaussian(k) => k,
            Kernel::Exponential(k) => k,
            Kernel::Matern32(k) => k,
            Kernel::Matern52(k) => k,
            Kernel::Matern72(k) => k,
            Kernel::Polynomial(k) => k,
            Kernel::Linear(k) => k,
            Kernel::Sigmoid(k) => k,
            Kernel::InverseMultiquadric(k) => k,
            Kernel::Precomputed(k) => k,
        }
    }

    /// The name on the command line, in Python and in model files.
    pub fn name(&self) -> &'static str {
        self.profile().name()
    }

    /// An error that names the first row too large to compute with: kernel values of products must fit into single precision, in which solvers
    /// keep them, and squared lengths must be finite; else every result would be NaN or infinite.
    pub fn check_rows(&self, points: &Points) -> Result<()> {
        let mut lengths = points.squared_norms();
        let (what, most) = match self.profile().argument() {
            _ if matches!(self, Kernel::Precomputed(_)) => return Ok(()),
            Argument::SquaredDistance => ("the squared length |x|^2", 1e300),
            Argument::DotProduct => {
                self.profile().values(&mut lengths);
                ("the kernel value k(x, x)", f64::from(f32::MAX))
            }
        };
        // NaN is not in the range either.
        match lengths.iter().position(|value| !(-most..=most).contains(value)) {
            None => Ok(()),
            Some(row) => Err(Error::data(format!(
                "{what} of row {} is {:.1e} with the {} kernel, too large to compute with; scale the rows, or choose a smaller `gamma` or `degree`",
                row + 1,
                lengths[row],
                self.name()
            ))),
        }
    }

    /// An error when a parameter is outside its range.
    pub fn check(&self) -> Result<()> {
        self.profile().check()
    }

    /// The width parameter, where the kernel has one.
    pub fn gamma(&self) -> Option<f64> {
        match self {
            Kernel::Gaussian(k) => Some(k.gamma),
            Kernel::Exponential(k) => Some(k.gamma),
            Kernel::Matern32(k) => Some(k.gamma),
            Kernel::Matern52(k) => Some(k.gamma),
            Kernel::Matern72(k) => Some(k.gamma),
            Kernel::Polynomial(k) => Some(k.gamma),
            Kernel::Sigmoid(k) => Some(k.gamma),
            Kernel::InverseMultiquadric(k) => Some(k.gamma),
            Kernel::Linear(_) | Kernel::Precomputed(_) => None,
        }
    }

    /// The same kernel with another width; unchanged where it has none.
    pub fn with_gamma(mut self, gamma: f64) -> Self {
        match &mut self {
            Kernel::Gaussian(k) => k.gamma = gamma,
            Kernel::Exponential(k) => k.gamma = gamma,
            Kernel::Matern32(k) => k.gamma = gamma,
            Kernel::Matern52(k) => k.gamma = gamma,
            Kernel::Matern72(k) => k.gamma = gamma,
            Kernel::Polynomial(k) => k.gamma = gamma,
            Kernel::Sigmoid(k) => k.gamma = gamma,
            Kernel::InverseMultiquadric(k) => k.gamma = gamma,
            Kernel::Linear(_) | Kernel::Precomputed(_) => {}
        }
        self
    }

    /// k(x, z) by the definition: the slow, obvious version.
    pub fn eval(&self, x: &[f64], z: &[f64]) -> f64 {
        let profile = self.profile();
        profile.value(match profile.argument() {
            Argument::SquaredDistance => x.iter().zip(z).map(|(a, b)| (a - b) * (a - b)).sum(),
            Argument::DotProduct => x.iter().zip(z).map(|(a, b)| a * b).sum(),
        })
    }

    /// Adds `scale` times the gradient of k(x, z) with respect to z to `out`.
    pub fn add_gradient(&self, x: &[f64], z: &[f64], scale: f64, out: &mut [f64]) {
        let profile = self.profile();
        match profile.argument() {
            Argument::SquaredDistance => {
                let u = x.iter().zip(z).map(|(a, b)| (a - b) * (a - b)).sum();
                let factor = 2.0 * scale * profile.slope(u);
                for ((out, z), x) in out.iter_mut().zip(z).zip(x) {
                    *out += factor * (z - x);
                }
            }
            Argument::DotProduct => {
                let factor = scale * profile.slope(x.iter().zip(z).map(|(a, b)| a * b).sum());
                out.iter_mut().zip(x).for_each(|(out, x)| *out += factor * x);
            }
        }
    }
}

/// Checks that the machine has the instruction set that the environment variable `KERNELET_SIMD` names: avx512, avx2 or portable. Without it the widest
/// is used.
pub fn check_instruction_set() -> Result<()> {
    simd::Isa::forced().map(drop)
}

/// The name of the instruction set that is used, as in the environment variable `KERNELET_SIMD`.
pub fn instruction_set() -> &'static str {
    simd::Isa::detect().name()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gradients_agree_with_differences() {
        for kernel in Kernel::examples() {
            let (x, z) = ([0.3, -0.2, 0.9], [0.1, 0.4, -0.5]);
            let mut gradient = [0.0; 3];
            kernel.add_gradient(&x, &z, 1.0, &mut gradient);
            for j in 0..3 {
                let (mut up, mut down) = (z, z);
                up[j] += 1e-6;
                down[j] -= 1e-6;
                let slope = (kernel.eval(&x, &up) - kernel.eval(&x, &down)) / 2e-6;
                assert!((gradient[j] - slope).abs() < 1e-8, "{}: {} {slope}", kernel.name(), gradient[j]);
            }
        }
    }

    #[test]
    fn kernels_that_are_not_differentiable_have_slope_zero_there_and_radial_kernels_are_one_at_zero() {
        for kernel in Kernel::examples() {
            let profile = kernel.profile();
            if profile.argument() == Argument::SquaredDistance {
                assert_eq!(profile.value(0.0), 1.0, "{}", kernel.name());
            }
            assert!(profile.slope(0.0).is_finite());
            if !profile.smooth() {
                assert_eq!(profile.slope(0.0), 0.0, "{}", kernel.name());
            }
        }
    }

    #[test]
    fn names_round_trip_and_slices_agree_with_single_values() {
        for kernel in Kernel::examples() {
            assert_eq!(Kernel::named(kernel.name(), 0.5, 3, 1.0), Some(kernel.clone().with_exponent(InverseMultiquadric::EXPONENT)));
            let json = serde_json::to_string(&kernel).unwrap();
            assert_eq!(serde_json::from_str::<Kernel>(&json).unwrap(), kernel, "{json}");
            let mut u: Vec<f64> = (0..37).map(|i| f64::from(i) * 0.3).collect();
            let want: Vec<f64> = u.iter().map(|&u| kernel.profile().value(u)).collect();
            kernel.profile().values(&mut u);
            for (have, want) in u.iter().zip(want) {
                assert!((have - want).abs() <= 1e-15 * (1.0 + want.abs()), "{}: {have} {want}", kernel.name());
            }
        }
    }

    #[test]
    fn another_width_changes_nothing_else() {
        for kernel in Kernel::examples() {
            let other = kernel.clone().with_gamma(2.0);
            assert_eq!(other.gamma(), kernel.gamma().map(|_| 2.0));
            assert_eq!(other.with_gamma(0.5), kernel);
        }
    }

    #[test]
    fn parameters_outside_their_range_are_rejected_with_an_error() {
        for name in ["gaussian", "exponential", "matern32", "matern52", "matern72", "polynomial", "sigmoid", "inverse-multiquadric"] {
            for gamma in [-1.0, 0.0, f64::NAN, f64::INFINITY] {
                let error = Kernel::named(name, gamma, 3, 0.0).unwrap().check().unwrap_err();
                assert_eq!(error.to_string(), format!("gamma is {gamma}, but must be a finite number above 0"));
            }
        }
        assert!(Kernel::named("polynomial", 1.0, 0, 0.0).unwrap().check().is_err());
        assert!(Kernel::named("polynomial", 1.0, 2, f64::NAN).unwrap().check().is_err());
    }
}
