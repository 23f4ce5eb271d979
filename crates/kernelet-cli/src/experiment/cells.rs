//! The work: every set, method and split is a cell, and the cells run side by side.
use std::{
    path::Path,
    sync::atomic::{AtomicU64, Ordering},
    time::Instant,
};

use kernelet::{
    learn::Learner,
    watch::{Status, Watch},
};
use rayon::prelude::*;
use serde::Serialize;

use super::{
    Experiment, Outcome,
    description::{Method, Set},
    material::Material,
};
use crate::{
    failure::{Failure, Result},
    layout::counted,
    session::Session,
};

/// Seeds of one experiment lie this far from those of the next seed; see [`super::description::MOST_SPLITS`].
const SEEDS_APART: u64 = 1_000_000;

/// What came of one set, method and split.
#[derive(Clone, Debug, Serialize)]
pub struct Cell {
    /// The set.
    pub set: String,
    /// The method.
    pub method: String,
    /// The split, from 1.
    pub split: usize,
    /// Rows to train on.
    pub train_rows: usize,
    /// Rows to test on.
    pub test_rows: usize,
    /// The part of the test rows predicted wrongly.
    pub error: f64,
    /// Vectors of the machine.
    pub vectors: usize,
    /// How learning ended.
    pub status: Status,
    /// Time to learn and to predict.
    pub seconds: f64,
}

/// A cell that is still to be done.
struct Todo<'a> {
    set: &'a Set,
    material: &'a Material,
    method: &'a Method,
    split: usize,
    /// Seed of what the learner draws, such as a basis.
    seed: u64,
}

/// Runs an experiment on the sets in `directory`, with `splits` of each set where that is said.
pub fn run(experiment: &Experiment, directory: &Path, splits: Option<usize>, session: &Session) -> Result<Outcome> {
    let mut experiment = experiment.clone();
    let own = experiment.description.seed.wrapping_add(session.seed);
    let seed = own.wrapping_mul(SEEDS_APART);
    let materials = experiment.description.sets.iter().map(|set| Ok(set.material(directory, seed)?)).collect::<Result<Vec<_>>>()?;
    choose_widths(&mut experiment, &materials, session)?;
    let description = &experiment.description;
    let wanted = splits.unwrap_or(description.splits);
    let mut todo = vec![];
    for (set, material) in description.sets.iter().zip(&materials) {
        let splits = wanted.min(material.available().unwrap_or(wanted));
        if splits < wanted {
            session.note(format!("{}: {} has {}, not {wanted}", experiment.name, set.name, counted(splits, "split")));
        }
        for method in &description.methods {
            todo.extend((0..splits).map(|split| Todo { set, material, method, split, seed: own }));
        }
    }
    session.detail(format!("{}: {}", experiment.name, counted(todo.len(), "cell")));
    let cells = run_all(&experiment.name, &todo, session)?;
    let ended = |cell: &&Cell| !matches!(cell.status, Status::Converged | Status::IterationLimit);
    if let Some(cell) = cells.iter().find(ended) {
        session.note(format!("{}: not all machines converged, the first on {}, split {}", experiment.name, cell.set, cell.split));
    }
    Ok(Outcome::new(&experiment, wanted, cells))
}

/// Gives every set the width that the description lets it choose.
fn choose_widths(experiment: &mut Experiment, materials: &[Material], session: &Session) -> Result<()> {
    let (description, watch) = (&experiment.description, session.watch());
    let Some(widths) = &description.widths else { return Ok(()) };
    let mut sets = vec![];
    for (set, material) in description.sets.iter().zip(materials) {
        session.check_cancelled()?;
        let width = widths.choose(description, set, material, &watch);
        let width = width.map_err(|reason| Failure::failed(format!("{}, {}: {reason}", experiment.name, set.name)))?;
        session.detail(format!("{}: {} has the width {width}", experiment.name, set.name));
        sets.push(set.with_width(width));
        watch.report("widths", sets.len() as u64, Some(description.sets.len() as u64), None);
    }
    session.check_cancelled()?;
    experiment.description.sets = sets;
    Ok(())
}

fn run_all(name: &str, todo: &[Todo], session: &Session) -> Result<Vec<Cell>> {
    let (watch, done) = (session.watch(), AtomicU64::new(0));
    let work = |item: &Todo| {
        session.check_cancelled()?;
        let cell = item.run(&watch.silent());
        let cell = cell.map_err(|reason| Failure::failed(format!("{name}, {}, split {}: {reason}", item.set.name, item.split + 1)))?;
        session.check_cancelled()?;
        watch.report(name, done.fetch_add(1, Ordering::Relaxed) + 1, Some(todo.len() as u64), None);
        Ok(cell)
    };
    todo.par_iter().with_max_len(1).map(work).collect()
}

impl Todo<'_> {
    fn run(&self, watch: &Watch) -> std::result::Result<Cell, String> {
        let (train, test) = self.material.split(self.split);
        let learner = self.set.learner_for(self.method, &train, self.seed, watch)?;
        let clock = Instant::now();
        let fit = learner.learn(&train, watch).map_err(|error| error.to_string())?;
        let error = fit.machine.score(&test).map_err(|error| error.to_string())?.loss();
        Ok(Cell {
            set: self.set.name.clone(),
            method: self.method.name.clone(),
            split: self.split + 1,
            train_rows: train.len(),
            test_rows: test.len(),
            error,
            vectors: fit.machine.vectors(),
            status: fit.report.status,
            seconds: clock.elapsed().as_secs_f64(),
        })
    }
}
