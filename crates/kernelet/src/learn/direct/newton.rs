//! Machines with a smooth loss of each row, by Newton's method.
//!
//! `min 1/2 |W|^2 + sum_i loss_i(W'v_i + b) + tilt . b`, where the loss of a row may bind its outputs together (softmax). Newton's systems are
//! solved by conjugate gradients, preconditioned by the factor of `sum_i c_i (v_i, 1)(v_i, 1)' + I` with the mean curvature c_i of a row: with one
//! output that is the system itself, and one step is enough. Where a step promises little it is taken whole and is the last one: the
//! distance to the optimum is squared in it.
//!
//! Cost of a round: n m^2 / 2, and 4 n m q for each step of the conjugate gradients; memory m^2 and a few n q. Three rounds from a good start.
use crate::parallel::*;

use super::{
    coordinates::{Coordinates, Work},
    inner::{Inner, Solution},
    squared::add_outputs,
};
use crate::{
    kernel::block::CHUNK,
    linalg::{Cholesky, Matrix, dot, outer_sum},
    watch::Watch,
};

/// The loss of one row as a function of its outputs: convex, twice differentiable.
pub(crate) trait RowLoss: Sync {
    /// Outputs of a row.
    fn n_outputs(&self) -> usize;
    /// The loss of row i, and its derivatives by the outputs.
    fn loss(&self, i: usize, outputs: &[f64], slopes: &mut [f64]) -> f64;
    /// The second derivatives of row i times a direction.
    fn curve(&self, i: usize, outputs: &[f64], direction: &[f64], out: &mut [f64]);
    /// The mean of the second derivatives of row i, of each output by itself.
    fn curvature(&self, i: usize, outputs: &[f64]) -> f64;
    /// What each offset costs by itself.
    fn tilt(&self) -> f64 {
        0.0
    }
}

const MOST_ROUNDS: usize = 100;
const MOST_STEPS: usize = 200;

/// The part of the residual that the conjugate gradients leave.
const LEFT: f64 = 1e-4;

/// A step that promises to lower the value by no more than this part of it is the last one.
const LAST: f64 = 1e-11;

/// A machine with such a loss.
pub(crate) struct Smooth<L> {
    pub loss: L,
    /// (m + 1) x q: the weights of the last solution, and below them the offsets.
    last: Option<Matrix>,
}

impl<L: RowLoss> Smooth<L> {
    pub fn new(loss: L) -> Self {
        Smooth { loss, last: None }
    }
}

/// The state of one solution.
struct Run<'a, L> {
    loss: &'a L,
    coordinates: &'a Coordinates<'a>,
    /// (m + 1) x q.
    x: Matrix,
    /// n x q.
    outputs: Matrix,
    /// n x q.
    slopes: Matrix,
    value: f64,
}

impl<'a, L: RowLoss> Run<'a, L> {
    fn start(loss: &'a L, coordinates: &'a Coordinates<'a>, x: Matrix) -> Self {
        let (n, q) = (coordinates.rows(), loss.n_outputs());
        let outputs = times(coordinates, &x);
        let mut run = Run { loss, coordinates, x, outputs, slopes: Matrix::zeros(n, q), value: 0.0 };
        run.update();
        run
    }

    /// Slopes and value at the outputs.
    fn update(&mut self) {
        let (q, loss) = (self.loss.n_outputs(), self.loss);
        let chunk = |(c, (outputs, slopes)): (usize, (&[f64], &mut [f64]))| -> f64 {
            let rows = outputs.chunks_exact(q).zip(slopes.chunks_exact_mut(q)).enumerate();
            rows.map(|(place, (outputs, slopes))| loss.loss(c * CHUNK + place, outputs, slopes)).sum()
        };
        let chunks = self.outputs.values().par_chunks(CHUNK * q).zip(self.slopes.values_mut().par_chunks_mut(CHUNK * q));
        let parts: Vec<f64> = chunks.enumerate().map(chunk).collect();
        self.value = parts.iter().sum::<f64>() + self.own(&self.x);
    }

    /// The part of the value that is not loss.
    fn own(&self, x: &Matrix) -> f64 {
        let (m, q) = (x.rows() - 1, x.cols());
        let weights = &x.values()[..m * q];
        0.5 * dot(weights, weights) + self.loss.tilt() * x.row(m).iter().sum::<f64>()
    }

    fn gradient(&self) -> Matrix {
        let (m, q) = (self.x.rows() - 1, self.x.cols());
        let mut gradient = transposed_times(self.coordinates, &self.slopes);
        gradient.values_mut()[..m * q].iter_mut().zip(self.x.values()).for_each(|(g, w)| *g += w);
        gradient.row_mut(m).iter_mut().for_each(|g| *g += self.loss.tilt());
        gradient
    }

    /// The second derivatives times a direction.
    fn curved(&self, direction: &Matrix) -> Matrix {
        let (m, q) = (self.x.rows() - 1, self.x.cols());
        let along = times(self.coordinates, direction);
        let mut bent = Matrix::zeros(along.rows(), q);
        bent.values_mut().par_chunks_mut(CHUNK * q).enumerate().for_each(|(c, out)| {
            for (place, out) in out.chunks_exact_mut(q).enumerate() {
                let i = c * CHUNK + place;
                self.loss.curve(i, self.outputs.row(i), along.row(i), out);
            }
        });
        let mut out = transposed_times(self.coordinates, &bent);
        out.values_mut()[..m * q].iter_mut().zip(direction.values()).for_each(|(o, w)| *o += w);
        out
    }

    /// The factor of the system with the mean curvature of each row.
    fn factor(&self) -> Option<Cholesky> {
        let m = self.x.rows() - 1;
        let curvatures: Vec<f64> = (0..self.outputs.rows()).into_par_iter().map(|i| self.loss.curvature(i, self.outputs.row(i))).collect();
        let used: Vec<usize> = (0..curvatures.len()).filter(|&i| curvatures[i] > 0.0).collect();
        let mut system = outer_sum(used.len(), m + 1, |rows, out| {
            let rows = &used[rows];
            self.coordinates.chosen(rows, &mut Work::default(), |place, v| {
                let (root, out) = (curvatures[rows[place]].sqrt(), &mut out[place * (m + 1)..(place + 1) * (m + 1)]);
                out[..m].iter_mut().zip(v).for_each(|(out, v)| *out = root * v);
                out[m] = root;
            });
        });
        (0..m).for_each(|j| system.row_mut(j)[j] += 1.0);
        // Rows far from any bend leave the offset free.
        system.row_mut(m)[m] = system.at(m, m) * (1.0 + 1e-12) + 1e-12;
        Cholesky::new(&system)
    }

    /// Newton's step; none where the system cannot be factored.
    fn step(&self, gradient: &Matrix) -> Option<Matrix> {
        conjugate_gradients(&self.factor()?, gradient, |direction| Some(self.curved(direction)))
    }

    /// One round; true when it was the last.
    fn round(&mut self) -> bool {
        let gradient = self.gradient();
        let Some(step) = self.step(&gradient) else { return true };
        let promised = -0.5 * dot(gradient.values(), step.values());
        if promised.is_nan() || promised <= 0.0 {
            return true;
        }
        let along = times(self.coordinates, &step);
        if promised <= LAST * self.value.abs() {
            add(&mut self.x, 1.0, &step);
            add(&mut self.outputs, 1.0, &along);
            self.update();
            return true;
        }
        let (x, outputs, before) = (self.x.clone(), self.outputs.clone(), self.value);
        let mut part = 1.0;
        while part > 1e-10 {
            add(&mut self.x, part, &step);
            add(&mut self.outputs, part, &along);
            self.update();
            if self.value <= before - 1e-4 * part * promised {
                return false;
            }
            (self.x, self.outputs) = (x.clone(), outputs.clone());
            part *= 0.5;
        }
        self.update();
        true
    }
}

/// The step to the minimum of the quadratic with this gradient, whose second derivatives times a direction `curved` gives: by conjugate
/// gradients, preconditioned by `factor`. None where `curved` gives none.
pub(crate) fn conjugate_gradients(
    factor: &Cholesky,
    gradient: &Matrix,
    mut curved: impl FnMut(&Matrix) -> Option<Matrix>,
) -> Option<Matrix> {
    let solved = |r: &Matrix| {
        let mut out = r.clone();
        factor.solve(&mut out);
        out
    };
    let mut rest = Matrix::from_fn(gradient.rows(), gradient.cols(), |j, k| -gradient.at(j, k));
    let mut step = Matrix::zeros(gradient.rows(), gradient.cols());
    let mut scaled = solved(&rest);
    let mut direction = scaled.clone();
    let mut left = dot(rest.values(), scaled.values());
    let enough = LEFT * LEFT * left;
    for _ in 0..MOST_STEPS {
        if left <= enough || !left.is_finite() {
            break;
        }
        let bent = curved(&direction)?;
        let far = left / dot(direction.values(), bent.values());
        if !(far.is_finite() && far > 0.0) {
            break;
        }
        add(&mut step, far, &direction);
        add(&mut rest, -far, &bent);
        scaled = solved(&rest);
        let before = std::mem::replace(&mut left, dot(rest.values(), scaled.values()));
        let kept = left / before;
        direction.values_mut().iter_mut().zip(scaled.values()).for_each(|(d, s)| *d = s + kept * *d);
    }
    Some(step)
}

pub(crate) fn add(to: &mut Matrix, factor: f64, what: &Matrix) {
    to.values_mut().iter_mut().zip(what.values()).for_each(|(to, what)| *to += factor * what);
}

/// `V W + b` (n x q).
fn times(coordinates: &Coordinates, x: &Matrix) -> Matrix {
    let (m, q) = (x.rows() - 1, x.cols());
    let mut out = Matrix::from_fn(coordinates.rows(), q, |_, k| x.at(m, k));
    add_outputs(coordinates, &x.values()[..m * q], q, &mut out);
    out
}

/// `(V, 1)'S` ((m + 1) x q), in parts that do not depend on the number of threads.
fn transposed_times(coordinates: &Coordinates, s: &Matrix) -> Matrix {
    let (n, m, q) = (s.rows(), coordinates.cols(), s.cols());
    let part = |work: &mut Work, c: usize| {
        let rows = c * CHUNK..((c + 1) * CHUNK).min(n);
        let mut sum: Matrix = Matrix::zeros(m + 1, q);
        let block = coordinates.block(rows.clone(), work);
        for (i, v) in rows.zip(block.chunks_exact(m)) {
            for (j, v) in v.iter().chain([&1.0]).enumerate() {
                sum.row_mut(j).iter_mut().zip(s.row(i)).for_each(|(sum, s)| *sum += v * s);
            }
        }
        sum
    };
    let parts: Vec<Matrix> = (0..n.div_ceil(CHUNK)).into_par_iter().map_init(Work::default, part).collect();
    let mut sum = Matrix::zeros(m + 1, q);
    parts.iter().for_each(|part| add(&mut sum, 1.0, part));
    sum
}

impl<L: RowLoss> Inner for Smooth<L> {
    fn solve(&mut self, coordinates: &Coordinates, watch: &Watch) -> Solution {
        let (m, q) = (coordinates.cols(), self.loss.n_outputs());
        let begin = self.last.take().filter(|x| x.rows() == m + 1).unwrap_or_else(|| Matrix::zeros(m + 1, q));
        let mut run = Run::start(&self.loss, coordinates, begin);
        for _ in 0..MOST_ROUNDS {
            if watch.cancelled() || run.round() {
                break;
            }
        }
        let Run { x, mut slopes, value, .. } = run;
        slopes.values_mut().iter_mut().for_each(|s| *s = -*s);
        let solution = Solution {
            value,
            weights: x.select(&(0..m).collect::<Vec<_>>()),
            offsets: x.row(m).to_vec(),
            negative_gradient: slopes,
            norms: vec![1.0; q],
        };
        self.last = Some(x);
        solution
    }

    fn memory(&self) -> Vec<f64> {
        self.last.as_ref().map_or(vec![], |last| last.values().to_vec())
    }

    fn remember(&mut self, memory: &[f64], m: usize) -> bool {
        self.last = Matrix::new(memory.to_vec(), m + 1, self.loss.n_outputs());
        self.last.is_some() || memory.is_empty()
    }
}
