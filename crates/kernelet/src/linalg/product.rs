//! Matrix products on slices in row order.
use faer::{Accum, MatMut, MatRef, Par, linalg::matmul::matmul};

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

/// `out += a b` for `a` of n x m and `b` of m x q, all in row order. One thread.
pub fn add_product(a: &[f64], b: &[f64], m: usize, q: usize, out: &mut [f64]) {
    if m == 0 || q == 0 || a.is_empty() {
        return;
    }
    let n = a.len() / m;
    let a = MatRef::from_row_major_slice(a, n, m);
    let b = MatRef::from_row_major_slice(b, m, q);
    matmul(MatMut::from_row_major_slice_mut(out, n, q), Accum::Add, a, b, 1.0, Par::Seq);
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
        let mut sum = vec![1.0; 5 * 2];
        add_product(&x, &z[..6], 3, 2, &mut sum);
        for i in 0..5 {
            for j in 0..2 {
                let want: f64 = 1.0 + (0..3).map(|k| x[i * 3 + k] * z[k * 2 + j]).sum::<f64>();
                assert!((sum[i * 2 + j] - want).abs() < 1e-14);
            }
        }
    }
}
