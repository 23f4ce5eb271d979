//! Exact reduction: vectors that lie in the span of the others are left out, and the others take over their part.
//!
//! A largest independent set has as many vectors as the kernel matrix has rank; it is found by a factor with pivots, which takes the vector
//! farthest from the span of those taken, until all are nearer than the tolerance. Coefficients are those of the projection
//! `K_E^-1 K_E,: alpha` [Weston2004 (3)]: the machine stays the same, with fewer vectors. That pays for linear and polynomial kernels and for
//! repeated vectors. A Gaussian kernel has full rank, and nothing is gained. Where fewer vectors than the rank have the same machine in their span and few sets are to be tried, they
//! are taken ([`sparsest`]).
//!
//! Cost for n vectors of rank r: n r (d + r), memory n r.
use super::{pursuit::Pursuit, sparsest::sparsest};
use crate::{
    Error, Result,
    basis::{check_definite, gram::Gram, growth::Growth},
    compress::{Budget, Path, Sparsifier, Task},
    linalg::rows_times,
    watch::{Status, Watch},
};

/// Exact reduction of kernels that are not of full rank.
#[derive(Clone, Debug)]
pub struct Independent {
    /// Vectors whose squared distance from the span of the others is below this part of the largest k(x, x) count as lying in it.
    pub tolerance: f64,
}

impl Default for Independent {
    fn default() -> Self {
        Independent { tolerance: 1e-10 }
    }
}

impl Sparsifier for Independent {
    fn name(&self) -> &'static str {
        "independent"
    }

    fn check(&self) -> Result<()> {
        check_tolerance(self.tolerance)
    }

    fn sparsify(&self, task: &Task, budget: &Budget, watch: &Watch) -> Result<Path> {
        self.check()?;
        budget.check()?;
        task.check()?;
        check_definite(&task.machine.expansion.kernel)?;
        let (growth, status) = pivots(task, self.tolerance, watch);
        let note = full_rank(task, growth.chosen().len(), self.tolerance);
        let chosen = growth.chosen().to_vec();
        let fewer = (task.candidates.is_none() && note.is_none() && status == Status::Converged).then(|| fewer(task, growth)).flatten();
        ordered(task, &fewer.unwrap_or(chosen), status, note, budget, watch)
    }
}

/// Fewer vectors of the machine than the rank, where they are enough and can be found.
fn fewer(task: &Task, growth: Growth) -> Option<Vec<usize>> {
    let (coordinates, _, chosen) = growth.into_coordinates();
    let alpha = task.machine.expansion.coefficients.to_dense();
    let weights = rows_times(&alpha.transposed(), &coordinates.transposed());
    sparsest(&coordinates, &weights, chosen.len())
}

pub(super) fn check_tolerance(tolerance: f64) -> Result<()> {
    match tolerance > 0.0 && tolerance < 1.0 {
        true => Ok(()),
        false => Err(Error::parameter("tolerance", tolerance, "above 0 and below 1")),
    }
}

/// A largest independent set of candidates.
pub(super) fn pivots<'a>(task: &Task<'a>, tolerance: f64, watch: &Watch) -> (Growth<'a>, Status) {
    let candidates = task.candidates();
    let mut growth = Growth::new(Gram::of(&task.machine.expansion.kernel, candidates));
    let bound = tolerance * growth.squares().iter().copied().fold(0.0, f64::max);
    while growth.chosen().len() < candidates.len() {
        if watch.cancelled() {
            return (growth, Status::Cancelled);
        }
        let farthest = growth.gaps().iter().enumerate().fold((0, 0.0), |best, (i, &gap)| if gap > best.1 { (i, gap) } else { best });
        if farthest.1 <= bound || !growth.choose(farthest.0) {
            break;
        }
        watch.evaluated(candidates.len() as u64);
        watch.report("rank", growth.chosen().len() as u64, None, Some(farthest.1));
    }
    (growth, Status::Converged)
}

/// The note where no vector can be dropped.
pub(super) fn full_rank(task: &Task, rank: usize, tolerance: f64) -> Option<String> {
    let n = task.candidates().len();
    (rank == n && task.candidates.is_none()).then(|| {
        format!(
            "the kernel matrix of the {n} vectors has full rank (tolerance {tolerance:e}), so none can be left out without changing the \
             machine; pursuit, l1 and l0 find smaller machines that are close"
        )
    })
}

/// The chosen candidates in the order in which they explain most, with all sizes up to the budget.
pub(super) fn ordered(task: &Task, chosen: &[usize], status: Status, note: Option<String>, budget: &Budget, watch: &Watch) -> Result<Path> {
    let few = task.candidates().select(chosen);
    let inner = Task { candidates: Some(&few), ..*task };
    // What a run that was stopped has found is fitted all the same; its wish to stop would leave nothing.
    let (watched, finishing) = (status != Status::Cancelled, Watch::none());
    let mut path = Pursuit::default().sparsify(&inner, budget, if watched { watch } else { &finishing })?;
    path.chosen.iter_mut().for_each(|place| *place = chosen[*place]);
    path.status = path.status.worse(status);
    path.note = note;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        compress::toy,
        kernel::Kernel,
        linalg::Matrix,
        machine::{Coefficients, residual, squared_norm},
    };

    #[test]
    fn eq_3_the_machine_stays_the_same_with_as_many_vectors_as_the_rank() {
        // A polynomial of degree 2 in 3 variables has 10 monomials; without a constant the linear kernel has 3.
        for (kernel, rank) in [(Kernel::named("polynomial", 1.0, 2, 1.0).unwrap(), 10), (Kernel::named("linear", 1.0, 0, 0.0).unwrap(), 3)]
        {
            for outputs in [1, 4] {
                let machine = toy::machine(kernel.clone(), 200, outputs);
                let path = Independent::default().sparsify(&Task::of(&machine), &Budget::default(), &Watch::none()).unwrap();
                let small = path.last().unwrap();
                assert_eq!((small.n_vectors(), path.note.clone()), (rank, None));
                let start: f64 = squared_norm(&machine.expansion).unwrap().iter().sum();
                assert!(residual(&machine.expansion, &small.expansion).unwrap() < 1e-12 * start);
            }
        }
    }

    #[test]
    fn a_full_rank_is_reported_and_repeated_vectors_are_found() {
        let mut machine = toy::machine(Kernel::gaussian(2.0), 30, 1);
        let path = Independent::default().sparsify(&Task::of(&machine), &Budget::default(), &Watch::none()).unwrap();
        assert!(path.last().unwrap().n_vectors() == 30 && path.note.unwrap().contains("full rank"));
        let twice: Vec<usize> = (0..30).chain(0..15).collect();
        machine.expansion.vectors = machine.expansion.vectors.select(&twice);
        machine.expansion.coefficients = Coefficients::Dense(Matrix::from_fn(45, 1, |i, _| (i as f64).sin()));
        let path = Independent::default().sparsify(&Task::of(&machine), &Budget::default(), &Watch::none()).unwrap();
        assert!(path.last().unwrap().n_vectors() == 30 && path.note.is_none());
        let few = Independent::default().sparsify(&Task::of(&machine), &Budget::vectors(4), &Watch::none()).unwrap();
        assert_eq!(few.last().unwrap().n_vectors(), 4);
        assert!(Independent { tolerance: 0.0 }.check().is_err());
    }
}
