//! What other programs make of the files written for them: a C compiler runs the C source and Node the JavaScript here; the ONNX graphs and what they must give are left in
//! the folder `targets` of cargo's temporary directory for `tests/targets/check_with_onnxruntime.py`.
#![allow(clippy::unwrap_used, clippy::print_stderr)] // All of this is tests.
#[path = "targets/c_source.rs"]
mod c_source;
#[path = "targets/cascades.rs"]
mod cascades;
#[path = "targets/cases.rs"]
mod cases;
#[path = "targets/fixed.rs"]
mod fixed;
#[path = "targets/javascript.rs"]
mod javascript;
#[path = "targets/onnx.rs"]
mod onnx;

use kernelet::{machine::Machine, model::json};

#[test]
fn every_machine_returns_from_json_as_it_was() {
    for case in cases::all() {
        let back: Machine = json::from_bytes(json::to_text(&case.machine).unwrap().as_bytes(), &case.name).unwrap();
        assert_eq!(back, case.machine, "{}", case.name);
    }
}
