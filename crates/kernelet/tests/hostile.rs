//! Damaged and hostile files of every kind: whatever the bytes are, a reader returns or refuses, and what it returns can be used. Some hundred with all
//! tests; 24,000 with `KERNELET_HARD=1`. `fuzz/` does the same with coverage; the files in `hostile/`, a folder for each of its targets, are its seeds and
//! what it found.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout)]
use std::{fs, path::Path};

use kernelet::{
    data::read::{Format, Reading, Wanted, read_bytes},
    data::{banana, waveform3},
    linalg::Matrix,
    model::range::Range,
    prelude::*,
};

/// Numbers that look random.
struct Random(u64);

impl Random {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % most.max(1)
    }
}

/// Words that readers stumble over.
const WORDS: [&str; 24] = [
    "nan",
    "inf",
    "-1e999",
    "4294967294",
    "99999999999999999999",
    "1e-400",
    "-0",
    "0",
    ":",
    ",",
    "\n",
    "\r\n",
    "\"",
    "\0",
    "{",
    "]",
    "[[",
    "null",
    "1:1",
    "\u{feff}",
    "é",
    "#",
    "18446744073709551615",
    " ",
];

/// A file with up to eight changes: bytes flipped, cut out, doubled, words put in, the end left out.
fn damaged(seed: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = seed.to_vec();
    for _ in 0..=random.below(8) {
        let place = random.below(bytes.len() + 1);
        let end = (place + 1 + random.below(20)).min(bytes.len());
        match random.below(6) {
            0 if place < bytes.len() => bytes[place] ^= 1 << random.below(8),
            1 if place < bytes.len() => bytes[place] = [0, 255, b'9', b'-', 128][random.below(5)],
            2 => drop(bytes.drain(place..end.max(place))),
            3 => {
                let part = bytes[place..end.max(place)].to_vec();
                bytes.splice(place..place, part);
            }
            4 => bytes.truncate(place),
            _ => drop(bytes.splice(place..place, WORDS[random.below(WORDS.len())].bytes())),
        }
    }
    bytes
}

fn npy(header: &str, numbers: &[f64]) -> Vec<u8> {
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.bytes());
    bytes.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
    bytes
}

fn data(bytes: &[u8], format: Format) {
    for (wanted, dim) in [(Wanted::Classes, None), (Wanted::Values, None), (Wanted::Nothing, Some(2))] {
        let how = Reading { format: Some(format), wanted, dim, ..Reading::default() };
        if let Ok(read) = read_bytes(bytes, "hostile", &how) {
            assert!(read.dataset.points.is_sparse() || dim.is_none_or(|dim| dim == read.dataset.dim()));
            let _ = read.dataset.check();
        }
    }
}

/// A model that is accepted predicts finite numbers or refuses, and is written and read back the same.
fn machine(bytes: &[u8]) {
    let Ok(machine) = model::load_bytes(bytes, "hostile") else { return };
    let written = model::native::to_bytes(&machine).unwrap();
    assert_eq!(model::load_bytes(&written, "written").unwrap(), machine);
    if machine.dim() < 1000 {
        let rows = Matrix::from_fn(3, machine.dim(), |i, j| i as f64 - 0.5 * j as f64);
        if let Ok(outputs) = Predictor::new(&machine).outputs(&rows.into()) {
            assert!(outputs.values().iter().all(|output| output.is_finite()));
        }
    }
    let _ = (model::libsvm::to_text(&machine), model::json::to_text(&machine));
}

#[test]
fn hostile_files_are_read_or_refused() {
    let train = |request: &str, data| Train::from_json(request).unwrap().run(data, &Given::default(), &Watch::none()).unwrap().fit.machine;
    let (two, three) = (banana(12, 1), waveform3(12, 1));
    let machines = [
        train(r#"{"gamma": 1, "scale": "standard"}"#, &two),
        train(r#"{"gamma": 0.1}"#, &three),
        train(r#"{"learner": "pca", "components": 2}"#, &two),
    ];
    let array = npy("{'descr': '<f8', 'fortran_order': False, 'shape': (3, 2), }\n", &[1.0, 2.0, 3.0, 4.0, 5.0, 6.5]);
    let mut seeds: Vec<(Vec<u8>, Option<Format>)> = vec![
        (b"+1 1:0.5 3:-2e1\n-1 2:1 # a comment\n\n+1 qid:3 4:4\n".to_vec(), Some(Format::Libsvm)),
        (b"a,b,kind\n1,2.5,x\n-3e1,,\"y \"\"z\"\"\"\n4,5,x\n".to_vec(), Some(Format::Csv)),
        (array.clone(), Some(Format::Npy)),
        (array, Some(Format::Npz)),
    ];
    let kept = kept_files();
    seeds.extend(kept.iter().filter(|(target, _)| is_data(target)).map(|(target, bytes)| (bytes.clone(), format_of(target))));
    for machine in &machines {
        seeds.push((model::native::to_bytes(machine).unwrap(), None));
        seeds.extend(model::libsvm::to_text(machine).ok().map(|text| (text.into_bytes(), None)));
        seeds.push((model::json::to_text(machine).unwrap().into_bytes(), None));
    }
    let range = b"x\n-1 1\n1 0 5.5\n3 -2 2\n";
    let many = if std::env::var_os("KERNELET_HARD").is_some() { 24_000 } else { 600 };
    let mut random = Random(7);
    for turn in 0..many {
        let (seed, format) = &seeds[turn % seeds.len()];
        let bytes = damaged(seed, &mut random);
        match format {
            Some(format) => data(&bytes, *format),
            None => machine(&bytes),
        }
        if let Ok(range) = Range::from_bytes(&damaged(range, &mut random), "hostile") {
            let _ = range.to_scale(range.dim());
        }
    }
    println!("{} hostile files", 2 * many);
}

fn is_data(target: &str) -> bool {
    format_of(target).is_some()
}

/// The format of the data that a fuzz target reads; None for models and range files.
fn format_of(target: &str) -> Option<Format> {
    Some(match target {
        "libsvm_data" => Format::Libsvm,
        "csv" => Format::Csv,
        "npy" => Format::Npy,
        "npz" => Format::Npz,
        "parquet" => Format::Parquet,
        _ => return None,
    })
}

/// The files in `hostile/` with the target each is for.
fn kept_files() -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hostile");
    let entries = |path: &Path| {
        let mut paths: Vec<_> = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        paths
    };
    let mut files = vec![];
    for target in entries(&folder) {
        let name = target.file_name().unwrap().to_str().unwrap();
        files.extend(entries(&target).iter().map(|path| (name.to_string(), fs::read(path).unwrap())));
    }
    files
}

#[test]
fn files_that_once_broke_a_reader_are_read_or_refused() {
    let files = kept_files();
    assert!(files.len() > 5);
    for (target, bytes) in &files {
        match (format_of(target), target.as_str()) {
            (Some(format), _) => data(bytes, format),
            (None, "range") => drop(Range::from_bytes(bytes, "hostile").map(|range| range.to_scale(range.dim()))),
            (None, "native_model" | "libsvm_model" | "json_model") => machine(bytes),
            (None, other) => panic!("tests/hostile/{other} is no target that reads files"),
        }
    }
}
