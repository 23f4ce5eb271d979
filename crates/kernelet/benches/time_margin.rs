//! Trains sparse large-margin machines with shared vectors on a file of arrays X_train, y_train, X_test, y_test, and prints error and time:
//!
//! ```text
//! cargo run --release -p kernelet --example time_margin -- FILE.npz NAME=VALUE..
//! ```
//!
//! The names are gamma, c, vectors, iterations, init (random, kmeans, spread, rpcholesky), loss (hinge, squared-hinge), divide (features are
//! divided by it), memory (bytes for coordinates), rows (the first so many are trained on), metric (none, width, scales, or the rows of a map), penalty (of the
//! metric) and seed.
use std::{collections::HashMap, error::Error, time::Instant};

use cpu_time::ProcessTime;
use kernelet::{
    data::{Classes, Dataset, Target, read::read_arrays},
    kernel::Kernel,
    learn::{
        Learner,
        direct::{DirectLoss, Init, Learned, Margin, Metric, Search},
    },
    linalg::Matrix,
    watch::Watch,
};

type Outcome<T> = Result<T, Box<dyn Error>>;

fn part(arrays: &HashMap<String, kernelet::data::read::Array>, name: &str, divide: f64) -> Outcome<Dataset> {
    let find = |what: &str| arrays.get(&format!("{what}_{name}")).ok_or(format!("there is no array {what}_{name}"));
    let (x, y) = (find("X")?, find("y")?);
    let values = x.values.to_f64().ok_or("features must be numbers")?.into_iter().map(|v| v / divide).collect();
    let points = Matrix::new(values, x.shape[0], x.shape[1]).ok_or("X must have rows and columns")?;
    let labels: Vec<String> = y.values.to_f64().ok_or("labels must be numbers")?.iter().map(|v| v.to_string()).collect();
    Ok(Dataset::new(points, Target::Classes(Classes::from_texts(&labels))))
}

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (file, rest) = arguments.split_first().ok_or("give a file of arrays")?;
    let given: HashMap<&str, &str> = rest.iter().filter_map(|pair| pair.split_once('=')).collect();
    let number = |name: &str, usual: f64| given.get(name).map_or(Ok(usual), |text| text.parse::<f64>());
    let divide = number("divide", 1.0)?;
    let arrays: HashMap<_, _> = read_arrays(&std::fs::read(file)?, file)?.into_iter().collect();
    let (train, test) = (part(&arrays, "train", divide)?, part(&arrays, "test", divide)?);
    let rows = number("rows", f64::INFINITY)? as usize;
    let train = train.select(&(0..train.len().min(rows)).collect::<Vec<_>>());
    let metric = Metric {
        learned: match given.get("metric").copied() {
            None | Some("none") => Learned::Nothing,
            Some("width") => Learned::Width,
            Some("scales") => Learned::Scales,
            Some(rows) => Learned::Map(rows.parse()?),
        },
        penalty: number("penalty", 1.0)?,
        ..Metric::default()
    };
    let learner = Margin {
        kernel: Kernel::gaussian(number("gamma", 1.0)?),
        c: number("c", 10.0)?,
        loss: if given.get("loss") == Some(&"hinge") { DirectLoss::Hinge } else { DirectLoss::SquaredHinge },
        search: Search {
            n_vectors: number("vectors", 100.0)? as usize,
            iterations: number("iterations", 200.0)? as usize,
            seed: number("seed", 0.0)? as u64,
            memory_bytes: number("memory", 2e9)? as usize,
            init: match given.get("init").copied() {
                Some("random") => Init::Random,
                Some("spread") => Init::Spread,
                Some("rpcholesky") => Init::RpCholesky,
                _ => Init::KMeans,
            },
            metric,
            ..Search::default()
        },
        ..Margin::default()
    };
    let (clock, work) = (Instant::now(), ProcessTime::now());
    let watch = Watch::none().with_reporter(|p| {
        if p.done % 20 == 0 {
            eprintln!("{:7.2} s {:>5} {} {}", clock.elapsed().as_secs_f64(), p.done, p.stage, p.figure.unwrap_or(f64::NAN));
        }
    });
    let fit = learner.learn(&train, &watch)?;
    let (seconds, work) = (clock.elapsed().as_secs_f64(), work.elapsed().as_secs_f64());
    eprintln!(
        "{} vectors, W {:.4}, {} steps, {} million kernel evaluations, {}, {seconds:.2} s, processor time {work:.2} s, train error {:.2} %, test error {:.2} %",
        fit.machine.n_vectors(),
        fit.report.objective,
        fit.report.iterations,
        fit.report.evaluations / 1_000_000,
        fit.report.status.name(),
        100.0 * fit.machine.score(&train)?.loss(),
        100.0 * fit.machine.score(&test)?.loss()
    );
    Ok(())
}
