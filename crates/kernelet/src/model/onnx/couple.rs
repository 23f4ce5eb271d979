//! Probabilities of the classes from those of the pairs, by LIBSVM's iteration in a `Loop` over all rows at once: rows that have met the
//! stopping rule stay as they are while the others go on, so that each row takes the same steps as alone.
use super::{
    calibrate::{places, row_largest},
    decide::{column, row_sums},
    graph::{Dim, Graph, body, int},
    message::data_type,
};

/// The probabilities of the classes, one row each; `positive` has the probability of a among a and b for each pair.
pub(super) fn couple(graph: &mut Graph, positive: &str, classes: usize) -> String {
    let k = classes;
    let q = squares(graph, positive, k);
    let ones = graph.constant("even", &[1, k], &vec![1.0 / k as f64; k]);
    let zero = graph.number(0.0);
    let first = column(graph, positive, 0);
    let nothing = graph.op("Mul", &[&first, &zero], vec![]);
    let start = graph.op("Add", &[&nothing, &ones], vec![]);
    let most = graph.whole("rounds", &[], &[k.max(100) as i64]);
    let go = graph.truth();
    let round = round(graph, &q, k);
    graph.op("Loop", &[&most, &go, &start], vec![body("body", round)])
}

/// The matrix Q of each row: with r_ab the probability of a among a and b, Q_aa = sum_b r_ba^2 and Q_ab = -r_ba r_ab.
fn squares(graph: &mut Graph, positive: &str, k: usize) -> String {
    let one = graph.number(1.0);
    let negative = graph.op("Sub", &[&one, positive], vec![]);
    let squared_negative = graph.op("Mul", &[&negative, &negative], vec![]);
    let squared_positive = graph.op("Mul", &[positive, positive], vec![]);
    let both = graph.op("Mul", &[positive, &negative], vec![]);
    let first = graph.matrix("places", &places(k, |a, _| vec![a * k + a]));
    let second = graph.matrix("places", &places(k, |_, b| vec![b * k + b]));
    let across = graph.matrix("places", &places(k, |a, b| vec![a * k + b, b * k + a]));
    let first = graph.op("MatMul", &[&squared_negative, &first], vec![]);
    let second = graph.op("MatMul", &[&squared_positive, &second], vec![]);
    let across = graph.op("MatMul", &[&both, &across], vec![]);
    let diagonal = graph.op("Add", &[&first, &second], vec![]);
    let sum = graph.op("Sub", &[&diagonal, &across], vec![]);
    let shape = graph.whole("shape", &[3], &[-1, k as i64, k as i64]);
    graph.op("Reshape", &[&sum, &shape], vec![])
}

/// One round: the test, then a step for each class in turn.
fn round(outer: &Graph, q: &str, k: usize) -> Graph {
    let mut graph = Graph::new(outer.precision, "round_");
    let (g, real) = (&mut graph, outer.real());
    g.input("round_number", data_type::INT64, Some(&[]));
    g.input("round_go", data_type::BOOL, Some(&[]));
    g.input("round_before", real, Some(&[Dim::Rows, Dim::Fixed(k)]));
    let last = g.whole("axis", &[1], &[2]);
    let upright = g.op("Unsqueeze", &["round_before", &last], vec![]);
    let product = g.op("MatMul", &[q, &upright], vec![]);
    let mut product = g.op("Squeeze", &[&product, &last], vec![]);
    let parts = g.op("Mul", &[&product, "round_before"], vec![]);
    let mut value = row_sums(g, &parts);
    let apart = g.op("Sub", &[&product, &value], vec![]);
    let apart = g.op("Abs", &[&apart], vec![]);
    let apart = row_largest(g, &apart);
    let enough = g.number(0.005 / k as f64);
    let active = g.op("GreaterOrEqual", &[&apart, &enough], vec![]);
    let mut p = "round_before".to_string();
    for class in 0..k {
        step(g, q, k, class, &mut p, &mut product, &mut value);
    }
    let after = g.op("Where", &[&active, &p, "round_before"], vec![]);
    let counted = g.op("Cast", &[&active], vec![int("to", data_type::FLOAT.into())]);
    let any = g.op("ReduceMax", &[&counted], vec![int("keepdims", 0)]);
    let any = g.op("Cast", &[&any], vec![int("to", data_type::BOOL.into())]);
    g.output(&any, "round_again", data_type::BOOL, Some(&[]));
    g.output(&after, "round_after", real, Some(&[Dim::Rows, Dim::Fixed(k)]));
    graph
}

/// p_a grows by the step that minimises along it, and everything is divided by the new sum.
fn step(g: &mut Graph, q: &str, k: usize, class: usize, p: &mut String, product: &mut String, value: &mut String) {
    let place = g.whole("place", &[], &[class as i64]);
    let row = g.op("Gather", &[q, &place], vec![int("axis", 1)]);
    let diagonal = column(g, &row, class);
    let own = column(g, product, class);
    let missing = g.op("Sub", &[value, &own], vec![]);
    let step = g.op("Div", &[&missing, &diagonal], vec![]);
    let (one, two) = (g.number(1.0), g.number(2.0));
    let whole = g.op("Add", &[&step, &one], vec![]);
    let unit: Vec<f64> = (0..k).map(|c| f64::from(u8::from(c == class))).collect();
    let unit = g.constant("unit", &[1, k], &unit);
    let grown = g.op("Mul", &[&step, &unit], vec![]);
    let grown = g.op("Add", &[p, &grown], vec![]);
    *p = g.op("Div", &[&grown, &whole], vec![]);
    // value + step (step q_aa + 2 product_a)
    let inner = g.op("Mul", &[&step, &diagonal], vec![]);
    let twice = g.op("Mul", &[&two, &own], vec![]);
    let inner = g.op("Add", &[&inner, &twice], vec![]);
    let inner = g.op("Mul", &[&step, &inner], vec![]);
    let risen = g.op("Add", &[value, &inner], vec![]);
    let risen = g.op("Div", &[&risen, &whole], vec![]);
    *value = g.op("Div", &[&risen, &whole], vec![]);
    let moved = g.op("Mul", &[&step, &row], vec![]);
    let moved = g.op("Add", &[product, &moved], vec![]);
    *product = g.op("Div", &[&moved, &whole], vec![]);
}
