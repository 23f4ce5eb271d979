//! Parquet tables: flat columns of numbers and of text. Columns are chosen by name as in a CSV with a header; a column of text
//! that has nothing but numbers is one of numbers, as in CSV.
use std::panic::AssertUnwindSafe;

use bytes::Bytes;
use parquet::{
    column::reader::ColumnReader,
    errors::ParquetError,
    file::{
        metadata::ColumnChunkMetaData,
        reader::{ChunkReader, FileReader, RowGroupReader},
        serialized_reader::SerializedFileReader,
    },
};

use super::{
    Read, Reading, Wanted,
    array::{Array, Values},
    columns::{Chosen, checked_header, choose},
    matrix,
    parquet_cells::{Cells, Storage, Trouble},
    source::{grown_too_large, unpacked_limit},
};
use crate::{
    Error, Result,
    data::{Column, Dataset, Encoder, Encoding, Gathered, Tally, Target},
    linalg::Matrix,
};

/// Reads a Parquet table. Some damaged pages make the decoder of the `parquet` crate panic; that becomes an error here.
pub(super) fn read(bytes: &[u8], origin: &str, how: &Reading) -> Result<Read> {
    guarded(origin, || read_table(bytes, origin, how))
}

pub(super) fn guarded<T>(origin: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    std::panic::catch_unwind(AssertUnwindSafe(work))
        .unwrap_or_else(|_| Err(Error::format(origin, None, None, "the Parquet data are damaged")))
}

fn read_table(bytes: &[u8], origin: &str, how: &Reading) -> Result<Read> {
    let reader = SerializedFileReader::new(Bytes::copy_from_slice(bytes));
    let table = Table::of(reader, bytes.len() as u64, origin)?;
    let chosen = choose(origin, table.names.len(), Some(&table.names), how)?;
    let mut notes = chosen.notes.clone();
    table.check_memory(chosen.features.len())?;
    let columns = chosen.features.iter().map(|&column| table.column(column)).collect::<Result<Vec<Cells>>>()?;
    let is_plain = |cells: &Cells| !matches!(cells.values, Values::Text(_)) && cells.first_missing().is_none();
    let encoding = match &how.table {
        Some(encoding) => Some(encoding.clone()),
        None if !how.learns() || (how.ignore.is_empty() && columns.iter().all(is_plain)) => None,
        None => Some(table.learned(&chosen, &columns, &mut notes)?),
    };
    table.check_memory(encoding.as_ref().map_or(chosen.features.len(), Encoding::n_features))?;
    let target = chosen.target.map(|column| table.column(column)).transpose()?;
    let part = Part { table: &table, chosen: &chosen, encoding: encoding.as_ref(), first: 0, rows: table.rows };
    let (dataset, tally) = part.dataset(&columns, target, how.wanted)?;
    notes.extend(encoding.iter().flat_map(|encoding| Encoder::new(encoding).notes(&tally)));
    Ok(Read { dataset, notes })
}

/// A table, of which columns are read as they are asked for.
pub(super) struct Table {
    pub(super) reader: Box<dyn FileReader>,
    pub(super) origin: String,
    pub(super) names: Vec<String>,
    rows: usize,
    /// Bytes of the file.
    len: u64,
}

impl Table {
    pub(super) fn of<R: ChunkReader + 'static>(
        reader: parquet::errors::Result<SerializedFileReader<R>>,
        len: u64,
        origin: &str,
    ) -> Result<Self> {
        let damaged =
            |error: ParquetError| Error::format(origin, None, None, format!("this is not a Parquet file, or it is damaged ({error})"));
        let reader = reader.map_err(damaged)?;
        let metadata = reader.metadata();
        let chunks = metadata.row_groups().iter().flat_map(|group| group.columns());
        if !chunks.into_iter().all(|chunk| lies_within(chunk, len)) {
            return Err(damaged(ParquetError::General("a column lies outside the file".into())));
        }
        let names = metadata.file_metadata().schema_descr().columns().iter().map(|column| column.path().string()).collect();
        let counts = metadata.row_groups().iter().map(|group| usize::try_from(group.num_rows()).ok());
        let rows = counts.sum::<Option<usize>>().ok_or_else(|| damaged(ParquetError::General("negative row count".into())))?;
        let names = checked_header(origin, None, names)?;
        Ok(Table { reader: Box::new(reader), origin: origin.into(), names, rows, len })
    }

    /// An error where this many numbers a row take more memory than such a file should.
    pub(super) fn check_memory(&self, dim: usize) -> Result<()> {
        let numbers = (self.rows as u64).saturating_mul(dim as u64);
        match numbers.saturating_mul(size_of::<f64>() as u64) > unpacked_limit(self.len as usize) {
            true => Err(grown_too_large(&self.origin)),
            false => Ok(()),
        }
    }

    /// How the columns of training rows are to be encoded.
    fn learned(&self, chosen: &Chosen, columns: &[Cells], notes: &mut Vec<String>) -> Result<Encoding> {
        let mut learned = vec![];
        for (j, name) in self.names.iter().enumerate() {
            if chosen.ignored.contains(&j) {
                learned.push(Column::Ignored { name: name.clone() });
            }
            let Some(cells) = chosen.features.iter().position(|&k| k == j).map(|place| &columns[place]) else { continue };
            let mut gathered = Gathered::fitting((0..self.rows).map(|row| cells.cell(row)));
            for row in 0..self.rows {
                gathered.push(cells.cell(row)).map_err(|reason| self.refuse(j, format!("{reason}, in row {}", row + 1)))?;
            }
            let column = gathered
                .finish(name)
                .map_err(|reason| Error::format(&*self.origin, None, None, format!("{reason}; leave it out with --ignore {name}")))?;
            if !column.is_used() {
                notes.push(format!("the column {name:?} has no values and is ignored"));
            }
            learned.push(column);
        }
        let encoding = Encoding { columns: learned, named: true };
        notes.extend(encoding.summary());
        Ok(encoding)
    }

    fn missing(&self, column: usize, row: usize) -> Error {
        self.refuse(column, format!("the value in row {} is missing; fill it in or leave the row out", row + 1))
    }

    pub(super) fn storage(&self, column: usize) -> Result<Storage> {
        let descriptor = self.reader.metadata().file_metadata().schema_descr().column(column);
        Storage::of(&descriptor).ok_or_else(|| self.refuse(column, "only plain numbers and text can be read"))
    }

    /// The rows of a group, and what reads a column of it.
    pub(super) fn group(&self, number: usize) -> parquet::errors::Result<(usize, Box<dyn RowGroupReader + '_>)> {
        let group = self.reader.get_row_group(number)?;
        Ok((usize::try_from(group.metadata().num_rows()).unwrap_or(0), group))
    }

    /// All values of a column, one for each row.
    fn column(&self, column: usize) -> Result<Cells> {
        let mut cells = Cells::new(self.storage(column)?);
        for number in 0..self.reader.num_row_groups() {
            let reader = self.group(number).and_then(|(rows, group)| Ok((rows, group.get_column_reader(column)?)));
            let (rows, mut reader) = reader.map_err(|error| self.damaged(column, error))?;
            self.take_in(&mut cells, column, &mut reader, rows, 0)?;
        }
        Ok(cells.finish())
    }

    /// Takes in the next values of a column, of which so many went before.
    pub(super) fn take_in(&self, cells: &mut Cells, column: usize, from: &mut ColumnReader, rows: usize, before: usize) -> Result<()> {
        let expected = cells.len + rows;
        cells.take_in(from, expected).map_err(|trouble| match trouble {
            Trouble::Damaged(error) => self.damaged(column, error),
            Trouble::BadText(row) => self.refuse(column, format!("the text in row {} is not valid UTF-8", before + row + 1)),
        })
    }

    fn damaged(&self, column: usize, error: ParquetError) -> Error {
        self.refuse(column, format!("the data are damaged ({error})"))
    }

    fn called(&self, column: usize) -> String {
        format!("{}, column {:?}", self.origin, self.names[column])
    }

    fn refuse(&self, column: usize, reason: impl Into<String>) -> Error {
        Error::format(self.called(column), None, None, reason)
    }
}

/// Some rows of a table, of which `first` is the first.
pub(super) struct Part<'a> {
    pub(super) table: &'a Table,
    pub(super) chosen: &'a Chosen,
    pub(super) encoding: Option<&'a Encoding>,
    pub(super) first: usize,
    pub(super) rows: usize,
}

impl Part<'_> {
    /// The rows of these columns, and what they have that training rows do not have.
    pub(super) fn dataset(&self, columns: &[Cells], target: Option<Cells>, wanted: Wanted) -> Result<(Dataset, Tally)> {
        let (table, chosen) = (self.table, self.chosen);
        let dim = self.encoding.map_or(chosen.features.len(), Encoding::n_features);
        let mut points: Matrix = matrix(vec![0.0; self.rows * dim], self.rows, dim)?;
        let tally = match self.encoding {
            None => self.fill(columns, &mut points).map(|()| Tally::default())?,
            Some(encoding) => self.encode(encoding, columns, &mut points)?,
        };
        let target = target.zip(chosen.target).map_or(Ok(Target::None), |(cells, column)| self.target(cells, column, wanted))?;
        let own_names = || chosen.features.iter().map(|&column| table.names[column].clone()).collect();
        let names = Some(self.encoding.map_or_else(own_names, Encoding::feature_names));
        Ok((Dataset { names, table: self.encoding.cloned(), ..Dataset::new(points, target) }, tally))
    }

    fn target(&self, cells: Cells, column: usize, wanted: Wanted) -> Result<Target> {
        match cells.first_missing() {
            Some(row) => Err(self.table.missing(column, self.first + row)),
            None => Array { shape: vec![self.rows], values: cells.values }.to_target(wanted, &self.table.called(column)),
        }
    }

    /// Columns of numbers as points; an error where one has text or a missing value.
    fn fill(&self, columns: &[Cells], points: &mut Matrix) -> Result<()> {
        for (place, (cells, &column)) in columns.iter().zip(&self.chosen.features).enumerate() {
            if let Some(row) = cells.first_missing() {
                return Err(self.table.missing(column, self.first + row));
            }
            let text = || self.table.refuse(column, "the values are text, but the model needs numbers");
            let values = cells.values.to_f64().ok_or_else(text)?;
            values.into_iter().enumerate().for_each(|(i, value)| points.row_mut(i)[place] = value);
        }
        Ok(())
    }

    /// Columns as features of a model.
    fn encode(&self, encoding: &Encoding, columns: &[Cells], points: &mut Matrix) -> Result<Tally> {
        let (encoder, mut tally) = (Encoder::new(encoding), Tally::default());
        let used = |column: usize| encoding.used().any(|known| known.name() == self.table.names[column]);
        let columns = columns.iter().zip(&self.chosen.features).filter(|(_, column)| !encoding.named || used(**column));
        for (place, (cells, &column)) in columns.enumerate() {
            for row in 0..self.rows {
                let put = encoder.put(place, cells.cell(row), points.row_mut(row), &mut tally);
                put.map_err(|reason| self.table.refuse(column, format!("{reason}, in row {}", self.first + row + 1)))?;
            }
        }
        Ok(tally)
    }
}

/// True where a column's bytes lie within a file of so many; the page reader takes that for granted.
fn lies_within(chunk: &ColumnChunkMetaData, len: u64) -> bool {
    let start = chunk.dictionary_page_offset().unwrap_or(chunk.data_page_offset());
    let end = start.checked_add(chunk.compressed_size()).and_then(|end| u64::try_from(end).ok());
    start >= 0 && chunk.compressed_size() >= 0 && end.is_some_and(|end| end <= len)
}

#[cfg(test)]
pub(super) mod tests {
    use std::sync::Arc;

    use parquet::{
        basic::Compression,
        data_type::{BoolType, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type},
        file::{
            properties::WriterProperties,
            writer::{SerializedFileWriter, SerializedRowGroupWriter},
        },
        schema::parser::parse_message_type,
    };

    use super::*;
    use crate::data::{Label, Points};

    type Group<'a> = SerializedRowGroupWriter<'a, Vec<u8>>;

    fn column<T: DataType>(group: &mut Group, values: &[T::T], levels: Option<&[i16]>) {
        let mut column = group.next_column().unwrap().unwrap();
        column.typed::<T>().write_batch(values, levels, None).unwrap();
        column.close().unwrap();
    }

    /// A table packed with snappy, its groups written one after the other.
    fn table(columns: &str, groups: &[&dyn Fn(&mut Group)]) -> Vec<u8> {
        let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
        let schema = Arc::new(parse_message_type(&format!("message table {{ {columns} }}")).unwrap());
        let mut writer = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties)).unwrap();
        for write in groups {
            let mut group = writer.next_row_group().unwrap();
            write(&mut group);
            group.close().unwrap();
        }
        writer.into_inner().unwrap()
    }

    /// Two groups of two rows.
    pub(in crate::data::read) fn written(last_count: Option<i32>, last_species: &[u8]) -> Vec<u8> {
        let columns = "required double length; optional int32 count; required boolean flag; required int32 big (uint_32);
            required binary species (utf8);";
        let group = |base: f64, count: Option<i32>, species: &[u8]| {
            let (species, levels) = (species.to_vec(), [1, i16::from(count.is_some())]);
            move |group: &mut Group| {
                column::<DoubleType>(group, &[base + 0.5, base + 1.5], None);
                column::<Int32Type>(group, &[Some(1), count].into_iter().flatten().collect::<Vec<_>>(), Some(&levels));
                column::<BoolType>(group, &[false, true], None);
                column::<Int32Type>(group, &[7, -1], None);
                column::<ByteArrayType>(group, &["virginica".into(), species.clone().into()], None);
            }
        };
        table(columns, &[&group(0.0, Some(2), b"setosa"), &group(10.0, last_count, last_species)])
    }

    fn how(names: &[&str]) -> Reading {
        let names = Some(names.iter().map(|name| name.to_string()).collect());
        Reading { wanted: Wanted::Classes, target_column: Some("species".into()), names, ..Reading::default() }
    }

    fn refusal(bytes: &[u8], names: &[&str]) -> String {
        read(bytes, "a.parquet", &how(names)).unwrap_err().to_string()
    }

    #[test]
    fn columns_are_matched_by_name_over_all_groups() {
        let found = read(&written(Some(4), b"setosa"), "a.parquet", &how(&["count", "length", "flag", "big"])).unwrap();
        let big = f64::from(u32::MAX);
        let expected = [1.0, 0.5, 0.0, 7.0, 2.0, 1.5, 1.0, big, 1.0, 10.5, 0.0, 7.0, 4.0, 11.5, 1.0, big];
        assert_eq!(found.dataset.points, Points::F64(Matrix::new(expected.to_vec(), 4, 4).unwrap()));
        let classes = found.dataset.classes().unwrap();
        assert_eq!(classes.labels.iter().map(Label::text).collect::<Vec<_>>(), ["setosa", "virginica"]);
        assert_eq!(classes.codes, [1, 0, 1, 0]);
        assert_eq!(found.notes, ["target: column 5, \"species\""]);
    }

    #[test]
    fn text_and_missing_values_become_features_and_a_model_applies_what_was_learned() {
        let wanted =
            Reading { wanted: Wanted::Values, target_column: Some("length".into()), ignore: vec!["big".into()], ..Reading::default() };
        let learned = read(&written(None, b"setosa"), "a.parquet", &wanted).unwrap();
        let names = ["count", "count=missing", "flag", "species=setosa", "species=virginica"];
        assert_eq!(learned.dataset.names.as_deref().unwrap(), names);
        let expected = [[1.0, 0.0, 0.0, 0.0, 1.0], [2.0, 0.0, 1.0, 1.0, 0.0], [1.0, 0.0, 0.0, 0.0, 1.0], [1.0, 1.0, 1.0, 1.0, 0.0]];
        assert_eq!(learned.dataset.points, Points::from_rows(&expected).unwrap());
        assert_eq!(learned.notes[1], "left out: column 4, \"big\"");
        let model = Reading { table: learned.dataset.table.clone(), ignore: vec![], ..wanted };
        let again = read(&written(Some(7), b"new"), "a.parquet", &model).unwrap();
        assert_eq!(again.dataset.points.to_dense().row(3), [7.0, 0.0, 1.0, 0.0, 0.0]);
        let note = "1 value of \"species\" not seen in training, first \"new\": all indicators of the column are 0";
        assert_eq!(again.notes.last().unwrap(), note);
        let csv = super::super::csv::read(b"species,count,flag,length\nsetosa,,1,3\n", "a.csv", &model).unwrap();
        assert_eq!(csv.dataset.points.to_dense().row(0), expected[3]);
    }

    #[test]
    fn what_cannot_be_read_is_rejected_with_an_error() {
        let good = written(Some(4), b"setosa");
        let dates = table("required int64 day (timestamp_millis);", &[&|group| column::<Int64Type>(group, &[1, 2], None)]);
        let dates = read(&dates, "a.parquet", &Reading::default()).unwrap_err().to_string();
        assert_eq!(dates, "a.parquet, column \"day\": only plain numbers and text can be read");
        let text = Reading { target_column: Some("length".into()), ..how(&["species"]) };
        let text = read(&good, "a.parquet", &text).unwrap_err().to_string();
        assert_eq!(text, "a.parquet, column \"species\": the values are text, but the model needs numbers");
        let missing = refusal(&written(None, b"setosa"), &["count"]);
        assert_eq!(missing, "a.parquet, column \"count\": the value in row 4 is missing; fill it in or leave the row out");
        let latin = refusal(&written(Some(4), b"\xe9"), &["count"]);
        assert_eq!(latin, "a.parquet, column \"species\": the text in row 4 is not valid UTF-8");
        assert!(refusal(b"PAR1", &["count"]).starts_with("a.parquet: this is not a Parquet file, or it is damaged ("));
        assert_eq!(refusal(&good, &["width"]).split(';').next().unwrap(), "a.parquet: there is no column \"width\", which the model needs");
    }
}
