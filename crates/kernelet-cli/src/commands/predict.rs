//! `kernelet predict`: one line for each row.
use std::{io, time::Instant};

use clap::{Args, ValueEnum};
use kernelet::{
    Error,
    data::{Points, read::Wanted},
    device::Device,
    linalg::Matrix,
    machine::{Decision, Machine, Prediction, PredictionSets, Predictor, cascade::CascadePredictor},
    model::write_atomically,
};
use serde_json::json;

use super::predicted::Form;
use crate::{
    failure::{Failure, Result},
    files,
    input::{self, Input, Loaded},
    layout::counted,
    session::Session,
};

/// Flags of `predict`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Predict {
    /// The model: native or LIBSVM text.
    pub model: String,
    /// The rows; - is standard input. A target column is ignored.
    pub data: String,
    /// Write here instead of to standard output.
    #[arg(short, long, value_name = "OUT")]
    pub output: Option<String>,
    /// What to write for each row.
    #[arg(long, value_name = "WHAT", value_enum, default_value_t = Values::Labels)]
    pub values: Values,
    /// With --values set: the probability with which a set contains the truth, above 0 and below 1 [default: 0.9].
    #[arg(long, value_name = "P")]
    pub confidence: Option<f64>,
    /// Precision of the arithmetic; f32 is about twice as fast with the gaussian kernel.
    #[arg(long, value_name = "P", value_enum, default_value_t = Precision::F64)]
    pub precision: Precision,
    /// Where: cpu, gpu or gpu:N, an NVIDIA card, in single precision [default: KERNELET_DEVICE, else cpu].
    #[arg(long, value_name = "DEVICE")]
    pub device: Option<String>,
    /// Flags of the reader.
    #[command(flatten)]
    pub input: Input,
}

const EXAMPLES: &str = "\
Examples:
  kernelet predict digits.model digits-test.svm
  kernelet predict digits.model digits-test.svm --values decision -o decisions.csv
  kernelet predict digits.model digits-test.svm --values set --confidence 0.95
  kernelet predict digits.model digits-test.svm --device gpu
  cat rows.csv | kernelet predict iris.model - --format csv

Labels and single numbers are written bare, a line for each row: control characters in a label as \\n or \\u{1b}. Other values are separated by commas, under a header line. \
The labels of a set are separated by spaces, in quotes where they contain any; an empty set is an empty line. Sets need a model that was trained with --calibrate.";

/// What is written for each row.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// The label; for regression the number.
    Labels,
    /// The outputs of the machine: for two classes that of the second label, for one-vs-one a column a|b for each pair, for codes one for each.
    Decision,
    /// The probability of each class, where the model is calibrated.
    Probability,
    /// The predicted number and its standard deviation, where the model has one.
    #[value(alias = "distribution")]
    Deviation,
    /// The labels, or the ends of an interval of numbers, that contain the truth with the probability --confidence.
    Set,
    /// The features that a kernel PCA model extracts.
    Features,
}

/// The precision of the arithmetic.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    /// Double precision.
    F64,
    /// Single precision, where the kernel allows it.
    F32,
}

/// What a run did.
#[derive(Default)]
struct Done {
    rows: usize,
    seconds: f64,
}

impl Predict {
    /// Reads, predicts and writes block by block, so that files larger than memory pass through; a file as output is there whole or not
    /// at all.
    pub fn run(self, session: &Session) -> Result<()> {
        let output = self.output.as_deref().filter(|output| *output != "-");
        if let Some(output) = output {
            files::check_output(output.as_ref(), &[&self.model, &self.data])?;
        }
        if self.confidence.is_some() && self.values != Values::Set {
            return Err(Failure::usage("--confidence is used only with --values set"));
        }
        let (model, _) = input::loaded(&self.model)?;
        let form = Form::of_model(&model, self.values)?;
        if let (Loaded::Machine(machine), Values::Set) = (&model, self.values) {
            machine.check_sets(self.confidence())?;
        }
        let mut predictions = vec![];
        let done = match output {
            Some(output) => self.to_file(output, &model, &form, session)?,
            None if session.json() => self.to_each(&model, session, &mut |block| {
                predictions.extend(form.json(block));
                Ok(())
            })?,
            None => {
                let mut header = form.header_line();
                self.to_each(&model, session, &mut |block| session.print(&(std::mem::take(&mut header) + &form.lines(block))))?
            }
        };
        let Done { rows, seconds } = done;
        session.detail(format!("{} predicted in {seconds:.3} s", counted(rows, "row")));
        match (output, session.json()) {
            (Some(output), false) => {
                session.note(format!("{} written to {output}", counted(rows, "prediction")));
                Ok(())
            }
            (None, false) => Ok(()),
            (_, true) => {
                let name = self.values.to_possible_value().map(|value| value.get_name().to_string());
                let answer = json!({
                    "rows": rows, "values": name, "columns": form.header(), "predictions": output.is_none().then_some(predictions),
                    "output": output, "seconds": seconds,
                });
                session.print_json(&answer)
            }
        }
    }

    fn to_file(&self, output: &str, model: &Loaded, form: &Form, session: &Session) -> Result<Done> {
        let mut outcome = Ok(Done::default());
        let written = write_atomically(output, |writer| {
            writer.write_all(form.header_line().as_bytes())?;
            outcome = self.to_each(model, session, &mut |block| {
                writer.write_all(form.lines(block).as_bytes()).map_err(|error| Error::io(output, error).into())
            });
            // The error itself stays in `outcome`; this one only keeps the file from being put in its place.
            outcome.as_ref().map(drop).map_err(|_| io::Error::other("the predictions are not complete"))
        });
        let done = outcome?;
        written?;
        Ok(done)
    }

    /// The outputs of each block of rows; the next block is read meanwhile.
    fn to_each(&self, model: &Loaded, session: &Session, take: &mut dyn FnMut(&Matrix) -> Result<()>) -> Result<Done> {
        let machine = model.first()?;
        let predictor = match (input::device_for(self.device.as_deref(), model)?, self.precision) {
            (Device::Cpu, Precision::F64) => Predictor::new(machine),
            (Device::Cpu, Precision::F32) => Predictor::single(machine),
            (device, _) => Predictor::on(machine, device)?,
        };
        let cascade = match model {
            Loaded::Cascade(cascade) => Some(cascade.ready()),
            Loaded::Machine(_) => None,
        };
        let watch = session.watch();
        let mut blocks = self.input.blocks_for(machine, &self.data, Wanted::Nothing)?;
        let (mut done, mut next) = (Done::default(), blocks.next(session)?);
        while let Some(data) = next {
            let clock = Instant::now();
            let (following, outputs) = rayon::join(
                || blocks.next(session),
                || match &cascade {
                    None => self.values_of(machine, &predictor, &data.points, done.rows),
                    Some(cascade) => answers_of(cascade, &data.points),
                },
            );
            done.seconds += clock.elapsed().as_secs_f64();
            take(&outputs?)?;
            done.rows += data.len();
            watch.report("rows predicted", done.rows as u64, None, None);
            if session.interrupted() {
                return Err(self.interrupted(done.rows, session));
            }
            next = following?;
        }
        Ok(done)
    }
}

impl Predict {
    /// What is there after an interruption: what was printed cannot be taken back, a file is not written.
    fn interrupted(&self, rows: usize, session: &Session) -> Failure {
        match self.output.as_deref().is_none_or(|output| output == "-") && !session.json() {
            true => Failure::Kept(format!("{} printed, and no more", counted(rows, "prediction"))),
            false => Failure::Cancelled,
        }
    }
}

impl Predict {
    fn confidence(&self) -> f64 {
        self.confidence.unwrap_or(0.9)
    }

    /// What is written for some rows, as numbers; labels are still outputs, and a set has a 1 for each label that is in it. `before` rows were written
    /// earlier.
    fn values_of(&self, machine: &Machine, predictor: &Predictor, points: &Points, before: usize) -> Result<Matrix> {
        // Rows are counted from the first of the file, not of the block.
        let outputs = predictor.outputs(points).map_err(|error| match error {
            Error::NotFinite { what, row, column, value } => Error::NotFinite { what, row: before + row, column, value },
            other => other,
        })?;
        let ratio = machine.decision == Decision::Ratio;
        Ok(match self.values {
            Values::Probability => machine.probabilities(&outputs)?,
            Values::Deviation => paired(&outputs, &machine.deviations(points)?),
            Values::Set => match machine.prediction_sets(&outputs, points, self.confidence())? {
                PredictionSets::Intervals { lower, upper } => paired(&lower, &upper),
                PredictionSets::Classes { labels, members } => {
                    Matrix::from_fn(outputs.rows(), labels.len(), |i, c| f64::from(u8::from(members[i][c])))
                }
            },
            Values::Labels if ratio => {
                let numbers = outputs.iter().flat_map(|row| machine.decision.numbers(row)).collect();
                Matrix::new(numbers, outputs.rows(), outputs.cols() - 1).unwrap_or_default()
            }
            _ => outputs,
        })
    }
}

/// The places of the labels that a cascade answers, in one column.
fn answers_of(cascade: &CascadePredictor, points: &Points) -> Result<Matrix> {
    let codes = match cascade.predict(points)?.prediction {
        Prediction::Classes { codes, .. } => codes,
        Prediction::Values(_) => vec![],
    };
    Ok(Matrix::column(codes.into_iter().map(f64::from).collect()))
}

/// The columns of two matrices of the same size, in turns.
fn paired(first: &Matrix, second: &Matrix) -> Matrix {
    Matrix::from_fn(first.rows(), 2 * first.cols(), |i, k| if k % 2 == 0 { first.at(i, k / 2) } else { second.at(i, k / 2) })
}
