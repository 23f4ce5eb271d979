//! How do rows become a machine, full or with a budget of vectors?
//!
//! Learners are plain structs of parameters. Each is one file; [`Learner`] is what they share. [`direct`] searches for a budget of vectors together with the
//! learner, and [`OnBasis`] trains one on vectors that were chosen before;
//! [`blocks`] does the former on rows that come in blocks.
pub mod blocks;
mod calibrate;
mod centred;
mod codes;
pub mod direct;
mod fisher;
mod gram;
mod huber;
mod logistic;
pub(crate) mod margin;
mod margin_active;
pub(crate) mod margin_outputs;
pub(crate) mod margin_problem;
mod multiclass;
mod nadaraya_watson;
mod nu_svc;
mod nu_svr;
mod occurring;
mod on_basis;
mod on_gram;
mod on_rows;
mod one_class;
mod parzen;
mod pca;
mod ridge;
mod rvm;
mod scaled;
mod scatter;
pub mod smo;
mod squared_margin;
mod support;
mod svc;
mod svr;
mod threshold;
mod two_class;

pub use calibrate::{Calibrated, Shape, calibration, fit_isotonic, fit_log_variance, fit_sigmoid, fit_softmax};
pub use centred::Centred;
pub(crate) use centred::centred;
pub(crate) use fisher::mixes;
pub use fisher::{Fisher, Penalty};
pub use huber::Huber;
pub use logistic::Logistic;
pub(crate) use logistic::LogisticRows;
pub use multiclass::{ClassWeights, Multiclass};
pub use nadaraya_watson::NadarayaWatson;
pub use nu_svc::NuSvc;
pub use nu_svr::NuSvr;
pub use on_basis::{BestSize, FrameLearner, InFrame, OnBasis, Shrink, SupportBasis};
pub(crate) use on_basis::{fit, shares, total_variance};
pub(crate) use on_gram::OnGram;
pub use one_class::OneClass;
pub use parzen::Parzen;
pub use pca::{Components, Pca};
pub use ridge::Ridge;
pub use rvm::Rvm;
pub use scaled::{HowToScale, Scaled};
pub(crate) use scatter::Scatter;
pub(crate) use support::rows_that_count;
pub use svc::Svc;
pub use svr::Svr;
pub use threshold::{Line, Spread, Threshold};

use crate::{
    Result,
    data::Dataset,
    machine::Machine,
    watch::{Status, Watch},
};

/// Turns data into a machine.
pub trait Learner: Send + Sync {
    /// The name on the command line, in Python and in model files.
    fn name(&self) -> &'static str;
    /// An error when a parameter is outside its range. Learning checks this too; callers may before they read data.
    fn check(&self) -> Result<()>;
    /// Learns from data. Cancelling returns the machine of the work so far.
    fn learn(&self, data: &Dataset, watch: &Watch) -> Result<Fit>;
    /// Learns from data, starting at an earlier machine of the same kind where the learner can: the support vector family takes the
    /// coefficients of rows that are the earlier machine's vectors. The result is the same within the tolerance, sooner.
    fn learn_from(&self, earlier: &Machine, data: &Dataset, watch: &Watch) -> Result<Fit> {
        let _ = earlier;
        self.learn(data, watch)
    }
    /// True when [`Learner::learn_from`] makes use of the earlier machine.
    fn warm_starts(&self) -> bool {
        false
    }
    /// The machine of every size of the path, smallest first, by learners whose vectors grow in number; by others the one machine.
    fn learn_path(&self, data: &Dataset, watch: &Watch) -> Result<Vec<Fit>> {
        Ok(vec![self.learn(data, watch)?])
    }
}

/// A machine and how it came about.
#[derive(Clone, Debug)]
pub struct Fit {
    /// The machine.
    pub machine: Machine,
    /// How it came about.
    pub report: Report,
}

impl Fit {
    /// The same where the run is over: without a look at the work that was left out, a cancelled run has the status cancelled.
    pub(crate) fn ended(mut self, watch: &Watch) -> Self {
        self.report.status = watch.ended(self.report.status);
        self
    }
}

/// What a learner reports about its run.
#[derive(Clone, Debug)]
pub struct Report {
    /// The primal objective, summed over outputs.
    pub objective: f64,
    /// The dual objective as LIBSVM prints it (it is minimised and mostly negative), summed over outputs, where there is one.
    pub dual_objective: Option<f64>,
    /// Steps made, summed over outputs.
    pub iterations: u64,
    /// How it ended: the worst of all outputs.
    pub status: Status,
    /// Kernel evaluations made.
    pub evaluations: u64,
    /// Which training rows the vectors are, for the support vector family.
    pub support: Option<Support>,
}

/// Which training rows support a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Support {
    /// The row of each vector, in the order of the vectors.
    pub rows: Vec<usize>,
    /// Steps made for each output.
    pub iterations: Vec<u64>,
}
