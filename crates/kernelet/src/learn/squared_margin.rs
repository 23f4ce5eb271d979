//! The linear machine with squared slacks and a penalised offset, which Lee and Mangasarian solve in their reduced support vector machine.
//!
//! `min 1/2 (|w|^2 + b^2) + 1/2 sum_i c_i max(0, 1 - y_i (w.v_i + b))^2`. Wu2006 describes RSVM with the slacks of the support vector machine and
//! says only that its first term is `1/2 beta'beta` (section 4.2); the original has squared slacks and b^2 in the first term beside it.
//!
//! Newton's method: on the rows A = [V 1] that have an error the objective is a quadratic, minimal at `(I + A'CA)^-1 A'C y`. A step is
//! halved until the objective falls enough; where the rows with an error stay the same, the minimum is exact.
//!
//! Cost: n m^2 / 2 multiply-adds a step, some 5 to 15 steps; memory n m.
use super::{margin::MarginSolution, margin_problem::MarginProblem};
use crate::{
    linalg::{Cholesky, Matrix, dot, times, transposed_times, weighted_gram},
    watch::{Status, Watch},
};

/// Steps after which the last point is returned.
const STEPS: usize = 100;

/// The gap between primal and dual objective, as a fraction of the objective, at which the steps end.
const GAP: f64 = 1e-12;

/// The gap up to which a point counts as the solution where rounding ends the steps earlier.
const CLOSE: f64 = 1e-9;

/// Solves the problem, which has one term of margin 1 for each row; the multipliers are `c_i` times the slacks.
pub(crate) fn solve(problem: &MarginProblem, watch: &Watch) -> MarginSolution {
    let (n, m) = (problem.rows.rows(), problem.rows.cols());
    let rows = Matrix::from_fn(n, m + 1, |i, j| if j < m { problem.rows.at(i, j) } else { 1.0 });
    let mut best = at(problem, &rows, vec![0.0; m + 1], 0);
    for step in 1..=STEPS {
        if best.relative_gap() <= GAP {
            best.status = Status::Converged;
            break;
        }
        if watch.cancelled() {
            best.status = Status::Cancelled;
            break;
        }
        let before = point(&best);
        let Some(aim) = newton(problem, &rows, &best) else { break };
        let shorter = |halvings: i32| before.iter().zip(&aim).map(|(x, aim)| x + 0.5_f64.powi(halvings) * (aim - x)).collect();
        let next = (0..40).map(|halvings| at(problem, &rows, shorter(halvings), step)).find(|next| next.primal < best.primal);
        let Some(next) = next else { break };
        best = next;
    }
    if best.relative_gap() <= CLOSE {
        best.status = Status::Converged;
    }
    best
}

/// The weights and below them the offset.
fn point(solution: &MarginSolution) -> Vec<f64> {
    solution.weights.iter().copied().chain([solution.offset]).collect()
}

/// A point with its slacks and both objectives: the dual one is `sum a - 1/2 |A'(a y)|^2 - 1/2 sum a^2 / c`.
fn at(problem: &MarginProblem, rows: &Matrix, mut x: Vec<f64>, iterations: usize) -> MarginSolution {
    let outputs = times(rows, &x);
    let slack = |i: usize| (1.0 - problem.signs[i] * outputs[i]).max(0.0);
    let multipliers: Vec<f64> = (0..outputs.len()).map(|i| problem.costs[i] * slack(i)).collect();
    let loss: f64 = 0.5 * multipliers.iter().enumerate().map(|(i, a)| a * slack(i)).sum::<f64>();
    let signed: Vec<f64> = multipliers.iter().zip(problem.signs).map(|(a, y)| a * y).collect();
    let sum = transposed_times(rows, &signed);
    let (primal, dual) = (0.5 * dot(&x, &x) + loss, multipliers.iter().sum::<f64>() - 0.5 * dot(&sum, &sum) - loss);
    let offset = x.pop().unwrap_or(0.0);
    MarginSolution { weights: x, offset, multipliers, primal, dual, iterations, status: Status::IterationLimit }
}

/// The minimum of the quadratic of the rows that have an error.
fn newton(problem: &MarginProblem, rows: &Matrix, now: &MarginSolution) -> Option<Vec<f64>> {
    let active = |(a, c): (&f64, &f64)| if *a > 0.0 { *c } else { 0.0 };
    let weights: Vec<f64> = now.multipliers.iter().zip(problem.costs).map(active).collect();
    let mut square = weighted_gram(rows, &weights);
    (0..square.rows()).for_each(|i| square.row_mut(i)[i] += 1.0);
    let signed: Vec<f64> = weights.iter().zip(problem.signs).map(|(c, y)| c * y).collect();
    let mut right = Matrix::column(transposed_times(rows, &signed));
    Cholesky::new(&square)?.solve(&mut right);
    Some(right.into_values())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draw::Draw;

    fn problem(n: usize, m: usize) -> (Matrix, Vec<f64>, Vec<f64>) {
        let mut draw = Draw::seeded(3);
        let rows = Matrix::from_fn(n, m, |_, _| draw.normal());
        let signs: Vec<f64> = rows.iter().map(|row| if row[0] - 0.5 * row[1] + 0.6 * draw.normal() > 0.2 { 1.0 } else { -1.0 }).collect();
        let costs = (0..n).map(|_| draw.between(0.5, 3.0)).collect();
        (rows, signs, costs)
    }

    #[test]
    fn the_gradient_vanishes_by_definition_and_primal_and_dual_meet() {
        let (rows, signs, costs) = problem(60, 4);
        for factor in [1e-3, 1.0, 1e3] {
            let costs: Vec<f64> = costs.iter().map(|c| factor * c).collect();
            let found = solve(&MarginProblem { rows: &rows, signs: &signs, costs: &costs, margins: None }, &Watch::none());
            assert!(found.status == Status::Converged && found.iterations < 20, "{found:?}");
            // x - sum_i c_i max(0, 1 - y_i f_i) y_i [v_i, 1], one number after the other.
            let x = point(&found);
            for j in 0..5 {
                let part = |i: usize, j: usize| if j < 4 { rows.at(i, j) } else { 1.0 };
                let slope: f64 = (0..60)
                    .map(|i| {
                        let output: f64 = (0..5).map(|j| x[j] * part(i, j)).sum();
                        costs[i] * (1.0 - signs[i] * output).max(0.0) * signs[i] * part(i, j)
                    })
                    .sum();
                assert!((x[j] - slope).abs() < 1e-9 * (1.0 + slope.abs()), "{factor} {j}: {} {slope}", x[j]);
            }
        }
    }

    #[test]
    fn no_nearby_point_is_better() {
        let (rows, signs, costs) = problem(40, 3);
        let problem = MarginProblem { rows: &rows, signs: &signs, costs: &costs, margins: None };
        let found = solve(&problem, &Watch::none());
        let ones = Matrix::from_fn(40, 4, |i, j| if j < 3 { rows.at(i, j) } else { 1.0 });
        for j in 0..4 {
            for step in [-1e-3, 1e-3] {
                let mut moved = point(&found);
                moved[j] += step;
                assert!(at(&problem, &ones, moved, 0).primal > found.primal);
            }
        }
    }
}
