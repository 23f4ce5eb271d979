//! LIBSVM text: a line is a label and `index:value` pairs, indices from 1 and ascending. What is not named is zero.
//!
//! `#` begins a comment, blank lines are skipped and `qid:` tokens ignored. Large input is scanned in chunks of whole lines,
//! which are the same for any number of threads and joined in order, so the first bad line of the file is the one reported.
use crate::parallel::*;

use super::{Read, Reading, Wanted, number::number, source, targets::Targets};
use crate::{
    Error, Result,
    data::{Csr, Dataset, Points, Target, table::quoted},
};

/// The largest index.
const LARGEST: u64 = u32::MAX as u64 - 1;

/// Bytes of a chunk, up to the end of its last line.
const CHUNK: usize = 1 << 21;

/// Bytes of a feature with its blank, for a first guess at their number.
const USUAL_FEATURE: usize = 12;

/// Reads LIBSVM text.
pub(super) fn read(bytes: &[u8], origin: &str, how: &Reading) -> Result<Read> {
    read_lines(source::unmarked(bytes), origin, 0, how)
}

/// Reads whole lines from the middle of a file, `lines_before` of which went before.
pub(super) fn read_lines(bytes: &[u8], origin: &str, lines_before: usize, how: &Reading) -> Result<Read> {
    let alone = current_num_threads() == 1;
    read_in_chunks(bytes, origin, lines_before, how, if alone { bytes.len() } else { CHUNK })
}

fn read_in_chunks(bytes: &[u8], origin: &str, lines_before: usize, how: &Reading, size: usize) -> Result<Read> {
    let chunks = whole_lines(bytes, size);
    let parts: Vec<Part> = match chunks[..] {
        [only] => vec![scan(only, how.wanted)],
        _ => chunks.par_iter().map(|chunk| scan(chunk, how.wanted)).collect(),
    };
    let all = join(parts, how.wanted);
    if let Some(fault) = all.fault {
        return Err(fault.error(origin, lines_before));
    }
    let target = match all.unlabelled {
        Some(_) if how.expected_dim().is_some() && !all.labelled => Target::None,
        Some(place) if how.wanted != Wanted::Nothing => {
            return Err(Fault { reason: "no label; the line begins with a feature".into(), ..place }.error(origin, lines_before));
        }
        _ => all.targets.finish(),
    };
    let rows = Csr::new(all.starts, all.columns, all.values, all.width as usize)?;
    let (points, notes) = stored(rows, how.expected_dim());
    Ok(Read { dataset: Dataset::new(points, target), notes })
}

/// The rows in the storage that suits them, and what to say about it. Rows wider than a model stay sparse: only sparse
/// points may have more columns than a model.
fn stored(rows: Csr, expected: Option<usize>) -> (Points, Vec<String>) {
    if let Some(dim) = expected.filter(|&dim| rows.dim() > dim) {
        let note = format!("the rows have features up to {}, the model has {dim}; its vectors are zero in the others", rows.dim());
        return (rows.into(), vec![note]);
    }
    let rows = rows.widened(expected.unwrap_or(0));
    (Points::from(rows).densified_if_dense(), vec![])
}

/// What is wrong, and where: line and column from 1.
#[derive(Debug, Default, Clone)]
struct Fault {
    line: usize,
    column: usize,
    reason: String,
}

impl Fault {
    fn error(self, origin: &str, lines_before: usize) -> Error {
        Error::format(origin, Some(lines_before + self.line), Some(self.column), self.reason)
    }
}

/// Consecutive lines, read.
#[derive(Debug, Default)]
struct Part {
    starts: Vec<usize>,
    columns: Vec<u32>,
    values: Vec<f64>,
    targets: Targets,
    /// The largest index.
    width: u32,
    lines: usize,
    labelled: bool,
    /// The first row without a label.
    unlabelled: Option<Fault>,
    fault: Option<Fault>,
}

/// Cuts text after the first line end beyond every `size` bytes.
fn whole_lines(mut bytes: &[u8], size: usize) -> Vec<&[u8]> {
    let mut chunks = vec![];
    while bytes.len() > size {
        let Some(end) = bytes[size..].iter().position(|&b| b == b'\n') else { break };
        let (chunk, rest) = bytes.split_at(size + end + 1);
        chunks.push(chunk);
        bytes = rest;
    }
    chunks.push(bytes);
    chunks
}

/// The parts one after the other. Nothing after a fault counts.
fn join(parts: Vec<Part>, wanted: Wanted) -> Part {
    let mut parts = parts.into_iter();
    let mut all = parts.next().unwrap_or_else(|| scan(b"", wanted));
    let stored: usize = parts.as_slice().iter().map(|part| part.values.len()).sum();
    all.columns.reserve_exact(stored);
    all.values.reserve_exact(stored);
    for part in parts {
        if all.fault.is_some() {
            break;
        }
        let (before, lines) = (all.values.len(), all.lines);
        let moved = |fault: Fault| Fault { line: fault.line + lines, ..fault };
        all.starts.extend(part.starts[1..].iter().map(|start| start + before));
        all.columns.extend(part.columns);
        all.values.extend(part.values);
        all.targets.append(part.targets);
        all.width = all.width.max(part.width);
        all.lines += part.lines;
        all.labelled |= part.labelled;
        all.unlabelled = all.unlabelled.or(part.unlabelled.map(moved));
        all.fault = part.fault.map(moved);
    }
    all
}

/// Reads lines up to the first bad one.
fn scan(bytes: &[u8], wanted: Wanted) -> Part {
    let guess = bytes.len() / USUAL_FEATURE;
    let (columns, values) = (Vec::with_capacity(guess), Vec::with_capacity(guess));
    let mut part = Part { starts: vec![0], columns, values, targets: Targets::new(wanted), ..Part::default() };
    let mut at = 0;
    while at < bytes.len() {
        part.lines += 1;
        match part.line(bytes, at) {
            Ok(next) => at = next,
            Err((place, reason)) => {
                part.fault = Some(Fault { line: part.lines, column: place - at + 1, reason });
                break;
            }
        }
    }
    part
}

/// A place in the bytes, and what is wrong there.
type Wrong = (usize, String);

impl Part {
    /// Takes in the line that begins at `start`; returns where the next one begins.
    fn line(&mut self, bytes: &[u8], start: usize) -> std::result::Result<usize, Wrong> {
        let mut at = after_blanks(bytes, start);
        if ends_line(bytes, at) {
            return Ok(next_line(bytes, at));
        }
        let token = token(bytes, at);
        if token.contains(&b':') {
            self.unlabelled.get_or_insert(Fault { line: self.lines, column: at - start + 1, reason: String::new() });
        } else {
            self.labelled = true;
            self.targets.push(token).map_err(|reason| (at, reason))?;
            at += token.len();
        }
        let mut last = 0;
        loop {
            at = after_blanks(bytes, at);
            if ends_line(bytes, at) {
                break;
            }
            match feature(bytes, at, last)? {
                (None, next) => at = next,
                (Some((index, value)), next) => {
                    if value != 0.0 {
                        self.columns.push(index - 1);
                        self.values.push(value);
                    }
                    (last, at) = (index, next);
                }
            }
        }
        self.width = self.width.max(last);
        self.starts.push(self.values.len());
        Ok(next_line(bytes, at))
    }
}

/// The `index:value` at `at`, whose index must be above `last`, and where it ends; nothing for a `qid:` token.
#[inline]
fn feature(bytes: &[u8], at: usize, last: u32) -> std::result::Result<(Option<(u32, f64)>, usize), Wrong> {
    let (mut index, mut colon) = (0u64, at);
    while let Some(digit) = bytes.get(colon).map(|b| b.wrapping_sub(b'0')).filter(|&d| d < 10) {
        index = (10 * index + u64::from(digit)).min(LARGEST + 1);
        colon += 1;
    }
    if colon == at || bytes.get(colon) != Some(&b':') {
        if bytes[at..].starts_with(b"qid:") {
            return Ok((None, at + token(bytes, at).len()));
        }
        return Err((at, format!("{} is not a feature; features are written index:value", quoted(token(bytes, at)))));
    }
    if index <= u64::from(last) || index > LARGEST {
        return Err((at, bad_index(&bytes[at..colon], index, last)));
    }
    let text = &bytes[colon + 1..];
    let (value, len) = number(text);
    if len == 0 || !text.get(len).is_none_or(|b| is_blank(*b) || matches!(b, b'\n' | b'#')) {
        let reason = match token(bytes, colon + 1) {
            b"" => format!("feature {index} has no value"),
            text => format!("the value {} of feature {index} is not a number", quoted(text)),
        };
        return Err((colon + 1, reason));
    }
    Ok((Some((index as u32, value)), colon + 1 + len))
}

#[cold]
fn bad_index(text: &[u8], index: u64, last: u32) -> String {
    match index {
        0 => "the index 0 is not allowed; indices count from 1".into(),
        _ if index > LARGEST => format!("the index {} is above the largest allowed, {LARGEST}", quoted(text).trim_matches('"')),
        _ if index == u64::from(last) => format!("the index {index} is there twice; indices must ascend"),
        _ => format!("the index {index} comes after {last}; indices must ascend"),
    }
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r')
}

#[inline]
fn after_blanks(bytes: &[u8], mut at: usize) -> usize {
    while bytes.get(at).is_some_and(|b| is_blank(*b)) {
        at += 1;
    }
    at
}

/// True at a line end, a comment or the end of the text.
#[inline]
fn ends_line(bytes: &[u8], at: usize) -> bool {
    bytes.get(at).is_none_or(|b| matches!(b, b'\n' | b'#'))
}

fn next_line(bytes: &[u8], at: usize) -> usize {
    bytes[at..].iter().position(|&b| b == b'\n').map_or(bytes.len(), |end| at + end + 1)
}

fn token(bytes: &[u8], at: usize) -> &[u8] {
    let rest = &bytes[at..];
    let end = rest.iter().position(|&b| is_blank(b) || matches!(b, b'\n' | b'#'));
    &rest[..end.unwrap_or(rest.len())]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::data::Label;

    fn how(wanted: Wanted) -> Reading {
        Reading { wanted, ..Reading::default() }
    }

    fn classes(text: &str) -> Dataset {
        read(text.as_bytes(), "a.svm", &how(Wanted::Classes)).unwrap().dataset
    }

    fn refusal(text: &str, wanted: Wanted) -> String {
        read(text.as_bytes(), "a.svm", &how(wanted)).unwrap_err().to_string()
    }

    #[test]
    fn comments_blank_lines_tabs_and_query_numbers_are_passed_over() {
        let text = "\u{feff}# head\r\n\r\n+1 qid:3 1:0.5\t3:-2e1 # note\r\n \t \n-1 2:1#x\n+1";
        let dataset = classes(text);
        assert_eq!(dataset.points.to_dense().values(), [0.5, 0.0, -20.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0]);
        let classes = dataset.classes().unwrap();
        assert_eq!(classes.labels.iter().map(Label::text).collect::<Vec<_>>(), ["-1", "+1"]);
        assert_eq!(classes.codes, [1, 0, 1]);
    }

    #[test]
    fn errors_name_the_line_and_the_column() {
        let cases = [
            ("1 0:1", "line 1, column 3: the index 0 is not allowed; indices count from 1"),
            ("1 1:1\n\n1 3:1 2:1", "line 3, column 7: the index 2 comes after 3; indices must ascend"),
            ("# x\n1 3:1 3:1", "line 2, column 7: the index 3 is there twice; indices must ascend"),
            ("1 4294967295:1", "line 1, column 3: the index 4294967295 is above the largest allowed, 4294967294"),
            ("1 99999999999999999999999:1", "line 1, column 3: the index 99999999999999999999999 is above the largest allowed, 4294967294"),
            ("1 1:1 x", "line 1, column 7: \"x\" is not a feature; features are written index:value"),
            ("1 -1:1", "line 1, column 3: \"-1:1\" is not a feature; features are written index:value"),
            ("1 7", "line 1, column 3: \"7\" is not a feature; features are written index:value"),
            ("1 7: 2", "line 1, column 5: feature 7 has no value"),
            ("1 7:2x", "line 1, column 5: the value \"2x\" of feature 7 is not a number"),
            ("1 7:abc", "line 1, column 5: the value \"abc\" of feature 7 is not a number"),
            ("1 1:1\n 1:1", "line 2, column 2: no label; the line begins with a feature"),
        ];
        for (text, expected) in cases {
            assert_eq!(refusal(text, Wanted::Classes), format!("a.svm, {expected}"));
        }
        assert_eq!(refusal("1\nx 1:1", Wanted::Values), "a.svm, line 2, column 1: the target \"x\" is not a number");
        assert_eq!(refusal("1,2 1:1", Wanted::Values), "a.svm, line 1, column 1: the target \"1,2\" is not a number");
        let latin = read(b"1\n\xe9t\xe9 1:1", "a.svm", &how(Wanted::Classes)).unwrap_err().to_string();
        assert_eq!(latin, "a.svm, line 2, column 1: the label is not valid UTF-8");
    }

    #[test]
    fn a_list_of_labels_is_one_label() {
        assert_eq!(classes("1,2 1:1\n2 1:1").classes().unwrap().labels[0].text(), "1,2");
    }

    #[test]
    fn numbers_are_targets_and_need_not_be_finite_here() {
        let dataset = read(b"1.5 1:nan\n-2e3 1:inf", "a.svm", &how(Wanted::Values)).unwrap().dataset;
        assert_eq!(dataset.values().unwrap().values(), [1.5, -2000.0]);
        assert!(dataset.check().unwrap_err().to_string().starts_with("a value in row 1, column 1 is NaN"));
    }

    #[test]
    fn labels_may_be_absent_where_none_are_wanted_or_a_model_is_there() {
        let dataset = read(b"1:1 2:2\n7 1:3", "a.svm", &how(Wanted::Nothing)).unwrap().dataset;
        assert_eq!((dataset.len(), &dataset.target), (2, &Target::None));
        let predicting = Reading { dim: Some(2), ..how(Wanted::Classes) };
        assert_eq!(read(b"1:1\n1:2", "a.svm", &predicting).unwrap().dataset.target, Target::None);
        let mixed = read(b"1 1:1\n1:2", "a.svm", &predicting).unwrap_err().to_string();
        assert_eq!(mixed, "a.svm, line 2, column 1: no label; the line begins with a feature");
    }

    #[test]
    fn rows_are_padded_to_the_model_and_wider_ones_stay_sparse() {
        let predicting = Reading { dim: Some(3), ..Reading::default() };
        let short = read(b"1:1 2:2", "a.svm", &predicting).unwrap();
        assert_eq!(short.dataset.points, Points::F64(crate::linalg::Matrix::new(vec![1.0, 2.0, 0.0], 1, 3).unwrap()));
        assert!(short.notes.is_empty());
        let wide = read(b"1:1 2:2 3:3 4:4 5:5", "a.svm", &predicting).unwrap();
        assert!(wide.dataset.points.is_sparse() && wide.dataset.dim() == 5);
        assert_eq!(wide.notes, ["the rows have features up to 5, the model has 3; its vectors are zero in the others"]);
    }

    #[test]
    fn few_values_stay_sparse_whatever_the_largest_index() {
        let dataset = classes("1 1:1 4294967294:2\n2 3:0");
        assert!(dataset.points.is_sparse());
        assert_eq!(dataset.dim(), 4_294_967_294);
    }

    /// Slow and obvious: every line by `split` and `parse`.
    fn naive(text: &str) -> Vec<(String, Vec<(usize, f64)>)> {
        let pair = |token: &str| token.split_once(':').map(|(i, v)| (i.parse().unwrap(), v.parse().unwrap())).unwrap();
        let lines = text.lines().map(str::split_whitespace);
        lines.map(|mut tokens| (tokens.next().unwrap().to_string(), tokens.map(pair).collect())).collect()
    }

    fn lines() -> impl Strategy<Value = String> {
        let number = prop_oneof![any::<f64>().prop_filter("finite", |v| v.is_finite()), (-999i32..999).prop_map(f64::from)];
        let features = proptest::collection::btree_map(1usize..40, number, 0..8);
        proptest::collection::vec(("[+-]?[0-9]", features), 0..30).prop_map(|rows| {
            let write = |(label, features): (String, std::collections::BTreeMap<usize, f64>)| {
                features.iter().fold(label, |line, (i, v)| format!("{line} {i}:{v}")) + "\n"
            };
            rows.into_iter().map(write).collect()
        })
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_as_by_the_naive_reader(text in lines(), size in 1usize..200) {
            let dataset = read_in_chunks(text.as_bytes(), "a.svm", 0, &how(Wanted::Classes), size).unwrap().dataset;
            let rows = naive(&text);
            prop_assert_eq!(dataset.len(), rows.len());
            let labels: Vec<&String> = rows.iter().map(|row| &row.0).collect();
            prop_assert_eq!(&dataset.target, &Target::Classes(crate::data::Classes::from_texts(&labels)));
            let dense = dataset.points.to_dense();
            for (i, (_, features)) in rows.iter().enumerate() {
                let mut expected = vec![0.0; dataset.dim()];
                features.iter().for_each(|&(index, value)| expected[index - 1] = value);
                prop_assert_eq!(dense.row(i), &expected[..]);
            }
        }

        #[test]
        fn chunks_change_neither_the_rows_nor_the_error(text in "([+-]?[0-9]?( [1-9]:[0-9])?( [2x]:1)?( ?#a)?\r?\n){0,20}", size in 1usize..50) {
            let whole = read(text.as_bytes(), "a.svm", &how(Wanted::Classes)).map_err(|e| e.to_string());
            let cut = read_in_chunks(text.as_bytes(), "a.svm", 0, &how(Wanted::Classes), size).map_err(|e| e.to_string());
            prop_assert_eq!(whole, cut);
        }
    }
}
