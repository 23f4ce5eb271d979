//! A machine as an ONNX file, for onnxruntime and every other program that runs such graphs.
//!
//! ```
//! use kernelet::{data::banana, model::{Precision, onnx}, prelude::*};
//!
//! let machine = Svc { c: 10.0, ..Svc::default() }.learn(&banana(200, 1), &Watch::none())?.machine;
//! let options = onnx::Options { precision: Precision::F32, ..onnx::Options::default() };
//! let path = std::env::temp_dir().join(format!("kernelet-{}.onnx", std::process::id()));
//! let evaluations = onnx::save(&machine, &options, &path)?;
//! assert_eq!(evaluations, machine.n_vectors()); // kernel evaluations a row
//! # std::fs::remove_file(&path).ok();
//! # Ok::<(), kernelet::Error>(())
//! ```
//!
//! Plain operators express every machine, in either precision: rows go in as they were measured, as a matrix `row` with any number of rows,
//! and out come, each with a row for each row,
//!
//! | output | holds |
//! |---|---|
//! | `label` | the label, whole numbers (int64) or text: where classes are predicted |
//! | `decision` | the outputs of the machine: where classes are predicted |
//! | `probability` | the probability of each class, in the order of the labels: where it is known |
//! | `value` | the predicted numbers |
//! | `deviation` | their standard deviations, where they are known |
//! | `feature` | the features |
//!
//! The SVM nodes of `ai.onnx.ml` express fewer machines, in single precision only. The files need operator set [`OPSET`] (and
//! [`OPSET_ML`] of `ai.onnx.ml` for those nodes). Cost of writing: one pass over the numbers.
mod calibrate;
mod couple;
mod decide;
mod graph;
mod kernel;
mod message;
mod svm;

use std::path::Path;

use prost::Message;

use super::{
    target::{Precision, Uncertainty, weights},
    write_atomically,
};
use crate::{Error, Result, machine::Machine};
use graph::{Dim, Graph};
use message::{ModelProto, OperatorSetIdProto, StringStringEntryProto};

/// The version of ONNX's operators that the files ask for.
pub const OPSET: i64 = 17;
/// The version of the operators of `ai.onnx.ml` that SVM nodes ask for.
pub const OPSET_ML: i64 = 3;
/// The version of the format itself that came with these operators.
const IR_VERSION: i64 = 8;
/// Protocol buffers end here.
const LARGEST: usize = i32::MAX as usize;

/// Which operators the graph is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Style {
    /// Matrix products, exponentials and the like: every machine.
    #[default]
    Operators,
    /// SVMClassifier and SVMRegressor of `ai.onnx.ml`, without probabilities.
    Svm,
}

/// How the file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Options {
    /// Precision of the input, the numbers inside and the outputs.
    pub precision: Precision,
    /// Which operators.
    pub style: Style,
}

/// The content of a file, and what it costs.
#[derive(Clone, Debug, PartialEq)]
pub struct File {
    /// The content.
    pub bytes: Vec<u8>,
    /// Kernel evaluations that a row costs there.
    pub evaluations: usize,
}

/// The content of the file.
pub fn to_bytes(machine: &Machine, options: &Options) -> Result<File> {
    machine.check()?;
    if machine.dim() == 0 {
        return Err(unsupported("a machine without features", "there is nothing to compute"));
    }
    if options.style == Style::Svm && options.precision == Precision::F64 {
        let instead = "they hold single precision only; export with --precision f32, or with --onnx-style operators";
        return Err(unsupported("SVM nodes in double precision", instead));
    }
    options.precision.check(machine)?;
    let mut graph = Graph::new(options.precision, "");
    let real = graph.real();
    graph.input("row", real, Some(&[Dim::Rows, Dim::Fixed(machine.dim())]));
    let evaluations = match options.style {
        Style::Svm => svm::fill(&mut graph, machine)?,
        Style::Operators => operators(&mut graph, machine),
    };
    let model = ModelProto {
        ir_version: Some(IR_VERSION),
        producer_name: Some("kernelet".into()),
        producer_version: Some(env!("CARGO_PKG_VERSION").into()),
        model_version: Some(1),
        doc_string: Some(describe(machine)),
        graph: Some(graph.proto),
        opset_import: opsets(options.style),
        metadata_props: metadata(machine, evaluations),
    };
    if model.encoded_len() > LARGEST {
        return Err(unsupported("a file of more than 2 GiB", "compress the machine first, or export with --precision f32"));
    }
    Ok(File { bytes: model.encode_to_vec(), evaluations })
}

/// Writes the file, whole or not at all; the kernel evaluations that a row costs there.
pub fn save(machine: &Machine, options: &Options, path: impl AsRef<Path>) -> Result<usize> {
    let File { bytes, evaluations } = to_bytes(machine, options)?;
    write_atomically(path, |writer| writer.write_all(&bytes))?;
    Ok(evaluations)
}

/// Fills the graph with plain operators; the number of kernel evaluations a row.
fn operators(graph: &mut Graph, machine: &Machine) -> usize {
    let (expansion, uncertainty) = (&machine.expansion, Uncertainty::of(machine));
    let x = kernel::scaled(graph, "row", machine.scale.as_ref());
    let weights = if uncertainty.reads_rows() { None } else { weights(expansion) };
    let (outputs, values) = match weights {
        Some(weights) => (kernel::products(graph, &x, &weights.transposed(), &machine.offsets), None),
        None if machine.n_vectors() == 0 => {
            // Nothing but the offsets, for as many rows as there are.
            let nothing = crate::linalg::Matrix::zeros(expansion.vectors.dim(), machine.n_outputs());
            (kernel::products(graph, &x, &nothing, &machine.offsets), None)
        }
        None => {
            let values = kernel::values(graph, &x, &expansion.kernel, &expansion.vectors.to_dense());
            (kernel::sums(graph, &values, &expansion.kernel, &expansion.coefficients.to_dense(), &machine.offsets), Some(values))
        }
    };
    decide::add(graph, &machine.decision, &outputs, machine.n_outputs());
    calibrate::add(graph, machine, &uncertainty, &outputs, values.as_deref());
    if values.is_some() { machine.n_vectors() } else { 0 }
}

fn opsets(style: Style) -> Vec<OperatorSetIdProto> {
    let mut sets = vec![OperatorSetIdProto { domain: Some(String::new()), version: Some(OPSET) }];
    if style == Style::Svm {
        sets.push(OperatorSetIdProto { domain: Some("ai.onnx.ml".into()), version: Some(OPSET_ML) });
    }
    sets
}

fn describe(machine: &Machine) -> String {
    let table = machine.metadata.table.as_ref();
    let encoded = table.map(|table| format!("; rows are encoded rows of a table, with the features {}", table.feature_names().join(", ")));
    format!(
        "{} kernel, {} vectors of {} features, {} outputs, decided by {}{}",
        machine.expansion.kernel.name(),
        machine.n_vectors(),
        machine.dim(),
        machine.n_outputs(),
        super::target::rule(&machine.decision),
        encoded.unwrap_or_default()
    )
}

fn metadata(machine: &Machine, evaluations: usize) -> Vec<StringStringEntryProto> {
    let labels: Vec<String> = machine.decision.labels().iter().map(ToString::to_string).collect();
    let json = |value: serde_json::Result<String>| value.unwrap_or_default();
    let mut entries =
        vec![("kernel", json(serde_json::to_string(&machine.expansion.kernel))), ("evaluations_per_row", evaluations.to_string())];
    entries.push(("facts", json(serde_json::to_string(&machine.metadata))));
    if !labels.is_empty() {
        entries.push(("labels", json(serde_json::to_string(&labels))));
    }
    if let Some(names) = &machine.names {
        entries.push(("features", json(serde_json::to_string(names))));
    }
    entries.into_iter().map(|(key, value)| StringStringEntryProto { key: Some(key.into()), value: Some(value) }).collect()
}

fn unsupported(with: impl Into<String>, instead: impl Into<String>) -> Error {
    Error::Unsupported { method: "ONNX", with: with.into(), instead: instead.into() }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::{message::GraphProto, *};
    use crate::{
        data::Label,
        kernel::Kernel,
        linalg::Matrix,
        machine::{Calibration, Coefficients, Decision, Expansion, Metadata},
    };

    fn machine(kernel: Kernel) -> Machine {
        let labels = ["a", "b", "c"].map(Label::new).into();
        Machine {
            expansion: Expansion {
                kernel,
                vectors: Matrix::from_fn(4, 2, |i, j| (i + j) as f64 * 0.3).into(),
                coefficients: Coefficients::Dense(Matrix::from_fn(4, 3, |i, k| i as f64 - k as f64)),
            },
            offsets: vec![0.0; 3],
            decision: Decision::Votes { labels },
            scale: None,
            names: Some(vec!["x".into(), "y".into()]),
            calibration: Some(Calibration::Sigmoid { a: vec![-1.0; 3], b: vec![0.0; 3] }),
            metadata: Metadata::default(),
        }
    }

    /// Every name is made before it is used, and only once.
    fn check_order(graph: &GraphProto, outer: &HashSet<String>) {
        let mut known = outer.clone();
        let made = graph.initializer.iter().filter_map(|t| t.name.clone()).chain(graph.input.iter().filter_map(|v| v.name.clone()));
        made.for_each(|name| assert!(known.insert(name)));
        for node in &graph.node {
            assert!(node.input.iter().all(|name| known.contains(name)), "{:?} needs {:?}", node.op_type, node.input);
            node.attribute.iter().filter_map(|a| a.g.as_deref()).for_each(|body| check_order(body, &known));
            node.output.iter().for_each(|name| assert!(known.insert(name.clone()), "{name} is made twice"));
        }
        assert!(graph.output.iter().all(|v| v.name.as_ref().is_some_and(|name| known.contains(name))));
    }

    #[test]
    fn graphs_are_in_order_state_their_operators_and_leave_the_rows_free() {
        for kernel in Kernel::examples() {
            for precision in [Precision::F32, Precision::F64] {
                let file = to_bytes(&machine(kernel.clone()), &Options { precision, style: Style::Operators }).unwrap();
                let model = ModelProto::decode(&file.bytes[..]).unwrap();
                assert_eq!((model.opset_import[0].version, model.opset_import.len()), (Some(OPSET), 1));
                let graph = model.graph.unwrap();
                check_order(&graph, &HashSet::new());
                let shape = graph.input[0].r#type.as_ref().and_then(|t| t.tensor_type.as_ref()).and_then(|t| t.shape.clone()).unwrap();
                assert_eq!((shape.dim[0].dim_param.as_deref(), shape.dim[1].dim_value), (Some("rows"), Some(2)));
                let names: Vec<_> = graph.output.iter().filter_map(|v| v.name.clone()).collect();
                assert_eq!(names, ["label", "decision", "probability"]);
                assert_eq!(file.evaluations, if kernel.name() == "linear" { 0 } else { 4 });
            }
        }
    }

    #[test]
    fn svm_nodes_repeat_shared_vectors_and_leave_probabilities_out() {
        let options = Options { precision: Precision::F32, style: Style::Svm };
        let file = to_bytes(&machine(Kernel::gaussian(0.5)), &options).unwrap();
        // As vectors of the first class and of the second; one coefficient of the second is zero.
        assert_eq!(file.evaluations, 7);
        let model = ModelProto::decode(&file.bytes[..]).unwrap();
        let graph = model.graph.unwrap();
        check_order(&graph, &HashSet::new());
        assert!(graph.node.iter().any(|node| node.op_type.as_deref() == Some("SVMClassifier")));
        assert!(graph.output.iter().all(|v| v.name.as_deref() != Some("probability")));
        assert_eq!(model.opset_import[1].domain.as_deref(), Some("ai.onnx.ml"));
    }

    #[test]
    fn a_bad_machine_is_rejected() {
        let mut bad = machine(Kernel::gaussian(0.5));
        bad.offsets[1] = f64::NAN;
        assert!(to_bytes(&bad, &Options::default()).is_err());
        let double = Options { precision: Precision::F64, style: Style::Svm };
        assert!(to_bytes(&machine(Kernel::gaussian(0.5)), &double).unwrap_err().to_string().contains("single precision only"));
    }
}
