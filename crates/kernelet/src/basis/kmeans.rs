//! Centres of clusters as a basis: k-means with k-means++ starts. The centres are new points, and of all bases that look at the points
//! alone they have the smallest mean error on the sets that were tried.
//!
//! Cost of a round: n m d. Rounds end when no point changes its cluster.
use std::{borrow::Cow, ops::Range};

use crate::parallel::*;

use super::{Basis, BasisBudget, BasisMethod, JITTER, field::check_dense};
use crate::{
    Result,
    data::Points,
    draw::Draw,
    kernel::Kernel,
    linalg::{Matrix, dot, product_transposed},
    watch::Watch,
};

/// Rows of one unit of work: few enough to stay in a cache.
const CHUNK: usize = 64;

/// k-means centres.
#[derive(Clone, Debug)]
pub struct KMeans {
    /// Rounds after which the centres are taken as they are.
    pub max_rounds: usize,
    /// Seed of the starts.
    pub seed: u64,
}

impl Default for KMeans {
    fn default() -> Self {
        KMeans { max_rounds: 50, seed: 0 }
    }
}

impl BasisMethod for KMeans {
    fn name(&self) -> &'static str {
        "kmeans"
    }

    fn grows(&self) -> bool {
        false
    }

    fn choose(&self, kernel: &Kernel, points: &Points, budget: &BasisBudget, watch: &Watch) -> Result<Basis> {
        budget.check(kernel, points)?;
        let centres = self.centres(points, budget.max_vectors, watch)?;
        watch.evaluated((centres.rows() * points.len()) as u64);
        let basis = Basis::of_vectors(kernel, points, &centres.into(), vec![], JITTER)?;
        Ok(Basis { status: watch.ended(basis.status), ..basis })
    }
}

impl KMeans {
    /// At most `count` centres; fewer where there are fewer distinct points.
    pub fn centres(&self, points: &Points, count: usize, watch: &Watch) -> Result<Matrix> {
        let count = count.min(points.len());
        check_dense("k-means", points, count)?;
        let mut draw = Draw::seeded(self.seed);
        let mut centres = self.spread(points, count, &mut draw);
        let mut owners = vec![usize::MAX; points.len()];
        for round in 0..self.max_rounds {
            let nearest = nearest(points, &centres);
            let changed = nearest.iter().zip(&owners).filter(|((owner, _), before)| owner != *before).count();
            owners = nearest.iter().map(|(owner, _)| *owner).collect();
            if watch.cancelled() {
                break;
            }
            watch.report("k-means", round as u64 + 1, Some(self.max_rounds as u64), Some(changed as f64));
            if changed == 0 || watch.cancelled() {
                break;
            }
            move_to_means(points, &owners, &nearest, &mut centres);
        }
        Ok(centres)
    }

    /// k-means++: each next start is a point drawn with probability in proportion to its squared distance from the starts so far.
    fn spread(&self, points: &Points, count: usize, draw: &mut Draw) -> Matrix {
        let (n, dim) = (points.len(), points.dim());
        let mut centres = Matrix::zeros(0, dim).into_values();
        let mut distances = vec![f64::INFINITY; n];
        let mut next = draw.below(n);
        while centres.len() < count * dim.max(1) {
            let mut row = Matrix::zeros(1, dim);
            points.copy_rows(next..next + 1, dim, row.values_mut());
            for ((_, d), old) in nearest(points, &row).into_iter().zip(&mut distances) {
                *old = old.min(d);
            }
            centres.extend(row.into_values());
            let total: f64 = distances.iter().sum();
            if total <= 0.0 || dim == 0 {
                break;
            }
            next = drawn(&distances, draw.uniform() * total);
        }
        let rows = centres.len().checked_div(dim).unwrap_or(1);
        Matrix::new(centres, rows, dim).unwrap_or_default()
    }
}

/// The place at which the running sum of weights passes `target`.
pub(super) fn drawn(weights: &[f64], target: f64) -> usize {
    let mut sum = 0.0;
    let passed = weights.iter().position(|w| {
        sum += w;
        sum > target
    });
    passed.unwrap_or_else(|| weights.iter().rposition(|w| *w > 0.0).unwrap_or(0))
}

/// The nearest centre of each point and the squared distance to it.
pub(crate) fn nearest(points: &Points, centres: &Matrix) -> Vec<(usize, f64)> {
    let (dim, count) = (centres.cols(), centres.rows());
    let norms: Vec<f64> = centres.iter().map(|c| dot(c, c)).collect();
    let chunks: Vec<Vec<(usize, f64)>> = (0..points.len().div_ceil(CHUNK))
        .into_par_iter()
        .map(|c| {
            let range = c * CHUNK..points.len().min((c + 1) * CHUNK);
            let rows = rows_of(points, range.clone(), dim);
            let mut products = vec![0.0; range.len() * count];
            product_transposed(&rows, centres.values(), dim, &mut products);
            let of_row = |(i, products): (usize, &[f64])| {
                let row = &rows[i * dim..(i + 1) * dim];
                let distances = products.iter().zip(&norms).map(|(p, norm)| norm - 2.0 * p);
                let best = distances.enumerate().fold((0, f64::INFINITY), |best, (j, d)| if d < best.1 { (j, d) } else { best });
                (best.0, (best.1 + dot(row, row)).max(0.0))
            };
            products.chunks_exact(count.max(1)).enumerate().map(of_row).collect()
        })
        .collect();
    chunks.concat()
}

/// Rows in double precision, with so many numbers each: where they lie, if they lie so.
fn rows_of(points: &Points, range: Range<usize>, dim: usize) -> Cow<'_, [f64]> {
    if let Points::F64(rows) = points
        && rows.cols() == dim
    {
        return Cow::Borrowed(&rows.values()[range.start * dim..range.end * dim]);
    }
    let mut rows = vec![0.0; range.len() * dim];
    points.copy_rows(range, dim, &mut rows);
    Cow::Owned(rows)
}

/// Moves each centre to the mean of its points; a centre without points goes to the point farthest from its own.
fn move_to_means(points: &Points, owners: &[usize], nearest: &[(usize, f64)], centres: &mut Matrix) {
    let dim = centres.cols();
    let mut members: Vec<Vec<usize>> = vec![vec![]; centres.rows()];
    owners.iter().enumerate().for_each(|(i, &owner)| members[owner].push(i));
    centres.values_mut().par_chunks_mut(dim.max(1)).zip(&members).for_each(|(centre, members)| {
        if members.is_empty() {
            return;
        }
        let mut row = vec![0.0; dim];
        centre.fill(0.0);
        for &i in members {
            points.copy_rows(i..i + 1, dim, &mut row);
            centre.iter_mut().zip(&row).for_each(|(c, v)| *c += v);
        }
        centre.iter_mut().for_each(|c| *c /= members.len() as f64);
    });
    let empty: Vec<usize> = (0..members.len()).filter(|&j| members[j].is_empty()).collect();
    if empty.is_empty() {
        return;
    }
    let mut far: Vec<usize> = (0..owners.len()).collect();
    far.sort_by(|&a, &b| nearest[b].1.total_cmp(&nearest[a].1));
    for (j, i) in empty.into_iter().zip(far) {
        points.copy_rows(i..i + 1, dim, centres.row_mut(j));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separate_clusters_are_found_and_their_means_are_the_centres() {
        let points: Points = Matrix::from_fn(90, 2, |i, j| 100.0 * ((i % 3) * (j + 1)) as f64 + ((i / 3) as f64).sin()).into();
        let mut centres: Vec<Vec<f64>> =
            KMeans::default().centres(&points, 3, &Watch::none()).unwrap().iter().map(<[f64]>::to_vec).collect();
        centres.sort_by(|a, b| a[0].total_cmp(&b[0]));
        let mean: f64 = (0..30).map(|i| (i as f64).sin()).sum::<f64>() / 30.0;
        for (k, centre) in centres.iter().enumerate() {
            assert!((centre[0] - 100.0 * k as f64 - mean).abs() < 1e-9 && (centre[1] - 200.0 * k as f64 - mean).abs() < 1e-9);
        }
    }

    #[test]
    fn each_round_lowers_the_sum_of_squares_and_more_centres_than_points_are_capped() {
        let points = crate::data::banana(300, 2).points;
        let sum = |rounds| -> f64 {
            let centres = KMeans { max_rounds: rounds, seed: 3 }.centres(&points, 12, &Watch::none()).unwrap();
            nearest(&points, &centres).iter().map(|(_, d)| d).sum()
        };
        let sums: Vec<f64> = [0, 1, 2, 5, 50].into_iter().map(sum).collect();
        assert!(sums.windows(2).all(|w| w[1] <= w[0] + 1e-9) && sums[4] < sums[0], "{sums:?}");
        let few: Points = Matrix::from_fn(6, 1, |i, _| (i / 2) as f64).into();
        assert_eq!(KMeans::default().centres(&few, 10, &Watch::none()).unwrap().rows(), 3);
        let kernel = Kernel::gaussian(1.0);
        let basis = KMeans::default().choose(&kernel, &points, &BasisBudget::vectors(12), &Watch::none()).unwrap();
        let random = super::super::RandomBasis::default().choose(&kernel, &points, &BasisBudget::vectors(12), &Watch::none()).unwrap();
        assert!(basis.mean_error() < random.mean_error());
    }
}
