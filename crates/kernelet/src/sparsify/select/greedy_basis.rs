//! Greedy training-set approximation [Franc2003 (2)]: take, one after the other, the point farthest from the span of those taken.
//!
//! This is Cholesky with the largest remaining diagonal as pivot. It makes the largest error small and so collects outliers; the mean
//! error is often no better than that of random points (see [`RpCholesky`](super::RpCholesky)).
//!
//! Cost: n m (d + m) time, n m numbers, n m kernel values.
use super::super::{
    basis::{Basis, BasisBudget, BasisMethod},
    gram::Gram,
    growth::Growth,
};
use crate::{
    Result,
    data::{Points, draw::Draw},
    kernel::Kernel,
    watch::{Status, Watch},
};

/// Greedy choice by largest error.
#[derive(Clone, Debug, Default)]
pub struct GreedyBasis {
    /// Seed of the first vector, which is drawn where all points are equally far from nothing.
    pub seed: u64,
}

impl BasisMethod for GreedyBasis {
    fn name(&self) -> &'static str {
        "greedy-basis"
    }

    fn choose(&self, kernel: &Kernel, points: &Points, budget: &BasisBudget, watch: &Watch) -> Result<Basis> {
        budget.check(kernel, points)?;
        let first = Draw::seeded(self.seed).below(points.len());
        let pick = |growth: &Growth| match growth.chosen().is_empty() && growth.gaps()[first] == largest(growth.gaps()).1 {
            true => first,
            false => largest(growth.gaps()).0,
        };
        Ok(grow(kernel, points, budget, pick, watch))
    }
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
    fn eq_2_picks_what_the_literal_algorithm_picks() {
        let points = banana(120, 5).points;
        for kernel in [Kernel::gaussian(0.8), Kernel::named("polynomial", 1.0, 3, 1.0).unwrap()] {
            let basis = GreedyBasis { seed: 4 }.choose(&kernel, &points, &BasisBudget::vectors(9), &Watch::none()).unwrap();
            assert_eq!(basis.chosen, literal(&kernel, &points, 9, basis.chosen[0]));
            assert_eq!((basis.evaluations, basis.evaluations_of_the_paper()), (9 * 120, 2 * 120 * 9 - 36));
        }
    }

    #[test]
    fn coordinates_are_those_of_the_frame_and_errors_stay_below_the_bound() {
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
    fn equal_rows_span_one_direction_and_zero_rows_none_is_refused() {
        let points: Points = Matrix::from_fn(10, 2, |_, j| j as f64).into();
        let basis = GreedyBasis::default().choose(&Kernel::gaussian(1.0), &points, &BasisBudget::vectors(5), &Watch::none()).unwrap();
        assert_eq!(basis.frame.len(), 1);
        let none: Points = Matrix::<f64>::zeros(0, 2).into();
        assert!(GreedyBasis::default().choose(&Kernel::gaussian(1.0), &none, &BasisBudget::vectors(5), &Watch::none()).is_err());
        assert!(GreedyBasis::default().choose(&Kernel::gaussian(1.0), &points, &BasisBudget::vectors(0), &Watch::none()).is_err());
    }
}
