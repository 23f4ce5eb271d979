//! Sums over the vectors of an expansion on a card, for rows that stream through it in blocks or lie there already.
//!
//! Two streams, each with pinned buffers of its own: while the processor fills one block and the bus carries another, the card computes. The blocks do not change
//! a bit of what comes out: a row's sums depend on the row alone.
use std::{
    ops::Range,
    sync::{Arc, Mutex},
};

use super::{
    card::{Arg, Buffer, Card, Pinned, Stream},
    form::GAUSSIAN,
    packed::{CHUNK, Packed, TILE},
};
use crate::{Error, Result};

/// Stages of the chunks in shared memory, and the bytes of one, as in `cuda/predict.cu`.
const STAGES: usize = 3;
const SLOT: usize = 4 * TILE * CHUNK;

/// Bytes of rows in a block that streams.
const BLOCK: usize = 32 << 20;

/// Waves of tiles in a block of rows that lie on the card: so many for each of its processors.
const WAVES: usize = 8;

/// Writes rows as the card needs them.
pub(crate) enum Fill<'a> {
    /// As they are; the card subtracts the centre.
    Raw(&'a (dyn Fn(Range<usize>, &mut [f32]) + Sync)),
    /// Less the centre.
    Centred(&'a (dyn Fn(Range<usize>, &mut [f32]) + Sync)),
}

/// An array that lies on a card, one row after another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CardArray {
    /// Its address there.
    pub place: u64,
    /// Whether its numbers are in double precision; else in single.
    pub double: bool,
    /// Rows.
    pub rows: usize,
    /// Numbers of a row.
    pub cols: usize,
}

/// An expansion on a card.
pub(crate) struct CardSums {
    card: Arc<Card>,
    packed: Packed,
    arrays: Arrays,
    lanes: Mutex<Option<Lanes>>,
    /// The shift and factors of rows that lie on the card, on the card, and space for their halves: how many rows of which precision, kept from call to call.
    resident: Affine,
    space: Mutex<Option<(usize, bool, Split)>>,
}

impl std::fmt::Debug for CardSums {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CardSums").field("m", &self.packed.m).field("dim", &self.packed.dim).finish()
    }
}

/// What is subtracted from rows (in a high and a low part for each feature), and what they are then multiplied with.
struct Affine {
    centre: Buffer<f32>,
    factor: Buffer<f32>,
}

struct Arrays {
    high: Buffer<u16>,
    low: Buffer<u16>,
    numbers: Buffer<f32>,
    groups: Vec<(Buffer<u32>, Buffer<f32>)>,
    few: Option<(Buffer<u32>, Buffer<f32>, Buffer<u32>)>,
    /// For rows less the centre, and for raw ones.
    still: Affine,
    raw: Affine,
}

/// A stream with its buffers.
struct Lane {
    stream: Stream,
    x: Pinned<f32>,
    y: Pinned<f32>,
    dx: Buffer<f32>,
    dy: Buffer<f32>,
    split: Split,
    /// First row and rows of the block that is on its way.
    waiting: Option<(usize, usize)>,
}

/// Space for rows in halves.
struct Split {
    high: Buffer<u16>,
    low: Buffer<u16>,
    numbers: Buffer<f32>,
}

struct Lanes {
    rows: usize,
    lanes: [Lane; 2],
}

impl CardSums {
    /// Puts an expansion on a card. Rows that lie on the card are raw: `shift` is subtracted from them, and they are multiplied by `factor`.
    pub fn new(card: Arc<Card>, packed: Packed, shift: Option<&[f64]>, factor: Option<&[f64]>) -> Result<Self> {
        let stream = card.stream()?;
        let dim = packed.dim;
        let affine = |centre: &dyn Fn(usize) -> f64, factor: &dyn Fn(usize) -> f64| -> Result<Affine> {
            let parts = (0..dim).flat_map(|k| {
                let (centre, high) = (centre(k), centre(k) as f32);
                [high, (centre - f64::from(high)) as f32]
            });
            let factors: Vec<f32> = (0..dim).map(|k| factor(k) as f32).collect();
            Ok(Affine { centre: card.upload(&stream, &parts.collect::<Vec<_>>())?, factor: card.upload(&stream, &factors)? })
        };
        let of = |numbers: Option<&[f64]>, k: usize, other: f64| numbers.and_then(|numbers| numbers.get(k)).copied().unwrap_or(other);
        let centre = packed.centre.clone();
        let resident = affine(
            &|k| match of(factor, k, 1.0) {
                0.0 => 0.0,
                factor => of(shift, k, 0.0) + centre[k] / factor,
            },
            &|k| of(factor, k, 1.0),
        )?;
        let groups = packed
            .groups
            .iter()
            .map(|group| Ok((card.upload(&stream, group.fragments.as_flattened())?, card.upload(&stream, &group.scales)?)));
        let few = packed.few.as_ref().map(|few| -> Result<_> {
            Ok((
                card.upload(&stream, few.vectors.as_flattened())?,
                card.upload(&stream, &few.squares)?,
                card.upload(&stream, few.beta.as_flattened())?,
            ))
        });
        let arrays = Arrays {
            high: card.upload(&stream, &packed.high)?,
            low: card.upload(&stream, &packed.low)?,
            numbers: card.upload(&stream, packed.numbers.as_flattened())?,
            groups: groups.collect::<Result<_>>()?,
            few: few.transpose()?,
            still: affine(&|_| 0.0, &|_| 1.0)?,
            raw: affine(&|k| centre[k], &|_| 1.0)?,
        };
        Ok(CardSums { card, packed, arrays, lanes: Mutex::new(None), resident, space: Mutex::new(None) })
    }

    /// The sums of `n` rows, block by block: `take` gets the first row of a block and its sums.
    pub fn stream(&self, n: usize, fill: Fill, take: &mut dyn FnMut(usize, &[f32]) -> Result<()>) -> Result<()> {
        let mut held = self.lanes.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let rows = self.block_rows(n, held.as_ref().map_or(0, |lanes| lanes.rows))?;
        if held.as_ref().is_none_or(|lanes| lanes.rows < rows) {
            *held = None;
            *held = Some(Lanes { rows, lanes: [self.lane(rows)?, self.lane(rows)?] });
        }
        let Some(Lanes { lanes, .. }) = held.as_mut() else { return Err(Error::device("the GPU has no buffers")) };
        let outcome = self.stream_through(lanes, n, rows, fill, take);
        if outcome.is_err() {
            // What is on its way is waited for, or it would write to memory that is given back.
            lanes.iter().for_each(|lane| drop(self.card.wait(&lane.stream)));
            *held = None;
        }
        outcome
    }

    fn stream_through(
        &self,
        lanes: &mut [Lane; 2],
        n: usize,
        rows: usize,
        fill: Fill,
        take: &mut dyn FnMut(usize, &[f32]) -> Result<()>,
    ) -> Result<()> {
        let (dim, q) = (self.packed.dim, self.packed.outputs);
        for (block, first) in (0..n).step_by(rows).enumerate() {
            let lane = &mut lanes[block % 2];
            self.finish(lane, take)?;
            let count = rows.min(n - first);
            let affine = match &fill {
                Fill::Raw(write) => {
                    write(first..first + count, &mut lane.x.items_mut()?[..count * dim]);
                    &self.arrays.raw
                }
                Fill::Centred(write) => {
                    write(first..first + count, &mut lane.x.items_mut()?[..count * dim]);
                    &self.arrays.still
                }
            };
            self.card.send(&lane.stream, &lane.x, count * dim, (&mut lane.dx, 0))?;
            self.launch(&lane.stream, (lane.dx.from(0), false, count), affine, &lane.split, lane.dy.from(0))?;
            self.card.fetch(&lane.stream, &lane.dy, 0..count * q, &mut lane.y)?;
            lane.waiting = Some((first, count));
        }
        let next = n.div_ceil(rows) % 2;
        self.finish(&mut lanes[next], take)?;
        self.finish(&mut lanes[1 - next], take)
    }

    fn finish(&self, lane: &mut Lane, take: &mut dyn FnMut(usize, &[f32]) -> Result<()>) -> Result<()> {
        let Some((first, count)) = lane.waiting.take() else { return Ok(()) };
        self.card.wait(&lane.stream)?;
        take(first, &lane.y.items()?[..count * self.packed.outputs])
    }

    /// Sums of rows that lie on the card, and offsets, written to `out` there, in the order of the caller's stream. Returns when they are there.
    pub fn at(&self, rows: CardArray, out: CardArray, offsets: &[f64], stream: u64) -> Result<()> {
        let (dim, q, n) = (self.packed.dim, self.packed.outputs, rows.rows);
        if n == 0 {
            return Ok(());
        }
        let stream = self.card.stream_of(stream);
        let size = (WAVES * self.card.processors).min(n.div_ceil(TILE)) * TILE;
        let mut space = self.space.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if space.as_ref().is_none_or(|(held, double, _)| *held < size || *double != rows.double) {
            *space = None;
            *space = Some((size, rows.double, self.split(&stream, size, rows.double)?));
        }
        let Some((_, _, split)) = space.as_ref() else { return Err(Error::device("the GPU has no space for rows")) };
        let bytes = if rows.double { 8 } else { 4 };
        let mut outcome = Ok(());
        for first in (0..n).step_by(size.max(1)) {
            let x = Arg::Place(rows.place + (first * dim * bytes) as u64);
            let y = Arg::Place(out.place + (first * q * 4) as u64);
            outcome = self.launch(&stream, (x, rows.double, size.min(n - first)), &self.resident, split, y);
            if outcome.is_err() {
                break;
            }
        }
        let offsets: Vec<f32> = offsets.iter().map(|offset| *offset as f32).collect();
        if outcome.is_ok() && offsets.iter().any(|offset| *offset != 0.0) {
            let offsets = self.card.upload(&stream, &offsets)?;
            let args = [Arg::Place(out.place), offsets.from(0), Arg::Long(n * q), Arg::Int(q as i32)];
            outcome = self.card.launch(&stream, "add_offsets", [(n * q).div_ceil(256), 1, 1], 256, 0, &args);
            self.card.wait(&stream)?;
        }
        self.card.wait(&stream)?;
        outcome
    }

    /// Rows of a block: as many as BLOCK bytes hold and the free memory of the card takes, whole tiles.
    fn block_rows(&self, n: usize, held: usize) -> Result<usize> {
        let (dim, padded, q) = (self.packed.dim.max(1), self.packed.padded, self.packed.outputs);
        let wanted = (BLOCK / (4 * dim)).min(n).max(1);
        let rows = wanted.div_ceil(TILE) * TILE;
        if rows <= held {
            return Ok(rows);
        }
        let row_bytes = 2 * (4 * dim + 4 * padded + 8 + 4 * q);
        let fits = self.card.free_memory()? / 10 * 9 / row_bytes / TILE * TILE;
        match fits {
            0 => Err(Error::device("the GPU has too little free memory for this; use the device cpu, or free memory on the card")),
            fits => Ok(rows.min(fits)),
        }
    }

    fn lane(&self, rows: usize) -> Result<Lane> {
        let (card, dim, q) = (&self.card, self.packed.dim, self.packed.outputs);
        let stream = card.stream()?;
        let (dx, dy) = (card.zeros(&stream, rows * dim)?, card.zeros(&stream, rows * q)?);
        let split = self.split(&stream, rows, false)?;
        Ok(Lane { x: card.pinned(rows * dim)?, y: card.pinned(rows * q)?, dx, dy, split, stream, waiting: None })
    }

    fn split(&self, stream: &Stream, rows: usize, double: bool) -> Result<Split> {
        let halves = if self.packed.few.is_some() && !double { 0 } else { rows * self.packed.padded };
        Ok(Split {
            high: self.card.zeros(stream, halves)?,
            low: self.card.zeros(stream, halves)?,
            numbers: self.card.zeros(stream, 2 * rows)?,
        })
    }

    fn launch(&self, stream: &Stream, (x, double, n): (Arg, bool, usize), affine: &Affine, split: &Split, out: Arg) -> Result<()> {
        let (card, packed, arrays, form) = (&self.card, &self.packed, &self.arrays, &self.packed.form);
        let int = |value: usize| Arg::Int(value as i32);
        if let (Some(few), Some((vectors, squares, beta)), false) = (&packed.few, &arrays.few, double) {
            let name = format!("small_{}_{}", few.steps, few.output_blocks);
            let grid = (2 * card.processors).min(n.div_ceil(TILE));
            let args = [
                x,
                affine.centre.from(0),
                affine.factor.from(0),
                vectors.from(0),
                squares.from(0),
                beta.from(0),
                arrays.groups[0].1.from(0),
                out,
                int(n),
                int(packed.dim),
                int(few.blocks),
                int(packed.outputs),
                Arg::Single(form.row_square),
                Arg::Single(few.product),
            ];
            return card.launch(stream, &name, [grid, 1, 1], 256, few.shared, &args);
        }
        let name = if double { "split_f64" } else { "split_f32" };
        let (high, low, numbers) = (split.high.from(0), split.low.from(0), split.numbers.from(0));
        let (dim, padded, square) = (int(packed.dim), int(packed.padded), Arg::Single(form.row_square));
        let args = [x, affine.centre.from(0), affine.factor.from(0), high, low, numbers, int(n), dim, padded, square];
        card.launch(stream, name, [n.div_ceil(8), 1, 1], 256, 0, &args)?;
        let chunks = packed.padded / CHUNK;
        for (group, (fragments, scales)) in packed.groups.iter().zip(&arrays.groups) {
            let parts = 4 * TILE * group.blocks * 8 * 4;
            let held = (chunks + STAGES) * SLOT;
            let resident = !packed.wide() && held <= card.shared;
            let shared = if resident { held } else { 2 * STAGES * SLOT }.max(parts);
            let name = format!(
                "{}{}_{}",
                if form.kind == GAUSSIAN { "gaussian" } else { "other" },
                if packed.wide() { "_wide" } else { "" },
                group.blocks
            );
            let Arg::Place(place) = out else { return Err(Error::device("outputs without a place")) };
            let args = [
                high,
                low,
                numbers,
                arrays.high.from(0),
                arrays.low.from(0),
                arrays.numbers.from(0),
                fragments.from(0),
                scales.from(0),
                Arg::Place(place + 4 * group.first as u64),
                int(n),
                int(packed.m),
                padded,
                Arg::Int(i32::from(resident)),
                int(packed.outputs),
                int(group.width),
                Arg::Single(form.product),
                Arg::Int(form.kind),
                Arg::Single(form.p0),
                Arg::Single(form.p1),
            ];
            card.launch(stream, &name, [n.div_ceil(TILE), 1, 1], 256, shared, &args)?;
        }
        Ok(())
    }
}
