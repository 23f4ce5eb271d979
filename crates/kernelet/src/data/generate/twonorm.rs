//! Breiman's twonorm: two normals of the same width. The best machine is linear.
//!
//! 20 features; class `1` is N(a, I) and class `-1` is N(-a, I), where every entry of a is 2/sqrt(20). The means lie 4 apart, and
//! the Bayes rule, the sign of the sum of the features, errs on 2.28 % of rows. Reference: Breiman, Bias, variance, and arcing
//! classifiers, technical report 460, University of California, 1996.
use super::{Dataset, two_classes};

/// `n` rows of twonorm.
pub fn twonorm(n: usize, seed: u64) -> Dataset {
    let mean = 2.0 / 20f64.sqrt();
    two_classes(n, 20, seed, |draw, x| {
        let positive = draw.chance(0.5);
        x.iter_mut().for_each(|x| *x = if positive { mean } else { -mean } + draw.normal());
        positive
    })
}

#[cfg(test)]
mod tests {
    use super::{super::tests::*, *};

    #[test]
    fn the_bayes_rule_errs_on_two_point_three_percent() {
        let data = twonorm(20_000, 1);
        assert_near(error_of(&data, |x| u32::from(x.iter().sum::<f64>() > 0.0)), 0.0228, 0.004);
    }

    #[test]
    fn means_and_variances_are_those_of_the_law() {
        let data = twonorm(20_000, 2);
        for (class, sign) in [(0, -1.0), (1, 1.0)] {
            let (means, variances) = moments(&data, class);
            means.iter().for_each(|mean| assert_near(*mean, sign * 2.0 / 20f64.sqrt(), 0.05));
            variances.iter().for_each(|variance| assert_near(*variance, 1.0, 0.07));
        }
    }
}
