//! Sums over rows that lie on a card, for training: kernel values and coordinates once for each set of vectors, then losses, slopes, Newton's systems and the sums
//! for the gradient by the vectors as often as they are asked for. All in double precision.
//!
//! With n rows, d features, m vectors and q outputs the card holds `8 n (d + 1 + 3 m + 2 q)` bytes. Kernels and their order of sums are in `cuda/sums.cu`.
use std::sync::Arc;

use super::{
    card::{Arg, Buffer, Card, Pinned, Stream},
    sums::{CURVED, GRADIENT, LOSSES, MOVED, SYSTEMS, int, n_parts},
};
use crate::{Error, Result, linalg::Matrix};

/// The side of a tile, as in `cuda/sums.cu`.
pub(super) const SIDE: usize = 64;

/// The loss of a row; the numbers are those of `cuda/sums.cu`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CardLoss {
    SquaredHinge = 0,
    Logistic = 1,
    Softmax = 2,
    Squared = 3,
}

/// Rows of a block, as they are put on the card.
pub(crate) struct RowParts<'a> {
    /// Rows less some centre, each with a 1 behind it.
    pub rows: &'a [f64],
    pub squares: &'a [f64],
    /// Classes; empty for values.
    pub codes: &'a [i32],
    /// Values; empty for classes.
    pub targets: &'a [f64],
    pub costs: &'a [f64],
}

/// What sums are wanted.
pub(crate) struct Wanted<'a> {
    /// Outputs x (m and the offset): weights.
    pub weights: &'a Matrix,
    pub systems: bool,
    /// m x outputs: coefficients, where the sums for the gradient by the vectors are wanted.
    pub coefficients: Option<&'a Matrix>,
    /// Outputs x (m and the offset): a direction whose product with the second derivatives is wanted.
    pub direction: Option<&'a Matrix>,
}

/// The sums; what was not asked for is empty.
#[derive(Debug, Default)]
pub(crate) struct CardFit {
    pub losses: Vec<f64>,
    pub errors: f64,
    pub gradient: Vec<f64>,
    pub systems: Vec<f64>,
    /// m x (d + 1): behind the sums of each vector stands the sum of its weights.
    pub moved: Vec<f64>,
    pub curved: Vec<f64>,
}

/// Rows on a card.
pub(crate) struct CardRows {
    pub(super) card: Arc<Card>,
    pub(super) stream: Stream,
    pub(super) n: usize,
    pub(super) dim: usize,
    pub(super) outputs: usize,
    pub(super) offset: usize,
    pub(super) loss: CardLoss,
    pub(super) filled: usize,
    pub(super) x: Buffer<f64>,
    pub(super) squares: Buffer<f64>,
    pub(super) codes: Buffer<i32>,
    pub(super) targets: Buffer<f64>,
    pub(super) costs: Buffer<f64>,
    pub(super) f: Buffer<f64>,
    pub(super) slopes: Buffer<f64>,
    pub(super) curvatures: Buffer<f64>,
    pub(super) lists: Buffer<i32>,
    pub(super) counts: Buffer<i32>,
    pub(super) small: Option<Placed>,
}

/// What depends on the vectors.
pub(super) struct Placed {
    pub(super) m: usize,
    pub(super) gamma: f64,
    pub(super) values: Buffer<f64>,
    /// Each row with a 1 behind it where there is an offset.
    pub(super) coordinates: Buffer<f64>,
    pub(super) slopes_by_values: Buffer<f64>,
    /// The vectors, each with a 1 behind it.
    pub(super) z: Buffer<f64>,
    /// Kernel values between vectors, and what their own gradient takes of them.
    pub(super) own_values: Buffer<f64>,
    pub(super) own_slopes: Buffer<f64>,
    pub(super) z_squares: Buffer<f64>,
    pub(super) inverse: Buffer<f64>,
    pub(super) weights: Buffer<f64>,
    /// Steps of the weights, the fraction of each output's that is tried, and the weights after it.
    pub(super) steps: Buffer<f64>,
    pub(super) fractions: Buffer<f64>,
    pub(super) tried: Buffer<f64>,
    pub(super) coefficients: Buffer<f64>,
    pub(super) parts: Buffer<f64>,
    pub(super) sums: Buffer<f64>,
    pub(super) fetched: Pinned<f64>,
}

impl CardRows {
    /// Space for `n` rows, which [`CardRows::push`] fills.
    pub fn new(card: Arc<Card>, (n, dim): (usize, usize), outputs: usize, offset: bool, loss: CardLoss) -> Result<Self> {
        let systems = if loss == CardLoss::SquaredHinge { outputs } else { 1 };
        let (m_at_least, free) = (1, card.free_memory()?);
        if n.saturating_mul(8 * (dim + 1 + 3 * m_at_least + 2 * outputs)) > free || n.saturating_mul(systems + 1) > i32::MAX as usize {
            return Err(too_large(n, free));
        }
        let stream = card.stream()?;
        let zeros = |len: usize| card.zeros::<f64>(&stream, len);
        let (x, squares, targets, costs) =
            (zeros(n * (dim + 1))?, zeros(n)?, zeros(if loss == CardLoss::Squared { n * outputs } else { 0 })?, zeros(n)?);
        let (f, slopes, curvatures) = (zeros(n * outputs)?, zeros(n * outputs)?, zeros(n * systems)?);
        let ints = |len: usize| card.zeros::<i32>(&stream, len);
        let (codes, lists, counts) = (ints(n)?, ints(n * (systems + 1))?, ints(systems + 1)?);
        let offset = usize::from(offset);
        Ok(CardRows {
            card,
            stream,
            n,
            dim,
            outputs,
            offset,
            loss,
            filled: 0,
            x,
            squares,
            codes,
            targets,
            costs,
            f,
            slopes,
            curvatures,
            lists,
            counts,
            small: None,
        })
    }

    /// The next rows.
    pub fn push(&mut self, block: &RowParts) -> Result<()> {
        let (card, stream, first) = (&self.card, &self.stream, self.filled);
        card.write(stream, block.rows, &mut self.x, first * (self.dim + 1))?;
        card.write(stream, block.squares, &mut self.squares, first)?;
        card.write(stream, block.codes, &mut self.codes, first)?;
        card.write(stream, block.targets, &mut self.targets, first * self.outputs)?;
        card.write(stream, block.costs, &mut self.costs, first)?;
        self.filled += block.squares.len();
        Ok(())
    }

    pub(super) fn systems(&self) -> usize {
        if self.loss == CardLoss::SquaredHinge { self.outputs } else { 1 }
    }

    /// Kernel values and coordinates of all rows on these vectors (less the centre), of whose factor this is the inverse.
    pub fn place(&mut self, gamma: f64, vectors: &Matrix, inverse: &Matrix) -> Result<()> {
        let m = vectors.rows();
        if self.small.as_ref().is_none_or(|placed| placed.m != m) {
            self.small = None;
            self.small = Some(self.space_for(m)?);
        }
        let (card, stream, n) = (&self.card, &self.stream, self.n);
        let Some(placed) = self.small.as_mut() else { return Err(too_large(n, 0)) };
        placed.gamma = gamma;
        let z_squares: Vec<f64> = vectors.iter().map(|z| z.iter().map(|v| v * v).sum()).collect();
        let z: Vec<f64> = vectors.iter().flat_map(|z| z.iter().copied().chain([1.0])).collect();
        card.write(stream, &z, &mut placed.z, 0)?;
        card.write(stream, &z_squares, &mut placed.z_squares, 0)?;
        card.write(stream, inverse.values(), &mut placed.inverse, 0)?;
        let z = (placed.z.from(0), placed.z_squares.from(0));
        let values = |rows: (Arg, Arg), n: usize, out: &Buffer<f64>| {
            let args = [rows.0, rows.1, z.0, z.1, out.from(0), int(n), int(m), int(self.dim), Arg::Double(gamma)];
            card.launch(stream, "kernel_values", [n.div_ceil(SIDE), m.div_ceil(SIDE), 1], 128, 0, &args)
        };
        values((self.x.from(0), self.squares.from(0)), n, &placed.values)?;
        values(z, m, &placed.own_values)?;
        let grid = [n.div_ceil(SIDE), m.div_ceil(SIDE), 1];
        let args = [placed.values.from(0), placed.inverse.from(0), placed.coordinates.from(0), int(m + self.offset), int(n), int(m)];
        card.launch(stream, "coordinates", grid, 128, 0, &args)
    }

    fn space_for(&self, m: usize) -> Result<Placed> {
        let (card, stream, n, q, width) = (&self.card, &self.stream, self.n, self.outputs, m + self.offset);
        let systems = self.systems() * width * width;
        let sums = self.sections(m).all();
        let of = |numbers: usize| numbers * n_parts(numbers);
        let parts = of(systems).max(of(m * (self.dim + 1))).max(of(width * q)).max(n.div_ceil(256) * (self.systems() + 1));
        let (needed, free) = (n.saturating_mul(3 * m + 1).saturating_add(parts + sums).saturating_mul(8), card.free_memory()?);
        if needed > free {
            return Err(too_large(n, free));
        }
        let zeros = |len: usize| card.zeros::<f64>(stream, len);
        let mut coordinates = zeros(n * width)?;
        if self.offset == 1 {
            // Coordinates are written over all but the last column.
            let ones = vec![1.0; width << 12];
            for first in (0..n * width).step_by(ones.len()) {
                card.write(stream, &ones[..ones.len().min(n * width - first)], &mut coordinates, first)?;
            }
        }
        Ok(Placed {
            m,
            gamma: 0.0,
            values: zeros(n * m)?,
            coordinates,
            slopes_by_values: zeros(n * m)?,
            z: zeros(m * (self.dim + 1))?,
            own_values: zeros(m * m)?,
            own_slopes: zeros(m * m)?,
            z_squares: zeros(m)?,
            inverse: zeros(m * m)?,
            weights: zeros(q * width)?,
            steps: zeros(q * width)?,
            fractions: zeros(q)?,
            tried: zeros(q * width)?,
            coefficients: zeros(m * q)?,
            parts: zeros(parts)?,
            sums: zeros(sums)?,
            fetched: card.pinned(sums)?,
        })
    }

    pub(super) fn sections(&self, m: usize) -> super::sums::Sections {
        let (systems, q, width) = (self.systems(), self.outputs, m + self.offset);
        super::sums::Sections([systems + 1, q, q, width * q, systems * width * width, m * (self.dim + 1), m * (self.dim + 1), width * q])
    }

    /// Does something with what depends on the vectors.
    pub(super) fn placed<T>(&mut self, work: impl FnOnce(&Self, &mut Placed) -> Result<T>) -> Result<T> {
        let mut placed = self.small.take().ok_or_else(|| Error::device("there are no vectors on the GPU"))?;
        let outcome = work(self, &mut placed);
        self.small = Some(placed);
        outcome
    }

    /// Sums at these weights.
    pub fn sums(&mut self, wanted: &Wanted) -> Result<CardFit> {
        self.placed(|rows, placed| rows.sums_of(placed, wanted))
    }

    fn sums_of(&self, placed: &mut Placed, wanted: &Wanted) -> Result<CardFit> {
        let (card, stream, sections) = (&self.card, &self.stream, self.sections(placed.m));
        card.write(stream, wanted.weights.values(), &mut placed.weights, 0)?;
        self.evaluate(placed, &placed.weights)?;
        self.gradient(placed)?;
        if wanted.systems || wanted.coefficients.is_some() {
            self.choose()?;
        }
        if wanted.systems {
            self.add_systems(placed)?;
        }
        if let Some(coefficients) = wanted.coefficients {
            self.move_vectors(placed, coefficients)?;
        }
        if let Some(direction) = wanted.direction {
            self.curve(placed, direction)?;
        }
        card.fetch(stream, &placed.sums, 0..sections.all(), &mut placed.fetched)?;
        card.wait(stream)?;
        let fetched = placed.fetched.items()?;
        let part = |index: usize, there: bool| if there { fetched[sections.range(index)].to_vec() } else { vec![] };
        let mut losses = part(LOSSES, true);
        let errors = losses.pop().unwrap_or(0.0);
        Ok(CardFit {
            losses,
            errors,
            gradient: part(GRADIENT, true),
            systems: part(SYSTEMS, wanted.systems),
            moved: part(MOVED, wanted.coefficients.is_some()),
            curved: part(CURVED, wanted.direction.is_some()),
        })
    }
}

fn too_large(n: usize, free: usize) -> Error {
    Error::device(format!(
        "{n} rows and what is computed of them do not fit into the {} MB that are free on the GPU; use the device cpu, or fewer vectors",
        free >> 20
    ))
}
