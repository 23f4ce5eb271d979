//! What the solver solves, in one form for the whole family.
//!
//! ```text
//! minimise 1/2 b'Kb - targets'b + width sum_i |b_i|    over lower_i <= b_i <= upper_i, with sums of b held
//! ```
//! A coefficient b_i has a positive and a negative part. The width makes a kink at zero, so regression needs one coefficient a row, where
//! the textbooks have two; the machines with nu hold the sums of both parts apart.
use crate::watch::Status;

/// The problem.
#[derive(Clone, Debug, Default)]
pub struct Problem {
    /// The linear term: y for classification and regression, 0 for one class.
    pub targets: Vec<f64>,
    /// The least value of each coefficient, at most 0.
    pub lower: Vec<f64>,
    /// The largest value of each coefficient, at least 0.
    pub upper: Vec<f64>,
    /// Half the width of the tube: epsilon of regression, else 0. Not used where the parts are held, as it would add a constant.
    pub width: f64,
    /// Which sums keep the value they have at the start.
    pub held: Held,
    /// Where to start; all zeros when None.
    pub start: Option<Parts>,
}

/// Which sums of the coefficients are held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Held {
    /// The sum of all: the machine has an offset.
    #[default]
    Sum,
    /// The sum of the positive parts and that of the negative parts: the machine has an offset and a nu.
    Parts,
}

/// Coefficients as the sum of two parts.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Parts {
    /// At least 0.
    pub positive: Vec<f64>,
    /// At most 0.
    pub negative: Vec<f64>,
}

impl Parts {
    /// The parts of coefficients of which one part is zero.
    pub fn of(coefficients: &[f64]) -> Self {
        Parts { positive: coefficients.iter().map(|b| b.max(0.0)).collect(), negative: coefficients.iter().map(|b| b.min(0.0)).collect() }
    }

    /// The coefficient of row `i`.
    pub fn at(&self, i: usize) -> f64 {
        self.positive[i] + self.negative[i]
    }
}

/// How to solve it.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Stop when no pair violates the optimality conditions by more than this.
    pub tolerance: f64,
    /// Stop after this many steps.
    pub max_iterations: u64,
    /// Bytes for cached kernel rows.
    pub cache_bytes: usize,
    /// Leave variables alone that look settled at a bound.
    pub shrinking: bool,
}

/// What the solver found.
#[derive(Clone, Debug)]
pub struct Solution {
    /// b.
    pub coefficients: Vec<f64>,
    /// v = targets - Kb; at a free coefficient without a width this is the offset.
    pub v: Vec<f64>,
    /// The offset.
    pub offset: f64,
    /// Where the parts are held, half of what v is more at the free positive parts than at the free negative ones; else 0.
    pub spread: f64,
    /// The value of the minimised function.
    pub objective: f64,
    /// Steps made.
    pub iterations: u64,
    /// How it ended.
    pub status: Status,
}

impl Solution {
    /// w.Phi(x_i), without the offset.
    pub fn output(&self, problem: &Problem, i: usize) -> f64 {
        problem.targets[i] - self.v[i]
    }

    /// |w|^2.
    pub fn squared_norm(&self, problem: &Problem) -> f64 {
        self.coefficients.iter().enumerate().map(|(i, b)| b * self.output(problem, i)).sum()
    }
}

/// One of the sums that are held, by its place in the solver's list.
pub(super) type Group = usize;

impl Problem {
    /// The number of sums that are held.
    pub(super) fn groups(&self) -> usize {
        if self.held == Held::Sum { 1 } else { 2 }
    }

    /// How far coefficient `i` can rise within a group, up to the kink at zero, and what that adds to v in the choice of a pair.
    pub(super) fn rise(&self, parts: &Parts, group: Group, i: usize) -> (f64, f64) {
        let (positive, negative) = (self.upper[i] - parts.positive[i], -parts.negative[i]);
        match (self.held, group) {
            (Held::Sum, _) if negative > 0.0 => (negative, self.width),
            (Held::Sum, _) => (positive, -self.width),
            (Held::Parts, 0) => (positive, 0.0),
            (Held::Parts, _) => (negative, 0.0),
        }
    }

    /// The same for a fall.
    pub(super) fn fall(&self, parts: &Parts, group: Group, i: usize) -> (f64, f64) {
        let (positive, negative) = (parts.positive[i], parts.negative[i] - self.lower[i]);
        match (self.held, group) {
            (Held::Sum, _) if positive > 0.0 => (positive, -self.width),
            (Held::Sum, _) => (negative, self.width),
            (Held::Parts, 0) => (positive, 0.0),
            (Held::Parts, _) => (negative, 0.0),
        }
    }

    /// Raises b_i and lowers b_j by `wish` or as far as the bounds allow; a part that reaches a bound is set to it exactly.
    pub(super) fn move_pair(&self, parts: &mut Parts, group: Group, (i, j): (usize, usize), wish: f64) -> f64 {
        let (limit_i, limit_j) = (self.rise(parts, group, i).0, self.fall(parts, group, j).0);
        let step = wish.min(limit_i).min(limit_j);
        let in_negative = |part: f64| if self.held == Held::Sum { part != 0.0 } else { group == 1 };
        match (in_negative(parts.negative[i]), step >= limit_i) {
            (true, true) => parts.negative[i] = 0.0,
            (true, false) => parts.negative[i] += step,
            (false, true) => parts.positive[i] = self.upper[i],
            (false, false) => parts.positive[i] += step,
        }
        let in_positive = |part: f64| if self.held == Held::Sum { part != 0.0 } else { group == 0 };
        match (in_positive(parts.positive[j]), step >= limit_j) {
            (true, true) => parts.positive[j] = 0.0,
            (true, false) => parts.positive[j] -= step,
            (false, true) => parts.negative[j] = self.lower[j],
            (false, false) => parts.negative[j] -= step,
        }
        step
    }

    /// Whether the part of coefficient `i` that a group moves lies between its bounds, and what v then says of the group's level.
    pub(super) fn free_level(&self, parts: &Parts, group: Group, i: usize, v: f64) -> Option<f64> {
        let positive = parts.positive[i] > 0.0 && parts.positive[i] < self.upper[i];
        let negative = parts.negative[i] < 0.0 && parts.negative[i] > self.lower[i];
        match (self.held, group) {
            (Held::Sum, _) if positive => Some(v - self.width),
            (Held::Sum, _) if negative => Some(v + self.width),
            (Held::Parts, 0) if positive => Some(v),
            (Held::Parts, 1) if negative => Some(v),
            _ => None,
        }
    }

    /// The value of the minimised function, from v.
    pub(super) fn objective(&self, parts: &Parts, v: &[f64]) -> f64 {
        let width = if self.held == Held::Sum { self.width } else { 0.0 };
        let term = |i: usize| width * (parts.positive[i] - parts.negative[i]) - 0.5 * parts.at(i) * (self.targets[i] + v[i]);
        (0..self.targets.len()).map(term).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn regression() -> Problem {
        Problem { targets: vec![0.0; 2], lower: vec![-2.0; 2], upper: vec![2.0; 2], width: 0.5, ..Problem::default() }
    }

    #[test]
    fn a_step_stops_at_the_kink_and_at_the_bounds() {
        let (problem, mut parts) = (regression(), Parts::of(&[-1.0, 0.5]));
        assert_eq!((problem.rise(&parts, 0, 0), problem.fall(&parts, 0, 1)), ((1.0, 0.5), (0.5, -0.5)));
        assert_eq!(problem.move_pair(&mut parts, 0, (0, 1), 9.0), 0.5);
        assert_eq!(parts, Parts { positive: vec![0.0; 2], negative: vec![-0.5, 0.0] });
        assert_eq!(problem.move_pair(&mut parts, 0, (0, 1), 9.0), 0.5);
        assert_eq!(parts, Parts { positive: vec![0.0; 2], negative: vec![0.0, -0.5] });
        assert_eq!(problem.move_pair(&mut parts, 0, (0, 1), 9.0), 1.5);
        assert_eq!(parts, Parts { positive: vec![1.5, 0.0], negative: vec![0.0, -2.0] });
    }

    #[test]
    fn held_parts_move_within_their_own_sum() {
        let problem = Problem { held: Held::Parts, ..regression() };
        let mut parts = Parts { positive: vec![1.0, 1.0], negative: vec![-1.0, -1.0] };
        assert_eq!(problem.move_pair(&mut parts, 0, (0, 1), 9.0), 1.0);
        assert_eq!(problem.move_pair(&mut parts, 1, (1, 0), 0.25), 0.25);
        assert_eq!(parts, Parts { positive: vec![2.0, 0.0], negative: vec![-1.25, -0.75] });
        assert_eq!((parts.at(0), parts.at(1)), (0.75, -0.75));
    }
}
