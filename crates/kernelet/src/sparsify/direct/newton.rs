//! Linear machines with squared hinge loss on shared coordinates, one for each class, by Newton's method.
//!
//! For class k: `min 1/2 |w|^2 + sum_i c_i max(0, 1 - y_ik (w.v_i + b))^2`, b not penalised. On the rows with an error (the active ones) this is a
//! quadratic, whose minimum one linear system gives; where the active rows stay the same, the minimum is the exact one. Two to four rounds
//! from a good start.
//!
//! All classes go through the rounds together, so that the coordinates are read once a round. Cost of a round: n m q for the outputs and
//! a m^2 / 2 for each class with a active rows.
use rayon::prelude::*;

use crate::{
    linalg::{Cholesky, Matrix, Product, Real, dot, outer_sum},
    watch::Watch,
};

/// Rounds after which the best so far is returned.
const MOST_ROUNDS: usize = 50;

/// Rows of one unit of work.
const CHUNK: usize = 1024;

/// Rows with shared coordinates, the side of each row for each class, and what its errors cost.
pub(super) struct Problem<'a> {
    /// n x m.
    pub rows: &'a Matrix,
    /// n x q, +1 or -1; 0 where the class is not about the row.
    pub signs: &'a Matrix,
    /// Above 0, one for each row.
    pub costs: &'a [f64],
}

/// One machine for each class.
#[derive(Clone, Debug)]
pub(super) struct Solution {
    /// (m + 1) x q: the weights, and below them the offsets.
    pub weights: Matrix,
    /// n x q: `2 c_i xi_ik y_ik`, the multipliers with their signs.
    pub pulls: Matrix,
    /// The objective, summed over the classes.
    pub value: f64,
}

/// One class on its way.
struct Class {
    /// Weights and offset.
    weights: Vec<f64>,
    outputs: Vec<f64>,
    value: f64,
    active: Vec<usize>,
    done: bool,
}

/// Solves for all classes, from the weights of a similar problem where there are some.
pub(super) fn solve(problem: &Problem, start: Option<&Matrix>, watch: &Watch) -> Solution {
    let (m, q) = (problem.rows.cols(), problem.signs.cols());
    let begin = start.filter(|w| w.rows() == m + 1 && w.cols() == q).cloned().unwrap_or_else(|| Matrix::zeros(m + 1, q));
    let outputs = outputs(problem.rows, &begin);
    let mut classes: Vec<Class> = (0..q)
        .into_par_iter()
        .map(|k| {
            let (weights, outputs) = (begin.col(k), outputs.col(k));
            let value = problem.value(k, &weights, &outputs);
            let active = problem.active(k, &outputs);
            Class { weights, outputs, value, active, done: false }
        })
        .collect();
    for _ in 0..MOST_ROUNDS {
        if watch.cancelled() || classes.iter().all(|class| class.done) {
            break;
        }
        let targets: Vec<Vec<f64>> = classes.iter().enumerate().map(|(k, class)| class.target(problem, k)).collect();
        let joined = Matrix::from_fn(m + 1, q, |j, k| targets[k][j]);
        let reached = self::outputs(problem.rows, &joined);
        classes.par_iter_mut().enumerate().filter(|(_, class)| !class.done).for_each(|(k, class)| {
            class.move_to(problem, k, &targets[k], &reached.col(k));
        });
    }
    let pulls = Matrix::from_fn(problem.rows.rows(), q, |i, k| problem.pull(i, k, classes[k].outputs[i]));
    Solution {
        weights: Matrix::from_fn(m + 1, q, |j, k| classes[k].weights[j]),
        pulls,
        value: classes.iter().map(|class| class.value).sum(),
    }
}

/// `V W + b`, n x q.
fn outputs(rows: &Matrix, weights: &Matrix) -> Matrix {
    let (m, q) = (rows.cols(), weights.cols());
    let (offsets, inner) = (weights.row(m), &weights.values()[..m * q]);
    let mut out = Matrix::zeros(rows.rows(), q);
    out.values_mut().par_chunks_mut(CHUNK * q).enumerate().for_each(|(c, out)| {
        out.chunks_exact_mut(q).for_each(|row| row.copy_from_slice(offsets));
        let a = &rows.values()[c * CHUNK * m..];
        f64::add_product(Product { a, stride: m, inner: m, b: inner, cols: q }, out);
    });
    out
}

impl Problem<'_> {
    fn error(&self, i: usize, k: usize, output: f64) -> f64 {
        let y = self.signs.at(i, k);
        if y == 0.0 { 0.0 } else { (1.0 - y * output).max(0.0) }
    }

    fn pull(&self, i: usize, k: usize, output: f64) -> f64 {
        2.0 * self.costs[i] * self.error(i, k, output) * self.signs.at(i, k)
    }

    fn value(&self, k: usize, weights: &[f64], outputs: &[f64]) -> f64 {
        let w = &weights[..weights.len() - 1];
        let loss: f64 = outputs.iter().enumerate().map(|(i, f)| self.costs[i] * self.error(i, k, *f).powi(2)).sum();
        0.5 * dot(w, w) + loss
    }

    fn active(&self, k: usize, outputs: &[f64]) -> Vec<usize> {
        (0..outputs.len()).filter(|&i| self.error(i, k, outputs[i]) > 0.0).collect()
    }
}

impl Class {
    /// The minimum of the quadratic on the active rows; the weights themselves where there is none.
    fn target(&self, problem: &Problem, k: usize) -> Vec<f64> {
        let m = problem.rows.cols();
        if self.done || self.active.is_empty() {
            return self.weights.clone();
        }
        // Rows [v, 1, y] sqrt(2 c): their outer products hold the matrix, its border, its corner and the right-hand side.
        let sums = outer_sum(self.active.len(), m + 2, |a, out| {
            let i = self.active[a];
            let root = (2.0 * problem.costs[i]).sqrt();
            out[..m].iter_mut().zip(problem.rows.row(i)).for_each(|(out, v)| *out = root * v);
            (out[m], out[m + 1]) = (root, root * problem.signs.at(i, k));
        });
        let system = Matrix::from_fn(m + 1, m + 1, |i, j| if j <= i { sums.at(i, j) + f64::from(i == j && i < m) } else { 0.0 });
        let mut right = Matrix::column(sums.row(m + 1)[..=m].to_vec());
        match Cholesky::new(&system) {
            None => self.weights.clone(),
            Some(factor) => {
                factor.solve(&mut right);
                right.into_values()
            }
        }
    }

    /// Goes to the target, or as far towards it as the value falls.
    fn move_to(&mut self, problem: &Problem, k: usize, target: &[f64], reached: &[f64]) {
        let between = |a: &[f64], b: &[f64], t: f64| -> Vec<f64> { a.iter().zip(b).map(|(a, b)| a + t * (b - a)).collect() };
        let mut t = 1.0;
        while t > 1e-10 {
            let (weights, outputs) = (between(&self.weights, target, t), between(&self.outputs, reached, t));
            let value = problem.value(k, &weights, &outputs);
            if value < self.value {
                let active = problem.active(k, &outputs);
                let fall = self.value - value;
                // With the active rows as they were, the full step has led to the exact minimum.
                self.done = t == 1.0 && active == self.active || fall <= 1e-13 * value;
                (self.weights, self.outputs, self.value, self.active) = (weights, outputs, value, active);
                return;
            }
            t *= 0.5;
        }
        self.done = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::draw::Draw;

    fn problem(n: usize, m: usize, q: usize) -> (Matrix, Matrix, Vec<f64>) {
        let mut draw = Draw::seeded(3);
        let classes: Vec<usize> = (0..n).map(|_| draw.below(q.max(2))).collect();
        let rows = Matrix::from_fn(n, m, |i, j| draw.normal() + if j == classes[i] { 1.5 } else { 0.0 });
        let signs = Matrix::from_fn(n, q, |i, k| if classes[i] == k { 1.0 } else { -1.0 });
        (rows, signs, (0..n).map(|i| 0.5 + (i % 3) as f64).collect())
    }

    #[test]
    fn the_gradient_vanishes_at_the_solution_whatever_the_cost_and_the_start() {
        let (rows, signs, base) = problem(300, 6, 3);
        for c in [1e-6, 1.0, 1e6] {
            let costs: Vec<f64> = base.iter().map(|b| b * c).collect();
            let problem = Problem { rows: &rows, signs: &signs, costs: &costs };
            let cold = solve(&problem, None, &Watch::none());
            let shifted = Matrix::from_fn(7, 3, |j, k| cold.weights.at(j, k) + 0.3);
            let warm = solve(&problem, Some(&shifted), &Watch::none());
            assert!((cold.value - warm.value).abs() < 1e-10 * cold.value);
            for k in 0..3 {
                let pulls = cold.pulls.col(k);
                let size: f64 = pulls.iter().map(|p| p.abs()).sum();
                for j in 0..6 {
                    let pulled: f64 = (0..300).map(|i| pulls[i] * rows.at(i, j)).sum();
                    assert!((cold.weights.at(j, k) - pulled).abs() < 1e-9 * (size + 1e-6), "{c} {k} {j}");
                }
                assert!(pulls.iter().sum::<f64>().abs() < 1e-9 * (size + 1e-6));
            }
        }
    }

    #[test]
    fn rows_that_a_class_is_not_about_do_not_count() {
        let (rows, mut signs, costs) = problem(200, 4, 2);
        (0..100).for_each(|i| signs.row_mut(i)[1] = 0.0);
        let whole = solve(&Problem { rows: &rows, signs: &signs, costs: &costs }, None, &Watch::none());
        let half: Vec<usize> = (100..200).collect();
        let (some, half_signs) = (rows.select(&half), Matrix::column(signs.select(&half).col(1)));
        let part = solve(&Problem { rows: &some, signs: &half_signs, costs: &costs[100..] }, None, &Watch::none());
        for j in 0..5 {
            assert!((whole.weights.at(j, 1) - part.weights.at(j, 0)).abs() < 1e-9);
        }
    }
}
