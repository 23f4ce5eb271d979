//! Selection by the number of vectors itself, through absolute penalties that are reweighted.
//!
//! Lossy: `lambda = argmin |w - sum_i lambda_i beta_i Phi(x_i)|^2 + gamma sum_i |lambda_i|`, then `beta_i <- |lambda_i| beta_i`, again and
//! again [Weston2004 (Algorithm 3.4)]. Vectors that weigh little are penalised more in each pass, so fewer of them stay than one pass
//! leaves. Two corrections of what is printed: the penalty is on `|lambda_i|`, not on `lambda_i beta_i`, of which the second pass would be
//! the first; and it begins at `beta_i = |alpha_i|`, without which the first pass shrinks large coefficients most. In terms of the
//! coefficients b = lambda beta the penalty is `gamma |b_i| / beta_i`, so each pass is one turn of the weights.
//!
//! Lossless: the smallest lambda without a penalty, which brings the coefficients of linearly dependent vectors to zero. Kernels of full rank
//! have none. Several outputs share `beta_i <- beta_i sum_k |lambda_ik|` [Weston2004 (Algorithm 3.5)].
//!
//! Nobody asks for a gamma: penalties are tried from the largest down until the vectors are as many as asked for, and the coefficients are
//! those of the projection on them.
//!
//! Cost for n candidates, m vectors: as `l1` for the first pass, then about m^2 for each change of each pass; memory n^2.
use super::{
    homotopy::{Penalties, Walk},
    l1::CHANGES,
    lossless,
    scan::Scan,
    supports::Support,
    whole::{Whole, own_sizes},
};
use crate::{
    Error, Result,
    compress::{Budget, Path, Sparsifier, Task},
    linalg::Matrix,
    watch::Watch,
};

/// Passes end when no coefficient moves by more than this part of itself.
const SETTLED: f64 = 1e-3;

/// Selection by reweighted penalties.
#[derive(Clone, Debug)]
pub struct L0 {
    /// Leave out only what changes nothing.
    pub lossless: bool,
    /// The most passes over the weights.
    pub passes: usize,
    /// Lossless: vectors nearer than this part of the largest to the span of others count as lying in it.
    pub tolerance: f64,
}

impl Default for L0 {
    fn default() -> Self {
        L0 { lossless: false, passes: 10, tolerance: 1e-10 }
    }
}

impl Sparsifier for L0 {
    fn name(&self) -> &'static str {
        "l0"
    }

    fn check(&self) -> Result<()> {
        if self.passes == 0 {
            return Err(Error::parameter("passes", 0, "at least 1"));
        }
        super::independent::check_tolerance(self.tolerance)
    }

    fn sparsify(&self, task: &Task, budget: &Budget, watch: &Watch) -> Result<Path> {
        self.on(task, own_sizes(task), budget, watch)
    }

    fn sparsify_part(&self, task: &Task, sizes: &[f64], budget: &Budget, watch: &Watch) -> Result<Path> {
        self.on(task, Some(sizes.to_vec()), budget, watch)
    }
}

impl L0 {
    fn on(&self, task: &Task, sizes: Option<Vec<f64>>, budget: &Budget, watch: &Watch) -> Result<Path> {
        self.check()?;
        budget.check()?;
        task.check()?;
        if self.lossless {
            return lossless::reduce(self, task, sizes, budget, watch);
        }
        let whole = Whole { sizes, ..Whole::of(task, watch)? };
        // Other points have no coefficient to begin at.
        let weights: Vec<f64> = match &whole.sizes {
            Some(sizes) => sizes.iter().map(|size| 1.0 / size).collect(),
            None => vec![1.0; whole.gram.rows()],
        };
        let (supports, status) = match whole.values.rows() {
            1 => self.single(&whole, &weights, budget, watch),
            _ => super::rows::scan(&whole, &weights, self.passes, budget, watch),
        };
        Ok(supports.into_path(task, whole.start, status))
    }

    fn single(&self, whole: &Whole, weights: &[f64], budget: &Budget, watch: &Watch) -> (super::supports::Supports, crate::watch::Status) {
        let walk = Walk::new(&whole.gram, whole.values.row(0), Penalties::proportional(weights));
        let scan = Scan { first: walk.end(), start: whole.start, candidates: whole.gram.rows(), budget };
        let mut passes = Passes { most: self.passes, whole, reached: f64::INFINITY, last: walk.clone(), walk };
        scan.run(&mut |penalty| passes.at(penalty), watch)
    }
}

/// The first pass, which all penalties share, as far as it has been walked.
struct Passes<'a> {
    most: usize,
    whole: &'a Whole,
    walk: Walk<'a>,
    reached: f64,
    /// Where it stood at the penalty before, for penalties between.
    last: Walk<'a>,
}

impl Passes<'_> {
    /// The support that all passes leave at this penalty.
    fn at(&mut self, penalty: f64) -> Support {
        let walk = if penalty < self.reached {
            self.last = self.walk.clone();
            go(&mut self.walk, penalty);
            self.reached = penalty;
            self.walk.clone()
        } else {
            let mut walk = self.last.clone();
            go(&mut walk, penalty);
            walk
        };
        let walk = self.reweighted(walk, penalty);
        let (beta, residual) = walk.projection(self.whole.start);
        Support { chosen: walk.active, coefficients: Matrix::column(beta), residual }
    }

    fn reweighted<'b>(&self, mut walk: Walk<'b>, penalty: f64) -> Walk<'b> {
        let mut tau = penalty;
        let mut sizes: Vec<f64> = walk.coefficients(tau).iter().map(|b| b.abs()).collect();
        for _ in 1..self.most {
            let before = walk.active.clone();
            let mut weights = vec![f64::INFINITY; self.whole.gram.rows()];
            before.iter().zip(&sizes).for_each(|(&i, size)| weights[i] = penalty / size);
            walk = walk.turned(tau, &weights);
            tau = 0.0;
            go(&mut walk, tau);
            let new: Vec<f64> = walk.coefficients(tau).iter().map(|b| b.abs()).collect();
            let same = walk.active == before && new.iter().zip(&sizes).all(|(new, old)| (new - old).abs() <= SETTLED * old);
            sizes = new;
            if same {
                break;
            }
        }
        walk
    }
}

/// Walks until `tau` lies on the stretch.
fn go(walk: &mut Walk, tau: f64) {
    let most = CHANGES * walk.candidates();
    for _ in 0..most {
        if walk.end() <= tau || !walk.advance() {
            break;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{compress::toy, kernel::Kernel, linalg::dot, machine::residual};

    /// Algorithm 3.4, corrected, at one penalty, with coordinate descent for the inner problem: slow, and good enough for a small matrix.
    fn literal(whole: &Whole, penalty: f64, passes: usize) -> Vec<usize> {
        let n = whole.gram.rows();
        let mut scale = whole.sizes.clone().unwrap();
        for _ in 0..passes {
            let mut lambda = vec![0.0; n];
            for _ in 0..20_000 {
                for i in (0..n).filter(|&i| scale[i] > 0.0) {
                    let others: f64 = (0..n).filter(|&j| j != i).map(|j| whole.gram.at(i, j) * scale[j] * lambda[j]).sum();
                    let r = scale[i] * (whole.values.at(0, i) - others);
                    lambda[i] = (r.abs() - penalty).max(0.0) * r.signum() / (scale[i] * scale[i] * whole.gram.at(i, i));
                }
            }
            scale.iter_mut().zip(&lambda).for_each(|(s, l)| *s *= l.abs());
        }
        (0..n).filter(|&i| scale[i] > 0.0).collect()
    }

    #[test]
    fn algorithm_3_4_leaves_what_the_literal_passes_leave() {
        let machine = toy::machine(Kernel::gaussian(1.5), 14, 1);
        let whole = Whole::of(&Task::of(&machine), &Watch::none()).unwrap();
        let weights: Vec<f64> = whole.sizes.clone().unwrap().iter().map(|s| 1.0 / s).collect();
        let walk = Walk::new(&whole.gram, whole.values.row(0), Penalties::proportional(&weights));
        let first = walk.end();
        let mut passes = Passes { most: 4, whole: &whole, reached: f64::INFINITY, last: walk.clone(), walk };
        for part in [0.7, 0.4, 0.2, 0.05, 0.01] {
            let mut chosen = passes.at(part * first).chosen;
            chosen.sort_unstable();
            assert_eq!(chosen, literal(&whole, part * first, 4), "{part}");
        }
    }

    #[test]
    fn a_number_of_vectors_is_met_and_residuals_are_those_of_the_projection() {
        let machine = toy::machine(Kernel::gaussian(0.3), 60, 1);
        let path = L0::default().sparsify(&Task::of(&machine), &Budget::vectors(13), &Watch::none()).unwrap();
        let start =
            dot(&machine.expansion.coefficients.to_dense().col(0), Whole::of(&Task::of(&machine), &Watch::none()).unwrap().values.row(0));
        for (i, level) in path.levels().into_iter().enumerate() {
            let direct = residual(&machine.expansion, &path.machine(i).unwrap().expansion).unwrap();
            assert!((direct - level.residual).abs() < 1e-10 * start, "{direct} {level:?}");
        }
        let last = path.levels().last().copied().unwrap();
        assert!(last.n_vectors <= 13 && last.n_vectors >= 12, "{last:?}");
    }

    #[test]
    fn parameters_outside_their_range_are_rejected() {
        assert_eq!(L0 { passes: 0, ..L0::default() }.check().unwrap_err().to_string(), "passes is 0, but must be at least 1");
        assert!(L0 { tolerance: f64::NAN, ..L0::default() }.check().is_err());
    }
}
