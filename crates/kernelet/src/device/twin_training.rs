//! The kernels of training in `cuda/` that have an order of their own, on the processor: parts of sums over rows, the factor of a matrix 32 columns at a time with
//! what is solved with it, and inner products of a descent.
use crate::linalg::{Matrix, dot};

/// Columns that are factored at a time, and inner places of a product, as in `cuda/`.
const PANEL: usize = 32;
const INNER: usize = 16;

/// Rows of a part of a sum over `rows` of them.
fn part_rows(rows: usize, splits: usize) -> usize {
    rows.div_ceil(splits).max(192).next_multiple_of(INNER)
}

/// `a' b` over the rows of a list, in parts that are added in their order.
fn sums(a: &Matrix, b: &Matrix, list: &[usize], splits: usize) -> Matrix {
    let mut out = Matrix::zeros(a.cols(), b.cols());
    for part in list.chunks(part_rows(list.len(), splits)) {
        let sum = Matrix::from_fn(a.cols(), b.cols(), |j, k| part.iter().map(|&i| a.at(i, j) * b.at(i, k)).sum::<f64>());
        out.values_mut().iter_mut().zip(sum.values()).for_each(|(o, s)| *o += s);
    }
    out
}

/// The factor and its inverse of a block on the diagonal, of which columns are filled up with those of the unit matrix.
fn corner(block: &Matrix) -> Option<(Matrix, Matrix)> {
    let (mut factor, mut inverse) = (block.clone(), Matrix::from_fn(PANEL, PANEL, |i, j| f64::from(u8::from(i == j))));
    let mut roots = [0.0; PANEL];
    for c in 0..PANEL {
        let column = factor.col(c);
        if column[c] <= 0.0 || column[c].is_nan() {
            return None;
        }
        roots[c] = 1.0 / column[c].sqrt();
        for i in 0..PANEL {
            let part = column[i] * (roots[c] * roots[c]);
            let row = factor.row_mut(i);
            row[c] = if i < c { 0.0 } else { column[i] * roots[c] };
            (c + 1..PANEL).for_each(|k| row[k] -= part * column[k]);
        }
    }
    for j in 0..PANEL {
        for k in 0..PANEL {
            let v = inverse.at(k, j) * roots[k];
            inverse.row_mut(k)[j] = v;
            (k + 1..PANEL).for_each(|i| inverse.row_mut(i)[j] -= factor.at(i, k) * v);
        }
    }
    Some((factor, inverse))
}

/// What `factored` does to a matrix and the rows behind it; whether the matrix has a factor.
fn factored(h: &mut Matrix, x: &mut Matrix) -> bool {
    let width = h.rows();
    for first in (0..width).step_by(PANEL) {
        let columns = PANEL.min(width - first);
        // What the columns before take from these.
        let before = Matrix::from_fn(columns, first, |c, k| h.at(first + c, k));
        let take = |row: &mut [f64]| (0..columns).for_each(|c| row[first + c] -= dot(&row[..first], before.row(c)));
        (first..width).for_each(|i| take(h.row_mut(i)));
        (0..x.rows()).for_each(|i| take(x.row_mut(i)));
        let inside = |r: usize, c: usize| r < columns && c < columns;
        let block = Matrix::from_fn(PANEL, PANEL, |r, c| match inside(r, c) {
            true => h.at(first + r.max(c), first + r.min(c)),
            false => f64::from(u8::from(r == c)),
        });
        let Some((factor, inverse)) = corner(&block) else { return false };
        for r in 0..columns {
            (0..columns).for_each(|c| h.row_mut(first + r)[first + c] = if c <= r { factor.at(r, c) } else { inverse.at(c, r) });
        }
        // The other rows times the transposed inverse.
        let turn = |row: &mut [f64]| {
            let part = row[first..first + columns].to_vec();
            (0..columns).for_each(|c| row[first + c] = dot(&part, &inverse.row(c)[..columns]));
        };
        (first + columns..width).for_each(|i| turn(h.row_mut(i)));
        (0..x.rows()).for_each(|i| turn(x.row_mut(i)));
    }
    true
}

/// What `solved` makes of a row that `factored` has left.
fn solved(h: &Matrix, x: &mut [f64]) {
    let width = h.rows();
    for first in (0..width).step_by(PANEL).rev() {
        let columns = PANEL.min(width - first);
        let y = x[first..first + columns].to_vec();
        for c in 0..columns {
            let row = &h.row(first + c)[first..first + columns];
            x[first + c] = y[c] / row[c] + (c + 1..columns).map(|k| row[k] * y[k]).sum::<f64>();
        }
        for i in 0..first {
            x[i] -= (0..columns).map(|c| h.at(first + c, i) * x[first + c]).sum::<f64>();
        }
    }
}

/// Numbers of a part of an inner product, and threads of a block, as in `cuda/descent.cu`.
const PART: usize = 4096;
const THREADS: usize = 256;

/// What the threads of a block add up to: those of a warp in pairs, then the warps in their order.
fn block_sum(threads: &[f64]) -> f64 {
    let of_warp = |warp: &[f64]| {
        let mut lanes = warp.to_vec();
        for offset in [16, 8, 4, 2, 1] {
            lanes = (0..32).map(|lane| lanes[lane] + lanes[lane ^ offset]).collect();
        }
        lanes[0]
    };
    threads.chunks_exact(32).map(of_warp).sum()
}

/// The inner product that `paired` and `add_many` make: a product and its sum are rounded once.
pub(crate) fn paired(x: &[f64], y: &[f64]) -> f64 {
    let strided = |numbers: &mut dyn Iterator<Item = (usize, f64, f64)>| {
        let mut threads = vec![0.0; THREADS];
        numbers.for_each(|(i, x, y)| threads[i % THREADS] = x.mul_add(y, threads[i % THREADS]));
        block_sum(&threads)
    };
    let part = |(x, y): (&[f64], &[f64])| strided(&mut x.iter().zip(y).enumerate().map(|(i, (x, y))| (i, *x, *y)));
    let parts: Vec<f64> = x.chunks(PART).zip(y.chunks(PART)).map(part).collect();
    strided(&mut parts.iter().enumerate().map(|(i, part)| (i, *part, 1.0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::Cholesky;

    fn positive(n: usize) -> Matrix {
        Matrix::from_fn(n, n, |i, j| (-0.01 * (i as f64 - j as f64).powi(2)).exp() + if i == j { 1e-3 } else { 0.0 })
    }

    #[test]
    fn factors_inverses_and_steps_by_panels_are_those_of_the_library() {
        for n in [1, 7, 31, 32, 33, 64, 100] {
            let matrix = positive(n);
            let (mut h, mut x) =
                (matrix.clone(), Matrix::from_fn(n + 2, n, |i, j| if i < n { f64::from(u8::from(i == j)) } else { (i + 3 * j) as f64 }));
            let right = x.select(&[n, n + 1]);
            assert!(factored(&mut h, &mut x));
            let factor = Cholesky::new(&matrix).unwrap();
            let lower = factor.lower();
            for i in 0..n {
                for j in 0..=i {
                    assert!((h.at(i, j) - lower.matrix().at(i, j)).abs() < 1e-9, "{n} {i} {j}");
                    // Rows of the unit matrix have become the transposed inverse.
                    let product: f64 = (j..=i).map(|k| x.at(j, k) * matrix_of(&lower, i, k)).sum();
                    assert!((product - f64::from(u8::from(i == j))).abs() < 1e-8, "{n} {i} {j}: {product}");
                    assert!(i == j || x.at(i, j) == 0.0);
                }
            }
            for k in 0..2 {
                let mut want = Matrix::column(right.row(k).to_vec());
                factor.solve(&mut want);
                let mut have = x.row(n + k).to_vec();
                solved(&h, &mut have);
                let size = want.values().iter().fold(0.0, |a: f64, v| a.max(v.abs()));
                assert!(have.iter().zip(want.values()).all(|(a, b)| (a - b).abs() < 1e-9 * size), "{n} {k}");
            }
        }
        let mut indefinite = positive(40);
        indefinite.row_mut(35)[35] = -1.0;
        assert!(!factored(&mut indefinite, &mut Matrix::zeros(0, 40)));
    }

    fn matrix_of(lower: &crate::linalg::Lower, i: usize, k: usize) -> f64 {
        lower.matrix().at(i, k)
    }

    #[test]
    fn inner_products_in_parts_are_those_of_the_library() {
        for n in [1, 31, 255, 4096, 4097, 1_200_000] {
            let (x, y): (Vec<f64>, Vec<f64>) = (0..n).map(|i| ((i as f64).sin(), (0.7 * i as f64).cos() + 0.1)).unzip();
            let size: f64 = x.iter().zip(&y).map(|(x, y)| (x * y).abs()).sum();
            assert!((paired(&x, &y) - dot(&x, &y)).abs() <= 1e-13 * size, "{n}");
        }
    }

    #[test]
    fn sums_in_parts_are_those_of_all_rows_and_few_rows_have_few_parts() {
        let a = Matrix::from_fn(1000, 3, |i, j| ((i * 3 + j) as f64).sin());
        let list: Vec<usize> = (0..1000).filter(|i| i % 3 != 0).collect();
        let whole: Matrix = Matrix::from_fn(3, 3, |j, k| list.iter().map(|&i| a.at(i, j) * a.at(i, k)).sum());
        for splits in [1, 2, 128] {
            let have = sums(&a, &a, &list, splits);
            assert!(have.values().iter().zip(whole.values()).all(|(a, b)| (a - b).abs() < 1e-10));
        }
        assert_eq!([part_rows(10, 128), part_rows(2200, 5), part_rows(60_000, 128)], [192, 448, 480]);
    }
}
