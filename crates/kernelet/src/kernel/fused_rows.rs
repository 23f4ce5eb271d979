//! Rows on their way to Gaussian kernel values: scaled, less the vectors' mean, with the start of their exponents.
//!
//! Rows and vectors are measured from the vectors' mean, so that single precision keeps its digits far from the origin. The exponent of k(x, z) in base 2 is then
//! `2 rate x.z - rate (|x|^2 + |z|^2)` with `rate = gamma log2(e)`; vectors are stored times `2 rate`.
use super::simd::{self, Ahead, Job, SimdReal, Vector, VectorJob, multiply_add};
use crate::{
    data::{Points, Scale},
    linalg::Real,
};

/// Rows that are worked on together: with a panel they fit the second-level cache.
pub(crate) const ROWS: usize = 96;

/// Rows with exponents beyond this are left to the slow path: squares of such numbers may overflow.
const LARGEST_EXPONENT: f64 = 1e30;

/// Vectors with exponents beyond this are left to the slow path: the difference of such numbers has lost the digits that a kernel value is made of, and
/// may even be above zero. Within it values are good to 1e-6 in double precision and to a hundredth in single. Rows far from such vectors have
/// values of zero in any case.
fn largest_exponent<R: Real>() -> f64 {
    if size_of::<R>() < size_of::<f64>() { 1e5 } else { 1e9 }
}

/// Numbers of a cache line of double precision.
const LINE: usize = 8;

/// Where rows come from.
pub(crate) trait RowSource {
    /// Row `i`, as it lies or written to the buffer; and the squares of features beyond the vectors', which count as distance.
    fn row<'a>(&'a self, i: usize, buffer: &'a mut [f64]) -> (&'a [f64], f64);
    /// All rows as they lie in memory; none where they must be put together first.
    fn lying(&self, _dim: usize) -> Option<Lying<'_>> {
        None
    }
    /// The rows behind the first `count`, which will soon be asked for.
    fn ahead(&self, _count: usize, _dim: usize) -> Ahead {
        Ahead::default()
    }
}

/// Dense rows in memory of the caller, one after another.
#[derive(Clone, Copy, Debug)]
pub enum DenseRows<'a> {
    /// Double precision.
    F64(&'a [f64]),
    /// Single precision.
    F32(&'a [f32]),
}

/// Rows in memory that are yet to be scaled.
#[derive(Clone, Copy)]
pub(crate) struct Lying<'a> {
    pub rows: DenseRows<'a>,
    /// Which of them; none: from the first on.
    pub places: Option<&'a [usize]>,
    pub scale: Option<&'a Scale>,
}

/// Rows less the centre, and where their accumulators start.
#[derive(Debug, Default)]
pub(crate) struct Rows<R> {
    pub(super) values: Vec<R>,
    pub(super) starts: Vec<R>,
    pub(super) tiles: Vec<R>,
    pub(super) lanes: Vec<R>,
    row: Vec<f64>,
}

impl<R: Real> Rows<R> {
    /// Whether the sums of the squares of the rows are finite, and with them their numbers.
    pub fn are_finite(&self) -> bool {
        self.starts.iter().all(|start| start.to_f64().is_finite())
    }
}

/// The vectors' mean and the width of the kernel.
#[derive(Debug)]
pub(super) struct Origin {
    centre: Vec<f64>,
    /// gamma log2(e).
    rate: f64,
}

impl Origin {
    /// Of these vectors.
    pub fn of(gamma: f64, vectors: &Points) -> Self {
        let (len, dim) = (vectors.len(), vectors.dim());
        let (mut centre, mut row) = (vec![0.0; dim], vec![0.0; dim]);
        for j in 0..len {
            vectors.copy_rows(j..j + 1, dim, &mut row);
            centre.iter_mut().zip(&row).for_each(|(c, v)| *c += v / len as f64);
        }
        Origin { centre, rate: gamma * std::f64::consts::LOG2_E }
    }

    /// Features of a vector.
    pub fn dim(&self) -> usize {
        self.centre.len()
    }

    /// Writes the features of a vector, and returns where its accumulators start: -rate |z|^2. None where it is too large for the fast path.
    pub fn take_vector<R: Real>(&self, vector: &[f64], mut write: impl FnMut(usize, R)) -> Option<R> {
        let mut square = 0.0;
        for (k, (v, c)) in vector.iter().zip(&self.centre).enumerate() {
            let scaled = R::from_f64(2.0 * self.rate * (v - c));
            write(k, scaled);
            square += scaled.to_f64() * scaled.to_f64();
        }
        // Of the rounded numbers, so that a vector's distance from itself is zero to rounding.
        let exponent = square / (4.0 * self.rate);
        (exponent <= largest_exponent::<R>()).then(|| R::from_f64(-exponent))
    }

    /// Takes up the first `count` rows of a source. False where a row is too large for the fast path.
    pub fn take_rows<R: SimdReal>(&self, count: usize, source: &impl RowSource, rows: &mut Rows<R>) -> bool {
        let dim = self.dim();
        rows.values.resize(count * dim, R::default());
        rows.starts.resize(count, R::default());
        let (values, starts) = (&mut rows.values[..], &mut rows.starts[..]);
        match source.lying(dim) {
            Some(Lying { rows: DenseRows::F64(from), places, scale }) => self.take_block(Block { from, places }, scale, values, starts),
            Some(Lying { rows: DenseRows::F32(from), places, scale }) => self.take_block(Block { from, places }, scale, values, starts),
            None => {
                let row = &mut rows.row;
                row.resize(dim, 0.0);
                for (i, start) in starts.iter_mut().enumerate() {
                    let (from, beyond) = source.row(i, row);
                    let values = &mut values[i * dim..(i + 1) * dim];
                    self.take_block(Block { from, places: None }, None, values, std::slice::from_mut(start));
                    *start = R::from_f64(start.to_f64() - self.rate * beyond);
                }
            }
        }
        starts.iter().all(|start| start.to_f64() >= -LARGEST_EXPONENT || start.to_f64().is_nan())
    }

    /// Writes rows less the centre, and where their accumulators start.
    fn take_block<T: Real, R: Real>(&self, block: Block<T>, scale: Option<&Scale>, out: &mut [R], starts: &mut [R]) {
        let (centre, rate) = (&self.centre[..], self.rate);
        match scale {
            None => simd::run(Take { block, scaled: Unscaled, centre, rate, out, starts }),
            Some(Scale { shift: Some(shift), factor, .. }) => {
                simd::run(Take { block, scaled: (&shift[..], &factor[..]), centre, rate, out, starts })
            }
            Some(Scale { factor, .. }) => simd::run(Take { block, scaled: &factor[..], centre, rate, out, starts }),
        }
    }
}

/// Rows where they lie: all of them, or those at some places.
struct Block<'a, T> {
    from: &'a [T],
    places: Option<&'a [usize]>,
}

/// Writes each row, scaled, less the centre, and -rate times the sum of the squares of what was written.
struct Take<'a, T, S, R> {
    block: Block<'a, T>,
    scaled: S,
    centre: &'a [f64],
    rate: f64,
    out: &'a mut [R],
    starts: &'a mut [R],
}

/// How features are scaled, as in [`Scale`].
trait Scaled: Copy {
    /// Those from the given one on.
    fn features<const N: usize>(self, first: usize, values: [f64; N]) -> [f64; N];
}

#[derive(Clone, Copy)]
struct Unscaled;

impl Scaled for Unscaled {
    #[inline(always)]
    fn features<const N: usize>(self, _: usize, values: [f64; N]) -> [f64; N] {
        values
    }
}

/// Factors.
impl Scaled for &[f64] {
    #[inline(always)]
    fn features<const N: usize>(self, first: usize, mut values: [f64; N]) -> [f64; N] {
        let factors = &self[first..first + N];
        for l in 0..N {
            values[l] *= factors[l];
        }
        values
    }
}

/// Shifts and factors. Where the difference overflows, it is multiplied before it is taken.
impl Scaled for (&[f64], &[f64]) {
    #[inline(always)]
    fn features<const N: usize>(self, first: usize, mut values: [f64; N]) -> [f64; N] {
        let (shifts, factors) = (&self.0[first..first + N], &self.1[first..first + N]);
        for l in 0..N {
            let (value, difference) = (values[l], values[l] - shifts[l]);
            let apart = value * factors[l] - shifts[l] * factors[l];
            values[l] = if difference.is_finite() { difference * factors[l] } else { apart };
        }
        values
    }
}

impl<T: Real, S: Scaled, R: Real> Job for Take<'_, T, S, R> {
    type Output = ();
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let (dim, Block { from, places }) = (self.centre.len(), self.block);
        for (i, start) in self.starts.iter_mut().enumerate() {
            let place = match places {
                None => i,
                Some(places) => {
                    // Rows here and there: the next one is asked for while this one is taken.
                    let next = places.get(i + 1).map_or(&from[..0], |next| &from[next * dim..(next + 1) * dim]);
                    let ahead = Ahead::of(next);
                    (0..dim).step_by(LINE).for_each(|k| ahead.prefetch(k));
                    places[i]
                }
            };
            let out = &mut self.out[i * dim..(i + 1) * dim];
            let square = take_row::<T, S, R, FMA>(&from[place * dim..(place + 1) * dim], self.scaled, self.centre, out);
            *start = R::from_f64(-self.rate * square);
        }
    }
}

/// Writes one row; the sum of the squares of what was written.
#[inline(always)]
fn take_row<T: Real, S: Scaled, R: Real, const FMA: bool>(row: &[T], scaled: S, centre: &[f64], out: &mut [R]) -> f64 {
    let mut squares = [0.0; 16];
    let mut done = 0;
    while row.len() - done >= 16 {
        take_lanes::<T, S, R, FMA, 16>(row, scaled, centre, out, done, &mut squares);
        done += 16;
    }
    while row.len() - done >= 4 {
        take_lanes::<T, S, R, FMA, 4>(row, scaled, centre, out, done, &mut squares);
        done += 4;
    }
    while done < row.len() {
        take_lanes::<T, S, R, FMA, 1>(row, scaled, centre, out, done, &mut squares);
        done += 1;
    }
    halved(squares)
}

/// Some features of a row. They are read before any is written: the compiler cannot see that what is written does not change the others, and would take one by one.
#[inline(always)]
fn take_lanes<T: Real, S: Scaled, R: Real, const FMA: bool, const N: usize>(
    row: &[T],
    scaled: S,
    centre: &[f64],
    out: &mut [R],
    first: usize,
    squares: &mut [f64; 16],
) {
    let (row, centre) = (&row[first..first + N], &centre[first..first + N]);
    let mut values = [0.0; N];
    for l in 0..N {
        values[l] = row[l].to_f64();
    }
    let mut values = scaled.features(first, values);
    let mut rounded = [R::default(); N];
    for l in 0..N {
        values[l] -= centre[l];
        rounded[l] = R::from_f64(values[l]);
        values[l] = rounded[l].to_f64();
    }
    out[first..first + N].copy_from_slice(&rounded);
    for l in 0..N {
        squares[l] = multiply_add::<FMA>(values[l], values[l], squares[l]);
    }
}

/// The sum of all entries, a power of two of them, by adding halves: a chain of additions would wait for each of them.
#[inline(always)]
fn halved<const N: usize>(mut sums: [f64; N]) -> f64 {
    let mut half = N / 2;
    while half > 0 {
        for l in 0..half {
            sums[l] += sums[l + half];
        }
        half /= 2;
    }
    sums[0]
}

/// Adds the sum of the lanes of each register to its place.
pub(super) struct AddLanes<'a, R> {
    pub lanes: &'a [R],
    pub out: &'a mut [f64],
}

impl<R: SimdReal> VectorJob<R> for AddLanes<'_, R> {
    #[inline(always)]
    fn run<V: Vector<Real = R>, const ROWS: usize, const COLS: usize>(self) {
        let (mut fours, mut sums) = (self.lanes.chunks_exact(4 * V::WIDTH), [R::default(); 4]);
        let (outs, rest) = self.out.as_chunks_mut::<4>();
        for (out, lanes) in outs.iter_mut().zip(&mut fours) {
            let mut four = [V::splat(R::default()); 4];
            for l in 0..4 {
                four[l] = V::load(&lanes[l * V::WIDTH..]);
            }
            V::sums(four, &mut sums);
            for l in 0..4 {
                out[l] += sums[l].to_f64();
            }
        }
        for (out, lanes) in rest.iter_mut().zip(fours.remainder().chunks_exact(V::WIDTH)) {
            let nothing = V::splat(R::default());
            V::sums([V::load(lanes), nothing, nothing, nothing], &mut sums);
            *out += sums[0].to_f64();
        }
    }
}
