//! `kernelet predict`: one line for each row.
use std::{io, time::Instant};

use clap::{Args, ValueEnum};
use kernelet::{
    Error,
    data::{Label, Points},
    linalg::Matrix,
    machine::{Decision, Machine, Pairwise, Prediction, Predictor, cascade::Cascade},
    model::write_atomically,
};
use serde_json::{Value, json};

use crate::{
    failure::{Failure, Result},
    files,
    input::{self, Input, Loaded},
    layout::{counted, exact, plain},
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
    /// Precision of the arithmetic; f32 is about twice as fast with the gaussian kernel.
    #[arg(long, value_name = "P", value_enum, default_value_t = Precision::F64)]
    pub precision: Precision,
    /// Flags of the reader.
    #[command(flatten)]
    pub input: Input,
}

const EXAMPLES: &str = "\
Examples:
  kernelet predict digits.model digits-test.svm
  kernelet predict digits.model digits-test.svm --values decision -o decisions.csv
  cat rows.csv | kernelet predict iris.model - --format csv

Labels and single numbers are written bare, a line for each row: control characters in a label as \\n or \\u{1b}. Other values are separated by commas, under a header line.";

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
    Distribution,
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
        let (model, _) = input::loaded(&self.model)?;
        let form = Form::of_model(&model, self.values)?;
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
        let predictor = match self.precision {
            Precision::F64 => Predictor::new(machine),
            Precision::F32 => Predictor::single(machine),
        };
        let watch = session.watch();
        let mut blocks = self.input.blocks_for(machine, &self.data)?;
        let (mut done, mut next) = (Done::default(), blocks.next(session)?);
        while let Some(data) = next {
            let clock = Instant::now();
            let (following, outputs) = rayon::join(
                || blocks.next(session),
                || match model {
                    Loaded::Machine(machine) => self.values.of(machine, &predictor, &data.points),
                    Loaded::Cascade(cascade) => answers_of(cascade, &data.points),
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

impl Values {
    /// What is written for some rows, as numbers; labels are still outputs.
    fn of(self, machine: &Machine, predictor: &Predictor, points: &Points) -> Result<Matrix> {
        let outputs = predictor.outputs(points)?;
        let ratio = machine.decision == Decision::Ratio;
        let joined = |width: usize, row: &dyn Fn(usize) -> Vec<f64>| {
            let values = (0..outputs.rows()).flat_map(row).collect();
            Matrix::new(values, outputs.rows(), width).unwrap_or_default()
        };
        Ok(match self {
            Values::Probability => machine.probabilities(&outputs)?,
            Values::Distribution => {
                let spread = machine.deviations(points)?;
                joined(2 * outputs.cols(), &|i| outputs.row(i).iter().zip(spread.row(i)).flat_map(|(&f, &d)| [f, d]).collect())
            }
            Values::Labels if ratio => joined(outputs.cols() - 1, &|i| machine.decision.numbers(outputs.row(i))),
            _ => outputs,
        })
    }
}

/// The places of the labels that a cascade answers, in one column.
fn answers_of(cascade: &Cascade, points: &Points) -> Result<Matrix> {
    let codes = match cascade.predict(points)?.prediction {
        Prediction::Classes { codes, .. } => codes,
        Prediction::Values(_) => vec![],
    };
    Ok(Matrix::column(codes.into_iter().map(f64::from).collect()))
}

/// How one row of outputs becomes a line.
enum Form<'a> {
    /// A bare label.
    Label(&'a Decision),
    /// A bare label by its place among these.
    Place(Vec<String>),
    /// A bare number.
    Number,
    /// The numbers under these names.
    Outputs(Vec<String>),
}

impl<'a> Form<'a> {
    fn of_model(model: &'a Loaded, values: Values) -> Result<Self> {
        match model {
            Loaded::Machine(machine) => Form::of(machine, values),
            Loaded::Cascade(cascade) if values == Values::Labels => {
                Ok(Form::Place(cascade.labels().iter().map(Label::to_string).collect()))
            }
            Loaded::Cascade(_) => {
                Err(Failure::usage("a cascade answers labels alone, because each row is answered by another machine; use --values labels"))
            }
        }
    }

    fn of(machine: &'a Machine, values: Values) -> Result<Self> {
        let outputs = machine.n_outputs();
        let numbers = |name: &str, count: usize| (1..=count).map(|k| format!("{name}{k}")).collect();
        match (values, &machine.decision) {
            (Values::Labels, Decision::Values) if outputs == 1 => Ok(Form::Number),
            (Values::Labels, Decision::Ratio) if outputs == 2 => Ok(Form::Number),
            (Values::Labels, Decision::Ratio) => Ok(Form::Outputs(numbers("value", outputs - 1))),
            (Values::Decision, Decision::Ratio) => {
                let sums: Vec<String> = numbers("sum", outputs - 1);
                Ok(Form::Outputs(sums.into_iter().chain(["weight".to_string()]).collect()))
            }
            (Values::Labels | Values::Decision, Decision::Values) => Ok(Form::Outputs(numbers("value", outputs))),
            (Values::Labels, Decision::Features) => Err(Failure::usage("the model makes features, not labels; use --values features")),
            (Values::Labels, decision) => Ok(Form::Label(decision)),
            (Values::Decision | Values::Features, Decision::Features) => Ok(Form::Outputs(numbers("feature", outputs))),
            (Values::Features, _) => Err(Failure::usage("the model makes no features; use --values labels or decision")),
            (Values::Decision, decision) => Ok(Form::Outputs(decision_names(decision))),
            (Values::Probability, decision) => {
                machine.check_probabilities()?;
                Ok(Form::Outputs(decision.labels().iter().map(Label::to_string).collect()))
            }
            (Values::Distribution, _) => {
                machine.deviations(&Matrix::<f64>::zeros(0, machine.dim()).into())?;
                Ok(Form::Outputs((1..=outputs).flat_map(|k| [format!("mean{k}"), format!("deviation{k}")]).collect()))
            }
        }
    }

    /// The names of the columns; none for bare labels and numbers.
    fn header(&self) -> Option<&[String]> {
        match self {
            Form::Label(_) | Form::Place(_) | Form::Number => None,
            Form::Outputs(names) => Some(names),
        }
    }

    fn header_line(&self) -> String {
        let line = |names: &[String]| names.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(",") + "\n";
        self.header().map_or(String::new(), line)
    }

    fn lines(&self, outputs: &Matrix) -> String {
        let labels: Vec<String> = self.labels().iter().map(|label| plain(label).into_owned()).collect();
        let mut text = String::new();
        for row in outputs.iter() {
            match self {
                Form::Label(decision) => text.push_str(&labels[decision.class(row)]),
                Form::Place(_) => text.push_str(&labels[row[0] as usize]),
                _ => text.push_str(&row.iter().copied().map(exact).collect::<Vec<_>>().join(",")),
            }
            text.push('\n');
        }
        text
    }

    fn json(&self, outputs: &Matrix) -> Vec<Value> {
        let labels = self.labels();
        let row = |row: &[f64]| match self {
            Form::Label(decision) => json!(labels[decision.class(row)]),
            Form::Place(_) => json!(labels[row[0] as usize]),
            Form::Number => json!(row[0]),
            _ => json!(row),
        };
        outputs.iter().map(row).collect()
    }

    fn labels(&self) -> Vec<String> {
        match self {
            Form::Label(decision) => decision.labels().iter().map(Label::to_string).collect(),
            Form::Place(labels) => labels.clone(),
            _ => vec![],
        }
    }
}

fn decision_names(decision: &Decision) -> Vec<String> {
    let labels: Vec<String> = decision.labels().iter().map(Label::to_string).collect();
    match decision {
        Decision::Votes { .. } => Pairwise::pairs(labels.len()).map(|(a, b)| format!("{}|{}", labels[a], labels[b])).collect(),
        Decision::Largest { .. } => labels,
        Decision::Codes { words, .. } => (1..=words.first().map_or(0, Vec::len)).map(|column| format!("code{column}")).collect(),
        _ => labels.into_iter().skip(1).collect(),
    }
}

/// A field of a header line, in quotes where it has to be.
fn quoted(field: &str) -> String {
    let field = plain(field);
    match field.contains([',', '"']) {
        true => format!("\"{}\"", field.replace('"', "\"\"")),
        false => field.into(),
    }
}
