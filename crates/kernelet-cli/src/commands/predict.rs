//! `kernelet predict`: one line for each row.
use std::time::Instant;

use clap::{Args, ValueEnum};
use kernelet::{
    data::{Label, Points, read::Wanted},
    linalg::Matrix,
    machine::{Calibration, Decision, Machine, Pairwise, Predictor},
    model::write_atomically,
};
use serde_json::{Value, json};

use crate::{
    failure::{Failure, Result},
    files,
    input::{self, Input},
    layout::{counted, exact},
    session::Session,
};

/// Rows predicted between two looks at Ctrl-C.
const BLOCK: usize = 8192;

/// Flags of `predict`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Predict {
    /// The model: native or LIBSVM text.
    pub model: String,
    /// The rows; - is standard input. A target that is there is left out.
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

Labels and single numbers are written bare; other values are separated by commas, under a header line.";

/// What is written for each row.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// The label; for regression the number.
    Labels,
    /// The outputs of the machine: for two classes that of the second label, for one-vs-one a column a|b for each pair, for codes one for each.
    Decision,
    /// The probability of each class, where the model can tell.
    Probability,
    /// The features that a kernel PCA model makes.
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

impl Predict {
    /// Predicts, then writes everything at once.
    pub fn run(self, session: &Session) -> Result<()> {
        let output = self.output.as_deref().filter(|output| *output != "-");
        if let Some(output) = output {
            files::check_output(output.as_ref(), &[&self.model, &self.data])?;
        }
        let (machine, _) = input::model(&self.model)?;
        let form = Form::of(&machine, self.values)?;
        let data = self.input.rows_for(&machine, &self.data, Wanted::Nothing, session)?;
        let clock = Instant::now();
        let outputs = outputs(&machine, self.precision, &data.points, session)?;
        let seconds = clock.elapsed().as_secs_f64();
        session.detail(format!("{} predicted in {seconds:.3} s", counted(data.len(), "row")));
        if let Some(output) = output {
            write_atomically(output, |writer| writer.write_all(form.text(&outputs).as_bytes()))?;
        }
        match (output, session.json()) {
            (Some(output), false) => {
                session.note(format!("{} written to {output}", counted(data.len(), "prediction")));
                Ok(())
            }
            (None, false) => session.print(&form.text(&outputs)),
            (_, true) => {
                let predictions = if output.is_none() { form.json(&outputs) } else { Value::Null };
                let name = self.values.to_possible_value().map(|value| value.get_name().to_string());
                let answer = json!({
                    "rows": data.len(), "values": name, "columns": form.header(), "predictions": predictions,
                    "output": output, "seconds": seconds,
                });
                session.print(&format!("{answer}\n"))
            }
        }
    }
}

/// The outputs for all rows, a block at a time so that Ctrl-C is heard.
fn outputs(machine: &Machine, precision: Precision, points: &Points, session: &Session) -> Result<Matrix> {
    let predictor = match precision {
        Precision::F64 => Predictor::new(machine),
        Precision::F32 => Predictor::single(machine),
    };
    let (watch, n) = (session.watch(), points.len());
    let mut all = Matrix::zeros(n, machine.outputs());
    for first in (0..n).step_by(BLOCK) {
        let rows: Vec<usize> = (first..n.min(first + BLOCK)).collect();
        let block = predictor.outputs(&points.select(&rows))?;
        rows.iter().for_each(|&i| all.row_mut(i).copy_from_slice(block.row(i - first)));
        watch.report("predicting", rows.len() as u64 + first as u64, Some(n as u64), None);
        session.check_cancelled()?;
    }
    Ok(all)
}

/// How one row of outputs becomes a line.
enum Form<'a> {
    /// A bare label.
    Label(&'a Decision),
    /// A bare number.
    Number,
    /// The outputs under these names.
    Outputs(Vec<String>),
    /// The probabilities of two classes under these names, P(second) = 1 / (1 + exp(a f + b)).
    Probabilities { names: Vec<String>, a: f64, b: f64 },
}

impl<'a> Form<'a> {
    fn of(machine: &'a Machine, values: Values) -> Result<Self> {
        let numbers = |name: &str| (1..=machine.outputs()).map(|k| format!("{name}{k}")).collect();
        match (values, &machine.decision) {
            (Values::Labels, Decision::Values) if machine.outputs() == 1 => Ok(Form::Number),
            (Values::Labels | Values::Decision, Decision::Values) => Ok(Form::Outputs(numbers("value"))),
            (Values::Labels, Decision::Features) => Err(Failure::usage("the model makes features, not labels; use --values features")),
            (Values::Labels, decision) => Ok(Form::Label(decision)),
            (Values::Decision | Values::Features, Decision::Features) => Ok(Form::Outputs(numbers("feature"))),
            (Values::Features, _) => Err(Failure::usage("the model makes no features; use --values labels or decision")),
            (Values::Decision, decision) => Ok(Form::Outputs(decision_names(decision))),
            (Values::Probability, _) => probabilities(machine),
        }
    }

    /// The names of the columns; none for bare labels and numbers.
    fn header(&self) -> Option<&[String]> {
        match self {
            Form::Label(_) | Form::Number => None,
            Form::Outputs(names) | Form::Probabilities { names, .. } => Some(names),
        }
    }

    fn numbers(&self, outputs: &[f64]) -> Vec<f64> {
        match self {
            Form::Probabilities { a, b, .. } => {
                let argument = a * outputs[0] + b;
                vec![1.0 / (1.0 + (-argument).exp()), 1.0 / (1.0 + argument.exp())]
            }
            _ => outputs.to_vec(),
        }
    }

    fn text(&self, outputs: &Matrix) -> String {
        let mut text = String::new();
        if let Some(names) = self.header() {
            text.push_str(&names.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(","));
            text.push('\n');
        }
        let labels = self.labels();
        for row in outputs.iter() {
            match self {
                Form::Label(decision) => text.push_str(&labels[decision.class(row)]),
                _ => text.push_str(&self.numbers(row).into_iter().map(exact).collect::<Vec<_>>().join(",")),
            }
            text.push('\n');
        }
        text
    }

    fn json(&self, outputs: &Matrix) -> Value {
        let labels = self.labels();
        let row = |row: &[f64]| match self {
            Form::Label(decision) => json!(labels[decision.class(row)]),
            Form::Number => json!(row[0]),
            _ => json!(self.numbers(row)),
        };
        outputs.iter().map(row).collect()
    }

    fn labels(&self) -> Vec<String> {
        match self {
            Form::Label(decision) => decision.labels().iter().map(Label::to_string).collect(),
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

fn probabilities(machine: &Machine) -> Result<Form<'static>> {
    let names = machine.decision.labels().iter().map(Label::to_string).collect();
    match (&machine.decision, &machine.calibration) {
        (Decision::Values | Decision::Features, _) => Err(Failure::usage("the model predicts no classes, so there are no probabilities")),
        (_, None) => Err(Failure::usage("the model was trained without probabilities; use --values labels or decision")),
        (Decision::Sign { .. }, Some(Calibration::Sigmoid { a, b })) if !a.is_empty() && !b.is_empty() => {
            Ok(Form::Probabilities { names, a: a[0], b: b[0] })
        }
        _ => Err(Failure::usage("probabilities are there only for two classes yet; use --values labels or decision")),
    }
}

/// A field of a header line, in quotes where it has to be.
fn quoted(field: &str) -> String {
    match field.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", field.replace('"', "\"\"")),
        false => field.into(),
    }
}
