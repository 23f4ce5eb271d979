//! The rows of a Parquet file some at a time, so that the file may be larger than memory: of each column one page is there.
use std::fs::File;

use parquet::{
    column::reader::ColumnReader,
    file::{metadata::ColumnChunkMetaData, serialized_reader::SerializedFileReader},
};

use super::{
    Read, Reading,
    columns::{Chosen, choose},
    parquet::{Part, Table, guarded},
    parquet_cells::{Cells, Storage},
};
use crate::{
    Error, Result,
    data::{Encoder, Encoding, Tally},
};

/// The rows of a file.
pub(super) struct TableRows {
    table: Table,
    how: Reading,
    chosen: Chosen,
    /// The rows of a block.
    block: usize,
    /// The next group.
    group: usize,
    /// What reads features and target of the group before, and how many of its rows are left.
    readers: Vec<ColumnReader>,
    left: usize,
    /// Rows that went before.
    first: usize,
    tally: Tally,
}

impl TableRows {
    /// Opens a file; none where it has to be read whole, because columns are learned from that may have text or missing values.
    pub(super) fn open(path: &str, how: &Reading, block_bytes: usize) -> Result<Option<Self>> {
        let file = File::open(path).map_err(|source| Error::io(path, source))?;
        let len = file.metadata().map_err(|source| Error::io(path, source))?.len();
        guarded(path, || {
            let table = Table::of(SerializedFileReader::new(file), len, path)?;
            let chosen = choose(path, table.names.len(), Some(&table.names), how)?;
            if how.learns() && !(how.ignore.is_empty() && has_plain(&table, &chosen)?) {
                return Ok(None);
            }
            let dim = how.table.as_ref().map_or(chosen.features.len(), Encoding::n_features);
            table.check_memory(dim)?;
            let block = (block_bytes / (8 * dim.max(1))).max(1);
            let how = how.clone();
            Ok(Some(TableRows { table, how, chosen, block, group: 0, readers: vec![], left: 0, first: 0, tally: Tally::default() }))
        })
    }

    /// The next rows, none after the last; no rows at all are an empty data set.
    pub(super) fn next(&mut self) -> Result<Option<Read>> {
        let origin = self.table.origin.clone();
        guarded(&origin, || self.next_rows())
    }

    fn next_rows(&mut self) -> Result<Option<Read>> {
        let table = &self.table;
        let columns: Vec<usize> = self.chosen.features.iter().copied().chain(self.chosen.target).collect();
        while self.left == 0 && self.group < table.reader.num_row_groups() {
            let opened = table.group(self.group).and_then(|(rows, group)| {
                Ok((rows, columns.iter().map(|&column| group.get_column_reader(column)).collect::<parquet::errors::Result<_>>()?))
            });
            (self.left, self.readers) =
                opened.map_err(|error| Error::format(&*table.origin, None, None, format!("the data are damaged ({error})")))?;
            self.group += 1;
        }
        if self.left == 0 && self.first > 0 {
            return Ok(None);
        }
        let rows = self.left.min(self.block);
        let mut cells = vec![];
        for (i, &column) in columns.iter().enumerate() {
            let mut part = Cells::new(table.storage(column)?);
            if let Some(reader) = self.readers.get_mut(i) {
                table.take_in(&mut part, column, reader, rows, self.first)?;
            }
            cells.push(part.finish());
        }
        let target = self.chosen.target.and_then(|_| cells.pop());
        let part = Part { table, chosen: &self.chosen, encoding: self.how.table.as_ref(), first: self.first, rows };
        let (dataset, tally) = part.dataset(&cells, target, self.how.wanted)?;
        dataset.check().map_err(|error| error.after_rows(self.first))?;
        self.tally.add(tally);
        let notes = if self.first == 0 { self.chosen.notes.clone() } else { vec![] };
        (self.left, self.first) = (self.left - rows, self.first + rows);
        Ok(Some(Read { dataset, notes }))
    }

    /// Notes for the user about all rows so far.
    pub(super) fn notes(&self) -> Vec<String> {
        self.how.table.as_ref().map_or(vec![], |encoding| Encoder::new(encoding).notes(&self.tally))
    }
}

/// Whether the file promises numbers without gaps in all features.
fn has_plain(table: &Table, chosen: &Chosen) -> Result<bool> {
    let metadata = table.reader.metadata();
    for &column in &chosen.features {
        let required = metadata.file_metadata().schema_descr().column(column).max_def_level() == 0;
        let counted = |chunk: &ColumnChunkMetaData| chunk.statistics().and_then(|statistics| statistics.null_count_opt()) == Some(0);
        let complete = required || metadata.row_groups().iter().all(|group| counted(group.column(column)));
        if matches!(table.storage(column)?, Storage::Text) || !complete {
            return Ok(false);
        }
    }
    Ok(true)
}
