//! What outputs miss of their targets under the squared hinge: loops over all rows and classes, in whole registers.
//!
//! Eight rows at a time make whole registers of any number of classes.
use crate::kernel::simd::{self, Job};

/// Rows that are worked on together.
const ROWS: usize = 8;

/// True where an output is not what it should be; always for a value to be met, which makes part of the quadratic even where it is.
#[inline(always)]
pub(crate) fn active(target: f64, output: f64) -> bool {
    // Without a branch, so that loops over rows use whole registers.
    (target * output < 1.0) | (target.abs() < 1.0)
}

/// How far an output is from its target.
#[inline(always)]
pub(crate) fn error(target: f64, output: f64) -> f64 {
    if active(target, output) { target - output } else { 0.0 }
}

/// The sum of `cost_i error_ik^2` over some rows, for each of q classes.
pub(super) fn losses(outputs: &[f64], targets: &[f64], costs: &[f64], q: usize) -> Vec<f64> {
    simd::run(Losses { outputs, targets, costs, q })
}

struct Losses<'a> {
    outputs: &'a [f64],
    targets: &'a [f64],
    costs: &'a [f64],
    q: usize,
}

impl Job for Losses<'_> {
    type Output = Vec<f64>;
    #[inline(always)]
    fn run<const FMA: bool>(self) -> Vec<f64> {
        let (q, wide) = (self.q, ROWS * self.q);
        let (mut sums, mut each) = (vec![0.0; wide], vec![0.0; wide]);
        let blocks = self.outputs.chunks(wide).zip(self.targets.chunks(wide)).zip(self.costs.chunks(ROWS));
        for ((outputs, targets), costs) in blocks {
            each.chunks_exact_mut(q).zip(costs).for_each(|(each, cost)| each.fill(*cost));
            for (((sum, cost), &output), &target) in sums.iter_mut().zip(&each).zip(outputs).zip(targets) {
                let error = error(target, output);
                *sum += cost * error * error;
            }
        }
        let (first, rest) = sums.split_at_mut(q);
        rest.chunks_exact(q).for_each(|rest| first.iter_mut().zip(rest).for_each(|(a, b)| *a += b));
        sums.truncate(q);
        sums
    }
}

/// Moves outputs by the fraction `parts[k]` of the way to those reached. Returns the places where errors begin or end, in their order, with whether
/// there is one now. The whole way ends exactly where it leads; no step is taken where it leads nowhere finite.
pub(super) fn moved(outputs: &mut [f64], reached: &[f64], targets: &[f64], parts: &[f64]) -> Vec<(usize, bool)> {
    let parts = parts.repeat(ROWS);
    let mut changes = vec![0; outputs.len().next_multiple_of(8)];
    simd::run(Move { outputs, reached, targets, parts: &parts, changes: &mut changes });
    let mut places = vec![];
    for (first, eight) in (0..).step_by(8).zip(changes.chunks_exact(8)) {
        if eight != [0; 8] {
            let here = eight.iter().enumerate().filter(|(_, change)| **change != 0);
            places.extend(here.map(|(k, change)| (first + k, *change > 0)));
        }
    }
    places
}

struct Move<'a> {
    outputs: &'a mut [f64],
    reached: &'a [f64],
    targets: &'a [f64],
    parts: &'a [f64],
    /// 1 where an error begins, -1 where one ends.
    changes: &'a mut [i8],
}

impl Job for Move<'_> {
    type Output = ();
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let wide = self.parts.len();
        let blocks = self.outputs.chunks_mut(wide).zip(self.reached.chunks(wide)).zip(self.targets.chunks(wide));
        for ((outputs, (reached, targets)), changes) in blocks.map(|((o, r), t)| (o, (r, t))).zip(self.changes.chunks_mut(wide)) {
            let numbers = outputs.iter_mut().zip(reached).zip(targets).zip(self.parts).zip(changes);
            for ((((output, &reached), &target), &part), change) in numbers {
                let before = *output;
                let between = before + part * (reached - before);
                let after = if part == 1.0 { reached } else { between };
                let after = if part == 0.0 { before } else { after };
                *output = after;
                *change = active(target, after) as i8 - active(target, before) as i8;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_and_changes_are_those_of_a_loop_over_rows_and_classes() {
        let numbers = |n: usize, seed: f64| (0..n).map(|i| 2.0 * (i as f64 * 1.3 + seed).sin()).collect::<Vec<f64>>();
        for (n, q) in [(0, 3), (1, 1), (19, 1), (27, 10), (40, 3)] {
            let (mut outputs, mut reached, costs) = (numbers(n * q, 0.1), numbers(n * q, 0.9), numbers(n, 2.0));
            let targets: Vec<f64> = (0..n * q).map(|i| [1.0, -1.0, 0.25][i % 3]).collect();
            let mut want = vec![0.0; q];
            for i in 0..n {
                for k in 0..q {
                    want[k] += costs[i] * error(targets[i * q + k], outputs[i * q + k]).powi(2);
                }
            }
            let have = losses(&outputs, &targets, &costs, q);
            assert!(have.iter().zip(&want).all(|(h, w)| (h - w).abs() < 1e-12 * (1.0 + w.abs())), "{n} {q}");
            // Nothing finite is reached where no step is made.
            let parts: Vec<f64> = (0..q).map(|k| [1.0, 0.3, 0.0][k % 3]).collect();
            (0..n * q).filter(|i| parts[i % q] == 0.0).for_each(|i| reached[i] = f64::NAN);
            let before = outputs.clone();
            let changes = moved(&mut outputs, &reached, &targets, &parts);
            let mut seen = vec![];
            for i in 0..n * q {
                let part = parts[i % q];
                let want = if part == 0.0 {
                    before[i]
                } else if part == 1.0 {
                    reached[i]
                } else {
                    before[i] + part * (reached[i] - before[i])
                };
                assert!((outputs[i] - want).abs() <= 1e-15 * want.abs() && (part == 0.3 || outputs[i] == want));
                let (was, is) = (active(targets[i], before[i]), active(targets[i], outputs[i]));
                seen.extend((was != is).then_some((i, is)));
            }
            assert_eq!(changes, seen);
        }
    }
}
