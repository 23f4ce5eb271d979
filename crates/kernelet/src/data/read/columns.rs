//! Which columns of a table are features and which is the target.
//!
//! | what is known | features | target |
//! |---|---|---|
//! | names of a model's columns, and a header | the columns with these names, in the model's order | the one named, else the only other one |
//! | how many columns a model has | as many columns | the one named, else the last, if there is one more column |
//! | nothing | all but the target | the one named, else the last; where no target is wanted, only one that is named |
//!
//! Columns that are to be ignored, by the caller or by the table of the model, are neither.
use super::{Reading, Wanted};
use crate::{Error, Result, text::nearest};

/// The choice, columns from 0.
#[derive(Clone, Debug, PartialEq, Default)]
pub(super) struct Chosen {
    /// The feature columns, in the order of the features.
    pub(super) features: Vec<usize>,
    /// The columns that are to be ignored in training.
    pub(super) ignored: Vec<usize>,
    /// The target, if there is one and it is wanted.
    pub(super) target: Option<usize>,
    /// Notes for the user.
    pub(super) notes: Vec<String>,
}

/// Chooses among `count` columns, whose names are `header`, if there is one.
pub(super) fn choose(origin: &str, count: usize, header: Option<&[String]>, how: &Reading) -> Result<Chosen> {
    let table = Table { origin, count, header };
    let ignored = how.ignore.iter().map(|named| table.find(named, "to ignore")).collect::<Result<Vec<usize>>>()?;
    let chosen = match (header, how.column_names(), how.n_columns()) {
        (Some(header), Some(names), _) => table.by_name(header, &names, &ignored, how)?,
        (_, _, Some(dim)) => table.by_count(dim, how)?,
        _ => table.all_but_the_target(ignored.clone(), how)?,
    };
    if let Some(&column) = ignored.iter().find(|column| chosen.features.contains(column)) {
        return Err(table.refuse(format!("{} is a feature of the model and cannot be ignored", table.called(column))));
    }
    if let Some(target) = chosen.target.filter(|target| ignored.contains(target)) {
        return Err(table.refuse(format!("{} is the target and cannot be ignored", table.called(target))));
    }
    Ok(table.announced(chosen, how))
}

struct Table<'a> {
    origin: &'a str,
    count: usize,
    header: Option<&'a [String]>,
}

impl Table<'_> {
    fn by_name(&self, header: &[String], names: &[&str], ignored: &[usize], how: &Reading) -> Result<Chosen> {
        let mut features = Vec::with_capacity(names.len());
        for name in names {
            match header.iter().position(|column| column == name) {
                Some(column) => features.push(column),
                None => return Err(self.missing(name, ", which the model needs")),
            }
        }
        let mut others = without(self.count, &[&features[..], ignored].concat());
        others.retain(|&column| !how.table.iter().flat_map(|table| &table.columns).any(|known| known.name() == header[column]));
        let target = match (&how.target_column, &others[..]) {
            _ if how.wanted == Wanted::Nothing => None,
            (Some(named), _) => Some(self.find(named, "for the target")?),
            (None, []) => None,
            (None, [only]) => Some(*only),
            (None, several) => {
                let several: Vec<String> = several.iter().map(|&j| format!("{:?}", header[j])).collect();
                let reason =
                    format!("the columns {} are not features of the model; say with --target which is the target", several.join(", "));
                return Err(self.refuse(reason));
            }
        };
        match target.filter(|target| features.contains(target)) {
            Some(target) => Err(self.refuse(format!("the column {:?} is a feature of the model and cannot be the target", header[target]))),
            None => Ok(Chosen { features, target, ..Chosen::default() }),
        }
    }

    fn by_count(&self, dim: usize, how: &Reading) -> Result<Chosen> {
        if self.count == dim && (how.target_column.is_none() || how.wanted == Wanted::Nothing) {
            return Ok(Chosen { features: used(how, (0..dim).collect()), ..Chosen::default() });
        }
        if Some(self.count) != dim.checked_add(1) {
            let has = if how.table.is_some() { "was trained on" } else { "has" };
            let what = if how.table.is_some() { "columns beside the target" } else { "features" };
            let expected = format!("the model {has} {dim} {what}: expected {dim} columns, or one more for the target");
            let reason = format!("{expected}, found {}", self.count);
            return Err(self.refuse(reason));
        }
        let target = how.target_column.as_ref().map_or(Ok(dim), |named| self.find(named, "for the target"))?;
        Ok(Chosen { features: used(how, without(self.count, &[target])), target: Some(target), ..Chosen::default() })
    }

    fn all_but_the_target(&self, ignored: Vec<usize>, how: &Reading) -> Result<Chosen> {
        let target = match &how.target_column {
            Some(named) => Some(self.find(named, "for the target")?),
            None => without(self.count, &ignored).last().copied().filter(|_| how.wanted != Wanted::Nothing),
        };
        let features = without(self.count, &[&ignored[..], target.as_slice()].concat());
        match features.is_empty() {
            true => Err(self.refuse("there is no column for a feature beside the target")),
            false => Ok(Chosen { features, ignored, target, notes: vec![] }),
        }
    }

    /// The choice with a note on the target and on columns left out.
    fn announced(&self, mut chosen: Chosen, how: &Reading) -> Chosen {
        if how.wanted == Wanted::Nothing {
            chosen.target = None;
        }
        let used: Vec<usize> = chosen.features.iter().copied().chain(chosen.target).collect();
        let left_out: Vec<String> = without(self.count, &used).into_iter().map(|j| self.called(j)).collect();
        chosen.notes.extend(chosen.target.map(|target| format!("target: {}", self.called(target))));
        if !left_out.is_empty() {
            chosen.notes.push(format!("left out: {}", left_out.join("; ")));
        }
        chosen
    }

    /// The column with this name or, from 1, this number.
    fn find(&self, named: &str, what_for: &str) -> Result<usize> {
        let by_name = self.header.and_then(|header| header.iter().position(|column| column == named));
        let by_number = || named.parse::<usize>().ok().and_then(|number| number.checked_sub(1)).filter(|&j| j < self.count);
        by_name.or_else(by_number).ok_or_else(|| self.missing(named, &format!(" {what_for}")))
    }

    /// There is no such column, and perhaps another was meant.
    fn missing(&self, named: &str, what_for: &str) -> Error {
        let meant = nearest(named, self.header.into_iter().flatten().map(String::as_str));
        let meant = meant.map(|meant| format!(" (did you mean {meant:?}?)")).unwrap_or_default();
        self.refuse(format!("there is no column {named:?}{what_for}{meant}; {}", self.listed()))
    }

    fn listed(&self) -> String {
        match self.header {
            None => format!("there are {} columns and no header", self.count),
            Some(header) => format!("the columns are {}", header.join(", ")),
        }
    }

    fn called(&self, column: usize) -> String {
        let number = column + 1;
        self.header.map_or(format!("column {number}"), |header| format!("column {number}, {:?}", header[column]))
    }

    fn refuse(&self, reason: impl Into<String>) -> Error {
        Error::format(self.origin, None, None, reason)
    }
}

/// Of the columns of a table that a model was trained on, those that make features.
fn used(how: &Reading, columns: Vec<usize>) -> Vec<usize> {
    let Some(table) = &how.table else { return columns };
    columns.into_iter().zip(&table.columns).filter(|(_, column)| column.is_used()).map(|(j, _)| j).collect()
}

/// The columns below `count` that are not among `taken`.
fn without(count: usize, taken: &[usize]) -> Vec<usize> {
    let mut free = vec![true; count];
    taken.iter().for_each(|&j| free[j] = false);
    (0..count).filter(|&j| free[j]).collect()
}

/// What a column without a name is called.
pub(super) fn unnamed(column: usize) -> String {
    format!("column {}", column + 1)
}

/// The names of the header, made ready for matching: an empty one is called after its number, and two must not be equal.
pub(super) fn checked_header(origin: &str, line: Option<usize>, mut header: Vec<String>) -> Result<Vec<String>> {
    let mut seen = std::collections::HashMap::new();
    for (j, name) in header.iter_mut().enumerate() {
        if name.is_empty() {
            *name = unnamed(j);
        }
        if let Some(earlier) = seen.insert(name.clone(), j) {
            let reason = format!("the name {name:?} is already that of column {}; every column needs its own", earlier + 1);
            return Err(Error::format(origin, line, Some(j + 1), reason));
        }
    }
    Ok(header)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLASSES: Reading = Reading::CLASSES;

    fn texts(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| name.to_string()).collect()
    }

    fn pick(header: &[&str], how: &Reading) -> Chosen {
        choose("a.csv", header.len(), Some(&texts(header)), how).unwrap()
    }

    fn refusal(header: &[&str], how: &Reading) -> String {
        choose("a.csv", header.len(), Some(&texts(header)), how).unwrap_err().to_string()
    }

    #[test]
    fn the_target_is_the_last_column_unless_named() {
        let last = pick(&["a", "b", "c"], &CLASSES);
        assert_eq!((&last.features[..], last.target), (&[0, 1][..], Some(2)));
        assert_eq!(last.notes, ["target: column 3, \"c\""]);
        let named = Reading { target_column: Some("b".into()), ..CLASSES };
        assert_eq!(pick(&["a", "b", "c"], &named).target, Some(1));
        let numbered = Reading { target_column: Some("1".into()), ..CLASSES };
        assert_eq!(pick(&["a", "b", "c"], &numbered).features, [1, 2]);
        assert_eq!(choose("a.csv", 3, None, &numbered).unwrap().notes, ["target: column 1"]);
        for wrong in ["0", "4", "d"] {
            let how = Reading { target_column: Some(wrong.into()), ..CLASSES };
            let expected = format!("a.csv: there is no column {wrong:?} for the target; the columns are a, b, c");
            assert_eq!(refusal(&["a", "b", "c"], &how), expected);
        }
        assert_eq!(refusal(&["a"], &CLASSES), "a.csv: there is no column for a feature beside the target");
    }

    #[test]
    fn without_a_wish_for_a_target_every_column_is_a_feature_except_the_named_target() {
        let nothing = Reading::default();
        assert_eq!(pick(&["a", "b"], &nothing).features, [0, 1]);
        let named = Reading { target_column: Some("a".into()), ..nothing };
        let chosen = pick(&["a", "b"], &named);
        assert_eq!((&chosen.features[..], chosen.target), (&[1][..], None));
        assert_eq!(chosen.notes, ["left out: column 1, \"a\""]);
    }

    #[test]
    fn a_model_with_names_takes_its_columns_in_any_order() {
        let how = Reading { names: Some(texts(&["a", "b"])), ..CLASSES };
        let chosen = pick(&["b", "t", "a"], &how);
        assert_eq!((&chosen.features[..], chosen.target), (&[2, 0][..], Some(1)));
        assert_eq!(pick(&["b", "a"], &how).target, None);
        assert_eq!(refusal(&["b", "t"], &how), "a.csv: there is no column \"a\", which the model needs; the columns are b, t");
        let several = "a.csv: the columns \"x\", \"y\" are not features of the model; say with --target which is the target";
        assert_eq!(refusal(&["x", "y", "a", "b"], &how), several);
        let named = Reading { target_column: Some("y".into()), ..how.clone() };
        let chosen = pick(&["x", "y", "a", "b"], &named);
        assert_eq!((chosen.target, &chosen.notes[1][..]), (Some(1), "left out: column 1, \"x\""));
        let feature = Reading { target_column: Some("a".into()), ..how.clone() };
        assert_eq!(refusal(&["a", "b", "t"], &feature), "a.csv: the column \"a\" is a feature of the model and cannot be the target");
        let ignoring = |name: &str| Reading { ignore: texts(&[name]), ..how.clone() };
        assert_eq!(pick(&["x", "y", "a", "b"], &ignoring("x")).target, Some(1));
        let ignored = "a.csv: column 3, \"a\" is a feature of the model and cannot be ignored";
        assert_eq!(refusal(&["x", "y", "a", "b"], &Reading { target_column: Some("y".into()), ..ignoring("a") }), ignored);
        let nothing = Reading { wanted: Wanted::Nothing, target_column: Some("gone".into()), ..how };
        assert_eq!(pick(&["x", "y", "a", "b"], &nothing).notes, ["left out: column 1, \"x\"; column 2, \"y\""]);
    }

    #[test]
    fn a_model_without_names_counts_columns() {
        let how = Reading { dim: Some(2), ..CLASSES };
        let pick = |count, how: &Reading| choose("a.csv", count, None, how).map_err(|e| e.to_string());
        assert_eq!(pick(2, &how).unwrap().target, None);
        assert_eq!(pick(3, &how).unwrap().target, Some(2));
        let first = Reading { target_column: Some("1".into()), ..how.clone() };
        assert_eq!(pick(3, &first).unwrap().features, [1, 2]);
        let expected = "a.csv: the model has 2 features: expected 2 columns, or one more for the target, found";
        assert_eq!(pick(4, &how).unwrap_err(), format!("{expected} 4"));
        assert_eq!(pick(1, &how).unwrap_err(), format!("{expected} 1"));
        assert_eq!(pick(2, &first).unwrap_err(), format!("{expected} 2"));
    }

    #[test]
    fn names_must_differ_and_an_empty_one_is_its_number() {
        assert_eq!(checked_header("a.csv", Some(1), texts(&["", "b"])).unwrap(), ["column 1", "b"]);
        let text = checked_header("a.csv", Some(1), texts(&["b", "a", "b"])).unwrap_err().to_string();
        assert_eq!(text, "a.csv, line 1, column 3: the name \"b\" is already that of column 1; every column needs its own");
    }
}
