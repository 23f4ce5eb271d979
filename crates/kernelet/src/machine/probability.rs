//! Outputs become probabilities of the classes.
//!
//! Two classes: the calibrated output is the probability of the positive one. One-vs-rest: the calibrated outputs, divided by their sum.
//! One-vs-one: r_ab, the calibrated output of the pair, is the probability of a among a and b; the probabilities p of all
//! classes minimise `sum_{a<b} (r_ba p_a - r_ab p_b)^2` with sum 1 (Wu, Lin and Weng: Probability estimates for multi-class
//! classification by pairwise coupling. JMLR 5, 2004, their second method), by the iteration and stopping rule of LIBSVM, so that the
//! same numbers come out. Cost a row: the outputs, and classes^2 a step for the coupling.
use crate::parallel::*;

use super::{Calibration, Decision, Machine, Pairwise};
use crate::{Error, Result, linalg::Matrix};

/// Calibrated outputs stay this far from 0 and 1, as LIBSVM has it.
const MARGIN: f64 = 1e-7;

/// Rows of one unit of work.
const ROWS: usize = 1024;

impl Machine {
    /// The probability of each class, in the order of [`Decision::labels`], one row for each row of `outputs`
    /// (as [`Predictor::outputs`](super::Predictor::outputs) gives them). An error that states why where the machine has none.
    ///
    /// ```
    /// use kernelet::{data::banana, prelude::*};
    ///
    /// let data = banana(200, 1);
    /// let train = Train::from_json(r#"{"gamma": 1, "c": 10, "vectors": 10, "probability": "sigmoid"}"#)?;
    /// let machine = train.run(&data, &Given::default(), &Watch::none())?.fit.machine;
    ///
    /// let probabilities = machine.probabilities(&machine.outputs_for(&data.points)?)?;
    /// assert_eq!((probabilities.rows(), probabilities.cols()), (200, 2));
    /// assert!((probabilities.row(0).iter().sum::<f64>() - 1.0).abs() < 1e-12);
    /// # Ok::<(), kernelet::Error>(())
    /// ```
    pub fn probabilities(&self, outputs: &Matrix) -> Result<Matrix> {
        let classes = self.check_probabilities()?;
        if outputs.cols() != self.n_outputs() {
            return Err(Error::Shape { what: "outputs of a row", expected: self.n_outputs(), found: outputs.cols() });
        }
        let Some(calibration) = &self.calibration else { return Ok(Matrix::zeros(outputs.rows(), 0)) };
        let mut out = Matrix::zeros(outputs.rows(), classes);
        out.values_mut().par_chunks_mut(ROWS * classes).enumerate().for_each(|(c, out)| {
            let mut calibrated = vec![0.0; outputs.cols()];
            for (i, out) in out.chunks_exact_mut(classes).enumerate() {
                let outputs = outputs.row(c * ROWS + i);
                if let Calibration::NormalClasses(normal) = calibration {
                    out.copy_from_slice(&normal.probabilities(outputs));
                    continue;
                }
                calibrate(calibration, outputs, &mut calibrated);
                to_classes(&self.decision, &calibrated, out);
            }
        });
        Ok(out)
    }

    /// The number of classes, or an error that says why there are no probabilities.
    pub fn check_probabilities(&self) -> Result<usize> {
        let no = |with: &str, instead: &str| {
            Err(Error::Unsupported { method: "asking for probabilities", with: with.into(), instead: instead.into() })
        };
        match (&self.decision, &self.calibration) {
            (Decision::Values | Decision::Features | Decision::Ratio, _) => no("a model that predicts no classes", "ask for its numbers"),
            (_, None) => no("a model trained without them", "train it with --probability sigmoid or isotonic"),
            (decision, Some(_)) => Ok(decision.labels().len()),
        }
    }
}

/// The outputs of one row, each on its own: the probability of its positive side.
fn calibrate(calibration: &Calibration, outputs: &[f64], calibrated: &mut [f64]) {
    match calibration {
        Calibration::Sigmoid { a, b } => {
            for (k, p) in calibrated.iter_mut().enumerate() {
                *p = sigmoid(a[k] * outputs[k] + b[k]).clamp(MARGIN, 1.0 - MARGIN);
            }
        }
        Calibration::Isotonic { curves } => {
            for (k, p) in calibrated.iter_mut().enumerate() {
                *p = curves[k].at(outputs[k]).clamp(MARGIN, 1.0 - MARGIN);
            }
        }
        Calibration::Marks { marks } => calibrated.iter_mut().zip(outputs).for_each(|(p, &f)| *p = between_marks(marks, f)),
        Calibration::Shares => calibrated.iter_mut().zip(outputs).for_each(|(p, f)| *p = f.max(0.0)),
        Calibration::Normal { .. } | Calibration::LogVariance { .. } | Calibration::NormalClasses(_) => calibrated.copy_from_slice(outputs),
    }
}

/// 1 / (1 + exp(x)) without overflow.
fn sigmoid(x: f64) -> f64 {
    match x >= 0.0 {
        true => (-x).exp() / (1.0 + (-x).exp()),
        false => 1.0 / (1.0 + x.exp()),
    }
}

fn between_marks(marks: &[f64], output: f64) -> f64 {
    match marks.partition_point(|&mark| mark <= output) {
        0 => 0.001,
        place if place == marks.len() => 0.999,
        place => place as f64 / marks.len() as f64,
    }
}

fn to_classes(decision: &Decision, calibrated: &[f64], out: &mut [f64]) {
    match decision {
        Decision::Votes { .. } => couple(calibrated, out),
        Decision::Largest { .. } => {
            let sum: f64 = calibrated.iter().sum();
            let even = 1.0 / out.len() as f64;
            out.iter_mut().zip(calibrated).for_each(|(out, p)| *out = if sum > 0.0 { p / sum } else { even });
        }
        _ => {
            let positive = calibrated.first().copied().unwrap_or_default();
            out.copy_from_slice(&[1.0 - positive, positive]);
        }
    }
}

/// Probabilities of the classes from those of the pairs, by the iteration of LIBSVM.
fn couple(pairs: &[f64], p: &mut [f64]) {
    let k = p.len();
    // r[a][b]: the probability of a among a and b.
    let mut r = vec![0.0; k * k];
    for (&value, (a, b)) in pairs.iter().zip(Pairwise::pairs(k)) {
        (r[a * k + b], r[b * k + a]) = (value, 1.0 - value);
    }
    let mut q = vec![0.0; k * k];
    for a in 0..k {
        for b in (0..k).filter(|&b| b != a) {
            q[a * k + a] += r[b * k + a] * r[b * k + a];
            q[a * k + b] = -r[b * k + a] * r[a * k + b];
        }
    }
    p.fill(1.0 / k as f64);
    let mut product = vec![0.0; k];
    for _ in 0..k.max(100) {
        for (a, product) in product.iter_mut().enumerate() {
            *product = q[a * k..(a + 1) * k].iter().zip(p.iter()).map(|(q, p)| q * p).sum();
        }
        let mut value: f64 = product.iter().zip(p.iter()).map(|(q, p)| q * p).sum();
        if product.iter().all(|q| (q - value).abs() < 0.005 / k as f64) {
            return;
        }
        for a in 0..k {
            let step = (value - product[a]) / q[a * k + a];
            p[a] += step;
            let whole = 1.0 + step;
            value = (value + step * (step * q[a * k + a] + 2.0 * product[a])) / whole / whole;
            for b in 0..k {
                product[b] = (product[b] + step * q[a * k + b]) / whole;
                p[b] /= whole;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The minimum found slowly: from many starting points of the simplex, exchanges between two classes.
    fn couple_slowly(pairs: &[f64], k: usize) -> Vec<f64> {
        let mut r = vec![vec![0.0; k]; k];
        for (&value, (a, b)) in pairs.iter().zip(Pairwise::pairs(k)) {
            (r[a][b], r[b][a]) = (value, 1.0 - value);
        }
        let cost = |p: &[f64]| -> f64 { Pairwise::pairs(k).map(|(a, b)| (r[b][a] * p[a] - r[a][b] * p[b]).powi(2)).sum() };
        let mut p = vec![1.0 / k as f64; k];
        let mut step = 0.1;
        while step > 1e-9 {
            let mut moved = false;
            for a in 0..k {
                for b in 0..k {
                    let mut other = p.clone();
                    other[a] += step;
                    other[b] -= step;
                    if a != b && other[b] >= 0.0 && cost(&other) < cost(&p) {
                        (p, moved) = (other, true);
                    }
                }
            }
            if !moved {
                step /= 2.0;
            }
        }
        p
    }

    #[test]
    fn coupled_probabilities_minimise_the_disagreement_of_the_pairs() {
        for seed in 0..5 {
            let pairs: Vec<f64> = (0..6).map(|i| 0.5 + 0.45 * ((7 * i + seed) as f64).sin()).collect();
            let mut p = vec![0.0; 4];
            couple(&pairs, &mut p);
            assert!((p.iter().sum::<f64>() - 1.0).abs() < 1e-12 && p.iter().all(|&p| p > 0.0));
            for (have, want) in p.iter().zip(couple_slowly(&pairs, 4)) {
                // LIBSVM's iteration stops when the conditions hold to 0.005 / classes.
                assert!((have - want).abs() < 0.02, "{have} {want}");
            }
        }
        // Pairs that agree: r_ab = p_a / (p_a + p_b).
        let truth = [0.5, 0.3, 0.2];
        let pairs: Vec<f64> = Pairwise::pairs(3).map(|(a, b)| truth[a] / (truth[a] + truth[b])).collect();
        let mut p = vec![0.0; 3];
        couple(&pairs, &mut p);
        assert!(p.iter().zip(truth).all(|(a, b)| (a - b).abs() < 0.01), "{p:?}");
    }

    #[test]
    fn sums_are_1_and_nothing_overflows() {
        let labels: Vec<crate::data::Label> = (0..3).map(|i: i32| crate::data::Label::new(i.to_string())).collect();
        let mut out = [0.0; 3];
        to_classes(&Decision::Largest { labels: labels.clone() }, &[0.2, 0.0, 0.6], &mut out);
        assert!(out.iter().zip([0.25, 0.0, 0.75]).all(|(a, b)| (a - b).abs() < 1e-15));
        to_classes(&Decision::Largest { labels }, &[0.0; 3], &mut out);
        assert_eq!(out, [1.0 / 3.0; 3]);
        assert_eq!((sigmoid(1e300), sigmoid(-1e300), sigmoid(0.0)), (0.0, 1.0, 0.5));
    }
}
