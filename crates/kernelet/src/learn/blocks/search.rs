//! The search for vectors on passes over rows: W(Z) and its gradient as in [`direct`](crate::learn::direct), inexact early and exact at the end.
use std::cell::RefCell;

use super::{checkpoint::Kept, newton::Optimum, solver::Solver};
use crate::{
    Error, Result,
    basis::{Frame, JITTER},
    kernel::Kernel,
    learn::direct::{LAST_STEPS, Search, preconditioner, spread},
    linalg::{Begin, Ended, Lbfgs, Matrix},
    machine::Machine,
    watch::Watch,
};

/// Rounds that promise less than this fraction of the value are left out in the last steps and at the end.
const EXACT: f64 = 1e-11;

/// Where a search ended.
pub(super) struct Found {
    pub vectors: Matrix,
    pub optimum: Optimum,
    pub iterations: usize,
    pub ended: Ended,
    pub passes: u64,
}

/// A machine from vectors, their coefficients, offsets and the value.
pub(super) type MakeMachine<'a> = dyn Fn(&Matrix, &Optimum) -> Result<Machine> + 'a;

/// The descent from given vectors.
pub(super) struct Descent<'a> {
    pub kernel: &'a Kernel,
    pub search: &'a Search,
    /// Rounds that promise less than this fraction of the value are left out early in the search.
    pub inexact: f64,
    pub machine: &'a MakeMachine<'a>,
    pub kept: Option<RefCell<Kept<'a>>>,
    pub watch: &'a Watch<'a>,
}

/// The state between evaluations.
struct State<'a> {
    solver: Solver<'a>,
    tolerance: f64,
    failed: Option<Error>,
    /// Space for the vectors of an evaluation.
    vectors: Matrix,
}

impl Descent<'_> {
    /// Descends from `start`, after `earlier` steps.
    pub fn run(&self, solver: Solver, start: Matrix, earlier: usize) -> Result<Found> {
        let (m, dim) = (start.rows(), start.cols());
        let steps = self.search.iterations.saturating_sub(earlier);
        let state = RefCell::new(State { solver, tolerance: self.inexact, failed: None, vectors: Matrix::default() });
        let (mut point, mut iterations, mut ended) = (start.into_values(), 0, Ended::Iterations);
        // Where inexact values lead no further, exact ones may.
        while iterations < steps {
            let minimum = self.descend(&state, point, (m, dim), (earlier + iterations, steps - iterations));
            point = minimum.0;
            iterations += minimum.1;
            ended = minimum.2;
            let mut state = state.borrow_mut();
            if let Some(error) = state.failed.take() {
                self.keep(&mut state, &point, (m, dim), earlier + iterations, false);
                return Err(error);
            }
            if state.tolerance <= EXACT || ended == Ended::Stopped {
                break;
            }
            state.tolerance = EXACT;
        }
        let mut state = state.into_inner();
        let vectors = matrix(&point, m, dim);
        let optimum = state.solver.solve(self.kernel, &vectors, EXACT, &mut [])?;
        if self.kept.is_some() {
            let made = if self.watch.cancelled() { earlier + iterations } else { self.search.iterations };
            self.keep(&mut state, &point, (m, dim), made, true);
        }
        Ok(Found { vectors, optimum, iterations: earlier + iterations, ended, passes: state.solver.passes })
    }

    fn descend(
        &self,
        state: &RefCell<State>,
        start: Vec<f64>,
        (m, dim): (usize, usize),
        (before, steps): (usize, usize),
    ) -> (Vec<f64>, usize, Ended) {
        let lbfgs = Lbfgs { max_iterations: steps, first_step: 0.1 * spread(&matrix(&start, m, dim)), ..Lbfgs::default() };
        let minimum = lbfgs.minimise_preconditioned(
            Begin::Point(start),
            |point, gradient, diagonal| {
                let mut state = state.borrow_mut();
                let mut vectors = std::mem::take(&mut state.vectors).into_values();
                vectors.clear();
                vectors.extend_from_slice(point);
                let vectors = Matrix::new(vectors, m, dim).unwrap_or_default();
                let value = self.evaluate(&mut state, &vectors, gradient, diagonal);
                state.vectors = vectors;
                value
            },
            |descent| {
                let iteration = descent.iterations();
                self.watch.report("steps", (before + iteration) as u64, Some((before + steps) as u64), Some(descent.value()));
                let mut state = state.borrow_mut();
                if self.kept.as_ref().is_some_and(|kept| kept.borrow().due(self.watch)) {
                    self.keep(&mut state, descent.point(), (m, dim), before + iteration, true);
                }
                if iteration + LAST_STEPS >= steps {
                    state.tolerance = EXACT;
                }
                !self.watch.cancelled() && state.failed.is_none()
            },
        );
        (minimum.point, minimum.iterations, minimum.ended)
    }

    /// Writes the checkpoint; without passes the weights are those of the last solution.
    fn keep(&self, state: &mut State, point: &[f64], (m, dim): (usize, usize), made: usize, passes: bool) {
        let Some(kept) = &self.kept else { return };
        let vectors = matrix(point, m, dim);
        let optimum = match passes {
            true => state.solver.solve(self.kernel, &vectors, self.inexact, &mut []),
            false => self.last(&state.solver, &vectors),
        };
        let machine = optimum.and_then(|optimum| (self.machine)(&vectors, &optimum));
        kept.borrow_mut().write(machine, point, made, self.watch);
    }

    /// The last weights, as those of these vectors.
    fn last(&self, solver: &Solver, vectors: &Matrix) -> Result<Optimum> {
        let x = solver.last.clone().ok_or_else(|| Error::data("no machine was found yet"))?;
        let frame = Frame::fixed(self.kernel, &vectors.clone().into(), JITTER)?;
        let coefficients = frame.coefficients(&x.select(&(0..frame.len()).collect::<Vec<_>>()));
        Ok(Optimum { x, coefficients, value: f64::NAN, ..Optimum::default() })
    }

    /// W and its gradient; not a number where they are not finite, or the engine has failed.
    fn evaluate(&self, state: &mut State, z: &Matrix, gradient: &mut [f64], diagonal: &mut Vec<f64>) -> f64 {
        let finite = z.values().iter().all(|v| v.is_finite());
        if state.failed.is_some() || !finite || self.watch.cancelled() {
            return f64::NAN;
        }
        let last = state.solver.last.clone();
        match state.solver.solve(self.kernel, z, state.tolerance, gradient) {
            Ok(optimum) => {
                let each = preconditioner(&optimum.coefficients, &vec![1.0; optimum.coefficients.cols()]);
                diagonal.reserve(gradient.len());
                each.into_iter().for_each(|s| diagonal.resize(diagonal.len() + z.cols(), s));
                optimum.value
            }
            Err(error) => {
                // Sums that are not finite are those of vectors too far away; everything else is the end.
                state.solver.last = state.solver.last.take().or(last);
                if state.solver.engine_failed {
                    state.failed = Some(error);
                }
                f64::NAN
            }
        }
    }
}

fn matrix(values: &[f64], m: usize, dim: usize) -> Matrix {
    Matrix::new(values.to_vec(), m, dim).unwrap_or_default()
}
