//! Breiman's waveforms: each row is a random mixture of two of three triangular waves, with noise.
//!
//! 21 features. The waves are h_1(i) = max(6 - |i - 11|, 0), h_2(i) = h_1(i - 4) and h_3(i) = h_1(i + 4) for i = 1..21. A row of
//! class 1, 2 or 3 is u h_a + (1 - u) h_b plus standard normal noise, with u uniform in [0, 1) and (a, b) = (1, 2), (1, 3) or (2, 3).
//! The Bayes rule errs on 13.0 % of rows (8.2 % in two classes); the figure usually quoted is 14 %. Reference: Breiman, Friedman,
//! Olshen, Stone, Classification and regression trees, 1984.
use super::{Dataset, classes, two_classes};
use crate::draw::Draw;

/// The two waves, by their peaks, of each class.
const PEAKS: [(usize, usize); 3] = [(11, 15), (11, 7), (15, 7)];

/// `n` rows in two classes: Breiman's class 2 has the label `1`, the other two have `-1`. One row in three is positive.
pub fn waveform(n: usize, seed: u64) -> Dataset {
    two_classes(n, 21, seed, |draw, x| fill(draw, x) == 1)
}

/// `n` rows in Breiman's three classes, `1`, `2` and `3`.
pub fn waveform3(n: usize, seed: u64) -> Dataset {
    classes(n, 21, &["1", "2", "3"], seed, |draw, x| fill(draw, x) as u32)
}

/// Draws one row and returns its class, from 0.
fn fill(draw: &mut Draw, x: &mut [f64]) -> usize {
    let class = draw.below(3);
    let share = draw.uniform();
    let (first, second) = PEAKS[class];
    for (i, x) in x.iter_mut().enumerate() {
        *x = share * wave(first, i + 1) + (1.0 - share) * wave(second, i + 1) + draw.normal();
    }
    class
}

fn wave(peak: usize, i: usize) -> f64 {
    6usize.saturating_sub(i.abs_diff(peak)) as f64
}

#[cfg(test)]
mod tests {
    use super::{super::tests::*, *};

    /// The density of a class at x up to a constant, with the share integrated in 40 steps.
    fn density(class: usize, x: &[f64]) -> f64 {
        let (first, second) = PEAKS[class];
        let at = |share: f64| {
            let centre: Vec<f64> = (1..=21).map(|i| share * wave(first, i) + (1.0 - share) * wave(second, i)).collect();
            (-squared_distance(x, &centre) / 2.0).exp()
        };
        (0..40).map(|step| at((f64::from(step) + 0.5) / 40.0)).sum()
    }

    #[test]
    fn the_bayes_rule_errs_on_thirteen_percent_of_three_classes() {
        let data = waveform3(4000, 1);
        let rule = |x: &[f64]| (0..3).max_by(|&a, &b| density(a, x).total_cmp(&density(b, x))).unwrap() as u32;
        assert_near(error_of(&data, rule), 0.13, 0.02);
    }

    #[test]
    fn the_bayes_rule_errs_on_eight_percent_of_two_classes() {
        let data = waveform(4000, 1);
        let error = error_of(&data, |x| u32::from(density(1, x) > density(0, x) + density(2, x)));
        assert_near(error, 0.082, 0.017);
    }

    #[test]
    fn class_means_are_half_the_sum_of_their_waves() {
        let data = waveform3(20_000, 2);
        for (class, (first, second)) in PEAKS.into_iter().enumerate() {
            let (means, _) = moments(&data, class as u32);
            (0..21).for_each(|i| assert_near(means[i], (wave(first, i + 1) + wave(second, i + 1)) / 2.0, 0.1));
        }
        assert_eq!(waveform(50, 9).points, waveform3(50, 9).points);
    }
}
