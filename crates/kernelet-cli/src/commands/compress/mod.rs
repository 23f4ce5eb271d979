//! `kernelet compress`: a machine with fewer vectors.
mod answer;
pub mod cascade;

use std::{path::PathBuf, time::Instant};

use clap::Args;
use kernelet::{
    compress::{Comparison, Task},
    data::{Dataset, Points, Target, memory, read::Wanted},
    device::Device,
    evaluate::{agreement, score},
    machine::Machine,
    model,
    request::Cascaded,
};

use answer::Answered;
use cascade::Shown;

use crate::{
    failure::{Failure, Result},
    files,
    flags::CompressFlags,
    input::{self, Input},
    session::Session,
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
    /// Rows the model was trained on, or like them: some to work with, some for validation. Labels are only compared with, unless --labels or --cascade is given.
    #[arg(long, value_name = "DATA")]
    pub data: Option<String>,
    /// Rows to measure on, which nothing is chosen by.
    #[arg(long, value_name = "DATA")]
    pub test: Option<String>,
    /// Rows that neither model was made from: they calibrate --cascade, where labels are not needed, or the prediction sets of the small model.
    #[arg(long, value_name = "DATA")]
    pub calibrate: Option<String>,
    /// Searches begin at rows of this file, each drawn at random or taken for explaining most (fixed-point, gradient).
    #[arg(long, value_name = "FILE", alias = "starts-from", help_heading = "Method")]
    pub init_data: Option<String>,
    /// Megabytes for rows: of a file that is larger a random sample is taken as it is read [default: 2048].
    #[arg(long, value_name = "MB", value_parser = clap::value_parser!(u32).range(1..), help_heading = "Reading")]
    pub memory: Option<u32>,
    /// What is asked for.
    #[command(flatten)]
    pub request: CompressFlags,
    /// Flags of the reader.
    #[command(flatten)]
    pub input: Input,
}

const EXAMPLES: &str = "\
Examples:
  kernelet compress digits.model -o small.model --data digits.svm --max-loss 0.005
  kernelet compress digits.model -o small.model --vectors 100
  kernelet compress libsvm.model -o small.model --max-residual 0.1 --path
  kernelet compress digits.model -o small.model --vectors 50 --data digits.svm --refit margin --test digits-test.svm
  kernelet compress polynomial.model -o small.model --method independent
  kernelet compress digits.model -o small.model --method fixed-point --refine --vectors 25
  kernelet compress digits.model -o fast.model --cascade --max-disagreement 0.01 --data digits.svm --calibrate new.svm
Without a goal the knee of the curve is taken: the size beyond which more vectors gain little.";

impl Compress {
    /// Compresses, measures and writes the small model.
    pub fn run(mut self, session: &Session) -> Result<()> {
        let inputs = [Some(&self.model), self.data.as_ref(), self.test.as_ref(), self.calibrate.as_ref(), self.init_data.as_ref()];
        files::check_output(&self.output, &inputs.into_iter().flatten().map(String::as_str).collect::<Vec<_>>())?;
        self.request.0.seed = session.seed;
        let request = &self.request.0;
        if request.cascade.cascade {
            return self.run_cascade(session);
        }
        request.check(self.data.is_some(), self.init_data.is_some())?;
        let (machine, _) = input::model(&self.model)?;
        self.request.0.prefer_device(Device::chosen(None)?, &machine, self.data.is_some());
        let request = &self.request.0;
        let (data, test) = (self.rows(&self.data, &machine, session)?, self.rows(&self.test, &machine, session)?);
        let (start, calibrate) = (self.start_points(&machine, session)?, self.rows(&self.calibrate, &machine, session)?);
        calibrate.as_ref().map_or(Ok(()), |rows| request.check_calibration_rows(rows, data.as_ref()))?;
        let clock = Instant::now();
        let mut small = request.run(&machine, data.as_ref(), start.as_ref(), &session.watch_keeping(Some("the best machine so far")))?;
        if let Some(rows) = &calibrate {
            small.calibrate(rows)?;
        }
        let seconds = clock.elapsed().as_secs_f64();
        session.notes(&small.notes);
        for attempt in small.validation.iter().flat_map(|validation| &validation.tried).filter(|attempt| attempt.failed.is_some()) {
            session.detail(format!("{}: {}", attempt.strategy, attempt.failed.as_deref().unwrap_or_default()));
        }
        let comparison = Comparison::new(&machine, data.as_ref(), test.as_ref());
        let mut answer = Answered::new(&machine, &small, &comparison, &self.output)?;
        answer.seconds = seconds;
        if request.path {
            answer.path = Some(small.sizes.iter().map(|(_, machine)| comparison.metrics(machine)).collect::<kernelet::Result<_>>()?);
        }
        model::save(&small.machine, &self.output)?;
        session.answer_kept(&answer, small.status, format!("the best machine so far is kept in {}", self.output.display()))
    }

    /// Makes a cascade, measures it and writes it.
    fn run_cascade(&self, session: &Session) -> Result<()> {
        let request = &self.request.0;
        if self.init_data.is_some() {
            return Err(Failure::usage("--init-data is not used with --cascade"));
        }
        request.check_cascade(self.data.is_some(), self.calibrate.is_some())?;
        let (machine, _) = input::model(&self.model)?;
        let (data, test) = (self.rows(&self.data, &machine, session)?, self.rows(&self.test, &machine, session)?);
        let calibrate = self.calibrate.as_ref().map(|path| self.rows_as(&machine, path, Wanted::Nothing, session)).transpose()?;
        let (Some(data), Some(calibrate)) = (data, calibrate) else { return Err(Failure::usage("--cascade needs --data and --calibrate")) };
        let clock = Instant::now();
        let Cascaded { cascade, notes } = request.cascaded(&machine, &data, &calibrate.points, &session.watch())?;
        let seconds = clock.elapsed().as_secs_f64();
        session.notes(&notes);
        let mut shown = Shown::new(&cascade, &self.output)?;
        shown.seconds = Some(seconds);
        if let Some(test) = &test {
            let (answers, before) = (cascade.predict(&test.points)?, machine.predict(&test.points)?);
            // Of a cascade that abstains the promise is about the rows that it answers.
            let rows = answers.answered();
            let (test, after, before) = (test.select(&rows), answers.prediction.select(&rows), before.select(&rows));
            shown.agreement = agreement(&before, &after).filter(|_| !rows.is_empty());
            shown.test_unanswered = cascade.full.is_none().then(|| 1.0 - rows.len() as f64 / answers.stages.len().max(1) as f64);
            shown.test_cost = Some(answers.evaluations as f64 / (answers.stages.len() * machine.n_vectors()).max(1) as f64);
            if test.target != Target::None && !rows.is_empty() {
                shown.test_error = Some(score(&after, &test)?.loss());
                shown.test_error_before = Some(score(&before, &test)?.loss());
            }
        }
        model::cascade::save(&cascade, &self.output)?;
        session.answer(&shown)
    }

    fn rows(&self, path: &Option<String>, machine: &Machine, session: &Session) -> Result<Option<Dataset>> {
        path.as_ref().map(|path| self.rows_as(machine, path, input::target_of(machine), session)).transpose()
    }

    fn rows_as(&self, machine: &Machine, path: &str, wanted: Wanted, session: &Session) -> Result<Dataset> {
        let bytes = self.memory.map_or(memory::limit(), |megabytes| (megabytes as usize) << 20);
        self.input.rows_within(machine, path, wanted, bytes, session)
    }

    /// Rows that searches begin at, in the space of the machine's vectors.
    fn start_points(&self, machine: &Machine, session: &Session) -> Result<Option<Points>> {
        let rows = self.rows(&self.init_data, machine, session)?;
        Ok(Task { machine, data: rows.as_ref(), candidates: None }.scaled_rows()?)
    }
}
