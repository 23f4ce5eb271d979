//! From numbers of vectors to penalties: penalties are tried from the largest down, and between two of them where sizes are skipped.
//!
//! A machine of m vectors is the same whatever the largest size asked for, because nothing that concerns m depends on the budget: the grid of
//! penalties, where each solution is begun (at the next larger penalty tried before), which intervals are halved, and where the search for m
//! vectors ends (where the grid first has more than `closing(m)`). An interval is halved where a size lies between those of its ends, and, not as
//! often, where more than one vector differs, so that supports were passed by. Larger sizes only add intervals, and what is met within an
//! interval counts for sizes that are not below both ends.
//!
//! Sizes can jump by two where two vectors join at nearly the same penalty, and by more where passes with changing weights end in different
//! minima; such sizes remain without a support of their own.
use std::collections::BTreeSet;

use super::supports::{Support, Supports};
use crate::{
    compress::{Budget, budget::Spending},
    watch::{Status, Watch},
};

/// Each penalty of the grid is this fraction of the one before.
const RATIO: f64 = 0.9;

/// Penalties below this fraction of the first are lost in rounding.
const LEAST: f64 = 1e-10;

/// How often an interval of the grid is halved at most, where a size lies between those of its ends.
const HALVINGS: usize = 12;

/// The same where supports were passed by, but no size.
const FEWER_HALVINGS: usize = 3;

/// The support size at which the search for the best support of `size` vectors ends, whatever the budget.
pub(super) fn closing(size: usize) -> usize {
    2 * size + 8
}

/// What is to be looked at.
pub(super) struct Scan<'a> {
    /// The penalty at which the first vector appears.
    pub first: f64,
    /// The residual without vectors.
    pub start: f64,
    /// Number of candidates.
    pub candidates: usize,
    pub budget: &'a Budget,
}

/// The solution at a penalty, begun at one for a larger penalty, and its support.
pub(super) type At<'a, S> = dyn Fn(&S, f64) -> (S, Support) + 'a;

impl Scan<'_> {
    /// The best supports that `at` gives, begun at the solution without vectors.
    pub fn run<S>(&self, nothing: S, at: &At<S>, watch: &Watch) -> (Supports, Status) {
        let mut search = Search {
            scan: self,
            at,
            watch,
            spending: Spending::begin(self.budget),
            supports: Supports::default(),
            most: self.budget.max_vectors.min(self.candidates),
            reached: 0,
            least: self.start,
        };
        let mut high = Tried { penalty: self.first, solution: nothing, chosen: BTreeSet::new() };
        while high.penalty > LEAST * self.first && search.reached <= closing(search.most) && !search.ended() {
            let (low, support) = search.tried(&high, RATIO * high.penalty);
            search.between(&high, &low, 0, 0);
            search.reached = search.reached.max(low.chosen.len());
            search.offer(support);
            high = low;
        }
        (search.supports, watch.ended(Status::Converged))
    }
}

/// A penalty with its solution.
struct Tried<S> {
    penalty: f64,
    solution: S,
    chosen: BTreeSet<usize>,
}

impl<S> Tried<S> {
    /// True where the supports of an interval, halved so often already, leave out others between them.
    fn skips(&self, low: &Tried<S>, halvings: usize) -> bool {
        let sizes = self.chosen.len().abs_diff(low.chosen.len()) > 1;
        let supports = self.chosen.symmetric_difference(&low.chosen).nth(1).is_some();
        (sizes && halvings < HALVINGS) || (supports && halvings < FEWER_HALVINGS)
    }
}

struct Search<'a, S> {
    scan: &'a Scan<'a>,
    at: &'a At<'a, S>,
    watch: &'a Watch<'a>,
    spending: Spending<'a>,
    supports: Supports,
    /// Larger supports are of no use.
    most: usize,
    /// The largest size on the grid so far.
    reached: usize,
    least: f64,
}

impl<S> Search<'_, S> {
    fn ended(&self) -> bool {
        self.watch.cancelled() || self.spending.out_of_time()
    }

    fn tried(&mut self, above: &Tried<S>, penalty: f64) -> (Tried<S>, Support) {
        let (solution, support) = (self.at)(&above.solution, penalty);
        let (size, chosen) = (support.chosen.len(), support.chosen.iter().copied().collect());
        self.least = self.least.min(support.residual);
        self.watch.report("vectors", size.min(self.most) as u64, Some(self.most as u64), Some(self.least / self.scan.start));
        (Tried { penalty, solution, chosen }, support)
    }

    /// Halves an interval where it skips supports of sizes that are still looked for. `floor` is the smaller size of every interval around it.
    fn between(&mut self, high: &Tried<S>, low: &Tried<S>, floor: usize, halvings: usize) {
        let (a, b) = (high.chosen.len(), low.chosen.len());
        let (fewer, more) = (a.min(b).max(floor), a.max(b));
        if !high.skips(low, halvings) || more < fewer || fewer > self.most || self.reached > closing(more) || self.ended() {
            return;
        }
        let (middle, support) = self.tried(high, (high.penalty * low.penalty).sqrt());
        if support.chosen.len() >= fewer {
            self.offer(support);
        }
        self.between(high, &middle, fewer, halvings + 1);
        self.between(&middle, low, fewer, halvings + 1);
    }

    fn offer(&mut self, support: Support) {
        let size = support.chosen.len();
        if size == 0 || size > self.most || self.reached > closing(size) {
            return;
        }
        if support.residual / self.scan.start <= self.scan.budget.max_residual {
            self.most = size;
        }
        self.supports.offer(support);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::Matrix;

    /// A support of this size whose residual is the penalty.
    fn sized(size: usize, penalty: f64) -> Support {
        Support { chosen: (0..size).collect(), coefficients: Matrix::zeros(size, 1), residual: penalty }
    }

    /// As many vectors as the penalty is below 100, about ten at a time on the grid, and every now and then fewer.
    fn rough(penalty: f64) -> usize {
        let size = 100.0 - penalty;
        (size - 3.0 * (size * 1.3).sin().powi(4) * (size > 6.0) as u8 as f64).floor() as usize
    }

    fn found(most: usize, size: impl Fn(f64) -> usize) -> Vec<(usize, f64)> {
        let budget = Budget::vectors(most);
        let scan = Scan { first: 100.0, start: 200.0, candidates: 90, budget: &budget };
        let (supports, status) = scan.run((), &|_, penalty| ((), sized(size(penalty), penalty)), &Watch::none());
        assert_eq!(status, Status::Converged);
        supports.iter().map(|support| (support.chosen.len(), support.residual)).collect()
    }

    #[test]
    fn every_size_is_found_between_penalties_that_jump_over_it() {
        let sizes: Vec<usize> = found(40, |penalty| (100.0 - penalty).floor() as usize).iter().map(|s| s.0).collect();
        assert_eq!(sizes, (1..=40).collect::<Vec<_>>());
    }

    #[test]
    fn a_size_has_the_same_support_whatever_the_largest_size() {
        let all = found(90, rough);
        assert!(all.len() > 80, "{}", all.len());
        for most in 1..90 {
            let want: Vec<(usize, f64)> = all.iter().copied().filter(|s| s.0 <= most).collect();
            assert_eq!(found(most, rough), want, "at most {most}");
        }
    }
}
