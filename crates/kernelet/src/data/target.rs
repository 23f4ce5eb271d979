//! Targets: class labels that print as they came, or real numbers.
use std::{cmp::Ordering, collections::HashMap};

use serde::{Deserialize, Serialize};

use crate::linalg::Matrix;

/// A class label: text that prints as it came. Two labels that are the same number (`1`, `+1`, `1.0`) are the same label.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Label(String);

impl Label {
    /// A label with this text.
    pub fn new(text: impl Into<String>) -> Self {
        Label(text.into())
    }

    /// The text.
    pub fn text(&self) -> &str {
        &self.0
    }

    /// The number the text spells, if it spells a finite one.
    pub fn value(&self) -> Option<f64> {
        self.0.parse().ok().filter(|v: &f64| v.is_finite())
    }

    /// The whole number that the text spells, exactly, if it spells one.
    pub fn whole(&self) -> Option<i64> {
        let Decimal { negative, digits, point } = self.decimal()?;
        let zeros = usize::try_from(point).ok()?.checked_sub(digits.len()).filter(|&zeros| zeros < 20)?;
        format!("{}0{digits}{}", if negative { "-" } else { "" }, "0".repeat(zeros)).parse().ok()
    }

    /// The number with all its digits, of which double precision keeps the first sixteen or so.
    fn decimal(&self) -> Option<Decimal> {
        self.value()?;
        let (mantissa, exponent) = self.0.split_once(['e', 'E']).unwrap_or((&self.0, "0"));
        let (negative, mantissa) = (mantissa.starts_with('-'), mantissa.trim_start_matches(['-', '+']));
        let (whole, part) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all = format!("{whole}{part}");
        let digits = all.trim_start_matches('0');
        let point = exponent.parse::<i64>().ok()?.checked_add(whole.len() as i64 - (all.len() - digits.len()) as i64)?;
        let digits = digits.trim_end_matches('0');
        // Zero has neither sign nor size.
        let zero = digits.is_empty();
        Some(Decimal { negative: negative && !zero, digits: digits.into(), point: if zero { 0 } else { point } })
    }

    /// The order of numbers; none where one of the two is text.
    fn compare(&self, other: &Label) -> Option<Ordering> {
        let rounded = self.value()?.partial_cmp(&other.value()?)?;
        Some(rounded.then_with(|| self.decimal().zip(other.decimal()).map_or(Ordering::Equal, |(a, b)| a.compare(&b))))
    }
}

/// `0.digits * 10^point`, the first and the last digit not 0; no digits for zero.
struct Decimal {
    negative: bool,
    digits: String,
    point: i64,
}

impl Decimal {
    fn compare(&self, other: &Decimal) -> Ordering {
        let sign = |number: &Decimal| if number.digits.is_empty() { 0 } else { 1 - 2 * i32::from(number.negative) };
        let size = self.point.cmp(&other.point).then_with(|| self.digits.cmp(&other.digits));
        sign(self).cmp(&sign(other)).then(if self.negative { size.reverse() } else { size })
    }
}

impl PartialEq for Label {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0 || self.compare(other) == Some(Ordering::Equal)
    }
}

impl std::fmt::Display for Label {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// The class of every row: `labels[codes[i]]` is the label of row i.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Classes {
    /// The distinct labels: in numeric order when all are numbers, else in text order.
    pub labels: Vec<Label>,
    /// For every row the place of its label in `labels`.
    pub codes: Vec<u32>,
}

impl Classes {
    /// Classes from the distinct labels in any order and each row's place among them. Unused labels are dropped, equal ones joined.
    pub fn new(labels: Vec<Label>, codes: &[u32]) -> Self {
        let mut used = vec![false; labels.len()];
        codes.iter().for_each(|&c| used[c as usize] = true);
        let mut order: Vec<usize> = (0..labels.len()).filter(|&i| used[i]).collect();
        if order.iter().all(|&i| labels[i].value().is_some()) {
            order.sort_by(|&a, &b| labels[a].compare(&labels[b]).unwrap_or(Ordering::Equal));
        } else {
            order.sort_by(|&a, &b| labels[a].text().cmp(labels[b].text()));
        }
        let (mut sorted, mut place): (Vec<Label>, _) = (vec![], vec![0u32; labels.len()]);
        for i in order {
            if sorted.last() != Some(&labels[i]) {
                sorted.push(labels[i].clone());
            }
            place[i] = sorted.len() as u32 - 1;
        }
        Classes { labels: sorted, codes: codes.iter().map(|&c| place[c as usize]).collect() }
    }

    /// Classes from the text of each row's label.
    pub fn from_texts<S: AsRef<str>>(texts: &[S]) -> Self {
        let mut interner = Interner::default();
        let codes: Vec<u32> = texts.iter().map(|t| interner.code(t.as_ref())).collect();
        Classes::new(interner.labels, &codes)
    }

    /// The rows of each class.
    pub fn counts(&self) -> Vec<usize> {
        let mut counts = vec![0; self.labels.len()];
        self.codes.iter().for_each(|&c| counts[c as usize] += 1);
        counts
    }

    /// For each of our labels its place among `others`, if it is there.
    pub fn places_in(&self, others: &[Label]) -> Vec<Option<usize>> {
        self.labels.iter().map(|label| others.iter().position(|other| other == label)).collect()
    }

    /// The chosen rows, in the order given; all labels are kept, so that codes mean the same.
    pub fn select(&self, indices: &[usize]) -> Self {
        Classes { labels: self.labels.clone(), codes: indices.iter().map(|&i| self.codes[i]).collect() }
    }
}

/// Gives each distinct text a number, in the order of appearance. Equal numbers in different spellings are joined by [`Classes::new`].
#[derive(Debug, Default)]
pub struct Interner {
    /// The distinct labels so far.
    pub labels: Vec<Label>,
    known: HashMap<String, u32>,
}

impl Interner {
    /// The number of this text.
    pub fn code(&mut self, text: &str) -> u32 {
        if let Some(&code) = self.known.get(text) {
            return code;
        }
        let code = self.labels.len() as u32;
        self.known.insert(text.to_string(), code);
        self.labels.push(Label::new(text));
        code
    }
}

/// What is to be predicted for every row.
#[derive(Clone, Debug, PartialEq, Default)]
pub enum Target {
    /// Nothing is known.
    #[default]
    None,
    /// A class.
    Classes(Classes),
    /// Real numbers, one column for each target.
    Values(Matrix),
}

impl Target {
    /// Classes, from the label of each row.
    ///
    /// ```
    /// use kernelet::data::Target;
    ///
    /// let Target::Classes(classes) = Target::from_labels(&["spam", "ham", "spam"]) else { unreachable!() };
    /// assert_eq!(classes.labels[0].text(), "ham");
    /// assert_eq!(classes.codes, [1, 0, 1]);
    /// ```
    pub fn from_labels<S: AsRef<str>>(labels: &[S]) -> Self {
        Target::Classes(Classes::from_texts(labels))
    }

    /// One real target a row.
    pub fn from_values(values: Vec<f64>) -> Self {
        Target::Values(Matrix::column(values))
    }

    /// The chosen rows, in the order given.
    pub fn select(&self, indices: &[usize]) -> Target {
        match self {
            Target::None => Target::None,
            Target::Classes(classes) => Target::Classes(classes.select(indices)),
            Target::Values(values) => Target::Values(values.select(indices)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(classes: &Classes) -> Vec<&str> {
        classes.labels.iter().map(Label::text).collect()
    }

    #[test]
    fn numbers_sort_as_numbers_and_print_as_they_came() {
        let classes = Classes::from_texts(&["10", "+1", "9", "1.0", "1"]);
        assert_eq!(texts(&classes), ["+1", "9", "10"]);
        assert_eq!(classes.codes, [2, 0, 1, 0, 0]);
        assert_eq!(classes.counts(), [3, 1, 1]);
    }

    #[test]
    fn one_word_makes_all_labels_text() {
        let classes = Classes::from_texts(&["b", "10", "9", "a"]);
        assert_eq!(texts(&classes), ["10", "9", "a", "b"]);
    }

    #[test]
    fn numbers_that_are_equal_in_double_precision_stay_distinct_and_in_order() {
        let texts_in = ["9007199254740993", "9007199254740992", "+9007199254740993.0", "-18446744073709551615", "-18446744073709551614"];
        let classes = Classes::from_texts(&texts_in);
        assert_eq!(texts(&classes), ["-18446744073709551615", "-18446744073709551614", "9007199254740992", "9007199254740993"]);
        assert_eq!(classes.codes, [3, 2, 3, 0, 1]);
        for (a, b) in [("1e20", "100000000000000000000"), ("12.50", "+1.25e1"), (".5", "0.5"), ("-0", "0.00e7"), ("007", "7")] {
            assert_eq!(Label::new(a), Label::new(b));
        }
        for (a, b) in [("1e400", "2e400"), ("nan", "-nan"), ("12", "120"), ("-1", "1"), ("1e-400", "0")] {
            assert_ne!(Label::new(a), Label::new(b));
        }
        let whole = |text: &str| Label::new(text).whole();
        assert_eq!(
            (whole("9007199254740993"), whole("-12.0"), whole("3e2"), whole("0")),
            (Some(9007199254740993), Some(-12), Some(300), Some(0))
        );
        assert_eq!((whole("0.5"), whole("1e30"), whole("cat")), (None, None, None));
    }

    #[test]
    fn zero_and_minus_zero_are_one_label_and_nan_is_text() {
        assert_eq!(Label::new("0"), Label::new("-0"));
        assert_eq!(texts(&Classes::from_texts(&["nan", "1"])), ["1", "nan"]);
    }
}
