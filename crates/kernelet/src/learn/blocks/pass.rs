//! The sums of one block of rows: the only code that sees rows, whoever keeps them.
//!
//! A block is cut into a fixed number of parts, each of which one thread works through in tiles; the parts are added in their order. Cost of a row: m d
//! for its kernel values, m^2 / 2 for its coordinates, m^2 / 2 for each system it is part of, and 2 m d where the vectors' gradient is wanted; the gradient
//! by scales takes d more, that by a map K x d another K (m + d), and transforming the row d or K d.
use std::ops::Range;

use crate::parallel::*;

use super::{
    ask::{Ask, FitAsk},
    losses::Losses,
    sample::{Sample, bound},
    sums::{FitSums, ScoutSums, Sums},
};
use crate::{
    Error, Result,
    basis::Frame,
    data::{Fingerprints, Points, RowBlock, Summary},
    error::wrong_weight,
    kernel::{
        Kernel,
        block::{CHUNK, Scratch},
    },
    learn::direct::{RowSums, Transform},
    linalg::{Lower, Matrix, Product, Real, add_outer, product_transposed},
};

/// Parts of a block.
const PARTS: usize = 4;

/// Numbers of a tile of rows; rows of many features come in smaller tiles.
const TILE: usize = 1 << 20;

/// An ask, ready for any block.
pub(super) struct Pass<'a> {
    ask: &'a Ask,
    frame: Option<Frame>,
    /// m x q.
    coefficients: Matrix,
    /// No hash of the sample that is asked for exceeds it.
    bound: u64,
}

/// The sums of one block.
pub fn block_sums(ask: &Ask, block: &RowBlock) -> Result<Sums> {
    Pass::new(ask).sums(block)
}

impl<'a> Pass<'a> {
    pub fn new(ask: &'a Ask) -> Self {
        let Ask::Fit(fit) = ask else { return Pass { ask, frame: None, coefficients: Matrix::default(), bound: u64::MAX } };
        let frame = Frame::of(&fit.kernel, &fit.vectors.clone().into(), Lower::new(fit.factor.clone()));
        let m = fit.vectors.rows();
        let coefficients = frame.coefficients(&fit.weights.select(&(0..m).collect::<Vec<_>>()));
        Pass { ask, frame: Some(frame), coefficients, bound: u64::MAX }
    }

    /// The same where all blocks together have so many rows.
    pub fn over(ask: &'a Ask, n_rows: u64) -> Self {
        let bound = if let Ask::Scout { seed, sample, .. } = ask { bound(*seed, n_rows, *sample) } else { u64::MAX };
        Pass { bound, ..Pass::new(ask) }
    }

    /// The sums of one block, on all threads of the current pool.
    pub fn sums(&self, block: &RowBlock) -> Result<Sums> {
        let found = block.weights.as_ref().map_or(block.points.len(), Vec::len);
        if block.targets.rows() != block.points.len() || found != block.points.len() {
            return Err(Error::Shape { what: "targets", expected: block.points.len(), found: block.targets.rows() });
        }
        match (self.ask, &self.frame) {
            (Ask::Scout { seed, sample, fingerprints, n_classes }, _) => {
                scouted(block, (*seed, *sample, self.bound), *fingerprints, *n_classes)
            }
            (Ask::Fit(ask), Some(frame)) => self.fitted(ask, frame, block),
            (Ask::Fit(_), None) => Err(Error::data("there are no vectors")),
        }
    }

    fn fitted(&self, ask: &FitAsk, frame: &Frame, block: &RowBlock) -> Result<Sums> {
        let scaled = ask.problem.scale.as_ref().map(|scale| scale.apply(&block.points)).transpose()?;
        let rows = scaled.as_ref().unwrap_or(&block.points);
        let expected = ask.transform.dim().unwrap_or(ask.vectors.cols());
        if rows.dim() != expected {
            return Err(Error::Shape { what: "features", expected, found: rows.dim() });
        }
        let points = ask.transform.rows(rows, vec![]);
        let work = Work { ask, frame, coefficients: &self.coefficients, rows, points: &points, losses: Losses::new(&ask.problem, block)? };
        let n = points.len();
        let size = n.div_ceil(PARTS).div_ceil(CHUNK).max(1) * CHUNK;
        let parts: Vec<FitSums> = (0..n.div_ceil(size)).into_par_iter().map(|p| work.part(p * size..n.min((p + 1) * size))).collect();
        let mut sum = work.nothing();
        parts.into_iter().try_for_each(|part| sum.add(part))?;
        Ok(Sums::Fit(Box::new(sum)))
    }
}

fn scouted(block: &RowBlock, (seed, sample, bound): (u64, usize, u64), fingerprints: usize, n_classes: usize) -> Result<Sums> {
    block.points.check_finite().map_err(|error| error.after_rows(block.first as usize))?;
    if let Some(at) = block.targets.values().iter().position(|v| !v.is_finite()) {
        let (row, column) = (block.first as usize + at / block.targets.cols(), at % block.targets.cols());
        return Err(Error::NotFinite { what: "a target", row, column, value: block.targets.values()[at] });
    }
    let (mut counts, mut weighty) = (vec![0.0; n_classes.max(1)], vec![0.0; n_classes.max(1)]);
    for i in 0..block.points.len() {
        let class = if n_classes == 0 { 0 } else { block.targets.at(i, 0) as usize };
        if class >= counts.len() {
            return Err(Error::data(format!(
                "row {} has the class number {class}, but there are {n_classes} labels",
                block.first + i as u64 + 1
            )));
        }
        let weight = block.weights.as_ref().map_or(1.0, |weights| weights[i]);
        if let Some(reason) = wrong_weight(weight) {
            return Err(Error::data(format!("the weight of row {} is {reason}", block.first + i as u64 + 1)));
        }
        counts[class] += 1.0;
        weighty[class] += f64::from(u8::from(weight > 0.0));
    }
    let totals = if n_classes == 0 { target_totals(block) } else { vec![] };
    let sample = Sample::of(block, seed, sample, bound);
    let seen = Fingerprints::of(&block.points, fingerprints);
    let summary = Summary::of(&block.points);
    Ok(Sums::Scout(Box::new(ScoutSums { summary, counts, weighty, totals, sample, seen, most_seen: fingerprints })))
}

/// The sum of the weights, and the weighted sum of each target.
fn target_totals(block: &RowBlock) -> Vec<f64> {
    let mut totals = vec![0.0; 1 + block.targets.cols()];
    for (i, values) in block.targets.iter().enumerate() {
        let weight = block.weights.as_ref().map_or(1.0, |weights| weights[i]);
        totals[0] += weight;
        totals[1..].iter_mut().zip(values).for_each(|(total, value)| *total += weight * value);
    }
    totals
}

/// One block, with all that its sums need.
struct Work<'a> {
    ask: &'a FitAsk,
    frame: &'a Frame,
    coefficients: &'a Matrix,
    /// Scaled.
    rows: &'a Points,
    /// Transformed.
    points: &'a Points,
    losses: Losses,
}

/// What one thread reuses from tile to tile.
#[derive(Default)]
struct Buffers {
    kernel: Vec<f64>,
    /// Coordinates, with a 1 behind each row where there is an offset.
    coordinates: Vec<f64>,
    outputs: Vec<f64>,
    slopes: Vec<f64>,
    curvatures: Vec<f64>,
    rows: Vec<f64>,
    untransformed: Vec<f64>,
    weights: Vec<f64>,
    active: Vec<usize>,
    scratch: Scratch,
}

impl Work<'_> {
    fn nothing(&self) -> FitSums {
        let (ask, problem) = (self.ask, &self.ask.problem);
        let (m, dim, width, q) = (self.frame.len(), ask.vectors.cols(), ask.weights.rows(), problem.n_outputs);
        let of = |wanted: bool, len: usize| vec![0.0; if wanted { len } else { 0 }];
        FitSums {
            rows: 0.0,
            errors: 0.0,
            losses: vec![0.0; problem.n_systems()],
            systems: of(ask.systems, problem.n_systems() * width * width),
            gradient: vec![0.0; width * q],
            moved: of(ask.vectors_gradient, m * dim),
            totals: of(ask.vectors_gradient, m),
            metric: if ask.vectors_gradient { self.moved().numbers_mut().to_vec() } else { vec![] },
            curved: of(ask.direction.is_some(), width * q),
        }
    }

    /// The sums for the gradient by vectors and transform, without a row.
    fn moved(&self) -> RowSums {
        let argument = self.ask.kernel.profile().argument();
        RowSums::nothing(&self.ask.transform, argument, self.frame.len(), self.ask.vectors.cols())
    }

    fn part(&self, rows: Range<usize>) -> FitSums {
        let (mut sums, mut buffers) = (self.nothing(), Buffers::default());
        let dim = self.rows.dim().max(self.points.dim());
        let tile = (TILE / dim.max(1)).clamp(1, CHUNK);
        let mut moved = self.ask.vectors_gradient.then(|| self.moved());
        for first in rows.clone().step_by(tile) {
            let tile = first..rows.end.min(first + tile);
            self.look(tile.clone(), &mut sums, &mut buffers);
            if self.ask.systems {
                self.add_systems(tile.len(), &mut sums, &mut buffers);
            }
            if let Some(direction) = &self.ask.direction {
                self.add_curved(tile.clone(), direction, &mut sums, &mut buffers);
            }
            if let Some(moved) = &mut moved {
                self.add_moved(tile, moved, &mut buffers);
            }
        }
        if let Some(mut moved) = moved {
            sums.metric = moved.numbers_mut().to_vec();
            (sums.moved, sums.totals) = (moved.vectors.points.into_values(), moved.vectors.totals);
        }
        sums
    }

    /// Kernel values, coordinates, outputs and losses of a tile; adds the losses and the gradient by the weights.
    fn look(&self, tile: Range<usize>, sums: &mut FitSums, buffers: &mut Buffers) {
        let (m, width, q) = (self.frame.len(), self.ask.weights.rows(), self.ask.problem.n_outputs);
        let Buffers { kernel, coordinates, outputs, slopes, curvatures, scratch, .. } = buffers;
        kernel.resize(tile.len() * m, 0.0);
        self.frame.columns().fill(self.points, tile.clone(), kernel, scratch);
        let mut solved = kernel.clone();
        self.frame.lower().solve_rows(&mut solved);
        coordinates.clear();
        for row in solved.chunks_exact(m.max(1)) {
            coordinates.extend_from_slice(row);
            coordinates.extend(std::iter::repeat_n(1.0, width - m));
        }
        outputs.clear();
        outputs.resize(tile.len() * q, 0.0);
        f64::add_product(Product { a: coordinates, stride: width, inner: width, b: self.ask.weights.values(), cols: q }, outputs);
        slopes.resize(tile.len() * q, 0.0);
        curvatures.resize(tile.len() * self.losses.n_systems(), 0.0);
        let places = outputs.chunks_exact(q).zip(slopes.chunks_exact_mut(q)).zip(curvatures.chunks_exact_mut(self.losses.n_systems()));
        for (i, ((outputs, slopes), curvatures)) in tile.clone().zip(places) {
            self.losses.at(i, outputs, slopes, &mut sums.losses);
            self.losses.curvatures(i, outputs, curvatures);
            sums.errors += self.losses.error(i, outputs);
        }
        sums.rows += tile.len() as f64;
        add_transposed_product(coordinates, slopes, (width, q), &mut sums.gradient);
    }

    fn add_systems(&self, count: usize, sums: &mut FitSums, buffers: &mut Buffers) {
        let (width, systems) = (self.ask.weights.rows(), self.losses.n_systems());
        for (k, sum) in sums.systems.chunks_exact_mut(width * width).enumerate() {
            buffers.rows.clear();
            for i in 0..count {
                let root = buffers.curvatures[i * systems + k].sqrt();
                if root > 0.0 {
                    buffers.rows.extend(buffers.coordinates[i * width..(i + 1) * width].iter().map(|v| root * v));
                }
            }
            if !buffers.rows.is_empty() {
                add_outer(&buffers.rows, width, sum);
            }
        }
    }

    fn add_curved(&self, tile: Range<usize>, direction: &Matrix, sums: &mut FitSums, buffers: &mut Buffers) {
        let (width, q) = (self.ask.weights.rows(), self.ask.problem.n_outputs);
        let (mut along, mut bent) = (vec![0.0; tile.len() * q], vec![0.0; tile.len() * q]);
        f64::add_product(Product { a: &buffers.coordinates, stride: width, inner: width, b: direction.values(), cols: q }, &mut along);
        let places = buffers.outputs.chunks_exact(q).zip(along.chunks_exact(q)).zip(bent.chunks_exact_mut(q));
        tile.zip(places).for_each(|(i, ((outputs, along), bent))| self.losses.curve(i, outputs, along, bent));
        add_transposed_product(&buffers.coordinates, &bent, (width, q), &mut sums.curved);
    }

    /// Adds the rows whose loss has a slope.
    fn add_moved(&self, tile: Range<usize>, moved: &mut RowSums, buffers: &mut Buffers) {
        let (m, q, dim) = (self.frame.len(), self.ask.problem.n_outputs, self.points.dim());
        let Buffers { kernel, slopes, rows, untransformed, weights, active, scratch, .. } = buffers;
        if !matches!(self.ask.kernel, Kernel::Gaussian(_)) {
            self.frame.columns().fill_slopes(self.points, tile.clone(), kernel, scratch);
        }
        let factor = if let Kernel::Gaussian(gaussian) = &self.ask.kernel { -gaussian.gamma } else { 1.0 };
        active.clear();
        active.extend((0..tile.len()).filter(|i| slopes[i * q..(i + 1) * q].iter().any(|s| *s != 0.0)));
        rows.resize(active.len() * dim, 0.0);
        weights.resize(active.len() * m, 0.0);
        for (place, &i) in active.iter().enumerate() {
            self.points.copy_rows(tile.start + i..tile.start + i + 1, dim, &mut rows[place * dim..(place + 1) * dim]);
            let weights = &mut weights[place * m..(place + 1) * m];
            product_transposed(&slopes[i * q..(i + 1) * q], self.coefficients.values(), q, weights);
            weights.iter_mut().zip(&kernel[i * m..(i + 1) * m]).for_each(|(w, k)| *w *= factor * k);
        }
        moved.vectors.add_rows(weights, rows);
        moved.add_squares(weights, rows);
        if matches!(self.ask.transform, Transform::Map(_)) {
            let dim = self.rows.dim();
            untransformed.resize(active.len() * dim, 0.0);
            for (row, &i) in untransformed.chunks_exact_mut(dim.max(1)).zip(active.iter()) {
                self.rows.copy_rows(tile.start + i..tile.start + i + 1, dim, row);
            }
            moved.add_map(weights, untransformed, rows, &self.ask.vectors);
        }
    }
}

/// `out += a'b` for rows of `a` and `b` of these widths.
fn add_transposed_product(a: &[f64], b: &[f64], (width, q): (usize, usize), out: &mut [f64]) {
    let count = b.len() / q.max(1);
    let mut turned = vec![0.0; a.len()];
    for (i, row) in a.chunks_exact(width.max(1)).enumerate() {
        row.iter().enumerate().for_each(|(j, v)| turned[j * count + i] = *v);
    }
    f64::add_product(Product { a: &turned, stride: count, inner: count, b, cols: q }, out);
}
