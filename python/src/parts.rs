//! A machine taken apart and put together: the arrays, and everything else as JSON text.
use kernelet::{
    data::Scale,
    kernel::Kernel,
    machine::{Calibration, Coefficients, Decision, Expansion, Machine, Metadata, Pairwise},
};
use numpy::PyReadonlyArray2;
use pyo3::{exceptions::PyValueError, prelude::*};
use serde::Deserialize;
use serde_json::json;

use crate::{
    arrays::{Rows, matrix},
    work::refused,
};

/// Everything of a machine but its arrays.
#[derive(Deserialize)]
struct About {
    kernel: Kernel,
    decision: Decision,
    scale: Option<Scale>,
    names: Option<Vec<String>>,
    calibration: Option<Calibration>,
    #[serde(default, rename = "facts")]
    metadata: Metadata,
    starts: Option<Vec<usize>>,
}

/// The machine of these parts; see [`of`].
pub fn joined(about: &str, vectors: &Rows, coefficients: &PyReadonlyArray2<f64>, offsets: Vec<f64>) -> PyResult<Machine> {
    let about: About =
        serde_json::from_str(about).map_err(|error| PyValueError::new_err(format!("these are no parts of a machine: {error}")))?;
    let values = matrix(coefficients)?;
    let coefficients = match about.starts {
        None => Coefficients::Dense(values),
        Some(starts) => Coefficients::Pairwise(Pairwise { starts, values }),
    };
    let expansion = Expansion { kernel: about.kernel, vectors: vectors.to_points()?, coefficients };
    let About { decision, scale, names, calibration, metadata, .. } = about;
    let machine = Machine { expansion, offsets, decision, scale, names, calibration, metadata };
    machine.check().map_err(refused)?;
    Ok(machine)
}

/// Everything but the arrays, as JSON text.
pub fn of(machine: &Machine) -> String {
    let Machine { expansion, decision, metadata, scale, names, calibration, .. } = machine;
    let starts = match &expansion.coefficients {
        Coefficients::Dense(_) => None,
        Coefficients::Pairwise(pairwise) => Some(&pairwise.starts),
    };
    let about = json!({
        "kernel": expansion.kernel, "decision": decision, "facts": metadata, "scale": scale, "names": names, "calibration": calibration,
        "starts": starts,
    });
    about.to_string()
}
