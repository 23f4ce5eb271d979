//! One vector after the other: search, add, refit, go on with what is left.
use super::{
    residual::Residual,
    starts::{Pool, Starts},
    target::Target,
};
use crate::{
    Result,
    compress::{Budget, Path, Task, budget::Spending},
    linalg::Matrix,
    watch::{Status, Watch},
};

/// Rounds of fresh starts before a residual counts as explained.
const ROUNDS: usize = 3;

/// Finds a vector that explains much of a residual.
pub(super) trait Seek: Sync {
    /// The name of the method.
    fn name(&self) -> &'static str;
    /// The best point found from these starts; none where all of them die.
    fn seek(&self, residual: &Residual, starts: Matrix, watch: &Watch) -> Option<Vec<f64>>;
}

/// The path of all sizes. [Schoelkopf1998 (16)]
pub(super) fn grow(method: &dyn Seek, starts: &Starts, task: &Task, budget: &Budget, watch: &Watch) -> Result<Path> {
    let target = Target::of(task, method.name())?;
    let mut pool = Pool::new(starts, task, &target, watch)?;
    let mut residual = Residual::new(&target);
    // As many vectors as the machine has would be the machine again.
    let most = budget.max_vectors.min(task.machine.n_vectors());
    let budget = Budget { max_vectors: most, ..budget.clone() };
    let spending = Spending::begin(&budget);
    let mut status = Status::Converged;
    while !spending.is_spent(residual.len(), residual.norm() / target.norm) {
        if watch.cancelled() {
            break;
        }
        if !one_more(method, &mut pool, &mut residual, watch) {
            status = Status::Capped;
            break;
        }
        watch.report("vectors", residual.len() as u64, Some(most as u64), Some(residual.norm() / target.norm));
    }
    let vectors = target.outside(residual.vectors());
    let (factor, coordinates, residuals) = residual.into_parts();
    Ok(Path::nested(task.machine, vectors, factor, coordinates, residuals, target.norm).ended(vec![], watch.ended(status)))
}

/// Adds a vector; false where none is found.
fn one_more(method: &dyn Seek, pool: &mut Pool, residual: &mut Residual, watch: &Watch) -> bool {
    for _ in 0..ROUNDS {
        let starts = pool.draw(residual.target());
        let Some(z) = method.seek(residual, starts, watch) else { continue };
        if let Some((row, y)) = residual.add(&z) {
            pool.take_off(residual, &z, &row, &y);
            return true;
        }
    }
    false
}
