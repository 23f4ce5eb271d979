//! A sample of rows that does not depend on how they are cut into blocks: those whose numbers have the smallest hashes.
use crate::parallel::*;

use super::packed::matrix;
use crate::{
    Error, Result,
    data::{Classes, Csr, Dataset, Outline, Points, RowBlock, Target},
    linalg::Matrix,
};

/// Rows that one thread copies at a time.
const ROWS: usize = 64;

/// Row numbers that one thread looks at at a time.
const COUNTED: u64 = 1 << 16;

/// Rows, in the order of their hashes.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// The most rows that are kept.
    pub limit: usize,
    /// The hashes, ascending.
    pub keys: Vec<u64>,
    /// The rows.
    pub points: Points,
    /// Their targets, as blocks have them.
    pub targets: Matrix,
    /// Their weights.
    pub weights: Vec<f64>,
}

impl Default for Sample {
    fn default() -> Self {
        Sample { limit: 0, keys: vec![], points: Points::F64(Matrix::default()), targets: Matrix::default(), weights: vec![] }
    }
}

/// A hash of a row's number: two rounds of splitmix64.
fn key(seed: u64, row: u64) -> u64 {
    let mix = |mut z: u64| {
        z = z.wrapping_add(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    };
    mix(mix(seed) ^ row)
}

/// A hash that no row of a sample of `limit` rows exceeds, of rows with the numbers below `n_rows`: so that blocks need not keep rows that will be dropped.
pub(super) fn bound(seed: u64, n_rows: u64, limit: usize) -> u64 {
    let limit_and_more = limit as f64 + 8.0 * (limit as f64).sqrt() + 64.0;
    let bound = (limit_and_more / n_rows as f64 * u64::MAX as f64) as u64;
    let below = |part: usize| {
        let first = part as u64 * COUNTED;
        (first..n_rows.min(first + COUNTED)).filter(|&row| key(seed, row) <= bound).count()
    };
    let counts: Vec<usize> = (0..n_rows.div_ceil(COUNTED) as usize).into_par_iter().map(below).collect();
    if counts.iter().sum::<usize>() >= limit { bound } else { u64::MAX }
}

impl Sample {
    /// The rows as a data set of their own; classes that no row of the sample has are not there.
    pub fn dataset(&self, outline: &Outline) -> Dataset {
        let codes = || self.targets.col(0).iter().map(|&code| code as u32).collect::<Vec<_>>();
        let target = match outline.labels.is_empty() {
            true => Target::Values(self.targets.clone()),
            false => Target::Classes(Classes::new(outline.labels.clone(), &codes())),
        };
        Dataset {
            weights: self.weights.iter().any(|weight| *weight != 1.0).then(|| self.weights.clone()),
            names: outline.names.clone(),
            table: outline.table.clone(),
            ..Dataset::new(self.points.clone().densified_if_dense(), target)
        }
    }

    /// Of the rows of one block whose hashes do not exceed a bound.
    pub(super) fn of(block: &RowBlock, seed: u64, limit: usize, bound: u64) -> Self {
        let keys = (0..block.points.len()).map(|i| (key(seed, block.first + i as u64), i));
        let mut order: Vec<(u64, usize)> = keys.filter(|(key, _)| *key <= bound).collect();
        order.sort_unstable();
        order.truncate(limit);
        let rows: Vec<usize> = order.iter().map(|&(_, i)| i).collect();
        Sample {
            limit,
            keys: order.iter().map(|&(key, _)| key).collect(),
            points: double(&block.points.select(&rows)),
            targets: block.targets.select(&rows),
            weights: rows.iter().map(|&i| block.weights.as_ref().map_or(1.0, |weights| weights[i])).collect(),
        }
    }

    /// The rows of several samples together, of which those with the smallest hashes are kept.
    pub(super) fn merged(samples: &[Sample]) -> Result<Sample> {
        let Some(first) = samples.first() else { return Ok(Sample::default()) };
        let shape = |sample: &Sample| (sample.points.dim(), sample.targets.cols(), sample.limit);
        if let Some(other) = samples.iter().find(|other| shape(other) != shape(first)) {
            return Err(Error::Shape { what: "features", expected: first.points.dim(), found: other.points.dim() });
        }
        let mut order: Vec<(u64, usize, usize)> = vec![];
        for (part, sample) in samples.iter().enumerate() {
            order.extend(sample.keys.iter().enumerate().map(|(i, &key)| (key, part, i)));
        }
        order.sort_unstable();
        order.truncate(first.limit);
        let targets = order.iter().flat_map(|&(_, part, i)| samples[part].targets.row(i)).copied().collect();
        Ok(Sample {
            limit: first.limit,
            keys: order.iter().map(|&(key, ..)| key).collect(),
            points: selected(samples, &order)?,
            targets: matrix("targets", targets, order.len(), first.targets.cols())?,
            weights: order.iter().map(|&(_, part, i)| samples[part].weights[i]).collect(),
        })
    }

    /// Hashes in two halves each, which double precision holds; rows as one dense array or as the three of sparse rows; targets and weights.
    pub(super) fn arrays(&self) -> [Vec<f64>; 6] {
        let keys = self.keys.iter().flat_map(|key| [(key >> 32) as f64, (key & 0xffff_ffff) as f64]).collect();
        let (a, b, c) = match &self.points {
            Points::Sparse(rows) => {
                let (starts, columns, values) = rows.parts();
                (starts.iter().map(|&s| s as f64).collect(), columns.iter().map(|&c| f64::from(c)).collect(), values.to_vec())
            }
            dense => (dense.to_dense().into_values(), vec![], vec![]),
        };
        [keys, a, b, c, self.targets.values().to_vec(), self.weights.clone()]
    }

    /// From such arrays; the sizes are the most rows, the features and the columns of targets.
    pub(super) fn of_arrays(arrays: [Vec<f64>; 6], sizes: (usize, usize, usize), sparse: bool) -> Result<Self> {
        let ([keys, a, b, c, targets, weights], (limit, dim, n_targets)) = (arrays, sizes);
        let keys: Vec<u64> = keys.as_chunks::<2>().0.iter().map(|[high, low]| ((*high as u64) << 32) | *low as u64).collect();
        let n = keys.len();
        let points: Points = match sparse {
            true => Csr::new(a.iter().map(|&s| s as usize).collect(), b.iter().map(|&c| c as u32).collect(), c, dim)?.into(),
            false => matrix("rows of a sample", a, n, dim)?.into(),
        };
        if points.len() != n || weights.len() != n {
            return Err(Error::Shape { what: "rows of a sample", expected: n, found: points.len().min(weights.len()) });
        }
        Ok(Sample { limit, keys, points, targets: matrix("targets of a sample", targets, n, n_targets)?, weights })
    }
}

/// The chosen rows of some samples.
fn selected(samples: &[Sample], order: &[(u64, usize, usize)]) -> Result<Points> {
    if samples.iter().all(|sample| sample.points.is_sparse()) {
        let mut all = samples[0].points.clone();
        let mut firsts = vec![0];
        for sample in &samples[1..] {
            firsts.push(all.len());
            all = all.stacked(&sample.points)?;
        }
        return Ok(all.select(&order.iter().map(|&(_, part, i)| firsts[part] + i).collect::<Vec<_>>()));
    }
    let dim = samples[0].points.dim();
    let mut rows: Matrix = Matrix::zeros(order.len(), dim);
    rows.values_mut().par_chunks_mut(ROWS * dim.max(1)).zip(order.par_chunks(ROWS)).for_each(|(rows, order)| {
        for (row, &(_, part, i)) in rows.chunks_exact_mut(dim.max(1)).zip(order) {
            samples[part].points.copy_rows(i..i + 1, dim, row);
        }
    });
    Ok(rows.into())
}

fn double(points: &Points) -> Points {
    if points.is_sparse() { points.clone() } else { points.to_dense().into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_above_the_bound_are_no_part_of_a_sample() {
        let points = Matrix::from_fn(3000, 2, |i, j| (i * 2 + j) as f64);
        let block = |first: usize, n: usize| RowBlock {
            first: first as u64,
            points: points.select(&(first..first + n).collect::<Vec<_>>()).into(),
            targets: Matrix::from_fn(n, 1, |i, _| (first + i) as f64),
            weights: None,
        };
        for limit in [1, 40, 500, 2999, 3000, 5000] {
            let of = |bound: u64| Sample::merged(&[0, 1, 2].map(|part| Sample::of(&block(1000 * part, 1000), 7, limit, bound))).unwrap();
            let (all, bound) = (of(u64::MAX), bound(7, 3000, limit));
            assert_eq!(of(bound), all);
            assert_eq!(all.keys.len(), limit.min(3000));
            assert_eq!(bound < u64::MAX, limit <= 500, "{limit}");
        }
    }
}
