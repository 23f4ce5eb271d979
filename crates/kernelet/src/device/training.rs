//! Sums over rows that lie on a card, for training: kernel values and coordinates once for each set of vectors, then losses, slopes, Newton's systems and the sums
//! for the gradient by the vectors as often as they are asked for. All in double precision.
//!
//! With n rows, d features, m vectors and q outputs the card holds `8 n (d + 1 + 3 m + 3 q)` bytes. Kernels and their order of sums are in `cuda/`: products,
//! losses and newton. There, rows of numbers have an even number of places.
use std::sync::Arc;

use super::{
    card::{Arg, Buffer, Card, Pinned, Stream},
    space::CardSpace,
    sums::{CURVED, GRADIENT, LOSSES, MOVED, SYSTEMS, int, part_numbers},
    vectors::Vectors,
};
use crate::{Error, Result, linalg::Matrix};

/// The loss of a row; the numbers are those of `cuda/losses.cu`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CardLoss {
    SquaredHinge = 0,
    Logistic = 1,
    Softmax = 2,
    Squared = 3,
    /// The squared hinge with values as targets.
    Taught = 4,
}

impl CardLoss {
    /// Newton's systems for so many outputs.
    fn systems(self, outputs: usize) -> usize {
        if matches!(self, CardLoss::SquaredHinge | CardLoss::Taught) { outputs } else { 1 }
    }

    /// Whether rows have values, not classes.
    fn has_values(self) -> bool {
        matches!(self, CardLoss::Squared | CardLoss::Taught)
    }
}

/// Rows of a block, as they are put on the card.
pub(crate) struct RowParts<'a> {
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
    /// What the work on the stream need not wait for.
    pub(super) beside: Stream,
    /// Rows that are there, and those for which there is space.
    pub(super) n: usize,
    most: usize,
    pub(super) dim: usize,
    pub(super) outputs: usize,
    pub(super) offset: usize,
    pub(super) loss: CardLoss,
    pub(super) centre: Buffer<f64>,
    pub(super) x: Buffer<f64>,
    pub(super) squares: Buffer<f64>,
    pub(super) codes: Buffer<i32>,
    pub(super) targets: Buffer<f64>,
    pub(super) costs: Buffer<f64>,
    pub(super) f: Buffer<f64>,
    pub(super) slopes: Buffer<f64>,
    pub(super) curvatures: Buffer<f64>,
    pub(super) found: Buffer<i32>,
    pub(super) lists: Buffer<i32>,
    pub(super) counts: Buffer<i32>,
    pub(super) small: Option<Placed>,
    sending: Option<Pinned<f64>>,
}

/// What depends on the vectors.
pub(super) struct Placed {
    pub(super) m: usize,
    pub(super) gamma: f64,
    pub(super) values: Buffer<f64>,
    /// Each row with a 1 behind it where there is an offset.
    pub(super) coordinates: Buffer<f64>,
    pub(super) slopes_by_values: Buffer<f64>,
    /// The vectors as they are, on their way.
    pub(super) sent: Pinned<f64>,
    pub(super) vectors: Buffer<f64>,
    /// The vectors less the centre, each with a 1 behind it.
    pub(super) z: Buffer<f64>,
    /// Kernel values between vectors, and what their own gradient takes of them.
    pub(super) own_values: Buffer<f64>,
    pub(super) own_slopes: Buffer<f64>,
    pub(super) z_squares: Buffer<f64>,
    /// The factor of their kernel matrix, and its inverse.
    pub(super) factor: Buffer<f64>,
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
    /// The gradient by the vectors, and what else a search takes from the card.
    pub(super) by_vectors: Buffer<f64>,
    pub(super) fetched_by_vectors: Pinned<f64>,
    pub(super) fetched_coefficients: Pinned<f64>,
}

/// Places of a row of so many numbers.
pub(super) fn even(numbers: usize) -> usize {
    numbers.next_multiple_of(2)
}

impl CardRows {
    /// Space for `n` rows, which [`CardRows::push`] fills, less this centre.
    pub fn new(card: Arc<Card>, n: usize, centre: &[f64], outputs: usize, offset: bool, loss: CardLoss) -> Result<Self> {
        let systems = loss.systems(outputs);
        let (dim, m_at_least, free) = (centre.len(), 1, card.free_memory()?);
        if n.saturating_mul(8 * (dim + 1 + 3 * m_at_least + 2 * outputs)) > free || n.saturating_mul(systems + 1) > i32::MAX as usize {
            return Err(too_large(n, free));
        }
        let (stream, beside) = (card.stream()?, card.urgent_stream()?);
        let zeros = |len: usize| card.zeros::<f64>(&stream, len);
        let (x, squares, targets, costs) =
            (zeros(n * even(dim + 1))?, zeros(n)?, zeros(if loss.has_values() { n * outputs } else { 0 })?, zeros(n)?);
        let (f, slopes, curvatures) = (zeros(n * even(outputs))?, zeros(n * even(outputs))?, zeros(n * systems)?);
        let ints = |len: usize| card.zeros::<i32>(&stream, len);
        let (codes, found, lists, counts) = (ints(n)?, ints(n * (systems + 1))?, ints(n * (systems + 1))?, ints(systems + 1)?);
        let centre = card.upload(&stream, centre)?;
        let (offset, small, most, n) = (usize::from(offset), None, n, 0);
        Ok(CardRows {
            card,
            stream,
            beside,
            n,
            most,
            dim,
            outputs,
            offset,
            loss,
            centre,
            x,
            squares,
            codes,
            targets,
            costs,
            f,
            slopes,
            curvatures,
            found,
            lists,
            counts,
            small,
            sending: None,
        })
    }

    /// Bytes on the card for each row, with what is computed of it.
    pub fn bytes_a_row(dim: usize, m: usize, outputs: usize) -> usize {
        8 * (dim + 3 * m + 5 * outputs + 8)
    }

    /// Rows that are there.
    pub fn len(&self) -> usize {
        self.n
    }

    /// Rows for which there is space.
    pub fn most(&self) -> usize {
        self.most
    }

    /// Makes place for other rows.
    pub fn clear(&mut self) {
        self.n = 0;
    }

    /// Space for the next rows, which goes to the card with them: each less the centre, with a 1 behind it, and so many places that they are even.
    pub fn sending(&mut self, rows: usize) -> Result<&mut [f64]> {
        let numbers = rows * even(self.dim + 1);
        if self.sending.as_ref().is_none_or(|space| space.items().map_or(0, <[f64]>::len) < numbers) {
            self.sending = Some(self.card.pinned(numbers)?);
        }
        let space = self.sending.as_mut().ok_or_else(|| Error::device("there is no space for rows on their way to the GPU"))?;
        Ok(&mut space.items_mut()?[..numbers])
    }

    /// The next rows, which were written to the space for them before.
    pub fn push(&mut self, block: &RowParts) -> Result<()> {
        let (card, stream, first) = (&self.card, &self.stream, self.n);
        let numbers = block.squares.len() * even(self.dim + 1);
        if let Some(sending) = &self.sending {
            card.send(stream, sending, numbers, (&mut self.x, first * even(self.dim + 1)))?;
        }
        card.write(stream, block.squares, &mut self.squares, first)?;
        card.write(stream, block.codes, &mut self.codes, first)?;
        card.write(stream, block.targets, &mut self.targets, first * self.outputs)?;
        card.write(stream, block.costs, &mut self.costs, first)?;
        self.n += block.squares.len();
        Ok(())
    }

    /// Vectors of a descent over `m` of them, in the order of the work on the rows.
    pub fn space(&self, m: usize) -> Result<CardSpace> {
        CardSpace::new(self.card.clone(), self.stream.clone(), m, self.dim)
    }

    pub(super) fn systems(&self) -> usize {
        self.loss.systems(self.outputs)
    }

    /// Kernel values of all rows and of the vectors themselves on these vectors. The coordinates come with [`CardRows::use_inverse`] or [`CardRows::factor`].
    pub fn place(&mut self, gamma: f64, vectors: Vectors) -> Result<()> {
        let m = vectors.rows();
        if self.small.as_ref().is_none_or(|placed| placed.m != m) {
            self.small = None;
            self.small = Some(self.space_for(m)?);
        }
        self.placed(|rows, placed| {
            let (card, stream, stride) = (&rows.card, &rows.stream, int(even(rows.dim + 1)));
            placed.gamma = gamma;
            let from = match vectors {
                Vectors::Held(vectors) => {
                    placed.sent.items_mut()?[..vectors.values().len()].copy_from_slice(vectors.values());
                    card.send(stream, &placed.sent, vectors.values().len(), (&mut placed.vectors, 0))?;
                    placed.vectors.from(0)
                }
                Vectors::OnCard(vectors, ..) => vectors.place()?,
            };
            let z = (placed.z.from(0), placed.z_squares.from(0));
            card.launch(stream, "laid", [m, 1, 1], 256, 0, &[from, rows.centre.from(0), z.0, z.1, int(rows.dim), stride])?;
            let values = |(x, squares): (Arg, Arg), n: usize, out: &Buffer<f64>| {
                let args = [x, squares, z.0, z.1, out.from(0), int(even(m)), int(n), int(m), int(rows.dim), stride, Arg::Double(gamma)];
                rows.tiles("kernel_values", n, m, &args)
            };
            values(z, m, &placed.own_values)?;
            // What comes of the vectors alone is done beside the kernel values of the rows.
            card.join(&rows.beside, stream)?;
            values((rows.x.from(0), rows.squares.from(0)), rows.n, &placed.values)
        })
    }

    /// The coordinates of all rows, from the inverse of the factor of the vectors' kernel matrix.
    pub fn use_inverse(&mut self, inverse: &Matrix) -> Result<()> {
        self.placed(|rows, placed| {
            rows.write_rows(inverse, &mut placed.inverse)?;
            rows.lay_coordinates(placed)
        })
    }

    pub(super) fn lay_coordinates(&self, placed: &Placed) -> Result<()> {
        let (n, m, stride) = (self.n, placed.m, int(even(placed.m)));
        let out = (placed.coordinates.from(0), int(even(m + self.offset)));
        let args = [placed.values.from(0), stride, placed.inverse.from(0), stride, out.0, out.1, int(n), int(m), int(self.offset)];
        self.tiles("coordinates", n, m, &args)
    }

    /// Writes a matrix to a buffer whose rows have an even number of places.
    pub(super) fn write_rows(&self, matrix: &Matrix, to: &mut Buffer<f64>) -> Result<()> {
        let (columns, places) = (matrix.cols(), even(matrix.cols()));
        if columns == places {
            return self.card.write(&self.stream, matrix.values(), to, 0);
        }
        let padded: Vec<f64> = matrix.iter().flat_map(|row| row.iter().copied().chain([0.0])).collect();
        self.card.write(&self.stream, &padded, to, 0)
    }

    fn space_for(&self, m: usize) -> Result<Placed> {
        let (card, stream, n, q, width, dim) = (&self.card, &self.stream, self.most, self.outputs, m + self.offset, self.dim);
        let sums = self.sections(m).all();
        let of_systems = part_numbers((width, width), self.systems(), true);
        let of_moved = part_numbers((m, dim + 1), 1, false);
        let of_gradient = part_numbers((width, q), 1, false);
        let parts = of_systems.max(of_moved).max(of_gradient).max(n.div_ceil(256) * (self.systems() + 1));
        let (needed, free) = (n.saturating_mul(3 * m + 4).saturating_add(parts + sums).saturating_mul(8), card.free_memory()?);
        if needed > free {
            return Err(too_large(n, free));
        }
        let zeros = |len: usize| card.zeros::<f64>(stream, len);
        let (of_values, of_weights) = (even(m), q * even(width));
        Ok(Placed {
            m,
            gamma: 0.0,
            values: zeros(n * of_values)?,
            coordinates: zeros(n * even(width))?,
            slopes_by_values: zeros(n * of_values)?,
            sent: card.pinned(m * dim)?,
            vectors: zeros(m * dim)?,
            z: zeros(m * even(dim + 1))?,
            own_values: zeros(m * of_values)?,
            own_slopes: zeros(m * of_values)?,
            z_squares: zeros(m)?,
            factor: zeros(m * of_values)?,
            inverse: zeros(m * of_values)?,
            weights: zeros(of_weights)?,
            steps: zeros(of_weights)?,
            fractions: zeros(q)?,
            tried: zeros(of_weights)?,
            coefficients: zeros(m * even(q))?,
            parts: zeros(parts)?,
            sums: zeros(sums)?,
            fetched: card.pinned(sums.max(of_weights))?,
            by_vectors: zeros(m * dim)?,
            fetched_by_vectors: card.pinned(m * dim)?,
            fetched_coefficients: card.pinned(m * even(q))?,
        })
    }

    pub(super) fn sections(&self, m: usize) -> super::sums::Sections {
        let (systems, q, width) = (self.systems(), self.outputs, m + self.offset);
        let moved = m * (self.dim + 1);
        super::sums::Sections([systems + 1, q, q, 1, systems, width * q, systems * width * width, moved, moved, width * q])
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
        self.write_rows(wanted.weights, &mut placed.weights)?;
        self.evaluate(placed, &placed.weights)?;
        self.choose()?;
        self.gradient(placed)?;
        if wanted.systems {
            self.add_systems(placed)?;
        }
        if let Some(coefficients) = wanted.coefficients {
            self.write_rows(coefficients, &mut placed.coefficients)?;
            self.move_vectors(placed)?;
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
