//! Probabilities of several classes by a softmax with one temperature for all outputs.
//!
//! `P(c | f)` is proportional to `exp(t s_c)` with `s_c = sum_k side_k(c) f_k`: of one output a class the order of the classes stays that of the
//! outputs, whatever t. The slope t, the inverse of the temperature, has the greatest likelihood on rows that the machine was not trained on (Guo,
//! Pleiss, Sun and Weinberger, On calibration of modern neural networks, ICML 2017). A fraction 1 / (n + 2) of each row counts for all classes alike,
//! as in Platt's targets, so that separable rows have a finite answer. The loss is convex in t and its slope is found to be zero by bisection. Cost:
//! n classes a step.
//!
//! As part of a machine it is a normal distribution of the outputs in each class, with the means `side(c)` and one precision `t I`.
use crate::{
    linalg::Matrix,
    machine::{Decision, NormalClasses},
};

/// Halvings of the range of log t.
const STEPS: usize = 80;
/// t times the spread of the scores is searched between 1 over this and this.
const WIDEST: f64 = 1e6;

/// The score of each class for each row, before the slope.
fn scores_of(means: &[Vec<f64>], outputs: &Matrix) -> Matrix {
    let score = |i: usize, c: usize| outputs.row(i).iter().zip(&means[c]).map(|(f, side)| f * side).sum();
    Matrix::from_fn(outputs.rows(), means.len(), score)
}

/// The probabilities for outputs of a machine with this rule. `targets` has for each row the probability of each class: 1 for its label, or what
/// another machine says; `weights` how much it counts.
pub fn fit_softmax(decision: &Decision, outputs: &Matrix, targets: &Matrix, weights: &[f64]) -> NormalClasses {
    let classes = decision.labels().len();
    let side = |k: usize, c: usize| decision.side(k, c).unwrap_or(0.0);
    let means: Vec<Vec<f64>> = (0..classes).map(|c| (0..outputs.cols()).map(|k| side(k, c)).collect()).collect();
    let slope = best_slope(&scores_of(&means, outputs), targets, weights);
    let q = outputs.cols();
    let precision = Matrix::from_fn(q, q, |i, j| if i == j { slope } else { 0.0 });
    NormalClasses { constants: vec![0.0; classes], means, precisions: vec![precision.into_values()] }
}

fn best_slope(scores: &Matrix, targets: &Matrix, weights: &[f64]) -> f64 {
    let total: f64 = weights.iter().sum();
    let even = 1.0 / (total + 2.0);
    let spread = scores.iter().map(|row| row.iter().map(|s| s.abs()).fold(0.0, f64::max)).sum::<f64>() / scores.rows().max(1) as f64;
    if !(spread.is_finite() && spread > 0.0 && total > 0.0) {
        return 1.0;
    }
    // The slope of the loss: the mean score under the softmax less the mean score under the targets.
    let gradient = |t: f64| -> f64 {
        let one = |i: usize| {
            let (row, goal) = (scores.row(i), targets.row(i));
            let most = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let parts = row.iter().map(|s| (t * (s - most)).exp());
            let (sum, weighted) = parts.zip(row).fold((0.0, 0.0), |(sum, weighted), (part, s)| (sum + part, weighted + part * s));
            let share: f64 = goal.iter().sum::<f64>().max(f64::MIN_POSITIVE);
            let wanted = row.iter().zip(goal).map(|(s, q)| ((1.0 - even) * q / share + even / row.len() as f64) * s).sum::<f64>();
            weights[i] * (weighted / sum - wanted)
        };
        (0..scores.rows()).map(one).sum()
    };
    let (mut low, mut high) = ((1.0 / WIDEST / spread).ln(), (WIDEST / spread).ln());
    for _ in 0..STEPS {
        let middle = 0.5 * (low + high);
        if gradient(middle.exp()) < 0.0 { low = middle } else { high = middle }
    }
    (0.5 * (low + high)).exp()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Label;

    fn largest(classes: usize) -> Decision {
        Decision::Largest { labels: (0..classes).map(|c| Label::new(c.to_string())).collect() }
    }

    /// Outputs of three classes, and classes that follow a softmax of slope 2 of them.
    fn rows(n: usize) -> (Matrix, Matrix) {
        let mut state = 7u64;
        let mut uniform = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        let outputs = Matrix::from_fn(n, 3, |_, _| 2.0 * uniform() - 1.0);
        let mut targets = Matrix::zeros(n, 3);
        for i in 0..n {
            let parts: Vec<f64> = outputs.row(i).iter().map(|f| (2.0 * f).exp()).collect();
            let mut left = uniform() * parts.iter().sum::<f64>();
            let class = parts
                .iter()
                .position(|part| {
                    left -= part;
                    left < 0.0
                })
                .unwrap_or(2);
            targets.row_mut(i)[class] = 1.0;
        }
        (outputs, targets)
    }

    fn loss(normal: &NormalClasses, outputs: &Matrix, targets: &Matrix) -> f64 {
        let one = |i: usize| -> f64 { normal.probabilities(outputs.row(i)).iter().zip(targets.row(i)).map(|(p, q)| -q * p.ln()).sum() };
        (0..outputs.rows()).map(one).sum::<f64>() / outputs.rows() as f64
    }

    #[test]
    fn the_slope_that_made_the_rows_comes_back_and_no_other_is_better() {
        let (outputs, targets) = rows(4000);
        let normal = fit_softmax(&largest(3), &outputs, &targets, &[1.0; 4000]);
        // Sides are +1 and -1, so that scores are twice the outputs and the same for all classes.
        assert!((2.0 * normal.precisions[0][0] - 2.0).abs() < 0.15, "{}", normal.precisions[0][0]);
        let at = |factor: f64| {
            let precisions = vec![normal.precisions[0].iter().map(|v| v * factor).collect()];
            loss(&NormalClasses { precisions, ..normal.clone() }, &outputs, &targets)
        };
        assert!(at(1.0) < at(0.97) && at(1.0) < at(1.03));
        assert!(normal.fits(3, 3));
    }

    #[test]
    fn the_class_of_the_largest_probability_is_the_predicted_one() {
        let (outputs, targets) = rows(300);
        let words = vec![vec![1, 1, -1], vec![-1, 1, 1], vec![1, -1, 1]];
        let codes = Decision::Codes { labels: largest(3).labels(), words };
        for decision in [largest(3), codes] {
            let normal = fit_softmax(&decision, &outputs, &targets, &[1.0; 300]);
            for row in outputs.iter() {
                let p = normal.probabilities(row);
                assert!((p.iter().sum::<f64>() - 1.0).abs() < 1e-12);
                let top = (1..3).fold(0, |best, c| if p[c] > p[best] { c } else { best });
                // The loss of codes is clipped at a margin of 1, which outputs below 1 never reach.
                assert_eq!(top, decision.class(row));
            }
        }
    }

    #[test]
    fn extreme_rows_have_a_finite_answer() {
        let two = Decision::Sign { negative: Label::new("a"), positive: Label::new("b") };
        let targets = |codes: &[usize]| Matrix::from_fn(codes.len(), 2, |i, c| f64::from(u8::from(codes[i] == c)));
        let slope = |outputs: &[f64], codes: &[usize]| {
            let outputs = Matrix::column(outputs.to_vec());
            fit_softmax(&two, &outputs, &targets(codes), &vec![1.0; codes.len()]).precisions[0][0]
        };
        let separable = slope(&[-1.0, -2.0, 1.0, 2.0], &[0, 0, 1, 1]);
        assert!(separable > 0.5 && separable < 100.0);
        assert!(slope(&[1.0, 2.0, -1.0], &[0, 0, 1]) < 1e-3);
        for other in [slope(&[0.0; 3], &[0, 1, 1]), slope(&[1e300, -1e300], &[1, 0]), slope(&[], &[])] {
            assert!(other.is_finite() && other > 0.0);
        }
    }
}
