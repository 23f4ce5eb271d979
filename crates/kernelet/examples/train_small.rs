//! Trains handwritten digits with 10, 30 and 100 expansion vectors and prints the error of each size beside that of the full machine.
//!
//! ```text
//! cargo run --release -p kernelet --example train_small
//! ```
use std::{error::Error, io::Write, time::Instant};

use kernelet::{data::digits_split, prelude::*};

fn main() -> Result<(), Box<dyn Error>> {
    let (train, test) = digits_split();
    let mut out = std::io::stdout();
    writeln!(out, "{:>7} {:>14} {:>17}", "vectors", "test error (%)", "training time (s)")?;
    for vectors in [Some(10), Some(30), Some(100), None] {
        let mut request = Train::from_json(r#"{"learner": "svc", "gamma": 4e-4, "c": 10}"#)?;
        request.vectors.count = vectors;
        let clock = Instant::now();
        let machine = request.run(&train, &Given::default(), &Watch::none())?.fit.machine;
        let seconds = clock.elapsed().as_secs_f64();
        writeln!(out, "{:>7} {:>14.2} {seconds:>17.2}", machine.n_vectors(), 100.0 * machine.score(&test)?.loss())?;
    }
    Ok(())
}
