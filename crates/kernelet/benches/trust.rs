//! Do promises hold as often as they say? Generated sets, machines fixed, rows drawn again and again from a large pool on which the truth is known.
//!
//! ```text
//! cargo run --release -p kernelet --example trust -- [DRAWS] [SET ...]
//! ```
//!
//! A draw has rows with replacement from the pool. `loss`: sizes are tested from the largest down for a rise of the error of at most 0.02; `cascade`: thresholds
//! are calibrated for a disagreement of at most 0.01. Both at 95 % confidence. A violation is a promise that is false on the pool.
use std::io::Write;

use kernelet::{
    Result,
    compress::{CascadeGoal, Goals, Metric, RowKind, Tally, cascade},
    data::Generator,
    evaluate::{agreement, binomial::last_passed},
    prelude::*,
};

const CONFIDENCE: f64 = 0.95;
const MAX_LOSS: f64 = 0.02;
const MAX_DISAGREEMENT: f64 = 0.01;
const ROWS: usize = 1500;
const POOL: usize = 20_000;
const SETS: [(&str, f64); 8] = [
    ("banana", 1.0),
    ("clouds", 1.0),
    ("gaussian", 0.2),
    ("ringnorm", 0.1),
    ("ripley", 4.0),
    ("twonorm", 0.05),
    ("waveform", 0.05),
    ("waveform3", 0.05),
];

/// A machine, smaller ones and the pool.
struct Material {
    full: Machine,
    small: Vec<Machine>,
    design: Dataset,
    pool: Dataset,
}

impl Material {
    fn of(set: &str, gamma: f64) -> Result<Self> {
        let generator = Generator::named(set).ok_or_else(|| kernelet::Error::data(format!("there is no set {set}")))?;
        let rows = |n: usize, seed: u64| generator.make(n, seed);
        let train = rows(300, 1);
        let full = Svc { kernel: Kernel::gaussian(gamma), c: 2.0, ..Svc::default() }.learn(&train, &Watch::none())?.machine;
        let mut small = vec![];
        for size in [32usize, 23, 16, 11, 8, 6, 4, 3].into_iter().filter(|size| 2 * size < full.n_vectors()) {
            let request = Compress::from_json(&format!(r#"{{"vectors": {size}, "effort": "quick"}}"#))?;
            small.push(request.run(&full, Some(&train), None, &Watch::none())?.machine);
        }
        Ok(Material { full, small, design: rows(600, 2), pool: rows(POOL, 3) })
    }
}

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let draws: u64 = arguments.next().map_or(Ok(400), |text| text.parse())?;
    let asked: Vec<String> = arguments.collect();
    let mut out = std::io::stdout();
    writeln!(
        out,
        "{:10} {:>8} {:>7} {:>10} {:>8} {:>7} {:>10} {:>6}",
        "set", "vectors", "loss", "promised", "size", "cascade", "promised", "cost"
    )?;
    for (set, gamma) in SETS.into_iter().filter(|(set, _)| asked.is_empty() || asked.iter().any(|name| name == set)) {
        let material = Material::of(set, gamma)?;
        let (loss, certified, size) = losses(&material, draws)?;
        let (apart, made, cost) = cascades(&material, draws)?;
        let part = |count: u64| 100.0 * count as f64 / draws as f64;
        writeln!(
            out,
            "{set:10} {:>8} {:>6.1}% {:>9.1}% {size:>8.1} {:>6.1}% {:>9.1}% {cost:>5.1}%",
            material.full.n_vectors(),
            part(loss),
            part(certified),
            part(apart),
            part(made),
        )?;
        out.flush()?;
    }
    Ok(())
}

/// Rows of the pool with replacement.
fn drawn(seed: u64) -> Vec<usize> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5851_f42d_4c95_7f2d;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % POOL
    };
    (0..ROWS).map(|_| next()).collect()
}

fn part_of(prediction: &Prediction, rows: &[usize]) -> Prediction {
    match prediction {
        Prediction::Classes { labels, codes } => {
            Prediction::Classes { labels: labels.clone(), codes: rows.iter().map(|&i| codes[i]).collect() }
        }
        Prediction::Values(values) => Prediction::Values(values.select(rows)),
    }
}

/// Wrong promises of a loss, promises, and the mean size that was promised.
fn losses(material: &Material, draws: u64) -> Result<(u64, u64, f64)> {
    let Material { full, small, pool, .. } = material;
    let before = full.predict(&pool.points)?;
    let after: Vec<Prediction> = small.iter().map(|machine| machine.predict(&pool.points)).collect::<Result<_>>()?;
    let error = |prediction: &Prediction| kernelet::evaluate::score(prediction, pool).map(|scores| scores.loss());
    let truth: Vec<f64> = after.iter().map(|prediction| Ok(error(prediction)? - error(&before)?)).collect::<Result<_>>()?;
    let goals = Goals { max_loss: Some(MAX_LOSS), ..Goals::default() };
    let (mut wrong, mut promised, mut size) = (0, 0, 0.0);
    for seed in 0..draws {
        let rows = drawn(seed);
        let (data, before) = (pool.select(&rows), part_of(&before, &rows));
        let taken = last_passed(0..small.len(), |&place| -> Result<bool> {
            let mut tally = Tally::default();
            tally.add(&before, &part_of(&after[place], &rows), &data, Metric::Error)?;
            Ok(tally.certificate(RowKind::Fresh, CONFIDENCE, 0).meets(&goals))
        })?;
        let Some(place) = taken else { continue };
        promised += 1;
        size += small[place].n_vectors() as f64;
        wrong += u64::from(truth[place] > MAX_LOSS);
    }
    Ok((wrong, promised, size / promised.max(1) as f64))
}

/// Wrong promises of cascades, promises, and the mean cost in percent.
fn cascades(material: &Material, draws: u64) -> Result<(u64, u64, f64)> {
    let Material { full, small, design, pool } = material;
    let before = full.predict(&pool.points)?;
    let goal = CascadeGoal { max_disagreement: MAX_DISAGREEMENT, confidence: CONFIDENCE, by_class: false, abstain: false };
    let some: Vec<Machine> = small.iter().step_by(3).cloned().collect();
    let (mut wrong, mut promised, mut cost) = (0, 0, 0.0);
    for seed in 0..draws {
        let rows = pool.points.select(&drawn(1000 + seed));
        let Ok(made) = cascade(full, some.clone(), &design.points, &rows, &goal) else { continue };
        promised += 1;
        let answers = made.predict(&pool.points)?;
        cost += 100.0 * answers.evaluations as f64 / (POOL * full.n_vectors()) as f64;
        let apart = 1.0 - agreement(&before, &answers.prediction).unwrap_or(1.0);
        wrong += u64::from(apart > MAX_DISAGREEMENT);
    }
    Ok((wrong, promised, cost / promised.max(1) as f64))
}
