//! How long a row takes, on one thread.
use std::time::Instant;

use kernelet::{
    data::Points,
    machine::{Machine, Predictor, Work},
};

use crate::failure::{Failure, Result};

/// Rows to time with: enough for full blocks, few enough for large machines.
const ROWS: usize = 256;

/// Seconds for one machine, the fewest runs and the most.
const ENOUGH_SECONDS: f64 = 0.03;
const FEWEST_RUNS: usize = 4;
const MOST_RUNS: usize = 20;

/// The first rows, for timing.
pub fn sample(points: &Points) -> Points {
    points.select(&(0..points.len().min(ROWS)).collect::<Vec<_>>())
}

/// Microseconds for a row: one at a time, and all at once. The best of several runs, because other programs only slow us down.
pub fn microseconds(machine: &Machine, points: &Points) -> Result<(f64, f64)> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
    pool.map_err(|error| Failure::failed(format!("a thread could not be started: {error}")))?.install(|| timed(machine, points))
}

fn timed(machine: &Machine, points: &Points) -> Result<(f64, f64)> {
    let predictor = Predictor::new(machine);
    let (rows, mut out, mut work) = (points.to_dense(), vec![0.0; machine.n_outputs()], Work::default());
    let (mut one, mut batched) = (f64::INFINITY, f64::INFINITY);
    let begun = Instant::now();
    for run in 0..MOST_RUNS {
        if run >= FEWEST_RUNS && begun.elapsed().as_secs_f64() > ENOUGH_SECONDS {
            break;
        }
        let clock = Instant::now();
        for row in rows.iter() {
            predictor.row(row, &mut out, &mut work)?;
        }
        one = one.min(clock.elapsed().as_secs_f64());
        let clock = Instant::now();
        predictor.outputs(points)?;
        batched = batched.min(clock.elapsed().as_secs_f64());
    }
    let per_row = 1e6 / points.len().max(1) as f64;
    Ok((one * per_row, batched * per_row))
}
