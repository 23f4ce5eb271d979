//! How an outcome looks: a table on the screen, a page in Markdown, the cells in CSV.
use super::{Cell, Outcome, Row, summary::Figure};
use crate::layout::{count, counted, exact, figure, table};

/// How a table was made, so that it can be made again.
#[derive(Clone, Debug)]
pub struct Made {
    /// The command line.
    pub command: String,
    /// The version of this program.
    pub version: &'static str,
}

const HEADER: [&str; 9] = ["set", "method", "gamma", "C", "splits", "error %", "printed", "vectors", "printed"];

const MARK: &str = "* differs from the printed value by more than 2 sqrt(2) standard errors and its rounding.";

/// The table for people.
pub fn text(outcome: &Outcome) -> String {
    let rows: Vec<Vec<String>> = outcome.rows.iter().map(row).collect();
    let head = format!("{}: {}\n{}\n\n", outcome.name, outcome.title, outcome.paper);
    let below: String = remarks(outcome).iter().map(|remark| format!("\n{remark}\n")).collect();
    head + &table(&HEADER.map(String::from), &rows) + &below
}

/// The page that goes with the results.
pub fn markdown(outcome: &Outcome, made: &Made) -> String {
    let mut text = format!("# {}\n\n{}.\n\n", outcome.title, outcome.paper);
    text += &line(&HEADER.map(String::from));
    text += "|---|---|--:|--:|--:|--:|--:|--:|--:|\n";
    text.extend(outcome.rows.iter().map(|this| line(&row(this))));
    text += "\nError in percent of the test rows, and number of vectors: mean +- standard error over splits.\n";
    text.extend(remarks(outcome).iter().map(|remark| format!("\n{}\n", escaped(remark))));
    text += &format!("\nMade with kernelet {}, {}:\n\n```text\n{}\n```\n", made.version, splits(outcome), made.command);
    text
}

/// The cells, after lines with `#` that tell how they were made.
pub fn csv(outcome: &Outcome, made: &Made) -> String {
    let mut text = format!("# kernelet {}, {}\n# {}\n", made.version, splits(outcome), made.command);
    text += "set,method,split,train_rows,test_rows,error,vectors,status\n";
    for Cell { set, method, split, train_rows, test_rows, error, vectors, status, .. } in &outcome.cells {
        let (set, method, error) = (field(set), field(method), exact(*error));
        text += &format!("{set},{method},{split},{train_rows},{test_rows},{error},{vectors},{}\n", status.name());
    }
    text
}

fn row(row: &Row) -> Vec<String> {
    let [(error, error_printed), (vectors, vectors_printed)] = [compared(&row.error_percent, 2), compared(&row.vectors, 1)];
    let names = [row.set.clone(), row.method.clone(), setting(row.gamma), setting(row.c), count(row.splits)];
    [names.to_vec(), vec![error, error_printed, vectors, vectors_printed]].concat()
}

/// A setting, the shorter way.
fn setting(value: Option<f64>) -> String {
    let Some(value) = value else { return String::new() };
    let (plain, scientific) = (figure(value), format!("{value:e}"));
    if plain.len() <= scientific.len() { plain } else { scientific }
}

/// Mean and standard error with so many digits, and the printed value with a mark where they differ.
fn compared(figure: &Figure, digits: usize) -> (String, String) {
    let mean = match figure.standard_error {
        Some(error) => format!("{:.digits$} +- {error:.digits$}", figure.mean),
        None => format!("{:.digits$}", figure.mean),
    };
    let printed = figure.printed.map(|printed| format!("{printed:.1}{}", if figure.differs { " *" } else { "" }));
    (mean, printed.unwrap_or_default())
}

/// What is to be said below the table.
fn remarks(outcome: &Outcome) -> Vec<&str> {
    let marked = outcome.rows.iter().any(|row| row.error_percent.differs || row.vectors.differs);
    marked.then_some(MARK).into_iter().chain(outcome.note.as_deref()).collect()
}

/// How many splits there were.
fn splits(outcome: &Outcome) -> String {
    let all = outcome.rows.iter().all(|row| row.splits == outcome.splits);
    counted(outcome.splits, "split") + if all { "" } else { " where there are so many" }
}

fn line(fields: &[String]) -> String {
    let fields: Vec<String> = fields.iter().map(|field| escaped(field)).collect();
    format!("| {} |\n", fields.join(" | "))
}

/// A text as Markdown wants it.
fn escaped(text: &str) -> String {
    text.replace('|', "\\|").replace('*', "\\*")
}

/// A text as CSV wants it.
fn field(text: &str) -> String {
    match text.contains([',', '"', '\n', '\r', '#']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.into(),
    }
}

#[cfg(test)]
mod tests {
    use kernelet::watch::Status;

    use super::*;

    fn outcome() -> Outcome {
        let figure = |mean, printed, differs| Figure { mean, standard_error: Some(0.5), printed, differs };
        let cell = |split, error| Cell {
            set: "a,b".into(),
            method: "svm".into(),
            split,
            train_rows: 40,
            test_rows: 50,
            error,
            vectors: 7,
            status: Status::Converged,
            seconds: 0.1,
        };
        let row = Row {
            set: "a,b".into(),
            method: "svm".into(),
            gamma: Some(0.5),
            c: None,
            splits: 2,
            error_percent: figure(11.0, Some(9.0), true),
            vectors: figure(7.0, None, false),
        };
        Outcome {
            name: "x".into(),
            title: "Title".into(),
            paper: "Paper".into(),
            note: Some("Note.".into()),
            splits: 2,
            rows: vec![row],
            cells: vec![cell(1, 0.1), cell(2, 0.12)],
        }
    }

    #[test]
    fn the_page_tells_how_it_was_made_and_marks_what_differs() {
        let made = Made { command: "kernelet reproduce x".into(), version: "1.2.3" };
        let page = markdown(&outcome(), &made);
        assert!(page.contains("| a,b | svm | 0.5 |  | 2 | 11.00 +- 0.50 | 9.0 \\* | 7.0 +- 0.5 |  |\n"), "{page}");
        assert!(page.contains("\\* differs from") && page.contains("Note.\n"), "{page}");
        assert!(page.contains("Made with kernelet 1.2.3, 2 splits:\n\n```text\nkernelet reproduce x\n```\n"), "{page}");
        let csv = csv(&outcome(), &made);
        let expected = "# kernelet 1.2.3, 2 splits\n# kernelet reproduce x\n\
            set,method,split,train_rows,test_rows,error,vectors,status\n\
            \"a,b\",svm,1,40,50,0.1,7,converged\n\"a,b\",svm,2,40,50,0.12,7,converged\n";
        assert_eq!(csv, expected);
    }

    #[test]
    fn settings_are_short() {
        let cases = [(316.2, "316.2"), (1e9, "1e9"), (1.0 / 30.0, "0.0333333"), (1.0, "1"), (1e-7, "1e-7")];
        cases.iter().for_each(|&(value, text)| assert_eq!(setting(Some(value)), text));
    }

    #[test]
    fn fewer_splits_than_asked_for_are_said() {
        let outcome = Outcome { splits: 5, ..outcome() };
        assert_eq!(splits(&outcome), "5 splits where there are so many");
        assert!(text(&outcome).contains("11.00 +- 0.50"));
    }
}
