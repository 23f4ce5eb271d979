//! A machine as C source: one header and one source of C99 that allocate nothing and call nothing but exp.
//!
//! The numbers are `static const` arrays, so that they stay in flash; the code over them is loops, so that neither its size nor the time to
//! compile it grows with the machine. Labels, scaling and probabilities are inside: a row goes in as it was measured. Distances are sums of
//! squared differences, which lose no digits. A square root is Newton's iteration and tanh comes from exp, so that libm is asked for `exp`
//! (or `expf`) alone; with the macro `NAME_BUILTIN_EXP` not even for that. With `NAME_SELF_TEST` the source has a `main` that compares rows
//! with what was expected when the file was written.
//!
//! In the templates of this folder `@` stands for `name_` and `$` for `NAME_`. Cost of writing: one pass over the numbers.
mod calibrate;
mod cascade;
mod decide;
mod fixed;
mod fixed_cascade;
mod fixed_kernel;
mod kernel;
mod numbers;
mod self_test;
mod source;

pub use cascade::{cascade_to_code, fixed_cascade_to_code};
pub use fixed::fixed_code;

use std::path::Path;

use super::{
    target::{Labels, Precision, Uncertainty, weights},
    write_together,
};
use crate::{
    Error, Result,
    linalg::Matrix,
    machine::{Decision, Machine},
};

/// How the source is written.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Begins every name in the files; an identifier of C.
    pub name: String,
    /// `float` or `double`.
    pub precision: Precision,
}

/// The two files.
#[derive(Clone, Debug, PartialEq)]
pub struct Code {
    /// What other files include; its name is the source's with `.h`.
    pub header: String,
    /// The machine.
    pub source: String,
    /// What it takes on the device.
    pub size: Size,
}

/// What a machine takes on a device, code aside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Size {
    /// Bytes of constants, which stay in flash.
    pub constants: usize,
    /// Bytes of arrays on the stack while it predicts; there is no other memory.
    pub stack: usize,
}

/// The header and the source, which includes the header as `NAME.h` under the name `header_name`.
pub fn to_code(machine: &Machine, options: &Options, header_name: &str) -> Result<Code> {
    checked_name(machine, &options.name)?;
    options.precision.check(machine)?;
    let parts = Parts::of(machine, options.precision)?;
    Ok(source::assemble(&parts, options, header_name))
}

/// Checks the machine, and that names can begin like this.
fn checked_name(machine: &Machine, name: &str) -> Result<()> {
    machine.check()?;
    if !is_identifier(name) {
        return Err(Error::parameter("name", format!("{name:?}"), "letters, digits and _, with no digit first, and no word of C"));
    }
    match machine.dim() {
        0 => Err(unsupported("a machine without features", "there is nothing to compute")),
        _ => Ok(()),
    }
}

/// Writes `FILE.c` and `FILE.h` beside it, both whole or none. `path` must end in `.c`.
pub fn save(machine: &Machine, options: &Options, path: impl AsRef<Path>) -> Result<Size> {
    let path = path.as_ref();
    let code = to_code(machine, options, &header_name(path)?)?;
    write(&code, path)?;
    Ok(code.size)
}

/// Writes code that was made for this path.
pub fn write(code: &Code, path: impl AsRef<Path>) -> Result<()> {
    let path = path.as_ref();
    write_together(&[(&header_path(path)?, code.header.as_bytes()), (path, code.source.as_bytes())])
}

/// The name under which a source includes its header.
pub fn header_name(source: &Path) -> Result<String> {
    Ok(header_path(source)?.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default())
}

/// Where the header of a source goes: beside it, with the ending `.h`.
pub fn header_path(source: &Path) -> Result<std::path::PathBuf> {
    match source.extension().is_some_and(|extension| extension == "c") {
        true => Ok(source.with_extension("h")),
        false => Err(Error::parameter("the output", source.display(), "a name that ends in .c; the header goes beside it, ending in .h")),
    }
}

/// A name for the code from that of its file: what C does not allow becomes _.
pub fn name_of(source: &Path) -> String {
    let stem = source.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let name: String = stem.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    // Names that begin with an underscore belong to the compiler.
    if is_identifier(&name) && !name.starts_with('_') { name } else { format!("m_{name}") }
}

fn unsupported(with: impl Into<String>, instead: impl Into<String>) -> Error {
    Error::Unsupported { method: "C source", with: with.into(), instead: instead.into() }
}

/// The words of C99.
const WORDS: &str = " auto break case char const continue default do double else enum extern float for goto if inline int long register \
    restrict return short signed sizeof static struct switch typedef union unsigned void volatile while _Bool _Complex _Imaginary ";

fn is_identifier(name: &str) -> bool {
    let allowed = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    allowed && !name.is_empty() && !name.starts_with(|c: char| c.is_ascii_digit()) && !WORDS.contains(&format!(" {name} "))
}

/// A machine with what its code needs worked out.
struct Parts<'a> {
    machine: &'a Machine,
    precision: Precision,
    /// Dense, one row each; empty where there are weights.
    vectors: Matrix,
    weights: Option<Matrix>,
    labels: Option<Labels>,
    uncertainty: Uncertainty<'a>,
    /// How C calls an output of 1.
    one: String,
}

impl<'a> Parts<'a> {
    fn of(machine: &'a Machine, precision: Precision) -> Result<Self> {
        kernel::check(&machine.expansion.kernel)?;
        let uncertainty = Uncertainty::of(machine);
        let weights = if uncertainty.reads_rows() { None } else { weights(&machine.expansion) };
        let vectors = if weights.is_some() { Matrix::zeros(0, machine.dim()) } else { machine.expansion.vectors.to_dense() };
        Ok(Parts { machine, precision, vectors, weights, labels: labels(&machine.decision)?, uncertainty, one: "1".into() })
    }

    /// How many numbers a row has when the kernel sees it, as C calls it.
    fn width(&self) -> &'static str {
        if self.machine.map().is_some() { "$MAPPED" } else { "$FEATURES" }
    }

    /// Whether anything depends on the row.
    fn reads_rows(&self) -> bool {
        self.weights.is_some() || self.vectors.rows() > 0 || self.uncertainty.reads_rows()
    }

    /// How C calls a number.
    fn real(&self) -> &'static str {
        match self.precision {
            Precision::F32 => "float",
            Precision::F64 => "double",
        }
    }
}

/// The labels where classes are predicted: whole numbers of 32 bits, or words that can be part of a name.
fn labels(decision: &Decision) -> Result<Option<Labels>> {
    if matches!(decision, Decision::Values | Decision::Ratio | Decision::Features) {
        return Ok(None);
    }
    let labels = Labels::of(&decision.labels(), f64::from(i32::MAX));
    if let Labels::Texts(texts) = &labels {
        let word = |text: &&String| text.is_empty() || !text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if let Some(text) = texts.iter().find(word) {
            let instead =
                "labels become names of constants: letters, digits and _, or all of them whole numbers of 32 bits; rename the classes";
            return Err(unsupported(format!("the label {text:?}"), instead));
        }
    }
    match labels.distinct() {
        true => Ok(Some(labels)),
        false => Err(unsupported("two classes of the same label", "give each class a label of its own")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_from_files_and_must_be_identifiers() {
        for (path, name) in [("a/my-model.c", "my_model"), ("30.c", "m_30"), ("int.c", "m_int"), (".c", "m__c")] {
            assert_eq!(name_of(Path::new(path)), name);
        }
        assert!(["a", "_b2", "Int"].iter().all(|name| is_identifier(name)));
        assert!(["", "2a", "a-b", "while", "ä"].iter().all(|name| !is_identifier(name)));
        assert_eq!(header_path(Path::new("a/b.c")).unwrap(), Path::new("a/b.h"));
        assert!(header_path(Path::new("a/b.txt")).unwrap_err().to_string().contains("ends in .c"));
    }

    #[test]
    fn labels_that_are_no_names_are_rejected() {
        let decision = |negative: &str, positive: &str| Decision::Sign {
            negative: crate::data::Label::new(negative),
            positive: crate::data::Label::new(positive),
        };
        assert_eq!(labels(&decision("-1", "+1")).unwrap(), Some(Labels::Numbers(vec![-1, 1])));
        assert_eq!(labels(&decision("cat", "2")).unwrap(), Some(Labels::Texts(vec!["cat".into(), "2".into()])));
        for bad in ["a cat", "0.5", "", "-x", "Käse"] {
            let error = labels(&decision(bad, "b")).unwrap_err().to_string();
            assert!(error.contains(&format!("the label {bad:?}")), "{error}");
        }
        assert!(labels(&decision("a", "a")).is_err());
        assert_eq!(labels(&Decision::Values).unwrap(), None);
    }
}
