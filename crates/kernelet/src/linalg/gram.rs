//! Sums of weighted outer products of rows.
use faer::{
    Accum, MatMut, MatRef, Par,
    linalg::matmul::triangular::{BlockStructure, matmul},
};
use rayon::prelude::*;

use super::Matrix;

/// Parts into which rows are cut, whatever the number of threads: enough for all cores, few enough that their sums cost little.
const PARTS: usize = 16;

/// Rows that are weighted and multiplied at a time: they stay in cache.
const ROWS: usize = 256;

/// `sum_i weights_i x_i x_i'` over the rows of `x`, of which the lower triangle is filled. Weights must not be negative; rows of weight
/// zero are passed over. All threads; the same bits for any number of them. Cost: n m^2 / 2 multiply-adds.
pub fn weighted_gram(x: &Matrix, weights: &[f64]) -> Matrix {
    let m = x.cols();
    let size = x.rows().div_ceil(PARTS).max(ROWS);
    let part = |(rows, weights): (&[f64], &[f64])| {
        let (mut sum, mut scaled) = (Matrix::zeros(m, m), Vec::with_capacity(ROWS * m));
        let mut used = rows.chunks_exact(m).zip(weights).filter(|(_, weight)| **weight > 0.0).peekable();
        while used.peek().is_some() {
            scaled.clear();
            for (row, weight) in used.by_ref().take(ROWS) {
                let root = weight.sqrt();
                scaled.extend(row.iter().map(|v| v * root));
            }
            add_outer(&scaled, m, &mut sum);
        }
        sum
    };
    if m == 0 {
        return Matrix::zeros(0, 0);
    }
    let parts: Vec<Matrix> = x.values().par_chunks(size * m).zip(weights.par_chunks(size)).map(part).collect();
    parts.into_iter().reduce(sum_of).unwrap_or_else(|| Matrix::zeros(m, m))
}

fn sum_of(mut a: Matrix, b: Matrix) -> Matrix {
    a.values_mut().iter_mut().zip(b.values()).for_each(|(a, b)| *a += b);
    a
}

/// `sum += rows' rows`, lower triangle. One thread.
fn add_outer(rows: &[f64], m: usize, sum: &mut Matrix) {
    let rows = MatRef::from_row_major_slice(rows, rows.len() / m, m);
    let (lower, full) = (BlockStructure::TriangularLower, BlockStructure::Rectangular);
    let out = MatMut::from_row_major_slice_mut(sum.values_mut(), m, m);
    matmul(out, lower, Accum::Add, rows.transpose(), full, rows, full, 1.0, Par::Seq);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_agree_with_the_definition_on_any_number_of_threads() {
        let x = Matrix::from_fn(5000, 7, |i, j| ((i * 7 + j) as f64).sin());
        let weights: Vec<f64> = (0..5000).map(|i| if i % 3 == 0 { 0.0 } else { (i % 10) as f64 }).collect();
        let run = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(|| weighted_gram(&x, &weights));
        let sum = run(1);
        assert_eq!(sum, run(3));
        for i in 0..7 {
            for j in 0..=i {
                let want: f64 = (0..5000).map(|r| weights[r] * x.at(r, i) * x.at(r, j)).sum();
                assert!((sum.at(i, j) - want).abs() < 1e-9, "{i} {j}");
            }
        }
        assert_eq!(weighted_gram(&Matrix::zeros(0, 3), &[]), Matrix::zeros(3, 3));
    }
}
