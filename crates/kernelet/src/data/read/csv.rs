//! Tables of text: one row a line, fields between commas, semicolons or tabs, in quotes where needed.
//!
//! **Delimiter.** The first of tab, semicolon and comma that occurs equally often, and at all, in each of the first ten lines;
//! failing that, the most frequent in the first line.
//!
//! **Header.** The first row is a header when it holds all feature names of the model or the name of the target column; or
//! when it has a word where the second row has a number; or when all of its fields are words. A lone bad field in the first
//! row of a table of numbers is therefore taken for a header; a note says so when other fields of that row are numbers. A model
//! that was trained on a table has known columns: the first row is a header when a column of numbers has a word there.
use ::csv::ByteRecord;

use super::{
    Read, Reading,
    columns::{Chosen, choose, unnamed},
    csv_learn,
    records::{Kind, Table, begins_at, delimiter, fields, is_decimal_comma, kind},
    source,
    targets::Targets,
};
use crate::{
    Error, Result,
    data::{Cell, Column, Dataset, Encoder, Encoding, Tally, Target, table::quoted},
};

/// Reads a table of text. Where there is no model, columns that are not complete numbers are learned from.
pub(super) fn read(bytes: &[u8], origin: &str, how: &Reading) -> Result<Read> {
    let (bytes, place) = (source::unmarked(bytes), Place { origin, lines_before: 0, first: true, last: true });
    let mut layout = Layout::of(bytes, origin, how)?;
    let mut part = layout.rows(bytes, &place, how);
    if how.learns() && (part.is_err() || !layout.chosen.ignored.is_empty()) {
        let (encoding, notes) = csv_learn::learn(&layout, bytes, origin)?;
        if !encoding.is_plain() {
            layout.chosen.notes.extend(notes);
            layout.take_table(encoding);
            part = layout.rows(bytes, &place, how);
        }
    }
    let Part { mut read, tally, .. } = part?;
    read.notes = [layout.notes(), &layout.notes_on(&tally)].concat();
    Ok(read)
}

/// The layout of a table, inferred from its first rows.
pub(super) struct Layout {
    pub(super) delimiter: u8,
    pub(super) width: usize,
    pub(super) header: Option<Vec<String>>,
    pub(super) chosen: Chosen,
    table: Option<(Encoding, Encoder)>,
}

/// Where a part of a table stands in its file.
pub(super) struct Place<'a> {
    pub(super) origin: &'a str,
    pub(super) lines_before: usize,
    /// The part begins with the first line, and so with the header.
    pub(super) first: bool,
    /// The part ends with the last line; else its last row may be cut short and is left for the next part.
    pub(super) last: bool,
}

/// The rows of a part, how many of its bytes they took, and what they have that training rows do not have.
pub(super) struct Part {
    pub(super) read: Read,
    pub(super) used: usize,
    pub(super) tally: Tally,
}

impl Layout {
    /// True when the rows that determine the layout are complete: a third one has begun.
    pub(super) fn is_determined_by(bytes: &[u8]) -> bool {
        let mut table = Table::new(bytes, "", delimiter(bytes), 0);
        let mut record = ByteRecord::new();
        (0..3).all(|_| matches!(table.next(&mut record), Ok(true)))
    }

    /// The layout of the table that begins with these bytes.
    pub(super) fn of(bytes: &[u8], origin: &str, how: &Reading) -> Result<Layout> {
        let delimiter = delimiter(bytes);
        let mut table = Table::new(bytes, origin, delimiter, 0);
        let (mut first, mut second) = (ByteRecord::new(), ByteRecord::new());
        if !table.next(&mut first)? {
            return Err(Error::format(origin, None, None, "the file is empty"));
        }
        let second = table.next(&mut second)?.then_some(second);
        let header = match is_header(&first, second.as_ref(), how) {
            true => Some(table.names(&first)?),
            false => None,
        };
        let mut chosen = choose(origin, first.len(), header.as_deref(), how)?;
        if header.is_some() && first.iter().any(|field| kind(field) == Kind::Number) {
            chosen.notes.push("the first row is taken as a header, though it has numbers".into());
        }
        let mut layout = Layout { delimiter, width: first.len(), header, chosen, table: None };
        how.table.iter().for_each(|table| layout.take_table(table.clone()));
        Ok(layout)
    }

    fn take_table(&mut self, encoding: Encoding) {
        // A column that nobody has a value for is no feature.
        if encoding.used().count() < self.chosen.features.len() {
            let used = self.chosen.features.iter().filter(|&&j| encoding.used().any(|column| column.name() == self.name(j)));
            self.chosen.features = used.copied().collect();
        }
        let encoder = Encoder::new(&encoding);
        self.table = Some((encoding, encoder));
    }

    /// The name of a column; its number where there is no header.
    pub(super) fn name(&self, column: usize) -> String {
        self.header.as_ref().map_or_else(|| format!("column {}", column + 1), |header| header[column].clone())
    }

    /// Notes for the user about the choice of columns.
    pub(super) fn notes(&self) -> &[String] {
        &self.chosen.notes
    }

    /// Notes for the user about rows that were encoded.
    pub(super) fn notes_on(&self, tally: &Tally) -> Vec<String> {
        self.table.as_ref().map_or(vec![], |(_, encoder)| encoder.notes(tally))
    }

    /// The rows of a part of the table.
    pub(super) fn rows(&self, bytes: &[u8], place: &Place, how: &Reading) -> Result<Part> {
        let mut table = Table::new(bytes, place.origin, self.delimiter, place.lines_before);
        let (mut record, mut next) = (ByteRecord::new(), ByteRecord::new());
        if place.first && self.header.is_some() {
            table.next(&mut record)?;
        }
        let mut rows = Rows::new(self, how, bytes.len());
        let mut more = table.next(&mut record)?;
        let mut used = if place.last { bytes.len() } else { 0 };
        while more {
            more = table.next(&mut next)?;
            if !more && !place.last {
                used = begins_at(&record);
                break;
            }
            rows.push(&table, &record)?;
            std::mem::swap(&mut record, &mut next);
        }
        let Rows { values, len, targets, tally, .. } = rows;
        let target = if self.chosen.target.is_some() { targets.finish() } else { Target::None };
        let dataset = match &self.table {
            None => {
                let names = self.header.as_ref().map(|header| self.chosen.features.iter().map(|&j| header[j].clone()).collect());
                Dataset { names, ..Dataset::new(super::matrix(values, len, self.chosen.features.len())?, target) }
            }
            Some((encoding, encoder)) => {
                let points = super::matrix(values, len, encoder.n_features())?;
                Dataset { names: Some(encoding.feature_names()), table: Some(encoding.clone()), ..Dataset::new(points, target) }
            }
        };
        Ok(Part { read: Read { dataset, notes: vec![] }, used, tally })
    }

    /// What is wrong with a field that should be a number.
    pub(super) fn refuse(&self, table: &Table, record: &ByteRecord, column: usize) -> Error {
        let field = record[column].trim_ascii();
        let name = self.header.as_ref().map_or(String::new(), |header| format!(" of {:?}", header[column]));
        let reason = match kind(field) {
            Kind::Missing if field.is_empty() => format!("the value{name} is missing; fill it in or leave the row out"),
            Kind::Missing => format!("the value{name} is missing ({}); fill it in or leave the row out", String::from_utf8_lossy(field)),
            Kind::Number => format!("the value {}{name} is not a finite number", quoted(field)),
            _ if is_decimal_comma(field) => format!("the value {}{name} is not a number; write decimals with a point", quoted(field)),
            _ => format!("the value {}{name} is not a number", quoted(field)),
        };
        table.refuse(record, Some(column), reason)
    }

    /// The text of a field, which must be UTF-8.
    pub(super) fn text<'a>(&self, table: &Table, record: &'a ByteRecord, column: usize) -> Result<&'a str> {
        let name = self.name(column);
        std::str::from_utf8(&record[column])
            .map_err(|_| table.refuse(record, Some(column), format!("the text of {name:?} is not valid UTF-8")))
    }
}

/// The features and targets gathered so far.
struct Rows<'a> {
    values: Vec<f64>,
    targets: Targets,
    len: usize,
    tally: Tally,
    /// So many values may follow from the bytes of the table.
    most: u64,
    layout: &'a Layout,
}

impl<'a> Rows<'a> {
    fn new(layout: &'a Layout, how: &Reading, bytes: usize) -> Self {
        let most = source::unpacked_limit(bytes) / size_of::<f64>() as u64;
        Rows { values: vec![], targets: Targets::new(how.wanted), len: 0, tally: Tally::default(), most, layout }
    }

    fn push(&mut self, table: &Table, record: &ByteRecord) -> Result<()> {
        let (found, width) = (record.len(), self.layout.width);
        if found != width {
            return Err(table.refuse(record, None, format!("this row has {}, but the first row has {width}", fields(found))));
        }
        match &self.layout.table {
            Some((_, encoder)) => self.encode(encoder, table, record)?,
            None => {
                for &j in &self.layout.chosen.features {
                    match fast_float2::parse(record[j].trim_ascii()) {
                        Ok(value) if !f64::is_nan(value) => self.values.push(value),
                        _ => return Err(self.layout.refuse(table, record, j)),
                    }
                }
            }
        }
        if let Some(j) = self.layout.chosen.target {
            let field = record[j].trim_ascii();
            if kind(field) == Kind::Missing {
                return Err(self.layout.refuse(table, record, j));
            }
            self.targets.push(field).map_err(|reason| table.refuse(record, Some(j), reason))?;
        }
        self.len += 1;
        Ok(())
    }

    fn encode(&mut self, encoder: &Encoder, table: &Table, record: &ByteRecord) -> Result<()> {
        let begin = self.values.len();
        let end = begin + encoder.n_features();
        if end as u64 > self.most {
            let reason = "the indicators of its categories take too much memory; leave out columns of many categories with --ignore";
            return Err(table.refuse(record, None, reason));
        }
        self.values.resize(end, 0.0);
        for (place, &j) in self.layout.chosen.features.iter().enumerate() {
            let cell = Cell::Text(self.layout.text(table, record, j)?);
            let put = encoder.put(place, cell, &mut self.values[begin..], &mut self.tally);
            put.map_err(|_| self.layout.refuse(table, record, j))?;
        }
        Ok(())
    }
}

/// Whether the first row is a header; see the beginning of this file.
fn is_header(first: &ByteRecord, second: Option<&ByteRecord>, how: &Reading) -> bool {
    let is_called = |j: usize, field: &[u8], name: &str| field == name.as_bytes() || (field.is_empty() && unnamed(j) == name);
    let holds = |name: &str| first.iter().enumerate().any(|(j, field)| is_called(j, field.trim_ascii(), name));
    let is_word = |field: &[u8]| kind(field) == Kind::Word;
    if how.column_names().is_some_and(|names| names.into_iter().all(holds)) {
        return true;
    }
    if let Some(table) = &how.table {
        let is_number = |column: &&Column| matches!(column, Column::Number { .. });
        let placed = choose("", first.len(), None, how).map_or(vec![], |chosen| chosen.features);
        let words = table.used().zip(placed).filter(|(column, _)| is_number(column)).map(|(_, j)| is_word(&first[j]));
        let words: Vec<bool> = words.collect();
        if !words.is_empty() || !table.named {
            return words.contains(&true);
        }
    }
    let turns_to_number = |second: &ByteRecord| first.iter().zip(second).any(|(a, b)| is_word(a) && kind(b) == Kind::Number);
    how.target_column.as_ref().is_some_and(|name| is_word(name.as_bytes()) && holds(name))
        || second.is_some_and(turns_to_number)
        || first.iter().all(is_word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Label, read::Wanted};

    const CLASSES: Reading = Reading::CLASSES;

    fn table(text: &str, how: &Reading) -> Read {
        read(text.as_bytes(), "a.csv", how).unwrap()
    }

    fn refusal(text: &str, how: &Reading) -> String {
        read(text.as_bytes(), "a.csv", how).unwrap_err().to_string()
    }

    fn labels(dataset: &Dataset) -> Vec<&str> {
        let classes = dataset.classes().unwrap();
        classes.codes.iter().map(|&c| classes.labels[c as usize].text()).collect()
    }

    /// The only column of numbers has no name; the model knows it as column 2.
    #[test]
    fn a_header_whose_number_has_no_name_is_one_for_the_model_too() {
        for text in ["word,,kind\na,1,x\nb,2,y\nb,3.5,x\n", "word\t\tkind\na\t1\tx\n\"\"\t\"y\"\tz\nb\t3.5\tx\n"] {
            let first = table(text, &CLASSES).dataset;
            let how = Reading { table: first.table.clone(), names: first.names.clone(), dim: Some(first.dim()), ..CLASSES };
            assert_eq!(table(text, &how).dataset.points, first.points);
        }
    }

    fn names(names: &[&str]) -> Option<Vec<String>> {
        Some(names.iter().map(|name| name.to_string()).collect())
    }

    #[test]
    fn a_header_gives_the_names_and_the_last_column_is_the_target() {
        let found = table("\u{feff}a, b ,species\r\n1,2.5,\"setosa, big\"\r\n\r\n-3e1, 4 ,virginica\r\n", &CLASSES);
        assert_eq!(found.dataset.points.to_dense().values(), [1.0, 2.5, -30.0, 4.0]);
        assert_eq!(found.dataset.names, names(&["a", "b"]));
        assert_eq!(labels(&found.dataset), ["setosa, big", "virginica"]);
        assert_eq!(found.notes, ["target: column 3, \"species\""]);
    }

    #[test]
    fn headers_are_distinguished_from_data() {
        let cases = [
            ("a,b\n1,2\n", true),
            ("a,b\n", true),
            ("color,size,class\nred,big,x\n", true),
            (",a,t\n0,1,x\n", true),
            ("0,1,t\n5,6,1\n", true),
            ("1,2\n3,4\n", false),
            ("5.1,3.5,setosa\n4.9,3.0,setosa\n", false),
            ("5.1,3.5,setosa\n", false),
            ("NA,2\n3,4\n", false),
            ("1,inf,x\n2,3,y\n", false),
        ];
        for (text, expected) in cases {
            let layout = Layout::of(text.as_bytes(), "a.csv", &CLASSES).unwrap();
            assert_eq!(layout.header.is_some(), expected, "{text:?}");
        }
        let numbers = "0,1\n5,6\n";
        let named = Reading { names: names(&["1", "0"]), ..Reading::default() };
        assert_eq!(table(numbers, &named).dataset.points.to_dense().values(), [6.0, 5.0]);
        let mixed = table("0,1,t\n5,6,1\n", &CLASSES);
        assert_eq!(mixed.notes[1], "the first row is taken as a header, though it has numbers");
    }

    #[test]
    fn errors_name_the_line_the_column_and_the_name() {
        let cases = [
            ("", ": the file is empty"),
            ("\n\n", ": the file is empty"),
            ("a,b,c\n1,2,3\n\n\n1,2\n", ", line 5: this row has 2 fields, but the first row has 3"),
            ("a,b,c\n1,2,3\n7\n", ", line 3: this row has 1 field, but the first row has 3"),
            ("a;b\n1,5;2\n", ", line 2, column 1: the value \"1,5\" of \"a\" is not a number; write decimals with a point"),
            ("a,b\n1,x\n2,\n", ", line 3, column 2: the value of \"b\" is missing; fill it in or leave the row out"),
            ("a,b,c\nx,1,y\ny,2,\n", ", line 3, column 3: the value of \"c\" is missing; fill it in or leave the row out"),
            ("a,b,c\nx,1,y\ny,-inf,z\n", ", line 3, column 2: the value \"-inf\" of \"b\" is not a finite number"),
        ];
        for (text, expected) in cases {
            assert_eq!(refusal(text, &CLASSES), format!("a.csv{expected}"));
        }
        let of_a_model = [
            ("a,b\n1,x\nred,y\n", ", line 3, column 1: the value \"red\" of \"a\" is not a number"),
            ("1,2,x\n\"q\nq\",2,x\n", ", line 2, column 1: the value \"q\\nq\" is not a number"),
            ("a;b\n1,5;2\n", ", line 2, column 1: the value \"1,5\" of \"a\" is not a number; write decimals with a point"),
            ("a,b\n1,x\n\n,y\n", ", line 4, column 1: the value of \"a\" is missing; fill it in or leave the row out"),
            ("a,b\n1,x\n?,y\n", ", line 3, column 1: the value of \"a\" is missing (?); fill it in or leave the row out"),
            ("1,x\nNA,y\n", ", line 2, column 1: the value is missing (NA); fill it in or leave the row out"),
            ("1,x\nnan,y\n", ", line 2, column 1: the value is missing (nan); fill it in or leave the row out"),
        ];
        for (text, expected) in of_a_model {
            let dim = Some(text.lines().next().unwrap().matches([',', ';']).count());
            assert_eq!(refusal(text, &Reading { dim, ..CLASSES }), format!("a.csv{expected}"));
        }
        let values = Reading { wanted: Wanted::Values, ..CLASSES };
        assert_eq!(refusal("a,b\n1,2\n3,x\n", &values), "a.csv, line 3, column 2: the target \"x\" is not a number");
        let latin = |bytes: &[u8]| read(bytes, "a.csv", &CLASSES).unwrap_err().to_string();
        assert_eq!(latin(b"a,b\n1,\xe9\n"), "a.csv, line 2, column 2: the label is not valid UTF-8");
        assert_eq!(latin(b"a,\xe9\n1,2\n"), "a.csv, line 1, column 2: the name of the column is not valid UTF-8");
    }

    #[test]
    fn a_model_finds_its_columns_by_name() {
        let how = Reading { names: names(&["a", "b"]), ..CLASSES };
        let found = table("b,species,a\n1,x,2\n3,y,4\n", &how).dataset;
        assert_eq!(found.points.to_dense().values(), [2.0, 1.0, 4.0, 3.0]);
        assert_eq!((labels(&found), &found.names), (vec!["x", "y"], &how.names));
        let unlabelled = table("b,a\n1,2\n", &how).dataset;
        assert_eq!(unlabelled.target, Target::None);
        let expected = "a.csv: there is no column \"a\", which the model needs; the columns are b, c";
        assert_eq!(refusal("b,c\n1,2\n", &how), expected);
    }

    #[test]
    fn without_a_header_a_model_counts_columns() {
        let how = Reading { dim: Some(2), ..CLASSES };
        assert_eq!(table("1,2\n3,4\n", &how).dataset.target, Target::None);
        let labelled = table("1,2,x\n3,4,y\n", &how).dataset;
        assert_eq!((labels(&labelled), labelled.dim()), (vec!["x", "y"], 2));
        let expected = "a.csv: the model has 2 features: expected 2 columns, or one more for the target, found 4";
        assert_eq!(refusal("1,2,3,4\n", &how), expected);
    }

    #[test]
    fn the_target_column_is_found_by_name_or_number() {
        let named = Reading { target_column: Some("0".into()), ..CLASSES };
        assert_eq!(labels(&table("0,a\nx,1\n", &named).dataset), ["x"]);
        let values = Reading { wanted: Wanted::Values, target_column: Some("1".into()), ..CLASSES };
        let dataset = table("7,1\n8,2\n", &values).dataset;
        assert_eq!(dataset.values().unwrap().values(), [7.0, 8.0]);
        assert_eq!(dataset.points.to_dense().values(), [1.0, 2.0]);
        assert_eq!(dataset.names, None);
    }

    #[test]
    fn labels_print_as_they_came() {
        let dataset = table("1,+1\n2,-1\n3,1.0\n", &CLASSES).dataset;
        let texts: Vec<&str> = dataset.classes().unwrap().labels.iter().map(Label::text).collect();
        assert_eq!(texts, ["-1", "+1"]);
    }
}
