//! Blocks of kernel values K(X, Z), fast: one matrix product gives every x.z of a block, the profile does the rest in cache.
//!
//! Cost of an n x m block in d features: n m d multiply-adds and n m profile values; with sparse rows only pairs of stored
//! values are multiplied. Rows are worked on in chunks of 256, each by one thread, so any number of threads gives the same bits.
use std::{ops::Range, sync::OnceLock};

use crate::parallel::*;

use super::{
    Argument, Kernel,
    in_registers::{self, InRegisters},
    simd::{self, Job, multiply_add},
};
use crate::{
    data::{ByColumn, Csr, Points},
    linalg::{Matrix, dot, product_transposed},
};

/// Rows of one unit of work.
pub(crate) const CHUNK: usize = 256;

/// A squared distance below this part of |x|^2 + |z|^2 has lost digits in the subtraction and is computed again from the differences.
const RECOMPUTE_BELOW: f64 = 1e-6;

/// K(X, Z) as a matrix with a row for each x and a column for each z, on all threads of the current pool.
pub fn block(kernel: &Kernel, x: &Points, z: &Points) -> Matrix {
    let columns = Columns::new(kernel, z);
    let mut out = Matrix::zeros(x.len(), z.len());
    if z.is_empty() {
        return out;
    }
    out.values_mut().par_chunks_mut(CHUNK * z.len()).enumerate().for_each_init(Scratch::default, |scratch, (c, out)| {
        let first = c * CHUNK;
        columns.fill(x, first..first + out.len() / z.len(), out, scratch);
    });
    out
}

/// K(X, X), of which half is computed and the rest mirrored.
pub fn symmetric(kernel: &Kernel, x: &Points) -> Matrix {
    let n = x.len();
    let columns = Columns::new(kernel, x);
    let mut out = Matrix::zeros(n, n);
    if n == 0 {
        return out;
    }
    out.values_mut().par_chunks_mut(CHUNK * n).enumerate().for_each_init(Scratch::default, |scratch, (c, out)| {
        let rows = c * CHUNK..c * CHUNK + out.len() / n;
        let width = rows.end;
        let mut lower = std::mem::take(&mut scratch.lower);
        lower.resize(rows.len() * width, 0.0);
        columns.fill_part(x, rows.clone(), 0..width, &mut lower, scratch);
        for (out, lower) in out.chunks_exact_mut(n).zip(lower.chunks_exact(width)) {
            out[..width].copy_from_slice(lower);
        }
        scratch.lower = lower;
    });
    out.mirror_lower();
    out
}

/// k(x, x) of every row.
pub(crate) fn diagonal(kernel: &Kernel, x: &Points) -> Vec<f64> {
    let profile = kernel.profile();
    let mut u = match profile.argument() {
        Argument::SquaredDistance => vec![0.0; x.len()],
        Argument::DotProduct => x.squared_norms(),
    };
    profile.values(&mut u);
    u
}

/// Work space that is reused from block to block.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    rows: Vec<f64>,
    lower: Vec<f64>,
    packed: in_registers::Work<f64>,
    single: in_registers::Work<f32>,
}

/// The vectors Z, prepared so that blocks K(X, Z) come fast.
#[derive(Debug)]
pub(crate) struct Columns {
    kernel: Kernel,
    argument: Argument,
    len: usize,
    dim: usize,
    storage: Storage,
    packed: OnceLock<Option<InRegisters<f64>>>,
    single: OnceLock<Option<InRegisters<f32>>>,
}

#[derive(Debug)]
enum Storage {
    /// Row by row, less `centre`: distances then keep their digits when the data lie far from the origin.
    Dense { rows: Vec<f64>, centre: Vec<f64>, norms: Vec<f64>, by_feature: OnceLock<ByFeature> },
    /// As they are, and by feature.
    Sparse { rows: Csr, by_feature: ByColumn, norms: Vec<f64> },
}

/// Dense vectors feature by feature and not centred, for sparse x.
#[derive(Debug)]
struct ByFeature {
    features: Matrix,
    norms: Vec<f64>,
}

impl Columns {
    /// Prepares the vectors `z`.
    pub fn new(kernel: &Kernel, z: &Points) -> Self {
        let argument = kernel.profile().argument();
        let storage = match z {
            Points::Sparse(rows) => Storage::Sparse { rows: rows.clone(), by_feature: ByColumn::new(rows), norms: z.squared_norms() },
            _ => {
                let mut rows = z.to_dense().into_values();
                let centre = match argument {
                    Argument::SquaredDistance => mean(&rows, z.dim()),
                    Argument::DotProduct => vec![0.0; z.dim()],
                };
                rows.chunks_exact_mut(z.dim().max(1)).for_each(|row| subtract(row, &centre));
                let norms = row_norms(&rows, z.dim(), z.len());
                Storage::Dense { rows, centre, norms, by_feature: OnceLock::new() }
            }
        };
        Columns { kernel: kernel.clone(), argument, len: z.len(), dim: z.dim(), storage, packed: OnceLock::new(), single: OnceLock::new() }
    }

    /// Writes K(x, z) for rows `rows` of `x` and all vectors to `out`, row by row.
    pub fn fill(&self, x: &Points, rows: Range<usize>, out: &mut [f64], scratch: &mut Scratch) {
        if !self.fill_packed(x, rows.clone(), 0..self.len, out, scratch) {
            self.fill_part(x, rows, 0..self.len, out, scratch);
        }
    }

    /// The same for some of the vectors, without a matrix product, where kernel and points allow it; false where they do not.
    pub(crate) fn fill_packed(
        &self,
        x: &Points,
        rows: Range<usize>,
        vectors: Range<usize>,
        out: &mut [f64],
        scratch: &mut Scratch,
    ) -> bool {
        let pack = || self.gaussian().and_then(|(gamma, rows, centre)| InRegisters::new(gamma, rows, centre));
        let packed = if x.is_sparse() { None } else { self.packed.get_or_init(pack).as_ref() };
        packed.is_some_and(|packed| packed.fill(x, rows, vectors, out, &mut scratch.packed))
    }

    /// The same in single precision. The exponent is a sum over d features of which no part exceeds `4 gamma r^2`, where no row and no vector
    /// is farther than r from the mean of the vectors; a value is off by about `2^-24 (4 + 16 gamma r^2 sqrt(d))` at most.
    pub(crate) fn fill_single(
        &self,
        x: &Points,
        rows: Range<usize>,
        vectors: Range<usize>,
        out: &mut [f32],
        scratch: &mut Scratch,
    ) -> bool {
        let pack = || self.gaussian().and_then(|(gamma, rows, centre)| InRegisters::new(gamma, rows, centre));
        let packed = if x.is_sparse() { None } else { self.single.get_or_init(pack).as_ref() };
        packed.is_some_and(|packed| packed.fill(x, rows, vectors, out, &mut scratch.single))
    }

    /// What dense Gaussian vectors are packed from, so that whole blocks stay in registers.
    fn gaussian(&self) -> Option<(f64, &[f64], &[f64])> {
        match (&self.kernel, &self.storage) {
            (Kernel::Gaussian(gaussian), Storage::Dense { rows, centre, .. }) => Some((gaussian.gamma, rows, centre)),
            _ => None,
        }
    }

    /// The same for some of the vectors.
    pub fn fill_part(&self, x: &Points, rows: Range<usize>, vectors: Range<usize>, out: &mut [f64], scratch: &mut Scratch) {
        self.fill_with(x, rows, vectors, out, scratch, |u| self.kernel.profile().values(u));
    }

    /// Writes the slopes k'(u) instead of the values, for all vectors. [Schoelkopf1998 (10)]
    pub fn fill_slopes(&self, x: &Points, rows: Range<usize>, out: &mut [f64], scratch: &mut Scratch) {
        let profile = self.kernel.profile();
        self.fill_with(x, rows, 0..self.len, out, scratch, |u| u.iter_mut().for_each(|u| *u = profile.slope(*u)));
    }

    /// Writes the scalars that the kernel is a function of instead of its values: |x - z|^2 or x.z.
    pub fn fill_arguments(&self, x: &Points, rows: Range<usize>, vectors: Range<usize>, out: &mut [f64], scratch: &mut Scratch) {
        self.fill_with(x, rows, vectors, out, scratch, |_| {});
    }

    fn fill_with(
        &self,
        x: &Points,
        rows: Range<usize>,
        vectors: Range<usize>,
        out: &mut [f64],
        scratch: &mut Scratch,
        apply: impl Fn(&mut [f64]),
    ) {
        let (first, width) = (vectors.start, vectors.len());
        match (x, &self.storage) {
            (Points::Sparse(x), Storage::Sparse { rows: z, by_feature, norms }) => {
                for (i, out) in rows.zip(out.chunks_exact_mut(width.max(1))) {
                    out.fill(0.0);
                    let (columns, values) = x.row(i);
                    for (&c, &v) in columns.iter().zip(values) {
                        let (places, weights) = by_feature.column(c);
                        let from = places.partition_point(|&j| (j as usize) < first);
                        for (&j, &w) in places[from..].iter().zip(&weights[from..]).take_while(|(j, _)| (**j as usize) < vectors.end) {
                            out[j as usize - first] += v * w;
                        }
                    }
                    self.to_arguments(out, dot(values, values), &norms[first..], |j| sparse_distance(x.row(i), z.row(first + j)));
                    apply(out);
                }
            }
            (Points::Sparse(x), Storage::Dense { by_feature, .. }) => {
                let by_feature = by_feature.get_or_init(|| self.by_feature());
                for (i, out) in rows.zip(out.chunks_exact_mut(width.max(1))) {
                    out.fill(0.0);
                    let (columns, values) = x.row(i);
                    for (&c, &v) in columns.iter().zip(values).filter(|(c, _)| (**c as usize) < self.dim) {
                        let weights = &by_feature.features.row(c as usize)[vectors.clone()];
                        out.iter_mut().zip(weights).for_each(|(out, w)| *out += v * w);
                    }
                    let vector = |j| (0..self.dim).map(|k| by_feature.features.at(k, first + j)).collect::<Vec<f64>>();
                    self.to_arguments(out, dot(values, values), &by_feature.norms[first..], |j| mixed_distance(x.row(i), &vector(j)));
                    apply(out);
                }
            }
            (_, Storage::Sparse { rows: z, norms, .. }) => {
                let mut row = std::mem::take(&mut scratch.rows);
                let given = x.dim().min(self.dim);
                row.resize(given, 0.0);
                for (i, out) in rows.zip(out.chunks_exact_mut(width.max(1))) {
                    x.copy_rows(i..i + 1, given, &mut row);
                    for (j, out) in out.iter_mut().enumerate() {
                        let (columns, values) = z.row(first + j);
                        *out = columns.iter().zip(values).map_while(|(&c, v)| Some(row.get(c as usize)? * v)).sum();
                    }
                    self.to_arguments(out, dot(&row, &row), &norms[first..], |j| mixed_distance(z.row(first + j), &row));
                    apply(out);
                }
                scratch.rows = row;
            }
            (_, Storage::Dense { rows: z, centre, norms, .. }) => {
                let buffer = &mut scratch.rows;
                buffer.resize(rows.len() * self.dim, 0.0);
                x.copy_rows(rows, self.dim, buffer);
                if self.argument == Argument::SquaredDistance {
                    buffer.chunks_exact_mut(self.dim.max(1)).for_each(|row| subtract(row, centre));
                }
                let z = &z[first * self.dim..vectors.end * self.dim];
                product_transposed(buffer, z, self.dim, out);
                for (i, out) in out.chunks_exact_mut(width.max(1)).enumerate() {
                    let row = &buffer[i * self.dim..(i + 1) * self.dim];
                    let distance = |j: usize| squared_distance(row, &z[j * self.dim..(j + 1) * self.dim]);
                    self.to_arguments(out, dot(row, row), &norms[first..], distance);
                    apply(out);
                }
            }
        }
    }

    /// Turns a row of dot products into what the kernel is a function of.
    fn to_arguments(&self, out: &mut [f64], norm: f64, norms: &[f64], distance: impl Fn(usize) -> f64) {
        if self.argument == Argument::SquaredDistance {
            let close = simd::run(DistanceJob { out, norm, norms });
            if close {
                for (j, u) in out.iter_mut().enumerate() {
                    if lost_digits(*u, norm + norms[j]) {
                        *u = distance(j);
                    }
                }
            }
        }
    }

    fn by_feature(&self) -> ByFeature {
        let Storage::Dense { rows, centre, .. } = &self.storage else {
            return ByFeature { features: Matrix::default(), norms: vec![] };
        };
        let features = Matrix::from_fn(self.dim, self.len, |k, j| rows[j * self.dim + k] + centre[k]);
        let mut norms = vec![0.0; self.len];
        for feature in features.iter() {
            norms.iter_mut().zip(feature).for_each(|(norm, v)| *norm += v * v);
        }
        ByFeature { features, norms }
    }
}

/// A bound for the error of a Gaussian value in single precision, for `gamma r^2` of the farthest row or vector and `dim` features.
///
/// The exponent is a sum of `dim + 2` terms, and no partial sum of it exceeds `4 gamma r^2`. Each term is rounded by at most 2^-24 of that; the
/// roundings have either sign and add up like the root of their number, of which four times as much is allowed.
#[cfg(test)]
pub(crate) fn single_error(gamma_radius: f64, dim: usize) -> f64 {
    0.5 * f64::from(f32::EPSILON) * (4.0 + 16.0 * gamma_radius * (dim as f64 + 2.0).sqrt())
}

/// True also for NaN, which is what infinity less infinity leaves when squares overflow.
#[inline(always)]
fn lost_digits(distance: f64, sum: f64) -> bool {
    distance.is_nan() || distance < RECOMPUTE_BELOW * sum
}

/// x.z becomes |x|^2 + |z|^2 - 2 x.z, never below 0; true when some distance has lost digits.
struct DistanceJob<'a> {
    out: &'a mut [f64],
    norm: f64,
    norms: &'a [f64],
}

impl Job for DistanceJob<'_> {
    type Output = bool;
    #[inline(always)]
    fn run<const FMA: bool>(self) -> bool {
        let mut close = false;
        for (u, &norm) in self.out.iter_mut().zip(self.norms) {
            let sum = self.norm + norm;
            let distance = multiply_add::<FMA>(-2.0, *u, sum);
            close |= lost_digits(distance, sum);
            *u = if distance < 0.0 { 0.0 } else { distance };
        }
        close
    }
}

fn mean(rows: &[f64], dim: usize) -> Vec<f64> {
    let mut mean = vec![0.0; dim];
    let count = (rows.len() / dim.max(1)).max(1) as f64;
    for row in rows.chunks_exact(dim.max(1)) {
        mean.iter_mut().zip(row).for_each(|(m, v)| *m += v / count);
    }
    mean
}

fn subtract(row: &mut [f64], centre: &[f64]) {
    row.iter_mut().zip(centre).for_each(|(v, c)| *v -= c);
}

fn row_norms(rows: &[f64], dim: usize, len: usize) -> Vec<f64> {
    (0..len).map(|i| dot(&rows[i * dim..(i + 1) * dim], &rows[i * dim..(i + 1) * dim])).collect()
}

fn squared_distance(x: &[f64], z: &[f64]) -> f64 {
    x.iter().zip(z).map(|(a, b)| (a - b) * (a - b)).sum()
}

/// |x - z|^2 of a sparse and a dense row; features of x beyond z count, as z is zero there.
fn mixed_distance((columns, values): (&[u32], &[f64]), z: &[f64]) -> f64 {
    let (mut sum, mut next) = (0.0, 0);
    for (&c, &v) in columns.iter().zip(values) {
        let c = c as usize;
        sum += z[next.min(z.len())..c.min(z.len())].iter().map(|z| z * z).sum::<f64>();
        let difference = v - z.get(c).copied().unwrap_or(0.0);
        sum += difference * difference;
        next = c + 1;
    }
    sum + z[next.min(z.len())..].iter().map(|z| z * z).sum::<f64>()
}

fn sparse_distance(x: (&[u32], &[f64]), z: (&[u32], &[f64])) -> f64 {
    let (mut i, mut j, mut sum) = (0, 0, 0.0);
    while i < x.0.len() || j < z.0.len() {
        let (a, b) = (x.0.get(i).copied().unwrap_or(u32::MAX), z.0.get(j).copied().unwrap_or(u32::MAX));
        let mut difference = 0.0;
        if a <= b {
            difference += x.1[i];
            i += 1;
        }
        if b <= a {
            difference -= z.1[j];
            j += 1;
        }
        sum += difference * difference;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    fn storages(n: usize, dim: usize, seed: f64) -> [Points; 3] {
        let entry = |i: usize, j: usize| {
            let v = ((i * 37 + j * 11) as f64 * 0.7 + seed).sin();
            if (i + 2 * j).is_multiple_of(3) { v } else { 0.0 }
        };
        let dense = Matrix::from_fn(n, dim, entry);
        let single = Matrix::from_fn(n, dim, |i, j| entry(i, j) as f32);
        let rounded = Matrix::from_fn(n, dim, |i, j| f64::from(single.at(i, j)));
        assert_eq!(dense.rows(), n);
        [Points::from(Csr::from_dense(&rounded)), Points::from(rounded), Points::from(single)]
    }

    fn naive(kernel: &Kernel, x: &Points, z: &Points) -> Matrix {
        let (x, z) = (x.to_dense(), z.to_dense());
        Matrix::from_fn(x.rows(), z.rows(), |i, j| kernel.eval(x.row(i), z.row(j)))
    }

    #[test]
    fn slopes_are_those_of_the_profile() {
        for kernel in Kernel::examples() {
            for (x, z) in storages(7, 4, 0.2).iter().zip(storages(5, 4, 0.9)) {
                let (mut out, columns) = (vec![0.0; 35], Columns::new(&kernel, &z));
                columns.fill_slopes(x, 0..7, &mut out, &mut Scratch::default());
                let (xd, zd) = (x.to_dense(), z.to_dense());
                for i in 0..7 {
                    for j in 0..5 {
                        let u = match kernel.profile().argument() {
                            Argument::SquaredDistance => squared_distance(xd.row(i), zd.row(j)),
                            Argument::DotProduct => dot(xd.row(i), zd.row(j)),
                        };
                        let want = kernel.profile().slope(u);
                        assert!((out[i * 5 + j] - want).abs() < 1e-10 * (1.0 + want.abs()), "{}", kernel.name());
                    }
                }
            }
        }
    }

    fn assert_close(have: &Matrix, want: &Matrix, what: &str) {
        for (a, b) in have.values().iter().zip(want.values()) {
            assert!((a - b).abs() <= 1e-12 * (1.0 + b.abs()), "{what}: {a} {b}");
        }
    }

    #[test]
    fn blocks_agree_with_the_definition_for_every_kernel_and_storage() {
        for kernel in Kernel::examples() {
            for (n, m, dim) in [(7, 5, 3), (300, 17, 11), (1, 1, 1)] {
                for x in storages(n, dim, 0.1) {
                    for z in storages(m, dim, 0.4) {
                        assert_close(&block(&kernel, &x, &z), &naive(&kernel, &x, &z), kernel.name());
                    }
                }
            }
        }
    }

    #[test]
    fn symmetric_blocks_and_diagonals_agree_with_whole_blocks() {
        for kernel in Kernel::examples() {
            for x in storages(530, 4, 0.2) {
                let whole = naive(&kernel, &x, &x);
                let half = symmetric(&kernel, &x);
                assert_close(&half, &whole, kernel.name());
                for (i, k) in diagonal(&kernel, &x).into_iter().enumerate() {
                    assert!((k - whole.at(i, i)).abs() < 1e-12, "{}", kernel.name());
                    assert!((0..i).all(|j| half.at(i, j) == half.at(j, i)));
                }
            }
        }
    }

    #[test]
    fn distances_keep_their_digits_far_from_the_origin_and_close_together() {
        let kernel = Kernel::named("exponential", 1.0, 0, 0.0).unwrap();
        for shift in [0.0, 1e6] {
            let x = Matrix::from_fn(20, 3, |i, j| shift + (i as f64 * 1e-3).powi(j as i32 + 1));
            let x = Points::from(x);
            assert_close(&block(&kernel, &x, &x), &naive(&kernel, &x, &x), "dense");
            let sparse = Points::from(Csr::from_dense(&x.to_dense()));
            assert_close(&block(&kernel, &sparse, &sparse), &naive(&kernel, &x, &x), "sparse");
            assert_close(&block(&kernel, &sparse, &x), &naive(&kernel, &x, &x), "sparse and dense");
        }
    }

    #[test]
    fn sparse_rows_may_have_more_columns_than_the_vectors() {
        let kernel = Kernel::gaussian(0.3);
        let wide = Matrix::from_fn(4, 5, |i, j| (i + j) as f64 * 0.2);
        let x = Points::from(Csr::from_dense(&wide));
        let z = Matrix::from_fn(3, 2, |i, j| (i * j) as f64 * 0.1);
        let padded = Matrix::from_fn(3, 5, |i, j| if j < 2 { z.at(i, j) } else { 0.0 });
        let want = naive(&kernel, &x, &padded.into());
        assert_close(&block(&kernel, &x, &z.clone().into()), &want, "dense vectors");
        assert_close(&block(&kernel, &x, &Csr::from_dense(&z).into()), &want, "sparse vectors");
    }

    #[test]
    fn any_number_of_threads_gives_the_same_bits() {
        let [_, x, _] = storages(1000, 9, 0.3);
        let run = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| block(&Kernel::gaussian(0.7), &x, &x))
        };
        assert_eq!(run(1), run(8));
    }
}
