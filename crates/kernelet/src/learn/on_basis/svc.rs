//! The support vector classifier on a basis: the paper's SVM+Approx [Franc2003 (3)], and the refit `margin` of any machine [Wu2006 (28)].
//!
//! `min 1/2 |w|^2 + sum_i c_i max(0, 1 - y_i (w.v_i + b))`, solved to a small duality gap, for each two-class problem. The settings of the dual
//! solver (tolerance, cache) are not used. Cost: n m^2 for each of 10 to 30 steps and output.
use super::{FrameLearner, InFrame};
use crate::{
    Result,
    basis::Basis,
    data::{Dataset, check_classes},
    kernel::Kernel,
    learn::{
        ClassWeights, Learner, Report, Svc,
        margin::MarginSettings,
        margin_outputs::{OutputMachine, Sides, offsets_of, solve_outputs, weights_of},
        two_class::decision,
    },
    linalg::Matrix,
    machine::Metadata,
    watch::{Status, Watch},
};

impl FrameLearner for Svc {
    fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    fn learn_in_frame(&self, data: &Dataset, basis: &Basis, watch: &Watch) -> Result<InFrame> {
        let classes = check_classes(data)?;
        let weights = self.class_weights.of(classes)?;
        let codes: Vec<usize> = classes.codes.iter().map(|&code| code as usize).collect();
        let costs: Vec<f64> = codes.iter().enumerate().map(|(i, &class)| self.c * weights[class] * data.weight(i)).collect();
        let decision = decision(&classes.labels, self.multiclass.on_given_vectors())?;
        let sides = Sides { decision: &decision, classes: &codes, costs: &costs };
        let machines = solve_outputs(&basis.coordinates, &sides, &MarginSettings::default(), watch);
        let metadata = Metadata {
            learner: Some(self.name().into()),
            c: Some(self.c),
            class_weights: (self.class_weights != ClassWeights::Equal).then_some(weights),
            ..Metadata::default()
        };
        Ok(InFrame {
            weights: weights_of(&machines),
            offsets: offsets_of(&machines),
            decision,
            calibration: None,
            metadata,
            report: report(&machines),
            multipliers: Some(multipliers(&machines, data.len())),
        })
    }
}

fn report(machines: &[OutputMachine]) -> Report {
    Report {
        objective: machines.iter().map(|machine| machine.solution.primal).sum(),
        // LIBSVM's sign: the dual that is minimised.
        dual_objective: Some(-machines.iter().map(|machine| machine.solution.dual).sum::<f64>()),
        iterations: machines.iter().map(|machine| machine.solution.iterations as u64).sum(),
        status: machines.iter().fold(Status::Converged, |worst, machine| worst.worse(machine.solution.status)),
        evaluations: 0,
        support: None,
    }
}

/// `y a` of each row and output.
fn multipliers(machines: &[OutputMachine], rows: usize) -> Matrix {
    let mut out = Matrix::zeros(rows, machines.len());
    for (k, machine) in machines.iter().enumerate() {
        for ((&i, sign), a) in machine.rows.iter().zip(&machine.signs).zip(&machine.solution.multipliers) {
            out.row_mut(i)[k] = sign * a;
        }
    }
    out
}
