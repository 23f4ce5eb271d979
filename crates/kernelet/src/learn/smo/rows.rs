//! Where kernel rows come from: packed dense points, sparse points, or a matrix that is there already.
use rayon::prelude::*;

use super::{
    packed::{Centred, GROUP, Packed},
    scan::LANES,
};
use crate::{
    Error, Result,
    data::{Csr, Points},
    kernel::{Argument, Kernel, block},
    linalg::Matrix,
};

/// Gives rows of a kernel matrix, padded with zeros to a multiple of the scans' lanes.
pub trait RowSource: Send + Sync {
    /// Number of rows, and of columns without the padding.
    fn len(&self) -> usize;
    /// True when there is no row.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// k(x_i, x_i) of every row.
    fn diagonal(&self) -> Vec<f64>;
    /// Writes row `i`.
    fn row(&self, i: usize, out: &mut [f32]);
    /// `K beta` for all rows, on all threads; beta is given by its entries that are not zero.
    fn combine(&self, beta: &[(usize, f64)]) -> Vec<f64>;
    /// The same for some rows and columns only, renumbered from 0.
    fn subset(&self, keep: &[usize]) -> Box<dyn RowSource>;
}

/// Kernel values beyond this do not fit the cache's single precision with room to spare.
const LARGEST_VALUE: f64 = 1e30;

/// Squares beyond this may overflow when they are added.
const LARGEST_SQUARE: f64 = 1e300;

/// Above this value of gamma |x|^2 single precision loses too many digits of a distance: the error of k is about 1e-7 times it.
const LARGEST_SINGLE: f64 = 50.0;

/// Tolerances below this ask for double precision throughout.
const FINEST_SINGLE: f64 = 1e-4;

/// The kernel rows of `points`. Gaussian rows are computed in single precision where that costs less than the tolerance.
pub fn rows_of(kernel: &Kernel, points: &Points, tolerance: f64) -> Result<Box<dyn RowSource>> {
    // Differences of squares that overflow would be NaN.
    if points.squared_norms().into_iter().any(|norm| norm.is_nan() || norm > LARGEST_SQUARE) {
        return Err(Error::data(
            "the data have numbers so large that their squares overflow; scale the data, for example with --scale standard",
        ));
    }
    let largest = block::diagonal(kernel, points).into_iter().fold(0.0f64, |a, b| if b.abs() > a || b.is_nan() { b.abs() } else { a });
    if largest.is_nan() || largest > LARGEST_VALUE {
        return Err(Error::data(format!("kernel values reach {largest:.1e}; scale the data, for example with --scale standard")));
    }
    Ok(match (points, kernel) {
        (Points::Sparse(rows), _) => Box::new(SparseRows::new(kernel, rows.clone())),
        (_, Kernel::Gaussian(gaussian)) => {
            let centred = Centred::new(points, true);
            let reach = centred.norms.iter().fold(0.0f64, |a, &b| a.max(b)) * gaussian.gamma;
            match tolerance >= FINEST_SINGLE && reach <= LARGEST_SINGLE {
                true => Box::new(Packed::<f32>::new(kernel, &centred)),
                false => Box::new(Packed::<f64>::new(kernel, &centred)),
            }
        }
        _ => Box::new(Packed::<f64>::new(kernel, &Centred::new(points, kernel.profile().argument() == Argument::SquaredDistance))),
    })
}

/// Sparse points: a row is a pass over all stored values against one point spread out.
struct SparseRows {
    kernel: Kernel,
    rows: Csr,
    norms: Vec<f64>,
}

impl SparseRows {
    fn new(kernel: &Kernel, rows: Csr) -> Self {
        let norms = Points::Sparse(rows.clone()).squared_norms();
        SparseRows { kernel: kernel.clone(), rows, norms }
    }

    fn spread(&self, i: usize) -> Vec<f64> {
        let mut x = vec![0.0; self.rows.dim()];
        let (columns, values) = self.rows.row(i);
        columns.iter().zip(values).for_each(|(&c, &v)| x[c as usize] = v);
        x
    }

    /// Kernel values of rows `first..` against the spread point `x`.
    fn fill(&self, x: &[f64], norm: f64, first: usize, out: &mut [f64]) {
        let profile = self.kernel.profile();
        for (j, out) in out.iter_mut().enumerate() {
            let (columns, values) = self.rows.row(first + j);
            let dot: f64 = columns.iter().zip(values).map(|(&c, v)| x[c as usize] * v).sum();
            *out = match profile.argument() {
                Argument::SquaredDistance => (norm + self.norms[first + j] - 2.0 * dot).max(0.0),
                Argument::DotProduct => dot,
            };
        }
        profile.values(out);
    }
}

impl RowSource for SparseRows {
    fn len(&self) -> usize {
        self.rows.len()
    }

    fn diagonal(&self) -> Vec<f64> {
        block::diagonal(&self.kernel, &Points::Sparse(self.rows.clone()))
    }

    fn row(&self, i: usize, out: &mut [f32]) {
        let x = self.spread(i);
        let n = self.len();
        out[..n].par_chunks_mut(GROUP * LANES).enumerate().for_each(|(g, out)| {
            let mut values = [0.0; GROUP * LANES];
            let values = &mut values[..out.len()];
            self.fill(&x, self.norms[i], g * GROUP * LANES, values);
            out.iter_mut().zip(values).for_each(|(out, v)| *out = *v as f32);
        });
        out[n..].fill(0.0);
    }

    fn combine(&self, beta: &[(usize, f64)]) -> Vec<f64> {
        let chosen: Vec<usize> = beta.iter().map(|&(i, _)| i).collect();
        let columns = block::Columns::new(&self.kernel, &Points::Sparse(self.rows.select(&chosen)));
        let points = Points::Sparse(self.rows.clone());
        let mut out = vec![0.0; self.len()];
        out.par_chunks_mut(LANES).enumerate().for_each_init(block::Scratch::default, |scratch, (c, out)| {
            let mut values = vec![0.0; out.len() * beta.len()];
            columns.fill(&points, c * LANES..c * LANES + out.len(), &mut values, scratch);
            for (sum, row) in out.iter_mut().zip(values.chunks_exact(beta.len().max(1))) {
                *sum = row.iter().zip(beta).map(|(k, (_, weight))| k * weight).sum();
            }
        });
        out
    }

    fn subset(&self, keep: &[usize]) -> Box<dyn RowSource> {
        Box::new(SparseRows::new(&self.kernel, self.rows.select(keep)))
    }
}

/// The rows `keep` of a kernel matrix that is there already.
pub(crate) fn rows_of_gram(gram: &Matrix, keep: &[usize]) -> Result<Box<dyn RowSource>> {
    let part = Matrix::from_fn(keep.len(), keep.len(), |i, j| gram.at(keep[i], keep[j]));
    match part.values().iter().find(|v| v.abs() > LARGEST_VALUE) {
        Some(value) => Err(Error::data(format!("kernel values reach {value:.1e}; divide the kernel matrix by its size"))),
        None => Ok(Box::new(GramRows(part))),
    }
}

/// A kernel matrix that is there already.
struct GramRows(Matrix);

impl RowSource for GramRows {
    fn len(&self) -> usize {
        self.0.rows()
    }

    fn diagonal(&self) -> Vec<f64> {
        (0..self.len()).map(|i| self.0.at(i, i)).collect()
    }

    fn row(&self, i: usize, out: &mut [f32]) {
        let row = self.0.row(i);
        out.iter_mut().zip(row).for_each(|(out, v)| *out = *v as f32);
        out[row.len()..].fill(0.0);
    }

    fn combine(&self, beta: &[(usize, f64)]) -> Vec<f64> {
        self.0.iter().map(|row| beta.iter().map(|&(i, weight)| row[i] * weight).sum()).collect()
    }

    fn subset(&self, keep: &[usize]) -> Box<dyn RowSource> {
        Box::new(GramRows(Matrix::from_fn(keep.len(), keep.len(), |i, j| self.0.at(keep[i], keep[j]))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_combinations_and_subsets_agree_with_the_definition() {
        let x = Matrix::from_fn(150, 5, |i, j| ((i * 13 + j * 7) as f64).sin() + 3.0);
        for kernel in Kernel::examples() {
            let gram = Matrix::from_fn(150, 150, |i, j| kernel.eval(x.row(i), x.row(j)));
            let dense = Points::from(x.clone());
            let sources: Vec<Box<dyn RowSource>> = vec![
                rows_of(&kernel, &dense, 1e-3).unwrap(),
                rows_of(&kernel, &dense, 1e-6).unwrap(),
                rows_of(&kernel, &Points::from(Csr::from_dense(&x)), 1e-3).unwrap(),
                rows_of_gram(&gram, &(0..150).collect::<Vec<_>>()).unwrap(),
            ];
            let beta = [(3, 0.5), (140, -2.0), (77, 1.0)];
            for source in sources {
                let mut row = vec![9.0f32; 192];
                source.row(140, &mut row);
                let combined = source.combine(&beta);
                for t in 0..150 {
                    // Single precision of each term: the error of a sum is relative to the sum of their sizes.
                    let close = |have: f64, want: f64, size: f64| {
                        assert!((have - want).abs() < 3e-6 * (1.0 + size), "{} {have} {want}", kernel.name());
                    };
                    close(f64::from(row[t]), gram.at(140, t), gram.at(140, t).abs());
                    let terms = beta.map(|(i, w)| w * gram.at(i, t));
                    close(combined[t], terms.iter().sum(), terms.iter().map(|t| t.abs()).sum());
                    close(source.diagonal()[t], gram.at(t, t), gram.at(t, t).abs());
                }
                assert!(row[150..].iter().all(|&v| v == 0.0));
                let part = source.subset(&[2, 77, 149]);
                let mut row = vec![9.0f32; 64];
                part.row(1, &mut row);
                for (new, old) in [2, 77, 149].into_iter().enumerate() {
                    assert!((f64::from(row[new]) - gram.at(77, old)).abs() < 3e-6 * (1.0 + gram.at(77, old).abs()));
                }
            }
        }
    }

    #[test]
    fn kernel_values_too_large_for_the_cache_are_refused() {
        let x = Points::from(Matrix::from_fn(3, 1, |i, _| 1e8 * (i as f64 + 1.0)));
        let error = rows_of(&Kernel::named("polynomial", 1.0, 3, 0.0).unwrap(), &x, 1e-3).err().unwrap();
        assert!(error.to_string().contains("kernel values reach"), "{error}");
        let huge = Points::from(Matrix::from_fn(2, 1, |i, _| if i == 0 { 1e200 } else { -1e200 }));
        for points in [Points::from(Csr::from_dense(&huge.to_dense())), huge] {
            let error = rows_of(&Kernel::gaussian(1.0), &points, 1e-3).err().unwrap();
            assert!(error.to_string().contains("their squares overflow"), "{error}");
        }
    }
}
