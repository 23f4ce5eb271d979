//! Kernel matching pursuit for all outputs at once: rows whose kernel columns explain the targets best.
//!
//! The targets Y are the values of the rows, or an indicator for each class, so that several classes share the vectors: the coupling that Weston2004 asks for
//! in training, and leaves as future research. With the columns g_i of the kernel matrix at the rows, Q an orthonormal basis of the constant and of the columns
//! chosen before, and R = Y - Q Q'Y what they leave:
//!
//! ```text
//! next   argmax_i  sum_j (g_i'r_j)^2 / |g_i - Q Q'g_i|^2        the largest fall of |R|^2 after all coefficients are fitted again
//! ```
//!
//! [Weston2004 (Section 5)]. One product with the kernel matrix for each vector keeps all numerators and denominators up to date. What comes out is a basis; the
//! machine is the estimator's own on it. Row weights multiply the squared errors.
//!
//! Cost for n rows of d features and m vectors: n^2 (d + m) + n m^2. Memory: n^2 / 2 numbers where the kernel matrix fits, and n m.
use super::{Basis, BasisBudget, BasisMethod, JITTER, kernel_rows::KernelRows};
use crate::{
    Error, Result,
    data::{Dataset, Points, Target},
    kernel::Kernel,
    linalg::dot,
    watch::{Status, Watch},
};

/// Bytes that a kernel matrix may take by default: 23,170 rows.
const USUAL_BYTES: usize = 2 << 30;

/// Columns with less than this part of their squared length outside the span are exhausted: the kernel matrix is kept in single precision.
const EXHAUSTED: f64 = 1e-10;

/// Targets of which less than this part is left are explained.
const EXPLAINED: f64 = 1e-20;

/// Greedy choice by what the kernel columns of rows explain of the targets.
#[derive(Clone, Debug)]
pub struct MatchingPursuit {
    /// Most bytes for the kernel matrix; beyond that its rows are computed whenever they are needed.
    pub cache_bytes: usize,
}

impl Default for MatchingPursuit {
    fn default() -> Self {
        MatchingPursuit { cache_bytes: USUAL_BYTES }
    }
}

impl BasisMethod for MatchingPursuit {
    fn name(&self) -> &'static str {
        "matching-pursuit"
    }

    fn choose(&self, _: &Kernel, _: &Points, _: &BasisBudget, _: &Watch) -> Result<Basis> {
        Err(Error::data("matching-pursuit chooses vectors by the targets of the rows, but there are points alone"))
    }

    fn choose_for(&self, kernel: &Kernel, data: &Dataset, budget: &BasisBudget, watch: &Watch) -> Result<Basis> {
        budget.check(kernel, &data.points)?;
        let before = watch.evaluations();
        let (chosen, status) = self.vectors(kernel, data, budget.max_vectors, watch)?;
        let basis = Basis::of_vectors(kernel, &data.points, &data.points.select(&chosen), chosen, JITTER)?;
        watch.evaluated(basis.evaluations);
        Ok(Basis { status, evaluations: watch.evaluations() - before, ..basis })
    }
}

impl MatchingPursuit {
    /// The rows chosen, in order, and how the run ended.
    fn vectors(&self, kernel: &Kernel, data: &Dataset, most: usize, watch: &Watch) -> Result<(Vec<usize>, Status)> {
        let outputs = outputs(data)?;
        let rows = KernelRows::kept(kernel, &data.points, self.cache_bytes, watch);
        let weights: Vec<f64> = (0..data.len()).map(|i| data.weight(i)).collect();
        let mut run = Run::new(&rows, weights, outputs, watch);
        let whole = run.left();
        while run.chosen.len() < most.min(data.len()) && run.left() > EXPLAINED * whole {
            if watch.cancelled() && !run.chosen.is_empty() {
                return Ok((run.chosen, Status::Cancelled));
            }
            let Some(best) = run.best() else { break };
            run.take(best, watch);
            watch.report("vectors", run.chosen.len() as u64, Some(most as u64), Some(run.left() / whole));
        }
        match run.chosen.is_empty() {
            false => Ok((run.chosen, Status::Converged)),
            true => Err(Error::data("the rows have one target, or one kernel column, alike, so that no vector explains anything")),
        }
    }
}

/// The targets, one column of numbers for each output.
fn outputs(data: &Dataset) -> Result<Vec<Vec<f64>>> {
    match &data.target {
        Target::Values(values) => Ok((0..values.cols()).map(|j| values.col(j)).collect()),
        Target::Classes(classes) => {
            let of = |class: usize| classes.codes.iter().map(|&code| f64::from(u8::from(code as usize == class))).collect();
            Ok((0..classes.labels.len()).map(of).collect())
        }
        Target::None => Err(Error::data("matching-pursuit chooses vectors by the targets of the rows, but there are none")),
    }
}

/// A run. Columns and targets are multiplied by the roots of the row weights.
struct Run<'a> {
    rows: &'a KernelRows<'a>,
    roots: Vec<f64>,
    /// What is left of the targets.
    residuals: Vec<Vec<f64>>,
    /// `g_i'r_j`, a line for each output.
    products: Vec<Vec<f64>>,
    /// `|g_i - Q Q'g_i|^2`, and what it was.
    outside: Vec<f64>,
    lengths: Vec<f64>,
    directions: Vec<Vec<f64>>,
    free: Vec<bool>,
    chosen: Vec<usize>,
}

impl<'a> Run<'a> {
    fn new(rows: &'a KernelRows<'a>, weights: Vec<f64>, outputs: Vec<Vec<f64>>, watch: &Watch) -> Self {
        let lengths = rows.weighted_squares(&weights, watch);
        let roots: Vec<f64> = weights.iter().map(|weight| weight.sqrt()).collect();
        let residuals: Vec<Vec<f64>> = outputs.iter().map(|values| values.iter().zip(&roots).map(|(v, root)| v * root).collect()).collect();
        let weighted: Vec<Vec<f64>> =
            outputs.iter().map(|values| values.iter().zip(&weights).map(|(v, weight)| v * weight).collect()).collect();
        let products = rows.times(&weighted.iter().map(Vec::as_slice).collect::<Vec<_>>(), watch);
        let free = weights.iter().map(|weight| *weight > 0.0).collect();
        let constant = unit(roots.clone());
        let mut run = Run { rows, roots, residuals, products, outside: lengths.clone(), lengths, directions: vec![], free, chosen: vec![] };
        run.explain(constant, watch);
        run
    }

    /// The squared targets that are left.
    fn left(&self) -> f64 {
        self.residuals.iter().map(|residual| dot(residual, residual)).sum()
    }

    /// The row that explains most; on a tie the first.
    fn best(&self) -> Option<usize> {
        let able = (0..self.outside.len()).filter(|&i| self.free[i] && self.outside[i] > EXHAUSTED * self.lengths[i]);
        let gain = |i: usize| self.products.iter().map(|products| products[i] * products[i]).sum::<f64>() / self.outside[i];
        able.map(|i| (i, gain(i)))
            .fold(None, |best: Option<(usize, f64)>, one| match best {
                Some(best) if best.1 >= one.1 => Some(best),
                _ => Some(one),
            })
            .map(|(i, _)| i)
    }

    /// Takes row i, unless its column turns out to be exhausted.
    fn take(&mut self, i: usize, watch: &Watch) {
        self.free[i] = false;
        let mut column = self.rows.rows(&[i], watch).row(0).to_vec();
        column.iter_mut().zip(&self.roots).for_each(|(value, root)| *value *= root);
        let length = dot(&column, &column);
        // Twice is enough for orthogonality to working precision.
        for _ in 0..2 {
            for direction in &self.directions {
                let part = dot(direction, &column);
                column.iter_mut().zip(direction).for_each(|(value, d)| *value -= part * d);
            }
        }
        if dot(&column, &column) > EXHAUSTED * length {
            self.chosen.push(i);
            self.explain(unit(column), watch);
        }
    }

    /// Takes a direction, orthogonal to the others, off everything.
    fn explain(&mut self, direction: Vec<f64>, watch: &Watch) {
        let weighted: Vec<f64> = direction.iter().zip(&self.roots).map(|(d, root)| d * root).collect();
        let parts = self.rows.times(&[&weighted], watch).pop().unwrap_or_default();
        self.outside.iter_mut().zip(&parts).for_each(|(outside, part)| *outside -= part * part);
        for (residual, products) in self.residuals.iter_mut().zip(&mut self.products) {
            let explained = dot(&direction, residual);
            residual.iter_mut().zip(&direction).for_each(|(r, d)| *r -= explained * d);
            products.iter_mut().zip(&parts).for_each(|(product, part)| *product -= explained * part);
        }
        self.directions.push(direction);
    }
}

fn unit(mut vector: Vec<f64>) -> Vec<f64> {
    let length = dot(&vector, &vector).sqrt();
    vector.iter_mut().for_each(|value| *value /= length);
    vector
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        data::{banana, sinc, waveform3},
        kernel::block::symmetric,
        linalg::{Cholesky, Matrix},
    };

    /// The squared errors of all outputs after a fit of a constant and of these columns, written out.
    fn squared_error(gram: &Matrix, data: &Dataset, columns: &[usize]) -> f64 {
        let n = data.len();
        let design = Matrix::from_fn(n, columns.len() + 1, |i, j| if j == 0 { 1.0 } else { gram.at(i, columns[j - 1]) });
        let m = design.cols();
        let sum = |f: &dyn Fn(usize) -> f64| (0..n).map(|i| data.weight(i) * f(i)).sum::<f64>();
        let normal = Matrix::from_fn(m, m, |a, b| sum(&|i| design.at(i, a) * design.at(i, b)));
        let factor = Cholesky::new(&normal).unwrap();
        let of = |values: &Vec<f64>| {
            let mut solution = Matrix::from_fn(m, 1, |a, _| sum(&|i| design.at(i, a) * values[i]));
            factor.solve(&mut solution);
            sum(&|i| (values[i] - dot(design.row(i), &solution.col(0))).powi(2))
        };
        outputs(data).unwrap().iter().map(of).sum()
    }

    #[test]
    fn section_5_every_vector_is_the_one_that_leaves_the_least_squared_error_of_all_outputs() {
        let weights = |n: usize| Some((0..n).map(|i| 1.0 + (i % 3) as f64).collect::<Vec<f64>>());
        for data in [banana(50, 1), waveform3(60, 2), sinc(40, 0.1, 3).unwrap(), Dataset { weights: weights(60), ..waveform3(60, 4) }] {
            let kernel = Kernel::gaussian(0.3);
            let gram = symmetric(&kernel, &data.points);
            let (chosen, _) = MatchingPursuit::default().vectors(&kernel, &data, 6, &Watch::none()).unwrap();
            assert_eq!(chosen.len(), 6);
            for step in 0..6 {
                let error = |i: usize| squared_error(&gram, &data, &[&chosen[..step], &[i]].concat());
                let least = (0..data.len()).filter(|i| !chosen[..step].contains(i)).map(error).fold(f64::INFINITY, f64::min);
                // The kernel matrix is kept in single precision.
                assert!(error(chosen[step]) <= least * (1.0 + 1e-5), "{step}: {} {least}", error(chosen[step]));
            }
        }
    }

    #[test]
    fn the_first_vectors_are_those_of_a_smaller_run_and_rows_not_kept_give_the_same() {
        let (data, kernel) = (waveform3(80, 1), Kernel::gaussian(0.05));
        let run =
            |bytes: usize, most: usize| MatchingPursuit { cache_bytes: bytes }.vectors(&kernel, &data, most, &Watch::none()).unwrap().0;
        let ten = run(USUAL_BYTES, 10);
        assert_eq!((run(USUAL_BYTES, 4), run(0, 10)), (ten[..4].to_vec(), ten.clone()));
    }

    #[test]
    fn repeated_rows_are_taken_once_and_targets_that_say_nothing_are_reported() {
        let data = banana(10, 1);
        let twice = data.select(&(0..10).chain(0..10).collect::<Vec<_>>());
        let (chosen, status) = MatchingPursuit::default().vectors(&Kernel::gaussian(1.0), &twice, 20, &Watch::none()).unwrap();
        assert!(chosen.len() <= 10 && status == Status::Converged, "{chosen:?}");
        let points = data.points.clone();
        let flat = Dataset::new(points.clone(), Target::Values(Matrix::from_fn(10, 1, |_, _| 2.0)));
        let error = MatchingPursuit::default().vectors(&Kernel::gaussian(1.0), &flat, 3, &Watch::none()).unwrap_err().to_string();
        assert!(error.contains("no vector explains anything"), "{error}");
        let budget = BasisBudget::vectors(3);
        assert!(MatchingPursuit::default().choose(&Kernel::gaussian(1.0), &points, &budget, &Watch::none()).is_err());
    }
}
