//! Sums over rows that lie on a card, for training: kernel values and coordinates once for each set of vectors, then losses, slopes, Newton's systems and the sums
//! for the gradient by the vectors as often as they are asked for. All in double precision.
//!
//! With n rows, d features, m vectors and q outputs the card holds `8 n (d + 1 + 3 m + 2 q)` bytes. Kernels and their order of sums are in `cuda/sums.cu`.
use std::sync::Arc;

use super::card::{Arg, Buffer, Card, Pinned, Stream};
use crate::{Error, Result, linalg::Matrix};

/// The side of a tile, as in `cuda/sums.cu`.
const SIDE: usize = 64;

/// Numbers of the partial sums of a product over rows, about, and the most and fewest parts.
const PARTS: usize = 1 << 25;
const MOST_PARTS: usize = 32;

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
    card: Arc<Card>,
    stream: Stream,
    n: usize,
    dim: usize,
    outputs: usize,
    offset: usize,
    loss: CardLoss,
    filled: usize,
    x: Buffer<f64>,
    squares: Buffer<f64>,
    codes: Buffer<i32>,
    targets: Buffer<f64>,
    costs: Buffer<f64>,
    f: Buffer<f64>,
    slopes: Buffer<f64>,
    curvatures: Buffer<f64>,
    lists: Buffer<i32>,
    counts: Buffer<i32>,
    small: Option<Placed>,
}

/// What depends on the vectors.
struct Placed {
    m: usize,
    gamma: f64,
    values: Buffer<f64>,
    /// Each row with a 1 behind it where there is an offset.
    coordinates: Buffer<f64>,
    slopes_by_values: Buffer<f64>,
    z: Buffer<f64>,
    z_squares: Buffer<f64>,
    inverse: Buffer<f64>,
    weights: Buffer<f64>,
    coefficients: Buffer<f64>,
    parts: Buffer<f64>,
    sums: Buffer<f64>,
    fetched: Pinned<f64>,
}

/// How a product over rows is cut.
fn n_parts(numbers: usize) -> usize {
    (PARTS / numbers.max(1)).clamp(1, MOST_PARTS)
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

    fn systems(&self) -> usize {
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
        card.write(stream, vectors.values(), &mut placed.z, 0)?;
        card.write(stream, &z_squares, &mut placed.z_squares, 0)?;
        card.write(stream, inverse.values(), &mut placed.inverse, 0)?;
        let grid = [n.div_ceil(SIDE), m.div_ceil(SIDE), 1];
        let (x, squares) = (self.x.from(0), self.squares.from(0));
        let args = [
            x,
            int(self.dim + 1),
            squares,
            placed.z.from(0),
            placed.z_squares.from(0),
            placed.values.from(0),
            int(n),
            int(m),
            int(self.dim),
            Arg::Double(gamma),
        ];
        card.launch(stream, "kernel_values", grid, 128, 0, &args)?;
        let args = [placed.values.from(0), placed.inverse.from(0), placed.coordinates.from(0), int(m + self.offset), int(n), int(m)];
        card.launch(stream, "coordinates", grid, 128, 0, &args)
    }

    fn space_for(&self, m: usize) -> Result<Placed> {
        let (card, stream, n, q, width) = (&self.card, &self.stream, self.n, self.outputs, m + self.offset);
        let systems = self.systems() * width * width;
        let sums = (self.systems() + 1) + 2 * width * q + systems + m * (self.dim + 1);
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
            z: zeros(m * self.dim)?,
            z_squares: zeros(m)?,
            inverse: zeros(m * m)?,
            weights: zeros(q * width)?,
            coefficients: zeros(m * q)?,
            parts: zeros(parts)?,
            sums: zeros(sums)?,
            fetched: card.pinned(sums)?,
        })
    }

    /// Sums at these weights.
    pub fn sums(&mut self, wanted: &Wanted) -> Result<CardFit> {
        let (card, stream, n, q, systems) = (&self.card, &self.stream, self.n, self.outputs, self.systems());
        let Some(placed) = self.small.as_mut() else { return Err(Error::device("there are no vectors on the GPU")) };
        let (m, width) = (placed.m, placed.m + self.offset);
        card.write(stream, wanted.weights.values(), &mut placed.weights, 0)?;
        let sections = [systems + 1, width * q, systems * width * width, m * (self.dim + 1), width * q];
        let starts: Vec<usize> = sections
            .iter()
            .scan(0, |sum, len| {
                let start = *sum;
                *sum += len;
                Some(start)
            })
            .collect();
        let places: Vec<Arg> = starts.iter().map(|start| placed.sums.from(*start)).collect();
        let multiplied = |placed: &Placed, out: &Buffer<f64>| {
            let args = [placed.coordinates.from(0), int(width), placed.weights.from(0), out.from(0), int(n), int(q), int(width)];
            card.launch(stream, "outputs", [n.div_ceil(SIDE), q.div_ceil(SIDE), 1], 128, 0, &args)
        };
        multiplied(placed, &self.f)?;
        let blocks = n.div_ceil(256);
        let args = [
            self.f.from(0),
            self.codes.from(0),
            self.targets.from(0),
            self.costs.from(0),
            self.slopes.from(0),
            self.curvatures.from(0),
            placed.parts.from(0),
            int(n),
            int(q),
            Arg::Int(self.loss as i32),
        ];
        card.launch(stream, "losses", [blocks, 1, 1], 256, 0, &args)?;
        let add = |out: Arg, size: usize, parts: usize, groups: usize, side: usize, lower: bool| {
            let args = [placed.parts.from(0), out, int(size), int(parts), int(side), Arg::Int(i32::from(lower))];
            card.launch(stream, "add_parts", [size.div_ceil(256), groups, 1], 256, 0, &args)
        };
        add(places[0], systems + 1, blocks, 1, systems + 1, false)?;
        let everything = (Arg::Place(0), Arg::Place(0));
        // a' diag(w) b over all rows, or those of lists.
        let product = |a: (Arg, usize, usize, bool),
                       b: (Arg, usize, usize),
                       w: (Arg, usize),
                       lists: (Arg, Arg),
                       groups: usize,
                       out: Arg,
                       lower: bool| {
            let size = a.2 * b.2;
            let parts = n_parts(size * groups);
            let tiles = a.2.div_ceil(SIDE) * b.2.div_ceil(SIDE);
            let args = [
                a.0,
                int(a.1),
                int(a.2),
                Arg::Int(i32::from(a.3)),
                b.0,
                int(b.1),
                int(b.2),
                w.0,
                int(w.1),
                lists.0,
                lists.1,
                int(n),
                placed.parts.from(0),
                Arg::Int(i32::from(lower)),
            ];
            card.launch(stream, "sums_tn", [tiles, parts, groups], 128, 0, &args)?;
            add(out, size, parts, groups, b.2, lower)
        };
        let v = placed.coordinates.from(0);
        product((v, width, width, false), (self.slopes.from(0), q, q), (Arg::Place(0), 0), everything, 1, places[1], false)?;
        if wanted.systems || wanted.coefficients.is_some() {
            let args =
                [self.curvatures.from(0), int(systems), self.slopes.from(0), int(q), int(n), self.lists.from(0), self.counts.from(0)];
            card.launch(stream, "chosen", [systems + 1, 1, 1], 1024, 0, &args)?;
        }
        if wanted.systems {
            let lists = (self.lists.from(0), self.counts.from(0));
            product((v, width, width, false), (v, width, width), (self.curvatures.from(0), systems), lists, systems, places[2], true)?;
        }
        if let Some(coefficients) = wanted.coefficients {
            card.write(stream, coefficients.values(), &mut placed.coefficients, 0)?;
            let lists = (self.lists.from(systems * n), self.counts.from(systems));
            let args = [
                self.slopes.from(0),
                placed.coefficients.from(0),
                placed.values.from(0),
                placed.slopes_by_values.from(0),
                lists.0,
                lists.1,
                int(m),
                int(q),
                Arg::Double(placed.gamma),
            ];
            card.launch(stream, "pulls", [n.div_ceil(SIDE), m.div_ceil(SIDE), 1], 128, 0, &args)?;
            let (a, b) = ((placed.slopes_by_values.from(0), m, m, true), (self.x.from(0), self.dim + 1, self.dim + 1));
            product(a, b, (Arg::Place(0), 0), lists, 1, places[3], false)?;
        }
        if let Some(direction) = wanted.direction {
            card.write(stream, direction.values(), &mut placed.weights, 0)?;
            multiplied(placed, &self.slopes)?;
            let args = [self.f.from(0), self.slopes.from(0), self.costs.from(0), self.slopes.from(0), int(n), int(q)];
            card.launch(stream, "curve", [blocks, 1, 1], 256, 0, &args)?;
            product((v, width, width, false), (self.slopes.from(0), q, q), (Arg::Place(0), 0), everything, 1, places[4], false)?;
        }
        let all: usize = sections.iter().sum();
        card.fetch(stream, &placed.sums, all, &mut placed.fetched)?;
        card.wait(stream)?;
        let fetched = placed.fetched.items()?;
        let part =
            |index: usize, there: bool| if there { fetched[starts[index]..starts[index] + sections[index]].to_vec() } else { vec![] };
        let mut losses = part(0, true);
        let errors = losses.pop().unwrap_or(0.0);
        Ok(CardFit {
            losses,
            errors,
            gradient: part(1, true),
            systems: part(2, wanted.systems),
            moved: part(3, wanted.coefficients.is_some()),
            curved: part(4, wanted.direction.is_some()),
        })
    }
}

fn int(value: usize) -> Arg {
    Arg::Int(value as i32)
}

fn too_large(n: usize, free: usize) -> Error {
    Error::device(format!(
        "{n} rows and what is computed of them do not fit into the {} MB that are free on the GPU; use the device cpu, or fewer vectors",
        free >> 20
    ))
}
