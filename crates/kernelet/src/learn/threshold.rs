//! Where to cut a line of numbers so that two classes come apart.
//!
//! A row is positive when its number lies above the threshold. Cost: n log n, but for the rule `svm`, which trains on n rows of one feature.
use super::{Learner, Svc};
use crate::{
    Error, Named, Result,
    data::{Classes, Dataset, Label, Target},
    error::require_cost,
    kernel::{Kernel, Linear},
    linalg::{Matrix, dot},
    watch::Watch,
};

/// How a threshold is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub enum Threshold {
    /// In the middle between the means of the classes.
    Midpoint,
    /// As many standard deviations from one mean as from the other.
    EqualMahalanobis,
    /// Fewest errors, counted by weight; of several, the one nearest to the middle between the means.
    #[default]
    LeastError,
    /// Where a support vector machine with this cost C cuts the line; it sees the numbers as its one feature.
    Svm {
        /// The cost of a margin error; above 0.
        c: f64,
    },
}

/// A number for each row, its class, and how much it counts.
#[derive(Clone, Copy, Debug)]
pub struct Line<'a> {
    /// The numbers.
    pub values: &'a [f64],
    /// Whether a row is of the positive class.
    pub positive: &'a [bool],
    /// How much a row counts; not negative, and something in each class.
    pub weights: &'a [f64],
}

impl Named for Threshold {
    const NAMES: &'static [(&'static str, Self)] = &[
        ("midpoint", Threshold::Midpoint),
        ("equal-mahalanobis", Threshold::EqualMahalanobis),
        ("least-error", Threshold::LeastError),
        ("svm", Threshold::Svm { c: 1.0 }),
    ];

    /// Without what a variant holds.
    fn name(self) -> &'static str {
        let same = |(_, choice): &&(&str, Self)| std::mem::discriminant(choice) == std::mem::discriminant(&self);
        Self::NAMES.iter().find(same).map_or("", |(name, _)| name)
    }
}

impl Threshold {
    /// An error when a parameter is outside its range.
    pub fn check(&self) -> Result<()> {
        match self {
            Threshold::Svm { c } => require_cost(*c),
            _ => Ok(()),
        }
    }

    /// The threshold for these numbers. Both classes must have rows that count.
    pub fn find(&self, line: Line) -> Result<f64> {
        self.check()?;
        let (below, above) = (line.class(false)?, line.class(true)?);
        match self {
            Threshold::Midpoint => Ok(0.5 * (below.mean + above.mean)),
            Threshold::EqualMahalanobis => Ok(equal_mahalanobis(below, above)),
            Threshold::LeastError => Ok(least_error(line, 0.5 * (below.mean + above.mean))),
            Threshold::Svm { c } => svm(line, *c, 0.5 * (below.mean + above.mean)),
        }
    }
}

/// Mean, standard deviation and weight of one class on a line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The weighted mean.
    pub mean: f64,
    /// The weighted standard deviation about it.
    pub deviation: f64,
    /// The sum of the weights.
    pub weight: f64,
}

impl Line<'_> {
    /// How the numbers of one class lie.
    pub fn class(&self, positive: bool) -> Result<Spread> {
        let weights: Vec<f64> = self.weights.iter().zip(self.positive).map(|(w, p)| if *p == positive { *w } else { 0.0 }).collect();
        let weight: f64 = weights.iter().sum();
        if !(weight > 0.0 && weight.is_finite()) || self.values.iter().any(|value| !value.is_finite()) {
            return Err(Error::data("a threshold needs finite numbers and rows that count in both classes"));
        }
        let mean = dot(&weights, self.values) / weight;
        let variance = weights.iter().zip(self.values).map(|(w, v)| w * (v - mean) * (v - mean)).sum::<f64>() / weight;
        Ok(Spread { mean, deviation: variance.sqrt(), weight })
    }
}

/// A class without variance keeps a small margin, so that rounding does not cut it off.
fn equal_mahalanobis(below: Spread, above: Spread) -> f64 {
    let least = 1e-6 * (above.mean - below.mean).abs();
    let (left, right) = (below.deviation.max(least), above.deviation.max(least));
    match left + right > 0.0 {
        true => below.mean + (above.mean - below.mean) * (left / (left + right)),
        false => below.mean,
    }
}

/// Cuts lie between neighbours, and beyond both ends by the mean distance of neighbours.
fn least_error(line: Line, middle: f64) -> f64 {
    let mut order: Vec<usize> = (0..line.values.len()).filter(|&i| line.weights[i] > 0.0).collect();
    order.sort_by(|&a, &b| line.values[a].total_cmp(&line.values[b]));
    let value = |place: usize| line.values[order[place]];
    let last = order.len() - 1;
    let margin = match value(last) - value(0) {
        0.0 => 1.0,
        length => length / order.len() as f64,
    };
    // Below all rows every negative row is wrong.
    let mut errors: f64 = order.iter().filter(|&&i| !line.positive[i]).map(|&i| line.weights[i]).sum();
    let (mut best, mut fewest) = (value(0) - margin, errors);
    for place in 0..=last {
        let row = order[place];
        errors += if line.positive[row] { line.weights[row] } else { -line.weights[row] };
        let cut = match place == last {
            true => value(last) + margin,
            false if value(place) == value(place + 1) => continue,
            false => value(place) + 0.5 * (value(place + 1) - value(place)),
        };
        // Sums of the same weights in another order differ in the last digits.
        let slack = 1e-12 * fewest.abs().max(errors.abs());
        if errors < fewest - slack || (errors <= fewest + slack && (cut - middle).abs() < (best - middle).abs()) {
            (best, fewest) = (cut, errors);
        }
    }
    best
}

/// The machine is `u f + b`, cut at -b / u; where it finds no slope upwards the middle between the means stays.
fn svm(line: Line, c: f64, middle: f64) -> Result<f64> {
    let codes = line.positive.iter().map(|&positive| u32::from(positive)).collect();
    let target = Target::Classes(Classes { labels: vec![Label::new("-1"), Label::new("1")], codes });
    let data = Dataset { weights: Some(line.weights.to_vec()), ..Dataset::new(Matrix::column(line.values.to_vec()), target) };
    let machine = Svc { kernel: Kernel::Linear(Linear {}), c, ..Svc::default() }.learn(&data, &Watch::none())?.machine;
    let slope = dot(&machine.expansion.coefficients.to_dense().col(0), &machine.expansion.vectors.to_dense().col(0));
    let cut = -machine.offsets.first().copied().unwrap_or(0.0) / slope;
    Ok(if slope > 0.0 && cut.is_finite() { cut } else { middle })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn errors(line: Line, cut: f64) -> f64 {
        (0..line.values.len()).filter(|&i| (line.values[i] > cut) != line.positive[i]).map(|i| line.weights[i]).sum()
    }

    #[test]
    fn midpoint_and_equal_mahalanobis_follow_their_definitions() {
        let values = [0.0, 2.0, 7.0, 13.0];
        let line = Line { values: &values, positive: &[false, false, true, true], weights: &[1.0; 4] };
        assert_eq!(Threshold::Midpoint.find(line).unwrap(), 5.5);
        // Means 1 and 10, deviations 1 and 3.
        let cut = Threshold::EqualMahalanobis.find(line).unwrap();
        assert!(((cut - 1.0) / 1.0 - (10.0 - cut) / 3.0).abs() < 1e-14);
        let points = Line { values: &[1.0, 2.0], positive: &[false, true], weights: &[1.0; 2] };
        assert_eq!(Threshold::EqualMahalanobis.find(points).unwrap(), 1.5);
        let one_varies = Line { values: &[1.0, 1.0, 2.0, 4.0], positive: &[false, false, true, true], weights: &[1.0; 4] };
        let cut = Threshold::EqualMahalanobis.find(one_varies).unwrap();
        assert!(cut > 1.0 && cut < 1.001, "{cut}");
    }

    #[test]
    fn least_error_is_the_best_of_all_cuts() {
        for seed in 0..40u64 {
            let values: Vec<f64> =
                (0..25).map(|i| ((i * i + 3) as f64 * (seed + 1) as f64).sin().mul_add(4.0, 0.0).round() / 2.0).collect();
            let positive: Vec<bool> = (0..25).map(|i| values[i] + ((i * 7) as f64).cos() > 0.4).collect();
            let weights: Vec<f64> = (0..25).map(|i| (i % 3) as f64 + 0.25).collect();
            let line = Line { values: &values, positive: &positive, weights: &weights };
            let cut = Threshold::LeastError.find(line).unwrap();
            let all = values.iter().flat_map(|v| [v - 0.25, v + 0.25]).map(|cut| errors(line, cut)).fold(f64::INFINITY, f64::min);
            assert!((errors(line, cut) - all).abs() < 1e-12, "{} {all}", errors(line, cut));
        }
    }

    #[test]
    fn a_machine_cuts_separable_numbers_in_the_middle_of_the_gap() {
        let values = [-3.0, -1.0, 1.0, 5.0];
        let line = Line { values: &values, positive: &[false, false, true, true], weights: &[1.0; 4] };
        assert!(Threshold::Svm { c: 100.0 }.find(line).unwrap().abs() < 1e-3);
        let turned = Line { positive: &[true, true, false, false], ..line };
        assert!(Threshold::Svm { c: 1.0 }.find(turned).unwrap().is_finite());
        assert!(Threshold::Svm { c: 0.0 }.find(line).is_err());
    }

    #[test]
    fn what_cannot_be_cut_is_rejected_and_equal_numbers_are_not() {
        let one = Line { values: &[1.0, 2.0], positive: &[true, true], weights: &[1.0; 2] };
        let nan = Line { values: &[f64::NAN, 2.0], positive: &[true, false], weights: &[1.0; 2] };
        let equal = Line { values: &[2.0; 3], positive: &[true, false, true], weights: &[1.0; 3] };
        for rule in Threshold::all() {
            assert_eq!(Threshold::named(rule.name()), Some(rule));
            assert!(rule.find(one).is_err() && rule.find(nan).is_err());
            assert!(rule.find(equal).unwrap().is_finite(), "{}", rule.name());
        }
        // The positive rows weigh more: the cut lies below all.
        assert!(Threshold::LeastError.find(equal).unwrap() < 2.0);
    }
}
