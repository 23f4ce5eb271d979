//! The optimum of an estimator on given vectors, by Newton's method on sums of passes.
//!
//! The first pass gives losses, gradient and systems at the weights of the vectors before; every later one also the sums for the gradient by the vectors, so
//! that an evaluation takes two passes in most cases. Rounds end when the next promises less than a given fraction of the value; the
//! value is then estimated by subtracting what is promised.
use crate::parallel::*;

use super::{
    ask::{Ask, FitAsk, Problem},
    engine::Engine,
    newton::{Beginning, Optimum, Rounds, newton},
    packed::matrix,
    sums::{FitSums, Sums},
};
use crate::{
    Error, Result,
    basis::{Frame, JITTER, field::add_gradient},
    device::{Gradient, Vectors},
    kernel::Kernel,
    learn::direct::{RowSums, Transform, add, add_own_gradient, conjugate_gradients},
    linalg::{Cholesky, Matrix, dot},
};

/// The part of the residual that the conjugate gradients leave.
const LEFT: f64 = 1e-4;

/// Where the last step is made although it promises little, rounds end when it promises less than this fraction of the value: a search along inexact values takes
/// more steps, and exact ones cost little there.
const EAGER: f64 = 1e-5;

/// There rounds are not more exact than this, which is what their sums are.
const ON_DEVICE: f64 = 1e-11;

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

/// Weights with their sums, and the value of each part that is apart.
struct Place {
    x: Matrix,
    sums: FitSums,
    values: Vec<f64>,
}

impl Solver<'_> {
    /// The optimum on transformed vectors: rounds end when the next promises less than `tolerance` of the value. Writes the gradient by these vectors where there is
    /// space for it; with it come the sums that the gradient by the transform needs.
    pub fn solve(
        &mut self,
        kernel: &Kernel,
        transform: &Transform,
        vectors: Vectors,
        tolerance: f64,
        gradient: Gradient,
    ) -> Result<(Optimum, RowSums)> {
        self.engine_failed = false;
        let (q, problem) = (self.problem.n_outputs, self.problem);
        let width = vectors.rows() + problem.offset();
        let weights = self.last.take().filter(|x| x.rows() == width).unwrap_or_else(|| Matrix::zeros(width, q));
        let from = Beginning { problem, kernel, transform, vectors, weights: &weights };
        let (found, sums) = match self.on_engine(&from, tolerance, gradient)? {
            Ok(found) => (found, RowSums::nothing(transform, kernel.profile().argument(), 0, vectors.cols())),
            Err(gradient) => self.by_passes(&from, tolerance, gradient.held()?)?,
        };
        self.last = Some(found.x.clone());
        Ok((found, sums))
    }

    /// The optimum by the rounds of the engine; gives the space for the gradient back where it has none.
    fn on_engine<'g>(
        &mut self,
        from: &Beginning,
        tolerance: f64,
        gradient: Gradient<'g>,
    ) -> Result<std::result::Result<Optimum, Gradient<'g>>> {
        let rounds = if from.problem.is_coupled() { None } else { self.engine.rounds(from) };
        let Some(rounds) = rounds else { return Ok(Err(gradient)) };
        let outcome = rounds.and_then(|mut rounds| {
            let tolerance = if rounds.is_eager() { tolerance.clamp(ON_DEVICE, EAGER) } else { tolerance };
            let value = newton(&mut *rounds, from.problem.is_quadratic(), tolerance, 0)?;
            Ok((rounds.finish(value, gradient)?, rounds.passes()))
        });
        self.engine_failed = matches!(outcome, Err(Error::Device(_)));
        let (found, passes) = outcome?;
        self.passes += passes;
        Ok(Ok(found))
    }

    fn by_passes(&mut self, from: &Beginning, tolerance: f64, gradient: &mut [f64]) -> Result<(Optimum, RowSums)> {
        let quadratic = from.problem.is_quadratic();
        let vectors = from.vectors.held()?;
        let frame = Frame::fixed(from.kernel, &vectors.clone().into(), JITTER)?;
        let first = FitAsk {
            problem: from.problem.clone(),
            kernel: from.kernel.clone(),
            transform: from.transform.clone(),
            vectors: vectors.clone(),
            factor: frame.lower().matrix().clone(),
            weights: from.weights.clone(),
            systems: true,
            vectors_gradient: false,
            direction: None,
        };
        let later = FitAsk { systems: !quadratic, vectors_gradient: !gradient.is_empty(), ..first.clone() };
        let mut rounds = ByPasses { solver: self, frame, first, later, here: None, step: Matrix::default(), next: None };
        // The sums for the gradient by the vectors come with every pass but the first.
        let value = newton(&mut rounds, quadratic, tolerance, usize::from(!gradient.is_empty()))?;
        rounds.ended(value, gradient)
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
    frame: Frame,
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

    /// All about the weights that were accepted last, and the sums over the rows that the gradient by the transform needs.
    fn ended(&mut self, value: f64, gradient: &mut [f64]) -> Result<(Optimum, RowSums)> {
        let place = self.here.take().ok_or_else(|| Error::data("Newton's method has not begun"))?;
        let wanted = !gradient.is_empty();
        let place = if wanted && place.sums.moved.is_empty() { self.solver.at(&self.later, place.x)? } else { place };
        let (frame, FitAsk { vectors, transform, .. }) = (&self.frame, &self.later);
        let coefficients = frame.coefficients(&place.x.select(&(0..frame.len()).collect::<Vec<_>>()));
        let mut sums = RowSums::nothing(transform, frame.kernel().profile().argument(), 0, vectors.cols());
        if wanted {
            sums = place.sums.gradient_sums(transform, frame.kernel(), vectors.rows(), vectors.cols())?;
            gradient.fill(0.0);
            add_gradient(frame.kernel(), vectors.values(), &sums.vectors, 1.0, gradient);
            add_own_gradient(frame.kernel(), vectors, &coefficients, &vec![1.0; coefficients.cols()], gradient);
        }
        Ok((Optimum { x: place.x, coefficients, value, rows: place.sums.rows, errors: place.sums.errors }, sums))
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

    fn finish(&mut self, value: f64, gradient: Gradient) -> Result<Optimum> {
        self.ended(value, gradient.held()?).map(|(optimum, _)| optimum)
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
