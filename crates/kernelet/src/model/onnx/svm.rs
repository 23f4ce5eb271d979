//! The SVM nodes of `ai.onnx.ml`, where they can express the machine: one output by an `SVMRegressor`, pairs of classes by an
//! `SVMClassifier`. Their numbers are single precision by their definition.
//!
//! Labels come from the outputs by plain operators: the nodes' own labels follow probabilities where there are any, ours follow votes.
use super::{
    decide,
    graph::{Graph, floats, int, ints, text, texts},
    kernel::scaled,
    unsupported,
};
use crate::{
    Result,
    kernel::Kernel,
    linalg::Matrix,
    machine::{Coefficients, Decision, Machine},
    model::{libsvm, target::Labels},
};

const DOMAIN: &str = "ai.onnx.ml";
const INSTEAD: &str = "the SVM nodes cannot express it; export with --onnx-style operators";

/// Fills the graph; the number of kernel evaluations a row that the nodes make.
pub(super) fn fill(graph: &mut Graph, machine: &Machine) -> Result<usize> {
    let kernel = kernel_attributes(&machine.expansion.kernel)?;
    let count = machine.n_outputs();
    match &machine.decision {
        Decision::Votes { labels } if labels.len() > 2 => {}
        Decision::Sign { .. } | Decision::Novelty | Decision::Votes { .. } => {}
        Decision::Values if count == 1 => {}
        Decision::Values => return Err(unsupported(format!("{count} regression targets in one SVM node"), INSTEAD)),
        other => return Err(unsupported(format!("a machine decided by {} in an SVM node", super::super::target::rule(other)), INSTEAD)),
    }
    if machine.n_vectors() == 0 {
        return Err(unsupported("a machine without vectors in an SVM node", INSTEAD));
    }
    let x = scaled(graph, "row", machine.scale.as_ref());
    let (outputs, evaluations) = match count {
        1 => (regressor(graph, machine, &x, kernel), machine.n_vectors()),
        _ => classifier(graph, machine, &x, kernel),
    };
    decide::add(graph, &machine.decision, &outputs, count);
    Ok(evaluations)
}

fn kernel_attributes(kernel: &Kernel) -> Result<[super::message::AttributeProto; 2]> {
    let (name, parameters) = match kernel {
        Kernel::Linear(_) => ("LINEAR", [0.0; 3]),
        Kernel::Gaussian(k) => ("RBF", [k.gamma, 0.0, 0.0]),
        Kernel::Polynomial(k) => ("POLY", [k.gamma, k.coef0, f64::from(k.degree)]),
        Kernel::Sigmoid(k) => ("SIGMOID", [k.gamma, k.coef0, 0.0]),
        other => {
            let instead = "they have linear, polynomial, gaussian and sigmoid; export with --onnx-style operators";
            return Err(unsupported(format!("the {} kernel in an SVM node", other.name()), instead));
        }
    };
    Ok([text("kernel_type", name), floats("kernel_params", parameters)])
}

fn regressor(graph: &mut Graph, machine: &Machine, x: &str, kernel: [super::message::AttributeProto; 2]) -> String {
    let vectors = machine.expansion.vectors.to_dense();
    let coefficients = machine.expansion.coefficients.to_dense();
    let mut attributes = kernel.to_vec();
    attributes.extend([
        floats("support_vectors", vectors.values().iter().copied()),
        floats("coefficients", coefficients.values().iter().copied()),
        floats("rho", machine.offsets.iter().copied()),
        int("n_supports", vectors.rows() as i64),
        int("one_class", 0),
        text("post_transform", "NONE"),
    ]);
    graph.op_to("SVMRegressor", DOMAIN, &[x], &["svm_scores"], attributes);
    "svm_scores".into()
}

fn classifier(graph: &mut Graph, machine: &Machine, x: &str, kernel: [super::message::AttributeProto; 2]) -> (String, usize) {
    let classes = machine.decision.labels().len();
    let (counts, rows) = match &machine.expansion.coefficients {
        Coefficients::Pairwise(pairwise) => {
            let counts = pairwise.starts.windows(2).map(|w| w[1] - w[0]).collect();
            (counts, (0..machine.n_vectors()).map(|j| (j, pairwise.values.row(j).to_vec())).collect())
        }
        Coefficients::Dense(dense) => libsvm::repeated(dense, classes),
    };
    let (vectors, total): (Matrix, usize) = (machine.expansion.vectors.to_dense(), rows.len());
    let counts: Vec<i64> = counts.iter().map(|&count: &usize| count as i64).collect();
    let labels = match decide::labels(&machine.decision) {
        Labels::Numbers(numbers) => ints("classlabels_ints", &numbers),
        Labels::Texts(list) => texts("classlabels_strings", &list),
    };
    let mut attributes = kernel.to_vec();
    attributes.extend([
        floats("support_vectors", rows.iter().flat_map(|(j, _)| vectors.row(*j).iter().copied())),
        floats("coefficients", (0..classes - 1).flat_map(|c| rows.iter().map(move |(_, row)| row[c]))),
        floats("rho", machine.offsets.iter().copied()),
        ints("vectors_per_class", &counts),
        labels,
        text("post_transform", "NONE"),
    ]);
    graph.op_to("SVMClassifier", DOMAIN, &[x], &["svm_labels", "svm_scores"], attributes);
    ("svm_scores".into(), total)
}
