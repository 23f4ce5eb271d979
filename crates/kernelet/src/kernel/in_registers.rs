//! Blocks of Gaussian kernel values between dense rows and dense vectors, with distances and exponentials in vector registers.
use std::ops::Range;

use super::fused::{self, Packed, RowSource, Rows};
use crate::{data::Points, linalg::Matrix};

/// Fewer vectors than this are not worth packing.
const FEWEST: usize = 8;

/// Vectors packed for whole blocks.
#[derive(Debug)]
pub(super) struct InRegisters {
    packed: Packed<f64>,
    len: usize,
}

/// Work space that is reused from block to block.
#[derive(Debug, Default)]
pub(super) struct Work {
    rows: Rows<f64>,
    tile: Vec<f64>,
}

impl InRegisters {
    /// Packs vectors that lie row by row less `centre`. None where they are few, or so large that exponents might overflow.
    pub fn new(gamma: f64, rows: &[f64], centre: &[f64]) -> Option<Self> {
        let dim = centre.len();
        let len = rows.len().checked_div(dim).filter(|&len| len >= FEWEST)?;
        let vectors = Matrix::from_fn(len, dim, |i, j| rows[i * dim + j] + centre[j]);
        Packed::new(gamma, &vectors.into()).map(|packed| InRegisters { packed, len })
    }

    /// Writes the kernel values of rows `rows` of `x` row by row; false, with nothing of use written, where a row is too large for that.
    pub fn fill(&self, x: &Points, rows: Range<usize>, out: &mut [f64], work: &mut Work) -> bool {
        let (packed, len) = (&self.packed, self.len);
        for (first, out) in rows.step_by(fused::ROWS).zip(out.chunks_mut(fused::ROWS * len)) {
            let count = out.len() / len;
            if !packed.take_rows(count, &From(x, first), &mut work.rows) {
                return false;
            }
            for start in (0..packed.lanes()).step_by(packed.tile()) {
                let tile = start..packed.lanes().min(start + packed.tile());
                work.tile.resize(count * tile.len(), 0.0);
                packed.values(tile.clone(), &mut work.rows, &mut work.tile);
                let used = tile.end.min(len) - start;
                for (out, values) in out.chunks_exact_mut(len).zip(work.tile.chunks_exact(tile.len())) {
                    out[start..start + used].copy_from_slice(&values[..used]);
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
            let packed = InRegisters::new(0.4, &moved, &centre).unwrap();
            let single = Matrix::from_fn(n, dim, |i, j| x.at(i, j) as f32);
            for (points, tolerance) in [(Points::from(x.clone()), 1e-12), (Points::from(single), 1e-5)] {
                let mut out = vec![0.0; n * m];
                assert!(packed.fill(&points, 0..n, &mut out, &mut Work::default()));
                for i in 0..n {
                    for j in 0..m {
                        assert!((out[i * m + j] - kernel.eval(x.row(i), z.row(j))).abs() < tolerance);
                    }
                }
            }
            let huge = Points::from(Matrix::from_fn(1, dim, |_, _| 1e200));
            assert!(!packed.fill(&huge, 0..1, &mut vec![0.0; m], &mut Work::default()));
        }
        assert!(InRegisters::new(0.4, &[0.0; 6], &[0.0; 2]).is_none());
    }
}
