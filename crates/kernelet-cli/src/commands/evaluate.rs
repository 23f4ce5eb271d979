//! `kernelet evaluate`: predictions against the truth.
use std::time::Instant;

use clap::Args;
use kernelet::{
    data::{Dataset, Label, read::Wanted},
    evaluate::{Confusion, Reconstruction, Scores, agreement, reconstruction, score},
    machine::{Machine, Predictor, cascade::Answers},
};
use serde::Serialize;

use super::uncertainty::Uncertainty;
use crate::{
    failure::{Failure, Result},
    input::{self, Input, Loaded},
    layout::{count, figure, lines, percent, seconds, table},
    session::{Answer, Session},
};

/// Flags of `evaluate`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Evaluate {
    /// The model: native or LIBSVM text.
    pub model: String,
    /// Rows with their targets; - is standard input.
    pub data: String,
    /// Another model: also report the fraction of rows for which both predict the same label.
    #[arg(long, value_name = "MODEL")]
    pub against: Option<String>,
    /// Also how often prediction sets of this confidence contain the truth, and how large they are.
    #[arg(long, value_name = "P")]
    pub confidence: Option<f64>,
    /// Where predictions are computed: cpu, gpu or gpu:N, an NVIDIA card, in single precision [default: KERNELET_DEVICE, else cpu].
    #[arg(long, value_name = "DEVICE")]
    pub device: Option<String>,
    /// Flags of the reader.
    #[command(flatten)]
    pub input: Input,
}

const EXAMPLES: &str = "\
Examples:
  kernelet evaluate digits.model digits-test.svm
  kernelet evaluate small.model digits-test.svm --against digits.model
  kernelet evaluate digits.model digits-test.svm --confidence 0.95";

impl Evaluate {
    /// Predicts and compares.
    pub fn run(self, session: &Session) -> Result<()> {
        let (loaded, _) = input::loaded(&self.model)?;
        if let Some(confidence) = self.confidence {
            match &loaded {
                Loaded::Machine(machine) => machine.check_sets(confidence)?,
                Loaded::Cascade(_) => return Err(Failure::usage("a cascade has no prediction sets; leave --confidence out")),
            }
        }
        let machine = loaded.first()?;
        self.confidence.map_or(Ok(()), |confidence| machine.check_sets(confidence))?;
        let wanted = input::target_of(machine);
        let data = self.input.rows_for(machine, &self.data, wanted, session)?;
        let predictor = Predictor::on(machine, input::device_for(self.device.as_deref(), &loaded)?)?;
        let cascade = match &loaded {
            Loaded::Machine(_) => None,
            Loaded::Cascade(cascade) => Some(cascade.ready()),
        };
        let ((prediction, answers), seconds) = timed(|| match &cascade {
            None => predictor.predict(&data.points).map(|prediction| (prediction, None)),
            Some(cascade) => cascade.predict(&data.points).map(|answers| (answers.prediction.clone(), Some(answers))),
        })?;
        session.check_cancelled()?;
        if wanted == Wanted::Nothing {
            let kept = reconstruction(machine, &data.points)?;
            return session.answer(&Evaluated::of_features(data.len(), &kept, self.against.is_some(), seconds));
        }
        let scores = score(&prediction, &data).map_err(|error| Failure::in_file(&self.data, error))?;
        let agreement = match &self.against {
            None => None,
            Some(path) => {
                let (other, _) = input::model(path)?;
                agreement(&prediction, &other.predict(&self.rows_for_other(machine, &other, &data, session)?.points)?)
            }
        };
        let mut evaluated = Evaluated::new(data.len(), scores, agreement, self.against.is_some(), seconds);
        match (&loaded, answers) {
            (Loaded::Cascade(cascade), Some(answers)) => {
                evaluated.cost = Some(answers.evaluations as f64 / (data.len() * cascade.promise.full_vectors).max(1) as f64);
                evaluated.abstained = cascade.full.is_none().then(|| Abstained::of(&answers, &data)).transpose()?;
            }
            (loaded, _) => evaluated.uncertainty = Uncertainty::of(loaded.first()?, &data, self.confidence)?,
        }
        session.answer(&evaluated)
    }

    /// The rows as the other machine needs them: read again where its columns differ.
    fn rows_for_other(&self, machine: &Machine, other: &Machine, data: &Dataset, session: &Session) -> Result<Dataset> {
        let same_table = machine.metadata.table == other.metadata.table;
        match (same_table && machine.names == other.names && machine.dim() == other.dim(), self.data == "-") {
            (true, _) => Ok(data.clone()),
            (false, false) => self.input.rows_for(other, &self.data, Wanted::Nothing, session),
            (false, true) => Err(Failure::failed("the models have different features; give the data as a file, to be read for each")),
        }
    }
}

/// The prediction and its seconds: the best of a few runs where one is short, because a first run also warms up.
fn timed<T>(predict: impl Fn() -> kernelet::Result<T>) -> Result<(T, f64)> {
    const ENOUGH_SECONDS: f64 = 0.2;
    const MOST_RUNS: usize = 10;
    let begun = Instant::now();
    let prediction = predict()?;
    let mut best = begun.elapsed().as_secs_f64();
    for _ in 1..MOST_RUNS {
        if begun.elapsed().as_secs_f64() > ENOUGH_SECONDS {
            break;
        }
        let clock = Instant::now();
        predict()?;
        best = best.min(clock.elapsed().as_secs_f64());
    }
    Ok((prediction, best))
}

/// What came of it.
#[derive(Serialize)]
struct Evaluated {
    rows: usize,
    #[serde(flatten)]
    figures: Figures,
    #[serde(flatten)]
    uncertainty: Uncertainty,
    /// Kernel evaluations of a cascade as a fraction of its full machine's.
    #[serde(skip_serializing_if = "Option::is_none")]
    cost: Option<f64>,
    #[serde(flatten)]
    abstained: Option<Abstained>,
    agreement: Option<f64>,
    seconds: f64,
    rows_per_second: f64,
    #[serde(skip)]
    compared: bool,
}

/// What a cascade that abstains leaves open.
#[derive(Serialize)]
struct Abstained {
    /// The fraction of the rows without an answer.
    unanswered: f64,
    /// The error of the others; none where there are none.
    error_answered: Option<f64>,
}

impl Abstained {
    fn of(answers: &Answers, data: &Dataset) -> Result<Self> {
        let rows = answers.answered();
        let error = |rows: &[usize]| score(&answers.prediction.select(rows), &data.select(rows)).map(|scores| scores.loss());
        let error_answered = if rows.is_empty() { None } else { Some(error(&rows)?) };
        Ok(Abstained { unanswered: 1.0 - rows.len() as f64 / data.len().max(1) as f64, error_answered })
    }

    fn text(&self) -> String {
        let error = self.error_answered.map_or(String::new(), |error| format!("; error of the others {}", percent(error)));
        format!("{} of the rows, counted as wrong{error}", percent(self.unanswered))
    }
}

#[derive(Serialize)]
#[serde(untagged)]
enum Figures {
    Classes { error: f64, accuracy: f64, balanced_error: f64, confusion: Table },
    Values { mse: f64, r2: f64, mae: f64 },
    Features { variance: f64, residual: f64, explained: f64 },
}

/// `counts[t][p]`: rows of class t predicted as class p.
#[derive(Serialize)]
struct Table {
    labels: Vec<String>,
    counts: Vec<Vec<usize>>,
}

impl Evaluated {
    fn new(rows: usize, scores: Scores, agreement: Option<f64>, compared: bool, seconds: f64) -> Self {
        let figures = match scores {
            Scores::Classes(confusion) => {
                let (error, balanced_error) = (confusion.error(), confusion.balanced_error());
                let Confusion { labels, counts } = confusion;
                let labels = labels.iter().map(Label::to_string).collect();
                Figures::Classes { error, accuracy: 1.0 - error, balanced_error, confusion: Table { labels, counts } }
            }
            Scores::Values { mse, r2, mae } => Figures::Values { mse, r2, mae },
        };
        let rows_per_second = rows as f64 / seconds.max(1e-9);
        Evaluated {
            rows,
            figures,
            uncertainty: Uncertainty::default(),
            cost: None,
            abstained: None,
            agreement,
            seconds,
            rows_per_second,
            compared,
        }
    }

    /// Features have no true targets to compare with; the variance they explain is reported instead.
    fn of_features(rows: usize, kept: &Reconstruction, compared: bool, seconds: f64) -> Self {
        let figures = Figures::Features { variance: kept.variance, residual: kept.residual, explained: kept.explained() };
        let rows_per_second = rows as f64 / seconds.max(1e-9);
        Evaluated {
            rows,
            figures,
            uncertainty: Uncertainty::default(),
            cost: None,
            abstained: None,
            agreement: None,
            seconds,
            rows_per_second,
            compared,
        }
    }
}

impl Answer for Evaluated {
    fn text(&self) -> String {
        let mut pairs = vec![("rows", count(self.rows))];
        let confusion = match &self.figures {
            Figures::Classes { error, accuracy, balanced_error, confusion } => {
                let wrong = (error * self.rows as f64).round() as usize;
                pairs.push(("error", format!("{} ({} wrong)", percent(*error), count(wrong))));
                pairs.push(("accuracy", percent(*accuracy)));
                pairs.push(("balanced error", percent(*balanced_error)));
                confusion.text()
            }
            Figures::Values { mse, r2, mae } => {
                pairs.extend([("mse", figure(*mse)), ("r2", figure(*r2)), ("mae", figure(*mae))]);
                String::new()
            }
            Figures::Features { variance, residual, explained } => {
                pairs.push(("variance", format!("{} about the mean of the training rows, in feature space", figure(*variance))));
                pairs.push(("residual", format!("{} not explained by the features", figure(*residual))));
                pairs.push(("explained", percent(*explained)));
                String::new()
            }
        };
        pairs.extend(self.uncertainty.pairs());
        pairs.extend(self.abstained.iter().map(|abstained| ("no answer", abstained.text())));
        pairs.extend(self.cost.map(|value| ("cost", format!("{} of the full machine's kernel evaluations", percent(value)))));
        if self.compared {
            pairs.push(("agreement", self.agreement.map_or("none: no labels are predicted".into(), percent)));
        }
        pairs.push(("time", format!("{}, {} rows a second", seconds(self.seconds), count(self.rows_per_second as usize))));
        lines(&pairs) + &confusion
    }
}

impl Table {
    /// True classes downwards, predicted ones across; nothing where that would be too wide.
    fn text(&self) -> String {
        const MOST: usize = 20;
        if self.labels.len() > MOST {
            return format!("\nthe confusion of {} classes is shown by --json\n", self.labels.len());
        }
        let header: Vec<String> = std::iter::once("true \\ predicted".to_string()).chain(self.labels.iter().cloned()).collect();
        let row =
            |(label, counts): (&String, &Vec<usize>)| std::iter::once(label.clone()).chain(counts.iter().map(|&n| count(n))).collect();
        let rows: Vec<Vec<String>> = self.labels.iter().zip(&self.counts).map(row).collect();
        format!("\n{}", table(&header, &rows))
    }
}
