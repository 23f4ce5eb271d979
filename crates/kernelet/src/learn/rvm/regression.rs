//! One target: rounds of actions for a fixed noise, then a new estimate of the noise.
//!
//! Targets are brought to mean 0 and variance 1 first, and the evidence is reported for the original targets. All rows share the
//! precision beta of the noise. A weight says how often a row counts: it multiplies the logarithm of the row's density, so that with W
//! the sum of the weights the noise variance that makes the evidence stationary is
//! `sum_i weight_i (t_i - f_i)^2 / (W - sum_m (1 - alpha_m Sigma_mm))`; where that step would lower the evidence, the shorter step of expectation
//! maximisation is done, which cannot. No less than 1e-8 of the target's variance is taken for noise.
use super::{
    Settings, Solved,
    design::{Design, Stack},
    model::{Basis, Model, Problem},
};
use crate::{
    Error, Result,
    linalg::dot,
    watch::{Status, Watch},
};

/// Actions between two estimates of the noise.
const ACTIONS: usize = 32;
/// The noise variance at first, as a fraction of the target's.
const FIRST_NOISE: f64 = 0.1;
const LEAST_NOISE: f64 = 1e-8;
/// The noise has settled when a new estimate changes its logarithm by less.
const SETTLED: f64 = 1e-4;

/// The rows, free of scale.
struct Rows<'a> {
    design: &'a Design<'a>,
    targets: Vec<f64>,
    weights: &'a [f64],
    /// phi_c' W t and phi_c' W phi_c, for the row weights W alone.
    crossed: Vec<f64>,
    squares: Vec<f64>,
}

/// The machine of greatest evidence for one target.
pub(super) fn solve(design: &Design, targets: &[f64], weights: &[f64], settings: &Settings, watch: &Watch) -> Result<Solved> {
    let total: f64 = weights.iter().sum();
    let mean = if settings.offset { dot(targets, weights) / total } else { 0.0 };
    let variance = targets.iter().zip(weights).map(|(y, w)| w * (y - mean) * (y - mean)).sum::<f64>() / total;
    let spread = variance.sqrt();
    if !(spread.is_finite() && spread > 1e-12 * mean.abs()) {
        return match spread.is_finite() {
            true => Ok(Solved::constant(mean)),
            false => Err(Error::data("the targets are too large to square; scale them")),
        };
    }
    let scaled: Vec<f64> = targets.iter().map(|y| (y - mean) / spread).collect();
    let rows = Rows::new(design, scaled, weights, watch);
    let mut beta = 1.0 / FIRST_NOISE;
    let mut model = rows.model(start(design, settings, watch), None, beta).ok_or_else(broken)?;
    let mut actions = 0;
    let status = loop {
        if watch.cancelled() {
            break Status::Cancelled;
        }
        if actions >= settings.max_iterations {
            break Status::IterationLimit;
        }
        let done = rows.improve(&mut model, beta, settings, watch);
        let (next, precision) = rows.with_noise(&model, beta).ok_or_else(broken)?;
        let settled = (precision / beta).ln().abs() < SETTLED;
        (model, beta) = (next, precision);
        actions += done.max(1);
        watch.report("relevance vectors", actions, None, Some(-model.evidence));
        if settled && done == 0 {
            break Status::Converged;
        }
    };
    let evidence = model.evidence - total * spread.ln();
    Ok(Solved::new(model, evidence, actions, status).rescaled(mean, spread, 1.0 / beta))
}

fn broken() -> Error {
    Error::data("the matrix of the relevance vector machine is not positive definite to working precision; scale the data, or change gamma")
}

fn start(design: &Design, settings: &Settings, watch: &Watch) -> Basis {
    let mut basis = Basis { chosen: vec![], alpha: vec![], columns: Stack::new(design.rows()), mean: vec![] };
    if settings.offset {
        basis.chosen.push(design.rows());
        basis.alpha.push(super::OFFSET_PRECISION);
        basis.columns.push(&design.column(design.rows(), watch));
        basis.mean.push(0.0);
    }
    basis
}

impl<'a> Rows<'a> {
    fn new(design: &'a Design, targets: Vec<f64>, weights: &'a [f64], watch: &Watch) -> Self {
        let mut rows = Stack::new(design.rows());
        rows.push(&targets.iter().zip(weights).map(|(t, w)| t * w).collect::<Vec<_>>());
        let pass = design.pass(Some(weights), &rows, watch);
        Rows { design, targets, weights, crossed: pass.products.row(0).to_vec(), squares: pass.squares }
    }

    /// Calls `work` with the problem for this precision of the noise.
    fn with_problem<T>(&self, beta: f64, work: impl FnOnce(&Problem) -> T) -> T {
        let times = |values: &[f64]| values.iter().map(|v| beta * v).collect::<Vec<_>>();
        let (weights, targets, squares) = (times(self.weights), times(&self.crossed), times(&self.squares));
        let (mut logs, mut fit) = (0.0, 0.0);
        for (t, w) in self.targets.iter().zip(self.weights) {
            logs += w * (2.0 * std::f64::consts::PI / beta).ln();
            fit += beta * w * t * t;
        }
        work(&Problem { design: self.design, weights: &weights, targets: &targets, squares: &squares, constant: logs + fit, open: None })
    }

    /// The model of a basis; `products` are those for noise of precision 1, or computed.
    fn model(&self, basis: Basis, products: Option<Stack>, beta: f64) -> Option<Model> {
        let mut products = products.unwrap_or_else(|| {
            let weighted = super::laplace::weighted(&basis.columns, self.weights);
            self.design.pass(None, &weighted, &Watch::none()).products
        });
        products.values_mut().iter_mut().for_each(|value| *value *= beta);
        self.with_problem(beta, |problem| Model::new(basis, products, problem))
    }

    /// Up to [`ACTIONS`] actions, each the best of its moment, or an exchange where no action helps; how many were done.
    fn improve(&self, model: &mut Model, beta: f64, settings: &Settings, watch: &Watch) -> u64 {
        self.with_problem(beta, |problem| {
            let barred = self.design.repeated();
            let mut done = 0;
            while done < ACTIONS {
                let best = model.best(problem, barred).filter(|(_, gain)| *gain > settings.tolerance);
                let Some((action, gain)) = best else { break };
                model.apply(action, gain, problem, watch);
                done += 1;
            }
            if done > 0 {
                return done as u64;
            }
            let exchange = model.best_exchange(problem, barred, watch);
            let exchange = exchange.filter(|pair| pair[0].1 + pair[1].1 > settings.tolerance);
            exchange.map_or(0, |pair| {
                pair.into_iter().for_each(|(action, gain)| model.apply(action, gain, problem, watch));
                pair.len() as u64
            })
        })
    }

    /// The model computed afresh for a new estimate of the noise, and the precision of that.
    fn with_noise(&self, model: &Model, beta: f64) -> Option<(Model, f64)> {
        let basis = &model.basis;
        let mut products = model.products.clone();
        products.values_mut().iter_mut().for_each(|value| *value /= beta);
        let fitted = basis.columns.combined(&basis.mean);
        let residual: f64 = self.targets.iter().zip(&fitted).zip(self.weights).map(|((t, f), w)| w * (t - f) * (t - f)).sum();
        let determined: f64 = basis.alpha.iter().enumerate().map(|(i, alpha)| 1.0 - alpha * model.sigma.at(i, i)).sum();
        let n: f64 = self.weights.iter().sum();
        let direct = residual / (n - determined).max(1e-3 * n);
        let careful = (residual + determined / beta) / n;
        let attempt = |variance: f64| {
            let precision = 1.0 / variance.max(LEAST_NOISE);
            self.model(basis.clone(), Some(products.clone()), precision).map(|model| (model, precision))
        };
        let first = attempt(direct)?;
        match first.0.evidence >= model.evidence {
            true => Some(first),
            false => attempt(careful),
        }
    }
}
