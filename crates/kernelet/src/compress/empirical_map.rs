//! Machines with a precomputed kernel, made smaller as linear machines in the space of the empirical kernel map.
//!
//! Such a machine has unit rows as vectors, which say nothing about k(z, z'). The kernel matrix K of the training rows does: with
//! `K_vv = F F'` for the machine's vectors v, the rows of F are points whose dot products are the kernel values, and a row x, given as its
//! kernel values with all training rows, has the point `L^-1 k_p(x)` for the pivots p of the factor and `K_pp = L L'`. Every method that
//! chooses vectors works on these points with the linear kernel; what it chose goes back to unit rows. New vectors cannot go back, because
//! they have no place among the training rows.
//!
//! Cost for n vectors of rank r: n r^2 for F, n r numbers; r^2 for the point of a row.
use std::collections::HashMap;

use crate::{
    Error, Result,
    basis::empirical_points::{bits, check_symmetric, factored},
    data::{Csr, Dataset, Points},
    kernel::{Kernel, Linear},
    linalg::{Lower, Matrix},
    machine::{Expansion, Machine, Metadata},
};

/// The empirical kernel map of a machine with a precomputed kernel, and the linear machine that is the same in its space.
#[derive(Debug)]
pub struct EmpiricalMap {
    /// The machine to make smaller: the same outputs on [`EmpiricalMap::rows`] as the other on the rows themselves.
    pub machine: Machine,
    like: Machine,
    /// The training rows that are pivots, and the factor of their kernel matrix.
    pivots: Vec<usize>,
    lower: Lower,
    /// The places among the training rows that have this point.
    places: HashMap<Vec<u64>, usize>,
}

impl EmpiricalMap {
    /// The map of a machine, or none where its kernel has a formula. `gram` holds the training rows, in their order.
    pub fn of(machine: &Machine, gram: Option<&Dataset>) -> Result<Option<EmpiricalMap>> {
        if !matches!(machine.expansion.kernel, Kernel::Precomputed(_)) {
            return Ok(None);
        }
        machine.check()?;
        let n = machine.expansion.vectors.dim();
        let Some(data) = gram.filter(|data| data.len() == n && data.dim() == n) else {
            return Err(Error::data(format!(
                "the kernel is precomputed, so that data are needed: the {n} training rows in their order, each with its kernel values with all of them"
            )));
        };
        data.check()?;
        let vectors = unit_places(&machine.expansion.vectors)?;
        let rows = data.points.select(&vectors).to_dense();
        let own = Matrix::from_fn(vectors.len(), vectors.len(), |i, j| rows.at(i, vectors[j]));
        check_symmetric(&own)?;
        let (points, chosen, lower) = factored(own)?;
        let places = points.iter().map(bits).zip(vectors.iter().copied()).collect();
        let expansion =
            Expansion { kernel: Kernel::Linear(Linear {}), vectors: points.into(), coefficients: machine.expansion.coefficients.clone() };
        let metadata = Metadata { table: None, ..machine.metadata.clone() };
        let linear = Machine { expansion, names: None, metadata, ..machine.clone() };
        let pivots = chosen.into_iter().map(|i| vectors[i]).collect();
        Ok(Some(EmpiricalMap { machine: linear, like: machine.clone(), pivots, lower, places }))
    }

    /// Rows of kernel values as points of the map.
    pub fn rows(&self, data: &Dataset) -> Result<Dataset> {
        if data.dim() != self.like.dim() {
            return Err(Error::Shape { what: "kernel values of a row", expected: self.like.dim(), found: data.dim() });
        }
        data.check()?;
        let values = data.points.to_dense();
        let mut points = Matrix::from_fn(data.len(), self.pivots.len(), |i, j| values.at(i, self.pivots[j]));
        self.lower.solve_rows(points.values_mut());
        Ok(Dataset { points: points.into(), names: None, table: None, ..data.clone() })
    }

    /// A smaller machine on points of the map as one with the precomputed kernel.
    pub fn back(&self, small: &Machine) -> Result<Machine> {
        let points = small.expansion.vectors.to_dense();
        let place = |point: &[f64]| self.places.get(&bits(point)).map(|&place| place as u32);
        let columns: Option<Vec<u32>> = points.iter().map(place).collect();
        let Some(columns) = columns else {
            return Err(Error::Unsupported {
                method: "new vectors",
                with: "a precomputed kernel, which knows its values with the training rows alone".into(),
                instead: "choose vectors with pursuit, l1, l0 or independent".into(),
            });
        };
        let vectors = Points::Sparse(Csr::new((0..=columns.len()).collect(), columns, vec![1.0; points.rows()], self.like.dim())?);
        let expansion =
            Expansion { kernel: self.like.expansion.kernel.clone(), vectors, coefficients: small.expansion.coefficients.clone() };
        Ok(Machine { expansion, names: self.like.names.clone(), ..small.clone() })
    }
}

/// Which training row each vector is.
fn unit_places(vectors: &Points) -> Result<Vec<usize>> {
    let place = |row: &[f64]| match row.iter().filter(|v| **v != 0.0).count() {
        1 => row.iter().position(|v| *v == 1.0),
        _ => None,
    };
    // A few rows at a time: the vectors are sparse, and all of them written out may be large.
    let all: Vec<usize> = (0..vectors.len()).collect();
    let places = all.chunks(256).flat_map(|some| vectors.select(some).to_dense().iter().map(place).collect::<Vec<_>>());
    let places: Option<Vec<usize>> = places.collect();
    places.ok_or_else(|| Error::data("the vectors of a machine with a precomputed kernel must be unit rows"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        compress::{
            Budget, Refit, Sparsifier, Task, least_error_offsets, refit,
            select::{Independent, L0, L1, Pursuit},
        },
        data::banana,
        kernel::{Precomputed, block::block},
        learn::{Learner, Svc},
        watch::Watch,
    };

    /// The same machine with a Gaussian kernel and with its values alone, and the rows for each.
    fn both(kernel: &Kernel) -> ([Machine; 2], [Dataset; 2]) {
        let data = banana(90, 4);
        let gram = Dataset { points: block(kernel, &data.points, &data.points).into(), ..data.clone() };
        let learn = |kernel: Kernel, data: &Dataset| {
            Svc { kernel, c: 10.0, tolerance: 1e-8, ..Svc::default() }.learn(data, &Watch::none()).unwrap().machine
        };
        ([learn(kernel.clone(), &data), learn(Kernel::Precomputed(Precomputed {}), &gram)], [data, gram])
    }

    #[test]
    fn every_method_chooses_what_it_chooses_with_the_formula() {
        let ([formula, values], [data, gram]) = both(&Kernel::gaussian(1.0));
        let empirical_map = EmpiricalMap::of(&values, Some(&gram)).unwrap().unwrap();
        let rows = empirical_map.rows(&gram).unwrap();
        let methods: [Box<dyn Sparsifier>; 3] = [Box::new(Pursuit::default()), Box::new(L1::default()), Box::new(L0::default())];
        for method in methods {
            let few = Budget::vectors(7);
            let with = Task { data: Some(&data), ..Task::of(&formula) };
            let want = method.sparsify(&with, &few, &Watch::none()).unwrap();
            let task = Task { data: Some(&rows), ..Task::of(&empirical_map.machine) };
            let have = method.sparsify(&task, &few, &Watch::none()).unwrap();
            let (a, b) = (want.levels().last().copied().unwrap(), have.levels().last().copied().unwrap());
            assert!((a.residual - b.residual).abs() < 1e-4 * a.residual && a.n_vectors == b.n_vectors, "{}: {a:?} {b:?}", method.name());
            // Refits and offsets as well, and the machine that goes back predicts from kernel values.
            let fitted = |small: Machine, task: &Task| {
                let small = refit(&small, Refit::Margin, task, None, &Watch::none()).unwrap();
                least_error_offsets(&small, task).unwrap()
            };
            let (want, have) = (fitted(want.last().unwrap(), &with), empirical_map.back(&fitted(have.last().unwrap(), &task)).unwrap());
            let (want, have) = (want.outputs_for(&data.points).unwrap(), have.outputs_for(&gram.points).unwrap());
            let off = want.values().iter().zip(have.values()).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(off < 1e-2, "{}: {off}", method.name());
        }
    }

    #[test]
    fn the_linear_machine_has_the_same_outputs_and_low_rank_is_found() {
        let polynomial = Kernel::named("polynomial", 1.0, 2, 1.0).unwrap();
        let ([_, values], [_, gram]) = both(&polynomial);
        let empirical_map = EmpiricalMap::of(&values, Some(&gram)).unwrap().unwrap();
        let (want, have) = (
            values.outputs_for(&gram.points).unwrap(),
            empirical_map.machine.outputs_for(&empirical_map.rows(&gram).unwrap().points).unwrap(),
        );
        assert!(want.values().iter().zip(have.values()).all(|(a, b)| (a - b).abs() < 1e-7 * (1.0 + a.abs())));
        // A polynomial of degree 2 in 2 variables has 6 monomials.
        let task = Task::of(&empirical_map.machine);
        let small = Independent::default().sparsify(&task, &Budget::default(), &Watch::none()).unwrap().last().unwrap();
        let small = empirical_map.back(&small).unwrap();
        assert!(small.n_vectors() == 6 && small.check().is_ok());
        let have = small.outputs_for(&gram.points).unwrap();
        assert!(want.values().iter().zip(have.values()).all(|(a, b)| (a - b).abs() < 1e-6 * (1.0 + a.abs())));
    }

    #[test]
    fn what_is_missing_or_cannot_be_is_rejected() {
        let ([formula, values], [data, gram]) = both(&Kernel::gaussian(1.0));
        assert!(EmpiricalMap::of(&formula, None).unwrap().is_none());
        let say = |gram: Option<&Dataset>| EmpiricalMap::of(&values, gram).unwrap_err().to_string();
        assert!(say(None).contains("the 90 training rows in their order") && say(Some(&data)).contains("90 training rows"));
        let turned = gram.select(&(0..90).rev().collect::<Vec<_>>());
        assert!(say(Some(&turned)).contains("not symmetric"));
        let mut negative = gram.points.to_dense();
        (0..90).for_each(|i| negative.row_mut(i)[i] = 0.1);
        assert!(say(Some(&Dataset { points: negative.into(), ..gram.clone() })).contains("not positive definite"));
        let empirical_map = EmpiricalMap::of(&values, Some(&gram)).unwrap().unwrap();
        let mut made = empirical_map.machine.clone();
        made.expansion.vectors = Matrix::from_fn(made.n_vectors(), made.dim(), |_, _| 0.5).into();
        assert!(empirical_map.back(&made).unwrap_err().to_string().contains("choose vectors with pursuit"));
        assert!(empirical_map.rows(&data).is_err());
    }
}
