//! How several classes become several two-class problems, and what the classes weigh.
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use serde_json::Value;

use crate::{
    Error, Named, Result,
    data::{Classes, Label},
    error::MOST_COST,
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

impl Named for Multiclass {
    const NAMES: &'static [(&'static str, Self)] = &[
        ("one-vs-one", Multiclass::OneVsOne),
        ("one-vs-rest", Multiclass::OneVsRest),
        ("ecoc", Multiclass::OutputCodes { seed: 0 }),
        ("shared", Multiclass::Shared),
    ];

    /// Without what a variant holds.
    fn name(self) -> &'static str {
        let same = |(_, choice): &&(&str, Self)| std::mem::discriminant(choice) == std::mem::discriminant(&self);
        Self::NAMES.iter().find(same).map_or("", |(name, _)| name)
    }
}

impl Multiclass {
    /// The problems of machines whose vectors are there already: sharing them leaves one against all others.
    pub(crate) fn on_given_vectors(self) -> Self {
        if self == Multiclass::Shared { Multiclass::OneVsRest } else { self }
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

impl Serialize for ClassWeights {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        match self {
            ClassWeights::Equal => serializer.serialize_none(),
            ClassWeights::Balanced => serializer.serialize_str("balanced"),
            ClassWeights::Given(pairs) => serializer.collect_map(pairs.iter().map(|(label, weight)| (label.text(), weight))),
        }
    }
}

/// Reads `balanced`, an object of weights by label, or the same as `LABEL=WEIGHT,..`.
impl<'de> Deserialize<'de> for ClassWeights {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        let pairs = match Value::deserialize(deserializer)? {
            Value::Null => return Ok(ClassWeights::Equal),
            Value::String(text) if text == "balanced" => return Ok(ClassWeights::Balanced),
            Value::String(text) => text.split(',').map(pair).collect(),
            Value::Object(map) => map.iter().map(|(label, weight)| Some((Label::new(label), weight.as_f64()?))).collect(),
            _ => None,
        };
        pairs
            .map(ClassWeights::Given)
            .ok_or_else(|| D::Error::custom("`class-weight` must be balanced, or LABEL=WEIGHT for each class, with commas between them"))
    }
}

fn pair(part: &str) -> Option<(Label, f64)> {
    let (label, weight) = part.rsplit_once('=')?;
    Some((Label::new(label), weight.parse().ok()?))
}

impl ClassWeights {
    /// The weight of each class, in the order of the labels.
    pub fn of(&self, classes: &Classes) -> Result<Vec<f64>> {
        self.of_counts(&classes.labels, &classes.counts())
    }

    /// The same from the number of rows of each class.
    pub fn of_counts(&self, labels: &[Label], counts: &[usize]) -> Result<Vec<f64>> {
        match self {
            ClassWeights::Equal => Ok(vec![1.0; labels.len()]),
            ClassWeights::Balanced => {
                let (n, k) = (counts.iter().sum::<usize>() as f64, labels.len() as f64);
                Ok(counts.iter().map(|&count| n / (k * count.max(1) as f64)).collect())
            }
            ClassWeights::Given(given) => {
                let mut weights = vec![1.0; labels.len()];
                for (label, weight) in given {
                    let Some(place) = labels.iter().position(|l| l == label) else {
                        return Err(Error::parameter(
                            "class-weight",
                            format!("{label}={weight}"),
                            format!("given for a label of the data: {}", list(labels)),
                        ));
                    };
                    if !(weight.is_finite() && *weight > 0.0) {
                        return Err(Error::parameter("class-weight", format!("{label}={weight}"), "a finite number above 0"));
                    }
                    if *weight > MOST_COST {
                        return Err(Error::parameter("class-weight", format!("{label}={weight:e}"), format!("at most {MOST_COST:e}")));
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
