//! Compression by one method, as its flags say.
use std::time::Instant;

use kernelet::{
    compress::{Compression, Goals, Steps, Way},
    data::{Dataset, Points},
    machine::Machine,
    model::{self, Kind},
    sparsify::{Budget, Level, Path, Refit, StandIn, Task, construct::refine, least_error_offsets, refit, residual},
    watch::Watch,
};

use super::{
    Compress, LayoutFlag, Rows, ThresholdFlag,
    answer::{Answered, Shown, error_on},
};
use crate::{
    failure::{Failure, Result},
    layout::count,
    session::Session,
};

impl Compress {
    /// Compresses by one method.
    pub(super) fn run_named(&self, machine: Machine, kind: Kind, rows: Rows, session: &Session) -> Result<()> {
        let stand_in = StandIn::of(&machine, rows.data.as_ref())?;
        let (machine, rows) = match &stand_in {
            None => (machine, rows),
            Some(stand_in) => (stand_in.machine.clone(), self.standing_in(stand_in, &rows)?),
        };
        let needed = matches!(self.refit, Some(Refit::Margin | Refit::Rsvm));
        let c = if needed { self.cost(&machine, kind, session) } else { self.c };
        let scaled = self.candidates(&machine, &rows)?;
        let task = Task { machine: &machine, data: rows.data.as_ref(), candidates: scaled.as_ref() };
        let clock = Instant::now();
        let (budget, missing) = self.budget(&task, c, session.seed, &session.watch())?;
        missing.iter().for_each(|sentence| session.note(format!("not reached: {sentence}")));
        let path = self.method().make(&self.settings, session.seed)?.sparsify(&task, &budget, &session.watch())?;
        let nothing = || if session.interrupted() { Failure::Cancelled } else { Failure::failed("no vector was found") };
        let found = path.last().ok_or_else(nothing)?;
        let small = self.fitted(found, &task, c, &session.watch())?;
        let seconds = clock.elapsed().as_secs_f64();
        if machine.calibration.is_some() {
            session.note(
                "the probabilities of the model belong to its own outputs and are left out; --method auto with --data learns new ones",
            );
        }
        if let Some(note) = &path.note {
            session.note(note);
        }
        let most = scaled.as_ref().map_or(machine.vectors(), |points| points.len());
        let capped = self.goals.vectors.filter(|wanted| *wanted > most);
        if let Some(wanted) = capped {
            session.note(format!("there are fewer vectors than {}; the machine has {}", count(wanted), count(small.vectors())));
        }
        let mut answer = Answered::measured(self.method().name, &machine, &small, (&rows.data, &rows.test), &self.output)?;
        (answer.capped, answer.seconds) = (capped.is_some(), seconds);
        if self.path {
            answer.path = Some(self.levels(&path, &task, &rows, c, session)?);
        }
        answer.status = session.watch().ended(path.status);
        let mut small = stand_in.map_or(Ok(small.clone()), |stand_in| stand_in.back(&small))?;
        small.facts.path = answer.path.is_some().then(|| answer.path_facts());
        model::save(&small, &self.output)?;
        session.answer_kept(&answer, answer.status, format!("the machine of the work so far is kept in {}", self.output.display()))
    }

    /// The rows for the machine that stands in for one with a precomputed kernel; what makes new vectors is refused.
    pub(crate) fn standing_in(&self, stand_in: &StandIn, rows: &Rows) -> Result<Rows> {
        if self.method().makes_vectors() || self.settings.refinement().is_some() || self.from_data {
            return Err(Failure::usage(
                "a precomputed kernel knows its values with the training rows alone: choose among the model's vectors with pursuit, l1, l0 or independent",
            ));
        }
        let translated = |rows: &Option<Dataset>| rows.as_ref().map(|rows| stand_in.rows(rows)).transpose();
        Ok(Rows { data: translated(&rows.data)?, test: translated(&rows.test)? })
    }

    pub(crate) fn candidates(&self, machine: &Machine, rows: &Rows) -> Result<Option<Points>> {
        match self.from_data {
            true => Ok(Task { machine, data: rows.data.as_ref(), candidates: None }.scaled_rows()?),
            false => Ok(None),
        }
    }

    /// The bounds on the run; where quality on rows is asked for, the smallest size that has it, and what is missing of that.
    pub(crate) fn budget(&self, task: &Task, c: Option<f64>, seed: u64, watch: &Watch) -> Result<(Budget, Vec<String>)> {
        let goals = self.goals.goals();
        let bounds = Goals { max_residual: None, max_loss: None, min_agreement: None, ..goals.clone() };
        let most = if bounds.about_size() { self.most(&bounds, task)? } else { usize::MAX };
        let budget = Budget { max_residual: goals.max_residual.unwrap_or(0.0), ..Budget::vectors(most) };
        if !goals.needs_rows() {
            return Ok((budget, vec![]));
        }
        let steps = Steps::Sparsify {
            method: self.method().make(&self.settings, seed)?,
            refinement: self.settings.refinement().filter(|_| self.method().name != "refine"),
            refit: self.refit.unwrap_or(Refit::None),
            c,
            least_error: self.threshold == Some(ThresholdFlag::TrainError),
        };
        let ways = [Way { name: self.method().name.into(), steps, from: vec![], rival: true }];
        let (metric, most_rows) = (self.goals.metric, usize::MAX);
        let found = Compression { task: *task, ways: &ways, goals: &goals, metric, curve: false, most_rows, seed }.run(watch)?;
        Ok((Budget::vectors(found.machine.vectors().max(1)), found.missing))
    }

    /// The most vectors; more than there are is no error, and of candidates of one's own there may be more than the machine has.
    fn most(&self, bounds: &Goals, task: &Task) -> Result<usize> {
        let without = Goals { max_vectors: None, ..bounds.clone() };
        let part = if without.about_size() { Some(without.most_vectors(task.machine)?) } else { None };
        Ok([self.goals.vectors, part].into_iter().flatten().fold(usize::MAX, usize::min))
    }

    /// The machine with all vectors moved together, where that is asked for and not what the method did.
    fn refined(&self, machine: Machine, task: &Task, watch: &Watch) -> Result<Machine> {
        match self.settings.refinement() {
            Some(how) if self.method().name != "refine" => Ok(refine(&machine, &how, task, watch)?.machine),
            _ => Ok(machine),
        }
    }

    /// The machine found, with all that is asked to be done with it afterwards.
    pub(crate) fn fitted(&self, found: Machine, task: &Task, c: Option<f64>, watch: &Watch) -> Result<Machine> {
        let moved = self.refined(found, task, watch)?;
        let small = refit(&moved, self.refit.unwrap_or(Refit::None), task, c, watch)?;
        let small = if self.layout == LayoutFlag::Libsvm { kernelet::sparsify::owned_by_class(&small, task)? } else { small };
        match self.threshold {
            Some(ThresholdFlag::TrainError) => Ok(least_error_offsets(&small, task)?),
            Some(ThresholdFlag::Keep) | None => Ok(small),
        }
    }

    fn levels(&self, path: &Path, task: &Task, rows: &Rows, c: Option<f64>, session: &Session) -> Result<Vec<Shown>> {
        let mut shown = vec![];
        let moved = self.settings.refinement().is_some() && self.method().name != "refine";
        let last = path.len().saturating_sub(1);
        for (i, Level { vectors, residual: known, .. }) in path.levels().into_iter().enumerate() {
            // Moving all vectors is too dear for every size; each of those shown has twice the vectors of the one before.
            if moved && !(i + 1).is_power_of_two() && i != last {
                continue;
            }
            let Some(found) = path.machine(i) else { break };
            let small = self.fitted(found, task, c, &session.watch())?;
            let residual = match self.refit {
                None | Some(Refit::None) if !moved => known,
                _ => residual(&task.machine.expansion, &small.expansion)?,
            };
            let (train_error, test_error) = (error_on(&small, rows.data.as_ref())?, error_on(&small, rows.test.as_ref())?);
            shown.push(Shown { vectors, residual: Some(residual), train_error, test_error, agreement: None });
            if session.interrupted() {
                break;
            }
        }
        Ok(shown)
    }
}
