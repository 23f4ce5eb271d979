//! `kernelet train`: data become a model file.
use std::{
    path::{Path, PathBuf},
    time::Instant,
};

use clap::{
    Args,
    builder::{PossibleValuesParser, TypedValueParser},
};
use kernelet::{
    data::{Classes, Dataset, Label, Target, read::Wanted},
    evaluate::Candidate,
    kernel::Kernel,
    learn::{Calibrated, Fisher, Fit, HowToScale, Learner, Scaled, Shape},
    machine::{Calibration, Decision, FeatureFacts, Prediction},
    model,
    watch::Status,
};
use serde_json::{Map, Value, json};

use super::trained::{Spanned, Trained};
use crate::{
    failure::{Failure, Result},
    files,
    input::{self, Input},
    kernels::{KernelFlags, gamma_of},
    layout::{count, counted},
    learners::{self, Choice, Settings},
    scaling::{ScaleFlags, scaled},
    session::Session,
    tune::Search,
};

/// Flags of `train`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Train {
    /// The data to learn from; - is standard input.
    pub data: String,
    /// Where the model is written.
    #[arg(short, long, value_name = "MODEL")]
    pub output: PathBuf,
    /// Who learns: svc, nu-svc, fisher, logistic, rvm, parzen for classes; svr, nu-svr, ridge, rvm, nadaraya-watson for numbers; one-class and pca without a target.
    #[arg(long, value_name = "NAME", default_value = "svc", value_parser = learners::by_name())]
    pub learner: &'static Choice,
    /// Begin at an earlier model of the same kind: sooner done where rows or settings have changed a little.
    #[arg(long, value_name = "MODEL")]
    pub start: Option<String>,
    /// Choose the cost (C, nu or lambda) and gamma by cross-validation; what is given as a number is kept.
    #[arg(long)]
    pub tune: bool,
    /// Tell every size on the way, where the number of vectors grows (--growth), or the doubling sizes of a basis that grows.
    #[arg(long)]
    pub path: bool,
    /// Also tell probabilities, by a sigmoid or an isotonic curve fitted by cross-validation.
    #[arg(long, value_name = "SHAPE", value_parser = shapes())]
    pub probability: Option<Shape>,
    /// Folds of the cross-validation of --tune and --probability, or of the number of vectors (fisher-pursuit) [default: 5].
    #[arg(long, value_name = "K")]
    pub folds: Option<usize>,
    /// Flags of the kernel.
    #[command(flatten)]
    pub kernel: KernelFlags,
    /// Flags of the learner.
    #[command(flatten)]
    pub settings: Settings,
    /// Flags of the scaling.
    #[command(flatten)]
    pub scale: ScaleFlags,
    /// Flags of the reader.
    #[command(flatten)]
    pub input: Input,
}

const EXAMPLES: &str = "\
Examples:
  kernelet train data.svm -o data.model --gamma 0.5 --c 10
  kernelet train iris.csv -o iris.model --target species --scale standard --tune
  kernelet train iris.csv -o iris.model --scale standard --probability sigmoid
  kernelet train houses.csv -o houses.model --learner svr --c 10 --epsilon 0.1 --scale standard
  kernelet train houses.csv -o houses.model --learner rvm --task regression --scale standard --tune
  kernelet train normal.csv -o normal.model --learner one-class --nu 0.05 --scale standard
  kernelet train data.svm -o fisher.model --learner fisher --gamma 0.5 --lambda 0.01 --bias midpoint
  kernelet train data.svm -o small.model --gamma 0.5 --c 10 --vectors 40
  kernelet train houses.csv -o small.model --learner ridge --lambda 0.01 --scale standard --vectors 40
  kernelet train data.svm -o small.model --gamma 0.5 --c 10 --method rpcholesky --vectors 40
  kernelet train data.svm -o mrs.model --gamma 0.5 --c 10 --method mrs --vectors 40
  kernelet train data.svm -o greedy.model --learner fisher --gamma 0.5 --method fisher-pursuit --vectors 40
  kernelet train iris.csv -o pca.model --learner pca --target species --scale standard --components 2

Ctrl-C writes the machine of the work so far, with the status `cancelled`, and exits with 130; stopped in a search for settings, it writes nothing.";

impl Train {
    /// Trains, then writes the model.
    pub fn run(mut self, session: &Session) -> Result<()> {
        self.check_files()?;
        // Folds that nothing else uses choose the number of vectors.
        self.settings.basis.choose_size_by(self.folds, !self.tune && self.probability.is_none());
        self.learner.check(&self.settings)?;
        self.check_folds()?;
        if self.start.is_some() && self.settings.basis.method.is_some() && !self.settings.basis.is_direct(self.learner.name) {
            return Err(Failure::usage("--start is not used with a basis, which is chosen anew"));
        }
        self.check_path()?;
        self.settings = self.settings.seeded(session.seed);
        if self.tune && self.learner.wanted == Wanted::Nothing {
            return Err(Failure::usage(format!(
                "--tune has nothing to choose for {}, which has no error to compare settings by",
                self.learner.name
            )));
        }
        let kernel = self.kernel.kernel(session)?;
        self.learner.make(kernel.clone(), &self.settings).check()?;
        let data = self.input.training_rows(&self.data, self.learner.target(&self.settings), session)?;
        refuse_numbers_as_labels(&self.data, &data)?;
        let how = self.scale.how(&data, session)?;
        let earlier = self.start.as_deref().map(input::model).transpose()?.map(|(machine, _)| machine);
        let clock = Instant::now();
        let (learner, tried) = self.choose(&kernel, &data, &how, session)?;
        let learner = self.probable(Box::new(Scaled { how, learner }), session);
        let mut fits = match &earlier {
            _ if self.path => learner.learn_path(&data, &session.watch())?,
            Some(machine) => vec![learner.learn_from(machine, &data, &session.watch())?],
            None => vec![learner.learn(&data, &session.watch())?],
        };
        let seconds = clock.elapsed().as_secs_f64();
        let path = self.path.then(|| fits.iter().map(|fit| size_on_the_way(fit, &data)).collect::<Result<Vec<Value>>>()).transpose()?;
        let fit = fits.pop().ok_or_else(|| Failure::failed("nothing was learned"))?;
        say_how_it_ended(&fit, session);
        let bound = self.settings.basis.bound(&fit, &data, session)?;
        let train_error = training_error(&fit, &data)?;
        model::save(&fit.machine, &self.output)?;
        let answer = Trained { path, bound, ..self.trained(&fit, &data, train_error, seconds, tried) };
        session.answer_kept(&answer, fit.report.status, format!("the machine of the work so far is kept in {}", self.output.display()))
    }

    /// Neither the model nor the checkpoint takes the place of a file that is read, or of the other.
    fn check_files(&self) -> Result<()> {
        let checkpoint = self.settings.direct.checkpoint.as_deref().map(Path::to_string_lossy);
        let read = [Some(self.data.as_str()), self.start.as_deref(), self.scale.scale_file.as_deref()];
        let read: Vec<&str> = read.into_iter().flatten().collect();
        if let Some(checkpoint) = &checkpoint {
            files::check_output(Path::new(&**checkpoint), &read)?;
        }
        files::check_output(&self.output, &[read, checkpoint.as_deref().into_iter().collect()].concat())
    }

    /// A path is that of growing vectors, and a checkpoint that of one run.
    fn check_path(&self) -> Result<()> {
        let direct = &self.settings.direct;
        if self.path && (self.probability.is_some() || self.start.is_some()) {
            return Err(Failure::usage("--path goes neither with --probability nor with --start"));
        }
        if direct.checkpoint.is_some() && self.learner.name == "fisher" && self.settings.lambda.is_none() {
            return Err(Failure::usage("--checkpoint is for one run, but without --lambda cross-validation makes several"));
        }
        if direct.checkpoint.is_some() && (self.tune || self.probability.is_some()) {
            return Err(Failure::usage("--checkpoint is for one run; --tune and --probability make several"));
        }
        Ok(())
    }

    /// Folds are used by cross-validation alone, and probabilities are for classes.
    fn check_folds(&self) -> Result<()> {
        if self.folds.is_some() && !self.tune && self.probability.is_none() && !self.settings.basis.is_pursuit() {
            return Err(Failure::usage("--folds is used only with --tune or --probability"));
        }
        if self.probability.is_some() && self.learner.target(&self.settings) != Wanted::Classes {
            return Err(Failure::usage(format!("--probability is for classes, but {} predicts numbers", self.learner.name)));
        }
        Ok(())
    }

    fn folds(&self) -> usize {
        self.folds.unwrap_or(5)
    }

    /// The learner, with probabilities where they are asked for.
    fn probable(&self, learner: Box<dyn Learner>, session: &Session) -> Box<dyn Learner> {
        match self.probability {
            None => learner,
            Some(shape) => Box::new(Calibrated { shape, folds: self.folds(), seed: session.seed, learner }),
        }
    }

    /// The learner with its settings, as given or as found by the search, and what the search tried.
    fn choose(&self, kernel: &Kernel, data: &Dataset, how: &HowToScale, session: &Session) -> Result<(Box<dyn Learner>, Vec<Candidate>)> {
        let (choice, settings, fixed_gamma) = (self.learner, &self.settings, self.kernel.fixed_gamma());
        if self.tune {
            let search = Search { choice, settings, kernel, fixed_gamma, how, folds: self.folds() };
            let tried = search.run(data, &session.watch(), session)?;
            let best = tried.first().ok_or_else(|| Failure::failed("no settings were tried"))?;
            let learner = choice.make(kernel.clone().with_gamma(best.gamma), &choice.with_cost(settings, best.cost));
            return Ok((learner, tried));
        }
        let kernel = match fixed_gamma.is_some() || kernel.gamma().is_none() {
            true => kernel.clone(),
            false => kernel.clone().with_gamma(gamma_of(&scaled(how, data)?)?),
        };
        let Some(lambda) = self.penalty_of_fisher(&kernel, data, how, session)? else { return Ok((choice.make(kernel, settings), vec![])) };
        Ok((choice.make(kernel, &choice.with_cost(settings, lambda)), vec![]))
    }

    /// The penalty of a discriminant whose vectors are found with it, by cross-validation where it is not given: what is good for all rows as vectors is
    /// far from good for few.
    fn penalty_of_fisher(&self, kernel: &Kernel, data: &Dataset, how: &HowToScale, session: &Session) -> Result<Option<f64>> {
        let (choice, settings) = (self.learner, &self.settings);
        if choice.name != "fisher" || !settings.basis.is_direct(choice.name) || settings.lambda.is_some() {
            return Ok(None);
        }
        let search = Search { choice, settings, kernel, fixed_gamma: kernel.gamma(), how, folds: self.folds() };
        let hint = "say --lambda; without it cross-validation chooses the penalty";
        let tried = search.run(data, &session.watch(), session).map_err(|failure| failure.hint(hint))?;
        let best = tried.first().ok_or_else(|| Failure::failed("no penalty was tried"))?;
        session.note(format!("lambda {:.3e} has the least error of {} tried in cross-validation", best.cost, tried.len()));
        Ok(Some(best.cost))
    }

    fn trained(&self, fit: &Fit, data: &Dataset, train_error: Option<f64>, seconds: f64, tried: Vec<Candidate>) -> Trained {
        let Fit { machine, report } = fit;
        let has_gamma = machine.expansion.kernel.gamma().is_some();
        let tried = tried.iter().map(|candidate| self.candidate(candidate, has_gamma)).collect();
        Trained {
            learner: self.learner.name,
            kernel: machine.expansion.kernel.name(),
            gamma: machine.expansion.kernel.gamma(),
            c: machine.facts.c,
            nu: machine.facts.nu,
            epsilon: machine.facts.epsilon,
            lambda: machine.facts.lambda,
            rows: data.len(),
            dim: data.dim(),
            classes: machine.decision.labels().iter().map(Label::to_string).collect(),
            vectors: machine.vectors(),
            objective: report.objective,
            dual_objective: report.dual_objective,
            train_error,
            iterations: report.iterations,
            evaluations: report.evaluations,
            probability: machine.calibration.as_ref().filter(|_| machine.check_probabilities().is_ok()).map(Calibration::name),
            seconds,
            status: report.status,
            model: self.output.display().to_string(),
            tried: self.tune.then_some(tried),
            path: None,
            cost: self.learner.cost(&self.settings).map(|cost| cost.name),
            penalty: machine.facts.penalty.clone(),
            bias: machine.facts.bias.clone(),
            rank: machine.facts.rank,
            components: machine.facts.features.as_ref().map(|features| features.variances.len()),
            explained: machine.facts.features.as_ref().map(FeatureFacts::explained),
            basis: machine.facts.basis.as_ref().map(Spanned::new),
            bound: None,
        }
    }

    fn candidate(&self, candidate: &Candidate, has_gamma: bool) -> Value {
        let mut object = Map::new();
        if let Some(cost) = self.learner.cost(&self.settings) {
            object.insert(cost.name.into(), json!(candidate.cost));
        }
        if has_gamma {
            object.insert("gamma".into(), json!(candidate.gamma));
        }
        object.insert("loss".into(), json!(candidate.loss));
        object.into()
    }
}

fn shapes() -> impl TypedValueParser<Value = Shape> {
    PossibleValuesParser::new(Shape::ALL.map(Shape::name)).try_map(|name| Shape::named(&name).ok_or("there is no such shape"))
}

/// One-vs-one problems grow with the square of the labels; a label of its own for nearly every row is a number to predict.
fn refuse_numbers_as_labels(path: &str, data: &Dataset) -> Result<()> {
    let Target::Classes(Classes { labels, codes }) = &data.target else { return Ok(()) };
    if labels.len() <= 50 || 2 * labels.len() <= codes.len() {
        return Ok(());
    }
    let sentence = format!("{path}: {} rows have {} different labels, too many to be classes", count(codes.len()), count(labels.len()));
    Err(Failure::failed(sentence).hint(
        "for numbers use --learner ridge, or rvm with --task regression; if the label stands in another column, name it with --target",
    ))
}

/// The error on the training rows, for one class the part of them that lies outside; features have none, and it is not worth waiting for when
/// the run was cancelled.
fn training_error(fit: &Fit, data: &Dataset) -> Result<Option<f64>> {
    match fit.report.status {
        _ if fit.machine.decision == Decision::Features => Ok(None),
        Status::Cancelled => Ok(None),
        _ if fit.machine.decision == Decision::Novelty => {
            let Prediction::Classes { codes, .. } = fit.machine.predict(&data.points)? else { return Ok(None) };
            Ok(Some(codes.iter().filter(|&&code| code == 0).count() as f64 / codes.len().max(1) as f64))
        }
        _ => Ok(Some(fit.machine.score(data)?.loss())),
    }
}

fn size_on_the_way(fit: &Fit, data: &Dataset) -> Result<Value> {
    let error = training_error(fit, data)?;
    Ok(json!({ "vectors": fit.machine.vectors(), "objective": fit.report.objective, "train_error": error }))
}

fn say_how_it_ended(fit: &Fit, session: &Session) {
    if let Some(rank) = fit.machine.facts.rank {
        let directions = counted(rank, "direction");
        session.note(format!("{directions} have more than {:.0e} of the largest scatter; all others are left out", Fisher::NO_SCATTER));
    }
    if let Some(basis) = fit.machine.facts.basis.as_ref().filter(|basis| basis.capped && basis.asked < usize::MAX) {
        let (asked, found) = (count(basis.asked), counted(fit.machine.vectors(), "vector"));
        session.note(format!("{asked} vectors were asked for, but the rows span no more; the machine has {found}"));
    }
    match fit.report.status {
        // What was kept is said in the end.
        Status::Converged | Status::Cancelled => {}
        Status::Capped if fit.machine.facts.basis.is_some() => {}
        Status::Capped => session.note(format!("the rows span no more than {}; all are kept", counted(fit.machine.outputs(), "component"))),
        Status::IterationLimit => session.note("the limit of iterations came first; more of them may give a better machine"),
    }
}
