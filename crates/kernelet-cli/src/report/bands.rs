//! Between which values does a figure lie on all rows like the test rows?
//!
//! Fractions of rows have exact intervals (Clopper-Pearson), mean squared errors those of the normal approximation. Each holds by itself, not all of a curve
//! together.
use kernelet::{
    data::{Dataset, Target},
    evaluate::binomial::{lower, upper},
    machine::Prediction,
};

/// What may lie beyond either end.
const SIDE: f64 = 0.025;

/// Standard deviations from the mean to either end.
const DEVIATIONS: f64 = 1.959_964;

/// The interval of a fraction of so many rows.
pub fn of_fraction(fraction: f64, n_rows: usize) -> [f64; 2] {
    let count = (fraction * n_rows as f64).round() as usize;
    [lower(count, n_rows, SIDE), upper(count, n_rows, SIDE)]
}

/// The interval of the error of a prediction; none where it is not that of labels or numbers.
pub fn of_error(error: f64, prediction: &Prediction, rows: &Dataset) -> Option<[f64; 2]> {
    match (prediction, &rows.target) {
        (Prediction::Classes { .. }, _) => Some(of_fraction(error, rows.len())),
        (Prediction::Values(found), Target::Values(truth)) if found.cols() == truth.cols() && found.rows() > 1 => {
            let squared = |(a, b): (&[f64], &[f64])| a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>() / a.len().max(1) as f64;
            let squares: Vec<f64> = found.iter().zip(truth.iter()).map(squared).collect();
            let n = squares.len() as f64;
            let mean = squares.iter().sum::<f64>() / n;
            let variance = squares.iter().map(|square| (square - mean).powi(2)).sum::<f64>() / (n - 1.0);
            let reach = DEVIATIONS * (variance / n).sqrt();
            Some([(mean - reach).max(0.0), mean + reach])
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use kernelet::linalg::Matrix;

    use super::*;

    #[test]
    fn bands_hold_the_value_and_shrink_with_rows() {
        // scipy.stats.binomtest(5, 100).proportion_ci(0.95, "exact").
        let [low, high] = of_fraction(0.05, 100);
        assert!((low - 0.016431879).abs() < 1e-6 && (high - 0.112834900).abs() < 1e-6, "{low} {high}");
        let width = |n| of_fraction(0.05, n)[1] - of_fraction(0.05, n)[0];
        assert!(width(10_000) < width(100) / 8.0);
        assert_eq!((of_fraction(0.0, 50)[0], of_fraction(1.0, 50)[1]), (0.0, 1.0));
    }

    #[test]
    fn squared_errors_have_the_interval_of_their_mean() {
        let n = 400;
        let truth = Matrix::from_fn(n, 1, |i, _| (i as f64).sin());
        let found = Prediction::Values(Matrix::from_fn(n, 1, |i, _| (i as f64).sin() + if i % 2 == 0 { 1.0 } else { 3.0 }));
        let rows = Dataset::new(Matrix::<f64>::zeros(n, 1), Target::Values(truth));
        let [low, high] = of_error(5.0, &found, &rows).unwrap();
        // Squares of 1 and 9: a deviation of 4, over the root of 400.
        assert!((low - (5.0 - 0.392)).abs() < 2e-3 && (high - (5.0 + 0.392)).abs() < 2e-3, "{low} {high}");
        assert_eq!(of_error(5.0, &found, &Dataset::new(Matrix::<f64>::zeros(n, 1), Target::None)), None);
    }
}
