//! The outputs of a chunk of rows, by the fastest method that the kernel allows.
//!
//! - Gaussian: distances, exponentials and sums stay in registers ([`fused`](crate::kernel)); several outputs share the exponentials.
//! - Linear: all vectors collapse to one for each output.
//! - Every other kernel, sparse rows of many features, and numbers near overflow: tiles of the kernel block that stay in cache.
use std::sync::OnceLock;

use super::{
    Coefficients, Expansion, Pairwise,
    input::{Input, MANY_FEATURES, Mapped, Spare},
};
use crate::{
    data::Points,
    kernel::{
        Kernel,
        block::{Columns, Scratch},
        fused::{Packed, RowSource, Rows},
        simd::SimdReal,
    },
    linalg::{Matrix, Product, Real, dot},
};

/// Up to this many outputs are summed in registers; more go through a matrix product.
const FEW_OUTPUTS: usize = 4;

/// Vectors of one tile of the kernel block.
const TILE: usize = 256;

/// Linear machines collapse when the collapsed form has at most this many numbers, or no more than the vectors.
const COLLAPSED: usize = 1 << 24;

/// Work space that is reused from chunk to chunk: after the first row of its kind nothing is allocated.
#[derive(Debug, Default)]
pub struct Work {
    double: Buffers<f64>,
    single: Buffers<f32>,
    scratch: Scratch,
    spare: Spare,
    pub(super) mapped: Mapped,
}

#[derive(Debug, Default)]
struct Buffers<R> {
    rows: Rows<R>,
    values: Vec<R>,
    sums: Vec<R>,
}

/// An expansion made ready to give outputs.
#[derive(Debug)]
pub(super) struct Evaluator {
    expansion: Expansion,
    form: Form,
    /// The form that always works, made when it is first needed.
    blocks: OnceLock<(Columns, Mixer<f64>)>,
}

#[derive(Debug)]
enum Form {
    Double(Fused<f64>),
    Single(Fused<f32>),
    /// One row of weights for each output.
    Linear(Matrix),
    Blocks,
}

impl Evaluator {
    /// In double precision.
    pub fn double(expansion: &Expansion) -> Self {
        let form = match &expansion.kernel {
            Kernel::Gaussian(g) => Fused::new(g.gamma, expansion).map_or(Form::Blocks, Form::Double),
            Kernel::Linear(_) | Kernel::Precomputed(_) => collapse(expansion).map_or(Form::Blocks, Form::Linear),
            _ => Form::Blocks,
        };
        Evaluator { expansion: expansion.clone(), form, blocks: OnceLock::new() }
    }

    /// In single precision where the kernel has such a form, else in double.
    pub fn single(expansion: &Expansion) -> Self {
        let fused = match &expansion.kernel {
            Kernel::Gaussian(g) => Fused::new(g.gamma, expansion),
            _ => None,
        };
        match fused {
            Some(fused) => Evaluator { expansion: expansion.clone(), form: Form::Single(fused), blocks: OnceLock::new() },
            None => Evaluator::double(expansion),
        }
    }

    /// Adds the outputs of `count` rows to `out`. True where it is known from the sums of their squares that all numbers of the rows are finite.
    pub fn add(&self, input: &Input, count: usize, out: &mut [f64], work: &mut Work) -> bool {
        let dim = self.expansion.vectors.dim();
        let done = match &self.form {
            Form::Double(fused) if !input.is_wide_and_sparse(dim) => fused.add(input, count, out, &mut work.double),
            Form::Single(fused) if !input.is_wide_and_sparse(dim) => fused.add(input, count, out, &mut work.single),
            Form::Linear(weights) if !input.is_wide_and_sparse(dim) => {
                add_linear(weights, input, count, out, &mut work.double);
                true
            }
            _ => false,
        };
        if !done {
            self.add_blocks(input, count, out, work);
        }
        let squares = match &self.form {
            Form::Double(_) => work.double.rows.are_finite(),
            Form::Single(_) => work.single.rows.are_finite(),
            _ => false,
        };
        done && squares && input.lying(dim).is_some()
    }

    fn add_blocks(&self, input: &Input, count: usize, out: &mut [f64], work: &mut Work) {
        let Expansion { kernel, vectors, coefficients } = &self.expansion;
        let (columns, mixer) = self.blocks.get_or_init(|| (Columns::new(kernel, vectors), Mixer::new(coefficients, vectors.len())));
        let points = input.points(count, vectors.dim(), &mut work.spare);
        let Buffers { values, sums, .. } = &mut work.double;
        mixer.start(count, sums);
        for first in (0..vectors.len()).step_by(TILE) {
            let tile = first..vectors.len().min(first + TILE);
            values.resize(count * tile.len(), 0.0);
            columns.fill_part(&points, 0..count, tile.clone(), values, &mut work.scratch);
            mixer.add(values, tile, count, sums);
        }
        mixer.finish(sums, count, out);
        if let Points::F64(rows) = points {
            work.spare.rows = rows.into_values();
        }
    }
}

/// A Gaussian expansion in registers.
#[derive(Debug)]
struct Fused<R> {
    packed: Packed<R>,
    outputs: FusedOutputs<R>,
}

#[derive(Debug)]
enum FusedOutputs<R> {
    /// A run of coefficients for each output.
    Few(Vec<R>),
    Many(Mixer<R>),
}

impl<R: SimdReal> Fused<R> {
    fn new(gamma: f64, expansion: &Expansion) -> Option<Self> {
        if expansion.vectors.is_sparse() && expansion.vectors.dim() > MANY_FEATURES {
            return None;
        }
        let packed = Packed::new(gamma, &expansion.vectors)?;
        let outputs = match &expansion.coefficients {
            Coefficients::Dense(matrix) if matrix.cols() <= FEW_OUTPUTS => {
                let mut runs = vec![R::default(); matrix.cols() * packed.lanes()];
                for (k, run) in runs.chunks_exact_mut(packed.lanes().max(1)).enumerate() {
                    run.iter_mut().zip(matrix.iter()).for_each(|(to, row)| *to = R::from_f64(row[k]));
                }
                FusedOutputs::Few(runs)
            }
            other => FusedOutputs::Many(Mixer::new(other, packed.lanes())),
        };
        Some(Fused { packed, outputs })
    }

    /// Adds the outputs; false, and nothing added, where a row is too large.
    fn add(&self, input: &Input, count: usize, out: &mut [f64], work: &mut Buffers<R>) -> bool {
        let Buffers { rows, values, sums } = work;
        if !self.packed.take_rows(count, input, rows) {
            return false;
        }
        match &self.outputs {
            FusedOutputs::Few(runs) => self.packed.sums(runs, rows, input.ahead(count, self.packed.dim()), out),
            FusedOutputs::Many(mixer) => {
                mixer.start(count, sums);
                let mut ahead = input.ahead(count, self.packed.dim());
                for first in (0..self.packed.lanes()).step_by(self.packed.tile()) {
                    let tile = first..self.packed.lanes().min(first + self.packed.tile());
                    values.resize(count * tile.len(), R::default());
                    self.packed.values(tile.clone(), rows, std::mem::take(&mut ahead), values);
                    mixer.add(values, tile, count, sums);
                }
                mixer.finish(sums, count, out);
            }
        }
        true
    }
}

/// Mixes kernel values into outputs by matrix products.
///
/// One-vs-one coefficients stay in their compact layout: with S_c the sums over the vectors of class c, output (a, b) is S_a[b - 1] + S_b[a].
#[derive(Debug)]
struct Mixer<R> {
    /// One row for each vector, zeros behind the last.
    coefficients: Vec<R>,
    width: usize,
    /// One group for dense coefficients, one for each class of one-vs-one.
    starts: Vec<usize>,
    pairwise: bool,
}

impl<R: Real> Mixer<R> {
    fn new(coefficients: &Coefficients, lanes: usize) -> Self {
        let stored = coefficients.stored();
        let mut values: Vec<R> = stored.values().iter().map(|&v| R::from_f64(v)).collect();
        values.resize(lanes * stored.cols(), R::default());
        let (starts, pairwise) = match coefficients {
            Coefficients::Dense(_) => (vec![0, lanes], false),
            Coefficients::Pairwise(p) => (p.starts.clone(), true),
        };
        Mixer { coefficients: values, width: stored.cols(), starts, pairwise }
    }

    fn groups(&self) -> usize {
        self.starts.len() - 1
    }

    /// Resets the sums of each group to zero.
    fn start(&self, count: usize, sums: &mut Vec<R>) {
        sums.clear();
        sums.resize(self.groups() * count * self.width, R::default());
    }

    /// Adds the part of the vectors `tile`, whose kernel values stand in rows of `tile.len()`.
    fn add(&self, values: &[R], tile: std::ops::Range<usize>, count: usize, sums: &mut [R]) {
        for (group, sums) in sums.chunks_exact_mut((count * self.width).max(1)).enumerate() {
            let (from, to) = (self.starts[group].max(tile.start), self.starts[group + 1].min(tile.end));
            if from < to {
                let (a, b) = (&values[from - tile.start..], &self.coefficients[from * self.width..to * self.width]);
                R::add_product(Product { a, stride: tile.len(), inner: to - from, b, cols: self.width }, sums);
            }
        }
    }

    /// Adds the finished sums to the outputs.
    fn finish(&self, sums: &[R], count: usize, out: &mut [f64]) {
        if !self.pairwise {
            out.iter_mut().zip(sums).for_each(|(out, sum)| *out += sum.to_f64());
            return;
        }
        let classes = self.groups();
        let sum = |class: usize, i: usize, column: usize| sums[(class * count + i) * self.width + column].to_f64();
        for (i, row) in out.chunks_exact_mut(classes * self.width / 2).enumerate() {
            for (f, (a, b)) in row.iter_mut().zip(Pairwise::pairs(classes)) {
                *f += sum(a, i, b - 1) + sum(b, i, a);
            }
        }
    }
}

/// w_k = sum_j coefficients_jk z_j, one row for each output; None where that would be larger than the vectors and large.
fn collapse(expansion: &Expansion) -> Option<Matrix> {
    let (m, dim, outputs) = (expansion.vectors.len(), expansion.vectors.dim(), expansion.coefficients.n_outputs());
    let size = dim.checked_mul(outputs)?;
    let stored = match &expansion.vectors {
        Points::Sparse(rows) => rows.stored(),
        _ => m * dim,
    };
    if size > COLLAPSED.max(stored) {
        return None;
    }
    let coefficients = expansion.coefficients.to_dense();
    let mut weights = Matrix::zeros(outputs, dim);
    let mut vector = vec![0.0; dim];
    for j in 0..m {
        expansion.vectors.copy_rows(j..j + 1, dim, &mut vector);
        for k in 0..outputs {
            let coefficient = coefficients.at(j, k);
            weights.row_mut(k).iter_mut().zip(&vector).for_each(|(w, z)| *w += coefficient * z);
        }
    }
    Some(weights)
}

fn add_linear(weights: &Matrix, input: &Input, count: usize, out: &mut [f64], work: &mut Buffers<f64>) {
    let row = &mut work.values;
    row.resize(weights.cols(), 0.0);
    for (i, out) in (0..count).zip(out.chunks_exact_mut(weights.rows().max(1))) {
        let (row, _) = input.row(i, row);
        out.iter_mut().zip(weights.iter()).for_each(|(out, weights)| *out += dot(row, weights));
    }
}
