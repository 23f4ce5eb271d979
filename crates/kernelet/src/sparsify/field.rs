//! Kernel values between moving points and fixed ones, and what pulls the moving points.
//!
//! For moving points Z (m x d), fixed points X (N x d) and weights M_ui, the gradient of `sum_ui c_ui k(z_u, x_i)` needs
//! `M X` and `M 1` alone, with `M_ui = c_ui k'(u_ui)`: twice `diag(M1) Z - M X` where the kernel is a function of |z - x|^2, and `M X`
//! where it is one of z.x. Everything is therefore two matrix products, one for the values and one for the pull.
//!
//! Cost: 2 m N d, plus m N kernel values; memory 2 m N numbers. Work is cut into tiles whose partial sums are added in a fixed order,
//! so any number of threads gives the same bits.
use std::ops::Range;

use rayon::prelude::*;

use crate::{
    Error, Result,
    data::Points,
    kernel::{
        Argument, Kernel,
        block::{Columns, Scratch},
    },
    linalg::{Matrix, Product, Real, product_transposed},
};

/// Moving and fixed points of one tile.
const TILE: (usize, usize) = (64, 1024);

/// Sparse vectors are made dense; more numbers than this (1 GiB) are refused.
const LARGEST: usize = 1 << 27;

/// Refuses sparse points of so many features that `vectors` dense ones would not fit.
pub(super) fn check_dense(method: &str, points: &Points, vectors: usize) -> Result<()> {
    let dim = points.dim();
    if !points.is_sparse() || vectors.saturating_mul(dim) <= LARGEST {
        return Ok(());
    }
    let gigabytes = 8.0 * vectors as f64 * dim as f64 / f64::from(1 << 30);
    Err(Error::data(format!(
        "{method} works with dense vectors, and {vectors} of {dim} features would take {gigabytes:.1} GiB; use pursuit or a basis, which keep sparse vectors"
    )))
}

/// Fixed points.
pub(super) struct Field {
    kernel: Kernel,
    points: Matrix,
    columns: Columns,
}

/// What is remembered between the two products, and reused from call to call.
#[derive(Default)]
pub(super) struct Workspace {
    tiles: Vec<Tile>,
    moving: usize,
}

#[derive(Default)]
struct Tile {
    moving: Range<usize>,
    fixed: Range<usize>,
    values: Vec<f64>,
    /// Slopes of the kernel; empty for the Gaussian, whose slopes are its values times -gamma.
    slopes: Vec<f64>,
    weights: Vec<f64>,
    out: Vec<f64>,
    sums: Vec<f64>,
    scratch: Scratch,
}

/// `M X` and `M 1`.
pub(super) struct Pull {
    pub points: Matrix,
    pub totals: Vec<f64>,
}

impl Pull {
    pub fn nothing(moving: usize, dim: usize) -> Self {
        Pull { points: Matrix::zeros(moving, dim), totals: vec![0.0; moving] }
    }

    /// Adds the part of some fixed points: `weights` holds M', a row for each of them. One thread.
    pub fn add_rows(&mut self, weights: &[f64], points: &[f64]) {
        let (m, dim) = (self.totals.len(), self.points.cols());
        let count = weights.len() / m.max(1);
        let mut turned = vec![0.0; weights.len()];
        for (i, row) in weights.chunks_exact(m.max(1)).enumerate() {
            for (u, &w) in row.iter().enumerate() {
                self.totals[u] += w;
                turned[u * count + i] = w;
            }
        }
        f64::add_product(Product { a: &turned, stride: count, inner: count, b: points, cols: dim }, self.points.values_mut());
    }

    /// Adds another pull on the same moving points.
    pub fn add(&mut self, other: &Pull) {
        self.points.values_mut().iter_mut().zip(other.points.values()).for_each(|(p, o)| *p += o);
        self.totals.iter_mut().zip(&other.totals).for_each(|(t, o)| *t += o);
    }
}

impl Field {
    pub fn new(kernel: &Kernel, points: Matrix) -> Self {
        let points: Points = points.into();
        let columns = Columns::new(kernel, &points);
        let Points::F64(points) = points else { return Field { kernel: kernel.clone(), points: Matrix::default(), columns } };
        Field { kernel: kernel.clone(), points, columns }
    }

    pub fn len(&self) -> usize {
        self.points.rows()
    }

    pub fn points(&self) -> &Matrix {
        &self.points
    }

    /// `K(Z, X) a` for an N x q matrix `a`; the kernel values stay in the workspace.
    pub fn values_times(&self, z: &Points, a: &Matrix, workspace: &mut Workspace) -> Matrix {
        workspace.cut(z.len(), self.len());
        let q = a.cols();
        let by_output = a.transposed();
        workspace.tiles.par_iter_mut().for_each(|tile| {
            tile.look(self, z);
            let outputs: Vec<f64> = by_output.iter().flat_map(|row| &row[tile.fixed.clone()]).copied().collect();
            tile.out.resize(tile.moving.len() * q, 0.0);
            product_transposed(&tile.values, &outputs, tile.fixed.len(), &mut tile.out);
        });
        let mut out = Matrix::zeros(z.len(), q);
        workspace.add_up(&mut out);
        out
    }

    /// The pull with `M_ui = k'(u_ui) (left a')_ui` for the moving points that were looked at last.
    pub fn pull(&self, left: &Matrix, a: &Matrix, workspace: &mut Workspace) -> Pull {
        let (q, dim) = (left.cols(), self.points.cols());
        let factor = if let Kernel::Gaussian(gaussian) = &self.kernel { -gaussian.gamma } else { 1.0 };
        workspace.tiles.par_iter_mut().for_each(|tile| {
            let Tile { moving, fixed, values, slopes, weights, out, sums, .. } = tile;
            weights.resize(values.len(), 0.0);
            let (rows, columns) = (&left.values()[moving.start * q..moving.end * q], &a.values()[fixed.start * q..fixed.end * q]);
            product_transposed(rows, columns, q, weights);
            let slopes = if slopes.is_empty() { &*values } else { &*slopes };
            weights.iter_mut().zip(slopes).for_each(|(w, s)| *w *= factor * s);
            sums.clear();
            sums.extend(weights.chunks_exact(fixed.len()).map(|row| row.iter().sum::<f64>()));
            out.clear();
            out.resize(moving.len() * dim, 0.0);
            let points = &self.points.values()[fixed.start * dim..fixed.end * dim];
            f64::add_product(Product { a: weights, stride: fixed.len(), inner: fixed.len(), b: points, cols: dim }, out);
        });
        let mut points = Matrix::zeros(workspace.moving, dim);
        workspace.add_up(&mut points);
        let mut totals = vec![0.0; workspace.moving];
        for tile in &workspace.tiles {
            totals[tile.moving.clone()].iter_mut().zip(&tile.sums).for_each(|(total, sum)| *total += sum);
        }
        Pull { points, totals }
    }
}

impl Workspace {
    /// The kernel values that were looked at last, a row for each moving point.
    pub fn values(&self, fixed: usize) -> Matrix {
        let mut out = Matrix::zeros(self.moving, fixed);
        for tile in &self.tiles {
            for (u, row) in tile.moving.clone().zip(tile.values.chunks_exact(tile.fixed.len().max(1))) {
                out.row_mut(u)[tile.fixed.clone()].copy_from_slice(row);
            }
        }
        out
    }

    fn cut(&mut self, moving: usize, fixed: usize) {
        self.moving = moving;
        let rows = moving.div_ceil(TILE.0);
        self.tiles.resize_with(rows * fixed.div_ceil(TILE.1), Tile::default);
        for (t, tile) in self.tiles.iter_mut().enumerate() {
            let (first, from) = (t % rows * TILE.0, t / rows * TILE.1);
            tile.moving = first..(first + TILE.0).min(moving);
            tile.fixed = from..(from + TILE.1).min(fixed);
        }
    }

    /// Adds the parts of all tiles, in the order of the tiles.
    fn add_up(&self, out: &mut Matrix) {
        let cols = out.cols();
        if cols == 0 {
            return;
        }
        out.values_mut().par_chunks_mut(TILE.0 * cols).enumerate().for_each(|(c, out)| {
            for tile in self.tiles.iter().filter(|tile| tile.moving.start == c * TILE.0) {
                out.iter_mut().zip(&tile.out).for_each(|(o, t)| *o += t);
            }
        });
    }
}

impl Tile {
    /// Fills in values, and slopes where the values do not tell them.
    fn look(&mut self, field: &Field, z: &Points) {
        self.values.resize(self.moving.len() * self.fixed.len(), 0.0);
        field.columns.fill_arguments(z, self.moving.clone(), self.fixed.clone(), &mut self.values, &mut self.scratch);
        let profile = field.kernel.profile();
        self.slopes.clear();
        if !matches!(field.kernel, Kernel::Gaussian(_)) {
            self.slopes.extend(self.values.iter().map(|&u| profile.slope(u)));
        }
        profile.values(&mut self.values);
    }
}

/// Adds `factor` times the gradient of `sum_ui c_ui k(z_u, x_i)` to `out`, from the pull with `M_ui = c_ui k'(u_ui)`.
pub(super) fn add_gradient(kernel: &Kernel, z: &[f64], pull: &Pull, factor: f64, out: &mut [f64]) {
    let dim = pull.points.cols().max(1);
    let pulled = pull.points.iter().zip(&pull.totals);
    for ((out, z), (point, total)) in out.chunks_exact_mut(dim).zip(z.chunks_exact(dim)).zip(pulled) {
        match kernel.profile().argument() {
            Argument::SquaredDistance => {
                out.iter_mut().zip(z).zip(point).for_each(|((o, z), p)| *o += 2.0 * factor * (total * z - p));
            }
            Argument::DotProduct => out.iter_mut().zip(point).for_each(|(o, p)| *o += factor * p),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matrix(rows: usize, cols: usize, seed: f64) -> Matrix {
        Matrix::from_fn(rows, cols, |i, j| ((i * cols + j) as f64 * 1.7 + seed).sin())
    }

    #[test]
    fn values_and_gradients_agree_with_the_definition_for_every_kernel() {
        for kernel in Kernel::examples() {
            // More points than a tile has, either way.
            let (x, a, z) = (matrix(1100, 3, 0.1), matrix(1100, 2, 0.5), matrix(70, 3, 0.7));
            let field = Field::new(&kernel, x.clone());
            let mut workspace = Workspace::default();
            let products = field.values_times(&z.clone().into(), &a, &mut workspace);
            let left = matrix(70, 2, 0.9);
            let pull = field.pull(&left, &a, &mut workspace);
            let mut gradient = vec![0.0; 210];
            add_gradient(&kernel, z.values(), &pull, 0.5, &mut gradient);
            let values = workspace.values(1100);
            for u in [0, 63, 64, 69] {
                let (mut product, mut want) = ([0.0; 2], [0.0; 3]);
                for i in 0..1100 {
                    let value = kernel.eval(z.row(u), x.row(i));
                    assert!((values.at(u, i) - value).abs() < 1e-12 * (1.0 + value.abs()));
                    (0..2).for_each(|k| product[k] += value * a.at(i, k));
                    let weight = 0.5 * (0..2).map(|k| left.at(u, k) * a.at(i, k)).sum::<f64>();
                    kernel.add_gradient(x.row(i), z.row(u), weight, &mut want);
                }
                let close = |have: &[f64], want: &[f64]| have.iter().zip(want).all(|(h, w)| (h - w).abs() < 1e-10 * (1.0 + w.abs()));
                assert!(close(products.row(u), &product), "{}", kernel.name());
                assert!(close(&gradient[3 * u..3 * u + 3], &want), "{} {want:?}", kernel.name());
            }
        }
    }

    #[test]
    fn any_number_of_threads_gives_the_same_bits() {
        let (x, a, z) = (matrix(2100, 5, 0.1), matrix(2100, 2, 0.5), matrix(130, 5, 0.7));
        let run = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let (field, mut workspace) = (Field::new(&Kernel::gaussian(0.5), x.clone()), Workspace::default());
                let left = field.values_times(&z.clone().into(), &a, &mut workspace);
                let pull = field.pull(&left, &a, &mut workspace);
                (left, pull.points, pull.totals)
            })
        };
        assert_eq!(run(1), run(8));
    }
}
