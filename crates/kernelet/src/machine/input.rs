//! Rows that are given to a machine, wherever they lie, on their way to its kernel.
use super::evaluator::Work;
use crate::{
    data::{Csr, Points, Scale, map_dense},
    kernel::{
        fused::{DenseRows, Lying, RowSource},
        simd::Ahead,
    },
    linalg::{Matrix, dot},
};

/// Sparse rows of more features than this are not spread out.
pub(super) const MANY_FEATURES: usize = 4096;

/// Input rows, and the scale that is applied to them; its map is left to [`Input::map`].
pub(super) struct Input<'a> {
    pub rows: InputRows<'a>,
    pub scale: Option<&'a Scale>,
}

pub(super) enum InputRows<'a> {
    /// Some rows of points, from the given one on.
    Points(&'a Points, usize),
    /// Some rows of points, in the order given.
    Chosen(&'a Points, &'a [usize]),
    /// One row.
    One(&'a [f64]),
    /// Some rows in memory of the caller, from the given one on.
    Borrowed(DenseRows<'a>, usize),
}

impl RowSource for Input<'_> {
    fn row<'a>(&'a self, i: usize, buffer: &'a mut [f64]) -> (&'a [f64], f64) {
        let dim = buffer.len();
        let mut beyond = 0.0;
        match (&self.rows, self.scale) {
            (InputRows::One(row), None) => return (row, 0.0),
            (InputRows::Borrowed(DenseRows::F64(values), first), None) => return (&values[(first + i) * dim..][..dim], 0.0),
            (InputRows::One(row), Some(_)) => buffer.copy_from_slice(row),
            (InputRows::Borrowed(DenseRows::F64(values), first), Some(_)) => buffer.copy_from_slice(&values[(first + i) * dim..][..dim]),
            (InputRows::Borrowed(DenseRows::F32(values), first), _) => {
                buffer.iter_mut().zip(&values[(first + i) * dim..][..dim]).for_each(|(to, &from)| *to = f64::from(from));
            }
            (InputRows::Points(points, _) | InputRows::Chosen(points, _), scale) => {
                let place = self.place(i);
                match (points, scale) {
                    (Points::F64(matrix), None) => return (&matrix.row(place)[..dim], 0.0),
                    (Points::Sparse(rows), None) => {
                        let (columns, values) = rows.row(place);
                        let known = columns.partition_point(|&c| (c as usize) < dim);
                        beyond = dot(&values[known..], &values[known..]);
                    }
                    _ => {}
                }
                points.copy_rows(place..place + 1, dim, buffer);
            }
        }
        if let Some(scale) = self.scale {
            scale.scale_row(buffer);
        }
        (buffer, beyond)
    }

    fn lying(&self, dim: usize) -> Option<Lying<'_>> {
        let scale = self.scale;
        let (rows, places) = match self.rows {
            InputRows::One(row) => (DenseRows::F64(row), None),
            InputRows::Points(points, first) => (dense(points, first * dim)?, None),
            InputRows::Chosen(points, places) => (dense(points, 0)?, Some(places)),
            InputRows::Borrowed(DenseRows::F64(values), first) => (DenseRows::F64(&values[first * dim..]), None),
            InputRows::Borrowed(DenseRows::F32(values), first) => (DenseRows::F32(&values[first * dim..]), None),
        };
        Some(Lying { rows, places, scale })
    }

    fn ahead(&self, count: usize, dim: usize) -> Ahead {
        match self.lying(dim) {
            Some(Lying { rows: DenseRows::F64(values), places: None, .. }) => Ahead::of(values.get(count * dim..).unwrap_or_default()),
            Some(Lying { rows: DenseRows::F32(values), places: None, .. }) => Ahead::of(values.get(count * dim..).unwrap_or_default()),
            _ => Ahead::default(),
        }
    }
}

/// Rows of points as they lie in memory, from one of their numbers on; none where they are sparse.
fn dense(points: &Points, from: usize) -> Option<DenseRows<'_>> {
    match points {
        Points::F64(matrix) => Some(DenseRows::F64(&matrix.values()[from..])),
        Points::F32(matrix) => Some(DenseRows::F32(&matrix.values()[from..])),
        Points::Sparse(_) => None,
    }
}

impl Input<'_> {
    /// The place of row `i` among the points.
    fn place(&self, i: usize) -> usize {
        match self.rows {
            InputRows::Points(_, first) | InputRows::Borrowed(_, first) => first + i,
            InputRows::Chosen(_, places) => places[i],
            InputRows::One(_) => 0,
        }
    }

    /// The sparse points that rows are of.
    fn sparse(&self) -> Option<&Csr> {
        match self.rows {
            InputRows::Points(Points::Sparse(rows), _) | InputRows::Chosen(Points::Sparse(rows), _) => Some(rows),
            _ => None,
        }
    }

    /// Runs with rows as the kernel sees them but for factors and shifts: those of a machine with a linear map are mapped first.
    pub fn mapped<T>(&self, count: usize, work: &mut Work, run: impl FnOnce(&Input, &mut Work) -> T) -> T {
        let Some(map) = self.scale.and_then(|scale| scale.map.as_ref()) else { return run(self, work) };
        let mut mapped = std::mem::take(&mut work.mapped);
        self.map(map, count, &mut mapped);
        let made = run(&Input { rows: InputRows::Borrowed(DenseRows::F64(&mapped.out), 0), scale: None }, work);
        work.mapped = mapped;
        made
    }

    /// `count` rows through the scale and its map, one after another in `mapped.out`.
    pub fn map(&self, map: &Matrix, count: usize, mapped: &mut Mapped) {
        let Mapped { rows, out } = mapped;
        out.resize(count * map.rows(), 0.0);
        if let (InputRows::Points(Points::Sparse(sparse), first), Some(scale @ Scale { shift: None, .. })) = (&self.rows, self.scale) {
            return scale.map_sparse(map, sparse, *first..first + count, out);
        }
        rows.resize(count * map.cols(), 0.0);
        // Rows that are scaled are written to the buffer.
        for (i, row) in rows.chunks_exact_mut(map.cols().max(1)).enumerate() {
            self.row(i, row);
        }
        map_dense(map, rows, out);
    }

    /// `count` rows scaled, as points: sparse where they can be, else in the memory of `spare`.
    pub fn points(&self, count: usize, dim: usize, spare: &mut Spare) -> Points {
        let keeps_zero = self.scale.is_none_or(|scale| scale.shift.is_none());
        if let (Some(rows), true) = (self.sparse(), keeps_zero) {
            let chosen: Vec<usize> = (0..count).map(|i| self.place(i)).collect();
            let rows = rows.select(&chosen);
            return match self.scale {
                None => rows.into(),
                Some(scale) => rows.mapped(|j, v| scale.factor.get(j).map_or(0.0, |factor| v * factor)).into(),
            };
        }
        let mut dense = std::mem::take(&mut spare.rows);
        dense.resize(count * dim, 0.0);
        spare.row.resize(dim, 0.0);
        for (i, to) in (0..count).zip(dense.chunks_exact_mut(dim.max(1))) {
            to.copy_from_slice(self.row(i, &mut spare.row).0);
        }
        Matrix::new(dense, count, dim).unwrap_or_default().into()
    }

    /// True for sparse rows of so many features that they are not spread out.
    pub fn is_wide_and_sparse(&self, dim: usize) -> bool {
        self.sparse().is_some() && dim > MANY_FEATURES
    }
}

/// Rows on their way through a linear map: scaled, and as the kernel sees them.
#[derive(Debug, Default)]
pub(super) struct Mapped {
    rows: Vec<f64>,
    pub out: Vec<f64>,
}

/// Buffers for the rows of a kernel block.
#[derive(Debug, Default)]
pub(super) struct Spare {
    pub rows: Vec<f64>,
    row: Vec<f64>,
}
