//! `kernelet train`: data become a model file.
use std::{
    path::{Path, PathBuf},
    time::Instant,
};

use clap::Args;
use kernelet::{
    Named,
    data::{Label, RowBlocks, Scale, Target, memory},
    device::Device,
    learn::blocks::engine_on,
    machine::{Calibration, FeatureMetadata, Machine, SizeMetrics},
    model::{self, range::Range},
    request::{self, Given, LearnerName},
};

use super::trained::{BoundReport, FeatureScales, Spanned, Trained};
use crate::{
    failure::{Failure, Result},
    files::{self, Beside},
    flags::{TrainFlags, quoted},
    input::{self, Input},
    layout::{count, figure},
    session::Session,
};

/// Flags of `train`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Train {
    /// The data to learn from; - is standard input.
    pub data: String,
    /// Where the model is written. Without it the model has the name of the data, and what no flag says of the machine is guessed from the rows and printed as a command.
    #[arg(short, long, value_name = "MODEL")]
    pub output: Option<PathBuf>,
    /// Begin at an earlier model of the same kind: faster where rows or settings have changed a little (svc, svr, one-class, direct training).
    #[arg(long, value_name = "MODEL")]
    pub start: Option<String>,
    /// Calibrate prediction sets on these rows, which must not be among those trained on: predict --values set then has sets that cover the truth with a chosen probability.
    #[arg(long, value_name = "DATA")]
    pub calibrate: Option<String>,
    /// Scale by a range file of svm-scale instead of --scale.
    #[arg(long, value_name = "FILE", help_heading = "Scaling")]
    pub scale_file: Option<String>,
    /// Scale by a model instead of --scale: its scaling with the learned scales or map; its width of the kernel too where --gamma is not given.
    #[arg(long, value_name = "MODEL", help_heading = "Scaling", conflicts_with = "scale_file")]
    pub scales_from: Option<String>,
    /// Train on a random sample of so many rows, taken as they are read: for streams that memory cannot hold, with --start to go on from a model.
    #[arg(long, value_name = "ROWS", help_heading = "Reading")]
    pub reservoir: Option<usize>,
    /// Columns of a table that make no features, such as ids, by name or counted from 1.
    #[arg(long, value_name = "COLUMN,..", value_delimiter = ',', help_heading = "Reading")]
    pub ignore: Vec<String>,
    /// What is asked for.
    #[command(flatten)]
    pub request: TrainFlags,
    /// Flags of the reader.
    #[command(flatten)]
    pub input: Input,
}

const EXAMPLES: &str = "\
Examples:
  kernelet train houses.csv
  kernelet train data.svm -o data.model --gamma 0.5 --c 10
  kernelet train iris.csv -o iris.model --target species --scale standard --tune
  kernelet train iris.csv -o iris.model --scale standard --probability sigmoid
  kernelet train iris.csv -o iris.model --scale standard --calibrate more-iris.csv
  kernelet train census.csv -o census.model --target income --ignore id --scale standard --tune
  kernelet train houses.csv -o houses.model --learner svr --c 10 --epsilon 0.1 --scale standard
  kernelet train houses.csv -o houses.model --learner rvm --task regression --scale standard --tune
  kernelet train normal.csv -o normal.model --learner one-class --nu 0.05 --scale standard
  kernelet train data.svm -o fisher.model --learner fisher --gamma 0.5 --lambda 0.01 --bias midpoint
  kernelet train data.svm -o small.model --gamma 0.5 --c 10 --vectors 40
  kernelet train houses.csv -o small.model --learner ridge --lambda 0.01 --scale standard --vectors 40
  kernelet train data.svm -o small.model --gamma 0.5 --c 10 --method rpcholesky --vectors 40
  kernelet train huge.npy -o small.model --gamma 0.5 --c 10 --vectors 100 --blocks always --memory 256
  producer | kernelet train - --format libsvm -o new.model --start old.model --vectors 40 --gamma 0.5 --c 10 --reservoir 20000 --iterations 20
  kernelet train data.svm -o mrs.model --gamma 0.5 --c 10 --method mrs --vectors 40
  kernelet train data.svm -o greedy.model --learner fisher --gamma 0.5 --method fisher-pursuit --vectors 40
  kernelet train iris.csv -o pca.model --learner pca --target species --scale standard --components 2

Ctrl-C writes the machine of the work so far, with the status `cancelled`, and exits with 130; stopped in a search for settings, it writes nothing.";

impl Train {
    /// Trains, then writes the model.
    pub fn run(mut self, session: &Session) -> Result<()> {
        let guess = self.output.is_none();
        let output = self.output.clone().map_or_else(|| self.usual_output(), Ok)?;
        self.check_files(&output)?;
        self.request.0.seed = session.seed;
        let scales = self
            .scales_from
            .as_deref()
            .map(|path| self.request.0.take_scales(&input::model(path)?.0).map_err(Failure::from))
            .transpose()?;
        self.request.0.prefer_device(Device::chosen(None)?);
        let request = &self.request.0;
        request.check()?;
        if let Some(megabytes) = request.search.memory {
            memory::raise_limit(megabytes.saturating_mul(1 << 20));
        }
        if self.start.is_some() {
            request.check_start()?;
        }
        if self.reservoir.is_some() && request.passes_over(0) {
            return Err(Failure::usage("--reservoir holds its sample in memory; leave it out, or --blocks always and the file of --cache"));
        }
        let start = self.start.as_deref().map(input::model).transpose()?.map(|(machine, _)| machine);
        if self.reservoir.is_none() && request.passes_over(std::fs::metadata(&self.data).map_or(0, |about| about.len())) {
            if self.calibrate.is_some() {
                return Err(Failure::usage("--calibrate needs the rows in memory; give --blocks never"));
            }
            return self.run_blocks(&output, start, scales, session);
        }
        let reading = input::reading_to_train(start.as_ref(), request.wanted(), &self.ignore);
        let mut data = match self.reservoir {
            Some(rows) => self.input.sampled_rows(&self.data, reading, rows, session)?,
            None => self.input.training_rows(&self.data, reading, session)?,
        };
        if guess {
            (self.request.0, data) = self.request.0.guessed(data);
            session.note(format!("guessed what was not given; the same as: {}", self.command(&output)));
        }
        let request = &self.request.0;
        if let Target::Classes(classes) = &data.target {
            refuse_numbers_as_labels(&self.data, classes.labels.len(), data.len())?;
            if classes.labels.iter().any(|label| label.value().is_some_and(|value| value.fract() != 0.0)) {
                session.note("numbers with fractions are taken as classes; to predict numbers give --learner ridge or svr");
            }
        }
        if let Some(note) = far_from_zero(request, &data.target) {
            session.note(note);
        }
        let calibrate = self.calibrate.as_deref().map(|path| self.input.rows_like(&data, path, request.wanted(), session)).transpose()?;
        let range = self.scale_file.as_deref().map(|path| Range::load(path)?.to_scale(data.dim())).transpose()?;
        let scale = range.or(scales);
        let clock = Instant::now();
        let kept = (!request.tune).then_some("the machine of the work so far");
        let trained = request.run(&data, &Given { start, scale, calibrate }, &session.watch_keeping(kept))?;
        let seconds = clock.elapsed().as_secs_f64();
        session.notes(&trained.notes);
        let sizes = trained.metrics(&data, &session.watch())?;
        model::save(trained.machine(), &output)?;
        let kept = format!("the machine of the work so far is kept in {}", output.display());
        session.answer_kept(&self.answer(&output, &trained, (data.len(), data.dim()), sizes, seconds), trained.fit.report.status, kept)
    }

    /// Trains by passes over blocks of rows, of which few are in memory at a time.
    fn run_blocks(&self, output: &Path, start: Option<Machine>, scales: Option<Scale>, session: &Session) -> Result<()> {
        let request = &self.request.0;
        let reading = input::reading_to_train(start.as_ref(), request.wanted(), &self.ignore);
        let rows = self.input.row_blocks(&self.data, request, reading, session)?;
        let outline = rows.outline();
        let n_rows = outline.n_rows as usize;
        refuse_numbers_as_labels(&self.data, outline.labels.len(), n_rows)?;
        let range = self.scale_file.as_deref().map(|path| Range::load(path)?.to_scale(outline.dim)).transpose()?;
        let given = Given { start, scale: range.or(scales), calibrate: None };
        let clock = Instant::now();
        let done = request.run_blocks(
            &mut *engine_on(request.device()?, &rows)?,
            outline,
            &given,
            &session.watch_keeping(Some("the machine of the work so far")),
        )?;
        let seconds = clock.elapsed().as_secs_f64();
        let trained = done.trained;
        session.notes(&trained.notes);
        session.detail(format!("{} passes over {} blocks", count(done.passes as usize), count(rows.n_blocks())));
        let size = SizeMetrics {
            n_vectors: trained.machine().n_vectors(),
            objective: Some(trained.fit.report.objective),
            train_error: Some(done.train_error),
            ..SizeMetrics::default()
        };
        model::save(trained.machine(), output)?;
        let kept = format!("the machine of the work so far is kept in {}", output.display());
        session.answer_kept(&self.answer(output, &trained, (n_rows, outline.dim), vec![size], seconds), trained.fit.report.status, kept)
    }

    /// The name of the data with another extension, in the current folder. A file that is there is replaced only if it is a model.
    fn usual_output(&self) -> Result<PathBuf> {
        let name = Path::new(&self.data).file_name().and_then(|name| name.to_str()).filter(|name| *name != "-");
        let name = name.ok_or_else(|| Failure::usage("name the model with --output"))?;
        let stem = name.trim_end_matches(".gz").rsplit_once('.').map_or(name, |(stem, _)| stem);
        let output = PathBuf::from(format!("{}.model", if stem.is_empty() { name } else { stem }));
        Beside::Model.check(&output, &[], false).map_err(|failure| failure.hint("name the model with --output"))?;
        Ok(output)
    }

    /// The command that asks for this machine.
    fn command(&self, output: &Path) -> String {
        let files =
            [("start", &self.start), ("calibrate", &self.calibrate), ("scale-file", &self.scale_file), ("scales-from", &self.scales_from)];
        let mut words = vec!["kernelet train".to_string(), quoted(&self.data), "-o".into(), quoted(&output.to_string_lossy())];
        let columns = (!self.ignore.is_empty()).then(|| self.ignore.join(","));
        let others =
            [("target", self.input.target.clone()), ("ignore", columns), ("reservoir", self.reservoir.map(|rows| rows.to_string()))];
        let given = files.into_iter().map(|(name, file)| (name, file.clone())).chain(others);
        words.extend(given.filter_map(|(name, value)| Some(format!("--{name} {}", quoted(&value?)))));
        words.push(self.request.spelled());
        words.join(" ")
    }

    /// Neither the model nor the checkpoint nor the cache takes the place of a file that is read, or of another.
    fn check_files(&self, output: &Path) -> Result<()> {
        let others = [&self.start, &self.calibrate, &self.scale_file, &self.scales_from];
        let read = others.into_iter().map(Option::as_deref).chain([Some(self.data.as_str())]);
        let mut taken: Vec<String> = read.flatten().map(String::from).collect();
        for written in [self.request.0.search.checkpoint.as_deref(), self.request.0.cache_file(), Some(output)].into_iter().flatten() {
            files::check_output(written, &taken.iter().map(String::as_str).collect::<Vec<_>>())?;
            taken.push(written.to_string_lossy().into_owned());
        }
        Ok(())
    }

    fn answer(
        &self,
        output: &Path,
        trained: &request::Trained,
        (rows, dim): (usize, usize),
        sizes: Vec<SizeMetrics>,
        seconds: f64,
    ) -> Trained {
        let (machine, report, request) = (trained.machine(), &trained.fit.report, &self.request.0);
        let metadata = &machine.metadata;
        Trained {
            learner: request.learner().name(),
            kernel: machine.expansion.kernel.name(),
            gamma: machine.expansion.kernel.gamma(),
            c: metadata.c,
            nu: metadata.nu,
            epsilon: metadata.epsilon,
            lambda: metadata.lambda,
            rows,
            dim,
            classes: machine.decision.labels().iter().map(Label::to_string).collect(),
            vectors: machine.n_vectors(),
            objective: report.objective,
            dual_objective: report.dual_objective,
            train_error: sizes.last().and_then(|size| size.train_error),
            iterations: report.iterations,
            evaluations: report.evaluations,
            probability: machine.calibration.as_ref().filter(|_| machine.check_probabilities().is_ok()).map(Calibration::name),
            calibration_rows: metadata.sets.as_ref().map(|sets| sets.n_rows),
            seconds,
            status: report.status,
            model: output.display().to_string(),
            tried: request.tune.then(|| trained.settings_tried()),
            path: request.path.then_some(sizes),
            cost: trained.tuned,
            penalty: metadata.penalty.clone(),
            bias: metadata.bias.clone(),
            rank: metadata.rank,
            components: metadata.features.as_ref().map(|features| features.variances.len()),
            explained: metadata.features.as_ref().map(FeatureMetadata::explained),
            feature_scales: FeatureScales::of(machine),
            basis: metadata.basis.as_ref().map(Spanned::new),
            bound: trained.bound.as_ref().map(BoundReport::new),
        }
    }
}

/// One-vs-one problems grow with the square of the labels; a label of its own for nearly every row is a number to predict.
fn refuse_numbers_as_labels(path: &str, labels: usize, rows: usize) -> Result<()> {
    if labels <= 50 || 2 * labels <= rows {
        return Ok(());
    }
    let sentence = format!("{path}: {} rows have {} different labels, too many to be classes", count(rows), count(labels));
    Err(Failure::failed(sentence).hint(
        "for numbers use --learner ridge, or rvm with --task regression; if the label stands in another column, name it with --target",
    ))
}

/// Ridge has no offset: a mean far from 0 beside the deviation is penalised like everything else, and few vectors go into it.
fn far_from_zero(request: &request::Train, target: &Target) -> Option<String> {
    const FAR: f64 = 5.0;
    let Target::Values(values) = target else { return None };
    let numbers: Vec<f64> = (0..values.rows()).map(|row| values.row(row)[0]).collect();
    let mean = numbers.iter().sum::<f64>() / numbers.len().max(1) as f64;
    let deviation = (numbers.iter().map(|number| (number - mean).powi(2)).sum::<f64>() / numbers.len().max(1) as f64).sqrt();
    (request.learner() == LearnerName::Ridge && !request.settings.centre && values.cols() == 1 && mean.abs() > FAR * deviation).then(|| {
        let (mean, deviation) = (figure(mean), figure(deviation));
        format!("the mean of the target, {mean}, is far from 0 beside its deviation, {deviation}, and ridge has no offset: subtract it with --centre, or take --learner svr, which has one")
    })
}
