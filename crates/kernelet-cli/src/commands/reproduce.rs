//! `kernelet reproduce`: the tables of papers, made again.
use std::{
    fs,
    path::{Path, PathBuf},
    time::Instant,
};

use clap::Args;
use kernelet::{Error, model::write_atomically, text::nearest};
use kernelet_experiments::{self as experiments, Context, Experiment, Made, Outcome};
use serde::Serialize;

use crate::{
    failure::{Failure, Result},
    files,
    layout::{counted, lines, seconds, table},
    session::{Answer, Session},
};

/// Flags of `reproduce`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Reproduce {
    /// The experiment: list, all, a name from the list, or a file FILE.toml that describes one.
    pub name: String,
    /// Where the data sets are, each as NAME/NAME.npz.
    #[arg(long, value_name = "DIR", conflicts_with = "generated")]
    pub data_dir: Option<PathBuf>,
    /// Only experiments whose rows are drawn by the built-in generators, which need no data.
    #[arg(long)]
    pub generated: bool,
    /// Splits of each set [default: as the experiment says].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=10_000))]
    pub splits: Option<u16>,
    /// Seeds, one after the other, for rows and machines that are drawn; the table has the spread [default: as the experiment says].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub seeds: Option<u16>,
    /// Also write NAME.md, NAME.csv and pictures here; what is done is kept in NAME.jsonl, and an interrupted run goes on from there.
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  kernelet reproduce list
  kernelet reproduce generated-svm
  kernelet reproduce wu2006-tables-1-2 --data-dir ../data -o results
  kernelet reproduce all --generated --splits 3

Errors are in percent of the test rows, with the standard error of the mean over splits.";

impl Reproduce {
    /// Lists the experiments, or runs what was chosen.
    pub fn run(self, session: &Session) -> Result<()> {
        if self.name == "list" {
            return session.answer(&Listed::new(experiments::built_in()?));
        }
        let (chosen, mut skipped) = self.choose()?;
        if let Some(directory) = &self.output {
            self.check_files(directory, &chosen)?;
        }
        let clock = Instant::now();
        let (mut experiments, mut files, mut end) = (vec![], vec![], Ok(()));
        for (place, experiment) in chosen.iter().enumerate() {
            match self.run_one(experiment, &mut files, session) {
                Ok(outcome) => experiments.push(outcome),
                Err(Failure::Cancelled) => {
                    let left = chosen.iter().skip(place);
                    skipped.extend(left.map(|left| Skipped { name: left.name.clone(), reason: "cancelled".into() }));
                    end = Err(self.interrupted(&experiments));
                    break;
                }
                Err(failure) if chosen.len() == 1 => return Err(failure),
                Err(failure) => {
                    skipped.push(Skipped { name: experiment.name.clone(), reason: failure.sentence() });
                    end = Err(Failure::failed("not all experiments could be run"));
                }
            }
        }
        if experiments.is_empty() && end.is_err() {
            return end;
        }
        let seconds = clock.elapsed().as_secs_f64();
        let version = env!("CARGO_PKG_VERSION");
        session.answer(&Reproduced { command: command(), version, experiments, skipped, files, seconds })?;
        end
    }

    /// No result takes the place of the description or of data.
    fn check_files(&self, directory: &Path, chosen: &[Experiment]) -> Result<()> {
        let data: Vec<String> =
            chosen.iter().flat_map(|experiment| experiment.files(self.directory())).map(|path| path.display().to_string()).collect();
        let inputs: Vec<&str> = data.iter().map(String::as_str).chain([self.name.as_str()]).collect();
        let written = |experiment: &Experiment| {
            let journal = format!("{}.jsonl", experiment.name);
            [names(experiment).to_vec(), experiment.pictures(), experiment.chart_files(), vec![journal]].concat()
        };
        chosen.iter().flat_map(written).try_for_each(|name| files::check_output(&directory.join(name), &inputs))
    }

    fn run_one(&self, experiment: &Experiment, files: &mut Vec<String>, session: &Session) -> Result<Outcome> {
        let clock = Instant::now();
        let context = Context {
            data_dir: self.directory(),
            output: self.output.as_deref(),
            splits: self.splits.map(usize::from),
            seed: session.seed,
            seeds: self.seeds.map(usize::from),
            watch: session.watch_keeping(self.output.as_ref().map(|_| "what is done, and the same command goes on from there")),
            note: &|text| session.note(text),
            detail: &|text| session.detail(text),
        };
        let outcome = experiments::run(experiment, &context)?;
        drop(context);
        let Some(directory) = &self.output else { return Ok(outcome) };
        let mut write = |name: &str, text: &str| -> Result<()> {
            let path = directory.join(name);
            write_atomically(&path, |writer| writer.write_all(text.as_bytes()))?;
            files.push(path.display().to_string());
            Ok(())
        };
        let charts = experiment.charts(&outcome);
        let pictures = charts.iter().map(|(name, _)| name.clone()).chain(experiment.pictures()).collect();
        let made = Made { pictures, ..self.made(experiment, clock.elapsed().as_secs_f64()) };
        let [page, cells] = names(experiment);
        write(&page, &experiments::markdown(&outcome, &made))?;
        write(&cells, &experiments::csv(&outcome, &made))?;
        charts.iter().try_for_each(|(name, svg)| write(name, svg))?;
        files.extend(experiment.pictures().iter().map(|name| directory.join(name).display().to_string()));
        Ok(outcome)
    }

    /// What is there after an interruption.
    fn interrupted(&self, done: &[Outcome]) -> Failure {
        match (&self.output, done.len()) {
            (Some(_), _) => Failure::Kept("the cells done so far are kept, and the same command goes on from there".into()),
            (None, 0) => Failure::Cancelled,
            (None, done) => Failure::Kept(format!("the tables are those of the {} done before", counted(done, "experiment"))),
        }
    }

    /// How an outcome was made. The directories of this machine are nobody's business.
    fn made(&self, experiment: &Experiment, seconds: f64) -> Made {
        let data = experiment.checksums(self.directory());
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let machine = format!("{}, {}", counted(cores, "core"), counted(rayon::current_num_threads(), "thread"));
        Made { command: command(), version: env!("CARGO_PKG_VERSION"), data, machine, seconds, pictures: vec![] }
    }

    /// The experiments to run. Of all, those that lack data are skipped; a single one that lacks data is an error.
    fn choose(&self) -> Result<(Vec<Experiment>, Vec<Skipped>)> {
        if let Some(directory) = self.data_dir.as_ref().filter(|directory| !directory.is_dir()) {
            let failure = Failure::failed(format!("{}: there is no such directory", directory.display()));
            return Err(failure.hint(still_runs("without data", |experiment| experiment.description.generated())?));
        }
        if let Some(directory) = &self.output {
            fs::create_dir_all(directory).map_err(|source| Error::io(directory, source))?;
        }
        if self.name != "all" {
            let experiment = experiments::named(&self.name)?.ok_or_else(|| unknown(&self.name))?;
            return match self.lacks(&experiment) {
                None => Ok((vec![experiment], vec![])),
                Some(reason) => Err(self.refused(reason).hint(still_runs("with what there is", |other| self.lacks(other).is_none())?)),
            };
        }
        let (mut chosen, mut skipped) = (vec![], vec![]);
        for experiment in experiments::built_in()? {
            match self.lacks(&experiment) {
                None => chosen.push(experiment),
                Some(reason) => skipped.push(Skipped { name: experiment.name, reason }),
            }
        }
        Ok((chosen, skipped))
    }

    /// Why an experiment cannot run, if it cannot.
    fn lacks(&self, experiment: &Experiment) -> Option<String> {
        if experiment.description.generated() {
            return None;
        }
        if self.generated {
            return Some("it needs data, its rows are not drawn".into());
        }
        let Some(directory) = &self.data_dir else { return Some("it needs data; name their directory with --data-dir".into()) };
        let missing: Vec<String> = experiment.missing(directory).iter().map(|path| path.display().to_string()).collect();
        (!missing.is_empty()).then(|| format!("it needs files that are not there: {}", missing.join(", ")))
    }

    /// Without a directory the flags are wrong, with one the directory is.
    fn refused(&self, reason: String) -> Failure {
        let sentence = format!("{} cannot run: {reason}", self.name);
        if self.data_dir.is_none() { Failure::usage(sentence) } else { Failure::failed(sentence) }
    }

    fn directory(&self) -> &Path {
        self.data_dir.as_deref().unwrap_or(Path::new("."))
    }
}

/// The page and the cells that are written for an experiment.
fn names(experiment: &Experiment) -> [String; 2] {
    ["md", "csv"].map(|extension| format!("{}.{extension}", experiment.name))
}

/// There is no such experiment.
fn unknown(name: &str) -> Failure {
    let names = experiments::names();
    let begin_so: Vec<&str> = names.iter().copied().filter(|known| known.starts_with(name)).collect();
    let meant = match nearest(name, names.iter().copied()) {
        Some(meant) => format!("did you mean {meant}? "),
        None if begin_so.is_empty() => String::new(),
        None => format!("did you mean one of {}? ", begin_so.join(", ")),
    };
    Failure::usage(format!("there is no experiment {name:?}"))
        .hint(format!("{meant}`kernelet reproduce list` shows all {}, `all` runs them, and FILE.toml runs your own", names.len()))
}

/// The table of an outcome, with its remarks.
fn text(outcome: &Outcome) -> String {
    let (header, rows) = outcome.table();
    let below: String = outcome.remarks().iter().map(|remark| format!("\n{remark}\n")).collect();
    format!("{}: {}\n{}\n\n{}{below}\n", outcome.name, outcome.title, outcome.paper, table(&header, &rows))
}

/// A hint that names the built-in experiments that can run.
fn still_runs(when: &str, runs: impl Fn(&Experiment) -> bool) -> Result<String> {
    let names: Vec<String> = experiments::built_in()?.into_iter().filter(|experiment| runs(experiment)).map(|it| it.name).collect();
    Ok(format!("{when} still run: {}", if names.is_empty() { "none".into() } else { names.join(", ") }))
}

/// The command line as one would type it.
fn command() -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./=,:+".contains(c);
    let typed = |argument: String| match !argument.is_empty() && argument.chars().all(plain) {
        true => argument,
        false => format!("'{}'", argument.replace('\'', "'\\''")),
    };
    let arguments = std::env::args_os().skip(1).map(|argument| typed(argument.to_string_lossy().into_owned()));
    std::iter::once("kernelet".to_string()).chain(arguments).collect::<Vec<_>>().join(" ")
}

/// The experiments there are.
#[derive(Serialize)]
struct Listed {
    experiments: Vec<Known>,
}

/// One experiment of the list.
#[derive(Serialize)]
struct Known {
    name: String,
    title: String,
    paper: String,
    needs: &'static str,
    sets: Vec<String>,
}

impl Listed {
    fn new(experiments: Vec<Experiment>) -> Self {
        let known = |Experiment { name, description }: Experiment| Known {
            name,
            needs: if description.generated() { "nothing" } else { "data" },
            title: description.title,
            paper: description.paper,
            sets: description.sets.into_iter().map(|set| set.name).collect(),
        };
        Listed { experiments: experiments.into_iter().map(known).collect() }
    }
}

impl Answer for Listed {
    fn text(&self) -> String {
        let row = |needs: &str, title: &str| format!("{needs:7}  {title}");
        let known = self.experiments.iter().map(|known| (known.name.as_str(), row(known.needs, &known.title)));
        lines(&std::iter::once(("name", row("needs", "title"))).chain(known).collect::<Vec<_>>())
    }
}

/// An experiment that was not run.
#[derive(Serialize)]
struct Skipped {
    name: String,
    reason: String,
}

/// What came of it.
#[derive(Serialize)]
struct Reproduced {
    command: String,
    version: &'static str,
    experiments: Vec<Outcome>,
    skipped: Vec<Skipped>,
    files: Vec<String>,
    seconds: f64,
}

impl Answer for Reproduced {
    fn text(&self) -> String {
        let mut text: String = self.experiments.iter().map(text).collect();
        text.extend(self.skipped.iter().map(|skipped| format!("not run: {}: {}\n", skipped.name, skipped.reason)));
        if !self.files.is_empty() {
            text += &format!("written: {}\n", self.files.join(", "));
        }
        text + &format!("time: {}\n", seconds(self.seconds))
    }
}
