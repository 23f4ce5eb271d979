//! The rest of the support vector family on a basis: the learner itself with the linear kernel, the coordinates as its points.
//!
//! Its machine is `f = sum_i a_i v_i.v + b`, so that `w = sum_i a_i v_i`. Cost: that of the dual solver with kernel rows of n m.
use super::{FrameLearner, InFrame};
use crate::{
    Result,
    basis::Basis,
    data::Dataset,
    kernel::{Kernel, Linear},
    learn::{Learner, NuSvc, NuSvr, OneClass},
    linalg::{Matrix, transposed_times},
    watch::Watch,
};

impl FrameLearner for OneClass {
    fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    fn learn_in_frame(&self, data: &Dataset, basis: &Basis, watch: &Watch) -> Result<InFrame> {
        linear(&OneClass { kernel: Kernel::Linear(Linear {}), ..self.clone() }, data, basis, watch)
    }
}

impl FrameLearner for NuSvr {
    fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    fn learn_in_frame(&self, data: &Dataset, basis: &Basis, watch: &Watch) -> Result<InFrame> {
        linear(&NuSvr { kernel: Kernel::Linear(Linear {}), ..self.clone() }, data, basis, watch)
    }
}

impl FrameLearner for NuSvc {
    fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    fn learn_in_frame(&self, data: &Dataset, basis: &Basis, watch: &Watch) -> Result<InFrame> {
        let multiclass = self.multiclass.on_given_vectors();
        linear(&NuSvc { kernel: Kernel::Linear(Linear {}), multiclass, ..self.clone() }, data, basis, watch)
    }
}

/// The machine of a learner with the linear kernel on the coordinates, as weights.
fn linear(learner: &dyn Learner, data: &Dataset, basis: &Basis, watch: &Watch) -> Result<InFrame> {
    let rows = Dataset { points: basis.coordinates.clone().into(), names: None, ..data.clone() };
    // Inner products of coordinates are no kernel evaluations, so their count is left behind.
    let fit = learner.learn(&rows, &watch.silent())?;
    let (vectors, coefficients) = (fit.machine.expansion.vectors.to_dense(), fit.machine.expansion.coefficients.to_dense());
    let columns: Vec<Vec<f64>> = (0..coefficients.cols()).map(|k| transposed_times(&vectors, &coefficients.col(k))).collect();
    let mut report = fit.report;
    report.evaluations = 0;
    Ok(InFrame {
        weights: Matrix::from_fn(basis.frame.len(), coefficients.cols(), |j, k| columns[k].get(j).copied().unwrap_or(0.0)),
        offsets: fit.machine.offsets,
        decision: fit.machine.decision,
        calibration: None,
        metadata: fit.machine.metadata,
        report,
        multipliers: None,
    })
}
