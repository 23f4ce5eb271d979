//! `kernelet export`: a machine in another format.
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use kernelet::{
    machine::{Machine, cascade::Cascade},
    model::{self, Precision, c, centre_scale, javascript, json, libsvm, onnx, range::Range, write_atomically, write_together},
};
use serde::Serialize;

use super::exported::Exported;
use crate::{
    failure::{Failure, Result},
    files::{self, Beside},
    input::{self, Input, Loaded},
    layout::{counted, list},
    losses,
    quantised::{self, Chosen, Numbers, Source, Whole},
    session::Session,
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
    /// The format [default: by the extension of FILE: .onnx, .c, .js, .json, .libsvm, .range].
    #[arg(long, value_name = "FORMAT", value_enum)]
    pub to: Option<To>,
    /// Numbers in onnx and c: f64 (or double), f32 (or float); for c also i16 and i8, whole numbers for devices without floating point [default: f64; f32 for SVM nodes].
    #[arg(long, value_name = "P", value_parser = Numbers::named)]
    pub precision: Option<Numbers>,
    /// Rows with targets, for c: i16 and i8 take the ranges of features from them, and what the rounding costs is measured on them.
    #[arg(long, value_name = "DATA")]
    pub data: Option<String>,
    /// For c: the smallest of i8, i16, f32 and f64 whose error (mse for regression) rises by at most L on --data.
    #[arg(long, value_name = "L", requires = "data", conflicts_with = "precision", allow_negative_numbers = true)]
    pub max_loss: Option<f64>,
    /// What an ONNX graph is made of [default: operators].
    #[arg(long, value_name = "STYLE", value_enum)]
    pub onnx_style: Option<Style>,
    /// What all names in C begin with [default: the name of the file].
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// Leave out features whose learned scale is at most F times the largest: a machine of fewer inputs, listed by name. For models trained with --ard or --projection.
    #[arg(long, value_name = "F")]
    pub drop_features: Option<f64>,
    /// Scale rows by the scale file that e1071's write.svm wrote beside the model, or by a range file of svm-scale (with --to native).
    #[arg(long, value_name = "FILE")]
    pub scale_file: Option<String>,
    /// The scale file of the target that write.svm wrote beside a regression model (with --to native).
    #[arg(long, value_name = "FILE")]
    pub target_scale_file: Option<String>,
    /// Also replace a header or range file beside FILE that kernelet has not made.
    #[arg(long)]
    pub force: bool,
    /// Flags of the reader.
    #[command(flatten)]
    pub input: Input,
}

const EXAMPLES: &str = "\
Examples:
  kernelet export digits.model -o digits.onnx --precision f32
  kernelet export digits.model -o digits.onnx --to onnx --onnx-style svm
  kernelet export digits.model -o digits.c --to c --precision f32      writes digits.c and digits.h
  kernelet export digits.model -o digits.c --to c --precision i8 --data digits-test.svm
  kernelet export digits.model -o digits.c --to c --max-loss 0.003 --data digits-test.svm
  kernelet export digits.model -o digits.libsvm
  kernelet export digits.model -o digits.js
  kernelet export digits.model -o digits.json
  kernelet export digits.model -o digits.range
  kernelet export iris.svm -o iris.model --to native --scale-file iris.scale      what e1071's write.svm wrote in R

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
    /// One module of JavaScript without dependencies, for browsers and Node.
    Javascript,
    /// Plain JSON, for people and scripts.
    Json,
    /// The scaling alone, as svm-scale has it.
    Range,
    /// kernelet's own format, for a model of another with its scale files.
    Native,
}

impl To {
    /// The format that the extension of a name stands for.
    fn of_name(path: &Path) -> Option<To> {
        match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "onnx" => Some(To::Onnx),
            "c" => Some(To::C),
            "js" | "mjs" => Some(To::Javascript),
            "json" => Some(To::Json),
            "libsvm" => Some(To::Libsvm),
            "range" => Some(To::Range),
            _ => None,
        }
    }
}

/// What an ONNX graph is made of.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Plain operators: every machine, either precision.
    Operators,
    /// SVMClassifier and SVMRegressor of ai.onnx.ml: single precision, no probabilities.
    Svm,
}

impl Export {
    /// Reads the model, says what will be lost, and writes it in the other format.
    pub fn run(self, session: &Session) -> Result<()> {
        self.check_flags()?;
        files::check_output(&self.output, &self.inputs())?;
        if self.to() == To::C {
            Beside::Header.check(&c::header_path(&self.output)?, &self.inputs(), self.force)?;
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
        let chosen = self.chosen(Source::Machine(&machine), session)?;
        let lost = losses::of(&machine, self.to(), chosen.numbers, self.style());
        let report_losses = || lost.iter().for_each(|loss| session.note(format!("lost in this format: {loss}")));
        let mut exported = match self.to() {
            To::Range => write_range(&machine, &self.output).map(|()| Exported::new(self.to(), &self.output)),
            To::Native => self.write_native(machine),
            To::Json => self.write_text(|path| json::save(&machine, path), || {}),
            To::Javascript => self.write_text(|path| javascript::save(&machine, path), report_losses),
            To::Libsvm => self.write_libsvm(machine, report_losses),
            To::C => self.write_c(Source::Machine(&machine), &chosen, report_losses),
            To::Onnx => self.write_onnx(&machine, report_losses),
        }?;
        exported.lost = lost;
        self.finish(exported, chosen, session)
    }

    /// Says what the type of the numbers cost, and what was written.
    fn finish(&self, mut exported: Exported, chosen: Chosen, session: &Session) -> Result<()> {
        if let (To::C, Some(loss)) = (self.to(), &chosen.loss) {
            session.note(loss.sentence(chosen.numbers));
        }
        (exported.precision, exported.loss) = (matches!(self.to(), To::C | To::Onnx).then(|| chosen.numbers.name()), chosen.loss);
        exported.talk(session);
        session.answer(&exported)
    }

    /// The precision of floating point.
    fn precision(&self) -> Precision {
        match (self.precision, self.style()) {
            (Some(Numbers::Real(precision)), _) => precision,
            (_, onnx::Style::Svm) => Precision::F32,
            (_, onnx::Style::Operators) => Precision::F64,
        }
    }

    /// The machine in the type that is asked for, or the smallest whose loss is allowed.
    fn chosen(&self, source: Source, session: &Session) -> Result<Chosen> {
        let numbers = self.precision.unwrap_or(Numbers::Real(self.precision()));
        let reading = match source {
            Source::Machine(machine) => Some(machine),
            Source::Cascade(cascade) => cascade.stages.first().map(|stage| &stage.machine),
        };
        let Some(machine) = reading.filter(|_| self.to() == To::C) else { return Ok(Chosen { numbers, whole: None, loss: None }) };
        let wanted = input::target_of(machine);
        let data = self.data.as_ref().map(|path| self.input.rows_for(machine, path, wanted, session)).transpose()?;
        match (self.max_loss, &data) {
            (Some(most), Some(data)) => quantised::smallest(source, most, data),
            _ => {
                if self.is_whole() && data.is_none() {
                    session
                        .note("the ranges of the features are guessed from the vectors; --data takes them from rows and measures the loss");
                }
                quantised::in_type(source, numbers, data.as_ref())
            }
        }
    }

    fn style(&self) -> onnx::Style {
        match self.onnx_style {
            Some(Style::Svm) => onnx::Style::Svm,
            Some(Style::Operators) | None => onnx::Style::Operators,
        }
    }

    /// The format that is given, else that of the name of the file; [`check_flags`](Self::check_flags) has rejected a name without one.
    fn to(&self) -> To {
        self.to.or_else(|| To::of_name(&self.output)).unwrap_or(To::Native)
    }

    /// A flag that the format does not have is a mistake.
    fn check_flags(&self) -> Result<()> {
        if self.to.or_else(|| To::of_name(&self.output)).is_none() {
            let names: Vec<String> = To::value_variants().iter().filter_map(|to| Some(to.to_possible_value()?.get_name().into())).collect();
            return Err(Failure::usage(format!("the name {} does not say the format", self.output.display()))
                .hint(format!("give it with --to: {}", names.join(", "))));
        }
        let only = |flag: &str, formats: &str| Err(Failure::usage(format!("{flag} goes with --to {formats}")));
        if self.precision.is_some() && !matches!(self.to(), To::C | To::Onnx) {
            return only("--precision", "c or onnx");
        }
        if self.is_whole() && self.to() != To::C {
            return only("--precision i16 or i8", "c");
        }
        if self.data.is_some() && (self.to() != To::C || self.max_loss.is_none() && self.precision() == Precision::F64 && !self.is_whole())
        {
            return only("--data", "c and --precision f32, i16 or i8, or --max-loss");
        }
        if (self.scale_file.is_some() || self.target_scale_file.is_some()) && self.to() != To::Native {
            return only("--scale-file and --target-scale-file", "native");
        }
        if self.onnx_style.is_some() && self.to() != To::Onnx {
            return only("--onnx-style", "onnx");
        }
        if self.name.is_some() && self.to() != To::C {
            return only("--name", "c");
        }
        Ok(())
    }

    fn is_whole(&self) -> bool {
        matches!(self.precision, Some(Numbers::Whole(_)))
    }

    /// All files that are read.
    fn inputs(&self) -> Vec<&str> {
        let read = [Some(&self.model), self.data.as_ref(), self.scale_file.as_ref(), self.target_scale_file.as_ref()];
        read.into_iter().flatten().map(String::as_str).collect()
    }

    /// The native file, with the scalings of other files folded in.
    fn write_native(&self, mut machine: Machine) -> Result<Exported> {
        if let Some(path) = &self.scale_file {
            let bytes = kernelet::data::read::read_whole(path)?;
            let scale = match bytes.first() {
                Some(b'x' | b'y') => Range::from_bytes(&bytes, path)?.to_scale(machine.dim()),
                _ => centre_scale::from_bytes(&bytes, path),
            }?;
            centre_scale::scale_rows(&mut machine, scale).map_err(|error| Failure::in_file(path, error))?;
        }
        if let Some(path) = &self.target_scale_file {
            let scale = centre_scale::load(path)?;
            centre_scale::unscale_target(&mut machine, &scale).map_err(|error| Failure::in_file(path, error))?;
        }
        model::save(&machine, &self.output)?;
        Ok(Exported::new(self.to(), &self.output))
    }

    fn write_text(&self, save: impl Fn(&Path) -> kernelet::Result<()>, report_losses: impl Fn()) -> Result<Exported> {
        report_losses();
        save(&self.output)?;
        Ok(Exported::new(self.to(), &self.output))
    }

    /// A cascade as C source; other formats have no place for machines one after another.
    fn write_cascade(&self, cascade: &Cascade, session: &Session) -> Result<()> {
        if self.to() != To::C {
            return Err(Failure::failed("a cascade of machines is exported as C source alone, --to c: other formats hold one machine"));
        }
        if self.drop_features.is_some() {
            return Err(Failure::usage("--drop-features is for one machine, and this is a cascade of several"));
        }
        let source = Source::Cascade(cascade);
        let chosen = self.chosen(source, session)?;
        let exported = self.write_c(source, &chosen, || {})?;
        self.finish(exported, chosen, session)
    }

    fn write_c(&self, source: Source, chosen: &Chosen, report_losses: impl Fn()) -> Result<Exported> {
        let name = self.name.clone().unwrap_or_else(|| c::name_of(&self.output));
        let header_name = c::header_name(&self.output)?;
        let code = match (source, &chosen.whole, chosen.numbers) {
            (Source::Machine(machine), Some(Whole::Machine(fixed)), _) => c::fixed_code(machine, fixed, &name, &header_name),
            (Source::Cascade(cascade), Some(Whole::Cascade(fixed)), _) => c::fixed_cascade_to_code(cascade, fixed, &name, &header_name),
            (Source::Machine(machine), None, Numbers::Real(precision)) => {
                c::to_code(machine, &c::Options { name, precision }, &header_name)
            }
            (Source::Cascade(cascade), None, Numbers::Real(precision)) => {
                c::cascade_to_code(cascade, &c::Options { name, precision }, &header_name)
            }
            _ => Err(kernelet::Error::data("the machine was not quantised")),
        }?;
        report_losses();
        let vectors = match source {
            Source::Machine(machine) => Some(machine.n_vectors()),
            Source::Cascade(_) => None,
        };
        Ok(Exported { evaluations_per_row: vectors, ..self.written_c(&code)? })
    }

    fn written_c(&self, code: &c::Code) -> Result<Exported> {
        c::write(code, &self.output)?;
        let mut exported = Exported::new(self.to(), &self.output);
        exported.files.push(c::header_path(&self.output)?.display().to_string());
        (exported.constant_bytes, exported.stack_bytes) = (Some(code.size.constants), Some(code.size.stack));
        Ok(exported)
    }

    /// The model text, and beside it the range file where the machine scales its rows.
    fn write_libsvm(&self, mut machine: Machine, report_losses: impl Fn()) -> Result<Exported> {
        let mut exported = Exported::new(To::Libsvm, &self.output);
        let scaling = machine.scale.take().map(|scale| Range::of(&scale)).transpose()?;
        let text = libsvm::to_text(&machine)?;
        let mut range = self.output.clone().into_os_string();
        range.push(".range");
        let range = Path::new(&range);
        if scaling.is_some() {
            Beside::Range.check(range, &self.inputs(), self.force)?;
        }
        report_losses();
        let scaling = scaling.map(|scaling| scaling.to_text());
        let mut files: Vec<(&Path, &[u8])> = vec![(&self.output, text.as_bytes())];
        if let Some(scaling) = &scaling {
            files.insert(0, (range, scaling.as_bytes()));
            exported.files.push(range.display().to_string());
        }
        write_together(&files)?;
        (exported.evaluations_per_row, exported.shared_vectors) = (Some(libsvm::evaluations(&machine)?), Some(machine.n_vectors()));
        Ok(exported)
    }

    fn write_onnx(&self, machine: &Machine, report_losses: impl Fn()) -> Result<Exported> {
        let options = onnx::Options { precision: self.precision(), style: self.style() };
        let file = onnx::to_bytes(machine, &options)?;
        report_losses();
        write_atomically(&self.output, |writer| writer.write_all(&file.bytes))?;
        let mut exported = Exported::new(self.to(), &self.output);
        (exported.evaluations_per_row, exported.opset) = (Some(file.evaluations), Some(onnx::OPSET));
        Ok(exported)
    }
}

fn write_range(machine: &Machine, output: &Path) -> Result<()> {
    let scale = machine.scale.as_ref().ok_or_else(|| Failure::failed("the model has no scaling, so there is no range to write"))?;
    Ok(Range::of(scale)?.save(output)?)
}
