//! The loops over rows and panels of packed vectors: one multiply-add for each register, row and feature.
use std::ops::Range;

use super::{
    fused::{Packed, Rows, TILE_PANELS},
    simd::{Ahead, SimdReal, Vector, VectorJob},
};

/// Features after which accumulators are put aside, so that rows and panels stay in cache when there are many features.
const FEATURES_AT_ONCE: usize = 800;

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
pub(super) trait Sink<R> {
    fn take<V: Vector<Real = R>, const ROWS: usize, const COLS: usize>(&mut self, row: usize, lane: usize, exponents: [[V; COLS]; ROWS]);
}

/// Multiplies by the coefficients and keeps one register of sums for each row and output.
pub(super) struct Sums<'a, R> {
    pub coefficients: &'a [R],
    pub outputs: usize,
    pub all: usize,
    pub lanes: &'a mut [R],
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
pub(super) struct Values<'a, R> {
    pub first: usize,
    pub stride: usize,
    pub out: &'a mut [R],
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
pub(super) struct Walk<'a, R, S> {
    pub packed: &'a Packed<R>,
    pub rows: &'a Rows<R>,
    pub lanes: Range<usize>,
    pub tiles: &'a mut Vec<R>,
    /// What the rows of the next call lie in.
    pub ahead: Ahead,
    pub sink: S,
}

impl<R: SimdReal, S: Sink<R>> VectorJob<R> for Walk<'_, R, S> {
    #[inline(always)]
    fn run<V: Vector<Real = R>, const ROWS: usize, const COLS: usize>(mut self) {
        let (dim, width) = (self.packed.dim(), COLS * V::WIDTH);
        let count = self.rows.starts.len();
        let parts = dim.div_ceil(FEATURES_AT_ONCE).max(1);
        // In several parts: rows of one part stay in cache while a whole tile of panels goes by.
        let together = if parts > 1 { TILE_PANELS } else { 1 };
        let blocks = if count < 2 { 0..0 } else { self.lanes.clone() };
        for first in blocks.step_by(together * width) {
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
                        _ => self.panel::<V, ROWS, COLS>(lane, lane - first, features.clone()),
                    }
                }
            }
        }
        if count % ROWS % 2 == 1 {
            self.row::<V, COLS>(count - 1);
        }
    }
}

impl<R: SimdReal, S: Sink<R>> Walk<'_, R, S> {
    /// All rows but a last single one against the panel of `COLS` registers that begins at `lane`, `aside` lanes into those worked on together.
    ///
    /// Rows that do not fill a tile make smaller ones: alone each of them would read the whole panel.
    #[inline(always)]
    fn panel<V: Vector<Real = R>, const ROWS: usize, const COLS: usize>(&mut self, lane: usize, aside: usize, features: Range<usize>) {
        let count = self.rows.starts.len();
        let place = |row: usize| aside * count + row * COLS * V::WIDTH;
        let mut row = 0;
        while count - row >= ROWS {
            self.tile::<V, ROWS, COLS>(lane, row, place(row), features.clone());
            row += ROWS;
        }
        if ROWS > 4 && count - row >= 4 {
            self.tile::<V, 4, COLS>(lane, row, place(row), features.clone());
            row += 4;
        }
        if ROWS > 2 && count - row >= 2 {
            self.tile::<V, 2, COLS>(lane, row, place(row), features);
        }
    }

    /// One row against all vectors, several panels at a time: a single panel has fewer accumulators than multiply-adds are under way.
    #[inline(always)]
    fn row<V: Vector<Real = R>, const COLS: usize>(&mut self, row: usize) {
        let (mut lane, end, width) = (self.lanes.start, self.lanes.end, COLS * V::WIDTH);
        while lane + 4 * width <= end {
            self.strip::<V, COLS, 4>(row, lane);
            lane += 4 * width;
        }
        while lane + width <= end {
            let panels = (end - lane) / width;
            if panels >= 2 {
                self.strip::<V, COLS, 2>(row, lane)
            } else {
                self.strip::<V, COLS, 1>(row, lane)
            }
            lane += panels.min(2) * width;
        }
        match (end - lane) / V::WIDTH {
            0 => {}
            1 => self.strip::<V, 1, 1>(row, lane),
            _ => self.strip::<V, 2, 1>(row, lane),
        }
    }

    /// One row against the panels of `COLS` registers that begin at `lane`.
    #[inline(always)]
    fn strip<V: Vector<Real = R>, const COLS: usize, const PANELS: usize>(&mut self, row: usize, lane: usize) {
        let (dim, size) = (self.packed.dim(), COLS * V::WIDTH);
        let start = V::splat(self.rows.starts[row]);
        let mut sums = [[start; COLS]; PANELS];
        let mut panels: [&[R]; PANELS] = [&[]; PANELS];
        for p in 0..PANELS {
            let vectors = &self.packed.starts[lane + p * size..][..size];
            for c in 0..COLS {
                sums[p][c] = start.add(V::load(&vectors[c * V::WIDTH..]));
            }
            panels[p] = &self.packed.panels.slice()[(lane + p * size) * dim..][..size * dim];
        }
        for (k, x) in self.rows.values[row * dim..][..dim].iter().enumerate() {
            let x = V::splat(*x);
            for p in 0..PANELS {
                let lanes = &panels[p][k * size..][..size];
                for c in 0..COLS {
                    sums[p][c] = x.multiply_add(V::load(&lanes[c * V::WIDTH..]), sums[p][c]);
                }
            }
        }
        for p in 0..PANELS {
            self.sink.take::<V, 1, COLS>(row, lane + p * size, [sums[p]]);
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
        let (dim, size) = (self.packed.dim(), COLS * V::WIDTH);
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
        // The first panel asks for as many rows as it works on.
        let ahead = if lane == self.lanes.start { self.ahead } else { Ahead::default() };
        let first = row * dim + features.start * ROWS;
        for (k, lanes) in (0..count).zip(panel.chunks_exact(size)) {
            ahead.prefetch(first + k * ROWS);
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
