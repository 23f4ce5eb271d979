//! Two wide normal clouds that overlap: a linear problem on which a support vector machine keeps more vectors with every row.
//!
//! Class `1` has mean (1, .., 1, 0, .., 0) with ones in the first half of the features (the larger half of an odd number), class
//! `-1` the opposite mean; every feature has standard deviation 4. In 10 dimensions this is the artificial problem of
//! Weston2004, section 4.1, and the Bayes rule errs on 28.8 % of rows.
use super::{Dataset, check_dim, two_classes};
use crate::Result;

/// `n` rows of two clouds in `dim` dimensions; `dim` must be at least 1.
pub fn clouds(n: usize, dim: usize, seed: u64) -> Result<Dataset> {
    check_dim(dim)?;
    Ok(rows(n, dim, seed))
}

pub(super) fn rows(n: usize, dim: usize, seed: u64) -> Dataset {
    two_classes(n, dim, seed, |draw, x| {
        let positive = draw.chance(0.5);
        for (j, x) in x.iter_mut().enumerate() {
            let mean = if j < dim.div_ceil(2) { 1.0 } else { 0.0 };
            *x = if positive { mean } else { -mean } + 4.0 * draw.normal();
        }
        positive
    })
}

#[cfg(test)]
mod tests {
    use super::{super::tests::*, *};

    #[test]
    fn the_bayes_rule_errs_on_twenty_nine_percent() {
        let data = clouds(20_000, 10, 1).unwrap();
        assert_near(error_of(&data, |x| u32::from(x[..5].iter().sum::<f64>() > 0.0)), 0.288, 0.013);
    }

    #[test]
    fn means_and_variances_are_those_of_the_law_in_any_dimension() {
        for dim in [1, 3, 10] {
            let data = clouds(20_000, dim, 2).unwrap();
            for (class, sign) in [(0, -1.0), (1, 1.0)] {
                let (means, variances) = moments(&data, class);
                for j in 0..dim {
                    assert_near(means[j], if j < dim.div_ceil(2) { sign } else { 0.0 }, 0.17);
                    assert_near(variances[j], 16.0, 1.0);
                }
            }
        }
        assert_eq!(clouds(5, 0, 1).unwrap_err().to_string(), "dim is 0, but must be at least 1");
    }
}
