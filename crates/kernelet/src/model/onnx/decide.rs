//! From outputs to labels and numbers in plain operators.
use super::{
    graph::{Dim, Graph, int, ints},
    message::data_type,
};
use crate::{
    linalg::Matrix,
    machine::{Decision, Pairwise},
    model::target::Labels,
};

/// The labels that programs hold as whole numbers of 64 bits: all that a double holds exactly.
const LARGEST: f64 = 9007199254740992.0;

/// Adds the outputs of the graph that are the prediction: `label` and `decision`, or `value`, or `feature`.
pub(super) fn add(graph: &mut Graph, decision: &Decision, outputs: &str, count: usize) {
    let (real, shape) = (graph.real(), [Dim::Rows, Dim::Fixed(count)]);
    match decision {
        Decision::Values => graph.output(outputs, "value", real, Some(&shape)),
        Decision::Features => graph.output(outputs, "feature", real, Some(&shape)),
        Decision::Ratio => {
            let last = column(graph, outputs, count - 1);
            let others: Vec<i64> = (0..count as i64 - 1).collect();
            let places = graph.whole("places", &[others.len()], &others);
            let others = graph.op("Gather", &[outputs, &places], vec![int("axis", 1)]);
            let ratio = graph.op("Div", &[&others, &last], vec![]);
            graph.output(&ratio, "value", real, Some(&[Dim::Rows, Dim::Fixed(count - 1)]));
        }
        _ => {
            let place = place(graph, decision, outputs);
            label(graph, decision, &place);
            graph.output(outputs, "decision", real, Some(&shape));
        }
    }
}

/// One column, as a matrix of one column.
pub(super) fn column(graph: &mut Graph, values: &str, place: usize) -> String {
    let place = graph.whole("place", &[1], &[place as i64]);
    graph.op("Gather", &[values, &place], vec![int("axis", 1)])
}

/// The labels as the graph holds them, and their type.
pub(super) fn labels(decision: &Decision) -> Labels {
    Labels::of(&decision.labels(), LARGEST)
}

fn label(graph: &mut Graph, decision: &Decision, place: &str) {
    let (labels, kind) = match labels(decision) {
        Labels::Numbers(numbers) => (graph.whole("labels", &[numbers.len()], &numbers), data_type::INT64),
        Labels::Texts(texts) => (graph.texts("labels", &texts), data_type::STRING),
    };
    let label = graph.op("Gather", &[&labels, place], vec![int("axis", 0)]);
    graph.output(&label, "label", kind, Some(&[Dim::Rows]));
}

/// The place of the class of each row; ties go to the lower class.
fn place(graph: &mut Graph, decision: &Decision, outputs: &str) -> String {
    let largest = |graph: &mut Graph, scores: &str| graph.op("ArgMax", &[scores], vec![int("axis", 1), int("keepdims", 0)]);
    match decision {
        Decision::Votes { labels } => {
            let positive = positive(graph, outputs);
            let pairs: Vec<(usize, usize)> = Pairwise::pairs(labels.len()).collect();
            // A vote for the first of the pair where it is positive, else for the second.
            let moved = Matrix::from_fn(pairs.len(), labels.len(), |k, c| {
                f64::from(u8::from(pairs[k].0 == c)) - f64::from(u8::from(pairs[k].1 == c))
            });
            let second: Vec<f64> = (0..labels.len()).map(|c| pairs.iter().filter(|pair| pair.1 == c).count() as f64).collect();
            let (moved, second) = (graph.matrix("votes", &moved), graph.constant("votes", &[second.len()], &second));
            let votes = graph.op("Gemm", &[&positive, &moved, &second], vec![]);
            largest(graph, &votes)
        }
        Decision::Largest { .. } => largest(graph, outputs),
        Decision::Codes { words, .. } => {
            let axes = graph.whole("axis", &[1], &[1]);
            let outputs = graph.op("Unsqueeze", &[outputs, &axes], vec![]);
            let signs: Vec<f64> = words.iter().flatten().map(|&sign| f64::from(sign)).collect();
            let signs = graph.constant("words", &[1, words.len(), signs.len() / words.len().max(1)], &signs);
            let margins = graph.op("Mul", &[&outputs, &signs], vec![]);
            let (one, zero) = (graph.number(1.0), graph.number(0.0));
            let margins = graph.op("Sub", &[&margins, &one], vec![]);
            let margins = graph.op("Min", &[&margins, &zero], vec![]);
            let last = graph.whole("axis", &[1], &[2]);
            let gains = graph.op("ReduceSum", &[&margins, &last], vec![int("keepdims", 0)]);
            largest(graph, &gains)
        }
        _ => {
            let zero = graph.number(0.0);
            let above = graph.op("Greater", &[outputs, &zero], vec![]);
            let place = graph.op("Cast", &[&above], vec![int("to", data_type::INT64.into())]);
            let axis = graph.whole("axis", &[1], &[1]);
            graph.op("Squeeze", &[&place, &axis], vec![])
        }
    }
}

/// 1 where an output is above zero, else 0.
fn positive(graph: &mut Graph, outputs: &str) -> String {
    let zero = graph.number(0.0);
    let above = graph.op("Greater", &[outputs, &zero], vec![]);
    let kind = graph.real();
    graph.op("Cast", &[&above], vec![int("to", kind.into())])
}

/// The sum of each row, as a column.
pub(super) fn row_sums(graph: &mut Graph, values: &str) -> String {
    let axis = graph.whole("axis", &[1], &[1]);
    graph.op("ReduceSum", &[values, &axis], vec![int("keepdims", 1)])
}

/// The sum of the squares of each row, as a column.
pub(super) fn row_squares(graph: &mut Graph, values: &str) -> String {
    graph.op("ReduceSumSquare", &[values], vec![ints("axes", &[1]), int("keepdims", 1)])
}
