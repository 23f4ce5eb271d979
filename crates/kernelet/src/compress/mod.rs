//! How does a machine become small, and how small may it be?
//!
//! A [`Sparsifier`] looks at a [`Task`], keeps within a [`Budget`] and gives a [`Path`]: machines of every size up to it. Methods are
//! plain structs of parameters, one file each; [`select`] takes vectors from given points, [`construct`] makes new ones, [`Distil`] trains
//! them. [`Compression`] tries several strategies, searches the size that meets [`Goals`] and keeps the best; [`Auto`] chooses the strategies.
mod baseline;
mod budget;
mod cascade;
mod comparison;
#[cfg(test)]
mod conformance;
pub mod construct;
mod distil;
mod empirical_map;
mod owned;
mod path;
mod refit;
mod search;
pub mod select;
mod task;
mod threshold;
#[cfg(test)]
pub(crate) mod toy;

pub use baseline::{Baseline, BaselineLearner};
pub use budget::Budget;
pub use cascade::{CascadeGoal, Effect, Fitted, OnRows, Stages, cascade};
pub use comparison::Comparison;
pub use distil::Distil;
pub(crate) use empirical_map::EmpiricalMap;
pub(crate) use owned::owned_by_class;
pub use path::{Level, Path};
pub use refit::{Refit, refit};
pub use search::{
    Attempt, Auto, Certificate, Compression, Effort, Finish, Found, Goals, Metric, Metrics, Origin, Recognised, RowKind, Steps, Strategy,
    Tally, Trust, Verdict, recognise,
};
pub(crate) use search::{bytes_of, check_confidence, cost_of, heaviest, recalibrated, trained};
pub use task::Task;
pub(crate) use task::part_of;
pub(crate) use threshold::least_error_offsets;

use crate::{Result, watch::Watch};

/// Rewrites a machine with fewer expansion vectors.
pub trait Sparsifier: Send + Sync {
    /// The name on the command line, in Python and in model files.
    fn name(&self) -> &'static str;
    /// An error when a parameter is outside its range.
    fn check(&self) -> Result<()>;
    /// Machines of every size up to the budget. Cancelling returns the path so far.
    fn sparsify(&self, task: &Task, budget: &Budget, watch: &Watch) -> Result<Path>;
    /// The same where the candidates are some of the vectors of a larger machine, in which `sizes` are their largest coefficients. Methods
    /// that look at no coefficients do what they always do.
    fn sparsify_part(&self, task: &Task, _sizes: &[f64], budget: &Budget, watch: &Watch) -> Result<Path> {
        self.sparsify(task, budget, watch)
    }
}
