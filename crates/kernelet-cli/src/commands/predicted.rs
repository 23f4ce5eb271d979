//! How predictions are written: labels, numbers, sets of labels, or columns under a header.
use kernelet::{
    data::Label,
    linalg::Matrix,
    machine::{Decision, Machine, Pairwise},
};
use serde_json::{Value, json};

use super::predict::Values;
use crate::{
    failure::{Failure, Result},
    input::Loaded,
    layout::{exact, plain},
};

/// How one row of outputs becomes a line.
pub(super) enum Form<'a> {
    /// A bare label.
    Label(&'a Decision),
    /// A bare label by its place among these.
    Place(Vec<String>),
    /// A bare number.
    Number,
    /// The numbers under these names.
    Outputs(Vec<String>),
    /// The labels of a set.
    Set(Vec<Label>),
}

impl<'a> Form<'a> {
    pub(super) fn of_model(model: &'a Loaded, values: Values) -> Result<Self> {
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
            (Values::Deviation, _) => {
                machine.deviations(&Matrix::<f64>::zeros(0, machine.dim()).into())?;
                Ok(Form::Outputs((1..=outputs).flat_map(|k| [format!("mean{k}"), format!("deviation{k}")]).collect()))
            }
            (Values::Set, decision) => Ok(match decision.labels() {
                labels if !labels.is_empty() => Form::Set(labels),
                _ if decision.numbers(&machine.offsets).len() == 1 => Form::Outputs(["lower", "upper"].map(String::from).to_vec()),
                _ => {
                    let count = decision.numbers(&machine.offsets).len();
                    Form::Outputs((1..=count).flat_map(|k| [format!("lower{k}"), format!("upper{k}")]).collect())
                }
            }),
        }
    }

    /// The names of the columns; none for bare labels and numbers.
    pub(super) fn header(&self) -> Option<&[String]> {
        match self {
            Form::Label(_) | Form::Place(_) | Form::Number | Form::Set(_) => None,
            Form::Outputs(names) => Some(names),
        }
    }

    pub(super) fn header_line(&self) -> String {
        let line = |names: &[String]| names.iter().map(|name| quoted(&plain(name), &[',', '"'])).collect::<Vec<_>>().join(",") + "\n";
        self.header().map_or(String::new(), line)
    }

    pub(super) fn lines(&self, outputs: &Matrix) -> String {
        let labels: Vec<String> = self.labels().iter().map(|label| plain(label).into_owned()).collect();
        let mut text = String::new();
        for row in outputs.iter() {
            match self {
                Form::Label(decision) => text.push_str(&labels[decision.class(row)]),
                Form::Place(_) => text.push_str(&labels[row[0] as usize]),
                Form::Set(_) => text.push_str(&members(row, &labels).map(|label| quoted(label, &[' ', '"'])).collect::<Vec<_>>().join(" ")),
                _ => text.push_str(&row.iter().copied().map(exact).collect::<Vec<_>>().join(",")),
            }
            text.push('\n');
        }
        text
    }

    pub(super) fn json(&self, outputs: &Matrix) -> Vec<Value> {
        let labels = self.labels();
        let row = |row: &[f64]| match self {
            Form::Label(decision) => json!(labels[decision.class(row)]),
            Form::Place(_) => json!(labels[row[0] as usize]),
            Form::Number => json!(row[0]),
            Form::Set(_) => json!(members(row, &labels).collect::<Vec<_>>()),
            _ => json!(row),
        };
        outputs.iter().map(row).collect()
    }

    fn labels(&self) -> Vec<String> {
        match self {
            Form::Label(decision) => decision.labels().iter().map(Label::to_string).collect(),
            Form::Place(labels) => labels.clone(),
            Form::Set(labels) => labels.iter().map(Label::to_string).collect(),
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

/// The labels that a set has.
fn members<'a>(row: &'a [f64], labels: &'a [String]) -> impl Iterator<Item = &'a str> {
    row.iter().zip(labels).filter(|(member, _)| **member == 1.0).map(|(_, label)| label.as_str())
}

/// A field, in quotes where it has one of these characters.
fn quoted(field: &str, special: &[char]) -> String {
    match field.contains(special) {
        true => format!("\"{}\"", field.replace('"', "\"\"")),
        false => field.into(),
    }
}
