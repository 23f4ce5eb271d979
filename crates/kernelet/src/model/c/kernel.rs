//! The kernel in C, and the functions of mathematics that it and the probabilities need.
use super::{numbers::number, unsupported};
use crate::{
    Result,
    kernel::{Argument, InverseMultiquadric, Kernel},
    model::Precision,
};

/// Twice the size of the largest exponent that is written as a loop.
const MOST_HALVES: u32 = 100;

/// `@kernel(x, z)` of rows of `width` numbers.
pub(super) fn kernel(kernel: &Kernel, precision: Precision, width: &str) -> String {
    let step = match kernel.profile().argument() {
        Argument::SquaredDistance => "        const @real difference = x[i] - z[i];\n        u += difference * difference;\n",
        Argument::DotProduct => "        u += x[i] * z[i];\n",
    };
    format!(
        "/* The {} kernel. */\nstatic @real @kernel(const @real *x, const @real *z)\n{{\n    @real u = 0;\n    \
         for (int i = 0; i < {width}; i++) {{\n{step}    }}\n{}}}\n",
        kernel.name(),
        value(kernel, precision),
    )
}

/// The lines that return k(u).
fn value(kernel: &Kernel, precision: Precision) -> String {
    let c = |value: f64| number(value, precision);
    let distance = |gamma: f64, rest: &str| format!("    const @real r = {} * @sqrt(u);\n    return {rest};\n", c(gamma));
    match kernel {
        Kernel::Gaussian(k) => format!("    return @exp({} * u);\n", c(-k.gamma)),
        Kernel::Exponential(k) => distance(k.gamma, "@exp(-r)"),
        Kernel::Matern32(k) => distance(k.gamma, "(1 + r) * @exp(-r)"),
        Kernel::Matern52(k) => distance(k.gamma, "(1 + r + r * r / 3) * @exp(-r)"),
        Kernel::Matern72(k) => distance(k.gamma, "(1 + r + r * r * 2 / 5 + r * r * r / 15) * @exp(-r)"),
        Kernel::InverseMultiquadric(k) if !kernel.has_other_exponent() => format!("    return 1 / @sqrt(1 + {} * u);\n", c(k.gamma)),
        Kernel::InverseMultiquadric(k) => format!(
            "    const @real base = 1 + {} * u;\n    @real power = {};\n    for (int i = 0; i < {}; i++) {{\n        power *= base;\n    }}\n    \
             return 1 / power;\n",
            c(k.gamma),
            if halves(k) % 2 == 1 { "@sqrt(base)" } else { "1" },
            halves(k) / 2
        ),
        Kernel::Polynomial(k) => format!(
            "    const @real base = {} * u + {};\n    @real power = base;\n    for (int i = 1; i < {}; i++) {{\n        power *= base;\n    }}\n    \
             return power;\n",
            c(k.gamma),
            c(k.coef0),
            k.degree
        ),
        Kernel::Sigmoid(k) => format!(
            "    const @real a = {} * u + {};\n    const @real e = @exp(a < 0 ? 2 * a : -2 * a);\n    const @real t = (1 - e) / (1 + e);\n    \
             return a < 0 ? -t : t;\n",
            c(k.gamma),
            c(k.coef0)
        ),
        Kernel::Linear(_) | Kernel::Precomputed(_) => "    return u;\n".into(),
    }
}

/// Twice the size of the exponent.
fn halves(kernel: &InverseMultiquadric) -> u32 {
    (-2.0 * kernel.exponent) as u32
}

/// An error for a kernel that needs powers which the code has not: it multiplies, and takes square roots.
pub(super) fn check(kernel: &Kernel) -> Result<()> {
    match kernel {
        Kernel::InverseMultiquadric(k) if f64::from(halves(k)) != -2.0 * k.exponent || halves(k) > MOST_HALVES => Err(unsupported(
            format!("the inverse-multiquadric kernel with the exponent {}", k.exponent),
            "exponents are multiples of a half, down to -50; or save ONNX, which has powers",
        )),
        _ => Ok(()),
    }
}

/// Whether the kernel asks for exp.
pub(super) fn needs_exp(kernel: &Kernel) -> bool {
    !matches!(kernel, Kernel::Linear(_) | Kernel::Precomputed(_) | Kernel::Polynomial(_) | Kernel::InverseMultiquadric(_))
}

/// Whether the kernel asks for a square root.
pub(super) fn needs_sqrt(kernel: &Kernel) -> bool {
    match kernel {
        Kernel::InverseMultiquadric(k) => halves(k) % 2 == 1,
        _ => matches!(kernel, Kernel::Exponential(_) | Kernel::Matern32(_) | Kernel::Matern52(_) | Kernel::Matern72(_)),
    }
}

/// `@exp(x)` for x up to 0: libm's, or by k = round(x / ln 2), the Taylor polynomial of exp(x - k ln 2), and 2^k by squaring.
pub(super) fn exp(precision: Precision) -> String {
    let (library, least, terms) = match precision {
        Precision::F32 => ("expf", -104.0, 7),
        Precision::F64 => ("exp", -746.0, 13),
    };
    let c = |value: f64| number(value, precision);
    let (high, low) = match precision {
        Precision::F32 => (0.693359375, -2.1219444005469057e-4),
        Precision::F64 => (0.6931471803691238, 1.9082149292705877e-10),
    };
    format!(
        "#ifdef $BUILTIN_EXP\n/* exp of a number that is not above 0. */\nstatic @real @exp(@real x)\n{{\n    if (!(x > {least})) {{\n        \
         return x != x ? x : 0;\n    }}\n    int k = (int)({half} - x * {log2e});\n    const @real r = (x + (@real)k * {high}) + (@real)k * {low};\n    \
         @real value = 1;\n    for (int i = {terms}; i > 0; i--) {{\n        value = 1 + value * r / (@real)i;\n    }}\n    \
         for (@real half = {half}; k > 0; k >>= 1, half *= half) {{\n        if (k & 1) {{\n            value *= half;\n        }}\n    }}\n    \
         return value;\n}}\n#else\n#include <math.h>\n#define @exp(x) {library}(x)\n#endif\n",
        least = c(least),
        half = c(0.5),
        log2e = c(std::f64::consts::LOG2_E),
        high = c(high),
        low = c(low),
    )
}

/// `@sqrt(x)`: x is brought between 1 and 4 by powers of 4, then Newton's iteration, which doubles the digits at each step.
pub(super) fn sqrt(precision: Precision) -> String {
    let c = |value: f64| number(value, precision);
    let (largest, steps) = match precision {
        Precision::F32 => (f64::from(f32::MAX), 4),
        Precision::F64 => (f64::MAX, 5),
    };
    format!(
        "/* The square root of a number that is not below 0. */\nstatic @real @sqrt(@real x)\n{{\n    @real power = 1;\n    \
         if (!(x > 0) || x > {}) {{\n        return x;\n    }}\n    while (x >= 4) {{\n        x *= {};\n        power *= 2;\n    }}\n    \
         while (x < 1) {{\n        x *= 4;\n        power *= {};\n    }}\n    @real root = (x + 2) / 3;\n    \
         for (int i = 0; i < {steps}; i++) {{\n        root = {} * (root + x / root);\n    }}\n    return root * power;\n}}\n",
        c(largest),
        c(0.25),
        c(0.5),
        c(0.5),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponents_that_are_no_multiples_of_a_half_are_rejected() {
        let with = |exponent: f64| Kernel::InverseMultiquadric(InverseMultiquadric { gamma: 1.0, exponent });
        for (exponent, root) in [(-0.5, true), (-1.0, false), (-1.5, true), (-50.0, false)] {
            assert!(check(&with(exponent)).is_ok() && needs_sqrt(&with(exponent)) == root, "{exponent}");
        }
        for exponent in [-0.3, -1.0 - 1e-12, -50.5, -1e300] {
            let error = check(&with(exponent)).unwrap_err().to_string();
            assert!(error.contains("multiples of a half"), "{error}");
        }
    }
}
