//! The gradient of W: sums over the rows, whose number is what it costs.
use crate::parallel::*;

use super::{
    coordinates::{Coordinates, Work},
    inner::Solution,
    metric::{RowSums, Transform},
    objective::{Objective, Variables},
};
use crate::{
    basis::{
        Frame,
        field::{Field, Workspace, add_gradient},
    },
    data::Points,
    kernel::{Kernel, block::Scratch},
    linalg::{Matrix, product_transposed},
};

/// Parts into which the rows with a derivative are cut, whatever the number of threads.
const PARTS: usize = 16;

/// Rows of a part that are worked on at a time.
const ROWS: usize = 256;

/// Rows and vectors as the kernel sees them, at one place of the search.
pub(super) struct Rows<'a, 'b> {
    pub objective: &'a Objective<'b>,
    pub transform: &'a Transform,
    pub points: &'a Points,
    pub hats: &'a Matrix,
    pub frame: &'a Frame,
    pub coordinates: &'a Coordinates<'a>,
}

impl Rows<'_, '_> {
    /// The derivatives of K^zx and of K^z, with the coefficients [Wu2006 (45)] and what the rows contribute held fixed [Wu2006 (46)], carried
    /// over to vectors in the units of rows and to the metric.
    pub fn add_gradient(&self, at: &Variables, solution: &Solution, coefficients: &Matrix, gradient: &mut [f64]) {
        let (kernel, hats) = (self.objective.kernel, self.hats);
        let sums = self.sums(solution, coefficients);
        let mut by_hats = Matrix::zeros(hats.rows(), hats.cols());
        add_gradient(kernel, hats.values(), &sums.vectors, -1.0, by_hats.values_mut());
        add_own_gradient(kernel, hats, coefficients, &solution.norms, by_hats.values_mut());
        self.transform.chain(self.objective.metric, &at.z, hats, &by_hats, (&sums, -1.0), gradient);
    }

    fn sums(&self, solution: &Solution, coefficients: &Matrix) -> RowSums {
        let m = self.frame.len();
        let negative_gradient = &solution.negative_gradient;
        let active: Vec<usize> = (0..negative_gradient.rows()).filter(|&i| negative_gradient.row(i).iter().any(|s| *s != 0.0)).collect();
        let nothing = || RowSums::nothing(self.transform, self.objective.kernel.profile().argument(), m, self.points.dim());
        let part = |p: usize| {
            let size = active.len().div_ceil(PARTS);
            let used = &active[(p * size).min(active.len())..((p + 1) * size).min(active.len())];
            let (mut sums, mut buffers) = (nothing(), Buffers::default());
            for rows in used.chunks(ROWS) {
                buffers.weights.resize(rows.len() * m, 0.0);
                product_transposed(
                    negative_gradient.select(rows).values(),
                    coefficients.values(),
                    coefficients.cols(),
                    &mut buffers.weights,
                );
                self.add_rows(rows, &mut sums, &mut buffers);
            }
            sums
        };
        let parts: Vec<RowSums> = (0..PARTS).into_par_iter().map(part).collect();
        let mut sums = nothing();
        parts.iter().for_each(|part| sums.add(part));
        sums
    }

    /// Adds the part of some rows, whose derivatives by kernel values are in the buffers.
    fn add_rows(&self, rows: &[usize], sums: &mut RowSums, buffers: &mut Buffers) {
        let single = self.objective.single && !matches!(self.transform, Transform::Map(_));
        if single && self.slopes_of_held(rows, buffers) {
            buffers.weights.iter_mut().zip(&buffers.slopes).for_each(|(w, s)| *w *= s);
            copy_rows(self.points, rows, &mut buffers.single);
            sums.vectors.add_rows_single(&buffers.weights, &buffers.single, &mut buffers.summed);
            sums.add_squares(&buffers.weights, &buffers.single);
            return;
        }
        let x = self.slopes(rows, rows_of(self.points, rows), buffers);
        buffers.weights.iter_mut().zip(&buffers.slopes).for_each(|(w, s)| *w *= s);
        sums.vectors.add_rows(&buffers.weights, x.values());
        sums.add_squares(&buffers.weights, x.values());
        if matches!(self.transform, Transform::Map(_)) {
            sums.add_map(&buffers.weights, rows_of(self.objective.points, rows).values(), x.values(), self.hats);
        }
    }

    /// k' between rows and vectors, into the buffers, where that is faster: for the Gaussian `k_z(x) = L c(x)` times -gamma. False where not.
    fn slopes_of_held(&self, rows: &[usize], buffers: &mut Buffers) -> bool {
        let (m, frame, coordinates) = (self.frame.len(), self.frame, self.coordinates);
        let (Kernel::Gaussian(gaussian), Some(_), true) = (self.objective.kernel, coordinates.held(), m < 2 * self.points.dim()) else {
            return false;
        };
        buffers.slopes.resize(rows.len() * m, 0.0);
        buffers.held.resize(rows.len() * m, 0.0);
        let held = &mut buffers.held;
        coordinates.chosen(rows, &mut buffers.work, |place, v| held[place * m..(place + 1) * m].copy_from_slice(v));
        product_transposed(held, frame.lower().matrix().values(), m, &mut buffers.slopes);
        buffers.slopes.iter_mut().for_each(|s| *s *= -gaussian.gamma);
        true
    }

    /// k' between rows and vectors, into the buffers.
    fn slopes(&self, rows: &[usize], x: Matrix, buffers: &mut Buffers) -> Matrix {
        if self.slopes_of_held(rows, buffers) {
            return x;
        }
        let frame = self.frame;
        buffers.slopes.resize(rows.len() * frame.len(), 0.0);
        let points: Points = x.into();
        match self.objective.kernel {
            Kernel::Gaussian(gaussian) => {
                frame.columns().fill(&points, 0..rows.len(), &mut buffers.slopes, &mut buffers.scratch);
                buffers.slopes.iter_mut().for_each(|s| *s *= -gaussian.gamma);
            }
            _ => frame.columns().fill_slopes(&points, 0..rows.len(), &mut buffers.slopes, &mut buffers.scratch),
        }
        match points {
            Points::F64(x) => x,
            other => other.to_dense(),
        }
    }
}

/// Adds the derivatives of `1/2 sum_k norms_k b_k' K^z b_k` by the vectors, with the coefficients held fixed.
pub(crate) fn add_own_gradient(kernel: &Kernel, vectors: &Matrix, coefficients: &Matrix, norms: &[f64], out: &mut [f64]) {
    let (m, q) = (coefficients.rows(), coefficients.cols());
    let mut own = Workspace::default();
    let field = Field::new(kernel, vectors.clone());
    field.values_times(&vectors.clone().into(), &Matrix::zeros(m, 0), &mut own);
    let weighted = Matrix::from_fn(m, q, |j, k| norms[k] * coefficients.at(j, k));
    add_gradient(kernel, vectors.values(), &field.gradient_sums(&weighted, coefficients, &mut own), 1.0, out);
}

/// Buffers that are reused from block to block.
#[derive(Default)]
struct Buffers {
    weights: Vec<f64>,
    slopes: Vec<f64>,
    held: Vec<f64>,
    /// Rows, and their sums, in single precision.
    single: Vec<f32>,
    summed: [Vec<f32>; 2],
    scratch: Scratch,
    work: Work,
}

fn copy_rows(points: &Points, rows: &[usize], out: &mut Vec<f32>) {
    let dim = points.dim();
    out.resize(rows.len() * dim, 0.0);
    rows.iter().zip(out.chunks_exact_mut(dim.max(1))).for_each(|(&i, out)| points.copy_rows(i..i + 1, dim, out));
}

fn rows_of(points: &Points, rows: &[usize]) -> Matrix {
    let mut x = Matrix::zeros(rows.len(), points.dim());
    rows.iter().enumerate().for_each(|(k, &i)| points.copy_rows(i..i + 1, points.dim(), x.row_mut(k)));
    x
}
