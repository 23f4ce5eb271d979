//! The whole kernel matrix, row by row in single precision: kept where it fits into memory, otherwise computed on demand.
//!
//! Values are divided by a power of two near the largest k(x, x), so that none is too large for single precision. Sums over them are in double
//! precision, so that all that is done here is exact work on a matrix whose entries were rounded once. Cost of a product with a vector: n^2, and
//! n^2 d more where the rows are not kept.
use crate::parallel::*;

use crate::{
    data::Points,
    kernel::{
        Kernel,
        block::{Columns, Scratch, diagonal},
        simd::{self, Job, multiply_add},
    },
    linalg::Matrix,
    watch::Watch,
};

/// Rows of one unit of work, so that any number of threads gives the same bits.
const PART: usize = 32;

/// Sums that run side by side.
const LANES: usize = 32;

/// K(X, X), divided by `unit`.
pub(super) struct KernelRows<'a> {
    points: &'a Points,
    columns: Columns,
    unit: f64,
    kept: Option<Vec<f32>>,
}

/// Buffers for rows that are computed.
#[derive(Default)]
struct Buffers {
    wide: Vec<f64>,
    narrow: Vec<f32>,
    scratch: Scratch,
}

impl<'a> KernelRows<'a> {
    /// The rows of these points, not kept.
    pub fn passing(kernel: &Kernel, points: &'a Points) -> Self {
        let largest = diagonal(kernel, points).into_iter().fold(0.0, f64::max);
        // A power of two changes no digit.
        let unit = if largest > 0.0 { largest.log2().floor().exp2() } else { 1.0 };
        KernelRows { points, columns: Columns::new(kernel, points), unit, kept: None }
    }

    /// The same, kept if they take no more than `most_bytes`.
    pub fn kept(kernel: &Kernel, points: &'a Points, most_bytes: usize, watch: &Watch) -> Self {
        let (mut rows, n) = (KernelRows::passing(kernel, points), points.len());
        let needed = n.saturating_mul(n).saturating_mul(size_of::<f32>());
        if needed > most_bytes {
            return rows;
        }
        watch.report("kernel matrix", 0, None, None);
        let mut kept = vec![0.0; n * n];
        kept.par_chunks_mut(PART * n.max(1)).enumerate().for_each_init(Buffers::default, |buffers, (part, out)| {
            rows.compute(points, part * PART, out.len() / n, buffers);
            out.copy_from_slice(&buffers.narrow);
        });
        watch.evaluated((n * n) as u64);
        rows.kept = Some(kept);
        rows
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.points.len()
    }

    /// What the values are divided by.
    pub fn unit(&self) -> f64 {
        self.unit
    }

    /// Writes `count` rows of `points` to the buffers.
    fn compute(&self, points: &Points, first: usize, count: usize, buffers: &mut Buffers) {
        buffers.wide.resize(count * self.len(), 0.0);
        self.columns.fill(points, first..first + count, &mut buffers.wide, &mut buffers.scratch);
        buffers.narrow.clear();
        buffers.narrow.extend(buffers.wide.iter().map(|value| (value / self.unit) as f32));
    }

    /// The chosen rows, one for each of `which`.
    pub fn rows(&self, which: &[usize], watch: &Watch) -> Matrix {
        let n = self.len();
        let mut out = Matrix::zeros(which.len(), n);
        if let Some(kept) = &self.kept {
            for (at, &i) in which.iter().enumerate() {
                let row = &kept[i * n..(i + 1) * n];
                out.row_mut(at).iter_mut().zip(row).for_each(|(out, value)| *out = f64::from(*value));
            }
            return out;
        }
        let chosen = self.points.select(which);
        out.values_mut().par_chunks_mut(PART / 4 * n.max(1)).enumerate().for_each_init(Buffers::default, |buffers, (part, out)| {
            self.compute(&chosen, part * (PART / 4), out.len() / n, buffers);
            out.iter_mut().zip(&buffers.narrow).for_each(|(out, value)| *out = f64::from(*value));
        });
        watch.evaluated((which.len() * n) as u64);
        out
    }

    /// K x for each of the vectors x, in one pass over K.
    pub fn times(&self, vectors: &[&[f64]], watch: &Watch) -> Vec<Vec<f64>> {
        let count = vectors.len();
        let sums = self.for_every_row(count, watch, |row, out| {
            out.iter_mut().zip(vectors).for_each(|(out, x)| *out = simd::run(Dot { row, x }));
        });
        (0..count).map(|k| sums.iter().skip(k).step_by(count).copied().collect()).collect()
    }

    /// `sum_j d_j K_ij^2` for every row i.
    pub fn weighted_squares(&self, weights: &[f64], watch: &Watch) -> Vec<f64> {
        self.for_every_row(1, watch, |row, out| out.iter_mut().for_each(|out| *out = simd::run(Squares { row, weights })))
    }

    /// Lets `each` write `count` numbers for every row.
    fn for_every_row(&self, count: usize, watch: &Watch, each: impl Fn(&[f32], &mut [f64]) + Sync) -> Vec<f64> {
        let n = self.len();
        let mut out = vec![0.0; n * count];
        if count == 0 || n == 0 {
            return out;
        }
        out.par_chunks_mut(PART * count).enumerate().for_each_init(Buffers::default, |buffers, (part, out)| {
            let rows = match &self.kept {
                Some(kept) => &kept[part * PART * n..][..out.len() / count * n],
                None => {
                    self.compute(self.points, part * PART, out.len() / count, buffers);
                    &buffers.narrow
                }
            };
            rows.chunks_exact(n).zip(out.chunks_exact_mut(count)).for_each(|(row, out)| each(row, out));
        });
        if self.kept.is_none() {
            watch.evaluated((n * n) as u64);
        }
        out
    }
}

/// The inner product of numbers of two precisions.
struct Dot<'a> {
    row: &'a [f32],
    x: &'a [f64],
}

impl Job for Dot<'_> {
    type Output = f64;

    #[inline(always)]
    fn run<const FMA: bool>(self) -> f64 {
        let (rows, xs) = (self.row.chunks_exact(LANES), self.x.chunks_exact(LANES));
        let rest: f64 = rows.remainder().iter().zip(xs.remainder()).map(|(a, x)| f64::from(*a) * x).sum();
        let mut sums = [0.0; LANES];
        for (a, x) in rows.zip(xs) {
            for lane in 0..LANES {
                sums[lane] = multiply_add::<FMA>(f64::from(a[lane]), x[lane], sums[lane]);
            }
        }
        sums.iter().sum::<f64>() + rest
    }
}

/// The weighted sum of squares.
struct Squares<'a> {
    row: &'a [f32],
    weights: &'a [f64],
}

impl Job for Squares<'_> {
    type Output = f64;

    #[inline(always)]
    fn run<const FMA: bool>(self) -> f64 {
        let (rows, weights) = (self.row.chunks_exact(LANES), self.weights.chunks_exact(LANES));
        let square = |a: f32| f64::from(a) * f64::from(a);
        let rest: f64 = rows.remainder().iter().zip(weights.remainder()).map(|(a, d)| square(*a) * d).sum();
        let mut sums = [0.0; LANES];
        for (a, d) in rows.zip(weights) {
            for lane in 0..LANES {
                sums[lane] = multiply_add::<FMA>(square(a[lane]), d[lane], sums[lane]);
            }
        }
        sums.iter().sum::<f64>() + rest
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{data::banana, kernel::block::symmetric, linalg::dot};

    #[test]
    fn kept_or_computed_the_products_are_those_of_the_rounded_matrix() {
        let points = banana(150, 3).points;
        let (x, d): (Vec<f64>, Vec<f64>) = (0..150).map(|i| ((i as f64).sin(), 1.0 + (i % 3) as f64)).unzip();
        for (kernel, unit) in [(Kernel::gaussian(0.7), 1.0), (Kernel::named("polynomial", 1e20, 3, 1.0).unwrap(), f64::NAN)] {
            let whole = symmetric(&kernel, &points);
            let watch = Watch::none();
            let (kept, passing) = (KernelRows::kept(&kernel, &points, 1 << 20, &watch), KernelRows::passing(&kernel, &points));
            assert!(kept.kept.is_some() && KernelRows::kept(&kernel, &points, 89_999, &watch).kept.is_none());
            assert!(unit.is_nan() || kept.unit() == unit);
            let rounded = Matrix::from_fn(150, 150, |i, j| f64::from((whole.at(i, j) / kept.unit()) as f32));
            let size = rounded.values().iter().fold(0.0, |a: f64, b| a.max(b.abs()));
            for rows in [&kept, &passing] {
                let (products, squares) = (rows.times(&[&x, &d], &watch), rows.weighted_squares(&d, &watch));
                let some = rows.rows(&[3, 149], &watch);
                for i in 0..150 {
                    // Kernel values may differ in the last digit of double precision, and so now and then after rounding.
                    let near = |a: f64, b: f64| (a - b).abs() < 1e-6 * size * size;
                    assert!(near(products[0][i], dot(rounded.row(i), &x)) && near(products[1][i], dot(rounded.row(i), &d)));
                    assert!(near(squares[i], rounded.row(i).iter().zip(&d).map(|(k, d)| k * k * d).sum()));
                    assert!(near(some.at(0, i), rounded.at(3, i)) && near(some.at(1, i), rounded.at(149, i)));
                }
            }
        }
    }
}
