//! The coordinates of all rows in a frame: held where they fit into memory, else computed again, block by block, whenever they are read.
use std::{borrow::Cow, ops::Range};

use crate::parallel::*;

use crate::{
    basis::Frame,
    data::Points,
    kernel::{
        block::{CHUNK, Scratch},
        few_columns::FewColumns,
    },
    linalg::{Matrix, add_transposed_product},
};

/// The coordinates `c(x_i)` of rows in a frame.
pub(crate) struct Coordinates<'a> {
    frame: &'a Frame,
    points: &'a Points,
    /// Kernel values in single precision, where kernel and points allow it; everything else is in double precision.
    single: bool,
    held: Option<Cow<'a, Matrix>>,
}

/// Work space of one thread.
#[derive(Default)]
pub(crate) struct Work {
    values: Vec<f64>,
    single: Vec<f32>,
    scratch: Scratch,
}

/// The coordinates of the rows of a chunk.
pub(crate) struct Chunk<'a> {
    rows: &'a [f64],
    m: usize,
}

impl Chunk<'_> {
    /// `out = V W + b`, with the offsets below the weights.
    pub fn times(&self, weights: &FewColumns, out: &mut [f64]) {
        weights.of_rows(self.rows, out);
    }

    /// `(V, 1)'S` ((m + 1) x q).
    pub fn transposed_times(&self, s: &[f64], q: usize) -> Matrix {
        let mut sum: Matrix = Matrix::zeros(self.m + 1, q);
        let (inner, last) = sum.values_mut().split_at_mut(self.m * q);
        add_transposed_product(self.rows, self.m, s, q, inner);
        s.chunks_exact(q).for_each(|s| last.iter_mut().zip(s).for_each(|(sum, s)| *sum += s));
        sum
    }
}

/// Bytes that the coordinates of n rows on m vectors take.
pub(crate) fn bytes(n: usize, m: usize) -> usize {
    n.saturating_mul(m).saturating_mul(size_of::<f64>())
}

impl<'a> Coordinates<'a> {
    /// The coordinates of `points`, which are held where that takes no more than `memory` bytes.
    #[cfg(test)]
    pub fn new(frame: &'a Frame, points: &'a Points, memory: usize) -> Self {
        Coordinates::within(frame, points, memory, false, vec![])
    }

    /// The same, with kernel values in single precision or not, and a buffer for the coordinates that are held.
    pub fn within(frame: &'a Frame, points: &'a Points, memory: usize, single: bool, mut buffer: Vec<f64>) -> Self {
        let (n, m) = (points.len(), frame.len());
        let mut coordinates = Coordinates { frame, points, single, held: None };
        if bytes(n, m) <= memory {
            buffer.resize(n * m, 0.0);
            buffer.par_chunks_mut(CHUNK * m.max(1)).enumerate().for_each_init(Work::default, |work, (c, out)| {
                let first = c * CHUNK;
                coordinates.fill(points, first..first + out.len() / m, out, work);
            });
            coordinates.held = Matrix::new(buffer, n, m).map(Cow::Owned);
        }
        coordinates
    }

    /// Coordinates that are known.
    pub fn given(frame: &'a Frame, points: &'a Points, held: &'a Matrix) -> Self {
        Coordinates { frame, points, single: false, held: Some(Cow::Borrowed(held)) }
    }

    /// The buffer of the coordinates that were held.
    pub fn into_buffer(self) -> Vec<f64> {
        self.held.map(|held| held.into_owned().into_values()).unwrap_or_default()
    }

    /// Computes those of some rows of `points`. One thread.
    fn fill(&self, points: &Points, rows: Range<usize>, out: &mut [f64], work: &mut Work) {
        let columns = self.frame.columns();
        if self.single {
            work.single.resize(out.len(), 0.0);
        }
        match self.single && columns.fill_single(points, rows.clone(), 0..self.cols(), &mut work.single, &mut work.scratch) {
            true => out.iter_mut().zip(&work.single).for_each(|(out, v)| *out = f64::from(*v)),
            false => columns.fill(points, rows, out, &mut work.scratch),
        }
        self.frame.lower().solve_rows(out);
    }

    pub fn rows(&self) -> usize {
        self.points.len()
    }

    pub fn cols(&self) -> usize {
        self.frame.len()
    }

    /// All of them where they are held.
    pub fn held(&self) -> Option<&Matrix> {
        self.held.as_deref()
    }

    /// All of them, for solvers that need them at once.
    pub fn whole(&self) -> Cow<'_, Matrix> {
        self.held.as_deref().map_or_else(|| Cow::Owned(self.frame.coordinates(self.points)), Cow::Borrowed)
    }

    /// Those of a block of rows. One thread.
    pub fn block<'b>(&'b self, rows: Range<usize>, work: &'b mut Work) -> &'b [f64] {
        let m = self.cols();
        if let Some(held) = &self.held {
            return &held.values()[rows.start * m..rows.end * m];
        }
        let mut values = std::mem::take(&mut work.values);
        values.resize(rows.len() * m, 0.0);
        self.fill(self.points, rows, &mut values, work);
        work.values = values;
        &work.values
    }

    /// Those of the first `count` rows of a chunk. One thread.
    pub fn chunk<'b>(&'b self, number: usize, count: usize, work: &'b mut Work) -> Chunk<'b> {
        Chunk { rows: self.block(number * CHUNK..number * CHUNK + count, work), m: self.cols() }
    }

    /// Those of chosen rows, one after another, each handed to `take` with its place in `rows`. One thread.
    pub fn chosen(&self, rows: &[usize], work: &mut Work, mut take: impl FnMut(usize, &[f64])) {
        let m = self.cols().max(1);
        if let Some(held) = &self.held {
            return rows.iter().enumerate().for_each(|(place, &i)| take(place, held.row(i)));
        }
        let mut values = std::mem::take(&mut work.values);
        values.resize(rows.len() * m, 0.0);
        self.fill(&self.points.select(rows), 0..rows.len(), &mut values, work);
        work.values = values;
        work.values.chunks_exact(m).enumerate().for_each(|(place, row)| take(place, row));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{basis::JITTER, data::banana, kernel::Kernel};

    #[test]
    fn held_or_not_they_are_the_same() {
        let points = banana(700, 1).points;
        let frame = Frame::fixed(&Kernel::gaussian(1.0), &points.select(&(0..9).collect::<Vec<_>>()), JITTER).unwrap();
        let (held, not) = (Coordinates::new(&frame, &points, usize::MAX), Coordinates::new(&frame, &points, 0));
        assert!(held.held().is_some() && not.held().is_none());
        let close = |a: &[f64], b: &[f64]| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-10);
        assert!(close(not.whole().values(), held.whole().values()));
        assert!(close(not.block(300..555, &mut Work::default()), held.block(300..555, &mut Work::default())));
        let mut seen = vec![];
        not.chosen(&[5, 699, 0], &mut Work::default(), |_, row| seen.extend_from_slice(row));
        let mut place = 0;
        held.chosen(&[5, 699, 0], &mut Work::default(), |at, row| {
            assert!(at == place && close(row, &seen[9 * at..9 * at + 9]));
            place += 1;
        });
        assert_eq!(place, 3);
    }
}
