//! Rows of independent standard normal features: nothing to learn, and no direction that describes them better than another. This is the
//! problem of Franc2003, section 5.1, in 100 dimensions. The labels are drawn by a coin.
use super::{Dataset, check_dim, two_classes};
use crate::Result;

/// `n` rows in `dim` dimensions; `dim` must be at least 1.
pub fn gaussian(n: usize, dim: usize, seed: u64) -> Result<Dataset> {
    check_dim(dim)?;
    Ok(rows(n, dim, seed))
}

pub(super) fn rows(n: usize, dim: usize, seed: u64) -> Dataset {
    two_classes(n, dim, seed, |draw, x| {
        x.iter_mut().for_each(|x| *x = draw.normal());
        draw.chance(0.5)
    })
}

#[cfg(test)]
mod tests {
    use super::{super::tests::*, *};

    #[test]
    fn means_and_variances_are_those_of_the_distribution_and_do_not_depend_on_the_class() {
        let data = gaussian(20_000, 3, 2).unwrap();
        for class in [0, 1] {
            let (means, variances) = moments(&data, class);
            for j in 0..3 {
                assert_near(means[j], 0.0, 0.04);
                assert_near(variances[j], 1.0, 0.06);
            }
        }
        assert_near(error_of(&data, |_| 1), 0.5, 0.015);
        assert_eq!(gaussian(5, 0, 1).unwrap_err().to_string(), "dim is 0, but must be at least 1");
    }
}
