//! Completed cells are stored, so that an interrupted run can resume: a line of JSON for each cell in `NAME.jsonl`, after a first line that
//! identifies the experiment, its data and its seed. Cells of a different experiment are not reused.
use std::{
    collections::BTreeMap,
    fs::{self, File, OpenOptions},
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    sync::Mutex,
};

use kernelet::{Error, Result, model::write_atomically, text::counted};
use serde::{Deserialize, Serialize};

use super::{
    Cell, Context, Experiment,
    choose::Chosen,
    description::{Description, Method, Set},
};

/// One line.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Line {
    /// What the cells belong to.
    Experiment(String),
    /// Values that were chosen for a set.
    Choice { set: String, place: usize, chosen: Chosen },
    /// A cell.
    Cell(Cell),
}

/// What was done before, and where more is written; nowhere without a directory for results.
#[derive(Default)]
pub struct Journal {
    cells: BTreeMap<(String, String, usize, u64), Cell>,
    choices: BTreeMap<(String, usize), Chosen>,
    file: Option<(PathBuf, Mutex<File>)>,
}

impl Journal {
    /// Reads what is there, and gets ready to write more.
    pub fn open(experiment: &Experiment, context: &Context) -> Result<Journal> {
        let Some(output) = context.output else { return Ok(Journal::default()) };
        let path = output.join(format!("{}.jsonl", experiment.name));
        let belongs = belonging(experiment, context)?;
        let mut journal = Journal::default();
        let lines = read(&path)?;
        let same = matches!(lines.first(), Some(Line::Experiment(text)) if *text == belongs);
        if same {
            lines.into_iter().for_each(|line| journal.take(line));
            if !journal.cells.is_empty() {
                let cells = counted(journal.cells.len(), "cell");
                (context.note)(&format!(
                    "{}: {cells} of an earlier run are kept; without {} all are computed anew",
                    experiment.name,
                    path.display()
                ));
            }
        } else if !lines.is_empty() {
            let old = path.with_extension("jsonl.old");
            fs::rename(&path, &old).map_err(|source| Error::io(&old, source))?;
            let old = old.display();
            (context.note)(&format!(
                "{}: the experiment, its data or its seed have changed; all cells are computed anew, the others are in {old}",
                experiment.name
            ));
        }
        // Written anew, so that a last line that was cut off is gone.
        let choices =
            journal.choices.iter().map(|((set, place), chosen)| Line::Choice { set: set.clone(), place: *place, chosen: chosen.clone() });
        let cells = journal.cells.values().map(|cell| Line::Cell(cell.clone()));
        let lines =
            [Line::Experiment(belongs)].into_iter().chain(choices).chain(cells).map(|line| text(&line)).collect::<Result<String>>()?;
        write_atomically(&path, |writer| writer.write_all(lines.as_bytes()))?;
        let file = OpenOptions::new().append(true).open(&path).map_err(|source| Error::io(&path, source))?;
        journal.file = Some((path, Mutex::new(file)));
        Ok(journal)
    }

    fn take(&mut self, line: Line) {
        match line {
            Line::Experiment(_) => {}
            Line::Choice { set, place, chosen } => drop(self.choices.insert((set, place), chosen)),
            Line::Cell(cell) => drop(self.cells.insert((cell.set.clone(), cell.method.clone(), cell.split, cell.seed), cell)),
        }
    }

    /// A cell of an earlier run.
    pub fn cell(&self, set: &str, method: &str, split: usize, seed: u64) -> Option<Cell> {
        self.cells.get(&(set.into(), method.into(), split, seed)).cloned()
    }

    /// A choice of an earlier run.
    pub fn choice(&self, set: &str, place: usize) -> Option<Chosen> {
        self.choices.get(&(set.into(), place)).cloned()
    }

    /// Keeps a cell.
    pub fn keep(&self, cell: &Cell) -> Result<()> {
        self.write(&Line::Cell(cell.clone()))
    }

    /// Keeps a choice.
    pub fn keep_choice(&self, set: &str, place: usize, chosen: &Chosen) -> Result<()> {
        self.write(&Line::Choice { set: set.into(), place, chosen: chosen.clone() })
    }

    fn write(&self, line: &Line) -> Result<()> {
        let Some((path, file)) = &self.file else { return Ok(()) };
        let text = text(line)?;
        let mut file = file.lock().map_err(|_| Error::data("a thread that wrote results has failed"))?;
        file.write_all(text.as_bytes()).map_err(|source| Error::io(path, source))
    }
}

/// A line with its end.
fn text(line: &Line) -> Result<String> {
    serde_json::to_string(line).map(|text| text + "\n").map_err(|error| Error::data(format!("no JSON could be made: {error}")))
}

/// The lines that can be read; a file that is no journal is refused, for it would be overwritten.
fn read(path: &Path) -> Result<Vec<Line>> {
    if !path.exists() {
        return Ok(vec![]);
    }
    let refused = || Error::data(format!("{} is not a journal of kernelet reproduce; move it away", path.display()));
    if !path.is_file() {
        return Err(refused());
    }
    let file = File::open(path).map_err(|source| Error::io(path, source))?;
    let all = BufReader::new(file).lines().map_while(std::result::Result::ok);
    let lines: Vec<Line> = all.filter_map(|line| serde_json::from_str(&line).ok()).collect();
    match lines.first() {
        Some(Line::Experiment(_)) => Ok(lines),
        _ => Err(refused()),
    }
}

/// What makes cells the same: the description, the version, the seed and the bytes of the data, but neither words, nor pictures, nor the numbers of
/// splits and seeds, nor how they are compared.
fn belonging(experiment: &Experiment, context: &Context) -> Result<String> {
    let description = experiment.description.clone();
    let (methods, sets) = (description.methods.clone(), description.sets.clone());
    let description = Description {
        title: String::new(),
        paper: String::new(),
        note: None,
        splits: 1,
        seeds: 1,
        printed_splits: None,
        rounding: BTreeMap::new(),
        figures: vec![],
        variance: vec![],
        methods: methods.into_iter().map(|method| Method { random: false, quoted: false, ..method }).collect(),
        sets: sets.into_iter().map(|set| Set { printed_splits: None, own_splits: 0, ..set }).collect(),
        ..description
    };
    let json = serde_json::to_string(&description).map_err(|error| Error::data(format!("no JSON could be made: {error}")))?;
    let sums: Vec<String> = experiment.files(context.data_dir).iter().filter_map(kernelet::data::checksum::of_file).collect();
    let text = format!("{} {} {} {json} {}", experiment.name, env!("CARGO_PKG_VERSION"), context.seed, sums.join(" "));
    Ok(kernelet::data::checksum::of(text.as_bytes()).unwrap_or(text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use kernelet::watch::Status;

    #[test]
    fn a_line_that_was_cut_off_is_left_out() {
        let cell = Cell {
            set: "a".into(),
            method: "m".into(),
            split: 1,
            seed: 0,
            train_rows: 1,
            test_rows: 1,
            error: 0.25,
            train_error: None,
            vectors: 3,
            relative_residual: None,
            wrong_sides: None,
            own_vectors: None,
            objective: 1.0,
            iterations: 2,
            evaluations: 3,
            status: Status::Converged,
            seconds: 0.5,
        };
        let path = std::env::temp_dir().join(format!("kernelet-journal-{}.jsonl", std::process::id()));
        let line = serde_json::to_string(&Line::Cell(cell)).unwrap();
        std::fs::write(&path, format!("{{\"experiment\":\"x\"}}\n{line}\n{}", &line[..20])).unwrap();
        let lines = read(&path).unwrap();
        std::fs::write(&path, "{\"my\":\"data\"}\n").unwrap();
        assert!(read(&path).is_err());
        std::fs::remove_file(&path).unwrap();
        let mut journal = Journal::default();
        assert_eq!(lines.len(), 2);
        lines.into_iter().for_each(|line| journal.take(line));
        assert_eq!(journal.cell("a", "m", 1, 0).map(|cell| (cell.vectors, cell.error)), Some((3, 0.25)));
        assert!(journal.cell("a", "m", 2, 0).is_none() && journal.cell("a", "m", 1, 1).is_none());
    }
}
