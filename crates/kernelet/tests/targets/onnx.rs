//! The ONNX graphs of every case, left with what they must give for `check_with_onnxruntime.py`.
use std::{fs, path::Path};

use kernelet::{
    data::Points,
    machine::{Decision, Machine},
    model::{
        Precision,
        onnx::{self, Options, Style},
    },
};
use serde_json::{Value, json};

use crate::cases;

const ROWS: usize = 60;

/// Everything the machine says about the rows, under the names of the graph's outputs.
fn expected(machine: &Machine, rows: &kernelet::linalg::Matrix) -> Value {
    let points = Points::from(rows.clone());
    let outputs = machine.outputs_for(&points).unwrap();
    let list = |matrix: &kernelet::linalg::Matrix| matrix.iter().map(<[f64]>::to_vec).collect::<Vec<_>>();
    let mut want = json!({});
    let labels = machine.decision.labels();
    match machine.decision {
        Decision::Features => want["feature"] = json!(list(&outputs)),
        Decision::Values | Decision::Ratio => {
            want["value"] = json!(outputs.iter().map(|row| machine.decision.numbers(row)).collect::<Vec<_>>());
        }
        _ => {
            want["decision"] = json!(list(&outputs));
            want["label"] = json!(outputs.iter().map(|row| labels[machine.decision.class(row)].to_string()).collect::<Vec<_>>());
        }
    }
    if machine.check_probabilities().is_ok() {
        want["probability"] = json!(list(&machine.probabilities(&outputs).unwrap()));
    }
    if let Ok(deviations) = machine.deviations(&points) {
        want["deviation"] = json!(list(&deviations));
    }
    want
}

#[test]
fn the_graphs_of_every_machine_are_left_for_onnxruntime() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("targets");
    fs::create_dir_all(&folder).unwrap();
    let (mut left, mut svm) = (vec![], 0);
    for case in cases::all() {
        let rows = cases::rows(&case.machine, ROWS);
        let want = expected(&case.machine, &rows);
        for (precision, style, kind) in
            [(Precision::F64, Style::Operators, "f64"), (Precision::F32, Style::Operators, "f32"), (Precision::F32, Style::Svm, "svm")]
        {
            let file = format!("{}.{kind}.onnx", case.name);
            match onnx::save(&case.machine, &Options { precision, style }, folder.join(&file)) {
                Err(error) => assert!(style == Style::Svm && error.to_string().contains("--onnx-style operators"), "{error}"),
                Ok(evaluations) => {
                    svm += usize::from(style == Style::Svm);
                    assert!(style == Style::Svm || evaluations <= case.machine.n_vectors());
                    left.push(json!({ "file": file, "kind": kind, "rows": rows.iter().collect::<Vec<_>>(), "want": want }));
                }
            }
        }
    }
    assert!(svm > 10, "{svm}");
    fs::write(folder.join("cases.json"), json!(left).to_string()).unwrap();
}

#[test]
fn what_the_nodes_cannot_express_is_rejected_with_an_error() {
    for case in cases::all() {
        let double = onnx::to_bytes(&case.machine, &Options { precision: Precision::F64, style: Style::Svm });
        assert!(double.unwrap_err().to_string().contains("they hold single precision only"));
    }
    let refusals = [
        ("values-matern32", "the matern32 kernel in an SVM node"),
        ("values-gaussian", "2 regression targets in one SVM node"),
        ("largest-shares", "decided by largest"),
        ("codes", "decided by codes"),
        ("ratio", "decided by ratio"),
        ("features", "decided by features"),
        ("sign-without-vectors", "without vectors"),
    ];
    for (name, words) in refusals {
        let case = cases::all().into_iter().find(|case| case.name == name).unwrap();
        let error = onnx::to_bytes(&case.machine, &Options { precision: Precision::F32, style: Style::Svm }).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
}
