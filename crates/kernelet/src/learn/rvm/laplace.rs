//! The most probable coefficients of a two-class machine, and the evidence around them.
//!
//! With p_i = 1 / (1 + exp(-f(x_i))): maximise `sum_i weight_i log P(y_i) - 1/2 sum_m alpha_m w_m^2` by Newton steps that are halved
//! until the value rises; the problem is concave, so they arrive. Laplace's approximation replaces the posterior by the normal
//! distribution with the same peak and curvature, and the logarithm of the evidence is
//! `log P(y | w) - 1/2 w' A w + 1/2 log |A| - 1/2 log |A + Phi' B Phi|` at the peak, B = diag(weight p (1 - p)).
//! Tipping: Sparse Bayesian learning and the relevance vector machine. JMLR 1, 2001. Cost of a step: n m^2.
use super::{design::Stack, model::Basis};
use crate::linalg::{Cholesky, Matrix, dot, product_transposed};

const STEPS: usize = 60;
/// Stop when a Newton step promises less than this.
const SMALL: f64 = 1e-10;
/// No row weighs less, so that rows far on their side of the boundary do not make the problem singular.
const LEAST_WEIGHT: f64 = 1e-12;

/// Two classes: 1 or 0 for each row, and how much it counts.
pub(super) struct Sides<'a> {
    pub targets: &'a [f64],
    pub weights: &'a [f64],
}

/// The peak of the posterior.
#[derive(Clone, Debug)]
pub(super) struct Peak {
    pub coefficients: Vec<f64>,
    /// f at every row.
    pub outputs: Vec<f64>,
    /// b_i = weight_i p_i (1 - p_i).
    pub curvature: Vec<f64>,
    /// weight_i (y_i - p_i).
    pub slopes: Vec<f64>,
    /// The logarithm of the evidence.
    pub evidence: f64,
}

/// The peak for this basis, sought from its coefficients; None where the arithmetic breaks down.
pub(super) fn peak(basis: &Basis, sides: &Sides) -> Option<Peak> {
    let m = basis.chosen.len();
    let mut w = basis.mean.clone();
    let mut outputs = if m == 0 { vec![0.0; sides.targets.len()] } else { basis.columns.combined(&w) };
    let mut value = penalised(&w, basis, &outputs, sides);
    if !value.is_finite() {
        (w, outputs) = (vec![0.0; m], vec![0.0; outputs.len()]);
        value = penalised(&w, basis, &outputs, sides);
    }
    let mut log_determinant = 0.0;
    for _ in 0..STEPS {
        let (curvature, slopes) = slopes(&outputs, sides);
        if m == 0 {
            break;
        }
        let factor = Cholesky::new(&precision(basis, &curvature))?;
        log_determinant = factor.log_determinant();
        let gradient: Vec<f64> = (0..m).map(|i| dot(basis.columns.row(i), &slopes) - basis.alpha[i] * w[i]).collect();
        let mut step = Matrix::column(gradient.clone());
        factor.solve(&mut step);
        let promise = dot(step.values(), &gradient);
        if !promise.is_finite() {
            return None;
        }
        if promise < SMALL {
            break;
        }
        let along = basis.columns.combined(step.values());
        let mut length = 1.0;
        loop {
            let there: Vec<f64> = w.iter().zip(step.values()).map(|(w, d)| w + length * d).collect();
            let far: Vec<f64> = outputs.iter().zip(&along).map(|(f, d)| f + length * d).collect();
            let reached = penalised(&there, basis, &far, sides);
            if reached >= value + 1e-4 * length * promise {
                (w, outputs, value) = (there, far, reached);
                break;
            }
            length /= 2.0;
            if length < 1e-8 {
                // Rounding is all that is left.
                return finished(w, outputs, value, log_determinant, basis, sides);
            }
        }
    }
    finished(w, outputs, value, log_determinant, basis, sides)
}

fn finished(w: Vec<f64>, outputs: Vec<f64>, value: f64, log_determinant: f64, basis: &Basis, sides: &Sides) -> Option<Peak> {
    let (curvature, slopes) = slopes(&outputs, sides);
    let priors: f64 = basis.alpha.iter().map(|alpha| alpha.ln()).sum();
    let evidence = value + 0.5 * (priors - log_determinant);
    evidence.is_finite().then_some(Peak { coefficients: w, outputs, curvature, slopes, evidence })
}

/// log P(y | w) - 1/2 w' A w.
fn penalised(w: &[f64], basis: &Basis, outputs: &[f64], sides: &Sides) -> f64 {
    let likelihood: f64 = outputs
        .iter()
        .zip(sides.targets)
        .zip(sides.weights)
        .map(|((&f, &y), &weight)| weight * (y * f - f.max(0.0) - (-f.abs()).exp().ln_1p()))
        .sum();
    likelihood - 0.5 * w.iter().zip(&basis.alpha).map(|(w, alpha)| alpha * w * w).sum::<f64>()
}

fn slopes(outputs: &[f64], sides: &Sides) -> (Vec<f64>, Vec<f64>) {
    let one = |((&f, &y), &weight): ((&f64, &f64), &f64)| {
        let small = (-f.abs()).exp();
        let near = 1.0 / (1.0 + small);
        let p = if f >= 0.0 { near } else { small * near };
        ((weight * small * near * near).max(LEAST_WEIGHT), weight * (y - p))
    };
    outputs.iter().zip(sides.targets).zip(sides.weights).map(one).unzip()
}

/// A + Phi' B Phi.
fn precision(basis: &Basis, curvature: &[f64]) -> Matrix {
    let (m, n) = (basis.chosen.len(), curvature.len());
    let weighted = weighted(&basis.columns, curvature);
    let mut out = Matrix::zeros(m, m);
    product_transposed(weighted.values(), basis.columns.values(), n, out.values_mut());
    (0..m).for_each(|i| out.row_mut(i)[i] += basis.alpha[i]);
    out
}

/// Every row of the stack times the weights, number by number.
pub(super) fn weighted(rows: &Stack, weights: &[f64]) -> Stack {
    let mut out = rows.clone();
    for r in 0..rows.len() {
        out.row_mut(r).iter_mut().zip(weights).for_each(|(value, weight)| *value *= weight);
    }
    out
}
