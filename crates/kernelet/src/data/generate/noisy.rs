//! A noisy nonlinear problem for benchmarks: a support vector machine keeps most of its rows.
//!
//! Features are standard normal. The label is the sign of f(x) + 1.85 N with
//! f(x) = sin(2 x_1) + x_2 x_3 + (x_4^2 - 1) / 2 + x_5 and N standard normal. Further features are distraction; with fewer
//! than five the missing ones count as zero, and a row is then positive less often. The noise turns 26.8 % of the labels. Trained on
//! 5,000 rows of 20 features with gamma 0.05 and C 1, a support vector machine keeps about 3,860 vectors and errs on about 31 %.
use super::{Dataset, check_dim, two_classes};
use crate::Result;

const NOISE: f64 = 1.85;

/// `n` rows of the noisy problem in `dim` dimensions; `dim` must be at least 1.
pub fn noisy(n: usize, dim: usize, seed: u64) -> Result<Dataset> {
    check_dim(dim)?;
    Ok(rows(n, dim, seed))
}

pub(super) fn rows(n: usize, dim: usize, seed: u64) -> Dataset {
    two_classes(n, dim, seed, |draw, x| {
        x.iter_mut().for_each(|x| *x = draw.normal());
        smooth(x) + NOISE * draw.normal() > 0.0
    })
}

fn smooth(x: &[f64]) -> f64 {
    let x = |j: usize| x.get(j - 1).copied().unwrap_or(0.0);
    (2.0 * x(1)).sin() + x(2) * x(3) + (x(4) * x(4) - 1.0) / 2.0 + x(5)
}

#[cfg(test)]
mod tests {
    use super::{super::tests::*, *};

    #[test]
    fn the_function_without_noise_errs_on_a_quarter() {
        let data = noisy(20_000, 20, 1).unwrap();
        assert_near(error_of(&data, |x| u32::from(smooth(x) > 0.0)), 0.268, 0.013);
    }

    #[test]
    fn features_are_standard_normal_in_any_dimension() {
        for dim in [1, 4, 20] {
            let data = noisy(20_000, dim, 2).unwrap();
            let dense = data.points.to_dense();
            for j in 0..dim {
                let column = dense.col(j);
                assert_near(column.iter().sum::<f64>() / 20_000.0, 0.0, 0.03);
                assert_near(column.iter().map(|v| v * v).sum::<f64>() / 20_000.0, 1.0, 0.04);
            }
        }
        assert_eq!(noisy(5, 0, 1).unwrap_err().to_string(), "dim is 0, but must be at least 1");
    }
}
