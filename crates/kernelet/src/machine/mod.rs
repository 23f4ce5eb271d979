//! What is a trained kernel machine, and how does it predict?
mod calibration;
pub mod cascade;
mod cascade_predict;
mod decision;
mod deferred;
mod each;
mod evaluator;
mod expansion;
mod features;
mod guessed_votes;
mod input;
mod log_variance;
mod metadata;
mod norm;
mod normal_classes;
#[cfg(feature = "cuda")]
mod on_card;
mod parts;
mod posterior;
mod predict;
mod probability;
mod sets;

pub use crate::kernel::fused_rows::DenseRows;
pub use calibration::{Calibration, Curve};
pub use decision::Decision;
pub use evaluator::Work;
pub use expansion::{Coefficients, Expansion, Pairwise};
pub use log_variance::LogVariance;
pub use metadata::{BasisMetadata, FeatureMetadata, Metadata, MetricLoss, MetricMetadata, PathMetadata, SizeLoss, SizeMetrics};
pub(crate) use norm::inner_products;
pub use norm::{Weights, residual, squared_norm};
pub use normal_classes::NormalClasses;
pub use parts::Weighted;
pub use posterior::Posterior;
pub use predict::{Prediction, Predictor};
pub use sets::{PredictionSets, ScoreKind, SetScores};

use crate::{
    Error, Result,
    data::{Fingerprints, Points, Scale},
    linalg::Matrix,
};

/// A trained kernel machine: f_k(x) = sum_j coefficients_jk K(vectors_j, x) + offsets_k, and what the outputs mean.
#[derive(Clone, Debug, PartialEq)]
pub struct Machine {
    /// The kernel, the expansion vectors and their coefficients.
    pub expansion: Expansion,
    /// b_k, one for each output.
    pub offsets: Vec<f64>,
    /// What the outputs mean.
    pub decision: Decision,
    /// Applied to every row before the kernel sees it; the vectors are stored scaled, and mapped where the scale has a map.
    pub scale: Option<Scale>,
    /// Names of the features, where the data had them.
    pub names: Option<Vec<String>>,
    /// How outputs become probabilities, where that is known.
    pub calibration: Option<Calibration>,
    /// How the machine was trained, where that is known.
    pub metadata: Metadata,
}

impl Machine {
    /// Number of outputs.
    pub fn n_outputs(&self) -> usize {
        self.expansion.coefficients.n_outputs()
    }

    /// Number of expansion vectors.
    pub fn n_vectors(&self) -> usize {
        self.expansion.vectors.len()
    }

    /// Number of features a row has.
    pub fn dim(&self) -> usize {
        self.map().map_or(self.expansion.vectors.dim(), Matrix::cols)
    }

    /// The linear map that rows go through before the kernel sees them, where the scale has one.
    pub fn map(&self) -> Option<&Matrix> {
        self.scale.as_ref()?.map.as_ref()
    }

    /// The fingerprints of training rows that the machine keeps at most.
    pub(crate) fn most_fingerprints(&self) -> usize {
        let numbers = match &self.expansion.vectors {
            Points::Sparse(rows) => 2 * rows.stored(),
            vectors => vectors.len() * vectors.dim(),
        };
        Fingerprints::most_beside(numbers + self.n_vectors() * self.n_outputs())
    }

    /// Takes the fingerprints of training rows in among those that it has.
    pub(crate) fn recognise(&mut self, rows: Fingerprints) {
        let most = self.most_fingerprints();
        let seen = &mut self.metadata.seen;
        *seen = Some(seen.as_ref().map_or_else(|| rows.clone(), |earlier| earlier.merged(&rows, most)));
    }

    /// The machine without what belongs to its outputs as they are: probabilities, deviations and prediction sets.
    pub(crate) fn uncalibrated(&self) -> Machine {
        let metadata = Metadata { sets: None, ..self.metadata.clone() };
        Machine { calibration: None, metadata, ..self.clone() }
    }

    /// Checks that the parts fit together and every number is finite. Files are read through this.
    pub fn check(&self) -> Result<()> {
        self.expansion.check()?;
        self.decision.check()?;
        let same = |what, expected: usize, found: usize| match expected == found {
            true => Ok(()),
            false => Err(Error::Shape { what, expected, found }),
        };
        if self.n_outputs() == 0 {
            return Err(Error::data("the machine has no outputs"));
        }
        same("offsets of the machine", self.n_outputs(), self.offsets.len())?;
        if let Some(outputs) = self.decision.n_outputs() {
            same("outputs for the machine's labels", outputs, self.n_outputs())?;
        }
        if self.decision == Decision::Ratio && self.n_outputs() < 2 {
            return Err(Error::data("a machine whose prediction is a ratio needs at least two outputs"));
        }
        if let Some(k) = self.offsets.iter().position(|b| !b.is_finite()) {
            return Err(Error::NotFinite { what: "an offset", row: 0, column: k, value: self.offsets[k] });
        }
        if let Some(scale) = &self.scale {
            let what = if scale.map.is_some() { "rows of the machine's linear map" } else { "columns of the machine's scaling" };
            same(what, self.expansion.vectors.dim(), scale.output_dim())?;
            scale.check()?;
        }
        if let Some(names) = &self.names {
            same("feature names of the machine", self.dim(), names.len())?;
        }
        if let Some(table) = &self.metadata.table {
            same("features of the table of the machine", self.dim(), table.n_features())?;
        }
        if let Some(calibration) = &self.calibration {
            calibration.check(&self.decision, self.n_outputs(), self.n_vectors())?;
        }
        self.check_set_scores()?;
        self.metadata.check()
    }
}
