//! Support vector regression with nu: the tube finds its own width.
//!
//! Minimise `1/2 |w|^2 + C sum_i weight_i (nu epsilon + max(0, |y_i - w.Phi(x_i) - b| - epsilon))` over w, b and epsilon, solved in its
//! dual `min 1/2 b'Kb - y'b`, where b is the sum of a positive and a negative part, both within `C weight_i` and both with the
//! sum `C nu sum_i weight_i / 2` in size. At most a part nu of the rows lies outside the tube, at least a part nu
//! become vectors. C and nu are LIBSVM's. The epsilon found is in the machine's metadata. Memory: the cache limit and O(n d).
use super::{
    Fit, Learner,
    smo::{Held, Parts, Problem, Settings},
    support::{self, Solved, Source, check_targets, feasible, rows_that_count},
};
use crate::{
    Result,
    data::Dataset,
    error::{require_cost, require_positive, require_share},
    kernel::Kernel,
    machine::{Decision, Metadata},
    watch::Watch,
};

/// The support vector regressor with nu.
#[derive(Clone, Debug)]
pub struct NuSvr {
    /// The kernel. With [`Kernel::Precomputed`] row i of the data holds the kernel values of training row i with all training rows.
    pub kernel: Kernel,
    /// The cost of an error beyond the tube; above 0.
    pub c: f64,
    /// An upper bound on the fraction of rows outside the tube; above 0 and at most 1.
    pub nu: f64,
    /// Stop when no pair violates the optimality conditions by more than this; LIBSVM's epsilon.
    pub tolerance: f64,
    /// Bytes for cached kernel rows.
    pub cache_bytes: usize,
    /// Leave variables alone that look settled.
    pub shrinking: bool,
    /// Steps after which a problem stops unfinished.
    pub max_iterations: u64,
}

impl Default for NuSvr {
    fn default() -> Self {
        NuSvr {
            kernel: Kernel::gaussian(1.0),
            c: 1.0,
            nu: 0.5,
            tolerance: 1e-3,
            cache_bytes: 200 << 20,
            shrinking: true,
            max_iterations: 100_000_000,
        }
    }
}

impl Learner for NuSvr {
    fn name(&self) -> &'static str {
        "nu-svr"
    }

    fn check(&self) -> Result<()> {
        self.kernel.check()?;
        require_cost(self.c)?;
        require_share("nu", self.nu)?;
        require_positive("tolerance", self.tolerance)
    }

    fn learn(&self, data: &Dataset, watch: &Watch) -> Result<Fit> {
        self.check()?;
        data.check()?;
        let targets = data.values()?;
        check_targets(targets)?;
        let rows = rows_that_count(data)?;
        let source = Source::new(&self.kernel, data)?;
        let before = watch.evaluations();
        let upper: Vec<f64> = rows.iter().map(|&i| self.c * data.weight(i)).collect();
        let lower: Vec<f64> = upper.iter().map(|c| -c).collect();
        let half = 0.5 * self.nu * upper.iter().sum::<f64>();
        // Both parts begin on the first rows, as in LIBSVM: their sum is zero.
        let zeros = vec![0.0; rows.len()];
        let start = Parts { positive: feasible(&zeros, &zeros, &upper, half), negative: feasible(&zeros, &lower, &zeros, -half) };
        let start = Some(start);
        let mut solved = vec![];
        for k in 0..targets.cols() {
            let targets = rows.iter().map(|&i| targets.at(i, k)).collect();
            let (lower, upper) = (lower.clone(), upper.clone());
            let problem = Problem { targets, lower, upper, width: 0.0, held: Held::Parts, start: start.clone() };
            solved.push(self.solve(&source, &rows, &problem, half, watch)?);
        }
        let report = support::report(&solved, watch.evaluations() - before);
        let epsilon = if solved.len() == 1 { Some(solved[0].solution.spread) } else { None };
        let metadata = Metadata { learner: Some(self.name().into()), c: Some(self.c), nu: Some(self.nu), epsilon, ..Metadata::default() };
        Ok(support::fit(&source, data, &rows, &solved, Decision::Values, metadata, report))
    }
}

impl NuSvr {
    fn solve(&self, source: &Source, rows: &[usize], problem: &Problem, half: f64, watch: &Watch) -> Result<Solved> {
        let settings = Settings {
            tolerance: self.tolerance,
            max_iterations: self.max_iterations,
            cache_bytes: self.cache_bytes,
            shrinking: self.shrinking,
        };
        let solution = support::solve(source, rows, problem, &settings, watch)?;
        // v = y - w.Phi(x) is b + epsilon on the upper edge of the tube and b - epsilon on the lower.
        let epsilon = solution.spread;
        let error = |v: f64| ((v - solution.offset).abs() - epsilon).max(0.0);
        let loss: f64 = problem.upper.iter().zip(&solution.v).map(|(c, &v)| c * error(v)).sum();
        Ok(Solved { primal: 0.5 * solution.squared_norm(problem) + 2.0 * half * epsilon + loss, solution })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        data::{Generator, Target},
        learn::Svr,
        linalg::Matrix,
        watch::Status,
    };

    #[test]
    fn the_tube_is_the_one_of_its_own_epsilon() {
        let data = Generator::Sinc.make(200, 1);
        let fit = NuSvr { nu: 0.3, tolerance: 1e-6, ..NuSvr::default() }.learn(&data, &Watch::none()).unwrap();
        let epsilon = fit.machine.metadata.epsilon.unwrap();
        let plain = Svr { epsilon, tolerance: 1e-6, ..Svr::default() }.learn(&data, &Watch::none()).unwrap();
        let outputs = |fit: &Fit| fit.machine.outputs_for(&data.points).unwrap().col(0);
        for (a, b) in outputs(&fit).iter().zip(outputs(&plain)) {
            assert!((a - b).abs() < 1e-4, "{a} {b}");
        }
        assert!((fit.report.objective / (plain.report.objective + 0.3 * 200.0 * epsilon) - 1.0).abs() < 1e-5);
        assert!((fit.report.objective + fit.report.dual_objective.unwrap()).abs() < 1e-4 * fit.report.objective);
        let errors = data.values().unwrap().col(0).into_iter().zip(outputs(&fit)).map(|(y, f)| (y - f).abs());
        let outside = errors.filter(|&error| error > epsilon + 1e-4).count();
        assert!(outside <= 60 && fit.machine.n_vectors() >= 60, "{outside} {}", fit.machine.n_vectors());
    }

    #[test]
    fn constant_targets_and_a_single_row_have_a_tube_of_no_width() {
        for rows in [1, 30] {
            let data = Generator::Sinc.make(rows, 1);
            let data = Dataset { target: Target::Values(Matrix::column(vec![3.0; rows])), ..data };
            let fit = NuSvr::default().learn(&data, &Watch::none()).unwrap();
            assert_eq!((fit.machine.n_vectors(), fit.report.status), (0, Status::Converged));
            assert_eq!((fit.machine.offsets[0], fit.machine.metadata.epsilon), (3.0, Some(0.0)));
        }
    }
}
