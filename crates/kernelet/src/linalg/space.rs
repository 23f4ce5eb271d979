//! Where the vectors of a descent by L-BFGS lie, and what is computed with them: in memory, or where the function is evaluated.
use std::collections::VecDeque;

use crate::parallel::*;

use super::{
    descent::{Pair, Place},
    dot,
};

/// Vectors of one length.
pub(crate) trait Space {
    /// A vector.
    type Vector;
    /// So many zeros.
    fn zeros(&mut self, len: usize) -> Self::Vector;
    /// A vector that is no longer needed.
    fn keep(&mut self, vector: Self::Vector);
    /// How many numbers it has.
    fn len(&self, vector: &Self::Vector) -> usize;
    /// The sum of vectors times their factors; each number divided by that of the divisor, unless that is empty or there is none.
    fn combined(&mut self, terms: &[(f64, &Self::Vector)], divisor: Option<&Self::Vector>) -> Self::Vector;
    /// The inner product of each pair.
    fn products(&mut self, pairs: &[(&Self::Vector, &Self::Vector)]) -> Vec<f64>;
    /// The largest absolute value.
    fn largest(&mut self, vector: &Self::Vector) -> f64;

    /// The inner product of one.
    fn product(&mut self, x: &Self::Vector, y: &Self::Vector) -> f64 {
        self.products(&[(x, y)]).iter().sum()
    }

    /// `from + factor by`.
    fn moved(&mut self, from: &Self::Vector, factor: f64, by: &Self::Vector) -> Self::Vector {
        self.combined(&[(1.0, from), (factor, by)], None)
    }

    /// Minus the gradient times the inverse Hessian approximated by the pairs, the oldest first: the two-loop recursion. Here its weights follow from the products of
    /// all steps with the gradient and with the changes after them, so that vectors are read few times.
    fn direction(&mut self, pairs: &VecDeque<Pair<Self::Vector>>, here: &Place<Self::Vector>) -> Self::Vector {
        let (count, divisor) = (pairs.len(), Some(&here.preconditioner));
        let Some(newest) = pairs.back() else { return self.combined(&[(-1.0, &here.gradient)], divisor) };
        let preconditioned = self.combined(&[(1.0, &newest.change)], divisor);
        let mut wanted = vec![(&newest.change, &preconditioned)];
        wanted.extend(pairs.iter().map(|pair| (&pair.step, &here.gradient)));
        for (i, Pair { step, .. }) in pairs.iter().enumerate() {
            wanted.extend(pairs.range(i + 1..).map(|later| (step, &later.change)));
        }
        let found = self.products(&wanted);
        self.keep(preconditioned);
        let (scale, by_gradient, later) = (newest.curvature / found[0], &found[1..=count], &found[count + 1..]);
        // The product of step i with change j, where j is later.
        let bound = |i: usize, j: usize| later[i * (2 * count - i - 1) / 2 + j - i - 1];
        let mut weights = vec![0.0; count];
        for i in (0..count).rev() {
            let along = -by_gradient[i] - (i + 1..count).map(|j| weights[j] * bound(i, j)).sum::<f64>();
            weights[i] = along / pairs[i].curvature;
        }
        let changes = pairs.iter().zip(&weights).map(|(pair, weight)| (-weight, &pair.change));
        let turned = self.combined(&[(-1.0, &here.gradient)].into_iter().chain(changes).collect::<Vec<_>>(), divisor);
        let by_changes = self.products(&pairs.iter().map(|pair| (&pair.change, &turned)).collect::<Vec<_>>());
        for i in 0..count {
            let along = scale * by_changes[i] + (0..i).map(|j| weights[j] * bound(j, i)).sum::<f64>();
            weights[i] -= along / pairs[i].curvature;
        }
        let steps = pairs.iter().zip(&weights).map(|(pair, weight)| (*weight, &pair.step));
        let direction = self.combined(&[(scale, &turned)].into_iter().chain(steps).collect::<Vec<_>>(), None);
        self.keep(turned);
        direction
    }
}

/// Vectors in memory; those that are no longer needed are used again, because new ones of this length cost more than what is computed with them.
#[derive(Default)]
pub(crate) struct Held(Vec<Vec<f64>>);

impl Held {
    /// Numbers that are made part by part.
    fn made(&mut self, len: usize, work: impl Fn(usize, &mut [f64]) + Sync + Send) -> Vec<f64> {
        let mut numbers = self.0.pop().unwrap_or_default();
        numbers.resize(len, 0.0);
        each_part(&mut numbers, work);
        numbers
    }
}

impl Space for Held {
    type Vector = Vec<f64>;

    fn zeros(&mut self, len: usize) -> Vec<f64> {
        self.made(len, |_, part| part.fill(0.0))
    }

    fn keep(&mut self, vector: Vec<f64>) {
        if vector.capacity() > 0 {
            self.0.push(vector);
        }
    }

    fn len(&self, vector: &Vec<f64>) -> usize {
        vector.len()
    }

    fn combined(&mut self, terms: &[(f64, &Vec<f64>)], divisor: Option<&Vec<f64>>) -> Vec<f64> {
        let divisor = divisor.filter(|divisor| !divisor.is_empty());
        self.made(terms.first().map_or(0, |(_, vector)| vector.len()), |first, part| {
            part.fill(0.0);
            for (factor, vector) in terms {
                part.iter_mut().zip(&vector[first..]).for_each(|(p, v)| *p += factor * v);
            }
            if let Some(divisor) = divisor {
                part.iter_mut().zip(&divisor[first..]).for_each(|(p, d)| *p /= d);
            }
        })
    }

    fn moved(&mut self, from: &Vec<f64>, factor: f64, by: &Vec<f64>) -> Vec<f64> {
        self.made(from.len(), |first, part| {
            let numbers = from[first..].iter().zip(&by[first..]);
            part.iter_mut().zip(numbers).for_each(|(p, (x, d))| *p = x + factor * d);
        })
    }

    fn products(&mut self, pairs: &[(&Vec<f64>, &Vec<f64>)]) -> Vec<f64> {
        pairs.iter().map(|(x, y)| product(x, y)).collect()
    }

    fn largest(&mut self, vector: &Vec<f64>) -> f64 {
        let of = |values: &[f64]| values.iter().fold(0.0, |largest: f64, v| largest.max(v.abs()));
        if vector.len() <= PART {
            return of(vector);
        }
        vector.par_chunks(PART).map(of).collect::<Vec<_>>().into_iter().fold(0.0, f64::max)
    }

    /// The recursion as it is written: its bits are those of the vectors in memory. A pass over the direction serves two of its steps, since long vectors cost what their
    /// memory does.
    fn direction(&mut self, pairs: &VecDeque<Pair>, here: &Place) -> Vec<f64> {
        let mut direction = self.made(here.gradient.len(), |first, part| {
            let gradient = &here.gradient[first..];
            part.iter_mut().zip(gradient).for_each(|(d, g)| *d = -g);
        });
        let count = pairs.len();
        let mut weights = vec![0.0; count];
        let mut along = pairs.back().map_or(0.0, |pair| product(&pair.step, &direction));
        for (i, Pair { change, curvature, .. }) in pairs.iter().enumerate().rev() {
            weights[i] = along / curvature;
            match i.checked_sub(1) {
                Some(next) => along = add_and_multiply(&mut direction, -weights[i], change, &pairs[next].step),
                None => add(&mut direction, -weights[i], change),
            }
        }
        let scale = pairs.back().map_or(1.0, |Pair { change, curvature, .. }| {
            let preconditioned = self.made(change.len(), |first, part| {
                part.copy_from_slice(&change[first..first + part.len()]);
                here.precondition(first, part);
            });
            let square = product(change, &preconditioned);
            self.keep(preconditioned);
            curvature / square
        });
        each_part(&mut direction, |first, part| {
            here.precondition(first, part);
            part.iter_mut().for_each(|d| *d *= scale);
        });
        let mut along = pairs.front().map_or(0.0, |pair| product(&pair.change, &direction));
        for (i, Pair { step, curvature, .. }) in pairs.iter().enumerate() {
            let weight = weights[i] - along / curvature;
            match pairs.get(i + 1) {
                Some(next) => along = add_and_multiply(&mut direction, weight, step, &next.change),
                None => add(&mut direction, weight, step),
            }
        }
        direction
    }
}

/// Numbers that one thread works on at a time: many for a thread, few for a cache.
const PART: usize = 1 << 14;

/// The inner product, by parts of a fixed length.
fn product(x: &[f64], y: &[f64]) -> f64 {
    if x.len() <= PART {
        return dot(x, y);
    }
    let parts: Vec<f64> = x.par_chunks(PART).zip(y.par_chunks(PART)).map(|(x, y)| dot(x, y)).collect();
    parts.iter().sum()
}

/// Does something with parts of numbers, of which it gets the number of the first.
fn each_part(to: &mut [f64], work: impl Fn(usize, &mut [f64]) + Sync + Send) {
    match to.len() <= PART {
        true => work(0, to),
        false => to.par_chunks_mut(PART).enumerate().for_each(|(part, to)| work(part * PART, to)),
    }
}

fn add(to: &mut [f64], factor: f64, other: &[f64]) {
    each_part(to, |first, to| to.iter_mut().zip(&other[first..]).for_each(|(t, o)| *t += factor * o));
}

/// Adds `factor` times another vector, and multiplies the sum with a third.
fn add_and_multiply(to: &mut [f64], factor: f64, other: &[f64], with: &[f64]) -> f64 {
    let one = |((to, other), with): ((&mut [f64], &[f64]), &[f64])| {
        to.iter_mut().zip(other).for_each(|(t, o)| *t += factor * o);
        dot(with, to)
    };
    if to.len() <= PART {
        return one(((to, other), with));
    }
    let parts: Vec<f64> = to.par_chunks_mut(PART).zip(other.par_chunks(PART)).zip(with.par_chunks(PART)).map(one).collect();
    parts.iter().sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Vectors in memory, with directions by products.
    #[derive(Default)]
    struct ByProducts(Held);

    impl Space for ByProducts {
        type Vector = Vec<f64>;
        fn zeros(&mut self, len: usize) -> Vec<f64> {
            self.0.zeros(len)
        }
        fn keep(&mut self, vector: Vec<f64>) {
            self.0.keep(vector);
        }
        fn len(&self, vector: &Vec<f64>) -> usize {
            vector.len()
        }
        fn combined(&mut self, terms: &[(f64, &Vec<f64>)], divisor: Option<&Vec<f64>>) -> Vec<f64> {
            self.0.combined(terms, divisor)
        }
        fn products(&mut self, pairs: &[(&Vec<f64>, &Vec<f64>)]) -> Vec<f64> {
            self.0.products(pairs)
        }
        fn largest(&mut self, vector: &Vec<f64>) -> f64 {
            self.0.largest(vector)
        }
    }

    fn waves(len: usize, seed: usize) -> Vec<f64> {
        (0..len).map(|i| ((i * (seed + 2) + seed) as f64 * 0.7).sin()).collect()
    }

    #[test]
    fn directions_by_products_are_those_of_the_recursion_and_vectors_are_combined_alike() {
        for (len, count) in [(7, 0), (7, 1), (300, 4), (PART + 100, 10)] {
            for preconditioner in [vec![], waves(len, 3).iter().map(|v| 2.0 + v).collect()] {
                let pair = |p: usize| {
                    let step = waves(len, p);
                    let change: Vec<f64> =
                        step.iter().enumerate().map(|(i, s)| s * (1.0 + (i % 5) as f64) + 0.01 * (i as f64).cos()).collect();
                    let curvature = dot(&step, &change);
                    Pair { step, change, curvature }
                };
                let pairs: VecDeque<Pair> = (0..count).map(|p| pair(p + 5)).collect();
                let here = Place { point: vec![0.0; len], value: 0.0, gradient: waves(len, 90), preconditioner };
                let want = Held::default().direction(&pairs, &here);
                let have = ByProducts::default().direction(&pairs, &here);
                let size = Held::default().largest(&want);
                assert!(size > 0.0 && have.iter().zip(&want).all(|(a, b)| (a - b).abs() < 1e-12 * size), "{len} {count}");
                let (mut held, mut by_products) = (Held::default(), ByProducts::default());
                assert_eq!(held.moved(&want, -0.3, &here.gradient), by_products.moved(&want, -0.3, &here.gradient));
            }
        }
    }

    #[test]
    fn vectors_that_were_kept_are_zeros_again_and_the_largest_number_is_found_in_every_part() {
        let mut held = Held::default();
        held.keep(vec![1.0; 5]);
        assert_eq!((held.zeros(9), held.zeros(0)), (vec![0.0; 9], vec![]));
        for at in [0, PART - 1, PART, 2 * PART + 5] {
            let mut numbers = waves(2 * PART + 6, 1);
            numbers[at] = -3.0;
            assert_eq!(held.largest(&numbers), 3.0);
        }
    }
}
