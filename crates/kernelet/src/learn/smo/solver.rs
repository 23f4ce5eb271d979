//! The solver's loop: choose two variables, move them, shrink the problem now and then.
use super::{
    RowSource,
    cache::Cache,
    scan::{self, Ends, LANES, LEAST_CURVATURE, Masks},
};
use crate::watch::{Status, Watch};

/// The problem: minimise `1/2 a'Qa + linear'a` over `0 <= a <= upper` with `signs'a` held at its value at `start`.
#[derive(Clone, Debug)]
pub struct Problem {
    /// y, one +1 or -1 for each variable.
    pub signs: Vec<f64>,
    /// p.
    pub linear: Vec<f64>,
    /// The largest value of each variable.
    pub upper: Vec<f64>,
    /// Where to start; all zeros when None.
    pub start: Option<Vec<f64>>,
}

/// How to solve it.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Stop when no pair violates the optimality conditions by more than this.
    pub tolerance: f64,
    /// Stop after this many steps.
    pub max_iterations: u64,
    /// Bytes for cached kernel rows.
    pub cache_bytes: usize,
    /// Leave variables alone that look settled at a bound.
    pub shrinking: bool,
}

/// What the solver found.
#[derive(Clone, Debug)]
pub struct Solution {
    /// a.
    pub variables: Vec<f64>,
    /// v, see the module's page: `b` at free variables.
    pub v: Vec<f64>,
    /// The offset b.
    pub offset: f64,
    /// The value of the minimised function.
    pub objective: f64,
    /// Steps made.
    pub iterations: u64,
    /// How it ended.
    pub status: Status,
}

/// Steps between two looks at the clock, the watch and the shrinking rule.
const PERIOD: u64 = 1000;

/// The active problem is rebuilt when at most this part of it is still active.
const WORTH_SHRINKING: f64 = 0.9;

/// Solves the problem.
pub fn solve(problem: &Problem, rows: &dyn RowSource, settings: &Settings, watch: &Watch) -> Solution {
    Run::new(problem, rows, settings, watch).finish()
}

struct Run<'a> {
    problem: &'a Problem,
    settings: &'a Settings,
    watch: &'a Watch<'a>,
    all: &'a dyn RowSource,
    a: Vec<f64>,
    active: Active,
    iterations: u64,
    /// The first reconstruction comes early, at ten times the tolerance, to take back wrong decisions of the shrinking rule.
    checked_early: bool,
}

/// The variables that still move, renumbered from 0; arrays are padded for the scans.
struct Active {
    /// The active variables, ascending.
    index: Vec<usize>,
    /// Rows of the active variables; None while all are active.
    rows: Option<Box<dyn RowSource>>,
    v: Vec<f64>,
    masks: Masks,
    diagonal: Vec<f32>,
    cache: Cache,
    ends: Ends,
}

impl<'a> Run<'a> {
    fn new(problem: &'a Problem, rows: &'a dyn RowSource, settings: &'a Settings, watch: &'a Watch<'a>) -> Self {
        let n = rows.len();
        let a = problem.start.clone().unwrap_or_else(|| vec![0.0; n]);
        let mut run =
            Run { problem, settings, watch, all: rows, a, active: Active::none(), iterations: 0, checked_early: !settings.shrinking };
        run.activate_all();
        run
    }

    fn finish(mut self) -> Solution {
        let status = self.iterate();
        if self.active.index.len() < self.all.len() {
            self.activate_all();
        }
        let v = &self.active.v;
        let terms = self.a.iter().zip(&self.problem.signs).zip(&self.problem.linear).zip(v);
        let objective = terms.map(|(((a, y), p), v)| 0.5 * a * (p - y * v)).sum();
        Solution {
            offset: self.offset(),
            objective,
            v: v[..self.all.len()].to_vec(),
            variables: self.a,
            iterations: self.iterations,
            status,
        }
    }

    fn iterate(&mut self) -> Status {
        let n = self.all.len() as u64;
        let mut next_look = n.min(PERIOD);
        loop {
            let gap = self.active.ends.gap();
            let shrunk = self.active.index.len() < self.all.len();
            if gap <= self.settings.tolerance || (!self.checked_early && gap <= 10.0 * self.settings.tolerance) {
                self.checked_early = true;
                match shrunk {
                    true => self.activate_all(),
                    false if gap <= self.settings.tolerance => return Status::Converged,
                    false => {}
                }
                if self.active.ends.gap() <= self.settings.tolerance {
                    return Status::Converged;
                }
                next_look = self.iterations + 1;
            }
            if self.iterations >= self.settings.max_iterations {
                return Status::IterationLimit;
            }
            if self.iterations >= next_look {
                next_look = self.iterations + n.min(PERIOD);
                self.watch.report("solving", self.iterations, None, Some(gap));
                if self.watch.cancelled() {
                    return Status::Cancelled;
                }
                if self.settings.shrinking {
                    self.shrink();
                }
            }
            if !self.step() {
                return Status::Converged;
            }
        }
    }

    /// Moves the best pair; false when there is none.
    fn step(&mut self) -> bool {
        let active = &mut self.active;
        let rows: &dyn RowSource = active.rows.as_deref().unwrap_or(self.all);
        let (watch, columns) = (self.watch, active.index.len() as u64);
        let fetch = |cache: &mut Cache, i: usize| {
            cache.fetch(i, |out| {
                rows.row(i, out);
                watch.evaluated(columns);
            })
        };
        let i = active.ends.top;
        let slot_i = fetch(&mut active.cache, i);
        let row_i = active.cache.row(slot_i);
        let Some(j) = scan::partner(&active.v, &active.masks, &active.diagonal, row_i, active.ends.top_v, active.diagonal[i]) else {
            return false;
        };
        let curvature = (active.diagonal[i] + active.diagonal[j] - 2.0 * row_i[j]).max(LEAST_CURVATURE);
        let slot_j = fetch(&mut active.cache, j);
        let step =
            self.problem.move_pair(&mut self.a, (active.index[i], active.index[j]), (active.v[i] - active.v[j]) / f64::from(curvature));
        for k in [i, j] {
            active.masks.set(k, active.index[k], self.problem, &self.a);
        }
        active.ends = scan::update(&mut active.v, &active.masks, active.cache.row(slot_i), active.cache.row(slot_j), step);
        self.iterations += 1;
        true
    }

    /// Makes all variables active, with v computed afresh.
    fn activate_all(&mut self) {
        let beta: Vec<(usize, f64)> =
            (0..self.a.len()).filter(|&i| self.a[i] != 0.0).map(|i| (i, self.problem.signs[i] * self.a[i])).collect();
        let n = self.all.len();
        let mut v = vec![0.0; n];
        if !beta.is_empty() {
            v = self.all.combine(&beta);
            self.watch.evaluated((n * beta.len()) as u64);
        }
        for i in 0..n {
            v[i] = -self.problem.signs[i] * self.problem.linear[i] - v[i];
        }
        let width = n.next_multiple_of(LANES);
        let cache = match self.active.rows.is_none() && self.active.index.len() == n {
            true => std::mem::replace(&mut self.active.cache, Cache::new(0, 0, 0)),
            false => Cache::new(n, width, self.settings.cache_bytes),
        };
        let diagonal = self.all.diagonal().iter().map(|&d| d as f32).collect();
        self.active = Active { index: (0..n).collect(), rows: None, v, masks: Masks::default(), diagonal, cache, ends: Ends::unknown() };
        self.refresh();
    }

    /// Leaves out the variables at a bound that the ends of v no longer reach.
    fn shrink(&mut self) {
        let Active { v, masks, ends, .. } = &self.active;
        let settled = |t: usize| (masks.low[t] != 0.0 && v[t] < ends.bottom_v) || (masks.up[t] != 0.0 && v[t] > ends.top_v);
        let keep: Vec<usize> = (0..self.active.index.len()).filter(|&t| !settled(t)).collect();
        if keep.len() < 2 || keep.len() as f64 > WORTH_SHRINKING * self.active.index.len() as f64 {
            return;
        }
        let active = &mut self.active;
        active.rows = Some(active.rows.as_deref().unwrap_or(self.all).subset(&keep));
        active.cache.narrow(&keep, keep.len().next_multiple_of(LANES));
        active.index = keep.iter().map(|&t| active.index[t]).collect();
        active.v = keep.iter().map(|&t| active.v[t]).collect();
        active.diagonal = keep.iter().map(|&t| active.diagonal[t]).collect();
        self.refresh();
    }

    /// Pads the arrays and finds masks and ends anew.
    fn refresh(&mut self) {
        let active = &mut self.active;
        let width = active.index.len().next_multiple_of(LANES);
        active.v.resize(width, 0.0);
        active.diagonal.resize(width, 1.0);
        active.masks = Masks { up: vec![f32::NEG_INFINITY; width], low: vec![f32::INFINITY; width] };
        for (t, &i) in active.index.iter().enumerate() {
            active.masks.set(t, i, self.problem, &self.a);
        }
        let zeros = vec![0.0; width];
        active.ends = scan::update(&mut active.v, &active.masks, &zeros, &zeros, 0.0);
    }

    /// The mean of v over the free variables, else the middle between its ends.
    fn offset(&self) -> f64 {
        let free = |i: &usize| self.a[*i] > 0.0 && self.a[*i] < self.problem.upper[*i];
        let (mut sum, mut count) = (0.0, 0);
        for i in (0..self.a.len()).filter(free) {
            sum += self.active.v[i];
            count += 1;
        }
        let Ends { top_v, bottom_v, .. } = self.active.ends;
        match (count, top_v.is_finite(), bottom_v.is_finite()) {
            (1.., _, _) => sum / f64::from(count),
            (_, true, true) => 0.5 * (top_v + bottom_v),
            (_, true, false) => top_v,
            (_, false, true) => bottom_v,
            (_, false, false) => 0.0,
        }
    }
}

impl Active {
    fn none() -> Self {
        let cache = Cache::new(0, 0, 0);
        Active { index: vec![], rows: None, v: vec![], masks: Masks::default(), diagonal: vec![], cache, ends: Ends::unknown() }
    }
}

impl Ends {
    fn unknown() -> Self {
        Ends { top: 0, top_v: f64::NEG_INFINITY, bottom_v: f64::INFINITY }
    }
}

impl Masks {
    /// Notes which way variable `i`, at place `t`, may move.
    fn set(&mut self, t: usize, i: usize, problem: &Problem, a: &[f64]) {
        let (below, above) = (a[i] < problem.upper[i], a[i] > 0.0);
        let (rise, fall) = if problem.signs[i] > 0.0 { (below, above) } else { (above, below) };
        self.up[t] = if rise { 0.0 } else { f32::NEG_INFINITY };
        self.low[t] = if fall { 0.0 } else { f32::INFINITY };
    }
}

impl Problem {
    /// Raises beta_i and lowers beta_j by `wish` or as far as the bounds allow; a variable that reaches a bound is set to it exactly.
    fn move_pair(&self, a: &mut [f64], (i, j): (usize, usize), wish: f64) -> f64 {
        let room = |k: usize, rise: bool| if (self.signs[k] > 0.0) == rise { self.upper[k] - a[k] } else { a[k] };
        let (room_i, room_j) = (room(i, true), room(j, false));
        let step = wish.min(room_i).min(room_j);
        for (k, rise, room) in [(i, true, room_i), (j, false, room_j)] {
            let grows = (self.signs[k] > 0.0) == rise;
            a[k] = match (grows, step >= room) {
                (true, true) => self.upper[k],
                (false, true) => 0.0,
                (true, false) => a[k] + step,
                (false, false) => a[k] - step,
            };
        }
        step
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{data::Points, kernel::Kernel, learn::smo::rows::rows_of, linalg::Matrix};

    fn noisy(n: usize) -> (Points, Problem) {
        let x = Matrix::from_fn(n, 3, |i, j| ((i * 13 + j * 101) as f64 * 1.37).sin());
        let signs: Vec<f64> =
            (0..n).map(|i| if x.at(i, 0) * x.at(i, 1) + 0.3 * ((i * 7) as f64).cos() > 0.0 { 1.0 } else { -1.0 }).collect();
        let problem = Problem { signs, linear: vec![-1.0; n], upper: vec![5.0; n], start: None };
        (x.into(), problem)
    }

    fn settings(shrinking: bool) -> Settings {
        Settings { tolerance: 1e-3, max_iterations: 1_000_000, cache_bytes: 1 << 20, shrinking }
    }

    /// The optimality conditions and the objective by definition, in double precision.
    fn check(points: &Points, problem: &Problem, kernel: &Kernel, solution: &Solution) {
        let (x, n) = (points.to_dense(), points.len());
        let beta: Vec<f64> = (0..n).map(|i| problem.signs[i] * solution.variables[i]).collect();
        assert!(beta.iter().sum::<f64>().abs() < 1e-9);
        let mut objective = 0.0;
        for i in 0..n {
            let f: f64 = (0..n).map(|j| beta[j] * kernel.eval(x.row(i), x.row(j))).sum();
            let (a, margin) = (solution.variables[i], problem.signs[i] * (f + solution.offset));
            assert!((0.0..=problem.upper[i]).contains(&a));
            if a > 0.0 {
                assert!(margin < 1.0 + 2e-3, "{i}: {a} {margin}");
            }
            if a < problem.upper[i] {
                assert!(margin > 1.0 - 2e-3, "{i}: {a} {margin}");
            }
            objective += 0.5 * beta[i] * f - a;
        }
        assert!((objective / solution.objective - 1.0).abs() < 1e-5, "{objective} {}", solution.objective);
    }

    #[test]
    fn the_solution_is_optimal_with_and_without_shrinking_and_with_a_tiny_cache() {
        let (points, problem) = noisy(700);
        let kernel = Kernel::gaussian(0.8);
        let rows = rows_of(&kernel, &points, 1e-3).unwrap();
        for shrinking in [true, false] {
            for cache_bytes in [1 << 24, 0] {
                let solution = solve(&problem, &*rows, &Settings { cache_bytes, ..settings(shrinking) }, &Watch::none());
                assert_eq!(solution.status, Status::Converged);
                check(&points, &problem, &kernel, &solution);
            }
        }
    }

    #[test]
    fn the_cache_size_does_not_change_a_single_bit() {
        let (points, problem) = noisy(700);
        let rows = rows_of(&Kernel::gaussian(0.8), &points, 1e-3).unwrap();
        let run = |cache_bytes| solve(&problem, &*rows, &Settings { cache_bytes, ..settings(true) }, &Watch::none());
        let (large, small) = (run(1 << 24), run(0));
        assert_eq!(large.variables, small.variables);
        assert_eq!((large.offset, large.iterations), (small.offset, small.iterations));
    }

    #[test]
    fn duplicates_and_repeated_rows_with_opposite_labels_do_no_harm() {
        let x = Matrix::from_fn(40, 2, |i, j| ((i / 4) * (j + 1)) as f64 * 0.1);
        let signs = (0..40).map(|i| if i % 3 == 0 { 1.0 } else { -1.0 }).collect();
        let problem = Problem { signs, linear: vec![-1.0; 40], upper: vec![2.0; 40], start: None };
        let (points, kernel) = (Points::from(x), Kernel::gaussian(2.0));
        let solution = solve(&problem, &*rows_of(&kernel, &points, 1e-3).unwrap(), &settings(true), &Watch::none());
        assert_eq!(solution.status, Status::Converged);
        check(&points, &problem, &kernel, &solution);
    }

    #[test]
    fn limits_and_cancelling_return_the_work_so_far() {
        let (points, problem) = noisy(300);
        let rows = rows_of(&Kernel::gaussian(0.8), &points, 1e-3).unwrap();
        let short = solve(&problem, &*rows, &Settings { max_iterations: 10, ..settings(true) }, &Watch::none());
        assert_eq!((short.status, short.iterations), (Status::IterationLimit, 10));
        let flag = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(true));
        let cancelled = solve(&problem, &*rows, &settings(true), &Watch::none().with_cancel(flag));
        assert_eq!(cancelled.status, Status::Cancelled);
        assert!(cancelled.objective < 0.0 && cancelled.objective.is_finite());
    }

    #[test]
    fn a_warm_start_ends_at_the_same_objective_in_fewer_steps() {
        let (points, mut problem) = noisy(500);
        let rows = rows_of(&Kernel::gaussian(0.8), &points, 1e-3).unwrap();
        let cold = solve(&problem, &*rows, &settings(true), &Watch::none());
        problem.start = Some(cold.variables.clone());
        let warm = solve(&problem, &*rows, &settings(true), &Watch::none());
        assert!(warm.iterations < cold.iterations / 4, "{} {}", warm.iterations, cold.iterations);
        assert!((warm.objective / cold.objective - 1.0).abs() < 1e-5);
    }
}
