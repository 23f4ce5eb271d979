//! `kernelet report`: one HTML file that shows how small a machine can be.
use std::{
    path::{Path, PathBuf},
    time::Instant,
};

use clap::Args;
use kernelet::{
    data::Dataset,
    machine::Machine,
    model::{images, write_atomically},
};
use serde::Serialize;
use serde_json::{Value, json};

use crate::{
    failure::{Failure, Result},
    files,
    input::{self, Input},
    layout::{count, lines, seconds},
    report::{
        curves::{self, Choice, Curve, Material},
        figures::{Figures, Level, Provenance, SourceFile},
        gather::{Request, gather, gather_recorded},
        page, terminal,
    },
    session::{Answer, Session},
};

/// Flags of `report`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Report {
    /// The model to make smaller: native or LIBSVM text.
    pub model: String,
    /// Where the page is written.
    #[arg(short, long, value_name = "FILE.html", default_value = "report.html")]
    pub output: PathBuf,
    /// Rows the model was trained on, or like them; a size is chosen by them, and methods that train use their targets.
    #[arg(long, value_name = "DATA")]
    pub data: Option<String>,
    /// Rows to measure on, which nothing is chosen by.
    #[arg(long, value_name = "DATA", requires = "data")]
    pub test: Option<String>,
    /// Methods to compare, such as pursuit,fixed-point,margin [default: one that chooses vectors, one that makes new ones, one that trains].
    #[arg(long, value_name = "NAME,..", value_delimiter = ',', value_parser = Choice::named)]
    pub methods: Option<Vec<Choice>>,
    /// The size that the page shows first [default: the smallest that loses hardly anything on --data].
    #[arg(long, value_name = "M", value_parser = clap::value_parser!(u64).range(1..))]
    pub vectors: Option<u64>,
    /// The largest size [default: 128, or --vectors where that is more].
    #[arg(long, value_name = "M", value_parser = clap::value_parser!(u64).range(1..))]
    pub largest: Option<u64>,
    /// Draw vectors and rows as images of WxH pixels; none for no images [default: squares, where rows look like them].
    #[arg(long, value_name = "WxH", value_parser = images)]
    pub images: Option<Images>,
    /// The headline of the page [default: the name of the model].
    #[arg(long, value_name = "TEXT")]
    pub title: Option<String>,
    /// Flags of the reader.
    #[command(flatten)]
    pub input: Input,
}

/// Whether rows are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Images {
    /// They are not.
    None,
    /// As images of this width and height.
    Size((usize, usize)),
}

const EXAMPLES: &str = "\
Examples:
  kernelet report digits.model --data digits.svm --test digits-test.svm
  kernelet report digits.model --data digits.svm --methods pursuit,margin --largest 64 -o digits.html
  kernelet report digits.model                     the residual alone: nothing else is known without rows";

fn images(text: &str) -> std::result::Result<Images, String> {
    if text == "none" { Ok(Images::None) } else { images::size(text).map(Images::Size) }
}

impl Report {
    /// Makes machines of many sizes, measures them and writes the page.
    pub fn run(self, session: &Session) -> Result<()> {
        let inputs: Vec<&str> =
            [Some(&self.model), self.data.as_ref(), self.test.as_ref()].into_iter().flatten().map(String::as_str).collect();
        files::check_output(&self.output, &inputs)?;
        let (machine, _) = input::model(&self.model)?;
        let read = |path: &Option<String>| {
            path.as_ref().map(|path| self.input.rows_for(&machine, path, input::target_of(&machine), session)).transpose()
        };
        let (data, test) = (read(&self.data)?, read(&self.test)?);
        let clock = Instant::now();
        let request = self.request(&machine, data.as_ref(), test.as_ref(), session)?;
        let recorded = if data.is_none() && self.methods.is_none() { gather_recorded(self.again(&request))? } else { None };
        let figures = match recorded {
            Some(figures) => figures,
            None => self.measured(request, session)?,
        };
        session.check_cancelled()?;
        session.answer(&written(&figures, &self.output, clock.elapsed().as_secs_f64())?)
    }

    fn again<'a>(&self, request: &Request<'a>) -> Request<'a> {
        Request { title: request.title.clone(), notes: vec![], provenance: request.provenance.clone(), ..*request }
    }

    fn request<'a>(
        &self,
        machine: &'a Machine,
        data: Option<&'a Dataset>,
        test: Option<&'a Dataset>,
        session: &Session,
    ) -> Result<Request<'a>> {
        Ok(Request {
            title: self.title.clone().unwrap_or_else(|| self.model.clone()),
            machine,
            data,
            test,
            vectors: self.vectors.map(|vectors| vectors as usize),
            images: self.size_of_images(machine)?,
            notes: vec![],
            provenance: self.provenance(data, test, session),
        })
    }

    fn measured(&self, mut request: Request, session: &Session) -> Result<Figures> {
        let machine = request.machine;
        let largest = self.largest.map_or(curves::USUAL_LARGEST.max(request.vectors.unwrap_or(0)), |most| most as usize);
        let sizes = curves::sizes(largest.min(machine.n_vectors().max(1)), request.vectors.filter(|size| *size <= machine.n_vectors()));
        let material = Material { machine, data: request.data, sizes };
        let made = make_curves(self.methods.clone(), &material, session)?;
        request.notes = made.1;
        gather(request, &made.0, session)
    }

    fn size_of_images(&self, machine: &Machine) -> Result<Option<(usize, usize)>> {
        match self.images {
            Some(Images::None) => Ok(None),
            Some(Images::Size(_)) if machine.map().is_some() => {
                Err(Failure::usage("--images draws vectors, but those of this model are behind a linear map and are no images"))
            }
            Some(Images::Size((width, height))) if width.checked_mul(height) != Some(machine.dim()) => Err(Failure::usage(format!(
                "--images {width}x{height} has {} pixels, but the vectors have {} features",
                width.saturating_mul(height),
                machine.dim()
            ))),
            Some(Images::Size(size)) => Ok(Some(size)),
            None => Ok(machine.image_size()),
        }
    }

    fn provenance(&self, data: Option<&Dataset>, test: Option<&Dataset>, session: &Session) -> Provenance {
        let file = |what, name: &Option<String>, rows: Option<&Dataset>| {
            let source = |name: &String| SourceFile {
                what,
                name: name.clone(),
                rows: rows.map(Dataset::len),
                sha256: kernelet::data::checksum::of_file(name),
            };
            name.as_ref().map(source)
        };
        let files = [file("model", &Some(self.model.clone()), None), file("data", &self.data, data), file("test", &self.test, test)];
        provenance(self.command(session), files.into_iter().flatten().collect(), session)
    }

    /// The command as it was given, without what changes nothing on the page.
    fn command(&self, session: &Session) -> String {
        let methods = self.methods.as_ref().map(|methods| methods.iter().map(|method| method.name()).collect::<Vec<_>>().join(","));
        let images = self.images.map(|images| match images {
            Images::None => "none".into(),
            Images::Size((width, height)) => format!("{width}x{height}"),
        });
        let flags = [
            ("data", self.data.clone()),
            ("test", self.test.clone()),
            ("methods", methods),
            ("vectors", self.vectors.map(|vectors| vectors.to_string())),
            ("largest", self.largest.map(|largest| largest.to_string())),
            ("images", images),
            ("title", self.title.clone()),
            ("target", self.input.target.clone()),
            ("smooth", self.input.smooth.map(|pixels| pixels.to_string())),
            ("shape", self.input.shape.map(|(width, height)| format!("{width}x{height}"))),
            ("seed", Some(session.seed).filter(|seed| *seed != 0).map(|seed| seed.to_string())),
            ("output", Some(self.output.display().to_string())),
        ];
        let flags = flags.into_iter().filter_map(|(name, value)| value.map(|value| format!(" --{name} {}", quoted(&value))));
        format!("kernelet report {}{}", quoted(&self.model), flags.collect::<String>())
    }
}

/// A word of a command line.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./,:=+".contains(c);
    if !word.is_empty() && word.chars().all(plain) { word.into() } else { format!("'{}'", word.replace('\'', "'\\''")) }
}

/// The curves of the methods, the usual ones where none are named; a usual one that does not work here is left out with a sentence.
pub fn make_curves(named: Option<Vec<Choice>>, material: &Material, session: &Session) -> Result<(Vec<Curve>, Vec<String>)> {
    let usual = named.is_none();
    let choices = named.unwrap_or_else(|| curves::usual(material.machine, material.data));
    let (mut made, mut left_out) = (vec![], vec![]);
    for choice in choices {
        match choice.curve(material, session) {
            Ok(curve) => made.push(curve),
            Err(failure @ (Failure::Usage(_) | Failure::Failed(_))) if usual => left_out.push((choice.name(), failure)),
            Err(failure) => return Err(failure),
        }
    }
    if made.is_empty() {
        let first = left_out.into_iter().next().map(|(_, failure)| failure);
        return Err(first.unwrap_or_else(|| Failure::usage("no method is named")));
    }
    let notes: Vec<String> = left_out.iter().map(|(name, failure)| format!("{name} is left out: {}", failure.sentence())).collect();
    notes.iter().for_each(|note| session.note(note));
    Ok((made, notes))
}

/// Who made the page, where and how.
pub fn provenance(command: String, files: Vec<SourceFile>, session: &Session) -> Provenance {
    Provenance {
        command,
        version: env!("CARGO_PKG_VERSION"),
        files,
        seed: session.seed,
        threads: rayon::current_num_threads(),
        cores: std::thread::available_parallelism().map_or(1, usize::from),
    }
}

/// Writes the page, and says what is on it.
pub fn written(figures: &Figures, output: &Path, seconds: f64) -> Result<Written> {
    let page = page::page(figures)?;
    write_atomically(output, |writer| writer.write_all(page.as_bytes()))?;
    let level = |level: &Level| {
        json!({
            "vectors": level.vectors, "error": level.error, "agreement": level.agreement, "residual": level.residual,
            "bytes": level.bytes, "microseconds_one_row": level.row_us, "microseconds_batched": level.batch_us,
        })
    };
    let path = |levels: &[Level]| levels.iter().map(level).collect::<Vec<Value>>();
    let methods =
        figures.methods.iter().map(|method| json!({"method": method.name, "seconds": method.seconds, "path": path(&method.levels)}));
    let (method, chosen) = page::chosen(figures).ok_or_else(|| Failure::failed("there is no size to show"))?;
    let mut chosen = level(chosen);
    chosen["method"] = json!(method);
    Ok(Written {
        report: output.display().to_string(),
        bytes: page.len(),
        rows: figures.rows,
        full: level(&figures.full.level),
        methods: methods.collect(),
        chosen,
        seconds,
        curve: terminal::curve(figures),
        summary: page::summary(figures),
        why: figures.chosen.why.clone(),
    })
}

/// What was written.
#[derive(Serialize)]
pub struct Written {
    /// The page.
    pub report: String,
    bytes: usize,
    rows: usize,
    full: Value,
    chosen: Value,
    methods: Vec<Value>,
    seconds: f64,
    /// The small curve.
    #[serde(skip)]
    pub curve: String,
    #[serde(skip)]
    summary: String,
    #[serde(skip)]
    why: String,
}

impl Answer for Written {
    fn text(&self) -> String {
        let pairs = [
            ("chosen", self.summary.clone()),
            ("because", self.why.clone()),
            ("time", seconds(self.seconds)),
            ("report", format!("{} ({} bytes); open it in a browser", self.report, count(self.bytes))),
        ];
        format!("{}\n{}", self.curve, lines(&pairs))
    }
}

/// The largest machine of the demo's page: all of its curves take a few seconds.
const DEMO_LARGEST: usize = 64;

/// Where the page of the demo is written: in its directory, or where the program runs.
pub fn page_of_digits(directory: Option<&Path>) -> PathBuf {
    directory.map_or_else(|| PathBuf::from("kernelet-demo-report.html"), |directory| directory.join("report.html"))
}

/// The page of the demo.
pub fn of_digits(full: &Machine, (train, test): (&Dataset, &Dataset), directory: Option<&Path>, session: &Session) -> Result<Page> {
    let output = page_of_digits(directory);
    let clock = Instant::now();
    let material = Material { machine: full, data: Some(train), sizes: curves::sizes(DEMO_LARGEST, None) };
    let (curves, notes) = make_curves(None, &material, session)?;
    let request = Request {
        title: "Handwritten digits".into(),
        machine: full,
        data: Some(train),
        test: Some(test),
        vectors: None,
        images: full.image_size(),
        notes,
        provenance: provenance("kernelet demo".into(), vec![], session),
    };
    let written = written(&gather(request, &curves, session)?, &output, clock.elapsed().as_secs_f64())?;
    Ok(Page { report: written.report, report_seconds: written.seconds, curve: written.curve })
}

/// The page of the demo.
#[derive(Serialize)]
pub struct Page {
    report: String,
    report_seconds: f64,
    #[serde(skip)]
    curve: String,
}

impl Page {
    /// The small curve, and where the page is.
    pub fn text(&self) -> String {
        format!("{}\nAll sizes, with a slider: open {} in a browser.\n", self.curve, self.report)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_command_can_be_typed_again() {
        assert_eq!([quoted("a.model"), quoted("two words"), quoted("it's"), quoted("")], ["a.model", "'two words'", "'it'\\''s'", "''"]);
    }
}
