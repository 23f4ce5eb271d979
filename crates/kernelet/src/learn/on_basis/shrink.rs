//! Fewer vectors than the basis has, where the machine has few support vectors.
//!
//! A machine on a basis of m vectors may be supported by s < m rows. The paper then evaluates `sum y_i a_i k(x_i, x)` over those rows instead, so that a
//! prediction costs min(s, m) kernel values. That is another function than the one that was trained, whose rows are projected on the basis, and
//! its offset does not belong to it: here the offset is found anew, as the one of least margin errors. `retrain` takes the rows as a
//! basis of their own and trains again, which keeps the optimum exact for the vectors there are.
use super::{FrameLearner, InFrame, fit};
use crate::{
    Error, Named, Result,
    basis::{Basis, JITTER},
    data::Dataset,
    learn::{
        Fit,
        margin_problem::{MarginProblem, best_offset},
    },
    linalg::Matrix,
    machine::{Coefficients, Expansion},
    watch::Watch,
};

/// Multipliers up to this part of the largest count as zero: the interior point method leaves none at the bound itself.
const NO_MULTIPLIER: f64 = 1e-6;

/// What is done where a machine has fewer support vectors than its basis has vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Shrink {
    /// Nothing.
    #[default]
    Never,
    /// The support vectors with the exact kernel take the place of the basis, and the offset is found anew.
    SupportVectors,
    /// The support vectors become the basis, and the machine is trained again.
    Retrain,
}

impl Named for Shrink {
    const NAMES: &'static [(&'static str, Self)] =
        &[("never", Shrink::Never), ("sv", Shrink::SupportVectors), ("retrain", Shrink::Retrain)];
}

impl Shrink {
    /// An error for learners that have no support vectors to look at.
    pub(super) fn check_for(self, learner: &str) -> Result<()> {
        match self == Shrink::Never || learner == "svc" {
            true => Ok(()),
            false => {
                Err(Error::parameter("shrink", self.name(), format!("never for {learner}; only svc has the support vectors that it needs")))
            }
        }
    }

    /// The rows that support the machine, where they are to take the place of the basis.
    pub(super) fn support(self, basis: &Basis, found: &InFrame) -> Option<Vec<usize>> {
        let multipliers = found.multipliers.as_ref().filter(|_| self != Shrink::Never)?;
        let largest = multipliers.values().iter().fold(0.0, |most: f64, a| most.max(a.abs()));
        let rows: Vec<usize> =
            (0..multipliers.rows()).filter(|&i| multipliers.row(i).iter().any(|a| a.abs() > NO_MULTIPLIER * largest)).collect();
        (!rows.is_empty() && rows.len() < basis.frame.len()).then_some(rows)
    }

    /// The machine on the rows `support`.
    pub(super) fn apply(
        self,
        learner: &dyn FrameLearner,
        basis: &Basis,
        found: InFrame,
        support: &[usize],
        data: &Dataset,
        watch: &Watch,
    ) -> Result<Fit> {
        let kernel = basis.frame.kernel();
        let vectors = data.points.select(support);
        watch.evaluated((support.len() * data.len()) as u64);
        if self == Shrink::Retrain {
            let basis = Basis::of_vectors(kernel, &data.points, &vectors, support.to_vec(), JITTER)?;
            let again = learner.learn_in_frame(data, &basis, watch)?;
            return fit(&basis, again, data);
        }
        let coefficients = found.multipliers.as_ref().map(|all| all.select(support)).unwrap_or_default();
        let multipliers = found.multipliers.clone().unwrap_or_default();
        let mut exact = fit(basis, found, data)?;
        let offsets = vec![0.0; exact.machine.offsets.len()];
        exact.machine.expansion = Expansion { kernel: kernel.clone(), vectors, coefficients: Coefficients::Dense(coefficients) };
        exact.machine.offsets = offsets;
        let values = exact.machine.outputs_for(&data.points)?;
        exact.machine.offsets = (0..values.cols()).map(|k| offset(&values, &multipliers, k, data, &exact)).collect();
        Ok(exact)
    }
}

/// The offset of least margin errors of output `k`; outputs without multipliers keep none.
fn offset(values: &Matrix, multipliers: &Matrix, k: usize, data: &Dataset, fit: &Fit) -> f64 {
    let Ok(classes) = data.classes() else { return 0.0 };
    let weights = fit.machine.metadata.class_weights.as_deref();
    let side = |i: usize| fit.machine.decision.side(k, classes.codes[i] as usize).map(|side| (i, side));
    let (rows, signs): (Vec<usize>, Vec<f64>) = (0..data.len()).filter_map(side).unzip();
    let cost = |&i: &usize| data.weight(i) * weights.and_then(|w| w.get(classes.codes[i] as usize)).copied().unwrap_or(1.0);
    let costs: Vec<f64> = rows.iter().map(cost).collect();
    if multipliers.col(k).iter().all(|a| *a == 0.0) {
        return signs.first().copied().unwrap_or(0.0);
    }
    let values: Vec<f64> = rows.iter().map(|&i| values.at(i, k)).collect();
    let none = Matrix::zeros(0, 0);
    best_offset(&values, &MarginProblem { rows: &none, signs: &signs, costs: &costs, margins: None })
}
