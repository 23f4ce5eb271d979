//! Does a machine fit its training rows near-perfectly, and are these the rows at hand?
//!
//! Such rows give optimistic error estimates for what imitates its weights: every row is in the weights. Where the machine has errors on its own training
//! rows, it is smooth enough for imitation to do on other rows what it does on these.
use super::origin::vectors_among;
use crate::{Result, compress::Task, data::Target, machine::Decision};

/// Vectors that are looked for.
const LOOKED_FOR: usize = 50;

/// The rows that are predicted to see whether there is an error, at most, and the fraction of them that may be wrong.
const PREDICTED: usize = 1_000;
const HARDLY_ANY: f64 = 0.01;

/// True when the rows have classes, most vectors of the machine are among the rows, and it has hardly an error there.
pub(super) fn fits_training_rows(task: &Task) -> Result<bool> {
    let Some(data) = task.data.filter(|data| matches!(data.target, Target::Classes(_))) else { return Ok(false) };
    if task.machine.decision.labels().is_empty() || task.machine.decision == Decision::Novelty || !trained_on(task)? {
        return Ok(false);
    }
    let some: Vec<usize> = (0..data.len()).step_by(data.len().div_ceil(PREDICTED).max(1)).collect();
    Ok(task.machine.score(&data.select(&some))?.loss() <= HARDLY_ANY)
}

/// True when most vectors of the machine are rows of the data.
fn trained_on(task: &Task) -> Result<bool> {
    Ok(vectors_among(task, LOOKED_FOR)?.is_some_and(|among| among.fraction_found() > 0.5))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        data::{Dataset, Scale, banana},
        kernel::Kernel,
        learn::{Learner, Svc},
        linalg::Matrix,
        machine::Machine,
        watch::Watch,
    };

    #[test]
    fn rows_of_the_training_are_known_again_through_scales_and_few_digits() {
        let data = banana(300, 1);
        let scale = Scale::standard(&data.points).unwrap();
        let scaled = Dataset { points: scale.apply(&data.points).unwrap(), ..data.clone() };
        let full = Svc { kernel: Kernel::gaussian(1.0), ..Svc::default() }.learn(&scaled, &Watch::none()).unwrap().machine;
        let machine = Machine { scale: Some(scale), ..full };
        let seen = |data: &Dataset| trained_on(&Task { machine: &machine, data: Some(data), candidates: None }).unwrap();
        let rows = data.points.to_dense();
        let written = Matrix::from_fn(300, 2, |i, j| (rows.at(i, j) * 1e7).round() / 1e7);
        let moved = Matrix::from_fn(300, 2, |i, j| rows.at(i, j) + 1e-3);
        assert!(seen(&data));
        assert!(seen(&Dataset { points: written.into(), ..data.clone() }));
        assert!(!seen(&Dataset { points: moved.into(), ..data.clone() }));
        assert!(!seen(&banana(300, 2)));
        assert!(!trained_on(&Task::of(&machine)).unwrap());
    }

    #[test]
    fn a_machine_that_has_no_error_on_its_own_rows_fits_them() {
        let data = banana(300, 1);
        let learned = |c, gamma| Svc { kernel: Kernel::gaussian(gamma), c, ..Svc::default() }.learn(&data, &Watch::none()).unwrap().machine;
        let known = |machine: &Machine, data: &Dataset| fits_training_rows(&Task { machine, data: Some(data), candidates: None }).unwrap();
        let sharp = learned(1e4, 100.0);
        assert!(known(&sharp, &data));
        assert!(!known(&sharp, &banana(300, 2)));
        assert!(!known(&sharp, &Dataset { target: Target::None, ..data.clone() }));
        assert!(!known(&learned(1.0, 1.0), &data));
    }
}
