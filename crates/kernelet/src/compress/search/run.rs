//! A compression in progress: strategies are tried at sizes, and the best of each size is remembered.
use super::{
    compression::Attempt,
    fallback::heaviest,
    goals::Goals,
    sizes::{doubling, knee_of},
    strategy::Strategy,
    validation::{Metrics, Validator},
};
use crate::{Error, Result, clock::Clock, compress::Task, machine::Machine, watch::Watch};

/// How often the gap between a size that is too small and one that is enough is halved.
const HALVINGS: usize = 3;

/// The curve ends where a doubling gains less than this fraction of the primary metric, twice.
const FLAT: f64 = 0.03;

/// A machine with what is known of it.
#[derive(Clone)]
pub(super) struct Candidate {
    /// None where the time was over before any strategy had a machine.
    pub strategy: Option<usize>,
    pub machine: Machine,
    pub metrics: Metrics,
}

/// A compression in progress.
pub(super) struct Run<'a> {
    pub strategies: &'a [Strategy],
    pub goals: &'a Goals,
    pub task: Task<'a>,
    pub validator: &'a Validator<'a>,
    pub tried: Vec<Attempt>,
    /// The best of each size, smallest first.
    pub best: Vec<(usize, Candidate)>,
    /// The machines of each strategy and size that others may start from.
    pub starts: Vec<(usize, usize, Machine)>,
    /// Strategies and sizes that were tried.
    pub done: Vec<(usize, usize)>,
    pub leader: usize,
    pub watch: &'a Watch<'a>,
}

/// The name of a machine that no strategy has found.
const FALLBACK: &str = "largest coefficients";

impl Run<'_> {
    pub fn at(&self, size: usize) -> Option<&Candidate> {
        self.best.iter().find(|(s, _)| *s == size).map(|(_, candidate)| candidate)
    }

    pub fn first_failure(&self) -> Error {
        if self.watch.cancelled() {
            return Error::Cancelled;
        }
        let words = self.tried.iter().find_map(|attempt| attempt.failed.clone());
        Error::data(words.unwrap_or_else(|| "no strategy found a machine".into()))
    }

    /// The machines that a strategy starts from, at a size, as far as there are any.
    fn starts_of(&mut self, strategy: usize, size: usize) -> Vec<Machine> {
        let mut machines = vec![];
        for from in self.strategies[strategy].from.clone() {
            if !self.was_tried(from, size) {
                self.attempt(from, size);
            }
            machines.extend(self.starts.iter().find(|(w, s, _)| *w == from && *s == size).map(|(_, _, machine)| machine.clone()));
        }
        machines
    }

    fn was_tried(&self, strategy: usize, size: usize) -> bool {
        self.done.contains(&(strategy, size))
    }

    /// Tries one strategy at one size, and remembers it where it is the best.
    fn attempt(&mut self, strategy: usize, size: usize) {
        let starts = self.starts_of(strategy, size);
        self.done.push((strategy, size));
        let clock = Clock::start();
        let made = self.strategies[strategy].machine(&self.task, size, &starts, self.watch);
        let made = made.and_then(|machine| Ok((self.validator.metrics(&machine)?, machine)));
        let (seconds, name) = (clock.seconds(), self.strategies[strategy].name.clone());
        let (metrics, machine) = match made {
            Ok(made) => made,
            // The failure of a strategy that does not fit this machine is reported, and the others go on.
            Err(error) => {
                let (metrics, failed) = (Metrics::default(), Some(error.to_string()));
                return self.tried.push(Attempt { strategy: name, n_vectors: size, metrics, seconds, failed });
            }
        };
        if self.strategies.iter().any(|other| other.from.contains(&strategy)) {
            self.starts.push((strategy, size, machine.clone()));
        }
        if !self.strategies[strategy].candidate {
            return;
        }
        self.tried.push(Attempt { strategy: name, n_vectors: machine.n_vectors(), metrics, seconds, failed: None });
        self.keep_best(size, Candidate { strategy: Some(strategy), machine, metrics });
    }

    fn keep_best(&mut self, size: usize, candidate: Candidate) {
        match self.best.iter_mut().find(|(s, _)| *s == size) {
            Some((_, best)) if self.validator.better(&candidate.metrics, &best.metrics) => *best = candidate,
            Some(_) => {}
            None => {
                self.best.push((size, candidate));
                self.best.sort_by_key(|(size, _)| *size);
            }
        }
    }

    /// All strategies that were not tried at this size.
    pub fn all_strategies(&mut self, size: usize) {
        for strategy in 0..self.strategies.len() {
            if self.watch.cancelled() && !(self.best.is_empty() && self.starts.is_empty()) {
                break;
            }
            if !self.was_tried(strategy, size) {
                self.attempt(strategy, size);
            }
        }
        let is_whole = |(size, candidate): &(usize, Candidate)| candidate.machine.n_vectors() >= *size;
        if self.watch.out_of_time() && !self.best.iter().any(is_whole) {
            // Where there is nothing to report of it, the run fails as it would have failed.
            self.fall_back(size).unwrap_or_default();
        }
    }

    /// The warm starts and the vectors of the largest coefficients are candidates where the time is over before there is one of the whole size.
    fn fall_back(&mut self, size: usize) -> Result<()> {
        let starts: Vec<(usize, Machine)> =
            self.starts.iter().filter(|(_, s, _)| *s == size).map(|(w, _, start)| (*w, start.clone())).collect();
        for (strategy, machine) in starts {
            let metrics = self.validator.metrics(&machine)?;
            self.keep_best(size, Candidate { strategy: Some(strategy), machine, metrics });
        }
        let machine = heaviest(&self.task, size)?;
        let metrics = self.validator.metrics(&machine)?;
        self.keep_best(size, Candidate { strategy: None, machine, metrics });
        Ok(())
    }

    /// What led to a machine.
    pub fn name_of(&self, candidate: &Candidate) -> String {
        candidate.strategy.map_or(FALLBACK, |strategy| &self.strategies[strategy].name).into()
    }

    /// The best of a size, or of the largest size that was tried before the run was stopped.
    pub fn chosen(&self, size: usize) -> Option<&Candidate> {
        let largest = || self.best.last().map(|(_, candidate)| candidate).filter(|_| self.watch.cancelled());
        self.at(size).or_else(largest)
    }

    /// The machine of a size by the strategy that leads, or by any where that one fails.
    pub fn led(&mut self, size: usize) -> Option<Candidate> {
        if self.at(size).is_none() {
            self.attempt(self.leader, size);
        }
        if self.at(size).is_none() {
            self.all_strategies(size);
        }
        self.at(size).cloned()
    }

    /// The best at a size, which leads from then on: where the leader so far is good enough, the others are not tried.
    fn at_next_size(&mut self, size: usize) -> Option<Metrics> {
        if !self.best.is_empty() && self.goals.about_quality() {
            if !self.was_tried(self.leader, size) {
                self.attempt(self.leader, size);
            }
            let enough = self.at(size).map(|candidate| candidate.metrics).filter(|metrics| self.goals.met(metrics, self.validator));
            if enough.is_some() {
                return enough;
            }
        }
        self.all_strategies(size);
        self.leader = self.at(size).and_then(|candidate| candidate.strategy).unwrap_or(self.leader);
        self.at(size).map(|candidate| candidate.metrics)
    }

    /// The one size that is asked for, after the smaller ones where they are wanted.
    pub fn of_size(&mut self, most: usize, curve: bool) -> (usize, String) {
        if curve {
            for size in doubling(most) {
                if self.watch.cancelled() {
                    break;
                }
                self.all_strategies(size);
            }
        }
        (most, "the size that was asked for".into())
    }

    /// The smallest size that is good enough, or the largest.
    pub fn smallest(&mut self, most: usize) -> Result<(usize, String)> {
        let mut below = 0;
        let mut enough = None;
        for size in doubling(most) {
            let Some(metrics) = self.at_next_size(size) else {
                // Stopped before any strategy made a machine of this size, after there was one of the size before.
                return match self.watch.cancelled() && !self.best.is_empty() {
                    true => Ok((below, "the largest size before the run was stopped".into())),
                    false => Err(self.first_failure()),
                };
            };
            if self.goals.met(&metrics, self.validator) {
                enough = Some(size);
                break;
            }
            if self.watch.cancelled() {
                return Ok((size, "the largest size before the run was stopped".into()));
            }
            below = size;
        }
        let Some(mut enough) = enough else { return Ok((most, "the largest size allowed; it is not good enough".into())) };
        for _ in 0..HALVINGS {
            let middle = ((below.max(1) as f64 * enough as f64).sqrt().round() as usize).clamp(below + 1, enough);
            if middle >= enough || self.watch.cancelled() {
                break;
            }
            match self.at_next_size(middle) {
                Some(metrics) if self.goals.met(&metrics, self.validator) => enough = middle,
                _ => below = middle,
            }
        }
        Ok((enough, "the smallest size found that is good enough".into()))
    }

    /// The size beyond which more vectors gain little.
    pub fn knee(&mut self, most: usize) -> Result<(usize, String)> {
        let mut points: Vec<(usize, Metrics)> = vec![];
        let mut flat = 0;
        for size in doubling((most / 2).max(1)) {
            let Some(metrics) = self.at_next_size(size) else {
                match self.watch.cancelled() && !points.is_empty() {
                    true => break,
                    false => return Err(self.first_failure()),
                }
            };
            let value = self.validator.primary_value(&metrics).0;
            let before = points.last().map(|(_, metrics)| self.validator.primary_value(metrics).0);
            flat = if before.is_some_and(|before| value > (1.0 - FLAT) * before) { flat + 1 } else { 0 };
            points.push((size, metrics));
            if flat == 2 || value == 0.0 || self.watch.cancelled() {
                break;
            }
        }
        let metrics: Vec<(usize, f64, f64)> = points
            .iter()
            .map(|(size, metrics)| {
                let (value, chance) = self.validator.primary_value(metrics);
                (*size, value, chance)
            })
            .collect();
        Ok(knee_of(&metrics))
    }

    /// What is missing, and what it would take.
    pub fn shortfalls(&self, found: &Metrics) -> Vec<String> {
        let mut words = self.goals.shortfalls(found, self.validator);
        if let Some(sentence) = (!words.is_empty()).then(|| self.outlook()) {
            words.push(sentence);
        }
        words
    }

    /// How many vectors would do, at the rate at which the bound furthest from being met came nearer over the sizes tried.
    fn outlook(&self) -> String {
        let excess = |metrics: &Metrics| -> Option<f64> {
            let residual = self.goals.max_residual.map(|bound| metrics.residual.map(|r| r / bound));
            let loss = self.goals.max_loss.map(|bound| metrics.loss.zip(self.validator.loss_before()).map(|(a, b)| (a - b) / bound));
            let agreement = self.goals.min_agreement.map(|bound| metrics.agreement.map(|a| (1.0 - a) / (1.0 - bound)));
            [residual, loss, agreement].into_iter().flatten().flatten().filter(|e| e.is_finite()).reduce(f64::max)
        };
        let known: Vec<(f64, f64)> = self
            .best
            .iter()
            .filter_map(|(size, candidate)| excess(&candidate.metrics).filter(|e| *e > 0.0).map(|e| ((*size as f64).ln(), e.ln())))
            .collect();
        let rate = match (known.first(), known.last()) {
            (Some(first), Some(last)) if last.0 > first.0 => (first.1 - last.1) / (last.0 - first.0),
            _ => 0.0,
        };
        let needed = known.last().map_or(f64::INFINITY, |last| (last.0 + last.1 / rate).exp());
        let all = self.task.machine.n_vectors() as f64;
        if rate > 0.05 && needed < all {
            return format!("at the rate of the sizes tried about {} vectors would do", needed.ceil());
        }
        "more vectors promise little: loosen the goal, give more rows with the data, or more time with a larger effort".into()
    }
}
