//! Sparse points: a kernel row is a pass over all stored values against one point spread out.
use std::sync::Arc;

use rayon::prelude::*;

use super::{
    RowSource,
    packed::{GROUP, PanelReal},
    scan::LANES,
};
use crate::{
    data::{Csr, Points},
    kernel::{
        Argument, Kernel, block,
        simd::{self, Job},
    },
};

/// Columns computed by one unit of work.
const CHUNK: usize = GROUP * LANES;

/// Kernel rows of sparse points: of all points, in the columns of some.
pub(super) struct SparseRows<R> {
    kernel: Kernel,
    all: Arc<Stored<R>>,
    columns: Arc<Stored<R>>,
}

/// Sparse points in the precision they are computed with, and their squared norms.
struct Stored<R> {
    rows: Csr,
    values: Vec<R>,
    norms: Vec<R>,
}

impl<R: PanelReal> Stored<R> {
    fn new(rows: Csr) -> Arc<Self> {
        let norms = Points::Sparse(rows.clone()).squared_norms().into_iter().map(R::from_f64).collect();
        let values = rows.parts().2.iter().map(|&value| R::from_f64(value)).collect();
        Arc::new(Stored { rows, values, norms })
    }

    fn row(&self, i: usize) -> (&[u32], &[R]) {
        let (starts, columns, _) = self.rows.parts();
        let range = starts[i]..starts[i + 1];
        (&columns[range.clone()], &self.values[range])
    }
}

impl<R: PanelReal> SparseRows<R> {
    pub fn new(kernel: &Kernel, rows: &Csr) -> Self {
        let all = Stored::new(rows.clone());
        SparseRows { kernel: kernel.clone(), columns: all.clone(), all }
    }

    fn spread(&self, i: usize) -> Vec<R> {
        let mut x = vec![R::default(); self.all.rows.dim()];
        let (columns, values) = self.all.row(i);
        columns.iter().zip(values).for_each(|(&c, &v)| x[c as usize] = v);
        x
    }

    /// Kernel values of columns `first..` against the spread point `x`.
    fn fill(&self, x: &[R], norm: R, first: usize, out: &mut [f32]) {
        let mut dots = [R::default(); CHUNK];
        let dots = &mut dots[..out.len()];
        for (j, dot) in dots.iter_mut().enumerate() {
            let (columns, values) = self.columns.row(first + j);
            for (&c, &v) in columns.iter().zip(values) {
                *dot = R::multiply_add::<false>(x[c as usize], v, *dot);
            }
        }
        let norms = &self.columns.norms[first..first + out.len()];
        if let Kernel::Gaussian(gaussian) = &self.kernel {
            return simd::run(Finish { dots, norms, norm, gamma: R::from_f64(gaussian.gamma), out });
        }
        let profile = self.kernel.profile();
        let mut arguments = [0.0; CHUNK];
        let arguments = &mut arguments[..out.len()];
        for ((argument, dot), other) in arguments.iter_mut().zip(&*dots).zip(norms) {
            *argument = match profile.argument() {
                Argument::SquaredDistance => (norm.to_f64() + other.to_f64() - 2.0 * dot.to_f64()).max(0.0),
                Argument::DotProduct => dot.to_f64(),
            };
        }
        profile.values(arguments);
        out.iter_mut().zip(arguments).for_each(|(out, value)| *out = *value as f32);
    }
}

impl<R: PanelReal> RowSource for SparseRows<R> {
    fn len(&self) -> usize {
        self.columns.rows.len()
    }

    fn diagonal(&self) -> Vec<f64> {
        block::diagonal(&self.kernel, &Points::Sparse(self.columns.rows.clone()))
    }

    fn row(&self, i: usize, out: &mut [f32]) -> u64 {
        let (x, n) = (self.spread(i), self.len());
        let fill = |(c, out): (usize, &mut [f32])| self.fill(&x, self.all.norms[i], c * CHUNK, out);
        out[..n].par_chunks_mut(CHUNK).enumerate().for_each(fill);
        out[n..].fill(0.0);
        n as u64
    }

    fn columns(&self, keep: &[usize]) -> Box<dyn RowSource> {
        let columns = Stored::new(self.columns.rows.select(keep));
        Box::new(SparseRows { kernel: self.kernel.clone(), all: self.all.clone(), columns })
    }
}

/// Gaussian values from dot products.
struct Finish<'a, R> {
    dots: &'a [R],
    norms: &'a [R],
    norm: R,
    gamma: R,
    out: &'a mut [f32],
}

impl<R: PanelReal> Job for Finish<'_, R> {
    type Output = ();
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        for ((out, dot), other) in self.out.iter_mut().zip(self.dots).zip(self.norms) {
            *out = R::gaussian::<FMA>(*dot, self.norm, *other, self.gamma);
        }
    }
}
