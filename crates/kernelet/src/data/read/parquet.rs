//! Parquet tables: flat columns of numbers, and of text for class labels. Columns are chosen by name as in a CSV with a header.
use std::ops::Range;

use bytes::Bytes;
use parquet::{
    basic::{ConvertedType, LogicalType, Type},
    column::reader::{ColumnReader, ColumnReaderImpl},
    data_type::DataType,
    errors::ParquetError,
    file::{
        metadata::ColumnChunkMetaData,
        reader::{FileReader, RowGroupReader},
        serialized_reader::SerializedFileReader,
    },
    schema::types::ColumnDescriptor,
};

use super::{
    Read, Reading,
    array::{Array, Values},
    columns::{checked_header, choose},
    matrix,
    source::{grown_too_large, unpacked_limit},
};
use crate::{
    Error, Result,
    data::{Dataset, Target},
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
    let cells = (table.rows as u64).saturating_mul(chosen.features.len() as u64);
    if cells.saturating_mul(size_of::<f64>() as u64) > unpacked_limit(bytes.len()) {
        return Err(grown_too_large(origin));
    }
    let mut points: Matrix = matrix(vec![0.0; table.rows * chosen.features.len()], table.rows, chosen.features.len())?;
    for (place, &column) in chosen.features.iter().enumerate() {
        let Some(values) = table.column(column)?.to_f64() else {
            return Err(table.refuse(column, "the values are text; encode categories as numbers, for instance 0 and 1"));
        };
        values.into_iter().enumerate().for_each(|(i, value)| points.row_mut(i)[place] = value);
    }
    let target = match chosen.target {
        None => Target::None,
        Some(column) => {
            let array = Array { shape: vec![table.rows], values: table.column(column)? };
            array.to_target(how.wanted, &table.called(column))?
        }
    };
    let names = Some(chosen.features.iter().map(|&column| table.names[column].clone()).collect());
    Ok(Read { dataset: Dataset { names, ..Dataset::new(points, target) }, notes: chosen.notes })
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

    /// All values of a column, one for each row.
    fn column(&self, column: usize) -> Result<Values> {
        let metadata = self.reader.metadata();
        let descriptor = metadata.file_metadata().schema_descr().column(column);
        let storage = Storage::of(&descriptor).ok_or_else(|| self.refuse(column, "only plain numbers and text can be read"))?;
        let mut cells = Cells { storage, values: storage.empty(), len: 0 };
        for number in 0..metadata.num_row_groups() {
            let damaged = |error: ParquetError| self.refuse(column, format!("the data are damaged ({error})"));
            let group = self.reader.get_row_group(number).map_err(damaged)?;
            let expected = cells.len + usize::try_from(group.metadata().num_rows()).unwrap_or(0);
            cells.take_in(group.as_ref(), column, expected).map_err(|trouble| match trouble {
                Trouble::Damaged(error) => damaged(error),
                Trouble::Missing(row) => {
                    self.refuse(column, format!("the value in row {} is missing; fill it in or leave the row out", row + 1))
                }
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

/// How the values of a column are kept.
#[derive(Clone, Copy)]
enum Storage {
    Integer,
    Unsigned,
    Single,
    Double,
    Text,
}

impl Storage {
    /// None for columns that are nested, repeated, or neither numbers nor text.
    fn of(column: &ColumnDescriptor) -> Option<Storage> {
        use ConvertedType as Converted;
        if column.max_rep_level() > 0 || column.path().parts().len() != 1 {
            return None;
        }
        match (column.physical_type(), column.converted_type(), column.logical_type_ref()) {
            (Type::BOOLEAN, ..) => Some(Storage::Integer),
            (Type::FLOAT, ..) => Some(Storage::Single),
            (Type::DOUBLE, ..) => Some(Storage::Double),
            (Type::INT32 | Type::INT64, Converted::UINT_8 | Converted::UINT_16 | Converted::UINT_32 | Converted::UINT_64, _) => {
                Some(Storage::Unsigned)
            }
            (
                Type::INT32 | Type::INT64,
                Converted::NONE | Converted::INT_8 | Converted::INT_16 | Converted::INT_32 | Converted::INT_64,
                None | Some(LogicalType::Integer(_)),
            ) => Some(Storage::Integer),
            (Type::BYTE_ARRAY, Converted::UTF8 | Converted::NONE, None | Some(LogicalType::String)) => Some(Storage::Text),
            _ => None,
        }
    }

    fn empty(self) -> Values {
        match self {
            Storage::Integer | Storage::Unsigned => Values::I64(vec![]),
            Storage::Single => Values::F32(vec![]),
            Storage::Double => Values::F64(vec![]),
            Storage::Text => Values::Text(vec![]),
        }
    }
}

enum Trouble {
    Damaged(ParquetError),
    /// The row, from 0.
    Missing(usize),
    BadText(usize),
}

impl From<ParquetError> for Trouble {
    fn from(error: ParquetError) -> Self {
        Trouble::Damaged(error)
    }
}

/// The values of a column gathered so far.
struct Cells {
    storage: Storage,
    values: Values,
    len: usize,
}

impl Cells {
    /// Takes in a group of rows, after which there must be `expected` values.
    fn take_in(&mut self, group: &dyn RowGroupReader, column: usize, expected: usize) -> std::result::Result<(), Trouble> {
        let rows = self.len..expected;
        let unsigned = matches!(self.storage, Storage::Unsigned);
        match (group.get_column_reader(column)?, &mut self.values) {
            (ColumnReader::BoolColumnReader(from), Values::I64(to)) => gather(from, rows, to, |v| Some(v.into()))?,
            (ColumnReader::Int32ColumnReader(from), Values::I64(to)) if unsigned => gather(from, rows, to, |v| Some((v as u32).into()))?,
            (ColumnReader::Int32ColumnReader(from), Values::I64(to)) => gather(from, rows, to, |v| Some(v.into()))?,
            (ColumnReader::Int64ColumnReader(from), Values::I64(to)) => gather(from, rows, to, Some)?,
            (ColumnReader::FloatColumnReader(from), Values::F32(to)) => gather(from, rows, to, Some)?,
            (ColumnReader::DoubleColumnReader(from), Values::F64(to)) => gather(from, rows, to, Some)?,
            (ColumnReader::ByteArrayColumnReader(from), Values::Text(to)) => {
                gather(from, rows, to, |v| v.as_utf8().ok().map(str::to_string))?
            }
            _ => return Err(ParquetError::General("the types of schema and data differ".into()).into()),
        }
        self.len = expected;
        Ok(())
    }

    /// The values; 64 bits without a sign were held as if they had one.
    fn finish(self) -> Values {
        match (self.values, self.storage) {
            (Values::I64(values), Storage::Unsigned) => Values::from_unsigned(values.into_iter().map(|v| v as u64).collect()),
            (values, _) => values,
        }
    }
}

/// Appends every value of the rows; `convert` gives none for bad text.
fn gather<T: DataType, V>(
    mut from: ColumnReaderImpl<T>,
    rows: Range<usize>,
    to: &mut Vec<V>,
    convert: impl Fn(T::T) -> Option<V>,
) -> std::result::Result<(), Trouble> {
    const BATCH: usize = 1 << 14;
    while to.len() < rows.end {
        let (mut values, mut levels) = (vec![], vec![]);
        let most = BATCH.min(rows.end - to.len());
        let (records, stored, _) = from.read_records(most, Some(&mut levels), None, &mut values)?;
        if records == 0 {
            return Err(ParquetError::General("there are fewer values than rows".into()).into());
        }
        if stored < records {
            return Err(Trouble::Missing(to.len() + levels.iter().position(|&level| level == 0).unwrap_or(0)));
        }
        for value in values {
            to.push(convert(value).ok_or(Trouble::BadText(to.len()))?);
        }
    }
    Ok(())
}

#[cfg(test)]
pub(super) mod tests {
    use std::sync::Arc;

    use parquet::{
        basic::Compression,
        data_type::{BoolType, ByteArrayType, DoubleType, Int32Type, Int64Type},
        file::{
            properties::WriterProperties,
            writer::{SerializedFileWriter, SerializedRowGroupWriter},
        },
        schema::parser::parse_message_type,
    };

    use super::*;
    use crate::data::{Label, Points, read::Wanted};

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
    fn what_cannot_be_read_is_rejected_with_an_error() {
        let good = written(Some(4), b"setosa");
        let dates = table("required int64 day (timestamp_millis);", &[&|group| column::<Int64Type>(group, &[1, 2], None)]);
        let dates = read(&dates, "a.parquet", &Reading::default()).unwrap_err().to_string();
        assert_eq!(dates, "a.parquet, column \"day\": only plain numbers and text can be read");
        let text = Reading { target_column: Some("length".into()), ..how(&["species"]) };
        let text = read(&good, "a.parquet", &text).unwrap_err().to_string();
        assert_eq!(text, "a.parquet, column \"species\": the values are text; encode categories as numbers, for instance 0 and 1");
        let missing = refusal(&written(None, b"setosa"), &["count"]);
        assert_eq!(missing, "a.parquet, column \"count\": the value in row 4 is missing; fill it in or leave the row out");
        let latin = refusal(&written(Some(4), b"\xe9"), &["count"]);
        assert_eq!(latin, "a.parquet, column \"species\": the text in row 4 is not valid UTF-8");
        assert!(refusal(b"PAR1", &["count"]).starts_with("a.parquet: this is not a Parquet file, or it is damaged ("));
        assert_eq!(refusal(&good, &["width"]).split(';').next().unwrap(), "a.parquet: there is no column \"width\", which the model needs");
    }
}
