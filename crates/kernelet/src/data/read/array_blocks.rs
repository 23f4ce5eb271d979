//! A NumPy array on disk, a block of rows at a time, read at the place where it lies.
use std::{
    borrow::Cow,
    fs::File,
    io::{Read as _, Seek, SeekFrom},
};

use super::{Read, Reading, Wanted, npy};
use crate::{
    Error, Result,
    data::{Classes, Dataset, Interner, Outline, RowBlock, RowBlocks, Target, block_rows},
    linalg::Matrix,
};

/// Bytes among which the header of an array is whole.
const LONGEST_HEADER: u64 = 1 << 17;

/// The array.
pub(super) struct ArrayBlocks {
    path: String,
    how: Reading,
    header: npy::RowHeader,
    begin: u64,
    rows: usize,
    outline: Outline,
    notes: Vec<String>,
}

impl ArrayBlocks {
    /// None where the rows do not lie one after the other, or the file is packed.
    pub fn open(path: &str, how: &Reading, memory: usize) -> Result<Option<Self>> {
        let io = |source| Error::io(path, source);
        if path == "-" {
            return Ok(None);
        }
        let mut file = File::open(path).map_err(io)?;
        let mut first = vec![];
        file.by_ref().take(LONGEST_HEADER).read_to_end(&mut first).map_err(io)?;
        if first.starts_with(&[0x1f, 0x8b]) {
            return Ok(None);
        }
        let Some((header, begin)) = npy::RowHeader::of(&first, path)? else { return Ok(None) };
        header.check_len(file.metadata().map_err(io)?.len(), begin, path)?;
        let (how, path) = (how.clone(), path.to_string());
        let mut array = ArrayBlocks { path, how, header, begin, rows: usize::MAX, outline: Outline::default(), notes: vec![] };
        // One row gives the features; all rows give the labels.
        let Read { dataset, notes } = array.read(0, array.header.n_rows().min(1))?;
        array.rows = block_rows(dataset.dim(), memory);
        array.notes = notes;
        array.outline = Outline { n_rows: array.header.n_rows() as u64, dim: dataset.dim(), ..Outline::default() };
        array.outline.n_targets = match &dataset.target {
            Target::None => 0,
            Target::Classes(_) => 1,
            Target::Values(values) => values.cols(),
        };
        if array.how.wanted == Wanted::Classes && array.outline.n_targets > 0 {
            array.find_labels()?;
        }
        Ok(Some(array))
    }

    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    fn find_labels(&mut self) -> Result<()> {
        let mut known = Interner::default();
        for index in 0..self.n_blocks() {
            let Read { dataset, .. } = self.read_block(index)?;
            dataset.classes()?.labels.iter().for_each(|label| {
                known.code(label.text());
            });
        }
        let codes: Vec<u32> = (0..known.labels.len() as u32).collect();
        self.outline.labels = Classes::new(known.labels, &codes).labels;
        Ok(())
    }

    fn read_block(&self, index: usize) -> Result<Read> {
        let first = index * self.rows;
        self.read(first, self.rows.min(self.header.n_rows().saturating_sub(first)))
    }

    fn read(&self, first: usize, count: usize) -> Result<Read> {
        let io = |source| Error::io(&*self.path, source);
        let mut file = File::open(&self.path).map_err(io)?;
        file.seek(SeekFrom::Start(self.begin + (first * self.header.row_bytes()) as u64)).map_err(io)?;
        let mut bytes = vec![0; count * self.header.row_bytes()];
        file.read_exact(&mut bytes).map_err(|_| {
            Error::format(
                &*self.path,
                None,
                None,
                format!("the file ends before its row {}; it was changed while it was read", first + count),
            )
        })?;
        self.header.rows(&bytes, count, &self.path, &self.how)
    }
}

impl RowBlocks for ArrayBlocks {
    fn outline(&self) -> &Outline {
        &self.outline
    }

    fn n_blocks(&self) -> usize {
        self.header.n_rows().div_ceil(self.rows)
    }

    fn block(&self, index: usize) -> Result<Cow<'_, RowBlock>> {
        let first = (index * self.rows) as u64;
        block_of(self.read_block(index)?.dataset, first, &self.outline, &self.path).map(Cow::Owned)
    }
}

/// The rows with targets as blocks have them.
fn block_of(data: Dataset, first: u64, outline: &Outline, path: &str) -> Result<RowBlock> {
    let targets = match &data.target {
        Target::None => Matrix::zeros(data.len(), 0),
        Target::Values(values) => values.clone(),
        Target::Classes(classes) => {
            let places: Option<Vec<usize>> = classes.places_in(&outline.labels).into_iter().collect();
            let places = places.ok_or_else(|| {
                Error::format(path, None, None, "the file has other labels than before; it was changed while it was read")
            })?;
            Matrix::column(classes.codes.iter().map(|&code| places[code as usize] as f64).collect())
        }
    };
    Ok(RowBlock { first, points: data.points, targets, weights: data.weights })
}
