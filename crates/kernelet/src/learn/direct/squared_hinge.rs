//! Linear machines with squared hinge loss on shared coordinates, one for each class, by Newton's method.
//!
//! For class k: `min 1/2 |w|^2 + sum_i c_i max(0, 1 - y_ik (w.v_i + b))^2`, b not penalised. In distillation a row may have a target t between -1 and
//! 1 instead of a sign, which is to be met from both sides: `c_i (t_ik - (w.v_i + b))^2`. On the rows with an error (the active ones) this is a
//! quadratic, whose minimum one linear system gives; where the active rows stay the same, the minimum is the exact one. Two to four rounds
//! from a good start.
//!
//! All classes go through the rounds together, so that the coordinates are read once a round. Cost of a solution: a m^2 / 2 for each class
//! with a active rows, and for each round n m q for the outputs and m^2 / 2 for every row that becomes active or ceases to be.
use crate::parallel::*;

use super::{
    coordinates::{Coordinates, Work},
    errors::{active, error, losses, moved},
    inner::{Inner, RowTargets, Solution},
};
use crate::{
    kernel::{block::CHUNK, few_columns::FewColumns},
    linalg::{Cholesky, Matrix, add_outer_sum, dot},
    watch::Watch,
};

/// Parts into which the sums of all classes are cut, whatever the number of threads.
const PARTS: usize = 16;

/// Rounds after which the best so far is returned.
const MOST_ROUNDS: usize = 50;

/// Machines with squared hinge loss.
pub(crate) struct SquaredHinge<'a> {
    /// n x q: +1 or -1, a side to be on; or in between, a value to be met.
    pub targets: &'a Matrix,
    /// Above 0, one for each row.
    pub costs: &'a [f64],
    /// (m + 1) x q: the weights of the last solution, and below them the offsets.
    last: Option<Matrix>,
    /// The memory of the squares of each class: new memory costs as much as the sums themselves.
    memory: Vec<Matrix>,
}

impl<'a> SquaredHinge<'a> {
    pub fn new(targets: &'a Matrix, costs: &'a [f64]) -> Self {
        SquaredHinge { targets, costs, last: None, memory: vec![] }
    }

    /// `V W + b` (n x q), and the loss of each class there.
    fn outputs(&self, coordinates: &Coordinates, weights: &Matrix) -> (Matrix, Vec<f64>) {
        let (weights, q) = (&FewColumns::new(weights), weights.cols());
        let mut out = Matrix::zeros(coordinates.rows(), q);
        let chunk = |work: &mut Work, (c, out): (usize, &mut [f64])| {
            let rows = c * CHUNK..c * CHUNK + out.len() / q;
            coordinates.chunk(c, rows.len(), work).times(weights, out);
            losses(out, &self.targets.values()[rows.start * q..rows.end * q], &self.costs[rows], q)
        };
        let parts: Vec<Vec<f64>> = out.values_mut().par_chunks_mut(CHUNK * q).enumerate().map_init(Work::default, chunk).collect();
        (out, sums(parts, q))
    }

    /// Adds `factor sum_i 2 c_i r_i r_i'` with rows `r = [v, 1, t]`: it holds the matrix of the system, its border, its corner and the right-hand side.
    fn add_squares(&self, coordinates: &Coordinates, k: usize, rows: &[usize], factor: f64, squares: &mut Matrix) {
        let m = coordinates.cols();
        let parts = PARTS.div_ceil(self.targets.cols().max(1));
        add_outer_sum(squares, factor, parts, rows.len(), |range, out| {
            let rows = &rows[range];
            coordinates.chosen(rows, &mut Work::default(), |place, v| {
                let root = (2.0 * self.costs[rows[place]]).sqrt();
                let out = &mut out[place * (m + 2)..(place + 1) * (m + 2)];
                out[..m].iter_mut().zip(v).for_each(|(out, v)| *out = root * v);
                (out[m], out[m + 1]) = (root, root * self.targets.at(rows[place], k));
            });
        });
    }
}

fn sums(parts: Vec<Vec<f64>>, q: usize) -> Vec<f64> {
    parts.iter().fold(vec![0.0; q], |sum, part| sum.iter().zip(part).map(|(s, p)| s + p).collect())
}

/// The state of all classes.
struct Run<'a> {
    problem: &'a SquaredHinge<'a>,
    coordinates: &'a Coordinates<'a>,
    /// (m + 1) x q.
    weights: Matrix,
    /// n x q.
    outputs: Matrix,
    classes: Vec<Class>,
}

/// The state of one class.
#[derive(Default)]
struct Class {
    value: f64,
    /// The squares of the active rows.
    squares: Matrix,
    /// True where these were never summed.
    stale: bool,
    active: usize,
    done: bool,
}

/// Rows of one class whose errors begin or end.
#[derive(Clone, Default)]
struct Change {
    entered: Vec<usize>,
    left: Vec<usize>,
}

impl<'a> Run<'a> {
    fn start(problem: &'a SquaredHinge, coordinates: &'a Coordinates, weights: Matrix, memory: Vec<Matrix>) -> Self {
        let (q, width) = (weights.cols(), coordinates.cols() + 2);
        let (outputs, losses) = problem.outputs(coordinates, &weights);
        let mut run = Run { problem, coordinates, weights, outputs, classes: vec![] };
        let mut memory = memory.into_iter().filter(|squares| squares.rows() == width);
        for (k, loss) in losses.into_iter().enumerate() {
            let (value, squares) = (loss + run.half_norm(&run.weights, k), memory.next().unwrap_or_else(|| Matrix::zeros(width, width)));
            run.classes.push(Class { value, squares, stale: true, ..Class::default() });
        }
        // Before the first round no row was active.
        let active = std::mem::replace(&mut run.outputs, problem.targets.clone());
        let changes = run.move_by(&active, &vec![1.0; q]);
        run.update(changes);
        run
    }

    fn half_norm(&self, weights: &Matrix, k: usize) -> f64 {
        0.5 * (0..self.coordinates.cols()).map(|j| weights.at(j, k).powi(2)).sum::<f64>()
    }

    /// Goes the fraction `parts[k]` of the step from the outputs to those that were reached, and returns whose errors begin or end.
    fn move_by(&mut self, reached: &Matrix, parts: &[f64]) -> Vec<Change> {
        let (q, problem) = (parts.len(), self.problem);
        let size = CHUNK * q;
        let chunks = self.outputs.values_mut().par_chunks_mut(size).zip(reached.values().par_chunks(size));
        let chunks = chunks.zip(problem.targets.values().par_chunks(size));
        let changes: Vec<Vec<(usize, bool)>> =
            chunks.map(|((outputs, reached), targets)| moved(outputs, reached, targets, parts)).collect();
        let mut all = vec![Change::default(); q];
        for (c, (place, begins)) in changes.iter().enumerate().flat_map(|(c, changes)| changes.iter().map(move |change| (c, change))) {
            let (i, change) = (c * CHUNK + place / q, &mut all[place % q]);
            if *begins { change.entered.push(i) } else { change.left.push(i) }
        }
        all
    }

    /// Brings the squares of all classes up to date.
    fn update(&mut self, mut changes: Vec<Change>) {
        for (class, change) in self.classes.iter_mut().zip(&changes) {
            class.active = (class.active + change.entered.len()).saturating_sub(change.left.len());
            // What is subtracted leaves its rounding behind: where much has changed, all is summed again.
            class.stale |= change.entered.len() + 2 * change.left.len() > class.active;
        }
        let rows = self.active_rows();
        for (change, (class, active)) in changes.iter_mut().zip(self.classes.iter_mut().zip(rows)).filter(|(_, (class, _))| class.stale) {
            class.active = active.len();
            class.squares.values_mut().fill(0.0);
            *change = Change { entered: active, left: vec![] };
        }
        let (problem, coordinates) = (self.problem, self.coordinates);
        self.classes.par_iter_mut().zip(changes).enumerate().for_each(|(k, (class, Change { entered, left }))| {
            class.stale = false;
            problem.add_squares(coordinates, k, &entered, 1.0, &mut class.squares);
            problem.add_squares(coordinates, k, &left, -1.0, &mut class.squares);
        });
    }

    /// The active rows of the classes whose squares are stale.
    fn active_rows(&self) -> Vec<Vec<usize>> {
        let mut rows = vec![vec![]; self.classes.len()];
        let stale: Vec<usize> = (0..rows.len()).filter(|&k| self.classes[k].stale).collect();
        if stale.is_empty() {
            return rows;
        }
        for (i, (outputs, targets)) in self.outputs.iter().zip(self.problem.targets.iter()).enumerate() {
            for &k in &stale {
                if active(targets[k], outputs[k]) {
                    rows[k].push(i);
                }
            }
        }
        rows
    }

    /// The minimum of the quadratic on the active rows of a class; its weights themselves where there is none.
    fn target(&self, k: usize) -> Vec<f64> {
        let (m, class) = (self.coordinates.cols(), &self.classes[k]);
        if class.done || class.active == 0 {
            return self.weights.col(k);
        }
        let squares = &class.squares;
        let mut right = Matrix::column(squares.row(m + 1)[..=m].to_vec());
        match Cholesky::leading(squares, m + 1, |i| f64::from(i < m)) {
            None => self.weights.col(k),
            Some(factor) => {
                factor.solve(&mut right);
                right.into_values()
            }
        }
    }

    /// One round of all classes that are not done.
    fn round(&mut self) {
        let (m, q) = (self.coordinates.cols(), self.classes.len());
        let targets: Vec<Vec<f64>> = (0..q).into_par_iter().map(|k| self.target(k)).collect();
        let targets = Matrix::from_fn(m + 1, q, |j, k| targets[k][j]);
        let (reached, losses) = self.problem.outputs(self.coordinates, &targets);
        let mut parts = vec![0.0; q];
        let open: Vec<usize> = (0..q).filter(|&k| !self.classes[k].done).collect();
        for k in open {
            let (part, value) = self.how_far(k, &targets, &reached, losses[k]);
            let class = &mut self.classes[k];
            class.done = part == 0.0 || class.value - value <= 1e-13 * value;
            (class.value, parts[k]) = (value, part);
            for j in (0..=m).filter(|_| part > 0.0) {
                let weight = &mut self.weights.row_mut(j)[k];
                *weight += part * (targets.at(j, k) - *weight);
            }
        }
        let changes = self.move_by(&reached, &parts);
        for (k, change) in changes.iter().enumerate().filter(|(k, _)| parts[*k] == 1.0) {
            // With the active rows as they were, the full step has led to the exact minimum.
            self.classes[k].done |= change.entered.is_empty() && change.left.is_empty();
        }
        self.update(changes);
    }

    /// The fraction of the step to the target that lowers the value of a class, and the value there; 0 where none does.
    fn how_far(&self, k: usize, targets: &Matrix, reached: &Matrix, loss: f64) -> (f64, f64) {
        let before = self.classes[k].value;
        let full = loss + self.half_norm(targets, k);
        if full < before {
            return (1.0, full);
        }
        let mut part = 0.5;
        while part > 1e-10 {
            let weights =
                Matrix::from_fn(targets.rows() - 1, 1, |j, _| self.weights.at(j, k) + part * (targets.at(j, k) - self.weights.at(j, k)));
            let loss = (0..self.outputs.rows()).map(|i| {
                let output = self.outputs.at(i, k) + part * (reached.at(i, k) - self.outputs.at(i, k));
                self.problem.costs[i] * error(self.problem.targets.at(i, k), output).powi(2)
            });
            let value = loss.sum::<f64>() + 0.5 * dot(weights.values(), weights.values());
            if value < before {
                return (part, value);
            }
            part *= 0.5;
        }
        (0.0, before)
    }
}

impl Inner for SquaredHinge<'_> {
    fn rows(&self) -> Option<RowTargets<'_>> {
        Some(RowTargets { targets: self.targets, costs: self.costs, lambda: None })
    }

    fn solve(&mut self, coordinates: &Coordinates, watch: &Watch) -> Solution {
        let (m, q) = (coordinates.cols(), self.targets.cols());
        let begin = self.last.take().filter(|w| w.rows() == m + 1).unwrap_or_else(|| Matrix::zeros(m + 1, q));
        let memory = std::mem::take(&mut self.memory);
        let mut run = Run::start(self, coordinates, begin, memory);
        for _ in 0..MOST_ROUNDS {
            if watch.cancelled() || run.classes.iter().all(|class| class.done) {
                break;
            }
            run.round();
        }
        let Run { weights, outputs, classes, .. } = run;
        let mut negative_gradient = outputs;
        let rows = negative_gradient.values_mut().chunks_exact_mut(q.max(1)).zip(self.targets.iter()).zip(self.costs);
        rows.for_each(|((row, targets), cost)| {
            row.iter_mut().zip(targets).for_each(|(value, target)| *value = 2.0 * cost * error(*target, *value));
        });
        let solution = Solution {
            value: classes.iter().map(|class| class.value).sum(),
            weights: weights.select(&(0..m).collect::<Vec<_>>()),
            offsets: weights.row(m).to_vec(),
            negative_gradient,
            norms: vec![1.0; q],
        };
        self.last = Some(weights);
        self.memory = classes.into_iter().map(|class| class.squares).collect();
        solution
    }

    fn memory(&self) -> Vec<f64> {
        self.last.as_ref().map_or(vec![], |last| last.values().to_vec())
    }

    fn remember(&mut self, memory: &[f64], m: usize) -> bool {
        self.last = Matrix::new(memory.to_vec(), m + 1, self.targets.cols());
        self.last.is_some() || memory.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{basis::Frame, draw::Draw, kernel::Kernel};

    /// The solution on rows as they are: the coordinates of a linear kernel on unit vectors.
    fn solve(rows: &Matrix, signs: &Matrix, costs: &[f64], start: Option<Matrix>) -> Solution {
        let units = Matrix::from_fn(rows.cols(), rows.cols(), |i, j| f64::from(i == j));
        let frame = Frame::fixed(&Kernel::named("linear", 1.0, 0, 0.0).unwrap(), &units.into(), 0.0).unwrap();
        let points = rows.clone().into();
        SquaredHinge { last: start, ..SquaredHinge::new(signs, costs) }
            .solve(&Coordinates::new(&frame, &points, usize::MAX), &Watch::none())
    }

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
            let cold = solve(&rows, &signs, &costs, None);
            let shifted = Matrix::from_fn(7, 3, |j, k| if j < 6 { cold.weights.at(j, k) + 0.3 } else { cold.offsets[k] + 0.3 });
            let warm = solve(&rows, &signs, &costs, Some(shifted));
            assert!((cold.value - warm.value).abs() < 1e-10 * cold.value);
            for k in 0..3 {
                let negative_gradient = cold.negative_gradient.col(k);
                let size: f64 = negative_gradient.iter().map(|p| p.abs()).sum();
                for j in 0..6 {
                    let projected: f64 = (0..300).map(|i| negative_gradient[i] * rows.at(i, j)).sum();
                    assert!((cold.weights.at(j, k) - projected).abs() < 1e-9 * (size + 1e-6), "{c} {k} {j}");
                }
                assert!(negative_gradient.iter().sum::<f64>().abs() < 1e-9 * (size + 1e-6));
            }
        }
    }

    #[test]
    fn values_to_be_met_pull_from_both_sides() {
        let (rows, mut targets, costs) = problem(200, 4, 2);
        (0..100).for_each(|i| targets.row_mut(i)[1] = 0.5 * rows.at(i, 0).tanh());
        let solution = solve(&rows, &targets, &costs, None);
        let output = |i: usize, k: usize| dot(rows.row(i), &solution.weights.col(k)) + solution.offsets[k];
        let negative_gradient = |i: usize, k: usize| {
            let (t, f) = (targets.at(i, k), output(i, k));
            let met = t.abs() == 1.0 && t * f >= 1.0;
            if met { 0.0 } else { 2.0 * costs[i] * (t - f) }
        };
        assert!((0..100).any(|i| negative_gradient(i, 1) < 0.0) && (0..100).any(|i| negative_gradient(i, 1) > 0.0));
        for k in 0..2 {
            assert!((0..200).map(|i| negative_gradient(i, k)).sum::<f64>().abs() < 1e-9 * 200.0);
            for j in 0..4 {
                let projected: f64 = (0..200).map(|i| negative_gradient(i, k) * rows.at(i, j)).sum();
                assert!((solution.weights.at(j, k) - projected).abs() < 1e-9 * 200.0, "{k} {j}");
            }
        }
    }
}
