//! Blocks of Gaussian kernel values between dense rows and dense vectors, with distances and exponentials in vector registers.
use std::ops::Range;

use super::{
    fused::{self, DenseRows, Lying, Packed, RowSource, Rows},
    simd::{Ahead, SimdReal},
};
use crate::{data::Points, linalg::Matrix};

/// Fewer vectors than this are not worth packing.
const FEWEST: usize = 8;

/// Where parts of the vectors may begin: a multiple of the tile of every instruction set, in both precisions.
pub(super) const ALIGNED: usize = 384;

/// Vectors packed for whole blocks, in double or single precision.
#[derive(Debug)]
pub(super) struct InRegisters<R> {
    packed: Packed<R>,
    len: usize,
}

/// Work space that is reused from block to block.
#[derive(Debug, Default)]
pub(super) struct Work<R> {
    rows: Rows<R>,
    tile: Vec<R>,
}

impl<R: SimdReal> InRegisters<R> {
    /// Packs vectors that lie row by row less `centre`. None where they are few, or so large that exponents might overflow.
    pub fn new(gamma: f64, rows: &[f64], centre: &[f64]) -> Option<Self> {
        let dim = centre.len();
        let len = rows.len().checked_div(dim).filter(|&len| len >= FEWEST)?;
        let vectors = Matrix::from_fn(len, dim, |i, j| rows[i * dim + j] + centre[j]);
        Packed::new(gamma, &vectors.into()).map(|packed| InRegisters { packed, len })
    }

    /// Writes the kernel values of rows `rows` of `x` with the vectors `vectors`, row by row; false, with nothing of use written, where a row is
    /// too large for that or the vectors do not begin at a multiple of [`ALIGNED`].
    pub fn fill(&self, x: &Points, rows: Range<usize>, vectors: Range<usize>, out: &mut [R], work: &mut Work<R>) -> bool {
        let (packed, width) = (&self.packed, vectors.len());
        if !vectors.start.is_multiple_of(ALIGNED) || vectors.end > self.len || width == 0 {
            return false;
        }
        for (first, out) in rows.step_by(fused::ROWS).zip(out.chunks_mut(fused::ROWS * width)) {
            let count = out.len() / width;
            if !packed.take_rows(count, &From(x, first), &mut work.rows) {
                return false;
            }
            for start in vectors.clone().step_by(packed.tile()) {
                let tile = start..packed.lanes().min(start + packed.tile());
                work.tile.resize(count * tile.len(), R::default());
                packed.values(tile.clone(), &mut work.rows, Ahead::default(), &mut work.tile);
                let (place, used) = (start - vectors.start, tile.end.min(vectors.end) - start);
                for (out, values) in out.chunks_exact_mut(width).zip(work.tile.chunks_exact(tile.len())) {
                    out[place..place + used].copy_from_slice(&values[..used]);
                }
            }
        }
        true
    }
}

/// Rows of points from the given one on.
struct From<'a>(&'a Points, usize);

impl RowSource for From<'_> {
    fn row<'a>(&'a self, i: usize, buffer: &'a mut [f64]) -> (&'a [f64], f64) {
        match self.0 {
            Points::F64(matrix) => (matrix.row(self.1 + i), 0.0),
            other => {
                other.copy_rows(self.1 + i..self.1 + i + 1, buffer.len(), buffer);
                (buffer, 0.0)
            }
        }
    }

    fn lying(&self, dim: usize) -> Option<Lying<'_>> {
        let rows = match self.0 {
            Points::F64(matrix) => DenseRows::F64(&matrix.values()[self.1 * dim..]),
            Points::F32(matrix) => DenseRows::F32(&matrix.values()[self.1 * dim..]),
            Points::Sparse(_) => return None,
        };
        Some(Lying { rows, places: None, scale: None })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Kernel;

    #[test]
    fn blocks_agree_with_the_definition_for_any_number_of_rows_and_vectors() {
        let kernel = Kernel::gaussian(0.4);
        for (n, m, dim) in [(1, 8, 1), (97, 30, 5), (200, 201, 3)] {
            let x = Matrix::from_fn(n, dim, |i, j| ((i * 7 + j) as f64).sin() + 10.0);
            let z = Matrix::from_fn(m, dim, |i, j| ((i * 5 + j) as f64).cos() + 10.0);
            let centre = vec![10.0; dim];
            let moved: Vec<f64> = z.values().iter().map(|v| v - 10.0).collect();
            let packed = InRegisters::<f64>::new(0.4, &moved, &centre).unwrap();
            let single = Matrix::from_fn(n, dim, |i, j| x.at(i, j) as f32);
            for (points, tolerance) in [(Points::from(x.clone()), 1e-12), (Points::from(single), 1e-5)] {
                let mut out = vec![0.0; n * m];
                assert!(packed.fill(&points, 0..n, 0..m, &mut out, &mut Work::default()));
                for i in 0..n {
                    for j in 0..m {
                        assert!((out[i * m + j] - kernel.eval(x.row(i), z.row(j))).abs() < tolerance);
                    }
                }
            }
            let huge = Points::from(Matrix::from_fn(1, dim, |_, _| 1e200));
            assert!(!packed.fill(&huge, 0..1, 0..m, &mut vec![0.0; m], &mut Work::default()));
        }
        assert!(InRegisters::<f64>::new(0.4, &[0.0; 6], &[0.0; 2]).is_none());
    }

    #[test]
    fn a_vector_far_from_all_others_does_not_spoil_their_values() {
        let kernel = Kernel::gaussian(0.5);
        let z = Matrix::from_fn(12, 2, |i, j| if i == 3 { 1e12 } else { ((i * 5 + j) as f64).cos() });
        assert!(InRegisters::<f64>::new(0.5, z.values(), &[0.0; 2]).is_none());
        let values = crate::kernel::block::block(&kernel, &z.clone().into(), &z.clone().into());
        for i in 0..12 {
            assert!((0..12).all(|j| (values.at(i, j) - kernel.eval(z.row(i), z.row(j))).abs() < 1e-3), "{i} {:?}", values.row(i));
        }
    }

    #[test]
    fn parts_of_the_vectors_are_those_of_the_whole_in_both_precisions() {
        let z = Matrix::from_fn(900, 3, |i, j| ((i * 5 + j) as f64).cos());
        let x = Points::from(Matrix::from_fn(100, 3, |i, j| ((i * 7 + j) as f64).sin()));
        fn check<R: SimdReal>(x: &Points, z: &Matrix) {
            let packed = InRegisters::<R>::new(0.4, z.values(), &[0.0; 3]).unwrap();
            let (mut whole, mut part) = (vec![R::default(); 100 * 900], vec![R::default(); 100 * 500]);
            let mut work = Work::default();
            assert!(packed.fill(x, 0..100, 0..900, &mut whole, &mut work));
            assert!(packed.fill(x, 0..100, ALIGNED..ALIGNED + 500, &mut part, &mut work));
            assert!((0..100).all(|i| part[i * 500..(i + 1) * 500] == whole[i * 900 + ALIGNED..i * 900 + ALIGNED + 500]));
            assert!(!packed.fill(x, 0..100, 7..507, &mut part, &mut work));
        }
        check::<f64>(&x, &z);
        check::<f32>(&x, &z);
    }
}
