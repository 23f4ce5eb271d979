//! `kernelet demo`: train, compress and measure on the built-in digits.
use std::{
    fmt::Write,
    fs,
    path::{Path, PathBuf},
    time::Instant,
};

use clap::Args;
use kernelet::{
    Error,
    compress::Goals,
    data::{Dataset, Points, Target, digits_split},
    evaluate,
    machine::Machine,
    model::{self, native, write_atomically},
    request::{Compress, Compressed, Gamma, Given, KernelChoice, Settings, Train},
};
use serde::Serialize;

use crate::{
    commands::report::{self, Page},
    failure::Result,
    files::Beside,
    layout::{count, percent, seconds, table},
    report::latency::microseconds,
    session::{Answer, Session},
};

/// As `kernelet train --tune` chooses them on the training rows, rounded.
const GAMMA: f64 = 0.0004;
const C: f64 = 10.0;

/// Vectors of the small machine.
const VECTORS: usize = 30;

/// Flags of `demo`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Demo {
    /// Write the report, the models and the data to this directory, for trying the other commands [default: the report alone, in the current directory].
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// Also replace files of the same names that kernelet did not write.
    #[arg(long)]
    pub force: bool,
}

const EXAMPLES: &str = "\
Examples:
  kernelet demo
  kernelet demo -o digits && kernelet evaluate digits/small.model digits/test.svm

The data are 1,797 handwritten digits of 8 x 8 pixels, 1,258 to train on and 539 to test.";

impl Demo {
    /// Trains on the built-in digits, compresses the machine and measures both.
    pub fn run(self, session: &Session) -> Result<()> {
        let (train, test) = digits_split();
        if let Some(directory) = &self.output {
            fs::create_dir_all(directory).map_err(|source| Error::io(directory, source))?;
        }
        self.check_files(&train, &test)?;
        let clock = Instant::now();
        let request = Train {
            kernel: KernelChoice { gamma: Some(Gamma::Given(GAMMA)), ..KernelChoice::default() },
            settings: Settings { c: Some(C), ..Settings::default() },
            ..Train::default()
        };
        let full = request.run(&train, &Given::default(), &session.watch())?.fit.machine;
        let seconds = clock.elapsed().as_secs_f64();
        session.check_cancelled()?;
        let small = compressed(&full, &train, session)?;
        let small_seconds = clock.elapsed().as_secs_f64() - seconds;
        session.check_cancelled()?;
        let mut machines = vec![Measured::new("full, plain loop", &full, &full, &test)?, Measured::new("full", &full, &full, &test)?];
        (machines[0].microseconds_one_row, machines[0].microseconds_batched) = (in_a_plain_loop(&full, &test.points), None);
        machines.push(Measured::new("compressed", &small.machine, &full, &test)?);
        let report = report::of_digits(&full, (&train, &test), self.output.as_deref(), session)?;
        let files = match &self.output {
            None => vec![],
            Some(directory) => write(directory, [&full, &small.machine], &train, &test)?,
        };
        let rows = (train.len(), test.len());
        session.answer(&Shown {
            strategy: small.strategy,
            rows: rows.0,
            test_rows: rows.1,
            gamma: GAMMA,
            c: C,
            seconds,
            small_seconds,
            machines,
            files,
            report,
        })
    }
}

impl Demo {
    /// Checks all files before anything is written.
    fn check_files(&self, train: &Dataset, test: &Dataset) -> Result<()> {
        Beside::Page.check(&report::page_of_digits(self.output.as_deref()), &[], self.force)?;
        let Some(directory) = &self.output else { return Ok(()) };
        let kinds = [Beside::Model, Beside::Model, Beside::Text(as_libsvm(train)), Beside::Text(as_libsvm(test))];
        names(directory).iter().zip(kinds).try_for_each(|(path, kind)| kind.check(path, &[], self.force))
    }
}

/// The models and the data.
fn names(directory: &Path) -> [PathBuf; 4] {
    ["digits.model", "small.model", "train.svm", "test.svm"].map(|name| directory.join(name))
}

/// The small machine, by whatever is best.
fn compressed(full: &Machine, train: &Dataset, session: &Session) -> Result<Compressed> {
    let goals = Goals { max_vectors: Some(VECTORS), ..Goals::default() };
    let request = Compress { goals, seed: session.seed, ..Compress::default() };
    Ok(request.run(full, Some(train), None, &session.watch())?)
}

/// Microseconds for a row in the loop that everybody writes first: every vector's kernel value by itself, then its coefficients.
fn in_a_plain_loop(machine: &Machine, points: &Points) -> f64 {
    let (rows, vectors) = (points.to_dense(), machine.expansion.vectors.to_dense());
    let coefficients = machine.expansion.coefficients.to_dense();
    let mut best = f64::INFINITY;
    for _ in 0..3 {
        let clock = Instant::now();
        for row in rows.iter() {
            let mut outputs = machine.offsets.clone();
            for (vector, coefficients) in vectors.iter().zip(coefficients.iter()) {
                let value = machine.expansion.kernel.eval(row, vector);
                outputs.iter_mut().zip(coefficients).for_each(|(output, b)| *output += b * value);
            }
            std::hint::black_box(&outputs);
        }
        best = best.min(clock.elapsed().as_secs_f64());
    }
    1e6 * best / points.len().max(1) as f64
}

fn write(directory: &Path, machines: [&Machine; 2], train: &Dataset, test: &Dataset) -> Result<Vec<String>> {
    let [full, small, train_file, test_file] = names(directory);
    for (machine, path) in machines.into_iter().zip([&full, &small]) {
        model::save(machine, path)?;
    }
    for (data, path) in [(train, &train_file), (test, &test_file)] {
        write_atomically(path, |writer| writer.write_all(as_libsvm(data).as_bytes()))?;
    }
    Ok([full, small, train_file, test_file].iter().map(|path| path.display().to_string()).collect())
}

/// Rows as LIBSVM text.
fn as_libsvm(data: &Dataset) -> String {
    let Target::Classes(classes) = &data.target else { return String::new() };
    let mut text = String::new();
    for (row, &code) in data.points.to_dense().iter().zip(&classes.codes) {
        let _ = write!(text, "{}", classes.labels[code as usize]);
        for (j, value) in row.iter().enumerate().filter(|(_, value)| **value != 0.0) {
            let _ = write!(text, " {}:{value}", j + 1);
        }
        text.push('\n');
    }
    text
}

/// One machine and what it costs.
#[derive(Serialize)]
struct Measured {
    name: &'static str,
    vectors: usize,
    test_error: f64,
    /// The part of the test rows on which it says what the full machine says.
    agreement: f64,
    bytes: usize,
    microseconds_one_row: f64,
    microseconds_batched: Option<f64>,
}

impl Measured {
    fn new(name: &'static str, machine: &Machine, full: &Machine, test: &Dataset) -> Result<Self> {
        let agreement = evaluate::agreement(&full.predict(&test.points)?, &machine.predict(&test.points)?);
        let (one, batched) = microseconds(machine, &test.points)?;
        Ok(Measured {
            name,
            vectors: machine.n_vectors(),
            test_error: machine.score(test)?.loss(),
            agreement: agreement.unwrap_or_default(),
            bytes: native::to_bytes(machine)?.len(),
            microseconds_one_row: one,
            microseconds_batched: Some(batched),
        })
    }
}

/// What the demo shows.
#[derive(Serialize)]
struct Shown {
    rows: usize,
    test_rows: usize,
    gamma: f64,
    c: f64,
    seconds: f64,
    small_seconds: f64,
    #[serde(rename = "way")]
    strategy: String,
    machines: Vec<Measured>,
    files: Vec<String>,
    #[serde(flatten)]
    report: Page,
}

impl Answer for Shown {
    fn text(&self) -> String {
        let mut text = format!(
            "Handwritten digits of 8 x 8 pixels: {} rows to train on, {} to test.\n\
             A Gaussian kernel with gamma {} and C {}, found by cross-validation.\n\
             The full machine was trained in {};\n\
             compress --vectors {VECTORS} compared its strategies in {} and selected {}.\n\n",
            count(self.rows),
            count(self.test_rows),
            self.gamma,
            self.c,
            seconds(self.seconds),
            seconds(self.small_seconds),
            self.strategy
        );
        let header = ["machine", "vectors", "test error", "agreement", "bytes", "us a row", "in batches"].map(String::from);
        let row = |m: &Measured| {
            let times =
                [Some(m.microseconds_one_row), m.microseconds_batched].map(|time| time.map_or(String::new(), |time| format!("{time:.1}")));
            let figures = [m.name.to_string(), count(m.vectors), percent(m.test_error), percent(m.agreement), count(m.bytes)];
            [figures.to_vec(), times.to_vec()].concat()
        };
        text += &table(&header, &self.machines.iter().map(row).collect::<Vec<_>>());
        text += "\nTimes are on one thread, in microseconds: of a single row and of one in batches.\n\n";
        text += &self.report.text();
        if let [model, small, train, test] = &self.files[..] {
            text += &format!("Written: {model}, {small},\n         {train}, {test}\n\nTry:\n");
            text += &format!(
                "  kernelet evaluate {small} {test}\n  kernelet inspect {small} --images 8x8 -o vectors.png\n  \
                 kernelet train {train} -o my.model --vectors 20 --gamma 0.0004 --c 10\n"
            );
        }
        text
    }
}
