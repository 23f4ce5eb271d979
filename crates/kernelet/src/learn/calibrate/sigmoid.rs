//! A sigmoid from outputs to probabilities.
//!
//! `P(positive | f) = 1 / (1 + exp(a f + b))` with the a and b of greatest likelihood, where the targets are not 1 and 0 but
//! `(n+ + 1) / (n+ + 2)` and `1 / (n- + 2)`, so that separable outputs have a finite answer (Platt 2000). Newton steps that are
//! halved until the likelihood rises, on sums that never overflow: Lin, Lin and Weng, A note on Platt's probabilistic
//! outputs for support vector machines. Machine Learning 68, 2007. Cost: n a step, mostly fewer than ten steps.

/// Steps after which the search stops.
const STEPS: usize = 100;
/// Added to the diagonal of the Hessian, so that it can be inverted.
const RIDGE: f64 = 1e-12;
/// Stop when both slopes are below this part of the weight of all rows.
const SMALL_SLOPE: f64 = 1e-9;
/// The shortest part of a Newton step that is tried.
const LEAST_STEP: f64 = 1e-10;

/// The a and b of greatest likelihood for outputs, whether each is of the positive class, and the weight of each.
pub fn fit_sigmoid(outputs: &[f64], positive: &[bool], weights: &[f64]) -> (f64, f64) {
    let sum = |side: bool| -> f64 { positive.iter().zip(weights).filter(|(p, _)| **p == side).map(|(_, w)| w).sum() };
    let (above, below) = (sum(true), sum(false));
    let (high, low) = ((above + 1.0) / (above + 2.0), 1.0 / (below + 2.0));
    let rows = Rows { outputs, weights, targets: positive.iter().map(|&p| if p { high } else { low }).collect() };
    let (mut a, mut b) = (0.0, ((below + 1.0) / (above + 1.0)).ln());
    let mut cost = rows.cost(a, b);
    for _ in 0..STEPS {
        let Slopes { ga, gb, haa, hab, hbb } = rows.slopes(a, b);
        if ga.abs().max(gb.abs()) < SMALL_SLOPE * (above + below).max(1.0) {
            break;
        }
        let determinant = haa * hbb - hab * hab;
        let (da, db) = (-(hbb * ga - hab * gb) / determinant, -(haa * gb - hab * ga) / determinant);
        let descent = ga * da + gb * db;
        let mut step = 1.0;
        while step >= LEAST_STEP {
            let there = rows.cost(a + step * da, b + step * db);
            if there < cost + 1e-4 * step * descent {
                (a, b, cost) = (a + step * da, b + step * db, there);
                break;
            }
            step /= 2.0;
        }
        if step < LEAST_STEP {
            break;
        }
    }
    (a, b)
}

struct Rows<'a> {
    outputs: &'a [f64],
    weights: &'a [f64],
    targets: Vec<f64>,
}

struct Slopes {
    ga: f64,
    gb: f64,
    haa: f64,
    hab: f64,
    hbb: f64,
}

impl Rows<'_> {
    fn each(&self) -> impl Iterator<Item = (f64, f64, f64)> {
        self.outputs.iter().zip(&self.targets).zip(self.weights).map(|((&f, &t), &w)| (f, t, w))
    }

    /// The negative logarithm of the likelihood.
    fn cost(&self, a: f64, b: f64) -> f64 {
        let one = |(f, t, w): (f64, f64, f64)| {
            let x = a * f + b;
            w * match x >= 0.0 {
                true => t * x + (-x).exp().ln_1p(),
                false => (t - 1.0) * x + x.exp().ln_1p(),
            }
        };
        self.each().map(one).sum()
    }

    fn slopes(&self, a: f64, b: f64) -> Slopes {
        let mut s = Slopes { ga: 0.0, gb: 0.0, haa: RIDGE, hab: 0.0, hbb: RIDGE };
        for (f, t, w) in self.each() {
            let x = a * f + b;
            let small = (-x.abs()).exp();
            // The probabilities of the positive class and of the other.
            let (p, q) = match x >= 0.0 {
                true => (small / (1.0 + small), 1.0 / (1.0 + small)),
                false => (1.0 / (1.0 + small), small / (1.0 + small)),
            };
            let (slope, curve) = (w * (t - p), w * p * q);
            s.ga += f * slope;
            s.gb += slope;
            s.haa += f * f * curve;
            s.hab += f * curve;
            s.hbb += curve;
        }
        s
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(n: usize) -> (Vec<f64>, Vec<bool>) {
        let outputs: Vec<f64> = (0..n).map(|i| 3.0 * ((i * 7) as f64).sin()).collect();
        let positive = outputs.iter().enumerate().map(|(i, f)| f + 1.5 * ((i * 13) as f64).cos() > 0.3).collect();
        (outputs, positive)
    }

    #[test]
    fn the_slopes_vanish_where_it_stops_and_agree_with_differences() {
        let (outputs, positive) = rows(200);
        let weights: Vec<f64> = (0..200).map(|i| 0.5 + (i % 3) as f64).collect();
        let (a, b) = fit_sigmoid(&outputs, &positive, &weights);
        assert!(a < 0.0);
        let sum = |side: bool| -> f64 { positive.iter().zip(&weights).filter(|(p, _)| **p == side).map(|(_, w)| w).sum() };
        let (above, below) = (sum(true), sum(false));
        let cost = |a: f64, b: f64| -> f64 {
            let one = |i: usize| {
                let t = if positive[i] { (above + 1.0) / (above + 2.0) } else { 1.0 / (below + 2.0) };
                let p = 1.0 / (1.0 + (a * outputs[i] + b).exp());
                -weights[i] * (t * p.ln() + (1.0 - t) * (1.0 - p).ln())
            };
            (0..200).map(one).sum()
        };
        for (da, db) in [(1e-3, 0.0), (-1e-3, 0.0), (0.0, 1e-3), (0.0, -1e-3)] {
            assert!(cost(a + da, b + db) > cost(a, b));
        }
        let targets = positive.iter().map(|&p| if p { (above + 1.0) / (above + 2.0) } else { 1.0 / (below + 2.0) }).collect();
        let slopes = Rows { outputs: &outputs, weights: &weights, targets }.slopes(0.3, -0.2);
        let difference = (cost(0.3 + 1e-6, -0.2) - cost(0.3 - 1e-6, -0.2)) / 2e-6;
        assert!((slopes.ga - difference).abs() < 1e-5 * difference.abs().max(1.0), "{} {difference}", slopes.ga);
    }

    #[test]
    fn a_row_that_counts_twice_is_two_rows_but_for_the_targets() {
        let (outputs, positive) = rows(60);
        let twice = |v: &[f64]| [v, v].concat();
        let (a, b) = fit_sigmoid(&outputs, &positive, &[2.0; 60]);
        let (a2, b2) = fit_sigmoid(&twice(&outputs), &[&positive[..], &positive[..]].concat(), &[1.0; 120]);
        assert!((a - a2).abs() < 1e-7 && (b - b2).abs() < 1e-7);
    }

    #[test]
    fn extreme_outputs_have_a_finite_answer() {
        let separable = fit_sigmoid(&[-1.0, -2.0, 1.0, 2.0], &[false, false, true, true], &[1.0; 4]);
        let huge = fit_sigmoid(&[-1e300, 1e300, 1e-300], &[false, true, true], &[1.0; 3]);
        let constant = fit_sigmoid(&[0.5; 6], &[true, false, true, true, true, true], &[1.0; 6]);
        let one_sided = fit_sigmoid(&[0.5, 0.7], &[true, true], &[1.0; 2]);
        for (a, b) in [separable, huge, constant, one_sided, fit_sigmoid(&[], &[], &[])] {
            assert!(a.is_finite() && b.is_finite(), "{a} {b}");
        }
        assert!(separable.0 < -0.5);
        // (5 + 1) / (5 + 2) five times and 1 / (1 + 2) once.
        let share = (5.0 * 6.0 / 7.0 + 1.0 / 3.0) / 6.0;
        assert!((1.0 / (1.0 + (constant.0 * 0.5 + constant.1).exp()) - share).abs() < 1e-6);
    }
}
