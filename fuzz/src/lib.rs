//! What the fuzz targets share: bytes are read in every way that a program reads them, and what comes out is used.
use std::{
    path::{Path, PathBuf},
    sync::OnceLock,
};

use kernelet::{
    data::read::{FileBlocks, Format, Reading, Wanted, blocks, read, read_arrays, read_bytes},
    data::{Column, Dataset, Encoding, MISSING, RowBlocks},
    machine::Machine,
    model::{self, Kind, cascade, centre_scale, range::Range},
};

/// Reads data of a format for training and for a model. Whatever is accepted is finite, and as wide as it says.
pub fn data(bytes: &[u8], format: Format) {
    if format == Format::Npz {
        let _ = read_arrays(bytes, "fuzz");
    }
    for wanted in [Wanted::Nothing, Wanted::Classes, Wanted::Values] {
        for dim in [None, Some(3)] {
            let how = Reading { format: Some(format), wanted, dim, ..Reading::default() };
            if let Ok(read) = read_bytes(bytes, "fuzz", &how) {
                let points = &read.dataset.points;
                assert!(points.is_sparse() || dim.is_none_or(|dim| points.dim() == dim));
                if read.dataset.check().is_ok() {
                    again(bytes, &how, &read.dataset);
                }
            }
        }
    }
    assert_eq!(Format::named(format.name()).unwrap(), format);
    if matches!(format, Format::Csv | Format::Parquet) {
        for (column, ignored) in [("1", "2"), ("kind", "gone")] {
            let (target_column, ignore) = (Some(column.to_string()), vec![ignored.to_string()]);
            let _ = read_bytes(
                bytes,
                "fuzz",
                &Reading { format: Some(format), wanted: Wanted::Classes, target_column, ignore, ..Reading::default() },
            );
        }
    }
    for_a_model(bytes, format);
    from_a_file(bytes, format);
}

/// The rows for a model of a table or of named columns, whatever is said of the target and of columns to ignore.
fn for_a_model(bytes: &[u8], format: Format) {
    let texts = |texts: &[&str]| texts.iter().map(|text| text.to_string()).collect::<Vec<_>>();
    let plain = Reading { format: Some(format), ..Reading::default() };
    let models = [
        Reading { table: Some(table()), ..plain.clone() },
        Reading { table: Some(Encoding { named: false, ..table() }), ..plain.clone() },
        Reading { names: Some(texts(&["b", "a"])), ..plain.clone() },
        Reading { dim: Some(1), ..plain },
    ];
    for model in models {
        for (wanted, target, ignore) in [
            (Wanted::Nothing, None, vec![]),
            (Wanted::Classes, None, vec![]),
            (Wanted::Classes, Some("kind"), vec![]),
            (Wanted::Values, Some("a"), vec![]),
            (Wanted::Classes, Some("1"), texts(&["1"])),
            (Wanted::Classes, None, texts(&["a"])),
        ] {
            let how = Reading { wanted, target_column: target.map(String::from), ignore, ..model.clone() };
            if let Ok(read) = read_bytes(bytes, "fuzz", &how) {
                let names = read.dataset.table.as_ref().map(Encoding::feature_names);
                assert!(names.is_none_or(|names| names.len() == read.dataset.dim()));
            }
        }
    }
}

/// A table of a model, whose columns are those of the seeds.
fn table() -> Encoding {
    let number = |name: &str, flagged| Column::Number { name: name.into(), fill: 0.5, flagged };
    let text = Column::Text { name: "kind".into(), categories: vec!["x".into(), "y".into(), MISSING.into()] };
    let columns = vec![number("a", false), Column::Ignored { name: "id".into() }, number("b", true), text];
    Encoding { columns, named: true }
}

/// The path of a file with these bytes, in memory where there is such a folder.
pub fn file(bytes: &[u8], name: &str) -> PathBuf {
    let memory = Path::new("/dev/shm");
    let folder = if memory.is_dir() { memory.to_path_buf() } else { std::env::temp_dir() };
    let path = folder.join(format!("kernelet-fuzz-{}-{name}", std::process::id()));
    std::fs::write(&path, bytes).unwrap();
    path
}

/// Where rows may come from besides a file of their format: packed by gzip or not, a directory, nothing, a device.
fn from_elsewhere(bytes: &[u8], format: Format) {
    let how = Reading { format: Some(format), wanted: Wanted::Classes, ..Reading::default() };
    let packed = file(bytes, "rows.gz").to_string_lossy().into_owned();
    let whole = read(&packed, &how).is_ok_and(|read| read.dataset.check().is_ok());
    let opened = blocks(&packed, &how).and_then(|mut blocks| blocks.next_block().map(|block| (block, blocks.notes())));
    // Columns of text are learned from all rows at once.
    assert!(!whole || format != Format::Libsvm || opened.is_ok());
    static ONCE: OnceLock<()> = OnceLock::new();
    ONCE.get_or_init(|| {
        for path in ["/", "/nonexistent/rows"] {
            assert!(read(path, &how).is_err() && read(path, &Reading::default()).is_err());
            assert!(blocks(path, &how).and_then(|mut blocks| blocks.next_block()).is_err());
        }
        let _ = read("/dev/null", &how);
        assert!(read("-", &Reading::default()).is_err());
    });
}

/// A file gives the same rows whole, in blocks as `predict` reads them, and in blocks as training reads them.
fn from_a_file(bytes: &[u8], format: Format) {
    from_elsewhere(bytes, format);
    let ending = if format == Format::Libsvm { "svm" } else { format.name() };
    let path = &file(bytes, &format!("rows.{ending}")).to_string_lossy().into_owned();
    let how = Reading { wanted: Wanted::Classes, ..Reading::default() };
    let whole = read(path, &how).ok().filter(|read| read.dataset.check().is_ok()).map(|read| read.dataset);
    let opened = FileBlocks::open(path, &how, None, 1 << 22);
    for wanted in [Wanted::Nothing, Wanted::Values] {
        let _ = FileBlocks::open(path, &Reading { wanted, ..how.clone() }, None, 1 << 22).and_then(|blocks| blocks.block(0).map(|_| ()));
    }
    let known = Reading { table: Some(table()), ..Reading::default() };
    if let Ok(mut blocks) = blocks(path, &known) {
        while let Ok(Some(_)) = blocks.next_block() {}
        blocks.notes();
    }
    if let (Some(whole), Ok(blocks)) = (&whole, &opened) {
        assert_eq!(blocks.outline().n_rows, whole.len() as u64);
        for index in 0..blocks.n_blocks() {
            blocks.block(index).unwrap();
        }
    }
    if let Ok(blocks) = &opened {
        changed(path, bytes, blocks);
    }
    let Some(whole) = whole else {
        let _ = blocks(path, &how).and_then(|mut blocks| blocks.next_block());
        return;
    };
    let how = Reading { table: whole.table.clone(), names: whole.names.clone(), dim: Some(whole.points.dim()), ..how };
    let (mut blocks, mut rows) = (blocks(path, &how).unwrap(), 0);
    while let Some(read) = blocks.next_block().unwrap() {
        let expected: Vec<usize> = (rows..rows + read.dataset.len()).collect();
        assert_eq!(read.dataset.points, whole.points.select(&expected));
        rows += expected.len();
    }
    assert_eq!(rows, whole.len());
    blocks.notes();
}

/// A file that is changed or cut while its rows are read gives rows or an error.
fn changed(path: &str, bytes: &[u8], blocks: &FileBlocks) {
    let mut other = bytes.to_vec();
    if let Some(last) = other.last_mut() {
        *last ^= 1;
    }
    for content in [&other[..], &bytes[..bytes.len() / 2], &[]] {
        std::fs::write(path, content).unwrap();
        let _ = blocks.block(0);
    }
    std::fs::write(path, bytes).unwrap();
}

/// What was read for training is read the same for the model that it would make, which knows the table and the names.
fn again(bytes: &[u8], how: &Reading, first: &Dataset) {
    if how.dim.is_some() || how.wanted == Wanted::Nothing {
        return;
    }
    let (table, names, dim) = (first.table.clone(), first.names.clone(), Some(first.points.dim()));
    let how = Reading { table, names, dim, ..how.clone() };
    let read = read_bytes(bytes, "fuzz", &how).unwrap_or_else(|error| panic!("rows that were trained on are refused: {error}"));
    assert_eq!(read.dataset.points, first.points);
}

/// Reads a model. What is accepted is written, read back the same, and predicts finite numbers or says which row it cannot.
pub fn machine(bytes: &[u8]) {
    let _ = Kind::of(bytes).map(Kind::name);
    let from_file = model::load(file(bytes, "model"));
    let Ok(machine) = model::load_bytes(bytes, "fuzz") else {
        assert!(from_file.is_err());
        return;
    };
    assert_eq!(from_file.unwrap(), machine);
    let written = model::native::to_bytes(&machine).unwrap();
    assert_eq!(model::load_bytes(&written, "written").unwrap(), machine);
    let saved = file(b"", "saved");
    model::save(&machine, &saved).unwrap();
    assert_eq!(std::fs::read(&saved).unwrap(), written);
    exported(&machine);
    let vectors = machine.expansion.vectors.clone();
    if machine.map().is_none() && vectors.len() < 100 {
        let _ = machine.predict(&vectors);
    }
}

/// Every export is written or refused.
pub fn exported(machine: &Machine) {
    let saved = file(b"", "exported");
    assert_eq!(model::libsvm::save(machine, &saved).is_ok(), model::libsvm::to_text(machine).is_ok());
    if model::json::save(machine, &saved).is_ok() {
        assert!(model::load(&saved).is_ok());
    }
    if machine.n_vectors() * machine.dim() < 10_000 {
        let _ = model::onnx::to_bytes(machine, &Default::default());
    }
}

/// Reads a cascade of machines. What is accepted is written and read back the same.
pub fn cascade(bytes: &[u8]) {
    if let Ok(cascade) = cascade::from_bytes(bytes, "fuzz") {
        assert!(cascade::recognise(bytes));
        let saved = file(b"", "saved");
        cascade::save(&cascade, &saved).unwrap();
        let written = std::fs::read(saved).unwrap();
        assert_eq!(cascade::from_bytes(&written, "written").unwrap(), cascade);
    }
}

/// Machines of two features for classes and for numbers.
const CLASSES: &str = concat!(
    r#"{"format": "kernelet-json", "version": 2, "program": "fuzz", "kernel": {"name": "gaussian", "gamma": 0.5}, "dim": 2, "offsets": [0.1], "#,
    r#""coefficients": [[1.0]], "vectors": [[0.0, 1.0]], "decision": {"rule": "sign", "negative": "-1", "positive": "1"}}"#
);
const NUMBERS: &str = concat!(
    r#"{"format": "kernelet-json", "version": 2, "program": "fuzz", "kernel": {"name": "gaussian", "gamma": 0.5}, "dim": 2, "offsets": [0.1], "#,
    r#""coefficients": [[1.0]], "vectors": [[0.0, 1.0]], "decision": {"rule": "values"}}"#
);

/// Reads a range file of svm-scale, and a scale file of e1071.
pub fn scaling(bytes: &[u8]) {
    if let Ok(range) = Range::from_bytes(bytes, "fuzz") {
        assert_eq!(Range::from_bytes(range.to_text().as_bytes(), "written").unwrap(), range);
        assert_eq!(Range::load(file(bytes, "range")).unwrap(), range);
        if let Ok(written) = range.to_scale(range.dim()).and_then(|scale| Range::of(&scale)) {
            assert_eq!(Range::from_bytes(written.to_text().as_bytes(), "written").unwrap(), written);
        }
    }
    let found = centre_scale::from_bytes(bytes, "fuzz");
    for model in [CLASSES, NUMBERS] {
        let Ok(scale) = &found else { break };
        let whole = || model::load_bytes(model.as_bytes(), "model").unwrap();
        let (mut rows, mut target) = (whole(), whole());
        if centre_scale::scale_rows(&mut rows, scale.clone()).is_ok() {
            assert!(rows.check().is_ok() && centre_scale::scale_rows(&mut rows, scale.clone()).is_err());
        }
        let _ = centre_scale::unscale_target(&mut target, scale);
    }
    assert_eq!(centre_scale::load(file(bytes, "scale")).ok(), found.ok());
}

/// A cache of rows with some of its bytes changed, three bytes of the input each, and its end cut off: the rows that were cached, or an error.
pub fn cache(bytes: &[u8]) {
    const ROWS: &[u8] = b"1 1:0.5 3:2\n-1 2:1\n1 1:7 2:-3e4 3:0.25\n";
    struct Made {
        source: PathBuf,
        bytes: Vec<u8>,
    }
    static MADE: OnceLock<Made> = OnceLock::new();
    let how = Reading { wanted: Wanted::Classes, ..Reading::default() };
    let open = |source: &Path, cache: &Path| FileBlocks::open(&source.to_string_lossy(), &how, Some(cache), 1 << 22);
    let Made { source, bytes: good } = MADE.get_or_init(|| {
        let (source, cache) = (file(ROWS, "cached.svm"), file(b"", "cache"));
        std::fs::remove_file(&cache).unwrap();
        open(&source, &cache).unwrap();
        Made { source, bytes: std::fs::read(cache).unwrap() }
    });
    let mut changed = good.clone();
    for change in bytes.chunks_exact(3) {
        let place = usize::from(change[0]) << 8 | usize::from(change[1]);
        let len = changed.len();
        match place {
            place if place < len => changed[place] = change[2],
            _ => changed.truncate(len.saturating_sub(usize::from(change[2]))),
        }
    }
    let same = changed == *good;
    let found = open(source, &file(&changed, "cache")).and_then(|blocks| blocks.block(0).map(|block| block.into_owned()));
    assert_eq!(found.is_ok(), same, "{found:?}");
}
