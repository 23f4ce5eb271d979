//! Breiman's ringnorm: a narrow normal inside a wide one. The best boundary is a sphere.
//!
//! 20 features; class `1` is N(0, 4 I) and class `-1` is N(a, I), where every entry of a is 2/sqrt(20). The Bayes rule errs on
//! about 1.3 % of rows. Reference: Breiman, Bias, variance, and arcing classifiers, technical report 460, University of
//! California, 1996.
use super::{Dataset, two_classes};

/// `n` rows of ringnorm.
pub fn ringnorm(n: usize, seed: u64) -> Dataset {
    let mean = 2.0 / 20f64.sqrt();
    two_classes(n, 20, seed, |draw, x| {
        let positive = draw.chance(0.5);
        x.iter_mut().for_each(|x| *x = if positive { 2.0 * draw.normal() } else { mean + draw.normal() });
        positive
    })
}

#[cfg(test)]
mod tests {
    use super::{super::tests::*, *};

    #[test]
    fn the_bayes_rule_errs_on_one_point_three_percent() {
        let data = ringnorm(20_000, 1);
        let centre = [2.0 / 20f64.sqrt(); 20];
        // Log densities without their common constant; the wide normal pays log 2 for each feature.
        let wide = |x: &[f64]| -squared_distance(x, &[0.0; 20]) / 8.0 - 20.0 * 2f64.ln();
        let narrow = |x: &[f64]| -squared_distance(x, &centre) / 2.0;
        assert_near(error_of(&data, |x| u32::from(wide(x) > narrow(x))), 0.013, 0.004);
    }

    #[test]
    fn means_and_variances_are_those_of_the_law() {
        let data = ringnorm(20_000, 2);
        for (class, mean, variance) in [(0, 2.0 / 20f64.sqrt(), 1.0), (1, 0.0, 4.0)] {
            let (means, variances) = moments(&data, class);
            means.iter().for_each(|have| assert_near(*have, mean, 0.09));
            variances.iter().for_each(|have| assert_near(*have, variance, 0.07 * variance));
        }
    }
}
