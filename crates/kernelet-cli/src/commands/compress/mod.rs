//! `kernelet compress`: a machine with fewer vectors.
pub(crate) mod answer;
mod auto;
mod named;

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use kernelet::{
    compress::{Effort, Goals, Metric, Refit, Task, construct::Objective},
    data::Dataset,
    kernel::Kernel,
    machine::Machine,
    model::Kind,
};

use crate::{
    failure::{Failure, Result},
    files,
    input::{self, Input},
    layout::figure,
    session::Session,
    sparsifiers::{self, Chosen, METHODS, Method, Settings},
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
    /// Rows the model was trained on, or like them: some to work with, some to judge by. Labels are only compared with, unless --labels is given.
    #[arg(long, value_name = "DATA")]
    pub data: Option<String>,
    /// Rows to measure on, which nothing is chosen by.
    #[arg(long, value_name = "DATA")]
    pub test: Option<String>,
    /// How vectors are found: auto tries several ways and keeps the best; pursuit chooses vectors, fixed-point, gradient and refine make new ones.
    #[arg(long, value_name = "NAME", default_value = "auto", value_parser = sparsifiers::by_name())]
    pub method: Chosen,
    /// How long auto may try: quick, normal or thorough.
    #[arg(long, value_name = "HOW", default_value = "normal", value_parser = effort_named)]
    pub effort: Effort,
    /// Learn from the labels of --data too, not from the model's predictions alone (auto).
    #[arg(long, requires = "data")]
    pub labels: bool,
    /// Outputs of a one-vs-one model: shared makes one for each class where that is better, pairs keeps them, libsvm gives each vector to one class.
    #[arg(long, value_name = "FOR", value_enum, default_value = "shared")]
    pub layout: LayoutFlag,
    /// How small and how good.
    #[command(flatten)]
    pub goals: GoalFlags,
    /// Choose vectors among the rows of --data instead of the model's own.
    #[arg(long, requires = "data")]
    pub from_data: bool,
    /// Coefficients of the vectors found: projection, outputs, margin, rsvm or none [default: those of the method].
    #[arg(long, value_name = "HOW", value_parser = refit_named)]
    pub refit: Option<Refit>,
    /// Cost C of --refit margin and rsvm, and of auto [default: what the model was trained with].
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

/// How small, and how good.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Goals")]
pub struct GoalFlags {
    /// The most vectors; with --outputs separate for each output.
    #[arg(long, value_name = "M")]
    pub vectors: Option<usize>,
    /// The most vectors as a part of those before, between 0 and 1.
    #[arg(long, value_name = "F", allow_negative_numbers = true)]
    pub fraction: Option<f64>,
    /// The most bytes of the model file.
    #[arg(long, value_name = "B")]
    pub max_bytes: Option<usize>,
    /// Enough: the squared distance of the weight vectors is at most this part of the start.
    #[arg(long, value_name = "R", allow_negative_numbers = true)]
    pub max_residual: Option<f64>,
    /// Enough: the metric on held-out rows of --data rises by no more than this, such as 0.005.
    #[arg(long, value_name = "L", allow_negative_numbers = true)]
    pub max_loss: Option<f64>,
    /// Enough: this part of the held-out rows of --data is predicted as before, such as 0.99.
    #[arg(long, value_name = "A", allow_negative_numbers = true)]
    pub min_agreement: Option<f64>,
    /// What is lost: error, balanced-error or mse [default: error for classes, mse for numbers].
    #[arg(long, value_name = "NAME", value_parser = metric_named)]
    pub metric: Option<Metric>,
}

impl GoalFlags {
    fn goals(&self) -> Goals {
        Goals {
            max_vectors: self.vectors,
            fraction: self.fraction,
            max_bytes: self.max_bytes,
            max_residual: self.max_residual,
            max_loss: self.max_loss,
            min_agreement: self.min_agreement,
        }
    }
}

/// Where the outputs are cut.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThresholdFlag {
    /// Where the model or the refit cuts them.
    Keep,
    /// Where the fewest rows of --data are wrong.
    TrainError,
}

/// What the small model is for.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum LayoutFlag {
    /// All outputs share all vectors, and votes of pairs may become one output for each class.
    Shared,
    /// All pairs of classes stay, and share all vectors.
    Pairs,
    /// Each vector belongs to one class, as LIBSVM's files want it.
    Libsvm,
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

fn refit_named(name: &str) -> std::result::Result<Refit, String> {
    let names: Vec<&str> = Refit::ALL.iter().map(|refit| refit.name()).collect();
    Refit::named(name).ok_or_else(|| format!("there are {}", names.join(", ")))
}

fn effort_named(name: &str) -> std::result::Result<Effort, String> {
    Effort::named(name).ok_or_else(|| format!("there are {}", Effort::ALL.map(Effort::name).join(", ")))
}

fn metric_named(name: &str) -> std::result::Result<Metric, String> {
    Metric::named(name).ok_or_else(|| format!("there are {}", Metric::ALL.map(Metric::name).join(", ")))
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
        self.method().make(&self.settings, session.seed)?;
        self.check_flags()?;
        let (machine, kind) = input::model(&self.model)?;
        self.settings.start_points = self.start_points(&machine, session)?;
        let rows = self.rows(&machine, session)?;
        match self.automatic_for(&machine) {
            true => self.run_auto(machine, kind, rows, session),
            false => self.run_named(machine, kind, rows, session),
        }
    }

    /// The method by name; where flags of methods go with `auto`, the first.
    pub(crate) fn method(&self) -> &'static Method {
        match self.method {
            Chosen::Named(method) => method,
            Chosen::Auto => &METHODS[0],
        }
    }

    /// True when nothing but a goal was said.
    pub(crate) fn automatic(&self) -> bool {
        let plain = self.settings.given().is_empty() && self.settings.refinement().is_none();
        let own = self.refit.is_some() || self.threshold.is_some() || self.from_data || self.layout == LayoutFlag::Libsvm;
        matches!(self.method, Chosen::Auto) && plain && !own
    }

    pub(crate) fn check_flags(&self) -> Result<()> {
        let goals = self.goals.goals();
        goals.check().map_err(|error| Failure::usage(error.to_string()))?;
        if !self.automatic() && !goals.about_size() && !goals.about_quality() && !(self.method().ends_by_itself)(&self.settings) {
            return Err(Failure::usage("say how small: --vectors, --fraction, --max-bytes, --max-residual, --max-loss or --min-agreement"));
        }
        if goals.needs_rows() && self.data.is_none() {
            return Err(Failure::usage("--max-loss and --min-agreement are measured on rows; give them with --data"));
        }
        let refinement = self.settings.refinement().unwrap_or_default();
        refinement.check()?;
        if refinement.objective != Objective::Weights && self.data.is_none() {
            return Err(Failure::usage("--refine=outputs and --refine=margins need rows; give them with --data"));
        }
        if self.threshold == Some(ThresholdFlag::TrainError) && self.data.is_none() {
            return Err(Failure::usage("--threshold train-error needs rows; give them with --data"));
        }
        if self.labels && !self.automatic() {
            return Err(Failure::usage(
                "--labels goes with --method auto; to learn from labels on vectors of a method, use --refit margin",
            ));
        }
        if self.layout == LayoutFlag::Libsvm && !matches!(self.refit, None | Some(Refit::Projection)) {
            return Err(Failure::usage("--layout libsvm projects each pair of classes on its own vectors; leave --refit out"));
        }
        match (self.refit, &self.data) {
            (Some(how @ (Refit::Margin | Refit::Rsvm | Refit::Outputs)), None) => {
                Err(Failure::usage(format!("--refit {} needs rows; give them with --data", how.name())))
            }
            _ => Ok(()),
        }
    }

    /// The same for a machine; vectors of a precomputed kernel can only be chosen.
    pub(crate) fn automatic_for(&self, machine: &Machine) -> bool {
        self.automatic() && !matches!(machine.expansion.kernel, Kernel::Precomputed(_))
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

    /// The cost where one is needed: given, of the model, or the largest coefficient of a LIBSVM model, which does not store it.
    fn cost(&self, machine: &Machine, kind: Kind, session: &Session) -> Option<f64> {
        if self.c.is_some() || machine.metadata.c.is_some() || kind != Kind::Libsvm {
            return self.c;
        }
        let largest = largest_coefficient(machine);
        session.note(format!("LIBSVM models do not store C; taken as {}, the largest coefficient", figure(largest)));
        Some(largest)
    }
}

/// The largest coefficient of any vector: what C was at least.
pub(crate) fn largest_coefficient(machine: &Machine) -> f64 {
    machine.expansion.coefficients.stored().values().iter().fold(0.0, |a: f64, b| a.max(b.abs()))
}
