//! What the vectors so far leave of the target, as a function to be maximised over one more vector.
use super::target::{Target, radial};
use crate::{
    basis::{
        check_definite,
        field::{Field, GradientSums, Workspace},
    },
    data::Points,
    kernel::Kernel,
    linalg::{Factor, Matrix, dot},
};

/// A new vector nearer to the span than this part of k(z, z), a squared distance, would wreck the factor.
const NEAR: f64 = 1e-10;

/// `Psi - Psi'`, with coefficients of Psi' that are refitted after each vector [Schoelkopf1998 (16)], [Schoelkopf1998 (17)].
pub(super) struct Residual<'a> {
    target: &'a Target,
    factor: Factor,
    /// Vectors so far, row by row.
    vectors: Vec<f64>,
    /// Their frame coordinates of all outputs, row by row.
    coordinates: Vec<f64>,
    /// The vectors as a field, and minus their coefficients.
    own: Option<(Field, Matrix)>,
    residuals: Vec<f64>,
}

/// A residual at several points at once: `p_uk = <Psi_k - Psi'_k, Phi(z_u)>`, and the sums with weights `k'_i (A p)_i`.
pub(super) struct Look {
    /// One row for each point.
    pub p: Matrix,
    pub sums: GradientSums,
}

/// Work space of [`Residual::look`].
#[derive(Default)]
pub(super) struct Eyes {
    target: Workspace,
    own: Workspace,
}

impl<'a> Residual<'a> {
    pub fn new(target: &'a Target) -> Self {
        Residual { target, factor: Factor::default(), vectors: vec![], coordinates: vec![], own: None, residuals: vec![] }
    }

    pub fn target(&self) -> &'a Target {
        self.target
    }

    pub fn kernel(&self) -> &Kernel {
        &self.target.kernel
    }

    /// `sum_k ||Psi_k - Psi'_k||^2`.
    pub fn norm(&self) -> f64 {
        self.residuals.last().copied().unwrap_or(self.target.norm)
    }

    /// Number of vectors.
    pub fn len(&self) -> usize {
        self.residuals.len()
    }

    /// p and its sums at all the points. Cost: 2 s (N + m) d.
    pub fn look(&self, z: &Matrix, eyes: &mut Eyes) -> Look {
        let points: Points = z.clone().into();
        let Target { field, coefficients, .. } = self.target;
        let mut p = field.values_times(&points, coefficients, &mut eyes.target);
        if let Some((own, minus)) = &self.own {
            let part = own.values_times(&points, minus, &mut eyes.own);
            p.values_mut().iter_mut().zip(part.values()).for_each(|(p, o)| *p += o);
        }
        let mut sums = field.gradient_sums(&p, coefficients, &mut eyes.target);
        if let Some((own, minus)) = &self.own {
            let part = own.gradient_sums(&p, minus, &mut eyes.own);
            sums.points.values_mut().iter_mut().zip(part.points.values()).for_each(|(p, o)| *p += o);
            sums.totals.iter_mut().zip(&part.totals).for_each(|(p, o)| *p += o);
        }
        Look { p, sums }
    }

    /// What one more vector takes off the residual before refitting, `|p|^2 / k(z, z)` [Schoelkopf1998 (8)], for each point. The sum
    /// over outputs in `|p|^2` is that of [Schoelkopf1998 (18)].
    pub fn gains(&self, z: &Matrix, p: &Matrix) -> Vec<f64> {
        let profile = self.kernel().profile();
        let own = |z: &[f64]| profile.value(if radial(self.kernel()) { 0.0 } else { dot(z, z) });
        z.iter().zip(p.iter()).map(|(z, p)| gain(dot(p, p), own(z))).collect()
    }

    /// Adds a vector and refits all coefficients; None, and no change, where it lies in the span of those before. Gives the new row of the factor
    /// and the new coordinates.
    pub fn add(&mut self, z: &[f64]) -> Option<(Vec<f64>, Vec<f64>)> {
        let (kernel, dim, q) = (self.kernel(), z.len(), self.target.coefficients.cols());
        debug_assert!(check_definite(kernel).is_ok());
        let own = kernel.eval(z, z);
        let column = self.vectors.chunks_exact(dim.max(1)).map(|v| kernel.eval(v, z)).collect();
        let (mut row, rest) = self.factor.row_for(column, own);
        if rest.is_nan() || rest <= NEAR * own {
            return None;
        }
        let point = Points::from(Matrix::new(z.to_vec(), 1, dim)?);
        let mut y = self.target.field.values_times(&point, &self.target.coefficients, &mut Workspace::default()).into_values();
        for (r, before) in row.iter().zip(self.coordinates.chunks_exact(q)) {
            y.iter_mut().zip(before).for_each(|(y, b)| *y -= r * b);
        }
        y.iter_mut().for_each(|y| *y /= rest.sqrt());
        row.push(rest.sqrt());
        self.factor.push(&row);
        self.residuals.push((self.norm() - dot(&y, &y)).max(0.0));
        self.coordinates.extend_from_slice(&y);
        self.vectors.extend_from_slice(z);
        let mut minus = self.coordinates();
        self.factor.solve_transposed(&mut minus);
        minus.values_mut().iter_mut().for_each(|b| *b = -*b);
        self.own = Some((Field::new(&self.target.kernel, self.vectors()), minus));
        Some((row, y))
    }

    /// The vectors so far.
    pub fn vectors(&self) -> Matrix {
        let dim = self.target.field.points().cols();
        Matrix::new(self.vectors.clone(), self.len(), dim).unwrap_or_default()
    }

    fn coordinates(&self) -> Matrix {
        Matrix::new(self.coordinates.clone(), self.len(), self.target.coefficients.cols()).unwrap_or_default()
    }

    /// The factor, the coordinates and the residuals of all sizes.
    pub fn into_parts(self) -> (Factor, Matrix, Vec<f64>) {
        let coordinates = self.coordinates();
        (self.factor, coordinates, self.residuals)
    }
}

fn gain(square: f64, own: f64) -> f64 {
    if own > 0.0 { square / own } else { 0.0 }
}
