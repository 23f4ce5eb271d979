//! Dense points packed so that a kernel row is a run of multiply-adds.
use std::sync::Arc;

use crate::parallel::*;

use super::{RowSource, scan::LANES};
use crate::{
    data::Points,
    kernel::{
        Argument, Kernel, Profile,
        exp::{exp, exp_f32},
        simd::{self, Job, multiply_add, multiply_add_f32},
    },
    linalg::{Real, dot},
};

/// Points less their mean, where only distances matter: then these keep their digits however far the data lie from the origin.
pub(super) struct Centred<'a> {
    points: &'a Points,
    centre: Vec<f64>,
    /// |x|^2 of every row, less the centre.
    pub norms: Vec<f64>,
}

impl<'a> Centred<'a> {
    /// Less the mean, or as they are.
    pub fn new(points: &'a Points, by_mean: bool) -> Self {
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
struct Panels<R> {
    len: usize,
    dim: usize,
    values: Vec<R>,
    /// |x|^2 of every point, less the common centre.
    norms: Vec<R>,
}

/// Kernel rows of packed points: of all points, in the columns of some.
pub(super) struct Packed<R> {
    kernel: Kernel,
    argument: Argument,
    all: Arc<Panels<R>>,
    columns: Arc<Panels<R>>,
}

/// What the packed rows need of a number type.
pub(super) trait PanelReal: Real {
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

impl<R: PanelReal> Panels<R> {
    fn empty(len: usize, dim: usize) -> Self {
        let padded = len.next_multiple_of(LANES);
        Panels { len, dim, values: vec![R::default(); padded * dim], norms: vec![R::default(); padded] }
    }

    fn new(centred: &Centred) -> Self {
        let dim = centred.centre.len();
        let mut panels = Panels::empty(centred.norms.len(), dim);
        let mut rows = vec![0.0; LANES * dim];
        for first in (0..panels.len).step_by(LANES) {
            let count = LANES.min(panels.len - first);
            centred.copy_rows(first..first + count, &mut rows[..count * dim]);
            let panel = &mut panels.values[first * dim..(first + LANES) * dim];
            for (lane, row) in rows[..count * dim].chunks_exact(dim.max(1)).enumerate() {
                row.iter().enumerate().for_each(|(k, v)| panel[k * LANES + lane] = R::from_f64(*v));
            }
        }
        panels.norms.iter_mut().zip(&centred.norms).for_each(|(to, from)| *to = R::from_f64(*from));
        panels
    }

    fn place(&self, i: usize, k: usize) -> usize {
        (i / LANES * self.dim + k) * LANES + i % LANES
    }

    fn point(&self, i: usize) -> Vec<R> {
        (0..self.dim).map(|k| self.values[self.place(i, k)]).collect()
    }

    fn select(&self, keep: &[usize]) -> Self {
        let mut panels = Panels::empty(keep.len(), self.dim);
        for (new, &old) in keep.iter().enumerate() {
            panels.norms[new] = self.norms[old];
            for k in 0..self.dim {
                let place = panels.place(new, k);
                panels.values[place] = self.values[self.place(old, k)];
            }
        }
        panels
    }
}

impl<R: PanelReal> Packed<R> {
    /// Packs the points.
    pub fn new(kernel: &Kernel, centred: &Centred) -> Self {
        let all = Arc::new(Panels::new(centred));
        Packed { kernel: kernel.clone(), argument: kernel.profile().argument(), columns: all.clone(), all }
    }

    /// Row `x` of the kernel matrix for the panels from `first` on.
    fn fill(&self, x: &[R], norm: R, first: usize, out: &mut [f32]) {
        let panels = &self.columns.values[first * self.columns.dim * LANES..];
        let norms = &self.columns.norms[first * LANES..];
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
pub(super) const GROUP: usize = 16;

/// Numbers of packed points that stay in the processor's cache while several rows use them.
const PANEL_NUMBERS: usize = 1 << 15;

/// Multiply-adds above which a row is worth sharing among threads.
const WORTH_SHARING: usize = 1 << 20;

impl<R: PanelReal> RowSource for Packed<R> {
    fn len(&self) -> usize {
        self.columns.len
    }

    fn diagonal(&self) -> Vec<f64> {
        let profile = self.kernel.profile();
        let argument = |norm: &R| if self.argument == Argument::SquaredDistance { 0.0 } else { norm.to_f64() };
        self.columns.norms[..self.len()].iter().map(|norm| profile.value(argument(norm))).collect()
    }

    fn row(&self, i: usize, out: &mut [f32]) -> u64 {
        let (x, norm) = (self.all.point(i), self.all.norms[i]);
        let out = &mut out[..self.columns.norms.len()];
        if self.columns.values.len() < WORTH_SHARING || current_num_threads() == 1 {
            self.fill(&x, norm, 0, out);
        } else {
            out.par_chunks_mut(GROUP * LANES).enumerate().for_each(|(g, out)| self.fill(&x, norm, g * GROUP, out));
        }
        out[self.len()..].fill(0.0);
        self.len() as u64
    }

    /// Panel by panel for all rows, so that points that do not fit the processor's cache are fetched once for all of them.
    fn block(&self, rows: &[usize], out: &mut [f32]) -> u64 {
        let panels = (PANEL_NUMBERS / (LANES * self.columns.dim.max(1))).max(1);
        let width = out.len() / rows.len().max(1);
        let points: Vec<Vec<R>> = rows.iter().map(|&i| self.all.point(i)).collect();
        for first in (0..self.columns.norms.len() / LANES).step_by(panels) {
            let end = self.columns.norms.len().min((first + panels) * LANES);
            for ((x, &i), out) in points.iter().zip(rows).zip(out.chunks_exact_mut(width)) {
                self.fill(x, self.all.norms[i], first, &mut out[first * LANES..end]);
            }
        }
        out.chunks_exact_mut(width.max(1)).for_each(|out| out[self.len()..].fill(0.0));
        (self.len() * rows.len()) as u64
    }

    fn columns(&self, keep: &[usize]) -> Box<dyn RowSource> {
        let columns = Arc::new(self.columns.select(keep));
        Box::new(Packed { kernel: self.kernel.clone(), argument: self.argument, all: self.all.clone(), columns })
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
