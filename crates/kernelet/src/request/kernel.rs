//! The kernel that a request asks for.
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use crate::{
    Error, Result,
    data::{Points, Summary},
    kernel::{Kernel, gamma_by_scale, gamma_by_variance},
};

/// Degree of a polynomial kernel where none is given.
const DEGREE: u32 = 3;

/// A kernel by name, with its parameters where they are given.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct KernelChoice {
    /// The name; none for gaussian.
    #[serde(rename = "kernel", skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The width; none for [`Gamma::Scale`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gamma: Option<Gamma>,
    /// Degree of the polynomial kernel; none for 3.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub degree: Option<u32>,
    /// Constant of the polynomial and sigmoid kernels; none for 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coef0: Option<f64>,
    /// Exponent of the inverse multiquadric kernel; none for -1/2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exponent: Option<f64>,
}

/// The width of a kernel as it is asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Gamma {
    /// `1 / (features * variance)` of the scaled rows.
    Scale,
    /// `1 / features`.
    Auto,
    /// Learned with the vectors, from `1 / (features * variance)` on.
    Learned,
    /// As given.
    Given(f64),
}

impl Gamma {
    /// The names that may stand for a number.
    pub const NAMES: &'static [&'static str] = &["scale", "auto", "learned"];
}

impl Serialize for Gamma {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        match self {
            Gamma::Scale => serializer.serialize_str("scale"),
            Gamma::Auto => serializer.serialize_str("auto"),
            Gamma::Learned => serializer.serialize_str("learned"),
            Gamma::Given(gamma) => serializer.serialize_f64(*gamma),
        }
    }
}

impl<'de> Deserialize<'de> for Gamma {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        let value = serde_json::Value::deserialize(deserializer)?;
        match (value.as_f64(), value.as_str()) {
            (Some(gamma), _) => Ok(Gamma::Given(gamma)),
            (_, Some("scale")) => Ok(Gamma::Scale),
            (_, Some("auto")) => Ok(Gamma::Auto),
            (_, Some("learned")) => Ok(Gamma::Learned),
            _ => Err(D::Error::custom(format!("gamma is {value}, but must be a number above 0, scale, auto or learned"))),
        }
    }
}

impl From<f64> for Gamma {
    fn from(gamma: f64) -> Self {
        Gamma::Given(gamma)
    }
}

impl KernelChoice {
    /// A kernel with all its parameters.
    pub fn of(kernel: &Kernel) -> Self {
        let (degree, coef0) = match kernel {
            Kernel::Polynomial(polynomial) => (Some(polynomial.degree), Some(polynomial.coef0)),
            Kernel::Sigmoid(sigmoid) => (None, Some(sigmoid.coef0)),
            _ => (None, None),
        };
        let exponent = match kernel {
            Kernel::InverseMultiquadric(multiquadric) => Some(multiquadric.exponent),
            _ => None,
        };
        KernelChoice { name: Some(kernel.name().into()), gamma: kernel.gamma().map(Gamma::Given), degree, coef0, exponent }
    }

    /// The kernel, with width 1 where that depends on the rows. Parameters that are out of range are errors.
    pub(super) fn kernel(&self) -> Result<Kernel> {
        let name = self.name.as_deref().unwrap_or("gaussian");
        let kernel = Kernel::named(name, self.fixed_gamma().unwrap_or(1.0), self.degree.unwrap_or(DEGREE), self.coef0.unwrap_or(0.0));
        let kernel = kernel.ok_or_else(|| Error::parameter("kernel", name, format!("one of {}", names().join(", "))))?;
        let kernel = self.exponent.map_or(kernel.clone(), |exponent| kernel.with_exponent(exponent));
        kernel.check()?;
        Ok(kernel)
    }

    /// Parameters that the kernel does not have are accepted, as by LIBSVM and scikit-learn, and reported.
    pub(super) fn notes(&self) -> Vec<String> {
        let Ok(kernel) = self.kernel() else { return vec![] };
        let polynomial = matches!(kernel, Kernel::Polynomial(_));
        let unused = [
            ("gamma", self.gamma.is_some() && kernel.gamma().is_none()),
            ("degree", self.degree.is_some() && !polynomial),
            ("exponent", self.exponent.is_some() && !matches!(kernel, Kernel::InverseMultiquadric(_))),
            ("coef0", self.coef0.is_some() && !polynomial && !matches!(kernel, Kernel::Sigmoid(_))),
        ];
        let unused = unused.into_iter().filter(|(_, unused)| *unused);
        unused.map(|(setting, _)| format!("`{setting}` is not used by the {} kernel", kernel.name())).collect()
    }

    /// The width, where it is given as a number.
    pub(super) fn fixed_gamma(&self) -> Option<f64> {
        match self.gamma {
            Some(Gamma::Given(gamma)) => Some(gamma),
            _ => None,
        }
    }

    /// The kernel with its width for these rows, already scaled.
    pub fn for_rows(&self, points: &Points) -> Result<Kernel> {
        self.with_width(points.dim(), || gamma_by_scale(points))
    }

    /// The same for rows of which a summary is known.
    pub fn for_summary(&self, summary: &Summary) -> Result<Kernel> {
        self.with_width(summary.means.len(), || gamma_by_variance(summary.means.len(), summary.variance()))
    }

    fn with_width(&self, dim: usize, by_scale: impl FnOnce() -> Result<f64>) -> Result<Kernel> {
        let kernel = self.kernel()?;
        if kernel.gamma().is_none() {
            return Ok(kernel);
        }
        match self.gamma {
            Some(Gamma::Given(_)) => Ok(kernel),
            Some(Gamma::Auto) => Ok(kernel.with_gamma(1.0 / dim.max(1) as f64)),
            Some(Gamma::Scale | Gamma::Learned) | None => Ok(kernel.with_gamma(by_scale()?)),
        }
    }
}

/// The names of all kernels.
pub(super) fn names() -> Vec<&'static str> {
    Kernel::NAMES.iter().copied().chain(["precomputed", "rbf", "poly"]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exponent_is_part_of_the_inverse_multiquadric_kernel_alone() {
        let asked =
            |name: &str| KernelChoice { name: Some(name.into()), gamma: Some(0.5.into()), exponent: Some(-1.0), ..KernelChoice::default() };
        let kernel = asked("inverse-multiquadric").kernel().unwrap();
        assert_eq!((kernel.eval(&[1.0], &[3.0]), asked("inverse-multiquadric").notes()), (1.0 / 3.0, vec![]));
        assert_eq!(KernelChoice::of(&kernel), asked("inverse-multiquadric"));
        assert_eq!(asked("gaussian").notes(), ["`exponent` is not used by the gaussian kernel"]);
        assert!(KernelChoice { exponent: Some(0.5), ..asked("inverse-multiquadric") }.kernel().is_err());
    }
}
