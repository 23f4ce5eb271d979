//! Smooth losses of a row: logistic and softmax, and soft forms of the losses of the support vector family.
//!
//! `soft(t) = h log(1 + exp(t / h))` is `max(0, t)` but for a bend of width h, and never below it by anything nor above it by more than
//! `h log 2`. Its slope is the logistic function.
use super::newton::RowLoss;
use crate::linalg::{Matrix, dot};

/// log(1 + exp(t)), 1 / (1 + exp(-t)), and the derivative of that.
fn bend(t: f64) -> (f64, f64, f64) {
    let e = (-t.abs()).exp();
    let slope = if t >= 0.0 { 1.0 / (1.0 + e) } else { e / (1.0 + e) };
    (t.max(0.0) + e.ln_1p(), slope, e / ((1.0 + e) * (1.0 + e)))
}

/// Two classes: `cost_i log(1 + exp(-y_i f))`.
pub(crate) struct Logistic<'a> {
    /// +1 or -1.
    pub signs: &'a [f64],
    pub costs: &'a [f64],
}

impl RowLoss for Logistic<'_> {
    fn n_outputs(&self) -> usize {
        1
    }

    fn loss(&self, i: usize, outputs: &[f64], slopes: &mut [f64]) -> f64 {
        let (value, slope, _) = bend(-self.signs[i] * outputs[0]);
        slopes[0] = -self.signs[i] * self.costs[i] * slope;
        self.costs[i] * value
    }

    fn curve(&self, i: usize, outputs: &[f64], direction: &[f64], out: &mut [f64]) {
        out[0] = self.curvature(i, outputs) * direction[0];
    }

    fn curvature(&self, i: usize, outputs: &[f64]) -> f64 {
        self.costs[i] * bend(-self.signs[i] * outputs[0]).2
    }
}

/// Several classes: `-cost_i log p_y` with `p = softmax(f)`.
pub(crate) struct Softmax<'a> {
    pub codes: &'a [usize],
    pub costs: &'a [f64],
    pub classes: usize,
}

/// The probabilities in place of the outputs, and the logarithm of their sum before division.
fn softmax(outputs: &mut [f64]) -> f64 {
    let most = outputs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    outputs.iter_mut().for_each(|f| *f = (*f - most).exp());
    let sum: f64 = outputs.iter().sum();
    outputs.iter_mut().for_each(|f| *f /= sum);
    most + sum.ln()
}

impl RowLoss for Softmax<'_> {
    fn n_outputs(&self) -> usize {
        self.classes
    }

    fn loss(&self, i: usize, outputs: &[f64], slopes: &mut [f64]) -> f64 {
        slopes.copy_from_slice(outputs);
        let whole = softmax(slopes);
        slopes[self.codes[i]] -= 1.0;
        slopes.iter_mut().for_each(|s| *s *= self.costs[i]);
        self.costs[i] * (whole - outputs[self.codes[i]])
    }

    fn curve(&self, i: usize, outputs: &[f64], direction: &[f64], out: &mut [f64]) {
        out.copy_from_slice(outputs);
        softmax(out);
        let mean: f64 = out.iter().zip(direction).map(|(p, d)| p * d).sum();
        out.iter_mut().zip(direction).for_each(|(p, d)| *p *= self.costs[i] * (d - mean));
    }

    /// The derivatives of the loss are the probabilities times the cost, less the cost at the class of the row.
    fn curve_from(&self, i: usize, _: &[f64], slopes: &[f64], direction: &[f64], out: &mut [f64]) {
        let (code, cost) = (self.codes[i], self.costs[i]);
        let mean = (dot(slopes, direction) + cost * direction[code]) / cost.max(f64::MIN_POSITIVE);
        out.iter_mut().zip(slopes).zip(direction).for_each(|((out, s), d)| *out = s * (d - mean));
        out[code] += cost * (direction[code] - mean);
    }

    fn curvatures(&self, i: usize, _: &[f64], slopes: &[f64], out: &mut [f64]) {
        let (code, cost) = (self.codes[i], self.costs[i]);
        for (k, (out, s)) in out.iter_mut().zip(slopes).enumerate() {
            let weighted = if k == code { s + cost } else { *s };
            *out = weighted.max(0.0) * (1.0 - (weighted / cost.max(f64::MIN_POSITIVE)).clamp(0.0, 1.0));
        }
    }

    fn relative(&self) -> bool {
        true
    }

    fn curvature(&self, i: usize, outputs: &[f64]) -> f64 {
        let mut p = outputs.to_vec();
        softmax(&mut p);
        self.costs[i] * p.iter().map(|p| p * (1.0 - p)).sum::<f64>() / self.classes as f64
    }
}

/// What the residual `r = y - f` of a number costs.
#[derive(Clone, Copy)]
pub(crate) enum ResidualLoss {
    /// `soft(r - epsilon) + soft(-r - epsilon)` with a bend of this width; above 0.
    SoftInsensitive { epsilon: f64, width: f64 },
    /// Huber's: `r^2 / 2` up to epsilon, `epsilon (|r| - epsilon / 2)` above it.
    Huber { epsilon: f64 },
}

impl ResidualLoss {
    /// Value, slope and curvature.
    fn at(self, r: f64) -> (f64, f64, f64) {
        match self {
            ResidualLoss::SoftInsensitive { epsilon, width } => {
                let (above, below) = (bend((r - epsilon) / width), bend((-r - epsilon) / width));
                (width * (above.0 + below.0), above.1 - below.1, (above.2 + below.2) / width)
            }
            ResidualLoss::Huber { epsilon } if r.abs() <= epsilon => (0.5 * r * r, r, 1.0),
            ResidualLoss::Huber { epsilon } => (epsilon * (r.abs() - 0.5 * epsilon), epsilon * r.signum(), 0.0),
        }
    }
}

/// Regression: `sum_k cost_i loss(y_ik - f_k)`.
pub(crate) struct OfResiduals<'a> {
    pub targets: &'a Matrix,
    pub costs: &'a [f64],
    pub loss: ResidualLoss,
}

impl OfResiduals<'_> {
    /// Value, slope and curvature of one output by the residual.
    fn at(&self, i: usize, k: usize, output: f64) -> (f64, f64, f64) {
        let (value, slope, curvature) = self.loss.at(self.targets.at(i, k) - output);
        let cost = self.costs[i];
        (cost * value, cost * slope, cost * curvature)
    }
}

impl RowLoss for OfResiduals<'_> {
    fn n_outputs(&self) -> usize {
        self.targets.cols()
    }

    fn loss(&self, i: usize, outputs: &[f64], slopes: &mut [f64]) -> f64 {
        let mut sum = 0.0;
        for (k, (slope, &output)) in slopes.iter_mut().zip(outputs).enumerate() {
            let (value, by_residual, _) = self.at(i, k, output);
            *slope = -by_residual;
            sum += value;
        }
        sum
    }

    fn curve(&self, i: usize, outputs: &[f64], direction: &[f64], out: &mut [f64]) {
        out.iter_mut().enumerate().for_each(|(k, out)| *out = self.at(i, k, outputs[k]).2 * direction[k]);
    }

    fn curvatures(&self, i: usize, outputs: &[f64], _: &[f64], out: &mut [f64]) {
        out.iter_mut().zip(outputs).enumerate().for_each(|(k, (out, &f))| *out = self.at(i, k, f).2);
    }

    /// The parabola in the residual that touches the loss here and where the residual has the other sign.
    fn bounds(&self, i: usize, outputs: &[f64], slopes: &[f64], out: &mut [f64]) {
        for (k, ((out, &f), slope)) in out.iter_mut().zip(outputs).zip(slopes).enumerate() {
            let (r, curvature) = (self.targets.at(i, k) - f, self.at(i, k, f).2);
            *out = if r == 0.0 { curvature } else { curvature.max((slope / r).abs()) };
        }
    }

    fn curvature(&self, i: usize, outputs: &[f64]) -> f64 {
        outputs.iter().enumerate().map(|(k, &f)| self.at(i, k, f).2).sum::<f64>() / outputs.len() as f64
    }
}

/// One class: `cost_i soft(-f)`, and the offset pays the sum of all costs times nu, with `b = -rho`.
pub(super) struct SoftNovelty<'a> {
    pub costs: &'a [f64],
    pub nu: f64,
    /// The width of the bend; above 0.
    pub width: f64,
}

impl RowLoss for SoftNovelty<'_> {
    fn n_outputs(&self) -> usize {
        1
    }

    fn loss(&self, i: usize, outputs: &[f64], slopes: &mut [f64]) -> f64 {
        let (value, slope, _) = bend(-outputs[0] / self.width);
        slopes[0] = -self.costs[i] * slope;
        self.costs[i] * self.width * value
    }

    fn curve(&self, i: usize, outputs: &[f64], direction: &[f64], out: &mut [f64]) {
        out[0] = self.curvature(i, outputs) * direction[0];
    }

    fn curvature(&self, i: usize, outputs: &[f64]) -> f64 {
        self.costs[i] * bend(-outputs[0] / self.width).2 / self.width
    }

    fn tilt(&self) -> f64 {
        self.nu * self.costs.iter().sum::<f64>()
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        data::{Target, banana, waveform3},
        learn::{
            Logistic, Svr,
            direct::{DirectLearner, DirectTask, Init, Search},
        },
        linalg::Matrix,
        prelude::*,
    };

    /// More than half of the targets are equal, so that the bend is narrow, and all are so many of its widths away that its second derivative is zero.
    #[test]
    fn a_narrow_bend_far_from_all_targets_is_reached() {
        let mut data = banana(60, 1);
        let values: Vec<f64> =
            data.classes().unwrap().codes.iter().enumerate().map(|(i, &code)| if i < 10 { f64::from(code) } else { 1.0 }).collect();
        data.target = Target::Values(Matrix::column(values.iter().map(|value| 100.0 * value).collect()));
        for c in [1.0, 10.0, 1e6] {
            let svr = Svr { kernel: Kernel::gaussian(1.0), c, ..Svr::default() };
            let search = Search { n_vectors: 8, iterations: 5, ..Search::default() };
            let fit = DirectLearner { task: DirectTask::Svr(svr), search }.learn(&data, &Watch::none()).unwrap();
            let nothing: f64 = values.iter().map(|value| c * (100.0 * value - 0.1).max(0.0)).sum();
            assert!(fit.report.objective < 0.2 * nothing, "{c}: {} of {nothing}", fit.report.objective);
            assert!(fit.report.iterations > 0, "{c}");
        }
    }

    /// On vectors that stay, the least of `1/2 |w|^2 / C + loss` cannot rise with C.
    #[test]
    fn the_optimum_over_the_cost_never_rises_with_the_cost() {
        for (data, gamma) in [(banana(200, 1), 1.0), (waveform3(150, 1), 0.05)] {
            let init = Init::Given(data.points.select(&(0..10).collect::<Vec<_>>()).to_dense());
            let mut last = f64::INFINITY;
            for c in [1.0, 1e4, 1e8, 1e10, 1e11, 1e12] {
                let task = DirectTask::Logistic(Logistic { kernel: Kernel::gaussian(gamma), c, ..Logistic::default() });
                let search = Search { n_vectors: 10, iterations: 0, init: init.clone(), ..Search::default() };
                let fit = DirectLearner { task, search }.learn(&data, &Watch::none()).unwrap();
                let value = fit.report.objective / c;
                assert!(value <= last * (1.0 + 1e-9), "{c}: {value} after {last}");
                last = value;
            }
        }
    }
}
