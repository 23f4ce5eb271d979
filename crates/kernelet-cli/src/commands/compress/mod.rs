//! `kernelet compress`: a machine with fewer vectors.
mod answer;

use std::{path::PathBuf, time::Instant};

use clap::Args;
use kernelet::{
    compress::{Comparison, Task},
    data::{Dataset, Points},
    machine::Machine,
    model,
};

use answer::Answered;

use crate::{
    failure::Result,
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
    /// Rows the model was trained on, or like them: some to work with, some for validation. Labels are only compared with, unless --labels is given.
    #[arg(long, value_name = "DATA")]
    pub data: Option<String>,
    /// Rows to measure on, which nothing is chosen by.
    #[arg(long, value_name = "DATA")]
    pub test: Option<String>,
    /// Calibrate prediction sets of the small model on these rows, which neither model must have been made from.
    #[arg(long, value_name = "DATA")]
    pub calibrate: Option<String>,
    /// Searches begin at rows of this file, each drawn at random or taken for explaining most (fixed-point, gradient).
    #[arg(long, value_name = "FILE", alias = "starts-from", help_heading = "Method")]
    pub init_data: Option<String>,
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
Without a goal the knee of the curve is taken: the size beyond which more vectors gain little.";

impl Compress {
    /// Compresses, measures and writes the small model.
    pub fn run(mut self, session: &Session) -> Result<()> {
        let inputs = [Some(&self.model), self.data.as_ref(), self.test.as_ref(), self.calibrate.as_ref(), self.init_data.as_ref()];
        files::check_output(&self.output, &inputs.into_iter().flatten().map(String::as_str).collect::<Vec<_>>())?;
        self.request.0.seed = session.seed;
        let request = &self.request.0;
        request.check(self.data.is_some(), self.init_data.is_some())?;
        let (machine, _) = input::model(&self.model)?;
        let (data, test) = (self.rows(&self.data, &machine, session)?, self.rows(&self.test, &machine, session)?);
        let (start, calibrate) = (self.start_points(&machine, session)?, self.rows(&self.calibrate, &machine, session)?);
        calibrate.as_ref().map_or(Ok(()), |rows| request.check_calibration_rows(rows, data.as_ref()))?;
        let clock = Instant::now();
        let mut small = request.run(&machine, data.as_ref(), start.as_ref(), &session.watch())?;
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

    fn rows(&self, path: &Option<String>, machine: &Machine, session: &Session) -> Result<Option<Dataset>> {
        path.as_ref().map(|path| self.input.rows_for(machine, path, input::target_of(machine), session)).transpose()
    }

    /// Rows that searches begin at, in the space of the machine's vectors.
    fn start_points(&self, machine: &Machine, session: &Session) -> Result<Option<Points>> {
        let rows = self.rows(&self.init_data, machine, session)?;
        Ok(Task { machine, data: rows.as_ref(), candidates: None }.scaled_rows()?)
    }
}
