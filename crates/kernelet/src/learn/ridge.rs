//! Kernel ridge regression.
//!
//! Minimise `sum_i weight_i (y_i - w.Phi(x_i))^2 + lambda |w|^2`; then `(K + lambda diag(1/weight)) a = y`, and all targets share the
//! one factor. There is no offset: centre the targets where their mean is far from zero. Cost: n^2 d for the kernel matrix,
//! n^3/3 for the factor, n^2 for each target; memory n^2.
use super::{Fit, Learner, Report};
use crate::{
    Error, Result,
    data::Dataset,
    error::require_positive,
    kernel::{Kernel, block},
    linalg::{Cholesky, Matrix, dot},
    machine::{Coefficients, Decision, Expansion, Machine, Metadata},
    watch::{Status, Watch},
};

/// The kernel ridge regressor.
#[derive(Clone, Debug)]
pub struct Ridge {
    /// The kernel; it must be definite.
    pub kernel: Kernel,
    /// The penalty of |w|^2; above 0.
    pub lambda: f64,
}

impl Default for Ridge {
    fn default() -> Self {
        Ridge { kernel: Kernel::gaussian(1.0), lambda: 1.0 }
    }
}

impl Learner for Ridge {
    fn name(&self) -> &'static str {
        "ridge"
    }

    fn check(&self) -> Result<()> {
        self.kernel.check()?;
        require_positive("lambda", self.lambda)?;
        if matches!(self.kernel, Kernel::Precomputed(_)) || !self.kernel.profile().definite() {
            let instead = "use a definite kernel of two vectors, such as gaussian".into();
            return Err(Error::Unsupported { method: self.name(), with: format!("the {} kernel", self.kernel.name()), instead });
        }
        Ok(())
    }

    fn learn(&self, data: &Dataset, watch: &Watch) -> Result<Fit> {
        self.check()?;
        data.check()?;
        let targets = data.values()?;
        let rows: Vec<usize> = (0..data.len()).filter(|&i| data.weight(i) > 0.0).collect();
        if rows.is_empty() {
            return Err(Error::data("no row has a weight above 0"));
        }
        watch.report("kernel matrix", 0, None, None);
        let before = watch.evaluations();
        let (points, targets) = (data.points.select(&rows), targets.select(&rows));
        let penalties: Vec<f64> = rows.iter().map(|&i| self.lambda / data.weight(i)).collect();
        let coefficients = self.solve(&points, &targets, &penalties, watch)?;
        let objective = self.objective(&targets, &coefficients, &penalties);
        let metadata = Metadata {
            learner: Some(self.name().into()),
            lambda: Some(self.lambda),
            n_rows: Some(data.len()),
            objective: Some(objective),
            ..Metadata::default()
        };
        let report = Report {
            objective,
            dual_objective: None,
            iterations: 1,
            status: Status::Converged,
            evaluations: watch.evaluations() - before,
            support: None,
        };
        let offsets = vec![0.0; targets.cols()];
        let expansion = Expansion { kernel: self.kernel.clone(), vectors: points, coefficients: Coefficients::Dense(coefficients) };
        let machine =
            Machine { expansion, offsets, decision: Decision::Values, scale: None, names: data.names.clone(), calibration: None, metadata };
        Ok(Fit { machine, report })
    }
}

impl Ridge {
    fn solve(&self, points: &crate::data::Points, targets: &Matrix, penalties: &[f64], watch: &Watch) -> Result<Matrix> {
        let mut gram = block::symmetric(&self.kernel, points);
        watch.evaluated((points.len() * (points.len() + 1) / 2) as u64);
        for (i, penalty) in penalties.iter().enumerate() {
            gram.row_mut(i)[i] += penalty;
        }
        watch.report("solving", 0, None, None);
        let Some(factor) = Cholesky::new(&gram) else {
            return Err(Error::data(format!(
                "the kernel matrix with lambda {} on its diagonal is not positive definite to working precision; raise lambda",
                self.lambda
            )));
        };
        let mut coefficients = targets.clone();
        factor.solve(&mut coefficients);
        match coefficients.values().iter().all(|v| v.is_finite()) {
            true => Ok(coefficients),
            false => Err(Error::data("the coefficients are not finite; scale the data and targets, or raise lambda")),
        }
    }

    /// The residual at row i is penalty_i a_i, and w.Phi(x_i) = y_i less that.
    fn objective(&self, targets: &Matrix, coefficients: &Matrix, penalties: &[f64]) -> f64 {
        (0..targets.cols())
            .map(|k| {
                let (y, a) = (targets.col(k), coefficients.col(k));
                let residual: Vec<f64> = a.iter().zip(penalties).map(|(a, p)| a * p).collect();
                // weight_i residual_i^2 = lambda a_i residual_i, and |w|^2 = a'(y - residual).
                self.lambda * (dot(&a, &residual) + dot(&a, &y) - dot(&a, &residual))
            })
            .sum()
    }
}
