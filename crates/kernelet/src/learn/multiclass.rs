//! How several classes become several two-class problems, and what the classes weigh.
use crate::{
    Error, Result,
    data::{Classes, Label},
};

/// How several classes become two-class problems.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Multiclass {
    /// One problem for each pair of classes; they vote.
    #[default]
    OneVsOne,
    /// One problem for each class against all others; the largest output wins.
    OneVsRest,
    /// One problem for each column of an error-correcting code; the class whose word has the least hinge loss wins.
    OutputCodes {
        /// Seed of the code's draw, where there are more than five classes.
        seed: u64,
    },
    /// One against all others with one set of vectors for all, found with the machines or chosen before; only with a budget of vectors.
    Shared,
}

impl Multiclass {
    /// The problems of machines whose vectors are there already: sharing them leaves one against all others.
    pub(crate) fn on_given_vectors(self) -> Self {
        if self == Multiclass::Shared { Multiclass::OneVsRest } else { self }
    }

    /// The form with this name; codes get the seed 0.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "one-vs-one" => Some(Multiclass::OneVsOne),
            "one-vs-rest" => Some(Multiclass::OneVsRest),
            "ecoc" => Some(Multiclass::OutputCodes { seed: 0 }),
            "shared" => Some(Multiclass::Shared),
            _ => None,
        }
    }
}

/// How much the errors of each class cost.
#[derive(Clone, Debug, PartialEq, Default)]
pub enum ClassWeights {
    /// All the same.
    #[default]
    Equal,
    /// Inversely to the number of rows: `n / (classes * rows of the class)`.
    Balanced,
    /// As given; classes not named weigh 1.
    Given(Vec<(Label, f64)>),
}

impl ClassWeights {
    /// The weight of each class, in the order of the labels.
    pub fn of(&self, classes: &Classes) -> Result<Vec<f64>> {
        match self {
            ClassWeights::Equal => Ok(vec![1.0; classes.labels.len()]),
            ClassWeights::Balanced => {
                let (n, k) = (classes.codes.len() as f64, classes.labels.len() as f64);
                Ok(classes.counts().iter().map(|&count| n / (k * count.max(1) as f64)).collect())
            }
            ClassWeights::Given(given) => {
                let mut weights = vec![1.0; classes.labels.len()];
                for (label, weight) in given {
                    let Some(place) = classes.labels.iter().position(|l| l == label) else {
                        return Err(Error::parameter(
                            "class-weight",
                            format!("{label}={weight}"),
                            format!("given for a label of the data: {}", list(&classes.labels)),
                        ));
                    };
                    if !(weight.is_finite() && *weight > 0.0) {
                        return Err(Error::parameter("class-weight", format!("{label}={weight}"), "a finite number above 0"));
                    }
                    weights[place] = *weight;
                }
                Ok(weights)
            }
        }
    }
}

fn list(labels: &[Label]) -> String {
    labels.iter().map(Label::text).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn balanced_weights_make_all_classes_count_the_same() {
        let classes = Classes::from_texts(&["a", "a", "a", "b"]);
        let weights = ClassWeights::Balanced.of(&classes).unwrap();
        assert_eq!(weights, [4.0 / 6.0, 2.0]);
        assert_eq!(ClassWeights::Given(vec![(Label::new("b"), 3.0)]).of(&classes).unwrap(), [1.0, 3.0]);
        let unknown = ClassWeights::Given(vec![(Label::new("c"), 3.0)]).of(&classes).unwrap_err();
        assert_eq!(unknown.to_string(), "class-weight is c=3, but must be given for a label of the data: a, b");
    }
}
