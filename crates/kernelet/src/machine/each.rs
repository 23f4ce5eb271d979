//! What is made of the outputs of rows, chunk by chunk.
//!
//! Rows are read where they lie or gathered for a chunk, their numbers are checked by the sums of squares that kernel values need anyway, and outputs are used while they are in cache.
use std::{cell::Cell, ops::Range};

use super::{
    Predictor,
    evaluator::{InputRows, Work},
};
use crate::{Error, Result, data::Points, kernel::fused::ROWS, linalg::Matrix, parallel::*};

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

    /// Their range, where they lie one after another.
    fn lying(&self) -> Option<Range<usize>> {
        match self {
            Rows::All(range) => Some(range.clone()),
            Rows::Some(rows) => {
                let first = *rows.first()?;
                rows.windows(2).all(|pair| pair[0] + 1 == pair[1]).then(|| first..first + rows.len())
            }
        }
    }

    fn gather(&self, points: &Points, into: &mut Points) {
        if let Rows::Some(rows) = self {
            let spare = std::mem::replace(into, Points::F64(Matrix::default()));
            *into = points.select_into(rows, spare);
        }
    }
}

/// What a thread keeps from chunk to chunk and from call to call: fresh memory takes as long as the kernel values of a few vectors.
pub(super) struct Space {
    pub work: Work,
    out: Vec<f64>,
    gathered: Points,
}

thread_local! {
    static SPACE: Cell<Option<Box<Space>>> = const { Cell::new(None) };
}

/// Rows with more features leave no memory behind.
const KEPT_FEATURES: usize = 4096;

/// Runs with the space of this thread.
pub(super) fn with_space<T>(dim: usize, run: impl FnOnce(&mut Space) -> T) -> T {
    let fresh = || Box::new(Space { work: Work::default(), out: vec![], gathered: Points::F64(Matrix::default()) });
    let mut space = SPACE.take().unwrap_or_else(fresh);
    let made = run(&mut space);
    if dim <= KEPT_FEATURES {
        SPACE.set(Some(space));
    }
    made
}

impl Predictor {
    /// What is made of the outputs of rows, in their order, on all threads of the current pool. Rows one after another are read where they lie, others are gathered for a
    /// chunk, and outputs are kept for no longer.
    pub(super) fn each<T: Clone + Default + Send>(
        &self,
        points: &Points,
        rows: Rows,
        make: impl Fn(usize, &[f64]) -> T + Sync,
    ) -> Result<Vec<T>> {
        self.check_width(points)?;
        let q = self.offsets.len();
        let mut made = vec![T::default(); rows.len()];
        let chunk = |(c, made): (usize, &mut [T])| {
            let first = c * ROWS;
            let rows = rows.part(first..first + made.len());
            with_space(self.dim, |Space { work, out, gathered }| {
                out.resize(made.len() * q, 0.0);
                match rows.lying() {
                    Some(lying) => {
                        let sound = self.chunk(InputRows::Points(points, lying.start), out, work);
                        if matches!(rows, Rows::All(_)) && !sound && !points.are_finite(lying) {
                            points.check_finite()?;
                        }
                    }
                    None => {
                        rows.gather(points, gathered);
                        self.chunk(InputRows::Points(gathered, 0), out, work);
                    }
                }
                if let Some(place) = out.iter().position(|output| !output.is_finite()) {
                    return Err(Error::NotFinite { what: "an output", row: rows.at(place / q), column: place % q, value: out[place] });
                }
                made.iter_mut().enumerate().for_each(|(i, made)| *made = make(first + i, &out[i * q..(i + 1) * q]));
                Ok(())
            })
        };
        // What few rows need is done before threads are woken.
        let chunks: Vec<Result<()>> = match made.len() <= ROWS {
            true => made.chunks_mut(ROWS).enumerate().map(chunk).collect(),
            false => made.par_chunks_mut(ROWS).enumerate().map(chunk).collect(),
        };
        chunks.into_iter().collect::<Result<()>>()?;
        Ok(made)
    }
}
