//! The best sets of vectors found along a path, one for each size.
use std::collections::BTreeMap;

use super::whole::Whole;
use crate::{
    basis::DEPENDENT,
    compress::{Path, Task},
    linalg::{Factor, Matrix},
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

impl Support {
    /// The projection on candidates, less those that lie in the span of the ones before.
    pub fn projection(whole: &Whole, used: &[usize]) -> Support {
        let (mut factor, mut chosen) = (Factor::default(), Vec::<usize>::new());
        for &i in used {
            let square = whole.gram.at(i, i);
            let (mut row, gap) = factor.row_for(chosen.iter().map(|&j| whole.gram.at(i, j)).collect(), square);
            if gap > DEPENDENT * square {
                row.push(gap.sqrt());
                factor.push(&row);
                chosen.push(i);
            }
        }
        let (mut coefficients, mut residual) = (Matrix::zeros(chosen.len(), whole.values.rows()), whole.start);
        for (k, values) in whole.values.iter().enumerate() {
            let (mut beta, rest) = factor.row_for(chosen.iter().map(|&i| values[i]).collect(), residual);
            residual = rest.max(0.0);
            factor.solve_column_transposed(&mut beta);
            beta.iter().enumerate().for_each(|(j, b)| coefficients.row_mut(j)[k] = *b);
        }
        Support { chosen, coefficients, residual }
    }
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

    /// The sets, by size.
    #[cfg(test)]
    pub fn iter(&self) -> impl Iterator<Item = &Support> {
        self.0.values()
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

/// Every size up to `most` has a machine, and none of these supports has a residual that is smaller by more than this fraction.
#[cfg(test)]
pub(super) fn assert_none_is_better(supports: &[Support], path: &Path, most: usize, fraction: f64) {
    for size in 1..=most {
        let best =
            supports.iter().filter(|support| support.chosen.len() == size).map(|support| support.residual).fold(f64::INFINITY, f64::min);
        let have = path.levels().into_iter().find(|level| level.n_vectors == size);
        assert!(have.is_some_and(|have| have.residual <= best * (1.0 + fraction)), "{size}: {have:?}, best {best}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        compress::{
            Budget, Sparsifier,
            select::{L0, L1, Weights},
            toy,
        },
        kernel::Kernel,
        watch::Watch,
    };

    #[test]
    fn a_size_has_the_same_machine_whatever_the_largest_size() {
        let methods: [Box<dyn Sparsifier>; 3] =
            [Box::new(L1::default()), Box::new(L1 { weights: Weights::Inverse }), Box::new(L0::default())];
        for (method, outputs) in methods.iter().flat_map(|method| [(method, 1), (method, 3)]) {
            let machine = toy::machine(Kernel::gaussian(0.2), 40, outputs);
            let path = |most| method.sparsify(&Task::of(&machine), &Budget::vectors(most), &Watch::none()).unwrap();
            let large = path(17);
            for most in [4, 9, 15] {
                let small = path(most);
                let sizes = large.levels().iter().filter(|level| level.n_vectors <= most).count();
                assert!(small.len() == sizes && sizes > 0, "{} of {outputs} outputs at most {most}: {sizes}", method.name());
                for (i, level) in small.levels().into_iter().enumerate() {
                    assert_eq!((level, small.machine(i)), (large.levels()[i], large.machine(i)), "{} of {outputs} outputs", method.name());
                }
            }
        }
    }

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
        assert_eq!(supports.iter().map(|support| support.chosen.len()).collect::<Vec<_>>(), [1, 2, 3]);
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
