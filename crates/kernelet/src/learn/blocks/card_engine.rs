//! Passes over rows that lie on a card, or stream through it where they do not fit. The same sums as those of [`LocalEngine`], in double precision; the order in which
//! they are added is the card's, and depends on sizes alone.
use std::sync::Arc;

use super::{
    ask::{Ask, FitAsk, Problem},
    card_held::{Held, width},
    card_rounds::CardRounds,
    engine::{Engine, LocalEngine, Tree},
    newton::{Beginning, Rounds},
    sums::Sums,
};
use crate::{
    Error, Result,
    data::RowBlocks,
    device::{Card, CardRows, CardSpace},
    kernel::Kernel,
    learn::direct::Transform,
};

/// Bytes on the card of the rows that stream through it together and of what is computed of them: the same on every card, so that the order of sums is.
const TOGETHER: usize = 2 << 30;

/// Blocks of rows that a card holds from the first fit on; where they do not fit, each pass sends all of them through it, a few blocks at a time. The pass before all
/// others, of which a sample of rows comes back, is the processor's.
pub struct CardEngine<'a> {
    blocks: &'a dyn RowBlocks,
    card: Arc<Card>,
    held: Option<Held>,
    /// Bytes that rows may take to be held, and those of rows that stream together.
    limits: (usize, usize),
}

impl<'a> CardEngine<'a> {
    /// Opens the card with this number.
    pub fn new(number: usize, blocks: &'a dyn RowBlocks) -> Result<Self> {
        let card = Card::open(number)?;
        // What is free may differ from run to run; what the card has does not.
        let limits = (card.memory / 8 * 7, TOGETHER);
        Ok(CardEngine { blocks, card, held: None, limits })
    }

    /// The same where so many bytes of the card are for rows: what does not fit streams.
    #[cfg(test)]
    pub fn within(bytes: usize, number: usize, blocks: &'a dyn RowBlocks) -> Result<Self> {
        Ok(CardEngine { limits: (bytes, bytes), ..CardEngine::new(number, blocks)? })
    }

    fn n_rows(&self) -> usize {
        usize::try_from(self.blocks.outline().n_rows).unwrap_or(usize::MAX)
    }

    /// Rows that fit into so many bytes with `m` vectors of so many features.
    fn rows_within(bytes: usize, problem: &Problem, (m, dim): (usize, usize)) -> usize {
        // Lists of rows are numbered by 31 bits.
        (bytes / CardRows::bytes_a_row(dim, m, problem.n_outputs)).min(i32::MAX as usize / (problem.n_outputs + 1))
    }

    fn is_held(&self, problem: &Problem, shape: (usize, usize)) -> bool {
        self.n_rows() <= CardEngine::rows_within(self.limits.0, problem, shape)
    }

    /// All rows on the card.
    fn held(&mut self, problem: &Problem, dim: usize) -> Result<&mut Held> {
        if self.held.as_ref().is_none_or(|held| held.problem != *problem) {
            self.held = None;
            let (mut held, n) = (None, self.n_rows());
            self.each_block(problem, (n, dim), &mut held, |_| Ok(()))?;
            self.held = held;
        }
        self.held.as_mut().ok_or_else(|| Error::data("there are no rows"))
    }

    /// Sends the rows of all blocks, scaled, to the card, which has space for `most` of them. Where a block does not fit behind those before it, these are looked at and
    /// make place for it.
    fn each_block(
        &self,
        problem: &Problem,
        (most, dim): (usize, usize),
        held: &mut Option<Held>,
        mut look: impl FnMut(&mut Held) -> Result<()>,
    ) -> Result<()> {
        for index in 0..self.blocks.n_blocks() {
            let block = self.blocks.block(index)?;
            let scaled = problem.scale.as_ref().map(|scale| scale.apply(&block.points)).transpose()?;
            let points = scaled.as_ref().unwrap_or(&block.points);
            if points.dim() != dim {
                return Err(Error::Shape { what: "features", expected: dim, found: points.dim() });
            }
            let held = match &mut *held {
                Some(held) => held,
                none => none.insert(Held::new(self.card.clone(), most.max(points.len()), problem, points)?),
            };
            if held.rows.len() + points.len() > held.rows.most() {
                look(held)?;
                held.clear();
            }
            held.push(&block, points)?;
        }
        Ok(())
    }

    /// The sums of rows that do not fit on the card together.
    fn streamed(&mut self, ask: &FitAsk) -> Result<Sums> {
        let shape = (ask.vectors.rows(), ask.vectors.cols());
        let most = CardEngine::rows_within(self.limits.1, &ask.problem, shape).min(self.n_rows());
        // Space for rows of another problem is of no use, and that of the last pass has other rows.
        let mut held = self.held.take().filter(|held| held.problem == ask.problem);
        held.iter_mut().for_each(Held::clear);
        let mut tree = Tree::default();
        self.each_block(&ask.problem, (most, shape.1), &mut held, |held| tree.push(Sums::Fit(Box::new(held.fit(ask)?))))?;
        if let Some(held) = &mut held {
            tree.push(Sums::Fit(Box::new(held.fit(ask)?)))?;
        }
        self.held = held;
        tree.finish()
    }
}

impl Engine for CardEngine<'_> {
    fn pass(&mut self, ask: &Ask) -> Result<Sums> {
        match ask {
            // A card has no sums for a metric.
            Ask::Fit(fit) if fit.transform == Transform::None => {
                width(&fit.kernel)?;
                match self.is_held(&fit.problem, (fit.vectors.rows(), fit.vectors.cols())) {
                    true => Ok(Sums::Fit(Box::new(self.held(&fit.problem, fit.vectors.cols())?.fit(fit)?))),
                    false => self.streamed(fit),
                }
            }
            _ => LocalEngine { blocks: self.blocks }.pass(ask),
        }
    }

    fn rounds(&mut self, from: &Beginning) -> Option<Result<Box<dyn Rounds + '_>>> {
        let (shape, dim) = ((from.vectors.rows(), from.vectors.cols()), from.vectors.cols());
        if *from.transform != Transform::None || !self.is_held(from.problem, shape) {
            return None;
        }
        let n_rows = self.n_rows() as f64;
        let placed = width(from.kernel).and_then(|gamma| {
            let held = self.held(from.problem, dim)?;
            held.forget();
            held.rows.place(gamma, from.vectors)?;
            Ok(held)
        });
        Some(placed.map(|held| Box::new(CardRounds::new(&mut held.rows, from, n_rows)) as Box<dyn Rounds>))
    }

    fn space(&mut self, problem: &Problem, kernel: &Kernel, (m, dim): (usize, usize)) -> Option<Result<CardSpace>> {
        // Where outputs are bound together, or rows stream, rounds are those of passes.
        let rounds = !problem.is_coupled() && width(kernel).is_ok() && self.is_held(problem, (m, dim));
        rounds.then(|| self.held(problem, dim)?.rows.space(m))
    }
}
