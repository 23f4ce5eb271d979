//! The fast reader of LIBSVM text against one that splits lines and parses words: what the slow one accepts has the same numbers, and what it
//! does not accept the fast one does not either.
#![no_main]
use kernelet::data::read::{Format, Reading, Wanted, read_bytes};

/// The values of each row by index, from 1; none where the text is not LIBSVM text of numbers.
fn naive(text: &str) -> Option<Vec<Vec<(u32, f64)>>> {
    let mut rows = vec![];
    for line in text.lines() {
        let line = line.split('#').next()?.trim();
        if line.is_empty() {
            continue;
        }
        let mut words = line.split_ascii_whitespace();
        words.next()?.parse::<f64>().ok().filter(|value| value.is_finite())?;
        let mut row: Vec<(u32, f64)> = vec![];
        for word in words {
            let (index, value) = word.split_once(':')?;
            let (index, value): (u32, f64) = (index.parse().ok()?, value.parse().ok()?);
            if index == 0 || index == u32::MAX || !value.is_finite() || row.last().is_some_and(|(last, _)| *last >= index) {
                return None;
            }
            row.push((index, value));
        }
        rows.push(row);
    }
    (!rows.is_empty()).then_some(rows)
}

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    // Only plain text: other characters that split lines or words are another question.
    if !text.bytes().all(|byte| byte == b'\n' || (b' '..=b'~').contains(&byte)) {
        return;
    }
    let how = Reading { format: Some(Format::Libsvm), wanted: Wanted::Values, ..Reading::default() };
    let (slow, fast) = (naive(text), read_bytes(bytes, "fuzz", &how));
    let Some(rows) = slow else { return };
    let read = match fast {
        Ok(read) => read,
        Err(error) => panic!("the fast reader refuses what is right: {error}"),
    };
    let points = &read.dataset.points;
    assert_eq!(points.len(), rows.len());
    let width = rows.iter().flatten().map(|(index, _)| *index).max().unwrap_or(0) as usize;
    if width > 4096 {
        return;
    }
    let dense = points.to_dense();
    for (i, row) in rows.iter().enumerate() {
        let mut want = vec![0.0; dense.cols()];
        row.iter().for_each(|(index, value)| want[*index as usize - 1] = *value);
        assert!(dense.row(i).iter().zip(&want).all(|(a, b)| a.to_bits() == b.to_bits() || a == b), "{i}: {:?} {want:?}", dense.row(i));
    }
});
