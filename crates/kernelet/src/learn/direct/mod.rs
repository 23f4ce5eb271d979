//! Data and a budget become a sparse machine: vectors and coefficients are found together (Wu2006, section 2).
//!
//! A learner gives its optimum on given vectors and the negative gradient with respect to the outputs (`inner`); `objective` makes W(Z) and its gradient of
//! that, and `search` descends. A further learner is an `inner::Inner` and a `search::Direct`, and nothing else.
mod checkpoint;
mod choice;
mod conjugate_gradients;
mod coordinates;
mod descend;
mod discriminant;
mod errors;
#[cfg(test)]
mod gradients;
mod grow;
mod hinge;
mod init;
mod inner;
mod learner;
mod margin;
mod metric;
mod newton;
mod objective;
mod own;
mod race;
mod ready;
mod rows;
mod search;
mod soft_losses;
mod squared;
mod squared_hinge;
mod variance;

pub use init::Init;
pub use learner::{DirectLearner, DirectTask};
pub use margin::{DirectLoss, Margin, Sharing};
pub use metric::{Learned, Metric, Transform};
pub use search::{Growth, Search};
pub(crate) use {
    choice::{Chosen, LearnedMetric, Searched, can_be_validated, feature_scales},
    conjugate_gradients::{add, conjugate_gradients},
    coordinates::Coordinates,
    errors::{active as is_short, error as hinge_error},
    inner::{Inner, RowTargets, Solution},
    metric::RowSums,
    newton::{RowLoss, Smooth},
    objective::{Variables, preconditioner},
    rows::add_own_gradient,
    search::{Direct, Phase, spread, status},
    soft_losses::{Logistic as LogisticLoss, OfResiduals, ResidualLoss, Softmax},
    squared::Squared,
    squared_hinge::SquaredHinge,
};
