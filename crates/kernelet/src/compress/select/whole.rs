//! The problem of the methods that look at all candidates at once: their whole kernel matrix, n^2 numbers.
use crate::{
    Error, Result,
    basis::check_definite,
    compress::Task,
    kernel::block::symmetric,
    linalg::Matrix,
    machine::{inner_products, squared_norm},
    watch::Watch,
};

/// The target in the eyes of the candidates.
pub(super) struct Whole {
    /// The kernel matrix of the candidates.
    pub gram: Matrix,
    /// `<w_k, Phi(x_i)>`, one row for each output.
    pub values: Matrix,
    /// `sum_k ||w_k||^2`.
    pub start: f64,
    /// `max_k |alpha_ik|` of the candidates, where these are vectors of a machine.
    pub sizes: Option<Vec<f64>>,
}

impl Whole {
    /// The problem of a task that has been checked.
    pub fn of(task: &Task, watch: &Watch) -> Result<Whole> {
        let expansion = &task.machine.expansion;
        check_definite(&expansion.kernel)?;
        let candidates = task.candidates();
        watch.evaluated((candidates.len() * (candidates.len() + 1) / 2 + candidates.len() * expansion.vectors.len()) as u64);
        let start: f64 = squared_norm(expansion)?.iter().sum();
        if start.is_nan() || start <= 0.0 {
            return Err(Error::data(
                "the terms of the machine cancel one another: its outputs are constant, and one needs no vectors for that",
            ));
        }
        Ok(Whole {
            gram: symmetric(&expansion.kernel, candidates),
            values: inner_products(expansion, candidates)?.transposed(),
            start,
            sizes: own_sizes(task),
        })
    }
}

/// `max_k |alpha_ik|` of the candidates, where these are the machine's vectors.
pub(super) fn own_sizes(task: &Task) -> Option<Vec<f64>> {
    task.candidates.is_none().then(|| sizes_of(&task.machine.expansion.coefficients.to_dense()))
}

/// The largest of each row, signs left out.
pub(super) fn sizes_of(coefficients: &Matrix) -> Vec<f64> {
    coefficients.iter().map(|row| row.iter().fold(0.0, |a: f64, b| a.max(b.abs()))).collect()
}
