//! Measures machines into figures.
use kernelet::{
    data::{Dataset, Points, Target},
    evaluate::{ProbabilityScores, agreement, reliability, score, score_probabilities},
    linalg::Matrix,
    machine::{Decision, Machine, Prediction, Predictor},
    model::native,
};

use crate::{failure::Result, layout::figure, session::Session};

use super::{
    bands,
    choose::choose,
    curves::{Curve, Step},
    drawings::{self, Album, Scatter},
    figures::{DifferingRow, Figures, Full, Level, Method, Plane, Provenance, Reliability},
    latency, recorded,
    rows::{Differing, Sorted},
};

/// What is measured.
pub struct Request<'a> {
    /// The headline.
    pub title: String,
    /// The machine that is made smaller.
    pub machine: &'a Machine,
    /// The rows it was trained on, or like them.
    pub data: Option<&'a Dataset>,
    /// Rows that nothing is chosen by.
    pub test: Option<&'a Dataset>,
    /// The size shown first, where it is given.
    pub vectors: Option<usize>,
    /// Width and height of rows that are images.
    pub images: Option<(usize, usize)>,
    /// What was left out, in sentences.
    pub notes: Vec<String>,
    /// Where the figures come from.
    pub provenance: Provenance,
}

/// What all machines are measured against.
struct Gauge<'a> {
    rows: Option<&'a Dataset>,
    /// The rows are test rows, so that they say what holds on others.
    tests: bool,
    data: Option<&'a Dataset>,
    full: Option<Prediction>,
    sorted: Option<Sorted>,
    plane: Option<(Plane, Matrix)>,
    scatter: Option<Scatter>,
    album: Option<Album>,
    differing: Differing,
    timed: Points,
}

/// The figures of the machine and of all curves.
pub fn gather(request: Request, curves: &[Curve], session: &Session) -> Result<Figures> {
    let machine = request.machine;
    let mut gauge = Gauge::new(&request)?;
    let full = gauge.level(machine, None)?;
    let mut methods = vec![];
    for curve in curves {
        let mut levels = vec![];
        for Step { machine, residual } in &curve.steps {
            session.check_cancelled()?;
            levels.push(gauge.level(machine, *residual)?);
        }
        let about = about(&curve.name).into();
        methods.push(Method { name: curve.name.clone(), about, seconds: Some(curve.seconds), note: curve.note.clone(), levels });
    }
    let mut figures = Figures {
        title: request.title,
        task: task(machine),
        measured_on: gauge.rows.map(|_| if request.test.is_some() { "test" } else { "data" }),
        rows: gauge.rows.map_or(0, Dataset::len),
        full: of_full(machine, full),
        methods,
        feature_scales: machine.ranked_features(),
        reliability: reliability_of(machine, gauge.rows)?,
        notes: request.notes,
        provenance: request.provenance,
        ..Figures::default()
    };
    gauge.put_into(&mut figures);
    figures.chosen = choose(&figures, request.vectors);
    Ok(figures)
}

/// The figures that a model keeps of the sizes it was chosen from, and those of the machine itself.
pub fn gather_recorded(request: Request) -> Result<Option<Figures>> {
    let Some(methods) = recorded::methods(request.machine) else { return Ok(None) };
    let mut gauge = Gauge::new(&request)?;
    let machine = request.machine;
    let own = gauge.level(machine, None)?;
    let mut figures = Figures {
        title: request.title,
        task: task(machine),
        full: of_full(machine, Level { vectors: recorded::vectors_before(machine), ..Level::default() }),
        methods,
        feature_scales: machine.ranked_features(),
        reliability: reliability_of(machine, gauge.rows)?,
        notes: request.notes,
        provenance: request.provenance,
        ..Figures::default()
    };
    recorded::set_own(&mut figures, own);
    figures.notes.push(
        "These figures are those that the model keeps. Bytes and times of other sizes, rows and vectors are shown for a full model with --data.".into(),
    );
    gauge.put_into(&mut figures);
    figures.chosen = recorded::choose(&figures, machine.n_vectors(), request.vectors);
    Ok(Some(figures))
}

impl<'a> Gauge<'a> {
    fn new(request: &Request<'a>) -> Result<Self> {
        let machine = request.machine;
        let rows = request.test.or(request.data);
        let full = rows.map(|rows| Predictor::new(machine).predict(&rows.points)).transpose()?;
        let sorted = rows.zip(full.as_ref()).and_then(|(rows, full)| Sorted::new(full, rows));
        let plane = match (rows, &sorted) {
            (Some(rows), Some(sorted)) => drawings::plane(machine, rows, sorted)?,
            _ => None,
        };
        let scatter = match (rows, &full) {
            (Some(rows), Some(full)) => Scatter::new(machine, rows, full)?,
            _ => None,
        };
        Ok(Gauge {
            rows,
            tests: request.test.is_some(),
            data: request.data.filter(|_| request.test.is_some()),
            full,
            sorted,
            plane,
            scatter,
            album: request.images.map(|size| Album::new(size, drawings::range(machine))),
            differing: Differing::default(),
            timed: latency::sample(rows.map_or(&machine.expansion.vectors, |rows| &rows.points)),
        })
    }

    fn level(&mut self, machine: &Machine, residual: Option<f64>) -> Result<Level> {
        let (row_us, batch_us) = latency::microseconds(machine, &self.timed)?;
        let mut level = Level {
            vectors: machine.n_vectors(),
            residual,
            bytes: Some(native::to_bytes(machine)?.len()),
            row_us: Some(row_us),
            batch_us: Some(batch_us),
            data_error: self.data.map_or(Ok(None), |data| error_on(machine, data))?,
            ..Level::default()
        };
        if let Some(album) = &mut self.album {
            level.drawn = album.vectors(machine);
        }
        let (Some(rows), Some(full)) = (self.rows, &self.full) else { return Ok(level) };
        let prediction = Predictor::new(machine).predict(&rows.points)?;
        level.error = if has_truth(machine, rows) { Some(score(&prediction, rows)?.loss()) } else { None };
        level.agreement = agreement(full, &prediction);
        if self.tests {
            level.agreement_band = level.agreement.map(|agreement| bands::of_fraction(agreement, rows.len()));
            level.error_band = level.error.and_then(|error| bands::of_error(error, &prediction, rows));
        }
        // Features that were found anew have axes of their own, which are not comparable.
        let comparable = machine.decision != Decision::Features || residual.is_some();
        level.difference = if comparable { difference(full, &prediction) } else { None };
        if let Some(sorted) = &self.sorted {
            let predicted = sorted.places(&prediction);
            sorted.confuse(&mut level, &predicted);
            self.differing.compare(&mut level, sorted, &predicted, rows);
            level.plane = self.plane.as_ref().map(|(_, grid)| drawings::regions(machine, grid, sorted)).transpose()?;
        }
        if let Some(scatter) = &self.scatter {
            scatter.fill(&mut level, machine, &prediction)?;
        }
        Ok(level)
    }

    /// What all machines share.
    fn put_into(mut self, figures: &mut Figures) {
        if let (Some(rows), Some(album)) = (self.rows, &mut self.album) {
            for DifferingRow { row, picture, values, .. } in &mut self.differing.rows {
                *picture = album.place(rows.points.select(&[*row - 1]).to_dense().values());
                values.clear();
            }
        }
        figures.labels = self.sorted.map_or(vec![], |sorted| sorted.labels.iter().map(ToString::to_string).collect());
        figures.differing = self.differing.rows;
        figures.images = self.album.map(|album| album.images());
        figures.plane = self.plane.map(|(plane, _)| plane);
        figures.values = self.scatter.map(|scatter| scatter.values);
    }
}

/// The reliability diagram of a model with probabilities, on rows with labels.
fn reliability_of(machine: &Machine, rows: Option<&Dataset>) -> Result<Option<Reliability>> {
    const BINS: usize = 10;
    let Some(rows) = rows.filter(|rows| rows.classes().is_ok() && machine.check_probabilities().is_ok()) else { return Ok(None) };
    let (p, labels) = (machine.probabilities(&machine.outputs_for(&rows.points)?)?, machine.decision.labels());
    let ProbabilityScores { log_loss, calibration_error, .. } = score_probabilities(&p, &labels, rows)?;
    let bins = reliability(&p, &labels, rows, BINS)?;
    let bins = bins.iter().filter(|bin| bin.n_rows > 0).map(|bin| (bin.n_rows, bin.confidence, bin.accuracy)).collect();
    Ok(Some(Reliability { bins, calibration_error, log_loss }))
}

fn has_truth(machine: &Machine, rows: &Dataset) -> bool {
    rows.target != Target::None && machine.decision != Decision::Features
}

fn error_on(machine: &Machine, rows: &Dataset) -> Result<Option<f64>> {
    if has_truth(machine, rows) { Ok(Some(machine.score(rows)?.loss())) } else { Ok(None) }
}

/// The mean squared difference of numbers over the variance of the first.
fn difference(full: &Prediction, small: &Prediction) -> Option<f64> {
    let (Prediction::Values(full), Prediction::Values(small)) = (full, small) else { return None };
    let mean = (0..full.cols()).map(|k| full.col(k).iter().sum::<f64>() / full.rows().max(1) as f64).collect::<Vec<_>>();
    let spread: f64 = full.iter().flat_map(|row| row.iter().zip(&mean).map(|(value, mean)| (value - mean).powi(2))).sum();
    let apart: f64 = full.values().iter().zip(small.values()).map(|(a, b)| (a - b).powi(2)).sum();
    (spread > 0.0).then(|| apart / spread)
}

fn task(machine: &Machine) -> &'static str {
    match machine.decision {
        Decision::Values | Decision::Ratio => "values",
        Decision::Features => "features",
        _ => "classes",
    }
}

fn of_full(machine: &Machine, level: Level) -> Full {
    let kernel = &machine.expansion.kernel;
    let gamma = kernel.gamma().map_or(String::new(), |gamma| format!(", gamma {}", figure(gamma)));
    Full {
        learner: machine.metadata.learner.clone(),
        kernel: format!("{}{gamma}", kernel.name()),
        dim: machine.dim(),
        outputs: machine.n_outputs(),
        level,
    }
}

/// What a method does, in a line.
fn about(name: &str) -> &'static str {
    match name {
        "auto" => "tries several strategies and keeps the best on validation rows",
        "pursuit" => "selects vectors of the model greedily, one at a time",
        "l1" | "l0" => "selects vectors of the model by a sparsity penalty",
        "independent" => "drops vectors that are linear combinations of others in feature space",
        "fixed-point" => "constructs new vectors, one at a time",
        "gradient" => "constructs new vectors by gradient descent",
        "refine" => "constructs new vectors and optimises them jointly",
        _ => "trains a small machine on the training rows",
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
