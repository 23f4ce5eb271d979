//! Machines with a smooth loss of each row, by Newton's method.
//!
//! `min 1/2 |W|^2 + sum_i loss_i(W'v_i + b) + tilt . b`, where the loss of a row may bind its outputs together (softmax). Newton's systems are
//! solved by conjugate gradients, preconditioned by the factor of `sum_i c_ik (v_i, 1)(v_i, 1)' + I` for each output k with its own second derivative c_ik: where
//! outputs are not bound together that is the system itself, and one step is enough. Rows that are hardly curved are left out of it, and where many are curved
//! a part of them stands for all. Where a step promises little it is taken whole and is the last one: the distance to the optimum is squared in it.
//!
//! Cost of a round: at most n m^2 for the factors, and 4 n m q for each step of the conjugate gradients; memory q m^2 and a few n q. Three or four rounds from a
//! good start. The coordinates, which are larger than the cache, are read once for a step of the conjugate gradients and once for the rest of a round.
use crate::parallel::*;

use super::{
    conjugate_gradients::{add, conjugate_gradients},
    coordinates::{Coordinates, Work},
    inner::{Inner, Solution},
};
use crate::{
    kernel::{block::CHUNK, few_columns::FewColumns},
    linalg::{Cholesky, Matrix, add_outer_sum, dot},
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
    /// The same where the derivatives of the loss are known too, from which some losses have it cheaper.
    fn curve_from(&self, i: usize, outputs: &[f64], slopes: &[f64], direction: &[f64], out: &mut [f64]) {
        let _ = slopes;
        self.curve(i, outputs, direction, out);
    }
    /// The second derivative of row i by each output alone.
    fn curvatures(&self, i: usize, outputs: &[f64], slopes: &[f64], out: &mut [f64]) {
        let _ = slopes;
        out.fill(self.curvature(i, outputs));
    }
    /// The same for a step where second derivatives nearly vanish, far from every bend: of a parabola that meets the loss here with its slope and lies above it
    /// where the step leads.
    fn bounds(&self, i: usize, outputs: &[f64], slopes: &[f64], out: &mut [f64]) {
        self.curvatures(i, outputs, slopes, out);
    }
    /// What each offset costs by itself.
    fn tilt(&self) -> f64 {
        0.0
    }
    /// True where a number added to all outputs changes no loss: of the offsets that do equally well those with mean 0 are taken.
    fn relative(&self) -> bool {
        false
    }
}

const MOST_ROUNDS: usize = 100;

/// The part of the residual that the conjugate gradients leave.
const LEFT: f64 = 1e-2;

/// Rows whose second derivative is below this part of the mean are left out of the preconditioner.
const FLAT: f64 = 1e-3;

/// The most rows of all preconditioners together, in units of the number of rows.
const USED: usize = 2;

/// Each output has its own preconditioner where all vectors of all outputs are at most so many for a row.
const FACTORED: usize = 3;

/// The preconditioners are kept where the last step promised to lower the value by no more than this part of it.
const NEAR: f64 = 1e-3;

/// Parts of the largest entry of a preconditioner that are added to its diagonal, the least that lets it be factored.
const DAMPING: [f64; 4] = [0.0, 1e-14, 1e-12, 1e-9];

/// Parts into which the sums of all preconditioners are cut, whatever the number of threads.
const PARTS: usize = 16;

/// A step that promises to lower the value by no more than this part of it is the last one.
const LAST: f64 = 1e-10;

/// The same where the solution is the machine itself: weights of rows and copies of them then give the same machine to eight digits.
const LAST_OF_ALL: f64 = 1e-14;

/// A machine with such a loss.
pub(crate) struct Smooth<L> {
    pub loss: L,
    /// (m + 1) x q: the weights of the last solution, and below them the offsets.
    last: Option<Matrix>,
    /// The name under which rounds are reported where the solution is the machine itself; none where it is one step of longer work.
    stage: Option<&'static str>,
}

impl<L: RowLoss> Smooth<L> {
    pub fn new(loss: L) -> Self {
        Smooth { loss, last: None, stage: None }
    }

    /// With a report of every round.
    pub fn reporting(self, stage: Option<&'static str>) -> Self {
        Smooth { stage, ..self }
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
    /// The gradient where it is known.
    gradient: Option<Matrix>,
    /// The preconditioner of each output, or one for all; empty before the first round.
    factors: Vec<Cholesky>,
    /// A step that promises to lower the value by no more than this part of it is the last one.
    last: f64,
}

impl<'a, L: RowLoss> Run<'a, L> {
    fn start(loss: &'a L, coordinates: &'a Coordinates<'a>, x: Matrix, last: f64) -> Self {
        let (n, q) = (coordinates.rows(), loss.n_outputs());
        let (outputs, slopes) = (Matrix::zeros(n, q), Matrix::zeros(n, q));
        let mut run =
            Run { loss, coordinates, x: Matrix::zeros(x.rows(), q), outputs, slopes, value: 0.0, gradient: None, factors: vec![], last };
        run.take(&x);
        run
    }

    /// Takes a step: outputs, slopes, value and gradient there, from one reading of the coordinates. Returns by how much the outputs changed.
    fn take(&mut self, step: &Matrix) -> Matrix {
        let (n, q, loss) = (self.outputs.rows(), self.loss.n_outputs(), self.loss);
        let (mut along, weights) = (Matrix::zeros(n, q), FewColumns::new(step));
        let chunk = |work: &mut Work, c: usize, along: &mut [f64], outputs: &mut [f64], slopes: &mut [f64]| {
            let rows = self.coordinates.chunk(c, along.len() / q, work);
            rows.times(&weights, along);
            outputs.iter_mut().zip(&*along).for_each(|(output, change)| *output += change);
            (losses(loss, c, outputs, slopes), rows.transposed_times(slopes, q))
        };
        let chunks = along.values_mut().par_chunks_mut(CHUNK * q).zip(self.outputs.values_mut().par_chunks_mut(CHUNK * q));
        let chunks = chunks.zip(self.slopes.values_mut().par_chunks_mut(CHUNK * q));
        let part = |work: &mut Work, (c, ((along, outputs), slopes))| chunk(work, c, along, outputs, slopes);
        let parts: Vec<(f64, Matrix)> = chunks.enumerate().map_init(Work::default, part).collect();
        add(&mut self.x, 1.0, step);
        self.value = parts.iter().map(|part| part.0).sum::<f64>() + self.own(&self.x);
        self.gradient = Some(self.whole_gradient(parts.into_iter().map(|part| part.1)));
        along
    }

    /// Slopes and value at the outputs.
    fn update(&mut self) {
        let (q, loss) = (self.loss.n_outputs(), self.loss);
        let chunks = self.outputs.values().par_chunks(CHUNK * q).zip(self.slopes.values_mut().par_chunks_mut(CHUNK * q));
        let parts: Vec<f64> = chunks.enumerate().map(|(c, (outputs, slopes))| losses(loss, c, outputs, slopes)).collect();
        self.value = parts.iter().sum::<f64>() + self.own(&self.x);
        self.gradient = None;
    }

    /// The part of the value that is not loss.
    fn own(&self, x: &Matrix) -> f64 {
        let (m, q) = (x.rows() - 1, x.cols());
        let weights = &x.values()[..m * q];
        0.5 * dot(weights, weights) + self.loss.tilt() * x.row(m).iter().sum::<f64>()
    }

    fn gradient(&self) -> Matrix {
        let q = self.slopes.cols();
        let part =
            |work: &mut Work, (c, slopes): (usize, &[f64])| self.coordinates.chunk(c, slopes.len() / q, work).transposed_times(slopes, q);
        let parts: Vec<Matrix> = self.slopes.values().par_chunks(CHUNK * q).enumerate().map_init(Work::default, part).collect();
        self.whole_gradient(parts.into_iter())
    }

    /// The gradient from what the rows of each chunk add to it.
    fn whole_gradient(&self, parts: impl Iterator<Item = Matrix>) -> Matrix {
        let (m, q) = (self.x.rows() - 1, self.x.cols());
        let mut gradient = sum(m + 1, q, parts);
        gradient.values_mut()[..m * q].iter_mut().zip(self.x.values()).for_each(|(g, w)| *g += w);
        gradient.row_mut(m).iter_mut().for_each(|g| *g += self.loss.tilt());
        gradient
    }

    /// The second derivatives times a direction.
    fn curved(&self, direction: &Matrix) -> Matrix {
        let (m, q, weights) = (self.x.rows() - 1, self.x.cols(), FewColumns::new(direction));
        let part = |work: &mut (Work, Vec<f64>, Vec<f64>), c: usize| {
            let (work, along, bent) = work;
            let rows = c * CHUNK..((c + 1) * CHUNK).min(self.outputs.rows());
            along.resize(rows.len() * q, 0.0);
            bent.resize(rows.len() * q, 0.0);
            let chunk = self.coordinates.chunk(c, rows.len(), work);
            chunk.times(&weights, along);
            for (i, (along, bent)) in rows.zip(along.chunks_exact(q).zip(bent.chunks_exact_mut(q))) {
                self.loss.curve_from(i, self.outputs.row(i), self.slopes.row(i), along, bent);
            }
            chunk.transposed_times(bent, q)
        };
        let chunks = (0..self.outputs.rows().div_ceil(CHUNK)).into_par_iter();
        let parts: Vec<Matrix> = chunks.map_init(Default::default, part).collect();
        let mut out = sum(m + 1, q, parts.into_iter());
        out.values_mut()[..m * q].iter_mut().zip(direction.values()).for_each(|(o, w)| *o += w);
        out
    }

    /// The factor of the system of each output, or of their mean where factors of all would take longer than their sums; none where one cannot be factored.
    /// `curve` gives the second derivatives of a row.
    fn factors_here(&self, curve: impl Fn(&L, usize, &[f64], &[f64], &mut [f64]) + Sync) -> Option<Vec<Cholesky>> {
        let (n, m, q) = (self.outputs.rows(), self.x.rows() - 1, self.x.cols());
        let mut curvatures = Matrix::zeros(n, q);
        curvatures.values_mut().par_chunks_mut(CHUNK * q).enumerate().for_each(|(c, out)| {
            for (place, out) in out.chunks_exact_mut(q).enumerate() {
                let i = c * CHUNK + place;
                curve(self.loss, i, self.outputs.row(i), self.slopes.row(i), out);
            }
        });
        let systems = if q * m <= FACTORED * n { q } else { 1 };
        if systems < q {
            curvatures = Matrix::from_fn(n, 1, |i, _| curvatures.row(i).iter().sum::<f64>() / q as f64);
        }
        // One system has all rows: with one output it is the system itself.
        let (flat, most) = if systems == 1 { (0.0, usize::MAX) } else { (FLAT, USED * n / q) };
        let factor = |k: usize| {
            let mean = (0..n).map(|i| curvatures.at(i, k)).sum::<f64>() / n as f64;
            let used: Vec<usize> = (0..n).filter(|&i| curvatures.at(i, k) > flat * mean).collect();
            let stride = used.len().div_ceil(most.max(1)).max(1);
            let used: Vec<usize> = used.into_iter().step_by(stride).collect();
            let mut system = Matrix::zeros(m + 1, m + 1);
            add_outer_sum(&mut system, stride as f64, PARTS.div_ceil(systems), used.len(), |rows, out| {
                let rows = &used[rows];
                self.coordinates.chosen(rows, &mut Work::default(), |place, v| {
                    let (root, out) = (curvatures.at(rows[place], k).sqrt(), &mut out[place * (m + 1)..(place + 1) * (m + 1)]);
                    out[..m].iter_mut().zip(v).for_each(|(out, v)| *out = root * v);
                    out[m] = root;
                });
            });
            // Rows far from any bend leave the offset free.
            let corner = 1e-12 * system.at(m, m) + 1e-12;
            let largest = (0..=m).map(|j| system.at(j, j)).fold(0.0, f64::max);
            // Where rounding of large curvatures is above the penalty, more is added: the conjugate gradients have the system itself.
            let damped = |part: f64| Cholesky::leading(&system, m + 1, |j| if j < m { 1.0 } else { corner }.max(part * largest));
            DAMPING.into_iter().find_map(damped)
        };
        (0..systems).into_par_iter().map(factor).collect()
    }

    /// Newton's step; none where the system cannot be factored.
    fn step(&mut self, gradient: &Matrix) -> Option<Matrix> {
        if self.factors.is_empty() {
            self.factors = self.factors_here(L::curvatures)?;
        }
        conjugate_gradients(|rest| solved(&self.factors, rest), LEFT, gradient, |direction| Some(self.curved(direction)))
    }

    /// The step where Newton's leads nowhere: to the minimum of parabolas that bound the losses.
    fn bounded_step(&self, gradient: &Matrix) -> Option<Matrix> {
        let mut step = solved(&self.factors_here(L::bounds)?, gradient);
        step.values_mut().iter_mut().for_each(|s| *s = -*s);
        Some(step)
    }

    /// One round; true when it was the last.
    fn round(&mut self) -> bool {
        let gradient = self.gradient.take().unwrap_or_else(|| self.gradient());
        let went = match self.step(&gradient) {
            Some(step) => self.go(&gradient, &step),
            None => Went::Nowhere,
        };
        match went {
            Went::On => false,
            Went::Last => true,
            Went::Nowhere => {
                self.factors.clear();
                self.bounded_step(&gradient).is_none_or(|step| self.go(&gradient, &step) != Went::On)
            }
        }
    }

    /// Goes along a step as far as it lowers the value.
    fn go(&mut self, gradient: &Matrix, step: &Matrix) -> Went {
        let promised = -0.5 * dot(gradient.values(), step.values());
        if promised.is_nan() {
            return Went::Nowhere;
        }
        if promised <= 0.0 {
            return Went::Last;
        }
        let (x, outputs, before) = (self.x.clone(), self.outputs.clone(), self.value);
        let along = self.take(step);
        if promised <= self.last * before.abs() {
            return Went::Last;
        }
        if promised > NEAR * before.abs() {
            self.factors.clear();
        }
        let mut part = 1.0;
        while part > 1e-10 {
            if self.value <= before - 1e-4 * part * promised {
                return Went::On;
            }
            part *= 0.5;
            (self.x, self.outputs) = (x.clone(), outputs.clone());
            add(&mut self.x, part, step);
            add(&mut self.outputs, part, &along);
            self.update();
        }
        (self.x, self.outputs) = (x, outputs);
        self.update();
        // So near the optimum it is rounding that stands in the way.
        if promised <= NEAR * before.abs() { Went::Last } else { Went::Nowhere }
    }
}

/// Where a step led.
#[derive(PartialEq)]
enum Went {
    /// To a lower value.
    On,
    /// To the optimum, as far as rounding allows.
    Last,
    /// Nowhere that is lower, far from the optimum.
    Nowhere,
}

/// The solution with these factors, one for each column or one for all.
fn solved(factors: &[Cholesky], rest: &Matrix) -> Matrix {
    if let [factor] = factors {
        let mut out = rest.clone();
        factor.solve(&mut out);
        return out;
    }
    let columns: Vec<Vec<f64>> = factors.par_iter().enumerate().map(|(k, factor)| solved_column(factor, rest.col(k))).collect();
    Matrix::from_fn(rest.rows(), rest.cols(), |j, k| columns[k][j])
}

fn solved_column(factor: &Cholesky, column: Vec<f64>) -> Vec<f64> {
    let mut right = Matrix::column(column);
    factor.solve(&mut right);
    right.into_values()
}

/// The losses of the rows of a chunk; writes their slopes.
fn losses<L: RowLoss>(loss: &L, c: usize, outputs: &[f64], slopes: &mut [f64]) -> f64 {
    let q = loss.n_outputs();
    let rows = outputs.chunks_exact(q).zip(slopes.chunks_exact_mut(q)).enumerate();
    rows.map(|(place, (outputs, slopes))| loss.loss(c * CHUNK + place, outputs, slopes)).sum()
}

/// The sum of what the chunks add, in their order, which does not depend on the number of threads.
fn sum(rows: usize, cols: usize, parts: impl Iterator<Item = Matrix>) -> Matrix {
    let mut sum = Matrix::zeros(rows, cols);
    parts.for_each(|part| add(&mut sum, 1.0, &part));
    sum
}

impl<L: RowLoss> Inner for Smooth<L> {
    fn solve(&mut self, coordinates: &Coordinates, watch: &Watch) -> Solution {
        let (m, q) = (coordinates.cols(), self.loss.n_outputs());
        let begin = self.last.take().filter(|x| x.rows() == m + 1).unwrap_or_else(|| Matrix::zeros(m + 1, q));
        let last = if self.stage.is_some() { LAST_OF_ALL } else { LAST };
        let mut run = Run::start(&self.loss, coordinates, begin, last);
        for round in 0..MOST_ROUNDS {
            if let Some(stage) = self.stage {
                watch.report(stage, round as u64, None, Some(run.value));
            }
            if watch.cancelled() || run.round() {
                break;
            }
        }
        let Run { mut x, mut slopes, value, .. } = run;
        if self.loss.relative() {
            let mean = x.row(m).iter().sum::<f64>() / q as f64;
            x.row_mut(m).iter_mut().for_each(|offset| *offset -= mean);
        }
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
