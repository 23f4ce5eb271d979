//! The relevance vector machine: a Bayesian machine that selects few vectors and estimates the uncertainty of its predictions.
//!
//! f(x) = sum_j w_j k(x, x_j) + b with a prior N(0, 1 / alpha_j) over each coefficient. The alphas are those that make the evidence
//! (the probability of the targets with the coefficients integrated out) largest; most become infinite, and their rows leave. The
//! alphas are found by adding, re-estimating and deleting one column at a time, the one that raises the evidence most ([`model`]).
//! Classes: P = 1 / (1 + exp(-f)) and Laplace's approximation ([`classification`]). Numbers: normal noise whose variance is
//! estimated too ([`regression`]). The offset is always in the model, under the broad prior N(0, 10^6) (for numbers in units of the target's
//! deviation, around its mean), and is not among the vectors. Any kernel will do, definite or not.
//!
//! Several classes: one machine for each against all others; all share their vectors. Several targets: one machine for each.
//!
//! Cost: n^2 d for the kernel matrix, then n^2 m a round for classes (about ten actions a round) and n^2 for each column added
//! for numbers, with m the columns in the model. Memory: n^2 numbers where `cache_bytes` allows, else 256 n.
//!
//! It fails where the best machine is not sparse on these columns, or n is beyond some ten thousand; the evidence has many local
//! maxima, and the one that is found depends on the order of actions. Far from all rows the variance falls to that of noise and offset,
//! because the columns vanish there: do not trust it for extrapolation.
mod classification;
mod design;
mod laplace;
mod model;
mod regression;
#[cfg(test)]
mod tests;

use crate::parallel::*;

use self::{design::Design, laplace::Sides, model::Model};
use super::{Fit, Learner, Report};
use crate::{
    Error, Result,
    data::{Classes, Dataset, Target, check_classes},
    error::require_positive,
    kernel::Kernel,
    linalg::{Cholesky, Matrix},
    machine::{Calibration, Coefficients, Decision, Expansion, Machine, Metadata, Posterior},
    watch::{Status, Watch},
};

/// The precision of the offset's prior.
const OFFSET_PRECISION: f64 = 1e-6;

/// The relevance vector machine, for classes or numbers as the data have them.
#[derive(Clone, Debug)]
pub struct Rvm {
    /// The kernel.
    pub kernel: Kernel,
    /// Stop when no action raises the logarithm of the evidence by more than this.
    pub tolerance: f64,
    /// Actions after which an output stops unfinished.
    pub max_iterations: u64,
    /// Bytes for the kernel matrix; where it does not fit it is computed again in every round.
    pub cache_bytes: usize,
    /// Have an offset.
    pub offset: bool,
    /// Climbs from half of the best machine so far, for classes: the evidence has many maxima, and each may find a higher one.
    pub restarts: usize,
}

impl Default for Rvm {
    fn default() -> Self {
        Rvm { kernel: Kernel::gaussian(1.0), tolerance: 1e-3, max_iterations: 100_000, cache_bytes: 1 << 30, offset: true, restarts: 4 }
    }
}

/// What a run of one output needs to know.
struct Settings {
    tolerance: f64,
    max_iterations: u64,
    offset: bool,
    restarts: usize,
}

/// One output.
#[derive(Clone, Debug)]
struct Solved {
    /// Rows that are vectors, and their coefficients.
    rows: Vec<usize>,
    coefficients: Vec<f64>,
    offset: f64,
    /// The covariance of the coefficients and the offset, if there is one, in this order.
    covariance: Matrix,
    noise: f64,
    evidence: f64,
    actions: u64,
    status: Status,
}

impl Solved {
    fn new(model: Model, evidence: f64, actions: u64, status: Status) -> Self {
        let Model { basis, sigma, products, .. } = model;
        let constant = products.values().len() / basis.chosen.len().max(1);
        // The constant column is the last of all; it comes last here too.
        let mut order: Vec<usize> = (0..basis.chosen.len()).collect();
        order.sort_by_key(|&i| basis.chosen[i]);
        let is_constant = |i: &usize| basis.chosen[*i] + 1 == constant;
        let offset = order.iter().find(|i| is_constant(i)).map_or(0.0, |&i| basis.mean[i]);
        let inside: Vec<usize> = order.iter().copied().filter(|i| !is_constant(i)).collect();
        Solved {
            rows: inside.iter().map(|&i| basis.chosen[i]).collect(),
            coefficients: inside.iter().map(|&i| basis.mean[i]).collect(),
            offset,
            covariance: Matrix::from_fn(order.len(), order.len(), |i, j| sigma.at(order[i], order[j])),
            noise: 0.0,
            evidence,
            actions,
            status,
        }
    }

    /// A target that is the same in all rows: nothing to learn, and a density without a bound.
    fn constant(value: f64) -> Self {
        Solved {
            rows: vec![],
            coefficients: vec![],
            offset: value,
            covariance: Matrix::zeros(0, 0),
            noise: 0.0,
            evidence: 0.0,
            actions: 0,
            status: Status::Converged,
        }
    }

    /// The same for targets that were brought to mean 0 and deviation 1.
    fn rescaled(mut self, mean: f64, spread: f64, noise: f64) -> Self {
        self.coefficients.iter_mut().for_each(|w| *w *= spread);
        self.offset = mean + spread * self.offset;
        self.covariance.values_mut().iter_mut().for_each(|v| *v *= spread * spread);
        self.noise = noise * spread * spread;
        self
    }
}

impl Learner for Rvm {
    fn name(&self) -> &'static str {
        "rvm"
    }

    fn check(&self) -> Result<()> {
        self.kernel.check()?;
        require_positive("tolerance", self.tolerance)?;
        match self.kernel {
            Kernel::Precomputed(_) => Err(Error::Unsupported {
                method: self.name(),
                with: "a precomputed kernel".into(),
                instead: "use a kernel of two vectors, such as gaussian".into(),
            }),
            _ => Ok(()),
        }
    }

    fn learn(&self, data: &Dataset, watch: &Watch) -> Result<Fit> {
        self.check()?;
        data.check()?;
        let rows: Vec<usize> = (0..data.len()).filter(|&i| data.weight(i) > 0.0).collect();
        if rows.is_empty() {
            return Err(Error::data("no row has a weight above 0"));
        }
        let counted = data.select(&rows);
        let weights: Vec<f64> = (0..counted.len()).map(|i| counted.weight(i)).collect();
        let before = watch.evaluations();
        let (solved, decision) = match &counted.target {
            Target::Classes(_) => self.classes(&counted, &weights, watch)?,
            Target::Values(values) => (self.values(&counted, values, &weights, watch)?, Decision::Values),
            Target::None => return Err(Error::data("this needs a label or a number for every row, but the data have none")),
        };
        let report = Report {
            objective: -solved.iter().map(|s| s.evidence).sum::<f64>(),
            dual_objective: None,
            iterations: solved.iter().map(|s| s.actions).sum(),
            status: watch.ended(solved.iter().fold(Status::Converged, |worst, s| worst.worse(s.status))),
            evaluations: watch.evaluations() - before,
            support: None,
        };
        let machine = self.assemble(&counted, &solved, decision, data.len(), report.objective);
        machine.check().map_err(|_| Error::data("the machine has numbers that are not finite; scale the data and targets"))?;
        Ok(Fit { machine, report })
    }
}

impl Rvm {
    fn settings(&self) -> Settings {
        Settings { tolerance: self.tolerance, max_iterations: self.max_iterations, offset: self.offset, restarts: self.restarts }
    }

    fn classes(&self, data: &Dataset, weights: &[f64], watch: &Watch) -> Result<(Vec<Solved>, Decision)> {
        let Classes { labels, codes } = check_classes(data)?;
        let design = self.design(data, watch);
        let solve = |class: usize, watch: &Watch| {
            let targets: Vec<f64> = codes.iter().map(|&code| f64::from(u8::from(code as usize == class))).collect();
            classification::solve(&design, &Sides { targets: &targets, weights }, &self.settings(), watch)
        };
        if let [negative, positive] = &labels[..] {
            let decision = Decision::Sign { negative: negative.clone(), positive: positive.clone() };
            return Ok((vec![solve(1, watch)?], decision));
        }
        Ok((side_by_side(labels.len(), solve, watch)?, Decision::Largest { labels: labels.clone() }))
    }

    fn values(&self, data: &Dataset, values: &Matrix, weights: &[f64], watch: &Watch) -> Result<Vec<Solved>> {
        let design = self.design(data, watch);
        let solve = |k: usize, watch: &Watch| regression::solve(&design, &values.col(k), weights, &self.settings(), watch);
        match values.cols() {
            1 => Ok(vec![solve(0, watch)?]),
            count => side_by_side(count, solve, watch),
        }
    }

    fn design<'a>(&self, data: &'a Dataset, watch: &Watch) -> Design<'a> {
        watch.report("kernel matrix", 0, None, None);
        Design::new(&self.kernel, &data.points, self.cache_bytes, watch)
    }

    /// All outputs on the union of their vectors.
    fn assemble(&self, data: &Dataset, solved: &[Solved], decision: Decision, rows: usize, objective: f64) -> Machine {
        let mut vectors: Vec<usize> = solved.iter().flat_map(|s| s.rows.iter().copied()).collect();
        vectors.sort_unstable();
        vectors.dedup();
        let place = |row: usize| vectors.partition_point(|&v| v < row);
        let mut coefficients = Matrix::zeros(vectors.len(), solved.len());
        for (k, s) in solved.iter().enumerate() {
            s.rows.iter().zip(&s.coefficients).for_each(|(&row, &w)| coefficients.row_mut(place(row))[k] = w);
        }
        let calibration = match decision {
            Decision::Values => Calibration::Normal { posteriors: solved.iter().map(|s| posterior(s, &place)).collect() },
            _ => Calibration::Sigmoid { a: vec![-1.0; solved.len()], b: vec![0.0; solved.len()] },
        };
        let metadata =
            Metadata { learner: Some(self.name().into()), n_rows: Some(rows), objective: Some(objective), ..Metadata::default() };
        Machine {
            expansion: Expansion {
                kernel: self.kernel.clone(),
                vectors: data.points.select(&vectors),
                coefficients: Coefficients::Dense(coefficients),
            },
            offsets: solved.iter().map(|s| s.offset).collect(),
            decision,
            scale: None,
            names: data.names.clone(),
            calibration: Some(calibration),
            metadata,
        }
    }
}

/// All outputs at once, each on a thread of its own.
fn side_by_side(count: usize, solve: impl Fn(usize, &Watch) -> Result<Solved> + Sync, watch: &Watch) -> Result<Vec<Solved>> {
    let (quiet, done) = (watch.silent(), std::sync::atomic::AtomicU64::new(0));
    let one = |k: usize| {
        let solved = solve(k, &quiet);
        let finished = done.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1;
        watch.report("outputs", finished, Some(count as u64), None);
        solved
    };
    let solved = (0..count).into_par_iter().with_max_len(1).map(one).collect();
    watch.evaluated(quiet.evaluations());
    solved
}

/// The uncertainty of one output; only the noise where rounding made the covariance indefinite.
fn posterior(solved: &Solved, place: &dyn Fn(usize) -> usize) -> Posterior {
    let m = solved.covariance.rows();
    match Cholesky::new(&solved.covariance).filter(|_| m > 0) {
        None => Posterior { noise: solved.noise, vectors: vec![], offset: false, factor: vec![] },
        Some(factor) => {
            let lower = factor.lower().matrix().clone();
            Posterior {
                noise: solved.noise,
                vectors: solved.rows.iter().map(|&row| place(row)).collect(),
                offset: m > solved.rows.len(),
                factor: (0..m).flat_map(|i| lower.row(i)[..=i].to_vec()).collect(),
            }
        }
    }
}
