//! The search for the size and the way.
//!
//! A bound on the size alone: every way makes a machine of that size, and the best is kept. Bounds on the quality: sizes double until the machine is
//! good enough, then the gap is halved some times. No bound at all: sizes double until little is gained, and the knee of the curve is taken. Where
//! the way that led at the size before is good enough, the others are not tried there; the size that is taken is tried by all.
use super::{
    goals::Goals,
    judge::{Figures, Judge, Metric, Parts},
    recalibrate::recalibrated,
    run::Run,
    way::Way,
};
use crate::{
    Error, Result,
    data::{Dataset, shuffled},
    machine::Machine,
    sparsify::Task,
    watch::{Status, Watch},
};

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
        let judge = Judge::new(machine, held_out, self.metric, self.goals.first())?;
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
            status: watch.ended(Status::Converged),
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

#[cfg(test)]
mod tests {
    use super::super::{
        auto::{Knowledge, ways_for},
        effort::Effort,
        judge::First,
    };
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
        let known = Knowledge {
            rows: data.map_or(0, |data| data.len()),
            labels: false,
            by_heart: false,
            keep_pairs: false,
            c: 10.0,
            vectors: 20,
            seed: 0,
        };
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
        assert_eq!((small.machine.vectors(), small.tried.len(), small.held_out), (12, 3, 88));
        let judge = Judge::new(&machine, Some(Parts::of(&data, 0).unwrap().held_out), None, First::Loss).unwrap();
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
