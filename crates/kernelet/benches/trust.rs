//! Do promises hold as often as they say, and what do cascades cost? Machines are fixed and their outputs computed once; rows are drawn again and again.
//!
//! ```text
//! cargo run --release -p kernelet --example trust -- [DRAWS] [SET ...]
//! cargo run --release -p kernelet --example trust -- losses DRAWS ROWS.npz FULL.model SMALL.model ...
//! cargo run --release -p kernelet --example trust -- cascades DRAWS TRAIN.npz ROWS.npz FULL.model CALIBRATE MAX_DISAGREEMENT ...
//! cargo run --release -p kernelet --example trust -- time ROWS.npz CASCADE.model ...
//! ```
//!
//! Validity: a draw has 1,500 rows (cascades of files: the calibration rows) with replacement from a pool on which the truth is known. Losses: sizes are tested from
//! the largest down, in the order given, for a rise of the error of at most 0.02; cascades: thresholds are calibrated for a disagreement of at most 0.01.
//! All at 95 % confidence. A violation is a promise that is false on the pool. Without files the sets are generated. Of files cascades are made as `compress
//! --cascade --data TRAIN --calibrate` makes them from CALIBRATE rows, on 20 random parts of ROWS, with cost and error on all others; the first is written to
//! FULL.model.MAX_DISAGREEMENT.cascade. Time: the processor time of cascades on one thread beside the full machine's, and what they need of the
//! kernel evaluations, also of the stages alone.
use std::io::Write;

use cpu_time::ProcessTime;

use kernelet::{
    Result,
    compress::{CascadeGoal, Goals, Metric, OnRows, RowKind, Stages, Tally},
    data::{
        Generator,
        read::{Reading, Wanted, read},
        shuffled,
    },
    evaluate::binomial::last_passed,
    linalg::Matrix,
    machine::cascade::Cascade,
    prelude::*,
};

const CONFIDENCE: f64 = 0.95;
const MAX_LOSS: f64 = 0.02;
const MAX_DISAGREEMENT: f64 = 0.01;
const ROWS: usize = 1500;
const POOL: usize = 20_000;
const DRAWS: u64 = 400;
/// Times a prediction is timed in a row ..
const RUNS: usize = 5;
/// .. and how often, after those of the others.
const ROUNDS: usize = 6;
/// Random parts of the rows of a file.
const PARTS: u64 = 20;
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
        Ok(Material { full, small, design: rows(300, 2), pool: rows(POOL, 3) })
    }
}

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let texts: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let machines = |paths: &[&str]| paths.iter().map(model::load).collect::<Result<Vec<_>>>();
    let mut out = std::io::stdout();
    match texts.as_slice() {
        ["losses", draws, rows, full, small @ ..] => {
            let found = losses(&model::load(full)?, &machines(small)?, &rows_of(rows)?, draws.parse()?)?;
            writeln!(out, "{} promised, {} violations, mean size {:.1}", found.promised, found.wrong, found.mean)?;
        }
        ["cascades", draws, train, rows, path, calibrate, allowed @ ..] => {
            let (full, rows) = (model::load(path)?, rows_of(rows)?);
            let small = Compress::default().stage_machines(&full, &rows_of(train)?, &Watch::none())?;
            for max_disagreement in allowed {
                let first = format!("{path}.{max_disagreement}.cascade");
                of_file(&full, &small, &rows, calibrate.parse()?, &goal(max_disagreement.parse()?), draws.parse()?, &first)?;
            }
        }
        ["time", rows, cascades @ ..] => {
            let rows = rows_of(rows)?;
            writeln!(out, "| cascade | rows | part | cost | time |\n|---|---|---|---|---|")?;
            for path in cascades {
                let cascade = model::cascade::from_bytes(&model::read_bytes(path)?, path)?;
                for (part, (cost, time)) in time_shares(&cascade, &rows.points)?.into_iter().enumerate() {
                    let name = if part < cascade.stages.len() { format!("{} first stages", part + 1) } else { "all".into() };
                    writeln!(out, "| {path} | {} | {name} | {:.2} % | {:.2} % |", rows.len(), 100.0 * cost, 100.0 * time)?;
                }
            }
        }
        [] => generated(DRAWS, &[])?,
        [draws, sets @ ..] => generated(draws.parse()?, sets)?,
    }
    Ok(())
}

fn goal(max_disagreement: f64) -> CascadeGoal {
    CascadeGoal { max_disagreement, confidence: CONFIDENCE, by_class: false, abstain: false }
}

fn rows_of(path: &str) -> Result<Dataset> {
    Ok(read(path, &Reading { wanted: Wanted::Classes, ..Reading::default() })?.dataset)
}

fn generated(draws: u64, asked: &[&str]) -> std::result::Result<(), Box<dyn std::error::Error>> {
    let mut out = std::io::stdout();
    writeln!(out, "| set | full vectors | losses: promised | violations | mean size | cascades: promised | violations | cost |")?;
    writeln!(out, "|---|---|---|---|---|---|---|---|")?;
    for (set, gamma) in SETS.into_iter().filter(|(set, _)| asked.is_empty() || asked.contains(set)) {
        let Material { full, small, design, pool } = Material::of(set, gamma)?;
        let loss = losses(&full, &small, &pool, draws)?;
        let some: Vec<Machine> = small.iter().step_by(3).take(2).cloned().collect();
        let stages = Stages::of(&full, some, &design.points)?;
        let (design, pool) = (stages.on(&design.points)?, stages.on(&pool.points)?);
        let cascade = cascades(&stages, &design, &pool, [ROWS, POOL], &goal(MAX_DISAGREEMENT), draws);
        writeln!(
            out,
            "| {set} | {} | {} | {} | {:.1} | {} | {} | {:.1} % |",
            full.n_vectors(),
            loss.promised,
            loss.wrong,
            loss.mean,
            cascade.promised,
            cascade.wrong,
            100.0 * cascade.mean
        )?;
        out.flush()?;
    }
    Ok(())
}

/// Promises of many draws.
#[derive(Default)]
struct Found {
    promised: u64,
    /// Those that are false on the pool.
    wrong: u64,
    /// The mean size of the machines, or cost of the cascades.
    mean: f64,
}

/// So many of the rows of a pool with replacement.
fn drawn(seed: u64, rows: usize, pool: usize) -> Vec<usize> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5851_f42d_4c95_7f2d;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % pool
    };
    (0..rows).map(|_| next()).collect()
}

/// Promises of a loss; machines from the largest down.
fn losses(full: &Machine, small: &[Machine], pool: &Dataset, draws: u64) -> Result<Found> {
    let before = full.predict(&pool.points)?;
    let after: Vec<Prediction> = small.iter().map(|machine| machine.predict(&pool.points)).collect::<Result<_>>()?;
    let error = |prediction: &Prediction| kernelet::evaluate::score(prediction, pool).map(|scores| scores.loss());
    let truth: Vec<f64> = after.iter().map(|prediction| Ok(error(prediction)? - error(&before)?)).collect::<Result<_>>()?;
    // The counts need the targets alone.
    let targets = Dataset::new(Matrix::<f64>::zeros(pool.len(), 1), pool.target.clone());
    let goals = Goals { max_loss: Some(MAX_LOSS), ..Goals::default() };
    let mut found = Found::default();
    for seed in 0..draws {
        let rows = drawn(seed, ROWS, pool.len());
        let (data, before) = (targets.select(&rows), before.select(&rows));
        let taken = last_passed(0..small.len(), |&place| -> Result<bool> {
            let mut tally = Tally::default();
            tally.add(&before, &after[place].select(&rows), &data, Metric::Error)?;
            Ok(tally.certificate(RowKind::Fresh, CONFIDENCE, 0).meets(&goals))
        })?;
        let Some(place) = taken else { continue };
        found.promised += 1;
        found.mean += small[place].n_vectors() as f64;
        found.wrong += u64::from(truth[place] > MAX_LOSS);
    }
    found.mean /= found.promised.max(1) as f64;
    Ok(found)
}

/// Promises of cascades on so many rows of a pool, of which there are so many.
fn cascades(stages: &Stages, design: &OnRows, pool: &OnRows, [rows, n]: [usize; 2], goal: &CascadeGoal, draws: u64) -> Found {
    let mut found = Found::default();
    for seed in 0..draws {
        let Ok(fitted) = stages.fit(design, &pool.select(&drawn(1000 + seed, rows, n)), goal) else { continue };
        let effect = stages.effect(&fitted, pool, goal.abstain);
        found.promised += 1;
        found.mean += effect.cost;
        found.wrong += u64::from(effect.disagreement > goal.max_disagreement);
    }
    found.mean /= found.promised.max(1) as f64;
    found
}

/// Of the rows that are given for calibration a quarter is for design, as in the library.
const DESIGN: usize = 4;

/// Cascades on random parts of the rows of a file, and how often they break their promise.
fn of_file(
    full: &Machine,
    small: &[Machine],
    rows: &Dataset,
    n_calibrate: usize,
    goal: &CascadeGoal,
    draws: u64,
    path: &str,
) -> std::result::Result<(), Box<dyn std::error::Error>> {
    let places = rows.classes()?.places_in(&full.decision.labels());
    let codes = &rows.classes()?.codes;
    let right = |row: usize, class: usize| places[codes[row] as usize] == Some(class);
    let Prediction::Classes { codes: full_classes, .. } = full.predict(&rows.points)? else { return Ok(()) };
    let parts = |part: u64| {
        let order = shuffled(rows.len(), part);
        let (given, test) = order.split_at(n_calibrate.min(order.len()));
        let (design, calibration) = given.split_at(given.len() / DESIGN);
        [design.to_vec(), calibration.to_vec(), test.to_vec()]
    };
    let on_rows = |design: &[usize]| -> Result<(Stages, OnRows)> {
        let stages = Stages::of(full, small.to_vec(), &rows.points.select(design))?;
        let all = stages.on(&rows.points)?;
        Ok((stages, all))
    };
    let first = on_rows(&parts(0)[0])?;
    let mut sums = [0.0; 4];
    let (mut made, mut time) = (0, None);
    let mut sizes = std::collections::BTreeMap::new();
    for part in 0..PARTS {
        let [design, calibration, test] = parts(part);
        // Error heads, of two classes, are fitted to the design rows.
        let own = if full.decision.labels().len() == 2 { Some(on_rows(&design)?) } else { None };
        let (stages, all) = own.as_ref().unwrap_or(&first);
        let Ok(fitted) = stages.fit(&all.select(&design), &all.select(&calibration), goal) else { continue };
        let effect = stages.effect(&fitted, &all.select(&test), goal.abstain);
        let wrong = |class: &dyn Fn(usize) -> usize| {
            test.iter().enumerate().filter(|(i, row)| !right(**row, class(*i))).count() as f64 / test.len() as f64
        };
        made += 1;
        if time.is_none() {
            let cascade = stages.cascade(&fitted, false)?;
            model::cascade::save(&cascade, path)?;
            time = time_shares(&cascade, &rows.points.select(&test))?.pop();
        }
        let found = [effect.cost, effect.disagreement, wrong(&|i| effect.classes[i]), wrong(&|i| full_classes[test[i]] as usize)];
        sums.iter_mut().zip(found).for_each(|(sum, value)| *sum += 100.0 * value);
        let about: Vec<String> = fitted.stages.iter().filter_map(|&place| stages.about(place)).map(name).collect();
        *sizes.entry(about.join(" + ")).or_insert(0) += 1;
    }
    let [cost, apart, error, before] = sums.map(|sum| sum / f64::from(made.max(1)));
    let [design, calibration, test] = parts(0);
    let held: Vec<usize> = calibration.iter().chain(&test).copied().collect();
    let (stages, all) = &first;
    let valid = cascades(stages, &all.select(&design), &all.select(&held), [calibration.len(), held.len()], goal, draws);
    let mut out = std::io::stdout();
    let (time_cost, time) = time.unwrap_or_default();
    writeln!(
        out,
        "| full vectors | allowed | cascades | stages | cost | disagreement | error | error, full | promised | violations | first: cost | time |"
    )?;
    writeln!(
        out,
        "| {} | {} % | {made} | {sizes:?} | {cost:.2} % | {apart:.3} % | {error:.2} % | {before:.2} % | {} | {} | {:.2} % | {:.2} % |",
        full.n_vectors(),
        100.0 * goal.max_disagreement,
        valid.promised,
        valid.wrong,
        100.0 * time_cost,
        100.0 * time
    )?;
    Ok(())
}

/// What a cascade needs of the full machine's kernel evaluations and of its processor time, made ready, on one thread: the first stage alone, the first two, .., all
/// with the full machine. Times are the least of some runs.
fn time_shares(cascade: &Cascade, rows: &Points) -> std::result::Result<Vec<(f64, f64)>, Box<dyn std::error::Error>> {
    let full = cascade.full.as_ref().ok_or("the cascade abstains")?;
    let first = |k: usize| Cascade { stages: cascade.stages[..k].to_vec(), full: None, promise: cascade.promise.clone() };
    let parts: Vec<Cascade> = (1..=cascade.stages.len()).map(first).chain([cascade.clone()]).collect();
    let (whole, ready): (Predictor, Vec<_>) = (Predictor::new(full), parts.iter().map(Cascade::ready).collect());
    let timed = |run: &dyn Fn() -> Result<()>, least: &mut f64| -> Result<()> {
        let start = ProcessTime::now();
        run()?;
        *least = start.elapsed().as_secs_f64().min(*least);
        Ok(())
    };
    let (mut before, mut after) = (f64::INFINITY, vec![f64::INFINITY; parts.len()]);
    rayon::ThreadPoolBuilder::new().num_threads(1).build()?.install(|| -> Result<()> {
        // Several times in a row, as in use: what a machine reads is then where it was left.
        for _ in 0..ROUNDS {
            (0..RUNS).try_for_each(|_| timed(&|| whole.predict(rows).map(drop), &mut before))?;
            for (ready, least) in ready.iter().zip(&mut after) {
                (0..RUNS).try_for_each(|_| timed(&|| ready.predict(rows).map(drop), least))?;
            }
        }
        Ok(())
    })?;
    let all = (rows.len() * full.n_vectors()) as f64;
    ready.iter().zip(after).map(|(ready, after)| Ok((ready.predict(rows)?.evaluations as f64 / all, after / before))).collect()
}

fn name((n_vectors, head): (usize, bool)) -> String {
    format!("{n_vectors}{}", if head { " with head" } else { "" })
}
