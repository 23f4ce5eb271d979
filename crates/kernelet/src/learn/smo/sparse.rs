//! Sparse points: a kernel row is a pass over all stored values against one point spread out.
use std::sync::Arc;

use crate::parallel::*;

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

/// Points side by side in a sheaf.
const SHEAF: usize = 16;

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
    /// The same points side by side, where that does not take much more memory.
    sheaves: Option<Sheaves<R>>,
}

/// Sparse points in sheaves: the first stored value of each point, then the second of each, and so on. Short points are filled up with
/// zeros. The sums of a sheaf do not wait for one another, and no branch has to be guessed.
struct Sheaves<R> {
    /// Sheaf s owns the slots `starts[s]..starts[s + 1]`, each as many numbers as it has points.
    starts: Vec<usize>,
    columns: Vec<u16>,
    values: Vec<R>,
}

impl<R: PanelReal> Sheaves<R> {
    /// None where columns do not fit 16 bits, or where filling up would double the work.
    fn of(rows: &Csr) -> Option<Self> {
        if rows.dim() > 1 << 16 {
            return None;
        }
        let lengths: Vec<usize> = (0..rows.len()).map(|i| rows.row(i).0.len()).collect();
        let mut sheaves = Sheaves { starts: vec![0], columns: vec![], values: vec![] };
        let slots: usize = lengths.chunks(SHEAF).map(|lengths| lengths.iter().copied().max().unwrap_or(0)).sum();
        if slots * SHEAF > 2 * (rows.parts().2.len() + SHEAF) {
            return None;
        }
        for (s, lengths) in lengths.chunks(SHEAF).enumerate() {
            let (from, longest) = (sheaves.values.len(), lengths.iter().copied().max().unwrap_or(0));
            sheaves.columns.resize(from + longest * SHEAF, 0);
            sheaves.values.resize(from + longest * SHEAF, R::default());
            for lane in 0..lengths.len() {
                let (columns, values) = rows.row(s * SHEAF + lane);
                for (slot, (&column, &value)) in columns.iter().zip(values).enumerate() {
                    sheaves.columns[from + slot * SHEAF + lane] = column as u16;
                    sheaves.values[from + slot * SHEAF + lane] = R::from_f64(value);
                }
            }
            sheaves.starts.push(sheaves.values.len() / SHEAF);
        }
        Some(sheaves)
    }
}

impl<R: PanelReal> Stored<R> {
    fn new(rows: Csr) -> Arc<Self> {
        let norms = Points::Sparse(rows.clone()).squared_norms().into_iter().map(R::from_f64).collect();
        let values = rows.parts().2.iter().map(|&value| R::from_f64(value)).collect();
        Arc::new(Stored { sheaves: Sheaves::of(&rows), rows, values, norms })
    }

    fn row(&self, i: usize) -> (&[u32], &[R]) {
        let (starts, columns, _) = self.rows.parts();
        let range = starts[i]..starts[i + 1];
        (&columns[range.clone()], &self.values[range])
    }

    /// The dot products of points `first..` with the spread point `x`; `first` is a multiple of a sheaf.
    fn dots(&self, x: &[R], first: usize, out: &mut [R]) {
        if let Some(sheaves) = &self.sheaves {
            // The length of the spread point is known to the compiler, so that no index has to be checked.
            return match (x.first_chunk(), x.first_chunk()) {
                (_, Some(x)) => simd::run(SheafDots::<R, LARGE> { sheaves, x, first: first / SHEAF, out }),
                (Some(x), None) => simd::run(SheafDots::<R, SMALL> { sheaves, x, first: first / SHEAF, out }),
                (None, None) => {}
            };
        }
        for (j, dot) in out.iter_mut().enumerate() {
            let (columns, values) = self.row(first + j);
            *dot = columns.iter().zip(values).fold(R::default(), |sum, (&c, &v)| R::multiply_add::<false>(x[c as usize], v, sum));
        }
    }
}

/// The length of the spread point where it has few features, and where it has many.
const SMALL: usize = 1 << 10;
const LARGE: usize = 1 << 16;

impl<R: PanelReal> SparseRows<R> {
    pub fn new(kernel: &Kernel, rows: &Csr) -> Self {
        let all = Stored::new(rows.clone());
        SparseRows { kernel: kernel.clone(), columns: all.clone(), all }
    }

    fn spread(&self, i: usize) -> Vec<R> {
        let dim = self.all.rows.dim();
        let len = if dim <= SMALL { SMALL } else { dim.max(LARGE) };
        let mut x = vec![R::default(); len];
        let (columns, values) = self.all.row(i);
        columns.iter().zip(values).for_each(|(&c, &v)| x[c as usize] = v);
        x
    }

    /// Kernel values of columns `first..` against the spread point `x`.
    fn fill(&self, x: &[R], norm: R, first: usize, out: &mut [f32]) {
        let mut dots = [R::default(); CHUNK];
        let dots = &mut dots[..out.len()];
        self.columns.dots(x, first, dots);
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

struct SheafDots<'a, R, const LEN: usize> {
    sheaves: &'a Sheaves<R>,
    x: &'a [R; LEN],
    first: usize,
    out: &'a mut [R],
}

impl<R: PanelReal, const LEN: usize> Job for SheafDots<'_, R, LEN> {
    type Output = ();
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let Sheaves { starts, columns, values } = self.sheaves;
        let (columns, values) = (columns.as_chunks::<SHEAF>().0, values.as_chunks::<SHEAF>().0);
        for (out, ends) in self.out.chunks_mut(SHEAF).zip(starts[self.first..].windows(2)) {
            let mut sums = [R::default(); SHEAF];
            for (columns, values) in columns[ends[0]..ends[1]].iter().zip(&values[ends[0]..ends[1]]) {
                for l in 0..SHEAF {
                    let x = self.x[columns[l] as usize & (LEN - 1)];
                    sums[l] = R::multiply_add::<FMA>(x, values[l], sums[l]);
                }
            }
            out.copy_from_slice(&sums[..out.len()]);
        }
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
