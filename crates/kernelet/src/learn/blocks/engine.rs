//! Who does the passes.
use std::{borrow::Cow, sync::mpsc::sync_channel};

use crate::parallel::*;

#[cfg(feature = "cuda")]
use super::ask::Problem;
use super::{
    ask::Ask,
    newton::{Beginning, Rounds},
    pass::Pass,
    sums::{ARITY, Sums, added},
};
use crate::{Error, Result, data::RowBlocks, device::Device};
#[cfg(feature = "cuda")]
use crate::{device::CardSpace, kernel::Kernel};

/// The most blocks that are looked at side by side.
const MOST_AT_ONCE: usize = 8;

/// Whatever can ask all rows and add up the answers: threads, files, other processes.
pub trait Engine {
    /// The sums of all rows. The same ask gives the same bits.
    fn pass(&mut self, ask: &Ask) -> Result<Sums>;

    /// Newton's method, where the engine has a faster one than passes: none by default.
    fn rounds(&mut self, _from: &Beginning) -> Option<Result<Box<dyn Rounds + '_>>> {
        None
    }

    /// Where a descent over so many vectors of so many features lies, if that is not in memory: its points are [`Vectors`](crate::device::Vectors) of rounds.
    #[cfg(feature = "cuda")]
    fn space(&mut self, _problem: &Problem, _kernel: &Kernel, _shape: (usize, usize)) -> Option<Result<CardSpace>> {
        None
    }
}

/// Blocks that this process reads: while one is worked on, the next is read.
pub struct LocalEngine<'a> {
    /// The rows.
    pub blocks: &'a dyn RowBlocks,
}

/// The engine for blocks that this process reads, on a device.
pub fn engine_on<'a>(device: Device, blocks: &'a dyn RowBlocks) -> Result<Box<dyn Engine + 'a>> {
    match device {
        Device::Cpu => Ok(Box::new(LocalEngine { blocks })),
        #[cfg(feature = "cuda")]
        Device::Cuda(number) => Ok(Box::new(super::card_engine::CardEngine::new(number, blocks)?)),
        #[cfg(not(feature = "cuda"))]
        Device::Cuda(_) => Err(Error::device(crate::device::NOT_BUILT)),
    }
}

impl Engine for LocalEngine<'_> {
    fn pass(&mut self, ask: &Ask) -> Result<Sums> {
        let (pass, blocks) = (Pass::over(ask, self.blocks.outline().n_rows), self.blocks);
        let mut tree = Tree::default();
        std::thread::scope(|scope| -> Result<()> {
            let (sender, receiver) = sync_channel(0);
            scope.spawn(move || {
                for index in 0..blocks.n_blocks() {
                    // The receiver is gone where the work has ended early.
                    if sender.send(blocks.block(index)).is_err() {
                        break;
                    }
                }
            });
            // Sums at weights are shared among threads within a block; blocks that are only looked at are shared themselves.
            let mut receiver = receiver.into_iter().peekable();
            let at_once = match (ask, receiver.peek()) {
                (Ask::Fit(_), _) => 1,
                // Blocks that are in memory take no more of it.
                (Ask::Scout { .. }, Some(Ok(Cow::Borrowed(_)))) => MOST_AT_ONCE * current_num_threads(),
                (Ask::Scout { .. }, _) => current_num_threads().min(MOST_AT_ONCE),
            };
            while receiver.peek().is_some() {
                let some = receiver.by_ref().take(at_once).collect::<Result<Vec<_>>>()?;
                let sums: Vec<Result<Sums>> = some.par_iter().map(|block| pass.sums(block)).collect();
                sums.into_iter().try_for_each(|sums| tree.push(sums?))?;
            }
            Ok(())
        })?;
        tree.finish()
    }
}

/// Sums that arrive in the order of their blocks, added up as in [`Sums::merged`] without keeping all of them.
#[derive(Default)]
pub(super) struct Tree {
    /// The sums that wait on each level, fewer than make the next.
    levels: Vec<Vec<Sums>>,
}

impl Tree {
    pub fn push(&mut self, sums: Sums) -> Result<()> {
        let mut sums = sums;
        for level in 0.. {
            if self.levels.len() == level {
                self.levels.push(vec![]);
            }
            self.levels[level].push(sums);
            if self.levels[level].len() < ARITY {
                break;
            }
            sums = added(self.levels[level].drain(..))?;
        }
        Ok(())
    }

    /// What is left on a level is one more, incomplete, sum of the next.
    pub fn finish(self) -> Result<Sums> {
        let mut carried = None;
        for level in self.levels {
            let parts: Vec<Sums> = level.into_iter().chain(carried.take()).collect();
            carried = if parts.is_empty() { None } else { Some(added(parts.into_iter())?) };
        }
        carried.ok_or_else(|| Error::data("there are no rows"))
    }
}
