//! What is measured of a machine.
use serde::{Deserialize, Serialize};

use super::Cell;

/// One number for each cell.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "snake_case")]
pub enum Quantity {
    /// The test error: percent for classes, the mean squared error for numbers.
    Error,
    /// Vectors of the machine.
    Vectors,
    /// The error on the training rows.
    TrainError,
    /// The standard deviation of the test error over splits.
    Deviation,
    /// Vectors in percent of the training rows.
    Sparsity,
    /// Vectors in percent of all rows, those to test on too.
    PoolSparsity,
    /// Rows to train on.
    Rows,
    /// Seconds to learn, or to compress.
    Seconds,
    /// Steps of learning.
    Iterations,
    /// Kernel evaluations of learning.
    Evaluations,
    /// The squared distance of the weight vectors, as a fraction of their length.
    Residual,
    /// The objective of learning.
    Objective,
}

impl Quantity {
    /// How the column is called, for errors in percent or not.
    pub fn title(self, percent: bool) -> &'static str {
        match self {
            Quantity::Error if percent => "error %",
            Quantity::Error => "mse",
            Quantity::Vectors => "vectors",
            Quantity::TrainError if percent => "train error %",
            Quantity::TrainError => "train mse",
            Quantity::Deviation => "deviation of the error",
            Quantity::Sparsity => "vectors in % of training rows",
            Quantity::PoolSparsity => "vectors in % of all rows",
            Quantity::Rows => "training rows",
            Quantity::Seconds => "seconds",
            Quantity::Iterations => "iterations",
            Quantity::Evaluations => "kernel evaluations",
            Quantity::Residual => "relative residual",
            Quantity::Objective => "objective",
        }
    }

    /// The key in JSON.
    pub fn key(self, percent: bool) -> &'static str {
        match self {
            Quantity::Error if percent => "error_percent",
            Quantity::Error => "mse",
            Quantity::Vectors => "vectors",
            Quantity::TrainError if percent => "train_error_percent",
            Quantity::TrainError => "train_mse",
            Quantity::Deviation => "deviation",
            Quantity::Sparsity => "sparsity",
            Quantity::PoolSparsity => "pool_sparsity",
            Quantity::Rows => "rows",
            Quantity::Seconds => "seconds",
            Quantity::Iterations => "iterations",
            Quantity::Evaluations => "evaluations",
            Quantity::Residual => "relative_residual",
            Quantity::Objective => "objective",
        }
    }

    /// The number of a cell; NaN where there is none.
    pub fn of(self, cell: &Cell, percent: bool) -> f64 {
        let factor = if percent { 100.0 } else { 1.0 };
        match self {
            Quantity::Error | Quantity::Deviation => factor * cell.error,
            Quantity::Vectors => cell.vectors as f64,
            Quantity::TrainError => cell.train_error.map_or(f64::NAN, |error| factor * error),
            Quantity::Sparsity => 100.0 * cell.vectors as f64 / cell.train_rows as f64,
            Quantity::PoolSparsity => 100.0 * cell.vectors as f64 / (cell.train_rows + cell.test_rows) as f64,
            Quantity::Rows => cell.train_rows as f64,
            Quantity::Seconds => cell.seconds,
            Quantity::Iterations => cell.iterations as f64,
            Quantity::Evaluations => cell.evaluations as f64,
            Quantity::Residual => cell.relative_residual.unwrap_or(f64::NAN),
            Quantity::Objective => cell.objective,
        }
    }

    /// Digits behind the point.
    pub fn digits(self, percent: bool) -> usize {
        match self {
            Quantity::Error | Quantity::TrainError | Quantity::Deviation if percent => 2,
            Quantity::Error | Quantity::TrainError | Quantity::Deviation | Quantity::Residual | Quantity::Seconds => 4,
            Quantity::Vectors | Quantity::Sparsity | Quantity::PoolSparsity | Quantity::Iterations => 1,
            Quantity::Rows | Quantity::Evaluations => 0,
            Quantity::Objective => 2,
        }
    }

    /// True where a difference from what was printed says something about the method: times of other machines do not.
    pub fn compares(self) -> bool {
        !matches!(
            self,
            Quantity::Rows | Quantity::Seconds | Quantity::Iterations | Quantity::Evaluations | Quantity::Residual | Quantity::Objective
        )
    }

    /// True where one split gives a part of rows, whose standard error is known.
    pub fn is_part(self) -> bool {
        matches!(self, Quantity::Error | Quantity::TrainError)
    }
}
