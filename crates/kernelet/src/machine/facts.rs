//! What is known about how a machine came to be.
use serde::{Deserialize, Serialize};

/// How a machine was trained; every part may be unknown.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Facts {
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
    pub rows: Option<usize>,
    /// The training objective reached, summed over outputs.
    pub objective: Option<f64>,
}

/// How outputs become probabilities, as LIBSVM files store it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Calibration {
    /// P = 1 / (1 + exp(a f + b)) for each output f: LIBSVM's probA and probB.
    Sigmoid {
        /// One a for each output.
        a: Vec<f64>,
        /// One b for each output; empty for regression, where a is the width of the Laplace noise.
        b: Vec<f64>,
    },
    /// One-class: ten ascending outputs between which the probability rises in steps, LIBSVM's prob_density_marks.
    Marks {
        /// The ten outputs.
        marks: Vec<f64>,
    },
}
