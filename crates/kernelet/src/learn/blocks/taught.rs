//! A descent of training in memory whose sums over rows come from an engine: rows with outputs to be met, on a card.
use super::{
    ask::{Problem, RowLossName},
    engine::{Engine, engine_on},
    search::{Descent, Found, Place},
    solver::Solver,
};
use crate::{
    Error, Result,
    data::{Dataset, HeldBlocks, Points, Target},
    device::Device,
    kernel::Kernel,
    learn::direct::{Learned, RowTargets, Search, Variables},
    watch::Watch,
};

/// Early in the search, rounds that promise less than this fraction of the value are left out.
const INEXACT: f64 = 1e-4;

/// Where a descent has led: its variables, their value, the steps made and why it ended.
pub(crate) type Taught = (Variables, f64, usize, crate::linalg::Ended);

/// A descent of so many steps on the device of a search; none where that cannot be done there.
pub(crate) fn taught_on_device(
    search: &Search,
    kernel: &Kernel,
    (points, rows): (&Points, &RowTargets),
    at: &Variables,
    steps: usize,
    watch: &Watch,
) -> Result<Option<Taught>> {
    let able = matches!(kernel, Kernel::Gaussian(_)) && search.metric.learned == Learned::Nothing;
    if search.device == Device::Cpu || !able {
        return Ok(None);
    }
    let held = held(points, rows, search.memory_bytes)?;
    taught(&mut *engine_on(search.device, &held)?, search, kernel, rows, at, steps, watch).map(Some)
}

/// The rows as blocks: their targets are values, and their costs weights.
fn held(points: &Points, rows: &RowTargets, memory: usize) -> Result<HeldBlocks> {
    // Rows that cost nothing have a weight of 0.
    let data = Dataset { weights: Some(rows.costs.to_vec()), ..Dataset::new(points.clone(), Target::Values(rows.targets.clone())) };
    HeldBlocks::within(&data, memory)
}

fn taught(
    engine: &mut dyn Engine,
    search: &Search,
    kernel: &Kernel,
    rows: &RowTargets,
    at: &Variables,
    steps: usize,
    watch: &Watch,
) -> Result<Taught> {
    // The penalty of blocks is that of half the squared weights.
    let (loss, cost, factor) = match rows.lambda {
        Some(lambda) => (RowLossName::Squared, 0.5 / lambda, 2.0 * lambda),
        None => (RowLossName::Taught, 1.0, 1.0),
    };
    let problem = Problem { loss, n_classes: 0, n_outputs: rows.targets.cols(), costs: vec![cost], scale: None, centre: vec![] };
    let search = Search { iterations: steps, ..search.clone() };
    let machine = |_: &Place, _: &_| Err(Error::data("the machine is made in memory"));
    let descent = Descent { kernel, search: &search, inexact: INEXACT, machine: &machine, kept: None, watch };
    let solver = Solver { engine, problem: &problem, last: None, passes: 0, engine_failed: false };
    let Found { place, value, iterations, ended, .. } = descent.run(solver, at.clone(), 0)?;
    Ok((place.at, factor * value, iterations, ended))
}

#[cfg(test)]
mod tests {
    use super::{super::engine::LocalEngine, *};
    use crate::{
        basis::{Frame, JITTER},
        data::banana,
        learn::direct::{Coordinates, Inner, Squared, SquaredHinge},
        linalg::Matrix,
    };

    #[test]
    fn values_are_those_in_memory_for_sides_and_values_and_steps_lower_them() {
        let data = banana(500, 1);
        let targets = Matrix::from_fn(500, 3, |i, k| (1.6 * ((i * (k + 2)) as f64 * 0.3).sin()).clamp(-1.0, 1.0));
        assert!(targets.values().iter().any(|t| t.abs() < 1.0) && targets.values().iter().any(|t| t.abs() == 1.0));
        let costs: Vec<f64> = (0..500).map(|i| (i % 4) as f64).collect();
        let (kernel, z) = (Kernel::gaussian(1.0), data.points.to_dense().select(&(0..9).collect::<Vec<_>>()));
        let frame = Frame::fixed(&kernel, &z.clone().into(), JITTER).unwrap();
        let coordinates = Coordinates::within(&frame, &data.points, usize::MAX, false, vec![]);
        let at = Variables { z, metric: vec![] };
        for lambda in [None, Some(0.3)] {
            let mut inner: Box<dyn Inner> = match lambda {
                None => Box::new(SquaredHinge::new(&targets, &costs)),
                Some(lambda) => Box::new(Squared { targets: &targets, weights: &costs, lambda }),
            };
            let want = inner.solve(&coordinates, &Watch::none()).value;
            let rows = inner.rows().unwrap();
            assert_eq!(rows.lambda, lambda);
            let held = held(&data.points, &rows, 1 << 20).unwrap();
            let value = |steps: usize| {
                let search = Search { n_vectors: 9, ..Search::default() };
                taught(&mut LocalEngine { blocks: &held }, &search, &kernel, &rows, &at, steps, &Watch::none()).unwrap()
            };
            let (same, none, ..) = value(0);
            assert!(same == at && (none / want - 1.0).abs() < 1e-9, "{lambda:?}: {none} {want}");
            let (moved, lower, steps, _) = value(10);
            assert!(lower < 0.99 * want && steps == 10 && moved != at, "{lambda:?}: {lower} {want}");
            // What was found in blocks has the same value in memory.
            let frame = Frame::fixed(&kernel, &moved.z.clone().into(), JITTER).unwrap();
            let there = inner.solve(&Coordinates::within(&frame, &data.points, usize::MAX, false, vec![]), &Watch::none()).value;
            assert!((there / lower - 1.0).abs() < 1e-9, "{lambda:?}: {there} {lower}");
        }
    }
}
