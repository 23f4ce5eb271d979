//! New vectors by following the gradient: for kernels that have no fixed point, and instead of it.
//!
//! Each search maximises `|p|^2 / k(z, z)` [Schoelkopf1998 (8)] over z by L-BFGS. For functions of x.z the denominator is not constant, and the
//! gradient is `(2 M X - |p|^2 2 k'(z.z) z / k(z, z)) / k(z, z)`. Searches run side by side; a step of one costs 2 (N + m) d.
use crate::parallel::*;

use super::{
    greedy::{Seek, grow},
    outputs,
    residual::{Eyes, Residual},
    starts::Starts,
    target::radial,
};
use crate::{
    Result,
    basis::field::add_gradient,
    compress::{Budget, Path, Sparsifier, Task, select::Outputs},
    linalg::{Lbfgs, Matrix, dot},
    watch::Watch,
};

/// Below this part of the target's square, a search is dead.
const DEAD: f64 = 1e-14;

/// Construction by gradients.
#[derive(Clone, Debug)]
pub struct Gradient {
    /// Where searches begin.
    pub starts: Starts,
    /// How several outputs share vectors.
    pub outputs: Outputs,
    /// Steps after which a search is taken as it is.
    pub max_steps: usize,
}

impl Default for Gradient {
    fn default() -> Self {
        Gradient { starts: Starts::default(), outputs: Outputs::Joint, max_steps: 100 }
    }
}

impl Sparsifier for Gradient {
    fn name(&self) -> &'static str {
        "gradient"
    }

    fn check(&self) -> Result<()> {
        self.starts.check()
    }

    fn sparsify(&self, task: &Task, budget: &Budget, watch: &Watch) -> Result<Path> {
        self.check()?;
        budget.check()?;
        task.check()?;
        outputs::shared(self.outputs, task, watch, |task, watch| grow(self, &self.starts, task, budget, watch))
    }
}

impl Seek for Gradient {
    fn name(&self) -> &'static str {
        "gradient"
    }

    fn seek(&self, residual: &Residual, starts: Matrix, watch: &Watch) -> Option<Vec<f64>> {
        let target = residual.target();
        let first_step = 0.1 * target.radius;
        let lbfgs = Lbfgs { max_iterations: self.max_steps, value_tolerance: 1e-8, first_step, ..Lbfgs::default() };
        let search = |u: usize| ascend(residual, starts.row(u).to_vec(), &lbfgs, 0.0, watch);
        let found: Vec<(f64, Vec<f64>)> = (0..starts.rows()).into_par_iter().map(search).collect();
        let alive = found.into_iter().filter(|(gain, z)| *gain > DEAD * target.norm && z.iter().all(|v| v.is_finite()));
        alive.reduce(|best, next| if next.0 > best.0 { next } else { best }).map(|(_, z)| z)
    }
}

/// Where the gain of a point has its next maximum, and the gain there. Ends early at a step no longer than `shortest`.
pub(super) fn ascend(residual: &Residual, start: Vec<f64>, lbfgs: &Lbfgs, shortest: f64, watch: &Watch) -> (f64, Vec<f64>) {
    let (mut eyes, mut last) = (Eyes::default(), start.clone());
    let evaluate = |z: &[f64], gradient: &mut [f64]| gain_with_gradient(residual, z, gradient, &mut eyes);
    let keep_on = |_: usize, _: f64, z: &[f64]| {
        let square: f64 = z.iter().zip(&last).map(|(z, l)| (z - l) * (z - l)).sum();
        last.copy_from_slice(z);
        square.sqrt() > shortest && !watch.cancelled()
    };
    let minimum = lbfgs.minimise(start, evaluate, keep_on);
    watch.evaluated((minimum.evaluations * (residual.target().field.len() + residual.len())) as u64);
    (-minimum.value * residual.target().norm, minimum.point)
}

/// Minus the gain of one point as a fraction of the target, and its gradient.
fn gain_with_gradient(residual: &Residual, z: &[f64], gradient: &mut [f64], eyes: &mut Eyes) -> f64 {
    let (kernel, norm) = (residual.kernel(), residual.target().norm);
    let Some(point) = Matrix::new(z.to_vec(), 1, z.len()) else { return f64::INFINITY };
    let look = residual.look(&point, eyes);
    let square = dot(look.p.row(0), look.p.row(0));
    let profile = kernel.profile();
    let u = if radial(kernel) { 0.0 } else { dot(z, z) };
    let own = profile.value(u);
    if own <= 0.0 {
        return f64::INFINITY;
    }
    gradient.fill(0.0);
    add_gradient(kernel, z, &look.sums, -2.0 / (own * norm), gradient);
    if !radial(kernel) {
        let factor = 2.0 * square * profile.slope(u) / (own * own * norm);
        gradient.iter_mut().zip(z).for_each(|(g, z)| *g += factor * z);
    }
    -square / (own * norm)
}
