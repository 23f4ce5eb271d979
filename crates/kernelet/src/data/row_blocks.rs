//! Rows in blocks that stay the same in every pass: in memory, in a file or elsewhere.
//!
//! A block has everything that sums over its rows need, so that any worker can compute them. Class labels are numbers from 0, whose meaning is in
//! [`Outline`]. Where blocks end decides how sums round: the same blocks give the same bits, wherever they lie.
use std::borrow::Cow;

use crate::parallel::*;

use super::{Classes, Dataset, Encoding, Label, Points, Target};
use crate::{Error, Result, linalg::Matrix};

/// Bytes of a block of dense rows. The work on a block should outweigh its start, and several must fit the memory of a worker.
const BLOCK_BYTES: usize = 4 << 20;

/// The fraction of a memory limit that one block may take: rows are read ahead, scaled, and stand beside their kernel values.
const BLOCKS_IN_MEMORY: usize = 16;

/// Blocks are cut at multiples of so many rows.
pub(crate) const STRIDE: usize = 256;

/// Consecutive rows.
#[derive(Clone, Debug, PartialEq)]
pub struct RowBlock {
    /// The number of rows in the blocks before this one.
    pub first: u64,
    /// The rows, not scaled.
    pub points: Points,
    /// One column with the number of the class, or one column for each target value; no columns where there is no target.
    pub targets: Matrix,
    /// Weights of the rows; none where all are 1.
    pub weights: Option<Vec<f64>>,
}

/// What all blocks have in common.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Outline {
    /// Rows of all blocks.
    pub n_rows: u64,
    /// Features of a row.
    pub dim: usize,
    /// The classes, by the numbers that blocks have as targets; empty for values.
    pub labels: Vec<Label>,
    /// Columns of targets.
    pub n_targets: usize,
    /// The names of the features, where they have some.
    pub names: Option<Vec<String>>,
    /// How the columns of a table became features.
    pub table: Option<Encoding>,
}

/// Rows in blocks, in the same blocks whenever they are asked for.
pub trait RowBlocks: Sync {
    /// What the blocks have in common.
    fn outline(&self) -> &Outline;
    /// The number of blocks.
    fn n_blocks(&self) -> usize;
    /// One of them.
    fn block(&self, index: usize) -> Result<Cow<'_, RowBlock>>;
}

/// Rows of a block of so many features, with so many bytes of memory for everything.
pub(crate) fn block_rows(dim: usize, memory: usize) -> usize {
    let bytes = BLOCK_BYTES.min(memory / BLOCKS_IN_MEMORY);
    (bytes / (8 * dim.max(1)) / STRIDE).clamp(1, 64) * STRIDE
}

/// Blocks that are in memory.
#[derive(Clone, Debug)]
pub struct HeldBlocks {
    outline: Outline,
    blocks: Vec<RowBlock>,
}

impl HeldBlocks {
    /// The rows of a data set, cut into blocks of so many rows.
    pub fn of(data: &Dataset, rows: usize) -> Result<Self> {
        data.check()?;
        let (labels, targets) = match &data.target {
            Target::Classes(Classes { labels, codes }) => {
                (labels.clone(), Matrix::column(codes.iter().map(|&code| f64::from(code)).collect()))
            }
            Target::Values(values) => (vec![], values.clone()),
            Target::None => (vec![], Matrix::zeros(data.len(), 0)),
        };
        let outline = Outline {
            n_rows: data.len() as u64,
            dim: data.dim(),
            labels,
            n_targets: targets.cols(),
            names: data.names.clone(),
            table: data.table.clone(),
        };
        let block = |first: usize| {
            let chosen: Vec<usize> = (first..data.len().min(first + rows.max(1))).collect();
            RowBlock {
                first: first as u64,
                points: data.points.select(&chosen),
                targets: targets.select(&chosen),
                weights: data.weights.as_ref().map(|weights| chosen.iter().map(|&i| weights[i]).collect()),
            }
        };
        let blocks = (0..data.len().div_ceil(rows.max(1))).into_par_iter().map(|index| block(index * rows.max(1))).collect();
        Ok(HeldBlocks { outline, blocks })
    }

    /// The same in blocks whose size follows from the number of features and the bytes of memory for everything.
    pub fn within(data: &Dataset, memory: usize) -> Result<Self> {
        HeldBlocks::of(data, block_rows(data.dim(), memory))
    }
}

impl RowBlocks for HeldBlocks {
    fn outline(&self) -> &Outline {
        &self.outline
    }

    fn n_blocks(&self) -> usize {
        self.blocks.len()
    }

    fn block(&self, index: usize) -> Result<Cow<'_, RowBlock>> {
        self.blocks.get(index).map(Cow::Borrowed).ok_or(Error::Shape { what: "blocks", expected: self.blocks.len(), found: index + 1 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::waveform3;

    #[test]
    fn blocks_hold_all_rows_once_and_know_where_they_begin() {
        let data = Dataset { weights: Some((0..100).map(|i| f64::from(i % 4)).collect()), ..waveform3(100, 1) };
        let held = HeldBlocks::of(&data, 30).unwrap();
        assert_eq!((held.n_blocks(), held.outline().n_rows, held.outline().labels.len()), (4, 100, 3));
        let mut rows = 0;
        for index in 0..4 {
            let block = held.block(index).unwrap();
            assert_eq!(block.first, rows);
            for (i, row) in block.points.to_dense().iter().enumerate() {
                let at = rows as usize + i;
                assert_eq!(row, data.points.to_dense().row(at));
                assert_eq!(block.targets.at(i, 0), f64::from(data.classes().unwrap().codes[at]));
                assert_eq!(block.weights.as_ref().unwrap()[i], data.weight(at));
            }
            rows += block.points.len() as u64;
        }
        assert_eq!(rows, 100);
        assert!(held.block(4).is_err());
    }

    #[test]
    fn blocks_take_a_small_part_of_the_memory() {
        assert_eq!(block_rows(54, 2 << 30), 37 * STRIDE);
        assert_eq!(block_rows(1, usize::MAX), 64 * STRIDE);
        assert_eq!(block_rows(784, 64 << 20), 2 * STRIDE);
        assert_eq!(block_rows(1 << 20, 1 << 20), STRIDE);
    }
}
