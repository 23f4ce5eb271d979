//! The search for the size and the strategy.
//!
//! A bound on the size alone: every strategy makes a machine of that size, and the best is kept. Bounds on the quality: sizes double until the machine is
//! good enough, then the gap is halved some times. No bound at all: sizes double until little is gained, and the knee of the curve is taken. Where
//! the strategy that led at the size before is good enough, the others are not tried there; the size that is taken is tried by all.
use super::{
    goals::Goals,
    recalibrate::recalibrated,
    run::Run,
    strategy::Strategy,
    validation::{Metric, Metrics, Parts, Validator},
};
use crate::{
    Error, Result,
    compress::Task,
    data::{Dataset, shuffled},
    machine::Machine,
    watch::{Status, Watch},
};

/// One thing that was tried.
#[derive(Clone, Debug)]
pub struct Attempt {
    /// The name of the strategy.
    pub strategy: String,
    /// Vectors of the machine; those asked for where there is none.
    pub n_vectors: usize,
    /// How good it was.
    pub metrics: Metrics,
    /// How long it took.
    pub seconds: f64,
    /// Why there is no machine.
    pub failed: Option<String>,
}

/// A machine to compress, the strategies to try and what is asked for.
pub struct Compression<'a> {
    /// The machine, and rows to work with and to validate on.
    pub task: Task<'a>,
    /// At least one.
    pub strategies: &'a [Strategy],
    /// What is asked for.
    pub goals: &'a Goals,
    /// What loss means; none for the usual.
    pub metric: Option<Metric>,
    /// Whether the size path is wanted where the size is given.
    pub curve: bool,
    /// Rows of the data that are used, drawn at random from more.
    pub most_rows: usize,
    /// Seed of the rows drawn and of the validation rows.
    pub seed: u64,
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct Found {
    /// The small machine.
    pub machine: Machine,
    /// The strategy that led to it.
    pub strategy: String,
    /// How good it was on the validation rows, before it was made from those too.
    pub metrics: Metrics,
    /// The loss of the large machine there.
    pub loss_before: Option<f64>,
    /// Validation rows.
    pub held_out: usize,
    /// All that was tried, in order.
    pub tried: Vec<Attempt>,
    /// The best machine of each size tried, smallest first.
    pub path: Vec<(Machine, Metrics)>,
    /// Why this size.
    pub why: String,
    /// What is missing of the goals; empty where they are met.
    pub missing: Vec<String>,
    /// The machine was trained further on all rows after it was validated.
    pub trained_further: bool,
    /// How the run ended.
    pub status: Status,
}

impl Compression<'_> {
    /// Tries, validates and keeps the best.
    pub fn run(&self, watch: &Watch) -> Result<Found> {
        self.goals.check()?;
        self.task.check()?;
        let machine = self.task.machine;
        if self.goals.needs_rows() && self.task.data.is_none() {
            return Err(Error::data("loss and agreement are measured on rows; give some with the data"));
        }
        let most = self.goals.most_vectors(machine)?;
        if most == machine.n_vectors() && self.goals.about_size() && !self.goals.about_quality() {
            return Ok(unchanged(machine));
        }
        let sample = self.task.data.filter(|data| data.len() > self.most_rows).map(|data| self.sample(data));
        let all = Task { data: sample.as_ref().or(self.task.data), ..self.task };
        let parts = all.data.map(|data| Parts::of(data, self.seed)).transpose()?;
        let (rows, held_out) = parts.map_or((None, None), |parts| (Some(parts.rows), Some(parts.held_out)));
        let held = held_out.as_ref().map_or(0, |rows| rows.len());
        let validator = Validator::new(machine, held_out, self.metric, self.goals.primary())?;
        if self.goals.max_loss.is_some() && validator.loss_before().is_none() {
            return Err(Error::data("the loss is measured on rows with targets; give them with the data, or ask for an agreement"));
        }
        let task = Task { data: rows.as_ref(), ..self.task };
        let mut run = Run {
            strategies: self.strategies,
            goals: self.goals,
            task,
            validator: &validator,
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
        run.all_strategies(size);
        let found = run.at(size).cloned().ok_or_else(|| run.first_failure())?;
        let missing = if self.goals.about_quality() { run.shortfalls(&found.metrics) } else { vec![] };
        let calibration = validator.rows().map_or(Ok(None), |rows| recalibrated(&found.machine, machine, rows))?;
        let small = self.strategies[found.strategy].again(found.machine.clone(), &all, watch)?;
        let trained_further = small != found.machine;
        let machine = Machine { calibration, ..small };
        machine.check()?;
        Ok(Found {
            machine,
            strategy: self.strategies[found.strategy].name.clone(),
            metrics: found.metrics,
            loss_before: validator.loss_before(),
            held_out: held,
            tried: run.tried,
            path: run.best.into_iter().map(|(_, candidate)| (candidate.machine, candidate.metrics)).collect(),
            why,
            missing,
            trained_further,
            status: watch.ended(Status::Converged),
        })
    }
}

/// The machine itself, where all its vectors are allowed.
fn unchanged(machine: &Machine) -> Found {
    Found {
        machine: machine.clone(),
        strategy: "as it was".into(),
        metrics: Metrics { residual: Some(0.0), ..Metrics::default() },
        loss_before: None,
        held_out: 0,
        tried: vec![],
        path: vec![(machine.clone(), Metrics { residual: Some(0.0), ..Metrics::default() })],
        why: "all vectors were allowed, and the machine is as it was".into(),
        missing: vec![],
        trained_further: false,
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
        auto::{Knowledge, strategies_for},
        effort::Effort,
        validation::PrimaryMetric,
    };
    use super::*;
    use crate::{
        compress::{Finish, Refit},
        data::{Target, banana},
        kernel::Kernel,
        learn::{Learner, Svc},
    };

    fn full(data: &Dataset) -> Machine {
        Svc { kernel: Kernel::gaussian(1.0), c: 10.0, ..Svc::default() }.learn(data, &Watch::none()).unwrap().machine
    }

    fn compress(machine: &Machine, data: Option<&Dataset>, goals: &Goals, effort: Effort) -> Result<Found> {
        let known = Knowledge {
            n_rows: data.map_or(0, |data| data.len()),
            labels: false,
            fits_training_rows: false,
            keep_pairs: false,
            chosen: false,
            trains: true,
            c: 10.0,
            n_vectors: 20,
            seed: 0,
        };
        let refit = if data.is_some() { Refit::Outputs } else { Refit::None };
        let strategies = strategies_for(machine, known, &Finish { refit, ..Finish::default() }, effort);
        let task = Task { machine, data, candidates: None };
        Compression { task, strategies: &strategies, goals, metric: None, curve: false, most_rows: 350, seed: 0 }.run(&Watch::none())
    }

    #[test]
    fn the_best_of_the_strategies_is_kept() {
        let data = banana(400, 1);
        let machine = full(&data);
        let goals = Goals { max_vectors: Some(12), ..Goals::default() };
        let small = compress(&machine, Some(&data), &goals, Effort::Normal).unwrap();
        assert_eq!((small.machine.n_vectors(), small.tried.len(), small.held_out), (12, 3, 88));
        let validator = Validator::new(&machine, Some(Parts::of(&data, 0).unwrap().held_out), None, PrimaryMetric::Loss).unwrap();
        assert!(small.tried.iter().all(|attempt| !validator.better(&attempt.metrics, &small.metrics)));
        let (new, before) = (banana(3000, 2), machine.score(&banana(3000, 2)).unwrap().loss());
        assert!(small.machine.score(&new).unwrap().loss() < before + 0.02);
    }

    #[test]
    fn goals_of_quality_find_the_size_and_say_what_is_missing() {
        let data = banana(400, 1);
        let machine = full(&data);
        let goals = Goals { min_agreement: Some(0.95), ..Goals::default() };
        let small = compress(&machine, Some(&data), &goals, Effort::Quick).unwrap();
        assert!(
            small.missing.is_empty() && small.metrics.agreement.unwrap() >= 0.95 && small.machine.n_vectors() < machine.n_vectors() / 2
        );
        let residual = Goals { max_residual: Some(0.1), ..Goals::default() };
        let near = compress(&machine, None, &residual, Effort::Quick).unwrap();
        assert!(near.metrics.residual.unwrap() <= 0.1 && near.machine.n_vectors() < machine.n_vectors());
        let tight = Goals { max_vectors: Some(5), max_residual: Some(1e-6), ..Goals::default() };
        let far = compress(&machine, None, &tight, Effort::Quick).unwrap();
        assert_eq!((far.machine.n_vectors(), far.missing.len()), (5, 2), "{:?}", far.missing);
        assert!(far.missing[0].contains("above 0.000001"), "{:?}", far.missing);
    }

    #[test]
    fn without_goals_the_knee_is_taken_with_rows_and_without() {
        let data = banana(400, 1);
        let machine = full(&data);
        let blind = Dataset { target: Target::None, ..data.clone() };
        for rows in [None, Some(&data), Some(&blind)] {
            let small = compress(&machine, rows, &Goals::default(), Effort::Quick).unwrap();
            assert!(
                small.machine.n_vectors() >= 4 && small.machine.n_vectors() <= machine.n_vectors() / 2,
                "{}",
                small.machine.n_vectors()
            );
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
    fn goals_that_cannot_be_measured_are_rejected() {
        let data = banana(100, 1);
        let machine = full(&data);
        let loss = Goals { max_loss: Some(0.01), ..Goals::default() };
        assert!(compress(&machine, None, &loss, Effort::Quick).unwrap_err().to_string().contains("give some"));
        let blind = Dataset { target: Target::None, ..data };
        assert!(compress(&machine, Some(&blind), &loss, Effort::Quick).unwrap_err().to_string().contains("agreement"));
    }
}
