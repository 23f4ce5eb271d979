//! Gaussian kernel values without a kernel matrix: distances, exponentials and sums stay in vector registers.
//!
//! Vectors are packed once: panels of a few registers side by side, feature by feature, scaled by `2 gamma log2(e)`. An accumulator
//! starts at `-gamma log2(e) (|x|^2 + |z|^2)`, takes one multiply-add for each feature and then holds the exponent of k(x, z) in base 2.
//! Its power of two is multiplied by the coefficients at once ([`Packed::sums`]) or written to a tile that stays in cache
//! ([`Packed::values`]). Rows and vectors are measured from the vectors' mean, so that single precision keeps its digits far from the origin.
//!
//! Cost of a value: d + 10 multiply-adds in double and d + 6 in single precision, and a few instructions more.
use std::ops::Range;

use super::simd::{self, Isa, Job, PANEL, SimdReal, Vector, VectorJob, multiply_add};
use crate::{data::Points, linalg::Real};

/// Rows that are worked on together: with a panel they fit the second-level cache.
pub(crate) const ROWS: usize = 96;

/// Panels of one tile of [`Packed::values`].
const TILE_PANELS: usize = 8;

/// Features after which accumulators are put aside, so that rows and panels stay in cache when there are many features.
const FEATURES_AT_ONCE: usize = 800;

/// Rows with exponents beyond this are left to the slow path: squares of such numbers may overflow.
const LARGEST_EXPONENT: f64 = 1e30;

/// Vectors with exponents beyond this are left to the slow path: the difference of such numbers has lost the digits that a kernel value is made of, and
/// may even be above zero. Within it values are good to 1e-6 in double precision and to a hundredth in single. Rows far from such vectors have
/// values of zero in any case.
fn largest_exponent<R: Real>() -> f64 {
    if size_of::<R>() < size_of::<f64>() { 1e5 } else { 1e9 }
}

/// The exponent of lanes behind the last vector: their power is 0.
const NOTHING: f64 = -1e30;

/// Vectors packed for one instruction set.
#[derive(Debug)]
pub(crate) struct Packed<R> {
    isa: Isa,
    dim: usize,
    /// gamma log2(e).
    rate: f64,
    centre: Vec<f64>,
    panels: Aligned<R>,
    /// Where the accumulator of each vector starts: -rate |z|^2.
    starts: Vec<R>,
}

/// Numbers that begin at a cache line, so that no register is loaded from two of them.
#[derive(Debug)]
struct Aligned<R> {
    values: Vec<R>,
    start: usize,
    len: usize,
}

impl<R: Real> Aligned<R> {
    fn zeros(len: usize) -> Self {
        const LINE: usize = 64;
        let values = vec![R::default(); len + LINE / size_of::<R>()];
        let start = values.as_ptr().align_offset(LINE).min(LINE / size_of::<R>());
        Aligned { values, start, len }
    }

    fn slice(&self) -> &[R] {
        &self.values[self.start..self.start + self.len]
    }

    fn slice_mut(&mut self) -> &mut [R] {
        &mut self.values[self.start..self.start + self.len]
    }
}

/// Where rows come from.
pub(crate) trait RowSource {
    /// Row `i`, as it lies or written to the buffer; and the squares of features beyond the vectors', which count as distance.
    fn row<'a>(&'a self, i: usize, buffer: &'a mut [f64]) -> (&'a [f64], f64);
}

/// Rows less the centre, and where their accumulators start.
#[derive(Debug, Default)]
pub(crate) struct Rows<R> {
    values: Vec<R>,
    starts: Vec<R>,
    tiles: Vec<R>,
    lanes: Vec<R>,
    row: Vec<f64>,
}

impl<R: SimdReal> Packed<R> {
    /// Packs `vectors` for this machine. None where numbers are so large that differences of exponents lose their digits.
    pub fn new(gamma: f64, vectors: &Points) -> Option<Self> {
        Packed::for_isa(gamma, vectors, Isa::detect())
    }

    fn for_isa(gamma: f64, vectors: &Points, isa: Isa) -> Option<Self> {
        let (len, dim) = (vectors.len(), vectors.dim());
        let width = simd::width::<R>(isa);
        let lanes = len.next_multiple_of(width);
        let rate = gamma * std::f64::consts::LOG2_E;
        let mut centre = vec![0.0; dim];
        let mut row = vec![0.0; dim];
        for j in 0..len {
            vectors.copy_rows(j..j + 1, dim, &mut row);
            centre.iter_mut().zip(&row).for_each(|(c, v)| *c += v / len as f64);
        }
        let mut packed = Packed { isa, dim, rate, centre, panels: Aligned::zeros(lanes * dim), starts: vec![R::from_f64(NOTHING); lanes] };
        for j in 0..len {
            vectors.copy_rows(j..j + 1, dim, &mut row);
            let (first, columns) = packed.panel_of(j / width);
            let lane = j - first * width;
            let mut square = 0.0;
            for k in 0..dim {
                let scaled = R::from_f64(2.0 * rate * (row[k] - packed.centre[k]));
                packed.panels.slice_mut()[first * width * dim + k * columns * width + lane] = scaled;
                square += scaled.to_f64() * scaled.to_f64();
            }
            // Of the rounded numbers, so that a vector's distance from itself is zero to rounding.
            let exponent = square / (4.0 * rate);
            if exponent.is_nan() || exponent > largest_exponent::<R>() {
                return None;
            }
            packed.starts[j] = R::from_f64(-exponent);
        }
        Some(packed)
    }

    /// The panel that holds register `r`: its first register and how many it has.
    fn panel_of(&self, r: usize) -> (usize, usize) {
        let registers = self.starts.len() / simd::width::<R>(self.isa);
        let first = r / PANEL * PANEL;
        (first, PANEL.min(registers - first))
    }

    /// Number of vectors with the lanes that fill the last register.
    pub fn lanes(&self) -> usize {
        self.starts.len()
    }

    /// Vectors of one tile.
    pub fn tile(&self) -> usize {
        TILE_PANELS * PANEL * simd::width::<R>(self.isa)
    }

    /// Takes up the first `count` rows of a source. False where a row is too large for the fast path.
    pub fn take_rows(&self, count: usize, source: &impl RowSource, rows: &mut Rows<R>) -> bool {
        let mut row = std::mem::take(&mut rows.row);
        row.resize(self.dim, 0.0);
        rows.values.resize(count * self.dim, R::default());
        rows.starts.clear();
        for i in 0..count {
            let (row, beyond) = source.row(i, &mut row);
            rows.starts.push(self.take_row(row, beyond, &mut rows.values[i * self.dim..(i + 1) * self.dim]));
        }
        rows.row = row;
        rows.starts.iter().all(|start| start.to_f64() >= -LARGEST_EXPONENT || start.to_f64().is_nan())
    }

    /// Writes one row less the centre, and returns where its accumulators start.
    fn take_row(&self, row: &[f64], beyond: f64, out: &mut [R]) -> R {
        let square = simd::run(Take { row, centre: &self.centre, out });
        R::from_f64(-self.rate * (beyond + square))
    }

    /// For each row and output the sum of coefficients times kernel values; `coefficients` has a run of [`Packed::lanes`] for each output.
    pub fn sums(&self, coefficients: &[R], rows: &mut Rows<R>, out: &mut [f64]) {
        let (outputs, width) = (coefficients.len() / self.lanes().max(1), simd::width::<R>(self.isa));
        let mut lanes = std::mem::take(&mut rows.lanes);
        lanes.clear();
        lanes.resize(out.len() * width, R::default());
        let sink = Sums { coefficients, outputs, all: self.lanes(), lanes: &mut lanes };
        self.run(0..self.lanes(), rows, sink);
        for (out, lanes) in out.iter_mut().zip(lanes.chunks_exact(width)) {
            *out += lanes.iter().map(|v| v.to_f64()).sum::<f64>();
        }
        rows.lanes = lanes;
    }

    /// Kernel values of the rows with the vectors `tile`, which begins at a multiple of [`Packed::tile`] and ends at the next or at the last lane.
    pub fn values(&self, tile: Range<usize>, rows: &mut Rows<R>, out: &mut [R]) {
        let sink = Values { first: tile.start, stride: tile.len(), out };
        self.run(tile, rows, sink);
    }

    fn run<S: Sink<R>>(&self, lanes: Range<usize>, rows: &mut Rows<R>, sink: S) {
        let mut tiles = std::mem::take(&mut rows.tiles);
        R::run_vectors(self.isa, Walk { packed: self, rows, lanes, tiles: &mut tiles, sink });
        rows.tiles = tiles;
    }
}

/// Writes `row - centre` and returns the sum of the squares of what was written.
struct Take<'a, R> {
    row: &'a [f64],
    centre: &'a [f64],
    out: &'a mut [R],
}

impl<R: Real> Job for Take<'_, R> {
    type Output = f64;
    #[inline(always)]
    fn run<const FMA: bool>(self) -> f64 {
        const LANES: usize = 16;
        let mut squares = [0.0; LANES];
        let (rows, row_rest) = self.row.as_chunks::<LANES>();
        let (centres, centre_rest) = self.centre.as_chunks::<LANES>();
        let (outs, out_rest) = self.out.as_chunks_mut::<LANES>();
        for ((row, centre), out) in rows.iter().zip(centres).zip(outs) {
            for l in 0..LANES {
                out[l] = R::from_f64(row[l] - centre[l]);
                let rounded = out[l].to_f64();
                squares[l] = multiply_add::<FMA>(rounded, rounded, squares[l]);
            }
        }
        for ((v, c), out) in row_rest.iter().zip(centre_rest).zip(out_rest) {
            *out = R::from_f64(v - c);
            squares[0] = multiply_add::<FMA>(out.to_f64(), out.to_f64(), squares[0]);
        }
        squares.iter().sum()
    }
}

/// Runs a block for each row with the row's number as a constant. The compiler leaves a plain loop of this length rolled up, and
/// accumulators that a rolled-up loop indexes live in memory instead of registers, at a third of the speed.
macro_rules! for_each_row {
    ($rows:ident, $r:ident, $body:block) => {
        for_each_row!($rows, $r, $body, 0, 1, 2, 3, 4, 5, 6, 7);
    };
    ($rows:ident, $r:ident, $body:block, $($number:literal),*) => {
        $(if $number < $rows {
            const $r: usize = $number;
            $body
        })*
    };
}

/// Where finished accumulators go.
trait Sink<R> {
    fn take<V: Vector<Real = R>, const ROWS: usize, const COLS: usize>(&mut self, row: usize, lane: usize, exponents: [[V; COLS]; ROWS]);
}

/// Multiplies by the coefficients and keeps one register of sums for each row and output.
struct Sums<'a, R> {
    coefficients: &'a [R],
    outputs: usize,
    all: usize,
    lanes: &'a mut [R],
}

impl<T: SimdReal> Sink<T> for Sums<'_, T> {
    #[inline(always)]
    fn take<V: Vector<Real = T>, const ROWS: usize, const COLS: usize>(&mut self, row: usize, lane: usize, exponents: [[V; COLS]; ROWS]) {
        let lanes = &mut self.lanes[row * self.outputs * V::WIDTH..(row + ROWS) * self.outputs * V::WIDTH];
        for_each_row!(ROWS, ROW, {
            let mut values = exponents[ROW];
            for c in 0..COLS {
                values[c] = values[c].exp2();
            }
            for output in 0..self.outputs {
                let place = &mut lanes[(ROW * self.outputs + output) * V::WIDTH..][..V::WIDTH];
                let coefficients = &self.coefficients[output * self.all + lane..][..COLS * V::WIDTH];
                let mut sum = V::load(place);
                for c in 0..COLS {
                    sum = values[c].multiply_add(V::load(&coefficients[c * V::WIDTH..]), sum);
                }
                sum.store(place);
            }
        });
    }
}

/// Writes kernel values row by row.
struct Values<'a, R> {
    first: usize,
    stride: usize,
    out: &'a mut [R],
}

impl<T: SimdReal> Sink<T> for Values<'_, T> {
    #[inline(always)]
    fn take<V: Vector<Real = T>, const ROWS: usize, const COLS: usize>(&mut self, row: usize, lane: usize, exponents: [[V; COLS]; ROWS]) {
        for_each_row!(ROWS, ROW, {
            let out = &mut self.out[(row + ROW) * self.stride + lane - self.first..][..COLS * V::WIDTH];
            for c in 0..COLS {
                exponents[ROW][c].exp2().store(&mut out[c * V::WIDTH..]);
            }
        });
    }
}

/// Walks over panels and rows.
struct Walk<'a, R, S> {
    packed: &'a Packed<R>,
    rows: &'a Rows<R>,
    lanes: Range<usize>,
    tiles: &'a mut Vec<R>,
    sink: S,
}

impl<R: SimdReal, S: Sink<R>> VectorJob<R> for Walk<'_, R, S> {
    #[inline(always)]
    fn run<V: Vector<Real = R>, const ROWS: usize, const COLS: usize>(mut self) {
        let (dim, width) = (self.packed.dim, PANEL * V::WIDTH);
        let parts = dim.div_ceil(FEATURES_AT_ONCE).max(1);
        // In several parts: rows of one part stay in cache while a whole tile of panels goes by.
        let together = if parts > 1 { TILE_PANELS } else { 1 };
        for first in self.lanes.clone().step_by(together * width) {
            let end = self.lanes.end.min(first + together * width);
            if parts > 1 {
                self.tiles.resize(self.rows.starts.len() * together * width, R::default());
            }
            for part in 0..parts {
                let features = part * dim / parts..(part + 1) * dim / parts;
                for lane in (first..end).step_by(width) {
                    match (self.packed.lanes() - lane) / V::WIDTH {
                        1 => self.panel::<V, ROWS, 1>(lane, lane - first, features.clone()),
                        2 => self.panel::<V, ROWS, 2>(lane, lane - first, features.clone()),
                        _ => self.panel::<V, ROWS, PANEL>(lane, lane - first, features.clone()),
                    }
                }
            }
        }
    }
}

impl<R: SimdReal, S: Sink<R>> Walk<'_, R, S> {
    /// All rows against the panel of `COLS` registers that begins at `lane`, `aside` lanes into those worked on together.
    #[inline(always)]
    fn panel<V: Vector<Real = R>, const ROWS: usize, const COLS: usize>(&mut self, lane: usize, aside: usize, features: Range<usize>) {
        let count = self.rows.starts.len();
        let blocks = count / ROWS * ROWS;
        for row in (0..blocks).step_by(ROWS) {
            self.tile::<V, ROWS, COLS>(lane, row, aside * count + row * COLS * V::WIDTH, features.clone());
        }
        for row in blocks..count {
            self.tile::<V, 1, COLS>(lane, row, aside * count + row * COLS * V::WIDTH, features.clone());
        }
    }

    /// `ROWS` rows against one panel, for the features `features`: one multiply-add for each register, row and feature. Unfinished
    /// accumulators are put aside at `aside`.
    ///
    /// Plain loops over arrays of fixed size: these stay in registers, and closures would not be compiled for the caller's instruction set.
    #[inline(always)]
    fn tile<V: Vector<Real = R>, const ROWS: usize, const COLS: usize>(
        &mut self,
        lane: usize,
        row: usize,
        aside: usize,
        features: Range<usize>,
    ) {
        let (dim, size) = (self.packed.dim, COLS * V::WIDTH);
        let mut z = [V::splat(R::default()); COLS];
        let vectors = &self.packed.starts[lane..lane + size];
        for c in 0..COLS {
            z[c] = V::load(&vectors[c * V::WIDTH..]);
        }
        let mut sums = [z; ROWS];
        if features.start == 0 {
            let rows = &self.rows.starts[row..row + ROWS];
            for r in 0..ROWS {
                for c in 0..COLS {
                    sums[r][c] = V::splat(rows[r]).add(z[c]);
                }
            }
        } else {
            let tiles = &self.tiles[aside..aside + ROWS * size];
            for_each_row!(ROWS, ROW, {
                for c in 0..COLS {
                    sums[ROW][c] = V::load(&tiles[ROW * size + c * V::WIDTH..]);
                }
            });
        }
        let count = features.len();
        let mut x: [&[R]; ROWS] = [&[]; ROWS];
        for r in 0..ROWS {
            x[r] = &self.rows.values[(row + r) * dim + features.start..][..count];
        }
        let panel = &self.packed.panels.slice()[lane * dim..][features.start * size..features.end * size];
        for (k, lanes) in (0..count).zip(panel.chunks_exact(size)) {
            for c in 0..COLS {
                z[c] = V::load(&lanes[c * V::WIDTH..]);
            }
            for r in 0..ROWS {
                let x = V::splat(x[r][k]);
                for c in 0..COLS {
                    sums[r][c] = x.multiply_add(z[c], sums[r][c]);
                }
            }
        }
        if features.end == dim {
            self.sink.take(row, lane, sums);
        } else {
            let tiles = &mut self.tiles[aside..aside + ROWS * size];
            for_each_row!(ROWS, ROW, {
                for c in 0..COLS {
                    sums[ROW][c].store(&mut tiles[ROW * size + c * V::WIDTH..]);
                }
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{kernel::Kernel, linalg::Matrix};
    use proptest::prelude::*;

    fn points(n: usize, dim: usize, shift: f64, seed: f64) -> Matrix {
        Matrix::from_fn(n, dim, |i, j| shift + ((i * 37 + j * 11) as f64 * 0.7 + seed).sin())
    }

    impl RowSource for Matrix {
        fn row<'a>(&'a self, i: usize, _: &'a mut [f64]) -> (&'a [f64], f64) {
            (Matrix::row(self, i), 0.0)
        }
    }

    fn take<R: SimdReal>(packed: &Packed<R>, x: &Matrix) -> Rows<R> {
        let mut rows = Rows::default();
        assert!(packed.take_rows(x.rows(), x, &mut rows));
        rows
    }

    /// Both uses against the naive sum, on every instruction set; errors relative to the sum of the terms' sizes.
    fn check<R: SimdReal>(n: usize, m: usize, dim: usize, outputs: usize, shift: f64, tolerance: f64) {
        let gamma = 0.7 / dim as f64;
        let (x, z) = (points(n, dim, shift, 0.1), points(m, dim, shift, 0.5));
        let beta = Matrix::from_fn(outputs, m, |k, j| ((k * 3 + j * 5) as f64).cos());
        let kernel = Kernel::gaussian(gamma);
        for isa in Isa::available() {
            let packed = Packed::<R>::for_isa(gamma, &z.clone().into(), isa).unwrap();
            let mut rows = take(&packed, &x);
            let mut coefficients = vec![R::default(); outputs * packed.lanes()];
            for k in 0..outputs {
                (0..m).for_each(|j| coefficients[k * packed.lanes() + j] = R::from_f64(beta.at(k, j)));
            }
            let mut sums = vec![0.0; n * outputs];
            packed.sums(&coefficients, &mut rows, &mut sums);
            for i in 0..n {
                let k: Vec<f64> = (0..m).map(|j| kernel.eval(x.row(i), z.row(j))).collect();
                for o in 0..outputs {
                    let want: f64 = (0..m).map(|j| beta.at(o, j) * k[j]).sum();
                    let size: f64 = (0..m).map(|j| (beta.at(o, j) * k[j]).abs()).sum();
                    let have = sums[i * outputs + o];
                    assert!((have - want).abs() <= tolerance * size, "{isa:?} {n} {m} {dim}: {have} {want}");
                }
                let mut lane = 0;
                while lane < packed.lanes() {
                    let tile = lane..packed.lanes().min(lane + packed.tile());
                    let mut values = vec![R::default(); n * tile.len()];
                    packed.values(tile.clone(), &mut rows, &mut values);
                    for j in tile.clone() {
                        let (have, want) = (values[i * tile.len() + j - tile.start].to_f64(), k.get(j).copied().unwrap_or(0.0));
                        assert!((have - want).abs() <= tolerance * (want + f64::from(j >= m)), "{isa:?} {i} {j}: {have} {want}");
                    }
                    lane = tile.end;
                    if i > 0 {
                        break;
                    }
                }
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]
        #[test]
        fn any_shape_agrees_with_the_naive_sum(n in 1usize..40, m in 1usize..130, dim in 1usize..40, outputs in 1usize..4) {
            check::<f64>(n, m, dim, outputs, 0.0, 1e-13);
            check::<f32>(n, m, dim, outputs, 0.0, 3e-6);
        }
    }

    #[test]
    fn edges_one_vector_one_feature_and_more_features_than_fit_the_cache() {
        // Rounding errors of a sum of d terms grow with the root of d: 2500 terms have fifty times the error of one.
        for (n, m, dim, single) in [(1, 1, 1, 3e-6), (9, 50, 2, 3e-6), (5, 24, 784, 3e-6), (10, 33, 2500, 1e-5)] {
            check::<f64>(n, m, dim, 1, 0.0, 1e-13);
            check::<f32>(n, m, dim, 1, 0.0, single);
        }
    }

    #[test]
    fn far_from_the_origin_single_precision_keeps_its_digits() {
        check::<f32>(20, 60, 5, 2, 1000.0, 1e-5);
        check::<f64>(20, 60, 5, 2, 1e6, 1e-9);
    }

    #[test]
    fn nan_stays_nan_and_far_rows_underflow_to_zero() {
        let z = points(50, 3, 0.0, 0.0);
        for isa in Isa::available() {
            let packed = Packed::<f64>::for_isa(1.0, &z.clone().into(), isa).unwrap();
            let single = Packed::<f32>::for_isa(1.0, &z.clone().into(), isa).unwrap();
            let x = Matrix::new(vec![f64::NAN, 0.0, 0.0, 1e3, 0.0, 0.0, 0.1, 0.2, 0.3], 3, 3).unwrap();
            let (mut sums, mut sums_single) = ([0.0; 3], [0.0; 3]);
            packed.sums(&vec![1.0; packed.lanes()], &mut take(&packed, &x), &mut sums);
            single.sums(&vec![1.0; single.lanes()], &mut take(&single, &x), &mut sums_single);
            for sums in [sums, sums_single] {
                assert!(sums[0].is_nan() && sums[1] == 0.0 && sums[2] > 0.0, "{isa:?} {sums:?}");
            }
        }
    }

    #[test]
    fn numbers_too_large_for_the_fast_path_are_left_to_the_slow_one() {
        let huge = Matrix::from_fn(2, 1, |i, _| if i == 0 { 1e200 } else { 0.0 });
        assert!(Packed::<f64>::new(1.0, &huge.clone().into()).is_none());
        let packed = Packed::<f64>::new(1.0, &Matrix::from_fn(2, 1, |i, _| i as f64).into()).unwrap();
        assert!(!packed.take_rows(2, &huge, &mut Rows::default()));
    }
}
