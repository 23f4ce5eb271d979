//! Greedy training-set approximation [Franc2003 (Algorithm 1)]: take, one after the other, the point farthest from the span of those taken.
//!
//! This is Cholesky with the largest remaining diagonal as pivot. It makes the largest error small and so collects outliers; the mean
//! error is often no better than that of random points (see [`RpCholesky`](super::RpCholesky)).
//!
//! The sum of the squared distances, which the paper calls mse, is at most n - m times the largest [Franc2003 (mse bound)].
//!
//! Distances only fall, so that those from some vectors ago bound those of now. Vectors are therefore chosen within a pool, the points that were
//! farthest when it was made, for as long as the farthest of the pool is farther than any other point was; only then are all points brought
//! up to date, in one matrix product for all vectors chosen since. The choice is the same as with an update after every vector.
//!
//! Cost: n m (d + m) time, n m numbers, n m kernel values, and p m (d + m) for the pool of p points each time it is made anew.
use super::{Basis, BasisBudget, BasisMethod, blocks::Blocks, gram::Gram, growth::Growth};
use crate::{
    Named, Result,
    data::Points,
    draw::Draw,
    kernel::Kernel,
    linalg::Factor,
    watch::{Status, Watch},
};

/// The pool has one of so many points, and at least so many.
const POOL: (usize, usize) = (32, 1024);

/// For fewer points than this all are brought up to date for each vector.
const SMALL: usize = 4096;

/// Which vector a greedy choice begins with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum First {
    /// The longest in feature space; a drawn one where all are equally long, as with kernels of the distance.
    #[default]
    Best,
    /// A drawn one, as the paper has it.
    Random,
}

impl Named for First {
    const NAMES: &'static [(&'static str, Self)] = &[("best", First::Best), ("random", First::Random)];
}

/// Greedy choice by largest error.
#[derive(Clone, Debug, Default)]
pub struct GreedyBasis {
    /// Seed of the first vector, where it is drawn.
    pub seed: u64,
    /// Which vector comes first.
    pub first: First,
}

impl GreedyBasis {
    /// The place of the first vector. A drawn point of no length spans nothing and gives its place to the longest.
    fn begin(&self, gaps: &[f64], max_error: f64) -> usize {
        let (drawn, (longest, length)) = (Draw::seeded(self.seed).below(gaps.len()), largest(gaps));
        let usable = match self.first {
            First::Best => gaps[drawn] == length,
            First::Random => gaps[drawn] > max_error,
        };
        if usable { drawn } else { longest }
    }

    /// Chooses in pools of `size` points until the budget is spent or nothing is left; the first pool is the first vector alone.
    fn in_pools(&self, kernel: &Kernel, points: &Points, size: usize, budget: &BasisBudget, watch: &Watch) -> Basis {
        let mut grown = Blocks::new(kernel, points, budget.max_vectors.min(points.len()));
        let (most, mut status, mut evaluations) = (grown.most(), Status::Converged, 0);
        while grown.chosen().len() < most {
            if watch.cancelled() && !grown.chosen().is_empty() {
                status = Status::Cancelled;
                break;
            }
            let (pool, others) = match grown.chosen().is_empty() {
                true => (vec![self.begin(grown.gaps(), budget.max_error)], f64::INFINITY),
                false => farthest(grown.gaps(), size),
            };
            let (kept, factor) = choose_in(kernel, points, &grown, &pool, others, budget.max_error);
            if kept.is_empty() {
                break;
            }
            grown.add(&kept, &factor);
            evaluations += kept.len() * (points.len() + pool.len());
            watch.evaluated((kept.len() * (points.len() + pool.len())) as u64);
            watch.report("vectors", grown.chosen().len() as u64, Some(most as u64), Some(largest(grown.gaps()).1));
        }
        let basis = grown.finish(status);
        Basis { evaluations: evaluations as u64, ..basis }
    }
}

impl BasisMethod for GreedyBasis {
    fn name(&self) -> &'static str {
        "greedy-basis"
    }

    fn choose(&self, kernel: &Kernel, points: &Points, budget: &BasisBudget, watch: &Watch) -> Result<Basis> {
        budget.check(kernel, points)?;
        let pick = |growth: &Growth| match growth.chosen().is_empty() {
            true => self.begin(growth.gaps(), budget.max_error),
            false => largest(growth.gaps()).0,
        };
        match points.len() <= SMALL {
            true => Ok(grow(kernel, points, budget, pick, watch)),
            false => Ok(self.in_pools(kernel, points, (points.len() / POOL.0).max(POOL.1), budget, watch)),
        }
    }
}

/// The `size` points of largest gaps in order of their places, the first of equal ones, and the largest gap of the others.
fn farthest(gaps: &[f64], size: usize) -> (Vec<usize>, f64) {
    let mut order: Vec<usize> = (0..gaps.len()).collect();
    if size >= order.len() {
        return (order, 0.0);
    }
    let (_, next, _) = order.select_nth_unstable_by(size, |&a, &b| gaps[b].total_cmp(&gaps[a]).then(a.cmp(&b)));
    let others = gaps[*next];
    order.truncate(size);
    order.sort_unstable();
    (order, others)
}

/// Chooses in the pool while its farthest point is beyond the bound and at least as far as the `others` were; the first choice is always
/// that far, because the pool has the farthest of all.
fn choose_in(kernel: &Kernel, points: &Points, grown: &Blocks, pool: &[usize], others: f64, bound: f64) -> (Vec<usize>, Factor) {
    let (own, left) = (points.select(pool), grown.most() - grown.chosen().len());
    let mut growth = Growth::beyond(Gram::of(kernel, &own), grown.known(pool));
    while growth.chosen().len() < left {
        let (place, gap) = largest(growth.gaps());
        let may = gap > bound && (gap >= others || growth.chosen().is_empty());
        if !may || !growth.choose(place) {
            break;
        }
    }
    let (factor, chosen) = growth.into_factor();
    (chosen.into_iter().map(|place| pool[place]).collect(), factor)
}

/// The loop that methods share which look at the distances from the span: pick a point, add it, until the budget is spent or nothing is left.
pub(super) fn grow(kernel: &Kernel, points: &Points, budget: &BasisBudget, mut pick: impl FnMut(&Growth) -> usize, watch: &Watch) -> Basis {
    let mut growth = Growth::new(Gram::of(kernel, points));
    let (most, mut status) = (budget.max_vectors.min(points.len()), Status::Converged);
    while growth.chosen().len() < most && largest(growth.gaps()).1 > budget.max_error {
        if watch.cancelled() && !growth.chosen().is_empty() {
            status = Status::Cancelled;
            break;
        }
        if !growth.choose(pick(&growth)) {
            break;
        }
        watch.evaluated(points.len() as u64);
        watch.report("vectors", growth.chosen().len() as u64, Some(most as u64), Some(largest(growth.gaps()).1));
    }
    growth.into_basis(kernel, points, status)
}

/// The first of the largest numbers, and the number.
fn largest(values: &[f64]) -> (usize, f64) {
    values.iter().enumerate().fold((0, 0.0), |best, (i, &v)| if v > best.1 { (i, v) } else { best })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{data::banana, kernel::block::symmetric, linalg::Matrix};

    /// Algorithm 1 as it is written: every error anew, from the inverse of the kernel matrix of the chosen.
    fn literal(kernel: &Kernel, points: &Points, m: usize, first: usize) -> Vec<usize> {
        let k = symmetric(kernel, points);
        let mut chosen = vec![first];
        while chosen.len() < m {
            let z = Matrix::from_fn(chosen.len(), chosen.len(), |i, j| k.at(chosen[i], chosen[j]));
            let factor = crate::linalg::Cholesky::new(&z).unwrap();
            let error = |x: usize| {
                let mut beta = Matrix::from_fn(chosen.len(), 1, |i, _| k.at(chosen[i], x));
                let column = beta.col(0);
                factor.solve(&mut beta);
                k.at(x, x) - crate::linalg::dot(&column, beta.values())
            };
            let errors: Vec<f64> = (0..points.len()).map(error).collect();
            let next = (0..points.len()).filter(|i| !chosen.contains(i)).max_by(|&i, &j| errors[i].total_cmp(&errors[j])).unwrap();
            chosen.push(next);
        }
        chosen
    }

    #[test]
    fn algorithm_1_picks_what_the_literal_algorithm_picks() {
        let points = banana(120, 5).points;
        let polynomial = Kernel::named("polynomial", 1.0, 3, 1.0).unwrap();
        let begins = [(Kernel::gaussian(0.8), First::Best), (polynomial.clone(), First::Best), (polynomial, First::Random)];
        for (kernel, first) in begins {
            let basis = GreedyBasis { seed: 4, first }.choose(&kernel, &points, &BasisBudget::vectors(9), &Watch::none()).unwrap();
            assert_eq!(basis.chosen, literal(&kernel, &points, 9, basis.chosen[0]));
            assert_eq!((basis.evaluations, basis.evaluations_of_the_paper()), (9 * 120, 2 * 120 * 9 - 36));
        }
    }

    #[test]
    fn the_first_vector_is_the_longest_or_a_drawn_one() {
        let points = banana(120, 5).points;
        let polynomial = Kernel::named("polynomial", 1.0, 3, 1.0).unwrap();
        let begin = |kernel: &Kernel, first: First, seed: u64| {
            GreedyBasis { seed, first }.choose(kernel, &points, &BasisBudget::vectors(2), &Watch::none()).unwrap().chosen[0]
        };
        for seed in [4, 5] {
            let drawn = Draw::seeded(seed).below(120);
            assert_eq!((begin(&polynomial, First::Random, seed), begin(&Kernel::gaussian(0.8), First::Best, seed)), (drawn, drawn));
        }
        assert_eq!(begin(&polynomial, First::Best, 4), begin(&polynomial, First::Best, 5));
        // A row of zeros spans nothing with the linear kernel.
        let rows: Points = Matrix::from_fn(3, 1, |i, _| if i == Draw::seeded(4).below(3) { 0.0 } else { 1.0 + i as f64 }).into();
        let linear = Kernel::named("linear", 1.0, 0, 0.0).unwrap();
        let basis = GreedyBasis { seed: 4, first: First::Random }.choose(&linear, &rows, &BasisBudget::vectors(1), &Watch::none()).unwrap();
        assert_eq!(basis.frame.len(), 1);
    }

    #[test]
    fn pools_of_any_size_pick_what_sequential_choice_picks() {
        let points = banana(500, 5).points;
        let budget = BasisBudget { max_error: 1e-3, ..BasisBudget::vectors(60) };
        for kernel in [Kernel::gaussian(0.8), Kernel::gaussian(200.0), Kernel::named("polynomial", 1.0, 3, 1.0).unwrap()] {
            for (size, first) in [(1, First::Best), (7, First::Random), (100, First::Best), (500, First::Random)] {
                let method = GreedyBasis { seed: 4, first };
                let want = method.choose(&kernel, &points, &budget, &Watch::none()).unwrap();
                let found = method.in_pools(&kernel, &points, size, &budget, &Watch::none());
                assert_eq!(found.chosen, want.chosen, "{} {size}", kernel.name());
                for (a, b) in found.coordinates.values().iter().zip(want.coordinates.values()) {
                    assert!((a - b).abs() < 1e-5, "{a} {b}");
                }
            }
        }
    }

    #[test]
    fn mse_bound_the_sum_of_errors_stays_below_and_coordinates_are_those_of_the_frame() {
        let points = banana(200, 5).points;
        let kernel = Kernel::gaussian(0.8);
        let budget = BasisBudget { max_error: 0.05, ..BasisBudget::vectors(150) };
        let basis = GreedyBasis::default().choose(&kernel, &points, &budget, &Watch::none()).unwrap();
        assert!(basis.largest_error() <= 0.05 && basis.frame.len() < 150 && basis.mean_error() < basis.largest_error());
        let again = basis.frame.coordinates(&points);
        for (a, b) in basis.coordinates.values().iter().zip(again.values()) {
            assert!((a - b).abs() < 1e-9, "{a} {b}");
        }
        // The corrected bound of the paper: the sum of errors is at most (n - m) times the largest.
        let sum: f64 = basis.errors.iter().sum();
        assert!(sum <= (200 - basis.frame.len()) as f64 * basis.largest_error() + 1e-9);
    }

    #[test]
    fn equal_rows_span_one_direction_and_zero_rows_none_is_rejected() {
        let points: Points = Matrix::from_fn(10, 2, |_, j| j as f64).into();
        let basis = GreedyBasis::default().choose(&Kernel::gaussian(1.0), &points, &BasisBudget::vectors(5), &Watch::none()).unwrap();
        assert_eq!(basis.frame.len(), 1);
        let none: Points = Matrix::<f64>::zeros(0, 2).into();
        assert!(GreedyBasis::default().choose(&Kernel::gaussian(1.0), &none, &BasisBudget::vectors(5), &Watch::none()).is_err());
        assert!(GreedyBasis::default().choose(&Kernel::gaussian(1.0), &points, &BasisBudget::vectors(0), &Watch::none()).is_err());
    }
}
