//! What a request asks of the kernel's metric.
use serde::{Deserialize, Serialize};

use super::kernel::{Gamma, KernelChoice};
use crate::learn::direct::Learned;

/// What of the metric is learned with the vectors.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct MetricSettings {
    /// A scale for each feature.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub ard: bool,
    /// A linear map to so many dimensions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub projection: Option<usize>,
    /// The weight of the penalty; none where validation rows choose it.
    #[serde(rename = "metric-penalty", skip_serializing_if = "Option::is_none")]
    pub penalty: Option<f64>,
}

impl MetricSettings {
    /// What is learned.
    pub(super) fn learned(&self, kernel: &KernelChoice) -> Learned {
        match (self.projection, self.ard, kernel.gamma) {
            (Some(rows), ..) => Learned::Map(rows),
            (None, true, _) => Learned::Scales,
            (None, false, Some(Gamma::Learned)) => Learned::Width,
            _ => Learned::Nothing,
        }
    }
}
