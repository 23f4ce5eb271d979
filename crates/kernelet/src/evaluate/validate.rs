//! Cross-validation, and the choice of two settings by it.
use crate::parallel::*;

use super::Scores;
use crate::{
    Error, Result,
    data::{Dataset, stratified_folds},
    machine::Machine,
    watch::Watch,
};

/// The mean loss (error, or mean squared error) over `folds` folds, each predicted by the machine that `fit` makes of the others.
pub fn cross_validate(
    fit: impl Fn(&Dataset, &Watch) -> Result<Machine> + Sync,
    data: &Dataset,
    folds: usize,
    seed: u64,
    watch: &Watch,
) -> Result<f64> {
    data.check_lengths()?;
    let folds = stratified_folds(&data.target, folds, seed)?;
    let losses: Vec<f64> = folds.par_iter().map(|held| fold_loss(&fit, data, held, watch)).collect::<Result<_>>()?;
    Ok(losses.iter().sum::<f64>() / losses.len() as f64)
}

fn fold_loss(fit: impl Fn(&Dataset, &Watch) -> Result<Machine>, data: &Dataset, held: &[usize], watch: &Watch) -> Result<f64> {
    let quiet = watch.silent();
    let machine = fit(&data.without(held), &quiet)?;
    watch.evaluated(quiet.evaluations());
    if watch.cancelled() {
        return Err(Error::Cancelled);
    }
    machine.score(&data.select(held)).map(|scores: Scores| scores.loss())
}

/// One pair of settings and what cross-validation says of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Candidate {
    /// The cost C, or the ridge penalty.
    pub cost: f64,
    /// The kernel's width.
    pub gamma: f64,
    /// The mean loss over the folds.
    pub loss: f64,
}

/// A search over two settings: a coarse grid, then the neighbourhood of its best point.
#[derive(Clone, Debug)]
pub struct Tuning {
    /// Costs of the coarse grid, in factors of 10.
    pub costs: Vec<f64>,
    /// Widths of the coarse grid, in factors of 4.
    pub gammas: Vec<f64>,
    /// Folds of the cross-validation.
    pub folds: usize,
    /// Seed of the folds.
    pub seed: u64,
}

impl Tuning {
    /// Tries all pairs of the grid, then half steps around the best; `fit` makes a machine with a cost and a gamma. A setting with a single value keeps it. Returns
    /// every candidate, best first; ties go to the smaller cost, then to the smaller gamma.
    pub fn run(
        &self,
        data: &Dataset,
        fit: impl Fn(f64, f64, &Dataset, &Watch) -> Result<Machine> + Sync,
        watch: &Watch,
    ) -> Result<Vec<Candidate>> {
        let coarse: Vec<(f64, f64)> = self.costs.iter().flat_map(|&c| self.gammas.iter().map(move |&g| (c, g))).collect();
        let (costs, gammas) = (steps(&self.costs, 10f64.sqrt()), steps(&self.gammas, 2.0));
        let total = (coarse.len() + costs.len() * gammas.len() - 1) as u64;
        let mut tried = self.try_all(&coarse, data, &fit, 0, total, watch)?;
        let best = *tried.first().ok_or_else(|| Error::data("the grid of settings is empty"))?;
        let around = costs.iter().flat_map(|c| gammas.iter().map(move |g| (best.cost * c, best.gamma * g)));
        let around: Vec<(f64, f64)> = around.filter(|&pair| pair != (best.cost, best.gamma)).collect();
        tried.extend(self.try_all(&around, data, &fit, coarse.len() as u64, total, watch)?);
        sort(&mut tried);
        Ok(tried)
    }

    fn try_all(
        &self,
        pairs: &[(f64, f64)],
        data: &Dataset,
        fit: &(impl Fn(f64, f64, &Dataset, &Watch) -> Result<Machine> + Sync),
        before: u64,
        total: u64,
        watch: &Watch,
    ) -> Result<Vec<Candidate>> {
        let done = std::sync::atomic::AtomicU64::new(before);
        let attempt = |&(cost, gamma): &(f64, f64)| {
            let loss = cross_validate(|rows, watch| fit(cost, gamma, rows, watch), data, self.folds, self.seed, watch)?;
            let finished = done.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1;
            watch.report("settings tried", finished, Some(total), Some(loss));
            Ok(Candidate { cost, gamma, loss })
        };
        let mut tried = pairs.par_iter().map(attempt).collect::<Result<Vec<_>>>()?;
        sort(&mut tried);
        Ok(tried)
    }
}

/// Half a step of the grid down, none, and half a step up; where there is no grid only none.
fn steps(grid: &[f64], half: f64) -> Vec<f64> {
    if grid.len() > 1 { vec![1.0 / half, 1.0, half] } else { vec![1.0] }
}

fn sort(tried: &mut [Candidate]) {
    tried.sort_by(|a, b| a.loss.total_cmp(&b.loss).then(a.cost.total_cmp(&b.cost)).then(a.gamma.total_cmp(&b.gamma)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        data::Generator,
        kernel::Kernel,
        learn::{Learner, Ridge, Svc},
    };
    use std::sync::{Arc, atomic::AtomicBool};

    fn svc(c: f64, gamma: f64, data: &Dataset, watch: &Watch) -> Result<Machine> {
        Ok(Svc { c, kernel: Kernel::gaussian(gamma), ..Svc::default() }.learn(data, watch)?.machine)
    }

    #[test]
    fn a_setting_with_a_single_value_keeps_it() {
        let data = Generator::Sinc.make(60, 1);
        let ridge = |lambda, gamma, data: &Dataset, watch: &Watch| {
            Ok(Ridge { lambda, kernel: Kernel::gaussian(gamma) }.learn(data, watch)?.machine)
        };
        let grids = [(vec![0.1], vec![0.1, 0.4]), (vec![0.1, 1.0], vec![0.4])];
        for (costs, gammas) in grids {
            let tuning = Tuning { costs: costs.clone(), gammas: gammas.clone(), folds: 3, seed: 1 };
            let tried = tuning.run(&data, ridge, &Watch::none()).unwrap();
            assert_eq!(tried.len(), 4);
            assert!(costs.len() > 1 || tried.iter().all(|t| t.cost == 0.1));
            assert!(gammas.len() > 1 || tried.iter().all(|t| t.gamma == 0.4));
            assert!(tried.windows(2).all(|w| w[0].loss <= w[1].loss));
        }
    }

    #[test]
    fn cancelling_a_search_is_an_error_because_nothing_is_chosen() {
        let data = Generator::Banana.make(60, 1);
        let watch = Watch::none().with_cancel(Arc::new(AtomicBool::new(true)));
        let tuning = Tuning { costs: vec![1.0], gammas: vec![1.0], folds: 3, seed: 1 };
        assert_eq!(tuning.run(&data, svc, &watch).unwrap_err().to_string(), "interrupted before there was a result");
    }
}
