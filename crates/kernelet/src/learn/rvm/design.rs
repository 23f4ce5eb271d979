//! The columns that a relevance vector machine chooses from: one kernel function for each training row, and the constant 1.
//!
//! Column c < n holds k(x_i, x_c) for all rows i; column n is the constant. Equal rows have the same column, and only that of the first is a candidate:
//! k times the same column would share its coefficient between them and pay for it by k priors, so that a row written k times with 1 / k of its weight
//! would not be the same row. The kernel matrix is kept where it fits the given memory,
//! else its rows are computed again, 256 at a time, whenever all of them are needed. Memory: n^2 or 256 n numbers.
use crate::parallel::*;

use crate::{
    data::{Points, repeated},
    kernel::{
        Kernel,
        block::{self, CHUNK, Columns, Scratch},
        simd::{self, Job, multiply_add},
    },
    linalg::{Matrix, product_transposed},
    watch::Watch,
};

/// Equally long rows of numbers that come and go.
#[derive(Clone, Debug, Default)]
pub(super) struct Stack {
    values: Vec<f64>,
    width: usize,
}

impl Stack {
    pub fn new(width: usize) -> Self {
        Stack { values: vec![], width }
    }

    pub fn push(&mut self, row: &[f64]) {
        self.values.extend_from_slice(row);
    }

    pub fn remove(&mut self, place: usize) {
        self.values.drain(place * self.width..(place + 1) * self.width);
    }

    pub fn row(&self, place: usize) -> &[f64] {
        &self.values[place * self.width..(place + 1) * self.width]
    }

    pub fn row_mut(&mut self, place: usize) -> &mut [f64] {
        &mut self.values[place * self.width..(place + 1) * self.width]
    }

    pub fn values(&self) -> &[f64] {
        &self.values
    }

    pub fn values_mut(&mut self) -> &mut [f64] {
        &mut self.values
    }

    pub fn len(&self) -> usize {
        self.values.len() / self.width.max(1)
    }

    /// The sum of all rows, each with its factor.
    pub fn combined(&self, factors: &[f64]) -> Vec<f64> {
        let mut sum = vec![0.0; self.width];
        for (place, &factor) in factors.iter().enumerate() {
            add_multiple(&mut sum, factor, self.row(place));
        }
        sum
    }
}

/// `sum += factor * row`.
pub(super) fn add_multiple(sum: &mut [f64], factor: f64, row: &[f64]) {
    sum.iter_mut().zip(row).for_each(|(sum, value)| *sum += factor * value);
}

/// All columns.
pub(super) struct Design<'a> {
    points: &'a Points,
    columns: Columns,
    kept: Option<Matrix>,
    repeated: Vec<bool>,
}

/// What one pass over all columns gives.
pub(super) struct Pass {
    /// sum_i weight_i column_c,i^2 for each column c.
    pub squares: Vec<f64>,
    /// The inner product of each of some rows with every column.
    pub products: Stack,
}

impl<'a> Design<'a> {
    pub fn new(kernel: &Kernel, points: &'a Points, memory: usize, watch: &Watch) -> Self {
        let n = points.len();
        let fits = n.checked_mul(n).and_then(|count| count.checked_mul(8)).is_some_and(|bytes| bytes <= memory);
        if fits {
            watch.evaluated((n * (n + 1) / 2) as u64);
        }
        let kept = fits.then(|| block::symmetric(kernel, points));
        Design { points, columns: Columns::new(kernel, points), kept, repeated: repeated(points) }
    }

    /// For each column of a row whether it is that of an earlier row, and so no candidate.
    pub fn repeated(&self) -> &[bool] {
        &self.repeated
    }

    /// Number of rows of the data.
    pub fn rows(&self) -> usize {
        self.points.len()
    }

    /// Number of columns; the last is the constant.
    pub fn len(&self) -> usize {
        self.rows() + 1
    }

    /// Column c.
    pub fn column(&self, c: usize, watch: &Watch) -> Vec<f64> {
        let n = self.rows();
        match &self.kept {
            _ if c == n => vec![1.0; n],
            Some(kept) => kept.row(c).to_vec(),
            None => {
                let mut column = vec![0.0; n];
                self.columns.fill(self.points, c..c + 1, &mut column, &mut Scratch::default());
                watch.evaluated(n as u64);
                column
            }
        }
    }

    /// The inner products of `row` with every column.
    pub fn product(&self, row: &[f64], watch: &Watch) -> Vec<f64> {
        let mut rows = Stack::new(self.rows());
        rows.push(row);
        self.pass(None, &rows, watch).products.values
    }

    /// The inner products of `row` with the columns listed; 0 for all others.
    pub fn product_with(&self, listed: &[usize], row: &[f64], watch: &Watch) -> Vec<f64> {
        let (n, mut out) = (self.rows(), vec![0.0; self.len()]);
        let mut buffer = if self.kept.is_some() { vec![] } else { vec![0.0; n] };
        let mut scratch = Scratch::default();
        for &c in listed.iter().filter(|&&c| c < n) {
            let block = match &self.kept {
                Some(kept) => kept.row(c),
                None => {
                    self.columns.fill(self.points, c..c + 1, &mut buffer, &mut scratch);
                    &buffer[..]
                }
            };
            simd::run(Sums::<false> { block, factors: row, out: &mut out[c..c + 1] });
        }
        if self.kept.is_none() {
            watch.evaluated((n * listed.len()) as u64);
        }
        out[n] = row.iter().sum();
        out
    }

    /// Inner products of `rows` with every column, and where weights are given the weighted squares of every column.
    pub fn pass(&self, weights: Option<&[f64]>, rows: &Stack, watch: &Watch) -> Pass {
        let (n, count) = (self.rows(), rows.len());
        let chunks: Vec<usize> = (0..n).step_by(CHUNK).collect();
        let parts: Vec<(Vec<f64>, Vec<f64>)> = chunks.par_iter().map(|&first| self.part(first, weights, rows)).collect();
        if self.kept.is_none() {
            watch.evaluated((n * n) as u64);
        }
        let mut products = Stack { values: vec![0.0; count * self.len()], width: self.len() };
        let mut squares = Vec::with_capacity(self.len());
        for (&first, (block, part)) in chunks.iter().zip(&parts) {
            let width = block.len() / count.max(1);
            for (r, from) in block.chunks_exact(width.max(1)).enumerate() {
                products.row_mut(r)[first..first + width].copy_from_slice(from);
            }
            squares.extend_from_slice(part);
        }
        for r in 0..count {
            products.row_mut(r)[n] = rows.row(r).iter().sum();
        }
        squares.push(weights.map_or(0.0, |weights| weights.iter().sum()));
        Pass { squares, products }
    }

    fn part(&self, first: usize, weights: Option<&[f64]>, rows: &Stack) -> (Vec<f64>, Vec<f64>) {
        let n = self.rows();
        let last = n.min(first + CHUNK);
        let mut computed = vec![];
        let block = match &self.kept {
            Some(kept) => &kept.values()[first * n..last * n],
            None => {
                computed.resize((last - first) * n, 0.0);
                self.columns.fill(self.points, first..last, &mut computed, &mut Scratch::default());
                &computed[..]
            }
        };
        let mut out = vec![0.0; rows.len() * (last - first)];
        match rows.len() {
            1 => simd::run(Sums::<false> { block, factors: rows.row(0), out: &mut out }),
            _ => product_transposed(rows.values(), block, n, &mut out),
        }
        let mut squares = vec![0.0; if weights.is_some() { last - first } else { 0 }];
        if let Some(factors) = weights {
            simd::run(Sums::<true> { block, factors, out: &mut squares });
        }
        (out, squares)
    }
}

/// For each row k of a block: the sum of factors_i k_i, or of factors_i k_i^2.
struct Sums<'a, const SQUARED: bool> {
    block: &'a [f64],
    factors: &'a [f64],
    out: &'a mut [f64],
}

impl<const SQUARED: bool> Job for Sums<'_, SQUARED> {
    type Output = ();
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        const LANES: usize = 16;
        let (factors, rest) = self.factors.as_chunks::<LANES>();
        for (out, row) in self.out.iter_mut().zip(self.block.chunks_exact(self.factors.len().max(1))) {
            let (row, row_rest) = row.as_chunks::<LANES>();
            let mut sums = [0.0; LANES];
            for (k, f) in row.iter().zip(factors) {
                for l in 0..LANES {
                    sums[l] = multiply_add::<FMA>(if SQUARED { k[l] * k[l] } else { k[l] }, f[l], sums[l]);
                }
            }
            let last: f64 = row_rest.iter().zip(rest).map(|(k, f)| if SQUARED { k * k * f } else { k * f }).sum();
            *out = sums.iter().sum::<f64>() + last;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::dot;

    #[test]
    fn a_pass_agrees_with_the_definition_whether_the_matrix_is_kept_or_not() {
        let (n, kernel) = (300, Kernel::gaussian(0.3));
        let points = Points::from(Matrix::from_fn(n, 2, |i, j| ((3 * i + j) as f64).sin()));
        let mut rows = Stack::new(n);
        rows.push(&(0..n).map(|i| (i as f64).cos()).collect::<Vec<_>>());
        rows.push(&(0..n).map(|i| (2.0 * i as f64).sin()).collect::<Vec<_>>());
        let weights: Vec<f64> = (0..n).map(|i| 1.0 + (i % 3) as f64).collect();
        for memory in [0, 1 << 30] {
            let design = Design::new(&kernel, &points, memory, &Watch::none());
            let pass = design.pass(Some(&weights), &rows, &Watch::none());
            for c in [0, 1, 255, 256, 299, 300] {
                let column = design.column(c, &Watch::none());
                let dense = points.to_dense();
                if c < n {
                    assert!((0..n).all(|i| (column[i] - kernel.eval(dense.row(i), dense.row(c))).abs() < 1e-14));
                }
                let squares: f64 = column.iter().zip(&weights).map(|(k, w)| w * k * k).sum();
                assert!((pass.squares[c] - squares).abs() < 1e-10);
                for r in 0..2 {
                    assert!((pass.products.row(r)[c] - dot(rows.row(r), &column)).abs() < 1e-10);
                }
            }
        }
    }
}
