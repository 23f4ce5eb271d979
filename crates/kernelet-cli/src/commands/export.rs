//! `kernelet export`: a machine in another format.
use std::path::{Path, PathBuf};

use clap::Args;
use kernelet::{
    machine::{Calibration, Machine},
    model::{libsvm, range::Range},
};
use serde::Serialize;

use crate::{
    failure::{Failure, Result},
    files, input,
    session::{Answer, Session},
};

/// Flags of `export`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Export {
    /// The model: native or LIBSVM text.
    pub model: String,
    /// The file to write.
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// The format: libsvm (model text) or range (the scaling alone, as svm-scale has it).
    #[arg(long, value_name = "FORMAT", value_parser = format)]
    pub to: To,
}

const EXAMPLES: &str = "\
Examples:
  kernelet export digits.model -o digits.libsvm --to libsvm
  kernelet export digits.model -o digits.range --to range

LIBSVM's format has no place for a scaling: it goes to FILE.range beside FILE, for svm-scale -r.";

/// The formats a machine can leave in.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum To {
    /// LIBSVM model text.
    Libsvm,
    /// The scaling alone, as svm-scale has it.
    Range,
}

fn format(name: &str) -> std::result::Result<To, String> {
    match name {
        "libsvm" => Ok(To::Libsvm),
        "range" => Ok(To::Range),
        "onnx" | "c" | "json" => Err(format!("{name} is not there yet; there are libsvm and range")),
        _ => Err("there are libsvm and range".into()),
    }
}

impl Export {
    /// Reads the model and writes it in the other format.
    pub fn run(self, session: &Session) -> Result<()> {
        files::check_output(&self.output, &[&self.model])?;
        let (machine, _) = input::model(&self.model)?;
        let files = match self.to {
            To::Range => write_range(&machine, &self.output).map(|()| vec![self.output.clone()]),
            To::Libsvm => {
                if matches!(machine.calibration, Some(Calibration::NormalClasses(_))) {
                    session.note("LIBSVM's format has no place for normal distributions of the classes; the probabilities are left out");
                }
                write_libsvm(machine, &self.output)
            }
        }?;
        session.answer(&Exported { to: self.to, files: files.iter().map(|file| file.display().to_string()).collect() })
    }
}

fn write_range(machine: &Machine, output: &Path) -> Result<()> {
    let scale = machine.scale.as_ref().ok_or_else(|| Failure::failed("the model has no scaling, so there is no range to write"))?;
    Ok(Range::of(scale)?.save(output)?)
}

/// The model text, and beside it the range file where the machine scales its rows.
fn write_libsvm(mut machine: Machine, output: &Path) -> Result<Vec<PathBuf>> {
    let mut files = vec![];
    if machine.scale.is_some() {
        let mut name = output.as_os_str().to_owned();
        name.push(".range");
        let without_scale = Machine { scale: None, ..machine.clone() };
        libsvm::to_text(&without_scale)?;
        write_range(&machine, Path::new(&name))?;
        files.push(name.into());
        machine = without_scale;
    }
    libsvm::save(&machine, output)?;
    files.insert(0, output.to_path_buf());
    Ok(files)
}

/// What was written.
#[derive(Serialize)]
struct Exported {
    to: To,
    files: Vec<String>,
}

impl Answer for Exported {
    fn text(&self) -> String {
        self.files.iter().map(|file| format!("{file}\n")).collect()
    }
}
