//! Times one run on one thread and prints a line of JSON; `benches/peers/peers.py` compares it with the same work of other programs.
//!
//! ```text
//! timing fit FILE NAME=VALUE..          a support vector machine with the Gaussian kernel and tolerance 1e-3; the names are learner, gamma,
//!                                       c, nu, epsilon, cache (megabytes) and multiclass, each with the library's default
//! timing rvm FILE GAMMA OFFSET          a relevance vector machine for two classes; OFFSET is true or false
//! timing pca FILE GAMMA COMPONENTS      kernel PCA with the Gaussian kernel
//! timing read FILE TIMES                LIBSVM text from memory: megabytes a second over so many readings
//! ```
//! Seconds are processor time of the working thread where the system reports it (Linux), else wall-clock time.
use std::{
    error::Error,
    fs,
    io::Write,
    time::{Duration, Instant},
};

use kernelet::{
    Named,
    data::{
        Dataset,
        read::{Format, Reading, Wanted, read, read_bytes},
    },
    kernel::Kernel,
    learn::{Components, Learner, Multiclass, NuSvc, NuSvr, OneClass, Pca, Rvm, Svc, Svr},
    machine::Machine,
    watch::Watch,
};
use serde_json::{Value, json};

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
    let line = pool.install(|| match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["fit", file, ref settings @ ..] => fit(file, &Settings::read(settings)?),
        ["rvm", file, gamma, offset] => rvm(file, gamma.parse()?, offset.parse()?),
        ["pca", file, gamma, components] => components_of(file, gamma.parse()?, components.parse()?),
        ["read", file, times] => read_text(file, times.parse()?),
        _ => Err("give: fit FILE NAME=VALUE.., rvm FILE GAMMA OFFSET, pca FILE GAMMA COMPONENTS, or read FILE TIMES".into()),
    })?;
    writeln!(std::io::stdout(), "{line}")?;
    Ok(())
}

/// What is given on the command line.
struct Settings<'a>(Vec<(&'a str, &'a str)>);

impl<'a> Settings<'a> {
    fn read(arguments: &[&'a str]) -> Outcome<Self> {
        let pair = |argument: &&'a str| argument.split_once('=').ok_or_else(|| format!("{argument} is not of the form NAME=VALUE"));
        Ok(Settings(arguments.iter().map(pair).collect::<Result<_, _>>()?))
    }

    fn word(&self, name: &str) -> Option<&'a str> {
        self.0.iter().find(|(key, _)| *key == name).map(|(_, value)| *value)
    }

    fn number(&self, name: &str, usual: f64) -> Outcome<f64> {
        Ok(self.word(name).map_or(Ok(usual), str::parse)?)
    }

    /// The learner and the target it wants.
    fn learner(&self) -> Outcome<(Box<dyn Learner>, Wanted)> {
        let kernel = Kernel::gaussian(self.number("gamma", 1.0)?);
        let (c, nu, epsilon) = (self.number("c", 1.0)?, self.number("nu", 0.5)?, self.number("epsilon", 0.1)?);
        let cache_bytes = self.number("cache", 200.0)? as usize * (1 << 20);
        let multiclass = Multiclass::named(self.word("multiclass").unwrap_or("one-vs-one")).ok_or("there is no such multiclass")?;
        Ok(match self.word("learner").unwrap_or("svc") {
            "svc" => (Box::new(Svc { kernel, c, cache_bytes, multiclass, ..Svc::default() }), Wanted::Classes),
            "nu-svc" => (Box::new(NuSvc { kernel, nu, cache_bytes, multiclass, ..NuSvc::default() }), Wanted::Classes),
            "svr" => (Box::new(Svr { kernel, c, epsilon, cache_bytes, ..Svr::default() }), Wanted::Values),
            "nu-svr" => (Box::new(NuSvr { kernel, c, nu, cache_bytes, ..NuSvr::default() }), Wanted::Values),
            "one-class" => (Box::new(OneClass { kernel, nu, cache_bytes, ..OneClass::default() }), Wanted::Nothing),
            other => return Err(format!("there is no learner {other}").into()),
        })
    }
}

fn fit(file: &str, settings: &Settings) -> Outcome<Value> {
    let (learner, wanted) = settings.learner()?;
    let data: Dataset = read(file, &Reading { wanted, ..Reading::default() })?.dataset;
    let before = peak_megabytes();
    let clock = Clock::start();
    let fit = learner.learn(&data, &Watch::none())?;
    let seconds = clock.seconds();
    let peak = peak_megabytes();
    let objective = match learner.name() {
        "svc" => dual_objective(&fit.machine)?,
        _ => fit.report.dual_objective.unwrap_or(fit.report.objective),
    };
    Ok(json!({
        "seconds": seconds,
        "objective": objective,
        "vectors": fit.machine.n_vectors(),
        "iterations": fit.report.iterations,
        "evaluations": fit.report.evaluations,
        "megabytes_before": before,
        "megabytes": peak,
    }))
}

fn rvm(file: &str, gamma: f64, offset: bool) -> Outcome<Value> {
    let data: Dataset = read(file, &Reading { wanted: Wanted::Classes, ..Reading::default() })?.dataset;
    let learner = Rvm { kernel: Kernel::gaussian(gamma), offset, ..Rvm::default() };
    let clock = Clock::start();
    let fit = learner.learn(&data, &Watch::none())?;
    let seconds = clock.seconds();
    let error = fit.machine.score(&data)?.loss();
    Ok(json!({
        "seconds": seconds,
        "evidence": -fit.report.objective,
        "vectors": fit.machine.n_vectors(),
        "iterations": fit.report.iterations,
        "status": fit.report.status.name(),
        "error": error,
    }))
}

fn components_of(file: &str, gamma: f64, count: usize) -> Outcome<Value> {
    let data: Dataset = read(file, &Reading { wanted: Wanted::Nothing, ..Reading::default() })?.dataset;
    let learner = Pca { kernel: Kernel::gaussian(gamma), components: Components::Count(count), ..Pca::default() };
    let clock = Clock::start();
    let fit = learner.learn(&data, &Watch::none())?;
    let seconds = clock.seconds();
    let variances = fit.machine.metadata.features.map(|features| features.variances).unwrap_or_default();
    Ok(json!({ "seconds": seconds, "products": fit.report.iterations, "status": fit.report.status.name(), "variances": variances }))
}

/// 1/2 a'Qa - sum a, summed over outputs, by the definition in double precision: the solver's own carries the single precision of its rows.
fn dual_objective(machine: &Machine) -> Outcome<f64> {
    let (beta, outputs) = (machine.expansion.coefficients.to_dense(), machine.outputs_for(&machine.expansion.vectors)?);
    let row = |(beta, outputs): (&[f64], &[f64])| -> f64 {
        let terms = beta.iter().zip(outputs).zip(&machine.offsets);
        terms.map(|((beta, output), offset)| 0.5 * beta * (output - offset) - beta.abs()).sum()
    };
    Ok(beta.iter().zip(outputs.iter()).map(row).sum())
}

fn read_text(file: &str, times: usize) -> Outcome<Value> {
    let bytes = fs::read(file)?;
    let how = Reading { format: Some(Format::Libsvm), wanted: Wanted::Classes, ..Reading::default() };
    let mut rows = 0;
    // All readings under one clock: a single one is as short as a few ticks of it.
    let clock = Clock::start();
    for _ in 0..times.max(1) {
        rows = read_bytes(&bytes, file, &how)?.dataset.len();
    }
    let seconds = clock.seconds();
    Ok(json!({ "megabytes_a_second": bytes.len() as f64 * times.max(1) as f64 / 1e6 / seconds, "rows": rows, "seconds": seconds }))
}

/// Measures how long the current thread works.
struct Clock {
    wall: Instant,
    processor: Option<Duration>,
}

impl Clock {
    fn start() -> Self {
        Clock { wall: Instant::now(), processor: processor_time() }
    }

    fn seconds(&self) -> f64 {
        match (self.processor, processor_time()) {
            (Some(start), Some(end)) => (end - start).as_secs_f64(),
            _ => self.wall.elapsed().as_secs_f64(),
        }
    }
}

/// Processor time of the current thread so far, where the system reports it. Its resolution is a tick of the system's clock, some milliseconds:
/// measure nothing shorter than a few tenths of a second.
fn processor_time() -> Option<Duration> {
    let text = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(Duration::from_nanos(text.split_whitespace().next()?.parse().ok()?))
}

/// The peak memory of this process so far, where the system reports it.
fn peak_megabytes() -> Option<f64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    Some(line.split_whitespace().nth(1)?.parse::<f64>().ok()? * 1024.0 / 1e6)
}
