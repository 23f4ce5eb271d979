//! The fast readers of LIBSVM text, tables of numbers and npy arrays against slow ones that split lines and parse words: what a slow one accepts, the fast
//! one reads with the same numbers. The first byte says which reader is asked.
#![no_main]
use kernelet::data::{
    Dataset,
    read::{Format, Reading, Wanted, read_bytes},
};

/// The most columns that are compared; a sparse row may have more.
const WIDEST: usize = 4096;

/// The values of each row by column, from 0; None where the text is not plain LIBSVM text of numbers.
fn libsvm(text: &str) -> Option<Vec<Vec<(usize, f64)>>> {
    let mut rows = vec![];
    for line in text.lines() {
        let line = line.split('#').next()?.trim();
        if line.is_empty() {
            continue;
        }
        let mut words = line.split_ascii_whitespace();
        words.next()?.parse::<f64>().ok().filter(|value| value.is_finite())?;
        let mut row: Vec<(usize, f64)> = vec![];
        for word in words {
            let (index, value) = word.split_once(':')?;
            // An index has no sign.
            let plain = !index.is_empty() && index.bytes().all(|byte| byte.is_ascii_digit());
            let (index, value): (u32, f64) = (index.parse().ok().filter(|_| plain)?, value.parse().ok()?);
            let column = (index as usize).checked_sub(1)?;
            if index == u32::MAX || !value.is_finite() || row.last().is_some_and(|(last, _)| *last >= column) {
                return None;
            }
            row.push((column, value));
        }
        rows.push(row);
    }
    (!rows.is_empty()).then_some(rows)
}

/// The same of a table between commas with two or more columns of plain numbers, the last of which is the target.
fn table(text: &str) -> Option<Vec<Vec<(usize, f64)>>> {
    let mut rows: Vec<Vec<(usize, f64)>> = vec![];
    for line in text.lines().filter(|line| !line.is_empty()) {
        let plain = |field: &str| !field.is_empty() && field.bytes().all(|byte| byte.is_ascii_digit() || b".-".contains(&byte));
        let number = |field: &str| field.parse::<f64>().ok().filter(|value| plain(field) && value.is_finite());
        let numbers: Vec<f64> = line.split(',').map(number).collect::<Option<_>>()?;
        let (_, features) = numbers.split_last()?;
        if features.is_empty() || rows.first().is_some_and(|row| row.len() != features.len()) {
            return None;
        }
        rows.push(features.iter().copied().enumerate().collect());
    }
    (!rows.is_empty()).then_some(rows)
}

/// The same of an npy array of doubles, row by row.
fn npy(bytes: &[u8]) -> Option<Vec<Vec<(usize, f64)>>> {
    let rest = bytes.strip_prefix(b"\x93NUMPY\x01\x00")?;
    let (length, rest) = rest.split_first_chunk::<2>()?;
    let (header, values) = rest.split_at_checked(u16::from_le_bytes(*length).into())?;
    let shape = std::str::from_utf8(header).ok()?.strip_prefix("{'descr': '<f8', 'fortran_order': False, 'shape': (")?;
    let (rows, rest) = shape.split_once(", ")?;
    let (columns, rest) = rest.split_once("), }")?;
    let (rows, columns): (usize, usize) = (rows.parse().ok()?, columns.parse().ok()?);
    let plain = rest.bytes().all(|byte| byte == b' ' || byte == b'\n') && (1..100).contains(&rows) && (1..100).contains(&columns);
    if !plain || values.len() != 8 * rows * columns {
        return None;
    }
    let values: Vec<f64> = values.as_chunks::<8>().0.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect();
    let finite = values.iter().all(|value| value.is_finite());
    finite.then(|| values.chunks(columns).map(|row| row.iter().copied().enumerate().collect()).collect())
}

fn fast(bytes: &[u8], format: Format, wanted: Wanted) -> Dataset {
    match read_bytes(bytes, "fuzz", &Reading { format: Some(format), wanted, ..Reading::default() }) {
        Ok(read) => read.dataset,
        Err(error) => panic!("the fast reader refuses what is right: {error}"),
    }
}

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Some((which, bytes)) = bytes.split_first() else { return };
    // Only plain text: other characters that split lines or words are another question.
    let plain = |byte: &u8| *byte == b'\n' || (b' '..=b'~').contains(byte);
    let text = std::str::from_utf8(bytes).ok().filter(|_| bytes.iter().all(plain));
    let (slow, format, wanted) = match which % 3 {
        0 => (text.and_then(libsvm), Format::Libsvm, Wanted::Values),
        1 => (text.and_then(table), Format::Csv, Wanted::Values),
        _ => (npy(bytes), Format::Npy, Wanted::Nothing),
    };
    let Some(rows) = slow else { return };
    if rows.iter().flatten().any(|(column, _)| *column >= WIDEST) {
        return;
    }
    let points = fast(bytes, format, wanted).points;
    assert_eq!(points.len(), rows.len());
    let dense = points.to_dense();
    for (i, row) in rows.iter().enumerate() {
        let mut want = vec![0.0; dense.cols()];
        row.iter().for_each(|(column, value)| want[*column] = *value);
        assert!(dense.row(i).iter().zip(&want).all(|(a, b)| a.to_bits() == b.to_bits() || a == b), "{i}: {:?} {want:?}", dense.row(i));
    }
});
