//! Where the rows of each split come from: a file in one of three layouts, or a generator.
//!
//! | layout | arrays | splits |
//! |---|---|---|
//! | pool with splits | `X`, `y`, `train_idx`, `test_idx` (a line of row numbers, from 0, for each split) | as in the file |
//! | fixed | `X_train`, `y_train`, `X_test`, `y_test` | one |
//! | pool | `X`, `y` | drawn, as many as wanted |
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use kernelet::{
    Error, Named, Result,
    data::{
        Classes, Dataset, Generator, Label, Points, Scale, Scaling, Target,
        read::{Array, Values, Wanted, read_arrays},
        shuffled, smooth,
    },
    linalg::Matrix,
};

use super::description::{Learned, Set};

/// The most rows to train or to test on.
const MOST_ROWS: usize = 10_000_000;

/// What the splits of a set are taken from.
#[derive(Debug)]
pub struct Material {
    rows: Rows,
    target: Learned,
}

#[derive(Debug)]
enum Rows {
    /// Rows are drawn anew for each split.
    Drawn { generator: Generator, train: usize, test: usize, seed: u64 },
    /// Training and test rows are given: one split.
    Fixed { train: Dataset, test: Dataset },
    /// A pool with the training and test rows of each split.
    Listed { pool: Dataset, splits: Vec<(Vec<usize>, Vec<usize>)> },
    /// A pool that is shuffled for each split.
    Shuffled { pool: Dataset, train: usize, test: usize, seed: u64 },
}

impl Set {
    /// The file of this set.
    pub fn path(&self, directory: &Path) -> PathBuf {
        let name = self.file.as_ref().unwrap_or(&self.name);
        directory.join(name).join(format!("{name}.npz"))
    }

    /// The generator, where there is one.
    pub fn generator(&self) -> std::result::Result<Option<Generator>, String> {
        let Some(name) = &self.generator else { return Ok(None) };
        let unknown = || format!("the generator is {name:?}, but must be one of {}", Generator::names().join(", "));
        Generator::named(name).ok_or_else(unknown).map(Some)
    }

    /// How features are scaled.
    pub fn scaling(&self) -> std::result::Result<Scaling, String> {
        let Some(name) = &self.scale else { return Ok(Scaling::None) };
        Scaling::named(name).ok_or_else(|| format!("scale is {name:?}, but must be none, standard or minmax"))
    }

    /// Refuses rows that cannot be had.
    pub fn check_rows(&self) -> std::result::Result<(), String> {
        if let Some(generator) = self.generator()? {
            let classes = matches!(generator.make(1, 0).target, Target::Classes(_));
            if classes != matches!(self.target, Learned::Classes | Learned::Indicators) {
                return Err(format!("the generator {} makes {} classes", generator.name(), if classes { "" } else { "no" }));
            }
            if self.train.is_none() || self.test.is_none() {
                return Err("a generator needs the number of rows to train and to test on".into());
            }
            if self.smooth.is_some() {
                return Err("rows that are drawn are no images to smooth".into());
            }
        }
        let (train, test) = (self.train.unwrap_or(1), self.test.unwrap_or(1));
        match (train.min(test), train.max(test)) {
            (0, _) => Err("at least one row is needed to train and to test on".into()),
            (_, most) if most > MOST_ROWS => Err(format!("{most} rows are too many; {MOST_ROWS} are the most")),
            _ => Ok(()),
        }
    }

    /// True where the rows of a split depend on the seed, as far as the description says.
    pub fn is_random(&self) -> bool {
        self.generator.is_some() || self.train.is_some()
    }

    /// Reads the set, or prepares to draw it. `seed` is that of the first split; the others have the next ones.
    pub fn material(&self, directory: &Path, seed: u64) -> Result<Material> {
        if let Some(generator) = self.generator().map_err(Error::data)? {
            let (train, test) = (self.train.unwrap_or(1), self.test.unwrap_or(1));
            return Ok(Material { rows: Rows::Drawn { generator, train, test, seed }, target: self.target });
        }
        Ok(Material { rows: self.rows(directory, seed)?, target: self.target })
    }

    fn rows(&self, directory: &Path, seed: u64) -> Result<Rows> {
        let path = self.path(directory);
        let origin = path.display().to_string();
        let bytes = fs::read(&path).map_err(|source| Error::io(&path, source))?;
        let mut arrays = Arrays { arrays: read_arrays(&bytes, &origin)?, origin };
        if arrays.has("X_train") {
            let train = self.dataset(&mut arrays, "X_train", "y_train")?;
            let test = self.dataset(&mut arrays, "X_test", "y_test")?;
            return match train.dim() == test.dim() {
                true => Ok(Rows::Fixed { train, test }),
                false => Err(arrays.wrong(format!("X_train has {} features, but X_test has {}", train.dim(), test.dim()))),
            };
        }
        let pool = self.dataset(&mut arrays, "X", "y")?;
        match arrays.has("train_idx") && self.train.is_none() {
            true => Ok(Rows::Listed { splits: splits(&mut arrays, pool.len())?, pool }),
            false => self.shuffled(&arrays, pool, seed),
        }
    }

    fn dataset(&self, arrays: &mut Arrays, points: &str, target: &str) -> Result<Dataset> {
        let mut rows = arrays.take(points)?.into_points(&arrays.called(points))?;
        if let Some(how) = self.smooth {
            rows = smooth(&rows, how.width, how.height, how.pixels).map_err(|error| arrays.wrong(error.to_string()))?;
        }
        let wanted = match self.target {
            Learned::Classes | Learned::Indicators => Wanted::Classes,
            Learned::Numbers | Learned::Standardised => Wanted::Values,
        };
        let data = Dataset::new(rows, arrays.take(target)?.to_target(wanted, &arrays.called(target))?);
        data.check().map_err(|error| arrays.wrong(format!("{points}, {target}: {error}")))?;
        self.kept(data).map_err(|reason| arrays.wrong(format!("{target}: {reason}")))
    }

    /// The rows of the classes that are wanted.
    fn kept(&self, data: Dataset) -> std::result::Result<Dataset, String> {
        let (false, Target::Classes(Classes { labels, codes })) = (self.classes.is_empty(), &data.target) else { return Ok(data) };
        let wanted: Vec<Label> = self.classes.iter().map(Label::new).collect();
        if let Some(label) = wanted.iter().find(|label| !labels.contains(label)) {
            return Err(format!("there is no class {label}"));
        }
        let rows: Vec<usize> = (0..data.len()).filter(|&row| wanted.contains(&labels[codes[row] as usize])).collect();
        let mut kept = data.select(&rows);
        if let Target::Classes(classes) = &kept.target {
            kept.target = Target::Classes(Classes::new(classes.labels.clone(), &classes.codes));
        }
        Ok(kept)
    }

    fn shuffled(&self, arrays: &Arrays, pool: Dataset, seed: u64) -> Result<Rows> {
        let Some(train) = self.train else {
            return Err(arrays.wrong("there are no splits in it, so the description must say how many rows to train on"));
        };
        let left = pool.len().saturating_sub(train);
        let test = self.test.unwrap_or(left.max(1));
        match test <= left {
            true => Ok(Rows::Shuffled { pool, train, test, seed }),
            false => Err(arrays.wrong(format!("there are {} rows, too few for {train} to train and {test} to test on", pool.len()))),
        }
    }
}

impl Material {
    /// How many splits there are; None: as many as wanted.
    pub fn available(&self) -> Option<usize> {
        match &self.rows {
            Rows::Drawn { .. } | Rows::Shuffled { .. } => None,
            Rows::Fixed { .. } => Some(1),
            Rows::Listed { splits, .. } => Some(splits.len()),
        }
    }

    /// True where the rows of a split depend on the seed.
    pub fn is_random(&self) -> bool {
        matches!(self.rows, Rows::Drawn { .. } | Rows::Shuffled { .. })
    }

    /// The training and test rows of a split, counted from 0; `apart` is added to the seed of rows that are drawn.
    pub fn split(&self, split: usize, apart: u64) -> (Dataset, Dataset) {
        let own = |seed: &u64| seed.wrapping_add(apart).wrapping_add(split as u64);
        let (train, test) = match &self.rows {
            Rows::Fixed { train, test } => (train.clone(), test.clone()),
            Rows::Listed { pool, splits } => {
                let (train, test) = &splits[split];
                (pool.select(train), pool.select(test))
            }
            Rows::Shuffled { pool, train, test, seed } => {
                let order = shuffled(pool.len(), own(seed));
                (pool.select(&order[..*train]), pool.select(&order[*train..train + test]))
            }
            Rows::Drawn { generator, train, test, seed } => {
                let rows = generator.make(train + test, own(seed));
                let order: Vec<usize> = (0..train + test).collect();
                (rows.select(&order[..*train]), rows.select(&order[*train..]))
            }
        };
        match self.target {
            Learned::Classes | Learned::Numbers => (train, test),
            Learned::Standardised => standardised(train, test),
            Learned::Indicators => indicators(train, test),
        }
    }
}

/// The numbers of both to mean 0 and variance 1 of the training rows.
fn standardised(mut train: Dataset, mut test: Dataset) -> (Dataset, Dataset) {
    let Target::Values(values) = &train.target else { return (train, test) };
    let Ok(scale) = Scale::standard(&Points::from(values.clone())) else { return (train, test) };
    for data in [&mut train, &mut test] {
        if let Target::Values(values) = &mut data.target {
            let columns = values.cols();
            values.values_mut().chunks_mut(columns.max(1)).for_each(|row| scale.scale_row(row));
        }
    }
    (train, test)
}

/// A number for each class of the training rows: 1 for its rows, -1 for the others.
fn indicators(mut train: Dataset, mut test: Dataset) -> (Dataset, Dataset) {
    let Target::Classes(Classes { labels, .. }) = train.target.clone() else { return (train, test) };
    for data in [&mut train, &mut test] {
        if let Target::Classes(classes) = &data.target {
            let side = |row: usize, class: usize| if classes.labels[classes.codes[row] as usize] == labels[class] { 1.0 } else { -1.0 };
            data.target = Target::Values(Matrix::from_fn(classes.codes.len(), labels.len(), side));
        }
    }
    (train, test)
}

/// The rows of each split, checked.
fn splits(arrays: &mut Arrays, rows: usize) -> Result<Vec<(Vec<usize>, Vec<usize>)>> {
    let train = lines(arrays, "train_idx", rows)?;
    let test = lines(arrays, "test_idx", rows)?;
    match train.len() == test.len() {
        true => Ok(train.into_iter().zip(test).collect()),
        false => Err(arrays.wrong(format!("train_idx has {} splits, but test_idx has {}", train.len(), test.len()))),
    }
}

/// Row numbers, one line for each split.
fn lines(arrays: &mut Arrays, name: &str, rows: usize) -> Result<Vec<Vec<usize>>> {
    let array = arrays.take(name)?;
    let ([count, len], Values::I64(values)) = (&array.shape[..], &array.values) else {
        return Err(arrays.wrong(format!("{name} must be a table of whole numbers, a line for each split")));
    };
    if *count == 0 || *len == 0 {
        return Err(arrays.wrong(format!("{name} is empty")));
    }
    let place = |&value: &i64| usize::try_from(value).ok().filter(|&place| place < rows);
    match values.iter().find(|value| place(value).is_none()) {
        Some(value) => Err(arrays.wrong(format!("{name} has the row {value}, but rows go from 0 to {}", rows - 1))),
        None => Ok(values.chunks(*len).map(|line| line.iter().filter_map(place).collect()).collect()),
    }
}

/// The arrays of a file, which is named in messages.
struct Arrays {
    arrays: BTreeMap<String, Array>,
    origin: String,
}

impl Arrays {
    fn has(&self, name: &str) -> bool {
        self.arrays.contains_key(name)
    }

    fn take(&mut self, name: &str) -> Result<Array> {
        self.arrays.remove(name).ok_or_else(|| self.wrong(format!("there is no array {name}")))
    }

    fn called(&self, name: &str) -> String {
        format!("{}, array {name}", self.origin)
    }

    fn wrong(&self, reason: impl Into<String>) -> Error {
        Error::format(&self.origin, None, None, reason)
    }
}
