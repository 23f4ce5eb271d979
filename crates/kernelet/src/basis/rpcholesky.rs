//! Randomly pivoted Cholesky: the next point is drawn with probability in proportion to its squared distance from the span
//! (Chen, Epperly, Tropp, Webber 2022). It costs what greedy choice costs, and its mean error is near the best that is possible.
//!
//! With blocks (Epperly, Tropp, Webber 2024) several points are proposed at once and each is kept with the probability that gives the result
//! the distribution of sequential draws; the work is then in matrix products. Cost in both cases: n m (d + m) time, n m numbers.
use super::{Basis, BasisBudget, BasisMethod, blocks::Blocks, greedy_basis::grow, kmeans::drawn};
use crate::{
    Result,
    data::Points,
    draw::Draw,
    kernel::Kernel,
    linalg::Factor,
    watch::{Status, Watch},
};

/// Randomly pivoted Cholesky.
#[derive(Clone, Debug, Default)]
pub struct RpCholesky {
    /// Points proposed at once; 1 is the plain form. None: an eighth of the vectors asked for.
    pub block: Option<usize>,
    /// Seed of the draws.
    pub seed: u64,
}

impl BasisMethod for RpCholesky {
    fn name(&self) -> &'static str {
        "rpcholesky"
    }

    fn choose(&self, kernel: &Kernel, points: &Points, budget: &BasisBudget, watch: &Watch) -> Result<Basis> {
        budget.check(kernel, points)?;
        let mut draw = Draw::seeded(self.seed);
        let most = budget.max_vectors.min(points.len());
        match self.block.unwrap_or(most / 8).clamp(1, most) {
            1 => Ok(grow(
                kernel,
                points,
                budget,
                |growth| {
                    let target = draw.uniform() * growth.gaps().iter().sum::<f64>();
                    drawn(growth.gaps(), target)
                },
                watch,
            )),
            block => Ok(run(Blocks::new(kernel, points, most), block, budget, &mut draw, watch)),
        }
    }
}

/// Proposes blocks of points until the budget is spent.
fn run(mut grown: Blocks, block: usize, budget: &BasisBudget, draw: &mut Draw, watch: &Watch) -> Basis {
    let (most, rows, mut status) = (grown.most(), grown.gaps().len(), Status::Converged);
    let mut empty_rounds = 0;
    while grown.chosen().len() < most && empty_rounds < 3 {
        if watch.cancelled() && !grown.chosen().is_empty() {
            status = Status::Cancelled;
            break;
        }
        let largest = grown.gaps().iter().copied().fold(0.0, f64::max);
        if largest <= budget.max_error || largest == 0.0 {
            break;
        }
        let proposed = propose(&grown, block, draw);
        let (kept, factor) = keep(&grown, &proposed, most - grown.chosen().len(), draw);
        empty_rounds = if kept.is_empty() { empty_rounds + 1 } else { 0 };
        grown.add(&kept, &factor);
        watch.evaluated((kept.len() * rows) as u64);
        watch.report("vectors", grown.chosen().len() as u64, Some(most as u64), Some(largest));
    }
    grown.finish(status)
}

/// Distinct points, each drawn in proportion to its distance.
fn propose(grown: &Blocks, block: usize, draw: &mut Draw) -> Vec<usize> {
    let gaps = grown.gaps();
    let mut sums = Vec::with_capacity(gaps.len());
    let mut sum = 0.0;
    for gap in gaps {
        sum += gap;
        sums.push(sum);
    }
    let mut proposed: Vec<usize> = vec![];
    for _ in 0..block {
        let target = draw.uniform() * sum;
        let place = sums.partition_point(|s| *s <= target).min(sums.len() - 1);
        if !proposed.contains(&place) && !grown.is_dependent(place, gaps[place]) {
            proposed.push(place);
        }
    }
    proposed
}

/// Goes through the proposals in order: each is kept with probability (distance now) / (distance when proposed). Returns those kept and the
/// factor of what their kernel matrix has beyond the span.
fn keep(grown: &Blocks, proposed: &[usize], most: usize, draw: &mut Draw) -> (Vec<usize>, Factor) {
    let rest = grown.beyond(proposed);
    let (mut kept, mut places, mut factor) = (vec![], vec![], Factor::default());
    for (i, &point) in proposed.iter().enumerate() {
        let column = places.iter().map(|&j: &usize| rest.at(i, j)).collect();
        let (mut row, gap) = factor.row_for(column, rest.at(i, i));
        let passes = draw.uniform() * rest.at(i, i) < gap && !grown.is_dependent(point, gap);
        if passes && kept.len() < most {
            row.push(gap.sqrt());
            factor.push(&row);
            kept.push(point);
            places.push(i);
        }
    }
    (kept, factor)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{data::banana, linalg::Matrix};

    fn basis(block: Option<usize>, seed: u64) -> Basis {
        let points = banana(400, 5).points;
        RpCholesky { block, seed }.choose(&Kernel::gaussian(0.8), &points, &BasisBudget::vectors(40), &Watch::none()).unwrap()
    }

    #[test]
    fn coordinates_and_factor_are_those_of_the_chosen_points_with_and_without_blocks() {
        let points = banana(400, 5).points;
        for block in [Some(1), Some(7), None] {
            let found = basis(block, 3);
            assert_eq!((found.frame.len(), found.chosen.len(), found.coordinates.cols()), (40, 40, 40));
            let again = Basis::of_vectors(&Kernel::gaussian(0.8), &points, &points.select(&found.chosen), vec![], 0.0).unwrap();
            for (a, b) in found.coordinates.values().iter().zip(again.coordinates.values()) {
                assert!((a - b).abs() < 1e-6, "{block:?}: {a} {b}");
            }
            assert!((found.mean_error() - again.mean_error()).abs() < 1e-9);
        }
    }

    #[test]
    fn blocks_have_the_mean_error_of_sequential_draws_and_less_than_greedy_choice() {
        let (points, kernel, budget) = (banana(400, 5).points, Kernel::gaussian(1.0), BasisBudget::vectors(20));
        let mean = |method: &dyn Fn(u64) -> Box<dyn BasisMethod>| {
            let error = |seed| method(seed).choose(&kernel, &points, &budget, &Watch::none()).unwrap().mean_error();
            (0..20).map(error).sum::<f64>() / 20.0
        };
        let plain = mean(&|seed| Box::new(RpCholesky { block: Some(1), seed }));
        let blocks = mean(&|seed| Box::new(RpCholesky { block: Some(8), seed }));
        let greedy = mean(&|seed| Box::new(super::super::GreedyBasis { seed, ..Default::default() }));
        assert!((plain - blocks).abs() < 0.15 * plain && plain < greedy, "{plain} {blocks} {greedy}");
    }

    #[test]
    fn seeds_and_threads_and_few_distinct_points() {
        assert_eq!(basis(None, 1).chosen, basis(None, 1).chosen);
        let alone = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap().install(|| basis(None, 1));
        assert_eq!((alone.chosen, alone.coordinates), (basis(None, 1).chosen, basis(None, 1).coordinates));
        let few: Points = Matrix::from_fn(50, 1, |i, _| (i % 4) as f64).into();
        for block in [Some(1), Some(4)] {
            let found =
                RpCholesky { block, seed: 0 }.choose(&Kernel::gaussian(1.0), &few, &BasisBudget::vectors(20), &Watch::none()).unwrap();
            assert_eq!(found.frame.len(), 4);
            assert!(found.largest_error() < 1e-9);
        }
    }
}
