//! The search for vectors, and for a metric where it is learned, on passes over rows: W(Z) and its gradient as in [`direct`](crate::learn::direct), inexact early
//! and exact at the end.
use std::{borrow::Cow, cell::RefCell};

use super::{checkpoint::Kept, newton::Optimum, solver::Solver};
use crate::{
    Error, Result,
    basis::{Frame, JITTER},
    device::{Gradient, Vectors},
    kernel::Kernel,
    learn::direct::{Search, Transform, Variables, preconditioner, spread},
    linalg::{Begin, Ended, Lbfgs, Matrix},
    machine::Machine,
    watch::Watch,
};
#[cfg(feature = "cuda")]
use crate::{
    device::{CardSpace, CardVector},
    learn::direct::Learned,
};

/// Rounds that promise less than this fraction of the value are left out in the last steps and at the end, as in memory. What is left out moves the gradient by its
/// root, and each step multiplies that: with 1e-11 one round less of 87 moved W by 1e-5 after ten steps of a learned map, where rounding moves it by 1e-10.
const EXACT: f64 = 1e-13;

/// The last steps of a search are exact.
const EXACT_STEPS: usize = 5;

/// A search of no more steps is exact from the beginning.
const SHORT: usize = 10;

/// A place of the search: its variables, and what the kernel sees there.
pub(super) struct Place {
    pub at: Variables,
    pub transform: Transform,
}

impl Place {
    /// The transformed vectors.
    pub fn hats(&self) -> Cow<'_, Matrix> {
        self.transform.vectors(&self.at.z)
    }
}

/// Where a search ended.
pub(super) struct Found {
    pub place: Place,
    pub optimum: Optimum,
    /// The value with the penalty of the metric.
    pub value: f64,
    pub iterations: usize,
    pub ended: Ended,
    pub passes: u64,
}

/// A machine from a place and the optimum there.
pub(super) type MakeMachine<'a> = dyn Fn(&Place, &Optimum) -> Result<Machine> + 'a;

/// The descent from given variables.
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
    spare: Vec<f64>,
}

impl State<'_> {
    /// The value that was found, or no number; `last` are the weights to begin with where none were found.
    fn valued(&mut self, found: Result<f64>, last: Option<Matrix>) -> f64 {
        found.unwrap_or_else(|error| {
            // Sums that are not finite are those of vectors too far away; everything else is the end.
            self.solver.last = self.solver.last.take().or(last);
            if self.solver.engine_failed || matches!(error, Error::Device(_)) {
                self.failed = Some(error);
            }
            f64::NAN
        })
    }
}

impl Descent<'_> {
    /// Descends from `start`, after `earlier` steps.
    pub fn run(&self, solver: Solver, start: Variables, earlier: usize) -> Result<Found> {
        let shape = (start.z.rows(), start.z.cols());
        let steps = self.search.iterations.saturating_sub(earlier);
        let tolerance = if steps <= SHORT { EXACT } else { self.inexact };
        let state = RefCell::new(State { solver, tolerance, failed: None, spare: vec![] });
        let (mut point, mut iterations, mut ended) = (start.into_values(), 0, Ended::Iterations);
        // Where inexact values lead no further, exact ones may.
        while iterations < steps {
            let minimum = self.descend(&state, point, shape, (earlier + iterations, steps - iterations));
            point = minimum.0;
            iterations += minimum.1;
            ended = minimum.2;
            let mut state = state.borrow_mut();
            if let Some(error) = state.failed.take() {
                self.keep(&mut state, &point, shape, earlier + iterations, false);
                return Err(error);
            }
            if state.tolerance <= EXACT || ended == Ended::Stopped {
                break;
            }
            state.tolerance = EXACT;
        }
        let mut state = state.into_inner();
        let place = self.place(&point, shape, vec![])?;
        let optimum = self.optimum(&mut state.solver, &place, EXACT)?;
        let value = optimum.value + self.penalty(&place.at, &mut vec![0.0; place.at.metric.len()]);
        if self.kept.is_some() {
            let made = if self.watch.cancelled() { earlier + iterations } else { self.search.iterations };
            self.keep(&mut state, &point, shape, made, true);
        }
        Ok(Found { place, optimum, value, iterations: earlier + iterations, ended, passes: state.solver.passes })
    }

    fn descend(
        &self,
        state: &RefCell<State>,
        start: Vec<f64>,
        shape: (usize, usize),
        (before, steps): (usize, usize),
    ) -> (Vec<f64>, usize, Ended) {
        let first_step = 0.1 * spread(&Variables::of_values(&start, shape.0, shape.1).z);
        let lbfgs = Lbfgs { max_iterations: steps, first_step, ..Lbfgs::default() };
        #[cfg(feature = "cuda")]
        if let Some(found) = self.descend_on_card(state, &lbfgs, &start, shape, before) {
            return found.unwrap_or_else(|error| {
                state.borrow_mut().failed.get_or_insert(error);
                (start, 0, Ended::Stopped)
            });
        }
        let minimum = lbfgs.minimise_preconditioned(
            Begin::Point(start),
            |point, gradient, diagonal| self.evaluate(&mut state.borrow_mut(), (point, shape), gradient, diagonal),
            |descent| {
                let made = (before, descent.iterations(), steps);
                self.after_step(&mut state.borrow_mut(), made, descent.value(), shape, || Some(descent.point().clone()))
            },
        );
        (minimum.point, minimum.iterations, minimum.ended)
    }

    /// The same with vectors that lie on a card; none where they do not.
    #[cfg(feature = "cuda")]
    fn descend_on_card(
        &self,
        state: &RefCell<State>,
        lbfgs: &Lbfgs,
        start: &[f64],
        (m, dim): (usize, usize),
        before: usize,
    ) -> Option<Result<(Vec<f64>, usize, Ended)>> {
        if self.search.metric.learned != Learned::Nothing {
            return None;
        }
        let space = {
            let solver = &mut state.borrow_mut().solver;
            solver.engine.space(solver.problem, self.kernel, (m, dim))?
        };
        let descended = |mut space: CardSpace| {
            let begin = Begin::Point(space.upload(start)?);
            let (descent, _, ended) = lbfgs.descend_in(
                &mut space,
                begin,
                |space, point, gradient, diagonal| {
                    self.evaluate_on_card(&mut state.borrow_mut(), space, (point, m, dim), gradient, diagonal)
                },
                |space, descent| {
                    let made = (before, descent.iterations(), lbfgs.max_iterations);
                    self.after_step(&mut state.borrow_mut(), made, descent.value(), (m, dim), || space.download(descent.point()).ok())
                },
            );
            if let Some(error) = space.failure() {
                return Err(error);
            }
            Ok((space.download(descent.point())?, descent.iterations(), ended))
        };
        Some(space.and_then(descended))
    }

    /// Reports a step, keeps what is due, and says whether to go on. `point` is asked for only where it is needed.
    fn after_step(
        &self,
        state: &mut State,
        (before, iteration, steps): (usize, usize, usize),
        value: f64,
        shape: (usize, usize),
        point: impl FnOnce() -> Option<Vec<f64>>,
    ) -> bool {
        self.watch.report("steps", (before + iteration) as u64, Some((before + steps) as u64), Some(value));
        if self.kept.as_ref().is_some_and(|kept| kept.borrow().due(self.watch))
            && let Some(point) = point()
        {
            self.keep(state, &point, shape, before + iteration, true);
        }
        if iteration + EXACT_STEPS >= steps {
            state.tolerance = EXACT;
        }
        !self.watch.cancelled() && state.failed.is_none()
    }

    /// Writes the checkpoint; without passes the weights are those of the last solution.
    fn keep(&self, state: &mut State, point: &[f64], shape: (usize, usize), made: usize, passes: bool) {
        let Some(kept) = &self.kept else { return };
        let machine = self.place(point, shape, vec![]).and_then(|place| {
            let optimum = if passes { self.optimum(&mut state.solver, &place, self.inexact) } else { self.last(&state.solver, &place) };
            (self.machine)(&place, &optimum?)
        });
        kept.borrow_mut().write(machine, point, made, self.watch);
    }

    /// The last weights, as those of this place.
    fn last(&self, solver: &Solver, place: &Place) -> Result<Optimum> {
        let x = solver.last.clone().ok_or_else(|| Error::data("no machine was found yet"))?;
        let frame = Frame::fixed(self.kernel, &place.hats().into_owned().into(), JITTER)?;
        let coefficients = frame.coefficients(&x.select(&(0..frame.len()).collect::<Vec<_>>()));
        Ok(Optimum { x, coefficients, value: f64::NAN, ..Optimum::default() })
    }

    fn optimum(&self, solver: &mut Solver, place: &Place, tolerance: f64) -> Result<Optimum> {
        solver
            .solve(self.kernel, &place.transform, Vectors::Held(&place.hats()), tolerance, Gradient::Held(&mut []))
            .map(|(optimum, _)| optimum)
    }

    /// The place of these variables; `spare` is memory to be used.
    fn place(&self, point: &[f64], (m, dim): (usize, usize), mut spare: Vec<f64>) -> Result<Place> {
        let (vectors, numbers) = point.split_at(m * dim);
        let finite = vectors.iter().all(|v| v.is_finite());
        let Some(transform) = finite.then(|| self.search.metric.transform(numbers, dim)).flatten() else {
            return Err(Error::data("the vectors or their metric are out of range"));
        };
        spare.clear();
        spare.extend_from_slice(vectors);
        Ok(Place { at: Variables { z: Matrix::new(spare, m, dim).unwrap_or_default(), metric: numbers.to_vec() }, transform })
    }

    /// The penalty of the metric; adds its gradient.
    fn penalty(&self, at: &Variables, gradient: &mut [f64]) -> f64 {
        let metric = &self.search.metric;
        metric.origin(at.z.cols()).map_or(f64::NAN, |origin| metric.penalty(&at.metric, &origin, gradient))
    }

    /// W and its gradient; not a number where they are not finite, or the engine has failed.
    fn evaluate(&self, state: &mut State, (point, shape): (&[f64], (usize, usize)), gradient: &mut [f64], diagonal: &mut Vec<f64>) -> f64 {
        if state.failed.is_some() || self.watch.cancelled() {
            return f64::NAN;
        }
        let Ok(place) = self.place(point, shape, std::mem::take(&mut state.spare)) else { return f64::NAN };
        let last = state.solver.last.clone();
        let value = self.solved(&mut state.solver, &place, state.tolerance, gradient, diagonal);
        state.spare = place.at.z.into_values();
        state.valued(value, last)
    }

    /// The same with vectors that lie on a card.
    #[cfg(feature = "cuda")]
    fn evaluate_on_card(
        &self,
        state: &mut State,
        space: &mut CardSpace,
        (point, m, dim): (&CardVector, usize, usize),
        gradient: &mut CardVector,
        diagonal: &mut CardVector,
    ) -> f64 {
        if state.failed.is_some() || self.watch.cancelled() {
            return f64::NAN;
        }
        let (last, vectors, tolerance) = (state.solver.last.clone(), Vectors::OnCard(point, m, dim), state.tolerance);
        let found = state.solver.solve(self.kernel, &Transform::None, vectors, tolerance, Gradient::OnCard(gradient));
        let value = found.and_then(|(optimum, _)| {
            let each = preconditioner(&optimum.coefficients, &vec![1.0; optimum.coefficients.cols()]);
            space.repeat(&each, diagonal)?;
            Ok(optimum.value)
        });
        state.valued(value, last)
    }

    /// W with the penalty of the metric, and its gradient.
    fn solved(&self, solver: &mut Solver, place: &Place, tolerance: f64, gradient: &mut [f64], diagonal: &mut Vec<f64>) -> Result<f64> {
        let (Place { at, transform }, metric, hats) = (place, &self.search.metric, place.hats());
        let ones = |optimum: &Optimum| vec![1.0; optimum.coefficients.cols()];
        if *transform == Transform::None {
            let (optimum, _) = solver.solve(self.kernel, transform, Vectors::Held(&hats), tolerance, Gradient::Held(gradient))?;
            let each = preconditioner(&optimum.coefficients, &ones(&optimum));
            diagonal.reserve(gradient.len());
            each.into_iter().for_each(|s| diagonal.resize(diagonal.len() + hats.cols(), s));
            return Ok(optimum.value);
        }
        let mut by_hats = Matrix::zeros(hats.rows(), hats.cols());
        let (optimum, sums) =
            solver.solve(self.kernel, transform, Vectors::Held(&hats), tolerance, Gradient::Held(by_hats.values_mut()))?;
        gradient.fill(0.0);
        transform.chain(metric, &at.z, &hats, &by_hats, (&sums, 1.0), gradient);
        let each = preconditioner(&optimum.coefficients, &ones(&optimum));
        if !each.is_empty() {
            *diagonal = transform.preconditioner(metric, &at.z, &each);
        }
        Ok(optimum.value + self.penalty(at, &mut gradient[at.z.values().len()..]))
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{
            ask::{Problem, RowLossName},
            engine::LocalEngine,
        },
        *,
    };
    use crate::{
        data::{Dataset, HeldBlocks, Scale, Target, banana, waveform3},
        draw::Draw,
        learn::direct::{Learned, Metric},
    };

    /// Asserts that the gradient by vectors and metric agrees with differences to this fraction of its largest entry; extrapolated differences, as in memory.
    fn assert_gradient(data: &Dataset, kernel: &Kernel, (loss, q): (RowLossName, usize), learned: Learned, tolerance: f64) {
        let held = HeldBlocks::of(data, data.len().div_ceil(3)).unwrap();
        let (dim, rows, mut draw) = (data.dim(), data.points.to_dense(), Draw::seeded(1));
        let costs = vec![1.5; if loss == RowLossName::Squared { 1 } else { q.max(2) }];
        let scale = Some(Scale::new(None, (0..dim).map(|j| 1.0 + 0.1 * j as f64).collect()));
        let problem = Problem {
            loss,
            n_classes: if loss == RowLossName::Squared { 0 } else { costs.len() },
            n_outputs: q,
            costs,
            scale,
            centre: vec![],
        };
        let search = Search { metric: Metric { learned, penalty: 0.7, ..Metric::default() }, ..Search::default() };
        let z = Matrix::from_fn(6, dim, |j, c| (1.0 + 0.1 * c as f64) * rows.at(7 * j, c) + 0.05 * draw.normal());
        let metric = search.metric.first(dim).unwrap().into_iter().map(|v| v + 0.2 * draw.normal()).collect();
        let start = Variables { z, metric }.into_values();
        let (machine, watch) = (|_: &Place, _: &Optimum| Err(Error::data("there is none")), Watch::none());
        let descent = Descent { kernel, search: &search, inexact: EXACT, machine: &machine, kept: None, watch: &watch };
        let value = |point: &[f64], gradient: &mut [f64]| {
            let mut engine = LocalEngine { blocks: &held };
            let solver = Solver { engine: &mut engine, problem: &problem, last: None, passes: 0, engine_failed: false };
            let mut state = State { solver, tolerance: 1e-15, failed: None, spare: vec![] };
            descent.evaluate(&mut state, (point, (6, dim)), gradient, &mut vec![])
        };
        let mut gradient = vec![0.0; start.len()];
        assert!(value(&start, &mut gradient).is_finite());
        let size = gradient.iter().fold(0.0, |a: f64, g| a.max(g.abs()));
        let slope = |at: usize, h: f64| {
            let moved = |step: f64| {
                let mut moved = start.clone();
                moved[at] += step;
                value(&moved, &mut vec![0.0; start.len()])
            };
            (moved(h) - moved(-h)) / (2.0 * h)
        };
        for at in (0..3).chain((6 * dim..start.len()).take(6)) {
            let (found, want) = (gradient[at], (4.0 * slope(at, 5e-4) - slope(at, 1e-3)) / 3.0);
            assert!((found - want).abs() < tolerance * size, "{} {loss:?} {learned:?} {at}: {found} {want}, largest {size}", kernel.name());
        }
    }

    #[test]
    fn gradients_by_vectors_and_metric_agree_with_differences() {
        let (two, three) = (banana(120, 3), waveform3(90, 1));
        let values = Dataset { target: Target::Values(Matrix::from_fn(120, 2, |i, k| (i as f64 + k as f64).sin())), ..two.clone() };
        let (matern, polynomial) = (Kernel::named("matern52", 0.5, 0, 0.0).unwrap(), Kernel::named("polynomial", 0.3, 3, 1.0).unwrap());
        // Rounds end where the next promises 1e-15 of the value, which leaves its root in the gradient.
        for learned in [Learned::Nothing, Learned::Width, Learned::Scales, Learned::Map(2), Learned::Map(1)] {
            for kernel in [&Kernel::gaussian(0.8), &matern, &polynomial] {
                assert_gradient(&two, kernel, (RowLossName::Logistic, 1), learned, 1e-6);
            }
            assert_gradient(&three, &Kernel::gaussian(0.05), (RowLossName::Logistic, 3), learned, 1e-6);
            assert_gradient(&three, &Kernel::gaussian(0.05), (RowLossName::SquaredHinge, 3), learned, 1e-6);
            assert_gradient(&values, &Kernel::gaussian(0.8), (RowLossName::Squared, 2), learned, 1e-6);
        }
    }
}
