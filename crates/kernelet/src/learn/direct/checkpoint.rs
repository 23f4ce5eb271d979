//! A search that can be stopped and taken up again: the machine so far, written from time to time.
//!
//! A checkpoint is a model file like any other and predicts; to go on, its vectors and the number of steps behind them are read back.
use std::{
    path::Path,
    time::{Duration, Instant},
};

use crate::{
    Error, Result,
    kernel::Kernel,
    linalg::Matrix,
    machine::{Machine, Metadata},
    model,
    watch::Watch,
};

/// How long after the last one a checkpoint is written.
const EVERY: Duration = Duration::from_secs(30);

/// Where a search had come to.
#[derive(Debug)]
pub(crate) struct Checkpoint {
    pub vectors: Matrix,
    pub iterations: usize,
}

impl Checkpoint {
    /// True when it is time to write one: after a while, and before the end of a cancelled run.
    pub fn due(last: Instant, watch: &Watch) -> bool {
        last.elapsed() >= EVERY || watch.cancelled()
    }

    /// Writes the machine after so many steps. A file that cannot be written does not end the search; progress reports it.
    pub fn keep(file: &Path, machine: Result<Machine>, iterations: usize, watch: &Watch) {
        let written = machine.and_then(|machine| {
            let metadata = Metadata { steps: Some(iterations as u64), ..machine.metadata };
            model::save(&Machine { metadata, ..machine }, file)
        });
        if let Err(error) = written {
            watch.report(&format!("no checkpoint ({error})"), iterations as u64, None, None);
        }
    }

    /// What the file holds; nothing where there is none. A model that cannot be gone on with is an error.
    pub fn read(file: &Path, kernel: &Kernel, vectors: usize, dim: usize) -> Result<Option<Checkpoint>> {
        if !file.exists() {
            model::check_writable(file)?;
            return Ok(None);
        }
        let machine = model::load(file)?;
        let steps = machine.metadata.steps;
        let (found, z) = (&machine.expansion.kernel, machine.expansion.vectors.to_dense());
        match steps {
            Some(steps) if found == kernel && z.rows() == vectors && z.cols() == dim => {
                Ok(Some(Checkpoint { vectors: z, iterations: steps as usize }))
            }
            _ => Err(Error::data(format!(
                "{} is not a checkpoint of this search, which has {vectors} vectors of {dim} features and another kernel or another size; \
                 give another file, or delete it to start anew",
                file.display()
            ))),
        }
    }
}
