//! The number of vectors of a basis, chosen by cross-validation.
//!
//! In every fold the vectors are chosen once, up to the largest size; the machines of all smaller sizes live on the first of them. The size
//! with the smallest mean loss is taken, the smaller one on a tie, and the machine learned anew from all rows: Diethe2015's 3.4 with five folds and
//! every tenth size. Cost: folds + 1 bases, and a machine for each fold and size.
use crate::parallel::*;

use super::OnBasis;
use crate::{
    Error, Result,
    basis::BasisBudget,
    data::{Dataset, stratified_folds},
    learn::{Fit, Learner},
    machine::SizeLoss,
    watch::Watch,
};

/// A learner on a basis whose size cross-validation chooses, for methods that add one vector after the other.
pub struct BestSize {
    /// The estimator; its budget has the largest size.
    pub on_basis: OnBasis,
    /// Sizes are multiples of this.
    pub every: usize,
    /// Folds of the cross-validation.
    pub folds: usize,
    /// Seed of the folds.
    pub seed: u64,
}

impl Learner for BestSize {
    fn name(&self) -> &'static str {
        self.on_basis.name()
    }

    fn check(&self) -> Result<()> {
        self.on_basis.check()?;
        match (self.every, self.folds) {
            (0, _) => Err(Error::parameter("every", 0, "at least 1")),
            (_, 0 | 1) => Err(Error::parameter("folds", self.folds, "at least 2")),
            _ => Ok(()),
        }
    }

    fn learn(&self, data: &Dataset, watch: &Watch) -> Result<Fit> {
        let sizes = self.losses(data, watch)?;
        let best = best(&sizes).ok_or_else(|| Error::data("there are no sizes to compare"))?;
        let budget = BasisBudget { max_vectors: best.n_vectors, ..self.on_basis.budget.clone() };
        let mut fit = self.on_basis.learn_within(&budget, data, watch)?;
        if let Some(metadata) = &mut fit.machine.metadata.basis {
            metadata.sizes = sizes;
        }
        Ok(fit)
    }
}

impl BestSize {
    /// The mean loss over the folds at every size.
    pub fn losses(&self, data: &Dataset, watch: &Watch) -> Result<Vec<SizeLoss>> {
        self.check()?;
        data.check()?;
        let folds = stratified_folds(&data.target, self.folds, self.seed)?;
        let sizes = self.sizes(data.len() - folds.iter().map(Vec::len).max().unwrap_or(0));
        let done = std::sync::atomic::AtomicU64::new(0);
        let fold = |held: &Vec<usize>| {
            let losses = self.fold_losses(&sizes, data, held, watch);
            let finished = done.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1;
            watch.report("folds", finished, Some(folds.len() as u64), None);
            losses
        };
        let losses: Vec<Vec<f64>> = folds.par_iter().map(fold).collect::<Result<_>>()?;
        let mean = |at: usize| losses.iter().map(|losses| losses[at]).sum::<f64>() / losses.len() as f64;
        Ok(sizes.iter().enumerate().map(|(at, &vectors)| SizeLoss { n_vectors: vectors, loss: mean(at) }).collect())
    }

    /// The sizes, for so many rows to learn from.
    fn sizes(&self, rows: usize) -> Vec<usize> {
        let most = self.on_basis.budget.max_vectors.min(rows).max(1);
        let sizes: Vec<usize> = (1..=most / self.every).map(|step| step * self.every).collect();
        if sizes.is_empty() { vec![most] } else { sizes }
    }

    fn fold_losses(&self, sizes: &[usize], data: &Dataset, held: &[usize], watch: &Watch) -> Result<Vec<f64>> {
        let (rest, held, quiet) = (data.without(held), data.select(held), watch.silent());
        let fits = self.on_basis.path(sizes, &rest, &quiet)?;
        watch.evaluated(quiet.evaluations());
        if watch.cancelled() {
            return Err(Error::Cancelled);
        }
        fits.iter().map(|fit| Ok(fit.machine.score(&held)?.loss())).collect()
    }
}

/// The size with the smallest loss, the smaller one on a tie.
fn best(sizes: &[SizeLoss]) -> Option<&SizeLoss> {
    sizes.iter().min_by(|a, b| a.loss.total_cmp(&b.loss).then(a.n_vectors.cmp(&b.n_vectors)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        basis::FisherPursuit,
        data::banana,
        evaluate::cross_validate,
        kernel::Kernel,
        learn::{Fisher, Shrink},
    };

    fn on_basis(vectors: usize) -> OnBasis {
        let learner = Box::new(Fisher { kernel: Kernel::gaussian(1.0), ..Fisher::default() });
        OnBasis { basis: Box::new(FisherPursuit::default()), budget: BasisBudget::vectors(vectors), learner, shrink: Shrink::Never }
    }

    #[test]
    fn losses_are_those_of_learning_at_each_size_anew_and_the_best_is_taken() {
        let (data, watch) = (banana(120, 1), Watch::none());
        let learner = BestSize { on_basis: on_basis(14), every: 4, folds: 3, seed: 5 };
        let sizes = learner.losses(&data, &watch).unwrap();
        assert_eq!(sizes.iter().map(|size| size.n_vectors).collect::<Vec<_>>(), [4, 8, 12]);
        for size in &sizes {
            let want = cross_validate(|rows, watch| Ok(on_basis(size.n_vectors).learn(rows, watch)?.machine), &data, 3, 5, &watch).unwrap();
            assert!((size.loss - want).abs() < 1e-12, "{size:?} {want}");
        }
        let fit = learner.learn(&data, &watch).unwrap();
        let (metadata, taken) = (fit.machine.metadata.basis.clone().unwrap(), best(&sizes).unwrap());
        assert_eq!((metadata.sizes, metadata.asked, fit.machine.n_vectors()), (sizes.clone(), taken.n_vectors, taken.n_vectors));
        assert!(sizes.iter().all(|size| taken.loss < size.loss || taken.n_vectors <= size.n_vectors));
    }

    #[test]
    fn a_path_is_what_learning_at_each_size_gives() {
        let (data, watch) = (banana(90, 2), Watch::none());
        let fits = on_basis(9).path(&[3, 9], &data, &watch).unwrap();
        for (fit, size) in fits.iter().zip([3, 9]) {
            let want = on_basis(size).learn(&data, &watch).unwrap().machine.outputs_for(&data.points).unwrap();
            let have = fit.machine.outputs_for(&data.points).unwrap();
            assert!(have.values().iter().zip(want.values()).all(|(a, b)| (a - b).abs() < 1e-7) && fit.machine.n_vectors() == size);
        }
    }

    #[test]
    fn sizes_are_never_none_and_nonsense_is_rejected() {
        let data = banana(12, 2);
        let learner = |every, folds, most| BestSize { on_basis: on_basis(most), every, folds, seed: 0 };
        assert_eq!(learner(10, 3, 200).losses(&data, &Watch::none()).unwrap().len(), 1);
        assert_eq!(learner(0, 3, 9).check().unwrap_err().to_string(), "every is 0, but must be at least 1");
        assert_eq!(learner(1, 1, 9).check().unwrap_err().to_string(), "folds is 1, but must be at least 2");
        let watch = Watch::none().with_cancel(std::sync::Arc::new(true.into()));
        assert!(matches!(learner(2, 3, 9).learn(&data, &watch), Err(Error::Cancelled)));
    }
}
