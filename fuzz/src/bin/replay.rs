//! Gives every file of the corpora to its reader, without a fuzzer: for coverage. replay FOLDER, which has a folder for each target.
use std::{fs, path::Path};

use kernelet::data::read::Format;
use kernelet_fuzz::{cache, cascade, data, machine, scaling};

const READERS: [(&str, fn(&[u8])); 10] = [
    ("libsvm_data", |bytes| data(bytes, Format::Libsvm)),
    ("csv", |bytes| data(bytes, Format::Csv)),
    ("npy", |bytes| data(bytes, Format::Npy)),
    ("npz", |bytes| data(bytes, Format::Npz)),
    ("parquet", |bytes| data(bytes, Format::Parquet)),
    ("range", scaling),
    ("native_model", |bytes| {
        machine(bytes);
        cascade(bytes);
    }),
    ("libsvm_model", machine),
    ("json_model", machine),
    ("cache", cache),
];

fn main() {
    let folder = std::env::args().nth(1).expect("replay FOLDER");
    for (target, reader) in READERS {
        let files = fs::read_dir(Path::new(&folder).join(target)).into_iter().flatten().flatten();
        let count = files.map(|file| reader(&fs::read(file.path()).unwrap_or_default())).count();
        println!("{target}: {count} files");
    }
}
