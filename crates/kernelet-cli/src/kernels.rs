//! Flags that choose the kernel.
use clap::{
    Args,
    builder::{PossibleValue, PossibleValuesParser, TypedValueParser},
};
use kernelet::kernel::{Kernel, gamma_by_scale};

use crate::{
    failure::{Failure, Result},
    session::Session,
};

/// Degree of a polynomial kernel where none is given.
const DEGREE: u32 = 3;

/// Flags that choose the kernel.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Kernel")]
pub struct KernelFlags {
    /// The kernel; rbf and poly are accepted for gaussian and polynomial. With precomputed a row holds its kernel values with all training rows.
    #[arg(long, value_name = "NAME", default_value = "gaussian", value_parser = names())]
    pub kernel: String,
    /// Width: a number above 0, or `scale` for 1 / (features * variance) of the scaled rows [default: scale].
    #[arg(long, value_name = "G|scale", value_parser = gamma, allow_negative_numbers = true)]
    pub gamma: Option<Gamma>,
    /// Degree of the polynomial kernel [default: 3].
    #[arg(long, value_name = "D")]
    pub degree: Option<u32>,
    /// Constant of the polynomial and sigmoid kernels [default: 0].
    #[arg(long, value_name = "R", allow_negative_numbers = true)]
    pub coef0: Option<f64>,
}

/// The width of a kernel as it is asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Gamma {
    /// From the spread of the rows.
    Scale,
    /// As given.
    Given(f64),
}

impl KernelFlags {
    /// The kernel with its width still to be found where it is not given; parameters outside their range are refused.
    pub fn kernel(&self, session: &Session) -> Result<Kernel> {
        let kernel = self.of_flags()?;
        self.note_what_is_not_used(&kernel, session);
        Ok(kernel)
    }

    /// The same without a word about what is not used.
    pub fn of_flags(&self) -> Result<Kernel> {
        let gamma = self.fixed_gamma().unwrap_or(1.0);
        let kernel = Kernel::named(&self.kernel, gamma, self.degree.unwrap_or(DEGREE), self.coef0.unwrap_or(0.0));
        let kernel = kernel.ok_or_else(|| Failure::usage(format!("there is no kernel {:?}", self.kernel)))?;
        kernel.check()?;
        Ok(kernel)
    }

    /// The width, where it is given as a number.
    pub fn fixed_gamma(&self) -> Option<f64> {
        match self.gamma {
            Some(Gamma::Given(gamma)) => Some(gamma),
            Some(Gamma::Scale) | None => None,
        }
    }

    fn note_what_is_not_used(&self, kernel: &Kernel, session: &Session) {
        let polynomial = matches!(kernel, Kernel::Polynomial(_));
        let given = [
            ("--gamma", self.gamma.is_some() && kernel.gamma().is_none()),
            ("--degree", self.degree.is_some() && !polynomial),
            ("--coef0", self.coef0.is_some() && !polynomial && !matches!(kernel, Kernel::Sigmoid(_))),
        ];
        for (flag, _) in given.iter().filter(|(_, unused)| *unused) {
            session.note(format!("{flag} is not used by the {} kernel", kernel.name()));
        }
    }
}

/// The width found from the spread of the rows, already scaled.
pub fn gamma_of(points: &kernelet::data::Points) -> Result<f64> {
    gamma_by_scale(points).map_err(|error| Failure::from(error).hint("give a number with --gamma"))
}

fn names() -> impl TypedValueParser<Value = String> {
    let alias = |name: &str| match name {
        "gaussian" => Some("rbf"),
        "polynomial" => Some("poly"),
        _ => None,
    };
    let names = Kernel::examples().into_iter().map(|kernel| kernel.name()).chain(["precomputed"]);
    PossibleValuesParser::new(names.map(move |name| PossibleValue::new(name).aliases(alias(name))))
}

fn gamma(text: &str) -> std::result::Result<Gamma, String> {
    match text {
        "scale" => Ok(Gamma::Scale),
        _ => text.parse().map(Gamma::Given).map_err(|_| "gamma must be a number above 0, or scale".into()),
    }
}
