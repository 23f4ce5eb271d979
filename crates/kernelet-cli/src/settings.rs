//! The settings of the learners: the flags.
use clap::{Args, ValueEnum};
use kernelet::learn::{ClassWeights, Multiclass, Penalty, Threshold};

use crate::{
    bases, direct,
    failure::{Failure, Result},
    words,
};

/// What is learned, by learners that can learn either.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    /// Classes.
    Classification,
    /// Numbers.
    Regression,
}

/// Settings of the learners; what is not given is the learner's default.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Learner")]
pub struct Settings {
    /// Cost of an error (svc, svr, nu-svr, logistic; fisher with --bias svm or --refit margin) [default: 1].
    #[arg(long, value_name = "C", allow_negative_numbers = true)]
    pub c: Option<f64>,
    /// Part of the rows that may be margin errors (nu-svc) or lie outside (nu-svr, one-class), above 0 and at most 1 [default: 0.5].
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub nu: Option<f64>,
    /// Errors up to this cost nothing (svr) [default: 0.1].
    #[arg(long, value_name = "E", allow_negative_numbers = true)]
    pub epsilon: Option<f64>,
    /// Penalty of large coefficients (ridge, fisher) [default: 1; fisher 0.001, with --vectors alone by cross-validation].
    #[arg(long, value_name = "L", allow_negative_numbers = true)]
    pub lambda: Option<f64>,
    /// What is learned: classification or regression (rvm) [default: classification].
    #[arg(long, value_name = "WHAT", value_enum, hide_possible_values = true)]
    pub task: Option<Task>,
    /// Stop when the optimality conditions (support vector learners), the evidence (rvm) or eigenvectors (pca) hold up to this [default: 0.001; pca 1e-8].
    #[arg(long, value_name = "T", allow_negative_numbers = true)]
    pub tolerance: Option<f64>,
    /// Megabytes for kernel values that are kept; fisher, logistic and pca keep all [default: 200; rvm 1024; fisher, logistic, pca 8192].
    #[arg(long, value_name = "MB", value_parser = clap::value_parser!(u32).range(1..))]
    pub cache: Option<u32>,
    /// Factors of C (svc, logistic), of the scatter (fisher) or of the shares (parzen) for the classes: balanced, or LABEL=W,.. [default: all 1].
    #[arg(long, value_name = "W", value_parser = words::class_weights, allow_hyphen_values = true)]
    pub class_weight: Option<ClassWeights>,
    /// How several classes become two-class problems: one-vs-one, one-vs-rest, ecoc, or with a budget of vectors shared (svc, nu-svc)
    /// [default: one-vs-one; for svc with a budget shared].
    #[arg(long, value_name = "HOW", value_parser = words::multiclass)]
    pub multiclass: Option<Multiclass>,
    /// What lambda penalises: weight, coefficients, or none (fisher) [default: weight].
    #[arg(long, value_name = "WHAT", value_parser = words::penalty)]
    pub penalty: Option<Penalty>,
    /// How the threshold is chosen: midpoint, equal-mahalanobis, least-error or svm (fisher) [default: least-error].
    #[arg(long, value_name = "RULE", value_parser = words::bias)]
    pub bias: Option<Threshold>,
    /// Components to keep (pca) [default: 10].
    #[arg(long, value_name = "K", conflicts_with = "explained")]
    pub components: Option<usize>,
    /// Keep as many components as have this part of the variance, such as 0.95 (pca).
    #[arg(long, value_name = "PART", allow_negative_numbers = true)]
    pub explained: Option<f64>,
    /// Divide the features by their standard deviations (pca).
    #[arg(long)]
    pub whiten: bool,
    /// The seed of the run.
    #[arg(skip)]
    pub seed: u64,
    /// Flags of a basis.
    #[command(flatten)]
    pub basis: bases::Flags,
    /// Flags of direct training.
    #[command(flatten)]
    pub direct: direct::DirectFlags,
}

impl Settings {
    /// The settings with a seed for what they draw: the words of output codes, the first block of an eigen-solver, bases.
    pub fn seeded(mut self, seed: u64) -> Self {
        self.seed = seed;
        self.basis.seed = seed;
        self.basis.cache_bytes = self.cache.map(|megabytes| (megabytes as usize) << 20);
        if let Some(Multiclass::OutputCodes { seed: old }) = &mut self.multiclass {
            *old = seed;
        }
        self
    }

    /// Bytes for kernel values, as given or as usual.
    pub fn cache_bytes(&self, usual: usize) -> usize {
        self.cache.map_or(usual, |megabytes| (megabytes as usize) << 20)
    }

    /// The flags that were given.
    pub fn given(&self) -> Vec<&'static str> {
        let flags = [
            ("c", self.c.is_some()),
            ("nu", self.nu.is_some()),
            ("epsilon", self.epsilon.is_some()),
            ("lambda", self.lambda.is_some()),
            ("task", self.task.is_some()),
            ("tolerance", self.tolerance.is_some()),
            ("cache", self.cache.is_some()),
            ("class-weight", self.class_weight.is_some()),
            ("multiclass", self.multiclass.is_some()),
            ("penalty", self.penalty.is_some()),
            ("bias", self.bias.is_some()),
            ("components", self.components.is_some()),
            ("explained", self.explained.is_some()),
            ("whiten", self.whiten),
        ];
        flags.into_iter().filter(|(_, given)| *given).map(|(name, _)| name).collect()
    }

    /// Refuses a flag that another one makes useless.
    pub fn check_together(&self) -> Result<()> {
        if self.penalty == Some(Penalty::None) && self.lambda.is_some() {
            return Err(Failure::usage("--lambda is not used with --penalty none"));
        }
        let refit = self.direct.margin_cost(self).is_some();
        if refit && self.bias.is_some() {
            return Err(Failure::usage("--bias is not used with --refit margin, which finds the offsets as well"));
        }
        if self.c.is_some() && !refit && !matches!(self.bias, Some(Threshold::Svm { .. })) {
            return Err(Failure::usage("--c is used by fisher only with --bias svm or --refit margin"));
        }
        Ok(())
    }
}
