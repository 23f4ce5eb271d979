//! The search for the size and the way.
//!
//! A bound on the size alone: every way makes a machine of that size, and the best is kept. Bounds on the quality: sizes double until the machine is
//! good enough, then the gap is halved some times. No bound at all: sizes double until little is gained, and the knee of the curve is taken. In the
//! search for a size only the leader of the first size goes on; the size in question is tried by all.
use std::time::Instant;

use super::{
    goals::Goals,
    judge::{Figures, Judge, Metric, Parts},
    recalibrate::recalibrated,
    way::Way,
};
use crate::{
    Error, Result,
    data::{Dataset, shuffled},
    machine::Machine,
    sparsify::Task,
    watch::{Status, Watch},
};

/// The smallest size that a search begins with.
const FIRST: usize = 4;

/// How often the gap between a size that is too small and one that is enough is halved.
const HALVINGS: usize = 3;

/// The curve ends where a doubling gains less than this part of the figure, twice.
const FLAT: f64 = 0.03;

/// One thing that was tried.
#[derive(Clone, Debug)]
pub struct Attempt {
    /// The name of the way.
    pub way: String,
    /// Vectors of the machine; those asked for where there is none.
    pub vectors: usize,
    /// How good it was.
    pub figures: Figures,
    /// How long it took.
    pub seconds: f64,
    /// Why there is no machine.
    pub failed: Option<String>,
}

/// A machine to compress, the ways to try and what is asked for.
pub struct Compression<'a> {
    /// The machine, and rows to work with and to judge by.
    pub task: Task<'a>,
    /// At least one.
    pub ways: &'a [Way],
    /// What is asked for.
    pub goals: &'a Goals,
    /// What loss means; none for the usual.
    pub metric: Option<Metric>,
    /// Whether sizes on the way are wanted where the size is given.
    pub curve: bool,
    /// Rows of the data that are used, drawn at random from more.
    pub most_rows: usize,
    /// Seed of the rows drawn and held out.
    pub seed: u64,
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct Compressed {
    /// The small machine.
    pub machine: Machine,
    /// The way that led to it.
    pub way: String,
    /// How good it was on the rows held out, before it was made from those too.
    pub figures: Figures,
    /// The loss of the large machine there.
    pub loss_before: Option<f64>,
    /// Rows held out.
    pub held_out: usize,
    /// All that was tried, in order.
    pub tried: Vec<Attempt>,
    /// The best machine of each size tried, smallest first.
    pub path: Vec<(Machine, Figures)>,
    /// Why this size.
    pub why: String,
    /// What is missing of the goals; empty where they are met.
    pub missing: Vec<String>,
    /// How the run ended.
    pub status: Status,
}

/// A machine with what is known of it.
#[derive(Clone)]
struct Candidate {
    way: usize,
    machine: Machine,
    figures: Figures,
}

/// A compression under way.
struct Run<'a> {
    ways: &'a [Way],
    goals: &'a Goals,
    task: Task<'a>,
    judge: &'a Judge<'a>,
    tried: Vec<Attempt>,
    /// The best of each size, smallest first.
    best: Vec<(usize, Candidate)>,
    /// The machines of each way and size that others may start from.
    starts: Vec<(usize, usize, Machine)>,
    /// Ways and sizes that were tried.
    done: Vec<(usize, usize)>,
    leader: usize,
    watch: &'a Watch<'a>,
}

impl Compression<'_> {
    /// Tries, judges and keeps the best.
    pub fn run(&self, watch: &Watch) -> Result<Compressed> {
        self.goals.check()?;
        self.task.check()?;
        let machine = self.task.machine;
        if self.goals.needs_rows() && self.task.data.is_none() {
            return Err(Error::data("loss and agreement are measured on rows; give some with the data"));
        }
        let most = self.goals.most_vectors(machine)?;
        if most == machine.vectors() && self.goals.about_size() && !self.goals.about_quality() {
            return Ok(unchanged(machine));
        }
        let sample = self.task.data.filter(|data| data.len() > self.most_rows).map(|data| self.sample(data));
        let all = Task { data: sample.as_ref().or(self.task.data), ..self.task };
        let parts = all.data.map(|data| Parts::of(data, self.seed)).transpose()?;
        let (rows, held_out) = parts.map_or((None, None), |parts| (Some(parts.rows), Some(parts.held_out)));
        let held = held_out.as_ref().map_or(0, |rows| rows.len());
        let by_residual = self.goals.max_residual.is_some() && !self.goals.needs_rows();
        let judge = Judge::new(machine, held_out, self.metric, by_residual)?;
        if self.goals.max_loss.is_some() && judge.loss_before().is_none() {
            return Err(Error::data("the loss is measured on rows with targets; give them with the data, or ask for an agreement"));
        }
        let task = Task { data: rows.as_ref(), ..self.task };
        let mut run = Run {
            ways: self.ways,
            goals: self.goals,
            task,
            judge: &judge,
            tried: vec![],
            best: vec![],
            starts: vec![],
            done: vec![],
            leader: 0,
            watch,
        };
        let (size, why) = match (self.goals.about_quality(), self.goals.about_size()) {
            (true, _) => run.smallest(most)?,
            (false, true) => run.of_size(most, self.curve),
            (false, false) => run.knee(most)?,
        };
        run.all_ways(size);
        let found = run.at(size).cloned().ok_or_else(|| run.first_failure())?;
        let missing = if self.goals.about_quality() { run.shortfalls(&found.figures) } else { vec![] };
        let calibration = judge.rows().map_or(Ok(None), |rows| recalibrated(&found.machine, machine, &rows.points))?;
        let small = self.ways[found.way].again(found.machine, &all, watch)?;
        let machine = Machine { calibration, ..small };
        machine.check()?;
        Ok(Compressed {
            machine,
            way: self.ways[found.way].name.clone(),
            figures: found.figures,
            loss_before: judge.loss_before(),
            held_out: held,
            tried: run.tried,
            path: run.best.into_iter().map(|(_, candidate)| (candidate.machine, candidate.figures)).collect(),
            why,
            missing,
            status: if watch.cancelled() { Status::Cancelled } else { Status::Converged },
        })
    }
}

/// The machine itself, where all its vectors are allowed.
fn unchanged(machine: &Machine) -> Compressed {
    Compressed {
        machine: machine.clone(),
        way: "as it was".into(),
        figures: Figures { residual: Some(0.0), ..Figures::default() },
        loss_before: None,
        held_out: 0,
        tried: vec![],
        path: vec![(machine.clone(), Figures { residual: Some(0.0), ..Figures::default() })],
        why: "all vectors were allowed, and the machine is as it was".into(),
        missing: vec![],
        status: Status::Converged,
    }
}

impl Compression<'_> {
    fn sample(&self, data: &Dataset) -> Dataset {
        let mut rows = shuffled(data.len(), self.seed);
        rows.truncate(self.most_rows);
        data.select(&rows)
    }
}

impl Run<'_> {
    fn at(&self, size: usize) -> Option<&Candidate> {
        self.best.iter().find(|(s, _)| *s == size).map(|(_, candidate)| candidate)
    }

    fn first_failure(&self) -> Error {
        let words = self.tried.iter().find_map(|attempt| attempt.failed.clone());
        Error::data(words.unwrap_or_else(|| "no machine was found before the run was stopped".into()))
    }

    /// The machine that a way starts from, at a size; none where it has a start of its own or there is no such machine.
    fn start_of(&mut self, way: usize, size: usize) -> Option<Machine> {
        let from = self.ways[way].from?;
        if !self.was_tried(from, size) {
            self.attempt(from, size);
        }
        self.starts.iter().find(|(w, s, _)| *w == from && *s == size).map(|(_, _, machine)| machine.clone())
    }

    fn was_tried(&self, way: usize, size: usize) -> bool {
        self.done.contains(&(way, size))
    }

    /// Tries one way at one size, and remembers it where it is the best.
    fn attempt(&mut self, way: usize, size: usize) {
        let start = self.start_of(way, size);
        self.done.push((way, size));
        let clock = Instant::now();
        let made = self.ways[way].machine(&self.task, size, start.as_ref(), self.watch);
        let made = made.and_then(|machine| Ok((self.judge.figures(&machine)?, machine)));
        let (seconds, name) = (clock.elapsed().as_secs_f64(), self.ways[way].name.clone());
        let (figures, machine) = match made {
            Ok(made) => made,
            // A way that does not fit this machine is told, and the others go on.
            Err(error) => {
                let (figures, failed) = (Figures::default(), Some(error.to_string()));
                return self.tried.push(Attempt { way: name, vectors: size, figures, seconds, failed });
            }
        };
        if self.ways.iter().any(|other| other.from == Some(way)) {
            self.starts.push((way, size, machine.clone()));
        }
        if !self.ways[way].rival {
            return;
        }
        self.tried.push(Attempt { way: name, vectors: machine.vectors(), figures, seconds, failed: None });
        let candidate = Candidate { way, machine, figures };
        match self.best.iter_mut().find(|(s, _)| *s == size) {
            Some((_, best)) if self.judge.better(&figures, &best.figures) => *best = candidate,
            Some(_) => {}
            None => {
                self.best.push((size, candidate));
                self.best.sort_by_key(|(size, _)| *size);
            }
        }
    }

    /// All ways that were not tried at this size.
    fn all_ways(&mut self, size: usize) {
        for way in 0..self.ways.len() {
            if self.watch.cancelled() && !self.best.is_empty() {
                break;
            }
            if !self.was_tried(way, size) {
                self.attempt(way, size);
            }
        }
    }

    /// The leader at a size; all of them at the first, to find the leader.
    fn on_the_way(&mut self, size: usize) -> Option<Figures> {
        if self.best.is_empty() {
            self.all_ways(size);
            self.leader = self.at(size).map_or(0, |candidate| candidate.way);
        } else if self.at(size).is_none() {
            self.attempt(self.leader, size);
        }
        self.at(size).map(|candidate| candidate.figures)
    }

    /// The one size that is asked for, after the smaller ones where they are wanted.
    fn of_size(&mut self, most: usize, curve: bool) -> (usize, String) {
        if curve {
            for size in doubling(most) {
                if self.watch.cancelled() {
                    break;
                }
                self.all_ways(size);
            }
        }
        (most, "the size that was asked for".into())
    }

    /// The smallest size that is good enough, or the largest.
    fn smallest(&mut self, most: usize) -> Result<(usize, String)> {
        let mut below = 0;
        let mut enough = None;
        for size in doubling(most) {
            let Some(figures) = self.on_the_way(size) else { return Err(self.first_failure()) };
            if self.goals.met(&figures, self.judge) {
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
            match self.on_the_way(middle) {
                Some(figures) if self.goals.met(&figures, self.judge) => enough = middle,
                _ => below = middle,
            }
        }
        Ok((enough, "the smallest size found that is good enough".into()))
    }

    /// The size beyond which more vectors gain little.
    fn knee(&mut self, most: usize) -> Result<(usize, String)> {
        let mut points: Vec<(usize, Figures)> = vec![];
        let mut flat = 0;
        for size in doubling((most / 2).max(1)) {
            let Some(figures) = self.on_the_way(size) else { return Err(self.first_failure()) };
            let figure = self.judge.first_figure(&figures).0;
            let before = points.last().map(|(_, figures)| self.judge.first_figure(figures).0);
            flat = if before.is_some_and(|before| figure > (1.0 - FLAT) * before) { flat + 1 } else { 0 };
            points.push((size, figures));
            if flat == 2 || figure == 0.0 || self.watch.cancelled() {
                break;
            }
        }
        let figures: Vec<(usize, f64, f64)> = points
            .iter()
            .map(|(size, figures)| {
                let (figure, chance) = self.judge.first_figure(figures);
                (*size, figure, chance)
            })
            .collect();
        Ok(knee_of(&figures))
    }

    /// What is missing, and what it would take.
    fn shortfalls(&self, found: &Figures) -> Vec<String> {
        let mut words = self.goals.shortfalls(found, self.judge);
        if let Some(sentence) = (!words.is_empty()).then(|| self.outlook()) {
            words.push(sentence);
        }
        words
    }

    /// How many vectors would do, at the rate at which the bound furthest from being met came nearer over the sizes tried.
    fn outlook(&self) -> String {
        let excess = |figures: &Figures| -> Option<f64> {
            let residual = self.goals.max_residual.map(|bound| figures.residual.map(|r| r / bound));
            let loss = self.goals.max_loss.map(|bound| figures.loss.zip(self.judge.loss_before()).map(|(a, b)| (a - b) / bound));
            let agreement = self.goals.min_agreement.map(|bound| figures.agreement.map(|a| (1.0 - a) / (1.0 - bound)));
            [residual, loss, agreement].into_iter().flatten().flatten().filter(|e| e.is_finite()).reduce(f64::max)
        };
        let known: Vec<(f64, f64)> = self
            .best
            .iter()
            .filter_map(|(size, candidate)| excess(&candidate.figures).filter(|e| *e > 0.0).map(|e| ((*size as f64).ln(), e.ln())))
            .collect();
        let rate = match (known.first(), known.last()) {
            (Some(first), Some(last)) if last.0 > first.0 => (first.1 - last.1) / (last.0 - first.0),
            _ => 0.0,
        };
        let needed = known.last().map_or(f64::INFINITY, |last| (last.0 + last.1 / rate).exp());
        let all = self.task.machine.vectors() as f64;
        if rate > 0.05 && needed < all {
            return format!("at the rate of the sizes tried about {} vectors would do", needed.ceil());
        }
        "more vectors promise little: loosen the goal, give more rows with the data, or more time with a larger effort".into()
    }
}

/// Sizes that double up to the last.
fn doubling(most: usize) -> Vec<usize> {
    let mut sizes: Vec<usize> = std::iter::successors(Some(FIRST), |size| Some(2 * size)).take_while(|size| *size < most).collect();
    sizes.push(most);
    sizes
}

/// The knee of a curve of (size, figure, chance): the smallest size within chance of the best; where there is no chance, the point farthest below
/// the line between the ends, over the logarithm of the size.
fn knee_of(points: &[(usize, f64, f64)]) -> (usize, String) {
    let (Some(first), Some(last)) = (points.first(), points.last()) else { return (1, String::new()) };
    let best = points.iter().copied().reduce(|a, b| if b.1 < a.1 { b } else { a }).unwrap_or(*last);
    if best.2 > 0.0 || best.1 == 0.0 {
        let enough = points.iter().find(|point| point.1 <= best.1 + best.2).unwrap_or(last);
        return (enough.0, "the knee of the curve: larger ones are better by no more than chance".into());
    }
    let place = |point: &(usize, f64, f64)| (point.0 as f64).ln();
    let below = |point: &(usize, f64, f64)| {
        let part = (place(point) - place(first)) / (place(last) - place(first)).max(f64::MIN_POSITIVE);
        first.1 + part * (last.1 - first.1) - point.1
    };
    let farthest = points.iter().reduce(|a, b| if below(b) > below(a) { b } else { a }).unwrap_or(last);
    (farthest.0, "the knee of the curve: from here on more vectors gain less and less".into())
}

#[cfg(test)]
mod tests {
    use super::super::{Effort, Knowledge, ways_for};
    use super::*;
    use crate::{
        data::{Target, banana},
        kernel::Kernel,
        learn::{Learner, Svc},
    };

    fn full(data: &Dataset) -> Machine {
        Svc { kernel: Kernel::gaussian(1.0), c: 10.0, ..Svc::default() }.learn(data, &Watch::none()).unwrap().machine
    }

    fn compress(machine: &Machine, data: Option<&Dataset>, goals: &Goals, effort: Effort) -> Result<Compressed> {
        let known = Knowledge { rows: data.is_some(), labels: false, keep_pairs: false, c: 10.0, vectors: 20, seed: 0 };
        let ways = ways_for(machine, known, effort);
        let task = Task { machine, data, candidates: None };
        Compression { task, ways: &ways, goals, metric: None, curve: false, most_rows: 350, seed: 0 }.run(&Watch::none())
    }

    #[test]
    fn the_best_of_the_ways_is_kept() {
        let data = banana(400, 1);
        let machine = full(&data);
        let goals = Goals { max_vectors: Some(12), ..Goals::default() };
        let small = compress(&machine, Some(&data), &goals, Effort::Normal).unwrap();
        assert_eq!((small.machine.vectors(), small.tried.len(), small.held_out), (12, 4, 88));
        let judge = Judge::new(&machine, Some(Parts::of(&data, 0).unwrap().held_out), None, false).unwrap();
        assert!(small.tried.iter().all(|attempt| !judge.better(&attempt.figures, &small.figures)));
        let (new, before) = (banana(3000, 2), machine.score(&banana(3000, 2)).unwrap().loss());
        assert!(small.machine.score(&new).unwrap().loss() < before + 0.02);
    }

    #[test]
    fn goals_of_quality_find_the_size_and_say_what_is_missing() {
        let data = banana(400, 1);
        let machine = full(&data);
        let goals = Goals { min_agreement: Some(0.95), ..Goals::default() };
        let small = compress(&machine, Some(&data), &goals, Effort::Quick).unwrap();
        assert!(small.missing.is_empty() && small.figures.agreement.unwrap() >= 0.95 && small.machine.vectors() < machine.vectors() / 2);
        let residual = Goals { max_residual: Some(0.1), ..Goals::default() };
        let near = compress(&machine, None, &residual, Effort::Quick).unwrap();
        assert!(near.figures.residual.unwrap() <= 0.1 && near.machine.vectors() < machine.vectors());
        let tight = Goals { max_vectors: Some(5), max_residual: Some(1e-6), ..Goals::default() };
        let far = compress(&machine, None, &tight, Effort::Quick).unwrap();
        assert_eq!((far.machine.vectors(), far.missing.len()), (5, 2), "{:?}", far.missing);
        assert!(far.missing[0].contains("above 0.000001"), "{:?}", far.missing);
    }

    #[test]
    fn without_goals_the_knee_is_taken_with_rows_and_without() {
        let data = banana(400, 1);
        let machine = full(&data);
        let blind = Dataset { target: Target::None, ..data.clone() };
        for rows in [None, Some(&data), Some(&blind)] {
            let small = compress(&machine, rows, &Goals::default(), Effort::Quick).unwrap();
            assert!(small.machine.vectors() >= 4 && small.machine.vectors() <= machine.vectors() / 2, "{}", small.machine.vectors());
            assert!(small.why.contains("knee") && small.path.len() > 1);
        }
        let curve = [(4, 0.9, 0.0), (8, 0.3, 0.0), (16, 0.2, 0.0), (32, 0.18, 0.0)];
        assert_eq!(knee_of(&curve).0, 8);
        assert_eq!(knee_of(&[(4, 0.2, 0.01), (8, 0.105, 0.01), (16, 0.1, 0.01)]).0, 8);
    }

    #[test]
    fn where_all_vectors_are_allowed_the_machine_stays() {
        let data = banana(100, 1);
        let machine = full(&data);
        let all = Goals { fraction: Some(1.0), ..Goals::default() };
        assert_eq!(compress(&machine, Some(&data), &all, Effort::Normal).unwrap().machine, machine);
    }

    #[test]
    fn goals_that_cannot_be_measured_have_words() {
        let data = banana(100, 1);
        let machine = full(&data);
        let loss = Goals { max_loss: Some(0.01), ..Goals::default() };
        assert!(compress(&machine, None, &loss, Effort::Quick).unwrap_err().to_string().contains("give some"));
        let blind = Dataset { target: Target::None, ..data };
        assert!(compress(&machine, Some(&blind), &loss, Effort::Quick).unwrap_err().to_string().contains("agreement"));
    }
}
