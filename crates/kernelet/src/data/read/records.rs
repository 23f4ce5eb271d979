//! The records of a table of text, and what its fields look like.
use ::csv::{ByteRecord, ReaderBuilder};

use super::columns::checked_header;
use crate::{Error, Result, data::table::is_missing};

/// The records of a table of text.
pub(super) struct Table<'a> {
    bytes: &'a [u8],
    origin: &'a str,
    reader: ::csv::Reader<&'a [u8]>,
    lines_before: usize,
}

impl<'a> Table<'a> {
    pub(super) fn new(bytes: &'a [u8], origin: &'a str, delimiter: u8, lines_before: usize) -> Self {
        let reader = ReaderBuilder::new().has_headers(false).flexible(true).delimiter(delimiter).from_reader(bytes);
        Table { bytes, origin, reader, lines_before }
    }

    /// Fills in the next record; false at the end.
    pub(super) fn next(&mut self, record: &mut ByteRecord) -> Result<bool> {
        self.reader.read_byte_record(record).map_err(|error| Error::format(self.origin, None, None, error.to_string()))
    }

    pub(super) fn names(&self, record: &ByteRecord) -> Result<Vec<String>> {
        let mut names = Vec::with_capacity(record.len());
        for (j, field) in record.iter().enumerate() {
            match std::str::from_utf8(field.trim_ascii()) {
                Ok(name) => names.push(name.to_string()),
                Err(_) => return Err(self.refuse(record, Some(j), "the name of the column is not valid UTF-8")),
            }
        }
        checked_header(self.origin, Some(self.line(record)), names)
    }

    pub(super) fn refuse(&self, record: &ByteRecord, column: Option<usize>, reason: impl Into<String>) -> Error {
        Error::format(self.origin, Some(self.line(record)), column.map(|j| j + 1), reason)
    }

    /// The line on which the record begins, from 1. The reader notes its place before it skips blank lines.
    pub(super) fn line(&self, record: &ByteRecord) -> usize {
        let noted = begins_at(record);
        let blank = self.bytes[noted..].iter().take_while(|b| matches!(b, b'\r' | b'\n')).count();
        1 + self.lines_before + self.bytes[..noted + blank].iter().filter(|&&b| b == b'\n').count()
    }
}

pub(super) fn fields(count: usize) -> String {
    if count == 1 { "1 field".into() } else { format!("{count} fields") }
}

/// What a field looks like.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind {
    Number,
    Missing,
    Word,
}

/// What a field looks like by itself.
pub(super) fn kind(field: &[u8]) -> Kind {
    let field = field.trim_ascii();
    match is_missing(field) {
        true => Kind::Missing,
        false if fast_float2::parse::<f64, _>(field).is_ok() => Kind::Number,
        false => Kind::Word,
    }
}

/// A number that has a comma for its point.
pub(super) fn is_decimal_comma(field: &[u8]) -> bool {
    let with_point: Vec<u8> = field.iter().map(|&b| if b == b',' { b'.' } else { b }).collect();
    kind(&with_point) == Kind::Number
}

/// The delimiter of the table that begins with these bytes.
pub(super) fn delimiter(bytes: &[u8]) -> u8 {
    const CANDIDATES: [u8; 3] = [b'\t', b';', b','];
    let lines = delimiter_counts(bytes, &CANDIDATES);
    let first = lines.first().copied().unwrap_or_default();
    let steady = (0..3).find(|&c| first[c] > 0 && lines.iter().all(|line| line[c] == first[c]));
    let frequent = (0..3).max_by_key(|&c| first[c]).unwrap_or(2);
    CANDIDATES[steady.unwrap_or(frequent)]
}

/// How often each candidate stands outside quotes in each of the first ten lines that are not blank.
fn delimiter_counts(bytes: &[u8], candidates: &[u8; 3]) -> Vec<[usize; 3]> {
    const LINES: usize = 10;
    let (mut lines, mut line, mut blank, mut in_quotes) = (vec![], [0; 3], true, false);
    for &byte in bytes.iter().chain(b"\n") {
        if byte == b'\n' && !in_quotes {
            if !blank {
                lines.push(line);
            }
            if lines.len() == LINES {
                break;
            }
            (line, blank) = ([0; 3], true);
            continue;
        }
        in_quotes ^= byte == b'"';
        blank &= byte == b'\r';
        if let Some(c) = candidates.iter().position(|&c| c == byte && !in_quotes) {
            line[c] += 1;
        }
    }
    lines
}

/// Where a record begins in its bytes.
pub(super) fn begins_at(record: &ByteRecord) -> usize {
    record.position().map_or(0, |position| position.byte() as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_delimiter_is_found() {
        let cases: [(&str, u8); 8] = [
            ("a,b\n1,2", b','),
            ("a;b\n1,5;2,5", b';'),
            ("a\tb\n1\t2", b'\t'),
            ("\"x;y\",b\n1,2", b','),
            ("a;b,c\n1,2", b','),
            ("a, b; c, d\n1,2,3", b','),
            ("a\n1", b','),
            ("", b','),
        ];
        for (text, expected) in cases {
            assert_eq!(delimiter(text.as_bytes()), expected, "{text:?}");
        }
    }
}
