//! Which requests to train are rejected: settings out of range, contradicting or ignored.
use super::{
    Given, Method, Train,
    learner::{Cache, LearnerName},
    plan::Plan,
    vectors::Coefficients,
};
use crate::{
    Error, Named, Result,
    data::read::Wanted,
    learn::{Penalty, Shape, Threshold},
};

impl Train {
    /// An error when a setting is out of range, contradicts another or would be ignored.
    pub fn check(&self) -> Result<()> {
        self.check_with(&Given::default())
    }

    /// The same with what else is given.
    pub fn check_with(&self, given: &Given) -> Result<()> {
        let plan = self.plan()?;
        self.check_plan(plan)?;
        self.check_fisher()?;
        if self.settings.cache == Some(Cache::Megabytes(0)) {
            return Err(Error::parameter("cache", 0, "at least 1"));
        }
        if self.settings.max_iterations == Some(0) {
            return Err(Error::parameter("max-iterations", 0, "at least 1"));
        }
        if self.settings.components.is_some() && self.settings.explained.is_some() {
            return Err(Error::request("`components` and `explained` contradict each other; give one of them"));
        }
        if self.pursuit.stages.is_some() && self.pursuit.score_threshold.is_some() {
            return Err(Error::request("`stages` and `score-threshold` contradict each other; give one of them"));
        }
        if self.scale.is_some() && given.scale.is_some() {
            return Err(Error::request("`scale` and a scale from a file contradict each other; give one of them"));
        }
        self.check_folds()?;
        self.check_metric(plan, given)?;
        self.check_runs(plan, given)?;
        self.check_blocks(plan)?;
        self.learner_for(self.kernel.kernel()?)?.check()?;
        if given.start.is_some() { self.check_start() } else { Ok(()) }
    }

    /// An error when training does not start from an earlier machine.
    pub fn check_start(&self) -> Result<()> {
        match self.learner_for(self.kernel.kernel()?)?.warm_starts() {
            true => Ok(()),
            false => {
                let who = self.described(self.plan()?);
                Err(Error::request(format!("`start` is not used by {who}, which does not start from an earlier machine")))
            }
        }
    }

    /// Settings of Fisher's discriminant that make others useless.
    fn check_fisher(&self) -> Result<()> {
        if self.learner() != LearnerName::Fisher {
            return Ok(());
        }
        let settings = &self.settings;
        if settings.penalty == Some(Penalty::None) && settings.lambda.is_some() {
            return Err(Error::request("`lambda` is not used with `penalty` none"));
        }
        let margin = self.search.coefficients == Some(Coefficients::Margin);
        if margin && settings.bias.is_some() {
            return Err(Error::request("`bias` is not used with `coefficients` margin, which finds the offsets as well"));
        }
        match settings.c.is_some() && !margin && !matches!(settings.bias, Some(Threshold::Svm { .. })) {
            true => Err(Error::request("`c` is used by fisher only with `bias` svm or `coefficients` margin")),
            false => Ok(()),
        }
    }

    /// Folds are used by cross-validation alone, and probabilities are for classes.
    fn check_folds(&self) -> Result<()> {
        let pursuit = self.vectors.method == Some(Method::FisherPursuit);
        if self.folds.is_some() && !self.tune && self.probability.is_none() && !pursuit && !self.chooses_penalty() {
            return Err(Error::request("`folds` is used only with `tune` or `probability`"));
        }
        let (normal, name) = (self.probability == Some(Shape::Normal), self.learner().name());
        if normal && self.wanted() != Wanted::Values {
            return Err(Error::request(format!("`probability` normal is for numbers, but {name} does not predict any")));
        }
        if self.probability.is_some() && !normal && self.wanted() != Wanted::Classes {
            return Err(Error::request(format!(
                "`probability` is for classes, but {name} does not predict any; for numbers there is normal"
            )));
        }
        if self.tune && self.wanted() == Wanted::Nothing {
            let name = self.learner().name();
            return Err(Error::request(format!("`tune` has nothing to choose for {name}, which has no error to compare settings by")));
        }
        Ok(())
    }

    /// What is for one run of training does not go with what makes several.
    fn check_runs(&self, plan: Plan, given: &Given) -> Result<()> {
        if self.path && (self.probability.is_some() || given.start.is_some()) {
            return Err(Error::request("`path` goes neither with `probability` nor with `start`"));
        }
        if self.path && !matches!(plan, Plan::Direct | Plan::Basis(_)) {
            return Err(Error::request(format!("`path` is for a number of vectors that grows, but {} has one size", self.described(plan))));
        }
        if self.search.checkpoint.is_some() && self.chooses_penalty() {
            return Err(Error::request("`checkpoint` is for one run, but without `lambda` cross-validation makes several"));
        }
        if self.search.checkpoint.is_some() && (self.tune || self.probability.is_some()) {
            return Err(Error::request("`checkpoint` is for one run; `tune` and `probability` make several"));
        }
        Ok(())
    }
}
