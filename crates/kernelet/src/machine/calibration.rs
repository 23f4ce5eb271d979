//! How the outputs of a machine become probabilities, or a distribution around a predicted number.
use serde::{Deserialize, Serialize};

use super::{Decision, LogVariance, NormalClasses, Posterior};
use crate::{Error, Result};

/// How outputs become probabilities. [`Machine::probabilities`](super::Machine::probabilities) applies it.
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
    /// A curve that never falls for each output.
    Isotonic {
        /// One curve for each output.
        curves: Vec<Curve>,
    },
    /// One-class: ten ascending outputs between which the probability rises in steps, LIBSVM's prob_density_marks.
    Marks {
        /// The ten outputs.
        marks: Vec<f64>,
    },
    /// The outputs are weighted densities: the probability of a class is its part of their sum.
    Shares,
    /// Regression: a normal distribution around each output, narrow where training rows are near.
    Normal {
        /// One posterior for each output.
        posteriors: Vec<Posterior>,
    },
    /// Regression: a normal distribution around each output, whose variance is another function on the vectors.
    LogVariance {
        /// One for each output.
        heads: Vec<LogVariance>,
    },
    /// A normal distribution of the outputs within each class.
    NormalClasses(NormalClasses),
}

/// A curve through points, straight between them and level beyond both ends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Curve {
    /// Outputs, ascending.
    pub outputs: Vec<f64>,
    /// The probability at each, never falling, between 0 and 1.
    pub probabilities: Vec<f64>,
}

impl Curve {
    /// The curve at an output.
    pub fn at(&self, output: f64) -> f64 {
        let (x, p) = (&self.outputs, &self.probabilities);
        let right = x.partition_point(|&x| x < output);
        match right {
            0 => p[0],
            _ if right == x.len() => p[right - 1],
            _ => {
                let part = (output - x[right - 1]) / (x[right] - x[right - 1]);
                p[right - 1] + part * (p[right] - p[right - 1])
            }
        }
    }

    fn fits(&self) -> bool {
        let ascending = self.outputs.windows(2).all(|w| w[0] < w[1]);
        let rising = self.probabilities.windows(2).all(|w| w[0] <= w[1]);
        let bounded = self.probabilities.iter().all(|p| (0.0..=1.0).contains(p));
        !self.outputs.is_empty() && self.outputs.len() == self.probabilities.len() && ascending && rising && bounded
    }
}

impl Calibration {
    /// The name on the command line and in files.
    pub fn name(&self) -> &'static str {
        match self {
            Calibration::Sigmoid { .. } => "sigmoid",
            Calibration::Isotonic { .. } => "isotonic",
            Calibration::Marks { .. } => "marks",
            Calibration::Shares => "shares",
            Calibration::Normal { .. } => "normal",
            Calibration::LogVariance { .. } => "log-variance",
            Calibration::NormalClasses(normal) if normal.is_softmax() => "softmax",
            Calibration::NormalClasses(_) => "normal-classes",
        }
    }

    /// Checks that there are as many numbers as a machine with this rule and these sizes needs, all of them finite and in range.
    pub fn check(&self, decision: &Decision, outputs: usize, vectors: usize) -> Result<()> {
        let classes = matches!(decision, Decision::Sign { .. } | Decision::Votes { .. } | Decision::Largest { .. });
        let fits = match self {
            Calibration::Sigmoid { a, b } => a.len() == outputs && b.len() == if *decision == Decision::Values { 0 } else { outputs },
            Calibration::Isotonic { curves } => classes && curves.len() == outputs && curves.iter().all(Curve::fits),
            Calibration::Marks { marks } => marks.len() == 10 && *decision == Decision::Novelty,
            Calibration::Shares => matches!(decision, Decision::Largest { .. }),
            Calibration::Normal { posteriors } => {
                *decision == Decision::Values && posteriors.len() == outputs && posteriors.iter().all(|p| p.fits(vectors))
            }
            Calibration::LogVariance { heads } => {
                *decision == Decision::Values && heads.len() == outputs && heads.iter().all(|head| head.fits(vectors))
            }
            Calibration::NormalClasses(normal) => normal.fits(decision.labels().len(), outputs),
        };
        if !fits {
            return Err(Error::data("the numbers for probabilities do not fit the machine's outputs"));
        }
        match self.numbers().into_iter().flatten().find(|value| !value.is_finite()) {
            None => Ok(()),
            Some(value) => Err(Error::parameter("a number for probabilities", value, "a finite number")),
        }
    }

    fn numbers(&self) -> Vec<&[f64]> {
        match self {
            Calibration::Sigmoid { a, b } => vec![a, b],
            Calibration::Isotonic { curves } => curves.iter().flat_map(|c| [&c.outputs[..], &c.probabilities[..]]).collect(),
            Calibration::Marks { marks } => vec![marks],
            Calibration::Shares => vec![],
            Calibration::Normal { posteriors } => posteriors.iter().flat_map(|p| [std::slice::from_ref(&p.noise), &p.factor[..]]).collect(),
            Calibration::LogVariance { heads } => {
                heads.iter().flat_map(|head| [&head.coefficients[..], std::slice::from_ref(&head.offset)]).collect()
            }
            Calibration::NormalClasses(normal) => normal.numbers(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_calibration_must_fit_the_outputs() {
        let votes = Decision::Votes { labels: vec![] };
        let sigmoid = |a: usize, b: usize| Calibration::Sigmoid { a: vec![1.0; a], b: vec![1.0; b] };
        assert!(sigmoid(3, 3).check(&votes, 3, 0).is_ok());
        assert!(sigmoid(3, 0).check(&votes, 3, 0).is_err());
        assert!(sigmoid(1, 0).check(&Decision::Values, 1, 0).is_ok());
        assert!(sigmoid(1, 1).check(&Decision::Values, 1, 0).is_err());
        let marks = Calibration::Marks { marks: vec![0.0; 10] };
        assert!(marks.check(&Decision::Novelty, 1, 0).is_ok() && marks.check(&Decision::Values, 1, 0).is_err());
        let nan = Calibration::Sigmoid { a: vec![f64::NAN], b: vec![] };
        assert!(nan.check(&Decision::Values, 1, 0).is_err());
        assert!(Calibration::Shares.check(&votes, 3, 0).is_err());
        let sign = Decision::Sign { negative: crate::data::Label::new("a"), positive: crate::data::Label::new("b") };
        let normal = |mean: f64| NormalClasses { constants: vec![0.0; 2], means: vec![vec![mean]; 2], precisions: vec![vec![1.0]] };
        assert!(Calibration::NormalClasses(normal(0.0)).check(&sign, 1, 0).is_ok());
        assert!(Calibration::NormalClasses(normal(0.0)).check(&Decision::Values, 1, 0).is_err());
        assert!(Calibration::NormalClasses(normal(f64::NAN)).check(&sign, 1, 0).is_err());
    }

    #[test]
    fn a_curve_that_falls_or_leaves_0_to_1_is_rejected() {
        let sign = Decision::Sign { negative: crate::data::Label::new("a"), positive: crate::data::Label::new("b") };
        let check = |outputs: &[f64], probabilities: &[f64]| {
            let curve = Curve { outputs: outputs.to_vec(), probabilities: probabilities.to_vec() };
            Calibration::Isotonic { curves: vec![curve] }.check(&sign, 1, 0).is_ok()
        };
        assert!(check(&[0.0, 1.0], &[0.2, 0.2]));
        assert!(!check(&[0.0, 0.0], &[0.2, 0.2]) && !check(&[0.0, 1.0], &[0.3, 0.2]) && !check(&[0.0, 1.0], &[0.3, 1.1]));
        assert!(!check(&[], &[]) && !check(&[0.0], &[0.1, 0.2]) && !check(&[f64::NAN], &[0.1]) && !check(&[1.0], &[f64::NAN]));
    }

    #[test]
    fn a_curve_is_straight_between_its_points_and_level_beyond() {
        let curve = Curve { outputs: vec![-1.0, 0.0, 4.0], probabilities: vec![0.1, 0.1, 0.9] };
        for (output, want) in [(-9.0, 0.1), (-1.0, 0.1), (-0.5, 0.1), (0.0, 0.1), (1.0, 0.3), (4.0, 0.9), (99.0, 0.9)] {
            assert!((curve.at(output) - want).abs() < 1e-15, "{output}");
        }
    }
}
