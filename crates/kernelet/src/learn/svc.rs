//! Support vector classification with cost C.
//!
//! For labels y = +-1: minimise `1/2 |w|^2 + C sum_i weight_i max(0, 1 - y_i (w.Phi(x_i) + b))`, solved in its dual
//! `min 1/2 a'Qa - sum a`, `0 <= a_i <= C weight_i`, `y'a = 0`. C is LIBSVM's.
//!
//! Memory: the cache limit and O(n d).
use super::{
    ClassWeights, Fit, Learner, Multiclass,
    smo::{self, Parts, Problem, RowSource, Settings},
    support::{Solved, feasible},
    two_class::{Plan, TwoClass},
};
use crate::{
    Result,
    data::{Dataset, check_classes},
    error::{require_cost, require_positive},
    kernel::Kernel,
    linalg::Matrix,
    machine::{Machine, Metadata},
    watch::Watch,
};

/// The support vector classifier.
#[derive(Clone, Debug)]
pub struct Svc {
    /// The kernel. With [`Kernel::Precomputed`] row i of the data holds the kernel values of training row i with all training rows.
    pub kernel: Kernel,
    /// The cost of a margin error; above 0.
    pub c: f64,
    /// Factors of C for each class.
    pub class_weights: ClassWeights,
    /// How several classes become two-class problems.
    pub multiclass: Multiclass,
    /// Stop when no pair violates the optimality conditions by more than this; LIBSVM's epsilon.
    pub tolerance: f64,
    /// Bytes for cached kernel rows.
    pub cache_bytes: usize,
    /// Leave variables alone that look settled at a bound.
    pub shrinking: bool,
    /// Steps after which a problem stops unfinished.
    pub max_iterations: u64,
}

impl Default for Svc {
    fn default() -> Self {
        Svc {
            kernel: Kernel::gaussian(1.0),
            c: 1.0,
            class_weights: ClassWeights::Equal,
            multiclass: Multiclass::OneVsOne,
            tolerance: 1e-3,
            cache_bytes: 200 << 20,
            shrinking: true,
            max_iterations: 100_000_000,
        }
    }
}

impl Learner for Svc {
    fn name(&self) -> &'static str {
        "svc"
    }

    fn check(&self) -> Result<()> {
        self.kernel.check()?;
        require_cost(self.c)?;
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

impl Svc {
    fn run(&self, data: &Dataset, earlier: Option<&Machine>, watch: &Watch) -> Result<Fit> {
        self.check()?;
        let classes = check_classes(data)?;
        let weights = self.class_weights.of(classes)?;
        let bound = |i: usize| self.c * weights[classes.codes[i] as usize] * data.weight(i);
        let before = watch.evaluations();
        let plan = Plan::new(&self.kernel, data, classes, self.multiclass)?;
        let known = plan.known(earlier);
        let settings = Settings {
            tolerance: self.tolerance,
            max_iterations: self.max_iterations,
            cache_bytes: self.cache_bytes,
            shrinking: self.shrinking,
        };
        let solved = plan.solve_all(&settings, watch, |place, rows, settings, watch| {
            let start = known.as_ref().map(|known| (known, place));
            Ok(solve(&plan.problems[place], &bound, start, rows, settings, watch))
        })?;
        let metadata = Metadata {
            learner: Some(self.name().into()),
            c: Some(self.c),
            class_weights: (self.class_weights != ClassWeights::Equal).then(|| weights.clone()),
            ..Metadata::default()
        };
        Ok(plan.fit(&solved, metadata, watch.evaluations() - before))
    }
}

/// Solves one two-class problem in which row i costs `bound(i)`; `start` is a column of coefficients for all rows.
pub(super) fn solve(
    problem: &TwoClass,
    bound: &dyn Fn(usize) -> f64,
    start: Option<(&Matrix, usize)>,
    rows: &dyn RowSource,
    settings: &Settings,
    watch: &Watch,
) -> Solved {
    let (lower, upper) = (problem.of_sign(-1.0, bound), problem.of_sign(1.0, bound));
    let start = start.map(|(known, column)| {
        let wish: Vec<f64> = problem.rows.iter().map(|&i| known.at(i, column)).collect();
        Parts::of(&feasible(&wish, &lower, &upper, 0.0))
    });
    let quadratic = Problem { targets: problem.signs.clone(), lower, upper, start, ..Problem::default() };
    let solution = smo::solve(&quadratic, rows, settings, watch);
    let margin_error = |(t, &i): (usize, &usize)| bound(i) * (problem.signs[t] * (solution.v[t] - solution.offset)).max(0.0);
    let loss: f64 = problem.rows.iter().enumerate().map(margin_error).sum();
    Solved { primal: 0.5 * solution.squared_norm(&quadratic) + loss, solution }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, atomic::AtomicBool};

    use super::*;
    use crate::{data::waveform3, watch::Status};

    #[test]
    fn cancelling_reaches_every_two_class_problem_and_leaves_a_machine_that_predicts() {
        let data = waveform3(600, 1);
        for multiclass in [Multiclass::OneVsOne, Multiclass::OneVsRest, Multiclass::OutputCodes { seed: 1 }] {
            let watch = Watch::none().with_cancel(Arc::new(AtomicBool::new(true)));
            let fit = Svc { multiclass, c: 1e3, kernel: Kernel::gaussian(0.01), ..Svc::default() }.learn(&data, &watch).unwrap();
            assert_eq!(fit.report.status, Status::Cancelled);
            assert!(fit.machine.check().is_ok());
            assert!(fit.machine.outputs_for(&data.points).unwrap().values().iter().all(|v| v.is_finite()));
        }
    }

    #[test]
    fn a_warm_start_takes_fewer_steps_to_the_same_objective() {
        let data = waveform3(500, 1);
        for multiclass in [Multiclass::OneVsOne, Multiclass::OneVsRest] {
            let learner = Svc { multiclass, c: 2.0, kernel: Kernel::gaussian(0.02), ..Svc::default() };
            let cold = learner.learn(&data, &Watch::none()).unwrap();
            let warm = learner.learn_from(&cold.machine, &data, &Watch::none()).unwrap();
            assert!(warm.report.iterations * 4 < cold.report.iterations, "{} {}", warm.report.iterations, cold.report.iterations);
            assert!((warm.report.objective / cold.report.objective - 1.0).abs() < 1e-4);
            // Fewer rows and another cost: what no longer fits is cut, what is not there is left out.
            let part = data.select(&(0..300).collect::<Vec<_>>());
            let less = Svc { c: 0.5, ..learner };
            let (from_zero, from_there) =
                (less.learn(&part, &Watch::none()).unwrap(), less.learn_from(&cold.machine, &part, &Watch::none()).unwrap());
            assert!((from_there.report.objective / from_zero.report.objective - 1.0).abs() < 1e-4);
        }
    }

    #[test]
    fn a_machine_of_another_kind_is_no_start_and_does_no_harm() {
        let data = waveform3(200, 1);
        let rest = Svc { multiclass: Multiclass::OneVsRest, ..Svc::default() }.learn(&data, &Watch::none()).unwrap().machine;
        let codes = Svc { multiclass: Multiclass::OutputCodes { seed: 1 }, ..Svc::default() };
        let fits = [codes.learn(&data, &Watch::none()).unwrap(), codes.learn_from(&rest, &data, &Watch::none()).unwrap()];
        assert!((fits[0].report.objective / fits[1].report.objective - 1.0).abs() < 1e-4);
    }
}
