//! The values of a column of a Parquet table, which may be missing.
use std::ops::Range;

use parquet::{
    basic::{ConvertedType, LogicalType, Type},
    column::reader::{ColumnReader, ColumnReaderImpl},
    data_type::DataType,
    errors::ParquetError,
    schema::types::ColumnDescriptor,
};

use super::array::Values;
use crate::data::Cell;

/// How the values of a column are kept.
#[derive(Clone, Copy)]
pub(super) enum Storage {
    Integer,
    Unsigned,
    Single,
    Double,
    Text,
}

impl Storage {
    /// None for columns that are nested, repeated, or neither numbers nor text.
    pub(super) fn of(column: &ColumnDescriptor) -> Option<Storage> {
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

/// What is wrong with a column.
pub(super) enum Trouble {
    Damaged(ParquetError),
    /// The row, from 0.
    BadText(usize),
}

impl From<ParquetError> for Trouble {
    fn from(error: ParquetError) -> Self {
        Trouble::Damaged(error)
    }
}

/// The values of a column gathered so far.
pub(super) struct Cells {
    storage: Storage,
    pub(super) values: Values,
    /// Rows without a value, in ascending order; `values` has anything there.
    missing: Vec<usize>,
    pub(super) len: usize,
}

impl Cells {
    /// A column without rows.
    pub(super) fn new(storage: Storage) -> Self {
        Cells { storage, values: storage.empty(), missing: vec![], len: 0 }
    }

    /// Takes in the next rows, after which there must be `expected` values.
    pub(super) fn take_in(&mut self, from: &mut ColumnReader, expected: usize) -> std::result::Result<(), Trouble> {
        let rows = self.len..expected;
        let unsigned = matches!(self.storage, Storage::Unsigned);
        let gaps = &mut self.missing;
        match (from, &mut self.values) {
            (ColumnReader::BoolColumnReader(from), Values::I64(to)) => gather(from, rows, to, gaps, |v| Some(v.into()))?,
            (ColumnReader::Int32ColumnReader(from), Values::I64(to)) if unsigned => {
                gather(from, rows, to, gaps, |v| Some((v as u32).into()))?
            }
            (ColumnReader::Int32ColumnReader(from), Values::I64(to)) => gather(from, rows, to, gaps, |v| Some(v.into()))?,
            (ColumnReader::Int64ColumnReader(from), Values::I64(to)) => gather(from, rows, to, gaps, Some)?,
            (ColumnReader::FloatColumnReader(from), Values::F32(to)) => gather(from, rows, to, gaps, Some)?,
            (ColumnReader::DoubleColumnReader(from), Values::F64(to)) => gather(from, rows, to, gaps, Some)?,
            (ColumnReader::ByteArrayColumnReader(from), Values::Text(to)) => {
                gather(from, rows, to, gaps, |v| v.as_utf8().ok().map(str::to_string))?
            }
            _ => return Err(ParquetError::General("the types of schema and data differ".into()).into()),
        }
        self.len = expected;
        Ok(())
    }

    /// The column; 64 bits without a sign were held as if they had one.
    pub(super) fn finish(self) -> Cells {
        let values = match (self.values, self.storage) {
            (Values::I64(values), Storage::Unsigned) => Values::from_unsigned(values.into_iter().map(|v| v as u64).collect()),
            (values, _) => values,
        };
        Cells { values, ..self }
    }

    /// The first row without a value; NaN is none.
    pub(super) fn first_missing(&self) -> Option<usize> {
        let nan = match &self.values {
            Values::F64(values) => values.iter().position(|v| v.is_nan()),
            Values::F32(values) => values.iter().position(|v| v.is_nan()),
            _ => None,
        };
        self.missing.first().copied().into_iter().chain(nan).min()
    }

    /// The value of a row.
    pub(super) fn cell(&self, row: usize) -> Cell<'_> {
        if self.missing.binary_search(&row).is_ok() {
            return Cell::Missing;
        }
        match &self.values {
            Values::F64(values) => Cell::Number(values[row]),
            Values::F32(values) => Cell::Number(values[row].into()),
            Values::I64(values) => Cell::Number(values[row] as f64),
            Values::U64(values) => Cell::Number(values[row] as f64),
            Values::Text(values) => Cell::Text(&values[row]),
        }
    }
}

/// Appends the value of every row, and a row without one to `gaps`; `convert` gives none for bad text.
fn gather<T: DataType, V: Clone + Default>(
    from: &mut ColumnReaderImpl<T>,
    rows: Range<usize>,
    to: &mut Vec<V>,
    gaps: &mut Vec<usize>,
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
        let mut values = values.into_iter();
        for row in 0..records {
            // There are levels only where values may be missing.
            if stored < records && levels.get(row).is_none_or(|&level| level == 0) {
                gaps.push(to.len());
                to.push(V::default());
                continue;
            }
            let value = values.next().ok_or_else(|| ParquetError::General("there are fewer values than rows".into()))?;
            to.push(convert(value).ok_or(Trouble::BadText(to.len()))?);
        }
    }
    Ok(())
}
