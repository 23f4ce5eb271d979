//! The best sets of vectors found along a path, one for each size.
use std::collections::BTreeMap;

use crate::{
    compress::{Path, Task},
    linalg::Matrix,
    watch::Status,
};

/// A set of candidates with the coefficients of the projection on their span.
#[derive(Clone, Debug)]
pub(super) struct Support {
    pub chosen: Vec<usize>,
    /// One row for each chosen candidate, one column for each output.
    pub coefficients: Matrix,
    pub residual: f64,
}

/// For each size the set with the least residual.
#[derive(Debug, Default)]
pub(super) struct Supports(BTreeMap<usize, Support>);

impl Supports {
    /// Keeps the set if it is the best of its size so far.
    pub fn offer(&mut self, support: Support) {
        let size = support.chosen.len();
        if size > 0 && self.0.get(&size).is_none_or(|best| support.residual < best.residual) {
            self.0.insert(size, support);
        }
    }

    /// True when a set of this size is there.
    pub fn has(&self, size: usize) -> bool {
        self.0.contains_key(&size)
    }

    /// The machines of these sets, without those that a smaller one beats.
    pub fn into_path(self, task: &Task, start: f64, status: Status) -> Path {
        let (mut levels, mut residuals, mut chosen) = (vec![], vec![], vec![]);
        let mut least = f64::INFINITY;
        for support in self.0.into_values().filter(|support| support.residual.is_finite()) {
            if support.residual < least {
                least = support.residual;
                chosen = support.chosen.clone();
                levels.push((support.chosen, support.coefficients));
                residuals.push(least);
            }
        }
        Path::subsets(task.machine, task.candidates(), levels, residuals, start).ended(chosen, status)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{compress::toy, kernel::Kernel};

    #[test]
    fn of_each_size_the_best_is_kept_and_none_that_a_smaller_one_beats() {
        let machine = toy::machine(Kernel::gaussian(0.5), 10, 1);
        let set = |chosen: &[usize], residual| Support {
            chosen: chosen.to_vec(),
            coefficients: Matrix::from_fn(chosen.len(), 1, |i, _| residual + i as f64),
            residual,
        };
        let mut supports = Supports::default();
        for support in [set(&[4], 5.0), set(&[7], 4.0), set(&[4, 1], 4.5), set(&[9, 2, 5], 1.0), set(&[], 0.0)] {
            supports.offer(support);
        }
        assert!(supports.has(2) && !supports.has(4));
        let path = supports.into_path(&Task::of(&machine), 8.0, Status::Converged);
        let levels: Vec<(usize, f64)> = path.levels().iter().map(|level| (level.n_vectors, level.residual)).collect();
        assert_eq!(levels, [(1, 4.0), (3, 1.0)]);
        let small = path.at(2).unwrap().expansion;
        assert_eq!(small.vectors, machine.expansion.vectors.select(&[7]));
        let last = path.last().unwrap().expansion;
        assert_eq!(
            (last.vectors, last.coefficients.to_dense().col(0)),
            (machine.expansion.vectors.select(&[9, 2, 5]), vec![1.0, 2.0, 3.0])
        );
    }
}
