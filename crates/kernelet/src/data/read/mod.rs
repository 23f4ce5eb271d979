//! Readers: LIBSVM text, CSV, NumPy arrays and Parquet tables become data sets.
//!
//! The format follows from the extension or is named by the caller; gzip is recognised by its first bytes. Every error has the reason,
//! the line and the column. Choices that a reader makes, such as which column is the target, are reported in [`Read::notes`].
mod array;
mod array_blocks;
mod blocks;
mod cache;
mod cache_rows;
mod columns;
mod csv;
mod csv_learn;
mod file_blocks;
mod libsvm;
mod npy;
mod npz;
mod number;
#[cfg(feature = "parquet")]
mod parquet;
#[cfg(feature = "parquet")]
mod parquet_cells;
#[cfg(feature = "parquet")]
mod parquet_rows;
mod records;
mod source;
mod targets;

pub use array::{Array, Values};
pub use blocks::{Blocks, blocks};
pub use file_blocks::FileBlocks;
pub use npz::read_arrays;
pub use source::read_whole;

use super::{Column, Dataset, Encoding};
use crate::{
    Error, Result,
    linalg::{Matrix, Real},
};

/// The file formats that can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A label and `index:value` pairs a line.
    Libsvm,
    /// A table of text: one row a line, fields between commas, semicolons or tabs.
    Csv,
    /// One NumPy array.
    Npy,
    /// Named NumPy arrays: `X`, `y` and optionally `sample_weight`.
    Npz,
    /// A Parquet table, with the cargo feature `parquet`.
    Parquet,
}

impl Format {
    /// All formats.
    pub const ALL: [Format; 5] = [Format::Libsvm, Format::Csv, Format::Npy, Format::Npz, Format::Parquet];

    /// The name by which users choose the format.
    pub fn name(self) -> &'static str {
        match self {
            Format::Libsvm => "libsvm",
            Format::Csv => "csv",
            Format::Npy => "npy",
            Format::Npz => "npz",
            Format::Parquet => "parquet",
        }
    }

    /// The format with this name.
    pub fn named(name: &str) -> Result<Format> {
        let found = Format::ALL.into_iter().find(|format| format.name() == name);
        found.ok_or_else(|| Error::parameter("format", format!("{name:?}"), NAMES))
    }

    /// The format that the extension of `path` stands for; a trailing `.gz` does not count.
    pub fn from_path(path: &str) -> Result<Format> {
        let lower = path.to_ascii_lowercase();
        let name = lower.rsplit(['/', '\\']).next().unwrap_or_default();
        let name = name.strip_suffix(".gz").unwrap_or(name);
        let extension = name.rsplit_once('.').map(|(_, extension)| extension);
        match extension {
            Some("svm" | "libsvm" | "svmlight" | "txt") => Ok(Format::Libsvm),
            Some("csv" | "tsv") => Ok(Format::Csv),
            Some("npy") => Ok(Format::Npy),
            Some("npz") => Ok(Format::Npz),
            Some("parquet") => Ok(Format::Parquet),
            _ => {
                let what = match extension {
                    None => "the name has no extension".into(),
                    Some("xls" | "xlsx" | "ods") => "spreadsheets are not read; save the sheet as CSV".into(),
                    Some(extension) => format!("the extension .{extension} is not known"),
                };
                let known = ".svm, .libsvm, .svmlight, .txt, .csv, .tsv, .npy, .npz and .parquet";
                Err(Error::format(path, None, None, format!("{what}; known are {known}, or give the format with --format")))
            }
        }
    }
}

const NAMES: &str = "libsvm, csv, npy, npz or parquet";

/// What the target is to be read as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Wanted {
    /// No target is needed; one that is there is left out.
    #[default]
    Nothing,
    /// Class labels.
    Classes,
    /// Real numbers.
    Values,
}

/// How to read.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Reading {
    /// The format; none: from the extension.
    pub format: Option<Format>,
    /// What the target is to be read as.
    pub wanted: Wanted,
    /// The target's column in a table, by name or by number from 1; none: the last.
    pub target_column: Option<String>,
    /// The feature names of a model. Columns are matched by these, in any order, and the target may be absent.
    pub names: Option<Vec<String>>,
    /// The number of features of a model. Shorter LIBSVM rows are padded to it, and the target may be absent.
    pub dim: Option<usize>,
    /// The table that a model was trained on. Columns of tables are matched and encoded by it, in place of `names` and `dim`.
    pub table: Option<Encoding>,
    /// Columns of a table to leave out in training, by name or by number from 1.
    pub ignore: Vec<String>,
}

impl Reading {
    /// Classes to learn from.
    #[cfg(test)]
    const CLASSES: Reading =
        Reading { format: None, wanted: Wanted::Classes, target_column: None, names: None, dim: None, table: None, ignore: vec![] };

    /// The number of features a model expects, if there is a model.
    fn expected_dim(&self) -> Option<usize> {
        self.names.as_ref().map(Vec::len).or(self.dim)
    }

    /// The names of a table's columns that become features of a model.
    fn column_names(&self) -> Option<Vec<&str>> {
        match &self.table {
            Some(table) => table.named.then(|| table.used().map(Column::name).collect()),
            None => self.names.as_ref().map(|names| names.iter().map(String::as_str).collect()),
        }
    }

    /// The number of columns beside the target that a table for a model has.
    fn n_columns(&self) -> Option<usize> {
        self.table.as_ref().map(|table| table.columns.len()).or_else(|| self.expected_dim())
    }

    /// True where there is no model, so that the columns are learned from.
    fn learns(&self) -> bool {
        self.n_columns().is_none()
    }
}

/// What was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Read {
    /// The data. Their numbers are not yet known to be finite; see [`Dataset::check`].
    pub dataset: Dataset,
    /// Notes for the user, a sentence each.
    pub notes: Vec<String>,
}

/// Reads a file, or standard input for `-`.
///
/// ```
/// use kernelet::data::read::{Reading, Wanted, read};
///
/// let folder = std::env::temp_dir().join(format!("kernelet-read-{}", std::process::id()));
/// std::fs::create_dir_all(&folder)?;
/// let (csv, svm) = (folder.join("iris.csv"), folder.join("iris.svm"));
/// std::fs::write(&csv, "length,width,species\n1.4,0.2,setosa\n4.7,1.4,versicolor\n")?;
/// std::fs::write(&svm, "1 1:1.4 2:0.2\n2 1:4.7 2:1.4\n")?;
///
/// let how = Reading { wanted: Wanted::Classes, ..Reading::default() };
/// let from_csv = read(&csv.to_string_lossy(), &how)?.dataset;
/// assert_eq!(from_csv.names, Some(vec!["length".to_string(), "width".to_string()]));
/// assert_eq!(from_csv.classes()?.labels[1].text(), "versicolor");
/// let from_libsvm = read(&svm.to_string_lossy(), &how)?.dataset;
/// assert_eq!(from_libsvm.points.to_dense(), from_csv.points.to_dense());
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read(path: &str, how: &Reading) -> Result<Read> {
    let format = Some(format_of(path, how)?);
    read_bytes(&source::load(path)?, source::name_of(path), &Reading { format, ..how.clone() })
}

/// The format requested, else the one of the file extension.
fn format_of(path: &str, how: &Reading) -> Result<Format> {
    match how.format {
        Some(format) => Ok(format),
        None if path == "-" => {
            let reason = format!("there is no file extension to infer the format from; give --format {NAMES}");
            Err(Error::format(source::STANDARD_INPUT, None, None, reason))
        }
        None => Format::from_path(path).or_else(|unknown| source::is_file(path).and(Err(unknown))),
    }
}

/// Reads what is already in memory; `origin` names it in messages and gives the format where `how` does not.
pub fn read_bytes(bytes: &[u8], origin: &str, how: &Reading) -> Result<Read> {
    let format = how.format.map_or_else(|| Format::from_path(origin), Ok)?;
    let bytes = source::unpacked(bytes, origin)?;
    if !how.ignore.is_empty() && !matches!(format, Format::Csv | Format::Parquet) {
        return Err(Error::format(origin, None, None, "only tables, CSV and Parquet, have columns to ignore"));
    }
    match format {
        Format::Libsvm => libsvm::read(&bytes, origin, how),
        Format::Npy => npy::read(&bytes, origin, how),
        Format::Npz => npz::read(&bytes, origin, how),
        Format::Csv => csv::read(&bytes, origin, how),
        #[cfg(feature = "parquet")]
        Format::Parquet => parquet::read(&bytes, origin, how),
        #[cfg(not(feature = "parquet"))]
        Format::Parquet => {
            let reason = "this build cannot read Parquet; build kernelet with `--features parquet`, or convert the table to CSV";
            Err(Error::format(origin, None, None, reason))
        }
    }
}

fn matrix<R: Real>(values: Vec<R>, rows: usize, cols: usize) -> Result<Matrix<R>> {
    let found = values.len();
    Matrix::new(values, rows, cols).ok_or(Error::Shape { what: "values", expected: rows.saturating_mul(cols), found })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::data::Target;

    #[test]
    fn the_format_follows_from_the_extension() {
        let cases = [
            ("a.svm", Format::Libsvm),
            ("a.b.libsvm", Format::Libsvm),
            ("dir.csv/a.svmlight", Format::Libsvm),
            ("a.txt.gz", Format::Libsvm),
            ("A.CSV", Format::Csv),
            ("a.tsv", Format::Csv),
            ("a.npy", Format::Npy),
            ("a.npz", Format::Npz),
            ("a.parquet", Format::Parquet),
        ];
        for (path, format) in cases {
            assert_eq!(Format::from_path(path).unwrap(), format, "{path}");
        }
        let known = "known are .svm, .libsvm, .svmlight, .txt, .csv, .tsv, .npy, .npz and .parquet, or give the format with --format";
        let unknown = Format::from_path("x/a.pdf").unwrap_err().to_string();
        assert_eq!(unknown, format!("x/a.pdf: the extension .pdf is not known; {known}"));
        let sheet = Format::from_path("x/a.xlsx").unwrap_err().to_string();
        assert_eq!(sheet, format!("x/a.xlsx: spreadsheets are not read; save the sheet as CSV; {known}"));
        let none = Format::from_path("x.y/a9a").unwrap_err().to_string();
        assert_eq!(none, format!("x.y/a9a: the name has no extension; {known}"));
    }

    #[test]
    fn formats_have_names() {
        for format in Format::ALL {
            assert_eq!(Format::named(format.name()).unwrap(), format);
        }
        let text = Format::named("xls").unwrap_err().to_string();
        assert_eq!(text, "format is \"xls\", but must be libsvm, csv, npy, npz or parquet");
    }

    #[test]
    fn standard_input_needs_a_format() {
        let text = read("-", &Reading::default()).unwrap_err().to_string();
        let expected = "there is no file extension to infer the format from; give --format libsvm, csv, npy, npz or parquet";
        assert_eq!(text, format!("standard input: {expected}"));
    }

    #[cfg(not(feature = "parquet"))]
    #[test]
    fn without_its_feature_parquet_is_rejected_with_an_error() {
        let text = read_bytes(b"PAR1", "a.parquet", &Reading::default()).unwrap_err().to_string();
        let expected = "this build cannot read Parquet; build kernelet with `--features parquet`, or convert the table to CSV";
        assert_eq!(text, format!("a.parquet: {expected}"));
    }

    #[test]
    fn files_are_read_packed_or_not() {
        use std::io::Write;
        let mut packed = flate2::write::GzEncoder::new(vec![], flate2::Compression::fast());
        packed.write_all(b"1 1:2\n").unwrap();
        let folder = fresh_folder();
        for (name, bytes) in [("a.svm", b"1 1:2\n".to_vec()), ("b.svm", packed.finish().unwrap())] {
            let path = folder.join(name);
            std::fs::write(&path, bytes).unwrap();
            let found = read(path.to_str().unwrap(), &Reading { wanted: Wanted::Values, ..Reading::default() }).unwrap();
            assert_eq!(found.dataset.points.to_dense().values(), [2.0]);
        }
        std::fs::remove_dir_all(folder).unwrap();
    }

    fn fresh_folder() -> std::path::PathBuf {
        let folder = std::env::temp_dir().join(format!("kernelet-read-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        folder
    }

    /// A good file of every format.
    fn examples() -> Vec<(Format, Vec<u8>)> {
        let numbers: Vec<u8> = (0..6).flat_map(|v| f64::from(v).to_le_bytes()).collect();
        let points = npy::tests::written("<f8", true, "(3, 2)", &numbers);
        let labels = npy::tests::written("<U1", false, "(3,)", &[97, 0, 0, 0, 98, 0, 0, 0, 97, 0, 0, 0]);
        let weights = npy::tests::written("|u1", false, "(3,)", &[1, 2, 3]);
        let arrays = [("X", points.clone()), ("y", labels), ("sample_weight", weights)];
        vec![
            (Format::Libsvm, b"+1 1:0.5 3:-2e-3 # x\n-1 qid:1 2:7\n+1\n".to_vec()),
            (Format::Csv, b"a;\"b c\";t\n1;2;x\n3;4;\"y;z\"\n".to_vec()),
            (Format::Npy, points),
            (Format::Npz, npz::tests::zipped(&arrays, zip::CompressionMethod::Stored)),
            (Format::Npz, npz::tests::zipped(&arrays, zip::CompressionMethod::Deflated)),
            #[cfg(feature = "parquet")]
            (Format::Parquet, parquet::tests::written(Some(4), b"setosa")),
        ]
    }

    fn readings() -> impl Strategy<Value = Reading> {
        let wanted = prop_oneof![Just(Wanted::Nothing), Just(Wanted::Classes), Just(Wanted::Values)];
        let named = proptest::option::of(prop_oneof![Just("1".to_string()), Just("t".into()), Just("99".into())]);
        let names = proptest::option::of(Just(vec!["b c".to_string(), "a".into()]));
        let learned = read_bytes(b"a;b c;t\n1;x;u\n?;y;v\n", "a.csv", &Reading::CLASSES).unwrap().dataset.table;
        let table = prop_oneof![Just(None), Just(learned.clone()), Just(learned.map(|table| Encoding { named: false, ..table }))];
        let ignore = prop_oneof![Just(vec![]), Just(vec!["1".to_string()]), Just(vec!["t".into(), "gone".into()])];
        let known = (wanted, named, names, proptest::option::of(0usize..5), table, ignore);
        known.prop_map(|(wanted, target_column, names, dim, table, ignore)| Reading {
            format: None,
            wanted,
            target_column,
            names,
            dim,
            table,
            ignore,
        })
    }

    /// Reads, and checks what every reader promises: as many targets as rows.
    fn read_and_check(bytes: &[u8], format: Format, how: &Reading) {
        let Ok(read) = read_bytes(bytes, "a", &Reading { format: Some(format), ..how.clone() }) else { return };
        let targets = match &read.dataset.target {
            Target::None => read.dataset.len(),
            Target::Classes(classes) => classes.codes.len(),
            Target::Values(values) => values.rows(),
        };
        assert_eq!(targets, read.dataset.len());
    }

    #[test]
    fn the_examples_are_good() {
        for (format, bytes) in examples() {
            let how = Reading { format: Some(format), wanted: Wanted::Classes, ..Reading::default() };
            assert!(read_bytes(&bytes, "a", &how).unwrap().dataset.check().is_ok());
        }
    }

    proptest! {
        #[test]
        fn random_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300), how in readings()) {
            for (format, example) in examples() {
                read_and_check(&bytes, format, &how);
                let begun = [&example[..example.len() / 2], &bytes[..]].concat();
                read_and_check(&begun, format, &how);
            }
        }

        #[test]
        fn random_text_never_panics(text in "[-+0-9.:;,# \t\r\n\"aeqid?]{0,200}", how in readings()) {
            read_and_check(text.as_bytes(), Format::Libsvm, &how);
            read_and_check(text.as_bytes(), Format::Csv, &how);
        }

        #[test]
        fn good_files_with_bad_bytes_never_panic(
            changes in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 1..6),
            end in any::<proptest::sample::Index>(),
            how in readings(),
        ) {
            for (format, mut bytes) in examples() {
                changes.iter().for_each(|(at, byte)| *at.get_mut(&mut bytes) = *byte);
                read_and_check(&bytes, format, &how);
                read_and_check(&bytes[..end.index(bytes.len())], format, &how);
            }
        }
    }
}
