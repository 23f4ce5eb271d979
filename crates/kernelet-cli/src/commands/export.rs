//! `kernelet export`: a machine in another format.
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use kernelet::{
    machine::{Machine, cascade::Cascade},
    model::{Precision, c, json, libsvm, onnx, range::Range, write_atomically},
};
use serde::Serialize;

use crate::{
    failure::{Failure, Result},
    files::{self, Beside},
    input::{self, Loaded},
    layout::{count, counted, list},
    losses,
    session::{Answer, Session},
};

/// Flags of `export`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Export {
    /// The model: native, LIBSVM text or JSON.
    pub model: String,
    /// The file to write; for c its name ends in .c, and the header goes beside it.
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// The format.
    #[arg(long, value_name = "FORMAT", value_enum)]
    pub to: To,
    /// Precision of the numbers in onnx and c: f64 (or double), f32 (or float) [default: f64; f32 for SVM nodes].
    #[arg(long, value_name = "P", value_parser = precision)]
    pub precision: Option<Precision>,
    /// What an ONNX graph is made of [default: operators].
    #[arg(long, value_name = "STYLE", value_enum)]
    pub onnx_style: Option<Style>,
    /// What all names in C begin with [default: the name of the file].
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// Leave out features whose learned scale is at most F times the largest: a machine of fewer inputs, listed by name. For models trained with --ard or --projection.
    #[arg(long, value_name = "F")]
    pub drop_features: Option<f64>,
    /// Also replace a header or range file beside FILE that kernelet has not made.
    #[arg(long)]
    pub force: bool,
}

const EXAMPLES: &str = "\
Examples:
  kernelet export digits.model -o digits.onnx --to onnx --precision f32
  kernelet export digits.model -o digits.onnx --to onnx --onnx-style svm
  kernelet export digits.model -o digits.c --to c --precision f32      writes digits.c and digits.h
  kernelet export digits.model -o digits.libsvm --to libsvm
  kernelet export digits.model -o digits.json --to json
  kernelet export digits.model -o digits.range --to range

What the format cannot express is reported before it is lost; what would change predictions is rejected and nothing is written.
LIBSVM's format has no place for a scaling: it goes to FILE.range beside FILE, for svm-scale -r. A file of that name, or a header, that kernelet
has not made is kept and nothing is written, unless --force is given. docs/deploy.md works through each format.";

/// The formats a machine can leave in.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum To {
    /// A graph for onnxruntime and others.
    Onnx,
    /// C99 source and header.
    C,
    /// LIBSVM model text.
    Libsvm,
    /// Plain JSON, for people and scripts.
    Json,
    /// The scaling alone, as svm-scale has it.
    Range,
}

/// What an ONNX graph is made of.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Plain operators: every machine, either precision.
    Operators,
    /// SVMClassifier and SVMRegressor of ai.onnx.ml: single precision, no probabilities.
    Svm,
}

fn precision(name: &str) -> std::result::Result<Precision, String> {
    match name {
        "f32" | "float" => Ok(Precision::F32),
        "f64" | "double" => Ok(Precision::F64),
        _ => Err("there are f64 (double) and f32 (float)".into()),
    }
}

impl Export {
    /// Reads the model, says what will be lost, and writes it in the other format.
    pub fn run(self, session: &Session) -> Result<()> {
        self.check_flags()?;
        files::check_output(&self.output, &[&self.model])?;
        if self.to == To::C {
            Beside::Header.check(&c::header_path(&self.output)?, &[&self.model], self.force)?;
        }
        let mut machine = match input::loaded(&self.model)?.0 {
            Loaded::Machine(machine) => *machine,
            Loaded::Cascade(cascade) => return self.write_cascade(&cascade, session),
        };
        if let Some(least) = self.drop_features {
            let (smaller, kept) = machine.without_features(least)?;
            let names = smaller.names.clone().unwrap_or_default();
            session.note(format!("{} of {} stay: {}", kept.len(), counted(machine.dim(), "feature"), list(&names)));
            machine = smaller;
        }
        let lost = losses::of(&machine, self.to, self.precision(), self.style());
        let report_losses = || lost.iter().for_each(|loss| session.note(format!("lost in this format: {loss}")));
        let mut exported = match self.to {
            To::Range => write_range(&machine, &self.output).map(|()| Exported::new(self.to, &self.output)),
            To::Json => self.write_json(&machine),
            To::Libsvm => self.write_libsvm(machine, report_losses),
            To::C => self.write_c(&machine, report_losses),
            To::Onnx => self.write_onnx(&machine, report_losses),
        }?;
        exported.lost = lost;
        exported.talk(session);
        session.answer(&exported)
    }

    fn precision(&self) -> Precision {
        let nodes = self.style() == onnx::Style::Svm;
        self.precision.unwrap_or(if nodes { Precision::F32 } else { Precision::F64 })
    }

    fn style(&self) -> onnx::Style {
        match self.onnx_style {
            Some(Style::Svm) => onnx::Style::Svm,
            Some(Style::Operators) | None => onnx::Style::Operators,
        }
    }

    /// A flag that the format does not have is a mistake.
    fn check_flags(&self) -> Result<()> {
        let only = |flag: &str, formats: &str| Err(Failure::usage(format!("{flag} goes with --to {formats}")));
        if self.precision.is_some() && !matches!(self.to, To::C | To::Onnx) {
            return only("--precision", "c or onnx");
        }
        if self.onnx_style.is_some() && self.to != To::Onnx {
            return only("--onnx-style", "onnx");
        }
        if self.name.is_some() && self.to != To::C {
            return only("--name", "c");
        }
        Ok(())
    }

    fn write_json(&self, machine: &Machine) -> Result<Exported> {
        json::save(machine, &self.output)?;
        Ok(Exported::new(self.to, &self.output))
    }

    /// A cascade as C source; other formats have no place for machines one after another.
    fn write_cascade(&self, cascade: &Cascade, session: &Session) -> Result<()> {
        if self.to != To::C {
            return Err(Failure::failed("a cascade of machines is exported as C source alone, --to c: other formats hold one machine"));
        }
        if self.drop_features.is_some() {
            return Err(Failure::usage("--drop-features is for one machine, and this is a cascade of several"));
        }
        let code = c::cascade_to_code(cascade, &self.c_options(), &c::header_name(&self.output)?)?;
        let exported = self.written_c(&code)?;
        exported.talk(session);
        session.answer(&exported)
    }

    fn c_options(&self) -> c::Options {
        c::Options { name: self.name.clone().unwrap_or_else(|| c::name_of(&self.output)), precision: self.precision() }
    }

    fn write_c(&self, machine: &Machine, report_losses: impl Fn()) -> Result<Exported> {
        let code = c::to_code(machine, &self.c_options(), &c::header_name(&self.output)?)?;
        report_losses();
        Ok(Exported { evaluations_per_row: Some(machine.n_vectors()), ..self.written_c(&code)? })
    }

    fn written_c(&self, code: &c::Code) -> Result<Exported> {
        c::write(code, &self.output)?;
        let mut exported = Exported::new(self.to, &self.output);
        exported.files.push(c::header_path(&self.output)?.display().to_string());
        (exported.constant_bytes, exported.stack_bytes) = (Some(code.size.constants), Some(code.size.stack));
        Ok(exported)
    }

    /// The model text, and beside it the range file where the machine scales its rows.
    fn write_libsvm(&self, mut machine: Machine, report_losses: impl Fn()) -> Result<Exported> {
        let mut exported = Exported::new(To::Libsvm, &self.output);
        let scaling = machine.scale.take().map(|scale| Range::of(&scale)).transpose()?;
        libsvm::to_text(&machine)?;
        let mut range = self.output.clone().into_os_string();
        range.push(".range");
        let range = Path::new(&range);
        if scaling.is_some() {
            Beside::Range.check(range, &[&self.model], self.force)?;
        }
        report_losses();
        if let Some(scaling) = scaling {
            scaling.save(range)?;
            exported.files.push(range.display().to_string());
        }
        libsvm::save(&machine, &self.output)?;
        (exported.evaluations_per_row, exported.shared_vectors) = (Some(libsvm::evaluations(&machine)?), Some(machine.n_vectors()));
        Ok(exported)
    }

    fn write_onnx(&self, machine: &Machine, report_losses: impl Fn()) -> Result<Exported> {
        let options = onnx::Options { precision: self.precision(), style: self.style() };
        let file = onnx::to_bytes(machine, &options)?;
        report_losses();
        write_atomically(&self.output, |writer| writer.write_all(&file.bytes))?;
        let mut exported = Exported::new(self.to, &self.output);
        (exported.evaluations_per_row, exported.opset) = (Some(file.evaluations), Some(onnx::OPSET));
        Ok(exported)
    }
}

fn write_range(machine: &Machine, output: &Path) -> Result<()> {
    let scale = machine.scale.as_ref().ok_or_else(|| Failure::failed("the model has no scaling, so there is no range to write"))?;
    Ok(Range::of(scale)?.save(output)?)
}

/// What was written.
#[derive(Serialize)]
struct Exported {
    to: To,
    files: Vec<String>,
    lost: Vec<String>,
    /// Kernel evaluations that a row costs where the file is used.
    evaluations_per_row: Option<usize>,
    constant_bytes: Option<usize>,
    stack_bytes: Option<usize>,
    opset: Option<i64>,
    #[serde(skip)]
    shared_vectors: Option<usize>,
}

impl Exported {
    fn new(to: To, output: &Path) -> Self {
        Exported {
            to,
            files: vec![output.display().to_string()],
            lost: vec![],
            evaluations_per_row: None,
            constant_bytes: None,
            stack_bytes: None,
            opset: None,
            shared_vectors: None,
        }
    }

    /// What a row costs there, and what the code takes.
    fn talk(&self, session: &Session) {
        if let Some(evaluations) = self.evaluations_per_row {
            let copies = self.shared_vectors.filter(|&vectors| vectors < evaluations);
            let copies =
                copies.map_or(String::new(), |vectors| format!("; {} shared by several classes cost copies", counted(vectors, "vector")));
            session.note(format!("a row costs {} there{copies}", counted(evaluations, "kernel evaluation")));
        }
        if let (Some(constants), Some(stack)) = (self.constant_bytes, self.stack_bytes) {
            session.note(format!("flash: {} bytes of constants, and the code; RAM: {} bytes of stack", count(constants), count(stack)));
        }
        if let Some(opset) = self.opset {
            session.note(format!("the graph needs operator set {opset}; its input is row"));
        }
    }
}

impl Answer for Exported {
    fn text(&self) -> String {
        self.files.iter().map(|file| format!("{file}\n")).collect()
    }
}
