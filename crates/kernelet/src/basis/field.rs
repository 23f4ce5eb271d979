//! Kernel values between moving points and fixed ones, and the sums that gradients need.
//!
//! For moving points Z (m x d), fixed points X (N x d) and weights M_ui, the gradient of `sum_ui c_ui k(z_u, x_i)` needs
//! `M X` and `M 1` alone, with `M_ui = c_ui k'(u_ui)`: twice `diag(M1) Z - M X` where the kernel is a function of |z - x|^2, and `M X`
//! where it is one of z.x. Everything is therefore two matrix products, one for the values and one for these sums.
//!
//! Cost: 2 m N d, plus m N kernel values; memory 2 m N numbers. Work is cut into tiles whose partial sums are added in a fixed order,
//! so any number of threads gives the same bits. Gaussian values come from fixed points that are packed once, whatever moves.
//!
//! A search that only asks where to go may work in single precision, twice as fast ([`Workspace::single`]): kernel values and the products
//! within a tile are rounded to it, sums over tiles and over outputs are not.
use std::{ops::Range, sync::OnceLock};

use crate::parallel::*;

use crate::{
    Error, Result,
    data::{Points, memory},
    kernel::{
        Argument, Kernel,
        block::{CHUNK, Columns, Scratch},
        simd::{self, Job, multiply_add},
    },
    linalg::{Matrix, Product, Real, add_transposed_product, product_transposed},
};

/// Moving and fixed points of one tile. Packed points come in groups that divide the second number.
const TILE: (usize, usize) = (192, 768);

/// So few moving points are summed faster row by row than by a matrix product, which would rearrange all fixed points for them.
const FEW: usize = 12;

/// Refuses sparse points of so many features that `vectors` dense ones would not fit.
pub(crate) fn check_dense(method: &str, points: &Points, vectors: usize) -> Result<()> {
    if !points.is_sparse() {
        return Ok(());
    }
    // Chunks of rows are dense beside them.
    memory::require(method, vectors.saturating_add(CHUNK), points.dim())
        .map_err(|error| Error::data(format!("{error}; pursuit and a basis of given rows keep sparse vectors")))
}

/// Fixed points.
pub(crate) struct Field {
    kernel: Kernel,
    points: Matrix,
    columns: Columns,
    /// The points in single precision, made when they are first needed.
    single: OnceLock<Vec<f32>>,
}

/// What is remembered between the two products, and reused from call to call.
#[derive(Default)]
pub(crate) struct Workspace {
    tiles: Vec<Tile>,
    moving: usize,
    /// Work in single precision where the kernel is Gaussian.
    pub single: bool,
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
    /// Values, then weights, then their sums, in single precision.
    single: [Vec<f32>; 3],
    is_single: bool,
}

/// `M X` and `M 1`, what the gradient with respect to the moving points needs.
pub(crate) struct GradientSums {
    pub points: Matrix,
    pub totals: Vec<f64>,
}

impl GradientSums {
    pub fn nothing(moving: usize, dim: usize) -> Self {
        GradientSums { points: Matrix::zeros(moving, dim), totals: vec![0.0; moving] }
    }

    /// Adds the part of some fixed points: `weights` holds M', a row for each of them. One thread.
    pub fn add_rows(&mut self, weights: &[f64], points: &[f64]) {
        let (m, dim) = (self.totals.len(), self.points.cols());
        self.add_totals(weights);
        add_transposed_product(weights, m, points, dim, self.points.values_mut());
    }

    /// The same with products in single precision; `buffers` are reused from call to call.
    pub fn add_rows_single(&mut self, weights: &[f64], points: &[f32], buffers: &mut [Vec<f32>; 2]) {
        let (m, dim) = (self.totals.len(), self.points.cols());
        self.add_totals(weights);
        let [rounded, summed] = buffers;
        rounded.clear();
        rounded.extend(weights.iter().map(|&w| w as f32));
        summed.clear();
        summed.resize(m * dim, 0.0);
        add_transposed_product(rounded, m, points, dim, summed);
        self.points.values_mut().iter_mut().zip(summed).for_each(|(p, s)| *p += f64::from(*s));
    }

    fn add_totals(&mut self, weights: &[f64]) {
        for row in weights.chunks_exact(self.totals.len().max(1)) {
            self.totals.iter_mut().zip(row).for_each(|(total, w)| *total += w);
        }
    }

    /// Adds other sums for the same moving points.
    pub fn add(&mut self, other: &GradientSums) {
        self.points.values_mut().iter_mut().zip(other.points.values()).for_each(|(p, o)| *p += o);
        self.totals.iter_mut().zip(&other.totals).for_each(|(t, o)| *t += o);
    }
}

impl Field {
    pub fn new(kernel: &Kernel, points: Matrix) -> Self {
        let points: Points = points.into();
        let columns = Columns::new(kernel, &points);
        let points = if let Points::F64(points) = points { points } else { Matrix::default() };
        Field { kernel: kernel.clone(), points, columns, single: OnceLock::new() }
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
        let (q, single) = (a.cols(), workspace.single);
        workspace.tiles.par_iter_mut().for_each(|tile| {
            tile.look(self, z, single);
            tile.out.clear();
            tile.out.resize(tile.moving.len() * q, 0.0);
            let (inner, b) = (tile.fixed.len(), &a.values()[tile.fixed.start * q..tile.fixed.end * q]);
            f64::add_product(Product { a: &tile.values, stride: inner, inner, b, cols: q }, &mut tile.out);
        });
        let mut out = Matrix::zeros(z.len(), q);
        workspace.add_up(&mut out);
        out
    }

    /// The sums with `M_ui = k'(u_ui) (left a')_ui` for the moving points that were looked at last.
    pub fn gradient_sums(&self, left: &Matrix, a: &Matrix, workspace: &mut Workspace) -> GradientSums {
        let (q, dim) = (left.cols(), self.points.cols());
        let factor = if let Kernel::Gaussian(gaussian) = &self.kernel { -gaussian.gamma } else { 1.0 };
        workspace.tiles.par_iter_mut().for_each(|tile| {
            let Tile { moving, fixed, values, slopes, weights, out, sums, single, is_single, .. } = tile;
            weights.resize(values.len(), 0.0);
            let (rows, columns) = (&left.values()[moving.start * q..moving.end * q], &a.values()[fixed.start * q..fixed.end * q]);
            product_transposed(rows, columns, q, weights);
            let slopes = if slopes.is_empty() { &*values } else { &*slopes };
            weights.iter_mut().zip(slopes).for_each(|(w, s)| *w *= factor * s);
            sums.clear();
            sums.extend(weights.chunks_exact(fixed.len()).map(|row| row.iter().sum::<f64>()));
            out.clear();
            out.resize(moving.len() * dim, 0.0);
            let place = fixed.start * dim..fixed.end * dim;
            if *is_single {
                let points = self.single.get_or_init(|| self.points.values().iter().map(|&v| v as f32).collect());
                sums_single(weights, fixed.len(), &points[place], single, out);
            } else if moving.len() <= FEW {
                simd::run(SumFew { weights, points: &self.points.values()[place], dim, out });
            } else {
                let points = &self.points.values()[place];
                f64::add_product(Product { a: weights, stride: fixed.len(), inner: fixed.len(), b: points, cols: dim }, out);
            }
        });
        let mut points = Matrix::zeros(workspace.moving, dim);
        workspace.add_up(&mut points);
        let mut totals = vec![0.0; workspace.moving];
        for tile in &workspace.tiles {
            totals[tile.moving.clone()].iter_mut().zip(&tile.sums).for_each(|(total, sum)| *total += sum);
        }
        GradientSums { points, totals }
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
    /// Fills in values, and slopes where they do not follow from the values.
    fn look(&mut self, field: &Field, z: &Points, single: bool) {
        let (moving, fixed, columns) = (self.moving.clone(), self.fixed.clone(), &field.columns);
        self.values.resize(moving.len() * fixed.len(), 0.0);
        self.slopes.clear();
        let values = &mut self.single[0];
        if single {
            values.resize(self.values.len(), 0.0);
        }
        self.is_single = single && columns.fill_single(z, moving.clone(), fixed.clone(), values, &mut self.scratch);
        if self.is_single {
            self.values.iter_mut().zip(values).for_each(|(v, s)| *v = f64::from(*s));
            return;
        }
        if columns.fill_packed(z, moving.clone(), fixed.clone(), &mut self.values, &mut self.scratch) {
            return;
        }
        columns.fill_arguments(z, moving, fixed, &mut self.values, &mut self.scratch);
        let profile = field.kernel.profile();
        if !matches!(field.kernel, Kernel::Gaussian(_)) {
            self.slopes.extend(self.values.iter().map(|&u| profile.slope(u)));
        }
        profile.values(&mut self.values);
    }
}

/// `out = weights points` in single precision, for weights of `inner` columns.
fn sums_single(weights: &[f64], inner: usize, points: &[f32], buffers: &mut [Vec<f32>; 3], out: &mut [f64]) {
    let [_, rounded, summed] = buffers;
    rounded.clear();
    rounded.extend(weights.iter().map(|&w| w as f32));
    summed.clear();
    summed.resize(out.len(), 0.0);
    f32::add_product(Product { a: rounded, stride: inner, inner, b: points, cols: points.len() / inner.max(1) }, summed);
    out.iter_mut().zip(summed).for_each(|(out, p)| *out = f64::from(*p));
}

/// `out += weights points` for few rows of weights, four points at a time.
struct SumFew<'a> {
    weights: &'a [f64],
    points: &'a [f64],
    dim: usize,
    out: &'a mut [f64],
}

impl Job for SumFew<'_> {
    type Output = ();
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let dim = self.dim.max(1);
        let count = self.points.len() / dim;
        let fours = count / 4 * 4;
        for i in (0..fours).step_by(4) {
            let [a, b, c, d] = [0, 1, 2, 3].map(|k| &self.points[(i + k) * dim..(i + k + 1) * dim]);
            for (weights, out) in self.weights.chunks_exact(count).zip(self.out.chunks_exact_mut(dim)) {
                let w = &weights[i..i + 4];
                for j in 0..dim {
                    let near = multiply_add::<FMA>(w[0], a[j], multiply_add::<FMA>(w[1], b[j], out[j]));
                    out[j] = multiply_add::<FMA>(w[2], c[j], multiply_add::<FMA>(w[3], d[j], near));
                }
            }
        }
        for (i, point) in (fours..count).zip(self.points[fours * dim..].chunks_exact(dim)) {
            for (weights, out) in self.weights.chunks_exact(count).zip(self.out.chunks_exact_mut(dim)) {
                out.iter_mut().zip(point).for_each(|(o, p)| *o = multiply_add::<FMA>(weights[i], *p, *o));
            }
        }
    }
}

/// Adds `factor` times the gradient of `sum_ui c_ui k(z_u, x_i)` to `out`, from the sums with `M_ui = c_ui k'(u_ui)`.
pub(crate) fn add_gradient(kernel: &Kernel, z: &[f64], sums: &GradientSums, factor: f64, out: &mut [f64]) {
    let dim = sums.points.cols().max(1);
    let summed = sums.points.iter().zip(&sums.totals);
    for ((out, z), (point, total)) in out.chunks_exact_mut(dim).zip(z.chunks_exact(dim)).zip(summed) {
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
    use crate::kernel::block::single_error;

    fn matrix(rows: usize, cols: usize, seed: f64) -> Matrix {
        Matrix::from_fn(rows, cols, |i, j| ((i * cols + j) as f64 * 1.7 + seed).sin())
    }

    #[test]
    fn values_and_gradients_agree_with_the_definition_for_every_kernel() {
        for kernel in Kernel::examples() {
            // More points than a tile has, in both dimensions.
            let (x, a, z) = (matrix(1100, 3, 0.1), matrix(1100, 2, 0.5), matrix(200, 3, 0.7));
            let field = Field::new(&kernel, x.clone());
            let mut workspace = Workspace::default();
            let products = field.values_times(&z.clone().into(), &a, &mut workspace);
            let left = matrix(200, 2, 0.9);
            let sums = field.gradient_sums(&left, &a, &mut workspace);
            let mut gradient = vec![0.0; 600];
            add_gradient(&kernel, z.values(), &sums, 0.5, &mut gradient);
            let values = workspace.values(1100);
            for u in [0, 63, 191, 192, 199] {
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
        let (x, a, z) = (matrix(2100, 5, 0.1), matrix(2100, 2, 0.5), matrix(230, 5, 0.7));
        let run = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let (field, mut workspace) = (Field::new(&Kernel::gaussian(0.5), x.clone()), Workspace::default());
                let left = field.values_times(&z.clone().into(), &a, &mut workspace);
                let sums = field.gradient_sums(&left, &a, &mut workspace);
                (left, sums.points, sums.totals)
            })
        };
        assert_eq!(run(1), run(8));
    }

    #[test]
    fn few_moving_points_see_what_many_see() {
        let (x, a, z) = (matrix(1103, 5, 0.1), matrix(1103, 2, 0.5), matrix(40, 5, 0.7));
        let (field, mut workspace) = (Field::new(&Kernel::gaussian(0.5), x), Workspace::default());
        let left = field.values_times(&z.clone().into(), &a, &mut workspace);
        let many = field.gradient_sums(&left, &a, &mut workspace);
        let few: Vec<usize> = (0..FEW).collect();
        let some = field.values_times(&z.select(&few).into(), &a, &mut workspace);
        let sums = field.gradient_sums(&some, &a, &mut workspace);
        let close = |have: &[f64], want: &[f64]| have.iter().zip(want).all(|(h, w)| (h - w).abs() < 1e-11 * (1.0 + w.abs()));
        assert!(
            close(some.values(), left.values()) && close(sums.points.values(), many.points.values()) && close(&sums.totals, &many.totals)
        );
    }

    #[test]
    fn single_precision_is_off_by_no_more_than_its_bound() {
        let (x, a, z) = (matrix(2000, 30, 0.1), matrix(2000, 2, 0.5), matrix(100, 30, 0.7));
        let field = Field::new(&Kernel::gaussian(0.05), x.clone());
        let run = |single: bool| {
            let mut workspace = Workspace { single, ..Workspace::default() };
            let p = field.values_times(&z.clone().into(), &a, &mut workspace);
            let sums = field.gradient_sums(&matrix(100, 2, 0.9), &a, &mut workspace);
            (workspace.values(2000), p, sums)
        };
        let ((values, p, sums), (rough, p_rough, sums_rough)) = (run(false), run(true));
        // No entry exceeds 1, so that no point is farther than sqrt(30) from the mean, and |a| < 1.
        let bound = single_error(0.05 * 30.0, 30);
        let worst = |have: &[f64], want: &[f64]| have.iter().zip(want).map(|(h, w)| (h - w).abs()).fold(0.0, f64::max);
        let off = worst(rough.values(), values.values());
        assert!(off < bound && off > 0.0, "{off} {bound}");
        assert!(worst(p_rough.values(), p.values()) < 2000.0 * bound);
        assert!(worst(sums_rough.points.values(), sums.points.values()) < 2000.0 * 2.0 * bound);
    }
}
