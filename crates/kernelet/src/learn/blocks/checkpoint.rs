//! A search by passes that can be taken up again: a model file with the vectors so far and the steps behind them.
use std::{
    fmt,
    path::Path,
    time::{Duration, Instant},
};

use serde::{Deserialize, Serialize};

use crate::{
    Error, Result,
    data::checksum,
    machine::{Machine, Metadata},
    model::{self, native::Extra},
    watch::Watch,
};

/// How long after the last one a checkpoint is written.
const EVERY: Duration = Duration::from_secs(30);

/// The file, and the problem that it belongs to.
pub(super) struct Kept<'a> {
    file: &'a Path,
    problem: String,
    written: Instant,
}

/// The vectors of an earlier run, and the steps behind them.
pub(super) type Begun = (Vec<f64>, usize);

#[derive(Serialize, Deserialize)]
struct Entry {
    problem: String,
    steps: usize,
}

impl<'a> Kept<'a> {
    /// For rows of `dim` features; and the vectors and steps in the file, where there is one.
    pub fn open(file: &'a Path, problem: &dyn fmt::Debug, dim: usize, watch: &Watch) -> Result<(Self, Option<Begun>)> {
        let problem = checksum::of_debug(&(env!("CARGO_PKG_VERSION"), "blocks", problem));
        let kept = Kept { file, problem, written: Instant::now() };
        if !file.exists() {
            model::check_writable(file)?;
            return Ok((kept, None));
        }
        let extra = model::native::load_extra(file)?;
        let entry = extra.and_then(|extra| Some((serde_json::from_slice::<Entry>(extra.text.as_bytes()).ok()?, extra.numbers)));
        match entry
            .filter(|(entry, vectors)| entry.problem == kept.problem && !vectors.is_empty() && vectors.len().is_multiple_of(dim.max(1)))
        {
            Some((entry, vectors)) => {
                watch.note(format!("resumed after {} steps from {}", entry.steps, file.display()));
                Ok((kept, Some((vectors, entry.steps))))
            }
            None => Err(Error::data(format!(
                "{} is not a checkpoint of this search by blocks, with these rows and settings; give another file, or delete it to start anew",
                file.display()
            ))),
        }
    }

    /// True when it is time to write one: after a while, and before the end of a cancelled run.
    pub fn due(&self, watch: &Watch) -> bool {
        self.written.elapsed() >= EVERY || watch.cancelled()
    }

    /// Writes the machine with the vectors after so many steps. A file that cannot be written does not end the search; a note reports it.
    pub fn write(&mut self, machine: Result<Machine>, vectors: &[f64], steps: usize, watch: &Watch) {
        let written = machine.and_then(|machine| {
            let metadata = Metadata { steps: Some(steps as u64), ..machine.metadata };
            let entry = Entry { problem: self.problem.clone(), steps };
            let text = serde_json::to_string(&entry).map_err(|error| Error::data(error.to_string()))?;
            model::native::save_with(&Machine { metadata, ..machine }, &Extra { text, numbers: vectors.to_vec() }, self.file)
        });
        if let Err(error) = written {
            watch.note(format!("no checkpoint after {steps} steps: {error}"));
        }
        self.written = Instant::now();
    }
}
