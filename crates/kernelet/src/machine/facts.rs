//! What is known about how a machine came to be.
use serde::{Deserialize, Serialize};

use super::{Decision, NormalClasses};
use crate::{Error, Result};

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
    pub features: Option<FeatureFacts>,
}

/// How much of the training rows' variance in feature space each feature has.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
pub struct FeatureFacts {
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

impl FeatureFacts {
    /// The part of the variance that each feature has.
    pub fn explained(&self) -> Vec<f64> {
        self.variances.iter().map(|variance| variance / self.total_variance).collect()
    }
}

impl Facts {
    /// Checks that every number is finite.
    pub fn check(&self) -> Result<()> {
        let numbers = [("c", self.c), ("nu", self.nu), ("epsilon", self.epsilon), ("lambda", self.lambda), ("objective", self.objective)];
        let weights = self.class_weights.iter().flatten().map(|&weight| ("a class weight", Some(weight)));
        let features = self.features.iter().flat_map(|f| f.variances.iter().chain([&f.total_variance]));
        let features = features.map(|&variance| ("a variance", Some(variance)));
        for (name, value) in numbers.into_iter().chain(weights).chain(features) {
            if let Some(value) = value.filter(|value| !value.is_finite()) {
                return Err(Error::parameter(name, value, "a finite number"));
            }
        }
        Ok(())
    }
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
    /// A normal distribution of the outputs within each class.
    NormalClasses(NormalClasses),
}

impl Calibration {
    /// Checks that there are as many numbers as a machine with this rule and this many outputs needs, all of them finite.
    pub fn check(&self, decision: &Decision, outputs: usize) -> Result<()> {
        let (counts_fit, numbers) = match self {
            Calibration::Sigmoid { a, b } => {
                let offsets = if *decision == Decision::Values { 0 } else { outputs };
                (a.len() == outputs && b.len() == offsets, [&a[..], &b[..]])
            }
            Calibration::Marks { marks } => (marks.len() == 10 && *decision == Decision::Novelty, [&marks[..], &[]]),
            Calibration::NormalClasses(normal) => (normal.fits(decision.labels().len(), outputs), [&[][..], &[]]),
        };
        if !counts_fit {
            return Err(Error::data("the numbers for probabilities do not fit the machine's outputs"));
        }
        let more = if let Calibration::NormalClasses(normal) = self { Some(normal.numbers()) } else { None };
        match numbers.into_iter().flatten().chain(more.into_iter().flatten()).find(|value| !value.is_finite()) {
            None => Ok(()),
            Some(value) => Err(Error::parameter("a number for probabilities", value, "a finite number")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Label;

    #[test]
    fn facts_that_are_not_finite_are_refused() {
        assert!(Facts { c: Some(1.0), class_weights: Some(vec![1.0, 2.0]), ..Facts::default() }.check().is_ok());
        let explained = FeatureFacts { variances: vec![3.0, 1.0], total_variance: 5.0, ..FeatureFacts::default() };
        assert_eq!(explained.explained(), [0.6, 0.2]);
        let bad = [
            Facts { nu: Some(f64::NAN), ..Facts::default() },
            Facts { class_weights: Some(vec![1.0, f64::INFINITY]), ..Facts::default() },
            Facts { features: Some(FeatureFacts { total_variance: f64::NAN, ..explained }), ..Facts::default() },
        ];
        for facts in bad {
            assert!(facts.check().unwrap_err().to_string().ends_with("must be a finite number"));
        }
    }

    #[test]
    fn a_calibration_must_fit_the_outputs() {
        let votes = Decision::Votes { labels: vec![] };
        let sigmoid = |a: usize, b: usize| Calibration::Sigmoid { a: vec![1.0; a], b: vec![1.0; b] };
        assert!(sigmoid(3, 3).check(&votes, 3).is_ok());
        assert!(sigmoid(3, 0).check(&votes, 3).is_err());
        assert!(sigmoid(1, 0).check(&Decision::Values, 1).is_ok());
        assert!(sigmoid(1, 1).check(&Decision::Values, 1).is_err());
        let marks = Calibration::Marks { marks: vec![0.0; 10] };
        assert!(marks.check(&Decision::Novelty, 1).is_ok() && marks.check(&Decision::Values, 1).is_err());
        let sign = Decision::Sign { negative: Label::new("a"), positive: Label::new("b") };
        let normal = |mean: f64| NormalClasses { constants: vec![0.0; 2], means: vec![vec![mean]; 2], precisions: vec![vec![1.0]] };
        assert!(Calibration::NormalClasses(normal(0.0)).check(&sign, 1).is_ok());
        assert!(Calibration::NormalClasses(normal(0.0)).check(&Decision::Values, 1).is_err());
        assert!(Calibration::NormalClasses(normal(f64::NAN)).check(&sign, 1).is_err());
        let nan = Calibration::Sigmoid { a: vec![f64::NAN], b: vec![] };
        assert!(nan.check(&Decision::Values, 1).is_err());
    }
}
