//! Where a descent by L-BFGS has come to, as numbers that can be kept in a file: begun there, it makes the same steps to the last bit.
use std::collections::VecDeque;

/// A point with its value and gradient.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Place<V = Vec<f64>> {
    pub(crate) point: V,
    pub(crate) value: f64,
    pub(crate) gradient: V,
    /// The diagonal preconditioner; empty where all variables are alike.
    pub(crate) preconditioner: V,
}

impl Place {
    /// Divides each entry, from that of the variable with this number on, by its variable's preconditioner.
    pub(super) fn precondition(&self, first: usize, direction: &mut [f64]) {
        if !self.preconditioner.is_empty() {
            direction.iter_mut().zip(&self.preconditioner[first..]).for_each(|(d, s)| *d /= s);
        }
    }
}

/// A step, how the gradient changed with it, and the product of both.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Pair<V = Vec<f64>> {
    pub(crate) step: V,
    pub(crate) change: V,
    pub(crate) curvature: f64,
}

/// Where a descent has come to: all that its next step depends on, besides the function.
#[derive(Clone, Debug, PartialEq)]
pub struct Descent<V = Vec<f64>> {
    pub(super) here: Place<V>,
    pub(super) pairs: VecDeque<Pair<V>>,
    /// A gradient this small ends the descent.
    pub(super) small: f64,
    /// The length of the first step tried where there are no pairs.
    pub(super) first_step: f64,
    /// By how much the last step lowered the value.
    pub(super) fall: f64,
    pub(super) iterations: usize,
}

/// Where a minimisation begins.
pub enum Begin<V = Vec<f64>> {
    /// At a point.
    Point(V),
    /// Where another has come to.
    Descent(Descent<V>),
}

impl<V> Descent<V> {
    /// Steps made.
    pub fn iterations(&self) -> usize {
        self.iterations
    }

    /// The value now.
    pub fn value(&self) -> f64 {
        self.here.value
    }

    /// The point now.
    pub fn point(&self) -> &V {
        &self.here.point
    }
}

impl Descent {
    /// All of it as numbers, to be kept in a file.
    pub fn numbers(&self) -> Vec<f64> {
        let Descent { here, pairs, small, first_step, fall, iterations } = self;
        let counts = [*iterations, here.point.len(), here.preconditioner.len(), pairs.len()].map(|count| count as f64);
        let mut numbers = [&counts[..], &[*small, *first_step, *fall, here.value]].concat();
        numbers.extend([&here.point, &here.gradient, &here.preconditioner].into_iter().flatten());
        for Pair { step, change, curvature } in pairs {
            numbers.extend(step.iter().chain(change).chain([curvature]));
        }
        numbers
    }

    /// The descent with these numbers; none where they are those of no descent.
    pub fn of_numbers(numbers: &[f64]) -> Option<Descent> {
        let (head, mut rest) = numbers.split_at_checked(8)?;
        let [iterations, len, preconditioner, count] = [head[0], head[1], head[2], head[3]].map(|count| count as usize);
        if len > rest.len() || ![0, len].contains(&preconditioner) {
            return None;
        }
        if rest.len() != count.checked_mul(2 * len + 1)?.checked_add(2 * len + preconditioner)? {
            return None;
        }
        let mut next = |count: usize| {
            let (part, more) = rest.split_at(count);
            rest = more;
            part.to_vec()
        };
        let here = Place { value: head[7], point: next(len), gradient: next(len), preconditioner: next(preconditioner) };
        let pairs = (0..count).map(|_| Pair { step: next(len), change: next(len), curvature: next(1)[0] }).collect();
        Some(Descent { here, pairs, small: head[4], first_step: head[5], fall: head[6], iterations })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::{Lbfgs, lbfgs::tests::rosenbrock};

    #[test]
    fn a_descent_that_is_taken_up_again_makes_the_same_steps() {
        let evaluate = |x: &[f64], g: &mut [f64], preconditioner: &mut Vec<f64>| {
            preconditioner.extend((0..x.len()).map(|i| 1.0 + (i % 3) as f64));
            rosenbrock(x, g)
        };
        let settings = || Lbfgs { gradient_tolerance: 1e-9, ..Lbfgs::default() };
        let begin = || Begin::Point(vec![-1.2; 20]);
        let whole = settings().minimise_preconditioned(begin(), evaluate, |_| true);
        for steps in [1, 7, whole.iterations - 1, whole.iterations] {
            let mut kept = vec![];
            settings().minimise_preconditioned(begin(), evaluate, |descent| {
                kept = descent.numbers();
                descent.iterations() < steps
            });
            let descent = Descent::of_numbers(&kept).unwrap();
            assert_eq!(descent.iterations(), steps);
            let rest = settings().minimise_preconditioned(Begin::Descent(descent), evaluate, |_| true);
            assert_eq!((rest.point, rest.iterations, rest.ended), (whole.point.clone(), whole.iterations, whole.ended), "{steps}");
            assert!(Descent::of_numbers(&kept[..kept.len() - 1]).is_none() && Descent::of_numbers(&kept[1..]).is_none());
        }
        assert!([1e300, f64::NAN, 1.0, -1.0].iter().all(|&number| Descent::of_numbers(&[number; 20]).is_none()));
    }
}
