//! A machine as a file to download.
use kernelet::{
    Result,
    machine::Machine,
    model::{Precision, c, javascript, json, libsvm, native, onnx},
};
use serde::Deserialize;
use serde_json::{Value, json};

/// The formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum To {
    /// kernelet's own, which loses nothing.
    Native,
    /// Plain JSON.
    Json,
    /// A module of JavaScript.
    Javascript,
    /// C99 source with double precision.
    C,
    /// The header that the C source includes.
    Header,
    /// A graph for onnxruntime.
    Onnx,
    /// LIBSVM model text.
    Libsvm,
}

/// The name of the file and its content.
pub(crate) fn file(machine: &Machine, to: To, name: &str) -> Result<(Value, Vec<u8>)> {
    let name = identifier(name);
    let (extension, bytes) = match to {
        To::Native => ("model", native::to_bytes(machine)?),
        To::Json => ("json", json::to_text(machine)?.into_bytes()),
        To::Javascript => ("js", javascript::to_text(machine)?.into_bytes()),
        To::C => ("c", code(machine, &name)?.source.into_bytes()),
        To::Header => ("h", code(machine, &name)?.header.into_bytes()),
        To::Onnx => ("onnx", onnx::to_bytes(machine, &onnx::Options::default())?.bytes),
        To::Libsvm => ("libsvm", libsvm::to_text(machine)?.into_bytes()),
    };
    Ok((json!({ "name": format!("{name}.{extension}") }), bytes))
}

fn code(machine: &Machine, name: &str) -> Result<c::Code> {
    c::to_code(machine, &c::Options { name: name.into(), precision: Precision::F64 }, &format!("{name}.h"))
}

/// A name that C takes.
fn identifier(name: &str) -> String {
    let plain: String = crate::open::stem(name).chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    if plain.starts_with(|c: char| c.is_ascii_digit()) { format!("model_{plain}") } else { plain }
}
