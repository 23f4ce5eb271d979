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
    Error, Result,
    data::{
        Dataset, Generator,
        read::{Array, Values, Wanted, read_arrays},
        shuffled, smooth,
    },
};

use super::description::Set;

/// What the splits of a set are taken from.
#[derive(Debug)]
pub enum Material {
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
        directory.join(&self.name).join(format!("{}.npz", self.name))
    }

    /// Reads the set, or prepares to draw it. `seed` is that of the first split; the others have the next ones.
    pub fn material(&self, directory: &Path, seed: u64) -> Result<Material> {
        if let Some(generator) = self.generator().map_err(Error::data)? {
            return Ok(Material::Drawn { generator, train: self.train.unwrap_or(1), test: self.test.unwrap_or(1), seed });
        }
        let path = self.path(directory);
        let origin = path.display().to_string();
        let bytes = fs::read(&path).map_err(|source| Error::io(&path, source))?;
        let mut arrays = Arrays { arrays: read_arrays(&bytes, &origin)?, origin };
        if arrays.has("X_train") {
            let train = self.dataset(&mut arrays, "X_train", "y_train")?;
            let test = self.dataset(&mut arrays, "X_test", "y_test")?;
            return match train.dim() == test.dim() {
                true => Ok(Material::Fixed { train, test }),
                false => Err(arrays.wrong(format!("X_train has {} features, but X_test has {}", train.dim(), test.dim()))),
            };
        }
        let pool = self.dataset(&mut arrays, "X", "y")?;
        match arrays.has("train_idx") {
            true => Ok(Material::Listed { splits: splits(&mut arrays, pool.len())?, pool }),
            false => self.shuffled(&arrays, pool, seed),
        }
    }

    fn dataset(&self, arrays: &mut Arrays, points: &str, target: &str) -> Result<Dataset> {
        let mut rows = arrays.take(points)?.into_points(&arrays.called(points))?;
        if let Some(how) = self.smooth {
            rows = smooth(&rows, how.width, how.height, how.pixels).map_err(|error| arrays.wrong(error.to_string()))?;
        }
        let data = Dataset::new(rows, arrays.take(target)?.to_target(Wanted::Classes, &arrays.called(target))?);
        data.check().map_err(|error| arrays.wrong(format!("{points}, {target}: {error}")))?;
        Ok(data)
    }

    fn shuffled(&self, arrays: &Arrays, pool: Dataset, seed: u64) -> Result<Material> {
        let Some(train) = self.train else {
            return Err(arrays.wrong("there are no splits in it, so the description must say how many rows to train on"));
        };
        let left = pool.len().saturating_sub(train);
        let test = self.test.unwrap_or(left.max(1));
        match test <= left {
            true => Ok(Material::Shuffled { pool, train, test, seed }),
            false => Err(arrays.wrong(format!("there are {} rows, too few for {train} to train and {test} to test on", pool.len()))),
        }
    }
}

impl Material {
    /// How many splits there are; None: as many as wanted.
    pub fn available(&self) -> Option<usize> {
        match self {
            Material::Drawn { .. } | Material::Shuffled { .. } => None,
            Material::Fixed { .. } => Some(1),
            Material::Listed { splits, .. } => Some(splits.len()),
        }
    }

    /// The training and test rows of a split, counted from 0.
    pub fn split(&self, split: usize) -> (Dataset, Dataset) {
        match self {
            Material::Fixed { train, test } => (train.clone(), test.clone()),
            Material::Listed { pool, splits } => {
                let (train, test) = &splits[split];
                (pool.select(train), pool.select(test))
            }
            Material::Shuffled { pool, train, test, seed } => {
                let order = shuffled(pool.len(), seed.wrapping_add(split as u64));
                (pool.select(&order[..*train]), pool.select(&order[*train..train + test]))
            }
            Material::Drawn { generator, train, test, seed } => {
                let rows = generator.make(train + test, seed.wrapping_add(split as u64));
                let order: Vec<usize> = (0..train + test).collect();
                (rows.select(&order[..*train]), rows.select(&order[*train..]))
            }
        }
    }
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
