//! What the outputs of a machine mean.
use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use super::Pairwise;
use crate::{Error, Result, data::Label};

/// What the outputs mean, and how they become a prediction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "rule", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Decision {
    /// One output: above zero `positive`, else `negative`.
    Sign {
        /// The label of outputs up to zero: the first in order.
        negative: Label,
        /// The label of outputs above zero: the second in order.
        positive: Label,
    },
    /// One-vs-one: output (a, b) above zero is a vote for a, else for b; most votes win, ties go to the lower class.
    Votes {
        /// The classes in order.
        labels: Vec<Label>,
    },
    /// One-vs-rest: the class with the largest output wins, ties go to the lower class.
    Largest {
        /// The classes in order.
        labels: Vec<Label>,
    },
    /// Output codes: the class whose word of signs s has the least hinge loss `sum_k max(0, 1 - s_k f_k)` wins, ties go to the lower class.
    Codes {
        /// The classes in order.
        labels: Vec<Label>,
        /// For each class one +1 or -1 for each output.
        words: Vec<Vec<i8>>,
    },
    /// One output: above zero the row is like the training rows, predicted as 1, else -1.
    Novelty,
    /// The outputs are predictions of real targets.
    Values,
    /// The last output is a sum of weights, the others are weighted sums: the predictions of real targets are the others divided by the
    /// last. All outputs share their vectors, so that one approximation of all of them keeps the ratio.
    Ratio,
    /// The outputs are features.
    Features,
}

impl Decision {
    /// The classes in order; empty where no classes are predicted.
    pub fn labels(&self) -> Vec<Label> {
        match self {
            Decision::Sign { negative, positive } => vec![negative.clone(), positive.clone()],
            Decision::Votes { labels } | Decision::Largest { labels } | Decision::Codes { labels, .. } => labels.clone(),
            Decision::Novelty => vec![Label::new("-1"), Label::new("1")],
            Decision::Values | Decision::Ratio | Decision::Features => vec![],
        }
    }

    /// The number of classes.
    pub(super) fn n_classes(&self) -> usize {
        match self {
            Decision::Sign { .. } | Decision::Novelty => 2,
            Decision::Votes { labels } | Decision::Largest { labels } | Decision::Codes { labels, .. } => labels.len(),
            Decision::Values | Decision::Ratio | Decision::Features => 0,
        }
    }

    /// The number of outputs the rule needs, where it is fixed.
    pub fn n_outputs(&self) -> Option<usize> {
        match self {
            Decision::Sign { .. } | Decision::Novelty => Some(1),
            Decision::Votes { labels } => Some(labels.len() * labels.len().saturating_sub(1) / 2),
            Decision::Largest { labels } => Some(labels.len()),
            Decision::Codes { words, .. } => Some(words.first().map_or(0, Vec::len)),
            Decision::Values | Decision::Ratio | Decision::Features => None,
        }
    }

    /// On which side of output `output` the rows of class `class` should be: +1, -1, or none where the output is not about them.
    pub fn side(&self, output: usize, class: usize) -> Option<f64> {
        let sign = |positive: bool| Some(if positive { 1.0 } else { -1.0 });
        match self {
            Decision::Sign { .. } | Decision::Novelty => sign(class == 1),
            Decision::Largest { .. } => sign(class == output),
            Decision::Votes { labels } => {
                let (a, b) = Pairwise::pairs(labels.len()).nth(output)?;
                if class == a || class == b { sign(class == a) } else { None }
            }
            Decision::Codes { words, .. } => words.get(class).and_then(|word| word.get(output)).map(|&s| f64::from(s)),
            Decision::Values | Decision::Features | Decision::Ratio => None,
        }
    }

    /// Checks that the words of a code fit its labels: one for each, all as long, of +1 and -1, no two the same.
    pub fn check(&self) -> Result<()> {
        let Decision::Codes { labels, words } = self else { return Ok(()) };
        let length = words.first().map_or(0, Vec::len);
        let good = words.iter().all(|word| word.len() == length && word.iter().all(|sign| [-1, 1].contains(sign)));
        let distinct = words.iter().collect::<HashSet<_>>().len() == words.len();
        match good && distinct && words.len() == labels.len() {
            true => Ok(()),
            false => Err(Error::data("the code words do not fit their classes: each needs its own word of 1 and -1, all as long")),
        }
    }

    /// The place in [`Decision::labels`] of the class that one row's outputs stand for; 0 where no classes are predicted.
    pub fn class(&self, outputs: &[f64]) -> usize {
        match self {
            Decision::Sign { .. } | Decision::Novelty => usize::from(outputs.first().is_some_and(|&f| f > 0.0)),
            Decision::Votes { labels } => {
                let (n, mut rest) = (labels.len(), outputs);
                // Up to so many classes without memory.
                let (mut few, mut many) = ([0u32; 32], vec![]);
                let votes = few.get_mut(..n).unwrap_or_else(|| {
                    many.resize(n, 0);
                    &mut many
                });
                for a in 0..n {
                    let (own, others) = rest.split_at((n - a - 1).min(rest.len()));
                    let mut won = 0;
                    for (f, votes) in own.iter().zip(&mut votes[a + 1..]) {
                        let first = u32::from(*f > 0.0);
                        (won, *votes) = (won + first, *votes + 1 - first);
                    }
                    votes[a] += won;
                    rest = others;
                }
                first_largest(votes)
            }
            Decision::Largest { .. } => first_largest(outputs),
            Decision::Codes { .. } => first_largest(&self.class_scores(outputs)),
            Decision::Values | Decision::Ratio | Decision::Features => 0,
        }
    }

    /// A score for each class, the largest for the class that is predicted but for ties: of pairs the votes, and less than half a vote for how clear they are.
    pub fn class_scores(&self, outputs: &[f64]) -> Vec<f64> {
        match self {
            Decision::Sign { .. } | Decision::Novelty => outputs.iter().take(1).flat_map(|f| [-f, *f]).collect(),
            Decision::Largest { .. } => outputs.to_vec(),
            Decision::Codes { words, .. } => {
                words.iter().map(|word| word.iter().zip(outputs).map(|(&s, f)| (f64::from(s) * f - 1.0).min(0.0)).sum()).collect()
            }
            Decision::Votes { labels } => {
                let (mut votes, mut sums) = (vec![0.0; labels.len()], vec![0.0; labels.len()]);
                for (&f, (a, b)) in outputs.iter().zip(Pairwise::pairs(labels.len())) {
                    votes[if f > 0.0 { a } else { b }] += 1.0;
                    sums[a] += f;
                    sums[b] -= f;
                }
                votes.iter().zip(&sums).map(|(votes, sum): (&f64, &f64)| votes + sum / (3.0 * (sum.abs() + 1.0))).collect()
            }
            Decision::Values | Decision::Ratio | Decision::Features => vec![],
        }
    }

    /// The numbers that one row's outputs stand for, where numbers are predicted: the outputs, or their ratios to the last.
    pub fn numbers(&self, outputs: &[f64]) -> Vec<f64> {
        match (self, outputs.split_last()) {
            (Decision::Ratio, Some((sum, others))) => others.iter().map(|value| value / sum).collect(),
            _ => outputs.to_vec(),
        }
    }
}

pub(super) fn first_largest<T: PartialOrd>(values: &[T]) -> usize {
    (1..values.len()).fold(0, |best, i| if values[i] > values[best] { i } else { best })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(n: usize) -> Vec<Label> {
        (0..n).map(|i| Label::new(i.to_string())).collect()
    }

    #[test]
    fn votes_follow_libsvm_and_ties_go_to_the_lower_class() {
        let rule = Decision::Votes { labels: labels(3) };
        assert_eq!(rule.class(&[1.0, 1.0, 1.0]), 0);
        assert_eq!(rule.class(&[-1.0, 1.0, 1.0]), 1);
        assert_eq!(rule.class(&[-1.0, -1.0, -1.0]), 2);
        // One vote each: 0 beats 1, 2 beats 0, 1 beats 2.
        assert_eq!(rule.class(&[1.0, -1.0, 1.0]), 0);
        // Zero is not above zero: the second of the pair has the vote.
        assert_eq!(rule.class(&[0.0, 1.0, 1.0]), 1);
    }

    #[test]
    fn sides_are_those_that_the_rule_wants() {
        let votes = Decision::Votes { labels: labels(3) };
        assert_eq!((0..3).map(|class| votes.side(1, class)).collect::<Vec<_>>(), [Some(1.0), None, Some(-1.0)]);
        let largest = Decision::Largest { labels: labels(3) };
        for class in 0..3 {
            let outputs: Vec<f64> = (0..3).map(|output| largest.side(output, class).unwrap()).collect();
            assert_eq!(largest.class(&outputs), class);
            let outputs: Vec<f64> = (0..3).map(|output| votes.side(output, class).unwrap_or(0.5)).collect();
            assert_eq!(votes.class(&outputs), class);
        }
        assert_eq!(Decision::Values.side(0, 0), None);
    }

    #[test]
    fn signs_and_largest_outputs() {
        let sign = Decision::Sign { negative: Label::new("a"), positive: Label::new("b") };
        assert_eq!((sign.class(&[0.1]), sign.class(&[0.0]), sign.class(&[-2.0])), (1, 0, 0));
        let largest = Decision::Largest { labels: labels(3) };
        assert_eq!(Decision::Ratio.numbers(&[1.0, 3.0, 2.0]), [0.5, 1.5]);
        assert_eq!(Decision::Values.numbers(&[1.0, 3.0, 2.0]), [1.0, 3.0, 2.0]);
        assert_eq!((largest.class(&[1.0, 2.0, 2.0]), largest.class(&[-1.0, -2.0, 0.0])), (1, 2));
    }

    #[test]
    fn codes_are_decoded_by_hinge_loss() {
        let words = vec![vec![1, 1, 1], vec![1, -1, -1], vec![-1, 1, -1]];
        let codes = Decision::Codes { labels: labels(3), words: words.clone() };
        assert!(codes.check().is_ok());
        assert_eq!((codes.n_outputs(), codes.class(&[1.0, -1.0, -1.0]), codes.class(&[-2.0, 0.5, -0.1])), (Some(3), 1, 2));
        // Hamming distance would be 1 for all three; the confident outputs decide. A margin beyond 1 earns nothing.
        assert_eq!(codes.class(&[2.0, 0.9, -0.1]), 0);
        assert_eq!((codes.class(&[0.0; 3]), codes.class(&[9.0, -1.5, 1.5])), (0, 0));
        for bad in [vec![vec![1, 1, 1]; 3], vec![vec![1, 0, 1], words[1].clone(), words[2].clone()], words[..2].to_vec()] {
            assert!(Decision::Codes { labels: labels(3), words: bad }.check().is_err());
        }
    }
}
