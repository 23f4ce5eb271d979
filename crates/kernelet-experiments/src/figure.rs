//! A mean over splits beside what a paper printed, and whether the two differ by more than chance.
//!
//! With n splits here, N in the paper, o of them the same ones, s the standard deviation over splits (of means over seeds), v_i the one over the r seeds of
//! split i:
//!
//! ```text
//! variance of the difference   s^2 (1/n + 1/N - 2 o / (n N)) + (1 + 1/r) sum_i v_i^2 / n^2
//! ```
//!
//! The first part vanishes where the paper has the same splits: what is left is what its own random draws may have done. Where N is not known it is taken as
//! n. Without a second seed a method that draws is compared as if the splits were others. Two values differ where they are more than two standard
//! deviations and the rounding of what was printed apart.
use serde::Serialize;

/// A difference counts from so many standard deviations on.
const FAR: f64 = 2.0;

/// A mean over splits beside a printed value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Figure {
    /// The mean.
    pub mean: f64,
    /// The standard error of the mean; for a single split the binomial one of the test rows, where the number is a fraction of them.
    pub standard_error: Option<f64>,
    /// The smallest and the largest mean of a seed, where there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spread: Option<(f64, f64)>,
    /// What the paper printed.
    pub printed: Option<f64>,
    /// The standard deviation of the difference from the printed value; none where the two are not compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uncertainty: Option<f64>,
    /// By how much the two may differ: twice that, and the rounding of what was printed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed: Option<f64>,
    /// True where they differ by more.
    pub differs: bool,
}

/// What a figure is compared with.
#[derive(Clone, Copy, Debug, Default)]
pub struct Beside {
    /// What the paper printed.
    pub printed: Option<f64>,
    /// By how much that may be off by its rounding; none where a difference says nothing.
    pub rounding: Option<f64>,
    /// Splits of the paper; none where they are not known.
    pub splits: Option<usize>,
    /// How many of the splits here are among them.
    pub own: usize,
    /// True where the number depends on the seed.
    pub random: bool,
    /// True of a number that other splits cannot have, as the set has one, and that is no fraction of rows.
    pub only_split: bool,
}

/// The numbers of one set and method: a line for each split, with those of its seeds.
#[derive(Clone, Debug, Default)]
pub struct Sample(pub Vec<Vec<f64>>);

impl Sample {
    fn means(&self) -> Vec<f64> {
        self.0.iter().map(|seeds| mean(seeds)).collect()
    }

    fn seeds(&self) -> usize {
        self.0.iter().map(Vec::len).min().unwrap_or(0)
    }

    /// The part of the variance of a mean over splits that is due to the draws of one seed.
    fn within(&self) -> f64 {
        let count = self.0.len() as f64;
        let of = |seeds: &Vec<f64>| variance(seeds).unwrap_or(0.0);
        self.0.iter().map(of).sum::<f64>() / (count * count)
    }

    /// `1/n + 1/N - 2 o / (n N)`.
    fn factor(&self, beside: &Beside) -> f64 {
        let here = self.0.len() as f64;
        let alone = beside.random && self.seeds() < 2;
        match beside.splits.filter(|_| !alone) {
            None => 2.0 / here,
            Some(theirs) => {
                let (theirs, own) = (theirs as f64, beside.own.min(self.0.len()) as f64);
                (1.0 / here + 1.0 / theirs - 2.0 * own.min(theirs) / (here * theirs)).max(0.0)
            }
        }
    }

    /// The mean; `rows` of a single split give it the standard error of a fraction, where it is one in percent.
    pub fn mean(&self, beside: &Beside, rows: Option<usize>) -> Figure {
        let (means, count) = (self.means(), self.0.len() as f64);
        let mean = mean(&means);
        let of_splits = match (means.len(), rows) {
            (1, Some(rows)) => Some(binomial(mean, rows)),
            _ => variance(&means),
        };
        let seeds = self.seeds() as f64;
        // Vectors on the one split that there is have the spread of their draws alone, and none where nothing is drawn.
        let known = of_splits.or((beside.only_split && (!beside.random || self.seeds() > 1)).then_some(0.0));
        let of_difference = known.map(|variance| (variance * self.factor(beside) + (1.0 + 1.0 / seeds.max(1.0)) * self.within()).sqrt());
        let spread = (self.seeds() > 1).then(|| self.spread());
        Figure {
            standard_error: of_splits.map(|variance| (variance / count).sqrt()),
            spread,
            ..Figure::beside(mean, of_difference, beside)
        }
    }

    /// The standard deviation over splits. Its own is that of a mean over sqrt(2).
    pub fn deviation(&self, beside: &Beside) -> Figure {
        let Some(variance) = variance(&self.means()) else { return Figure { mean: f64::NAN, ..Figure::default() } };
        Figure::beside(variance.sqrt(), Some((variance * self.factor(beside) / 2.0).sqrt()), beside)
    }

    /// The smallest and the largest mean of a seed.
    fn spread(&self) -> (f64, f64) {
        let of = |turn: usize| mean(&self.0.iter().filter_map(|seeds| seeds.get(turn).copied()).collect::<Vec<_>>());
        (0..self.seeds()).map(of).fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), one| (least.min(one), most.max(one)))
    }
}

impl Figure {
    /// The mean of means over sets beside a printed value; their variances add up.
    pub fn over_sets(figures: &[Figure], beside: &Beside) -> Self {
        let count = figures.len() as f64;
        let root = |of: fn(&Figure) -> Option<f64>| {
            let squares: Option<f64> = figures.iter().map(|figure| of(figure).map(|one| one * one)).sum();
            squares.map(|squares| squares.sqrt() / count)
        };
        let mean = mean(&figures.iter().map(|figure| figure.mean).collect::<Vec<_>>());
        Figure { standard_error: root(|figure| figure.standard_error), ..Figure::beside(mean, root(|figure| figure.uncertainty), beside) }
    }

    fn beside(mean: f64, uncertainty: Option<f64>, beside: &Beside) -> Self {
        let allowed = beside.printed.and(uncertainty).zip(beside.rounding).map(|(uncertainty, rounding)| FAR * uncertainty + rounding);
        let far = |(printed, allowed): (f64, f64)| (mean - printed).abs() > allowed * (1.0 + 1e-9);
        let differs = beside.printed.zip(allowed).is_some_and(far);
        Figure { mean, standard_error: None, spread: None, printed: beside.printed, uncertainty, allowed, differs }
    }

    /// How far it is from the printed value, in what is allowed.
    pub fn deviates(&self) -> Option<f64> {
        let (printed, allowed) = self.printed.zip(self.allowed)?;
        Some((self.mean - printed).abs() / allowed)
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The variance of one of these values; none of a single one.
fn variance(values: &[f64]) -> Option<f64> {
    let middle = mean(values);
    (values.len() > 1).then(|| values.iter().map(|value| (value - middle) * (value - middle)).sum::<f64>() / (values.len() as f64 - 1.0))
}

/// The variance of a number in percent of so many rows. That none of a few rows is wrong does not mean that none ever is.
fn binomial(percent: f64, rows: usize) -> f64 {
    let rows = rows.max(1) as f64;
    let part = (percent / 100.0).clamp(1.0 / (rows + 2.0), 1.0 - 1.0 / (rows + 2.0));
    1e4 * part * (1.0 - part) / rows
}

#[cfg(test)]
mod tests {
    use super::*;

    fn splits(values: &[f64]) -> Sample {
        Sample(values.iter().map(|value| vec![*value]).collect())
    }

    fn printed(printed: f64) -> Beside {
        Beside { printed: Some(printed), rounding: Some(0.05), ..Beside::default() }
    }

    #[test]
    fn the_standard_error_is_that_of_the_mean() {
        // Deviations -1, 0, 1: variance 1, standard error 1 / sqrt(3).
        let found = splits(&[1.0, 2.0, 3.0]).mean(&Beside::default(), None);
        assert_eq!((found.mean, found.printed, found.differs, found.spread), (2.0, None, false, None));
        assert!((found.standard_error.unwrap() - 3f64.sqrt().recip()).abs() < 1e-15);
        assert_eq!(splits(&[1.0, 2.0, 3.0]).deviation(&printed(9.0)).mean, 1.0);
        assert!(splits(&[1.0]).deviation(&printed(9.0)).mean.is_nan());
    }

    #[test]
    fn other_splits_may_differ_by_two_root_two_standard_errors_and_rounding() {
        let limit = 2.0 * 2f64.sqrt() / 3f64.sqrt() + 0.05;
        for (value, differs) in [(2.0 + limit - 0.01, false), (2.0 + limit + 0.01, true), (2.0 - limit - 0.01, true)] {
            assert_eq!(splits(&[1.0, 2.0, 3.0]).mean(&printed(value), None).differs, differs, "{value}");
            assert!(!splits(&[1.0, 2.0, 3.0]).mean(&Beside { rounding: None, ..printed(value) }, None).differs);
        }
        assert!(!splits(&[1.66, 1.66]).mean(&printed(1.7), None).differs);
        let single = splits(&[2.0]).mean(&printed(50.0), None);
        assert_eq!((single.standard_error, single.differs), (None, false));
        let only = splits(&[2.0]).mean(&Beside { only_split: true, ..printed(2.5) }, None);
        assert_eq!((only.allowed, only.differs), (Some(0.05), true));
        // What is drawn has the spread of its draws, here the square root of 2 (1 + 1/2), and none that is known of one draw.
        let drawn = |seeds: &[f64]| Sample(vec![seeds.to_vec()]).mean(&Beside { only_split: true, random: true, ..printed(5.0) }, None);
        assert!((drawn(&[1.0, 3.0]).allowed.unwrap() - 0.05 - 2.0 * 3f64.sqrt()).abs() < 1e-12);
        assert_eq!(drawn(&[2.0]).allowed, None);
        // 20 percent of 400 rows: the standard error is 2 percent.
        let part = splits(&[20.0]).mean(&printed(25.8), Some(400));
        assert!((part.standard_error.unwrap() - 2.0).abs() < 1e-12 && part.differs);
        assert!(splits(&[0.0]).mean(&Beside::default(), Some(1)).standard_error.unwrap() > 40.0);
    }

    #[test]
    fn the_papers_own_splits_leave_rounding_and_the_draws_of_seeds() {
        let own = |value: f64, random: bool| Beside { splits: Some(3), own: 3, random, ..printed(value) };
        let plain = splits(&[1.0, 2.0, 3.0]);
        assert!(plain.mean(&own(2.06, false), None).differs && !plain.mean(&own(2.04, false), None).differs);
        // One seed says nothing about the draws, so that it is compared as on other splits.
        assert!(!plain.mean(&own(3.0, true), None).differs);
        // Over seeds every split has variance 2; the mean over 3 splits 6 / 9, the difference of two such means from two seeds and one 1.5 times that.
        let seeds = Sample(vec![vec![0.0, 2.0], vec![1.0, 3.0], vec![2.0, 4.0]]);
        let found = seeds.mean(&own(2.0, true), None);
        assert!((found.uncertainty.unwrap() - 1.0).abs() < 1e-12, "{found:?}");
        assert_eq!((found.mean, found.spread), (2.0, Some((1.0, 3.0))));
        // Ten of a hundred: 1/10 - 1/100.
        let tenth = Beside { splits: Some(100), own: 10, ..printed(0.0) };
        let ten = splits(&[0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0]);
        let want = (10.0 * 0.25 / 9.0 * 0.09f64).sqrt();
        assert!((ten.mean(&tenth, None).uncertainty.unwrap() - want).abs() < 1e-12);
    }

    #[test]
    fn an_average_counts_sets_equally() {
        let figure = |mean, error| Figure { mean, standard_error: error, uncertainty: error, ..Figure::default() };
        let average = Figure::over_sets(&[figure(1.0, Some(3.0)), figure(5.0, Some(4.0))], &printed(13.0));
        assert_eq!((average.mean, average.standard_error, average.uncertainty, average.differs), (3.0, Some(2.5), Some(2.5), true));
        assert_eq!(Figure::over_sets(&[figure(1.0, None), figure(5.0, Some(1.0))], &printed(1.0)).standard_error, None);
    }
}
