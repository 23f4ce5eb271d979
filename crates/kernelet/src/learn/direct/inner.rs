//! What direct training needs to know of a learner: its optimum on given vectors.
//!
//! A learner whose objective is a function of its outputs `f_ik = w_k.v_i + b_k` and of the `|w_k|^2` alone fits here, and those of
//! section 2 of Wu2006 all do. By the envelope theorem the weights need not be differentiated: with `negative_gradient` S minus the derivative
//! of the optimal value by the outputs, `norms` rho twice that by the squared norms, and coefficients B held fixed,
//! `dW = - d<B, K^zx S> + 1/2 sum_k rho_k d(b_k' K^z b_k)`.
use super::coordinates::Coordinates;
use crate::{linalg::Matrix, watch::Watch};

/// A learner on its rows, ready for any coordinates of them.
pub(crate) trait Inner: Sync {
    /// The optimum on these coordinates. Remembers it as the start for the next ones, which are near.
    fn solve(&mut self, coordinates: &Coordinates, watch: &Watch) -> Solution;
    /// Its rows, where losses of one row after another say all about it, so that sums over rows are all that is needed.
    fn rows(&self) -> Option<RowTargets<'_>> {
        None
    }
    /// What it remembers, as numbers; nothing where every optimum is found without a start.
    fn memory(&self) -> Vec<f64> {
        vec![]
    }
    /// Remembers what [`Inner::memory`] returned, on `m` vectors. False where these are no such numbers.
    fn remember(&mut self, memory: &[f64], m: usize) -> bool {
        let _ = m;
        memory.is_empty()
    }
}

/// What rows should have as outputs.
pub(crate) struct RowTargets<'a> {
    /// n x q: +1 or -1, a side to be on; or in between, or where there is a penalty of values, a value to be met.
    pub targets: &'a Matrix,
    /// One for each row.
    pub costs: &'a [f64],
    /// The penalty of |w|^2 where values are met, without offsets; none where sides are taken.
    pub lambda: Option<f64>,
}

/// The optimum on given coordinates, and what moves it.
#[derive(Clone, Debug)]
pub(crate) struct Solution {
    /// The optimal value W.
    pub value: f64,
    /// m x q.
    pub weights: Matrix,
    /// q.
    pub offsets: Vec<f64>,
    /// n x q: minus the derivatives of W by the outputs.
    pub negative_gradient: Matrix,
    /// q: twice the derivatives of W by the squared norms of the weights; 1 for what minimises `1/2 |w|^2` and a loss.
    pub norms: Vec<f64>,
}
