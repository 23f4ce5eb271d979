//! Matrix products on slices in row order.
use faer::{Accum, MatMut, MatRef, Par, linalg::matmul::matmul, traits::ComplexField};

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
