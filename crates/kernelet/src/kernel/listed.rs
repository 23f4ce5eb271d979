//! Sums of Gaussian kernel values over some of the vectors, any of them, for any rows.
//!
//! Vectors and rows lie as they are, and a register holds features of one of them, so that nothing is copied for a choice of vectors and none but these is
//! evaluated: a product x.z is summed in the lanes of a register, and the lanes of four registers are added at once. That takes some ten instructions a value more
//! than panels do ([`fused`](super::fused)), which must be packed for each choice. The bits of a sum depend on its row and its vectors alone.
use std::ops::Range;

use super::{
    fused::{Aligned, NOTHING, RowSource, Rows},
    fused_rows::{AddLanes, Origin},
    fused_walk::for_each_row,
    simd::{self, Isa, SimdReal, Vector, VectorJob},
};
use crate::data::Points;

/// Vectors that meet all rows before the next ones do: with those that choices have left of the last ones they fit the first-level cache.
const SPAN: usize = 8;

/// Vectors of a row that are worked on together are a multiple of this, and whole registers.
const GROUP: usize = 8;

/// More than the most of them in a block: those of a span, and those left of the ones before.
const BLOCK: usize = 32;

/// Vectors one after another.
#[derive(Debug)]
pub(crate) struct Listed<R> {
    isa: Isa,
    origin: Origin,
    /// Numbers from vector to vector: whole registers.
    stride: usize,
    vectors: Aligned<R>,
    starts: Vec<R>,
}

/// Choices of vectors for some rows each, with a run of coefficients for each output.
#[derive(Debug, Default)]
pub(crate) struct Chosen<R> {
    choices: Vec<Choice>,
    vectors: Vec<usize>,
    /// Of the vectors of each choice, and a register of padding.
    starts: Vec<R>,
    /// Runs of the same length.
    coefficients: Vec<R>,
    sums: usize,
}

#[derive(Debug)]
struct Choice {
    /// Where the vectors lie, of which some are done.
    vectors: Range<usize>,
    starts: usize,
    /// How far the runs of coefficients are apart.
    lanes: usize,
    coefficients: usize,
    outputs: usize,
    rows: Range<usize>,
    sums: usize,
}

impl<R> Chosen<R> {
    /// Takes the choices away.
    pub fn clear(&mut self) {
        self.choices.clear();
        self.vectors.clear();
        self.starts.clear();
        self.coefficients.clear();
        self.sums = 0;
    }
}

impl<R: SimdReal> Listed<R> {
    /// None where numbers are so large that differences of exponents lose their digits.
    pub fn new(gamma: f64, vectors: &Points) -> Option<Self> {
        Listed::for_isa(gamma, vectors, Isa::detect())
    }

    fn for_isa(gamma: f64, vectors: &Points, isa: Isa) -> Option<Self> {
        let (len, dim) = (vectors.len(), vectors.dim());
        let stride = dim.next_multiple_of(simd::width::<R>(isa));
        let (origin, mut lying, mut starts) = (Origin::of(gamma, vectors), Aligned::zeros(len * stride), vec![]);
        let mut row = vec![0.0; dim];
        for (j, to) in (0..len).zip(lying.slice_mut().chunks_exact_mut(stride.max(1))) {
            vectors.copy_rows(j..j + 1, dim, &mut row);
            starts.push(origin.take_vector(&row, |k, value| to[k] = value)?);
        }
        Some(Listed { isa, origin, stride, vectors: lying, starts })
    }

    /// Features of a vector.
    pub fn dim(&self) -> usize {
        self.origin.dim()
    }

    /// Takes up the first `count` rows of a source. False where a row is too large for the fast path.
    pub fn take_rows(&self, count: usize, source: &impl RowSource, rows: &mut Rows<R>) -> bool {
        self.origin.take_rows(count, self.stride, source, rows)
    }

    /// Adds a choice of vectors, which are added to a list in ascending order, for some rows, with their coefficients of some outputs. Returns how many there are.
    pub fn choose(
        &self,
        vectors: impl FnOnce(&mut Vec<usize>),
        rows: Range<usize>,
        outputs: usize,
        coefficient: impl Fn(usize, usize) -> f64,
        chosen: &mut Chosen<R>,
    ) -> usize {
        let Chosen { choices, vectors: all, starts, coefficients, sums } = chosen;
        let first = all.len();
        vectors(all);
        let (width, own) = (simd::width::<R>(self.isa), &all[first..]);
        let choice = Choice {
            vectors: first..all.len(),
            starts: starts.len(),
            lanes: own.len() + width,
            coefficients: coefficients.len(),
            outputs,
            rows: rows.clone(),
            sums: *sums,
        };
        starts.extend(own.iter().map(|&j| self.starts[j]));
        starts.resize(choice.starts + choice.lanes, R::from_f64(NOTHING));
        for output in 0..outputs {
            coefficients.extend(own.iter().map(|&j| R::from_f64(coefficient(j, output))));
            coefficients.resize(choice.coefficients + (output + 1) * choice.lanes, R::default());
        }
        *sums += rows.len() * outputs;
        choices.push(choice);
        own.len()
    }

    /// For the rows and outputs of each choice the sums of coefficients times kernel values, written to `out`.
    pub fn sums(&self, chosen: &mut Chosen<R>, rows: &mut Rows<R>, out: &mut Vec<f64>) {
        let width = simd::width::<R>(self.isa);
        let mut lanes = std::mem::take(&mut rows.lanes);
        lanes.clear();
        lanes.resize(chosen.sums * width, R::default());
        out.clear();
        out.resize(chosen.sums, 0.0);
        let Chosen { choices, vectors, starts, coefficients, .. } = chosen;
        R::run_vectors(self.isa, Walk { listed: self, choices, vectors, starts, coefficients, rows, lanes: &mut lanes });
        R::run_vectors(self.isa, AddLanes { lanes: &lanes, out });
        rows.lanes = lanes;
    }
}

/// Walks over blocks of vectors and rows.
struct Walk<'a, R> {
    listed: &'a Listed<R>,
    choices: &'a mut [Choice],
    vectors: &'a [usize],
    starts: &'a [R],
    coefficients: &'a [R],
    rows: &'a Rows<R>,
    /// One register for each sum.
    lanes: &'a mut [R],
}

/// Vectors of a choice that follow one another in it, with their starts and the first run of their coefficients.
struct Block<'a, R> {
    vectors: &'a [usize],
    starts: &'a [R],
    coefficients: &'a [R],
    lanes: usize,
    outputs: usize,
}

impl<R: SimdReal> VectorJob<R> for Walk<'_, R> {
    #[inline(always)]
    fn run<V: Vector<Real = R>, const ROWS: usize, const COLS: usize>(self) {
        let Walk { listed, choices, vectors, starts, coefficients, rows, lanes } = self;
        let next = |choice: &Choice| vectors[choice.vectors.clone()].first().copied();
        let mut end = choices.iter().filter_map(next).min().unwrap_or(0);
        while choices.iter().any(|choice| !choice.vectors.is_empty()) {
            end += SPAN;
            for choice in choices.iter_mut() {
                let left = &vectors[choice.vectors.clone()];
                let within = left.iter().take(BLOCK - 1).take_while(|j| **j < end).count();
                // Whole groups but for the last, so that the bits of a sum do not depend on where blocks end.
                let group = GROUP.max(V::WIDTH);
                let own = &left[..if within == left.len() { within } else { within / group * group }];
                choice.vectors.start += own.len();
                if own.is_empty() {
                    continue;
                }
                let Choice { lanes: apart, outputs, .. } = *choice;
                let block = Block {
                    vectors: own,
                    starts: &starts[choice.starts..],
                    coefficients: &coefficients[choice.coefficients..],
                    lanes: apart,
                    outputs,
                };
                choice.starts += own.len();
                choice.coefficients += own.len();
                let (mut row, last) = (choice.rows.start, choice.rows.end);
                let size = outputs * V::WIDTH;
                let mut sums = &mut lanes[choice.sums * V::WIDTH..][..choice.rows.len() * size];
                // As many products at once as registers hold.
                if ROWS >= 8 {
                    while last - row >= 4 {
                        let (own, others) = std::mem::take(&mut sums).split_at_mut(4 * size);
                        tile::<R, V, 4, 1>(listed, &block, rows, row, own);
                        (row, sums) = (row + 4, others);
                    }
                }
                while last - row >= 2 {
                    let (own, others) = std::mem::take(&mut sums).split_at_mut(2 * size);
                    tile::<R, V, 2, 1>(listed, &block, rows, row, own);
                    (row, sums) = (row + 2, others);
                }
                if row < last {
                    tile::<R, V, 1, 2>(listed, &block, rows, row, sums);
                }
            }
        }
    }
}

/// `ROWS` rows with a block of vectors, four times `FOURS` at once.
///
/// Plain loops over arrays of fixed size: these stay in registers, and closures would not be compiled for the caller's instruction set.
#[inline(always)]
fn tile<R: SimdReal, V: Vector<Real = R>, const ROWS: usize, const FOURS: usize>(
    listed: &Listed<R>,
    block: &Block<R>,
    rows: &Rows<R>,
    row: usize,
    lanes: &mut [R],
) {
    let (stride, count) = (listed.stride, block.vectors.len());
    let mut exponents = [[R::default(); BLOCK]; ROWS];
    let mut x: [&[R]; ROWS] = [&[]; ROWS];
    for r in 0..ROWS {
        x[r] = &rows.values[(row + r) * stride..][..stride];
    }
    for first in (0..count).step_by(4 * FOURS) {
        // Behind the last vector it stands in for others.
        let mut z: [[&[R]; 4]; FOURS] = [[&[]; 4]; FOURS];
        for f in 0..FOURS {
            for v in 0..4 {
                let vector = block.vectors[(first + 4 * f + v).min(count - 1)];
                z[f][v] = &listed.vectors.slice()[vector * stride..][..stride];
            }
        }
        let mut sums = [[[V::splat(R::default()); 4]; FOURS]; ROWS];
        for k in (0..stride).step_by(V::WIDTH) {
            let mut x_lanes = [V::splat(R::default()); ROWS];
            for r in 0..ROWS {
                x_lanes[r] = V::load(&x[r][k..]);
            }
            for f in 0..FOURS {
                for v in 0..4 {
                    let z_lanes = V::load(&z[f][v][k..]);
                    for r in 0..ROWS {
                        sums[r][f][v] = x_lanes[r].multiply_add(z_lanes, sums[r][f][v]);
                    }
                }
            }
        }
        for_each_row!(ROWS, ROW, {
            for f in 0..FOURS {
                V::sums(sums[ROW][f], &mut exponents[ROW][first + 4 * f..]);
            }
        });
    }
    for r in 0..ROWS {
        // Lanes behind the last vector have the power 0.
        exponents[r][count..].fill(R::from_f64(NOTHING));
        let start = V::splat(rows.starts[row + r]);
        let sums = &mut lanes[r * block.outputs * V::WIDTH..][..block.outputs * V::WIDTH];
        for lane in (0..count).step_by(V::WIDTH) {
            let value = V::load(&exponents[r][lane..]).add(V::load(&block.starts[lane..])).add(start).exp2();
            for (output, place) in sums.chunks_exact_mut(V::WIDTH).enumerate() {
                let coefficients = &block.coefficients[output * block.lanes + lane..];
                value.multiply_add(V::load(coefficients), V::load(place)).store(place);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{kernel::Kernel, linalg::Matrix};
    use proptest::prelude::*;

    fn points(n: usize, dim: usize, seed: f64) -> Matrix {
        Matrix::from_fn(n, dim, |i, j| ((i * 37 + j * 11) as f64 * 0.7 + seed).sin())
    }

    fn coefficient(j: usize, output: usize) -> f64 {
        ((3 * j + 5 * output) as f64).cos()
    }

    /// Every third vector, for the rows from `first` on.
    fn sums<R: SimdReal>(listed: &Listed<R>, x: &Matrix, vectors: usize, first: usize, outputs: usize) -> Vec<f64> {
        let (mut rows, mut chosen, mut out) = (Rows::default(), Chosen::default(), vec![]);
        assert!(listed.take_rows(x.rows(), x, &mut rows));
        // Before it a choice of few vectors for the other rows.
        assert_eq!(listed.choose(|all| all.extend(0..vectors.min(2)), 0..first, 1, coefficient, &mut chosen), vectors.min(2));
        assert_eq!(
            listed.choose(|all| all.extend((0..vectors).step_by(3)), first..x.rows(), outputs, coefficient, &mut chosen),
            vectors.div_ceil(3)
        );
        listed.sums(&mut chosen, &mut rows, &mut out);
        out.split_off(first)
    }

    /// Against the naive sum, on every instruction set; errors relative to the sum of the terms' sizes.
    fn check<R: SimdReal>(n: usize, m: usize, dim: usize, outputs: usize, tolerance: f64) {
        let (gamma, x, z) = (0.7 / dim as f64, points(n, dim, 0.1), points(m, dim, 0.5));
        let kernel = Kernel::gaussian(gamma);
        for &isa in Isa::available() {
            let listed = Listed::<R>::for_isa(gamma, &z.clone().into(), isa).unwrap();
            let first = n / 3;
            let have = sums(&listed, &x, m, first, outputs);
            for i in first..n {
                for o in 0..outputs {
                    let term = |j: usize| coefficient(j, o) * kernel.eval(x.row(i), z.row(j));
                    let want: f64 = (0..m).step_by(3).map(term).sum();
                    let size: f64 = (0..m).step_by(3).map(|j| term(j).abs()).sum();
                    let have = have[(i - first) * outputs + o];
                    assert!((have - want).abs() <= tolerance * size, "{isa:?} {n} {m} {dim}: {have} {want}");
                }
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]
        #[test]
        fn any_choice_of_vectors_agrees_with_the_naive_sum(n in 1usize..12, m in 1usize..130, dim in 1usize..40, outputs in 1usize..5) {
            check::<f64>(n, m, dim, outputs, 1e-13);
            check::<f32>(n, m, dim, outputs, 3e-6);
        }
    }

    #[test]
    fn many_features_and_a_row_alone_or_among_others() {
        check::<f64>(9, 70, 784, 2, 1e-13);
        check::<f32>(9, 70, 784, 2, 3e-6);
        let (x, z) = (points(7, 21, 0.1), points(50, 21, 0.5));
        for &isa in Isa::available() {
            let listed = Listed::<f64>::for_isa(0.05, &z.clone().into(), isa).unwrap();
            let all = sums(&listed, &x, 50, 0, 2);
            for i in 0..7 {
                let alone = sums(&listed, &x.select(&[i]), 50, 0, 2);
                assert_eq!(alone, all[2 * i..2 * i + 2], "{isa:?} {i}");
            }
        }
    }

    #[test]
    fn numbers_too_large_for_the_fast_path_are_left_to_the_slow_one() {
        let huge = Matrix::from_fn(2, 1, |i, _| if i == 0 { 1e200 } else { 0.0 });
        assert!(Listed::<f64>::new(1.0, &huge.clone().into()).is_none());
        let listed = Listed::<f64>::new(1.0, &Matrix::from_fn(2, 1, |i, _| i as f64).into()).unwrap();
        assert!(!listed.take_rows(2, &huge, &mut Rows::default()));
    }
}
