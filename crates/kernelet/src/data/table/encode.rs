//! Rows of a table as features, by what was learned from the training rows.
use std::{borrow::Cow, collections::HashMap};

use super::{Column, Encoding, MISSING, is_missing};
use crate::text::{counted, exact};

/// The value of a column in a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cell<'a> {
    /// None is known.
    Missing,
    /// A number; NaN is a missing one.
    Number(f64),
    /// Text, which may spell a number or stand for a missing value. Spaces around it do not count.
    Text(&'a str),
}

/// A value that may be missing.
pub(super) enum Value<T> {
    Missing,
    Known(T),
}

impl<'a> Cell<'a> {
    /// True for text that is neither a number nor missing.
    pub(super) fn is_word(self) -> bool {
        matches!(self, Cell::Text(text) if fast_float2::parse::<f64, _>(text.trim_ascii()).is_err() && !is_missing(text.trim_ascii().as_bytes()))
    }

    /// The value in a column of numbers, or what is wrong with it.
    pub(super) fn number(self) -> Result<Value<f64>, String> {
        let value = match self {
            Cell::Missing => return Ok(Value::Missing),
            Cell::Number(value) if value.is_nan() => return Ok(Value::Missing),
            Cell::Number(value) => value,
            Cell::Text(text) => match fast_float2::parse::<f64, _>(text.trim_ascii()) {
                Ok(value) if !value.is_nan() => value,
                _ if is_missing(text.trim_ascii().as_bytes()) => return Ok(Value::Missing),
                _ => return Err(format!("{} is not a number", quoted(text.as_bytes()))),
            },
        };
        match (value.is_finite(), self) {
            (true, _) => Ok(Value::Known(value)),
            (false, Cell::Text(text)) => Err(format!("{} is not a finite number", quoted(text.as_bytes()))),
            (false, _) => Err(format!("{value} is not a finite number")),
        }
    }

    /// The value in a column of text. Numbers are written as labels are: whole ones without a point.
    pub(super) fn text(self) -> Value<Cow<'a, str>> {
        match self {
            Cell::Missing => Value::Missing,
            Cell::Number(value) if value.is_nan() => Value::Missing,
            // Adding 0 takes the sign off a negative zero.
            Cell::Number(value) => Value::Known((value + 0.0).to_string().into()),
            Cell::Text(text) if is_missing(text.trim_ascii().as_bytes()) => Value::Missing,
            Cell::Text(text) => Value::Known(text.trim_ascii().into()),
        }
    }
}

/// Text from a file, in quotes and cut where it is long, for a message.
pub(crate) fn quoted(text: &[u8]) -> String {
    const LONGEST: usize = 40;
    let text = String::from_utf8_lossy(text);
    match text.char_indices().nth(LONGEST) {
        None => format!("{:?}", text),
        Some((end, _)) => format!("{:?}", format!("{}...", &text[..end])),
    }
}

/// Puts values of the columns in use into rows of features.
#[derive(Clone, Debug)]
pub struct Encoder {
    places: Vec<Place>,
    n_features: usize,
}

#[derive(Clone, Debug)]
struct Place {
    name: String,
    /// The first feature of the column.
    at: usize,
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    Number {
        fill: f64,
        flagged: bool,
    },
    /// The place of each category.
    Text(HashMap<String, usize>),
}

/// What rows have that the training rows do not have, counted for each column in use.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tally {
    columns: Vec<Count>,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Count {
    unseen: usize,
    first_unseen: String,
    imputed: usize,
}

impl Encoder {
    /// The encoder of a table.
    pub fn new(encoding: &Encoding) -> Self {
        let (mut at, mut places) = (0, vec![]);
        for column in encoding.used() {
            let kind = match column {
                Column::Text { categories, .. } => Kind::Text(categories.iter().cloned().zip(at..).collect()),
                Column::Number { fill, flagged, .. } => Kind::Number { fill: *fill, flagged: *flagged },
                Column::Ignored { .. } => continue,
            };
            places.push(Place { name: column.name().to_string(), at, kind });
            at += column.n_features();
        }
        Encoder { places, n_features: at }
    }

    /// The numbers in a row.
    pub fn n_features(&self) -> usize {
        self.n_features
    }

    /// Puts the value of a column in use, counted from 0 without ignored ones, into a row of zeros. The reason where a column of
    /// numbers has none here.
    pub fn put(&self, column: usize, cell: Cell, row: &mut [f64], tally: &mut Tally) -> Result<(), String> {
        let Place { at, kind, .. } = &self.places[column];
        match kind {
            Kind::Number { fill, flagged } => match cell.number()? {
                Value::Known(value) => row[*at] = value,
                Value::Missing => {
                    row[*at] = *fill;
                    match flagged {
                        true => row[at + 1] = 1.0,
                        false => tally.of(column).imputed += 1,
                    }
                }
            },
            Kind::Text(places) => {
                let text = match cell.text() {
                    Value::Known(text) => text,
                    Value::Missing => MISSING.into(),
                };
                match places.get(&*text) {
                    Some(&place) => row[place] = 1.0,
                    None => tally.of(column).take_unseen(&text),
                }
            }
        }
        Ok(())
    }

    /// What the user should know of rows that were encoded, a sentence for each column.
    pub fn notes(&self, tally: &Tally) -> Vec<String> {
        let mut notes = vec![];
        for (Place { name, kind, .. }, Count { unseen, first_unseen, imputed }) in self.places.iter().zip(&tally.columns) {
            if *unseen > 0 {
                let first = quoted(first_unseen.as_bytes());
                let values = counted(*unseen, "value");
                notes.push(format!("{values} of {name:?} not seen in training, first {first}: all indicators of the column are 0"));
            }
            if let (Kind::Number { fill, .. }, 1..) = (kind, *imputed) {
                let values = counted(*imputed, "missing value");
                notes.push(format!("{values} of {name:?}, which has none in training, imputed by the median {}", exact(*fill)));
            }
        }
        notes
    }
}

impl Tally {
    fn of(&mut self, column: usize) -> &mut Count {
        if self.columns.len() <= column {
            self.columns.resize(column + 1, Count::default());
        }
        &mut self.columns[column]
    }

    /// Adds what later rows have.
    pub fn add(&mut self, later: Tally) {
        for (column, count) in later.columns.into_iter().enumerate() {
            let ours = self.of(column);
            if ours.unseen == 0 {
                ours.first_unseen = count.first_unseen;
            }
            ours.unseen += count.unseen;
            ours.imputed += count.imputed;
        }
    }
}

impl Count {
    fn take_unseen(&mut self, text: &str) {
        if self.unseen == 0 {
            self.first_unseen = text.to_string();
        }
        self.unseen += 1;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn example() -> Encoding {
        let columns = vec![
            Column::Number { name: "age".into(), fill: 3.5, flagged: false },
            Column::Ignored { name: "id".into() },
            Column::Text { name: "job".into(), categories: vec!["a".into(), "b c".into(), MISSING.into()] },
            Column::Number { name: "pay".into(), fill: -1.0, flagged: true },
            Column::Text { name: "sex".into(), categories: vec!["0".into(), "1".into()] },
        ];
        Encoding { columns, named: true }
    }

    fn encoded(rows: &[[Cell; 4]]) -> (Vec<Vec<f64>>, Vec<String>) {
        let (encoder, mut tally) = (Encoder::new(&example()), Tally::default());
        let encode = |cells: &[Cell; 4]| {
            let mut row = vec![0.0; encoder.n_features()];
            cells.iter().enumerate().for_each(|(j, &cell)| encoder.put(j, cell, &mut row, &mut tally).unwrap());
            row
        };
        let rows = rows.iter().map(encode).collect();
        (rows, encoder.notes(&tally))
    }

    /// The features of a row by the table of the module's documentation, looked up by their names.
    fn slow(cells: &[Cell; 4]) -> Vec<f64> {
        let (encoding, texts) = (
            example(),
            cells.map(|cell| match cell.text() {
                Value::Known(text) => text.into_owned(),
                Value::Missing => MISSING.to_string(),
            }),
        );
        let feature = |feature: &String| {
            let (name, category) = feature.split_once('=').map_or((feature.as_str(), None), |(name, category)| (name, Some(category)));
            let (place, column) = encoding.used().enumerate().find(|(_, column)| column.name() == name).unwrap();
            match (category, column) {
                (Some(category), _) => f64::from(u8::from(texts[place] == category)),
                (None, Column::Number { fill, .. }) if texts[place] == MISSING => *fill,
                (None, _) => texts[place].parse().unwrap(),
            }
        };
        encoding.feature_names().iter().map(feature).collect()
    }

    #[test]
    fn rows_become_features() {
        let (rows, notes) = encoded(&[
            [Cell::Text("2.5"), Cell::Text("b c"), Cell::Missing, Cell::Number(1.0)],
            [Cell::Number(7.0), Cell::Text("null"), Cell::Text("8"), Cell::Text("0")],
        ]);
        assert_eq!(rows, [vec![2.5, 0.0, 1.0, 0.0, -1.0, 1.0, 0.0, 1.0], vec![7.0, 0.0, 0.0, 1.0, 8.0, 0.0, 1.0, 0.0]]);
        assert!(notes.is_empty());
    }

    #[test]
    fn what_training_rows_do_not_have_is_counted_and_no_error() {
        let unseen = [Cell::Missing, Cell::Text("d"), Cell::Number(0.0), Cell::Text("2")];
        let (rows, notes) = encoded(&[unseen, [Cell::Text("?"), Cell::Text("e"), Cell::Number(0.0), Cell::Text("1")]]);
        assert_eq!(rows[0], [3.5, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
        let expected = [
            "2 missing values of \"age\", which has none in training, imputed by the median 3.5",
            "2 values of \"job\" not seen in training, first \"d\": all indicators of the column are 0",
            "1 value of \"sex\" not seen in training, first \"2\": all indicators of the column are 0",
        ];
        assert_eq!(notes, expected);
    }

    #[test]
    fn counts_of_parts_add_up() {
        let (encoder, mut both) = (Encoder::new(&example()), Tally::default());
        for text in ["d", "e"] {
            let mut part = Tally::default();
            encoder.put(1, Cell::Text(text), &mut [0.0; 8], &mut part).unwrap();
            both.add(part);
        }
        assert_eq!(encoder.notes(&both), ["2 values of \"job\" not seen in training, first \"d\": all indicators of the column are 0"]);
    }

    proptest! {
        #[test]
        fn encoding_agrees_with_a_search_for_every_name(
            picks in proptest::array::uniform4(prop_oneof![Just("1"), Just("0"), Just("2.5"), Just("?"), Just("")]),
            job in prop_oneof![Just("a"), Just("b c"), Just("missing"), Just("new"), Just("NaN")],
        ) {
            let cells = [Cell::Text(picks[0]), Cell::Text(job), Cell::Text(picks[2]), Cell::Text(picks[3])];
            prop_assert_eq!(&encoded(&[cells]).0[0], &slow(&cells));
        }
    }
}
