//! Minimisation of a smooth function by L-BFGS, with a line search that survives values that are not finite.
//!
//! The two-loop recursion over the last pairs of steps and gradient changes gives a direction; along it the strong Wolfe conditions are
//! sought by bracketing and cubic interpolation (Nocedal and Wright, Numerical Optimization, 2nd edition, algorithms 3.5, 3.6 and 7.4). A
//! value or slope that is not finite counts as too far. Where the search fails, the pairs are forgotten and the steepest descent is tried once; at a
//! kink that fails too, and the point so far is the result.
//!
//! Value and gradient come from one call, because with kernels both cost the same matrix product. Where some variables are curved more than others the
//! same call may give a diagonal preconditioner: the recursion then starts from the inverse of that diagonal in place of a multiple of the identity, at every step
//! from the newest. What is computed with vectors is the business of the space in which they lie: in memory, or where the function is evaluated.
use std::collections::VecDeque;

use super::{
    descent::{Begin, Descent, Pair, Place},
    space::{Held, Space},
};

/// When to stop, and how far to look back.
#[derive(Clone, Debug)]
pub struct Lbfgs {
    /// Pairs that are remembered.
    pub memory: usize,
    /// Steps after which the point so far is the result.
    pub max_iterations: usize,
    /// Stop when no entry of the gradient exceeds this part of the largest at the start.
    pub gradient_tolerance: f64,
    /// Stop when a step lowers the value by less than this part of it.
    pub value_tolerance: f64,
    /// The length of the first step tried.
    pub first_step: f64,
}

impl Default for Lbfgs {
    fn default() -> Self {
        Lbfgs { memory: 10, max_iterations: 200, gradient_tolerance: 1e-6, value_tolerance: 1e-10, first_step: 1.0 }
    }
}

/// Why a minimisation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The gradient is small.
    Gradient,
    /// The value falls no more.
    Value,
    /// No step along the steepest descent lowers the value: a kink, or the limit of rounding.
    NoDescent,
    /// The limit of iterations.
    Iterations,
    /// The caller wanted no more.
    Stopped,
}

/// A minimum, or how far the search came.
#[derive(Clone, Debug)]
pub struct Minimum {
    /// The point.
    pub point: Vec<f64>,
    /// Its value.
    pub value: f64,
    /// Steps made.
    pub iterations: usize,
    /// Values and gradients computed.
    pub evaluations: usize,
    /// Why it ended.
    pub ended: Ended,
}

/// The value at a point; writes the gradient and the diagonal preconditioner.
type Evaluate<'a, S> = dyn FnMut(&mut S, &Point<S>, &mut Point<S>, &mut Point<S>) -> f64 + 'a;

type Point<S> = <S as Space>::Vector;

/// The state of one run.
struct Run<'a, S: Space> {
    space: &'a mut S,
    evaluate: &'a mut Evaluate<'a, S>,
    evaluations: usize,
    pairs: VecDeque<Pair<Point<S>>>,
}

impl Lbfgs {
    /// Minimises from `start`. `evaluate` writes the gradient and returns the value; `keep_on` sees each step's number, value and
    /// point and says whether to go on.
    pub fn minimise(
        &self,
        start: Vec<f64>,
        mut evaluate: impl FnMut(&[f64], &mut [f64]) -> f64,
        mut keep_on: impl FnMut(usize, f64, &[f64]) -> bool,
    ) -> Minimum {
        let keep_on = |descent: &Descent| keep_on(descent.iterations, descent.here.value, &descent.here.point);
        self.minimise_preconditioned(Begin::Point(start), |point, gradient, _| evaluate(point, gradient), keep_on)
    }

    /// The same where `evaluate` also writes a diagonal preconditioner, as numbers above 0 that may change from point to point; it leaves them out
    /// where all are alike. `keep_on` sees where the descent has come to; begun there, another makes the same steps from then on.
    pub fn minimise_preconditioned(
        &self,
        begin: Begin,
        evaluate: impl FnMut(&[f64], &mut [f64], &mut Vec<f64>) -> f64,
        keep_on: impl FnMut(&Descent) -> bool,
    ) -> Minimum {
        let (Descent { here, iterations, .. }, evaluations, ended) = self.descend(begin, evaluate, keep_on);
        Minimum { point: here.point, value: here.value, iterations, evaluations, ended }
    }

    /// The same; returns where the descent has come to, from which another may go on, the number of evaluations and why it ended.
    pub fn descend(
        &self,
        begin: Begin,
        mut evaluate: impl FnMut(&[f64], &mut [f64], &mut Vec<f64>) -> f64,
        mut keep_on: impl FnMut(&Descent) -> bool,
    ) -> (Descent, usize, Ended) {
        let evaluate = |_: &mut Held, point: &Vec<f64>, gradient: &mut Vec<f64>, preconditioner: &mut Vec<f64>| {
            evaluate(point, gradient, preconditioner)
        };
        self.descend_in(&mut Held::default(), begin, evaluate, |_, descent| keep_on(descent))
    }

    /// The same where vectors lie in this space.
    pub fn descend_in<S: Space>(
        &self,
        space: &mut S,
        begin: Begin<Point<S>>,
        mut evaluate: impl FnMut(&mut S, &Point<S>, &mut Point<S>, &mut Point<S>) -> f64,
        mut keep_on: impl FnMut(&mut S, &Descent<Point<S>>) -> bool,
    ) -> (Descent<Point<S>>, usize, Ended) {
        let mut run = Run { space, evaluate: &mut evaluate, evaluations: 0, pairs: VecDeque::new() };
        let mut descent = match begin {
            Begin::Descent(descent) => descent,
            Begin::Point(start) => {
                let here = run.at(start);
                let small = self.gradient_tolerance * run.space.largest(&here.gradient);
                Descent { here, pairs: VecDeque::new(), small, first_step: self.first_step, fall: f64::INFINITY, iterations: 0 }
            }
        };
        let ended = loop {
            if let Some(ended) = self.ended(&descent, run.space) {
                break ended;
            }
            run.pairs = std::mem::take(&mut descent.pairs);
            let next = run.step(&descent.here, descent.first_step);
            if let Some(next) = &next {
                run.remember(&descent.here, next, self.memory);
            }
            descent.pairs = std::mem::take(&mut run.pairs);
            let Some(next) = next else { break Ended::NoDescent };
            descent.fall = descent.here.value - next.value;
            let before = std::mem::replace(&mut descent.here, next);
            run.keep(before);
            descent.iterations += 1;
            if !keep_on(run.space, &descent) {
                break Ended::Stopped;
            }
        };
        (descent, run.evaluations, ended)
    }

    /// Why no further step is to be made.
    fn ended<S: Space>(&self, descent: &Descent<Point<S>>, space: &mut S) -> Option<Ended> {
        let Descent { here, small, fall, iterations, .. } = descent;
        match () {
            () if *fall <= self.value_tolerance * here.value.abs() => Some(Ended::Value),
            () if *iterations >= self.max_iterations => Some(Ended::Iterations),
            () if space.largest(&here.gradient) <= *small || !here.value.is_finite() => Some(Ended::Gradient),
            () => None,
        }
    }
}

impl<S: Space> Run<'_, S> {
    fn at(&mut self, point: Point<S>) -> Place<Point<S>> {
        let mut gradient = self.space.zeros(self.space.len(&point));
        let mut preconditioner = self.space.zeros(0);
        let value = (self.evaluate)(self.space, &point, &mut gradient, &mut preconditioner);
        self.evaluations += 1;
        Place { point, value, gradient, preconditioner }
    }

    fn keep(&mut self, place: Place<Point<S>>) {
        [place.point, place.gradient, place.preconditioner].into_iter().for_each(|vector| self.space.keep(vector));
    }

    /// The next point; none where not even the steepest descent leads down.
    fn step(&mut self, here: &Place<Point<S>>, first_step: f64) -> Option<Place<Point<S>>> {
        for _ in 0..2 {
            let direction = self.space.direction(&self.pairs, here);
            let slope = self.space.product(&direction, &here.gradient);
            let length = if self.pairs.is_empty() { first_step / self.space.product(&direction, &direction).sqrt() } else { 1.0 };
            let leads_down = slope < 0.0 && slope.is_finite() && length.is_finite();
            let next = leads_down.then(|| self.search(here, &direction, slope, length)).flatten();
            self.space.keep(direction);
            if next.is_some() {
                return next;
            }
            if self.pairs.is_empty() {
                break;
            }
            self.pairs.clear();
        }
        None
    }

    fn remember(&mut self, here: &Place<Point<S>>, next: &Place<Point<S>>, memory: usize) {
        let space = &mut *self.space;
        let step = space.moved(&next.point, -1.0, &here.point);
        let change = space.moved(&next.gradient, -1.0, &here.gradient);
        let products = space.products(&[(&step, &change), (&step, &step), (&change, &change)]);
        let curvature = products[0];
        // Pairs without curvature would make the direction point anywhere.
        if curvature > 1e-10 * (products[1] * products[2]).sqrt() {
            self.pairs.push_back(Pair { step, change, curvature });
        } else {
            [step, change].into_iter().for_each(|vector| space.keep(vector));
        }
        if self.pairs.len() > memory
            && let Some(Pair { step, change, .. }) = self.pairs.pop_front()
        {
            [step, change].into_iter().for_each(|vector| space.keep(vector));
        }
    }

    /// A point along the direction where the value has fallen enough and the slope is flat enough.
    fn search(&mut self, here: &Place<Point<S>>, direction: &Point<S>, slope: f64, length: f64) -> Option<Place<Point<S>>> {
        const FALL: f64 = 1e-4;
        const FLAT: f64 = 0.9;
        const TRIES: usize = 25;
        let mut low = Trial { length: 0.0, value: here.value, slope };
        let mut best: Option<Place<Point<S>>> = None;
        let mut high: Option<Trial> = None;
        let mut now = length;
        for _ in 0..TRIES {
            let point = self.space.moved(&here.point, now, direction);
            let place = self.at(point);
            let trial = Trial { length: now, value: place.value, slope: self.space.product(&place.gradient, direction) };
            let finite = trial.value.is_finite() && trial.slope.is_finite();
            if !finite || trial.value > here.value + FALL * now * slope || trial.value >= low.value && low.length > 0.0 {
                self.keep(place);
                high = Some(trial);
                now = if finite { low.between(&trial) } else { low.length + 0.1 * (now - low.length) };
            } else if trial.slope.abs() <= -FLAT * slope {
                best.into_iter().for_each(|place| self.keep(place));
                return Some(place);
            } else {
                best.replace(place).into_iter().for_each(|place| self.keep(place));
                let outside = high.is_none_or(|high| trial.slope * (high.length - trial.length) >= 0.0);
                if trial.slope >= 0.0 && outside {
                    high = Some(low);
                }
                low = trial;
                now = match &high {
                    None => 2.0 * now,
                    Some(high) => low.between(high),
                };
            }
            if high.is_some_and(|high| (high.length - low.length).abs() <= 1e-12 * low.length.abs().max(high.length.abs())) {
                break;
            }
        }
        best
    }
}

/// A length tried along the direction.
#[derive(Clone, Copy)]
struct Trial {
    length: f64,
    value: f64,
    slope: f64,
}

impl Trial {
    /// Where the cubic through both trials has its minimum, kept away from the ends.
    fn between(&self, other: &Trial) -> f64 {
        let (a, b) = (self, other);
        let width = b.length - a.length;
        let middle = a.length + 0.5 * width;
        let d1 = a.slope + b.slope - 3.0 * (a.value - b.value) / (a.length - b.length);
        let d2 = (d1 * d1 - a.slope * b.slope).sqrt() * width.signum();
        let cubic = b.length - width * (b.slope + d2 - d1) / (b.slope - a.slope + 2.0 * d2);
        let (low, high) = (a.length.min(b.length) + 0.1 * width.abs(), a.length.max(b.length) - 0.1 * width.abs());
        if cubic.is_finite() { cubic.clamp(low, high) } else { middle }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    fn settings() -> Lbfgs {
        Lbfgs { max_iterations: 20_000, gradient_tolerance: 1e-9, value_tolerance: 0.0, first_step: 0.1, ..Lbfgs::default() }
    }

    pub(in crate::linalg) fn rosenbrock(x: &[f64], g: &mut [f64]) -> f64 {
        g.fill(0.0);
        let mut value = 0.0;
        for i in 0..x.len() - 1 {
            let (a, b) = (1.0 - x[i], x[i + 1] - x[i] * x[i]);
            value += a * a + 100.0 * b * b;
            g[i] += -2.0 * a - 400.0 * x[i] * b;
            g[i + 1] += 200.0 * b;
        }
        value
    }

    #[test]
    fn rosenbrocks_valley_is_walked_to_its_end() {
        let minimum = settings().minimise(vec![-1.2; 20], rosenbrock, |_, _, _| true);
        assert!(minimum.value < 1e-12 && minimum.evaluations < 2 * minimum.iterations, "{minimum:?}");
    }

    #[test]
    fn a_quadratic_of_few_dimensions_takes_few_steps_and_values_fall() {
        let mut values = vec![];
        let quadratic = |x: &[f64], g: &mut [f64]| {
            (0..x.len()).for_each(|i| g[i] = (i + 1) as f64 * (x[i] - 1.0));
            (0..x.len()).map(|i| 0.5 * (i + 1) as f64 * (x[i] - 1.0).powi(2)).sum()
        };
        let minimum = settings().minimise(vec![3.0; 8], quadratic, |_, value, _| {
            values.push(value);
            true
        });
        assert!(minimum.value < 1e-15 && minimum.iterations < 40 && minimum.ended == Ended::Gradient, "{minimum:?}");
        assert!(values.windows(2).all(|w| w[1] <= w[0]));
    }

    #[test]
    fn a_preconditioner_saves_steps_and_changes_no_minimum() {
        let curvature = |i: usize| 10f64.powi((i % 7) as i32);
        let mut bowl = |x: &[f64], g: &mut [f64]| {
            (0..x.len()).for_each(|i| g[i] = curvature(i) * ((x[i] - 1.0) + (x[i] - 1.0).powi(3)));
            (0..x.len()).map(|i| curvature(i) * (0.5 * (x[i] - 1.0).powi(2) + 0.25 * (x[i] - 1.0).powi(4))).sum()
        };
        let start = || (0..60).map(|i| 3.0 + (i as f64).sin()).collect();
        let plain = settings().minimise(start(), &mut bowl, |_, _, _| true);
        let preconditioned = settings().minimise_preconditioned(
            Begin::Point(start()),
            |x, g, preconditioner| {
                preconditioner.extend((0..x.len()).map(curvature));
                bowl(x, g)
            },
            |_| true,
        );
        assert!(preconditioned.value < 1e-9 && preconditioned.ended == Ended::Gradient, "{preconditioned:?}");
        assert!(10 * preconditioned.iterations < plain.iterations, "{} {}", preconditioned.iterations, plain.iterations);
    }

    #[test]
    fn values_that_are_not_finite_are_backed_away_from() {
        // A barrier at x = 0 beyond which there is only NaN; the minimum of x - log x is at 1.
        let barrier = |x: &[f64], g: &mut [f64]| {
            (0..x.len()).for_each(|i| g[i] = 1.0 - 1.0 / x[i]);
            x.iter().map(|x| x - x.ln()).sum()
        };
        let start = vec![50.0, 3.0, 0.01];
        let minimum = Lbfgs { first_step: 1e3, ..settings() }.minimise(start, barrier, |_, _, _| true);
        assert!(minimum.point.iter().all(|x| (x - 1.0).abs() < 1e-6), "{minimum:?}");
    }

    #[test]
    fn at_a_kink_the_point_so_far_is_the_result() {
        let kink = |x: &[f64], g: &mut [f64]| {
            g[0] = x[0].signum() + 0.1 * x[0];
            x[0].abs() + 0.05 * x[0] * x[0]
        };
        let minimum = settings().minimise(vec![2.0], kink, |_, _, _| true);
        assert!(minimum.value < 1e-3, "{minimum:?}");
    }

    #[test]
    fn the_caller_can_stop_and_limits_are_kept() {
        let stopped = settings().minimise(vec![-1.2; 4], rosenbrock, |iteration, _, _| iteration < 3);
        assert_eq!((stopped.iterations, stopped.ended), (3, Ended::Stopped));
        let limited = Lbfgs { max_iterations: 5, ..settings() }.minimise(vec![-1.2; 4], rosenbrock, |_, _, _| true);
        assert_eq!((limited.iterations, limited.ended), (5, Ended::Iterations));
        let nothing = settings().minimise(vec![], |_, _| 1.0, |_, _, _| true);
        assert_eq!((nothing.iterations, nothing.ended), (0, Ended::Gradient));
    }
}
