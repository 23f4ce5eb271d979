//! A descent through the phases of a search: where it is, how it goes on from a state, and where it pauses.
use std::cell::RefCell;

use super::{
    checkpoint::{Keeper, Stage, State},
    objective::{Objective, Variables},
    search::{Direct, LAST_STEPS, machine, spread},
};
use crate::linalg::{Begin, Descent, Ended, Lbfgs};

/// Where a descent has come to.
pub(super) struct Place {
    pub at: Variables,
    pub value: f64,
    pub iterations: usize,
    pub ended: Ended,
}

/// A run of the phases: what it is of, where it is, and what is kept of it.
pub(super) struct Run<'a> {
    pub direct: &'a dyn Direct,
    pub stage: Stage,
    /// The state of an earlier run to go on from.
    pub resumed: Option<State>,
    pub keeper: Option<Keeper<'a>>,
    /// Where the run pauses, if it does.
    pub pause: Option<Pause>,
}

/// A pause after so many steps in all.
pub(super) struct Pause {
    pub after: usize,
    /// The state in which the run goes on.
    pub state: Option<State>,
}

impl<'a> Run<'a> {
    /// A run from the beginning.
    pub fn new(direct: &'a dyn Direct) -> Self {
        Run { direct, stage: Stage::default(), resumed: None, keeper: None, pause: None }
    }

    /// True when the steps up to the pause are made.
    pub fn is_paused(&self) -> bool {
        self.pause.as_ref().is_some_and(|pause| pause.state.as_ref().is_some_and(|state| state.steps() >= pause.after))
    }

    /// Descends in single precision as far as the objective has it, and goes on in double precision.
    pub fn descend(&mut self, from: Place, objective: &mut Objective, (name, steps): (&str, usize)) -> Place {
        let mut place = from;
        if !self.stage.again {
            place = self.descend_once(place, objective, (name, steps));
            if !objective.single || place.iterations - self.stage.before_phase >= steps || place.ended == Ended::Stopped {
                return place;
            }
            objective.single = false;
            self.stage.again = true;
        }
        let done = place.iterations.saturating_sub(self.stage.before_phase);
        self.descend_once(place, objective, (name, steps.saturating_sub(done)))
    }

    fn descend_once(&mut self, from: Place, objective: &mut Objective, (name, steps): (&str, usize)) -> Place {
        let (m, dim, watch) = (from.at.z.rows(), from.at.z.cols(), objective.watch);
        let lbfgs = Lbfgs { max_iterations: steps, first_step: 0.1 * spread(&from.at.z), ..Lbfgs::default() };
        let variables = |point: &[f64]| Variables::of_values(point, m, dim);
        let begin = match self.resumed.take() {
            None => Begin::Point(from.at.into_values()),
            Some(State { descent, memory, stage }) => {
                objective.single = stage.single;
                objective.inner.remember(&memory, m);
                Begin::Descent(descent)
            }
        };
        self.stage.before = from.iterations;
        let until = self.pause.as_ref().map(|pause| pause.after.saturating_sub(from.iterations));
        let objective = RefCell::new(objective);
        let (descent, _, ended) = lbfgs.descend(
            begin,
            |point, gradient, preconditioner| objective.borrow_mut().evaluate_preconditioned(&variables(point), gradient, preconditioner),
            |descent| {
                // What is computed once the run is cancelled may be anything.
                let whole = !watch.cancelled();
                watch.report(name, descent.iterations() as u64, Some(steps as u64), Some(descent.value()));
                if descent.iterations() + LAST_STEPS >= steps {
                    objective.borrow_mut().single = false;
                }
                if whole {
                    self.keep(descent, *objective.borrow_mut(), &variables);
                }
                !watch.cancelled() && until.is_none_or(|until| descent.iterations() < until)
            },
        );
        let (at, value, iterations) = (variables(descent.point()), descent.value(), from.iterations + descent.iterations());
        if let Some(pause) = &mut self.pause {
            let objective = objective.into_inner();
            let stage = Stage { single: objective.single, ..self.stage };
            pause.state = Some(State { stage, descent, memory: objective.inner.memory() });
        }
        Place { at, value, iterations, ended }
    }

    /// Keeps the state after a step, and writes it when it is time. The machine in the file leaves no trace in the objective.
    fn keep(&mut self, descent: &Descent, objective: &mut Objective, variables: &dyn Fn(&[f64]) -> Variables) {
        let Run { direct, stage, keeper: Some(keeper), .. } = self else { return };
        let memory = objective.inner.memory();
        keeper.keep(State { stage: Stage { single: objective.single, ..*stage }, descent: descent.clone(), memory: memory.clone() });
        if keeper.due() {
            let (at, watch) = (variables(descent.point()), objective.watch);
            keeper.write(|| Ok(machine(*direct, &at, &objective.solve(&at)?)?.0), watch);
            objective.inner.remember(&memory, at.z.rows());
        }
    }
}
