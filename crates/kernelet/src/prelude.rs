//! The names that most programs need: `use kernelet::prelude::*;`.
pub use crate::{
    data::{Dataset, Label, Points, Target},
    kernel::Kernel,
    learn::{Learner, Svc},
    machine::{Machine, Prediction, Predictor},
    model,
    request::{Compress, Given, LearnerName, Train},
    watch::{Progress, Status, Watch},
};
