//! Probabilities of classes and deviations of numbers in plain operators; the rules are those of `machine::probability` and
//! `machine::posterior`.
use super::{
    decide::{column, row_squares, row_sums},
    graph::{Dim, Graph, int, ints},
};
use crate::{
    linalg::Matrix,
    machine::{Calibration, Curve, Decision, LogVariance, Machine, NormalClasses, Pairwise, Posterior},
    model::target::Uncertainty,
};

/// Calibrated outputs stay this far from 0 and 1.
const MARGIN: f64 = 1e-7;

/// Adds the outputs of the graph for the uncertainty of the prediction: `probability` or `deviation`, or nothing. `values` are the kernel
/// values, where there are any.
pub(super) fn add(graph: &mut Graph, machine: &Machine, uncertainty: &Uncertainty, outputs: &str, values: Option<&str>) {
    let (real, count) = (graph.real(), machine.n_outputs());
    match uncertainty {
        Uncertainty::Nothing => {}
        Uncertainty::Constant(deviations) => {
            let constant = graph.constant("deviations", &[1, count], deviations);
            let shape = graph.op("Shape", &[outputs], vec![]);
            let deviation = graph.op("Expand", &[&constant, &shape], vec![]);
            graph.output(&deviation, "deviation", real, Some(&[Dim::Rows, Dim::Fixed(count)]));
        }
        Uncertainty::Deviations(posteriors) => {
            let each: Vec<String> = posteriors.iter().map(|p| deviation(graph, p, machine.n_vectors(), outputs, values)).collect();
            let all = concatenated(graph, &each);
            graph.output(&all, "deviation", real, Some(&[Dim::Rows, Dim::Fixed(count)]));
        }
        Uncertainty::Heads(heads) => {
            let offsets: Vec<f64> = heads.iter().map(|head| head.offset).collect();
            let all = log_variances(graph, heads, &offsets, machine.n_vectors(), outputs, values);
            graph.output(&all, "deviation", real, Some(&[Dim::Rows, Dim::Fixed(count)]));
        }
        Uncertainty::Probabilities(calibration) => {
            let probabilities = match calibration {
                Calibration::NormalClasses(normal) => normal_classes(graph, normal, outputs),
                _ => {
                    let positive = calibrated(graph, calibration, outputs);
                    to_classes(graph, &machine.decision, &positive)
                }
            };
            let classes = machine.decision.labels().len();
            graph.output(&probabilities, "probability", real, Some(&[Dim::Rows, Dim::Fixed(classes)]));
        }
    }
}

fn concatenated(graph: &mut Graph, parts: &[String]) -> String {
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    graph.op("Concat", &parts, vec![int("axis", 1)])
}

/// The probability of the positive side of each output.
fn calibrated(graph: &mut Graph, calibration: &Calibration, outputs: &str) -> String {
    let positive = match calibration {
        Calibration::Sigmoid { a, b } => {
            let minus = |values: &[f64]| values.iter().map(|value| -value).collect::<Vec<_>>();
            let (a, b) = (graph.constant("sigmoid_a", &[a.len()], &minus(a)), graph.constant("sigmoid_b", &[b.len()], &minus(b)));
            let scaled = graph.op("Mul", &[outputs, &a], vec![]);
            let shifted = graph.op("Add", &[&scaled, &b], vec![]);
            graph.op("Sigmoid", &[&shifted], vec![])
        }
        Calibration::Isotonic { curves } => {
            let each: Vec<String> = curves.iter().enumerate().map(|(k, curve)| along(graph, curve, outputs, k)).collect();
            concatenated(graph, &each)
        }
        Calibration::Marks { marks } => return between_marks(graph, marks, outputs),
        _ => return graph.op("Relu", &[outputs], vec![]),
    };
    let (low, high) = (graph.number(MARGIN), graph.number(1.0 - MARGIN));
    graph.op("Clip", &[&positive, &low, &high], vec![])
}

/// p_0 + sum_i (p_i+1 - p_i) times the relative position of the output between x_i and x_i+1, clipped to [0, 1].
fn along(graph: &mut Graph, curve: &Curve, outputs: &str, k: usize) -> String {
    let output = column(graph, outputs, k);
    let steps = curve.outputs.len() - 1;
    let first = graph.constant("first", &[1], &curve.probabilities[..1]);
    if steps == 0 {
        let zero = graph.number(0.0);
        let nothing = graph.op("Mul", &[&output, &zero], vec![]);
        return graph.op("Add", &[&nothing, &first], vec![]);
    }
    let per_unit: Vec<f64> = curve.outputs.windows(2).map(|w| (w[1] - w[0]).recip().min(1e30)).collect();
    let rises = Matrix::column(curve.probabilities.windows(2).map(|w| w[1] - w[0]).collect());
    let (starts, per_unit) = (graph.constant("starts", &[steps], &curve.outputs[..steps]), graph.constant("per_unit", &[steps], &per_unit));
    let from_start = graph.op("Sub", &[&output, &starts], vec![]);
    let position = graph.op("Mul", &[&from_start, &per_unit], vec![]);
    let (zero, one) = (graph.number(0.0), graph.number(1.0));
    let position = graph.op("Clip", &[&position, &zero, &one], vec![]);
    let rises = graph.matrix("rises", &rises);
    graph.op("Gemm", &[&position, &rises, &first], vec![])
}

/// One step up at each mark that the output has reached.
fn between_marks(graph: &mut Graph, marks: &[f64], outputs: &str) -> String {
    let level = |place: usize| match place {
        0 => 0.001,
        place if place == marks.len() => 0.999,
        place => place as f64 / marks.len() as f64,
    };
    let steps = Matrix::column((0..marks.len()).map(|i| level(i + 1) - level(i)).collect());
    let (marks, steps) = (graph.constant("marks", &[marks.len()], marks), graph.matrix("steps", &steps));
    let reached = graph.op("GreaterOrEqual", &[outputs, &marks], vec![]);
    let kind = graph.real();
    let reached = graph.op("Cast", &[&reached], vec![int("to", kind.into())]);
    let lowest = graph.constant("lowest", &[1], &[0.001]);
    graph.op("Gemm", &[&reached, &steps, &lowest], vec![])
}

fn to_classes(graph: &mut Graph, decision: &Decision, positive: &str) -> String {
    match decision {
        Decision::Votes { labels } => super::couple::couple(graph, positive, labels.len()),
        Decision::Largest { labels } => {
            let sums = row_sums(graph, positive);
            let (zero, even) =
                (graph.number(0.0), graph.constant("even", &[1, labels.len()], &vec![1.0 / labels.len() as f64; labels.len()]));
            let some = graph.op("Greater", &[&sums, &zero], vec![]);
            let shares = graph.op("Div", &[positive, &sums], vec![]);
            graph.op("Where", &[&some, &shares, &even], vec![])
        }
        _ => {
            let one = graph.number(1.0);
            let negative = graph.op("Sub", &[&one, positive], vec![]);
            concatenated(graph, &[negative, positive.to_string()])
        }
    }
}

fn normal_classes(graph: &mut Graph, normal: &NormalClasses, outputs: &str) -> String {
    let q = normal.means.first().map_or(0, Vec::len);
    let mut scores = vec![];
    for (class, mean) in normal.means.iter().enumerate() {
        let precision = &normal.precisions[class.min(normal.precisions.len() - 1)];
        let (mean, precision) = (graph.constant("mean", &[q], mean), graph.constant("precision", &[q, q], precision));
        let apart = graph.op("Sub", &[outputs, &mean], vec![]);
        let product = graph.op("MatMul", &[&apart, &precision], vec![]);
        let squared = graph.op("Mul", &[&product, &apart], vec![]);
        let squared = row_sums(graph, &squared);
        let (half, constant) = (graph.number(-0.5), graph.number(normal.constants[class]));
        let halved = graph.op("Mul", &[&squared, &half], vec![]);
        scores.push(graph.op("Add", &[&halved, &constant], vec![]));
    }
    let scores = concatenated(graph, &scores);
    graph.op("Softmax", &[&scores], vec![int("axis", 1)])
}

/// sqrt(noise + |L' phi|^2), a column.
fn deviation(graph: &mut Graph, posterior: &Posterior, vectors: usize, outputs: &str, values: Option<&str>) -> String {
    let size = posterior.vectors.len() + usize::from(posterior.offset);
    let noise = graph.number(posterior.noise);
    let row = |i: usize| &posterior.factor[i * (i + 1) / 2..(i + 1) * (i + 2) / 2];
    let squares = match values.filter(|_| size > 0) {
        None => {
            // Nothing but noise, in the shape of a column.
            let (first, zero) = (column(graph, outputs, 0), graph.number(0.0));
            graph.op("Mul", &[&first, &zero], vec![])
        }
        Some(values) => {
            let mut factor = Matrix::zeros(vectors, size);
            for (i, &j) in posterior.vectors.iter().enumerate() {
                factor.row_mut(j).iter_mut().zip(row(i)).for_each(|(sum, l)| *sum += l);
            }
            let offset = if posterior.offset { row(size - 1).to_vec() } else { vec![0.0; size] };
            let (factor, offset) = (graph.matrix("posterior", &factor), graph.constant("posterior", &[size], &offset));
            let product = graph.op("Gemm", &[values, &factor, &offset], vec![]);
            row_squares(graph, &product)
        }
    };
    let variance = graph.op("Add", &[&squares, &noise], vec![]);
    graph.op("Sqrt", &[&variance], vec![])
}

/// exp of half the logarithms of the variances.
fn log_variances(graph: &mut Graph, heads: &[LogVariance], offsets: &[f64], vectors: usize, outputs: &str, values: Option<&str>) -> String {
    let offset = graph.constant("head_offsets", &[heads.len()], offsets);
    let sums = match values {
        None => {
            let zero = graph.number(0.0);
            let nothing = graph.op("Mul", &[outputs, &zero], vec![]);
            graph.op("Add", &[&nothing, &offset], vec![])
        }
        Some(values) => {
            let mut all = Matrix::zeros(vectors, heads.len());
            for (k, head) in heads.iter().enumerate() {
                head.vectors.iter().zip(&head.coefficients).for_each(|(&j, e)| all.row_mut(j)[k] += e);
            }
            let all = graph.matrix("heads", &all);
            graph.op("Gemm", &[values, &all, &offset], vec![])
        }
    };
    let half = graph.number(0.5);
    let halved = graph.op("Mul", &[&sums, &half], vec![]);
    graph.op("Exp", &[&halved], vec![])
}

/// Where the pairs of classes stand: a matrix with one row a pair and one column for each place of a square of classes.
pub(super) fn places(classes: usize, place: impl Fn(usize, usize) -> Vec<usize>) -> Matrix {
    let pairs: Vec<(usize, usize)> = Pairwise::pairs(classes).collect();
    let mut places = Matrix::zeros(pairs.len(), classes * classes);
    for (k, (a, b)) in pairs.into_iter().enumerate() {
        place(a, b).into_iter().for_each(|at| places.row_mut(k)[at] = 1.0);
    }
    places
}

/// The largest of each row, as a column.
pub(super) fn row_largest(graph: &mut Graph, values: &str) -> String {
    graph.op("ReduceMax", &[values], vec![ints("axes", &[1]), int("keepdims", 1)])
}
