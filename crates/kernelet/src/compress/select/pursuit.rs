//! Hyperplane matching pursuit: take, one after the other, the vector that explains most of what is still unexplained.
//!
//! For a machine with outputs `w_k = sum_i alpha_ik Phi(x_i)`, let `r_ik = <w_k - w'_k, Phi(x_i)>` be what the machine so far leaves
//! unexplained at candidate i. The next vector is the one with the largest `sum_k r_ik^2 / k(x_i, x_i)` [Weston2004 (13)]. With
//! backfitting all coefficients are then optimal again [Weston2004 (7)], and the factor that this takes gives the machines of all smaller
//! sizes for nothing. Without, only the new coefficient is set [Weston2004 (12)]; a vector may then return.
//!
//! Cost for N candidates, m vectors, q outputs: N N_v d for the first r (N_v vectors of the machine), then N m (d + m + q); memory N m.
//! The criterion of outputs needs the N x N matrix of inner products of the columns of kernel values: n N^2 more.
use super::{plain, separate};
use crate::parallel::*;

use crate::{
    Error, Named, Result,
    basis::{check_definite, gram::Gram, growth::Growth},
    compress::{Budget, Path, Sparsifier, Task, budget::Spending},
    data::Points,
    draw::Draw,
    kernel::block::{block, symmetric},
    linalg::{Matrix, dot, outer_product, rows_times},
    machine::{Expansion, inner_products, squared_norm},
    watch::{Status, Watch},
};

/// What "explains" means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Criterion {
    /// The distance of the weight vectors in feature space. [Weston2004 (13)]
    #[default]
    Weights,
    /// The same once all coefficients are refitted: r^2 over the squared distance of the candidate from the span.
    RefittedWeights,
    /// The squared difference of the outputs on the rows of the data: candidates are columns of kernel values.
    Outputs,
}

impl Named for Criterion {
    const NAMES: &'static [(&'static str, Self)] =
        &[("weights", Criterion::Weights), ("refitted-weights", Criterion::RefittedWeights), ("outputs", Criterion::Outputs)];
}

/// How several outputs share vectors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Outputs {
    /// One set of vectors for all. [Weston2004 (13)]
    #[default]
    Joint,
    /// Each output has its own; budgets are for each.
    Separate,
    /// Each output constructs its own, and all outputs are refitted on the vectors of all.
    Pooled,
}

impl Named for Outputs {
    const NAMES: &'static [(&'static str, Self)] =
        &[("joint", Outputs::Joint), ("separate", Outputs::Separate), ("pooled", Outputs::Pooled)];
}

/// Hyperplane matching pursuit.
#[derive(Clone, Debug)]
pub struct Pursuit {
    /// What is made small.
    pub criterion: Criterion,
    /// How several outputs share vectors.
    pub outputs: Outputs,
    /// Refit all coefficients after each vector.
    pub backfit: bool,
    /// Look at a random sample of this many candidates in each step: the best of 59 is among the best 5 % with probability 0.95.
    /// None: at all.
    pub sample: Option<usize>,
    /// Seed of the samples.
    pub seed: u64,
}

impl Default for Pursuit {
    fn default() -> Self {
        Pursuit { criterion: Criterion::Weights, outputs: Outputs::Joint, backfit: true, sample: None, seed: 0 }
    }
}

impl Sparsifier for Pursuit {
    fn name(&self) -> &'static str {
        "pursuit"
    }

    fn check(&self) -> Result<()> {
        if self.sample == Some(0) {
            return Err(Error::parameter("sample", 0, "at least 1"));
        }
        if self.outputs == Outputs::Pooled {
            return Err(Error::parameter("outputs", "pooled", "joint or separate with pursuit; pooled goes with fixed-point and gradient"));
        }
        match self.backfit || self.criterion == Criterion::Weights {
            true => Ok(()),
            false => Err(Error::parameter("backfit", false, "true with this criterion; the plain form goes with the criterion weights")),
        }
    }

    fn sparsify(&self, task: &Task, budget: &Budget, watch: &Watch) -> Result<Path> {
        self.check()?;
        budget.check()?;
        task.check()?;
        if self.criterion != Criterion::Outputs {
            check_definite(&task.machine.expansion.kernel)?;
        }
        let q = task.machine.n_outputs();
        match self.outputs {
            Outputs::Separate if q > 1 => separate::pursue(self, task, budget, watch),
            _ if self.backfit => self.joint(task, budget, watch),
            _ => plain::pursue(self, task, budget, watch),
        }
    }
}

/// What is to be explained, for each output a row over all candidates.
pub(super) struct Unexplained {
    pub rows: Matrix,
    /// The sum of squares of the target: the residual without vectors.
    pub start: f64,
}

impl Pursuit {
    fn joint(&self, task: &Task, budget: &Budget, watch: &Watch) -> Result<Path> {
        let expansion = &task.machine.expansion;
        let (gram, mut unexplained) = self.problem(task, watch)?;
        let start = unexplained.start;
        let mut growth = Growth::new(gram);
        let (coordinates, residuals, status) = self.grow(&mut growth, &mut unexplained, budget, watch);
        let (factor, chosen) = growth.into_factor();
        let vectors = task.candidates().select(&chosen);
        let coordinates = Matrix::new(coordinates, chosen.len(), expansion.coefficients.n_outputs()).unwrap_or_default();
        if self.criterion != Criterion::Outputs {
            let path = Path::nested(task.machine, vectors, factor, coordinates, residuals, start);
            return Ok(path.ended(chosen, status));
        }
        let norm: f64 = squared_norm(expansion)?.iter().sum();
        let path = Path::nested(task.machine, vectors.clone(), factor, coordinates, residuals, norm);
        let residuals = residuals_of(&path, expansion, &vectors, norm)?;
        Ok(path.with_residuals(residuals).ended(chosen, status))
    }

    /// The inner products of the candidates and what is to be explained at the start.
    pub(super) fn problem<'a>(&self, task: &Task<'a>, watch: &Watch) -> Result<(Gram<'a>, Unexplained)> {
        let expansion = &task.machine.expansion;
        let candidates = task.candidates();
        watch.evaluated((candidates.len() * expansion.vectors.len()) as u64);
        if self.criterion != Criterion::Outputs {
            let rows = inner_products(expansion, candidates)?.transposed();
            return Ok((Gram::of(&expansion.kernel, candidates), Unexplained { rows, start: squared_norm(expansion)?.iter().sum() }));
        }
        let Some(rows) = task.scaled_rows()? else {
            return Err(Error::parameter(
                "criterion",
                "outputs",
                "weights where there are no data; give the rows the outputs are to agree on",
            ));
        };
        let columns = block(&expansion.kernel, candidates, &rows);
        let outputs = inner_products(expansion, &rows)?.transposed();
        watch.evaluated((candidates.len() * rows.len()) as u64);
        let gram = outer_product(&columns);
        let start = outputs.values().iter().map(|v| v * v).sum();
        Ok((Gram::Matrix(gram), Unexplained { rows: rows_times(&outputs, &columns), start }))
    }

    /// The loop: choose, project, take off. Gives the coordinates of all outputs on the new axes, row by row, and the residuals.
    fn grow(&self, growth: &mut Growth, unexplained: &mut Unexplained, budget: &Budget, watch: &Watch) -> (Vec<f64>, Vec<f64>, Status) {
        let spending = Spending::begin(budget);
        let mut draw = Draw::seeded(self.seed);
        let (mut coordinates, mut residuals) = (vec![], vec![]);
        let mut residual = unexplained.start;
        let total = budget.max_vectors.min(growth.candidates()) as u64;
        while !spending.is_spent(growth.chosen().len(), residual / unexplained.start) {
            if watch.cancelled() {
                return (coordinates, residuals, Status::Cancelled);
            }
            let divisors = if self.criterion == Criterion::RefittedWeights { growth.gaps() } else { growth.squares() };
            let Some(k) = self.best(&unexplained.rows, divisors, |i| !growth.is_dependent(i), &mut draw) else { break };
            let root = growth.gaps()[k].sqrt();
            let y: Vec<f64> = unexplained.rows.iter().map(|row| row[k] / root).collect();
            if !growth.choose(k) {
                break;
            }
            watch.evaluated(growth.candidates() as u64);
            for (output, y) in y.iter().enumerate() {
                unexplained.rows.row_mut(output).iter_mut().zip(growth.axis()).for_each(|(r, a)| *r -= a * y);
            }
            residual = (residual - dot(&y, &y)).max(0.0);
            coordinates.extend_from_slice(&y);
            residuals.push(residual);
            watch.report("vectors", residuals.len() as u64, Some(total), Some(residual / unexplained.start));
        }
        (coordinates, residuals, Status::Converged)
    }

    /// The candidate with the largest sum of squares over its divisor, among all that are free or a sample of them; none when no one is.
    pub(super) fn best(&self, unexplained: &Matrix, divisors: &[f64], is_free: impl Fn(usize) -> bool, draw: &mut Draw) -> Option<usize> {
        let free: Vec<usize> = (0..divisors.len()).filter(|&i| is_free(i)).collect();
        let sampled: Vec<usize> = match self.sample {
            Some(size) if size < free.len() => (0..size).map(|_| free[draw.below(free.len())]).collect(),
            _ => free,
        };
        let gain = |i: usize| unexplained.iter().map(|row| row[i] * row[i]).sum::<f64>() / divisors[i];
        let gains = sampled.into_iter().map(|i| (gain(i), i));
        gains.reduce(|best, next| if next.0 > best.0 { next } else { best }).map(|(_, i)| i)
    }
}

/// `||w||^2 - 2 <w, w'> + ||w'||^2` at every size, from the values of the target at the vectors and their kernel matrix.
fn residuals_of(path: &Path, expansion: &Expansion, vectors: &Points, norm: f64) -> Result<Vec<f64>> {
    let (values, matrix) = (inner_products(expansion, vectors)?, symmetric(&expansion.kernel, vectors));
    let residual = |i: usize| {
        let beta = path.coefficients(i).transposed();
        let mut residual = norm;
        for (k, beta) in beta.iter().enumerate() {
            for (j, b) in beta.iter().enumerate() {
                residual += b * (dot(&matrix.row(j)[..beta.len()], beta) - 2.0 * values.at(j, k));
            }
        }
        residual.max(0.0)
    };
    Ok((0..path.len()).into_par_iter().map(residual).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{compress::toy, kernel::Kernel, linalg::Cholesky, machine::residual};

    fn kernels() -> Vec<Kernel> {
        Kernel::examples().into_iter().filter(|k| k.profile().definite() && k.name() != "precomputed" && k.name() != "linear").collect()
    }

    #[test]
    fn residuals_are_the_distances_by_definition_and_never_rise() {
        for kernel in kernels() {
            let machine = toy::machine(kernel, 30, 2);
            for criterion in [Criterion::Weights, Criterion::RefittedWeights] {
                let path =
                    Pursuit { criterion, ..Pursuit::default() }.sparsify(&Task::of(&machine), &Budget::vectors(8), &Watch::none()).unwrap();
                let start: f64 = squared_norm(&machine.expansion).unwrap().iter().sum();
                let mut last = start;
                for (i, level) in path.levels().into_iter().enumerate() {
                    let direct = residual(&machine.expansion, &path.machine(i).unwrap().expansion).unwrap();
                    assert!((direct - level.residual).abs() < 1e-10 * start, "{direct} {level:?}");
                    assert!(level.residual <= last && level.n_vectors == i + 1);
                    last = level.residual;
                }
            }
        }
    }

    #[test]
    fn eq_7_coefficients_solve_the_normal_equations_at_every_size() {
        for kernel in kernels() {
            let machine = toy::machine(kernel, 30, 2);
            let path = Pursuit::default().sparsify(&Task::of(&machine), &Budget::vectors(8), &Watch::none()).unwrap();
            for m in 1..=path.len() {
                let small = path.at(m).unwrap().expansion;
                let mut beta = inner_products(&machine.expansion, &small.vectors).unwrap();
                let size = beta.values().iter().fold(0.0, |a: f64, b| a.max(b.abs()));
                let have = inner_products(&small, &small.vectors).unwrap();
                have.values().iter().zip(beta.values()).for_each(|(a, b)| assert!((a - b).abs() < 1e-7 * size, "{a} {b}"));
                // (K^z)^-1 K^zx alpha, solved directly.
                if let Some(factor) = Cholesky::new(&symmetric(&small.kernel, &small.vectors)) {
                    factor.solve(&mut beta);
                    let size = beta.values().iter().fold(0.0, |a: f64, b| a.max(b.abs()));
                    let have = small.coefficients.to_dense();
                    have.values().iter().zip(beta.values()).for_each(|(a, b)| assert!((a - b).abs() < 1e-5 * size, "{m} {a} {b}"));
                }
            }
        }
    }

    /// Orthogonal matching pursuit with explicit vectors: the columns of a square root of K, projected anew in every step.
    fn explicit_choice(machine: &crate::machine::Machine, m: usize) -> Vec<usize> {
        let n = machine.expansion.vectors.len();
        let k = symmetric(&machine.expansion.kernel, &machine.expansion.vectors);
        let phi = Cholesky::new(&k).unwrap().lower();
        let alpha = machine.expansion.coefficients.to_dense();
        let w = |output: usize| -> Vec<f64> { (0..n).map(|c| (0..n).map(|i| alpha.at(i, output) * phi.matrix().at(i, c)).sum()).collect() };
        let mut unexplained: Vec<Vec<f64>> = (0..alpha.cols()).map(w).collect();
        let (mut chosen, mut basis): (Vec<usize>, Vec<Vec<f64>>) = (vec![], vec![]);
        for _ in 0..m {
            let gain = |i: usize| {
                let x = phi.matrix().row(i);
                unexplained.iter().map(|r| dot(r, x).powi(2)).sum::<f64>() / dot(x, x)
            };
            let best = (0..n).filter(|i| !chosen.contains(i)).max_by(|&i, &j| gain(i).total_cmp(&gain(j))).unwrap();
            let mut axis = phi.matrix().row(best).to_vec();
            for b in &basis {
                let part = dot(b, &axis);
                axis.iter_mut().zip(b).for_each(|(a, b)| *a -= part * b);
            }
            let norm = dot(&axis, &axis).sqrt();
            axis.iter_mut().for_each(|a| *a /= norm);
            for r in &mut unexplained {
                let part = dot(r, &axis);
                r.iter_mut().zip(&axis).for_each(|(r, a)| *r -= part * a);
            }
            basis.push(axis);
            chosen.push(best);
        }
        chosen
    }

    #[test]
    fn eq_13_picks_what_matching_pursuit_with_explicit_vectors_picks() {
        for outputs in [1, 3] {
            let machine = toy::machine(Kernel::gaussian(0.5), 40, outputs);
            let want = explicit_choice(&machine, 12);
            let path = Pursuit::default().sparsify(&Task::of(&machine), &Budget::vectors(12), &Watch::none()).unwrap();
            let have = path.at(12).unwrap().expansion.vectors.to_dense();
            assert_eq!(have, machine.expansion.vectors.select(&want).to_dense());
        }
    }

    #[test]
    fn the_criterion_of_outputs_fits_the_outputs_best_at_every_size() {
        let machine = toy::machine(Kernel::gaussian(0.5), 30, 2);
        let data = toy::rows(80);
        let task = Task { data: Some(&data), ..Task::of(&machine) };
        let by = |criterion| Pursuit { criterion, ..Pursuit::default() }.sparsify(&task, &Budget::vectors(10), &Watch::none()).unwrap();
        let path = by(Criterion::Outputs);
        let want = machine.outputs_for(&data.points).unwrap();
        for (i, level) in path.levels().into_iter().enumerate() {
            let small = path.machine(i).unwrap();
            let direct = residual(&machine.expansion, &small.expansion).unwrap();
            assert!((direct - level.residual).abs() < 1e-8 * path.levels()[0].residual.max(1.0), "{direct} {level:?}");
            // Optimal coefficients: the error is orthogonal to every column of kernel values.
            let have = small.outputs_for(&data.points).unwrap();
            let columns = block(&small.expansion.kernel, &small.expansion.vectors, &data.points);
            for k in 0..2 {
                let error: Vec<f64> = want.col(k).iter().zip(have.col(k)).map(|(a, b)| a - b).collect();
                assert!(columns.iter().all(|c| dot(c, &error).abs() < 1e-6), "{i}");
            }
        }
        assert!(
            Pursuit { criterion: Criterion::Outputs, ..Pursuit::default() }
                .sparsify(&Task::of(&machine), &Budget::vectors(3), &Watch::none())
                .is_err()
        );
    }

    #[test]
    fn samples_are_seeded_and_budgets_of_residual_are_kept() {
        let machine = toy::machine(Kernel::gaussian(0.5), 60, 1);
        let run = |seed| {
            let method = Pursuit { sample: Some(5), seed, ..Pursuit::default() };
            method.sparsify(&Task::of(&machine), &Budget::vectors(10), &Watch::none()).unwrap().last().unwrap()
        };
        assert_eq!(run(1), run(1));
        assert_ne!(run(1), run(2));
        let budget = Budget { max_residual: 0.3, ..Budget::default() };
        let levels = Pursuit::default().sparsify(&Task::of(&machine), &budget, &Watch::none()).unwrap().levels();
        assert!(levels[levels.len() - 1].relative_residual <= 0.3 && levels[levels.len() - 2].relative_residual > 0.3);
    }

    #[test]
    fn a_budget_above_what_exists_ends_where_nothing_is_left() {
        let machine = toy::machine(Kernel::gaussian(0.5), 12, 1);
        let path = Pursuit::default().sparsify(&Task::of(&machine), &Budget::vectors(100), &Watch::none()).unwrap();
        assert!(path.len() <= 12 && path.levels().last().unwrap().relative_residual < 1e-9);
    }
}
