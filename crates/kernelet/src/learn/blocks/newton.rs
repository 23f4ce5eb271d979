//! Newton's method for the weights on given vectors: rounds end when the next promises less than a given fraction of the value, which is then estimated by subtracting what
//! is promised.
use super::ask::Problem;
use crate::{
    Error, Result,
    device::{Gradient, Vectors},
    kernel::Kernel,
    learn::direct::Transform,
    linalg::Matrix,
};

/// Rounds after which the best so far is returned.
const MOST_ROUNDS: usize = 50;

/// The smallest fraction of a step that is tried.
const SHORTEST: f64 = 1e-10;

/// Values that rise by no more than this fraction have not risen.
const ROUNDING: f64 = 1e-14;

/// Where rounds begin.
#[derive(Clone, Copy, Debug)]
pub struct Beginning<'a> {
    /// The estimator.
    pub problem: &'a Problem,
    /// The kernel.
    pub kernel: &'a Kernel,
    /// What scaled rows go through before the kernel sees them.
    pub transform: &'a Transform,
    /// m x K, in the units of transformed rows.
    pub vectors: Vectors<'a>,
    /// (m + 1) x q: weights in coordinates of the vectors' frame, and below them the offsets where there are some.
    pub weights: &'a Matrix,
}

/// Where rounds have ended.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Optimum {
    /// The weights, (m + 1) x q.
    pub x: Matrix,
    /// The coefficients on the vectors, m x q.
    pub coefficients: Matrix,
    /// The value there.
    pub value: f64,
    /// Rows.
    pub rows: f64,
    /// Rows with the wrong label, or squared errors.
    pub errors: f64,
}

/// What rounds need of the rows. Values have a part for each output whose weights are apart from the others', else one part.
pub trait Rounds {
    /// The values at the weights to begin with.
    fn begin(&mut self) -> Result<Vec<f64>>;
    /// Newton's step from there, and half of the decrease that it promises: what the value falls by where it is quadratic.
    fn step(&mut self) -> Result<f64>;
    /// The values after these fractions of the step.
    fn after(&mut self, parts: &[f64]) -> Result<Vec<f64>>;
    /// Goes on from there.
    fn accept(&mut self);
    /// All about the weights that were accepted last, whose value is this. Writes the gradient of the value by the vectors, m x K, where there is space for it.
    fn finish(&mut self, value: f64, gradient: Gradient) -> Result<Optimum>;
    /// Passes over the rows so far.
    fn passes(&self) -> u64;
    /// Whether the values after a step are known with the step: then the last one is made although it promises little.
    fn is_eager(&self) -> bool {
        false
    }
}

/// The value at the optimum, less what one more round promises where that is not made. At least so many rounds are made.
pub(super) fn newton(rounds: &mut dyn Rounds, quadratic: bool, tolerance: f64, least: usize) -> Result<f64> {
    let mut values = rounds.begin()?;
    for round in 0..MOST_ROUNDS {
        let value = values.iter().sum::<f64>();
        if !value.is_finite() {
            return Err(Error::data("the losses are not finite"));
        }
        let promised = rounds.step()?;
        let last = round >= least && (promised <= tolerance * value.abs() || promised.is_nan());
        if last && !rounds.is_eager() {
            return Ok(value - promised.max(0.0));
        }
        let Some(lower) = search(rounds, &values)? else { break };
        values = lower;
        if quadratic || last {
            break;
        }
    }
    Ok(values.iter().sum())
}

/// The values after as much of the step as lowers them; none where nothing does.
fn search(rounds: &mut dyn Rounds, values: &[f64]) -> Result<Option<Vec<f64>>> {
    let mut parts = vec![1.0; values.len()];
    loop {
        let next = rounds.after(&parts)?;
        let has_risen = |k: usize| next[k].is_nan() || next[k] > values[k] + ROUNDING * values[k].abs();
        let risen: Vec<usize> = (0..parts.len()).filter(|&k| parts[k] > 0.0 && has_risen(k)).collect();
        if risen.is_empty() {
            let moved = parts.iter().any(|part| *part > 0.0);
            if moved {
                rounds.accept();
            }
            return Ok(moved.then_some(next));
        }
        for k in risen {
            parts[k] = if parts[k] > SHORTEST { 0.5 * parts[k] } else { 0.0 };
        }
        if parts.iter().all(|part| *part == 0.0) {
            return Ok(None);
        }
    }
}
