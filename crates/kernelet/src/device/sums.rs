//! The sums over rows that training launches on a card, and where they are.
use std::ops::Range;

use super::{
    card::{Arg, Buffer},
    training::{CardRows, Placed, even},
};
use crate::{Result, linalg::Matrix};

/// The side of a tile of a product, the columns of a narrow one, the threads of a block of either, and the rows that are listed at a time, as in `cuda/`.
const SIDE: usize = 64;
const NARROW: usize = 16;
const BLOCK: usize = 128;
const LISTED: usize = 1024;

/// Blocks of a product over rows, about, and the most parts of it.
const BLOCKS: usize = 768;
const MOST_PARTS: usize = 128;

/// The sums of a pass, one after the other; those that a round of Newton's method looks at come first.
pub(super) struct Sections(pub [usize; 10]);

pub(super) const LOSSES: usize = 0;
pub(super) const NORMS: usize = 1;
pub(super) const PROMISED: usize = 2;
pub(super) const FAILED: usize = 3;
pub(super) const WRONG: usize = 4;
pub(super) const GRADIENT: usize = 5;
pub(super) const SYSTEMS: usize = 6;
pub(super) const MOVED: usize = 7;
pub(super) const OWN: usize = 8;
pub(super) const CURVED: usize = 9;

impl Sections {
    pub fn range(&self, section: usize) -> Range<usize> {
        let start = self.0[..section].iter().sum();
        start..start + self.0[section]
    }

    pub fn all(&self) -> usize {
        self.0.iter().sum()
    }
}

/// A factor of a product over rows: its first columns of rows with this stride. `close` says that its rows are those of the list, one after the other.
#[derive(Clone, Copy)]
struct RowFactor {
    place: Arg,
    stride: usize,
    columns: usize,
    close: bool,
}

impl RowFactor {
    fn new(numbers: &Buffer<f64>, columns: usize) -> Self {
        RowFactor { place: numbers.from(0), stride: even(columns), columns, close: false }
    }
}

/// A product over rows; weights and their stride, lists and their lengths.
struct Product {
    a: RowFactor,
    b: RowFactor,
    weights: (Arg, usize),
    lists: (Arg, Arg),
    groups: usize,
    lower: bool,
    /// Rows where there are no lists.
    rows: usize,
}

const NONE: (Arg, usize) = (Arg::Place(0), 0);
const EVERYTHING: (Arg, Arg) = (Arg::Place(0), Arg::Place(0));

/// The tiles of a product of so many columns each, and the parts that it is cut into.
fn cut((a, b): (usize, usize), groups: usize, lower: bool) -> (usize, usize) {
    let across = b.div_ceil(if b <= NARROW { NARROW } else { SIDE });
    let tiles = a.div_ceil(SIDE) * across;
    let worked = if lower { tiles.div_ceil(2) } else { tiles };
    (tiles, (BLOCKS / (worked * groups).max(1)).clamp(1, MOST_PARTS))
}

/// Numbers of all parts of a product.
pub(super) fn part_numbers(columns: (usize, usize), groups: usize, lower: bool) -> usize {
    columns.0 * columns.1 * groups * cut(columns, groups, lower).1
}

pub(super) fn int(value: usize) -> Arg {
    Arg::Int(value as i32)
}

impl CardRows {
    /// Starts a product of rows and the rows of another matrix, whose numbers each tile writes.
    pub(super) fn tiles(&self, name: &str, rows: usize, columns: usize, args: &[Arg]) -> Result<()> {
        let side = if name == "outputs" { NARROW } else { SIDE };
        self.card.launch(&self.stream, name, [rows.div_ceil(SIDE) * columns.div_ceil(side), 1, 1], BLOCK, 0, args)
    }

    fn multiplied(&self, placed: &Placed, weights: &Buffer<f64>, out: &Buffer<f64>) -> Result<()> {
        let (n, q, width) = (self.n, self.outputs, placed.m + self.offset);
        let (stride, out_stride) = (int(even(width)), int(even(q)));
        let args = [placed.coordinates.from(0), stride, weights.from(0), stride, out.from(0), out_stride, int(n), int(q), int(width)];
        self.tiles("outputs", n, q, &args)
    }

    /// Outputs, losses, slopes and curvatures of all rows.
    pub(super) fn evaluate(&self, placed: &Placed, weights: &Buffer<f64>) -> Result<()> {
        self.multiplied(placed, weights, &self.f)?;
        let (card, stream) = (&self.card, &self.stream);
        let (blocks, numbers) = (self.n.div_ceil(256), self.systems() + 1);
        let args = [
            self.f.from(0),
            self.codes.from(0),
            self.targets.from(0),
            self.costs.from(0),
            self.slopes.from(0),
            self.curvatures.from(0),
            placed.parts.from(0),
            int(self.n),
            int(self.outputs),
            int(even(self.outputs)),
            Arg::Int(self.loss as i32),
        ];
        card.launch(stream, "losses", [blocks, 1, 1], 256, 0, &args)?;
        let args = [placed.parts.from(0), self.section(placed, LOSSES), int(numbers), int(blocks)];
        card.launch(stream, "add_many", [numbers, 1, 1], 256, 0, &args)
    }

    pub(super) fn section(&self, placed: &Placed, section: usize) -> Arg {
        placed.sums.from(self.sections(placed.m).range(section).start)
    }

    /// a' diag(w) b over all rows, or those of lists.
    fn product(&self, placed: &Placed, section: usize, product: Product) -> Result<()> {
        let Product { a, b, weights, lists, groups, lower, rows } = product;
        let size = a.columns * b.columns;
        let (tiles, parts) = cut((a.columns, b.columns), groups, lower);
        let args = [
            a.place,
            int(a.stride),
            int(a.columns),
            Arg::Int(i32::from(a.close)),
            b.place,
            int(b.stride),
            int(b.columns),
            weights.0,
            int(weights.1),
            lists.0,
            lists.1,
            int(rows),
            placed.parts.from(0),
            Arg::Int(i32::from(lower)),
        ];
        let name = if b.columns <= NARROW { "narrow_sums_tn" } else { "sums_tn" };
        self.card.launch(&self.stream, name, [tiles, parts, groups], BLOCK, 0, &args)?;
        let out = self.section(placed, section);
        let lower = Arg::Int(i32::from(lower));
        let args = [placed.parts.from(0), out, int(size), int(parts), int(b.columns), lower, lists.1, int(rows)];
        self.card.launch(&self.stream, "add_parts", [size.div_ceil(256), groups, 1], 256, 0, &args)
    }

    /// The list of rows with a slope.
    fn sloping(&self) -> (Arg, Arg) {
        (self.lists.from(self.systems() * self.n), self.counts.from(self.systems()))
    }

    /// The gradient of the losses by the weights; the rows are to be chosen before.
    pub(super) fn gradient(&self, placed: &Placed) -> Result<()> {
        let (a, b) = (self.coordinates(placed), RowFactor::new(&self.slopes, self.outputs));
        self.product(placed, GRADIENT, Product { a, b, weights: NONE, lists: self.sloping(), groups: 1, lower: false, rows: self.n })
    }

    fn coordinates(&self, placed: &Placed) -> RowFactor {
        RowFactor::new(&placed.coordinates, placed.m + self.offset)
    }

    /// Lists the rows that have a curvature in each system, and those with a slope.
    pub(super) fn choose(&self) -> Result<()> {
        let (card, stream, systems, blocks) = (&self.card, &self.stream, self.systems(), self.n.div_ceil(LISTED));
        let (curvatures, slopes, found) = (self.curvatures.from(0), self.slopes.from(0), self.found.from(0));
        let args = [curvatures, int(systems), slopes, int(self.outputs), int(even(self.outputs)), int(self.n), found];
        card.launch(stream, "counted", [blocks, systems + 1, 1], LISTED, 0, &args)?;
        let args = [&args[..], &[self.lists.from(0), self.counts.from(0)]].concat();
        card.launch(stream, "chosen", [blocks, systems + 1, 1], LISTED, 0, &args)
    }

    pub(super) fn add_systems(&self, placed: &Placed) -> Result<()> {
        let (systems, v) = (self.systems(), self.coordinates(placed));
        let (weights, lists) = ((self.curvatures.from(0), systems), (self.lists.from(0), self.counts.from(0)));
        self.product(placed, SYSTEMS, Product { a: v, b: v, weights, lists, groups: systems, lower: true, rows: self.n })
    }

    /// Sums for the gradient by the vectors over the rows that are chosen.
    pub(super) fn move_vectors(&self, placed: &Placed) -> Result<()> {
        let (n, m, lists) = (self.n, placed.m, self.sloping());
        self.pull(placed, (self.slopes.from(0), placed.values.from(0), placed.slopes_by_values.from(0)), lists, n)?;
        let a = RowFactor { close: true, ..RowFactor::new(&placed.slopes_by_values, m) };
        let b = RowFactor::new(&self.x, self.dim + 1);
        self.product(placed, MOVED, Product { a, b, weights: NONE, lists, groups: 1, lower: false, rows: n })
    }

    /// What the vectors themselves add to the sums for their gradient: rows that are the vectors, whose slopes are the coefficients.
    pub(super) fn move_by_vectors(&self, placed: &Placed) -> Result<()> {
        let m = placed.m;
        self.pull(placed, (placed.coefficients.from(0), placed.own_values.from(0), placed.own_slopes.from(0)), EVERYTHING, m)?;
        let (a, b) = (RowFactor::new(&placed.own_slopes, m), RowFactor::new(&placed.z, self.dim + 1));
        self.product(placed, OWN, Product { a, b, weights: NONE, lists: EVERYTHING, groups: 1, lower: false, rows: m })
    }

    fn pull(&self, placed: &Placed, (slopes, values, out): (Arg, Arg, Arg), (list, count): (Arg, Arg), rows: usize) -> Result<()> {
        let (m, q) = (placed.m, self.outputs);
        let (beta, gamma) = (placed.coefficients.from(0), Arg::Double(placed.gamma));
        self.tiles("pulls", rows, m, &[slopes, beta, int(even(q)), values, out, int(even(m)), list, count, int(m), int(q), gamma])
    }

    /// The second derivatives times a direction.
    pub(super) fn curve(&self, placed: &mut Placed, direction: &Matrix) -> Result<()> {
        let (card, stream, n, q) = (&self.card, &self.stream, self.n, self.outputs);
        self.write_rows(direction, &mut placed.weights)?;
        self.multiplied(placed, &placed.weights, &self.slopes)?;
        let args = [self.f.from(0), self.slopes.from(0), self.costs.from(0), self.slopes.from(0), int(n), int(q), int(even(q))];
        card.launch(stream, "curve", [n.div_ceil(256), 1, 1], 256, 0, &args)?;
        let (v, curved) = (self.coordinates(placed), RowFactor::new(&self.slopes, q));
        self.product(placed, CURVED, Product { a: v, b: curved, weights: NONE, lists: EVERYTHING, groups: 1, lower: false, rows: self.n })
    }
}
