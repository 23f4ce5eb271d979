//! W(Z): the optimal value of the machine on the span of Z, and its gradient.
//!
//! For each Z: the frame of Z, the coordinates V of all rows, and for each class the linear machine on them, whose optimal value is W
//! [Wu2006 (45)]. At the optimum the machine need not be differentiated: with the pulls S (multipliers with their signs) and the coefficients B held
//! fixed, `dW = - d<B, K^zx S> + 1/2 d<B, K^z B>`, summed over the classes. One set of vectors for all classes is the sum of their W's.
//!
//! Cost of an evaluation: n m d + n m^2 / 2 for the coordinates, the inner problems, and a m d + a m^2 for the gradient with a rows that pull.
use rayon::prelude::*;

use super::{
    super::field::{Field, Pull, Workspace, add_gradient},
    newton,
};
use crate::{
    Result,
    data::Points,
    frame::{Frame, JITTER},
    kernel::{Kernel, block::Scratch},
    learn::margin::{self, MarginProblem, MarginSettings, MarginSolution},
    linalg::{Matrix, product_transposed},
    watch::Watch,
};

/// Parts into which the rows that pull are cut, whatever the number of threads.
const PARTS: usize = 16;

/// Rows of a part that are worked on at a time.
const ROWS: usize = 256;

/// What an error costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Loss {
    Hinge,
    SquaredHinge,
}

/// The rows, and on which side of each class they should be.
pub(super) struct Objective<'a> {
    pub kernel: &'a Kernel,
    pub points: &'a Points,
    /// n x q, +1 or -1.
    pub signs: &'a Matrix,
    pub costs: &'a [f64],
    pub loss: Loss,
    pub watch: &'a Watch<'a>,
    /// The inner solutions of the last Z, from which those of the next begin.
    last: Option<Inner>,
}

/// The machines of all classes on one frame.
pub(super) struct Inner {
    /// m x q.
    pub weights: Matrix,
    pub offsets: Vec<f64>,
    /// n x q.
    pulls: Matrix,
    pub value: f64,
    hinge: Vec<MarginSolution>,
    squared: Option<Matrix>,
}

impl<'a> Objective<'a> {
    pub fn new(kernel: &'a Kernel, points: &'a Points, signs: &'a Matrix, costs: &'a [f64], loss: Loss, watch: &'a Watch<'a>) -> Self {
        Objective { kernel, points, signs, costs, loss, watch, last: None }
    }

    /// W and its gradient in Z. Not finite where Z is not, or its kernel matrix cannot be factored: a line search then takes a shorter step.
    pub fn evaluate(&mut self, z: &Matrix, gradient: &mut Matrix) -> f64 {
        let at = z.values().iter().all(|v| v.is_finite()).then(|| self.machines(z)).and_then(Result::ok);
        let Some((frame, coordinates, inner)) = at else {
            gradient.values_mut().fill(0.0);
            return f64::NAN;
        };
        *gradient = self.gradient(z, &frame, &coordinates, &inner);
        let value = inner.value;
        self.last = Some(inner);
        value
    }

    /// The frame of Z, the coordinates of all rows in it, and the best machines there.
    pub fn machines(&self, z: &Matrix) -> Result<(Frame, Matrix, Inner)> {
        let frame = Frame::fixed(self.kernel, &z.clone().into(), JITTER)?;
        let coordinates = frame.coordinates(self.points);
        self.watch.evaluated((self.points.len() * z.rows()) as u64);
        let inner = match self.loss {
            Loss::SquaredHinge => self.squared(&coordinates),
            Loss::Hinge => self.hinge(&coordinates),
        };
        Ok((frame, coordinates, inner))
    }

    fn squared(&self, coordinates: &Matrix) -> Inner {
        let problem = newton::Problem { rows: coordinates, signs: self.signs, costs: self.costs };
        let start = self.last.as_ref().and_then(|inner| inner.squared.as_ref());
        let solution = newton::solve(&problem, start, self.watch);
        let m = coordinates.cols();
        Inner {
            weights: solution.weights.select(&(0..m).collect::<Vec<_>>()),
            offsets: solution.weights.row(m).to_vec(),
            pulls: solution.pulls,
            value: solution.value,
            hinge: vec![],
            squared: Some(solution.weights),
        }
    }

    fn hinge(&self, coordinates: &Matrix) -> Inner {
        let solve = |k: usize| {
            let signs = self.signs.col(k);
            let problem = MarginProblem { rows: coordinates, signs: &signs, costs: self.costs };
            let start = self.last.as_ref().and_then(|inner| inner.hinge.get(k));
            margin::solve(&problem, &MarginSettings::default(), start, self.watch)
        };
        let solutions: Vec<MarginSolution> = (0..self.signs.cols()).into_par_iter().map(solve).collect();
        let q = solutions.len();
        Inner {
            weights: Matrix::from_fn(coordinates.cols(), q, |j, k| solutions[k].weights[j]),
            offsets: solutions.iter().map(|s| s.offset).collect(),
            pulls: Matrix::from_fn(coordinates.rows(), q, |i, k| solutions[k].multipliers[i] * self.signs.at(i, k)),
            value: solutions.iter().map(|s| s.primal).sum(),
            hinge: solutions,
            squared: None,
        }
    }

    fn gradient(&self, z: &Matrix, frame: &Frame, coordinates: &Matrix, inner: &Inner) -> Matrix {
        let (m, dim) = (z.rows(), z.cols());
        let coefficients = frame.coefficients(&inner.weights);
        let pulling: Vec<usize> = (0..inner.pulls.rows()).filter(|&i| inner.pulls.row(i).iter().any(|s| *s != 0.0)).collect();
        let part = |p: usize| {
            let size = pulling.len().div_ceil(PARTS);
            let used = &pulling[(p * size).min(pulling.len())..((p + 1) * size).min(pulling.len())];
            let (mut pull, mut scratch) = (Pull::nothing(m, dim), Scratch::default());
            for rows in used.chunks(ROWS) {
                let mut x = Matrix::zeros(rows.len(), dim);
                rows.iter().enumerate().for_each(|(k, &i)| self.points.copy_rows(i..i + 1, dim, x.row_mut(k)));
                let mut weights = vec![0.0; rows.len() * m];
                product_transposed(inner.pulls.select(rows).values(), coefficients.values(), coefficients.cols(), &mut weights);
                let slopes = self.slopes(frame, coordinates, rows, &x, &mut scratch);
                weights.iter_mut().zip(&slopes).for_each(|(w, s)| *w *= s);
                pull.add_rows(&weights, x.values());
            }
            pull
        };
        let parts: Vec<Pull> = (0..PARTS).into_par_iter().map(part).collect();
        let mut pull = Pull::nothing(m, dim);
        parts.iter().for_each(|part| pull.add(part));
        let mut own = Workspace::default();
        let vectors = Field::new(self.kernel, z.clone());
        vectors.values_times(&z.clone().into(), &Matrix::zeros(m, 0), &mut own);
        let mut gradient = Matrix::zeros(m, dim);
        add_gradient(self.kernel, z.values(), &pull, -1.0, gradient.values_mut());
        add_gradient(self.kernel, z.values(), &vectors.pull(&coefficients, &coefficients, &mut own), 1.0, gradient.values_mut());
        gradient
    }

    /// k' between rows and vectors. For the Gaussian it is -gamma k, and `k_z(x) = L c(x)` is already there.
    fn slopes(&self, frame: &Frame, coordinates: &Matrix, rows: &[usize], x: &Matrix, scratch: &mut Scratch) -> Vec<f64> {
        let m = frame.len();
        let mut slopes = vec![0.0; rows.len() * m];
        match self.kernel {
            Kernel::Gaussian(gaussian) => {
                product_transposed(coordinates.select(rows).values(), frame.lower().matrix().values(), m, &mut slopes);
                slopes.iter_mut().for_each(|s| *s *= -gaussian.gamma);
            }
            _ => frame.columns().fill_slopes(&x.clone().into(), 0..rows.len(), &mut slopes, scratch),
        }
        slopes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        data::{banana, draw::Draw, waveform3},
        learn::{Learner, Svc},
    };

    fn signs(codes: &[u32], classes: usize) -> Matrix {
        match classes {
            2 => Matrix::from_fn(codes.len(), 1, |i, _| if codes[i] == 1 { 1.0 } else { -1.0 }),
            _ => Matrix::from_fn(codes.len(), classes, |i, k| if codes[i] as usize == k { 1.0 } else { -1.0 }),
        }
    }

    fn check_gradient(kernel: &Kernel, data: &crate::data::Dataset, loss: Loss, tolerance: f64) {
        let classes = data.classes().unwrap();
        let (signs, costs) = (signs(&classes.codes, classes.labels.len()), vec![1.5; data.len()]);
        let watch = Watch::none();
        let mut objective = Objective::new(kernel, &data.points, &signs, &costs, loss, &watch);
        let mut draw = Draw::seeded(1);
        let rows = data.points.to_dense();
        let z = Matrix::from_fn(6, data.dim(), |j, c| rows.at(7 * j, c) + 0.05 * draw.normal());
        let mut gradient = Matrix::zeros(6, data.dim());
        objective.evaluate(&z, &mut gradient);
        let size = gradient.values().iter().fold(0.0, |a: f64, g| a.max(g.abs()));
        for at in 0..6 * data.dim().min(4) {
            let h = 1e-5;
            let value = |step: f64| {
                let mut moved = z.clone();
                moved.values_mut()[at] += step;
                Objective::new(kernel, &data.points, &signs, &costs, loss, &watch).evaluate(&moved, &mut Matrix::zeros(6, data.dim()))
            };
            let want = (value(h) - value(-h)) / (2.0 * h);
            assert!(
                (gradient.values()[at] - want).abs() < tolerance * size,
                "{} {loss:?} {at}: {} {want}",
                kernel.name(),
                gradient.values()[at]
            );
        }
    }

    #[test]
    fn gradients_agree_with_differences_for_every_smooth_kernel_and_loss() {
        let (two, three) = (banana(120, 3), waveform3(90, 1));
        for kernel in Kernel::examples().iter().filter(|k| k.profile().smooth() && k.profile().definite() && k.name() != "linear") {
            let kernel = if kernel.name() == "polynomial" { Kernel::named("polynomial", 0.3, 3, 1.0).unwrap() } else { kernel.clone() };
            check_gradient(&kernel, &two, Loss::SquaredHinge, 1e-6);
            check_gradient(&kernel, &two, Loss::Hinge, 1e-4);
        }
        check_gradient(&Kernel::gaussian(0.05), &three, Loss::SquaredHinge, 1e-7);
    }

    #[test]
    fn eq_45_with_the_support_vectors_as_z_w_is_the_optimum_of_the_full_machine() {
        let data = banana(150, 3);
        let kernel = Kernel::gaussian(1.0);
        let fit = Svc { kernel: kernel.clone(), c: 2.0, tolerance: 1e-8, ..Svc::default() }.learn(&data, &Watch::none()).unwrap();
        let signs = signs(&data.classes().unwrap().codes, 2);
        let (costs, watch) = (vec![2.0; data.len()], Watch::none());
        let objective = Objective::new(&kernel, &data.points, &signs, &costs, Loss::Hinge, &watch);
        let (_, _, inner) = objective.machines(&fit.machine.expansion.vectors.to_dense()).unwrap();
        assert!((inner.value - fit.report.objective).abs() < 1e-6 * inner.value, "{} {}", inner.value, fit.report.objective);
    }

    #[test]
    fn any_number_of_threads_gives_the_same_bits_and_bad_vectors_are_not_finite() {
        let data = waveform3(400, 1);
        let classes = data.classes().unwrap();
        let (signs, costs) = (signs(&classes.codes, 3), vec![1.0; 400]);
        let z = data.points.select(&(0..20).collect::<Vec<_>>()).to_dense();
        let kernel = Kernel::gaussian(0.05);
        let run = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let watch = Watch::none();
                let mut gradient = Matrix::zeros(20, 21);
                let value = Objective::new(&kernel, &data.points, &signs, &costs, Loss::SquaredHinge, &watch).evaluate(&z, &mut gradient);
                (value, gradient)
            })
        };
        assert_eq!(run(1), run(3));
        let watch = Watch::none();
        let mut bad = z.clone();
        bad.row_mut(0)[0] = f64::NAN;
        let mut objective = Objective::new(&kernel, &data.points, &signs, &costs, Loss::SquaredHinge, &watch);
        assert!(objective.evaluate(&bad, &mut Matrix::zeros(20, 21)).is_nan());
    }
}
