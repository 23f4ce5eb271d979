//! Support vector classification with nu in place of C.
//!
//! For labels y = +-1: minimise `1/2 |w|^2 - nu n rho + sum_i weight_i max(0, rho - y_i (w.Phi(x_i) + b))` with n the sum of the weights,
//! solved in its dual `min 1/2 a'Qa`, `0 <= a_i <= weight_i`, and the sum of a is `nu n / 2` in either class. nu bounds the part of the
//! margin errors from above and the part of the vectors from below. The machine is then divided by rho, as LIBSVM does: it
//! is the one of cost `C = 1 / rho`, and the objectives are divided by rho^2.
//!
//! Not every nu can be had: a class with fewer than nu n / 2 rows cannot pay its half. Memory: the cache limit and O(n d).
use super::{
    Fit, Learner, Multiclass,
    smo::{self, Held, Parts, Problem, RowSource, Settings},
    support::{Solved, feasible},
    svc,
    two_class::{Plan, TwoClass},
};
use crate::{
    Error, Result,
    data::{Dataset, check_classes},
    error::{require_positive, require_share},
    kernel::Kernel,
    machine::Metadata,
    watch::{Status, Watch},
};

/// The support vector classifier with nu.
#[derive(Clone, Debug)]
pub struct NuSvc {
    /// The kernel. With [`Kernel::Precomputed`] row i of the data holds the kernel values of training row i with all training rows.
    pub kernel: Kernel,
    /// An upper bound on the fraction of margin errors; above 0 and at most 1, and at most twice the fraction of the smaller class.
    pub nu: f64,
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

impl Default for NuSvc {
    fn default() -> Self {
        NuSvc {
            kernel: Kernel::gaussian(1.0),
            nu: 0.5,
            multiclass: Multiclass::OneVsOne,
            tolerance: 1e-3,
            cache_bytes: 200 << 20,
            shrinking: true,
            max_iterations: 100_000_000,
        }
    }
}

impl Learner for NuSvc {
    fn name(&self) -> &'static str {
        "nu-svc"
    }

    fn check(&self) -> Result<()> {
        self.kernel.check()?;
        require_share("nu", self.nu)?;
        require_positive("tolerance", self.tolerance)
    }

    fn learn(&self, data: &Dataset, watch: &Watch) -> Result<Fit> {
        self.check()?;
        let classes = check_classes(data)?;
        let before = watch.evaluations();
        let plan = Plan::new(&self.kernel, data, classes, self.multiclass)?;
        let weight = |i: usize| data.weight(i);
        plan.problems.iter().try_for_each(|problem| self.feasible(problem, &weight))?;
        let settings = Settings {
            tolerance: self.tolerance,
            max_iterations: self.max_iterations,
            cache_bytes: self.cache_bytes,
            shrinking: self.shrinking,
        };
        let solved = plan.solve_all(&settings, watch, |place, rows, settings, watch| {
            self.solve(&plan.problems[place], &weight, rows, settings, watch)
        })?;
        let metadata = Metadata { learner: Some(self.name().into()), nu: Some(self.nu), ..Metadata::default() };
        Ok(plan.fit(&solved, metadata, watch.evaluations() - before))
    }
}

impl NuSvc {
    /// Rejects an infeasible nu: half of it must not exceed the fraction of either class. Without rows on one side the solution is trivial.
    fn feasible(&self, problem: &TwoClass, weight: &dyn Fn(usize) -> f64) -> Result<()> {
        let side = |sign: f64| problem.of_sign(sign, weight).iter().map(|w| w.abs()).sum::<f64>();
        let (smaller, all) = (side(1.0).min(side(-1.0)), side(1.0) + side(-1.0));
        let most = 2.0 * smaller / all;
        match smaller == 0.0 || self.nu <= most {
            true => Ok(()),
            false => {
                let allowed = format!("at most {most:.4}, twice the fraction of the smaller class, to separate {}", problem.between);
                Err(Error::parameter("nu", self.nu, allowed))
            }
        }
    }

    fn solve(
        &self,
        problem: &TwoClass,
        weight: &dyn Fn(usize) -> f64,
        rows: &dyn RowSource,
        settings: &Settings,
        watch: &Watch,
    ) -> Result<Solved> {
        let (lower, upper) = (problem.of_sign(-1.0, weight), problem.of_sign(1.0, weight));
        let (paid_below, paid_above) = (-lower.iter().sum::<f64>(), upper.iter().sum::<f64>());
        if paid_below == 0.0 || paid_above == 0.0 {
            return Ok(svc::solve(problem, weight, None, rows, settings, watch));
        }
        let zeros = vec![0.0; problem.rows.len()];
        let half = 0.5 * self.nu * (paid_below + paid_above);
        let start = Parts { positive: feasible(&zeros, &zeros, &upper, half), negative: feasible(&zeros, &lower, &zeros, -half) };
        let quadratic = Problem { targets: zeros, lower, upper, held: Held::Parts, start: Some(start), ..Problem::default() };
        let mut solution = smo::solve(&quadratic, rows, settings, watch);
        // v = -w.Phi(x) is b - rho at free rows of the positive class, and b + rho at those of the negative.
        let mut rho = -solution.spread;
        if !(rho > 0.0 && rho.is_finite()) {
            if solution.status == Status::Converged {
                return Err(Error::data(format!(
                    "with nu {} no margin is left between {}; lower nu, or take a narrower kernel",
                    self.nu, problem.between
                )));
            }
            // Stopped before there is a margin: the machine of the work so far is kept as it is.
            rho = 1.0;
        }
        solution.offset /= rho;
        solution.objective /= rho * rho;
        solution.coefficients.iter_mut().chain(&mut solution.v).for_each(|value| *value /= rho);
        let margin = |t: usize| problem.signs[t] * (solution.offset - solution.v[t]);
        let loss: f64 = problem.rows.iter().enumerate().map(|(t, &i)| weight(i) * (1.0 - margin(t)).max(0.0)).sum();
        let primal = 0.5 * solution.squared_norm(&quadratic) + (loss - 2.0 * half) / rho;
        Ok(Solved { solution, primal })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{data::Generator, learn::Svc, machine::Machine};

    fn learn(learner: &dyn Learner, data: &Dataset) -> Fit {
        learner.learn(data, &Watch::none()).unwrap()
    }

    fn outputs(machine: &Machine, data: &Dataset) -> Vec<f64> {
        machine.outputs_for(&data.points).unwrap().values().to_vec()
    }

    #[test]
    fn nu_is_the_machine_of_its_own_c() {
        let data = Generator::Ripley.make(250, 1);
        let kernel = Kernel::gaussian(2.0);
        let nu = learn(&NuSvc { nu: 0.4, tolerance: 1e-6, kernel: kernel.clone(), ..NuSvc::default() }, &data);
        // The largest coefficient is at its bound, and the bound is C = 1 / rho.
        let c = nu.machine.expansion.coefficients.stored().values().iter().fold(0.0f64, |a, b| a.max(b.abs()));
        let plain = learn(&Svc { c, tolerance: 1e-6, kernel, ..Svc::default() }, &data);
        for (a, b) in outputs(&nu.machine, &data).iter().zip(outputs(&plain.machine, &data)) {
            assert!((a - b).abs() < 1e-4, "{a} {b}");
        }
        assert!((nu.report.objective + nu.report.dual_objective.unwrap()).abs() < 1e-4 * nu.report.objective.abs());
        // The objective less what nu pays is that of the machine with C.
        assert!((nu.report.objective + c * 0.4 * 250.0) / plain.report.objective - 1.0 < 1e-5);
    }

    #[test]
    fn nu_bounds_the_margin_errors_and_the_vectors() {
        let data = Generator::Noisy.make(400, 1);
        let codes = &data.classes().unwrap().codes;
        for nu in [0.2, 0.5, 0.8] {
            let fit = learn(&NuSvc { nu, kernel: Kernel::gaussian(0.05), ..NuSvc::default() }, &data);
            let margins = outputs(&fit.machine, &data).into_iter().zip(codes).map(|(f, &c)| if c == 1 { f } else { -f });
            let errors = margins.filter(|&margin| margin < 1.0 - 1e-2).count();
            assert!(errors as f64 <= nu * 400.0 && fit.machine.n_vectors() as f64 >= nu * 400.0, "{nu} {errors}");
        }
    }

    #[test]
    fn an_infeasible_nu_is_rejected_with_an_error() {
        let data = Generator::Banana.make(100, 1);
        let codes = data.classes().unwrap().codes.clone();
        let few: Vec<usize> = (0..100).filter(|&i| codes[i] == 0 || i < 20).collect();
        let error = NuSvc { nu: 0.9, ..NuSvc::default() }.learn(&data.select(&few), &Watch::none()).unwrap_err().to_string();
        assert!(error.starts_with("nu is 0.9, but must be at most 0."), "{error}");
        assert!(error.ends_with("twice the fraction of the smaller class, to separate the classes 1 and -1"), "{error}");
    }

    #[test]
    fn several_classes_take_every_form() {
        let data = crate::data::waveform3(300, 1);
        for (multiclass, outputs) in [(Multiclass::OneVsOne, 3), (Multiclass::OneVsRest, 3), (Multiclass::OutputCodes { seed: 1 }, 3)] {
            let fit = learn(&NuSvc { nu: 0.3, kernel: Kernel::gaussian(0.02), multiclass, ..NuSvc::default() }, &data);
            assert_eq!(fit.machine.n_outputs(), outputs);
            assert!(fit.machine.score(&data).unwrap().loss() < 0.15);
        }
    }
}
