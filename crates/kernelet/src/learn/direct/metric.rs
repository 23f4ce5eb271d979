//! The metric of the kernel, learned with the vectors: one width, a scale for each feature, or a linear map.
//!
//! The kernel sees transformed points: `x -> s o x` with `s_j = exp(l_j / 2)`, so that `|s o (x - z)|^2 = sum_j a_j (x_j - z_j)^2` with
//! `a = exp(l)`, or `x -> L x`. Vectors are variables in the units of the rows, so that they follow their features; below, hats are
//! transformed points. With `M_ik` the derivative of W by the argument of `k(z_i, x_k)` and G its gradient by the transformed vectors, all with
//! coefficients held fixed:
//!
//! | | kernels of the squared distance | kernels of the inner product |
//! |---|---|---|
//! | `dW/dl_j`, vectors held at their hats | `sum_k c_k hat x_kj^2 - sum_i hat z_ij (M hat X)_ij` | `1/2 sum_i hat z_ij (M hat X)_ij` |
//! | and of the vectors that follow | `+ 1/2 sum_i G_ij hat z_ij` | the same |
//! | `dW/dL`, vectors held at their hats | `2 (diag(c) hat X - M' hat Z)' X` | `(M' hat Z)' X` |
//! | and of the vectors that follow | `+ G' Z` | the same |
//!
//! where `c_k = sum_i M_ik`. `M hat X` is part of the gradient by the vectors, so that scales cost n d more; a map costs n K (m + d).
//! The logarithms, or the entries of the map, are held near their origin by a penalty `rho |l - l_0|^2`: minimising over the width alone
//! already fits the training rows too closely.
use std::borrow::Cow;

use crate::parallel::*;

use crate::{
    Error, Result,
    basis::field::GradientSums,
    data::{Points, Scale},
    kernel::Argument,
    linalg::{Matrix, Product, Real, product_transposed},
};

/// Rows that are transformed at a time.
const ROWS: usize = 256;

/// Logarithms beyond this are too far: a factor of 2e4 from where they began.
const FARTHEST: f64 = 20.0;

/// Features whose scale is small move as if it were this: their vectors would be sent away.
const LEAST: f64 = 1e-2;

/// The curvature of a logarithm as a fraction of that of all its transformed coordinates together: the rows that a vector sees are nearer to it than the
/// vectors are to one another, and coefficients of both signs cancel. Of 1/2, 1/8, 1/20 and 1/50 this one has the lowest W after 100 steps on most sets.
const LOGARITHMS: f64 = 0.125;

/// What of the metric is learned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Learned {
    /// Nothing: the kernel is used as it is.
    #[default]
    Nothing,
    /// One factor for all features, the width of the kernel.
    Width,
    /// A factor for each feature.
    Scales,
    /// A linear map to so many dimensions.
    Map(usize),
}

impl Learned {
    /// What model files call it.
    pub fn name(self) -> &'static str {
        match self {
            Learned::Nothing => "none",
            Learned::Width => "width",
            Learned::Scales => "scales",
            Learned::Map(_) => "map",
        }
    }

    /// The dimensions of a map.
    pub fn dimensions(self) -> Option<usize> {
        match self {
            Learned::Map(rows) => Some(rows),
            _ => None,
        }
    }
}

/// The metric that a search begins with, and how it may change.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Metric {
    /// What is learned.
    pub learned: Learned,
    /// The weight rho of the squared distance from the origin.
    pub penalty: f64,
    /// Where the penalty is 0: logarithms of squared factors, or the entries of a map, row by row. Empty for factors of 1 and for
    /// the identity.
    pub origin: Vec<f64>,
    /// Where the search begins; empty for the origin.
    pub start: Vec<f64>,
    /// Whether the logarithms of scales have mean 0, so that the width stays: for learners whose objective falls as all scales shrink.
    pub centred: bool,
}

impl Metric {
    /// The numbers that the search begins with, for rows of `dim` features.
    pub(crate) fn first(&self, dim: usize) -> Result<Vec<f64>> {
        let origin = self.origin(dim)?;
        match self.start.len() {
            0 => Ok(origin),
            count if count == origin.len() => Ok(self.start.clone()),
            count => Err(Error::Shape { what: "numbers of the metric to start from", expected: origin.len(), found: count }),
        }
    }

    /// Where the penalty is 0.
    pub(crate) fn origin(&self, dim: usize) -> Result<Vec<f64>> {
        let count = match self.learned {
            Learned::Nothing => 0,
            Learned::Width => 1,
            Learned::Scales => dim,
            Learned::Map(rows) => rows * dim,
        };
        match (self.origin.len(), self.learned) {
            (0, Learned::Map(rows)) => Ok(Matrix::<f64>::from_fn(rows, dim, |i, j| f64::from(u8::from(i == j))).into_values()),
            (0, _) => Ok(vec![0.0; count]),
            (given, _) if given == count => Ok(self.origin.clone()),
            (given, _) => Err(Error::Shape { what: "numbers of the metric", expected: count, found: given }),
        }
    }

    /// The transform of these numbers; none where they are too far.
    pub(crate) fn transform(&self, numbers: &[f64], dim: usize) -> Option<Transform> {
        let factor = |l: f64| (0.5 * l).exp();
        match self.learned {
            Learned::Nothing => Some(Transform::None),
            Learned::Map(rows) => {
                numbers.iter().all(|v| v.is_finite()).then(|| Matrix::new(numbers.to_vec(), rows, dim)).flatten().map(Transform::Map)
            }
            _ if numbers.iter().any(|l| l.is_nan() || l.abs() > FARTHEST) => None,
            Learned::Width => Some(Transform::Scales(vec![factor(numbers[0]); dim])),
            Learned::Scales => {
                let middle = if self.centred { mean(numbers) } else { 0.0 };
                Some(Transform::Scales(numbers.iter().map(|l| factor(l - middle)).collect()))
            }
        }
    }

    /// The penalty of these numbers; adds its gradient.
    pub(crate) fn penalty(&self, numbers: &[f64], origin: &[f64], gradient: &mut [f64]) -> f64 {
        let mut sum = 0.0;
        for ((g, l), l_0) in gradient.iter_mut().zip(numbers).zip(origin) {
            *g += 2.0 * self.penalty * (l - l_0);
            sum += (l - l_0) * (l - l_0);
        }
        self.penalty * sum
    }

    /// The gradient by the metric's own numbers from that by the transform's.
    fn own(&self, by_transform: &[f64], out: &mut [f64]) {
        match self.learned {
            Learned::Nothing => {}
            Learned::Width => out[0] += by_transform.iter().sum::<f64>(),
            Learned::Scales => {
                let middle = if self.centred { mean(by_transform) } else { 0.0 };
                out.iter_mut().zip(by_transform).for_each(|(o, g)| *o += g - middle);
            }
            Learned::Map(_) => out.iter_mut().zip(by_transform).for_each(|(o, g)| *o += g),
        }
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// What points go through before the kernel sees them.
#[derive(Clone, Debug, PartialEq)]
pub enum Transform {
    /// Nothing.
    None,
    /// Each feature times its factor.
    Scales(Vec<f64>),
    /// A linear map, K x d.
    Map(Matrix),
}

impl Transform {
    /// The features of rows that can be transformed; none where any number can.
    pub(crate) fn dim(&self) -> Option<usize> {
        match self {
            Transform::None => None,
            Transform::Scales(factors) => Some(factors.len()),
            Transform::Map(map) => Some(map.cols()),
        }
    }

    /// The same as part of a machine.
    pub(crate) fn scale(&self) -> Option<Scale> {
        match self {
            Transform::None => None,
            Transform::Scales(factors) => Some(Scale::new(None, factors.clone())),
            Transform::Map(map) => Some(Scale { map: Some(map.clone()), ..Scale::new(None, vec![1.0; map.cols()]) }),
        }
    }

    /// Vectors transformed.
    pub(crate) fn vectors<'a>(&self, z: &'a Matrix) -> Cow<'a, Matrix> {
        match self {
            Transform::None => Cow::Borrowed(z),
            Transform::Scales(factors) => Cow::Owned(Matrix::from_fn(z.rows(), z.cols(), |i, j| factors[j] * z.at(i, j))),
            Transform::Map(map) => Cow::Owned(mapped(z.values(), map)),
        }
    }

    /// Rows transformed, in the storage that they have; `spare` is memory to be used.
    pub(crate) fn rows<'a>(&self, points: &'a Points, spare: Vec<f64>) -> Cow<'a, Points> {
        let factors = match self {
            Transform::None => return Cow::Borrowed(points),
            Transform::Scales(factors) => factors,
            Transform::Map(map) => return Cow::Owned(map_rows(points, map, spare).into()),
        };
        Cow::Owned(match points {
            Points::F64(rows) => {
                let mut values = spare;
                values.resize(rows.values().len(), 0.0);
                let dim = rows.cols().max(1);
                values.par_chunks_mut(ROWS * dim).zip(rows.values().par_chunks(ROWS * dim)).for_each(|(to, from)| {
                    for (to, from) in to.chunks_exact_mut(dim).zip(from.chunks_exact(dim)) {
                        to.iter_mut().zip(from).zip(factors).for_each(|((to, from), factor)| *to = factor * from);
                    }
                });
                Points::F64(Matrix::new(values, rows.rows(), rows.cols()).unwrap_or_default())
            }
            Points::F32(rows) => {
                Points::F32(Matrix::from_fn(rows.rows(), rows.cols(), |i, j| (factors[j] * f64::from(rows.at(i, j))) as f32))
            }
            Points::Sparse(rows) => Points::Sparse(rows.mapped(|j, value| factors[j] * value)),
        })
    }

    /// Adds the gradient by vectors in the units of rows and by the metric's numbers to `out`, from that by transformed vectors `hats`, and
    /// from the sums over the rows, which come in with this factor.
    pub(crate) fn chain(&self, metric: &Metric, z: &Matrix, hats: &Matrix, by_hats: &Matrix, rows: (&RowSums, f64), out: &mut [f64]) {
        let ((m, dim), (rows, factor)) = ((z.rows(), z.cols()), rows);
        let (by_vectors, own) = out.split_at_mut(m * dim);
        match self {
            Transform::None => by_vectors.iter_mut().zip(by_hats.values()).for_each(|(o, g)| *o += g),
            Transform::Scales(factors) => {
                let mut by_logs = rows.by_logs(hats, factor);
                for ((out, g), hat) in by_vectors.chunks_exact_mut(dim.max(1)).zip(by_hats.iter()).zip(hats.iter()) {
                    for j in 0..dim {
                        out[j] += g[j] * factors[j];
                        by_logs[j] += 0.5 * g[j] * hat[j];
                    }
                }
                metric.own(&by_logs, own);
            }
            Transform::Map(map) => {
                f64::add_product(
                    Product { a: by_hats.values(), stride: map.rows(), inner: map.rows(), b: map.values(), cols: dim },
                    by_vectors,
                );
                let mut by_map: Vec<f64> = rows.by_map.values().iter().map(|v| 2.0 * factor * v).collect();
                let turned = by_hats.transposed();
                f64::add_product(Product { a: turned.values(), stride: m, inner: m, b: z.values(), cols: dim }, &mut by_map);
                metric.own(&by_map, own);
            }
        }
    }

    /// The diagonal preconditioner of all variables from that of the vectors, `each`: what moves all vectors at once is curved by all of them.
    pub(crate) fn preconditioner(&self, metric: &Metric, z: &Matrix, each: &[f64]) -> Vec<f64> {
        let (dim, total) = (z.cols(), each.iter().sum::<f64>());
        let of_features: Vec<f64> = match self {
            Transform::None => vec![1.0; dim],
            Transform::Scales(factors) => factors.iter().map(|s| (s * s).max(LEAST)).collect(),
            Transform::Map(map) => (0..dim).map(|j| map.iter().map(|row| row[j] * row[j]).sum::<f64>().max(LEAST)).collect(),
        };
        let mut diagonal: Vec<f64> = each.iter().flat_map(|p| of_features.iter().map(move |f| p * f)).collect();
        let spreads = spreads(z);
        match metric.learned {
            Learned::Nothing => {}
            Learned::Width => diagonal.push(0.5 * total * of_features.iter().zip(&spreads).map(|(f, v)| f * v).sum::<f64>()),
            Learned::Scales => diagonal.extend(of_features.iter().zip(&spreads).map(|(f, v)| LOGARITHMS * total * f * v)),
            Learned::Map(rows) => (0..rows).for_each(|_| diagonal.extend(spreads.iter().map(|v| total * v))),
        }
        diagonal
    }
}

/// The variance of each feature over the vectors, or a thousandth of the mean where that is less; 1 where nothing varies.
fn spreads(z: &Matrix) -> Vec<f64> {
    let variance = |j: usize| {
        let values = z.col(j);
        let middle = mean(&values);
        mean(&values.iter().map(|v| (v - middle) * (v - middle)).collect::<Vec<_>>())
    };
    let all: Vec<f64> = (0..z.cols()).map(variance).collect();
    let least = 1e-3 * mean(&all);
    if least.is_normal() { all.into_iter().map(|v| v.max(least)).collect() } else { vec![1.0; z.cols()] }
}

/// `X L'` for rows of L's columns.
fn mapped(rows: &[f64], map: &Matrix) -> Matrix {
    let count = rows.len() / map.cols().max(1);
    let mut out = Matrix::zeros(count, map.rows());
    product_transposed(rows, map.values(), map.cols(), out.values_mut());
    out
}

fn map_rows(points: &Points, map: &Matrix, spare: Vec<f64>) -> Matrix {
    let (n, dim, count) = (points.len(), map.cols(), map.rows());
    let mut values = spare;
    values.resize(n * count, 0.0);
    values.par_chunks_mut(ROWS * count.max(1)).enumerate().for_each_init(Vec::new, |block: &mut Vec<f64>, (c, out)| {
        let (first, rows) = (c * ROWS, out.len() / count);
        match points {
            Points::F64(matrix) => product_transposed(&matrix.values()[first * dim..(first + rows) * dim], map.values(), dim, out),
            _ => {
                block.resize(rows * dim, 0.0);
                points.copy_rows(first..first + rows, dim, block);
                product_transposed(block, map.values(), dim, out);
            }
        }
    });
    Matrix::new(values, n, count).unwrap_or_default()
}

/// Sums over the rows that the gradient by vectors and metric needs.
pub(crate) struct RowSums {
    argument: Argument,
    /// `M hat X` and `M 1`.
    pub vectors: GradientSums,
    /// `sum_k c_k hat x_kj^2`, where scales are learned.
    squares: Vec<f64>,
    /// `(diag(c) hat X - M' hat Z)' X`, or `1/2 (M' hat Z)' X` for kernels of the inner product, where a map is learned.
    by_map: Matrix,
}

impl RowSums {
    /// For `m` vectors of transformed rows with `dim` numbers.
    pub fn nothing(transform: &Transform, argument: Argument, m: usize, dim: usize) -> Self {
        let (squares, by_map) = match transform {
            Transform::None => (vec![], Matrix::default()),
            Transform::Scales(factors) => (vec![0.0; factors.len()], Matrix::default()),
            Transform::Map(map) => (vec![], Matrix::zeros(map.rows(), map.cols())),
        };
        RowSums { argument, vectors: GradientSums::nothing(m, dim), squares, by_map }
    }

    /// What is summed for the metric alone.
    pub fn numbers_mut(&mut self) -> &mut [f64] {
        if self.squares.is_empty() { self.by_map.values_mut() } else { &mut self.squares }
    }

    /// Adds what scales need of some rows: `weights` holds M', `hats` the transformed rows, in either precision. One thread.
    pub fn add_squares<R: Real>(&mut self, weights: &[f64], hats: &[R]) {
        if self.squares.is_empty() || self.argument == Argument::DotProduct {
            return;
        }
        let (m, dim) = (self.vectors.totals.len().max(1), self.squares.len());
        for (weights, hats) in weights.chunks_exact(m).zip(hats.chunks_exact(dim)) {
            let c: f64 = weights.iter().sum();
            self.squares.iter_mut().zip(hats).for_each(|(s, x)| *s += c * x.to_f64() * x.to_f64());
        }
    }

    /// Adds what a map needs of some rows: `rows` are those rows as they are, `hats` transformed, `z` the transformed vectors. One thread.
    pub fn add_map(&mut self, weights: &[f64], rows: &[f64], hats: &[f64], z: &Matrix) {
        let (count, dim, m) = (self.by_map.rows(), self.by_map.cols(), z.rows().max(1));
        if count == 0 {
            return;
        }
        let n = weights.len() / m;
        let mut q = vec![0.0; n * count];
        f64::add_product(Product { a: weights, stride: m, inner: m, b: z.values(), cols: count }, &mut q);
        for (q, (weights, hats)) in q.chunks_exact_mut(count).zip(weights.chunks_exact(m).zip(hats.chunks_exact(count))) {
            match self.argument {
                Argument::SquaredDistance => {
                    let c: f64 = weights.iter().sum();
                    q.iter_mut().zip(hats).for_each(|(q, x)| *q = c * x - *q);
                }
                Argument::DotProduct => q.iter_mut().for_each(|q| *q *= 0.5),
            }
        }
        let turned = Matrix::new(q, n, count).unwrap_or_default().transposed();
        f64::add_product(Product { a: turned.values(), stride: n, inner: n, b: rows, cols: dim }, self.by_map.values_mut());
    }

    /// Adds other sums of the same kind.
    pub fn add(&mut self, other: &RowSums) {
        self.vectors.add(&other.vectors);
        self.squares.iter_mut().zip(&other.squares).for_each(|(s, o)| *s += o);
        self.by_map.values_mut().iter_mut().zip(other.by_map.values()).for_each(|(s, o)| *s += o);
    }

    /// The derivatives by the logarithms with transformed vectors held where they are, times `factor`.
    fn by_logs(&self, hats: &Matrix, factor: f64) -> Vec<f64> {
        let mut products = vec![0.0; hats.cols()];
        for (hat, sums) in hats.iter().zip(self.vectors.points.iter()) {
            products.iter_mut().zip(hat.iter().zip(sums)).for_each(|(p, (z, s))| *p += z * s);
        }
        match self.argument {
            Argument::SquaredDistance => self.squares.iter().zip(&products).map(|(s, p)| factor * (s - p)).collect(),
            Argument::DotProduct => products.iter().map(|p| 0.5 * factor * p).collect(),
        }
    }
}
