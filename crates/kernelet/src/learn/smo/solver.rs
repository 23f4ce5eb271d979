//! The solver's loop: choose two variables, move them, shrink the problem now and then.
use crate::parallel::*;

use super::{
    Parts, Problem, RowSource, Settings, Solution,
    cache::Cache,
    problem::Group,
    scan::{self, Ends, LANES, LEAST_CURVATURE, Masks},
};
use crate::watch::{Status, Watch};

/// Steps between two looks at the clock, the watch and the shrinking rule.
const PERIOD: u64 = 1000;

/// The active problem is rebuilt when at most this part of it is still active.
const WORTH_SHRINKING: f64 = 0.9;

/// Kernel rows computed side by side when v is computed afresh.
const BLOCK: usize = 64;

/// How many of them one thread computes together.
const SHARE: usize = 8;

/// At least so many steps, and so many for each variable, that lower the objective by nothing in double precision end the run.
const STALLED: u64 = 10_000;
const STALLED_EACH: u64 = 10;

/// Solves the problem.
pub fn solve(problem: &Problem, rows: &dyn RowSource, settings: &Settings, watch: &Watch) -> Solution {
    Run::new(problem, rows, settings, watch).finish()
}

struct Run<'a> {
    problem: &'a Problem,
    settings: &'a Settings,
    watch: &'a Watch<'a>,
    all: &'a dyn RowSource,
    parts: Parts,
    active: Active,
    iterations: u64,
    /// The first reconstruction comes early, at ten times the tolerance, to take back wrong decisions of the shrinking rule.
    checked_early: bool,
    descent: Descent,
}

/// By how much the steps have lowered the objective.
#[derive(Default)]
struct Descent {
    /// In all steps up to the last look.
    before: f64,
    /// Since then.
    since: f64,
    /// When that was.
    look: u64,
}

impl Descent {
    /// True when `period` steps have not changed the objective in double precision.
    fn stalled(&mut self, iterations: u64, period: u64) -> bool {
        if iterations < self.look + period {
            return false;
        }
        let improved = self.since > f64::EPSILON * self.before;
        let stalled = !improved;
        *self = Descent { before: self.before + self.since, since: 0.0, look: iterations };
        stalled
    }
}

/// The variables that still move, renumbered from 0; arrays are padded for the scans.
struct Active {
    /// The active variables, ascending.
    index: Vec<usize>,
    /// Kernel rows in the active columns; None while all are active.
    rows: Option<Box<dyn RowSource>>,
    v: Vec<f64>,
    /// One for each sum that is held.
    masks: Vec<Masks>,
    ends: Vec<Ends>,
    diagonal: Vec<f32>,
    cache: Cache,
}

impl<'a> Run<'a> {
    fn new(problem: &'a Problem, rows: &'a dyn RowSource, settings: &'a Settings, watch: &'a Watch<'a>) -> Self {
        let n = rows.len();
        let parts = problem.start.clone().unwrap_or_else(|| Parts { positive: vec![0.0; n], negative: vec![0.0; n] });
        let cache = Cache::new(n, n.next_multiple_of(LANES), settings.cache_bytes);
        let active = Active { index: vec![], rows: None, v: vec![], masks: vec![], ends: vec![], diagonal: vec![], cache };
        let (checked_early, descent) = (!settings.shrinking, Descent::default());
        let mut run = Run { problem, settings, watch, all: rows, parts, active, iterations: 0, checked_early, descent };
        run.activate_all();
        run
    }

    fn finish(mut self) -> Solution {
        let status = self.iterate();
        if self.active.index.len() < self.all.len() {
            self.activate_all();
        }
        let n = self.all.len();
        let levels: Vec<f64> = (0..self.problem.groups()).map(|group| self.level(group)).collect();
        let (first, last) = (levels[0], levels[levels.len() - 1]);
        let v = self.active.v[..n].to_vec();
        Solution {
            offset: 0.5 * (first + last),
            spread: 0.5 * (first - last),
            objective: self.problem.objective(&self.parts, &v),
            coefficients: (0..n).map(|i| self.parts.at(i)).collect(),
            v,
            iterations: self.iterations,
            status,
        }
    }

    fn iterate(&mut self) -> Status {
        let n = self.all.len() as u64;
        let mut next_look = n.min(PERIOD);
        loop {
            let gap = self.gap();
            let shrunk = self.active.index.len() < self.all.len();
            if gap <= self.settings.tolerance || (!self.checked_early && gap <= 10.0 * self.settings.tolerance) {
                self.checked_early = true;
                match shrunk {
                    true => self.activate_all(),
                    false if gap <= self.settings.tolerance => return Status::Converged,
                    false => {}
                }
                if self.gap() <= self.settings.tolerance {
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
                if self.descent.stalled(self.iterations, STALLED.max(STALLED_EACH * n)) {
                    return Status::Stalled;
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

    /// How far the point is from optimal: the largest gap of all groups.
    fn gap(&self) -> f64 {
        self.active.ends.iter().fold(f64::NEG_INFINITY, |gap, ends| gap.max(ends.gap()))
    }

    /// Moves the best pair of the group with the largest gap; false when there is none.
    fn step(&mut self) -> bool {
        let active = &mut self.active;
        let group = if active.ends.len() > 1 && active.ends[1].gap() > active.ends[0].gap() { 1 } else { 0 };
        let rows: &dyn RowSource = active.rows.as_deref().unwrap_or(self.all);
        let (watch, index) = (self.watch, &active.index);
        let fetch = |cache: &mut Cache, t: usize| cache.fetch(t, |out| watch.evaluated(rows.row(index[t], out)));
        let (ends, masks) = (active.ends[group], &active.masks[group]);
        let i = ends.top;
        let slot_i = fetch(&mut active.cache, i);
        let row_i = active.cache.row(slot_i);
        let Some(j) = scan::partner(&active.v, masks, &active.diagonal, row_i, ends.top_v, active.diagonal[i]) else {
            return false;
        };
        let curvature = (active.diagonal[i] + active.diagonal[j] - 2.0 * row_i[j]).max(LEAST_CURVATURE);
        let slot_j = fetch(&mut active.cache, j);
        let descent = ends.top_v - (active.v[j] + f64::from(masks.low[j]));
        let pair = (index[i], index[j]);
        let step = self.problem.move_pair(&mut self.parts, group, pair, descent / f64::from(curvature));
        self.descent.since += step * (descent - 0.5 * f64::from(curvature) * step);
        let mut step_left = step;
        for (group, (masks, ends)) in active.masks.iter_mut().zip(&mut active.ends).enumerate() {
            masks.set(i, pair.0, self.problem, &self.parts, group);
            masks.set(j, pair.1, self.problem, &self.parts, group);
            *ends = scan::update(&mut active.v, masks, active.cache.row(slot_i), active.cache.row(slot_j), step_left);
            step_left = 0.0;
        }
        self.iterations += 1;
        true
    }

    /// Makes all variables active. Those that return have their v computed afresh; the cached rows of coefficients that are not zero get
    /// back the columns they lost.
    fn activate_all(&mut self) {
        let (n, old) = (self.all.len(), &mut self.active);
        let mut is_active = vec![false; n];
        old.index.iter().for_each(|&i| is_active[i] = true);
        let back: Vec<usize> = (0..n).filter(|&i| !is_active[i]).collect();
        let parts = &self.parts;
        let used: Vec<usize> = (0..n).filter(|&i| parts.at(i) != 0.0).collect();
        if !old.index.is_empty() {
            old.cache.widen(&old.index, n, n.next_multiple_of(LANES), |i| parts.at(i) != 0.0);
        }
        let mut v = vec![0.0; n];
        old.index.iter().zip(&old.v).for_each(|(&i, &value)| v[i] = value);
        let fresh = self.fresh(&back, &used);
        back.iter().zip(fresh).for_each(|(&i, value)| v[i] = value);
        let diagonal = self.all.diagonal().iter().map(|&d| d as f32).collect();
        let active = &mut self.active;
        (active.index, active.rows, active.v, active.diagonal) = ((0..n).collect(), None, v, diagonal);
        self.refresh();
    }

    /// v of the variables `back` from the coefficients `used`, whose kernel values in these columns go to the cache where their rows are.
    fn fresh(&mut self, back: &[usize], used: &[usize]) -> Vec<f64> {
        let n = self.all.len();
        let part = if back.len() < n { Some(self.all.columns(back)) } else { None };
        let rows = part.as_deref().unwrap_or(self.all);
        let width = back.len().next_multiple_of(LANES);
        let mut v: Vec<f64> = back.iter().map(|&i| self.problem.targets[i]).collect();
        let mut values = vec![0f32; width * BLOCK.min(used.len())];
        for block in used.chunks(BLOCK) {
            let share = |(values, block): (&mut [f32], &[usize])| rows.block(block, &mut values[..block.len() * width]);
            let made: u64 = values.par_chunks_mut(SHARE * width.max(1)).zip(block.par_chunks(SHARE)).map(share).sum();
            self.watch.evaluated(made);
            let parts = &self.parts;
            v.par_chunks_mut(16 * LANES).enumerate().for_each(|(c, v)| {
                for (row, &i) in values.chunks_exact(width).zip(block) {
                    let b = parts.at(i);
                    v.iter_mut().zip(&row[c * 16 * LANES..]).for_each(|(v, &k)| *v -= b * f64::from(k));
                }
            });
            for (row, &i) in values.chunks_exact(width).zip(block) {
                match (self.active.cache.find(i), back.len() == n) {
                    (Some(cached), _) => back.iter().zip(row).for_each(|(&column, &k)| cached[column] = k),
                    (None, true) => drop(self.active.cache.fetch(i, |cached| cached.copy_from_slice(row))),
                    (None, false) => {}
                }
            }
        }
        v
    }

    /// Leaves out the variables at a bound that the ends of v no longer reach.
    fn shrink(&mut self) {
        let Active { v, masks, ends, .. } = &self.active;
        let settled = |t: usize| {
            let mut groups = masks.iter().zip(ends);
            groups.all(|(masks, ends)| v[t] + f64::from(masks.up[t]) < ends.bottom_v && v[t] + f64::from(masks.low[t]) > ends.top_v)
        };
        let keep: Vec<usize> = (0..self.active.index.len()).filter(|&t| !settled(t)).collect();
        if keep.len() < 2 || keep.len() as f64 > WORTH_SHRINKING * self.active.index.len() as f64 {
            return;
        }
        let active = &mut self.active;
        active.rows = Some(active.rows.as_deref().unwrap_or(self.all).columns(&keep));
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
        let zeros = vec![0.0; width];
        (active.masks, active.ends) = (vec![], vec![]);
        for group in 0..self.problem.groups() {
            let mut masks = Masks { up: vec![f32::NEG_INFINITY; width], low: vec![f32::INFINITY; width] };
            active.index.iter().enumerate().for_each(|(t, &i)| masks.set(t, i, self.problem, &self.parts, group));
            active.ends.push(scan::update(&mut active.v, &masks, &zeros, &zeros, 0.0));
            active.masks.push(masks);
        }
    }

    /// The level of a group: the mean of v over its free variables, else the middle between its ends.
    fn level(&self, group: Group) -> f64 {
        let (mut sum, mut count) = (0.0, 0u32);
        for i in 0..self.all.len() {
            if let Some(level) = self.problem.free_level(&self.parts, group, i, self.active.v[i]) {
                sum += level;
                count += 1;
            }
        }
        let Ends { top_v, bottom_v, .. } = self.active.ends[group];
        match (count, top_v.is_finite(), bottom_v.is_finite()) {
            (1.., _, _) => sum / f64::from(count),
            (_, true, true) => 0.5 * (top_v + bottom_v),
            (_, true, false) => top_v,
            (_, false, true) => bottom_v,
            (_, false, false) => 0.0,
        }
    }
}

impl Masks {
    /// Stores the directions in which variable `i`, at place `t`, may move within a group.
    fn set(&mut self, t: usize, i: usize, problem: &Problem, parts: &Parts, group: Group) {
        let (rise, up) = problem.rise(parts, group, i);
        let (fall, low) = problem.fall(parts, group, i);
        self.up[t] = if rise > 0.0 { up as f32 } else { f32::NEG_INFINITY };
        self.low[t] = if fall > 0.0 { low as f32 } else { f32::INFINITY };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{data::Points, kernel::Kernel, learn::smo::rows::rows_of, linalg::Matrix};

    fn classification(signs: &[f64], c: f64) -> Problem {
        let bound = |sign: f64| signs.iter().map(|&y| if y == sign { y * c } else { 0.0 }).collect();
        Problem { targets: signs.to_vec(), lower: bound(-1.0), upper: bound(1.0), ..Problem::default() }
    }

    fn noisy(n: usize) -> (Points, Problem) {
        let x = Matrix::from_fn(n, 3, |i, j| ((i * 13 + j * 101) as f64 * 1.37).sin());
        let signs: Vec<f64> =
            (0..n).map(|i| if x.at(i, 0) * x.at(i, 1) + 0.3 * ((i * 7) as f64).cos() > 0.0 { 1.0 } else { -1.0 }).collect();
        (x.into(), classification(&signs, 5.0))
    }

    fn settings(shrinking: bool) -> Settings {
        Settings { tolerance: 1e-3, max_iterations: 1_000_000, cache_bytes: 1 << 20, shrinking }
    }

    /// The optimality conditions and the objective by definition, in double precision.
    fn check(points: &Points, problem: &Problem, kernel: &Kernel, solution: &Solution) {
        let (x, n, b) = (points.to_dense(), points.len(), &solution.coefficients);
        assert!(b.iter().sum::<f64>().abs() < 1e-9);
        let mut objective = 0.0;
        for i in 0..n {
            let f: f64 = (0..n).map(|j| b[j] * kernel.eval(x.row(i), x.row(j))).sum();
            assert!((problem.lower[i]..=problem.upper[i]).contains(&b[i]));
            // Optimality: the residual is at most the width's subgradient where the coefficient may rise, at least that where it may fall.
            let residual = problem.targets[i] - f - solution.offset;
            if b[i] < problem.upper[i] {
                assert!(residual < if b[i] < 0.0 { -problem.width } else { problem.width } + 2e-3, "{i}: {} {residual}", b[i]);
            }
            if b[i] > problem.lower[i] {
                assert!(residual > if b[i] > 0.0 { problem.width } else { -problem.width } - 2e-3, "{i}: {} {residual}", b[i]);
            }
            objective += 0.5 * b[i] * f - problem.targets[i] * b[i] + problem.width * b[i].abs();
        }
        assert!((objective / solution.objective - 1.0).abs() < 1e-5, "{objective} {}", solution.objective);
    }

    #[test]
    fn a_tolerance_below_rounding_ends_and_says_so() {
        // The larger problem is so badly conditioned that steps lower its objective for some ten million steps, which nothing may cut short.
        for (n, most) in [(24, 100_000), (150, 20_000_000)] {
            let (points, problem) = noisy(n);
            let rows = rows_of(&Kernel::gaussian(0.8), &points, 1e-16).unwrap();
            for shrinking in [true, false] {
                let settings = Settings { tolerance: 1e-16, max_iterations: most, ..settings(shrinking) };
                let solution = solve(&problem, &*rows, &settings, &Watch::none());
                assert!(matches!(solution.status, Status::Stalled | Status::Converged), "{n} {:?}", solution.status);
                check(&points, &problem, &Kernel::gaussian(0.8), &solution);
            }
        }
    }

    #[test]
    fn the_solution_is_optimal_with_and_without_shrinking_and_with_a_tiny_cache() {
        let (points, problem) = noisy(700);
        let kernel = Kernel::gaussian(0.8);
        let rows = rows_of(&kernel, &points, 1e-3).unwrap();
        let x = points.to_dense();
        let targets = (0..700).map(|i| x.at(i, 0) * x.at(i, 1) + 0.3 * ((i * 7) as f64).cos()).collect();
        let regression = Problem { targets, lower: vec![-2.0; 700], upper: vec![3.0; 700], width: 0.1, ..Problem::default() };
        for problem in [problem, regression] {
            for shrinking in [true, false] {
                for cache_bytes in [1 << 24, 1 << 17, 0] {
                    let solution = solve(&problem, &*rows, &Settings { cache_bytes, ..settings(shrinking) }, &Watch::none());
                    assert_eq!(solution.status, Status::Converged);
                    check(&points, &problem, &kernel, &solution);
                }
            }
        }
    }

    #[test]
    fn the_cache_size_does_not_change_a_single_bit() {
        let (points, problem) = noisy(700);
        let rows = rows_of(&Kernel::gaussian(0.8), &points, 1e-3).unwrap();
        let run = |cache_bytes| solve(&problem, &*rows, &Settings { cache_bytes, ..settings(true) }, &Watch::none());
        let (large, small) = (run(1 << 24), run(0));
        assert_eq!(large.coefficients, small.coefficients);
        assert_eq!((large.offset, large.iterations), (small.offset, small.iterations));
    }

    #[test]
    fn duplicates_and_repeated_rows_with_opposite_labels_do_no_harm() {
        let x = Matrix::from_fn(40, 2, |i, j| ((i / 4) * (j + 1)) as f64 * 0.1);
        let signs: Vec<f64> = (0..40).map(|i| if i % 3 == 0 { 1.0 } else { -1.0 }).collect();
        let problem = classification(&signs, 2.0);
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
        problem.start = Some(Parts::of(&cold.coefficients));
        let warm = solve(&problem, &*rows, &settings(true), &Watch::none());
        assert!(warm.iterations < cold.iterations / 4, "{} {}", warm.iterations, cold.iterations);
        assert!((warm.objective / cold.objective - 1.0).abs() < 1e-5);
    }
}
