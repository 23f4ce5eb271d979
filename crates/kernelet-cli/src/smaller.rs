//! `compress` without files: a machine made smaller as the flags say, with the sizes on the way.
use clap::Parser;
use kernelet::{
    data::Dataset,
    machine::{Machine, PathFacts, SizeFacts},
    sparsify::{Path, Refit, StandIn, Task, residual, squared_norm},
    watch::{Status, Watch},
};
use serde::Serialize;
use serde_json::{Value, json};

use crate::{
    commands::compress::{
        Compress, Rows,
        answer::{Tried, agreeing, error_on},
        largest_coefficient,
    },
    failure::{Failure, Result, wrong_flags},
};

/// The most sizes whose figures are told.
const TOLD: usize = 32;

/// The flags of `compress`, and the seed of the run.
#[derive(Parser, Debug)]
#[command(no_binary_name = true)]
struct Flags {
    #[arg(long, default_value_t = 0)]
    seed: u64,
    #[command(flatten)]
    compress: Compress,
}

/// A smaller machine and how it came about.
#[derive(Debug)]
pub struct Smaller {
    /// The machine.
    pub machine: Machine,
    /// The sizes on the way that figures were made for, smallest first, and their machines.
    pub sizes: Vec<(Size, Machine)>,
    /// Every size on the way, where nothing was done with the machines afterwards.
    pub path: Option<Path>,
    /// The method that found the vectors.
    pub method: String,
    /// How the run ended.
    pub status: Status,
    /// What the user should know, in sentences.
    pub notes: Vec<String>,
    /// What was tried, and why this size.
    pub report: Value,
}

/// The figures of one size.
#[derive(Clone, Debug, Serialize)]
pub struct Size {
    /// Its vectors.
    pub vectors: usize,
    /// `sum_k ||w_k - w'_k||^2`; none where the machine has other outputs.
    pub residual: Option<f64>,
    /// The same over `sum_k ||w_k||^2`.
    pub relative_residual: Option<f64>,
    /// The part of the rows with the original's label.
    pub agreement: Option<f64>,
    /// The error on the rows.
    pub train_error: Option<f64>,
}

/// Makes a machine smaller as flags of `compress` say; `data` are rows it was trained on, or like them. A sentence where that cannot be.
pub fn compress(flags: &[String], machine: &Machine, data: Option<Dataset>, watch: &Watch) -> std::result::Result<Smaller, String> {
    compress_sizes(flags, machine, data, true, watch)
}

/// The same; without `every` only the last size is told, and nothing is done for those on the way.
pub(crate) fn compress_sizes(
    flags: &[String],
    machine: &Machine,
    data: Option<Dataset>,
    every: bool,
    watch: &Watch,
) -> std::result::Result<Smaller, String> {
    let Flags { seed, compress } = read(flags, data.is_some())?;
    let work = Work { flags: compress, every, watch };
    let mut small = work.run(seed, machine, data).map_err(|failure| failure.sentence())?;
    small.machine.facts.path = Some(path_facts(&small, machine.vectors()));
    Ok(small)
}

/// Refuses flags of `compress` that cannot be used, where there are rows.
pub fn check(flags: &[String]) -> std::result::Result<(), String> {
    let Flags { seed, compress } = read(flags, true)?;
    let checked = compress.check_flags().and_then(|()| compress.method().make(&compress.settings, seed).map(drop));
    checked.map_err(|failure| failure.sentence())
}

/// Reads the flags. Where files would be named, there are machines and rows.
fn read(flags: &[String], rows: bool) -> std::result::Result<Flags, String> {
    let files = ["machine", "--output=smaller"].into_iter().chain(rows.then_some("--data=rows"));
    let flags = files.map(String::from).chain(flags.iter().cloned());
    Flags::try_parse_from(flags).map_err(|error| wrong_flags(&error))
}

/// The sizes, to be kept in the model for its report.
fn path_facts(small: &Smaller, vectors_before: usize) -> PathFacts {
    let of = |(size, _): &(Size, Machine)| SizeFacts {
        vectors: size.vectors,
        relative_residual: size.relative_residual,
        train_error: size.train_error,
        test_error: None,
    };
    PathFacts { method: small.method.clone(), vectors_before, levels: small.sizes.iter().map(of).collect() }
}

struct Work<'a> {
    flags: Compress,
    every: bool,
    watch: &'a Watch<'a>,
}

impl Work<'_> {
    fn run(&self, seed: u64, machine: &Machine, data: Option<Dataset>) -> Result<Smaller> {
        self.flags.check_flags()?;
        match self.flags.automatic_for(machine) {
            true => self.best(seed, machine, data.as_ref()),
            false => self.by_method(seed, machine, data),
        }
    }

    /// By whatever is best.
    fn best(&self, seed: u64, machine: &Machine, data: Option<&Dataset>) -> Result<Smaller> {
        let start: f64 = squared_norm(&machine.expansion)?.iter().sum();
        let c = self.flags.c.or(machine.facts.c).unwrap_or_else(|| largest_coefficient(machine).max(f64::MIN_POSITIVE));
        let found = self.flags.found(machine, data, Some(c), seed, self.watch)?;
        let mut sizes = vec![];
        // The last of the size that was chosen has seen all rows.
        let smaller = found.path.iter().map(|(small, _)| small).filter(|small| small.vectors() != found.machine.vectors());
        for small in smaller.chain([&found.machine]) {
            sizes.push((self.size(machine, small, data, start)?, small.clone()));
        }
        sizes.sort_by_key(|(size, _)| size.vectors);
        let mut notes: Vec<String> = found.missing.iter().map(|sentence| format!("not reached: {sentence}")).collect();
        if machine.calibration.is_some() && found.machine.calibration.is_none() {
            notes.push(
                "the probabilities of the model belong to its own outputs and are left out; give rows, and new ones are learned".into(),
            );
        }
        let report = json!({
            "why": found.why, "goals_met": found.missing.is_empty(), "held_out_rows": found.held_out,
            "held_out_loss": found.figures.loss, "held_out_loss_before": found.loss_before, "held_out_agreement": found.figures.agreement,
            "tried": found.tried.iter().map(Tried::of).collect::<Vec<_>>(),
        });
        Ok(Smaller {
            machine: found.machine,
            sizes,
            path: None,
            method: format!("auto: {}", found.way),
            status: found.status,
            notes,
            report,
        })
    }

    fn by_method(&self, seed: u64, machine: &Machine, data: Option<Dataset>) -> Result<Smaller> {
        let flags = &self.flags;
        let method = flags.method().make(&flags.settings, seed)?;
        let stand_in = StandIn::of(machine, data.as_ref())?;
        let rows = Rows { data, test: None };
        let (machine, rows) = match &stand_in {
            None => (machine, rows),
            Some(stand_in) => (&stand_in.machine, flags.standing_in(stand_in, &rows)?),
        };
        let candidates = flags.candidates(machine, &rows)?;
        let task = Task { machine, data: rows.data.as_ref(), candidates: candidates.as_ref() };
        let (budget, missing) = flags.budget(&task, flags.c, seed, self.watch)?;
        let path = method.sparsify(&task, &budget, self.watch)?;
        let mut sizes = self.sizes(&path, &task)?;
        if let Some(stand_in) = &stand_in {
            for (_, small) in &mut sizes {
                *small = stand_in.back(small)?;
            }
        }
        let small = sizes.last().map(|(_, small)| small.clone()).ok_or(Failure::Cancelled)?;
        let mut notes: Vec<String> = path.note.clone().into_iter().chain(missing).collect();
        if machine.calibration.is_some() {
            notes.push("the probabilities of the model belong to its own outputs and are left out".into());
        }
        let status = self.watch.ended(path.status);
        let as_found =
            flags.settings.refinement().is_none() && flags.refit.is_none_or(|refit| refit == Refit::None) && flags.threshold.is_none();
        let path = (as_found && stand_in.is_none()).then_some(path);
        let (method, report) = (flags.method().name.to_string(), json!({}));
        Ok(Smaller { machine: small, sizes, path, method, status, notes, report })
    }

    /// The figures of a small machine.
    fn size(&self, machine: &Machine, small: &Machine, data: Option<&Dataset>, start: f64) -> Result<Size> {
        let alike = machine.decision == small.decision;
        let residual = if alike { Some(residual(&machine.expansion, &small.expansion)?) } else { None };
        Ok(Size {
            vectors: small.vectors(),
            residual,
            relative_residual: residual.map(|residual| if start > 0.0 { residual / start } else { 0.0 }),
            agreement: data.map_or(Ok(None), |data| agreeing(machine, small, data))?,
            train_error: error_on(small, data)?,
        })
    }

    /// The machines of a path, with all that is asked to be done with them, and their figures.
    fn sizes(&self, path: &Path, task: &Task) -> Result<Vec<(Size, Machine)>> {
        let start: f64 = squared_norm(&task.machine.expansion)?.iter().sum();
        // Moving all vectors is too dear for every size; each of those told has twice the vectors of the one before.
        let moved = self.flags.settings.refinement().is_some() && self.flags.method().name != "refine";
        let mut sizes = vec![];
        let first = if self.every { 0 } else { path.len().saturating_sub(1) };
        for i in told(path.len(), moved).into_iter().filter(|&i| i >= first) {
            if self.watch.cancelled() && !sizes.is_empty() {
                break;
            }
            let Some(found) = path.machine(i) else { break };
            let small = self.flags.fitted(found, task, self.flags.c, self.watch)?;
            sizes.push((self.size(task.machine, &small, task.data, start)?, small));
        }
        Ok(sizes)
    }
}

/// Which of so many levels are told: all of few, of many those that grow by the same factor, or those that double; the last one always.
fn told(levels: usize, doubling: bool) -> Vec<usize> {
    if doubling {
        return (0..levels).filter(|i| (i + 1).is_power_of_two() || i + 1 == levels).collect();
    }
    if levels <= TOLD {
        return (0..levels).collect();
    }
    let factor = (levels as f64).powf(1.0 / (TOLD - 1) as f64);
    let mut told: Vec<usize> = (0..TOLD).map(|i| (factor.powi(i as i32).round() as usize).clamp(1, levels) - 1).collect();
    told.push(levels - 1);
    told.dedup();
    told
}

#[cfg(test)]
mod tests {
    use super::*;
    use kernelet::{
        data::banana,
        kernel::Kernel,
        learn::{Learner, Svc},
    };

    #[test]
    fn sizes_that_are_told_rise_to_the_last() {
        for levels in [1, 5, 32, 33, 200, 5000] {
            assert_eq!(told(levels, true).last(), Some(&(levels - 1)));
            let told = told(levels, false);
            assert!(told.windows(2).all(|pair| pair[0] < pair[1]) && told.len() <= TOLD + 1);
            assert_eq!(told.last(), Some(&(levels - 1)));
        }
        assert!(told(0, false).is_empty());
    }

    #[test]
    fn flags_make_a_machine_smaller_and_all_vectors_keep_it() {
        let data = banana(80, 1);
        let svc = Svc { kernel: Kernel::gaussian(1.0), ..Svc::default() };
        let machine = svc.learn(&data, &Watch::none()).unwrap().machine;
        let run = |flags: &[&str], data: Option<Dataset>| {
            let flags: Vec<String> = flags.iter().map(|flag| flag.to_string()).collect();
            compress(&flags, &machine, data, &Watch::none())
        };
        let small = run(&["--vectors=5", "--method=pursuit"], Some(data.clone())).unwrap();
        assert_eq!((small.machine.vectors(), small.sizes.len(), small.method.as_str()), (5, 5, "pursuit"));
        let best = run(&["--vectors=5", "--path"], Some(data.clone())).unwrap();
        assert_eq!((best.machine.vectors(), best.sizes.len()), (5, 2));
        assert!(best.method.starts_with("auto: ") && best.report["tried"].as_array().unwrap().len() > 3, "{best:?}");
        assert!(small.sizes.iter().all(|(size, _)| size.agreement.is_some() && size.train_error.is_some()));
        let all = run(&["--fraction=1", "--method=pursuit"], None).unwrap();
        assert!(all.sizes.last().unwrap().0.relative_residual.unwrap() < 1e-10);
        assert!(run(&["--method=pursuit"], None).unwrap_err().contains("say how small"));
        assert!(run(&["--vectors=5", "--refit=margin"], None).unwrap_err().contains("needs rows"));
    }
}
