//! Any learner on a basis that is chosen before training.
//!
//! With an orthonormal basis of the span of m vectors ([`Frame`](crate::basis::Frame)), row i has the coordinates `v_i = L^-1 k_z(x_i)`, and a machine whose
//! w lies in the span is linear in them: `f(x_i) = w.v_i + b`. A [`FrameLearner`] finds w and b from the coordinates alone; the coefficients on
//! the vectors are `L^-T w`. The paper calls the result SVM+Approx and KFLD+Approx: learning with the kernel
//! `k_z(x)' (K^z)^-1 k_z(x')` in place of k(x, x') [Franc2003 (3)].
//!
//! Cost: that of the basis, n m (d + m), and of the linear problem, n m^2 a step. No n x n matrix. It is inaccurate where the span of
//! m vectors is far from the rows, which [`BasisMetadata`] reports; the vectors are chosen without the targets.
mod family;
mod pca;
mod ridge;
mod shrink;
mod size;
mod support_basis;
mod svc;
mod svr;
#[cfg(test)]
mod tests;

pub(crate) use pca::{shares, total_variance};
pub use shrink::Shrink;
pub use size::BestSize;
pub use support_basis::SupportBasis;

use super::{Fit, Learner, Report, support::rows_that_count};
use crate::{
    Error, Named, Result,
    basis::{Basis, BasisBudget, BasisMethod},
    data::Dataset,
    kernel::Kernel,
    linalg::Matrix,
    machine::{BasisMetadata, Calibration, Coefficients, Decision, Expansion, Machine, Metadata},
    watch::{Status, Watch},
};

/// A learner that can learn in the coordinates of a basis.
pub trait FrameLearner: Learner {
    /// The kernel that spans the basis.
    fn kernel(&self) -> &Kernel;
    /// Learns from the coordinates of the rows. All rows have a weight above 0. The report's evaluations are those made beyond the basis.
    fn learn_in_frame(&self, data: &Dataset, basis: &Basis, watch: &Watch) -> Result<InFrame>;
}

/// A machine in the coordinates of a basis.
#[derive(Clone, Debug)]
pub struct InFrame {
    /// One row for each coordinate, one column for each output.
    pub weights: Matrix,
    /// One for each output.
    pub offsets: Vec<f64>,
    /// What the outputs mean.
    pub decision: Decision,
    /// How outputs become probabilities, where that is known.
    pub calibration: Option<Calibration>,
    /// How it was trained.
    pub metadata: Metadata,
    /// How it came about.
    pub report: Report,
    /// For each row and output the coefficient `y a` of the dual problem, where the learner solves one.
    pub multipliers: Option<Matrix>,
}

/// A learner on a basis of few vectors.
pub struct OnBasis {
    /// The method that chooses the vectors.
    pub basis: Box<dyn BasisMethod>,
    /// How many.
    pub budget: BasisBudget,
    /// The estimator in their coordinates.
    pub learner: Box<dyn FrameLearner>,
    /// What is done where the machine has fewer support vectors than the basis has vectors.
    pub shrink: Shrink,
}

impl Learner for OnBasis {
    fn name(&self) -> &'static str {
        self.learner.name()
    }

    fn check(&self) -> Result<()> {
        self.learner.check()?;
        self.basis.check()?;
        self.shrink.check_for(self.learner.name())?;
        self.budget.check_for(self.learner.kernel())
    }

    fn learn(&self, data: &Dataset, watch: &Watch) -> Result<Fit> {
        self.learn_within(&self.budget, data, watch)
    }

    /// Machines on the first vectors of one basis, each with twice as many as the one before; on centres of clusters the one machine.
    fn learn_path(&self, data: &Dataset, watch: &Watch) -> Result<Vec<Fit>> {
        let last = self.learn(data, watch)?;
        if !self.basis.grows() || last.report.status == Status::Cancelled {
            return Ok(vec![last]);
        }
        let sizes: Vec<usize> = (0..usize::BITS).map(|i| 1 << i).take_while(|&size| size < last.machine.n_vectors()).collect();
        let mut path = self.path(&sizes, data, watch)?;
        path.push(last.ended(watch));
        Ok(path)
    }
}

impl OnBasis {
    /// The basis for the rows that count, and what is kept of how it was chosen.
    pub(crate) fn chosen(&self, data: &Dataset, watch: &Watch) -> Result<(Basis, BasisMetadata)> {
        self.check()?;
        let basis = self.basis.choose_for(self.learner.kernel(), &data.select(&rows_that_count(data)?), &self.budget, watch)?;
        let metadata = self.metadata(&self.budget, &basis);
        Ok((basis, metadata))
    }

    /// Learns with another budget than its own.
    fn learn_within(&self, budget: &BasisBudget, data: &Dataset, watch: &Watch) -> Result<Fit> {
        self.check()?;
        data.check()?;
        let rows = rows_that_count(data)?;
        if rows.len() < data.len() {
            return self.learn_from_all(budget, &data.select(&rows), data.len(), watch);
        }
        self.learn_from_all(budget, data, data.len(), watch)
    }

    /// Machines on the first so many vectors of one basis, for each of `sizes`; where there are fewer vectors, on all. For methods that add one vector
    /// after the other, so not for centres of clusters. Support vectors do not take the place of the basis here.
    pub fn path(&self, sizes: &[usize], data: &Dataset, watch: &Watch) -> Result<Vec<Fit>> {
        self.check()?;
        data.check()?;
        let data = &data.select(&rows_that_count(data)?);
        let budget = BasisBudget { max_vectors: sizes.iter().copied().max().unwrap_or(1), ..self.budget.clone() };
        let whole = self.basis.choose_for(self.learner.kernel(), data, &budget, watch)?;
        let at = |&size: &usize| {
            let basis = whole.leading(size);
            let mut fit = fit(&basis, self.learner.learn_in_frame(data, &basis, watch)?, data)?;
            fit.machine.metadata.basis = Some(self.metadata(&BasisBudget { max_vectors: size, ..budget.clone() }, &basis));
            Ok(fit.ended(watch))
        };
        sizes.iter().map(at).collect()
    }

    /// Learns from rows that all count; `rows` is the number of those that were given.
    fn learn_from_all(&self, budget: &BasisBudget, data: &Dataset, rows: usize, watch: &Watch) -> Result<Fit> {
        let before = watch.evaluations();
        let basis = self.basis.choose_for(self.learner.kernel(), data, budget, watch)?;
        let found = self.learner.learn_in_frame(data, &basis, watch)?;
        let mut metadata = self.metadata(budget, &basis);
        let mut fit = match self.shrink.support(&basis, &found) {
            None => fit(&basis, found, data)?,
            Some(support) => {
                metadata.shrunk = Some(self.shrink.name().into());
                self.shrink.apply(&*self.learner, &basis, found, &support, data, watch)?
            }
        };
        if metadata.capped {
            fit.report.status = fit.report.status.worse(Status::Capped);
        }
        fit.report.status = fit.report.status.worse(basis.status);
        fit.report.evaluations += watch.evaluations() - before;
        fit.machine.metadata = Metadata { n_rows: Some(rows), basis: Some(metadata), ..fit.machine.metadata };
        fit.machine.check()?;
        Ok(fit.ended(watch))
    }

    fn metadata(&self, budget: &BasisBudget, basis: &Basis) -> BasisMetadata {
        let (asked, found) = (budget.max_vectors, basis.frame.len());
        let near_enough = budget.max_error > 0.0 && basis.largest_error() <= budget.max_error;
        BasisMetadata {
            method: self.basis.name().into(),
            asked,
            // Fewer vectors that are near enough to all rows are what was asked for, and any number where none was.
            capped: found < asked && asked < usize::MAX && basis.status != Status::Cancelled && !near_enough,
            largest_error: basis.largest_error(),
            mean_error: basis.mean_error(),
            evaluations: basis.evaluations,
            evaluations_of_the_paper: basis.evaluations_of_the_paper(),
            shrunk: None,
            variant: self.basis.variant(),
            sizes: vec![],
        }
    }
}

/// The machine on the vectors of the basis.
pub(crate) fn fit(basis: &Basis, found: InFrame, data: &Dataset) -> Result<Fit> {
    let coefficients = basis.frame.coefficients(&found.weights);
    if !coefficients.values().iter().all(|value| value.is_finite()) {
        return Err(Error::data("the coefficients are not finite; scale the data, or ask for fewer vectors"));
    }
    let expansion = Expansion {
        kernel: basis.frame.kernel().clone(),
        vectors: basis.frame.vectors().clone(),
        coefficients: Coefficients::Dense(coefficients),
    };
    let machine = Machine {
        expansion,
        offsets: found.offsets,
        decision: found.decision,
        scale: None,
        names: data.names.clone(),
        calibration: found.calibration,
        metadata: Metadata { objective: Some(found.report.objective), ..found.metadata },
    };
    // The rows that support it in coordinates are not its vectors.
    Ok(Fit { machine, report: Report { support: None, ..found.report } })
}
