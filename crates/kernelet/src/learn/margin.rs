//! The linear support vector machine on given coordinates, to a small true duality gap.
//!
//! `min 1/2 |w|^2 + sum_i c_i max(0, t_i - y_i (w.v_i + b))` over w and the unpenalised b, for n rows v_i of m coordinates with m small. For classes all
//! margins t_i are 1, and in the coordinates of a [`Frame`](crate::basis::Frame) this is the best machine on given expansion vectors [Wu2006 (28)].
//! Regression with a tube of half-width epsilon has two terms a row: y = +1 with the margin `target - epsilon`, and y = -1 with `-target - epsilon`.
//!
//! A primal-dual interior-point method with Mehrotra's corrector. With multipliers a (0 <= a_i <= c_i), slacks s of the margins and xi of
//! the errors, one step solves, for `D = xi / (c - a) + s / a`, the (m + 1) x (m + 1) system of `[V 1]' D^-1 [V 1] + diag(I, 0)`. `c - a` is held as a
//! variable of its own: computed as a difference it would lose its digits near the bound. The run ends by the duality gap of the best
//! iterate, both sides of which are computed as defined, and not by residuals. The dual is
//! `max sum_i t_i a_i - 1/2 sum_ij a_i a_j y_i y_j v_i.v_j` [Wu2006 (37)] with `sum_i a_i y_i = 0` [Wu2006 (38)] and `0 <= a_i <= c_i` [Wu2006 (39)].
//!
//! Cost: n m^2 / 2 multiply-adds an iteration, 10 to 30 iterations; memory n m.
use super::margin_problem::{MarginProblem, best_offset};
use crate::{
    linalg::{Cholesky, Matrix, dot, weighted_gram},
    watch::{Status, Watch},
};

/// When to stop.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MarginSettings {
    /// Stop when the duality gap is at most this part of the objective.
    pub gap: f64,
    /// Steps after which the best point so far is returned.
    pub max_iterations: usize,
}

impl Default for MarginSettings {
    fn default() -> Self {
        MarginSettings { gap: 1e-9, max_iterations: 100 }
    }
}

/// The weights and how good they are.
#[derive(Clone, Debug)]
pub(crate) struct MarginSolution {
    pub weights: Vec<f64>,
    pub offset: f64,
    /// The multipliers a, between 0 and the costs; their signed sum is 0 up to rounding.
    pub multipliers: Vec<f64>,
    pub primal: f64,
    pub dual: f64,
    /// Steps made.
    pub iterations: usize,
    pub status: Status,
}

impl MarginSolution {
    /// The duality gap over the objective.
    pub fn relative_gap(&self) -> f64 {
        (self.primal - self.dual) / self.primal.abs().max(f64::MIN_POSITIVE)
    }
}

/// Solves the problem, from a solution of a similar one where there is one. Both signs must occur.
pub(crate) fn solve(problem: &MarginProblem, settings: &MarginSettings, start: Option<&MarginSolution>, watch: &Watch) -> MarginSolution {
    let mut point = Point::start(problem, start);
    let mut best = point.solution(problem, 0);
    let mut worse = 0;
    for iteration in 1..=settings.max_iterations {
        if best.relative_gap() <= settings.gap {
            best.status = Status::Converged;
            break;
        }
        if watch.cancelled() {
            best.status = Status::Cancelled;
            break;
        }
        if !point.step(problem) {
            break;
        }
        let now = point.solution(problem, iteration);
        // Primal and dual points need not belong together: the best of each bound the same optimum.
        match now.primal - now.dual < best.primal - best.dual {
            true => (best, worse) = (now, 0),
            false => worse += 1,
        }
        if worse == PATIENCE {
            break;
        }
    }
    if best.relative_gap() <= settings.gap {
        best.status = Status::Converged;
    }
    best
}

/// Steps without progress after which rounding has the upper hand.
const PATIENCE: usize = 5;

/// How near a start comes to the bounds, as a fraction of the cost.
const INSIDE: f64 = 1e-2;

/// An interior point.
struct Point {
    weights: Vec<f64>,
    offset: f64,
    multipliers: Vec<f64>,
    /// The slacks of the upper bounds: the costs less the multipliers.
    upper_slacks: Vec<f64>,
    slacks: Vec<f64>,
    errors: Vec<f64>,
}

/// The direction of a step.
struct Direction {
    weights: Vec<f64>,
    offset: f64,
    multipliers: Vec<f64>,
    slacks: Vec<f64>,
    errors: Vec<f64>,
}

impl Point {
    fn start(problem: &MarginProblem, start: Option<&MarginSolution>) -> Self {
        let (n, m, size) = (problem.len(), problem.rows.cols(), problem.size());
        let Some(earlier) = start.filter(|s| s.weights.len() == m && s.multipliers.len() == n) else {
            let half: Vec<f64> = problem.costs.iter().map(|c| 0.5 * c).collect();
            return Point {
                weights: vec![0.0; m],
                offset: 0.0,
                upper_slacks: half.clone(),
                multipliers: half,
                slacks: vec![size; n],
                errors: vec![size; n],
            };
        };
        let inside = |(a, c): (&f64, &f64)| a.clamp(INSIDE * c, (1.0 - INSIDE) * c);
        let multipliers: Vec<f64> = earlier.multipliers.iter().zip(problem.costs).map(inside).collect();
        let upper_slacks = multipliers.iter().zip(problem.costs).map(|(a, c)| c - a).collect();
        let values = problem.values(&earlier.weights);
        let margins: Vec<f64> = (0..n).map(|i| problem.signs[i] * (values[i] + earlier.offset) - problem.margin(i)).collect();
        let slacks = margins.iter().map(|z| z.max(0.0) + INSIDE * size).collect();
        let errors = margins.iter().map(|z| (-z).max(0.0) + INSIDE * size).collect();
        Point { weights: earlier.weights.clone(), offset: earlier.offset, multipliers, upper_slacks, slacks, errors }
    }

    /// The point made feasible on both sides, with the true objectives.
    fn solution(&self, problem: &MarginProblem, iterations: usize) -> MarginSolution {
        let multipliers = balanced(&self.multipliers, problem.signs);
        let signed: Vec<f64> = multipliers.iter().zip(problem.signs).map(|(a, y)| a * y).collect();
        let own = problem.sum(&signed);
        let dual = (0..problem.len()).map(|i| problem.margin(i) * multipliers[i]).sum::<f64>() - 0.5 * dot(&own, &own);
        // Near the end the weights that belong to the multipliers are as good as those of the point; the better pair counts.
        let of = |weights: Vec<f64>| {
            let values = problem.values(&weights);
            let offset = best_offset(&values, problem);
            let loss: f64 =
                (0..values.len()).map(|i| problem.costs[i] * (problem.margin(i) - problem.signs[i] * (values[i] + offset)).max(0.0)).sum();
            (0.5 * dot(&weights, &weights) + loss, weights, offset)
        };
        let (a, b) = (of(self.weights.clone()), of(own));
        let (primal, weights, offset) = if b.0 < a.0 { b } else { a };
        MarginSolution { weights, offset, multipliers, primal, dual, iterations, status: Status::IterationLimit }
    }

    /// One step with its corrector; false when the system cannot be solved.
    fn step(&mut self, problem: &MarginProblem) -> bool {
        let n = problem.len();
        let inverse: Vec<f64> =
            (0..n).map(|i| 1.0 / (self.errors[i] / self.upper_slacks[i] + self.slacks[i] / self.multipliers[i])).collect();
        let Some(system) = system(problem, &inverse) else { return false };
        let signed: Vec<f64> = self.multipliers.iter().zip(problem.signs).map(|(a, y)| a * y).collect();
        let mut unbalanced = problem.sum(&signed);
        unbalanced.iter_mut().zip(&self.weights).for_each(|(u, w)| *u -= w);
        unbalanced.push(signed.iter().sum());
        let values = problem.values(&self.weights);
        // -r + xi - s, where r = y (f + b) - t + xi - s says how far the margins are from being kept.
        let base: Vec<f64> = (0..n).map(|i| problem.margin(i) - problem.signs[i] * (values[i] + self.offset)).collect();
        let mean = self.complementarity();
        let zero = vec![(0.0, 0.0); n];
        let predictor = self.direction(problem, &system, &inverse, &unbalanced, &base, &zero);
        let reached = self.moved(&predictor, self.longest(&predictor)).complementarity();
        let target = mean * (reached / mean).powi(3);
        let corrections: Vec<(f64, f64)> = (0..n)
            .map(|i| {
                let a = predictor.multipliers[i];
                ((target - a * predictor.slacks[i]) / self.multipliers[i], (target + a * predictor.errors[i]) / self.upper_slacks[i])
            })
            .collect();
        let corrector = self.direction(problem, &system, &inverse, &unbalanced, &base, &corrections);
        let step = 0.995 * self.longest(&corrector);
        if !step.is_finite() || step <= 1e-12 {
            return false;
        }
        *self = self.moved(&corrector, step);
        true
    }

    /// Solves for the direction whose products of multipliers and slacks, and of upper slacks and errors, move towards the given corrections.
    fn direction(
        &self,
        problem: &MarginProblem,
        system: &Cholesky,
        inverse: &[f64],
        unbalanced: &[f64],
        base: &[f64],
        corrections: &[(f64, f64)],
    ) -> Direction {
        let n = base.len();
        let aims: Vec<f64> = (0..n).map(|i| base[i] + corrections[i].0 - corrections[i].1).collect();
        let terms: Vec<f64> = (0..n).map(|i| problem.signs[i] * aims[i] * inverse[i]).collect();
        let mut right = problem.sum(&terms);
        right.push(terms.iter().sum());
        right.iter_mut().zip(unbalanced).for_each(|(r, u)| *r += u);
        let mut solved = Matrix::column(right);
        system.solve(&mut solved);
        let mut weights = solved.into_values();
        let offset = weights.pop().unwrap_or(0.0);
        let values = problem.values(&weights);
        let multipliers: Vec<f64> = (0..n).map(|i| (aims[i] - problem.signs[i] * (values[i] + offset)) * inverse[i]).collect();
        let slack = |i: usize| corrections[i].0 - self.slacks[i] - self.slacks[i] / self.multipliers[i] * multipliers[i];
        let error = |i: usize| corrections[i].1 - self.errors[i] + self.errors[i] / self.upper_slacks[i] * multipliers[i];
        Direction { slacks: (0..n).map(slack).collect(), errors: (0..n).map(error).collect(), weights, offset, multipliers }
    }

    /// The longest step, up to 1, that stays inside all bounds.
    fn longest(&self, direction: &Direction) -> f64 {
        let limit = |values: &[f64], steps: &[f64], sign: f64| {
            values.iter().zip(steps).fold(1.0, |longest: f64, (v, d)| if sign * d < 0.0 { longest.min(v / (-sign * d)) } else { longest })
        };
        limit(&self.multipliers, &direction.multipliers, 1.0)
            .min(limit(&self.upper_slacks, &direction.multipliers, -1.0))
            .min(limit(&self.slacks, &direction.slacks, 1.0))
            .min(limit(&self.errors, &direction.errors, 1.0))
    }

    fn moved(&self, direction: &Direction, step: f64) -> Point {
        let along = |values: &[f64], steps: &[f64], step: f64| values.iter().zip(steps).map(|(v, d)| v + step * d).collect();
        Point {
            weights: along(&self.weights, &direction.weights, step),
            offset: self.offset + step * direction.offset,
            multipliers: along(&self.multipliers, &direction.multipliers, step),
            upper_slacks: along(&self.upper_slacks, &direction.multipliers, -step),
            slacks: along(&self.slacks, &direction.slacks, step),
            errors: along(&self.errors, &direction.errors, step),
        }
    }

    /// The mean product that should become zero.
    fn complementarity(&self) -> f64 {
        (dot(&self.multipliers, &self.slacks) + dot(&self.upper_slacks, &self.errors)) / (2 * self.slacks.len().max(1)) as f64
    }
}

/// The factor of `[V 1]' D^-1 [V 1] + diag(I, 0)`.
fn system(problem: &MarginProblem, inverse: &[f64]) -> Option<Cholesky> {
    let m = problem.rows.cols();
    let (inner, border) = (weighted_gram(problem.rows, &problem.by_row(inverse)), problem.sum(inverse));
    let corner: f64 = inverse.iter().sum();
    let whole = Matrix::from_fn(m + 1, m + 1, |i, j| match (i == m, j == m) {
        (false, false) if j <= i => inner.at(i, j) + f64::from(i == j),
        (true, false) => border[j],
        (true, true) => corner,
        _ => 0.0,
    });
    Cholesky::new(&whole)
}

/// Multipliers whose signed sum is zero: the heavier side is scaled down, which keeps all bounds.
fn balanced(multipliers: &[f64], signs: &[f64]) -> Vec<f64> {
    let side = |positive: bool| -> f64 { multipliers.iter().zip(signs).filter(|(_, y)| (**y > 0.0) == positive).map(|(a, _)| a).sum() };
    let (up, down) = (side(true), side(false));
    let factor = |y: f64| if y > 0.0 { (down / up).min(1.0) } else { (up / down).min(1.0) };
    multipliers.iter().zip(signs).map(|(a, y)| a * factor(*y)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        data::{Classes, Dataset, Target},
        draw::Draw,
        kernel::Kernel,
        learn::{Learner, Svc},
    };

    fn cloud(n: usize, m: usize, overlap: f64, seed: u64) -> (Matrix, Vec<f64>) {
        let mut draw = Draw::seeded(seed);
        let signs: Vec<f64> = (0..n).map(|_| if draw.chance(0.4) { 1.0 } else { -1.0 }).collect();
        let rows = Matrix::from_fn(n, m, |i, j| draw.normal() * overlap + if j == 0 { signs[i] } else { 0.0 });
        (rows, signs)
    }

    #[test]
    fn eq_37_38_39_the_dual_value_is_that_written_out_and_the_multipliers_are_feasible() {
        let (rows, signs) = cloud(60, 4, 1.0, 5);
        let costs = [0.7; 60];
        let found = solve(
            &MarginProblem { rows: &rows, signs: &signs, costs: &costs, margins: None },
            &MarginSettings::default(),
            None,
            &Watch::none(),
        );
        let a = &found.multipliers;
        let pair = |i: usize, j: usize| a[i] * a[j] * signs[i] * signs[j] * dot(rows.row(i), rows.row(j));
        let quadratic: f64 = (0..60).flat_map(|i| (0..60).map(move |j| (i, j))).map(|(i, j)| pair(i, j)).sum();
        let dual = a.iter().sum::<f64>() - 0.5 * quadratic;
        assert!((dual - found.dual).abs() < 1e-10 * dual && (dual - found.primal).abs() < 1e-8 * dual, "{dual} {found:?}");
        assert!(a.iter().zip(&signs).map(|(a, y)| a * y).sum::<f64>().abs() < 1e-10);
        assert!(a.iter().all(|a| (0.0..=0.7).contains(a)) && a.iter().any(|a| *a > 0.69));
    }

    #[test]
    fn the_gap_closes_whatever_the_cost_and_the_start() {
        for overlap in [0.1, 1.0] {
            let (rows, signs) = cloud(300, 8, overlap, 3);
            let mut last: Option<MarginSolution> = None;
            for c in [1e-9, 1e-3, 1.0, 1e2, 1e5, 1e9] {
                let costs: Vec<f64> = (0..300).map(|i| c * (1.0 + (i % 3) as f64)).collect();
                let problem = MarginProblem { rows: &rows, signs: &signs, costs: &costs, margins: None };
                let settings = MarginSettings::default();
                let cold = solve(&problem, &settings, None, &Watch::none());
                assert_eq!(cold.status, Status::Converged, "{overlap} {c}: {} after {}", cold.relative_gap(), cold.iterations);
                assert!(cold.relative_gap() <= 1e-9 && cold.relative_gap() > -1e-12 && cold.iterations <= 40);
                let warm = solve(&problem, &settings, last.as_ref(), &Watch::none());
                assert!((warm.primal - cold.primal).abs() <= 2e-9 * cold.primal, "{} {}", warm.primal, cold.primal);
                let balance: f64 = cold.multipliers.iter().zip(&signs).map(|(a, y)| a * y).sum();
                assert!(balance.abs() <= 1e-12 * costs.iter().sum::<f64>());
                assert!(cold.multipliers.iter().zip(&costs).all(|(a, c)| *a >= 0.0 && *a <= *c));
                last = Some(cold);
            }
        }
    }

    #[test]
    fn it_is_the_machine_of_the_dual_solver_with_the_linear_kernel() {
        let (rows, signs) = cloud(200, 5, 0.8, 5);
        let labels: Vec<String> = signs.iter().map(|y| y.to_string()).collect();
        let data = Dataset::new(rows.clone(), Target::Classes(Classes::from_texts(&labels)));
        let svc = Svc { kernel: Kernel::named("linear", 1.0, 0, 0.0).unwrap(), c: 2.0, tolerance: 1e-9, ..Svc::default() };
        let fit = svc.learn(&data, &Watch::none()).unwrap();
        let costs = vec![2.0; 200];
        let own = solve(
            &MarginProblem { rows: &rows, signs: &signs, costs: &costs, margins: None },
            &MarginSettings::default(),
            None,
            &Watch::none(),
        );
        assert!((own.primal - fit.report.objective).abs() < 1e-7 * own.primal, "{} {}", own.primal, fit.report.objective);
        let outputs = fit.machine.outputs_for(&data.points).unwrap();
        for i in 0..200 {
            assert!((dot(rows.row(i), &own.weights) + own.offset - outputs.at(i, 0)).abs() < 1e-4);
        }
    }

    #[test]
    fn repeated_rows_and_constant_columns_do_no_harm() {
        let (rows, signs) = cloud(60, 3, 0.7, 2);
        let rows = Matrix::from_fn(120, 4, |i, j| if j == 3 { 1.0 } else { rows.at(i / 2, j) });
        let signs: Vec<f64> = (0..120).map(|i| signs[i / 2]).collect();
        let costs = vec![1.0; 120];
        let solution = solve(
            &MarginProblem { rows: &rows, signs: &signs, costs: &costs, margins: None },
            &MarginSettings::default(),
            None,
            &Watch::none(),
        );
        assert_eq!(solution.status, Status::Converged);
    }
}
