//! Times the choice of a basis:
//! `time_basis [--data FILE.npz] [--rows 100000] [--vectors 500] [--gamma G] [--repeat 1] [METHOD ..]`.
//!
//! Methods are greedy-basis, rpcholesky, rpcholesky-plain (one vector at a time), kmeans and random. Without a file, rows of 54 features are drawn
//! in clouds. Rows are scaled to mean 0 and deviation 1. Prints one line for each method, the best time of the repetitions.
use std::{error::Error, time::Instant};

use kernelet::{
    basis::{BasisBudget, BasisMethod, GreedyBasis, KMeans, RandomBasis, RpCholesky},
    data::{
        Dataset, Points, Scaling, clouds,
        read::{Reading, Wanted, read},
    },
    kernel::Kernel,
    watch::Watch,
};

type Outcome<T> = Result<T, Box<dyn Error>>;

fn method(name: &str) -> Box<dyn BasisMethod> {
    match name {
        "greedy-basis" => Box::new(GreedyBasis::default()),
        "rpcholesky" => Box::new(RpCholesky::default()),
        "rpcholesky-plain" => Box::new(RpCholesky { block: Some(1), seed: 0 }),
        "kmeans" => Box::new(KMeans::default()),
        _ => Box::new(RandomBasis::default()),
    }
}

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let value = |flag: &str| arguments.iter().position(|a| a == flag).and_then(|at| arguments.get(at + 1).cloned());
    let number = |flag: &str, usual: usize| value(flag).map_or(Ok(usual), |text| text.parse());
    let (rows, vectors, repeat) = (number("--rows", 100_000)?, number("--vectors", 500)?, number("--repeat", 1)?);
    let points = scaled(value("--data"), rows)?;
    let gamma = value("--gamma").map_or(Ok(1.0 / points.dim() as f64), |text| text.parse())?;
    eprintln!("{} rows of {} features, {vectors} vectors, gamma {gamma}", points.len(), points.dim());
    let named: Vec<&String> = arguments.iter().filter(|a| NAMES.contains(&a.as_str())).collect();
    let names: Vec<&str> = if named.is_empty() { NAMES[..2].to_vec() } else { named.into_iter().map(String::as_str).collect() };
    for name in names {
        let mut best = f64::INFINITY;
        let mut line = String::new();
        for _ in 0..repeat {
            let clock = Instant::now();
            let basis = method(name).choose(&Kernel::gaussian(gamma), &points, &BasisBudget::vectors(vectors), &Watch::none())?;
            best = best.min(clock.elapsed().as_secs_f64());
            let (mean, largest) = (basis.mean_error(), basis.largest_error());
            line =
                format!("{} vectors, mean error {mean:.4}, largest {largest:.4}, {} kernel values", basis.frame.len(), basis.evaluations);
        }
        eprintln!("{name:17} {best:7.2} s  {line}");
    }
    Ok(())
}

const NAMES: [&str; 5] = ["greedy-basis", "rpcholesky", "rpcholesky-plain", "kmeans", "random"];

fn scaled(path: Option<String>, rows: usize) -> Outcome<Points> {
    let data: Dataset = match path {
        None => clouds(rows, 54, 1)?,
        Some(path) => {
            let all = read(&path, &Reading { wanted: Wanted::Classes, ..Reading::default() })?.dataset;
            let step = (all.len() / rows).max(1);
            all.select(&(0..all.len()).step_by(step).take(rows).collect::<Vec<_>>())
        }
    };
    match Scaling::Standard.fit(&data.points)? {
        None => Ok(data.points),
        Some(scale) => Ok(scale.apply(&data.points)?),
    }
}
