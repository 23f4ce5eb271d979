//! The fixed-point iteration: a new vector is a weighted mean of the old ones.
//!
//! For what is left of the target, `p = A'k(X, z)` and weights `w_i = k'_i (A p)_i`, one step is `z+ = sum_i w_i x_i / sum_i w_i`
//! [Schoelkopf1998 (12)], for every smooth function of the distance [Schoelkopf1998 (10)] and for several outputs at once
//! [Schoelkopf1998 (19)], which is printed without the coefficient that makes it so. For one output and the Gaussian it lies on the line through the
//! weighted means of the vectors with positive and with negative coefficients [Schoelkopf1998 (14)], with the weights `p_pos / (p_pos - p_neg)` and
//! `p_neg / (p_neg - p_pos)` [Schoelkopf1998 (13)], beyond the positive mean where p_pos is larger. Taken as it stands the step often leads down or away. But with
//! `D = sum_i w_i`
//!
//! `grad |p|^2 = -4 D (z+ - z)`, which for the Gaussian is `4 gamma |p|^2 (z+ - z)`,
//!
//! so the direction is right once its sign is that of -D, which the Gaussian has by itself; only the length can be wrong. It is halved until the
//! objective does not fall, and grows again with each success. A start is given up where |p|^2 is below 1e-14 of the target.
//!
//! Fixed points find a hill in a few steps but converge slowly to its top. So all starts move together for a few steps, each of two products of s (N + m) d,
//! and the best of them climb on along the same gradient by L-BFGS.
use crate::parallel::*;

use super::{
    gradient::ascend,
    greedy::{Seek, grow},
    outputs,
    residual::{Eyes, Look, Residual},
    starts::Starts,
    target::radial,
};
use crate::{
    Error, Result,
    compress::{Budget, Path, Sparsifier, Task, select::Outputs},
    linalg::{Lbfgs, Matrix, dot},
    watch::Watch,
};

/// Below this part of the target's square, a start is dead.
const DEAD: f64 = 1e-14;

/// A part of the spread of the vectors, and a number of steps: who moves by less or has made so many waits, and only the best so far go on.
const COARSE: f64 = 1e-2;
const COARSE_STEPS: usize = 10;
const FINALISTS: usize = 2;

/// What a step that succeeds makes the next one longer by: where the plain iteration converges slowly, this does not.
const LONGER: f64 = 1.5;

/// Construction by fixed points.
#[derive(Clone, Debug)]
pub struct FixedPoint {
    /// Where searches begin.
    pub starts: Starts,
    /// How several outputs share vectors.
    pub outputs: Outputs,
    /// Steps after which a search is taken as it is.
    pub max_steps: usize,
    /// A search ends when it moves by less than this part of the spread of the machine's vectors. The gain is flat at the top: who misses it by a
    /// thousandth loses about a millionth.
    pub tolerance: f64,
}

impl Default for FixedPoint {
    fn default() -> Self {
        FixedPoint { starts: Starts::default(), outputs: Outputs::Joint, max_steps: 200, tolerance: 1e-3 }
    }
}

impl Sparsifier for FixedPoint {
    fn name(&self) -> &'static str {
        "fixed-point"
    }

    fn check(&self) -> Result<()> {
        self.starts.check()?;
        match self.tolerance > 0.0 && self.tolerance < 1.0 {
            true => Ok(()),
            false => Err(Error::parameter("tolerance", self.tolerance, "between 0 and 1")),
        }
    }

    fn sparsify(&self, task: &Task, budget: &Budget, watch: &Watch) -> Result<Path> {
        self.check()?;
        budget.check()?;
        task.check()?;
        let kernel = &task.machine.expansion.kernel;
        if !radial(kernel) {
            return Err(Error::Unsupported {
                method: "fixed-point",
                with: format!("the {} kernel, which is not a function of the distance", kernel.name()),
                instead: "use gradient, which works with every smooth kernel".into(),
            });
        }
        outputs::shared(self.outputs, task, watch, |task, watch| grow(self, &self.starts, task, budget, watch))
    }
}

/// One search.
#[derive(Clone)]
struct Climber {
    z: Vec<f64>,
    gain: f64,
    /// Where the objective rises, and how far the fixed point would go.
    direction: Vec<f64>,
    length: f64,
    /// The part of the direction that is tried next.
    part: f64,
}

impl Seek for FixedPoint {
    fn name(&self) -> &'static str {
        "fixed-point"
    }

    fn seek(&self, residual: &Residual, starts: Matrix, watch: &Watch) -> Option<Vec<f64>> {
        let mut eyes = Eyes::default();
        let look = residual.look(&starts, &mut eyes);
        let gains = residual.gains(&starts, &look.p);
        let radius = residual.target().radius;
        let all = (0..starts.rows()).map(|u| Climber::at(&starts, gains[u], &look, u, 1.0, radius)).collect();
        let mut climbers = self.climb(residual, all, COARSE.max(self.tolerance), &mut eyes, watch);
        climbers.sort_by(|a, b| b.gain.total_cmp(&a.gain));
        climbers.truncate(FINALISTS);
        let shortest = self.tolerance * radius;
        let to_the_top = |climber: Climber| {
            let first_step = (climber.part * climber.length).max(shortest);
            let lbfgs = Lbfgs { max_iterations: self.max_steps, value_tolerance: 1e-8, first_step, ..Lbfgs::default() };
            let (gain, z) = ascend(residual, climber.z.clone(), &lbfgs, shortest, watch);
            if gain > climber.gain { (gain, z) } else { (climber.gain, climber.z) }
        };
        let found: Vec<(f64, Vec<f64>)> = climbers.into_par_iter().map(to_the_top).collect();
        found.into_iter().reduce(|best, next| if next.0 > best.0 { next } else { best }).map(|(_, z)| z)
    }
}

impl FixedPoint {
    /// Moves all climbers until each moves by less than `tolerance` times the spread of the vectors. Those that die are left out.
    fn climb(&self, residual: &Residual, mut climbers: Vec<Climber>, tolerance: f64, eyes: &mut Eyes, watch: &Watch) -> Vec<Climber> {
        let (radius, dead) = (residual.target().radius, DEAD * residual.target().norm);
        let mut ended = vec![];
        let steps = self.max_steps.min(COARSE_STEPS);
        for step in 0..=steps {
            let (on, off): (Vec<Climber>, Vec<Climber>) = climbers
                .into_iter()
                .filter(|c| c.gain > dead)
                .partition(|c| step < steps && c.part * c.length > tolerance * radius && !watch.cancelled());
            ended.extend(off);
            climbers = on;
            let trial: Vec<f64> = climbers.iter().flat_map(Climber::trial).collect();
            let Some(trial) = Matrix::new(trial, climbers.len(), residual.target().shift.len()).filter(|t| t.rows() > 0) else { break };
            let look = residual.look(&trial, eyes);
            watch.evaluated((trial.rows() * (residual.target().field.len() + residual.len())) as u64);
            let gains = residual.gains(&trial, &look.p);
            for (u, climber) in climbers.iter_mut().enumerate() {
                match gains[u] >= climber.gain {
                    true => *climber = Climber::at(&trial, gains[u], &look, u, LONGER * climber.part, radius),
                    false => climber.part *= 0.5,
                }
            }
        }
        ended
    }
}

impl Climber {
    /// A climber at row `u` of what was looked at, which tries a part of the direction next.
    fn at(z: &Matrix, gain: f64, look: &Look, u: usize, part: f64, radius: f64) -> Climber {
        let z = z.row(u).to_vec();
        let direction = direction(&z, look.sums.points.row(u), look.sums.totals[u]);
        let length = dot(&direction, &direction).sqrt();
        // A denominator near zero sends the fixed point anywhere; no step need be longer than the data are wide.
        let part = if part * length > 2.0 * radius { 2.0 * radius / length } else { part };
        match length.is_finite() {
            true => Climber { z, gain, direction, length, part },
            false => Climber { direction: vec![0.0; z.len()], z, gain, length: 0.0, part: 1.0 },
        }
    }

    fn trial(&self) -> Vec<f64> {
        self.z.iter().zip(&self.direction).map(|(z, d)| z + self.part * d).collect()
    }
}

/// `-sign(D) (z+ - z)` from `M X` and `D = M 1`.
fn direction(z: &[f64], summed: &[f64], total: f64) -> Vec<f64> {
    z.iter().zip(summed).map(|(z, p)| (total * z - p) / total.abs()).collect()
}
