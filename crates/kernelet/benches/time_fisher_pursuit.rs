//! Times greedy kernel Fisher discriminants, from the rows to the machine:
//! `time_fisher_pursuit [--rows 20000] [--dim 20] [--vectors 100] [--gamma G] [--cache MB] [--sample C] [--repeat 1] [CRITERION+DEFLATION ..]`.
//!
//! Rows are drawn in clouds, half of them in each class. Prints one line for each variant, the best time of the repetitions.
use std::{error::Error, time::Instant};

use kernelet::{
    Named,
    basis::{BasisBudget, Deflation, FisherCriterion, FisherPursuit},
    data::clouds,
    kernel::Kernel,
    learn::{Fisher, Learner, OnBasis, Shrink},
    watch::Watch,
};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let value = |flag: &str| arguments.iter().position(|a| a == flag).and_then(|at| arguments.get(at + 1).cloned());
    let number = |flag: &str, usual: usize| value(flag).map_or(Ok(usual), |text| text.parse());
    let (rows, dim, vectors, repeat) = (number("--rows", 20_000)?, number("--dim", 20)?, number("--vectors", 100)?, number("--repeat", 1)?);
    let gamma = value("--gamma").map_or(Ok(1.0 / dim as f64), |text| text.parse())?;
    let sample = value("--sample").map(|text| text.parse()).transpose()?;
    let data = clouds(rows, dim, 1)?;
    eprintln!("{rows} rows of {dim} features, {vectors} vectors, gamma {gamma}");
    let named: Vec<&str> = arguments.iter().map(String::as_str).filter(|a| a.contains('+')).collect();
    for name in if named.is_empty() { vec!["pseudo+projection"] } else { named } {
        let (criterion, deflation) = name.split_once('+').unwrap_or_default();
        let method = FisherPursuit {
            criterion: FisherCriterion::named(criterion).ok_or(format!("there is no criterion {criterion}"))?,
            deflation: Deflation::named(deflation).ok_or(format!("there is no deflation {deflation}"))?,
            sample,
            cache_bytes: number("--cache", 2048)? << 20,
            ..FisherPursuit::default()
        };
        let learner = OnBasis {
            basis: Box::new(method),
            budget: BasisBudget::vectors(vectors),
            learner: Box::new(Fisher { kernel: Kernel::gaussian(gamma), ..Fisher::default() }),
            shrink: Shrink::Never,
        };
        let (mut best, mut line) = (f64::INFINITY, String::new());
        for _ in 0..repeat {
            let clock = Instant::now();
            let fit = learner.learn(&data, &Watch::none())?;
            best = best.min(clock.elapsed().as_secs_f64());
            line = format!("{} vectors, training error {:.2} %", fit.machine.n_vectors(), 100.0 * fit.machine.score(&data)?.loss());
        }
        eprintln!("{name:28} {best:8.3} s  {line}");
    }
    Ok(())
}
