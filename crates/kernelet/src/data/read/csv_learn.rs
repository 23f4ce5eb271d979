//! What is learned from a table of text: which columns are numbers, their medians, and the categories of the others.
//!
//! A column is one of numbers when each of its fields is a number or missing, else of text. Two passes: the first finds that out, the second
//! gathers the values.
use ::csv::ByteRecord;

use super::{
    csv::Layout,
    records::{Kind, Table, fields, is_decimal_comma, kind},
};
use crate::{
    Error, Result,
    data::{Cell, Column, Encoding, Gathered, table::quoted},
};

/// What the fields of a column look like.
#[derive(Clone, Debug, Default)]
struct Look {
    has_numbers: bool,
    /// The first field that is no number, with its line.
    first_word: Option<(String, usize)>,
    /// The same for fields that are not numbers with a comma either.
    has_other_words: bool,
}

/// How the columns of the table are to be encoded, and notes for the user.
pub(super) fn learn(layout: &Layout, bytes: &[u8], origin: &str) -> Result<(Encoding, Vec<String>)> {
    let looks = looks(layout, bytes, origin)?;
    let mut gathered: Vec<Gathered> =
        looks.iter().map(|look| if look.first_word.is_some() { Gathered::text() } else { Gathered::numbers() }).collect();
    each_row(layout, bytes, origin, |table, record| {
        for (gathered, &j) in gathered.iter_mut().zip(&layout.chosen.features) {
            let cell = Cell::Text(layout.text(table, record, j)?);
            gathered.push(cell).map_err(|_| layout.refuse(table, record, j))?;
        }
        Ok(())
    })?;
    let mut learned = gathered.into_iter().zip(&looks);
    let (mut columns, mut notes) = (vec![], vec![]);
    for j in 0..layout.width {
        let name = layout.name(j);
        if layout.chosen.ignored.contains(&j) {
            columns.push(Column::Ignored { name });
            continue;
        }
        let Some((gathered, look)) = layout.chosen.features.contains(&j).then(|| learned.next()).flatten() else { continue };
        let column = gathered.finish(&name).map_err(|reason| {
            let number = layout.header.as_ref().map_or_else(|| (j + 1).to_string(), |_| name.clone());
            Error::format(origin, None, None, format!("{reason}{}; leave it out with --ignore {number}", look.hint()))
        })?;
        notes.extend(look.note(&column));
        columns.push(column);
    }
    let encoding = Encoding { columns, named: layout.header.is_some() };
    if encoding.used().count() == 0 {
        return Err(Error::format(origin, None, None, "there is no column with a value for a feature beside the target"));
    }
    notes.extend(encoding.summary());
    Ok((encoding, notes))
}

impl Look {
    fn take_in(&mut self, field: &[u8], line: impl Fn() -> usize) {
        match kind(field) {
            Kind::Missing => {}
            Kind::Number => self.has_numbers = true,
            Kind::Word => {
                self.has_other_words = self.has_other_words || !is_decimal_comma(field);
                self.first_word.get_or_insert_with(|| (quoted(field.trim_ascii()), line()));
            }
        }
    }

    /// Where a column of numbers became one of text.
    fn hint(&self) -> String {
        match &self.first_word {
            Some((word, line)) if self.has_numbers => format!("; the first that is no number is {word} in line {line}"),
            _ => String::new(),
        }
    }

    fn note(&self, column: &Column) -> Option<String> {
        let name = column.name();
        match (column, &self.first_word) {
            (Column::Ignored { .. }, _) => Some(format!("the column {name:?} has no values and is ignored")),
            (_, Some((word, line))) if self.has_numbers => {
                Some(format!("the column {name:?} has numbers and text, first {word} in line {line}: all its values are categories"))
            }
            _ => None,
        }
    }
}

fn looks(layout: &Layout, bytes: &[u8], origin: &str) -> Result<Vec<Look>> {
    let mut looks = vec![Look::default(); layout.chosen.features.len()];
    each_row(layout, bytes, origin, |table, record| {
        for (look, &j) in looks.iter_mut().zip(&layout.chosen.features) {
            look.take_in(&record[j], || table.line(record));
        }
        Ok(())
    })?;
    for (look, &j) in looks.iter().zip(&layout.chosen.features) {
        if let Some((word, line)) = look.first_word.as_ref().filter(|_| !look.has_other_words) {
            let reason = format!("the value {word} of {:?} is not a number; write decimals with a point", layout.name(j));
            return Err(Error::format(origin, Some(*line), Some(j + 1), reason));
        }
    }
    Ok(looks)
}

/// Shows every row after the header, which must be as long as the first.
fn each_row(layout: &Layout, bytes: &[u8], origin: &str, mut show: impl FnMut(&Table, &ByteRecord) -> Result<()>) -> Result<()> {
    let mut table = Table::new(bytes, origin, layout.delimiter, 0);
    let mut record = ByteRecord::new();
    if layout.header.is_some() {
        table.next(&mut record)?;
    }
    while table.next(&mut record)? {
        if record.len() != layout.width {
            let reason = format!("this row has {}, but the first row has {}", fields(record.len()), layout.width);
            return Err(table.refuse(&record, None, reason));
        }
        show(&table, &record)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::data::{
        Dataset,
        read::{Read, Reading, csv::read},
    };

    const CLASSES: Reading = Reading::CLASSES;

    fn table(text: &str, how: &Reading) -> Read {
        read(text.as_bytes(), "a.csv", how).unwrap()
    }

    fn refusal(text: &str, how: &Reading) -> String {
        read(text.as_bytes(), "a.csv", how).unwrap_err().to_string()
    }

    fn rows(dataset: &Dataset) -> Vec<Vec<f64>> {
        dataset.points.to_dense().iter().map(<[f64]>::to_vec).collect()
    }

    fn names(dataset: &Dataset) -> Vec<&str> {
        dataset.names.iter().flatten().map(String::as_str).collect()
    }

    const CENSUS: &str =
        "age,job,hours,pay\r\n39, State-gov ,40,<=50K\r\n?,\"Self, emp\",13,>50K\r\n28,?,40,<=50K\r\n37,State-gov,45,>50K\r\n";

    #[test]
    fn text_becomes_indicators_and_missing_numbers_the_median() {
        let found = table(CENSUS, &CLASSES);
        assert_eq!(names(&found.dataset), ["age", "age=missing", "job=Self, emp", "job=State-gov", "job=missing", "hours"]);
        let expected = [
            [39.0, 0.0, 0.0, 1.0, 0.0, 40.0],
            [37.0, 1.0, 1.0, 0.0, 0.0, 13.0],
            [28.0, 0.0, 0.0, 0.0, 1.0, 40.0],
            [37.0, 0.0, 0.0, 1.0, 0.0, 45.0],
        ];
        assert_eq!(rows(&found.dataset), expected);
        let summary = "1 text column became 3 indicator features; 1 column has missing values (imputed by the median, with an indicator)";
        assert_eq!(found.notes, ["target: column 4, \"pay\"", summary]);
    }

    #[test]
    fn a_model_encodes_columns_in_any_order_and_counts_what_is_new() {
        let model = Reading { table: table(CENSUS, &CLASSES).dataset.table, ..CLASSES };
        let found = table(
            "extra,hours,pay,job,age\n1,,>50K,Clerk,20\n2,3,<=50K,?,NaN\n",
            &Reading { target_column: Some("pay".into()), ..model.clone() },
        );
        assert_eq!(rows(&found.dataset), [[20.0, 0.0, 0.0, 0.0, 0.0, 40.0], [37.0, 1.0, 0.0, 0.0, 1.0, 3.0]]);
        let notes = [
            "target: column 3, \"pay\"",
            "left out: column 1, \"extra\"",
            "1 value of \"job\" not seen in training, first \"Clerk\": all indicators of the column are 0",
            "1 missing value of \"hours\", which has none in training, imputed by the median 40",
        ];
        assert_eq!(found.notes, notes);
        let unlabelled = table("job,age,hours\n?,1,2\n", &model);
        assert_eq!(rows(&unlabelled.dataset), [[1.0, 0.0, 0.0, 0.0, 1.0, 2.0]]);
        let without_header = table("1,?,2\n", &model);
        assert_eq!(rows(&without_header.dataset), rows(&unlabelled.dataset));
        assert_eq!(
            refusal("job,hours,pay\nx,1,y\n", &model),
            "a.csv: there is no column \"age\", which the model needs; the columns are job, hours, pay"
        );
        assert_eq!(
            refusal("age,job,hours\n1,x,2\nold,x,2\n", &model),
            "a.csv, line 3, column 1: the value \"old\" of \"age\" is not a number"
        );
        assert_eq!(
            refusal("1,2\n", &model),
            "a.csv: the model was trained on 3 columns beside the target: expected 3 columns, or one more for the target, found 2"
        );
    }

    #[test]
    fn without_a_header_columns_are_called_by_their_numbers() {
        let found = table("red,1,a\nblue,2,b\n7,?,a\n", &CLASSES);
        assert_eq!(names(&found.dataset), ["column 1=7", "column 1=blue", "column 1=red", "column 2", "column 2=missing"]);
        let model = Reading { table: found.dataset.table, ..CLASSES };
        assert_eq!(rows(&table("blue,3\nred,4\n", &model).dataset), [[0.0, 1.0, 0.0, 3.0, 0.0], [0.0, 0.0, 1.0, 4.0, 0.0]]);
        assert_eq!(rows(&table("x,y,z\nblue,3,a\n", &model).dataset), [[0.0, 1.0, 0.0, 3.0, 0.0]]);
    }

    #[test]
    fn ignored_columns_make_no_feature_and_are_ignored_again() {
        let how = Reading { ignore: vec!["id".into(), "4".into()], target_column: Some("y".into()), ..CLASSES };
        let found = table("y,id,a,b\nu,x1,1,7\nv,x2,2,8\n", &how);
        assert_eq!((names(&found.dataset), rows(&found.dataset)), (vec!["a"], vec![vec![1.0], vec![2.0]]));
        assert_eq!(found.notes, ["target: column 1, \"y\"", "left out: column 2, \"id\"; column 4, \"b\""]);
        let model = Reading { table: found.dataset.table, ..CLASSES };
        let again = table("id,a,y,b\nx9,5,u,oops\n", &model);
        assert_eq!((rows(&again.dataset), again.dataset.classes().unwrap().labels.len()), (vec![vec![5.0]], 1));
        assert_eq!(rows(&table("x9,5,oops\n", &model).dataset), [[5.0]]);
        assert_eq!(
            refusal("a,y\n1,u\n", &Reading { ignore: vec!["gone".into()], ..CLASSES }),
            "a.csv: there is no column \"gone\" to ignore; the columns are a, y"
        );
        let target = Reading { ignore: vec!["y".into()], target_column: Some("y".into()), ..CLASSES };
        assert_eq!(refusal("a,y\n1,u\n", &target), "a.csv: column 2, \"y\" is the target and cannot be ignored");
        let last = table("a,b,note\n1,u,x\n2,v,y\n", &Reading { ignore: vec!["note".into()], ..CLASSES });
        assert_eq!(names(&last.dataset), ["a"]);
    }

    #[test]
    fn a_column_without_values_is_ignored_with_a_note() {
        let found = table("a,b,y\n1,,u\n2,NA,v\n", &CLASSES);
        assert_eq!((names(&found.dataset), rows(&found.dataset)), (vec!["a"], vec![vec![1.0], vec![2.0]]));
        assert_eq!(found.notes[1], "the column \"b\" has no values and is ignored");
        assert_eq!(refusal("a,y\n?,u\n,v\n", &CLASSES), "a.csv: there is no column with a value for a feature beside the target");
    }

    #[test]
    fn a_text_for_nearly_every_row_is_an_error_that_names_the_column() {
        let ids: String = (0..40).map(|i| format!("id{i},{i},u\n")).collect();
        let expected =
            "a.csv: the column \"id\" has 40 different texts in 40 rows, too many to be categories; leave it out with --ignore id";
        assert_eq!(refusal(&format!("id,a,y\n{ids}"), &CLASSES), expected);
        let typo: String = (0..40).map(|i| if i == 30 { "3O,u\n".into() } else { format!("{i},u\n") }).collect();
        let expected = "a.csv: the column \"column 1\" has 40 different texts in 40 rows, too many to be categories; the first that is no number is \"3O\" in line 31; leave it out with --ignore 1";
        assert_eq!(refusal(&typo, &CLASSES), expected);
    }

    #[test]
    fn numbers_among_text_are_categories_and_a_note_reports_it() {
        let found = table("a,y\n1,u\n2,v\n3+,u\n1,u\n", &CLASSES);
        assert_eq!(names(&found.dataset), ["a=1", "a=2", "a=3+"]);
        assert_eq!(found.notes[1], "the column \"a\" has numbers and text, first \"3+\" in line 4: all its values are categories");
    }

    #[test]
    fn complete_numbers_are_read_as_they_are() {
        let found = table("a,b,y\n1,2,u\n3,4,v\n", &CLASSES);
        assert_eq!((found.dataset.table, found.dataset.names.unwrap().len()), (None, 2));
    }

    #[test]
    fn text_must_be_utf8() {
        let text = read(b"a,b,y\nx,1,u\n\xe9,2,v\n", "a.csv", &CLASSES).unwrap_err().to_string();
        assert_eq!(text, "a.csv, line 3, column 1: the text of \"a\" is not valid UTF-8");
    }
}
