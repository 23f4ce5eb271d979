//! The optimum of an estimator on given vectors, by Newton's method on sums of passes.
//!
//! The first pass gives losses, gradient and systems at the weights of the vectors before; every later one also the sums for the gradient by the vectors, so
//! that an evaluation takes two passes in most cases. Rounds end when the next promises less than a given fraction of the value; the
//! value is then estimated by subtracting what is promised.
use crate::parallel::*;

use super::{
    ask::{Ask, FitAsk, Problem},
    engine::Engine,
    newton::{Rounds, newton},
    packed::matrix,
    sums::{FitSums, Sums},
};
use crate::{
    Error, Result,
    basis::Frame,
    learn::direct::{Transform, add, conjugate_gradients},
    linalg::{Cholesky, Matrix, dot},
};

/// The part of the residual that the conjugate gradients leave.
const LEFT: f64 = 1e-4;

/// What is said where a system has no factor.
pub(super) const NO_FACTOR: &str = "Newton's system cannot be factored; scale the data, or lower the cost";

/// Solves on one set of vectors after another.
pub(super) struct Solver<'a> {
    pub engine: &'a mut dyn Engine,
    pub problem: &'a Problem,
    /// The weights of the last solution.
    pub last: Option<Matrix>,
    /// Passes so far.
    pub passes: u64,
    /// Whether a pass has failed, which ends a search; that no step leads down does not.
    pub engine_failed: bool,
}

/// The optimum, and the sums there.
pub(super) struct Optimum {
    /// (m + 1) x q.
    pub x: Matrix,
    /// The value there, less what one more round promises.
    pub value: f64,
    pub sums: FitSums,
    /// Whether the sums for the gradient by the vectors hold what these add themselves.
    pub with_vectors: bool,
}

/// Weights with their sums, and the value of each part that is apart.
struct Place {
    x: Matrix,
    sums: FitSums,
    values: Vec<f64>,
}

impl Solver<'_> {
    /// The optimum on a frame of transformed vectors: rounds end when the next promises less than `tolerance` of the value.
    pub fn solve(&mut self, frame: &Frame, transform: &Transform, tolerance: f64, vectors_gradient: bool) -> Result<Optimum> {
        let (m, q) = (frame.len(), self.problem.n_outputs);
        let width = m + self.problem.offset();
        let start = self.last.take().filter(|x| x.rows() == width).unwrap_or_else(|| Matrix::zeros(width, q));
        let ask = FitAsk {
            problem: self.problem.clone(),
            kernel: frame.kernel().clone(),
            transform: transform.clone(),
            vectors: frame.vectors().to_dense(),
            factor: frame.lower().matrix().clone(),
            weights: start,
            systems: true,
            vectors_gradient: false,
            direction: None,
        };
        let (quadratic, coupled) = (self.problem.is_quadratic(), self.problem.is_coupled());
        let found = if coupled { None } else { self.on_engine(&ask, tolerance, vectors_gradient).transpose()? };
        let found = match found {
            Some(found) => found,
            None => {
                let later = FitAsk { systems: !quadratic, vectors_gradient, ..ask.clone() };
                let mut rounds = ByPasses { solver: self, first: ask, later, here: None, step: Matrix::default(), next: None };
                // The sums for the gradient by the vectors come with every pass but the first.
                let value = newton(&mut rounds, quadratic, tolerance, usize::from(vectors_gradient))?;
                let (x, sums) = rounds.finish()?;
                Optimum { x, value, sums, with_vectors: false }
            }
        };
        self.last = Some(found.x.clone());
        Ok(found)
    }

    /// The optimum by the rounds of the engine, where it has any.
    fn on_engine(&mut self, ask: &FitAsk, tolerance: f64, vectors_gradient: bool) -> Option<Result<Optimum>> {
        let quadratic = self.problem.is_quadratic();
        let outcome = self.engine.rounds(&FitAsk { vectors_gradient, ..ask.clone() }).map(|rounds| {
            let mut rounds = rounds?;
            let value = newton(&mut *rounds, quadratic, tolerance, 0)?;
            let (x, sums) = rounds.finish()?;
            Ok((rounds.passes(), Optimum { x, value, sums, with_vectors: rounds.with_vectors() }))
        })?;
        self.engine_failed = matches!(outcome, Err(Error::Device(_)));
        Some(outcome.map(|(passes, optimum)| {
            self.passes += passes;
            optimum
        }))
    }

    fn at(&mut self, ask: &FitAsk, x: Matrix) -> Result<Place> {
        let sums = self.pass(FitAsk { weights: x.clone(), ..ask.clone() })?;
        let (m, q) = (ask.vectors.rows(), x.cols());
        let square = |k: usize| (0..m).map(|j| x.at(j, k) * x.at(j, k)).sum::<f64>();
        let norms: Vec<f64> = (0..q).map(|k| 0.5 * square(k)).collect();
        let values = match sums.losses.len() {
            1 => vec![sums.losses[0] + norms.iter().sum::<f64>()],
            _ => sums.losses.iter().zip(norms).map(|(loss, norm)| loss + norm).collect(),
        };
        Ok(Place { x, sums, values })
    }

    fn pass(&mut self, ask: FitAsk) -> Result<FitSums> {
        self.passes += 1;
        let answer = self.engine.pass(&Ask::Fit(Box::new(ask)));
        self.engine_failed = answer.is_err();
        match answer? {
            Sums::Fit(sums) => Ok(*sums),
            Sums::Scout(_) => Err(Error::data("the engine answered another ask")),
        }
    }

    fn gradient(&self, here: &Place, m: usize) -> Result<Matrix> {
        let (rows, q) = (here.x.rows(), here.x.cols());
        let mut gradient = matrix("gradient", here.sums.gradient.clone(), rows, q)?;
        gradient.values_mut()[..m * q].iter_mut().zip(here.x.values()).for_each(|(g, w)| *g += w);
        Ok(gradient)
    }

    /// Newton's step.
    fn step(&mut self, ask: &FitAsk, here: &Place, gradient: &Matrix) -> Result<Matrix> {
        let m = ask.vectors.rows();
        let factors: Vec<Cholesky> =
            (0..self.problem.n_systems()).into_par_iter().map(|k| factor(&here.sums, k, m, here.x.rows())).collect::<Result<_>>()?;
        if self.problem.is_coupled() {
            return self.coupled_step(ask, here, &factors[0], gradient);
        }
        let q = gradient.cols();
        let solved = |k: usize| {
            let mut column = Matrix::column(gradient.col(k).iter().map(|g| -g).collect());
            factors[k.min(factors.len() - 1)].solve(&mut column);
            column.into_values()
        };
        let columns: Vec<Vec<f64>> = (0..q).into_par_iter().map(solved).collect();
        Ok(Matrix::from_fn(gradient.rows(), q, |j, k| columns[k][j]))
    }

    /// The step where second derivatives bind outputs together: a pass for each product with them.
    fn coupled_step(&mut self, ask: &FitAsk, here: &Place, factor: &Cholesky, gradient: &Matrix) -> Result<Matrix> {
        let (m, q) = (ask.vectors.rows(), gradient.cols());
        let ask = FitAsk { weights: here.x.clone(), systems: false, vectors_gradient: false, ..ask.clone() };
        let mut failed = None;
        let solved = |rest: &Matrix| {
            let mut out = rest.clone();
            factor.solve(&mut out);
            out
        };
        let step = conjugate_gradients(solved, LEFT, gradient, |direction| {
            let curved = self.pass(FitAsk { direction: Some(direction.clone()), ..ask.clone() });
            let product = curved.and_then(|sums| matrix("products", sums.curved, direction.rows(), q));
            match product {
                Ok(mut out) => {
                    out.values_mut()[..m * q].iter_mut().zip(direction.values()).for_each(|(o, w)| *o += w);
                    Some(out)
                }
                Err(error) => {
                    failed = Some(error);
                    None
                }
            }
        });
        step.ok_or_else(|| failed.unwrap_or_else(|| Error::data("the step cannot be computed")))
    }
}

/// Rounds whose sums are those of passes.
struct ByPasses<'a, 'b> {
    solver: &'a mut Solver<'b>,
    first: FitAsk,
    later: FitAsk,
    here: Option<Place>,
    step: Matrix,
    next: Option<Place>,
}

impl ByPasses<'_, '_> {
    fn here(&self) -> Result<&Place> {
        self.here.as_ref().ok_or_else(|| Error::data("Newton's method has not begun"))
    }
}

impl Rounds for ByPasses<'_, '_> {
    fn begin(&mut self) -> Result<Vec<f64>> {
        let here = self.solver.at(&self.first, self.first.weights.clone())?;
        let values = here.values.clone();
        self.here = Some(here);
        Ok(values)
    }

    fn step(&mut self) -> Result<f64> {
        let here = self.here.take().ok_or_else(|| Error::data("Newton's method has not begun"))?;
        let gradient = self.solver.gradient(&here, self.later.vectors.rows())?;
        self.step = self.solver.step(&self.later, &here, &gradient)?;
        self.here = Some(here);
        Ok(-0.5 * dot(gradient.values(), self.step.values()))
    }

    fn after(&mut self, parts: &[f64]) -> Result<Vec<f64>> {
        let part = |k: usize| parts[k.min(parts.len() - 1)];
        let moved = Matrix::from_fn(self.step.rows(), self.step.cols(), |j, k| part(k) * self.step.at(j, k));
        let mut x = self.here()?.x.clone();
        add(&mut x, 1.0, &moved);
        let next = self.solver.at(&self.later, x)?;
        let values = next.values.clone();
        self.next = Some(next);
        Ok(values)
    }

    fn accept(&mut self) {
        self.here = self.next.take().or(self.here.take());
    }

    fn finish(&mut self) -> Result<(Matrix, FitSums)> {
        let place = self.here.take().ok_or_else(|| Error::data("Newton's method has not begun"))?;
        let complete = !self.later.vectors_gradient || !place.sums.moved.is_empty();
        let place = if complete { place } else { self.solver.at(&self.later, place.x)? };
        Ok((place.x, place.sums))
    }

    fn passes(&self) -> u64 {
        self.solver.passes
    }
}

/// The factor of a system with the penalty of the weights.
fn factor(sums: &FitSums, index: usize, m: usize, width: usize) -> Result<Cholesky> {
    let mut system = sums.system(index, width)?;
    (0..m).for_each(|j| system.row_mut(j)[j] += 1.0);
    if width > m {
        // Rows far from any bend leave the offset free.
        system.row_mut(m)[m] = system.at(m, m) * (1.0 + 1e-12) + 1e-12;
    }
    Cholesky::new(&system).ok_or_else(|| Error::data(NO_FACTOR))
}
