//! The support vectors of the full machine as a basis, however many there are.
//!
//! [Franc2003 (Section 4.1)] notes that the vectors that determine the machine should be approximated best: train, take the support vectors as the basis, train again. Their
//! span contains the weight vector of the full machine, so that the machine on them is the same one, up to tolerances; with classes that share them, those of each class help
//! the others. Cost: that of the full machine, and of one on so many vectors.
use crate::{
    Error, Result,
    basis::{Basis, BasisBudget, BasisMethod, JITTER},
    data::{Dataset, Points},
    kernel::Kernel,
    learn::{Learner, Svc},
    watch::Watch,
};

/// The basis of the support vectors of this machine, with the kernel that it is chosen for.
#[derive(Clone, Debug)]
pub struct SupportBasis {
    /// The full machine.
    pub svc: Svc,
}

impl BasisMethod for SupportBasis {
    fn name(&self) -> &'static str {
        "support-vectors"
    }

    /// They come in the order of the rows.
    fn grows(&self) -> bool {
        false
    }

    fn choose(&self, _: &Kernel, _: &Points, _: &BasisBudget, _: &Watch) -> Result<Basis> {
        Err(Error::data("support-vectors are those of a machine that is trained on classes, but there are points alone"))
    }

    fn choose_for(&self, kernel: &Kernel, data: &Dataset, budget: &BasisBudget, watch: &Watch) -> Result<Basis> {
        budget.check(kernel, &data.points)?;
        let before = watch.evaluations();
        let multiclass = self.svc.multiclass.on_given_vectors();
        let full = Svc { kernel: kernel.clone(), multiclass, ..self.svc.clone() }.learn(data, watch)?;
        let basis = Basis::of_vectors(kernel, &data.points, &full.machine.expansion.vectors, vec![], JITTER)?;
        watch.evaluated(basis.evaluations);
        Ok(Basis { status: full.report.status, evaluations: watch.evaluations() - before, ..basis })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        data::{banana, waveform3},
        learn::{OnBasis, Shrink},
        watch::Watch,
    };

    #[test]
    fn section_4_1_the_machine_on_its_own_support_vectors_is_the_full_one() {
        for (data, gamma) in [(banana(120, 1), 1.0), (waveform3(120, 2), 0.05)] {
            let svc = Svc {
                kernel: Kernel::gaussian(gamma),
                c: 5.0,
                multiclass: crate::learn::Multiclass::Shared,
                tolerance: 1e-6,
                ..Svc::default()
            };
            let one_each = Svc { multiclass: crate::learn::Multiclass::OneVsRest, ..svc.clone() };
            let full = one_each.learn(&data, &Watch::none()).unwrap().machine;
            let (basis, budget) = (Box::new(SupportBasis { svc: svc.clone() }), BasisBudget::vectors(usize::MAX));
            let again =
                OnBasis { basis, budget, learner: Box::new(svc), shrink: Shrink::Never }.learn(&data, &Watch::none()).unwrap().machine;
            assert_eq!(again.n_vectors(), full.n_vectors());
            assert!(full.n_vectors() < data.len());
            let (have, want) = (again.outputs_for(&data.points).unwrap(), full.outputs_for(&data.points).unwrap());
            let largest = have.values().iter().zip(want.values()).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(largest < 1e-3, "{largest}");
        }
    }

    #[test]
    fn points_without_classes_have_none() {
        let points = banana(10, 1).points;
        let basis = SupportBasis { svc: Svc::default() };
        assert!(basis.choose(&Kernel::gaussian(1.0), &points, &BasisBudget::vectors(3), &Watch::none()).is_err());
    }
}
