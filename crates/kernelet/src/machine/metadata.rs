//! Training metadata: what is known about how a machine was made.
use serde::{Deserialize, Serialize};

use crate::{
    Error, Result,
    data::{Encoding, Fingerprints},
};

/// How a machine was trained; every part may be unknown.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Metadata {
    /// The learner or method, by the name used on the command line.
    pub learner: Option<String>,
    /// The cost C of a margin error.
    pub c: Option<f64>,
    /// The nu of a nu machine.
    pub nu: Option<f64>,
    /// The epsilon of a regression machine.
    pub epsilon: Option<f64>,
    /// The penalty of ridge or Fisher.
    pub lambda: Option<f64>,
    /// The weight of each class, in the order of the decision's labels.
    pub class_weights: Option<Vec<f64>>,
    /// Rows it was trained on.
    #[serde(rename = "rows")]
    pub n_rows: Option<usize>,
    /// The training objective reached, summed over outputs.
    pub objective: Option<f64>,
    /// Steps of the vectors in direct training.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steps: Option<u64>,
    /// Which penalty a Fisher discriminant has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub penalty: Option<String>,
    /// How the offset of a Fisher discriminant was chosen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bias: Option<String>,
    /// Directions in which a scatter without penalty stood clear of zero; the others were left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rank: Option<usize>,
    /// What features stand for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub features: Option<FeatureMetadata>,
    /// The basis in which it was trained.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub basis: Option<BasisMetadata>,
    /// How the metric of the kernel was learned, where it was to be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metric: Option<MetricMetadata>,
    /// How the features are made from the columns of a table, where they are not the columns themselves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub table: Option<Encoding>,
    /// Fingerprints of the rows that it was trained on, by which they are recognised.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seen: Option<Fingerprints>,
    /// The request that it came from, by the names of its settings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<serde_json::Value>,
    /// What an estimator of the Python package keeps to be loaded as it was: its class, parameters and the type of its labels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub estimator: Option<serde_json::Value>,
    /// The size path to this machine, where it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<PathMetadata>,
}

/// The size path from a larger machine to this one.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
pub struct PathMetadata {
    /// The method, by the name used on the command line.
    pub method: String,
    /// Vectors of the larger machine.
    pub vectors_before: usize,
    /// The sizes, smallest first.
    pub levels: Vec<SizeMetrics>,
}

/// What is known of one size.
#[derive(Clone, Copy, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SizeMetrics {
    /// The number of vectors.
    #[serde(rename = "vectors")]
    pub n_vectors: usize,
    /// The training objective, of machines that were trained.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub objective: Option<f64>,
    /// `sum_k ||w_k - w'_k||^2`, the squared distance from the weight vectors of a larger machine with the same outputs.
    pub residual: Option<f64>,
    /// The same over `sum_k ||w_k||^2`.
    pub relative_residual: Option<f64>,
    /// The fraction of the rows that are predicted as by the larger machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agreement: Option<f64>,
    /// The error on the training rows.
    pub train_error: Option<f64>,
    /// The error on other rows.
    pub test_error: Option<f64>,
}

/// The basis in whose coordinates a machine was trained.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
pub struct BasisMetadata {
    /// The method that chose it, by the name used on the command line.
    pub method: String,
    /// The vectors asked for.
    pub asked: usize,
    /// True where fewer came out because the rows have no more.
    pub capped: bool,
    /// The largest squared distance of a training row from the span.
    pub largest_error: f64,
    /// The mean squared distance of the training rows from the span.
    pub mean_error: f64,
    /// Kernel evaluations made to choose it.
    pub evaluations: u64,
    /// Those that Franc2003's procedure would make.
    pub evaluations_of_the_paper: u64,
    /// How the support vectors took the place of the basis, where they did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shrunk: Option<String>,
    /// The form of the method, where it has several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
    /// The sizes that cross-validation compared, where it chose the number of vectors.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sizes: Vec<SizeLoss>,
}

/// What cross-validation says of a number of vectors.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SizeLoss {
    /// The number of vectors.
    #[serde(rename = "vectors")]
    pub n_vectors: usize,
    /// The mean loss over the folds.
    pub loss: f64,
}

/// How the metric of a kernel was learned.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct MetricMetadata {
    /// What was to be learned: width, scales or map.
    pub learned: String,
    /// False where validation rows did not prefer it to one width, which was then used.
    pub used: bool,
    /// The weight of the penalty.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub penalty: Option<f64>,
    /// The validation loss of one width.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub one_width: Option<MetricLoss>,
    /// The validation losses of all penalties that were tried.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tried: Vec<MetricLoss>,
    /// The factor of each feature after the scaling of the request; of a map the length of its column.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub feature_scales: Vec<f64>,
}

/// The validation loss of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Default, Serialize, Deserialize)]
pub struct MetricLoss {
    /// The weight of the penalty; none for one width.
    pub penalty: Option<f64>,
    /// The error of classes, or the mean squared error.
    pub error: f64,
    /// The estimator's own loss, by which metrics are compared: its error varies too much from row to row.
    pub loss: f64,
}

impl MetricMetadata {
    /// The best of what was tried.
    pub fn best(&self) -> Option<&MetricLoss> {
        self.tried.iter().min_by(|a, b| a.loss.total_cmp(&b.loss))
    }
}

/// How much of the training rows' variance in feature space each feature has.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
pub struct FeatureMetadata {
    /// The variance along each feature, largest first.
    pub variances: Vec<f64>,
    /// The variance along all directions together.
    pub total_variance: f64,
    /// Whether the features were divided by their standard deviations.
    pub whitened: bool,
    /// Whether some training rows counted more than others.
    #[serde(default)]
    pub weighted: bool,
}

impl FeatureMetadata {
    /// The part of the variance that each feature has.
    pub fn explained(&self) -> Vec<f64> {
        self.variances.iter().map(|variance| variance / self.total_variance).collect()
    }
}

impl Metadata {
    /// Checks that every number is finite, and that the columns of a table can be encoded.
    pub fn check(&self) -> Result<()> {
        self.table.iter().try_for_each(Encoding::check)?;
        let numbers = [("c", self.c), ("nu", self.nu), ("epsilon", self.epsilon), ("lambda", self.lambda), ("objective", self.objective)];
        let weights = self.class_weights.iter().flatten().map(|&weight| ("a class weight", Some(weight)));
        let features = self.features.iter().flat_map(|f| f.variances.iter().chain([&f.total_variance]));
        let features = features.map(|&variance| ("a variance", Some(variance)));
        let errors =
            self.basis.iter().flat_map(|basis| [basis.largest_error, basis.mean_error]).map(|error| ("an error of the basis", Some(error)));
        let losses = self.basis.iter().flat_map(|basis| &basis.sizes).map(|size| ("a loss", Some(size.loss)));
        let metric = self.metric.iter().flat_map(|metric| {
            let tried =
                metric.tried.iter().chain(&metric.one_width).flat_map(|tried| [tried.penalty.unwrap_or(0.0), tried.error, tried.loss]);
            metric.feature_scales.iter().copied().chain(metric.penalty).chain(tried)
        });
        let metric = metric.map(|value| ("a number of the metric", Some(value)));
        let sizes = self.path.iter().flat_map(|path| &path.levels);
        let sizes =
            sizes.flat_map(|size| [size.relative_residual, size.train_error, size.test_error]).map(|value| ("a figure of the path", value));
        for (name, value) in numbers.into_iter().chain(weights).chain(features).chain(errors).chain(losses).chain(metric).chain(sizes) {
            if let Some(value) = value.filter(|value| !value.is_finite()) {
                return Err(Error::parameter(name, value, "a finite number"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_that_are_not_finite_are_rejected() {
        assert!(Metadata { c: Some(1.0), class_weights: Some(vec![1.0, 2.0]), ..Metadata::default() }.check().is_ok());
        let explained = FeatureMetadata { variances: vec![3.0, 1.0], total_variance: 5.0, ..FeatureMetadata::default() };
        assert_eq!(explained.explained(), [0.6, 0.2]);
        let bad = [
            Metadata { nu: Some(f64::NAN), ..Metadata::default() },
            Metadata { class_weights: Some(vec![1.0, f64::INFINITY]), ..Metadata::default() },
            Metadata { features: Some(FeatureMetadata { total_variance: f64::NAN, ..explained }), ..Metadata::default() },
            Metadata { basis: Some(BasisMetadata { mean_error: f64::NAN, ..BasisMetadata::default() }), ..Metadata::default() },
            Metadata {
                path: Some(PathMetadata {
                    levels: vec![SizeMetrics { test_error: Some(f64::NAN), ..SizeMetrics::default() }],
                    ..PathMetadata::default()
                }),
                ..Metadata::default()
            },
        ];
        for metadata in bad {
            assert!(metadata.check().unwrap_err().to_string().ends_with("must be a finite number"));
        }
    }
}
