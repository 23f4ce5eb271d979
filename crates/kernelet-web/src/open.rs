//! Rows from files: read, and split into rows to train on and rows to test with.
use kernelet::{
    Result,
    data::{
        Dataset, Target, digits, digits_split,
        read::{Format, Reading, Wanted, read_bytes},
        stratified_split,
    },
    machine::Machine,
};
use serde_json::{Value, json};

/// The fraction of the rows of one file that is kept for testing, always the same ones.
const TEST_FRACTION: f64 = 0.3;

/// Rows that are open.
pub(crate) struct Rows {
    /// What they are called.
    pub name: String,
    /// Rows to train on.
    pub train: Dataset,
    /// Rows that nothing is chosen by; none where there is no target to compare with.
    pub test: Option<Dataset>,
    /// All rows of the file that `train` is of.
    whole: Dataset,
    notes: Vec<String>,
    suggested: Value,
}

impl Rows {
    /// The built-in digits, with the settings that cross-validation chooses for them.
    pub fn digits() -> Rows {
        let (train, test) = digits_split();
        let suggested = json!({ "gamma": "0.0004", "c": "10" });
        Rows { name: "digits".into(), train, test: Some(test), whole: digits(), notes: vec![], suggested }
    }

    /// Rows of a file.
    pub fn read(bytes: &[u8], name: &str, target: &str, wanted: Wanted) -> Result<Rows> {
        let target_column = Some(target.trim().to_string()).filter(|target| !target.is_empty());
        let read = read_bytes(bytes, name, &Reading { wanted, target_column, ..Reading::default() })?;
        let (data, mut notes) = (read.dataset, read.notes);
        data.check()?;
        let split = match data.target {
            Target::None => None,
            _ => Some(stratified_split(&data.target, TEST_FRACTION, 0)?).filter(|(_, test)| !test.is_empty()),
        };
        let test = split.as_ref().map(|(_, test)| data.select(test));
        let train = split.as_ref().map_or_else(|| data.clone(), |(train, _)| data.select(train));
        if let Some(test) = &test {
            notes.push(format!("{} of {} rows are kept for testing", test.len(), data.len()));
        }
        Ok(Rows { name: stem(name).into(), train, test, whole: data, notes, suggested: json!({}) })
    }

    /// Takes the rows of another file for testing, and all rows so far for training.
    pub fn test_with(&mut self, bytes: &[u8], name: &str) -> Result<()> {
        let data = read_bytes(bytes, name, &self.like())?.dataset;
        data.check()?;
        self.notes = vec![format!("{} rows to train on, and {} test rows of {name}", self.whole.len(), data.len())];
        (self.train, self.test) = (self.whole.clone(), Some(data));
        Ok(())
    }

    fn like(&self) -> Reading {
        let train = &self.train;
        let wanted = match train.target {
            Target::None => Wanted::Nothing,
            Target::Classes(_) => Wanted::Classes,
            Target::Values(_) => Wanted::Values,
        };
        Reading { wanted, names: train.names.clone(), dim: Some(train.dim()), table: train.table.clone(), ..Reading::default() }
    }

    /// What the page shows of them.
    pub fn shown(&self) -> Value {
        let (task, labels) = match &self.train.target {
            Target::None => ("features", vec![]),
            Target::Classes(classes) => ("classes", classes.labels.iter().map(ToString::to_string).collect()),
            Target::Values(_) => ("values", vec![]),
        };
        json!({
            "kind": "rows", "name": self.name, "rows": self.train.len(), "test_rows": self.test.as_ref().map(Dataset::len), "features": self.train.dim(),
            "task": task, "labels": labels, "columns": columns(&self.train), "notes": self.notes, "settings": self.suggested,
        })
    }
}

/// A name without folders and extensions.
pub(crate) fn stem(name: &str) -> &str {
    let name = name.rsplit(['/', '\\']).next().unwrap_or(name);
    name.split('.').next().filter(|stem| !stem.is_empty()).unwrap_or("rows")
}

/// The names of the columns beside the target, where they have some.
fn columns(data: &Dataset) -> Vec<String> {
    match &data.table {
        Some(table) => table.columns.iter().map(|column| column.name().to_string()).collect(),
        None => data.names.clone().unwrap_or_default(),
    }
}

/// Text as a field of CSV.
pub(crate) fn field(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}

/// One row for a machine, as typed: its columns between commas.
pub(crate) fn typed(machine: &Machine, row: &str) -> Result<Dataset> {
    let table = machine.metadata.table.clone();
    let names = match &table {
        Some(table) if table.named => Some(table.columns.iter().map(|column| column.name().to_string()).collect()),
        Some(_) => None,
        None => machine.names.clone(),
    };
    let header = names.map(|names: Vec<String>| names.iter().map(|name| field(name)).collect::<Vec<_>>().join(",") + "\n");
    let text = format!("{}{}\n", header.unwrap_or_default(), row.trim());
    let how = Reading { format: Some(Format::Csv), names: machine.names.clone(), dim: Some(machine.dim()), table, ..Reading::default() };
    let data = read_bytes(text.as_bytes(), "the row", &how)?.dataset;
    data.check()?;
    Ok(data)
}
