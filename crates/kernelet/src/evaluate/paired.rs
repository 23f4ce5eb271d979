//! How much worse is one machine than another on new rows? Bounds from rows that both predict.
//!
//! | metric | bound of its rise |
//! |---|---|
//! | error | upper bound of the rate of rows that only the new machine gets wrong, less the lower bound of those that only the old one gets wrong, each at half the level: exact |
//! | balanced error | the same for each class, the level shared by the classes, and the mean over them: exact |
//! | mean squared error | quantile of the mean of differences over bootstrap samples: approximate, for few rows or heavy tails too narrow |
use super::binomial;
use crate::draw::Draw;

/// Bootstrap samples of a mean.
const SAMPLES: usize = 2_000;

/// A value on rows with one-sided bounds of what it is on all rows; each is wrong with a probability of at most the level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// What was seen.
    pub value: f64,
    /// What it is at least.
    pub lower: f64,
    /// What it is at most.
    pub upper: f64,
}

/// Rows of one group, such as a class: how many, and of them those that only one of two machines gets wrong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Rows of the group.
    pub n_rows: usize,
    /// Those that only the new machine gets wrong.
    pub newly_wrong: usize,
    /// Those that only the old machine gets wrong.
    pub newly_right: usize,
}

impl Counts {
    /// Counts one row.
    pub fn add(&mut self, wrong_before: bool, wrong_after: bool) {
        self.n_rows += 1;
        self.newly_wrong += usize::from(wrong_after && !wrong_before);
        self.newly_right += usize::from(wrong_before && !wrong_after);
    }
}

/// The rise of the error, averaged over groups that have rows: one group for the error, one for each class for the balanced error.
pub fn rise_of_error(groups: &[Counts], level: f64) -> Estimate {
    let present: Vec<&Counts> = groups.iter().filter(|group| group.n_rows > 0).collect();
    let count = present.len().max(1) as f64;
    let each = 0.5 * level / count;
    let mean = |of: &dyn Fn(&Counts) -> f64| present.iter().map(|group| of(group)).sum::<f64>() / count;
    if present.is_empty() {
        return Estimate { value: 0.0, lower: -1.0, upper: 1.0 };
    }
    Estimate {
        value: mean(&|group| (group.newly_wrong as f64 - group.newly_right as f64) / group.n_rows as f64),
        lower: mean(&|group| {
            binomial::lower(group.newly_wrong, group.n_rows, each) - binomial::upper(group.newly_right, group.n_rows, each)
        }),
        upper: mean(&|group| {
            binomial::upper(group.newly_wrong, group.n_rows, each) - binomial::lower(group.newly_right, group.n_rows, each)
        }),
    }
}

/// The fraction of rows that two machines predict differently.
pub fn disagreement(different: usize, n_rows: usize, level: f64) -> Estimate {
    let value = different as f64 / n_rows.max(1) as f64;
    Estimate { value, lower: binomial::lower(different, n_rows, level), upper: binomial::upper(different, n_rows, level) }
}

/// The mean of paired differences, such as those of squared errors, by the bootstrap. Approximate.
pub fn rise_of_mean(differences: &[f64], level: f64, seed: u64) -> Estimate {
    let n = differences.len();
    let value = differences.iter().sum::<f64>() / n.max(1) as f64;
    if n < 2 {
        return Estimate { value, lower: f64::NEG_INFINITY, upper: f64::INFINITY };
    }
    let mut draw = Draw::seeded(seed);
    let mut means: Vec<f64> = (0..SAMPLES).map(|_| (0..n).map(|_| differences[draw.below(n)]).sum::<f64>() / n as f64).collect();
    means.sort_by(f64::total_cmp);
    let last = SAMPLES - 1;
    let tail = ((level * SAMPLES as f64).floor() as usize).min(last);
    Estimate { value, lower: means[tail], upper: means[last - tail] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rise_is_bounded_by_its_two_rates() {
        let counts = Counts { n_rows: 2500, newly_wrong: 25, newly_right: 25 };
        let rise = rise_of_error(&[counts], 0.05);
        assert_eq!(rise.value, 0.0);
        assert!((rise.upper - (1.472679723854e-02 - 6.481632944812e-03)).abs() < 1e-10 && rise.lower == -rise.upper);
        let none = rise_of_error(&[Counts::default()], 0.05);
        assert_eq!((none.lower, none.upper), (-1.0, 1.0));
        let mut one = Counts::default();
        [(true, true), (true, false), (false, true), (false, false), (false, true)].into_iter().for_each(|(b, a)| one.add(b, a));
        assert_eq!(one, Counts { n_rows: 5, newly_wrong: 2, newly_right: 1 });
    }

    #[test]
    fn a_mean_over_classes_counts_each_class_alike() {
        let (rare, common) = (Counts { n_rows: 10, newly_wrong: 5, newly_right: 0 }, Counts { n_rows: 1000, ..Counts::default() });
        let rise = rise_of_error(&[rare, common, Counts::default()], 0.05);
        assert_eq!(rise.value, 0.25);
        assert!(rise.upper > rise_of_error(&[common], 0.05).upper && rise.lower < 0.25);
    }

    /// Draws of rows with known rates: the bound is below the truth in no more draws than the level allows.
    #[test]
    fn the_bounds_hold_in_repeated_draws() {
        let (wrong, right, level) = (0.03, 0.02, 0.1);
        let (mut misses, mut mean_misses) = (0, 0);
        let draws = 300;
        for seed in 0..draws {
            let mut draw = Draw::seeded(seed);
            let (mut counts, mut differences) = (Counts::default(), vec![]);
            for _ in 0..400 {
                let place = draw.uniform();
                counts.add(place >= wrong && place < wrong + right, place < wrong);
                differences.push(draw.normal() + 0.5);
            }
            misses += usize::from(rise_of_error(&[counts], level).upper < wrong - right);
            mean_misses += usize::from(rise_of_mean(&differences, level, 1).upper < 0.5);
        }
        let allowed = (level + 3.0 * (level * (1.0 - level) / draws as f64).sqrt()) * draws as f64;
        assert!(misses as f64 <= allowed && mean_misses as f64 <= allowed, "{misses} {mean_misses} of {draws}");
        assert!(mean_misses > 5, "a bound that is never wrong is too wide: {mean_misses}");
    }

    #[test]
    fn few_rows_say_nothing() {
        assert_eq!(rise_of_mean(&[1.0], 0.05, 0).upper, f64::INFINITY);
        assert_eq!(disagreement(0, 0, 0.05).upper, 1.0);
        assert_eq!(disagreement(3, 200, 0.025).value, 0.015);
    }
}
