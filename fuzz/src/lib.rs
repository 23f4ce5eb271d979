//! What the fuzz targets share: bytes are read in every way that a program reads them, and what comes out is used.
use kernelet::{
    data::Dataset,
    data::read::{Format, Reading, Wanted, read_bytes},
    machine::Machine,
    model::{self, cascade, centre_scale, range::Range},
};

/// Reads data of a format for training and for a model. Whatever is accepted is finite, and as wide as it says.
pub fn data(bytes: &[u8], format: Format) {
    for wanted in [Wanted::Nothing, Wanted::Classes, Wanted::Values] {
        for dim in [None, Some(3)] {
            let how = Reading { format: Some(format), wanted, dim, ..Reading::default() };
            if let Ok(read) = read_bytes(bytes, "fuzz", &how) {
                let points = &read.dataset.points;
                assert!(points.is_sparse() || dim.is_none_or(|dim| points.dim() == dim));
                if read.dataset.check().is_ok() {
                    again(bytes, &how, &read.dataset);
                }
            }
        }
    }
}

/// What was read for training is read the same for the model that it would make, which knows the table and the names.
fn again(bytes: &[u8], how: &Reading, first: &Dataset) {
    if how.dim.is_some() || how.wanted == Wanted::Nothing {
        return;
    }
    let (table, names, dim) = (first.table.clone(), first.names.clone(), Some(first.points.dim()));
    let how = Reading { table, names, dim, ..how.clone() };
    let read = read_bytes(bytes, "fuzz", &how).unwrap_or_else(|error| panic!("rows that were trained on are refused: {error}"));
    assert_eq!(read.dataset.points, first.points);
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

/// Reads a cascade of machines. What is accepted is written and read back the same.
pub fn cascade(bytes: &[u8]) {
    if let Ok(cascade) = cascade::from_bytes(bytes, "fuzz") {
        let written = cascade::to_bytes(&cascade).unwrap();
        assert_eq!(cascade::from_bytes(&written, "written").unwrap(), cascade);
    }
}

/// Reads a range file of svm-scale, and a scale file of e1071.
pub fn scaling(bytes: &[u8]) {
    if let Ok(range) = Range::from_bytes(bytes, "fuzz") {
        let _ = range.to_scale(range.dim());
    }
    let _ = centre_scale::from_bytes(bytes, "fuzz");
}
