//! Where kernel rows come from: packed dense points, sparse points, or a matrix that is there already.
use rayon::prelude::*;

use super::scan::LANES;
use crate::{
    Error, Result,
    data::{Csr, Points},
    kernel::{
        Argument, Kernel, Profile, block,
        exp::{exp, exp_f32},
        simd::{self, Job, multiply_add, multiply_add_f32},
    },
    linalg::{Matrix, Real, dot},
};

/// Gives rows of a kernel matrix, padded with zeros to a multiple of the scans' lanes.
pub trait RowSource: Send + Sync {
    /// Number of rows, and of columns without the padding.
    fn len(&self) -> usize;
    /// True when there is no row.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// k(x_i, x_i) of every row.
    fn diagonal(&self) -> Vec<f64>;
    /// Writes row `i`.
    fn row(&self, i: usize, out: &mut [f32]);
    /// `K beta` for all rows, on all threads; beta is given by its entries that are not zero.
    fn combine(&self, beta: &[(usize, f64)]) -> Vec<f64>;
    /// The same for some rows and columns only, renumbered from 0.
    fn subset(&self, keep: &[usize]) -> Box<dyn RowSource>;
}

/// Kernel values beyond this do not fit the cache's single precision with room to spare.
const LARGEST_VALUE: f64 = 1e30;

/// Above this value of gamma |x|^2 single precision loses too many digits of a distance: the error of k is about 1e-7 times it.
const LARGEST_SINGLE: f64 = 50.0;

/// Tolerances below this ask for double precision throughout.
const FINEST_SINGLE: f64 = 1e-4;

/// The kernel rows of `points`. Gaussian rows are computed in single precision where that costs less than the tolerance.
pub fn rows_of(kernel: &Kernel, points: &Points, tolerance: f64) -> Result<Box<dyn RowSource>> {
    let largest = block::diagonal(kernel, points).into_iter().fold(0.0f64, |a, b| if b.abs() > a || b.is_nan() { b.abs() } else { a });
    if largest.is_nan() || largest > LARGEST_VALUE {
        return Err(Error::data(format!("kernel values reach {largest:.1e}; scale the data, for example with --scale standard")));
    }
    Ok(match (points, kernel) {
        (Points::Sparse(rows), _) => Box::new(SparseRows::new(kernel, rows.clone())),
        (_, Kernel::Gaussian(gaussian)) => {
            let centred = Centred::new(points, true);
            let reach = centred.norms.iter().fold(0.0f64, |a, &b| a.max(b)) * gaussian.gamma;
            match tolerance >= FINEST_SINGLE && reach <= LARGEST_SINGLE {
                true => Box::new(Packed::<f32>::new(kernel, &centred)),
                false => Box::new(Packed::<f64>::new(kernel, &centred)),
            }
        }
        _ => Box::new(Packed::<f64>::new(kernel, &Centred::new(points, kernel.profile().argument() == Argument::SquaredDistance))),
    })
}

/// Points less their mean, where only distances matter: then these keep their digits however far the data lie from the origin.
struct Centred<'a> {
    points: &'a Points,
    centre: Vec<f64>,
    /// |x|^2 of every row, less the centre.
    norms: Vec<f64>,
}

impl<'a> Centred<'a> {
    fn new(points: &'a Points, by_mean: bool) -> Self {
        let (len, dim) = (points.len(), points.dim());
        let mut centred = Centred { points, centre: vec![0.0; dim], norms: vec![] };
        let (mut row, mut mean) = (vec![0.0; dim], vec![0.0; dim]);
        if by_mean {
            for i in 0..len {
                centred.copy_rows(i..i + 1, &mut row);
                mean.iter_mut().zip(&row).for_each(|(m, v)| *m += v / len as f64);
            }
        }
        centred.centre = mean;
        for i in 0..len {
            centred.copy_rows(i..i + 1, &mut row);
            centred.norms.push(dot(&row, &row));
        }
        centred
    }

    fn copy_rows(&self, range: std::ops::Range<usize>, out: &mut [f64]) {
        let dim = self.centre.len();
        self.points.copy_rows(range, dim, out);
        for row in out.chunks_exact_mut(dim.max(1)) {
            row.iter_mut().zip(&self.centre).for_each(|(v, c)| *v -= c);
        }
    }
}

/// Dense points in panels of [`LANES`] rows, feature by feature, so that a kernel row is a run of multiply-adds.
struct Packed<R> {
    kernel: Kernel,
    argument: Argument,
    len: usize,
    dim: usize,
    panels: Vec<R>,
    /// |x|^2 of every row, less the common centre.
    norms: Vec<R>,
}

/// What the packed rows need of a number type.
trait PanelReal: Real {
    fn multiply_add<const FMA: bool>(a: Self, b: Self, c: Self) -> Self;
    /// exp(gamma (2 dot - norms)) in place of dot.
    fn gaussian<const FMA: bool>(dot: Self, norm_x: Self, norm_z: Self, gamma: Self) -> f32;
}

impl PanelReal for f32 {
    #[inline(always)]
    fn multiply_add<const FMA: bool>(a: f32, b: f32, c: f32) -> f32 {
        multiply_add_f32::<FMA>(a, b, c)
    }
    #[inline(always)]
    fn gaussian<const FMA: bool>(dot: f32, norm_x: f32, norm_z: f32, gamma: f32) -> f32 {
        let u = multiply_add_f32::<FMA>(-2.0, dot, norm_x + norm_z);
        exp_f32::<FMA>(-gamma * if u > 0.0 { u } else { 0.0 })
    }
}

impl PanelReal for f64 {
    #[inline(always)]
    fn multiply_add<const FMA: bool>(a: f64, b: f64, c: f64) -> f64 {
        multiply_add::<FMA>(a, b, c)
    }
    #[inline(always)]
    fn gaussian<const FMA: bool>(dot: f64, norm_x: f64, norm_z: f64, gamma: f64) -> f32 {
        let u = multiply_add::<FMA>(-2.0, dot, norm_x + norm_z);
        exp::<FMA>(-gamma * if u > 0.0 { u } else { 0.0 }) as f32
    }
}

impl<R: PanelReal> Packed<R> {
    fn new(kernel: &Kernel, centred: &Centred) -> Self {
        let dim = centred.centre.len();
        let mut packed = Packed::empty(kernel, centred.norms.len(), dim);
        let mut rows = vec![0.0; LANES * dim];
        for first in (0..packed.len).step_by(LANES) {
            let count = LANES.min(packed.len - first);
            centred.copy_rows(first..first + count, &mut rows[..count * dim]);
            let panel = &mut packed.panels[first * dim..(first + LANES) * dim];
            for (lane, row) in rows[..count * dim].chunks_exact(dim.max(1)).enumerate() {
                row.iter().enumerate().for_each(|(k, v)| panel[k * LANES + lane] = R::from_f64(*v));
            }
        }
        packed.norms.iter_mut().zip(&centred.norms).for_each(|(to, from)| *to = R::from_f64(*from));
        packed
    }

    fn empty(kernel: &Kernel, len: usize, dim: usize) -> Self {
        let padded = len.next_multiple_of(LANES);
        let argument = kernel.profile().argument();
        Packed { kernel: kernel.clone(), argument, len, dim, panels: vec![R::default(); padded * dim], norms: vec![R::default(); padded] }
    }

    fn place(&self, i: usize, k: usize) -> usize {
        (i / LANES * self.dim + k) * LANES + i % LANES
    }

    fn point(&self, i: usize) -> Vec<R> {
        (0..self.dim).map(|k| self.panels[self.place(i, k)]).collect()
    }

    /// Row `x` of the kernel matrix for the panels from `first` on.
    fn fill(&self, x: &[R], norm: R, first: usize, out: &mut [f32]) {
        let panels = &self.panels[first * self.dim * LANES..];
        let norms = &self.norms[first * LANES..];
        match &self.kernel {
            Kernel::Gaussian(g) => simd::run(GaussianRow { x, norm, gamma: R::from_f64(g.gamma), panels, norms, out }),
            _ => {
                let profile = self.kernel.profile();
                simd::run(AnyRow { x, norm, profile, distance: self.argument == Argument::SquaredDistance, panels, norms, out });
            }
        }
    }
}

/// Panels in one unit of work of a parallel row or combination.
const GROUP: usize = 16;

/// Multiply-adds above which a row is worth sharing among threads.
const WORTH_SHARING: usize = 1 << 20;

impl<R: PanelReal> RowSource for Packed<R> {
    fn len(&self) -> usize {
        self.len
    }

    fn diagonal(&self) -> Vec<f64> {
        let profile = self.kernel.profile();
        let argument = |norm: &R| if self.argument == Argument::SquaredDistance { 0.0 } else { norm.to_f64() };
        self.norms[..self.len].iter().map(|norm| profile.value(argument(norm))).collect()
    }

    fn row(&self, i: usize, out: &mut [f32]) {
        let (x, norm) = (self.point(i), self.norms[i]);
        let out = &mut out[..self.norms.len()];
        if self.panels.len() < WORTH_SHARING || rayon::current_num_threads() == 1 {
            self.fill(&x, norm, 0, out);
        } else {
            out.par_chunks_mut(GROUP * LANES).enumerate().for_each(|(g, out)| self.fill(&x, norm, g * GROUP, out));
        }
        out[self.len..].fill(0.0);
    }

    fn combine(&self, beta: &[(usize, f64)]) -> Vec<f64> {
        let points: Vec<Vec<R>> = beta.iter().map(|&(i, _)| self.point(i)).collect();
        let mut out = vec![0.0; self.norms.len()];
        out.par_chunks_mut(LANES).enumerate().for_each(|(panel, out)| {
            let mut row = [0f32; LANES];
            for (x, &(i, weight)) in points.iter().zip(beta) {
                self.fill(x, self.norms[i], panel, &mut row);
                out.iter_mut().zip(&row).for_each(|(sum, &k)| *sum += weight * f64::from(k));
            }
        });
        out.truncate(self.len);
        out
    }

    fn subset(&self, keep: &[usize]) -> Box<dyn RowSource> {
        let mut packed = Packed::<R>::empty(&self.kernel, keep.len(), self.dim);
        for (new, &old) in keep.iter().enumerate() {
            packed.norms[new] = self.norms[old];
            for k in 0..self.dim {
                let place = packed.place(new, k);
                packed.panels[place] = self.panels[self.place(old, k)];
            }
        }
        Box::new(packed)
    }
}

/// The dot products of x with the points of one panel.
#[inline(always)]
fn panel_dots<R: PanelReal, const FMA: bool>(x: &[R], panel: &[R]) -> [R; LANES] {
    let mut sums = [R::default(); LANES];
    for (x, lanes) in x.iter().zip(panel.as_chunks::<LANES>().0) {
        for l in 0..LANES {
            sums[l] = R::multiply_add::<FMA>(*x, lanes[l], sums[l]);
        }
    }
    sums
}

struct GaussianRow<'a, R> {
    x: &'a [R],
    norm: R,
    gamma: R,
    panels: &'a [R],
    norms: &'a [R],
    out: &'a mut [f32],
}

impl<R: PanelReal> Job for GaussianRow<'_, R> {
    type Output = ();
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let size = self.x.len() * LANES;
        let norms = self.norms.as_chunks::<LANES>().0;
        for (p, (out, norms)) in self.out.as_chunks_mut::<LANES>().0.iter_mut().zip(norms).enumerate() {
            let dots = panel_dots::<R, FMA>(self.x, &self.panels[p * size..(p + 1) * size]);
            for l in 0..LANES {
                out[l] = R::gaussian::<FMA>(dots[l], self.norm, norms[l], self.gamma);
            }
        }
    }
}

struct AnyRow<'a, R> {
    x: &'a [R],
    norm: R,
    profile: &'a dyn Profile,
    distance: bool,
    panels: &'a [R],
    norms: &'a [R],
    out: &'a mut [f32],
}

impl<R: PanelReal> Job for AnyRow<'_, R> {
    type Output = ();
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let size = self.x.len() * LANES;
        let norms = self.norms.as_chunks::<LANES>().0;
        for (p, (out, norms)) in self.out.as_chunks_mut::<LANES>().0.iter_mut().zip(norms).enumerate() {
            let dots = panel_dots::<R, FMA>(self.x, &self.panels[p * size..(p + 1) * size]);
            let mut u = [0.0; LANES];
            for l in 0..LANES {
                u[l] = match self.distance {
                    true => (self.norm.to_f64() + norms[l].to_f64() - 2.0 * dots[l].to_f64()).max(0.0),
                    false => dots[l].to_f64(),
                };
            }
            self.profile.values(&mut u);
            for l in 0..LANES {
                out[l] = u[l] as f32;
            }
        }
    }
}

/// Sparse points: a row is a pass over all stored values against one point spread out.
struct SparseRows {
    kernel: Kernel,
    rows: Csr,
    norms: Vec<f64>,
}

impl SparseRows {
    fn new(kernel: &Kernel, rows: Csr) -> Self {
        let norms = Points::Sparse(rows.clone()).squared_norms();
        SparseRows { kernel: kernel.clone(), rows, norms }
    }

    fn spread(&self, i: usize) -> Vec<f64> {
        let mut x = vec![0.0; self.rows.dim()];
        let (columns, values) = self.rows.row(i);
        columns.iter().zip(values).for_each(|(&c, &v)| x[c as usize] = v);
        x
    }

    /// Kernel values of rows `first..` against the spread point `x`.
    fn fill(&self, x: &[f64], norm: f64, first: usize, out: &mut [f64]) {
        let profile = self.kernel.profile();
        for (j, out) in out.iter_mut().enumerate() {
            let (columns, values) = self.rows.row(first + j);
            let dot: f64 = columns.iter().zip(values).map(|(&c, v)| x[c as usize] * v).sum();
            *out = match profile.argument() {
                Argument::SquaredDistance => (norm + self.norms[first + j] - 2.0 * dot).max(0.0),
                Argument::DotProduct => dot,
            };
        }
        profile.values(out);
    }
}

impl RowSource for SparseRows {
    fn len(&self) -> usize {
        self.rows.len()
    }

    fn diagonal(&self) -> Vec<f64> {
        block::diagonal(&self.kernel, &Points::Sparse(self.rows.clone()))
    }

    fn row(&self, i: usize, out: &mut [f32]) {
        let x = self.spread(i);
        let n = self.len();
        out[..n].par_chunks_mut(GROUP * LANES).enumerate().for_each(|(g, out)| {
            let mut values = [0.0; GROUP * LANES];
            let values = &mut values[..out.len()];
            self.fill(&x, self.norms[i], g * GROUP * LANES, values);
            out.iter_mut().zip(values).for_each(|(out, v)| *out = *v as f32);
        });
        out[n..].fill(0.0);
    }

    fn combine(&self, beta: &[(usize, f64)]) -> Vec<f64> {
        let chosen: Vec<usize> = beta.iter().map(|&(i, _)| i).collect();
        let columns = block::Columns::new(&self.kernel, &Points::Sparse(self.rows.select(&chosen)));
        let points = Points::Sparse(self.rows.clone());
        let mut out = vec![0.0; self.len()];
        out.par_chunks_mut(LANES).enumerate().for_each_init(block::Scratch::default, |scratch, (c, out)| {
            let mut values = vec![0.0; out.len() * beta.len()];
            columns.fill(&points, c * LANES..c * LANES + out.len(), &mut values, scratch);
            for (sum, row) in out.iter_mut().zip(values.chunks_exact(beta.len().max(1))) {
                *sum = row.iter().zip(beta).map(|(k, (_, weight))| k * weight).sum();
            }
        });
        out
    }

    fn subset(&self, keep: &[usize]) -> Box<dyn RowSource> {
        Box::new(SparseRows::new(&self.kernel, self.rows.select(keep)))
    }
}

/// The rows `keep` of a kernel matrix that is there already.
pub(crate) fn rows_of_gram(gram: &Matrix, keep: &[usize]) -> Result<Box<dyn RowSource>> {
    let part = Matrix::from_fn(keep.len(), keep.len(), |i, j| gram.at(keep[i], keep[j]));
    match part.values().iter().find(|v| v.abs() > LARGEST_VALUE) {
        Some(value) => Err(Error::data(format!("kernel values reach {value:.1e}; divide the kernel matrix by its size"))),
        None => Ok(Box::new(GramRows(part))),
    }
}

/// A kernel matrix that is there already.
struct GramRows(Matrix);

impl RowSource for GramRows {
    fn len(&self) -> usize {
        self.0.rows()
    }

    fn diagonal(&self) -> Vec<f64> {
        (0..self.len()).map(|i| self.0.at(i, i)).collect()
    }

    fn row(&self, i: usize, out: &mut [f32]) {
        let row = self.0.row(i);
        out.iter_mut().zip(row).for_each(|(out, v)| *out = *v as f32);
        out[row.len()..].fill(0.0);
    }

    fn combine(&self, beta: &[(usize, f64)]) -> Vec<f64> {
        self.0.iter().map(|row| beta.iter().map(|&(i, weight)| row[i] * weight).sum()).collect()
    }

    fn subset(&self, keep: &[usize]) -> Box<dyn RowSource> {
        Box::new(GramRows(Matrix::from_fn(keep.len(), keep.len(), |i, j| self.0.at(keep[i], keep[j]))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_combinations_and_subsets_agree_with_the_definition() {
        let x = Matrix::from_fn(150, 5, |i, j| ((i * 13 + j * 7) as f64).sin() + 3.0);
        for kernel in Kernel::examples() {
            let gram = Matrix::from_fn(150, 150, |i, j| kernel.eval(x.row(i), x.row(j)));
            let dense = Points::from(x.clone());
            let sources: Vec<Box<dyn RowSource>> = vec![
                rows_of(&kernel, &dense, 1e-3).unwrap(),
                rows_of(&kernel, &dense, 1e-6).unwrap(),
                rows_of(&kernel, &Points::from(Csr::from_dense(&x)), 1e-3).unwrap(),
                rows_of_gram(&gram, &(0..150).collect::<Vec<_>>()).unwrap(),
            ];
            let beta = [(3, 0.5), (140, -2.0), (77, 1.0)];
            for source in sources {
                let mut row = vec![9.0f32; 192];
                source.row(140, &mut row);
                let combined = source.combine(&beta);
                for t in 0..150 {
                    // Single precision of each term: the error of a sum is relative to the sum of their sizes.
                    let close = |have: f64, want: f64, size: f64| {
                        assert!((have - want).abs() < 3e-6 * (1.0 + size), "{} {have} {want}", kernel.name());
                    };
                    close(f64::from(row[t]), gram.at(140, t), gram.at(140, t).abs());
                    let terms = beta.map(|(i, w)| w * gram.at(i, t));
                    close(combined[t], terms.iter().sum(), terms.iter().map(|t| t.abs()).sum());
                    close(source.diagonal()[t], gram.at(t, t), gram.at(t, t).abs());
                }
                assert!(row[150..].iter().all(|&v| v == 0.0));
                let part = source.subset(&[2, 77, 149]);
                let mut row = vec![9.0f32; 64];
                part.row(1, &mut row);
                for (new, old) in [2, 77, 149].into_iter().enumerate() {
                    assert!((f64::from(row[new]) - gram.at(77, old)).abs() < 3e-6 * (1.0 + gram.at(77, old).abs()));
                }
            }
        }
    }

    #[test]
    fn kernel_values_too_large_for_the_cache_are_refused() {
        let x = Points::from(Matrix::from_fn(3, 1, |i, _| 1e8 * (i as f64 + 1.0)));
        let error = rows_of(&Kernel::named("polynomial", 1.0, 3, 0.0).unwrap(), &x, 1e-3).err().unwrap();
        assert!(error.to_string().contains("scale the data"), "{error}");
    }
}
