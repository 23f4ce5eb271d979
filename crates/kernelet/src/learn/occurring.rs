//! Training on the features that occur: sparse rows may have features of any number, and those that are zero in every row change no kernel value.
//! The estimator sees the others alone, renumbered; the vectors of its machines get their numbers back.
use super::Fit;
use crate::{
    Result,
    data::{Csr, Dataset, Points},
};

/// Learns from the features that occur, where these are few beside their numbers; else from the rows as they are.
pub(super) fn learn(data: &Dataset, learn: impl Fn(&Dataset) -> Result<Vec<Fit>>) -> Result<Vec<Fit>> {
    let Points::Sparse(rows) = &data.points else { return learn(data) };
    if !rows.is_mostly_empty() || data.names.is_some() {
        return learn(data);
    }
    let (occur, compact) = rows.compacted();
    let mut fits = learn(&Dataset { points: compact.into(), ..data.clone() })?;
    for fit in &mut fits {
        fit.machine.expansion.vectors = widened(&fit.machine.expansion.vectors, &occur, rows.dim())?;
    }
    Ok(fits)
}

/// The same points with the columns `occur` of `dim`.
fn widened(points: &Points, occur: &[u32], dim: usize) -> Result<Points> {
    let compact = match points {
        Points::Sparse(rows) => rows.clone(),
        dense => Csr::from_dense(&dense.to_dense()),
    };
    let (starts, columns, values) = compact.parts();
    let columns = columns.iter().map(|&column| occur[column as usize]).collect();
    Ok(Csr::new(starts.to_vec(), columns, values.to_vec(), dim)?.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{data::banana, kernel::Kernel, learn::*};

    #[test]
    fn machines_of_far_features_predict_as_those_of_near_ones() {
        let near = banana(60, 1);
        let values = near.points.to_dense().into_values();
        let columns = (0..60).flat_map(|_| [7, 4_000_000_000]).collect();
        let points = Csr::new((0..=60).map(|i| 2 * i).collect(), columns, values, u32::MAX as usize).unwrap();
        let far = Dataset { points: points.into(), ..near.clone() };
        let search = direct::Search { n_vectors: 4, iterations: 10, ..direct::Search::default() };
        let learners: [Box<dyn Learner>; 3] = [
            Box::new(Svc { kernel: Kernel::gaussian(0.5), ..Svc::default() }),
            Box::new(Fisher { kernel: Kernel::gaussian(0.5), ..Fisher::default() }),
            Box::new(direct::Margin { kernel: Kernel::gaussian(0.5), search, ..direct::Margin::default() }),
        ];
        for learner in learners {
            let scaled = Scaled { how: HowToScale::Fitted(crate::data::Scaling::None), learner };
            let [a, b] = [&near, &far].map(|data| {
                let machine = scaled.learn(data, &Watch::none()).unwrap().machine;
                assert_eq!(machine.dim(), data.dim());
                machine.outputs_for(&data.points).unwrap()
            });
            let apart = a.values().iter().zip(b.values()).fold(0.0f64, |most, (a, b)| most.max((a - b).abs()));
            assert!(apart < 1e-2 * a.values().iter().fold(0.0f64, |most: f64, f| most.max(f.abs())), "{}: {apart}", scaled.name());
        }
    }
}
