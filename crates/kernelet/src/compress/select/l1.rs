//! Selection by absolute penalties: vectors whose coefficient the penalty brings to zero are left out.
//!
//! `min |w - sum_i beta_i Phi(x_i)|^2 + lambda sum_i c_i |beta_i|` with c_i = 1 or `1 / |alpha_i|` [Weston2004 (4)]. Nobody asks for a
//! lambda: it is walked down from the largest that means anything, and of the supports met along the path the best of each size is kept, with
//! the coefficients of the projection instead of the shrunken ones. Several outputs share their vectors by a penalty on
//! `max_k |beta_ik|` [Weston2004 (5)].
//!
//! Vectors also leave the support while lambda falls, so that a size is met many times, and the first time is seldom the best. For m vectors
//! the walk goes on until it has more than 2 m + 8, a bound that depends on m alone: a machine of m vectors is the same whatever the largest size
//! asked for. The whole walk would find nothing better: on 21 machines (12 with random coefficients, 9 trained on generated data) and with both weights, the
//! best support of every size came before the walk had more than 1.6 m + 8 vectors. With several outputs penalties are tried on a grid, and between
//! two of them where a size or supports are passed by ([`Scan`](super::scan::Scan)); the search ends at the same bound.
//!
//! Cost for n candidates, m vectors: n^2 d for their kernel matrix, then 2 m to 8 m changes of at most 6 n m + 16 m^2; for q outputs about 50 q m^3
//! for each of about two penalties for each size; memory n^2.
use super::{
    homotopy::{Penalties, Walk},
    rows,
    scan::closing,
    supports::{Support, Supports},
    whole::Whole,
};
use crate::{
    Error, Named, Result,
    compress::{Budget, Path, Sparsifier, Task, budget::Spending},
    linalg::Matrix,
    watch::{Status, Watch},
};

/// How much the penalty weighs on each vector.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Weights {
    /// The same on all.
    #[default]
    Equal,
    /// `1 / |alpha_i|`: more on vectors that weigh little in the machine.
    Inverse,
}

impl Named for Weights {
    const NAMES: &'static [(&'static str, Self)] = &[("equal", Weights::Equal), ("inverse", Weights::Inverse)];
}

impl Weights {
    /// The weight of each candidate.
    pub(super) fn of(self, whole: &Whole) -> Result<Vec<f64>> {
        match (self, &whole.sizes) {
            (Weights::Equal, _) => Ok(vec![1.0; whole.gram.rows()]),
            (Weights::Inverse, Some(sizes)) => Ok(sizes.iter().map(|size| 1.0 / size).collect()),
            (Weights::Inverse, None) => Err(Error::parameter(
                "weights",
                "inverse",
                "equal where vectors are chosen among other points, which have no coefficient in the machine",
            )),
        }
    }
}

/// Selection by absolute penalties.
#[derive(Clone, Debug, Default)]
pub struct L1 {
    /// How much the penalty weighs on each vector.
    pub weights: Weights,
}

/// Changes of the support for each candidate after which a walk ends.
pub(super) const CHANGES: usize = 30;

impl Sparsifier for L1 {
    fn name(&self) -> &'static str {
        "l1"
    }

    fn check(&self) -> Result<()> {
        Ok(())
    }

    fn sparsify(&self, task: &Task, budget: &Budget, watch: &Watch) -> Result<Path> {
        budget.check()?;
        task.check()?;
        self.on(Whole::of(task, watch)?, task, budget, watch)
    }

    fn sparsify_part(&self, task: &Task, sizes: &[f64], budget: &Budget, watch: &Watch) -> Result<Path> {
        budget.check()?;
        task.check()?;
        self.on(Whole { sizes: Some(sizes.to_vec()), ..Whole::of(task, watch)? }, task, budget, watch)
    }
}

impl L1 {
    fn on(&self, whole: Whole, task: &Task, budget: &Budget, watch: &Watch) -> Result<Path> {
        let weights = self.weights.of(&whole)?;
        let (supports, status) = match whole.values.rows() {
            1 => walk(&whole, &weights, budget, watch),
            _ => rows::scan(&whole, &weights, budget, watch),
        };
        Ok(supports.into_path(task, whole.start, status))
    }
}

/// The supports of one output. Each size has the best of those met before the walk has first more than `closing(size)` vectors.
fn walk(whole: &Whole, weights: &[f64], budget: &Budget, watch: &Watch) -> (Supports, Status) {
    let (spending, mut supports, mut status) = (Spending::begin(budget), Supports::default(), Status::Converged);
    let mut walk = Walk::new(&whole.gram, whole.values.row(0), Penalties::proportional(weights));
    let (n, first) = (whole.gram.rows(), walk.end());
    let (mut most, mut reached, mut least) = (budget.max_vectors.min(n), 0, whole.start);
    for change in 0.. {
        if watch.cancelled() {
            status = Status::Cancelled;
            break;
        }
        // Below this the penalty is lost in the rounding of what it is compared with.
        if !walk.advance() || walk.tau < 1e-13 * first || walk.active.len() > closing(most) {
            break;
        }
        let size = walk.active.len();
        reached = reached.max(size);
        if size <= most && reached <= closing(size) {
            let (beta, residual) = walk.projection(whole.start);
            supports.offer(Support { chosen: walk.active.clone(), coefficients: Matrix::column(beta), residual });
            least = residual.min(least);
            // Larger supports are of no use; a smaller one may still come.
            if residual / whole.start <= budget.max_residual {
                most = size;
            }
        }
        watch.report("vectors", size.min(most) as u64, Some(most as u64), Some(least / whole.start));
        if spending.out_of_time() {
            break;
        }
        if change >= CHANGES * n {
            // Where all sizes have been met, only better supports for them were still looked for.
            status = if reached < most { Status::IterationLimit } else { Status::Converged };
            break;
        }
    }
    (supports, status)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        compress::{Refit, refit, select::Pursuit, toy},
        kernel::Kernel,
        machine::residual,
    };

    #[test]
    fn eq_4_every_size_is_the_projection_on_the_support_of_a_minimum() {
        let machine = toy::machine(Kernel::gaussian(0.3), 40, 1);
        let task = Task::of(&machine);
        for weights in [Weights::Equal, Weights::Inverse] {
            let path = L1 { weights }.sparsify(&task, &Budget::vectors(12), &Watch::none()).unwrap();
            let sizes: Vec<usize> = path.levels().iter().map(|level| level.n_vectors).collect();
            assert!(sizes.windows(2).all(|w| w[0] < w[1]) && *sizes.last().unwrap() <= 12 && sizes.len() > 6, "{sizes:?}");
            let whole = Whole::of(&task, &Watch::none()).unwrap();
            let start = whole.start;
            for (i, level) in path.levels().into_iter().enumerate() {
                let small = path.machine(i).unwrap();
                let direct = residual(&machine.expansion, &small.expansion).unwrap();
                assert!((direct - level.residual).abs() < 1e-10 * start, "{direct} {level:?}");
                let again = refit(&small, Refit::Projection, &task, None, &Watch::none()).unwrap();
                let again = residual(&machine.expansion, &again.expansion).unwrap();
                assert!((direct - again).abs() < 1e-6 * start, "{direct} {again}");
            }
            // Not better than it can be, nor much worse than the greedy choice.
            let greedy = Pursuit::default().sparsify(&task, &Budget::vectors(12), &Watch::none()).unwrap();
            assert!(path.levels().last().unwrap().residual < 5.0 * greedy.levels().last().unwrap().residual);
        }
    }

    /// Every support of the whole walk with its residual, in the order in which they come.
    fn all_supports(whole: &Whole, weights: &[f64]) -> Vec<(usize, f64)> {
        let mut walk = Walk::new(&whole.gram, whole.values.row(0), Penalties::proportional(weights));
        let (first, mut all) = (walk.end(), vec![]);
        while walk.advance() && walk.tau >= 1e-13 * first && all.len() <= CHANGES * whole.gram.rows() {
            all.push((walk.active.len(), walk.projection(whole.start).1));
        }
        all
    }

    fn path(machine: &crate::machine::Machine, weights: Weights, most: usize) -> Path {
        L1 { weights }.sparsify(&Task::of(machine), &Budget::vectors(most), &Watch::none()).unwrap()
    }

    #[test]
    fn every_size_has_the_best_support_of_the_whole_walk() {
        for gamma in [1.0, 0.05] {
            let machine = toy::machine(Kernel::gaussian(gamma), 80, 1);
            let whole = Whole::of(&Task::of(&machine), &Watch::none()).unwrap();
            for weights in [Weights::Equal, Weights::Inverse] {
                let all = all_supports(&whole, &weights.of(&whole).unwrap());
                let best = |size: usize| all.iter().filter(|s| s.0 == size).map(|s| s.1).fold(f64::INFINITY, f64::min);
                for most in [5, 17, 40] {
                    let levels: Vec<(usize, f64)> =
                        path(&machine, weights, most).levels().iter().map(|l| (l.n_vectors, l.residual)).collect();
                    let mut want: Vec<(usize, f64)> = vec![];
                    for size in 1..=most {
                        if want.last().is_none_or(|last| best(size) < last.1) && best(size).is_finite() {
                            want.push((size, best(size)));
                        }
                    }
                    assert_eq!(levels, want, "gamma {gamma}, {weights:?}, at most {most}");
                }
            }
        }
    }

    #[test]
    fn a_size_has_the_same_machine_whatever_the_largest_size() {
        let machine = toy::machine(Kernel::gaussian(0.05), 80, 1);
        for weights in [Weights::Equal, Weights::Inverse] {
            let large = path(&machine, weights, 80);
            for most in [3, 10, 15, 30] {
                let small = path(&machine, weights, most);
                assert!(!small.is_empty());
                for (i, level) in small.levels().into_iter().enumerate() {
                    assert_eq!(level, large.levels()[i]);
                    assert_eq!(small.machine(i), large.machine(i), "{} of {most} vectors", level.n_vectors);
                }
                assert!(large.levels().get(small.len()).is_none_or(|next| next.n_vectors > most));
            }
        }
    }

    #[test]
    fn a_bound_on_the_residual_is_met_by_the_smallest_support() {
        let machine = toy::machine(Kernel::gaussian(0.05), 80, 1);
        let free = path(&machine, Weights::Equal, 80);
        let budget = Budget { max_residual: 0.01, ..Budget::default() };
        let bound = L1::default().sparsify(&Task::of(&machine), &budget, &Watch::none()).unwrap();
        let smallest = free.levels().into_iter().find(|level| level.relative_residual <= 0.01).unwrap();
        assert_eq!(bound.levels().last(), Some(&smallest));
    }

    #[test]
    fn weights_need_the_machines_own_vectors() {
        let machine = toy::machine(Kernel::gaussian(0.3), 20, 1);
        let others = toy::rows(30).points;
        let task = Task { candidates: Some(&others), ..Task::of(&machine) };
        let small = L1::default().sparsify(&task, &Budget::vectors(5), &Watch::none()).unwrap().last().unwrap();
        assert!(small.n_vectors() <= 5);
        let error = L1 { weights: Weights::Inverse }.sparsify(&task, &Budget::vectors(5), &Watch::none()).unwrap_err();
        assert!(error.to_string().starts_with("weights is inverse, but must be equal where"));
    }
}
