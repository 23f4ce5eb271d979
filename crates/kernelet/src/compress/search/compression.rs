//! The search for the size and the strategy.
//!
//! A bound on the size alone: every strategy makes a machine of that size, and the best is kept. Bounds on the quality: sizes double until the machine is
//! good enough, then the gap is halved some times. No bound at all: sizes double until little is gained, and the knee of the curve is taken. Where
//! the strategy that led at the size before is good enough, the others are not tried there; the size that is taken is tried by all.
use super::{
    certificate::{Certificate, RowKind, Verdict},
    certify::Trust,
    goals::Goals,
    origin::recognise,
    recalibrate::{LEFT_OUT, recalibrated, recalibrated_by_folds},
    run::{Candidate, Run},
    strategy::Strategy,
    validation::{FEW, Metric, Metrics, Parts, Validator},
};
use crate::{
    Error, Result,
    compress::Task,
    data::{Dataset, plain_split, shuffled},
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
    /// How sure promises are, and where the rows come from.
    pub trust: Trust,
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
    /// What holds on new rows, where that was asked for.
    pub certificate: Option<Certificate>,
    /// Whether the goals hold on new rows, where that was asked for.
    pub verdict: Option<Verdict>,
    /// Why it cannot be known where the rows come from.
    pub doubt: Option<String>,
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
        let Cut { all, rows, held_out, certify, doubt } = self.cut()?;
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
        let mut chosen = Chosen { found: run.chosen(size).cloned().ok_or_else(|| run.first_failure())?, why, certificate: None };
        if self.goals.needs_rows() {
            chosen = self.certified(&mut run, chosen, size, most, certify.as_ref())?;
        }
        let Chosen { found, why, certificate } = chosen;
        let verdict = certificate.as_ref().map(|certificate| certificate.verdict(self.goals, &found.metrics));
        let missing = self.missing(&run, &found, certificate.as_ref());
        // What is trained on other rows depends on these in no way; what is constructed does by the vectors of a machine that was trained on them.
        let unseen = certify.is_some() || found.strategy.is_some_and(|strategy| self.strategies[strategy].is_trained());
        // What is certified is this machine, and no other.
        let all = Task { data: all.as_ref().or(self.task.data), ..self.task };
        let small = match certify {
            None if !watch.cancelled() => self.further(&found, &all, watch)?,
            _ => found.machine.clone(),
        };
        let trained_further = small != found.machine;
        let strategy = found.strategy.filter(|_| unseen && trained_further).map(|strategy| &self.strategies[strategy]);
        let folded = strategy.map_or(Ok(None), |strategy| recalibrated_by_folds(&found.machine, strategy, &all, LEFT_OUT, watch))?;
        let calibration = match (folded, validator.rows()) {
            (None, Some(rows)) => recalibrated(&found.machine, machine, rows, unseen)?,
            (folded, _) => folded,
        };
        let machine = Machine { calibration, ..small };
        machine.check()?;
        Ok(Found {
            machine,
            strategy: run.name_of(&found),
            metrics: found.metrics,
            loss_before: validator.loss_before(),
            held_out: held,
            tried: run.tried,
            path: run.best.into_iter().map(|(_, candidate)| (candidate.machine, candidate.metrics)).collect(),
            why,
            missing,
            certificate,
            verdict,
            doubt,
            trained_further,
            status: watch.ended(Status::Converged),
        })
    }

    /// The machine trained further on all rows; as it is where there is no time for that.
    fn further(&self, found: &Candidate, all: &Task, watch: &Watch) -> Result<Machine> {
        let Some(strategy) = found.strategy else { return Ok(found.machine.clone()) };
        let further = self.strategies[strategy].again(found.machine.clone(), all, watch)?;
        Ok(if watch.cancelled() { found.machine.clone() } else { further })
    }

    /// The machine that fresh rows certify; without such rows the one that was chosen, of which nothing is promised.
    fn certified(&self, run: &mut Run, chosen: Chosen, size: usize, most: usize, certify: Option<&Dataset>) -> Result<Chosen> {
        let Some(rows) = certify.filter(|_| !run.watch.cancelled()) else {
            let certificate = Some(Certificate::silent(RowKind::Training, self.trust.confidence));
            return Ok(Chosen { certificate, ..chosen });
        };
        let (found, certificate) = run.certified(size, most, rows, &self.trust, self.seed)?;
        let why = match certificate.meets(self.goals) {
            true => "the smallest size that passed the test on fresh rows".into(),
            false => chosen.why,
        };
        Ok(Chosen { found, why, certificate: Some(certificate) })
    }

    /// What is missing of the goals.
    fn missing(&self, run: &Run, found: &Candidate, certificate: Option<&Certificate>) -> Vec<String> {
        if !self.goals.about_quality() {
            return vec![];
        }
        let Some(certificate) = certificate else { return run.shortfalls(&found.metrics) };
        let mut missing: Vec<String> = self.goals.residual_shortfall(&found.metrics).into_iter().collect();
        missing.extend(certificate.shortfalls(self.goals, run.validator.metric));
        missing
    }

    /// Cuts the rows into those that machines are made from, that choose and that certify.
    fn cut(&self) -> Result<Cut> {
        let Some(data) = self.task.data else { return Ok(Cut::default()) };
        let recognised = if self.goals.needs_rows() { Some(recognise(&self.task, self.trust.origin)?) } else { None };
        let fresh = recognised.as_ref().map_or(vec![], |recognised| recognised.fresh_rows());
        let doubt = recognised.and_then(|recognised| recognised.doubt);
        if fresh.len() < 2 * FEW {
            let all = if data.len() > self.most_rows { Some(self.sample(data)) } else { None };
            let Parts { rows, held_out } = Parts::of(all.as_ref().unwrap_or(data), self.seed)?;
            return Ok(Cut { all, rows: Some(rows), held_out: Some(held_out), certify: None, doubt });
        }
        let (choose, certify) = plain_split(fresh.len(), 0.5, self.seed)?;
        let [choose, certify] = [choose, certify].map(|part| data.select(&part.into_iter().map(|i| fresh[i]).collect::<Vec<_>>()));
        let sampled = |rows: Dataset| if rows.len() > self.most_rows { self.sample(&rows) } else { rows };
        let old = data.without(&fresh);
        let Parts { rows, held_out } = match old.len() < FEW {
            true => Parts::of(&sampled(choose), self.seed)?,
            false => Parts { rows: sampled(old), held_out: choose },
        };
        Ok(Cut { all: None, rows: Some(rows), held_out: Some(held_out), certify: Some(certify), doubt })
    }
}

/// A machine of a size, why that size, and what is promised of it.
struct Chosen {
    found: Candidate,
    why: String,
    certificate: Option<Certificate>,
}

/// The rows, cut into parts.
#[derive(Default)]
struct Cut {
    /// Those that may be used at all, where they are a sample.
    all: Option<Dataset>,
    /// Machines are made from these.
    rows: Option<Dataset>,
    /// These choose.
    held_out: Option<Dataset>,
    /// These certify; none where there are none that are new.
    certify: Option<Dataset>,
    /// Why it cannot be known where they come from.
    doubt: Option<String>,
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
        certificate: None,
        verdict: None,
        doubt: None,
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
            device: crate::device::Device::Cpu,
        };
        let refit = if data.is_some() { Refit::Outputs } else { Refit::None };
        let strategies = strategies_for(machine, known, &Finish { refit, ..Finish::default() }, effort);
        let task = Task { machine, data, candidates: None };
        Compression { task, strategies: &strategies, goals, metric: None, curve: false, most_rows: 350, trust: Trust::default(), seed: 0 }
            .run(&Watch::none())
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
            small.verdict == Some(Verdict::Unknown)
                && small.metrics.agreement.unwrap() >= 0.95
                && small.machine.n_vectors() < machine.n_vectors() / 2
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
    fn fresh_rows_certify_a_size_and_few_of_them_say_what_it_takes() {
        let machine = full(&banana(400, 1));
        let goals = Goals { max_loss: Some(0.03), ..Goals::default() };
        let fresh = banana(2000, 2);
        let small = compress(&machine, Some(&fresh), &goals, Effort::Quick).unwrap();
        let certificate = small.certificate.unwrap();
        assert_eq!((small.verdict, small.missing.len(), small.trained_further), (Some(Verdict::Met), 0, false));
        assert!(certificate.upper.unwrap() <= 0.03 && certificate.n_rows == 1000 && certificate.kind == RowKind::Fresh, "{certificate:?}");
        let pool = banana(20_000, 3);
        let rise = small.machine.score(&pool).unwrap().loss() - machine.score(&pool).unwrap().loss();
        assert!(rise <= 0.03 && small.machine.n_vectors() < machine.n_vectors() / 2, "{rise} {}", small.machine.n_vectors());
        let few = compress(&machine, Some(&banana(100, 2)), &goals, Effort::Quick).unwrap();
        assert_eq!(few.verdict, Some(Verdict::Unknown), "{:?}", few.certificate);
        assert!(few.missing.iter().any(|sentence| sentence.contains("50 fresh rows")), "{:?}", few.missing);
        assert!(
            few.missing.iter().any(|sentence| sentence.contains("more fresh rows") || sentence.contains("fresh rows would do")),
            "{:?}",
            few.missing
        );
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
