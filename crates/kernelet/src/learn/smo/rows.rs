//! Where kernel rows come from: packed dense points, sparse points, or a matrix that is there already.
use std::sync::Arc;

use super::{
    packed::{Centred, Packed},
    sparse::SparseRows,
};
use crate::{
    Error, Result,
    data::{Csr, Points},
    kernel::{Argument, Kernel, block},
    linalg::Matrix,
};

/// Gives rows of a kernel matrix, in all columns or in some, padded with zeros to a multiple of the scans' lanes.
pub trait RowSource: Send + Sync {
    /// Number of columns without the padding.
    fn len(&self) -> usize;
    /// True when there is no column.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// k(x, x) of the points of the columns.
    fn diagonal(&self) -> Vec<f64>;
    /// Writes row `i`, counted among all points, whatever the columns; returns how many kernel values were computed for it.
    fn row(&self, i: usize, out: &mut [f32]) -> u64;
    /// Writes several rows one after the other, each in an equal part of `out`; returns how many kernel values were computed.
    fn block(&self, rows: &[usize], out: &mut [f32]) -> u64 {
        let width = out.len() / rows.len().max(1);
        out.chunks_exact_mut(width.max(1)).zip(rows).map(|(out, &i)| self.row(i, out)).sum()
    }
    /// All rows in some of these columns only, renumbered from 0.
    fn columns(&self, keep: &[usize]) -> Box<dyn RowSource>;
}

/// Kernel values beyond this are too close to the largest value of the cache's single precision.
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
    let by_mean = kernel.profile().argument() == Argument::SquaredDistance;
    let reach = |norms: &[f64]| match kernel {
        Kernel::Gaussian(gaussian) => norms.iter().fold(0.0f64, |a, &b| a.max(b)) * gaussian.gamma,
        _ => f64::INFINITY,
    };
    let single = |norms: &[f64]| tolerance >= FINEST_SINGLE && reach(norms) <= LARGEST_SINGLE;
    if let Points::Sparse(rows) = points
        && !worth_packing(rows)
    {
        return Ok(match single(&points.squared_norms()) {
            true => Box::new(SparseRows::<f32>::new(kernel, rows)),
            false => Box::new(SparseRows::<f64>::new(kernel, rows)),
        });
    }
    let centred = Centred::new(points, by_mean);
    Ok(match single(&centred.norms) {
        true => Box::new(Packed::<f32>::new(kernel, &centred)),
        false => Box::new(Packed::<f64>::new(kernel, &centred)),
    })
}

/// Whether sparse points are better packed like dense ones. A stored value that has to be looked up costs about as much as a dozen
/// multiply-adds in vector registers, or, where the packed points leave the processor's cache, as two.
fn worth_packing(rows: &Csr) -> bool {
    const CACHE: usize = 1 << 18;
    let stored = (rows.parts().2.len() / rows.len().max(1)).max(1);
    rows.dim() <= stored * if rows.dim().saturating_mul(rows.len()) <= CACHE { 12 } else { 2 }
}

/// The rows `keep` of a kernel matrix that is there already.
pub(crate) fn rows_of_gram(gram: &Arc<Matrix>, keep: &[usize]) -> Result<Box<dyn RowSource>> {
    let values = keep.iter().flat_map(|&i| keep.iter().map(move |&j| gram.at(i, j)));
    match values.into_iter().find(|v| v.abs() > LARGEST_VALUE) {
        Some(value) => Err(Error::data(format!("kernel values reach {value:.1e}; divide the kernel matrix by its size"))),
        None => Ok(Box::new(GramRows { gram: gram.clone(), rows: keep.into(), columns: keep.to_vec() })),
    }
}

/// A kernel matrix that is there already.
struct GramRows {
    gram: Arc<Matrix>,
    rows: Arc<[usize]>,
    columns: Vec<usize>,
}

impl RowSource for GramRows {
    fn len(&self) -> usize {
        self.columns.len()
    }

    fn diagonal(&self) -> Vec<f64> {
        self.columns.iter().map(|&i| self.gram.at(i, i)).collect()
    }

    fn row(&self, i: usize, out: &mut [f32]) -> u64 {
        let row = self.gram.row(self.rows[i]);
        out.iter_mut().zip(&self.columns).for_each(|(out, &column)| *out = row[column] as f32);
        out[self.columns.len()..].fill(0.0);
        self.columns.len() as u64
    }

    fn columns(&self, keep: &[usize]) -> Box<dyn RowSource> {
        let columns = keep.iter().map(|&t| self.columns[t]).collect();
        Box::new(GramRows { gram: self.gram.clone(), rows: self.rows.clone(), columns })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_and_columns_agree_with_the_definition() {
        let x = Matrix::from_fn(150, 5, |i, j| ((i * 13 + j * 7) as f64).sin() + 3.0);
        for kernel in Kernel::examples() {
            let gram = Matrix::from_fn(150, 150, |i, j| kernel.eval(x.row(i), x.row(j)));
            let dense = Points::from(x.clone());
            // The same points in many more columns, so that they stay sparse.
            let wide = Matrix::from_fn(150, 200, |i, j| if j % 40 == 0 { x.at(i, j / 40) } else { 0.0 });
            let sources: Vec<Box<dyn RowSource>> = vec![
                rows_of(&kernel, &dense, 1e-3).unwrap(),
                rows_of(&kernel, &dense, 1e-6).unwrap(),
                rows_of(&kernel, &Points::from(Csr::from_dense(&x)), 1e-3).unwrap(),
                rows_of(&kernel, &Points::from(Csr::from_dense(&wide)), 1e-3).unwrap(),
                rows_of_gram(&Arc::new(gram.clone()), &(0..150).collect::<Vec<_>>()).unwrap(),
            ];
            for source in sources {
                let mut row = vec![9.0f32; 192];
                source.row(140, &mut row);
                for t in 0..150 {
                    let close = |have: f64, want: f64, size: f64| {
                        assert!((have - want).abs() < 3e-6 * (1.0 + size), "{} {have} {want}", kernel.name());
                    };
                    close(f64::from(row[t]), gram.at(140, t), gram.at(140, t).abs());
                    close(source.diagonal()[t], gram.at(t, t), gram.at(t, t).abs());
                }
                assert!(row[150..].iter().all(|&v| v == 0.0));
                let mut block = vec![9.0f32; 3 * 192];
                assert_eq!(source.block(&[5, 140, 0], &mut block), 450);
                assert_eq!(block[192..384], row);
                // Some columns, and some of those: rows are counted as before.
                let part = source.columns(&[2, 5, 77, 149]).columns(&[0, 2, 3]);
                let mut row = vec![9.0f32; 64];
                part.row(140, &mut row);
                for (new, old) in [2, 77, 149].into_iter().enumerate() {
                    assert!((f64::from(row[new]) - gram.at(140, old)).abs() < 3e-6 * (1.0 + gram.at(140, old).abs()));
                    assert!((part.diagonal()[new] - gram.at(old, old)).abs() < 3e-6 * (1.0 + gram.at(old, old).abs()));
                }
                assert_eq!(part.len(), 3);
            }
        }
    }

    #[test]
    fn kernel_values_too_large_for_the_cache_are_rejected() {
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
