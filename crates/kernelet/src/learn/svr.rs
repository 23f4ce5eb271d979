//! Support vector regression with a tube of half-width epsilon.
//!
//! Minimise `1/2 |w|^2 + C sum_i weight_i max(0, |y_i - w.Phi(x_i) - b| - epsilon)`, solved in its dual
//! `min 1/2 b'Kb - y'b + epsilon sum |b|`, `|b_i| <= C weight_i`, `sum b = 0`. C and epsilon are LIBSVM's.
//!
//! Where LIBSVM has two variables a row, here is one with a kink at zero: half the scans, and each kernel row once. Several targets are
//! solved one after the other and share the machine's vectors. Memory: the cache limit and O(n d).
use super::{
    Fit, Learner,
    smo::{Parts, Problem, Settings},
    support::{self, Solved, Source, check_targets, feasible, rows_that_count},
};
use crate::{
    Result,
    data::Dataset,
    error::{require_cost, require_not_negative, require_positive},
    kernel::Kernel,
    machine::{Decision, Machine, Metadata},
    watch::Watch,
};

/// The support vector regressor.
#[derive(Clone, Debug)]
pub struct Svr {
    /// The kernel. With [`Kernel::Precomputed`] row i of the data holds the kernel values of training row i with all training rows.
    pub kernel: Kernel,
    /// The cost of an error beyond the tube; above 0.
    pub c: f64,
    /// Half the width of the tube within which errors cost nothing; at least 0.
    pub epsilon: f64,
    /// Stop when no pair violates the optimality conditions by more than this; LIBSVM's epsilon.
    pub tolerance: f64,
    /// Bytes for cached kernel rows.
    pub cache_bytes: usize,
    /// Leave variables alone that look settled.
    pub shrinking: bool,
    /// Steps after which a problem stops unfinished.
    pub max_iterations: u64,
}

impl Default for Svr {
    fn default() -> Self {
        Svr {
            kernel: Kernel::gaussian(1.0),
            c: 1.0,
            epsilon: 0.1,
            tolerance: 1e-3,
            cache_bytes: 200 << 20,
            shrinking: true,
            max_iterations: 100_000_000,
        }
    }
}

impl Learner for Svr {
    fn name(&self) -> &'static str {
        "svr"
    }

    fn check(&self) -> Result<()> {
        self.kernel.check()?;
        require_cost(self.c)?;
        require_not_negative("epsilon", self.epsilon)?;
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

impl Svr {
    fn run(&self, data: &Dataset, earlier: Option<&Machine>, watch: &Watch) -> Result<Fit> {
        self.check()?;
        data.check()?;
        let targets = data.values()?;
        check_targets(targets)?;
        let rows = rows_that_count(data)?;
        let source = Source::new(&self.kernel, data)?;
        let before = watch.evaluations();
        let upper: Vec<f64> = rows.iter().map(|&i| self.c * data.weight(i)).collect();
        let lower: Vec<f64> = upper.iter().map(|c| -c).collect();
        let known = earlier.map(|machine| source.known(machine)).filter(|known| known.cols() == targets.cols());
        let mut solved = vec![];
        for k in 0..targets.cols() {
            let start = known.as_ref().map(|known| {
                let wish: Vec<f64> = rows.iter().map(|&i| known.at(i, k)).collect();
                Parts::of(&feasible(&wish, &lower, &upper, 0.0))
            });
            let targets = rows.iter().map(|&i| targets.at(i, k)).collect();
            let problem = Problem { targets, lower: lower.clone(), upper: upper.clone(), width: self.epsilon, start, ..Problem::default() };
            solved.push(self.solve(&source, &rows, &problem, watch)?);
        }
        let report = support::report(&solved, watch.evaluations() - before);
        let metadata = Metadata { learner: Some(self.name().into()), c: Some(self.c), epsilon: Some(self.epsilon), ..Metadata::default() };
        Ok(support::fit(&source, data, &rows, &solved, Decision::Values, metadata, report))
    }

    fn solve(&self, source: &Source, rows: &[usize], problem: &Problem, watch: &Watch) -> Result<Solved> {
        let settings = Settings {
            tolerance: self.tolerance,
            max_iterations: self.max_iterations,
            cache_bytes: self.cache_bytes,
            shrinking: self.shrinking,
        };
        let solution = support::solve(source, rows, problem, &settings, watch)?;
        let error = |v: f64| ((v - solution.offset).abs() - self.epsilon).max(0.0);
        let loss: f64 = problem.upper.iter().zip(&solution.v).map(|(c, &v)| c * error(v)).sum();
        Ok(Solved { primal: 0.5 * solution.squared_norm(problem) + loss, solution })
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

    fn learn(learner: &Svr, data: &Dataset) -> Fit {
        learner.learn(data, &Watch::none()).unwrap()
    }

    #[test]
    fn the_machine_keeps_the_optimality_conditions_by_definition() {
        let data = Generator::Sinc.make(150, 1);
        let learner = Svr { c: 2.0, epsilon: 0.05, tolerance: 1e-5, kernel: Kernel::gaussian(0.5), ..Svr::default() };
        let fit = learn(&learner, &data);
        let (y, f) = (data.values().unwrap().col(0), fit.machine.outputs_for(&data.points).unwrap().col(0));
        let b = Source::new(&learner.kernel, &data).unwrap().known(&fit.machine).col(0);
        assert!(b.iter().sum::<f64>().abs() < 1e-9);
        let (mut loss, mut dual) = (0.0, 0.0);
        for i in 0..150 {
            let error = y[i] - f[i];
            match b[i] {
                0.0 => assert!(error.abs() < 0.05 + 1e-4, "{i} {error}"),
                b if b.abs() < 2.0 => assert!((error - 0.05 * b.signum()).abs() < 1e-4, "{i} {error}"),
                b => assert!(error * b.signum() > 0.05 - 1e-4, "{i} {error}"),
            }
            loss += 2.0 * (error.abs() - 0.05).max(0.0);
            dual += 0.5 * b[i] * (f[i] - fit.machine.offsets[0]) - y[i] * b[i] + 0.05 * b[i].abs();
        }
        let norm: f64 = (0..150).map(|i| b[i] * (f[i] - fit.machine.offsets[0])).sum();
        assert!((fit.report.objective / (0.5 * norm + loss) - 1.0).abs() < 1e-5);
        assert!((fit.report.dual_objective.unwrap() / dual - 1.0).abs() < 1e-5);
        assert!((fit.report.objective + dual).abs() < 1e-3 * fit.report.objective);
    }

    #[test]
    fn constant_targets_and_a_single_row_are_met_without_a_vector() {
        for rows in [1, 30] {
            let data = Generator::Sinc.make(rows, 1);
            let data = Dataset { target: Target::Values(Matrix::from_fn(rows, 2, |_, k| 3.0 - k as f64)), ..data };
            let fit = learn(&Svr::default(), &data);
            assert_eq!((fit.machine.n_vectors(), fit.report.status), (0, Status::Converged));
            let f = fit.machine.outputs_for(&data.points).unwrap();
            assert!(f.iter().all(|f| (f[0] - 3.0).abs() < 0.1 + 1e-12 && (f[1] - 2.0).abs() < 0.1 + 1e-12), "{f:?}");
        }
    }

    #[test]
    fn weights_are_repetitions_and_several_targets_are_several_machines() {
        let mut data = Generator::Sinc.make(80, 1);
        let y = data.values().unwrap().col(0);
        data.target = Target::Values(Matrix::from_fn(80, 2, |i, k| y[i].powi(k as i32 + 1)));
        let mut weighted = data.clone();
        weighted.weights = Some((0..80).map(|i| (i % 3) as f64).collect());
        let repeated = data.select(&(0..80).flat_map(|i| std::iter::repeat_n(i, i % 3)).collect::<Vec<_>>());
        let learner = Svr { tolerance: 1e-6, ..Svr::default() };
        let (a, b) = (learn(&learner, &weighted), learn(&learner, &repeated));
        assert!((a.report.objective / b.report.objective - 1.0).abs() < 1e-6);
        let (a, b) = (a.machine.outputs_for(&data.points).unwrap(), b.machine.outputs_for(&data.points).unwrap());
        assert!(a.values().iter().zip(b.values()).all(|(a, b)| (a - b).abs() < 1e-4));
        let second = Dataset { target: Target::Values(Matrix::column(y.iter().map(|y| y * y).collect())), ..weighted.clone() };
        let alone = learn(&learner, &second).machine.outputs_for(&data.points).unwrap();
        assert!(a.col(1).iter().zip(alone.values()).all(|(a, b)| (a - b).abs() < 1e-12));
    }

    #[test]
    fn a_warm_start_takes_fewer_steps_to_the_same_objective() {
        let data = Generator::Sinc.make(300, 1);
        let learner = Svr { c: 10.0, ..Svr::default() };
        let cold = learn(&learner, &data);
        let warm = learner.learn_from(&cold.machine, &data, &Watch::none()).unwrap();
        assert!(warm.report.iterations * 4 < cold.report.iterations, "{} {}", warm.report.iterations, cold.report.iterations);
        assert!((warm.report.objective / cold.report.objective - 1.0).abs() < 1e-4);
        // Another cost: the coefficients that no longer fit are cut.
        let less = Svr { c: 1.0, ..learner };
        let (cold, warm) = (learn(&less, &data), less.learn_from(&cold.machine, &data, &Watch::none()).unwrap());
        assert!((warm.report.objective / cold.report.objective - 1.0).abs() < 1e-4);
    }

    #[test]
    fn parameters_and_targets_outside_their_range_are_rejected_with_an_error() {
        let data = Generator::Sinc.make(10, 1);
        let refuse = |learner: Svr, data: &Dataset| learner.learn(data, &Watch::none()).unwrap_err().to_string();
        let negative = refuse(Svr { epsilon: -0.1, ..Svr::default() }, &data);
        assert_eq!(negative, "epsilon is -0.1, but must be a finite number of at least 0");
        let huge = Dataset { target: Target::Values(Matrix::column(vec![1e200; 10])), ..data };
        assert_eq!(refuse(Svr::default(), &huge), "the targets reach 1.0e200; divide them by their size");
    }
}
