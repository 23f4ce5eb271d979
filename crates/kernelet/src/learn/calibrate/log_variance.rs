//! Deviations of predicted numbers, from the residuals of rows that were not trained on.
//!
//! With the coordinates c of a row in the span of the vectors, the logarithm of its variance is `h = w.c + e`, of the greatest likelihood of normal
//! residuals: minimise `1/2 sum_i (h_i + v_i exp(-h_i)) + penalty/2 |w|^2` for squared residuals v_i. It is convex; steps by the expected Hessian
//! `1/2 C'C + penalty`, which is factorised once, are halved until the loss falls. The penalty is the one of the greatest likelihood on folds of
//! the rows. Cost: n m^2 for a factor, n m a step, for m vectors, of which no more than [`MOST_VECTORS`] are used.
use crate::{
    Error, Result,
    basis::{Frame, JITTER, check_definite},
    data::{Points, plain_folds, shuffled},
    kernel::Kernel,
    linalg::{Cholesky, Matrix, dot, weighted_gram},
    machine::{LogVariance, Machine},
};

/// Vectors that a deviation is a function of, at most; drawn from more.
const MOST_VECTORS: usize = 256;
/// The penalties that folds choose from.
const PENALTIES: [f64; 6] = [0.03, 0.3, 3.0, 30.0, 300.0, 3000.0];
/// Folds of the choice.
const FOLDS: usize = 4;
/// Steps after which the search stops.
const STEPS: usize = 100;
/// Squared residuals count as at least this part of their mean, so that rows that are met exactly have a finite answer.
const LEAST: f64 = 1e-6;

/// A deviation for each output of `machine` from rows as they come from files, with the squared residual of each row and output, and the weights of
/// the rows.
pub fn fit_log_variance(machine: &Machine, points: &Points, squares: &Matrix, weights: &[f64], seed: u64) -> Result<Vec<LogVariance>> {
    if points.is_empty() || squares.rows() != points.len() || weights.len() != points.len() {
        return Err(Error::Shape { what: "squared residuals", expected: points.len(), found: squares.rows() });
    }
    let (chosen, frame) = frame_of(machine, seed)?;
    let scaled = machine.scale.as_ref().map(|scale| scale.apply(points)).transpose()?;
    let coordinates = frame.as_ref().map_or(Matrix::zeros(points.len(), 0), |frame| frame.coordinates(scaled.as_ref().unwrap_or(points)));
    // A column of ones for the offset.
    let m = coordinates.cols();
    let design = Matrix::from_fn(points.len(), m + 1, |i, j| if j < m { coordinates.at(i, j) } else { 1.0 });
    let folds = plain_folds(points.len(), FOLDS.min(points.len()), seed).unwrap_or_default();
    let head = |k: usize| -> Result<LogVariance> {
        let (values, unit) = in_units(&squares.col(k), weights);
        let rows = Rows { design: &design, squares: &values, weights };
        let w = rows.fit(rows.best_penalty(&folds)?)?;
        let (w, offset) = w.split_at(m);
        let coefficients = match &frame {
            Some(frame) => frame.coefficients(&Matrix::column(w.to_vec())).into_values(),
            None => vec![],
        };
        Ok(LogVariance { vectors: chosen.clone(), coefficients, offset: offset.iter().sum::<f64>() + unit.ln() })
    };
    (0..squares.cols()).map(head).collect()
}

/// Some of the vectors, and the frame of their span; none where the kernel has no span to speak of.
fn frame_of(machine: &Machine, seed: u64) -> Result<(Vec<usize>, Option<Frame>)> {
    let (kernel, m) = (&machine.expansion.kernel, machine.n_vectors());
    if m == 0 || matches!(kernel, Kernel::Precomputed(_)) || check_definite(kernel).is_err() {
        return Ok((vec![], None));
    }
    let mut chosen: Vec<usize> = shuffled(m, seed).into_iter().take(MOST_VECTORS).collect();
    chosen.sort_unstable();
    let frame = Frame::fixed(kernel, &machine.expansion.vectors.select(&chosen), JITTER)?;
    Ok((chosen, Some(frame)))
}

/// Squared residuals in units of their mean, and the unit.
fn in_units(squares: &[f64], weights: &[f64]) -> (Vec<f64>, f64) {
    let total: f64 = weights.iter().sum();
    let mean = squares.iter().zip(weights).map(|(v, w)| v * w).sum::<f64>() / total.max(f64::MIN_POSITIVE);
    let unit = mean.max(1e-200);
    (squares.iter().map(|v| v / unit + LEAST).collect(), unit)
}

struct Rows<'a> {
    design: &'a Matrix,
    squares: &'a [f64],
    weights: &'a [f64],
}

impl Rows<'_> {
    /// The penalty of the greatest likelihood on the rows of each fold, fitted to the others.
    fn best_penalty(&self, folds: &[Vec<usize>]) -> Result<f64> {
        let all = self.design.rows();
        let mut best = (f64::INFINITY, PENALTIES[PENALTIES.len() - 1]);
        for penalty in PENALTIES {
            let mut loss = 0.0;
            for held in folds.iter().filter(|held| held.len() < all) {
                // Rows of the fold count nothing.
                let mut weights = self.weights.to_vec();
                held.iter().for_each(|&i| weights[i] = 0.0);
                let w = Rows { weights: &weights, ..*self }.fit(penalty)?;
                loss += held.iter().map(|&i| self.weights[i] * loss_of(dot(self.design.row(i), &w), self.squares[i])).sum::<f64>();
            }
            if loss < best.0 {
                best = (loss, penalty);
            }
        }
        Ok(best.1)
    }

    fn loss(&self, w: &[f64], penalty: f64) -> f64 {
        let m = w.len() - 1;
        let rows = self.design.iter().zip(self.squares).zip(self.weights);
        rows.map(|((c, v), weight)| weight * loss_of(dot(c, w), *v)).sum::<f64>() + 0.5 * penalty * dot(&w[..m], &w[..m])
    }

    /// The weights of the coordinates, and last the offset.
    fn fit(&self, penalty: f64) -> Result<Vec<f64>> {
        let m = self.design.cols() - 1;
        let halves: Vec<f64> = self.weights.iter().map(|weight| 0.5 * weight).collect();
        let mut hessian = weighted_gram(self.design, &halves);
        (0..m).for_each(|j| hessian.row_mut(j)[j] += penalty);
        hessian.row_mut(m)[m] += 1e-9 * (1.0 + hessian.at(m, m));
        let factor = Cholesky::new(&hessian).ok_or_else(|| Error::data("the deviations have no solution: the rows are too large"))?;
        let mut w = vec![0.0; m + 1];
        let mut loss = self.loss(&w, penalty);
        for _ in 0..STEPS {
            let step = self.step(&w, penalty, &factor);
            let mut length = 1.0;
            let lower = loop {
                let there: Vec<f64> = w.iter().zip(&step).map(|(w, s)| w + length * s).collect();
                let value = self.loss(&there, penalty);
                if value < loss {
                    break Some((there, value));
                }
                length *= 0.5;
                if length < 1e-6 {
                    break None;
                }
            };
            let Some((there, value)) = lower else { break };
            let gained = loss - value;
            (w, loss) = (there, value);
            if gained <= 1e-9 * (1.0 + loss.abs()) {
                break;
            }
        }
        Ok(w)
    }

    /// The step to the minimum of the quadratic of the expected Hessian.
    fn step(&self, w: &[f64], penalty: f64, factor: &Cholesky) -> Vec<f64> {
        let m = w.len() - 1;
        let mut down: Vec<f64> = w.iter().enumerate().map(|(j, w)| if j < m { -penalty * w } else { 0.0 }).collect();
        for ((c, v), weight) in self.design.iter().zip(self.squares).zip(self.weights) {
            // No row counts for more than a residual of a hundred deviations, so that no single one decides the step.
            let slope = 0.5 * weight * ((v * (-dot(c, w)).exp()).min(1e4) - 1.0);
            down.iter_mut().zip(c).for_each(|(sum, c)| *sum += slope * c);
        }
        let mut step = Matrix::column(down);
        factor.solve(&mut step);
        step.into_values()
    }
}

/// The negative logarithm of the likelihood, but for a constant.
fn loss_of(log_variance: f64, square: f64) -> f64 {
    0.5 * (log_variance + square * (-log_variance).exp())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        draw::Draw,
        machine::{Coefficients, Decision, Expansion, Metadata},
    };

    fn machine(vectors: &Matrix) -> Machine {
        Machine {
            expansion: Expansion {
                kernel: Kernel::gaussian(2.0),
                vectors: vectors.clone().into(),
                coefficients: Coefficients::Dense(Matrix::zeros(vectors.rows(), 1)),
            },
            offsets: vec![0.0],
            decision: Decision::Values,
            scale: None,
            names: None,
            calibration: None,
            metadata: Metadata::default(),
        }
    }

    /// Residuals whose deviation is 0.1 on the left and 1 on the right.
    fn rows(n: usize) -> (Matrix, Matrix) {
        let mut draw = Draw::seeded(3);
        let points = Matrix::from_fn(n, 1, |_, _| 4.0 * draw.uniform() - 2.0);
        let squares = Matrix::from_fn(n, 1, |i, _| {
            let deviation = if points.at(i, 0) < 0.0 { 0.1 } else { 1.0 };
            (deviation * draw.normal()).powi(2)
        });
        (points, squares)
    }

    #[test]
    fn deviations_follow_those_of_the_rows() {
        let (points, squares) = rows(2000);
        let machine = machine(&Matrix::from_fn(12, 1, |i, _| i as f64 / 3.0 - 2.0));
        let heads = fit_log_variance(&machine, &points.clone().into(), &squares, &[1.0; 2000], 0).unwrap();
        let calibrated = Machine { calibration: Some(crate::machine::Calibration::LogVariance { heads }), ..machine };
        calibrated.check().unwrap();
        let at = |x: f64| calibrated.deviations(&Matrix::column(vec![x]).into()).unwrap().at(0, 0);
        assert!((at(-1.0) / 0.1 - 1.0).abs() < 0.25 && (at(1.0) - 1.0).abs() < 0.25, "{} {}", at(-1.0), at(1.0));
        let within = (0..2000).filter(|&i| squares.at(i, 0).sqrt() < 1.96 * at(points.at(i, 0))).count();
        assert!((1860..=1930).contains(&within), "{within}");
    }

    #[test]
    fn no_other_weights_are_better() {
        let (points, squares) = rows(300);
        let design = Matrix::from_fn(300, 3, |i, j| [points.at(i, 0), points.at(i, 0).powi(2), 1.0][j]);
        let rows = Rows { design: &design, squares: squares.values(), weights: &[1.0; 300] };
        let w = rows.fit(0.5).unwrap();
        let least = rows.loss(&w, 0.5);
        for j in 0..3 {
            for change in [-1e-3, 1e-3] {
                let mut other = w.clone();
                other[j] += change;
                assert!(rows.loss(&other, 0.5) > least - 1e-7, "{j} {change}");
            }
        }
    }

    #[test]
    fn rows_that_are_met_exactly_and_kernels_without_a_span_have_a_finite_answer() {
        let points: Points = Matrix::from_fn(20, 1, |i, _| i as f64 / 10.0).into();
        let zeros = Matrix::zeros(20, 1);
        let plain = machine(&Matrix::from_fn(3, 1, |i, _| i as f64));
        let mut sigmoid = plain.clone();
        sigmoid.expansion.kernel = Kernel::named("sigmoid", 1.0, 1, 0.0).unwrap();
        for machine in [&plain, &sigmoid, &machine(&Matrix::zeros(0, 1))] {
            for squares in [&zeros, &Matrix::from_fn(20, 1, |i, _| if i == 3 { 1e300 } else { 1.0 })] {
                let heads = fit_log_variance(machine, &points, squares, &[1.0; 20], 0).unwrap();
                assert!(heads[0].offset.is_finite() && heads[0].coefficients.iter().all(|e| e.is_finite()));
            }
        }
        assert!(fit_log_variance(&plain, &points, &Matrix::zeros(3, 1), &[1.0; 20], 0).is_err());
    }
}
