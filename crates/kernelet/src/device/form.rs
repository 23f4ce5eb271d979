//! A kernel as the device computes it: a function of `u = c |x|^2 + c |z|^2 + g x.z`.
use crate::{
    Error, Result,
    kernel::{Argument, Kernel},
};

/// Which function, with which numbers; the kinds are those of `cuda/predict.cu`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Form {
    pub kind: i32,
    /// Factor of the squares of rows; 1 for the polynomial, which needs their size alone.
    pub row_square: f32,
    /// Factor of the squares of vectors.
    pub vector_square: f32,
    /// Factor of products.
    pub product: f32,
    pub p0: f32,
    pub p1: f32,
    /// Whether u is a distance, which rows and vectors may be shifted for.
    pub centred: bool,
}

pub(super) const GAUSSIAN: i32 = 0;
pub(super) const POLYNOMIAL: i32 = 5;

impl Form {
    /// The form of a kernel, or a sentence why there is none.
    pub fn of(kernel: &Kernel) -> Result<Self> {
        let centred = kernel.profile().argument() == Argument::SquaredDistance;
        let distance = |kind, factor: f64, p0: f64| Form {
            kind,
            row_square: factor as f32,
            vector_square: factor as f32,
            product: -2.0 * factor as f32,
            p0: p0 as f32,
            p1: 0.0,
            centred,
        };
        let product = |kind, gamma: f64, row_square, p0, coef0: f64| Form {
            kind,
            row_square,
            vector_square: 0.0,
            product: gamma as f32,
            p0,
            p1: coef0 as f32,
            centred,
        };
        let form = match kernel {
            Kernel::Gaussian(k) => distance(GAUSSIAN, -k.gamma * std::f64::consts::LOG2_E, 0.0),
            Kernel::Exponential(k) => distance(1, k.gamma * k.gamma, 0.0),
            Kernel::Matern32(k) => distance(2, k.gamma * k.gamma, 0.0),
            Kernel::Matern52(k) => distance(3, k.gamma * k.gamma, 0.0),
            Kernel::InverseMultiquadric(k) => distance(4, k.gamma, k.exponent),
            Kernel::Polynomial(k) => product(POLYNOMIAL, k.gamma, 1.0, k.degree as f32, k.coef0),
            Kernel::Sigmoid(k) => product(6, k.gamma, 0.0, 0.0, k.coef0),
            Kernel::Linear(_) | Kernel::Precomputed(_) => {
                let with = format!("the {} kernel", kernel.name());
                return Err(Error::Unsupported {
                    method: "prediction on a GPU",
                    with,
                    instead: "use the device cpu, which needs one product for each output".into(),
                });
            }
            Kernel::Matern72(_) => {
                return Err(Error::Unsupported {
                    method: "prediction on a GPU",
                    with: format!("the {} kernel", kernel.name()),
                    instead: "use the device cpu, or the kernel matern52".into(),
                });
            }
        };
        let numbers = [form.row_square, form.vector_square, form.product, form.p0, form.p1];
        match numbers.iter().all(|v| v.is_finite()) && form.product != 0.0 {
            true => Ok(form),
            false => Err(Error::Unsupported {
                method: "prediction on a GPU",
                with: format!("this {} kernel", kernel.name()),
                instead: "its numbers are beyond single precision; use the device cpu".into(),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_without_a_form_are_rejected_with_what_to_use_instead() {
        for name in ["matern72", "linear"] {
            let error = Form::of(&Kernel::named(name, 0.5, 3, 0.0).unwrap()).unwrap_err().to_string();
            assert!(error.contains(name) && error.contains("use the device cpu"), "{error}");
        }
    }
}
