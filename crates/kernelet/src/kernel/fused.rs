//! Gaussian kernel values without a kernel matrix: distances, exponentials and sums stay in vector registers.
//!
//! Vectors are packed once: panels of a few registers side by side, feature by feature, scaled by `2 gamma log2(e)`. An accumulator
//! starts at `-gamma log2(e) (|x|^2 + |z|^2)`, takes one multiply-add for each feature and then holds the exponent of k(x, z) in base 2.
//! Its power of two is multiplied by the coefficients at once ([`Packed::sums`]) or written to a tile that stays in cache
//! ([`Packed::values`]).
//!
//! Cost of a value: d + 10 multiply-adds in double and d + 6 in single precision, and a few instructions more.
use std::ops::Range;

pub(crate) use super::fused_rows::{DenseRows, Lying, ROWS, RowSource, Rows};
use super::{
    fused_rows::{AddLanes, Origin},
    fused_walk::{Sink, Sums, Values, Walk},
    simd::{self, Ahead, Isa, SimdReal},
};
use crate::{data::Points, linalg::Real};

/// Panels of one tile of [`Packed::values`].
pub(super) const TILE_PANELS: usize = 8;

/// The exponent of lanes behind the last vector: their power is 0.
const NOTHING: f64 = -1e30;

/// Vectors packed for one instruction set.
#[derive(Debug)]
pub(crate) struct Packed<R> {
    isa: Isa,
    origin: Origin,
    pub(super) panels: Aligned<R>,
    /// Where the accumulator of each vector starts: -rate |z|^2.
    pub(super) starts: Vec<R>,
}

/// Numbers that begin at a cache line, so that no register is loaded from two of them.
#[derive(Debug)]
pub(super) struct Aligned<R> {
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

    pub(super) fn slice(&self) -> &[R] {
        &self.values[self.start..self.start + self.len]
    }

    fn slice_mut(&mut self) -> &mut [R] {
        &mut self.values[self.start..self.start + self.len]
    }
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
        let (panels, starts) = (Aligned::zeros(lanes * dim), vec![R::from_f64(NOTHING); lanes]);
        let mut packed = Packed { isa, origin: Origin::of(gamma, vectors), panels, starts };
        let mut row = vec![0.0; dim];
        for j in 0..len {
            vectors.copy_rows(j..j + 1, dim, &mut row);
            let (first, columns) = packed.panel_of(j / width);
            let place = first * width * dim + j - first * width;
            let panels = packed.panels.slice_mut();
            packed.starts[j] = packed.origin.take_vector(&row, |k, value| panels[place + k * columns * width] = value)?;
        }
        Some(packed)
    }

    /// The panel that holds register `r`: its first register and how many it has.
    fn panel_of(&self, r: usize) -> (usize, usize) {
        let registers = self.starts.len() / simd::width::<R>(self.isa);
        let (_, most) = self.isa.tile();
        let first = r / most * most;
        (first, most.min(registers - first))
    }

    /// Features of a vector.
    pub fn dim(&self) -> usize {
        self.origin.dim()
    }

    /// Number of vectors with the lanes that fill the last register.
    pub fn lanes(&self) -> usize {
        self.starts.len()
    }

    /// Vectors of one tile.
    pub fn tile(&self) -> usize {
        TILE_PANELS * self.isa.tile().1 * simd::width::<R>(self.isa)
    }

    /// Takes up the first `count` rows of a source. False where a row is too large for the fast path.
    pub fn take_rows(&self, count: usize, source: &impl RowSource, rows: &mut Rows<R>) -> bool {
        self.origin.take_rows(count, source, rows)
    }

    /// For each row and output the sum of coefficients times kernel values; `coefficients` has a run of [`Packed::lanes`] for each output. What will be read
    /// next is asked for meanwhile.
    pub fn sums(&self, coefficients: &[R], rows: &mut Rows<R>, ahead: Ahead, out: &mut [f64]) {
        let (outputs, width) = (coefficients.len() / self.lanes().max(1), simd::width::<R>(self.isa));
        let mut lanes = std::mem::take(&mut rows.lanes);
        lanes.clear();
        lanes.resize(out.len() * width, R::default());
        let sink = Sums { coefficients, outputs, all: self.lanes(), lanes: &mut lanes };
        self.run(0..self.lanes(), rows, ahead, sink);
        R::run_vectors(self.isa, AddLanes { lanes: &lanes, out });
        rows.lanes = lanes;
    }

    /// Kernel values of the rows with the vectors `tile`, which begins at a multiple of [`Packed::tile`] and ends at the next or at the last lane. What will be read
    /// next is asked for meanwhile.
    pub fn values(&self, tile: Range<usize>, rows: &mut Rows<R>, ahead: Ahead, out: &mut [R]) {
        let sink = Values { first: tile.start, stride: tile.len(), out };
        self.run(tile, rows, ahead, sink);
    }

    fn run<S: Sink<R>>(&self, lanes: Range<usize>, rows: &mut Rows<R>, ahead: Ahead, sink: S) {
        let mut tiles = std::mem::take(&mut rows.tiles);
        R::run_vectors(self.isa, Walk { packed: self, rows, lanes, tiles: &mut tiles, ahead, sink });
        rows.tiles = tiles;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{data::Scale, kernel::Kernel, linalg::Matrix};
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
        for &isa in Isa::available() {
            let packed = Packed::<R>::for_isa(gamma, &z.clone().into(), isa).unwrap();
            let mut rows = take(&packed, &x);
            let mut coefficients = vec![R::default(); outputs * packed.lanes()];
            for k in 0..outputs {
                (0..m).for_each(|j| coefficients[k * packed.lanes() + j] = R::from_f64(beta.at(k, j)));
            }
            let mut sums = vec![0.0; n * outputs];
            packed.sums(&coefficients, &mut rows, Ahead::of(x.values()), &mut sums);
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
                    packed.values(tile.clone(), &mut rows, Ahead::default(), &mut values);
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
        for &isa in Isa::available() {
            let packed = Packed::<f64>::for_isa(1.0, &z.clone().into(), isa).unwrap();
            let single = Packed::<f32>::for_isa(1.0, &z.clone().into(), isa).unwrap();
            let x = Matrix::new(vec![f64::NAN, 0.0, 0.0, 1e3, 0.0, 0.0, 0.1, 0.2, 0.3], 3, 3).unwrap();
            let (mut sums, mut sums_single) = ([0.0; 3], [0.0; 3]);
            packed.sums(&vec![1.0; packed.lanes()], &mut take(&packed, &x), Ahead::default(), &mut sums);
            single.sums(&vec![1.0; single.lanes()], &mut take(&single, &x), Ahead::default(), &mut sums_single);
            for sums in [sums, sums_single] {
                assert!(sums[0].is_nan() && sums[1] == 0.0 && sums[2] > 0.0, "{isa:?} {sums:?}");
            }
        }
    }

    /// Rows in single precision, or such that are yet to be scaled.
    struct Unscaled<'a>(DenseRows<'a>, Option<&'a Scale>);

    impl RowSource for Unscaled<'_> {
        fn row<'a>(&'a self, _: usize, buffer: &'a mut [f64]) -> (&'a [f64], f64) {
            (buffer, 0.0)
        }

        fn lying(&self, _: usize) -> Option<Lying<'_>> {
            Some(Lying { rows: self.0, places: None, scale: self.1 })
        }
    }

    fn sums<R: SimdReal>(packed: &Packed<R>, count: usize, source: &impl RowSource) -> Vec<f64> {
        let (mut rows, mut out) = (Rows::default(), vec![0.0; count]);
        assert!(packed.take_rows(count, source, &mut rows));
        let coefficients: Vec<R> = (0..packed.lanes()).map(|j| R::from_f64((j as f64).cos())).collect();
        packed.sums(&coefficients, &mut rows, source.ahead(count, packed.dim()), &mut out);
        out
    }

    #[test]
    fn a_row_has_the_same_sum_alone_and_among_others() {
        fn check<R: SimdReal>(m: usize, dim: usize) {
            let (x, z) = (points(29, dim, 0.0, 0.1), points(m, dim, 0.0, 0.5));
            for &isa in Isa::available() {
                let packed = Packed::<R>::for_isa(0.7 / dim as f64, &z.clone().into(), isa).unwrap();
                let all = sums(&packed, 29, &x);
                for i in 0..29 {
                    let row = Matrix::new(x.row(i).to_vec(), 1, dim).unwrap();
                    assert_eq!(sums(&packed, 1, &row)[0].to_bits(), all[i].to_bits(), "{isa:?} {m} {dim} {i}");
                }
            }
        }
        for (m, dim) in [(1, 1), (30, 16), (50, 17), (100, 54), (131, 900)] {
            check::<f64>(m, dim);
            check::<f32>(m, dim);
        }
    }

    #[test]
    fn rows_are_read_from_single_precision_and_scaled_on_the_way() {
        let (x, z) = (points(13, 19, 0.3, 0.1), points(40, 19, 0.0, 0.5));
        let halves: Vec<f32> = x.values().iter().map(|v| *v as f32).collect();
        let wide = Matrix::new(halves.iter().map(|v| f64::from(*v)).collect(), 13, 19).unwrap();
        let factor: Vec<f64> = (0..19).map(|j| 0.5 + 0.1 * j as f64).collect();
        let shift: Vec<f64> = (0..19).map(|j| (j as f64).sin()).collect();
        for &isa in Isa::available() {
            let packed = Packed::<f64>::for_isa(0.05, &z.clone().into(), isa).unwrap();
            for scale in [None, Some(Scale::new(None, factor.clone())), Some(Scale::new(Some(shift.clone()), factor.clone()))] {
                let mut scaled = wide.clone();
                (0..13).for_each(|i| scale.iter().for_each(|scale| scale.scale_row(scaled.row_mut(i))));
                let want = sums(&packed, 13, &scaled);
                assert_eq!(sums(&packed, 13, &Unscaled(DenseRows::F32(&halves), scale.as_ref())), want);
                assert_eq!(sums(&packed, 13, &Unscaled(DenseRows::F64(wide.values()), scale.as_ref())), want);
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
