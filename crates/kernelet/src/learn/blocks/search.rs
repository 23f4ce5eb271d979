//! The search for vectors on passes over rows: W(Z) and its gradient as in [`direct`](crate::learn::direct), inexact early and exact at the end.
use std::cell::RefCell;

use super::{
    checkpoint::Kept,
    solver::{Optimum, Solver},
};
use crate::{
    Error, Result,
    basis::{Frame, JITTER, field::add_gradient},
    kernel::Kernel,
    learn::direct::{LAST_STEPS, Search, add_own_gradient, preconditioner, spread},
    linalg::{Begin, Ended, Lbfgs, Matrix},
    machine::Machine,
    watch::Watch,
};

/// Rounds that promise less than this fraction of the value are left out in the last steps and at the end.
const EXACT: f64 = 1e-11;

/// Where a search ended.
pub(super) struct Found {
    pub frame: Frame,
    pub optimum: Optimum,
    pub iterations: usize,
    pub ended: Ended,
    pub passes: u64,
}

/// A machine from vectors, their coefficients, offsets and the value.
pub(super) type MakeMachine<'a> = dyn Fn(&Frame, &Optimum) -> Result<Machine> + 'a;

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
}

impl Descent<'_> {
    /// Descends from `start`, after `earlier` steps.
    pub fn run(&self, solver: Solver, start: Matrix, earlier: usize) -> Result<Found> {
        let (m, dim) = (start.rows(), start.cols());
        let steps = self.search.iterations.saturating_sub(earlier);
        let state = RefCell::new(State { solver, tolerance: self.inexact, failed: None });
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
        let frame = self.frame(&matrix(&point, m, dim))?;
        let optimum = state.solver.solve(&frame, EXACT, false)?;
        if self.kept.is_some() {
            let made = if self.watch.cancelled() { earlier + iterations } else { self.search.iterations };
            self.keep(&mut state, &point, (m, dim), made, true);
        }
        Ok(Found { frame, optimum, iterations: earlier + iterations, ended, passes: state.solver.passes })
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
            |point, gradient, diagonal| self.evaluate(&mut state.borrow_mut(), &matrix(point, m, dim), gradient, diagonal),
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
        let machine = self.frame(&matrix(point, m, dim)).and_then(|frame| {
            let optimum = match passes {
                true => state.solver.solve(&frame, self.inexact, false)?,
                false => {
                    let x = state.solver.last.clone().ok_or_else(|| Error::data("no machine was found yet"))?;
                    Optimum { x, value: f64::NAN, sums: Default::default(), with_vectors: false }
                }
            };
            (self.machine)(&frame, &optimum)
        });
        kept.borrow_mut().write(machine, point, made, self.watch);
    }

    fn frame(&self, z: &Matrix) -> Result<Frame> {
        Frame::fixed(self.kernel, &z.clone().into(), JITTER)
    }

    /// W and its gradient; not a number where they are not finite, or the engine has failed.
    fn evaluate(&self, state: &mut State, z: &Matrix, gradient: &mut [f64], diagonal: &mut Vec<f64>) -> f64 {
        gradient.fill(0.0);
        let finite = z.values().iter().all(|v| v.is_finite());
        if state.failed.is_some() || !finite || self.watch.cancelled() {
            return f64::NAN;
        }
        let Ok(frame) = self.frame(z) else { return f64::NAN };
        let last = state.solver.last.clone();
        let solved = state.solver.solve(&frame, state.tolerance, true);
        let found = solved.and_then(|optimum| Ok((optimum.sums.gradient_sums(z.rows(), z.cols())?, optimum)));
        match found {
            Ok((sums, optimum)) => {
                let coefficients = coefficients(&frame, &optimum);
                let norms = vec![1.0; coefficients.cols()];
                add_gradient(self.kernel, z.values(), &sums, 1.0, gradient);
                if !optimum.with_vectors {
                    add_own_gradient(self.kernel, z, &coefficients, &norms, gradient);
                }
                *diagonal = preconditioner(&coefficients, &norms).into_iter().flat_map(|s| std::iter::repeat_n(s, z.cols())).collect();
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

/// The coefficients on the vectors.
pub(super) fn coefficients(frame: &Frame, optimum: &Optimum) -> Matrix {
    frame.coefficients(&optimum.x.select(&(0..frame.len()).collect::<Vec<_>>()))
}

fn matrix(values: &[f64], m: usize, dim: usize) -> Matrix {
    Matrix::new(values.to_vec(), m, dim).unwrap_or_default()
}
