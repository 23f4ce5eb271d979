//! All vectors together: the second phase of construction, after any method, or a method of its own.
//!
//! The distance in feature space, or the squared error of the outputs on rows, is minimised over all vectors by L-BFGS. Coefficients are
//! eliminated: for each Z they are the best there are. The result is never farther away than the machine it began with.
//!
//! Most steps work in single precision, until the value falls by too little for it; the rest, and every coefficient and distance that is reported, are in
//! double precision. Outputs that have vectors of their own keep them: each is refined by itself, all of them side by side.
//! Cost of a step for N vectors of the machine, m small ones, d features: 2 N m d + m^3 / 3, about one evaluation a step.
use crate::parallel::*;

use super::{distance::Distance, fit::Fit, target::Target};
use crate::{
    Error, Named, Result,
    compress::{Task, select::one_output},
    linalg::{Ended, Lbfgs, Matrix, Minimum},
    machine::{Coefficients, Expansion, Machine, inner_products, residual},
    watch::{Status, Watch},
};

/// Steps that lower the value by less than this part of it are left to double precision.
const ROUGH: f64 = 1e-5;

/// The first step in double precision begins near the minimum.
const SHORTER: f64 = 0.1;

/// What is made small.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Objective {
    /// The distance of the weight vectors in feature space.
    #[default]
    Weights,
    /// The squared error of the outputs on the rows of the data.
    Outputs,
    /// The same, where rows near the decision count more: by 1 over 1 plus the square of their margin.
    Margins,
}

impl Named for Objective {
    const NAMES: &'static [(&'static str, Self)] =
        &[("weights", Objective::Weights), ("outputs", Objective::Outputs), ("margins", Objective::Margins)];
}

/// How vectors are refined.
#[derive(Clone, Debug)]
pub struct Refinement {
    /// What is made small.
    pub objective: Objective,
    /// Steps after which the vectors are taken as they are.
    pub max_steps: usize,
    /// Move coefficients together with the vectors, as in Burges' method, instead of eliminating them; for the distance of the weight vectors alone.
    pub joint: bool,
}

impl Default for Refinement {
    fn default() -> Self {
        Refinement { objective: Objective::Weights, max_steps: 200, joint: false }
    }
}

/// A refined machine.
#[derive(Clone, Debug)]
pub struct Refined {
    /// The machine.
    pub machine: Machine,
    /// Steps made; the most of any output that has vectors of its own.
    pub steps: usize,
    /// How the run ended.
    pub status: Status,
}

impl Refinement {
    /// An error when settings do not go together.
    pub fn check(&self) -> Result<()> {
        match self.joint && self.objective != Objective::Weights {
            true => Err(Error::parameter("joint", true, "false where outputs are compared; coefficients are eliminated there")),
            false => Ok(()),
        }
    }
}

/// The machine `small` with all its vectors moved; `task` has the machine that it stands for, and rows where outputs are compared.
pub fn refine(small: &Machine, how: &Refinement, task: &Task, watch: &Watch) -> Result<Refined> {
    how.check()?;
    task.check()?;
    let dense = small.expansion.coefficients.to_dense();
    if small.n_vectors() == 0 {
        return Ok(Refined { machine: small.clone(), steps: 0, status: Status::Converged });
    }
    match owners(&dense) {
        Some(owners) => each_alone(small, &owners, how, task, watch),
        None => together(small, how, task, watch),
    }
}

/// For each vector the one output that uses it; none where some vector is shared.
fn owners(coefficients: &Matrix) -> Option<Vec<usize>> {
    if coefficients.cols() < 2 {
        return None;
    }
    let owner = |row: &[f64]| {
        let mut used = (0..row.len()).filter(|&k| row[k] != 0.0);
        used.next().filter(|_| used.next().is_none())
    };
    coefficients.iter().map(owner).collect()
}

fn each_alone(small: &Machine, owners: &[usize], how: &Refinement, task: &Task, watch: &Watch) -> Result<Refined> {
    let (large, own) = (task.machine.expansion.coefficients.to_dense(), small.expansion.coefficients.to_dense());
    let one = |output: usize| -> Result<Option<(Vec<usize>, Refined)>> {
        let places: Vec<usize> = (0..owners.len()).filter(|&j| owners[j] == output).collect();
        let values = large.col(output);
        let used: Vec<usize> = (0..values.len()).filter(|&j| values[j] != 0.0).collect();
        if places.is_empty() || used.is_empty() {
            return Ok(None);
        }
        let mut machine = one_output(task.machine, &used, values);
        machine.offsets = vec![task.machine.offsets[output]];
        let part = one_output(small, &places, own.col(output));
        let refined = together(&part, how, &Task { machine: &machine, ..*task }, &watch.silent())?;
        Ok(Some((places, refined)))
    };
    let parts: Vec<_> = (0..own.cols()).into_par_iter().map(one).collect::<Result<_>>()?;
    let (mut vectors, mut coefficients) = (small.expansion.vectors.to_dense(), own);
    let (mut steps, mut status) = (0, Status::Converged);
    for (output, (places, refined)) in parts.into_iter().enumerate().filter_map(|(output, part)| Some((output, part?))) {
        let Expansion { vectors: moved, coefficients: beta, .. } = &refined.machine.expansion;
        let (moved, beta) = (moved.to_dense(), beta.to_dense());
        for (i, &place) in places.iter().enumerate() {
            vectors.row_mut(place).copy_from_slice(moved.row(i));
            coefficients.row_mut(place)[output] = beta.at(i, 0);
        }
        steps = steps.max(refined.steps);
        status = status.worse(refined.status);
    }
    let kernel = small.expansion.kernel.clone();
    let expansion = Expansion { kernel, vectors: vectors.into(), coefficients: Coefficients::Dense(coefficients) };
    Ok(Refined { machine: Machine { expansion, ..small.uncalibrated() }, steps, status })
}

fn together(small: &Machine, how: &Refinement, task: &Task, watch: &Watch) -> Result<Refined> {
    let target = Target::of(task, "refine")?;
    let start = target.inside(&small.expansion.vectors).into_values();
    let lbfgs = Lbfgs { max_iterations: how.max_steps, value_tolerance: 1e-7, first_step: 0.1 * target.radius, ..Lbfgs::default() };
    let keep_on = |step: usize, value: f64, _: &[f64]| {
        if watch.cancelled() {
            return false;
        }
        watch.report("refining", step as u64, Some(how.max_steps as u64), Some(value));
        !watch.cancelled()
    };
    let mut distance = Distance::new(&target);
    let (minimum, beta, before_and_after) = match how.objective {
        Objective::Weights if how.joint => {
            let (minimum, beta) = joint(&mut distance, small, start, &lbfgs, keep_on);
            (minimum, Some(beta), None)
        }
        Objective::Weights => {
            let minimum = eliminated(&mut distance, start, &lbfgs, keep_on);
            let beta = distance.coefficients(&minimum.point);
            (minimum, beta, None)
        }
        Objective::Outputs | Objective::Margins => {
            let Some(rows) = task.scaled_rows()? else {
                return Err(Error::parameter(
                    "objective",
                    "outputs",
                    "weights where there are no data; give the rows the outputs are to agree on",
                ));
            };
            let mut fit = Fit::new(task.machine, &target, &rows, how.objective == Objective::Margins)?;
            let minimum = lbfgs.minimise(start, |z, g| fit.eliminated(z, g), keep_on);
            let beta = fit.coefficients(&minimum.point);
            let before = fit.error_of(&inner_products(&small.expansion, &rows)?);
            let after = moved(small, &target, &minimum.point, beta.clone());
            let after = after.map_or(Ok(f64::INFINITY), |machine| inner_products(&machine.expansion, &rows).map(|f| fit.error_of(&f)))?;
            (minimum, beta, Some((before, after)))
        }
    };
    watch.evaluated((minimum.evaluations * small.n_vectors() * (task.machine.n_vectors() + small.n_vectors())) as u64);
    let status = match minimum.ended {
        Ended::Stopped => Status::Cancelled,
        Ended::Iterations => Status::Completed,
        _ => Status::Converged,
    };
    let unmoved = Refined { machine: small.uncalibrated(), steps: 0, status };
    let Some(machine) = moved(small, &target, &minimum.point, beta) else { return Ok(unmoved) };
    let (before, after) = match before_and_after {
        Some(both) => both,
        None => (residual(&task.machine.expansion, &small.expansion)?, residual(&task.machine.expansion, &machine.expansion)?),
    };
    Ok(if after <= before { Refined { machine, steps: minimum.iterations, status } } else { unmoved })
}

/// Vectors alone: in single precision while it separates up from down, then in double precision.
fn eliminated(distance: &mut Distance, start: Vec<f64>, lbfgs: &Lbfgs, mut keep_on: impl FnMut(usize, f64, &[f64]) -> bool) -> Minimum {
    distance.set_single(true);
    let rough = Lbfgs { value_tolerance: ROUGH, ..lbfgs.clone() };
    let first = rough.minimise(start, |z, g| distance.eliminated(z, g), &mut keep_on);
    distance.set_single(false);
    if first.ended == Ended::Stopped || first.iterations >= lbfgs.max_iterations {
        return first;
    }
    let done = first.iterations;
    let rest = Lbfgs { max_iterations: lbfgs.max_iterations - done, first_step: SHORTER * lbfgs.first_step, ..lbfgs.clone() };
    let second = rest.minimise(first.point, |z, g| distance.eliminated(z, g), |step, value, z| keep_on(done + step, value, z));
    Minimum { iterations: done + second.iterations, evaluations: first.evaluations + second.evaluations, ..second }
}

/// Vectors and coefficients together; coefficients are written in a unit in which they are as large as the vectors.
fn joint(
    distance: &mut Distance,
    small: &Machine,
    start: Vec<f64>,
    lbfgs: &Lbfgs,
    keep_on: impl FnMut(usize, f64, &[f64]) -> bool,
) -> (Minimum, Matrix) {
    let (numbers, q) = (start.len(), small.n_outputs());
    let begun = small.expansion.coefficients.to_dense();
    let mean_square = |values: &[f64]| values.iter().map(|v| v * v).sum::<f64>() / values.len().max(1) as f64;
    let unit = (mean_square(begun.values()) / mean_square(&start)).sqrt();
    let unit = if unit.is_finite() && unit > 0.0 { unit } else { 1.0 };
    let as_matrix = |values: &[f64]| Matrix::new(values.iter().map(|v| v * unit).collect(), begun.rows(), q).unwrap_or_default();
    let mut variables = start;
    variables.extend(begun.values().iter().map(|b| b / unit));
    let evaluate = |x: &[f64], gradient: &mut [f64]| {
        let value = distance.joint(&x[..numbers], &as_matrix(&x[numbers..]), gradient);
        gradient[numbers..].iter_mut().for_each(|g| *g *= unit);
        value
    };
    let mut minimum = lbfgs.minimise(variables, evaluate, keep_on);
    let beta = as_matrix(&minimum.point.split_off(numbers));
    (minimum, beta)
}

/// The machine on moved vectors; none without coefficients.
fn moved(small: &Machine, target: &Target, z: &[f64], beta: Option<Matrix>) -> Option<Machine> {
    let vectors = Matrix::new(z.to_vec(), small.n_vectors(), target.shift.len())?;
    let kernel = small.expansion.kernel.clone();
    let expansion = Expansion { kernel, vectors: target.outside(vectors), coefficients: Coefficients::Dense(beta?) };
    Some(Machine { expansion, ..small.uncalibrated() })
}
