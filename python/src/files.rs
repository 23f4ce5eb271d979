//! A machine as a file of one of the formats.
use std::path::Path;

use kernelet::{
    Error, Named,
    data::Points,
    machine::Machine,
    model::{
        self, Precision, c,
        fixed::{Fixed, Width},
        onnx,
    },
};
use pyo3::{exceptions::PyValueError, prelude::*};

use crate::work::refused;

/// Writes a machine in the format `to` with numbers of a precision, both by their names.
pub fn save(machine: &Machine, path: &Path, to: &str, precision: &str) -> PyResult<()> {
    let real = match precision {
        "f64" => Precision::F64,
        "f32" => Precision::F32,
        other => return Err(PyValueError::new_err(format!("precision is {other:?}, but must be 'f64' or 'f32'"))),
    };
    let saved = match to {
        "kernelet" => model::save(machine, path),
        "libsvm" => model::libsvm::save(machine, path),
        "json" => model::json::save(machine, path),
        "onnx" => onnx::save(machine, &onnx::Options { precision: real, ..Default::default() }, path).map(|_| ()),
        "javascript" => model::javascript::save(machine, path),
        "c" => save_c(machine, path, precision, None),
        _ => {
            return Err(PyValueError::new_err(format!("there is no format {to:?}; there are kernelet, libsvm, json, onnx, javascript, c")));
        }
    };
    saved.map_err(refused)
}

/// Writes C source with numbers of a precision, by its name.
pub fn save_c(machine: &Machine, path: &Path, precision: &str, rows: Option<&Points>) -> kernelet::Result<()> {
    let (name, header_name) = (c::name_of(path), c::header_name(path)?);
    let code = match (Width::named(precision), precision, rows) {
        (Some(width), _, rows) => c::fixed_code(machine, &Fixed::of(machine, width, rows)?, &name, &header_name)?,
        (None, "f64" | "f32", Some(_)) => {
            return Err(Error::request("X goes with precision=\"i16\" or \"i8\", which take the ranges of features from it"));
        }
        (None, "f64", None) => c::to_code(machine, &c::Options { name, precision: Precision::F64 }, &header_name)?,
        (None, "f32", None) => c::to_code(machine, &c::Options { name, precision: Precision::F32 }, &header_name)?,
        _ => return Err(Error::parameter("precision", format!("{precision:?}"), "'f64' or 'f32', or 'i16' or 'i8'")),
    };
    c::write(&code, path)
}
