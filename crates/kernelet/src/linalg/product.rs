//! Matrix products on slices in row order.
use crate::parallel::*;
use faer::{Accum, MatMut, MatRef, Par, linalg::matmul::matmul, traits::ComplexField};

use super::Matrix;

/// Rows of one unit of work, so that any number of threads gives the same bits.
const CHUNK: usize = 256;

/// `out = x z'` for `x` of `n` rows and `z` of `m` rows, both of `dim` columns; `out` is n x m. One thread.
pub fn product_transposed(x: &[f64], z: &[f64], dim: usize, out: &mut [f64]) {
    if dim == 0 || x.is_empty() || z.is_empty() {
        out.fill(0.0);
        return;
    }
    let (n, m) = (x.len() / dim, z.len() / dim);
    let x = MatRef::from_row_major_slice(x, n, dim);
    let z = MatRef::from_row_major_slice(z, m, dim);
    matmul(MatMut::from_row_major_slice_mut(out, n, m), Accum::Replace, x, z.transpose(), 1.0, Par::Seq);
}

/// `out += a' b` for `a` of rows of m numbers and `b` of as many rows of q; `out` is m x q. One thread.
pub fn add_transposed_product<R: ComplexField>(a: &[R], m: usize, b: &[R], q: usize, out: &mut [R]) {
    if m == 0 || q == 0 || a.is_empty() {
        return;
    }
    let (a, b) = (MatRef::from_row_major_slice(a, a.len() / m, m), MatRef::from_row_major_slice(b, b.len() / q, q));
    matmul(MatMut::from_row_major_slice_mut(out, m, q), Accum::Add, a.transpose(), b, R::one_impl(), Par::Seq);
}

/// `block a'` for a `block` of b rows and a matrix `a` of n rows, both of `a`'s columns: b x n, on all threads of the current pool.
pub fn rows_times(block: &Matrix, a: &Matrix) -> Matrix {
    let (b, n) = (block.rows(), a.rows());
    let mut out = Matrix::zeros(n, b);
    if b == 0 || a.cols() == 0 {
        return out.transposed();
    }
    let chunks = out.values_mut().par_chunks_mut(CHUNK * b).zip(a.values().par_chunks(CHUNK * a.cols()));
    chunks.for_each(|(out, rows)| product_transposed(rows, block.values(), a.cols(), out));
    out.transposed()
}

/// `a a'`, of which half is computed and the rest mirrored, on all threads of the current pool. Cost: n^2 times the columns.
pub fn outer_product(a: &Matrix) -> Matrix {
    let (n, dim) = (a.rows(), a.cols());
    let mut out = Matrix::zeros(n, n);
    if n == 0 || dim == 0 {
        return out;
    }
    out.values_mut().par_chunks_mut(CHUNK * n).enumerate().for_each(|(c, out)| {
        let (first, rows) = (c * CHUNK, out.len() / n);
        let width = first + rows;
        let mut lower = vec![0.0; rows * width];
        product_transposed(&a.values()[first * dim..width * dim], &a.values()[..width * dim], dim, &mut lower);
        out.chunks_exact_mut(n).zip(lower.chunks_exact(width)).for_each(|(out, lower)| out[..width].copy_from_slice(lower));
    });
    out.mirror_lower();
    out
}

/// A product `a b` of matrices in row order: `a` has rows of `inner` numbers that begin `stride` apart, `b` has `inner` rows of `cols`.
#[derive(Clone, Copy, Debug)]
pub struct Product<'a, R> {
    /// The left factor.
    pub a: &'a [R],
    /// How far apart the rows of `a` begin.
    pub stride: usize,
    /// Columns of `a`, rows of `b`.
    pub inner: usize,
    /// The right factor.
    pub b: &'a [R],
    /// Columns of `b`.
    pub cols: usize,
}

impl<R: ComplexField> Product<'_, R> {
    /// `out += a b`. One thread.
    pub(super) fn add_to(self, one: R, out: &mut [R]) {
        if self.inner == 0 || self.cols == 0 || out.is_empty() {
            return;
        }
        let n = out.len() / self.cols;
        let a = MatRef::from_row_major_slice_with_stride(self.a, n, self.inner, self.stride);
        let b = MatRef::from_row_major_slice(self.b, self.inner, self.cols);
        matmul(MatMut::from_row_major_slice_mut(out, n, self.cols), Accum::Add, a, b, one, Par::Seq);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_agree_with_the_definition() {
        let x: Vec<f64> = (0..15).map(|v| (v as f64).sin()).collect();
        let z: Vec<f64> = (0..21).map(|v| (v as f64).cos()).collect();
        let mut out = vec![f64::NAN; 35];
        product_transposed(&x, &z, 3, &mut out);
        for i in 0..5 {
            for j in 0..7 {
                let want: f64 = (0..3).map(|k| x[i * 3 + k] * z[j * 3 + k]).sum();
                assert!((out[i * 7 + j] - want).abs() < 1e-14);
            }
        }
        let (x_rows, z_rows) = (Matrix::new(x.clone(), 5, 3).unwrap(), Matrix::new(z.clone(), 7, 3).unwrap());
        assert_eq!(rows_times(&x_rows, &z_rows).values(), out);
        let mut square = vec![0.0; 49];
        product_transposed(&z, &z, 3, &mut square);
        assert_eq!(outer_product(&z_rows).values(), square);
        // Five rows of three numbers, and five of two.
        let mut turned = vec![1.0; 3 * 2];
        add_transposed_product(&x, 3, &z[..10], 2, &mut turned);
        for j in 0..3 {
            for k in 0..2 {
                let want: f64 = 1.0 + (0..5).map(|i| x[i * 3 + j] * z[i * 2 + k]).sum::<f64>();
                assert!((turned[j * 2 + k] - want).abs() < 1e-14);
            }
        }
        // The first two columns of x, whose rows begin three apart.
        let mut sum = vec![1.0; 5 * 2];
        Product { a: &x, stride: 3, inner: 2, b: &z[..4], cols: 2 }.add_to(1.0, &mut sum);
        for i in 0..5 {
            for j in 0..2 {
                let want: f64 = 1.0 + (0..2).map(|k| x[i * 3 + k] * z[k * 2 + j]).sum::<f64>();
                assert!((sum[i * 2 + j] - want).abs() < 1e-14);
            }
        }
    }
}
