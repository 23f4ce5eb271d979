//! One NumPy array: a header that says type, order and shape, then the bare values. Versions 1 to 3, either byte order.
//!
//! Pickled objects are refused: to read them is to run them. Nothing is allocated on the word of a header alone: the
//! values must be there first.
use super::{
    Read, Reading,
    array::{Array, Values},
    columns::choose,
};
use crate::{
    Error, Result,
    data::{Dataset, Target},
};

const MAGIC: &[u8] = b"\x93NUMPY";

/// Reads an array of rows; its last column is the target where one is wanted.
pub(super) fn read(bytes: &[u8], origin: &str, how: &Reading) -> Result<Read> {
    from_array(parse(bytes, origin)?, origin, how)
}

fn from_array(array: Array, origin: &str, how: &Reading) -> Result<Read> {
    let (rows, cols) = array.rows_and_columns(origin)?;
    let chosen = choose(origin, cols, None, how)?;
    if chosen.features.len() == cols {
        return Ok(Read { dataset: Dataset::new(array.into_points(origin)?, Target::None), notes: chosen.notes });
    }
    let target = match chosen.target {
        None => Target::None,
        Some(column) => array.columns(rows, cols, &[column]).to_target(how.wanted, origin)?,
    };
    let points = array.columns(rows, cols, &chosen.features).into_points(origin)?;
    Ok(Read { dataset: Dataset::new(points, target), notes: chosen.notes })
}

/// An array of rows that comes in parts.
pub(super) struct Parts {
    header: Header,
    row_bytes: usize,
    rows_left: usize,
}

impl Parts {
    /// Takes the header off the first bytes of a file. None, and nothing taken, when the rows do not lie one after the other.
    pub(super) fn of(bytes: &mut Vec<u8>, origin: &str) -> Result<Option<Parts>> {
        let refuse = |reason| Error::format(origin, None, None, reason);
        let (text, data) = split(bytes).map_err(refuse)?;
        let (header, begin) = (Header::parse(text).map_err(refuse)?, bytes.len() - data.len());
        let [rows_left, cols] = header.shape[..] else { return Ok(None) };
        let Some(row_bytes) = cols.checked_mul(header.item).filter(|&bytes| bytes > 0 && !header.fortran) else { return Ok(None) };
        bytes.drain(..begin);
        Ok(Some(Parts { header, row_bytes, rows_left }))
    }

    /// The whole rows in `bytes` and how many bytes they took; `last` when no more bytes follow.
    pub(super) fn rows(&mut self, bytes: &[u8], last: bool, origin: &str, how: &Reading) -> Result<(Read, usize)> {
        let rows = (bytes.len() / self.row_bytes).min(self.rows_left);
        let used = rows * self.row_bytes;
        self.rows_left -= rows;
        let rest = bytes.len() - used;
        let reason = match (self.rows_left, rest) {
            (0, 1..) => Some("the file goes on after the values that the header promises".into()),
            (1, _) if last => Some("the file ends 1 row before the header promises".into()),
            (left, _) if last && left > 0 => Some(format!("the file ends {left} rows before the header promises")),
            _ => None,
        };
        if let Some(reason) = reason {
            return Err(Error::format(origin, None, None, reason));
        }
        let values = self.header.values(&bytes[..used]).map_err(|reason| Error::format(origin, None, None, reason))?;
        let array = Array { shape: vec![rows, self.header.shape[1]], values };
        Ok((from_array(array, origin, how)?, used))
    }
}

/// The header of an array whose rows lie one after the other.
pub(super) struct RowHeader {
    header: Header,
    row_bytes: usize,
}

impl RowHeader {
    /// The header that these bytes begin with, and where the rows begin; none where they do not lie one after the other.
    pub(super) fn of(bytes: &[u8], origin: &str) -> Result<Option<(RowHeader, u64)>> {
        let mut rest = bytes.to_vec();
        let parts = Parts::of(&mut rest, origin)?;
        Ok(parts.map(|Parts { header, row_bytes, .. }| (RowHeader { header, row_bytes }, (bytes.len() - rest.len()) as u64)))
    }

    pub(super) fn n_rows(&self) -> usize {
        self.header.shape[0]
    }

    pub(super) fn row_bytes(&self) -> usize {
        self.row_bytes
    }

    /// Refuses a file of so many bytes that has not all rows, or more.
    pub(super) fn check_len(&self, len: u64, begin: u64, origin: &str) -> Result<()> {
        let there = len.saturating_sub(begin);
        let promised = (self.n_rows() as u64).saturating_mul(self.row_bytes as u64);
        if there == promised {
            return Ok(());
        }
        let reason = match self.n_rows() as u64 - (there / self.row_bytes as u64).min(self.n_rows() as u64) {
            0 => "the file goes on after the values that the header promises".into(),
            1 => "the file ends 1 row before the header promises".into(),
            missing => format!("the file ends {missing} rows before the header promises"),
        };
        Err(Error::format(origin, None, None, reason))
    }

    /// So many rows that these bytes are.
    pub(super) fn rows(&self, bytes: &[u8], count: usize, origin: &str, how: &Reading) -> Result<Read> {
        let values = self.header.values(bytes).map_err(|reason| Error::format(origin, None, None, reason))?;
        from_array(Array { shape: vec![count, self.header.shape[1]], values }, origin, how)
    }
}

/// The array that these bytes are.
pub(super) fn parse(bytes: &[u8], origin: &str) -> Result<Array> {
    decode(bytes).map_err(|reason| Error::format(origin, None, None, reason))
}

fn decode(bytes: &[u8]) -> std::result::Result<Array, String> {
    let (header, data) = split(bytes)?;
    let header = Header::parse(header)?;
    let count = header.shape.iter().try_fold(1usize, |count, &len| count.checked_mul(len));
    let needed = count.and_then(|count| count.checked_mul(header.item));
    if needed != Some(data.len()) {
        let needed = needed.map_or("more bytes than any machine holds".into(), |needed| format!("{needed} bytes"));
        return Err(format!("the header promises {needed} of values, but there are {}", data.len()));
    }
    let values = header.values(data)?;
    let values = match header.fortran {
        true => last_axis_fastest(values, &header.shape),
        false => values,
    };
    Ok(Array { shape: header.shape, values })
}

/// The header's text and the values behind it.
fn split(bytes: &[u8]) -> std::result::Result<(&[u8], &[u8]), String> {
    let rest = bytes.strip_prefix(MAGIC).ok_or("this is not a NumPy array")?;
    let cut_short = "the header is cut short";
    let (version, rest) = rest.split_first_chunk::<2>().ok_or(cut_short)?;
    let (len, rest) = match version[0] {
        1 => rest.split_first_chunk().map(|(len, rest)| (usize::from(u16::from_le_bytes(*len)), rest)).ok_or(cut_short)?,
        2 | 3 => rest.split_first_chunk().map(|(len, rest)| (u32::from_le_bytes(*len) as usize, rest)).ok_or(cut_short)?,
        other => return Err(format!("this array has format version {other}, but versions 1 to 3 can be read")),
    };
    rest.split_at_checked(len).ok_or(cut_short.into())
}

#[derive(Debug, PartialEq)]
struct Header {
    /// b, i, u or f for numbers, U or S for text.
    kind: u8,
    /// Bytes of a value.
    item: usize,
    big_endian: bool,
    /// The first axis runs fastest.
    fortran: bool,
    shape: Vec<usize>,
}

impl Header {
    /// Reads a header such as `{'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }`.
    fn parse(text: &[u8]) -> std::result::Result<Header, String> {
        let unreadable = "the header is not one of a NumPy array";
        let text = std::str::from_utf8(text).map_err(|_| unreadable)?;
        let value = |key: &str| text.split_once(&format!("'{key}':")).map(|(_, value)| value.trim_start());
        let (Some(descr), Some(fortran), Some(shape)) = (value("descr"), value("fortran_order"), value("shape")) else {
            return Err(unreadable.into());
        };
        if descr.starts_with('[') {
            return Err("records with named fields cannot be read; store plain numbers".into());
        }
        let descr = descr.strip_prefix('\'').and_then(|d| d.split_once('\'')).ok_or(unreadable)?.0;
        let shape = shape.strip_prefix('(').and_then(|s| s.split_once(')')).ok_or(unreadable)?.0;
        let lengths = shape.split(',').map(|len| len.trim().trim_end_matches('L')).filter(|len| !len.is_empty());
        let shape = lengths.map(str::parse).collect::<std::result::Result<_, _>>().map_err(|_| unreadable)?;
        let (kind, item, big_endian) = element(descr)?;
        Ok(Header { kind, item, big_endian, fortran: fortran.starts_with("True"), shape })
    }

    fn values(&self, data: &[u8]) -> std::result::Result<Values, String> {
        let big = self.big_endian;
        Ok(match (self.kind, self.item) {
            (b'f', 4) => Values::F32(numbers(data, big, f32::from_le_bytes)),
            (b'f', _) => Values::F64(numbers(data, big, f64::from_le_bytes)),
            (b'b', _) => Values::I64(data.iter().map(|&b| i64::from(b != 0)).collect()),
            (b'i', 1) => Values::I64(numbers(data, big, |b| i8::from_le_bytes(b).into())),
            (b'i', 2) => Values::I64(numbers(data, big, |b| i16::from_le_bytes(b).into())),
            (b'i', 4) => Values::I64(numbers(data, big, |b| i32::from_le_bytes(b).into())),
            (b'i', _) => Values::I64(numbers(data, big, i64::from_le_bytes)),
            (b'u', 1) => Values::I64(numbers(data, big, |b| u8::from_le_bytes(b).into())),
            (b'u', 2) => Values::I64(numbers(data, big, |b| u16::from_le_bytes(b).into())),
            (b'u', 4) => Values::I64(numbers(data, big, |b| u32::from_le_bytes(b).into())),
            (b'u', _) => Values::from_unsigned(numbers(data, big, u64::from_le_bytes)),
            (b'U', item) => Values::Text(data.chunks_exact(item).map(|text| wide_text(text, big)).collect::<Option<_>>().ok_or(BAD_TEXT)?),
            (_, item) => Values::Text(data.chunks_exact(item).map(byte_text).collect::<Option<_>>().ok_or(BAD_TEXT)?),
        })
    }
}

const BAD_TEXT: &str = "the text is not valid Unicode";

/// Kind, bytes and order of a type such as `<f8`.
fn element(descr: &str) -> std::result::Result<(u8, usize, bool), String> {
    let unknown = || format!("values of type {descr:?} cannot be read; store integers, float32 or float64");
    let (order, rest) = descr.split_at_checked(1).ok_or_else(unknown)?;
    let (kind, size) = rest.split_at_checked(1).ok_or_else(unknown)?;
    if kind == "O" {
        return Err("Python objects cannot be read; store plain numbers or text".into());
    }
    let size: usize = size.parse().map_err(|_| unknown())?;
    let known = match (kind, size) {
        ("f", 4 | 8) | ("i" | "u", 1 | 2 | 4 | 8) | ("b", 1) => Some(size),
        ("U", 1..) => size.checked_mul(4),
        ("S", 1..) => Some(size),
        _ => None,
    };
    match (known, order) {
        (Some(item), "<" | ">" | "|" | "=") => Ok((kind.as_bytes()[0], item, order == ">")),
        _ => Err(unknown()),
    }
}

fn numbers<const N: usize, T>(data: &[u8], big_endian: bool, from: impl Fn([u8; N]) -> T) -> Vec<T> {
    let read = |bytes: &[u8; N]| {
        let mut bytes = *bytes;
        if big_endian {
            bytes.reverse();
        }
        from(bytes)
    };
    data.as_chunks().0.iter().map(read).collect()
}

/// Text of four bytes a character, filled up with zeros.
fn wide_text(bytes: &[u8], big_endian: bool) -> Option<String> {
    let mut characters = numbers(bytes, big_endian, u32::from_le_bytes);
    while characters.last() == Some(&0) {
        characters.pop();
    }
    characters.into_iter().map(char::from_u32).collect()
}

/// Text of one byte a character, filled up with zeros.
fn byte_text(bytes: &[u8]) -> Option<String> {
    let len = bytes.iter().rposition(|&b| b != 0).map_or(0, |last| last + 1);
    String::from_utf8(bytes[..len].to_vec()).ok()
}

/// The same array with the last axis fastest instead of the first.
fn last_axis_fastest(values: Values, shape: &[usize]) -> Values {
    let len = shape.iter().product();
    let steps: Vec<usize> = shape.iter().scan(1, |step, len| Some(std::mem::replace(step, *step * len))).collect();
    let (mut index, mut place) = (vec![0; shape.len()], 0);
    let mut next = move || {
        let now = place;
        for axis in (0..index.len()).rev() {
            index[axis] += 1;
            place += steps[axis];
            if index[axis] < shape[axis] {
                break;
            }
            place -= index[axis] * steps[axis];
            index[axis] = 0;
        }
        now
    };
    values.select((0..len).map(|_| next()))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::{
        data::{Points, read::Wanted},
        linalg::Matrix,
    };

    /// The bytes of an array with this header and these values.
    pub(in crate::data::read) fn written(descr: &str, fortran: bool, shape: &str, data: &[u8]) -> Vec<u8> {
        let fortran = if fortran { "True" } else { "False" };
        with_header(1, &format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}\n"), data)
    }

    fn with_header(version: u8, header: &str, data: &[u8]) -> Vec<u8> {
        let len = (header.len() as u32).to_le_bytes();
        let len = if version == 1 { &len[..2] } else { &len[..] };
        [MAGIC, &[version, 0], len, header.as_bytes(), data].concat()
    }

    fn bytes<const N: usize>(numbers: impl IntoIterator<Item = [u8; N]>) -> Vec<u8> {
        numbers.into_iter().flatten().collect()
    }

    fn parsed(descr: &str, shape: &str, data: &[u8]) -> Values {
        parse(&written(descr, false, shape, data), "a.npy").unwrap().values
    }

    fn refusal(bytes: &[u8]) -> String {
        parse(bytes, "a.npy").unwrap_err().to_string()
    }

    #[test]
    fn every_type_is_read_in_either_byte_order() {
        let whole = Values::I64(vec![1, 2]);
        let (signed, unsigned) = (Values::I64(vec![-1, 2]), [1u8, 2]);
        assert_eq!(parsed("|b1", "(2,)", &[0, 7]), Values::I64(vec![0, 1]));
        assert_eq!(parsed("|u1", "(2,)", &unsigned), whole);
        assert_eq!(parsed("<u2", "(2,)", &bytes(unsigned.map(|v| u16::from(v).to_le_bytes()))), whole);
        assert_eq!(parsed(">u4", "(2,)", &bytes(unsigned.map(|v| u32::from(v).to_be_bytes()))), whole);
        assert_eq!(parsed(">u8", "(2,)", &bytes(unsigned.map(|v| u64::from(v).to_be_bytes()))), whole);
        assert_eq!(parsed("|i1", "(2,)", &bytes([-1i8, 2].map(i8::to_le_bytes))), signed);
        assert_eq!(parsed(">i2", "(2,)", &bytes([-1i16, 2].map(i16::to_be_bytes))), signed);
        assert_eq!(parsed("<i4", "(2,)", &bytes([-1i32, 2].map(i32::to_le_bytes))), signed);
        assert_eq!(parsed("<i8", "(2,)", &bytes([-1i64, 2].map(i64::to_le_bytes))), signed);
        assert_eq!(parsed(">f4", "(2,)", &bytes([0.5f32, 2.0].map(f32::to_be_bytes))), Values::F32(vec![0.5, 2.0]));
        assert_eq!(parsed("<f8", "(2,)", &bytes([0.5f64, 2.0].map(f64::to_le_bytes))), Values::F64(vec![0.5, 2.0]));
        let huge = parsed("<u8", "(1,)", &u64::MAX.to_le_bytes());
        assert_eq!(huge, Values::U64(vec![u64::MAX]));
    }

    #[test]
    fn text_is_read_without_its_padding() {
        let texts = Values::Text(vec!["é".into(), "ab".into()]);
        let wide = ["é\0", "ab"].iter().flat_map(|t| t.chars()).map(|c| u32::from(c).to_be_bytes());
        assert_eq!(parsed(">U2", "(2,)", &bytes(wide)), texts);
        assert_eq!(parsed("|S2", "(2,)", "éab".as_bytes()), texts);
        assert_eq!(refusal(&written("|S2", false, "(1,)", &[0xe9, 0])), "a.npy: the text is not valid Unicode");
        assert_eq!(refusal(&written("<U1", false, "(1,)", &[0, 0xd8, 0, 0])), "a.npy: the text is not valid Unicode");
    }

    #[test]
    fn either_order_of_the_axes_gives_the_same_array() {
        let first_fastest = written("|u1", true, "(2, 3)", &[1, 4, 2, 5, 3, 6]);
        let expected = Array { shape: vec![2, 3], values: Values::I64(vec![1, 2, 3, 4, 5, 6]) };
        assert_eq!(parse(&first_fastest, "a.npy").unwrap(), expected);
        let cube = parse(&written("|u1", true, "(2, 2, 2)", &[0, 4, 2, 6, 1, 5, 3, 7]), "a.npy").unwrap();
        assert_eq!(cube.values, Values::I64((0..8).collect()));
        assert_eq!(parse(&written("|u1", true, "(0, 2)", &[]), "a.npy").unwrap().values, Values::I64(vec![]));
    }

    #[test]
    fn newer_headers_are_read() {
        for version in [1, 2, 3] {
            let bytes = with_header(version, "{'shape': (1L, 2L), 'fortran_order': False, 'descr': '|i1'}   \n", &[7, 8]);
            assert_eq!(parse(&bytes, "a.npy").unwrap(), Array { shape: vec![1, 2], values: Values::I64(vec![7, 8]) });
        }
        assert_eq!(parse(&written("|i1", false, "()", &[7]), "a.npy").unwrap().shape, [0usize; 0]);
    }

    #[test]
    fn what_cannot_be_read_is_rejected_with_an_error() {
        let cases: [(Vec<u8>, &str); 12] = [
            (b"1 1:2".to_vec(), "this is not a NumPy array"),
            (MAGIC.to_vec(), "the header is cut short"),
            ([MAGIC, &[1, 0, 9, 9]].concat(), "the header is cut short"),
            (with_header(4, "", &[]), "this array has format version 4, but versions 1 to 3 can be read"),
            (with_header(1, "{}", &[]), "the header is not one of a NumPy array"),
            (written("|O", false, "(1,)", &[]), "Python objects cannot be read; store plain numbers or text"),
            (written("<f2", false, "(1,)", &[]), "values of type \"<f2\" cannot be read; store integers, float32 or float64"),
            (written("<U0", false, "(9999999999,)", &[]), "values of type \"<U0\" cannot be read; store integers, float32 or float64"),
            (
                with_header(1, "{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (1,)}", &[]),
                "records with named fields cannot be read; store plain numbers",
            ),
            (written("<f8", false, "(2, 3)", &[0; 40]), "the header promises 48 bytes of values, but there are 40"),
            (written("|u1", false, "(2,)", &[0; 3]), "the header promises 2 bytes of values, but there are 3"),
            (
                written("<f8", false, "(9999999999999999, 9999)", &[0; 8]),
                "the header promises more bytes than any machine holds of values, but there are 8",
            ),
        ];
        for (bytes, expected) in cases {
            assert_eq!(refusal(&bytes), format!("a.npy: {expected}"));
        }
    }

    #[test]
    fn a_bare_array_is_points_and_its_last_column_the_target_where_one_is_wanted() {
        let bytes = written("<f4", false, "(2, 2)", &bytes([0.5f32, 3.0, 1.5, -1.0].map(f32::to_le_bytes)));
        let points = read(&bytes, "a.npy", &Reading::default()).unwrap();
        assert_eq!(points.dataset.points, Points::F32(Matrix::new(vec![0.5, 3.0, 1.5, -1.0], 2, 2).unwrap()));
        let labelled = read(&bytes, "a.npy", &Reading { wanted: Wanted::Classes, ..Reading::default() }).unwrap();
        assert_eq!(labelled.dataset.points, Points::F32(Matrix::column(vec![0.5, 1.5])));
        assert_eq!(labelled.dataset.classes().unwrap().labels[1].text(), "3");
        assert_eq!(labelled.notes, ["target: column 2"]);
        let model = Reading { dim: Some(2), wanted: Wanted::Values, ..Reading::default() };
        assert_eq!(read(&bytes, "a.npy", &model).unwrap().dataset.target, Target::None);
        let flat = read(&written("|u1", false, "(2,)", &[0, 1]), "a.npy", &model).unwrap_err().to_string();
        assert_eq!(flat, "a.npy: features need rows and columns, but this has the shape (2)");
    }
}
