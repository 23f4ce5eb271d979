//! Parquet tables: flat columns of numbers and of text. Columns are chosen by name as in a CSV with a header; a column of text
//! that has nothing but numbers is one of numbers, as in CSV.
use bytes::Bytes;
use parquet::{
    errors::ParquetError,
    file::{metadata::ColumnChunkMetaData, reader::FileReader, serialized_reader::SerializedFileReader},
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
    std::panic::catch_unwind(|| read_table(bytes, origin, how))
        .unwrap_or_else(|_| Err(Error::format(origin, None, None, "the Parquet data are damaged")))
}

fn read_table(bytes: &[u8], origin: &str, how: &Reading) -> Result<Read> {
    let table = Table::open(bytes, origin)?;
    let chosen = choose(origin, table.names.len(), Some(&table.names), how)?;
    let mut notes = chosen.notes.clone();
    table.check_memory(chosen.features.len(), bytes.len())?;
    let columns = chosen.features.iter().map(|&column| table.column(column)).collect::<Result<Vec<Cells>>>()?;
    let is_plain = |cells: &Cells| !matches!(cells.values, Values::Text(_)) && cells.first_missing().is_none();
    let encoding = match &how.table {
        Some(encoding) => Some(encoding.clone()),
        None if !how.learns() || (how.ignore.is_empty() && columns.iter().all(is_plain)) => None,
        None => Some(table.learned(&chosen, &columns, &mut notes)?),
    };
    let dim = encoding.as_ref().map_or(chosen.features.len(), Encoding::n_features);
    table.check_memory(dim, bytes.len())?;
    let mut points: Matrix = matrix(vec![0.0; table.rows * dim], table.rows, dim)?;
    match &encoding {
        None => table.fill(&chosen, &columns, &mut points)?,
        Some(encoding) => notes.extend(table.encode(encoding, &chosen, &columns, &mut points)?),
    }
    let target = chosen.target.map_or(Ok(Target::None), |column| table.target(column, how.wanted))?;
    let own_names = || chosen.features.iter().map(|&column| table.names[column].clone()).collect();
    let names = Some(encoding.as_ref().map_or_else(own_names, Encoding::feature_names));
    Ok(Read { dataset: Dataset { names, table: encoding, ..Dataset::new(points, target) }, notes })
}

struct Table<'a> {
    reader: SerializedFileReader<Bytes>,
    origin: &'a str,
    names: Vec<String>,
    rows: usize,
}

impl<'a> Table<'a> {
    fn open(bytes: &[u8], origin: &'a str) -> Result<Self> {
        let damaged =
            |error: ParquetError| Error::format(origin, None, None, format!("this is not a Parquet file, or it is damaged ({error})"));
        let reader = SerializedFileReader::new(Bytes::copy_from_slice(bytes)).map_err(damaged)?;
        let metadata = reader.metadata();
        let chunks = metadata.row_groups().iter().flat_map(|group| group.columns());
        if !chunks.into_iter().all(|chunk| lies_within(chunk, bytes.len())) {
            return Err(damaged(ParquetError::General("a column lies outside the file".into())));
        }
        let names = metadata.file_metadata().schema_descr().columns().iter().map(|column| column.path().string()).collect();
        let counts = metadata.row_groups().iter().map(|group| usize::try_from(group.num_rows()).ok());
        let rows = counts.sum::<Option<usize>>().ok_or_else(|| damaged(ParquetError::General("negative row count".into())))?;
        let names = checked_header(origin, None, names)?;
        Ok(Table { reader, origin, names, rows })
    }

    /// An error where this many numbers a row take more memory than a file of so many bytes should.
    fn check_memory(&self, dim: usize, bytes: usize) -> Result<()> {
        let numbers = (self.rows as u64).saturating_mul(dim as u64);
        match numbers.saturating_mul(size_of::<f64>() as u64) > unpacked_limit(bytes) {
            true => Err(grown_too_large(self.origin)),
            false => Ok(()),
        }
    }

    fn target(&self, column: usize, wanted: Wanted) -> Result<Target> {
        let cells = self.column(column)?;
        match cells.first_missing() {
            Some(row) => Err(self.missing(column, row)),
            None => Array { shape: vec![self.rows], values: cells.values }.to_target(wanted, &self.called(column)),
        }
    }

    /// Columns of numbers as points; an error where one has text or a missing value.
    fn fill(&self, chosen: &Chosen, columns: &[Cells], points: &mut Matrix) -> Result<()> {
        for (place, (cells, &column)) in columns.iter().zip(&chosen.features).enumerate() {
            if let Some(row) = cells.first_missing() {
                return Err(self.missing(column, row));
            }
            let values = cells.values.to_f64().ok_or_else(|| self.refuse(column, "the values are text, but the model needs numbers"))?;
            values.into_iter().enumerate().for_each(|(i, value)| points.row_mut(i)[place] = value);
        }
        Ok(())
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
                .map_err(|reason| Error::format(self.origin, None, None, format!("{reason}; leave it out with --ignore {name}")))?;
            if !column.is_used() {
                notes.push(format!("the column {name:?} has no values and is ignored"));
            }
            learned.push(column);
        }
        let encoding = Encoding { columns: learned, named: true };
        notes.extend(encoding.summary());
        Ok(encoding)
    }

    /// Columns as features of a model; notes for the user.
    fn encode(&self, encoding: &Encoding, chosen: &Chosen, columns: &[Cells], points: &mut Matrix) -> Result<Vec<String>> {
        let (encoder, mut tally) = (Encoder::new(encoding), Tally::default());
        let used = |column: usize| encoding.used().any(|known| known.name() == self.names[column]);
        let columns = columns.iter().zip(&chosen.features).filter(|(_, column)| !encoding.named || used(**column));
        for (place, (cells, &column)) in columns.enumerate() {
            for row in 0..self.rows {
                let put = encoder.put(place, cells.cell(row), points.row_mut(row), &mut tally);
                put.map_err(|reason| self.refuse(column, format!("{reason}, in row {}", row + 1)))?;
            }
        }
        Ok(encoder.notes(&tally))
    }

    fn missing(&self, column: usize, row: usize) -> Error {
        self.refuse(column, format!("the value in row {} is missing; fill it in or leave the row out", row + 1))
    }

    /// All values of a column, one for each row.
    fn column(&self, column: usize) -> Result<Cells> {
        let metadata = self.reader.metadata();
        let descriptor = metadata.file_metadata().schema_descr().column(column);
        let storage = Storage::of(&descriptor).ok_or_else(|| self.refuse(column, "only plain numbers and text can be read"))?;
        let mut cells = Cells::new(storage);
        for number in 0..metadata.num_row_groups() {
            let damaged = |error: ParquetError| self.refuse(column, format!("the data are damaged ({error})"));
            let group = self.reader.get_row_group(number).map_err(damaged)?;
            let expected = cells.len + usize::try_from(group.metadata().num_rows()).unwrap_or(0);
            cells.take_in(group.as_ref(), column, expected).map_err(|trouble| match trouble {
                Trouble::Damaged(error) => damaged(error),
                Trouble::BadText(row) => self.refuse(column, format!("the text in row {} is not valid UTF-8", row + 1)),
            })?;
        }
        Ok(cells.finish())
    }

    fn called(&self, column: usize) -> String {
        format!("{}, column {:?}", self.origin, self.names[column])
    }

    fn refuse(&self, column: usize, reason: impl Into<String>) -> Error {
        Error::format(self.called(column), None, None, reason)
    }
}

/// True where a column's bytes lie within a file of so many; the page reader takes that for granted.
fn lies_within(chunk: &ColumnChunkMetaData, len: usize) -> bool {
    let start = chunk.dictionary_page_offset().unwrap_or(chunk.data_page_offset());
    let end = start.checked_add(chunk.compressed_size()).and_then(|end| u64::try_from(end).ok());
    start >= 0 && chunk.compressed_size() >= 0 && end.is_some_and(|end| end <= len as u64)
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
