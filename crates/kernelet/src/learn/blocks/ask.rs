//! What one pass over the rows is asked for.
use serde::{Deserialize, Serialize};

use super::packed::{Packed, matrix};
use crate::{Error, Result, data::Scale, kernel::Kernel, learn::direct::Transform, linalg::Matrix};

/// The loss of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RowLossName {
    /// `max(0, 1 - y f)^2` for each class against the others.
    SquaredHinge,
    /// The logarithm of the probability of the class.
    Logistic,
    /// `(y - f)^2` for each target; there is no offset.
    Squared,
    /// For each target t of -1 or 1 `max(0, 1 - t f)^2`, in between `(t - f)^2`.
    Taught,
}

/// An estimator on rows: `1/2 |W|^2` and the losses of the rows are minimised.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Problem {
    /// The loss of a row.
    pub loss: RowLossName,
    /// Classes; 0 for values.
    pub n_classes: usize,
    /// Outputs of the machine.
    pub n_outputs: usize,
    /// What the loss of a row of each class is multiplied by, beside its weight; one number for values.
    pub costs: Vec<f64>,
    /// How rows are scaled.
    pub scale: Option<Scale>,
    /// What is subtracted from the values of each target; empty for nothing.
    pub centre: Vec<f64>,
}

impl Problem {
    /// 1 where there is an offset, which is one more variable of each output.
    pub(super) fn offset(&self) -> usize {
        usize::from(self.loss != RowLossName::Squared)
    }

    /// Newton systems: one for each output where outputs are apart, else one for all.
    pub(super) fn n_systems(&self) -> usize {
        if matches!(self.loss, RowLossName::SquaredHinge | RowLossName::Taught) { self.n_outputs } else { 1 }
    }

    /// True where one system gives the minimum.
    pub(super) fn is_quadratic(&self) -> bool {
        self.loss == RowLossName::Squared
    }

    /// True where the system only resembles the second derivatives, which bind the outputs together.
    pub(super) fn is_coupled(&self) -> bool {
        self.loss == RowLossName::Logistic && self.n_outputs > 1
    }
}

/// A machine on given vectors, and what is wanted of it. Losses and the gradient by the weights always come along.
#[derive(Clone, Debug, PartialEq)]
pub struct FitAsk {
    /// The estimator.
    pub problem: Problem,
    /// The kernel.
    pub kernel: Kernel,
    /// What scaled rows go through before the kernel sees them.
    pub transform: Transform,
    /// m x K, in the units of transformed rows.
    pub vectors: Matrix,
    /// The factor of their kernel matrix, m x m, lower triangle.
    pub factor: Matrix,
    /// (m + 1) x q: weights in coordinates of the frame, and below them the offsets where there are some.
    pub weights: Matrix,
    /// Whether Newton's systems are wanted.
    pub systems: bool,
    /// Whether the sums for the gradient by the vectors and by the transform are wanted.
    pub vectors_gradient: bool,
    /// A direction of the weights, whose product with the second derivatives is wanted.
    pub direction: Option<Matrix>,
}

/// What one pass is asked for.
#[derive(Clone, Debug, PartialEq)]
pub enum Ask {
    /// Moments, counts of classes, and a sample of the rows.
    Scout {
        /// The seed of the sample.
        seed: u64,
        /// Rows of the sample.
        sample: usize,
        /// The most fingerprints of rows.
        fingerprints: usize,
        /// Classes; 0 for values.
        n_classes: usize,
    },
    /// Sums at given vectors and weights.
    Fit(Box<FitAsk>),
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "kebab-case")]
enum Header {
    Scout { seed: u64, sample: usize, fingerprints: usize, n_classes: usize },
    Fit { problem: Problem, kernel: Kernel, metric: Form, shape: [usize; 2], systems: bool, vectors_gradient: bool, direction: bool },
}

/// The form of a transform, whose numbers are an array.
#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Form {
    None,
    Scales,
    Map,
}

impl Form {
    fn of(transform: &Transform) -> (Form, Vec<f64>) {
        match transform {
            Transform::None => (Form::None, vec![]),
            Transform::Scales(factors) => (Form::Scales, factors.clone()),
            Transform::Map(map) => (Form::Map, map.values().to_vec()),
        }
    }

    /// The transform with these numbers, whose results have `dim` features.
    fn with(self, numbers: Vec<f64>, dim: usize) -> Result<Transform> {
        let count = numbers.len();
        match self {
            Form::None => Ok(Transform::None),
            Form::Scales if count == dim => Ok(Transform::Scales(numbers)),
            Form::Scales => Err(Error::Shape { what: "scales of features", expected: dim, found: count }),
            Form::Map => matrix("numbers of a map", numbers, dim, count / dim.max(1)).map(Transform::Map),
        }
    }
}

impl Ask {
    /// As bytes, for other processes.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let packed = match self {
            Ask::Scout { seed, sample, fingerprints, n_classes } => {
                let (seed, sample, fingerprints, n_classes) = (*seed, *sample, *fingerprints, *n_classes);
                Packed::new(&Header::Scout { seed, sample, fingerprints, n_classes }, vec![])
            }
            Ask::Fit(fit) => {
                let (metric, numbers) = Form::of(&fit.transform);
                let header = Header::Fit {
                    metric,
                    problem: fit.problem.clone(),
                    kernel: fit.kernel.clone(),
                    shape: [fit.vectors.rows(), fit.vectors.cols()],
                    systems: fit.systems,
                    vectors_gradient: fit.vectors_gradient,
                    direction: fit.direction.is_some(),
                };
                let direction = fit.direction.clone().unwrap_or_default();
                let arrays = [&fit.vectors, &fit.factor, &fit.weights, &direction].map(|matrix| matrix.values().to_vec());
                Packed::new(&header, arrays.into_iter().chain([numbers]).collect())
            }
        };
        Ok(packed?.to_bytes())
    }

    /// From such bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let packed = Packed::from_bytes(bytes)?;
        match packed.header()? {
            Header::Scout { seed, sample, fingerprints, n_classes } => Ok(Ask::Scout { seed, sample, fingerprints, n_classes }),
            Header::Fit { problem, kernel, metric, shape: [m, dim], systems, vectors_gradient, direction } => {
                let [vectors, factor, weights, along, numbers] = packed.arrays()?;
                let (rows, q) = (m + problem.offset(), problem.n_outputs);
                let direction = direction.then(|| matrix("numbers of a direction", along, rows, q)).transpose()?;
                let fit = FitAsk {
                    transform: metric.with(numbers, dim)?,
                    vectors: matrix("numbers of vectors", vectors, m, dim)?,
                    factor: matrix("numbers of a factor", factor, m, m)?,
                    weights: matrix("weights", weights, rows, q)?,
                    problem,
                    kernel,
                    systems,
                    vectors_gradient,
                    direction,
                };
                fit.check()?;
                Ok(Ask::Fit(Box::new(fit)))
            }
        }
    }
}

impl FitAsk {
    fn check(&self) -> Result<()> {
        let problem = &self.problem;
        let (costs, outputs) = match (problem.loss, problem.n_classes) {
            (RowLossName::Squared, _) => (1, problem.n_outputs),
            (_, 2) => (2, 1),
            (_, classes) => (classes, classes),
        };
        if !problem.centre.is_empty() && problem.centre.len() != outputs {
            return Err(Error::Shape { what: "means of targets", expected: outputs, found: problem.centre.len() });
        }
        if problem.costs.len() != costs || problem.n_outputs != outputs || outputs == 0 {
            return Err(Error::Shape { what: "costs of classes", expected: costs, found: problem.costs.len() });
        }
        self.kernel.check()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn asks_come_back_from_their_bytes() {
        let problem = Problem {
            loss: RowLossName::SquaredHinge,
            n_classes: 3,
            n_outputs: 3,
            costs: vec![1.0 / 3.0; 3],
            scale: Some(Scale::new(Some(vec![0.1, 0.2]), vec![1.0, 1.0 / 7.0])),
            centre: vec![],
        };
        let number = |i: usize, j: usize| ((i * 5 + j) as f64).sin();
        let fit = FitAsk {
            problem,
            kernel: Kernel::gaussian(1.0 / 3.0),
            transform: Transform::None,
            vectors: Matrix::from_fn(4, 2, number),
            factor: Matrix::from_fn(4, 4, number),
            weights: Matrix::from_fn(5, 3, number),
            systems: true,
            vectors_gradient: false,
            direction: Some(Matrix::from_fn(5, 3, number)),
        };
        for ask in [Ask::Scout { seed: u64::MAX, sample: 10, fingerprints: 7, n_classes: 2 }, Ask::Fit(Box::new(fit.clone()))] {
            assert_eq!(Ask::from_bytes(&ask.to_bytes().unwrap()).unwrap(), ask);
        }
        let bytes = |transform: Transform| Ask::Fit(Box::new(FitAsk { transform, ..fit.clone() })).to_bytes().unwrap();
        for transform in [Transform::Scales(vec![0.5, 1.0 / 7.0]), Transform::Map(Matrix::from_fn(2, 3, number))] {
            let Ask::Fit(found) = Ask::from_bytes(&bytes(transform.clone())).unwrap() else { panic!() };
            assert_eq!(found.transform, transform);
        }
        assert!(Ask::from_bytes(&bytes(Transform::Scales(vec![0.5; 3]))).is_err());
        assert!(Ask::from_bytes(&bytes(Transform::Map(Matrix::zeros(3, 1)))).is_err());
        let wrong = FitAsk { problem: Problem { costs: vec![1.0], ..fit.problem.clone() }, ..fit.clone() };
        assert!(Ask::from_bytes(&Ask::Fit(Box::new(wrong)).to_bytes().unwrap()).is_err());
        let wrong = FitAsk { problem: Problem { centre: vec![1.0; 2], ..fit.problem.clone() }, ..fit };
        assert!(Ask::from_bytes(&Ask::Fit(Box::new(wrong)).to_bytes().unwrap()).is_err());
    }
}
