//! The sums over rows that training launches on a card, and where they are.
use std::ops::Range;

use super::{
    card::{Arg, Buffer},
    training::{CardRows, Placed, SIDE},
};
use crate::{Result, linalg::Matrix};

/// Numbers of the partial sums of a product over rows, about, and the most and fewest parts.
const PARTS: usize = 1 << 25;
const MOST_PARTS: usize = 32;

/// The sums of a pass, one after the other; those that a round of Newton's method looks at come first.
pub(super) struct Sections(pub [usize; 8]);

pub(super) const LOSSES: usize = 0;
pub(super) const NORMS: usize = 1;
pub(super) const PROMISED: usize = 2;
pub(super) const GRADIENT: usize = 3;
pub(super) const SYSTEMS: usize = 4;
pub(super) const MOVED: usize = 5;
pub(super) const OWN: usize = 6;
pub(super) const CURVED: usize = 7;

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
        RowFactor { place: numbers.from(0), stride: columns, columns, close: false }
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

/// How a product over rows is cut.
pub(super) fn n_parts(numbers: usize) -> usize {
    (PARTS / numbers.max(1)).clamp(1, MOST_PARTS)
}

pub(super) fn int(value: usize) -> Arg {
    Arg::Int(value as i32)
}

impl CardRows {
    fn multiplied(&self, placed: &Placed, weights: &Buffer<f64>, out: &Buffer<f64>) -> Result<()> {
        let (n, q, width) = (self.n, self.outputs, placed.m + self.offset);
        let args = [placed.coordinates.from(0), int(width), weights.from(0), out.from(0), int(n), int(q), int(width)];
        self.card.launch(&self.stream, "outputs", [n.div_ceil(SIDE), q.div_ceil(SIDE), 1], 128, 0, &args)
    }

    /// Outputs, losses, slopes and curvatures of all rows.
    pub(super) fn evaluate(&self, placed: &Placed, weights: &Buffer<f64>) -> Result<()> {
        self.multiplied(placed, weights, &self.f)?;
        let (blocks, systems) = (self.n.div_ceil(256), self.systems());
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
            Arg::Int(self.loss as i32),
        ];
        self.card.launch(&self.stream, "losses", [blocks, 1, 1], 256, 0, &args)?;
        self.add(placed, LOSSES, (systems + 1, blocks, 1), systems + 1, false)
    }

    /// Adds parts of numbers, in groups, to a section of the sums.
    fn add(&self, placed: &Placed, section: usize, (size, parts, groups): (usize, usize, usize), side: usize, lower: bool) -> Result<()> {
        let out = placed.sums.from(self.sections(placed.m).range(section).start);
        let args = [placed.parts.from(0), out, int(size), int(parts), int(side), Arg::Int(i32::from(lower))];
        self.card.launch(&self.stream, "add_parts", [size.div_ceil(256), groups, 1], 256, 0, &args)
    }

    /// a' diag(w) b over all rows, or those of lists.
    fn product(&self, placed: &Placed, section: usize, product: Product) -> Result<()> {
        let Product { a, b, weights, lists, groups, lower, rows } = product;
        let size = a.columns * b.columns;
        let parts = n_parts(size * groups);
        let tiles = a.columns.div_ceil(SIDE) * b.columns.div_ceil(SIDE);
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
        self.card.launch(&self.stream, "sums_tn", [tiles, parts, groups], 128, 0, &args)?;
        self.add(placed, section, (size, parts, groups), b.columns, lower)
    }

    pub(super) fn gradient(&self, placed: &Placed) -> Result<()> {
        let (v, slopes) = (self.coordinates(placed), RowFactor::new(&self.slopes, self.outputs));
        self.product(placed, GRADIENT, Product { a: v, b: slopes, weights: NONE, lists: EVERYTHING, groups: 1, lower: false, rows: self.n })
    }

    fn coordinates(&self, placed: &Placed) -> RowFactor {
        RowFactor::new(&placed.coordinates, placed.m + self.offset)
    }

    /// Lists the rows that have a curvature in each system, and those with a slope.
    pub(super) fn choose(&self) -> Result<()> {
        let (systems, q) = (self.systems(), self.outputs);
        let (curvatures, slopes) = (self.curvatures.from(0), self.slopes.from(0));
        let args = [curvatures, int(systems), slopes, int(q), int(self.n), self.lists.from(0), self.counts.from(0)];
        self.card.launch(&self.stream, "chosen", [systems + 1, 1, 1], 1024, 0, &args)
    }

    pub(super) fn add_systems(&self, placed: &Placed) -> Result<()> {
        let (systems, v) = (self.systems(), self.coordinates(placed));
        let (weights, lists) = ((self.curvatures.from(0), systems), (self.lists.from(0), self.counts.from(0)));
        self.product(placed, SYSTEMS, Product { a: v, b: v, weights, lists, groups: systems, lower: true, rows: self.n })
    }

    pub(super) fn move_vectors(&self, placed: &mut Placed, coefficients: &Matrix) -> Result<()> {
        let (card, stream, n, m) = (&self.card, &self.stream, self.n, placed.m);
        card.write(stream, coefficients.values(), &mut placed.coefficients, 0)?;
        let lists = (self.lists.from(self.systems() * n), self.counts.from(self.systems()));
        let pulled = (self.slopes.from(0), placed.values.from(0), placed.slopes_by_values.from(0));
        self.pull(placed, pulled, lists, n)?;
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
        let args = [slopes, placed.coefficients.from(0), values, out, list, count, int(m), int(q), Arg::Double(placed.gamma)];
        self.card.launch(&self.stream, "pulls", [rows.div_ceil(SIDE), m.div_ceil(SIDE), 1], 128, 0, &args)
    }

    /// The second derivatives times a direction.
    pub(super) fn curve(&self, placed: &mut Placed, direction: &Matrix) -> Result<()> {
        let (card, stream, n, q) = (&self.card, &self.stream, self.n, self.outputs);
        card.write(stream, direction.values(), &mut placed.weights, 0)?;
        self.multiplied(placed, &placed.weights, &self.slopes)?;
        let args = [self.f.from(0), self.slopes.from(0), self.costs.from(0), self.slopes.from(0), int(n), int(q)];
        card.launch(stream, "curve", [n.div_ceil(256), 1, 1], 256, 0, &args)?;
        let (v, curved) = (self.coordinates(placed), RowFactor::new(&self.slopes, q));
        self.product(placed, CURVED, Product { a: v, b: curved, weights: NONE, lists: EVERYTHING, groups: 1, lower: false, rows: self.n })
    }
}
