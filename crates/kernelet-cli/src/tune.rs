//! The search for settings by cross-validation.
use kernelet::{
    data::{Dataset, read::Wanted, stratified_split},
    evaluate::{Candidate, Tuning},
    kernel::Kernel,
    learn::{HowToScale, Learner, Scaled},
    watch::Watch,
};

use crate::{
    failure::{Failure, Result},
    kernels::gamma_of,
    layout::count,
    learners::{Choice, Settings},
    scaling::scaled,
    session::Session,
};

/// The search looks at no more rows than this.
const MOST_ROWS: usize = 5000;

/// The widths tried first, as factors of `1 / (features * variance)`.
const WIDTHS: [f64; 6] = [1.0 / 64.0, 1.0 / 16.0, 0.25, 1.0, 4.0, 16.0];

/// What is searched: the learner's cost and the kernel's width, each unless it is given.
pub struct Search<'a> {
    /// Who learns.
    pub choice: &'static Choice,
    /// Its other settings.
    pub settings: &'a Settings,
    /// The kernel.
    pub kernel: &'a Kernel,
    /// The width, where it is given.
    pub fixed_gamma: Option<f64>,
    /// How rows are scaled, anew in every fold.
    pub how: &'a HowToScale,
    /// Folds of the cross-validation.
    pub folds: usize,
}

impl Search<'_> {
    /// All settings tried, the best first.
    pub fn run(&self, data: &Dataset, watch: &Watch, session: &Session) -> Result<Vec<Candidate>> {
        if self.choice.wanted == Wanted::Nothing {
            let sentence = format!("--tune has nothing to choose for {}, which has no error to compare settings by", self.choice.name);
            return Err(Failure::usage(sentence));
        }
        let tuning = Tuning { costs: self.costs(), gammas: self.gammas(data)?, folds: self.folds, seed: session.seed };
        if tuning.costs.len() == 1 && tuning.gammas.len() == 1 {
            let given = match self.choice.cost(self.settings) {
                None => "the width is given".to_string(),
                Some(cost) => format!("--{} and the width are given", cost.name),
            };
            return Err(Failure::usage(format!("--tune has nothing to choose: {given}")));
        }
        let part = self.part(data, session)?;
        let fit = |cost: f64, gamma: f64, rows: &Dataset, watch: &Watch| {
            let learner = self.choice.make(self.kernel.clone().with_gamma(gamma), &self.choice.with_cost(self.settings, cost));
            Ok(Scaled { how: self.how.clone(), learner }.learn(rows, watch)?.machine)
        };
        let tried = tuning.run(part.as_ref().unwrap_or(data), fit, watch);
        session.check_cancelled()?;
        Ok(tried?)
    }

    fn costs(&self) -> Vec<f64> {
        match (self.choice.given_cost(self.settings), self.choice.cost(self.settings)) {
            (Some(cost), _) => vec![cost],
            (None, Some(cost)) => cost.grid.to_vec(),
            (None, None) => vec![1.0],
        }
    }

    fn gammas(&self, data: &Dataset) -> Result<Vec<f64>> {
        match (self.kernel.gamma(), self.fixed_gamma) {
            (None, _) => Ok(vec![1.0]),
            (_, Some(gamma)) => Ok(vec![gamma]),
            _ => {
                let middle = gamma_of(&scaled(self.how, data)?)?;
                Ok(WIDTHS.map(|factor| factor * middle).to_vec())
            }
        }
    }

    /// The rows the search looks at, where it does not look at all.
    fn part(&self, data: &Dataset, session: &Session) -> Result<Option<Dataset>> {
        if data.len() <= MOST_ROWS {
            return Ok(None);
        }
        session.note(format!("the settings are chosen on {} of {} rows", count(MOST_ROWS), count(data.len())));
        let left_out = 1.0 - MOST_ROWS as f64 / data.len() as f64;
        let (rows, _) = stratified_split(&data.target, left_out, session.seed)?;
        Ok(Some(data.select(&rows)))
    }
}
