//! Targets: class labels that print as they came, or real numbers.
use std::collections::HashMap;

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

    /// What two equal labels have in common: the number's bits, or the text.
    fn key(&self) -> Result<u64, &str> {
        self.value().map(|v| (v + 0.0).to_bits()).ok_or(&self.0)
    }
}

impl PartialEq for Label {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
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
            order.sort_by(|&a, &b| labels[a].value().unwrap_or(0.0).total_cmp(&labels[b].value().unwrap_or(0.0)));
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
    fn zero_and_minus_zero_are_one_label_and_nan_is_text() {
        assert_eq!(Label::new("0"), Label::new("-0"));
        assert_eq!(texts(&Classes::from_texts(&["nan", "1"])), ["1", "nan"]);
    }
}
