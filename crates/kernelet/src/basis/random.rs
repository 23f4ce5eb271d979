//! Random distinct points as a basis: the plainest choice, and the yardstick of the others.
use std::collections::HashSet;

use super::{Basis, BasisBudget, BasisMethod, JITTER};
use crate::{Result, data::Points, draw::Draw, kernel::Kernel, watch::Watch};

/// Distinct rows drawn at random.
#[derive(Clone, Debug, Default)]
pub struct RandomBasis {
    /// Seed of the draw.
    pub seed: u64,
}

impl BasisMethod for RandomBasis {
    fn name(&self) -> &'static str {
        "random"
    }

    fn choose(&self, kernel: &Kernel, points: &Points, budget: &BasisBudget, watch: &Watch) -> Result<Basis> {
        budget.check(kernel, points)?;
        let chosen = distinct_rows(points, budget.max_vectors, self.seed);
        watch.evaluated((chosen.len() * points.len()) as u64);
        Basis::of_vectors(kernel, points, &points.select(&chosen), chosen, JITTER)
    }
}

/// At most `count` rows in random order, no two of them equal.
pub(crate) fn distinct_rows(points: &Points, count: usize, seed: u64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..points.len()).collect();
    Draw::seeded(seed).shuffle(&mut order);
    let (mut seen, mut row) = (HashSet::new(), vec![0.0; points.dim()]);
    let mut is_new = |i: usize| {
        points.copy_rows(i..i + 1, points.dim(), &mut row);
        // Adding zero makes one of the two zeros.
        seen.insert(row.iter().map(|v: &f64| (v + 0.0).to_bits()).collect::<Vec<u64>>())
    };
    order.into_iter().filter(|&i| is_new(i)).take(count).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::Matrix;

    #[test]
    fn rows_are_distinct_seeded_and_capped_at_what_there_is() {
        let points: Points = Matrix::from_fn(60, 2, |i, j| ((i % 14) * (j + 1)) as f64).into();
        let rows = distinct_rows(&points, 100, 1);
        assert_eq!(rows.len(), 14);
        assert_eq!(rows, distinct_rows(&points, 100, 1));
        assert_ne!(rows, distinct_rows(&points, 100, 2));
        assert_eq!(distinct_rows(&points, 3, 1), rows[..3]);
        let basis = RandomBasis { seed: 1 }.choose(&Kernel::gaussian(0.1), &points, &BasisBudget::vectors(5), &Watch::none()).unwrap();
        assert_eq!((basis.frame.len(), &basis.chosen[..]), (5, &rows[..5]));
    }
}
