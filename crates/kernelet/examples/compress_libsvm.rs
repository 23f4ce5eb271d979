//! Reads a model that `svm-train` wrote and rows that it was not trained on, and writes the smallest model whose error on new rows is at
//! most half a percentage point higher with 95 % confidence, or says what it would take:
//!
//! ```text
//! cargo run --release -p kernelet --example compress_libsvm -- LARGE.model ROWS.svm SMALL.model
//! ```
use std::{error::Error, io::Write};

use kernelet::{
    compress::Goals,
    data::read::{Reading, Wanted, read},
    machine::Decision,
    prelude::*,
};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [large, rows, small] = &arguments[..] else { return Err("give LARGE.model ROWS.svm SMALL.model".into()) };
    let large = model::load(large)?;
    let wanted = if large.decision == Decision::Values { Wanted::Values } else { Wanted::Classes };
    let how = Reading { wanted, names: large.names.clone(), dim: Some(large.dim()), ..Reading::default() };
    let rows = read(rows, &how)?.dataset;

    let show = |progress: &Progress| eprintln!("{} {}", progress.stage, progress.done);
    let goals = Goals { max_loss: Some(0.005), ..Goals::default() };
    let compressed = Compress { goals, ..Compress::default() }.run(&large, Some(&rows), None, &Watch::none().with_reporter(show))?;
    model::save(&compressed.machine, small)?;

    let mut out = std::io::stdout();
    writeln!(out, "{} vectors before, {} after, by {}", large.n_vectors(), compressed.machine.n_vectors(), compressed.strategy)?;
    if let Some(validation) = &compressed.validation {
        writeln!(out, "{} validation rows: {}", validation.n_rows, validation.why)?;
    }
    for note in &compressed.notes {
        writeln!(out, "{note}")?;
    }
    Ok(())
}
