//! A request for somebody who has rows and nothing else: the estimator follows from the target, and the machine is one that does well untuned.
//!
//! A machine of few vectors with learned feature scales chooses its cost and its width on validation rows, and keeps one width where these prefer it.
use super::{Gamma, LearnerName, Train};
use crate::{
    data::{Classes, Dataset, Target},
    learn::direct::can_be_validated,
    linalg::Matrix,
};

/// A target with more different numbers has values to predict, not classes.
const MOST_CLASSES_OF_NUMBERS: usize = 20;

/// Vectors of the machine.
const N_VECTORS: usize = 30;

/// With more features the width alone is learned: pixels and words are alike, and a scale for each takes longer to learn.
const MOST_SCALES: usize = 200;

impl Train {
    /// This request with an estimator for the target of the rows, which were read as classes, and, where nothing but the estimator is given, with 30 vectors
    /// and learned feature scales; ridge then with centred targets. The rows come back with the target that the estimator learns from.
    ///
    /// ```
    /// use kernelet::{data::banana, prelude::*};
    ///
    /// let (train, rows) = Train::default().guessed(banana(100, 1));
    /// assert_eq!(train, Train::from_json(r#"{"vectors": 30, "ard": true}"#)?);
    /// # Ok::<(), kernelet::Error>(())
    /// ```
    pub fn guessed(&self, mut data: Dataset) -> (Train, Dataset) {
        let mut train = self.clone();
        if let (None, Target::Classes(classes)) = (self.learner, &data.target)
            && let Some(values) = values_of(classes)
        {
            (train.learner, data.target) = (Some(LearnerName::Ridge), Target::Values(values));
        }
        let nothing_else = Train { learner: self.learner, seed: self.seed, ..Train::default() } == *self;
        if nothing_else && matches!(train.learner(), LearnerName::Svc | LearnerName::Logistic | LearnerName::Ridge | LearnerName::Svr) {
            train.vectors.count = Some(N_VECTORS);
            train.settings.centre = train.learner() == LearnerName::Ridge;
            match data.dim() <= MOST_SCALES {
                _ if !can_be_validated(&data) => {}
                true => train.metric.ard = true,
                false => train.kernel.gamma = Some(Gamma::Learned),
            }
        }
        (train, data)
    }
}

/// The numbers that labels spell, where there are too many of them to be classes.
fn values_of(classes: &Classes) -> Option<Matrix> {
    let values: Vec<f64> = classes.labels.iter().map(|label| label.value()).collect::<Option<_>>()?;
    let of_rows = || Matrix::from_fn(classes.codes.len(), 1, |i, _| values[classes.codes[i] as usize]);
    (values.len() > MOST_CLASSES_OF_NUMBERS).then(of_rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{request::Given, watch::Watch};

    fn rows(dim: usize, labels: &[String]) -> Dataset {
        Dataset::new(Matrix::from_fn(labels.len(), dim, |i, j| (i * (j + 1)) as f64), Target::from_labels(labels))
    }

    fn guess(json: &str, data: Dataset) -> (Train, Dataset) {
        Train::from_json(json).unwrap().guessed(data)
    }

    #[test]
    fn many_different_numbers_are_values_and_few_or_words_are_classes() {
        let numbers = |count: usize| (0..60).map(|i| format!("{}", (i % count) as f64 / 2.0)).collect::<Vec<_>>();
        let (train, data) = guess("{}", rows(2, &numbers(21)));
        assert_eq!(train, Train::from_json(r#"{"learner": "ridge", "centre": true, "vectors": 30, "ard": true}"#).unwrap());
        let Target::Values(values) = &data.target else { panic!("{:?}", data.target) };
        assert!((0..60).all(|i| values.at(i, 0) == (i % 21) as f64 / 2.0));
        let words: Vec<String> = numbers(21).iter().map(|number| format!("n{number}")).collect();
        for labels in [numbers(20), words] {
            let (train, data) = guess("{}", rows(2, &labels));
            assert_eq!((train.learner, &data.target), (None, &Target::from_labels(&labels)));
        }
    }

    #[test]
    fn wide_rows_have_one_learned_width() {
        let labels: Vec<String> = (0..30).map(|i| (i % 2).to_string()).collect();
        let (narrow, wide) = (guess("{}", rows(MOST_SCALES, &labels)).0, guess("{}", rows(MOST_SCALES + 1, &labels)).0);
        assert!(narrow.metric.ard && !wide.metric.ard && wide.kernel.gamma == Some(Gamma::Learned));
        assert!(narrow.check().is_ok() && wide.check().is_ok());
    }

    #[test]
    fn of_rows_that_cannot_be_set_aside_no_scales_are_learned() {
        let labels = |texts: &[&str]| texts.iter().map(|text| text.to_string()).collect::<Vec<_>>();
        for (texts, learns) in [(&["a", "b"][..], false), (&["a", "a", "a", "b"], false), (&["a", "a", "b", "b"], true)] {
            let (train, data) = guess("{}", rows(2, &labels(texts)));
            assert_eq!(train.metric.ard, learns, "{texts:?}");
            let explicit = Train::from_json(r#"{"vectors": 2, "ard": true}"#).unwrap().run(&data, &Given::default(), &Watch::none());
            assert!(learns || explicit.unwrap_err().to_string().contains("two rows of each of two classes"));
        }
    }

    #[test]
    fn what_is_given_is_kept() {
        let labels: Vec<String> = (0..30).map(|i| i.to_string()).collect();
        for json in [r#"{"c": 10}"#, r#"{"tune": true}"#, r#"{"learner": "pca"}"#, r#"{"learner": "svc", "scale": "standard"}"#] {
            let mut expected = Train::from_json(json).unwrap();
            expected.learner = expected.learner.or(Some(LearnerName::Ridge));
            assert_eq!(guess(json, rows(2, &labels)).0, expected);
        }
        let pairs: Vec<String> = (0..30).map(|i| (i / 2).to_string()).collect();
        assert!(guess(r#"{"seed": 3, "learner": "logistic"}"#, rows(2, &pairs)).0.metric.ard);
    }
}
