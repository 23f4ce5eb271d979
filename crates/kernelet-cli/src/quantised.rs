//! Which type the numbers of a C source have, and what their rounding costs on rows.
use std::borrow::Cow;

use kernelet::{
    Named,
    data::{Dataset, Points, Target},
    evaluate::{agreement, score},
    linalg::Matrix,
    machine::{
        Machine, Prediction, Predictor,
        cascade::{Cascade, CascadePredictor},
    },
    model::{
        Precision,
        fixed::{Fixed, FixedCascade, Width},
    },
};
use serde::Serialize;

use crate::{
    failure::{Failure, Result},
    layout::{counted, figure, percent},
};

/// The type of the numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbers {
    /// Floating point.
    Real(Precision),
    /// Whole numbers.
    Whole(Width),
}

/// From the smallest to the largest.
const ALL: [Numbers; 4] =
    [Numbers::Whole(Width::I8), Numbers::Whole(Width::I16), Numbers::Real(Precision::F32), Numbers::Real(Precision::F64)];

impl Numbers {
    /// The type with this name.
    pub fn named(name: &str) -> std::result::Result<Numbers, String> {
        match name {
            "float" => Ok(Numbers::Real(Precision::F32)),
            "double" => Ok(Numbers::Real(Precision::F64)),
            _ => {
                let found = ALL.into_iter().find(|numbers| numbers.name() == name);
                found.ok_or_else(|| "there are f64 (double) and f32 (float), and for c also i16 and i8".into())
            }
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Numbers::Real(Precision::F32) => "f32",
            Numbers::Real(Precision::F64) => "f64",
            Numbers::Whole(width) => width.name(),
        }
    }
}

/// What is exported.
#[derive(Clone, Copy)]
pub enum Source<'a> {
    /// One machine.
    Machine(&'a Machine),
    /// A cascade of them.
    Cascade(&'a Cascade),
}

/// The same in whole numbers.
pub enum Whole {
    /// One machine.
    Machine(Fixed),
    /// A cascade of them.
    Cascade(FixedCascade),
}

impl Source<'_> {
    fn whole(self, width: Width, rows: Option<&Points>) -> kernelet::Result<Whole> {
        match self {
            Source::Machine(machine) => Fixed::of(machine, width, rows).map(Whole::Machine),
            Source::Cascade(cascade) => FixedCascade::of(cascade, width, rows).map(Whole::Cascade),
        }
    }

    fn predict(self, precision: Precision, rows: &Points) -> kernelet::Result<Prediction> {
        let answers = |ready: CascadePredictor| ready.predict(rows).map(|answers| answers.prediction);
        match (self, precision) {
            (Source::Machine(machine), Precision::F32) => Predictor::single(machine).predict(rows),
            (Source::Machine(machine), Precision::F64) => machine.predict(rows),
            (Source::Cascade(cascade), Precision::F32) => answers(CascadePredictor::single(Cow::Borrowed(cascade))),
            (Source::Cascade(cascade), Precision::F64) => answers(cascade.ready()),
        }
    }
}

/// A machine or a cascade in a type, and the loss where it was measured.
pub struct Chosen {
    /// The type.
    pub numbers: Numbers,
    /// In whole numbers, where they are.
    pub whole: Option<Whole>,
    /// What the rounding costs.
    pub loss: Option<Loss>,
}

/// What the rounding costs on rows.
#[derive(Clone, Debug, Serialize)]
pub struct Loss {
    /// `error`, `mse`, or for features `relative-mse`: their squared change over their variance.
    metric: &'static str,
    rows: usize,
    /// The metric in double precision.
    before: f64,
    /// The metric in the type.
    after: f64,
    /// The rise of the metric.
    loss: f64,
    /// The fraction of rows that keep their label.
    agreement: Option<f64>,
}

impl Loss {
    fn of(source: Source, rounded: &Prediction, data: &Dataset) -> Result<Loss> {
        let exact = source.predict(Precision::F64, &data.points)?;
        let (metric, before, after) = match (&exact, rounded) {
            (Prediction::Values(exact), Prediction::Values(rounded)) if data.target == Target::None => {
                ("relative-mse", 0.0, change(exact, rounded))
            }
            _ => {
                let metric = if matches!(exact, Prediction::Values(_)) { "mse" } else { "error" };
                (metric, score(&exact, data)?.loss(), score(rounded, data)?.loss())
            }
        };
        Ok(Loss { metric, rows: data.len(), before, after, loss: after - before, agreement: agreement(&exact, rounded) })
    }

    /// A sentence for people.
    pub fn sentence(&self, numbers: Numbers) -> String {
        let rows = counted(self.rows, "row");
        let same = self.agreement.map_or(String::new(), |same| format!("; {} of the labels agree", percent(same)));
        match self.metric {
            "error" => format!(
                "{}: error {}, {} in f64, {:+.2} points, on {rows}{same}",
                numbers.name(),
                percent(self.after),
                percent(self.before),
                100.0 * self.loss
            ),
            metric => format!("{}: {metric} {}, {} in f64, on {rows}", numbers.name(), figure(self.after), figure(self.before)),
        }
    }
}

/// The squared change of features over their variance.
fn change(exact: &Matrix, rounded: &Matrix) -> f64 {
    let (mut squared, mut spread) = (0.0, 0.0);
    for k in 0..exact.cols() {
        let (want, have) = (exact.col(k), rounded.col(k));
        let mean = want.iter().sum::<f64>() / want.len().max(1) as f64;
        spread += want.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
        squared += want.iter().zip(&have).map(|(a, b)| (a - b).powi(2)).sum::<f64>();
    }
    if spread > 0.0 { squared / spread } else { squared }
}

/// A machine or a cascade in a type, measured where there are rows.
pub fn in_type(source: Source, numbers: Numbers, data: Option<&Dataset>) -> Result<Chosen> {
    let whole = match numbers {
        Numbers::Whole(width) => Some(source.whole(width, data.map(|data| &data.points))?),
        Numbers::Real(_) => None,
    };
    let Some(data) = data else { return Ok(Chosen { numbers, whole, loss: None }) };
    let rounded = match (&whole, numbers) {
        (Some(Whole::Machine(fixed)), _) => fixed.predict(&data.points)?,
        (Some(Whole::Cascade(fixed)), _) => fixed.predict(&data.points)?,
        (None, Numbers::Real(precision)) => source.predict(precision, &data.points)?,
        (None, Numbers::Whole(_)) => source.predict(Precision::F64, &data.points)?,
    };
    Ok(Chosen { numbers, whole, loss: Some(Loss::of(source, &rounded, data)?) })
}

/// The smallest type whose loss is at most `most`; types that have no place for the machine are passed over.
pub fn smallest(source: Source, most: f64, data: &Dataset) -> Result<Chosen> {
    if !(most >= 0.0 && most.is_finite()) {
        return Err(Failure::usage(format!("--max-loss is {most}, but must be a finite number of at least 0")));
    }
    for numbers in ALL {
        match in_type(source, numbers, Some(data)) {
            Ok(chosen) if chosen.loss.as_ref().is_some_and(|loss| loss.loss <= most) => return Ok(chosen),
            Err(failure) if numbers == Numbers::Real(Precision::F64) => return Err(failure),
            _ => {}
        }
    }
    in_type(source, Numbers::Real(Precision::F64), Some(data))
}
