//! The linear support vector machine on given coordinates, by the rows that can have a multiplier.
//!
//! A row beyond its margin has the multiplier 0, and without it the solution is the same. A sample of the rows gives a rough machine; the interior-point method
//! ([`margin`]) then sees the rows that are near the margin or on its wrong side, and the others are only checked: as long as some of them violate the margin,
//! they join. The end is exact: where no row that was left out violates the margin, primal and dual are those of all rows.
//!
//! Cost: n m for each check, and a m^2 / 2 for each of 10 to 30 iterations with a rows near the margin, where the method on all rows has n m^2 / 2.
use super::{
    margin::{self, MarginSettings, MarginSolution},
    margin_problem::MarginProblem,
};
use crate::{linalg::Matrix, watch::Watch};

/// With fewer rows than this, or fewer for each coordinate, all of them are solved for at once.
const FEWEST: usize = 1_000;
const FEWEST_A_COORDINATE: usize = 4;

/// One row of so many is in the sample.
const SAMPLED: usize = 8;

/// The gap of the rough machines.
const ROUGH: f64 = 1e-2;

/// Rows that a rough machine has at most this far beyond the margin, in units of the largest one, may come to it.
const NEAR: f64 = 0.5;

/// Rounds after which all rows are solved for.
const ROUNDS: usize = 8;

/// Solves the problem. Both signs must occur.
pub(crate) fn solve(problem: &MarginProblem, settings: &MarginSettings, watch: &Watch) -> MarginSolution {
    let n = problem.len();
    let whole = || margin::solve(problem, settings, None, watch);
    if n < FEWEST.max(FEWEST_A_COORDINATE * problem.rows.cols()) {
        return whole();
    }
    let mut used: Vec<usize> = (0..n).step_by(SAMPLED).collect();
    let (mut rough, near) = (true, NEAR * problem.size());
    for _ in 0..ROUNDS {
        let part = Part::of(problem, &used);
        if watch.cancelled() || 2 * used.len() > n || !part.has_both_signs() {
            break;
        }
        let settings = if rough { MarginSettings { gap: ROUGH, ..*settings } } else { *settings };
        let solution = margin::solve(&part.problem(), &settings, None, watch);
        let values = problem.values(&solution.weights);
        let margin_of = |i: usize| problem.signs[i] * (values[i] + solution.offset) - problem.margin(i);
        if rough {
            used = (0..n).filter(|&i| margin_of(i) < near).collect();
            rough = false;
            continue;
        }
        let mut is_used = vec![false; n];
        used.iter().for_each(|&i| is_used[i] = true);
        let more: Vec<usize> = (0..n).filter(|&i| !is_used[i] && margin_of(i) < 0.0).collect();
        if more.is_empty() {
            return part.spread(solution, n);
        }
        used.extend(more);
        used.sort_unstable();
    }
    whole()
}

/// A problem of some of the rows.
struct Part<'a> {
    used: &'a [usize],
    rows: Matrix,
    signs: Vec<f64>,
    costs: Vec<f64>,
    margins: Vec<f64>,
}

impl<'a> Part<'a> {
    fn of(problem: &MarginProblem, used: &'a [usize]) -> Self {
        let of = |values: &[f64]| used.iter().map(|&i| values[i]).collect();
        let rows: Vec<usize> = used.iter().map(|&i| problem.row(i)).collect();
        let margins = used.iter().map(|&i| problem.margin(i)).collect();
        Part { used, rows: problem.rows.select(&rows), signs: of(problem.signs), costs: of(problem.costs), margins }
    }

    fn problem(&self) -> MarginProblem<'_> {
        MarginProblem { rows: &self.rows, signs: &self.signs, costs: &self.costs, margins: Some(&self.margins) }
    }

    fn has_both_signs(&self) -> bool {
        self.signs.iter().any(|y| *y > 0.0) && self.signs.iter().any(|y| *y < 0.0)
    }

    /// The solution for all rows: those left out have the multiplier 0.
    fn spread(&self, solution: MarginSolution, n: usize) -> MarginSolution {
        let mut multipliers = vec![0.0; n];
        self.used.iter().zip(&solution.multipliers).for_each(|(&i, a)| multipliers[i] = *a);
        MarginSolution { multipliers, ..solution }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{draw::Draw, linalg::dot, watch::Status};

    fn problem(n: usize, m: usize, apart: f64) -> (Matrix, Vec<f64>, Vec<f64>) {
        let mut draw = Draw::seeded(5);
        let signs: Vec<f64> = (0..n).map(|_| if draw.below(4) == 0 { 1.0 } else { -1.0 }).collect();
        let rows = Matrix::from_fn(n, m, |i, j| draw.normal() + if j == 0 { apart * signs[i] } else { 0.0 });
        (rows, signs, (0..n).map(|i| 0.5 + (i % 3) as f64).collect())
    }

    #[test]
    fn the_solution_is_that_of_all_rows_whether_few_or_many_count() {
        for apart in [0.3, 1.0, 2.0, 6.0] {
            let (rows, signs, costs) = problem(3000, 5, apart);
            let problem = MarginProblem { rows: &rows, signs: &signs, costs: &costs, margins: None };
            let settings = MarginSettings::default();
            let (found, want) = (solve(&problem, &settings, &Watch::none()), margin::solve(&problem, &settings, None, &Watch::none()));
            assert_eq!(found.status, Status::Converged);
            assert!((found.primal - want.primal).abs() < 1e-8 * want.primal, "{apart}: {} {}", found.primal, want.primal);
            // The objective and the bounds as defined, over all rows.
            let loss = |i: usize| costs[i] * (1.0 - signs[i] * (dot(rows.row(i), &found.weights) + found.offset)).max(0.0);
            let primal = 0.5 * dot(&found.weights, &found.weights) + (0..3000).map(loss).sum::<f64>();
            assert!((primal - found.primal).abs() < 1e-9 * primal, "{apart}: {primal} {}", found.primal);
            assert!(found.multipliers.iter().zip(&costs).all(|(a, c)| (0.0..=c * (1.0 + 1e-12)).contains(a)));
            let weights: Vec<f64> = (0..5).map(|j| (0..3000).map(|i| found.multipliers[i] * signs[i] * rows.at(i, j)).sum()).collect();
            let dual = found.multipliers.iter().sum::<f64>() - 0.5 * dot(&weights, &weights);
            assert!(primal - dual < 2e-9 * primal, "{apart}: {primal} {dual}");
        }
    }

    #[test]
    fn rows_that_the_sample_does_not_announce_join() {
        // The sample, one row of eight, is separated widely; one of the others lies on the wrong side.
        let n = 2000;
        let signs: Vec<f64> = (0..n).map(|i| if i % 16 < 8 { 1.0 } else { -1.0 }).collect();
        let rows = Matrix::from_fn(n, 2, |i, j| if j == 0 { signs[i] * 3.0 } else { ((i % 7) as f64 - 3.0) * 0.1 });
        let mut rows = rows;
        rows.row_mut(1001)[0] = -4.0 * signs[1001];
        let costs = vec![1.0; n];
        let problem = MarginProblem { rows: &rows, signs: &signs, costs: &costs, margins: None };
        let found = solve(&problem, &MarginSettings::default(), &Watch::none());
        let want = margin::solve(&problem, &MarginSettings::default(), None, &Watch::none());
        assert!(
            (found.primal - want.primal).abs() < 1e-8 * want.primal && found.multipliers[1001] > 0.5,
            "{} {}",
            found.primal,
            want.primal
        );
    }
}
