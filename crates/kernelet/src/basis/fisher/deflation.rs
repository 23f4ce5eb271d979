//! What is taken off a kernel matrix once a vector is chosen, and the matrix that is left.
//!
//! With t the chosen column of the deflated matrix, divided by its length:
//!
//! ```text
//! hotelling    K - t t'K t t'                 [Diethe2015 (15)]
//! projection   (I - t t') K                   [Diethe2015 (16)]
//! schur        K - K t t'K / (t'K t)          [Diethe2015 (17)]
//! ortho-..     the same with q in place of t: t less its part in the span of the earlier q, divided by its length; for
//!              hotelling [Diethe2015 (18)], for schur [Diethe2015 (19)]
//! ```
//!
//! All are K less products `u w'` of two vectors: the deflated matrix is K with two n x k factors, for projections with one, and is
//! never written. (18) prints Q transposed; the q must be its columns. Two of the pairs are one method: columns of a projected matrix are
//! orthogonal to the earlier t, and so are those of Schur complements, which are zero on them; `q = t` for both.
//! Cost of a column: n (d + k), of a deflation: K times a vector.
use crate::Named;
use crate::parallel::*;

use super::super::kernel_rows::KernelRows;
use crate::{
    linalg::{Matrix, Product, Real, dot, product_transposed},
    watch::Watch,
};

/// Columns shorter than this part of what they were count as zero: the entries of K have seven digits.
pub(super) const EXHAUSTED: f64 = 1e-6;

/// How a chosen vector is taken off the kernel matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Deflation {
    /// Not at all.
    None,
    /// As if the column were an eigenvector.
    Hotelling,
    /// Columns lose their part along it.
    #[default]
    Projection,
    /// The Schur complement.
    Schur,
    /// Hotelling, after the columns are made orthogonal to one another.
    OrthoHotelling,
    /// Projection, likewise: the same as without.
    OrthoProjection,
    /// The Schur complement, likewise: the same as without.
    OrthoSchur,
}

impl Named for Deflation {
    const NAMES: &'static [(&'static str, Self)] = &[
        ("none", Deflation::None),
        ("hotelling", Deflation::Hotelling),
        ("projection", Deflation::Projection),
        ("schur", Deflation::Schur),
        ("ortho-hotelling", Deflation::OrthoHotelling),
        ("ortho-projection", Deflation::OrthoProjection),
        ("ortho-schur", Deflation::OrthoSchur),
    ];
}

impl Deflation {
    pub(super) fn is_projection(self) -> bool {
        matches!(self, Deflation::Projection | Deflation::OrthoProjection)
    }

    pub(super) fn is_orthogonal(self) -> bool {
        matches!(self, Deflation::OrthoHotelling | Deflation::OrthoProjection | Deflation::OrthoSchur)
    }
}

/// K less the product `u w'` of two vectors.
pub(super) struct Step {
    pub u: Vec<f64>,
    /// Empty where the caller does not need it and the factor has no place for it.
    pub w: Vec<f64>,
}

/// A kernel matrix from which chosen vectors were taken off: `K - sum u w'`, for projections `(I - sum u u') K`.
pub(super) struct Deflated<'a> {
    rows: &'a KernelRows<'a>,
    deflation: Deflation,
    /// The vectors u, one after the other.
    left: Vec<f64>,
    /// The vectors w; none for projections.
    right: Vec<f64>,
    /// The vectors q of (18), where they are not u.
    units: Vec<f64>,
}

impl<'a> Deflated<'a> {
    /// K itself.
    pub fn new(rows: &'a KernelRows<'a>, deflation: Deflation) -> Self {
        Deflated { rows, deflation, left: vec![], right: vec![], units: vec![] }
    }

    /// Columns of K as they were, one row for each of `which`.
    pub fn originals(&self, which: &[usize], watch: &Watch) -> Matrix {
        self.rows.rows(which, watch)
    }

    /// What is left of columns of K.
    pub fn deflate(&self, which: &[usize], columns: &mut Matrix) {
        const PART: usize = 8;
        let n = self.rows.len();
        let count = self.left.len() / n.max(1);
        if count == 0 {
            return;
        }
        columns.values_mut().par_chunks_mut(PART * n).zip(which.par_chunks(PART)).for_each(|(columns, which)| {
            let mut parts = vec![0.0; which.len() * count];
            if self.deflation.is_projection() {
                product_transposed(columns, &self.left, n, &mut parts);
            } else {
                let places = which.iter().flat_map(|&i| (0..count).map(move |s| s * n + i));
                parts.iter_mut().zip(places).for_each(|(part, place)| *part = self.right[place]);
            }
            parts.iter_mut().for_each(|part| *part = -*part);
            f64::add_product(Product { a: &parts, stride: count, inner: count, b: &self.left, cols: n }, columns);
        });
    }

    /// Column i of the deflated matrix, divided by its length; None where it is numerically zero.
    pub fn direction(&self, i: usize, watch: &Watch) -> Option<Vec<f64>> {
        let mut column = self.originals(&[i], watch);
        let length = norm(column.values());
        self.deflate(&[i], &mut column);
        if self.deflation.is_projection() {
            // Once more against what rounding has left.
            self.deflate(&[i], &mut column);
        }
        unit(column.into_values(), length)
    }

    /// K'x for the deflated matrix K; all but the projected ones are symmetric.
    pub fn transposed_times(&self, x: &[f64], watch: &Watch) -> Vec<f64> {
        let mut x = x.to_vec();
        if self.deflation.is_projection() {
            without(&mut x, &self.left);
            return self.rows.times(&[&x], watch).swap_remove(0);
        }
        let mut product = self.rows.times(&[&x], watch).swap_remove(0);
        let n = x.len().max(1);
        for (u, w) in self.left.chunks_exact(n).zip(self.right.chunks_exact(n)) {
            let part = dot(u, &x);
            product.iter_mut().zip(w).for_each(|(p, w)| *p -= part * w);
        }
        product
    }

    /// What taking off the direction t subtracts; None where nothing would be left to divide by. `lazy`: a projection is asked for u alone,
    /// which costs no product with K.
    pub fn step(&self, t: &[f64], lazy: bool, watch: &Watch) -> Option<Step> {
        let q = self.orthogonal(t)?;
        if self.deflation.is_projection() {
            let w = if lazy { vec![] } else { self.transposed_times(&q, watch) };
            return Some(Step { u: q, w });
        }
        let mut product = self.transposed_times(&q, watch);
        let middle = dot(&q, &product);
        match self.deflation {
            Deflation::Hotelling | Deflation::OrthoHotelling => Some(Step { u: q.iter().map(|q| middle * q).collect(), w: q }),
            _ if middle <= EXHAUSTED * EXHAUSTED * norm(&product) => None,
            _ => {
                let root = middle.sqrt();
                product.iter_mut().for_each(|p| *p /= root);
                Some(Step { u: product.clone(), w: product })
            }
        }
    }

    /// The q of [Diethe2015 (18)], which [Diethe2015 (19)] takes from there.
    fn orthogonal(&self, t: &[f64]) -> Option<Vec<f64>> {
        let mut t = t.to_vec();
        match self.deflation {
            Deflation::OrthoProjection => without(&mut t, &self.left),
            Deflation::OrthoHotelling | Deflation::OrthoSchur => {
                without(&mut t, &self.units);
                without(&mut t, &self.units);
            }
            _ => return Some(t),
        }
        unit(t, 1.0)
    }

    /// Takes the step that `step` found for the direction t.
    pub fn take(&mut self, t: &[f64], step: Step) {
        if self.deflation.is_orthogonal() && !self.deflation.is_projection() {
            self.units.extend(self.orthogonal(t).unwrap_or_default());
        }
        self.left.extend(step.u);
        if !self.deflation.is_projection() {
            self.right.extend(step.w);
        }
    }
}

/// Takes the parts along orthonormal vectors off.
fn without(x: &mut [f64], units: &[f64]) {
    for q in units.chunks_exact(x.len().max(1)) {
        let part = dot(q, x);
        x.iter_mut().zip(q).for_each(|(x, q)| *x -= part * q);
    }
}

/// x divided by its length; None where that is no more than rounding beside `size`.
fn unit(mut x: Vec<f64>, size: f64) -> Option<Vec<f64>> {
    let length = norm(&x);
    if length.is_nan() || length <= EXHAUSTED * size {
        return None;
    }
    x.iter_mut().for_each(|x| *x /= length);
    Some(x)
}

fn norm(x: &[f64]) -> f64 {
    dot(x, x).sqrt()
}
