//! Rows in binary, written once, so that training that passes over them parses nothing again.
//!
//! ```text
//! mark | rows, one after the other | for each 256 rows: where they begin (u64), their CRC-32 (u64) | footer (JSON)
//!      | length of the footer (u64) | CRC-32 of all between rows and length (u64) | mark of the end
//! ```
//!
//! A row is its targets, its weight where rows have some, and its features: all of them, or their number with columns and values of those that are
//! stored. The footer has what the file was made of (size, time and SHA-256 of the source, how it was read), so that a cache of another file or of
//! other settings is made again; one that is cut short has no mark at its end, one with changed bytes has other sums, and both are rejected.
use std::{
    borrow::Cow,
    fs::{self, File},
    io::{self, Read as _, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
    time::UNIX_EPOCH,
};

use serde::{Deserialize, Serialize};

use super::{
    Format, Read, Reading, blocks,
    cache_rows::{Group, Storage, sum_of},
    read,
};
use crate::{
    Error, Result,
    data::{Classes, Dataset, Encoding, Interner, Label, Outline, RowBlock, RowBlocks, STRIDE, Target, block_rows, checksum},
    file::{Scratch, write_atomically},
};

const BEGIN: &[u8; 8] = b"KRNLROW2";
const END: &[u8; 8] = b"KRNLEND2";

/// Above this density rows are handed out dense, as those of files that are read whole.
const DENSE_ABOVE: f64 = 0.25;

/// What a cache was made of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Origin {
    size: u64,
    /// Nanoseconds since 1970.
    modified: u64,
    sha256: String,
    reading: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Footer {
    /// None for standard input, which cannot be compared with.
    origin: Option<Origin>,
    storage: Storage,
    weighted: bool,
    n_rows: u64,
    dim: usize,
    n_targets: usize,
    /// Values that are stored of sparse rows.
    stored: u64,
    labels: Vec<Label>,
    /// For each class as rows have it, its place among the labels.
    places: Vec<u32>,
    names: Option<Vec<String>>,
    table: Option<Encoding>,
    notes: Vec<String>,
    /// Where the index begins.
    index: u64,
}

/// The rows of a cache.
pub(super) struct CachedBlocks {
    file: PathBuf,
    footer: Footer,
    groups: Vec<Group>,
    rows: usize,
    outline: Outline,
    reused: bool,
}

impl CachedBlocks {
    /// The cache of a file that is read in this way, as it is or made anew.
    pub fn open(path: &str, how: &Reading, cache: &Path, memory: usize) -> Result<Self> {
        let how = Reading { dim: None, ..how.clone() };
        if let Some((footer, groups)) = load(cache)?
            && is_of(&footer, path, &how)
        {
            return Ok(CachedBlocks::new(cache, footer, groups, memory, true));
        }
        make(path, &how, cache, |write| write_atomically(cache, write))?;
        CachedBlocks::made(cache, memory)
    }

    /// The rows of a file in a file that is gone afterwards.
    pub fn in_scratch(path: &str, how: &Reading, scratch: &mut Scratch, memory: usize) -> Result<Self> {
        let (how, name) = (Reading { dim: None, ..how.clone() }, scratch.path().to_path_buf());
        make(path, &how, &name, |write| scratch.write(write))?;
        CachedBlocks::made(&name, memory)
    }

    fn made(cache: &Path, memory: usize) -> Result<Self> {
        match load(cache)? {
            Some((footer, groups)) => Ok(CachedBlocks::new(cache, footer, groups, memory, false)),
            None => Err(cut_short(cache)),
        }
    }

    fn new(file: &Path, footer: Footer, groups: Vec<Group>, memory: usize, reused: bool) -> Self {
        let outline = Outline {
            n_rows: footer.n_rows,
            dim: footer.dim,
            labels: footer.labels.clone(),
            n_targets: footer.n_targets,
            names: footer.names.clone(),
            table: footer.table.clone(),
        };
        CachedBlocks { file: file.into(), rows: block_rows(footer.dim, memory), footer, groups, outline, reused }
    }

    pub fn notes(&self) -> &[String] {
        &self.footer.notes
    }

    pub fn reused(&self) -> bool {
        self.reused
    }
}

impl RowBlocks for CachedBlocks {
    fn outline(&self) -> &Outline {
        &self.outline
    }

    fn n_blocks(&self) -> usize {
        (self.footer.n_rows as usize).div_ceil(self.rows)
    }

    fn block(&self, index: usize) -> Result<Cow<'_, RowBlock>> {
        let footer = &self.footer;
        let first = index * self.rows;
        let count = self.rows.min((footer.n_rows as usize).saturating_sub(first));
        let start = |group: usize| self.groups.get(group).map_or(footer.index, |group| group.start);
        let groups = first / STRIDE..(first + count).div_ceil(STRIDE);
        let (begin, end) = (start(groups.start), start(groups.end));
        let mut bytes = vec![0; end.saturating_sub(begin) as usize];
        let io = |source| Error::io(&self.file, source);
        let mut file = File::open(&self.file).map_err(io)?;
        file.seek(SeekFrom::Start(begin)).map_err(io)?;
        file.read_exact(&mut bytes).map_err(|_| cut_short(&self.file))?;
        for (at, group) in groups.clone().zip(&self.groups[groups]) {
            let part = &bytes[(group.start - begin) as usize..(start(at + 1) - begin) as usize];
            if crc32fast::hash(part) != group.sum {
                return Err(cut_short(&self.file));
            }
        }
        let dense = footer.stored as f64 > DENSE_ABOVE * footer.n_rows as f64 * footer.dim as f64;
        let read = footer.storage.rows(&bytes, (count, footer.dim, footer.n_targets), footer.weighted);
        let (points, mut targets, weights) = read.ok_or_else(|| cut_short(&self.file))?;
        if !footer.labels.is_empty() {
            for code in targets.values_mut() {
                *code = footer.places.get(*code as usize).copied().map(f64::from).ok_or_else(|| cut_short(&self.file))?;
            }
        }
        let points = if dense && points.is_sparse() { points.to_dense().into() } else { points };
        Ok(Cow::Owned(RowBlock { first: first as u64, points, targets, weights }))
    }
}

fn cut_short(cache: &Path) -> Error {
    Error::format(cache.display(), None, None, "the cache is cut short or damaged; delete it, and it is made again")
}

/// The footer and the index; none where there is no file.
fn load(cache: &Path) -> Result<Option<(Footer, Vec<Group>)>> {
    let io = |source| Error::io(cache, source);
    if !cache.exists() {
        return Ok(None);
    }
    let mut file = File::open(cache).map_err(io)?;
    let len = file.metadata().map_err(io)?.len();
    let mut begin = [0; 8];
    if file.read_exact(&mut begin).is_err() || begin != *BEGIN {
        return Err(Error::format(cache.display(), None, None, "this is no cache of rows, and is left as it is; name another file"));
    }
    let mut at = |place: u64, count: u64| -> Result<Vec<u8>> {
        if place.checked_add(count).is_none_or(|end| end > len) {
            return Err(cut_short(cache));
        }
        let mut bytes = vec![0; count as usize];
        file.seek(SeekFrom::Start(place)).map_err(io)?;
        file.read_exact(&mut bytes).map_err(io)?;
        Ok(bytes)
    };
    let tail = at(len.saturating_sub(TAIL), TAIL)?;
    let Some(&[length, sum]) = tail.strip_suffix(END).and_then(|numbers| numbers.as_chunks::<8>().0.first_chunk()) else {
        return Err(cut_short(cache));
    };
    let begins = (len - TAIL).checked_sub(u64::from_le_bytes(length)).ok_or_else(|| cut_short(cache))?;
    let text = at(begins, u64::from_le_bytes(length))?;
    let footer: Footer = serde_json::from_slice(&text).map_err(|_| cut_short(cache))?;
    let index = at(footer.index, begins.checked_sub(footer.index).ok_or_else(|| cut_short(cache))?)?;
    let groups: Option<Vec<Group>> = index.as_chunks::<{ Group::BYTES }>().0.iter().map(Group::of).collect();
    let groups = groups.ok_or_else(|| cut_short(cache))?;
    // Columns of sparse rows are numbers of 32 bits, and all columns of dense ones are there.
    let sized = footer.dim <= u32::MAX as usize && footer.n_targets <= u32::MAX as usize && footer.stored <= len;
    let ordered = groups.windows(2).all(|pair| pair[0].start <= pair[1].start) && groups.iter().all(|group| group.start <= footer.index);
    let whole = u64::from_le_bytes(sum) == u64::from(sum_of(&index, &text));
    match sized && ordered && whole && groups.len() as u64 == footer.n_rows.div_ceil(STRIDE as u64) {
        true => Ok(Some((footer, groups))),
        false => Err(cut_short(cache)),
    }
}

/// Length and sum of the footer, and the mark.
const TAIL: u64 = 24;

/// Whether a cache was made of this file, read in this way. A file with another time but the same size may still have the same bytes.
fn is_of(footer: &Footer, path: &str, how: &Reading) -> bool {
    let (Some(origin), Some(found)) = (&footer.origin, stamp(path)) else { return false };
    let same_bytes = || checksum::of_file(path).is_some_and(|sum| sum == origin.sha256);
    origin.reading == described(how) && origin.size == found.0 && (origin.modified == found.1 || same_bytes())
}

/// Size and time of a file.
fn stamp(path: &str) -> Option<(u64, u64)> {
    let about = fs::metadata(path).ok().filter(|_| path != "-")?;
    let modified = about.modified().ok()?.duration_since(UNIX_EPOCH).ok()?.as_nanos();
    Some((about.len(), modified as u64))
}

/// What of the settings decides which rows come of a file.
fn described(how: &Reading) -> String {
    let chosen = format!("{:?} {:?} target {:?} ignore {:?}", how.format, how.wanted, how.target_column, how.ignore);
    match (&how.names, &how.table) {
        (None, None) => chosen,
        (names, table) => format!("{chosen} names {names:?} table {table:?}"),
    }
}

/// What is being written.
struct Writer<'a> {
    out: &'a mut dyn Write,
    /// What the file is called in errors.
    file: &'a Path,
    at: u64,
    groups: Vec<Group>,
    labels: Interner,
    bytes: Vec<u8>,
    footer: Option<Footer>,
}

/// Writes the rows of a file to `file`, which `put` fills.
fn make(
    path: &str,
    how: &Reading,
    file: &Path,
    mut put: impl FnMut(&mut dyn FnMut(&mut dyn Write) -> io::Result<()>) -> Result<()>,
) -> Result<()> {
    let mut attempt = |whole: bool| {
        let mut failed = None;
        let made = put(&mut |out| {
            write(path, how, whole, out, file).map_err(|error| {
                let said = io::Error::other(error.to_string());
                failed = Some(error);
                said
            })
        });
        failed.map_or(made, Err)
    };
    match attempt(false) {
        // A table with text or missing values is learned from as a whole.
        Err(Error::Format { .. }) if matches!(how.format, Some(Format::Csv | Format::Parquet)) && path != "-" => attempt(true),
        made => made,
    }
}

/// Writes the rows block by block or, `whole`, all at once.
fn write(path: &str, how: &Reading, whole: bool, out: &mut dyn Write, file: &Path) -> Result<()> {
    let origin = stamp(path).zip(checksum::of_file(path)).map(|((size, modified), sha256)| Origin {
        size,
        modified,
        sha256,
        reading: described(how),
    });
    let mut writer = Writer::new(out, file)?;
    if whole {
        writer.add(read(path, how)?, how)?;
        return writer.finish(origin);
    }
    let mut rows = blocks(path, how)?;
    while let Some(read) = rows.next_block()? {
        writer.add(read, how)?;
    }
    if let Some(footer) = &mut writer.footer {
        footer.notes.extend(rows.notes());
    }
    writer.finish(origin)
}

impl<'a> Writer<'a> {
    fn new(out: &'a mut dyn Write, file: &'a Path) -> Result<Self> {
        out.write_all(BEGIN).map_err(|source| Error::io(file, source))?;
        Ok(Writer { out, file, at: BEGIN.len() as u64, groups: vec![], labels: Interner::default(), bytes: vec![], footer: None })
    }

    fn add(&mut self, read: Read, how: &Reading) -> Result<()> {
        let file = self.file;
        let Read { dataset, notes } = read;
        dataset.check()?;
        let codes = self.codes(&dataset);
        let n_targets = match &dataset.target {
            Target::None => 0,
            Target::Classes(_) => 1,
            Target::Values(values) => values.cols(),
        };
        let footer = self.footer.get_or_insert_with(|| Footer {
            origin: None,
            storage: Storage::of(&dataset.points, how.format == Some(Format::Libsvm)),
            weighted: dataset.weights.is_some(),
            n_rows: 0,
            dim: 0,
            n_targets,
            stored: 0,
            labels: vec![],
            places: vec![],
            names: dataset.names.clone(),
            table: dataset.table.clone(),
            notes,
            index: 0,
        });
        if footer.n_targets != n_targets || footer.weighted != dataset.weights.is_some() {
            return Err(Error::format(file.display(), None, None, "some rows have a target or a weight, and some have none"));
        }
        footer.dim = footer.dim.max(dataset.dim());
        for i in 0..dataset.len() {
            if (footer.n_rows as usize).is_multiple_of(STRIDE) {
                self.groups.push(Group { start: self.at, sum: 0 });
            }
            self.bytes.clear();
            match &dataset.target {
                Target::None => {}
                Target::Classes(classes) => self.bytes.extend(f64::from(codes[classes.codes[i] as usize]).to_le_bytes()),
                Target::Values(values) => values.row(i).iter().for_each(|v| self.bytes.extend(v.to_le_bytes())),
            }
            if let Some(weights) = &dataset.weights {
                self.bytes.extend(weights[i].to_le_bytes());
            }
            footer.stored += footer.storage.put(&dataset.points, i, &mut self.bytes);
            footer.n_rows += 1;
            self.at += self.bytes.len() as u64;
            if let Some(group) = self.groups.last_mut() {
                group.add(&self.bytes);
            }
            self.out.write_all(&self.bytes).map_err(|source| Error::io(file, source))?;
        }
        Ok(())
    }

    /// The numbers of the classes of one block among all.
    fn codes(&mut self, dataset: &Dataset) -> Vec<u32> {
        let Target::Classes(classes) = &dataset.target else { return vec![] };
        classes.labels.iter().map(|label| self.labels.code(label.text())).collect()
    }

    fn finish(mut self, origin: Option<Origin>) -> Result<()> {
        let file = self.file;
        let io = |source| Error::io(file, source);
        let Some(mut footer) = self.footer.take() else { return Err(Error::data("the data have no rows")) };
        let all: Vec<u32> = (0..self.labels.labels.len() as u32).collect();
        let Classes { labels, codes } = Classes::new(self.labels.labels, &all);
        (footer.labels, footer.places, footer.origin, footer.index) = (labels, codes, origin, self.at);
        let text = serde_json::to_vec(&footer).map_err(|error| Error::format(file.display(), None, None, error.to_string()))?;
        let index: Vec<u8> = self.groups.iter().flat_map(|group| group.to_bytes()).collect();
        let (length, sum) = ((text.len() as u64).to_le_bytes(), u64::from(sum_of(&index, &text)).to_le_bytes());
        for part in [&index, &text, &length[..], &sum, END] {
            self.out.write_all(part).map_err(io)?;
        }
        Ok(())
    }
}
