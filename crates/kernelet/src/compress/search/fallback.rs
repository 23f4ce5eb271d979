//! A machine for a run whose time is over before any strategy has found one: the vectors with the largest coefficients, projected on.
use crate::{
    Result,
    compress::{Refit, Task, part_of, refit},
    machine::Machine,
    watch::Watch,
};

/// The projection on more vectors than this would take longer than waiting for a strategy.
const MOST_PROJECTED: usize = 2_000;

/// The vectors of the largest coefficients of the machine, with the coefficients of least distance where there are few enough.
pub(crate) fn heaviest(task: &Task, size: usize) -> Result<Machine> {
    let machine = task.machine;
    let weights: Vec<f64> = machine.expansion.coefficients.to_dense().iter().map(|row| row.iter().map(|b| b * b).sum()).collect();
    let mut order: Vec<usize> = (0..weights.len()).collect();
    order.sort_by(|&a, &b| weights[b].total_cmp(&weights[a]));
    order.truncate(size.max(1));
    order.sort_unstable();
    let part = part_of(machine, &order);
    match part.n_vectors() <= MOST_PROJECTED {
        true => refit(&part, Refit::Projection, task, None, &Watch::none()),
        false => Ok(part),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{compress::toy, kernel::Kernel};

    #[test]
    fn the_largest_coefficients_are_kept() {
        let machine = toy::machine(Kernel::gaussian(0.4), 30, 2);
        let small = heaviest(&Task::of(&machine), 7).unwrap();
        assert_eq!(small.n_vectors(), 7);
        let size = |row: &[f64]| row.iter().map(|b| b * b).sum::<f64>();
        let coefficients = machine.expansion.coefficients.to_dense();
        let (all, kept) = (machine.expansion.vectors.to_dense(), small.expansion.vectors.to_dense());
        let is_kept = |i: usize| kept.iter().any(|row| row == all.row(i));
        let least = (0..30).filter(|&i| is_kept(i)).map(|i| size(coefficients.row(i))).fold(f64::INFINITY, f64::min);
        assert!((0..30).filter(|&i| !is_kept(i)).all(|i| size(coefficients.row(i)) <= least));
        assert_eq!(heaviest(&Task::of(&machine), 100).unwrap().n_vectors(), 30);
    }
}
