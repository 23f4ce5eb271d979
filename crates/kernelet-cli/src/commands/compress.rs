//! `kernelet compress`: a machine with fewer vectors.
use std::{path::PathBuf, time::Instant};

use clap::{Args, ValueEnum};
use kernelet::{
    data::{Dataset, read::Wanted},
    evaluate::agreement,
    machine::Machine,
    model::{self, Kind},
    sparsify::{
        Budget, Level, Path, Refit, StandIn, Task,
        construct::{Objective, refine},
        least_error_offsets, refit, residual, squared_norm,
    },
    watch::Status,
};
use serde::Serialize;

use crate::{
    failure::{Failure, Result},
    files,
    input::{self, Input},
    layout::{count, figure, lines, percent, seconds, table},
    session::{Answer, Session},
    sparsifiers::{self, Method, Settings},
};

/// Flags of `compress`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Compress {
    /// The model to make smaller: native or LIBSVM text.
    pub model: String,
    /// Where the small model is written.
    #[arg(short, long, value_name = "SMALL")]
    pub output: PathBuf,
    /// Rows the model was trained on, or like them; with targets where --refit margin is asked for.
    #[arg(long, value_name = "DATA")]
    pub data: Option<String>,
    /// Rows to measure on, which nothing is chosen by.
    #[arg(long, value_name = "DATA")]
    pub test: Option<String>,
    /// How vectors are found: pursuit chooses them, fixed-point, gradient and refine make new ones; auto is pursuit.
    #[arg(long, value_name = "NAME", default_value = "auto", value_parser = sparsifiers::by_name())]
    pub method: &'static Method,
    /// The most vectors; with --outputs separate for each output.
    #[arg(long, value_name = "M")]
    pub vectors: Option<usize>,
    /// The most vectors as a part of those before, between 0 and 1.
    #[arg(long, value_name = "F", allow_negative_numbers = true)]
    pub fraction: Option<f64>,
    /// Stop once the squared distance of the weight vectors is at most this part of the start.
    #[arg(long, value_name = "R", allow_negative_numbers = true)]
    pub max_residual: Option<f64>,
    /// Choose vectors among the rows of --data instead of the model's own.
    #[arg(long, requires = "data")]
    pub from_data: bool,
    /// Coefficients of the vectors found: projection, outputs, margin, rsvm or none [default: those of the method].
    #[arg(long, value_name = "HOW", value_parser = refit_named)]
    pub refit: Option<Refit>,
    /// Cost C of --refit margin and rsvm [default: what the model was trained with].
    #[arg(long, value_name = "C", allow_negative_numbers = true)]
    pub c: Option<f64>,
    /// Offsets of the vectors found: those of the model or the refit, or for each output those of least error on --data [default: keep].
    #[arg(long, value_name = "HOW", value_enum)]
    pub threshold: Option<ThresholdFlag>,
    /// Show every size on the way.
    #[arg(long)]
    pub path: bool,
    /// Flags of the method.
    #[command(flatten)]
    pub settings: Settings,
    /// Flags of the reader.
    #[command(flatten)]
    pub input: Input,
}

/// Where the outputs are cut.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThresholdFlag {
    /// Where the model or the refit cuts them.
    Keep,
    /// Where the fewest rows of --data are wrong.
    TrainError,
}

const EXAMPLES: &str = "\
Examples:
  kernelet compress digits.model -o small.model --vectors 100
  kernelet compress digits.model -o small.model --vectors 50 --data digits.svm --refit margin --test digits-test.svm
  kernelet compress libsvm.model -o small.model --max-residual 0.1 --path
  kernelet compress polynomial.model -o small.model --method independent
  kernelet compress digits.model -o small.model --method fixed-point --refine --vectors 25";

fn refit_named(name: &str) -> std::result::Result<Refit, String> {
    let names: Vec<&str> = Refit::ALL.iter().map(|refit| refit.name()).collect();
    Refit::named(name).ok_or_else(|| format!("there are {}", names.join(", ")))
}

/// The rows that were given, read for the model.
pub(crate) struct Rows {
    /// Those the model was trained on, or like them.
    pub data: Option<Dataset>,
    /// Those to measure on.
    pub test: Option<Dataset>,
}

impl Compress {
    /// Compresses, measures and writes the small model.
    pub fn run(mut self, session: &Session) -> Result<()> {
        self.settings.grid = self.path;
        let inputs: Vec<&str> = [Some(&self.model), self.data.as_ref(), self.test.as_ref(), self.settings.starts_from.as_ref()]
            .into_iter()
            .flatten()
            .map(String::as_str)
            .collect();
        files::check_output(&self.output, &inputs)?;
        self.method.make(&self.settings, session.seed)?;
        self.check_flags()?;
        let (machine, kind) = input::model(&self.model)?;
        self.settings.start_points = self.start_points(&machine, session)?;
        let method = self.method.make(&self.settings, session.seed)?;
        let budget = self.budget(&machine)?;
        let rows = self.rows(&machine, session)?;
        let stand_in = StandIn::of(&machine, rows.data.as_ref())?;
        let (machine, rows) = match &stand_in {
            None => (machine, rows),
            Some(stand_in) => (stand_in.machine.clone(), self.standing_in(stand_in, &rows)?),
        };
        let c = self.cost(&machine, kind, session)?;
        let scaled = self.candidates(&machine, &rows)?;
        let task = Task { machine: &machine, data: rows.data.as_ref(), candidates: scaled.as_ref() };
        let clock = Instant::now();
        let path = method.sparsify(&task, &budget, &session.watch())?;
        let Some(found) = path.last() else { return Err(Failure::Cancelled) };
        let small = self.fitted(found, &task, c, session)?;
        let seconds = clock.elapsed().as_secs_f64();
        if machine.calibration.is_some() {
            session.note(
                "the probabilities of the model belong to its own outputs and are left out; train with probabilities again to have them",
            );
        }
        if path.status == Status::Cancelled {
            session.note("interrupted; the machine of the work so far is kept");
        }
        if let Some(note) = &path.note {
            session.note(note);
        }
        let capped = self.vectors.is_some_and(|wanted| wanted > self.most(&machine, scaled.as_ref().map(|points| points.len())));
        if capped {
            session.note(format!(
                "there are fewer vectors than {}; the machine has {}",
                count(self.vectors.unwrap_or(0)),
                count(small.vectors())
            ));
        }
        let mut answer = self.measure(&machine, &small, &rows, seconds)?;
        (answer.capped, answer.status) = (capped, path.status);
        if self.path {
            answer.path = Some(self.levels(&path, &task, &rows, c, session)?);
        }
        let small = stand_in.map_or(Ok(small.clone()), |stand_in| stand_in.back(&small))?;
        model::save(&small, &self.output)?;
        session.answer(&answer)
    }

    /// The rows for the machine that stands in for one with a precomputed kernel; what makes new vectors is refused.
    pub(crate) fn standing_in(&self, stand_in: &StandIn, rows: &Rows) -> Result<Rows> {
        if self.method.makes_vectors() || self.settings.refinement().is_some() || self.from_data {
            return Err(Failure::usage(
                "a precomputed kernel knows its values with the training rows alone: choose among the model's vectors with pursuit, l1, l0 or independent",
            ));
        }
        let translated = |rows: &Option<Dataset>| rows.as_ref().map(|rows| stand_in.rows(rows)).transpose();
        Ok(Rows { data: translated(&rows.data)?, test: translated(&rows.test)? })
    }

    pub(crate) fn check_flags(&self) -> Result<()> {
        if let Some(fraction) = self.fraction.filter(|f| !(*f > 0.0 && *f <= 1.0)) {
            return Err(Failure::usage(format!("--fraction is {fraction}, but must be above 0 and at most 1")));
        }
        let unlimited = self.vectors.is_none() && self.fraction.is_none() && self.max_residual.is_none();
        if unlimited && !(self.method.ends_by_itself)(&self.settings) {
            return Err(Failure::usage("say how small: --vectors, --fraction or --max-residual"));
        }
        let refinement = self.settings.refinement().unwrap_or_default();
        refinement.check()?;
        if refinement.objective != Objective::Weights && self.data.is_none() {
            return Err(Failure::usage("--refine=outputs and --refine=margins need rows; give them with --data"));
        }
        if self.threshold == Some(ThresholdFlag::TrainError) && self.data.is_none() {
            return Err(Failure::usage("--threshold train-error needs rows; give them with --data"));
        }
        match (self.refit, &self.data) {
            (Some(how @ (Refit::Margin | Refit::Rsvm | Refit::Outputs)), None) => {
                Err(Failure::usage(format!("--refit {} needs rows; give them with --data", how.name())))
            }
            _ => Ok(()),
        }
    }

    /// The machine with all vectors moved together, where that is asked for and not what the method did.
    fn refined(&self, machine: Machine, task: &Task, session: &Session) -> Result<Machine> {
        match self.settings.refinement() {
            Some(how) if self.method.name != "refine" => Ok(refine(&machine, &how, task, &session.watch())?.machine),
            _ => Ok(machine),
        }
    }

    /// The machine found, with all that is asked to be done with it afterwards.
    fn fitted(&self, found: Machine, task: &Task, c: Option<f64>, session: &Session) -> Result<Machine> {
        let moved = self.refined(found, task, session)?;
        let small = refit(&moved, self.refit.unwrap_or(Refit::None), task, c, &session.watch())?;
        match self.threshold {
            Some(ThresholdFlag::TrainError) => Ok(least_error_offsets(&small, task)?),
            Some(ThresholdFlag::Keep) | None => Ok(small),
        }
    }

    /// The most vectors that can be chosen.
    fn most(&self, machine: &Machine, candidates: Option<usize>) -> usize {
        candidates.unwrap_or_else(|| machine.vectors())
    }

    pub(crate) fn budget(&self, machine: &Machine) -> Result<Budget> {
        let of_fraction = self.fraction.map(|f| ((f * machine.vectors() as f64).round() as usize).max(1));
        let max_vectors = self.vectors.into_iter().chain(of_fraction).min().unwrap_or(usize::MAX);
        let budget = Budget { max_vectors, max_residual: self.max_residual.unwrap_or(0.0), ..Budget::default() };
        budget.check().map_err(|error| Failure::usage(error.to_string()))?;
        Ok(budget)
    }

    fn rows(&self, machine: &Machine, session: &Session) -> Result<Rows> {
        let wanted = input::target_of(machine);
        let read = |path: &Option<String>| path.as_ref().map(|path| self.input.rows_for(machine, path, wanted, session)).transpose();
        Ok(Rows { data: read(&self.data)?, test: read(&self.test)? })
    }

    /// Rows that searches begin at, in the space of the machine's vectors.
    fn start_points(&self, machine: &Machine, session: &Session) -> Result<Option<kernelet::data::Points>> {
        let Some(path) = &self.settings.starts_from else { return Ok(None) };
        let rows = self.input.rows_for(machine, path, input::target_of(machine), session)?;
        Ok(Task { machine, data: Some(&rows), candidates: None }.scaled_rows()?)
    }

    pub(crate) fn candidates(&self, machine: &Machine, rows: &Rows) -> Result<Option<kernelet::data::Points>> {
        match self.from_data {
            true => Ok(Task { machine, data: rows.data.as_ref(), candidates: None }.scaled_rows()?),
            false => Ok(None),
        }
    }

    /// The cost for refits that need one: given, of the model, or the largest coefficient of a LIBSVM model, which does not store it.
    fn cost(&self, machine: &Machine, kind: Kind, session: &Session) -> Result<Option<f64>> {
        let needed = matches!(self.refit, Some(Refit::Margin | Refit::Rsvm));
        if !needed || self.c.is_some() || machine.facts.c.is_some() || kind != Kind::Libsvm {
            return Ok(self.c);
        }
        let largest = machine.expansion.coefficients.stored().values().iter().fold(0.0, |a: f64, b| a.max(b.abs()));
        session.note(format!("LIBSVM models do not store C; taken as {}, the largest coefficient", figure(largest)));
        Ok(Some(largest))
    }

    fn measure(&self, machine: &Machine, small: &Machine, rows: &Rows, seconds: f64) -> Result<Compressed> {
        let before: f64 = squared_norm(&machine.expansion)?.iter().sum();
        let residual = residual(&machine.expansion, &small.expansion)?;
        let compared = rows.test.as_ref().or(rows.data.as_ref());
        Ok(Compressed {
            method: self.method.name,
            vectors_before: machine.vectors(),
            vectors: small.vectors(),
            residual,
            relative_residual: residual / before,
            agreement: compared.map_or(Ok(None), |data| agreeing(machine, small, data))?,
            train_error: error_on(small, rows.data.as_ref())?,
            test_error: error_on(small, rows.test.as_ref())?,
            test_error_before: error_on(machine, rows.test.as_ref())?,
            seconds,
            status: Status::Converged,
            capped: false,
            path: None,
            model: self.output.display().to_string(),
            classes: !machine.decision.labels().is_empty(),
        })
    }

    fn levels(&self, path: &Path, task: &Task, rows: &Rows, c: Option<f64>, session: &Session) -> Result<Vec<Shown>> {
        let mut shown = vec![];
        let moved = self.settings.refinement().is_some() && self.method.name != "refine";
        let last = path.len().saturating_sub(1);
        for (i, Level { vectors, residual: known, .. }) in path.levels().into_iter().enumerate() {
            // Moving all vectors is too dear for every size; each of those shown has twice the vectors of the one before.
            if moved && !(i + 1).is_power_of_two() && i != last {
                continue;
            }
            let Some(found) = path.machine(i) else { break };
            let small = self.fitted(found, task, c, session)?;
            let residual = match self.refit {
                None | Some(Refit::None) if !moved => known,
                _ => residual(&task.machine.expansion, &small.expansion)?,
            };
            let (train_error, test_error) = (error_on(&small, rows.data.as_ref())?, error_on(&small, rows.test.as_ref())?);
            shown.push(Shown { vectors, residual, train_error, test_error });
            session.check_cancelled()?;
        }
        Ok(shown)
    }
}

pub(crate) fn agreeing(machine: &Machine, small: &Machine, data: &Dataset) -> Result<Option<f64>> {
    Ok(agreement(&machine.predict(&data.points)?, &small.predict(&data.points)?))
}

/// The error on rows that have targets.
pub(crate) fn error_on(machine: &Machine, data: Option<&Dataset>) -> Result<Option<f64>> {
    match data.filter(|data| data.target != kernelet::data::Target::None && input::target_of(machine) != Wanted::Nothing) {
        None => Ok(None),
        Some(data) => Ok(Some(machine.score(data)?.loss())),
    }
}

/// What came of it.
#[derive(Serialize)]
struct Compressed {
    method: &'static str,
    vectors_before: usize,
    vectors: usize,
    residual: f64,
    relative_residual: f64,
    agreement: Option<f64>,
    train_error: Option<f64>,
    test_error: Option<f64>,
    test_error_before: Option<f64>,
    seconds: f64,
    status: Status,
    capped: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<Vec<Shown>>,
    model: String,
    #[serde(skip)]
    classes: bool,
}

/// One size on the way.
#[derive(Serialize)]
struct Shown {
    vectors: usize,
    residual: f64,
    train_error: Option<f64>,
    test_error: Option<f64>,
}

impl Compressed {
    fn error(&self, error: f64) -> String {
        if self.classes { percent(error) } else { figure(error) }
    }

    fn path_text(&self) -> String {
        let Some(path) = &self.path else { return String::new() };
        let header: Vec<String> = ["vectors", "residual", "train error", "test error"].map(String::from).to_vec();
        let cell = |error: Option<f64>| error.map_or(String::new(), |error| self.error(error));
        let row = |level: &Shown| vec![count(level.vectors), figure(level.residual), cell(level.train_error), cell(level.test_error)];
        table(&header, &path.iter().map(row).collect::<Vec<_>>()) + "\n"
    }
}

impl Answer for Compressed {
    fn text(&self) -> String {
        let share = self.vectors as f64 / self.vectors_before.max(1) as f64;
        let mut pairs = vec![
            ("method", self.method.to_string()),
            ("vectors", format!("{} of {} ({})", count(self.vectors), count(self.vectors_before), percent(share))),
            ("residual", format!("{} of the start", figure(self.relative_residual))),
        ];
        let errors = [("train error", self.train_error), ("test error", self.test_error), ("test error before", self.test_error_before)];
        pairs.extend(self.agreement.map(|agreement| ("agreement", percent(agreement))));
        pairs.extend(errors.iter().filter_map(|(name, error)| error.map(|error| (*name, self.error(error)))));
        pairs.push(("time", seconds(self.seconds)));
        pairs.push(("model", self.model.clone()));
        self.path_text() + &lines(&pairs)
    }
}
