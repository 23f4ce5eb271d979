//! Selects C and gamma by cross-validation and prints the best candidates:
//!
//! ```text
//! cargo run --release -p kernelet --example tune [-- TRAIN TEST]
//! ```
//!
//! Without files, rows of the banana set are drawn.
use std::{error::Error, io::Write};

use kernelet::{
    data::{
        banana,
        read::{Reading, Wanted, read},
    },
    prelude::*,
};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (train, test) = match &arguments[..] {
        [] => (banana(400, 1), banana(4000, 2)),
        [train, test] => {
            let how = Reading { wanted: Wanted::Classes, ..Reading::default() };
            let train = read(train, &how)?.dataset;
            let how = Reading { names: train.names.clone(), dim: Some(train.dim()), ..how };
            (train, read(test, &how)?.dataset)
        }
        _ => return Err("give TRAIN and TEST, or nothing".into()),
    };
    let request = Train::from_json(r#"{"learner": "svc", "scale": "standard", "tune": true, "folds": 5}"#)?;
    let trained = request.run(&train, &Given::default(), &Watch::none())?;

    let mut out = std::io::stdout();
    writeln!(out, "{:>10} {:>10} {:>26}", "C", "gamma", "cross-validated error (%)")?;
    for candidate in trained.tried.iter().take(5) {
        writeln!(out, "{:>10.4} {:>10.4} {:>26.2}", candidate.cost, candidate.gamma, 100.0 * candidate.loss)?;
    }
    let error = 100.0 * trained.machine().score(&test)?.loss();
    writeln!(out, "{} vectors, {error:.2} % error on {} test rows", trained.machine().n_vectors(), test.len())?;
    Ok(())
}
