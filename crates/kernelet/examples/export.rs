//! Trains a small machine with probabilities and writes it in every format: native, JSON, ONNX and C source.
//!
//! ```text
//! cargo run --release -p kernelet --example export -- FOLDER
//! ```
use std::{error::Error, fs, io::Write, path::PathBuf};

use kernelet::{
    data::banana,
    model::{Precision, c, json, onnx},
    prelude::*,
};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = PathBuf::from(std::env::args().nth(1).ok_or("give a folder")?);
    fs::create_dir_all(&folder)?;
    let request = Train::from_json(r#"{"gamma": 1, "c": 10, "vectors": 10, "probability": "sigmoid"}"#)?;
    let machine = request.run(&banana(400, 1), &Given::default(), &Watch::none())?.fit.machine;

    let single = onnx::Options { precision: Precision::F32, ..onnx::Options::default() };
    model::save(&machine, folder.join("banana.model"))?;
    json::save(&machine, folder.join("banana.json"))?;
    onnx::save(&machine, &single, folder.join("banana.onnx"))?;
    c::save(&machine, &c::Options { name: "banana".into(), precision: Precision::F32 }, folder.join("banana.c"))?;

    let mut out = std::io::stdout();
    for entry in fs::read_dir(&folder)? {
        let entry = entry?;
        writeln!(out, "{:>8} bytes {}", entry.metadata()?.len(), entry.path().display())?;
    }
    Ok(())
}
