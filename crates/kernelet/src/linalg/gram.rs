//! Sums of weighted outer products of rows.
use std::ops::Range;

use crate::parallel::*;
use faer::{
    Accum, MatMut, MatRef, Par,
    linalg::matmul::triangular::{BlockStructure, matmul},
};

use super::Matrix;

/// Parts into which rows are cut, whatever the number of threads: enough for all cores, few enough that their sums cost little.
const PARTS: usize = 16;

/// Rows that are weighted and multiplied at a time: they stay in cache.
const ROWS: usize = 256;

/// `sum_i weights_i x_i x_i'` over the rows of `x`, of which the lower triangle is filled. Weights must not be negative; rows of weight
/// zero are passed over. All threads; the same bits for any number of them. Cost: n m^2 / 2 multiply-adds.
pub fn weighted_gram(x: &Matrix, weights: &[f64]) -> Matrix {
    let used: Vec<usize> = (0..x.rows()).filter(|&i| weights[i] > 0.0).collect();
    outer_sum(used.len(), x.cols(), |rows, out| {
        for (&i, out) in used[rows].iter().zip(out.chunks_exact_mut(x.cols())) {
            let root = weights[i].sqrt();
            out.iter_mut().zip(x.row(i)).for_each(|(out, v)| *out = v * root);
        }
    })
}

/// `sum_k r_k r_k'` over `count` rows of `width` numbers, which `fill` writes block by block; the lower triangle is filled. All threads.
pub fn outer_sum(count: usize, width: usize, fill: impl Fn(Range<usize>, &mut [f64]) + Sync) -> Matrix {
    let mut sum = Matrix::zeros(width, width);
    add_outer_sum(&mut sum, 1.0, PARTS, count, fill);
    sum
}

/// `sum += factor sum_k r_k r_k'`, in at most so many parts that threads may share; where many sums are made at a time, one part saves memory.
pub fn add_outer_sum(sum: &mut Matrix, factor: f64, parts: usize, count: usize, fill: impl Fn(Range<usize>, &mut [f64]) + Sync) {
    let width = sum.cols();
    if width == 0 || count == 0 {
        return;
    }
    let size = count.div_ceil(parts.max(1)).max(ROWS);
    let part = |p: usize, sum: &mut Matrix| {
        let mut rows = vec![0.0; ROWS * width];
        let end = count.min((p + 1) * size);
        for first in (p * size..end).step_by(ROWS) {
            let used = (end - first).min(ROWS);
            fill(first..first + used, &mut rows[..used * width]);
            add_multiple(&rows[..used * width], width, factor, sum.values_mut());
        }
    };
    if count <= size {
        return part(0, sum);
    }
    let whole = |p: usize| {
        let mut sum = Matrix::zeros(width, width);
        part(p, &mut sum);
        sum
    };
    let parts: Vec<Matrix> = (0..count.div_ceil(size)).into_par_iter().map(whole).collect();
    for part in parts {
        sum.values_mut().iter_mut().zip(part.values()).for_each(|(a, b)| *a += b);
    }
}

/// `sum += rows' rows`, lower triangle, for rows of m numbers. One thread.
pub fn add_outer(rows: &[f64], m: usize, sum: &mut [f64]) {
    add_multiple(rows, m, 1.0, sum);
}

fn add_multiple(rows: &[f64], m: usize, factor: f64, sum: &mut [f64]) {
    let rows = MatRef::from_row_major_slice(rows, rows.len() / m, m);
    let (lower, full) = (BlockStructure::TriangularLower, BlockStructure::Rectangular);
    let out = MatMut::from_row_major_slice_mut(sum, m, m);
    matmul(out, lower, Accum::Add, rows.transpose(), full, rows, full, factor, Par::Seq);
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
        // What is subtracted in other parts leaves rounding alone.
        let fill = |rows: Range<usize>, out: &mut [f64]| out.copy_from_slice(&x.values()[rows.start * 7..rows.end * 7]);
        let (mut rest, size) = (outer_sum(5000, 7, fill), 5000.0);
        for parts in [1, 3] {
            add_outer_sum(&mut rest, -0.5, parts, 5000, fill);
        }
        assert!(rest.values().iter().all(|v| v.abs() < 1e-12 * size), "{rest:?}");
    }
}
