//! What the fuzz targets share: bytes are read in every way that a program reads them, and what comes out is used.
use kernelet::{
    data::read::{Format, Reading, Wanted, read_bytes},
    machine::Machine,
    model,
};

/// Reads data of a format for training and for a model. Whatever is accepted is finite, and as wide as it says.
pub fn data(bytes: &[u8], format: Format) {
    for wanted in [Wanted::Nothing, Wanted::Classes, Wanted::Values] {
        for dim in [None, Some(3)] {
            let how = Reading { format: Some(format), wanted, dim, ..Reading::default() };
            if let Ok(read) = read_bytes(bytes, "fuzz", &how) {
                let points = &read.dataset.points;
                assert!(points.is_sparse() || dim.is_none_or(|dim| points.dim() == dim));
                let _ = read.dataset.check();
            }
        }
    }
}

/// Reads a model. What is accepted is written, read back the same, and predicts finite numbers or says which row it cannot.
pub fn machine(bytes: &[u8]) {
    let Ok(machine) = model::load_bytes(bytes, "fuzz") else { return };
    let written = model::native::to_bytes(&machine).unwrap();
    assert_eq!(model::load_bytes(&written, "written").unwrap(), machine);
    exported(&machine);
    let vectors = machine.expansion.vectors.clone();
    if machine.map().is_none() && vectors.len() < 100 {
        let _ = machine.predict(&vectors);
    }
}

/// Every export is written or refused.
pub fn exported(machine: &Machine) {
    let _ = model::libsvm::to_text(machine);
    let _ = model::json::to_text(machine);
    if machine.n_vectors() * machine.dim() < 10_000 {
        let _ = model::onnx::to_bytes(machine, &Default::default());
    }
}
