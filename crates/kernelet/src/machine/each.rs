//! What is made of the outputs of rows, chunk by chunk.
//!
//! Rows are read where they lie, their numbers are checked by the sums of squares that kernel values need anyway, and outputs are used while they are in cache.
use std::{cell::Cell, ops::Range};

use super::{Predictor, evaluator::Work, input::InputRows};
use crate::{Error, Result, data::Points, kernel::fused::ROWS, parallel::*};

/// Rows of points.
#[derive(Clone)]
pub(super) enum Rows<'a> {
    /// All within a range, which nobody has looked at: a number that is not finite is an error that names it.
    All(Range<usize>),
    /// Some, in the order given, whose numbers are finite.
    Some(&'a [usize]),
}

impl Rows<'_> {
    pub fn len(&self) -> usize {
        match self {
            Rows::All(range) => range.len(),
            Rows::Some(rows) => rows.len(),
        }
    }

    pub fn at(&self, place: usize) -> usize {
        match self {
            Rows::All(range) => range.start + place,
            Rows::Some(rows) => rows[place],
        }
    }

    fn part(&self, places: Range<usize>) -> Self {
        match self {
            Rows::All(range) => Rows::All(range.start + places.start..range.start + places.end),
            Rows::Some(rows) => Rows::Some(&rows[places]),
        }
    }

    fn input<'a>(&'a self, points: &'a Points) -> InputRows<'a> {
        match self {
            Rows::All(range) => InputRows::Points(points, range.start),
            Rows::Some(rows) => InputRows::Chosen(points, rows),
        }
    }
}

/// What a thread keeps from chunk to chunk and from call to call: fresh memory takes as long as the kernel values of a few vectors.
pub(super) struct Space {
    pub work: Work,
    out: Vec<f64>,
}

thread_local! {
    static SPACE: Cell<Option<Box<Space>>> = const { Cell::new(None) };
}

/// Rows with more features leave no memory behind.
const KEPT_FEATURES: usize = 4096;

/// Runs with the space of this thread.
pub(super) fn with_space<T>(dim: usize, run: impl FnOnce(&mut Space) -> T) -> T {
    let fresh = || Box::new(Space { work: Work::default(), out: vec![] });
    let mut space = SPACE.take().unwrap_or_else(fresh);
    let made = run(&mut space);
    if dim <= KEPT_FEATURES {
        SPACE.set(Some(space));
    }
    made
}

impl Predictor {
    /// Writes what is made of the outputs of each row and returns what is left of them, in their order, on all threads of the current pool. Rows are read where they
    /// lie, and outputs are kept for no longer than a chunk.
    pub(super) fn each<T: Send, L: Send>(
        &self,
        points: &Points,
        rows: &Rows,
        made: &mut [T],
        make: impl Fn(usize, &[f64], &mut Vec<L>) -> T + Sync,
    ) -> Result<Vec<L>> {
        self.check_width(points)?;
        let q = self.offsets.len();
        let chunk = |(c, made): (usize, &mut [T])| {
            let (first, mut left) = (c * ROWS, Vec::with_capacity(made.len() / 4));
            let rows = rows.part(first..first + made.len());
            with_space(self.dim, |Space { work, out }| {
                out.resize(made.len() * q, 0.0);
                let sound = self.chunk(rows.input(points), out, work);
                if let (Rows::All(range), false) = (&rows, sound)
                    && !points.are_finite(range.clone())
                {
                    points.check_finite()?;
                }
                check_outputs(out, q, |i| rows.at(i))?;
                made.iter_mut()
                    .zip(out.chunks_exact(q.max(1)))
                    .enumerate()
                    .for_each(|(i, (made, out))| *made = make(first + i, out, &mut left));
                Ok(left)
            })
        };
        // What few rows need is done before threads are woken.
        if made.len() <= ROWS {
            return chunk((0, made));
        }
        let chunks: Vec<Result<Vec<L>>> = made.par_chunks_mut(ROWS).enumerate().map(chunk).collect();
        let mut left = vec![];
        for chunk in chunks {
            left.append(&mut chunk?);
        }
        Ok(left)
    }
}

/// An error that names the first row whose outputs overflow: finite rows and models may have kernel values that are not.
pub(super) fn check_outputs(outputs: &[f64], width: usize, row: impl Fn(usize) -> usize) -> Result<()> {
    // Without an early end this takes many at once.
    if outputs.iter().fold(true, |all, output| all & output.is_finite()) {
        return Ok(());
    }
    match outputs.iter().position(|output| !output.is_finite()) {
        None => Ok(()),
        Some(place) => {
            let (row, column) = (row(place / width.max(1)), place % width.max(1));
            Err(Error::NotFinite { what: "an output", row, column, value: outputs[place] })
        }
    }
}
