//! How near prediction comes to the machine's limit: `cargo run --release --example time_predict`.
//!
//! One thread, 20,000 rows, random Gaussian machines. "product" counts 2 n m d operations, "all" adds the exponential (10 or 6
//! multiply-adds) and the coefficient. The peak is measured in the same run, before each case. Times are processor time, best of
//! several runs, so that other programs on the machine count little.
//!
//! `time_predict MODEL ROWS.npy` prints the seconds that the outputs of these rows take instead.
use std::{error::Error, io::Write};

use cpu_time::{ProcessTime, ThreadTime};
use kernelet::{
    data::{
        Points,
        read::{Reading, read},
    },
    evaluate::speed,
    kernel::Kernel,
    linalg::Matrix,
    machine::{Coefficients, Decision, Expansion, Machine, Metadata, Predictor, Work},
};

const ROWS: usize = 20_000;

fn numbers(rows: usize, cols: usize, seed: usize) -> Matrix {
    Matrix::from_fn(rows, cols, |i, j| ((i * 7919 + j * 104_729 + seed) as f64 * 0.618).sin())
}

fn machine(vectors: usize, dim: usize, outputs: usize) -> Machine {
    let kernel = Kernel::gaussian(1.0 / dim as f64);
    let coefficients = Coefficients::Dense(numbers(vectors, outputs, 3));
    let expansion = Expansion { kernel, vectors: numbers(vectors, dim, 5).into(), coefficients };
    let (offsets, decision) = (vec![0.0; outputs], Decision::Features);
    Machine { expansion, offsets, decision, scale: None, names: None, calibration: None, metadata: Metadata::default() }
}

fn best(runs: usize, mut work: impl FnMut()) -> f64 {
    (0..runs).fold(f64::INFINITY, |best, _| {
        let start = ThreadTime::now();
        work();
        best.min(start.elapsed().as_secs_f64())
    })
}

fn report(name: &str, predictor: &Predictor, dim: usize, vectors: usize, outputs: usize, terms: usize, peak: f64) {
    let x = Points::from(numbers(ROWS, dim, 1));
    let seconds = best(9, || drop(std::hint::black_box(predictor.outputs(&x))));
    let values = (ROWS * vectors) as f64;
    let (product, all) = (2.0 * values * dim as f64, 2.0 * values * (dim + terms + outputs) as f64);
    eprintln!(
        "{name} {dim:>5} {vectors:>6} {outputs:>3} {:>9.2} ms {:>6.1} % {:>6.1} %   (peak {:.1} GFLOP/s)",
        seconds * 1e3,
        100.0 * product / seconds / peak,
        100.0 * all / seconds / peak,
        peak * 1e-9
    );
}

fn single_row(dim: usize, vectors: usize) {
    let predictor = Predictor::new(&machine(vectors, dim, 1));
    let (x, mut out, mut work) = (numbers(1, dim, 1), [0.0], Work::default());
    let seconds = best(9, || {
        for _ in 0..10_000 {
            let _ = std::hint::black_box(predictor.row(std::hint::black_box(x.row(0)), &mut out, &mut work));
        }
    }) / 1e4;
    eprintln!("one row, f64, {vectors} vectors, {dim} features: {:.0} ns", seconds * 1e9);
}

/// Processor time of all threads together on one thread and on two.
fn two_threads(dim: usize, vectors: usize) -> Result<(), Box<dyn Error>> {
    let (predictor, x) = (Predictor::new(&machine(vectors, dim, 1)), Points::from(numbers(ROWS, dim, 1)));
    let mut fastest = [f64::INFINITY; 2];
    let pools = [pool(1)?, pool(2)?];
    for _ in 0..21 {
        for (pool, fastest) in pools.iter().zip(&mut fastest) {
            let start = ProcessTime::now();
            pool.install(|| drop(std::hint::black_box(predictor.outputs(&x))));
            *fastest = fastest.min(start.elapsed().as_secs_f64());
        }
    }
    let more = 100.0 * (fastest[1] / fastest[0] - 1.0);
    eprintln!("two threads, f64, {vectors} vectors, {dim} features: {more:+.1} % processor time in all");
    Ok(())
}

fn pool(threads: usize) -> Result<rayon::ThreadPool, rayon::ThreadPoolBuildError> {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build()
}

/// Seconds for the outputs of the rows in a file.
fn time_file(model: &str, rows: &str) -> Result<f64, Box<dyn Error>> {
    let predictor = Predictor::new(&kernelet::model::load(model)?);
    let rows = read(rows, &Reading::default())?.dataset.points;
    Ok(best(3, || drop(std::hint::black_box(predictor.outputs(&rows)))))
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [model, rows] = &arguments[..] {
        let seconds = pool(1)?.install(|| time_file(model, rows).map_err(|error| error.to_string()))?;
        return Ok(std::io::stdout().write_all(format!("{seconds}\n").as_bytes())?);
    }
    pool(1)?.install(|| {
        eprintln!("type   dim vectors outputs     time product    all");
        for (dim, vectors, outputs) in [
            (16, 50, 1),
            (16, 500, 1),
            (16, 2500, 1),
            (256, 50, 1),
            (256, 500, 1),
            (256, 2500, 1),
            (784, 500, 1),
            (10_000, 500, 1),
            (16, 500, 10),
            (256, 500, 10),
        ] {
            let machine = machine(vectors, dim, outputs);
            report("f64", &Predictor::new(&machine), dim, vectors, outputs, 10, speed::peak_f64());
            report("f32", &Predictor::single(&machine), dim, vectors, outputs, 6, speed::peak_f32());
        }
        single_row(20, 100);
        single_row(2, 10);
    });
    two_threads(16, 500)?;
    two_threads(256, 500)
}
