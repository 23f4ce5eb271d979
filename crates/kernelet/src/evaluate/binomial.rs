//! Exact statements about a rate from counted rows.
//!
//! Of n rows drawn independently, k have a property whose rate p is unknown. The bounds are those of Clopper and Pearson: the upper one is the largest p for
//! which k or fewer are not rarer than the level, so that it is below the true rate with a probability of at most the level, whatever the rate is.
//! Cost: about a hundred continued fractions of a few times sqrt(n) steps for a bound.
use super::incomplete_beta;

/// Halvings of an interval: after these no double lies between its ends.
const HALVINGS: usize = 120;

/// The probability of at most `k` hits in `n` rows at rate `p`.
pub fn at_most(k: usize, n: usize, p: f64) -> f64 {
    if k >= n || p <= 0.0 {
        return 1.0;
    }
    incomplete_beta((n - k) as f64, (k + 1) as f64, 1.0 - p, p)
}

/// The upper bound of a rate of which `k` hits were seen in `n` rows; too low with a probability of at most `level`.
pub fn upper(k: usize, n: usize, level: f64) -> f64 {
    if k >= n {
        return 1.0;
    }
    // Rates for which so few hits are no rarer than the level end at the bound.
    boundary(k as f64 / n as f64, 1.0, |p| at_most(k, n, p) > level)
}

/// The lower bound of a rate; too high with a probability of at most `level`.
pub fn lower(k: usize, n: usize, level: f64) -> f64 {
    if k == 0 || n == 0 { 0.0 } else { 1.0 - upper(n.saturating_sub(k), n, level) }
}

/// True when a rate above `bound` would give so few hits with a probability of at most `level` alone.
pub fn is_below(k: usize, n: usize, bound: f64, level: f64) -> bool {
    n > 0 && at_most(k, n, bound) <= level
}

/// The rows without a single hit that it takes to be sure of a rate of at most `bound`.
pub fn rows_needed(bound: f64, level: f64) -> usize {
    if bound <= 0.0 || level <= 0.0 {
        return usize::MAX;
    }
    let rows = (level.ln() / (-bound.min(1.0 - f64::EPSILON)).ln_1p()).ceil();
    (rows.max(1.0)) as usize
}

/// Fixed-sequence testing: tests in an order that was fixed before the rows were seen, each at the full level. The first failure ends it, and the last
/// that passed is taken. The probability to take one whose claim is wrong is at most the level, however many there are.
pub fn last_passed<T, E>(tests: impl IntoIterator<Item = T>, mut pass: impl FnMut(&T) -> Result<bool, E>) -> Result<Option<T>, E> {
    let mut taken = None;
    for test in tests {
        if !pass(&test)? {
            break;
        }
        taken = Some(test);
    }
    Ok(taken)
}

/// The place in an interval where a statement that is true at its beginning becomes false, from above.
fn boundary(low: f64, high: f64, holds: impl Fn(f64) -> bool) -> f64 {
    let (mut low, mut high) = (low, high);
    for _ in 0..HALVINGS {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            break;
        }
        if holds(middle) { low = middle } else { high = middle }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_those_of_scipy() {
        // from scipy.stats import beta
        // lower = beta.ppf(d, k, n - k + 1), upper = beta.ppf(1 - d, k + 1, n - k)
        let cases = [
            (0, 2995, 0.05, 0.0, 9.997444209011e-04),
            (0, 10, 0.1, 0.0, 2.056717652757e-01),
            (3, 200, 0.025, 3.104107621554e-03, 4.320828191771e-02),
            (25, 2500, 0.025, 6.481632944812e-03, 1.472679723854e-02),
            (500, 1000, 0.05, 4.735177312357e-01, 5.264822687643e-01),
            (9, 10, 0.05, 6.058366975635e-01, 9.948838031082e-01),
            (10, 10, 0.05, 7.411344491069e-01, 1.0),
            (7, 100_000, 1e-6, 4.998327801862e-06, 2.915896369976e-04),
        ];
        for (k, n, level, low, high) in cases {
            let (have_low, have_high) = (lower(k, n, level), upper(k, n, level));
            assert!((have_low - low).abs() <= 1e-10 * low.max(1e-6), "{k} {n} {level}: {have_low:e} {low:e}");
            assert!((have_high - high).abs() <= 1e-10 * high, "{k} {n} {level}: {have_high:e} {high:e}");
        }
    }

    #[test]
    fn probabilities_are_those_of_scipy_and_of_the_definition() {
        // from scipy.stats import binom; binom.cdf(k, n, p)
        let cases = [
            (0, 2995, 0.001, 4.996170339736e-02),
            (4, 10, 0.3, 8.497316674000e-01),
            (30, 5000, 0.005, 8.638781131107e-01),
            (0, 10, 1e-9, 9.999999900000e-01),
            (999, 1000, 0.9, 1.0),
        ];
        for (k, n, p, want) in cases {
            assert!((at_most(k, n, p) - want).abs() < 1e-10, "{k} {n} {p}");
        }
        let (n, p) = (12, 0.2f64);
        let mut sum = 0.0;
        let mut choose = 1.0;
        for k in 0..=n {
            sum += choose * p.powi(k) * (1.0 - p).powi(n - k);
            assert!((at_most(k as usize, n as usize, p) - sum).abs() < 1e-12);
            choose *= f64::from(n - k) / f64::from(k + 1);
        }
    }

    #[test]
    fn so_many_rows_are_needed_and_one_less_does_not_do() {
        assert_eq!(rows_needed(0.001, 0.05), 2995);
        assert_eq!((rows_needed(0.0, 0.05), rows_needed(1.0, 0.05)), (usize::MAX, 1));
        for (bound, level) in [(0.001, 0.05), (0.01, 0.05), (0.05, 0.1), (0.3, 0.001)] {
            let n = rows_needed(bound, level);
            assert!(is_below(0, n, bound, level) && !is_below(0, n - 1, bound, level), "{bound} {level} {n}");
            assert!((upper(0, n, level) <= bound) && (upper(0, n - 1, level) > bound));
        }
        assert!(!is_below(0, 0, 0.5, 0.05));
    }

    #[test]
    fn a_bound_holds_as_often_as_it_says() {
        // Exact, not drawn: the probability of all counts whose bound lies below the true rate.
        for (n, p, level) in [(50, 0.03, 0.05), (200, 0.2, 0.1), (1000, 0.002, 0.05)] {
            let misses = (0..=n).filter(|&k| upper(k, n, level) < p).max();
            let chance = misses.map_or(0.0, |k| at_most(k, n, p));
            assert!(chance <= level, "{n} {p}: {chance}");
        }
    }

    #[test]
    fn the_first_failure_ends_the_sequence() {
        let mut seen = vec![];
        let taken = last_passed([9, 7, 5, 3], |test| {
            seen.push(*test);
            Ok::<bool, ()>(*test != 5)
        });
        assert_eq!((taken, seen), (Ok(Some(7)), vec![9, 7, 5]));
        assert_eq!(last_passed([1], |_| Ok::<bool, ()>(false)), Ok(None));
        assert_eq!(last_passed([1], |_| Err("no")), Err("no"));
    }
}
