//! W(Z): the optimal value of a learner on the span of Z, and its gradient.
//!
//! For each Z: the frame of Z, the coordinates V of all rows, and on them the optimum of the learner ([`Inner`]), whose value is W
//! [Wu2006 (44)], with its coefficients on Z [Wu2006 (45)]. The gradient is that of kernel values alone [Wu2006 (46)]. One set of vectors for
//! all classes is the sum of their W's.
//!
//! Cost of an evaluation: n m d + n m^2 / 2 for the coordinates, the inner problem, and a m d + a m min(m, d) for the gradient with a rows
//! whose derivative is not zero.
//!
//! A search may begin in single precision ([`Objective::single`]): kernel values, which the triangular solve makes less exact by up to |L^-1|, and the
//! products of the gradient within a block of rows are rounded to it; coordinates, the inner problem and sums over blocks are not. What that
//! does to coordinates is measured on a few rows at every Z, and where it is too much double precision goes on.
use std::borrow::Cow;

use super::{
    coordinates::Coordinates,
    inner::{Inner, Solution},
    metric::{Metric, Transform},
    rows::Rows,
};
use crate::{
    Error, Result,
    basis::{Frame, JITTER},
    data::Points,
    kernel::Kernel,
    linalg::Matrix,
    watch::Watch,
};

/// Rows whose coordinates are computed in both precisions, and the relative difference that is accepted.
const SAMPLED: usize = 64;
const ROUGHEST: f64 = 1e-5;

/// The fraction of the mean that is added to the preconditioner of every vector.
const FLOOR: f64 = 0.3;

/// The variables of a search: vectors in the units of the rows, and the numbers of the metric.
#[derive(Clone, Debug, PartialEq, Default)]
pub(crate) struct Variables {
    pub z: Matrix,
    pub metric: Vec<f64>,
}

impl Variables {
    /// All numbers, those of the vectors first.
    pub fn into_values(self) -> Vec<f64> {
        let mut values = self.z.into_values();
        values.extend(self.metric);
        values
    }

    /// The variables with these numbers, for `m` vectors of `dim` features.
    pub fn of_values(values: &[f64], m: usize, dim: usize) -> Self {
        let (z, metric) = values.split_at(m * dim);
        Variables { z: Matrix::new(z.to_vec(), m, dim).unwrap_or_default(), metric: metric.to_vec() }
    }
}

/// The objective of an estimator on its rows, as a function of the vectors and of the kernel's metric.
pub(crate) struct Objective<'a> {
    pub kernel: &'a Kernel,
    pub points: &'a Points,
    pub metric: &'a Metric,
    pub inner: Box<dyn Inner + 'a>,
    /// Bytes that may be used to hold coordinates.
    pub memory: usize,
    /// Whether kernel values are in single precision.
    pub single: bool,
    /// The buffer of the last coordinates.
    pub buffer: Vec<f64>,
    /// The buffer of the last transformed rows.
    pub transformed: Vec<f64>,
    pub watch: &'a Watch<'a>,
}

/// The optimum at given vectors and metric.
pub(crate) struct Solved {
    pub transform: Transform,
    pub frame: Frame,
    pub solution: Solution,
    /// W with the penalty of the metric.
    pub value: f64,
}

impl Objective<'_> {
    /// W and its gradient in all variables. Not finite where they are not, or the kernel matrix of Z cannot be factored: a line search then
    /// takes a shorter step.
    #[cfg(test)]
    pub fn evaluate(&mut self, at: &Variables, gradient: &mut [f64]) -> f64 {
        self.evaluate_preconditioned(at, gradient, &mut vec![])
    }

    /// The same with a diagonal preconditioner for all variables, see [`preconditioner`].
    pub fn evaluate_preconditioned(&mut self, at: &Variables, gradient: &mut [f64], diagonal: &mut Vec<f64>) -> f64 {
        gradient.fill(0.0);
        let finite = at.z.values().iter().all(|v| v.is_finite());
        let Some(transform) = finite.then(|| self.metric.transform(&at.metric, at.z.cols())).flatten() else { return f64::NAN };
        let hats = transform.vectors(&at.z);
        let Ok(frame) = self.frame(&hats) else { return f64::NAN };
        let points = transform.rows(self.points, std::mem::take(&mut self.transformed));
        self.single = self.single && rounding(&frame, &points) <= ROUGHEST;
        let coordinates = self.coordinates(&frame, &points, self.single);
        let solution = self.inner.solve(&coordinates, self.watch);
        let coefficients = frame.coefficients(&solution.weights);
        let rows = Rows { objective: self, transform: &transform, points: &points, hats: &hats, frame: &frame, coordinates: &coordinates };
        rows.add_gradient(at, &solution, &coefficients, gradient);
        *diagonal = preconditioner(&coefficients, &solution.norms);
        if !diagonal.is_empty() {
            *diagonal = transform.preconditioner(self.metric, &at.z, diagonal);
        }
        self.buffer = coordinates.into_buffer();
        if let Cow::Owned(Points::F64(points)) = points {
            self.transformed = points.into_values();
        }
        solution.value + self.penalty(at, &mut gradient[at.z.values().len()..])
    }

    /// The penalty of the metric; adds its gradient.
    fn penalty(&self, at: &Variables, gradient: &mut [f64]) -> f64 {
        self.metric.origin(at.z.cols()).map_or(f64::NAN, |origin| self.metric.penalty(&at.metric, &origin, gradient))
    }

    /// The optimum at these variables, in double precision.
    pub fn solve(&mut self, at: &Variables) -> Result<Solved> {
        let Some(transform) = self.metric.transform(&at.metric, at.z.cols()) else {
            return Err(Error::data("the learned metric is out of range"));
        };
        let frame = self.frame(&transform.vectors(&at.z))?;
        let points = transform.rows(self.points, std::mem::take(&mut self.transformed));
        let coordinates = self.coordinates(&frame, &points, false);
        let solution = self.inner.solve(&coordinates, self.watch);
        self.buffer = coordinates.into_buffer();
        let value = solution.value + self.penalty(at, &mut vec![0.0; at.metric.len()]);
        Ok(Solved { transform, frame, solution, value })
    }

    fn coordinates<'b>(&mut self, frame: &'b Frame, points: &'b Points, single: bool) -> Coordinates<'b> {
        self.watch.evaluated((points.len() * frame.len()) as u64);
        Coordinates::within(frame, points, self.memory, single, std::mem::take(&mut self.buffer))
    }

    fn frame(&self, z: &Matrix) -> Result<Frame> {
        Frame::fixed(self.kernel, &z.clone().into(), JITTER)
    }
}

/// The diagonal preconditioner of each vector: outputs move by its coefficients times its own movement, so the second derivatives of
/// W go with their squares, with the squared norms' weights where outputs differ in them. Vectors with small coefficients are given a fraction of
/// the mean, or a step would send them away. Empty where all are alike.
pub(crate) fn preconditioner(coefficients: &Matrix, norms: &[f64]) -> Vec<f64> {
    let of = |row: &[f64]| row.iter().zip(norms).map(|(b, norm)| norm.abs() * b * b).sum::<f64>();
    let each: Vec<f64> = coefficients.iter().map(of).collect();
    let least = FLOOR * each.iter().sum::<f64>() / each.len().max(1) as f64;
    if !least.is_normal() {
        return vec![];
    }
    each.iter().map(|s| s + least).collect()
}

/// How much single precision moves the coordinates of a few rows, as a fraction of their size.
fn rounding(frame: &Frame, points: &Points) -> f64 {
    let step = points.len().div_ceil(SAMPLED).max(1);
    let sample = points.select(&(0..points.len()).step_by(step).collect::<Vec<_>>());
    let [rough, exact] = [true, false].map(|single| Coordinates::within(frame, &sample, usize::MAX, single, vec![]).into_buffer());
    let square = |values: &mut dyn Iterator<Item = f64>| values.map(|v| v * v).sum::<f64>();
    (square(&mut rough.iter().zip(&exact).map(|(r, e)| r - e)) / square(&mut exact.iter().copied())).sqrt()
}

#[cfg(test)]
mod tests {
    use super::{super::hinge::Hinge, super::metric::Learned, super::squared_hinge::SquaredHinge, *};
    use crate::{
        data::{banana, waveform3},
        draw::Draw,
        learn::{Learner, Svc},
        linalg::dot,
    };

    static FIXED: Metric = Metric { learned: Learned::Nothing, penalty: 0.0, origin: vec![], start: vec![], centred: false };

    fn at(z: &Matrix) -> Variables {
        Variables { z: z.clone(), metric: vec![] }
    }

    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Loss {
        Hinge,
        SquaredHinge,
    }

    fn objective<'a>(
        kernel: &'a Kernel,
        points: &'a Points,
        signs: &'a Matrix,
        costs: &'a [f64],
        loss: Loss,
        watch: &'a Watch<'a>,
    ) -> Objective<'a> {
        let inner: Box<dyn Inner> = match loss {
            Loss::Hinge => Box::new(Hinge::new(signs, costs)),
            Loss::SquaredHinge => Box::new(SquaredHinge::new(signs, costs)),
        };
        Objective { kernel, points, metric: &FIXED, inner, memory: usize::MAX, single: false, buffer: vec![], transformed: vec![], watch }
    }

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
        let mut whole = objective(kernel, &data.points, &signs, &costs, loss, &watch);
        let mut draw = Draw::seeded(1);
        let rows = data.points.to_dense();
        let z = Matrix::from_fn(6, data.dim(), |j, c| rows.at(7 * j, c) + 0.05 * draw.normal());
        let mut gradient = Matrix::zeros(6, data.dim());
        whole.evaluate(&at(&z), gradient.values_mut());
        let size = gradient.values().iter().fold(0.0, |a: f64, g| a.max(g.abs()));
        for place in 0..6 * data.dim().min(4) {
            let h = 1e-5;
            let value = |step: f64| {
                let mut moved = z.clone();
                moved.values_mut()[place] += step;
                objective(kernel, &data.points, &signs, &costs, loss, &watch).evaluate(&at(&moved), &mut vec![0.0; 6 * data.dim()])
            };
            let want = (value(h) - value(-h)) / (2.0 * h);
            assert!(
                (gradient.values()[place] - want).abs() < tolerance * size,
                "{} {loss:?} {place}: {} {want}",
                kernel.name(),
                gradient.values()[place]
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
    fn the_preconditioner_goes_with_the_squares_of_coefficients_and_is_left_out_where_there_are_none() {
        let coefficients = Matrix::new(vec![1.0, 0.0, 0.0, 0.0, 3.0, -1.0], 3, 2).unwrap();
        let diagonal = preconditioner(&coefficients, &[2.0, 4.0]);
        let least = FLOOR * 8.0; // The mean of 2, 0 and 22 is 8.
        let want = [2.0 + least, least, 22.0 + least];
        assert!(diagonal.iter().zip(want).all(|(s, w)| (s - w).abs() < 1e-12), "{diagonal:?}");
        assert!(preconditioner(&Matrix::zeros(3, 2), &[1.0, 1.0]).is_empty());
        assert!(preconditioner(&coefficients, &[f64::NAN, 1.0]).is_empty());
    }

    #[test]
    fn eq_44_with_the_support_vectors_as_z_w_is_the_optimum_of_the_full_machine() {
        let data = banana(150, 3);
        let kernel = Kernel::gaussian(1.0);
        let fit = Svc { kernel: kernel.clone(), c: 2.0, tolerance: 1e-8, ..Svc::default() }.learn(&data, &Watch::none()).unwrap();
        let signs = signs(&data.classes().unwrap().codes, 2);
        let (costs, watch) = (vec![2.0; data.len()], Watch::none());
        let mut whole = objective(&kernel, &data.points, &signs, &costs, Loss::Hinge, &watch);
        let inner = whole.solve(&at(&fit.machine.expansion.vectors.to_dense())).unwrap().solution;
        assert!((inner.value - fit.report.objective).abs() < 1e-6 * inner.value, "{} {}", inner.value, fit.report.objective);
    }

    /// The kernel of [Wu2006 (44)] between all rows, `psi_z(x_i)' (K^z)^-1 psi_z(x_j)`.
    fn modified_kernel(kernel: &Kernel, points: &Points, z: &Matrix) -> Matrix {
        let rows = Frame::fixed(kernel, &z.clone().into(), 0.0).unwrap().coordinates(points);
        Matrix::from_fn(rows.rows(), rows.rows(), |i, j| dot(rows.row(i), rows.row(j)))
    }

    #[test]
    fn eq_44_45_46_value_coefficients_and_gradient_are_those_written_out_with_the_multipliers() {
        let (data, kernel) = (banana(60, 3), Kernel::gaussian(1.0));
        let signs = signs(&data.classes().unwrap().codes, 2);
        let (costs, watch) = (vec![1.5; data.len()], Watch::none());
        let z = Matrix::from_fn(4, 2, |j, c| data.points.to_dense().at(7 * j, c) + 0.1);
        let mut gradient = Matrix::zeros(4, 2);
        let mut whole = objective(&kernel, &data.points, &signs, &costs, Loss::Hinge, &watch);
        let value = whole.evaluate(&at(&z), gradient.values_mut());
        let Solved { frame, solution, .. } = whole.solve(&at(&z)).unwrap();
        // Multipliers times signs; the multipliers alone add up to the linear part of the dual.
        let s = solution.negative_gradient.col(0);
        let linear: f64 = s.iter().map(|s| s.abs()).sum();
        let quadratic = |hat: &Matrix| dot(&s, &(0..s.len()).map(|i| dot(hat.row(i), &s)).collect::<Vec<_>>());
        let dual = linear - 0.5 * quadratic(&modified_kernel(&kernel, &data.points, &z));
        assert!(s.iter().sum::<f64>().abs() < 1e-6 * linear && (value - dual).abs() < 1e-6 * value, "(44): {value} {dual}");
        let coefficients = frame.coefficients(&solution.weights).col(0);
        for j in 0..4 {
            let left: f64 = (0..4).map(|l| kernel.eval(z.row(j), z.row(l)) * coefficients[l]).sum();
            let right: f64 = data.points.to_dense().iter().zip(&s).map(|(x, s)| kernel.eval(z.row(j), x) * s).sum();
            assert!((left - right).abs() < 1e-6 * linear, "(45), vector {j}: {left} {right}");
        }
        for at in 0..8 {
            let moved = |step: f64| {
                let mut z = z.clone();
                z.values_mut()[at] += step;
                quadratic(&modified_kernel(&kernel, &data.points, &z))
            };
            let want = -0.5 * (moved(1e-5) - moved(-1e-5)) / 2e-5;
            assert!((gradient.values()[at] - want).abs() < 1e-5 * linear, "(46), number {at}: {} {want}", gradient.values()[at]);
        }
    }

    #[test]
    fn rows_that_are_not_held_change_nothing() {
        let data = waveform3(1500, 1);
        let classes = data.classes().unwrap();
        let (signs, costs, watch) = (signs(&classes.codes, 3), vec![1.0; 1500], Watch::none());
        let z = data.points.select(&(0..25).collect::<Vec<_>>()).to_dense();
        for kernel in [Kernel::gaussian(0.05), Kernel::named("matern52", 0.05, 0, 0.0).unwrap()] {
            for loss in [Loss::SquaredHinge, Loss::Hinge] {
                let run = |memory| {
                    let mut gradient = vec![0.0; z.values().len()];
                    let whole = objective(&kernel, &data.points, &signs, &costs, loss, &watch);
                    (Objective { memory, ..whole }.evaluate(&at(&z), &mut gradient), gradient)
                };
                let ((held, a), (not, b)) = (run(usize::MAX), run(0));
                assert!((held - not).abs() < 1e-11 * held, "{loss:?} {held} {not}");
                let size = a.iter().fold(0.0, |size: f64, g| size.max(g.abs()));
                assert!(a.iter().zip(&b).all(|(a, b)| (a - b).abs() < 1e-7 * size), "{loss:?}");
            }
        }
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
                let value =
                    objective(&kernel, &data.points, &signs, &costs, Loss::SquaredHinge, &watch).evaluate(&at(&z), gradient.values_mut());
                (value, gradient)
            })
        };
        assert_eq!(run(1), run(3));
        let watch = Watch::none();
        let mut bad = z.clone();
        bad.row_mut(0)[0] = f64::NAN;
        let mut whole = objective(&kernel, &data.points, &signs, &costs, Loss::SquaredHinge, &watch);
        assert!(whole.evaluate(&at(&bad), &mut [0.0; 420]).is_nan());
    }

    #[test]
    fn single_precision_stays_within_its_bound_and_is_replaced_where_it_cannot() {
        let data = waveform3(600, 1);
        let classes = data.classes().unwrap();
        let (signs, costs, watch) = (signs(&classes.codes, 3), vec![1.0; 600], Watch::none());
        let mut z = data.points.select(&(0..20).collect::<Vec<_>>()).to_dense();
        let kernel = Kernel::gaussian(0.05);
        let run = |z: &Matrix, single: bool| {
            let mut gradient = vec![0.0; z.values().len()];
            let mut whole = Objective { single, ..objective(&kernel, &data.points, &signs, &costs, Loss::SquaredHinge, &watch) };
            (whole.evaluate(&at(z), &mut gradient), gradient, whole.single)
        };
        let ((exact, a, _), (rough, b, still)) = (run(&z, false), run(&z, true));
        let size = a.iter().fold(0.0, |size: f64, g| size.max(g.abs()));
        let off = a.iter().zip(&b).fold(0.0, |off: f64, (a, b)| off.max((a - b).abs()));
        // Coordinates are off by at most ROUGHEST; W and its gradient are of first order in them.
        assert!(still && exact != rough && (exact - rough).abs() < ROUGHEST * exact, "{exact} {rough}");
        assert!(off < 10.0 * ROUGHEST * size, "{off} {size}");
        // Two vectors that almost coincide make |L^-1| so large that single precision would be seen.
        let near: Vec<f64> = z.row(0).iter().map(|v| v + 1e-5).collect();
        z.row_mut(1).copy_from_slice(&near);
        assert!(!run(&z, true).2);
        assert_eq!(run(&z, true).0, run(&z, false).0);
    }
}
