//! From rows to outputs in plain operators.
//!
//! |x - z|^2 = |x|^2 + |z|^2 - 2 x.z comes from one matrix product, after the mean of the vectors is taken off rows and vectors alike, so
//! that few digits cancel. Where too many would (the exponential kernel is not differentiable at zero distance; narrow kernels in single
//! precision), the differences are squared and summed directly, one vector after the other in a `Scan`: slower, never wrong.
use super::graph::{Dim, Graph, body, float, int, ints};
use crate::{
    data::Scale,
    kernel::{Argument, Kernel},
    linalg::Matrix,
    model::Precision,
};

/// An error of the kernel above this is too much for single precision.
const TOO_MUCH: f64 = 4e-6;

/// Rows as the kernel sees them: scaled and then mapped; without a scaling nothing is done.
pub(super) fn scaled(graph: &mut Graph, rows: &str, scale: Option<&Scale>) -> String {
    let Some(scale) = scale else { return rows.into() };
    let mut rows = rows.to_string();
    if let Some(shift) = &scale.shift {
        let shift = graph.constant("shift", &[shift.len()], shift);
        rows = graph.op("Sub", &[&rows, &shift], vec![]);
    }
    let factor = graph.constant("factor", &[scale.factor.len()], &scale.factor);
    let rows = graph.op("Mul", &[&rows, &factor], vec![]);
    let Some(map) = &scale.map else { return rows };
    let map = graph.matrix("map", &map.transposed());
    graph.op("MatMul", &[&rows, &map], vec![])
}

/// k(x, z) for every row (down) and vector (across).
pub(super) fn values(graph: &mut Graph, rows: &str, kernel: &Kernel, vectors: &Matrix) -> String {
    let u = match kernel.profile().argument() {
        Argument::DotProduct => {
            // The factor goes into the vectors: onnxruntime would fuse it with the product as a single-precision number.
            let gamma = kernel.gamma().unwrap_or(1.0);
            let z = graph.matrix("vectors", &Matrix::from_fn(vectors.cols(), vectors.rows(), |j, i| gamma * vectors.at(i, j)));
            graph.op("MatMul", &[rows, &z], vec![])
        }
        Argument::SquaredDistance => squared_distances(graph, rows, kernel, vectors),
    };
    profile(graph, &u, kernel)
}

fn squared_distances(graph: &mut Graph, rows: &str, kernel: &Kernel, vectors: &Matrix) -> String {
    let mean: Vec<f64> = (0..vectors.cols()).map(|j| vectors.iter().map(|row| row[j]).sum::<f64>() / vectors.rows() as f64).collect();
    let centred = Matrix::from_fn(vectors.rows(), vectors.cols(), |i, j| vectors.at(i, j) - mean[j]);
    let norms: Vec<f64> = centred.iter().map(|row| row.iter().map(|v| v * v).sum()).collect();
    let largest = norms.iter().copied().fold(0.0, f64::max);
    if loses_digits(kernel, largest, graph.precision) {
        return by_differences(graph, rows, vectors);
    }
    let mean = graph.constant("mean", &[mean.len()], &mean);
    let x = graph.op("Sub", &[rows, &mean], vec![]);
    let x_norms = graph.op("ReduceSumSquare", &[&x], vec![ints("axes", &[1]), int("keepdims", 1)]);
    let doubled = Matrix::from_fn(centred.cols(), centred.rows(), |j, i| -2.0 * centred.at(i, j));
    let (doubled, norms) = (graph.matrix("vectors", &doubled), graph.constant("norms", &[norms.len()], &norms));
    let product = graph.op("Gemm", &[&x, &doubled, &norms], vec![]);
    let u = graph.op("Add", &[&product, &x_norms], vec![]);
    graph.op("Relu", &[&u], vec![])
}

/// Whether |x|^2 + |z|^2 - 2 x.z is too coarse: u is wrong by a few units of the last place of |z|^2, k by that times its slope.
fn loses_digits(kernel: &Kernel, largest: f64, precision: Precision) -> bool {
    let unit = match precision {
        Precision::F32 => f64::from(f32::EPSILON),
        Precision::F64 => f64::EPSILON,
    };
    let error = 4.0 * unit * largest;
    let allowed = if precision == Precision::F32 { TOO_MUCH } else { 1e-11 };
    !kernel.profile().smooth() || kernel.profile().slope(0.0).abs() * error > allowed
}

/// sum_j (x_j - z_j)^2 for one vector after the other.
fn by_differences(graph: &mut Graph, rows: &str, vectors: &Matrix) -> String {
    let kind = graph.real();
    let mut each = Graph::new(graph.precision, "each_");
    each.input("each_vector", kind, Some(&[Dim::Fixed(vectors.cols())]));
    let apart = each.op("Sub", &[rows, "each_vector"], vec![]);
    let squared = each.op("ReduceSumSquare", &[&apart], vec![ints("axes", &[1]), int("keepdims", 0)]);
    each.output(&squared, "each_distance", kind, Some(&[Dim::Rows]));
    let vectors = graph.matrix("vectors", vectors);
    let distances = graph.op("Scan", &[&vectors], vec![body("body", each), int("num_scan_inputs", 1)]);
    graph.op("Transpose", &[&distances], vec![ints("perm", &[1, 0])])
}

/// k(u), where u is |x - z|^2 or gamma x.z.
fn profile(graph: &mut Graph, u: &str, kernel: &Kernel) -> String {
    let times = |graph: &mut Graph, value: &str, factor: f64| {
        let factor = graph.number(factor);
        graph.op("Mul", &[value, &factor], vec![])
    };
    let plus = |graph: &mut Graph, value: &str, term: f64| {
        let term = graph.number(term);
        graph.op("Add", &[value, &term], vec![])
    };
    match kernel {
        Kernel::Gaussian(k) => {
            let exponent = times(graph, u, -k.gamma);
            graph.op("Exp", &[&exponent], vec![])
        }
        Kernel::Exponential(_) | Kernel::Matern32(_) | Kernel::Matern52(_) | Kernel::Matern72(_) => {
            let root = graph.op("Sqrt", &[u], vec![]);
            let r = times(graph, &root, kernel.gamma().unwrap_or(1.0));
            let minus = graph.op("Neg", &[&r], vec![]);
            let e = graph.op("Exp", &[&minus], vec![]);
            // The polynomial before exp(-r) is 1 + r (1 + r (..)): the factors of r inside, from the innermost on.
            let (innermost, outer): (f64, &[f64]) = match kernel {
                Kernel::Matern32(_) => (1.0, &[]),
                Kernel::Matern52(_) => (1.0 / 3.0, &[1.0]),
                Kernel::Matern72(_) => (1.0 / 15.0, &[0.4, 1.0]),
                _ => return e,
            };
            let mut sum = if innermost == 1.0 { r.clone() } else { times(graph, &r, innermost) };
            for term in outer {
                let inner = plus(graph, &sum, *term);
                sum = graph.op("Mul", &[&r, &inner], vec![]);
            }
            let factor = plus(graph, &sum, 1.0);
            graph.op("Mul", &[&factor, &e], vec![])
        }
        Kernel::InverseMultiquadric(k) => {
            let scaled = times(graph, u, k.gamma);
            let one = plus(graph, &scaled, 1.0);
            if kernel.has_other_exponent() {
                let exponent = graph.number(k.exponent);
                return graph.op("Pow", &[&one, &exponent], vec![]);
            }
            let root = graph.op("Sqrt", &[&one], vec![]);
            graph.op("Reciprocal", &[&root], vec![])
        }
        Kernel::Polynomial(k) => {
            let base = plus(graph, u, k.coef0);
            let degree = graph.number(f64::from(k.degree));
            graph.op("Pow", &[&base, &degree], vec![])
        }
        Kernel::Sigmoid(k) => {
            let argument = plus(graph, u, k.coef0);
            graph.op("Tanh", &[&argument], vec![])
        }
        Kernel::Linear(_) | Kernel::Precomputed(_) => u.into(),
    }
}

/// `values` times coefficients, plus offsets. In single precision terms of both signs cancel, so that large ones are summed in double.
pub(super) fn sums(graph: &mut Graph, values: &str, kernel: &Kernel, coefficients: &Matrix, offsets: &[f64]) -> String {
    let total = |k: usize| coefficients.iter().map(|row| row[k].abs()).sum::<f64>();
    let largest = (0..coefficients.cols()).map(total).fold(0.0, f64::max);
    let small = kernel.profile().argument() == Argument::SquaredDistance && f64::from(f32::EPSILON) * largest <= TOO_MUCH;
    if graph.precision == Precision::F64 || small {
        return products(graph, values, coefficients, offsets);
    }
    let real = i64::from(graph.real());
    graph.precision = Precision::F64;
    let double = i64::from(graph.real());
    let values = graph.op("Cast", &[values], vec![int("to", double)]);
    let sums = products(graph, &values, coefficients, offsets);
    graph.precision = Precision::F32;
    graph.op("Cast", &[&sums], vec![int("to", real)])
}

/// The same in the precision of the graph.
pub(super) fn products(graph: &mut Graph, values: &str, coefficients: &Matrix, offsets: &[f64]) -> String {
    let (coefficients, offsets) = (graph.matrix("coefficients", coefficients), graph.constant("offsets", &[offsets.len()], offsets));
    graph.op("Gemm", &[values, &coefficients, &offsets], vec![float("alpha", 1.0), float("beta", 1.0)])
}
