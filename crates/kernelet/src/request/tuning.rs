//! Settings chosen by cross-validation: the grids, and the search over them.
use super::{learner::Tuned, train::Train};
use crate::{
    Error, Result,
    data::{Dataset, stratified_split},
    evaluate::{Candidate, Tuning},
    kernel::Kernel,
    learn::{HowToScale, Learner, Penalty, Scaled},
    watch::Watch,
};

/// The search looks at no more rows than this.
const MOST_ROWS: usize = 5000;

/// The widths tried first, as factors of `1 / (features * variance)`.
const WIDTHS: [f64; 6] = [1.0 / 64.0, 1.0 / 16.0, 0.25, 1.0, 4.0, 16.0];

impl Train {
    /// All settings tried, the best first: the estimator's cost and the kernel's width, each unless it is given.
    pub(super) fn search_settings(
        &self,
        data: &Dataset,
        how: &HowToScale,
        notes: &mut Vec<String>,
        watch: &Watch,
    ) -> Result<Vec<Candidate>> {
        let tuning = Tuning { costs: self.costs(), gammas: self.gammas(data, how)?, folds: self.folds(), seed: self.seed };
        if tuning.costs.len() == 1 && tuning.gammas.len() == 1 {
            let given = self.tuned_name().map_or("the width is given".into(), |cost| format!("`{cost}` and the width are given"));
            return Err(Error::request(format!("`tune` has nothing to choose: {given}")));
        }
        let sample = self.sample(data, notes)?;
        // A metric is learned with the settings found, not for each of them.
        let (kernel, one_width) = (self.kernel.kernel()?, self.with_one_width());
        let fit = |cost: f64, gamma: f64, rows: &Dataset, watch: &Watch| {
            let learner = one_width.with_cost(cost).learner_for(kernel.clone().with_gamma(gamma))?;
            Ok(Scaled { how: how.clone(), learner }.learn(rows, watch)?.machine)
        };
        tuning.run(sample.as_ref().unwrap_or(data), fit, watch)
    }

    /// The kernel with its width for these rows.
    pub(super) fn kernel_for(&self, data: &Dataset, how: &HowToScale) -> Result<Kernel> {
        let kernel = self.kernel.kernel()?;
        if kernel.gamma().is_none() || self.kernel.fixed_gamma().is_some() {
            return Ok(kernel);
        }
        match how.scale_for(data)? {
            Some(scale) => self.kernel.for_rows(&scale.apply(&data.points)?),
            None => self.kernel.for_rows(&data.points),
        }
    }

    /// An error that names a row too large for the kernel, as far as that is known before settings are chosen.
    pub(super) fn check_rows(&self, data: &Dataset, how: &HowToScale) -> Result<()> {
        let kernel = self.kernel.kernel()?;
        let depends = kernel.gamma().is_some() && self.kernel.fixed_gamma().is_none();
        // A width that follows from the rows, or is searched for, makes them small enough.
        let kernel = if depends { kernel.with_gamma(f64::MIN_POSITIVE) } else { kernel };
        match how.scale_for(data)? {
            Some(scale) => kernel.check_rows(&scale.apply(&data.points)?),
            None => kernel.check_rows(&data.points),
        }
    }

    /// The setting that tuning searches beside the width.
    fn tuned(&self) -> Option<Tuned> {
        self.learner().tuned().filter(|_| self.settings.penalty != Some(Penalty::None))
    }

    /// Its name.
    pub(super) fn tuned_name(&self) -> Option<&'static str> {
        self.tuned().map(|tuned| tuned.name)
    }

    /// The request with another cost, where the estimator has one.
    pub(super) fn with_cost(&self, value: f64) -> Train {
        let mut train = self.clone();
        if let Some(tuned) = self.tuned() {
            *(tuned.place)(&mut train.settings) = Some(value);
        }
        train
    }

    /// The costs that are compared with a learned metric: as given, or a few of the estimator.
    pub(super) fn metric_costs(&self) -> Vec<f64> {
        let Some(tuned) = self.tuned() else { return vec![1.0] };
        match *(tuned.place)(&mut self.settings.clone()) {
            Some(cost) => vec![cost],
            None => tuned.with_metric.to_vec(),
        }
    }

    /// The cost that is best with one width, and its neighbours.
    pub(super) fn costs_around(&self, best: f64) -> Vec<f64> {
        let given = self.tuned().is_none_or(|tuned| (tuned.place)(&mut self.settings.clone()).is_some());
        if given { vec![best] } else { vec![best, 0.1 * best, 10.0 * best] }
    }

    fn costs(&self) -> Vec<f64> {
        let Some(tuned) = self.tuned() else { return vec![1.0] };
        match *(tuned.place)(&mut self.settings.clone()) {
            Some(cost) => vec![cost],
            None => tuned.grid.to_vec(),
        }
    }

    fn gammas(&self, data: &Dataset, how: &HowToScale) -> Result<Vec<f64>> {
        match (self.kernel.kernel()?.gamma(), self.kernel.fixed_gamma()) {
            (None, _) => Ok(vec![1.0]),
            (_, Some(gamma)) => Ok(vec![gamma]),
            _ => {
                let middle = self.kernel_for(data, how)?.gamma().unwrap_or(1.0);
                Ok(WIDTHS.map(|factor| factor * middle).to_vec())
            }
        }
    }

    /// The rows the search looks at, where it does not look at all.
    fn sample(&self, data: &Dataset, notes: &mut Vec<String>) -> Result<Option<Dataset>> {
        if data.len() <= MOST_ROWS {
            return Ok(None);
        }
        notes.push(format!("the settings are chosen on {MOST_ROWS} of {} rows", data.len()));
        let left_out = 1.0 - MOST_ROWS as f64 / data.len() as f64;
        let (rows, _) = stratified_split(&data.target, left_out, self.seed)?;
        Ok(Some(data.select(&rows)))
    }
}
