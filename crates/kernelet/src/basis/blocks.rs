//! A basis grown out of points by several at a time, in matrix products.
//!
//! The coordinates G of all points are held row by row. For new vectors with known coordinates `G_s` and the factor T of what their
//! kernel matrix has beyond the span, the new coordinates of all points are `(K[:, s] - G G_s') T^-T`, and each squared distance
//! from the span falls by the squares of its new coordinates. One vector at a time this is limited by memory, which G is read
//! from for each vector; s at a time it is read once for s.
//!
//! Cost of m vectors among n points: n m (d + m) time, n m numbers.
use crate::parallel::*;

use super::{Basis, DEPENDENT, growth::Known};
use crate::{
    data::Points,
    kernel::{
        Kernel,
        block::{Columns, Scratch, diagonal, symmetric},
    },
    linalg::{Factor, Lower, Matrix, Product, Real, dot},
    watch::Status,
};

/// Rows of one unit of work.
const CHUNK: usize = 512;

/// The basis so far.
pub(super) struct Blocks<'a> {
    kernel: &'a Kernel,
    points: &'a Points,
    /// n rows of `most` numbers, of which the first are filled.
    coordinates: Matrix,
    squares: Vec<f64>,
    gaps: Vec<f64>,
    chosen: Vec<usize>,
}

impl<'a> Blocks<'a> {
    /// An empty basis with capacity for `most` vectors among these points.
    pub fn new(kernel: &'a Kernel, points: &'a Points, most: usize) -> Self {
        let squares = diagonal(kernel, points);
        Blocks { kernel, points, coordinates: Matrix::zeros(points.len(), most), gaps: squares.clone(), squares, chosen: vec![] }
    }

    /// The capacity in vectors.
    pub fn most(&self) -> usize {
        self.coordinates.cols()
    }

    /// The points chosen, in order.
    pub fn chosen(&self) -> &[usize] {
        &self.chosen
    }

    /// The squared distance of each point from the span.
    pub fn gaps(&self) -> &[f64] {
        &self.gaps
    }

    /// True for points that lie in the span to working precision; choosing them would wreck the factor.
    pub fn is_dependent(&self, point: usize, gap: f64) -> bool {
        gap <= DEPENDENT * self.squares[point]
    }

    /// The coordinates of a point.
    pub fn coordinates_of(&self, point: usize) -> &[f64] {
        &self.coordinates.row(point)[..self.chosen.len()]
    }

    /// What is known of some points: their coordinates and their squared distances from the span.
    pub fn known(&self, some: &[usize]) -> Known {
        let m = self.chosen.len();
        let mut coordinates = Vec::with_capacity(some.len() * m);
        some.iter().for_each(|&i| coordinates.extend_from_slice(self.coordinates_of(i)));
        let gaps = some.iter().map(|&i| self.gaps[i]).collect();
        Known { coordinates: Matrix::new(coordinates, some.len(), m).unwrap_or_default(), gaps }
    }

    /// What the kernel matrix of some points has beyond the span; the lower triangle counts.
    pub fn beyond(&self, some: &[usize]) -> Matrix {
        let mut rest = symmetric(self.kernel, &self.points.select(some));
        for i in 0..some.len() {
            for j in 0..=i {
                rest.row_mut(i)[j] -= dot(self.coordinates_of(some[i]), self.coordinates_of(some[j]));
            }
        }
        rest
    }

    /// Adds vectors; `factor` is that of what their kernel matrix has beyond the span.
    pub fn add(&mut self, kept: &[usize], factor: &Factor) {
        let (m, s, most) = (self.chosen.len(), kept.len(), self.most());
        if s == 0 {
            return;
        }
        let lower = factor.to_lower(s);
        let columns = Columns::new(self.kernel, &self.points.select(kept));
        // Minus the known coordinates of the new vectors, one column for each.
        let minus = Matrix::from_fn(m, s, |i, j| -self.coordinates.row(kept[j])[i]);
        let (points, minus) = (self.points, minus.values());
        let chunks = self.coordinates.values_mut().par_chunks_mut(CHUNK * most).zip(self.gaps.par_chunks_mut(CHUNK)).enumerate();
        chunks.for_each_init(
            || (Scratch::default(), vec![]),
            |(scratch, values), (c, (coordinates, gaps))| {
                values.resize(gaps.len() * s, 0.0);
                columns.fill(points, c * CHUNK..c * CHUNK + gaps.len(), values, scratch);
                f64::add_product(Product { a: coordinates, stride: most, inner: m, b: minus, cols: s }, values);
                lower.solve_rows(values);
                for ((row, new), gap) in coordinates.chunks_exact_mut(most).zip(values.chunks_exact(s)).zip(gaps) {
                    row[m..m + s].copy_from_slice(new);
                    *gap = (*gap - dot(new, new)).max(0.0);
                }
            },
        );
        // A vector has no coordinates along those kept after it; rounding would leave some.
        for (j, &point) in kept.iter().enumerate() {
            let row = self.coordinates.row_mut(point);
            row[m..m + s].fill(0.0);
            row[m..=m + j].copy_from_slice(&lower.matrix().row(j)[..=j]);
            self.gaps[point] = 0.0;
        }
        self.chosen.extend_from_slice(kept);
    }

    /// The chosen points as a basis.
    pub fn finish(self, status: Status) -> Basis {
        let (m, most) = (self.chosen.len(), self.most());
        let lower = Matrix::from_fn(m, m, |i, j| if j <= i { self.coordinates.row(self.chosen[i])[j] } else { 0.0 });
        let mut values = self.coordinates.into_values();
        if m < most {
            for i in 0..self.points.len() {
                values.copy_within(i * most..i * most + m, i * m);
            }
            values.truncate(self.points.len() * m);
        }
        let coordinates = Matrix::new(values, self.points.len(), m).unwrap_or_default();
        Basis::of_points(self.kernel, self.points, self.chosen, Lower::new(lower), coordinates, status)
    }
}
