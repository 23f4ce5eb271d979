//! `kernelet evaluate`: predictions against the truth.
use std::time::Instant;

use clap::Args;
use kernelet::{
    data::{Dataset, Label, Target, read::Wanted},
    evaluate::{Confusion, Reconstruction, RunningScores, Scores, agreement, reconstruction},
    machine::{Machine, Prediction, Predictor, cascade::Answers},
};
use serde::Serialize;

use super::{comparable, uncertainty::Uncertainty};
use crate::{
    failure::{Failure, Result},
    input::{self, Input, Loaded},
    layout::{count, counted, figure, lines, percent, seconds, table},
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
    /// Predicts and compares block by block, so that files larger than memory pass through.
    pub fn run(self, session: &Session) -> Result<()> {
        let (loaded, _) = input::loaded(&self.model)?;
        if let Some(confidence) = self.confidence {
            match &loaded {
                Loaded::Machine(machine) => machine.check_sets(confidence)?,
                Loaded::Cascade(_) => return Err(Failure::usage("a cascade has no prediction sets; leave --confidence out")),
            }
        }
        let machine = loaded.first()?;
        let wanted = input::target_of(machine);
        let predictor = Predictor::on(machine, input::device_for(self.device.as_deref(), &loaded)?)?;
        let cascade = match &loaded {
            Loaded::Machine(_) => None,
            Loaded::Cascade(cascade) => Some(cascade.ready()),
        };
        let mut other = self.against.as_deref().map(|path| self.other(machine, path)).transpose()?;
        let mut sums = Sums::default();
        let mut blocks = self.input.blocks_for(machine, &self.data, wanted)?;
        let mut next = blocks.next(session)?;
        while let Some(data) = next {
            let (following, done) = rayon::join(
                || blocks.next(session),
                || -> Result<()> {
                    let ((prediction, answers), seconds) = timed(sums.rows == 0, || match &cascade {
                        None => predictor.predict(&data.points).map(|prediction| (prediction, None)),
                        Some(cascade) => cascade.predict(&data.points).map(|answers| (answers.prediction.clone(), Some(answers))),
                    })?;
                    sums.seconds += seconds;
                    answers.map_or(Ok(()), |answers| sums.answers.add(&answers, &data))?;
                    if wanted == Wanted::Nothing {
                        sums.kept.push((data.len(), reconstruction(machine, &data.points)?));
                    } else {
                        sums.scores.add(&prediction, &data).map_err(|error| comparable::failure(&self.data, error, &data.target))?;
                        if let Loaded::Machine(machine) = &loaded {
                            sums.uncertainty.add(machine, &data, self.confidence)?;
                        }
                        other.as_mut().map_or(Ok(()), |other| other.add(prediction, &data))?;
                    }
                    sums.rows += data.len();
                    Ok(())
                },
            );
            done?;
            session.check_cancelled()?;
            session.watch().report("rows evaluated", sums.rows as u64, None, None);
            next = following?;
        }
        session.detail(format!("{}: {} of {}", self.data, counted(sums.rows, "row"), counted(machine.dim(), "feature")));
        if wanted == Wanted::Nothing {
            return session.answer(&Evaluated::of_features(sums.rows, &mean_of(&sums.kept), self.against.is_some(), sums.seconds));
        }
        let agreement = other.map_or(Ok(None), |other| other.agreement(&self, session))?;
        let scores = sums.scores.scores().map_err(|error| Failure::in_file(&self.data, error))?;
        if let Scores::Classes(confusion) = &scores {
            comparable::note(confusion, &machine.decision.labels()).into_iter().for_each(|note| session.note(note));
        }
        let mut evaluated = Evaluated::new(sums.rows, scores, agreement, self.against.is_some(), sums.seconds);
        evaluated.uncertainty = sums.uncertainty;
        if let Loaded::Cascade(cascade) = &loaded {
            evaluated.cost = Some(sums.answers.evaluations as f64 / (sums.rows * cascade.promise.full_vectors).max(1) as f64);
            evaluated.abstained = cascade.full.is_none().then(|| Abstained::of(sums.answers, sums.rows)).transpose()?;
        }
        session.answer(&evaluated)
    }

    /// The machine to compare with.
    fn other(&self, machine: &Machine, path: &str) -> Result<Other> {
        let (other, _) = input::model(path)?;
        let same_table = machine.metadata.table == other.metadata.table;
        let same_columns = same_table && machine.names == other.names && machine.dim() == other.dim();
        if !same_columns && self.data == "-" {
            return Err(Failure::failed("the models have different features; give the data as a file, to be read for each"));
        }
        Ok(Other { machine: other, same_columns, labels: vec![], codes: vec![], same: 0, rows: 0, labelled: true })
    }
}

/// What is kept of the blocks.
#[derive(Default)]
struct Sums {
    rows: usize,
    scores: RunningScores,
    uncertainty: Uncertainty,
    kept: Vec<(usize, Reconstruction)>,
    answers: AnswerSums,
    seconds: f64,
}

/// What is kept of the answers of a cascade.
#[derive(Default)]
struct AnswerSums {
    evaluations: u64,
    answered: usize,
    scores: RunningScores,
}

impl AnswerSums {
    fn add(&mut self, answers: &Answers, data: &Dataset) -> Result<()> {
        self.evaluations += answers.evaluations;
        let rows = answers.answered();
        self.answered += rows.len();
        if !rows.is_empty() && data.target != Target::None {
            self.scores.add(&answers.prediction.select(&rows), &data.select(&rows))?;
        }
        Ok(())
    }
}

/// Another machine, and on how many rows it agrees.
struct Other {
    machine: Machine,
    same_columns: bool,
    labels: Vec<Label>,
    /// What the first machine predicts, where the other has other columns, for which the file is read again.
    codes: Vec<u32>,
    same: usize,
    rows: usize,
    labelled: bool,
}

impl Other {
    fn add(&mut self, prediction: Prediction, data: &Dataset) -> Result<()> {
        match (self.same_columns, prediction) {
            (true, prediction) => self.compare(&prediction, data),
            (false, Prediction::Classes { labels, codes }) => {
                self.labels = labels;
                self.codes.extend(codes);
                Ok(())
            }
            (false, Prediction::Values(_)) => {
                self.labelled = false;
                Ok(())
            }
        }
    }

    fn compare(&mut self, prediction: &Prediction, data: &Dataset) -> Result<()> {
        match agreement(prediction, &self.machine.predict(&data.points)?) {
            Some(fraction) => self.same += (fraction * data.len() as f64).round() as usize,
            None => self.labelled = false,
        }
        self.rows += data.len();
        Ok(())
    }

    /// The fraction of rows on which both agree; none where no labels are predicted.
    fn agreement(mut self, asked: &Evaluate, session: &Session) -> Result<Option<f64>> {
        if !self.same_columns && self.labelled {
            let (codes, labels) = (std::mem::take(&mut self.codes), std::mem::take(&mut self.labels));
            let machine = self.machine.clone();
            let mut blocks = asked.input.blocks_for(&machine, &asked.data, Wanted::Nothing)?;
            while let Some(data) = blocks.next(session)? {
                let Some(codes) = codes.get(self.rows..self.rows + data.len()) else {
                    return Err(Failure::failed(format!("{} was changed while it was read", asked.data)));
                };
                self.compare(&Prediction::Classes { labels: labels.clone(), codes: codes.to_vec() }, &data)?;
                session.check_cancelled()?;
            }
        }
        Ok(self.labelled.then(|| self.same as f64 / self.rows.max(1) as f64))
    }
}

/// The means over all rows from those of blocks.
fn mean_of(kept: &[(usize, Reconstruction)]) -> Reconstruction {
    let rows: usize = kept.iter().map(|(rows, _)| rows).sum();
    let mean = |of: fn(&Reconstruction) -> f64| match kept {
        [(_, only)] => of(only),
        _ => kept.iter().map(|(rows, part)| *rows as f64 * of(part)).sum::<f64>() / rows.max(1) as f64,
    };
    Reconstruction { variance: mean(|part| part.variance), residual: mean(|part| part.residual) }
}

/// The prediction and its seconds: where asked for, the best of a few runs where one is short, because a first run also warms up.
fn timed<T>(repeat: bool, predict: impl Fn() -> kernelet::Result<T>) -> Result<(T, f64)> {
    const ENOUGH_SECONDS: f64 = 0.2;
    const MOST_RUNS: usize = 10;
    let begun = Instant::now();
    let prediction = predict()?;
    let mut best = begun.elapsed().as_secs_f64();
    for _ in 1..if repeat { MOST_RUNS } else { 1 } {
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
    fn of(sums: AnswerSums, rows: usize) -> Result<Self> {
        let error_answered = if sums.answered == 0 { None } else { Some(sums.scores.scores()?.loss()) };
        Ok(Abstained { unanswered: 1.0 - sums.answered as f64 / rows.max(1) as f64, error_answered })
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
        Self::of(rows, figures, agreement, compared, seconds)
    }

    fn of(rows: usize, figures: Figures, agreement: Option<f64>, compared: bool, seconds: f64) -> Self {
        Evaluated {
            rows,
            figures,
            uncertainty: Uncertainty::default(),
            cost: None,
            abstained: None,
            agreement,
            seconds,
            rows_per_second: rows as f64 / seconds.max(1e-9),
            compared,
        }
    }

    /// Features have no true targets to compare with; the variance they explain is reported instead.
    fn of_features(rows: usize, kept: &Reconstruction, compared: bool, seconds: f64) -> Self {
        let figures = Figures::Features { variance: kept.variance, residual: kept.residual, explained: kept.explained() };
        Self::of(rows, figures, None, compared, seconds)
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
