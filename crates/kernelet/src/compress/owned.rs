//! Pairs of classes whose vectors belong to one class each, as LIBSVM's files have them.
//!
//! In LIBSVM's layout a vector has coefficients only for the pairs that its own class takes part in; a vector that all pairs share would be written up
//! to (classes - 1) times. Here each vector goes to the class whose pairs use it most, and each pair gets the projection of its weight vector on
//! the vectors of its two classes. Cost: N m d for the values, and m_ab^3 / 3 for a pair with m_ab vectors.
use crate::parallel::*;

use super::Task;
use crate::{
    Error, Result,
    basis::{Frame, JITTER},
    linalg::Matrix,
    machine::{Coefficients, Decision, Expansion, Machine, Pairwise, inner_products},
};

/// The machine `small` with vectors owned by one class each; `task` has the machine it stands for. Two classes need no owners.
pub fn owned_by_class(small: &Machine, task: &Task) -> Result<Machine> {
    let labels = match &small.decision {
        Decision::Votes { labels } => labels,
        Decision::Largest { .. } | Decision::Codes { .. } => {
            return Err(Error::Unsupported {
                method: "LIBSVM's layout",
                with: "a machine that is not one-vs-one".into(),
                instead: "train with --multiclass one-vs-one, or export as ONNX or C".into(),
            });
        }
        _ => return Ok(small.clone()),
    };
    let (classes, dense) = (labels.len(), small.expansion.coefficients.to_dense());
    let mut order: Vec<(usize, usize)> = dense.iter().map(|row| owner(row, classes)).zip(0..).collect();
    order.sort_unstable();
    let places: Vec<usize> = order.iter().map(|(_, place)| *place).collect();
    let starts: Vec<usize> = (0..=classes).map(|class| order.partition_point(|(owner, _)| *owner < class)).collect();
    let vectors = small.expansion.vectors.select(&places);
    let values = inner_products(&task.machine.expansion, &vectors)?;
    let pairs: Vec<(usize, usize)> = Pairwise::pairs(classes).collect();
    let own = |(k, &(a, b)): (usize, &(usize, usize))| {
        let rows: Vec<usize> = (starts[a]..starts[a + 1]).chain(starts[b]..starts[b + 1]).collect();
        if rows.is_empty() {
            return Ok(vec![]);
        }
        let frame = Frame::fixed(&small.expansion.kernel, &vectors.select(&rows), JITTER)?;
        let mut weights: Vec<f64> = rows.iter().map(|&j| values.at(j, k)).collect();
        frame.lower().solve_rows(&mut weights);
        Ok(rows.into_iter().zip(frame.coefficients(&Matrix::column(weights)).into_values()).collect())
    };
    let found: Vec<Vec<(usize, f64)>> = pairs.par_iter().enumerate().map(own).collect::<Result<_>>()?;
    let mut coefficients = Matrix::zeros(places.len(), classes - 1);
    for ((a, b), found) in pairs.into_iter().zip(found) {
        for (j, value) in found {
            let column = if j >= starts[a] && j < starts[a + 1] { b - 1 } else { a };
            coefficients.row_mut(j)[column] = value;
        }
    }
    let coefficients = Coefficients::Pairwise(Pairwise { starts, values: coefficients });
    let expansion = Expansion { vectors, coefficients, ..small.expansion.clone() };
    Ok(Machine { expansion, ..small.clone() })
}

/// The class whose pairs use a vector most.
fn owner(coefficients: &[f64], classes: usize) -> usize {
    let mut squares = vec![0.0; classes];
    for ((a, b), value) in Pairwise::pairs(classes).zip(coefficients) {
        squares[a] += value * value;
        squares[b] += value * value;
    }
    (0..classes).fold(0, |best, class| if squares[class] > squares[best] { class } else { best })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        compress::{Budget, Sparsifier, select::Pursuit},
        data::waveform3,
        evaluate::agreement,
        kernel::Kernel,
        learn::{Learner, Multiclass, Svc},
        machine::residual,
        model::libsvm,
        watch::Watch,
    };

    #[test]
    fn all_vectors_are_the_machine_and_few_keep_their_owners() {
        let data = waveform3(150, 1);
        let svc = Svc { kernel: Kernel::gaussian(0.05), c: 1.0, multiclass: Multiclass::OneVsOne, ..Svc::default() };
        let full = svc.learn(&data, &Watch::none()).unwrap().machine;
        let task = Task::of(&full);
        let same = owned_by_class(&full, &task).unwrap();
        assert!(residual(&full.expansion, &same.expansion).unwrap() < 1e-8);
        let few = Pursuit::default().sparsify(&task, &Budget::vectors(30), &Watch::none()).unwrap().last().unwrap();
        let owned = owned_by_class(&few, &task).unwrap();
        assert!(matches!(owned.expansion.coefficients, Coefficients::Pairwise(_)) && owned.n_vectors() == few.n_vectors());
        assert!(owned.check().is_ok());
        let (a, b) = (full.predict(&data.points).unwrap(), owned.predict(&data.points).unwrap());
        // Measured: 0.887.
        assert!(agreement(&a, &b).unwrap() > 0.87, "{:?}", agreement(&a, &b));
        // LIBSVM's file has each vector once.
        let text = libsvm::to_text(&owned).unwrap();
        assert!(text.contains(&format!("total_sv {}", few.n_vectors())), "{}", &text[..200]);
    }
}
