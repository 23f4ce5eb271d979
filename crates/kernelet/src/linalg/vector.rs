//! A matrix times a vector.
use crate::parallel::*;

use super::{Matrix, dot};

/// Rows of one part of a sum over rows, whatever the number of threads.
const PART: usize = 4096;

/// `V w` for the rows of V, on all threads.
pub fn times(rows: &Matrix, w: &[f64]) -> Vec<f64> {
    let m = rows.cols();
    let mut out = vec![0.0; rows.rows()];
    if m > 0 {
        out.par_chunks_mut(PART).zip(rows.values().par_chunks(PART * m)).for_each(|(out, rows)| {
            out.iter_mut().zip(rows.chunks_exact(m)).for_each(|(out, row)| *out = dot(row, w));
        });
    }
    out
}

/// `V' u`, on all threads; the same bits for any number of them.
pub fn transposed_times(rows: &Matrix, u: &[f64]) -> Vec<f64> {
    let m = rows.cols();
    let sum = |(rows, u): (&[f64], &[f64])| {
        let mut sum = vec![0.0; m];
        for (row, u) in rows.chunks_exact(m).zip(u) {
            sum.iter_mut().zip(row).for_each(|(s, v)| *s += u * v);
        }
        sum
    };
    let mut total = vec![0.0; m];
    if m > 0 {
        let parts: Vec<Vec<f64>> = rows.values().par_chunks(PART * m).zip(u.par_chunks(PART)).map(sum).collect();
        parts.iter().for_each(|part| total.iter_mut().zip(part).for_each(|(t, p)| *t += p));
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_agree_with_the_definition_on_any_number_of_threads() {
        let rows = Matrix::from_fn(9000, 3, |i, j| ((i * 3 + j) as f64).sin());
        let (w, u) = ([0.5, -2.0, 1.0], (0..9000).map(|i| (i as f64).cos()).collect::<Vec<f64>>());
        let run = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| (times(&rows, &w), transposed_times(&rows, &u)))
        };
        let (forward, back) = run(1);
        assert_eq!((forward.clone(), back.clone()), run(3));
        assert!((0..9000).all(|i| (forward[i] - (0..3).map(|j| rows.at(i, j) * w[j]).sum::<f64>()).abs() < 1e-14));
        assert!((0..3).all(|j| (back[j] - (0..9000).map(|i| rows.at(i, j) * u[i]).sum::<f64>()).abs() < 1e-10));
        assert_eq!((times(&Matrix::zeros(2, 0), &[]), transposed_times(&Matrix::zeros(0, 2), &[])), (vec![0.0; 2], vec![0.0; 2]));
    }
}
