//! A learner on a basis of rows whose kernel values are given.
//!
//! The learner has the linear kernel and sees points whose dot products are the given values ([`EmpiricalPoints`]); the rows that it chose become the vectors of
//! a machine with the precomputed kernel. Cost: n r^2 for the points, with r the rank of the kernel matrix, and that of the learner.
use super::{Fit, Learner};
use crate::{Result, basis::EmpiricalPoints, data::Dataset, watch::Watch};

/// A learner for rows of kernel values.
pub struct OnGram {
    /// The estimator; it has the linear kernel and chooses its vectors among the rows.
    pub learner: Box<dyn Learner>,
}

impl Learner for OnGram {
    fn name(&self) -> &'static str {
        self.learner.name()
    }

    fn check(&self) -> Result<()> {
        self.learner.check()
    }

    fn learn(&self, data: &Dataset, watch: &Watch) -> Result<Fit> {
        let empirical = EmpiricalPoints::of(&data.points)?;
        let fit = self.learner.learn(&on_points(data, &empirical), watch)?;
        Ok(Fit { machine: empirical.back(&fit.machine)?, ..fit })
    }

    fn learn_path(&self, data: &Dataset, watch: &Watch) -> Result<Vec<Fit>> {
        let empirical = EmpiricalPoints::of(&data.points)?;
        let path = self.learner.learn_path(&on_points(data, &empirical), watch)?;
        path.into_iter().map(|fit| Ok(Fit { machine: empirical.back(&fit.machine)?, ..fit })).collect()
    }
}

fn on_points(data: &Dataset, empirical: &EmpiricalPoints) -> Dataset {
    Dataset { weights: data.weights.clone(), ..Dataset::new(empirical.points.clone(), data.target.clone()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        basis::{BasisBudget, BasisMethod, GreedyBasis, KMeans},
        data::banana,
        kernel::{Kernel, Linear, Polynomial, block::block},
        learn::{Fisher, FrameLearner, OnBasis, Pca, Shrink, Svc},
    };

    /// No two rows have the same k(x, x), so that the first vector is the same with computed and with given kernel values.
    fn kernel() -> Kernel {
        Kernel::Polynomial(Polynomial { gamma: 0.3, degree: 2, coef0: 1.0 })
    }

    fn on_basis(basis: Box<dyn BasisMethod>, learner: Box<dyn FrameLearner>) -> OnBasis {
        OnBasis { basis, budget: BasisBudget::vectors(5), learner, shrink: Shrink::Never }
    }

    #[test]
    fn the_machine_is_that_of_the_kernel_itself() {
        let (data, watch) = (banana(60, 1), Watch::none());
        let gram = block(&kernel(), &data.points, &data.points);
        let rows = Dataset { points: gram.into(), ..data.clone() };
        let learners = |kernel: Kernel| -> Vec<Box<dyn FrameLearner>> {
            vec![
                Box::new(Svc { kernel: kernel.clone(), tolerance: 1e-9, ..Svc::default() }),
                Box::new(Fisher { kernel: kernel.clone(), ..Fisher::default() }),
                Box::new(Pca { kernel, components: crate::learn::Components::Count(2), ..Pca::default() }),
            ]
        };
        for (own, linear) in learners(kernel()).into_iter().zip(learners(Kernel::Linear(Linear {}))) {
            let want = on_basis(Box::new(GreedyBasis::default()), own).learn(&data, &watch).unwrap();
            let have = OnGram { learner: Box::new(on_basis(Box::new(GreedyBasis::default()), linear)) }.learn(&rows, &watch).unwrap();
            assert_eq!(have.machine.n_vectors(), 5);
            assert_eq!(have.machine.expansion.kernel.name(), "precomputed");
            let (have, want) = (have.machine.outputs_for(&rows.points).unwrap(), want.machine.outputs_for(&data.points).unwrap());
            let far = have.values().iter().zip(want.values()).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(far < 1e-5, "{far}");
        }
    }

    #[test]
    fn new_vectors_are_rejected() {
        let data = banana(30, 1);
        let gram = block(&kernel(), &data.points, &data.points);
        let learner = Box::new(Svc { kernel: Kernel::Linear(Linear {}), ..Svc::default() });
        let on_gram = OnGram { learner: Box::new(on_basis(Box::new(KMeans::default()), learner)) };
        let rows = Dataset { points: gram.into(), ..data };
        assert!(on_gram.learn(&rows, &Watch::none()).unwrap_err().to_string().contains("greedy-basis"));
    }
}
