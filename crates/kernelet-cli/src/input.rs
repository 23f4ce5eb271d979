//! How data and models come in.
use std::path::Path;

use clap::Args;
use kernelet::{
    Error,
    data::{
        Dataset, Points, Reservoir, RowBlocks,
        read::{self, FileBlocks, Format, Read, Reading, Wanted},
        smooth,
    },
    device::Device,
    machine::{Decision, Machine, cascade::Cascade},
    model::{self, Kind, images},
    request::Train,
};

use crate::{
    failure::{Failure, Result},
    layout::counted,
    session::Session,
};

/// Flags that say how data are read.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Reading")]
pub struct Input {
    /// Format of the data: libsvm, csv, npy, npz [default: by the extension].
    #[arg(long, value_name = "NAME", value_parser = format)]
    pub format: Option<Format>,
    /// Column of a table that is the target, by name or counted from 1 [default: the last].
    #[arg(long, value_name = "COLUMN")]
    pub target: Option<String>,
    /// Rows are images: smooth them by a Gaussian of this many pixels as they are read, with --shape. The model does not remember it.
    #[arg(long, value_name = "PIXELS", requires = "shape", allow_negative_numbers = true)]
    pub smooth: Option<f64>,
    /// Width and height of the images, such as 16x16 (with --smooth).
    #[arg(long, value_name = "WxH", value_parser = images::size, requires = "smooth")]
    pub shape: Option<(usize, usize)>,
}

fn format(name: &str) -> std::result::Result<Format, String> {
    Format::named(name).map_err(|error| error.to_string())
}

impl Input {
    /// Rows to train on: checked, and at least one.
    pub fn training_rows(&self, path: &str, how: Reading, session: &Session) -> Result<Dataset> {
        self.read(path, how, session)
    }

    /// A random sample of so many rows to train on, taken as they are read.
    pub fn sampled_rows(&self, path: &str, how: Reading, rows: usize, session: &Session) -> Result<Dataset> {
        let learns = how.table.is_none() && how.names.is_none();
        // Which categories a column of text has is only known after the last row.
        let hinted = |failure: Failure| match learns && matches!(self.format.or_else(|| Format::from_path(path).ok()), Some(Format::Csv)) {
            true => failure.hint(
                "a sample is taken while rows are read: text and missing values need a model of the table with --start, or no --reservoir",
            ),
            false => failure,
        };
        let blocks = self.blocks(path, how).map_err(hinted)?;
        let (sample, seen) = blocks.sample(Reservoir::new(rows, session.seed)?, |_| None, session).map_err(hinted)?;
        session.note(format!("trained on {} of {}", counted(sample.len(), "row"), counted(seen, "row")));
        Ok(sample)
    }

    /// Rows for a model; of a file that is larger than so many bytes a random sample, an eighth of the bytes, taken as it is read.
    pub fn rows_within(&self, machine: &Machine, path: &str, wanted: Wanted, bytes: usize, session: &Session) -> Result<Dataset> {
        if std::fs::metadata(path).map_or(0, |about| about.len()) <= bytes as u64 {
            return self.rows_for(machine, path, wanted, session);
        }
        // How many rows fit is known when the first ones are there.
        let fitting = |first: &Dataset| {
            let numbers = match &first.points {
                Points::Sparse(rows) => 2 * rows.stored() / first.len().max(1),
                _ => first.dim(),
            };
            Some((bytes / 8 / (8 * (numbers + 1))).max(1))
        };
        let (sample, seen) = self.blocks_for(machine, path, wanted)?.sample(Reservoir::new(1, session.seed)?, fitting, session)?;
        if sample.len() < seen {
            let (taken, all) = (counted(sample.len(), "row"), counted(seen, "row"));
            session.note(format!("{path}: {taken} of {all} were drawn at random, because the file is larger than --memory"));
        }
        Ok(sample)
    }

    /// Rows to train on in blocks, which are read as often as training passes over them.
    pub fn row_blocks(&self, path: &str, request: &Train, how: Reading, session: &Session) -> Result<FileBlocks> {
        if self.smooth.is_some() {
            return Err(Failure::usage("--smooth does not work with training by blocks; smooth the images before, or use --blocks never"));
        }
        let how = self.reading(how);
        let rows =
            FileBlocks::open(path, &how, request.cache_file(), request.memory_bytes()).map_err(|error| Failure::in_file(path, error))?;
        rows.notes.iter().for_each(|note| session.note(note));
        let (outline, blocks) = (rows.outline(), rows.n_blocks());
        let cached = if rows.reused_cache() { ", from the cache" } else { "" };
        let (count, features) = (counted(outline.n_rows as usize, "row"), counted(outline.dim, "feature"));
        session.detail(format!("{path}: {count} of {features} in {}{cached}", counted(blocks, "block")));
        session.check_cancelled()?;
        Ok(rows)
    }

    /// Rows for a model: their columns are those of the model, in its order.
    pub fn rows_for(&self, machine: &Machine, path: &str, wanted: Wanted, session: &Session) -> Result<Dataset> {
        self.read(path, Reading { wanted, ..reading_for(machine) }, session)
    }

    /// Rows with the same columns as others that were read to train on.
    pub fn rows_like(&self, data: &Dataset, path: &str, wanted: Wanted, session: &Session) -> Result<Dataset> {
        let (names, table) = (data.names.clone(), data.table.clone());
        self.read(path, Reading { wanted, names, dim: Some(data.dim()), table, ..Reading::default() }, session)
    }

    /// Rows for a model a block at a time, so that the file may be larger than memory.
    pub fn blocks_for<'a>(&self, machine: &Machine, path: &'a str, wanted: Wanted) -> Result<Blocks<'a>> {
        self.blocks(path, Reading { wanted, ..reading_for(machine) })
    }

    fn blocks<'a>(&self, path: &'a str, how: Reading) -> Result<Blocks<'a>> {
        self.check_target(path)?;
        let blocks = read::blocks(path, &self.reading(how)).map_err(|error| Failure::in_file(path, error))?;
        Ok(Blocks { path, blocks, notes: vec![], input: self.clone() })
    }

    /// The rows as they are to be used.
    fn prepared(&self, path: &str, rows: Dataset) -> Result<Dataset> {
        let (Some(pixels), Some((width, height))) = (self.smooth, self.shape) else { return Ok(rows) };
        let points = smooth(&rows.points, width, height, pixels).map_err(|error| Failure::in_file(path, error))?;
        Ok(Dataset { points, ..rows })
    }

    fn reading(&self, how: Reading) -> Reading {
        Reading { format: self.format, target_column: self.target.clone(), ..how }
    }

    /// The target of LIBSVM text comes first in each line; of arrays it is `y`.
    fn check_target(&self, path: &str) -> Result<()> {
        let Some(target) = &self.target else { return Ok(()) };
        let format = self.format.or_else(|| Format::from_path(path).ok());
        match format.is_some_and(|format| matches!(format, Format::Libsvm | Format::Npz)) {
            false => Ok(()),
            true => Err(Failure::usage(format!(
                "--target {target} names a column of a table, but {path} is {}, which has its target in a place of its own",
                format.map_or("", Format::name)
            ))),
        }
    }

    fn read(&self, path: &str, how: Reading, session: &Session) -> Result<Dataset> {
        self.check_target(path)?;
        let how = self.reading(how);
        let Read { dataset, notes } = read::read(path, &how).map_err(|error| Failure::in_file(path, error))?;
        notes.iter().for_each(|note| session.note(note));
        dataset.check().map_err(|error| Failure::in_file(path, error))?;
        let dataset = self.prepared(path, dataset)?;
        let storage = if dataset.points.is_sparse() { "sparse" } else { "dense" };
        session.detail(format!("{path}: {} of {}, {storage}", counted(dataset.len(), "row"), counted(dataset.dim(), "feature")));
        session.check_cancelled()?;
        Ok(dataset)
    }
}

/// How rows to train on are read. Those for an earlier machine to start from have its columns, encoded as it knows them. Columns of a table to `ignore` make no
/// feature.
pub fn reading_to_train(start: Option<&Machine>, wanted: Wanted, ignore: &[String]) -> Reading {
    let known = start.filter(|machine| machine.metadata.table.is_some() || machine.names.is_some());
    Reading { wanted, ignore: ignore.to_vec(), ..known.map(reading_for).unwrap_or_default() }
}

/// How rows for a model are read: its columns, in its order, and encoded as those of its training table.
fn reading_for(machine: &Machine) -> Reading {
    let table = machine.metadata.table.clone();
    Reading { names: machine.names.clone(), dim: Some(machine.dim()), table, ..Reading::default() }
}

/// The rows of a file, a block at a time.
pub struct Blocks<'a> {
    path: &'a str,
    blocks: read::Blocks,
    notes: Vec<String>,
    input: Input,
}

impl Blocks<'_> {
    /// The next rows, none after the last. Notes about several blocks are printed once.
    pub fn next(&mut self, session: &Session) -> Result<Option<Dataset>> {
        let Some(Read { dataset, notes }) = self.blocks.next_block().map_err(|error| Failure::in_file(self.path, error))? else {
            self.blocks.notes().iter().for_each(|note| session.note(note));
            return Ok(None);
        };
        for note in notes {
            if !self.notes.contains(&note) {
                session.note(&note);
                self.notes.push(note);
            }
        }
        self.input.prepared(self.path, dataset).map(Some)
    }

    /// A random sample of the rows, and how many there were; the first rows may say how many are to be kept.
    fn sample(mut self, reservoir: Reservoir, rows: impl Fn(&Dataset) -> Option<usize>, session: &Session) -> Result<(Dataset, usize)> {
        let mut reservoir = reservoir;
        while let Some(block) = self.next(session)? {
            if let Some(rows) = rows(&block).filter(|_| reservoir.seen() == 0) {
                reservoir = Reservoir::new(rows, session.seed)?;
            }
            reservoir.add(block).map_err(|error| Failure::in_file(self.path, error))?;
            session.check_cancelled()?;
        }
        let seen = reservoir.seen() as usize;
        Ok((reservoir.finish().map_err(|error| Failure::in_file(self.path, error))?, seen))
    }
}

/// What a machine predicts, so that its target can be read to compare with.
pub fn target_of(machine: &Machine) -> Wanted {
    match machine.decision {
        Decision::Values | Decision::Ratio => Wanted::Values,
        Decision::Features => Wanted::Nothing,
        _ => Wanted::Classes,
    }
}

/// The machine in a model file of either kind.
pub fn model(path: &str) -> Result<(Machine, Kind)> {
    let bytes = model_bytes(path)?;
    let machine = model::load_bytes(&bytes, path)?;
    Ok((machine, Kind::of(&bytes).unwrap_or(Kind::Native)))
}

/// The bytes of a model file. A file that is none has perhaps changed places with the data, or is another program's.
fn model_bytes(path: &str) -> Result<Vec<u8>> {
    model::read_bytes(path).map_err(|error| match (&error, Format::from_path(path), other_program(path)) {
        (Error::Format { .. }, Ok(_), _) => Failure::from(error).hint("the model comes first, then the data"),
        (Error::Format { .. }, _, Some(what)) => Failure::from(error).hint(what),
        _ => error.into(),
    })
}

/// What to do with the model of another program, by the name of its file.
fn other_program(path: &str) -> Option<&'static str> {
    let extension = Path::new(path).extension()?.to_str()?.to_lowercase();
    match extension.as_str() {
        "pkl" | "pickle" | "joblib" | "skops" => {
            Some("an estimator of scikit-learn becomes small in Python: kernelet.compress(estimator, X, y)")
        }
        "rds" | "rda" | "rdata" => Some("an SVM of R's e1071 is read as its write.svm writes it"),
        "onnx" | "pmml" | "pt" | "h5" => Some("models are read in kernelet's own format, as LIBSVM text and as kernelet's JSON"),
        _ => None,
    }
}

/// A model file that predicts.
pub enum Loaded {
    /// One machine.
    Machine(Box<Machine>),
    /// Several, one before another.
    Cascade(Box<Cascade>),
}

impl Loaded {
    /// The machine whose columns rows are read for.
    pub fn first(&self) -> Result<&Machine> {
        match self {
            Loaded::Machine(machine) => Ok(machine),
            Loaded::Cascade(cascade) => {
                cascade.stages.first().map(|stage| &stage.machine).ok_or_else(|| Failure::failed("the cascade has no stage"))
            }
        }
    }
}

/// The device that `--device` or the environment names. A cascade predicts on the processor, which only the flag contradicts.
pub fn device_for(flag: Option<&str>, model: &Loaded) -> Result<Device> {
    match (Device::chosen(flag)?, model) {
        (Device::Cuda(_), Loaded::Cascade(_)) if flag.is_some() => {
            Err(Failure::usage("a cascade predicts on the processor; leave --device out"))
        }
        (_, Loaded::Cascade(_)) => Ok(Device::Cpu),
        (device, Loaded::Machine(_)) => Ok(device),
    }
}

/// What is in a model file: a machine of either kind, or a cascade.
pub fn loaded(path: &str) -> Result<(Loaded, Kind)> {
    let bytes = model_bytes(path)?;
    if model::cascade::recognise(&bytes) {
        return Ok((Loaded::Cascade(Box::new(model::cascade::from_bytes(&bytes, path)?)), Kind::Native));
    }
    let machine = model::load_bytes(&bytes, path)?;
    Ok((Loaded::Machine(Box::new(machine)), Kind::of(&bytes).unwrap_or(Kind::Native)))
}
