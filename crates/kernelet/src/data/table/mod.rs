//! Tables as they come: how columns of text, and of numbers with missing values, become features.
//!
//! | column | features |
//! |---|---|
//! | numbers | the number, a missing one replaced by the median of the training rows; then, where training rows have missing values, an indicator `column=missing` |
//! | text | an indicator `column=category` for each category of the training rows, in text order; missing values are the category `missing`, the last |
//! | ignored | none |
//!
//! An [`Encoding`] is learned from the training rows by [`Gathered`] and applied to any rows by an [`Encoder`], whatever file or frame they
//! come from. A category that training rows do not have sets no indicator, and a missing number is the median even where training rows
//! have none; a [`Tally`] counts both, so that the user can be notified.
mod encode;
mod learn;

use serde::{Deserialize, Serialize};

use crate::{Error, Result, text::counted};

pub(crate) use encode::quoted;
pub use encode::{Cell, Encoder, Tally};
pub use learn::Gathered;

/// The category of missing text, and the name of the indicator of a missing number.
pub const MISSING: &str = "missing";

/// How the columns of a table become features.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
pub struct Encoding {
    /// The columns beside the target, in the order of the training table.
    pub columns: Vec<Column>,
    /// Whether the columns had names of their own; else they are called by their numbers and found by them.
    pub named: bool,
}

/// How one column becomes features.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Column {
    /// Numbers.
    Number {
        /// The name.
        name: String,
        /// What stands for a missing value: the median of the training rows.
        fill: f64,
        /// Whether an indicator of missing values follows, because training rows have some.
        flagged: bool,
    },
    /// Text.
    Text {
        /// The name.
        name: String,
        /// The categories of the training rows, one indicator each.
        categories: Vec<String>,
    },
    /// A column that makes no feature.
    Ignored {
        /// The name.
        name: String,
    },
}

impl Column {
    /// The name.
    pub fn name(&self) -> &str {
        match self {
            Column::Number { name, .. } | Column::Text { name, .. } | Column::Ignored { name } => name,
        }
    }

    /// False for a column that makes no feature.
    pub fn is_used(&self) -> bool {
        !matches!(self, Column::Ignored { .. })
    }

    /// How many features it makes.
    pub fn n_features(&self) -> usize {
        match self {
            Column::Number { flagged, .. } => 1 + usize::from(*flagged),
            Column::Text { categories, .. } => categories.len(),
            Column::Ignored { .. } => 0,
        }
    }

    fn feature_names(&self) -> Vec<String> {
        match self {
            Column::Number { name, flagged: false, .. } => vec![name.clone()],
            Column::Number { name, flagged: true, .. } => vec![name.clone(), format!("{name}={MISSING}")],
            Column::Text { name, categories } => categories.iter().map(|category| format!("{name}={category}")).collect(),
            Column::Ignored { .. } => vec![],
        }
    }
}

impl Encoding {
    /// The columns that make features.
    pub fn used(&self) -> impl Iterator<Item = &Column> {
        self.columns.iter().filter(|column| column.is_used())
    }

    /// How many features all columns make.
    pub fn n_features(&self) -> usize {
        self.columns.iter().map(Column::n_features).sum()
    }

    /// The names of the features, in their order.
    ///
    /// ```
    /// use kernelet::data::{Column, Encoding};
    ///
    /// let age = Column::Number { name: "age".into(), fill: 37.0, flagged: true };
    /// let sex = Column::Text { name: "sex".into(), categories: vec!["Female".into(), "Male".into()] };
    /// let encoding = Encoding { columns: vec![age, sex], named: true };
    /// assert_eq!(encoding.feature_names(), ["age", "age=missing", "sex=Female", "sex=Male"]);
    /// ```
    pub fn feature_names(&self) -> Vec<String> {
        self.columns.iter().flat_map(Column::feature_names).collect()
    }

    /// True where every column is one of numbers without missing values, so that the table is its own features.
    pub fn is_plain(&self) -> bool {
        self.columns.iter().all(|column| matches!(column, Column::Number { flagged: false, .. }))
    }

    /// What became of the columns, in one sentence; none where there is nothing but numbers.
    pub fn summary(&self) -> Option<String> {
        let text = self.columns.iter().filter(|column| matches!(column, Column::Text { .. }));
        let indicators: usize = text.clone().map(Column::n_features).sum();
        let gaps = self.columns.iter().filter(|column| matches!(column, Column::Number { flagged: true, .. })).count();
        let mut parts = vec![];
        if text.clone().count() > 0 {
            parts.push(format!("{} became {}", counted(text.count(), "text column"), counted(indicators, "indicator feature")));
        }
        if gaps > 0 {
            let have = if gaps == 1 { "has" } else { "have" };
            parts.push(format!("{} {have} missing values (imputed by the median, with an indicator)", counted(gaps, "column")));
        }
        (!parts.is_empty()).then(|| parts.join("; "))
    }

    /// Checks what prediction relies on: finite numbers, at least one feature, and names and categories that differ.
    pub fn check(&self) -> Result<()> {
        let differ = |mut names: Vec<&str>| {
            names.sort_unstable();
            names.windows(2).all(|pair| pair[0] != pair[1])
        };
        if !differ(self.columns.iter().map(Column::name).collect()) {
            return Err(Error::data("two columns of the table of the model have the same name"));
        }
        for column in &self.columns {
            match column {
                Column::Number { name, fill, .. } if !fill.is_finite() => {
                    return Err(Error::data(format!("the median of the column {name:?} of the model is not finite")));
                }
                Column::Text { name, categories } if !differ(categories.iter().map(String::as_str).collect()) => {
                    return Err(Error::data(format!("the column {name:?} of the model has a category twice")));
                }
                _ => {}
            }
        }
        match self.n_features() {
            0 => Err(Error::data("the table of the model has no feature")),
            _ => Ok(()),
        }
    }
}

/// Whether a field stands for a value that is not known: it is empty, `?`, `NA`, `N/A`, `NaN`, `null` or `None`, in any case.
pub(crate) fn is_missing(field: &[u8]) -> bool {
    const MARKS: [&[u8]; 9] = [b"", b"?", b"na", b"n/a", b"nan", b"-nan", b"+nan", b"null", b"none"];
    MARKS.iter().any(|mark| field.eq_ignore_ascii_case(mark))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Encoding {
        let columns = vec![
            Column::Number { name: "age".into(), fill: 3.5, flagged: false },
            Column::Ignored { name: "id".into() },
            Column::Text { name: "job".into(), categories: vec!["a".into(), MISSING.into()] },
            Column::Number { name: "pay".into(), fill: -1.0, flagged: true },
        ];
        Encoding { columns, named: true }
    }

    #[test]
    fn features_are_named_by_their_columns() {
        let encoding = example();
        assert_eq!(encoding.feature_names(), ["age", "job=a", "job=missing", "pay", "pay=missing"]);
        assert_eq!((encoding.n_features(), encoding.used().count(), encoding.is_plain()), (5, 3, false));
        let summary = "1 text column became 2 indicator features; 1 column has missing values (imputed by the median, with an indicator)";
        assert_eq!(encoding.summary().unwrap(), summary);
        let plain = Encoding { columns: encoding.columns[..1].to_vec(), named: true };
        assert!(plain.is_plain() && plain.summary().is_none());
    }

    #[test]
    fn an_encoding_is_the_same_after_json() {
        let text = serde_json::to_string(&example()).unwrap();
        assert!(
            text.starts_with(r#"{"columns":[{"kind":"number","name":"age","fill":3.5,"flagged":false},{"kind":"ignored","name":"id"}"#)
        );
        assert_eq!(serde_json::from_str::<Encoding>(&text).unwrap(), example());
    }

    #[test]
    fn encodings_that_contradict_themselves_are_rejected() {
        assert!(example().check().is_ok());
        let mut twice = example();
        twice.columns.push(twice.columns[0].clone());
        let mut infinite = example();
        infinite.columns[0] = Column::Number { name: "age".into(), fill: f64::INFINITY, flagged: false };
        let mut same = example();
        same.columns[2] = Column::Text { name: "job".into(), categories: vec!["a".into(), "a".into()] };
        let none = Encoding { columns: vec![Column::Ignored { name: "id".into() }], named: true };
        for (encoding, words) in [(twice, "same name"), (infinite, "not finite"), (same, "category twice"), (none, "no feature")] {
            assert!(encoding.check().unwrap_err().to_string().contains(words), "{words}");
        }
    }
}
