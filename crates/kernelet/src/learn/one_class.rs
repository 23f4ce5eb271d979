//! One-class support vector machines: where do the training rows lie?
//!
//! Minimise `1/2 |w|^2 + sum_i weight_i max(0, rho - w.Phi(x_i)) - nu rho sum_i weight_i`, solved in its dual `min 1/2 a'Ka`,
//! `0 <= a_i <= weight_i`, `sum a = nu sum_i weight_i`. The output is `w.Phi(x) - rho`: above zero a row is like the training rows.
//! At most a part nu of the training rows is left outside, and at least a part nu of them become vectors. Coefficients and offset are
//! scaled as LIBSVM has them. The target of the data is not looked at. Memory: the cache limit and O(n d).
use super::{
    Fit, Learner,
    smo::{Parts, Problem, Settings},
    support::{self, Solved, Source, feasible, rows_that_count},
};
use crate::{
    Result,
    data::Dataset,
    error::{require_positive, require_share},
    kernel::Kernel,
    machine::{Decision, Machine, Metadata},
    watch::Watch,
};

/// The one-class support vector machine: novelty detection without labels. `1` is predicted for rows like those it was trained on, `-1`
/// for others.
///
/// ```
/// use kernelet::{data::gaussian, learn::OneClass, prelude::*};
///
/// let normal = gaussian(200, 2, 1)?; // around the origin
/// let one_class = OneClass { kernel: Kernel::gaussian(0.5), nu: 0.05, ..OneClass::default() };
/// let machine = one_class.learn(&normal, &Watch::none())?.machine;
///
/// let predicted = machine.predict(&Points::from_rows(&[[0.1, -0.2], [9.0, 9.0]])?)?;
/// assert_eq!(predicted.label(0).map(Label::text), Some("1"));
/// assert_eq!(predicted.label(1).map(Label::text), Some("-1"));
/// # Ok::<(), kernelet::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct OneClass {
    /// The kernel. With [`Kernel::Precomputed`] row i of the data holds the kernel values of training row i with all training rows.
    pub kernel: Kernel,
    /// The part of the training rows that may lie outside; above 0 and at most 1.
    pub nu: f64,
    /// Stop when no pair violates the optimality conditions by more than this; LIBSVM's epsilon.
    pub tolerance: f64,
    /// Bytes for cached kernel rows.
    pub cache_bytes: usize,
    /// Leave variables alone that look settled.
    pub shrinking: bool,
    /// Steps after which the problem stops unfinished.
    pub max_iterations: u64,
}

impl Default for OneClass {
    fn default() -> Self {
        OneClass {
            kernel: Kernel::gaussian(1.0),
            nu: 0.5,
            tolerance: 1e-3,
            cache_bytes: 200 << 20,
            shrinking: true,
            max_iterations: 100_000_000,
        }
    }
}

impl Learner for OneClass {
    fn name(&self) -> &'static str {
        "one-class"
    }

    fn check(&self) -> Result<()> {
        self.kernel.check()?;
        require_share("nu", self.nu)?;
        require_positive("tolerance", self.tolerance)
    }

    fn learn(&self, data: &Dataset, watch: &Watch) -> Result<Fit> {
        self.run(data, None, watch)
    }

    fn warm_starts(&self) -> bool {
        true
    }

    fn learn_from(&self, earlier: &Machine, data: &Dataset, watch: &Watch) -> Result<Fit> {
        self.run(data, Some(earlier), watch)
    }
}

impl OneClass {
    fn run(&self, data: &Dataset, earlier: Option<&Machine>, watch: &Watch) -> Result<Fit> {
        self.check()?;
        data.check()?;
        let rows = rows_that_count(data)?;
        let source = Source::new(&self.kernel, data)?;
        let before = watch.evaluations();
        let upper: Vec<f64> = rows.iter().map(|&i| data.weight(i)).collect();
        let lower = vec![0.0; rows.len()];
        let sum = self.nu * upper.iter().sum::<f64>();
        let known = earlier.map(|machine| source.known(machine)).filter(|known| known.cols() == 1);
        // Without a hint the first rows are full, as in LIBSVM.
        let wish: Vec<f64> = rows.iter().map(|&i| known.as_ref().map_or(0.0, |known| known.at(i, 0))).collect();
        let start = Some(Parts::of(&feasible(&wish, &lower, &upper, sum)));
        let problem = Problem { targets: vec![0.0; rows.len()], lower, upper, start, ..Problem::default() };
        let settings = Settings {
            tolerance: self.tolerance,
            max_iterations: self.max_iterations,
            cache_bytes: self.cache_bytes,
            shrinking: self.shrinking,
        };
        let solution = support::solve(&source, &rows, &problem, &settings, watch)?;
        // The offset is -rho, and v_i = -w.Phi(x_i).
        let loss: f64 = problem.upper.iter().zip(&solution.v).map(|(weight, v)| weight * (v - solution.offset).max(0.0)).sum();
        let primal = 0.5 * solution.squared_norm(&problem) + loss + solution.offset * sum;
        let solved = [Solved { solution, primal }];
        let report = support::report(&solved, watch.evaluations() - before);
        let metadata = Metadata { learner: Some(self.name().into()), nu: Some(self.nu), ..Metadata::default() };
        Ok(support::fit(&source, data, &rows, &solved, Decision::Novelty, metadata, report))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        data::{Generator, Target},
        linalg::Matrix,
        watch::Status,
    };

    fn learn(learner: &OneClass, data: &Dataset) -> Fit {
        learner.learn(data, &Watch::none()).unwrap()
    }

    #[test]
    fn the_machine_keeps_the_optimality_conditions_by_definition() {
        let data = Generator::Banana.make(200, 1);
        let learner = OneClass { nu: 0.2, tolerance: 1e-5, ..OneClass::default() };
        let fit = learn(&learner, &data);
        let f = fit.machine.outputs_for(&data.points).unwrap().col(0);
        let a = Source::new(&learner.kernel, &data).unwrap().known(&fit.machine).col(0);
        assert!((a.iter().sum::<f64>() - 40.0).abs() < 1e-9);
        for i in 0..200 {
            match a[i] {
                0.0 => assert!(f[i] > -1e-4, "{i} {}", f[i]),
                a if a < 1.0 => assert!(f[i].abs() < 1e-4, "{i} {}", f[i]),
                _ => assert!(f[i] < 1e-4, "{i} {}", f[i]),
            }
        }
        let norm: f64 = (0..200).map(|i| a[i] * (f[i] - fit.machine.offsets[0])).sum();
        assert!((fit.report.dual_objective.unwrap() / (0.5 * norm) - 1.0).abs() < 1e-5);
        assert!((fit.report.objective / (-0.5 * norm) - 1.0).abs() < 1e-3);
    }

    #[test]
    fn nu_bounds_the_rows_outside_and_the_vectors() {
        let data = Generator::Twonorm.make(400, 1);
        for nu in [0.01, 0.1, 0.5, 1.0] {
            let fit = learn(&OneClass { nu, kernel: Kernel::gaussian(0.05), ..OneClass::default() }, &data);
            assert_eq!(fit.report.status, Status::Converged);
            let f = fit.machine.outputs_for(&data.points).unwrap().col(0);
            // Rows on the border may fall on either side by the tolerance.
            let outside = f.iter().filter(|&&f| f < -1e-3).count();
            assert!(outside as f64 <= nu * 400.0 && fit.machine.n_vectors() as f64 >= nu * 400.0, "{nu} {outside}");
        }
    }

    #[test]
    fn one_row_and_equal_rows_lie_on_their_own_border() {
        for rows in [1, 5] {
            let data = Dataset::new(Matrix::from_fn(rows, 2, |_, j| j as f64), Target::None);
            let fit = learn(&OneClass::default(), &data);
            let f = fit.machine.outputs_for(&data.points).unwrap();
            assert!(f.values().iter().all(|f| f.abs() < 1e-6), "{f:?}");
        }
    }

    #[test]
    fn a_warm_start_takes_fewer_steps_to_the_same_objective() {
        let data = Generator::Banana.make(500, 1);
        let learner = OneClass { nu: 0.3, ..OneClass::default() };
        let cold = learn(&learner, &data);
        let warm = learner.learn_from(&cold.machine, &data, &Watch::none()).unwrap();
        assert!(warm.report.iterations * 4 < cold.report.iterations, "{} {}", warm.report.iterations, cold.report.iterations);
        assert!((warm.report.objective / cold.report.objective - 1.0).abs() < 1e-4);
    }

    #[test]
    fn a_nu_outside_its_range_is_rejected_with_an_error() {
        let data = Generator::Banana.make(10, 1);
        for nu in [0.0, 1.5, f64::NAN] {
            let error = OneClass { nu, ..OneClass::default() }.learn(&data, &Watch::none()).unwrap_err().to_string();
            assert_eq!(error, format!("nu is {nu}, but must be a number above 0 and at most 1"));
        }
    }
}
