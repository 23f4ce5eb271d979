//! The work: every set, method and split is a cell. The methods of a split run one after the other and share their full machines; splits run
//! side by side. What is done is kept in a journal at once.
use std::{
    collections::BTreeMap,
    path::Path,
    sync::atomic::{AtomicU64, Ordering},
    time::Instant,
};

use kernelet::{
    Error, Result,
    data::Dataset,
    learn::Report,
    machine::Machine,
    text::counted,
    watch::{Status, Watch},
};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::{
    Context, Experiment, Outcome, Quantity,
    choose::{Chosen, Place, listed},
    description::{Description, Method, Set, Values},
    journal::Journal,
    machines::{Machines, Ready},
    material::Material,
    picture::Drawn,
    represent, settings,
    sides::{own_vectors, wrong_sides},
};

/// Seeds of one experiment lie this far from those of the next seed; see [`super::description::MOST_SPLITS`].
const SEEDS_APART: u64 = 1_000_000;

/// A result whose error is a sentence.
type Words<T> = std::result::Result<T, String>;

/// What came of one set, method and split.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Cell {
    /// The set.
    pub set: String,
    /// The method.
    pub method: String,
    /// The split, from 1.
    pub split: usize,
    /// The seed.
    #[serde(default)]
    pub seed: u64,
    /// Rows to train on.
    pub train_rows: usize,
    /// Rows to test on.
    pub test_rows: usize,
    /// The part of the test rows predicted wrongly, or the mean squared error.
    #[serde(deserialize_with = "number")]
    pub error: f64,
    /// The same on the training rows, where it is wanted.
    pub train_error: Option<f64>,
    /// Vectors of the machine.
    pub vectors: usize,
    /// The squared distance of the weight vectors from those before compression, as a fraction of their length.
    pub relative_residual: Option<f64>,
    /// Test rows on the wrong side of each output, where they are wanted.
    #[serde(default)]
    pub wrong_sides: Option<Vec<usize>>,
    /// Vectors of each output, where they are wanted.
    #[serde(default)]
    pub own_vectors: Option<Vec<usize>>,
    /// The objective of learning.
    #[serde(deserialize_with = "number")]
    pub objective: f64,
    /// Steps of learning.
    pub iterations: u64,
    /// Kernel evaluations of learning.
    pub evaluations: u64,
    /// How it ended.
    pub status: Status,
    /// Time to learn, or to compress what was learned.
    pub seconds: f64,
}

/// A number, which JSON has as null where it is not finite.
fn number<'a, D: serde::Deserializer<'a>>(source: D) -> std::result::Result<f64, D::Error> {
    Ok(Option::deserialize(source)?.unwrap_or(f64::NAN))
}

/// One split of a set.
struct Split<'a> {
    experiment: &'a Experiment,
    set: &'a Set,
    material: &'a Material,
    chosen: &'a Chosen,
    split: usize,
    /// Seed of what learners draw, such as a basis.
    seed: u64,
    /// How many seeds came before it.
    turn: u64,
}

/// Runs an experiment. A run that is cancelled is an error; with a directory for results its cells are kept, and the next run goes on from there.
pub fn run(experiment: &Experiment, context: &Context) -> Result<Outcome> {
    let description = &experiment.description;
    let own = description.seed.wrapping_add(context.seed);
    let seed = own.wrapping_mul(SEEDS_APART);
    let materials = description.sets.iter().map(|set| set.material(context.data_dir, seed)).collect::<Result<Vec<_>>>()?;
    let journal = Journal::open(experiment, context)?;
    let wanted = context.splits.unwrap_or(description.splits);
    let mut counts = vec![];
    for (set, material) in description.sets.iter().zip(&materials) {
        let splits = wanted.min(material.available().unwrap_or(wanted));
        if splits < wanted {
            (context.note)(&format!("{}: {} has {}, not {wanted}", experiment.name, set.name, counted(splits, "split")));
        }
        counts.push(splits);
    }
    let seeds = context.seeds.unwrap_or(description.seeds);
    let runs = |material: &Material| description.methods.iter().filter(|method| material.is_random() || method.random).count();
    let more = |(material, splits): (&Material, &usize)| splits * (description.methods.len() + (seeds - 1) * runs(material));
    let cells: usize = materials.iter().zip(&counts).map(more).sum();
    (context.detail)(&format!("{}: {}", experiment.name, counted(cells, "cell")));
    let chosen = choose(experiment, &materials, own, &journal, context)?;
    let mut todo = vec![];
    for (((set, material), chosen), splits) in description.sets.iter().zip(&materials).zip(&chosen).zip(counts) {
        for turn in 0..seeds as u64 {
            let seed = own.wrapping_add(turn);
            todo.extend((0..splits).map(|split| Split { experiment, set, material, chosen, split, seed, turn }));
        }
    }
    let cells = run_all(&todo, &journal, context)?;
    Ok(Outcome::new(experiment, (wanted, seeds), chosen, cells))
}

/// The values of each set that the description lets be chosen.
fn choose(experiment: &Experiment, materials: &[Material], seed: u64, journal: &Journal, context: &Context) -> Result<Vec<Chosen>> {
    let (description, watch) = (&experiment.description, &context.watch);
    let mut all = vec![];
    for (set, material) in description.sets.iter().zip(materials) {
        let mut chosen = Chosen::new();
        for (place, choice) in description.choose.iter().enumerate() {
            context.check_cancelled()?;
            let found = match journal.choice(&set.name, place) {
                Some(found) => found,
                None => {
                    let found = choice.run(&Place { description, set, material, seed }, &chosen, watch);
                    context.check_cancelled()?;
                    let found = found.map_err(|reason| Error::data(format!("{}, {}: {reason}", experiment.name, set.name)))?;
                    journal.keep_choice(&set.name, place, &found)?;
                    found
                }
            };
            for (method, values) in found {
                (context.detail)(&format!("{}: {} on {} has {}", experiment.name, method, set.name, listed(&values, |_, _| false)));
                chosen.entry(method).or_default().extend(values);
            }
        }
        all.push(chosen);
        if !description.choose.is_empty() {
            watch.report("choosing", all.len() as u64, Some(description.sets.len() as u64), None);
        }
    }
    Ok(all)
}

fn run_all(todo: &[Split], journal: &Journal, context: &Context) -> Result<Vec<Cell>> {
    let methods = todo.first().map_or(&[][..], |split| &split.experiment.description.methods);
    let total = todo.iter().map(|split| methods.iter().filter(|method| split.concerns(method)).count()).sum::<usize>();
    let (watch, done) = (&context.watch, AtomicU64::new(0));
    let work = |split: &Split| {
        let (train, test) = split.material.split(split.split, split.turn.wrapping_mul(SEEDS_APART));
        let mut machines = Machines::new(split.set, &train, split.seed);
        let mut cells = vec![];
        for method in methods.iter().filter(|method| split.concerns(method)) {
            context.check_cancelled()?;
            let kept =
                journal.cell(&split.set.name, &method.name, split.split + 1, split.seed).filter(|_| split.drawn(method, context.output));
            let cell = match kept {
                Some(cell) => cell,
                None => {
                    let cell = split.run(method, &mut machines, (&train, &test), context.output, &watch.silent());
                    context.check_cancelled()?;
                    let place = format!("{}, {}, split {}", split.experiment.name, split.set.name, split.split + 1);
                    let cell = cell.map_err(|reason| Error::data(format!("{place}: {}: {reason}", method.name)))?;
                    journal.keep(&cell)?;
                    cell
                }
            };
            cells.push(cell);
            watch.report(&split.experiment.name, done.fetch_add(1, Ordering::Relaxed) + 1, Some(total as u64), None);
        }
        Ok(cells)
    };
    let cells: Vec<Vec<Cell>> = todo.par_iter().with_max_len(1).map(work).collect::<Result<_>>()?;
    let mut cells = cells.concat();
    // In the order of the table: set, method, seed, split.
    let places: BTreeMap<&str, usize> = methods.iter().enumerate().map(|(place, method)| (method.name.as_str(), place)).collect();
    let sets: Vec<&str> = todo.iter().map(|split| split.set.name.as_str()).collect();
    let set = |cell: &Cell| sets.iter().position(|name| *name == cell.set);
    cells.sort_by_key(|cell| (set(cell), places.get(cell.method.as_str()).copied(), cell.seed, cell.split));
    Ok(cells)
}

impl Split<'_> {
    /// True where a method is to be run: with later seeds only what depends on them.
    fn concerns(&self, method: &Method) -> bool {
        self.turn == 0 || method.random || self.material.is_random()
    }

    fn run(
        &self,
        method: &Method,
        machines: &mut Machines,
        rows: (&Dataset, &Dataset),
        output: Option<&Path>,
        watch: &Watch,
    ) -> Words<Cell> {
        let (train, test) = rows;
        let none = Values::new();
        let ready = machines.ready(method, self.chosen.get(&method.name).unwrap_or(&none), watch)?;
        let cell = self.empty(method, rows);
        if method.represent.is_some() {
            let clock = Instant::now();
            let found = represent::described(self.set, &ready.train, self.seed, train, test, watch)?;
            let seconds = clock.elapsed().as_secs_f64();
            return Ok(Cell { error: found.test, train_error: Some(found.train), vectors: found.vectors, seconds, ..cell });
        }
        let (mut cell, machine) = self.machine(cell, method, &ready, machines, train, watch)?;
        let loss = |data: &Dataset| machine.score(data).map(|scores| scores.loss()).map_err(|error| error.to_string());
        cell.error = loss(test)?;
        cell.train_error = self.experiment.description.wants(Quantity::TrainError).then(|| loss(train)).transpose()?;
        if !self.set.printed_sides.is_empty() {
            cell.wrong_sides = Some(wrong_sides(&machine, test).map_err(|error| error.to_string())?);
        }
        if !self.set.printed_vectors.is_empty() {
            cell.own_vectors = Some(own_vectors(&machine));
        }
        cell.vectors = machine.n_vectors();
        if let (Some(_), Some(output), (0, 0)) = (&method.draw, output, (self.split, self.turn)) {
            let (experiment, set, chosen) = (self.experiment, self.set, self.chosen);
            Drawn { experiment, set, method, machine: &machine, train, chosen }.write(machines, output, watch)?;
        }
        Ok(cell)
    }

    /// The machine of a method, trained and compressed, and the cell with how it came about.
    fn machine(
        &self,
        cell: Cell,
        method: &Method,
        ready: &Ready,
        machines: &mut Machines,
        train: &Dataset,
        watch: &Watch,
    ) -> Words<(Cell, Machine)> {
        let shared = ready.compress.is_some() || self.experiment.description.is_full(method);
        let trained = match shared {
            true => machines.full(&ready.train, ready.parts.clone(), watch)?,
            false => machines.learn(&ready.train, ready.parts.clone(), watch)?.into(),
        };
        let Report { objective, iterations, evaluations, status, .. } = trained.fit.report;
        let cell = Cell { objective, iterations, evaluations, status, seconds: trained.seconds, ..cell };
        let Some(compress) = &ready.compress else { return Ok((cell, trained.fit.machine.clone())) };
        let clock = Instant::now();
        let request = settings::read_compress(compress, self.seed)?;
        let small = request.run(&trained.fit.machine, Some(train), None, watch).map_err(|error| error.to_string())?;
        let seconds = clock.elapsed().as_secs_f64();
        let relative_residual = small.sizes.last().and_then(|(size, _)| size.relative_residual);
        Ok((Cell { seconds, relative_residual, status: status.worse(small.status), ..cell }, small.machine))
    }

    /// True where nothing is to be drawn of a method, or it was drawn before.
    fn drawn(&self, method: &Method, output: Option<&Path>) -> bool {
        let picture = self.experiment.picture(self.set, method).filter(|_| self.split == 0 && self.turn == 0);
        output.zip(picture).is_none_or(|(directory, name)| directory.join(name).is_file())
    }

    fn empty(&self, method: &Method, (train, test): (&Dataset, &Dataset)) -> Cell {
        Cell {
            set: self.set.name.clone(),
            method: method.name.clone(),
            split: self.split + 1,
            seed: self.seed,
            train_rows: train.len(),
            test_rows: test.len(),
            error: 0.0,
            train_error: None,
            vectors: 0,
            relative_residual: None,
            wrong_sides: None,
            own_vectors: None,
            objective: 0.0,
            iterations: 0,
            evaluations: 0,
            status: Status::Converged,
            seconds: 0.0,
        }
    }
}

impl Description {
    /// True where other methods are parts of this one's machine or are compressed from it.
    fn is_full(&self, method: &Method) -> bool {
        let asked = |method: &Method| (method.compress.is_some().then(|| method.train.clone()).flatten(), method.of.clone());
        self.methods.iter().map(asked).any(|(train, of)| train == method.train || of == method.train)
    }
}
