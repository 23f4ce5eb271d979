//! Rows that two data sets share: are rows that should be new among those that were trained on?
use std::{
    collections::{HashMap, HashSet},
    hash::{DefaultHasher, Hash, Hasher},
};

use super::{Dataset, Points, Target};

/// What two data sets share, by the features and the target of their rows to the last bit.
#[derive(Clone, Debug, PartialEq)]
pub struct Overlap {
    /// The rows of the first that the second has too.
    pub shared: Vec<usize>,
    /// The fraction of the rows of the second that it has more than once: in data of few different rows, new rows are old ones by chance.
    pub repeated: f64,
}

impl Overlap {
    /// What `rows` share with `others`. Cost: all numbers of both.
    pub fn of(rows: &Dataset, others: &Dataset) -> Self {
        let mut counts: HashMap<u64, usize> = HashMap::new();
        (0..others.len()).for_each(|i| *counts.entry(key(others, i)).or_default() += 1);
        let repeated: usize = counts.values().filter(|count| **count > 1).sum();
        let shared = (0..rows.len()).filter(|&i| counts.contains_key(&key(rows, i))).collect();
        Overlap { shared, repeated: repeated as f64 / others.len().max(1) as f64 }
    }

    /// True where more rows are shared than chance explains, of `n` rows: three standard deviations.
    pub fn beyond_chance(&self, n: usize) -> bool {
        let (n, p) = (n as f64, self.repeated);
        self.shared.len() as f64 > n * p + 3.0 * (n * p * (1.0 - p)).sqrt()
    }
}

/// For each row whether an earlier one has the same numbers. Cost: all numbers.
pub(crate) fn repeated(points: &Points) -> Vec<bool> {
    let mut known = HashSet::new();
    (0..points.len()).map(|i| !known.insert(hashed(points, i).finish())).collect()
}

/// A number for a row that equal rows share.
fn key(data: &Dataset, row: usize) -> u64 {
    let mut hasher = hashed(&data.points, row);
    match &data.target {
        Target::None => {}
        Target::Classes(classes) => classes.labels[classes.codes[row] as usize].text().hash(&mut hasher),
        Target::Values(values) => values.row(row).iter().for_each(|value| value.to_bits().hash(&mut hasher)),
    }
    hasher.finish()
}

/// The features of a row, the same whether they are stored dense or sparse.
fn hashed(points: &Points, row: usize) -> DefaultHasher {
    let mut hasher = DefaultHasher::new();
    let mut add = |column: usize, value: f64| {
        if value != 0.0 {
            (column, value.to_bits()).hash(&mut hasher);
        }
    };
    match points {
        Points::F64(points) => points.row(row).iter().enumerate().for_each(|(j, &value)| add(j, value)),
        Points::F32(points) => points.row(row).iter().enumerate().for_each(|(j, &value)| add(j, value.into())),
        Points::Sparse(points) => {
            let (columns, values) = points.row(row);
            columns.iter().zip(values).for_each(|(&j, &value)| add(j as usize, value));
        }
    }
    hasher
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        data::{Csr, banana},
        linalg::Matrix,
    };

    #[test]
    fn rows_of_one_set_are_found_in_another_however_they_are_stored() {
        let data = banana(60, 1);
        let mixed = data.select(&[5, 17]);
        let fresh = banana(50, 2);
        assert_eq!(Overlap::of(&mixed, &data).shared, [0, 1]);
        assert_eq!(Overlap::of(&fresh, &data), Overlap { shared: vec![], repeated: 0.0 });
        let sparse = Dataset { points: Csr::from_dense(&mixed.points.to_dense()).into(), ..mixed.clone() };
        assert_eq!(Overlap::of(&sparse, &data).shared, [0, 1]);
        // The same features with another target are another row.
        let other = Dataset { target: Target::Values(Matrix::column(vec![1.0, 2.0])), ..mixed };
        assert!(Overlap::of(&other, &data).shared.is_empty());
    }

    #[test]
    fn rows_that_repeat_anyway_are_shared_by_chance() {
        let row = |i: usize| Dataset::new(Matrix::from_fn(40, 1, |j, _| ((i + j) % 4) as f64), Target::None);
        let overlap = Overlap::of(&row(1), &row(0));
        assert_eq!((overlap.shared.len(), overlap.repeated, overlap.beyond_chance(40)), (40, 1.0, false));
        assert!(Overlap { shared: vec![3], repeated: 0.0 }.beyond_chance(100));
        assert!(!Overlap { shared: vec![], repeated: 0.0 }.beyond_chance(100));
    }
}
