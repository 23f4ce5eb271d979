//! What is learned from the training rows: medians of numbers and categories of text.
use std::collections::HashSet;

use super::{
    Column, MISSING,
    encode::{Cell, Value},
};
use crate::text::count;

/// More different texts than this are no categories.
const MOST_CATEGORIES: usize = 1000;

/// So many different texts are categories whatever the number of rows; of more, at least every second row must repeat one.
const ALWAYS_CATEGORIES: usize = 20;

/// The values of a column of training rows, as far as they are needed to learn from them.
#[derive(Clone, Debug)]
pub struct Gathered {
    n_rows: usize,
    n_missing: usize,
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    Numbers(Vec<f64>),
    Text(HashSet<String>),
}

impl Gathered {
    /// A column of numbers without rows.
    pub fn numbers() -> Self {
        Gathered { n_rows: 0, n_missing: 0, kind: Kind::Numbers(vec![]) }
    }

    /// A column of text without rows.
    pub fn text() -> Self {
        Gathered { n_rows: 0, n_missing: 0, kind: Kind::Text(HashSet::new()) }
    }

    /// A column without rows of the kind that fits these values: of numbers where each is a number or missing, else of text.
    pub fn fitting<'a>(values: impl IntoIterator<Item = Cell<'a>>) -> Self {
        if values.into_iter().any(Cell::is_word) { Gathered::text() } else { Gathered::numbers() }
    }

    /// Takes in the value of the next row, or returns what is wrong with it.
    pub fn push(&mut self, cell: Cell) -> Result<(), String> {
        self.n_rows += 1;
        match &mut self.kind {
            Kind::Numbers(values) => match cell.number()? {
                Value::Missing => self.n_missing += 1,
                Value::Known(value) => values.push(value),
            },
            Kind::Text(seen) => match cell.text() {
                Value::Missing => self.n_missing += 1,
                // One more than are allowed is enough to reject the column.
                Value::Known(text) if seen.len() <= MOST_CATEGORIES && !seen.contains(&*text) => {
                    seen.insert(text.into_owned());
                }
                Value::Known(_) => {}
            },
        }
        Ok(())
    }

    /// The column as it is to be encoded, ignored where no row has a value. The reason where its texts are too many to be categories.
    pub fn finish(self, name: &str) -> Result<Column, String> {
        let name = name.to_string();
        if self.n_missing == self.n_rows {
            return Ok(Column::Ignored { name });
        }
        match self.kind {
            Kind::Numbers(mut values) => Ok(Column::Number { name, fill: median(&mut values), flagged: self.n_missing > 0 }),
            Kind::Text(seen) if seen.len() > MOST_CATEGORIES => {
                Err(format!("the column {name:?} has more than {} different texts, too many to be categories", count(MOST_CATEGORIES)))
            }
            Kind::Text(seen) if seen.len() > ALWAYS_CATEGORIES && 2 * seen.len() > self.n_rows => {
                let (texts, rows) = (count(seen.len()), count(self.n_rows));
                Err(format!("the column {name:?} has {texts} different texts in {rows} rows, too many to be categories"))
            }
            Kind::Text(mut seen) => {
                let missing = seen.remove(MISSING) || self.n_missing > 0;
                let mut categories: Vec<String> = seen.into_iter().collect();
                categories.sort_unstable();
                categories.extend(missing.then(|| MISSING.to_string()));
                Ok(Column::Text { name, categories })
            }
        }
    }
}

/// The middle value, or the mean of the two middle values; 0 of none. The values are put in another order.
fn median(values: &mut [f64]) -> f64 {
    if values.is_empty() {
        return 0.0;
    }
    let (even, middle) = (values.len().is_multiple_of(2), values.len() / 2);
    let (below, &mut upper, _) = values.select_nth_unstable_by(middle, f64::total_cmp);
    match below.iter().copied().max_by(f64::total_cmp) {
        // Halves before the sum, which cannot overflow.
        Some(lower) if even => lower / 2.0 + upper / 2.0,
        _ => upper,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn learned(mut gathered: Gathered, cells: &[Cell]) -> Result<Column, String> {
        cells.iter().try_for_each(|&cell| gathered.push(cell))?;
        gathered.finish("a")
    }

    #[test]
    fn numbers_have_a_median_and_an_indicator_where_some_are_missing() {
        let number = |fill, flagged| Ok(Column::Number { name: "a".into(), fill, flagged });
        let cells = [Cell::Number(4.0), Cell::Text("1e0"), Cell::Number(2.0)];
        assert_eq!(learned(Gathered::numbers(), &cells), number(2.0, false));
        let gaps = [Cell::Missing, Cell::Number(4.0), Cell::Text("n/a"), Cell::Number(f64::NAN), Cell::Text(" 2 ")];
        assert_eq!(learned(Gathered::numbers(), &gaps), number(3.0, true));
        assert_eq!(learned(Gathered::numbers(), &[Cell::Missing, Cell::Text("")]), Ok(Column::Ignored { name: "a".into() }));
        assert_eq!(learned(Gathered::numbers(), &[Cell::Text("x")]).unwrap_err(), "\"x\" is not a number");
        assert_eq!(learned(Gathered::numbers(), &[Cell::Text("-inf")]).unwrap_err(), "\"-inf\" is not a finite number");
    }

    #[test]
    fn text_that_spells_numbers_fits_a_column_of_numbers() {
        let is_numbers = |cells: &[Cell]| matches!(Gathered::fitting(cells.iter().copied()).kind, Kind::Numbers(_));
        assert!(is_numbers(&[Cell::Text(" 1"), Cell::Missing, Cell::Text("?"), Cell::Number(2.0), Cell::Text("inf")]) && is_numbers(&[]));
        assert!(!is_numbers(&[Cell::Text("1"), Cell::Text("x")]));
    }

    #[test]
    fn categories_are_in_text_order_and_missing_is_the_last() {
        let text =
            |categories: &[&str]| Ok(Column::Text { name: "a".into(), categories: categories.iter().map(|c| c.to_string()).collect() });
        let cells = ["x", "10", "9", " x ", "Zz"].map(Cell::Text);
        assert_eq!(learned(Gathered::text(), &cells), text(&["10", "9", "Zz", "x"]));
        let gaps = [Cell::Text("x"), Cell::Missing, Cell::Text("missing"), Cell::Text("?"), Cell::Number(3.0), Cell::Number(-0.0)];
        assert_eq!(learned(Gathered::text(), &gaps), text(&["0", "3", "x", "missing"]));
        assert_eq!(learned(Gathered::text(), &[Cell::Text("NA")]), Ok(Column::Ignored { name: "a".into() }));
    }

    #[test]
    fn a_text_for_nearly_every_row_is_no_category() {
        let texts = |different: usize, rows: usize| {
            let mut gathered = Gathered::text();
            (0..rows).for_each(|i| gathered.push(Cell::Text(&(i % different).to_string())).unwrap());
            gathered.finish("id")
        };
        assert!(texts(20, 20).is_ok() && texts(30, 60).is_ok() && texts(1000, 2000).is_ok());
        assert_eq!(texts(30, 59).unwrap_err(), "the column \"id\" has 30 different texts in 59 rows, too many to be categories");
        assert_eq!(texts(1001, 9000).unwrap_err(), "the column \"id\" has more than 1,000 different texts, too many to be categories");
    }

    proptest! {
        #[test]
        fn the_median_is_that_of_the_sorted_values(mut values in proptest::collection::vec(-1e300f64..1e300, 1..40)) {
            let mut sorted = values.clone();
            sorted.sort_by(f64::total_cmp);
            let n = sorted.len();
            let slow = if n % 2 == 1 { sorted[n / 2] } else { sorted[n / 2 - 1] / 2.0 + sorted[n / 2] / 2.0 };
            prop_assert_eq!(median(&mut values), slow);
        }
    }
}
