//! From a number of vectors to a penalty: penalties from the largest down until there are more vectors than the budget allows, then between.
use super::supports::{Support, Supports};
use crate::{
    compress::{Budget, budget::Spending},
    watch::{Status, Watch},
};

/// Each penalty is this part of the one before.
const RATIO: f64 = 0.9;

/// Penalties below this part of the first are lost in rounding.
const LEAST: f64 = 1e-10;

/// Halvings of the last interval, where the size that was asked for has not been met.
const HALVINGS: usize = 12;

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

impl Scan<'_> {
    /// The supports that `at` gives for the penalties. They may lie anywhere between the last two that were looked at, or below.
    pub fn run(&self, at: &mut dyn FnMut(f64) -> Support, watch: &Watch) -> (Supports, Status) {
        let (spending, mut supports) = (Spending::begin(self.budget), Supports::default());
        let most = self.budget.max_vectors.min(self.candidates);
        let mut penalty = self.first;
        let mut beyond = None;
        while penalty > LEAST * self.first && beyond.is_none() {
            if watch.cancelled() {
                return (supports, Status::Cancelled);
            }
            penalty *= RATIO;
            let support = at(penalty);
            let (size, residual) = (support.chosen.len(), support.residual);
            watch.report("vectors", size.min(most) as u64, Some(most as u64), Some(residual / self.start));
            if size > most {
                beyond = Some(penalty);
                continue;
            }
            supports.offer(support);
            if residual / self.start <= self.budget.max_residual || spending.out_of_time() || size == self.candidates {
                return (supports, Status::Converged);
            }
        }
        let Some(mut low) = beyond else { return (supports, Status::Converged) };
        let mut high = low / RATIO;
        for _ in 0..HALVINGS {
            if supports.has(most) || watch.cancelled() || spending.out_of_time() {
                break;
            }
            let middle = (low * high).sqrt();
            let support = at(middle);
            if support.chosen.len() > most {
                low = middle;
            } else {
                high = middle;
                supports.offer(support);
            }
        }
        (supports, watch.ended(Status::Converged))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::Matrix;

    #[test]
    fn the_size_asked_for_is_found_between_penalties_that_jump_over_it() {
        // As many vectors as the penalty is below 100, ten at a time on the grid.
        let mut at = |penalty: f64| {
            let size = (100.0 - penalty).floor() as usize;
            Support { chosen: (0..size).collect(), coefficients: Matrix::zeros(size, 1), residual: penalty }
        };
        let budget = Budget::vectors(15);
        let scan = Scan { first: 100.0, start: 200.0, candidates: 1000, budget: &budget };
        let (supports, status) = scan.run(&mut at, &Watch::none());
        assert!(supports.has(10) && supports.has(15) && !supports.has(16) && status == Status::Converged);
    }
}
