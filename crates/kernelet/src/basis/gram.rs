//! Where inner products of candidates come from.
use crate::parallel::*;

use crate::{
    data::Points,
    kernel::{
        Kernel,
        block::{Columns, Scratch, diagonal},
    },
    linalg::Matrix,
};

/// Candidates that one thread works on at a time.
pub(crate) const CHUNK: usize = 2048;

/// The inner products of n candidates with each other, a column at a time: nothing of size n x n is needed.
pub(crate) enum Gram<'a> {
    /// Kernel values of points.
    Kernel { kernel: Kernel, points: &'a Points, columns: Box<Columns> },
    /// A symmetric matrix.
    Matrix(Matrix),
}

impl<'a> Gram<'a> {
    pub fn of(kernel: &Kernel, points: &'a Points) -> Self {
        Gram::Kernel { kernel: kernel.clone(), points, columns: Box::new(Columns::new(kernel, points)) }
    }

    pub fn len(&self) -> usize {
        match self {
            Gram::Kernel { points, .. } => points.len(),
            Gram::Matrix(matrix) => matrix.rows(),
        }
    }

    pub fn diagonal(&self) -> Vec<f64> {
        match self {
            Gram::Kernel { kernel, points, .. } => diagonal(kernel, points),
            Gram::Matrix(matrix) => (0..matrix.rows()).map(|i| matrix.at(i, i)).collect(),
        }
    }

    /// Writes column `i`. Cost: n d.
    pub fn column(&self, i: usize, out: &mut [f64]) {
        match self {
            Gram::Matrix(matrix) => out.copy_from_slice(matrix.row(i)),
            Gram::Kernel { points, columns, .. } => {
                out.par_chunks_mut(CHUNK).enumerate().for_each_init(Scratch::default, |scratch, (c, out)| {
                    let first = c * CHUNK;
                    columns.fill_part(points, i..i + 1, first..first + out.len(), out, scratch);
                });
            }
        }
    }
}
