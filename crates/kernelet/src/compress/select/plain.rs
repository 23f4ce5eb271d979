//! Matching pursuit without backfitting: only the coefficient of the vector just taken is set, `w' += (r_i / k(x_i, x_i)) Phi(x_i)`
//! [Weston2004 (12)]. A vector may be taken again, so there are more steps than vectors.
use super::pursuit::Pursuit;
use crate::{
    Result,
    compress::{Budget, Path, Task, budget::Spending},
    draw::Draw,
    linalg::Matrix,
    machine::{Coefficients, Expansion},
    watch::{Status, Watch},
};

/// Steps for each vector after which the run ends: a vector that returns may explain less and less.
const STEPS_A_VECTOR: usize = 100;

/// The machine so far.
struct Run {
    chosen: Vec<usize>,
    /// One row of numbers for each chosen candidate.
    coefficients: Vec<f64>,
    residual: f64,
    levels: Vec<Expansion>,
    residuals: Vec<f64>,
}

/// The path of the plain form.
pub(super) fn pursue(method: &Pursuit, task: &Task, budget: &Budget, watch: &Watch) -> Result<Path> {
    let (gram, mut unexplained) = method.problem(task, watch)?;
    let (n, q, squares) = (gram.len(), unexplained.rows.rows(), gram.diagonal());
    let (spending, mut draw, mut column) = (Spending::begin(budget), Draw::seeded(method.seed), vec![0.0; n]);
    let mut run = Run { chosen: vec![], coefficients: vec![], residual: unexplained.start, levels: vec![], residuals: vec![] };
    let (most, mut status) = (budget.max_vectors.min(n), Status::IterationLimit);
    for _ in 0..STEPS_A_VECTOR * most {
        if watch.cancelled() {
            status = Status::Cancelled;
            break;
        }
        let best = method.best(&unexplained.rows, &squares, |i| squares[i] > 0.0, &mut draw);
        let enough = run.residual / unexplained.start <= budget.max_residual || spending.out_of_time();
        let (Some(k), false) = (best, enough) else {
            status = Status::Converged;
            break;
        };
        let place = run.chosen.iter().position(|&i| i == k).unwrap_or(run.chosen.len());
        if place == run.chosen.len() {
            run.keep(task, q);
            if place == most {
                status = Status::Converged;
                break;
            }
            run.chosen.push(k);
            run.coefficients.extend(vec![0.0; q]);
            watch.report("vectors", place as u64 + 1, Some(most as u64), Some(run.residual / unexplained.start));
        }
        gram.column(k, &mut column);
        watch.evaluated(n as u64);
        for output in 0..q {
            let value = unexplained.rows.at(output, k);
            let step = value / squares[k];
            run.residual = (run.residual - step * value).max(0.0);
            unexplained.rows.row_mut(output).iter_mut().zip(&column).for_each(|(r, c)| *r -= c * step);
            run.coefficients[place * q + output] += step;
        }
    }
    run.keep(task, q);
    let path = Path::list(task.machine, run.levels, run.residuals, unexplained.start);
    Ok(path.ended(run.chosen, status))
}

impl Run {
    /// Keeps the machine as the one of its size, unless that is already there.
    fn keep(&mut self, task: &Task, q: usize) {
        if self.chosen.len() > self.levels.len() {
            let coefficients = Coefficients::Dense(Matrix::new(self.coefficients.clone(), self.chosen.len(), q).unwrap_or_default());
            let vectors = task.candidates().select(&self.chosen);
            self.levels.push(Expansion { kernel: task.machine.expansion.kernel.clone(), vectors, coefficients });
            self.residuals.push(self.residual);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        compress::{Budget, Sparsifier, Task, select::Pursuit, toy},
        kernel::Kernel,
        machine::{residual, squared_norm},
        watch::Watch,
    };

    #[test]
    fn eq_12_residuals_are_the_distances_by_definition_and_backfitting_is_never_worse() {
        let machine = toy::machine(Kernel::gaussian(0.5), 40, 2);
        let start: f64 = squared_norm(&machine.expansion).unwrap().iter().sum();
        let run = |backfit| {
            Pursuit { backfit, ..Pursuit::default() }.sparsify(&Task::of(&machine), &Budget::vectors(10), &Watch::none()).unwrap()
        };
        let (plain, fitted) = (run(false), run(true));
        assert_eq!((plain.len(), plain.chosen.len()), (10, 10));
        assert_eq!(plain.chosen[0], fitted.chosen[0]);
        for (i, level) in plain.levels().into_iter().enumerate() {
            let direct = residual(&machine.expansion, &plain.machine(i).unwrap().expansion).unwrap();
            assert!((direct - level.residual).abs() < 1e-10 * start && level.n_vectors == i + 1, "{direct} {level:?}");
        }
        assert!(plain.levels()[9].residual > fitted.levels()[9].residual);
    }
}
