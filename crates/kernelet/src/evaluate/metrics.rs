//! Figures of merit: error and confusion for classes, squared error for numbers, agreement between two machines.
use crate::{
    Error, Result,
    data::{Dataset, Label, Target},
    linalg::Matrix,
    machine::{Machine, Prediction},
};

/// How often each class was predicted for each true class.
#[derive(Clone, Debug, PartialEq)]
pub struct Confusion {
    /// The machine's classes in order, then labels that only the data have.
    pub labels: Vec<Label>,
    /// `counts[t][p]`: rows of class t predicted as class p.
    pub counts: Vec<Vec<usize>>,
}

impl Confusion {
    fn rows(&self) -> usize {
        self.counts.iter().flatten().sum()
    }

    /// The fraction of rows predicted wrongly.
    pub fn error(&self) -> f64 {
        let right: usize = (0..self.labels.len()).map(|c| self.counts[c][c]).sum();
        (self.rows() - right) as f64 / self.rows().max(1) as f64
    }

    /// The mean over the classes present of the part of their rows predicted wrongly.
    pub fn balanced_error(&self) -> f64 {
        let present = self.counts.iter().enumerate().filter(|(_, row)| row.iter().sum::<usize>() > 0);
        let errors: Vec<f64> = present.map(|(c, row)| 1.0 - row[c] as f64 / row.iter().sum::<usize>() as f64).collect();
        errors.iter().sum::<f64>() / errors.len().max(1) as f64
    }
}

/// How well predictions fit the truth.
#[derive(Clone, Debug, PartialEq)]
pub enum Scores {
    /// Of classes.
    Classes(Confusion),
    /// Of numbers.
    Values {
        /// Mean squared error over rows and targets.
        mse: f64,
        /// 1 - squared error over squared deviation from the mean, averaged over targets; as scikit-learn has it.
        r2: f64,
        /// Mean absolute error.
        mae: f64,
    },
}

impl Scores {
    /// The figure to make small: the error for classes, the mean squared error for numbers.
    pub fn loss(&self) -> f64 {
        match self {
            Scores::Classes(confusion) => confusion.error(),
            Scores::Values { mse, .. } => *mse,
        }
    }
}

/// Compares a prediction with the target of `data`.
pub fn score(prediction: &Prediction, data: &Dataset) -> Result<Scores> {
    if data.is_empty() {
        return Err(Error::data("the data have no rows"));
    }
    data.check_lengths()?;
    let predicted = match prediction {
        Prediction::Classes { codes, .. } => codes.len(),
        Prediction::Values(values) => values.rows(),
    };
    if predicted != data.len() {
        return Err(Error::Shape { what: "predictions", expected: data.len(), found: predicted });
    }
    match (prediction, &data.target) {
        (Prediction::Classes { labels, codes }, Target::Classes(truth)) => {
            let mut all = labels.clone();
            all.extend(truth.labels.iter().filter(|label| !labels.contains(label)).cloned());
            let places: Vec<usize> = truth.places_in(&all).into_iter().flatten().collect();
            let mut counts = vec![vec![0; all.len()]; all.len()];
            for (&predicted, &true_code) in codes.iter().zip(&truth.codes) {
                counts[places[true_code as usize]][predicted as usize] += 1;
            }
            Ok(Scores::Classes(Confusion { labels: all, counts }))
        }
        (Prediction::Values(values), Target::Values(truth)) if values.cols() == truth.cols() => Ok(values_score(values, truth)),
        (Prediction::Values(values), Target::Values(truth)) => {
            Err(Error::Shape { what: "targets of a row", expected: values.cols(), found: truth.cols() })
        }
        (_, Target::None) => Err(Error::data("the data have no target to compare with")),
        (Prediction::Classes { .. }, _) => Err(Error::data("the machine predicts classes, but the data have numbers")),
        (Prediction::Values(_), _) => Err(Error::data("the machine predicts numbers, but the data have classes")),
    }
}

fn values_score(values: &Matrix, truth: &Matrix) -> Scores {
    let (n, q) = (truth.rows() as f64, truth.cols());
    let (mut squared, mut absolute, mut r2) = (0.0, 0.0, 0.0);
    for k in 0..q {
        let (have, want) = (values.col(k), truth.col(k));
        let mean = want.iter().sum::<f64>() / n;
        let error: f64 = have.iter().zip(&want).map(|(a, b)| (a - b) * (a - b)).sum();
        let spread: f64 = want.iter().map(|b| (b - mean) * (b - mean)).sum();
        squared += error;
        absolute += have.iter().zip(&want).map(|(a, b)| (a - b).abs()).sum::<f64>();
        r2 += match (spread > 0.0, error > 0.0) {
            (true, _) => 1.0 - error / spread,
            (false, true) => 0.0,
            (false, false) => 1.0,
        };
    }
    let count = n * q.max(1) as f64;
    Scores::Values { mse: squared / count, r2: r2 / q.max(1) as f64, mae: absolute / count }
}

/// The fraction of rows for which two machines predict the same label; None where either predicts no labels.
pub fn agreement(one: &Prediction, other: &Prediction) -> Option<f64> {
    let (Prediction::Classes { labels, codes }, Prediction::Classes { labels: other_labels, codes: other_codes }) = (one, other) else {
        return None;
    };
    let same = codes.iter().zip(other_codes).filter(|(a, b)| labels[**a as usize] == other_labels[**b as usize]).count();
    Some(same as f64 / codes.len().max(1) as f64)
}

impl Machine {
    /// Predicts the rows of `data` and compares with its target.
    pub fn score(&self, data: &Dataset) -> Result<Scores> {
        score(&self.predict(&data.points)?, data)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Classes, Points};

    fn classes(labels: &[&str], codes: &[u32]) -> Prediction {
        Prediction::Classes { labels: labels.iter().map(|l| Label::new(*l)).collect(), codes: codes.to_vec() }
    }

    fn data(target: Target, rows: usize) -> Dataset {
        Dataset::new(Points::from(Matrix::<f64>::zeros(rows, 1)), target)
    }

    #[test]
    fn confusion_counts_true_against_predicted_and_knows_foreign_labels() {
        let truth = data(Target::Classes(Classes::from_texts(&["a", "a", "a", "b", "z"])), 5);
        let Scores::Classes(confusion) = score(&classes(&["b", "a"], &[1, 1, 0, 0, 0]), &truth).unwrap() else { panic!() };
        assert_eq!(confusion.labels.iter().map(Label::text).collect::<Vec<_>>(), ["b", "a", "z"]);
        assert_eq!(confusion.counts, [[1, 0, 0], [1, 2, 0], [1, 0, 0]]);
        assert!((confusion.error() - 0.4).abs() < 1e-15);
        assert!((confusion.balanced_error() - (0.0 + 1.0 / 3.0 + 1.0) / 3.0).abs() < 1e-15);
    }

    #[test]
    fn numbers_have_squared_error_and_r2() {
        let truth = data(Target::Values(Matrix::column(vec![1.0, 2.0, 3.0])), 3);
        let prediction = Prediction::Values(Matrix::column(vec![1.0, 2.0, 4.0]));
        let Scores::Values { mse, r2, mae } = score(&prediction, &truth).unwrap() else { panic!() };
        assert_eq!((mse, mae), (1.0 / 3.0, 1.0 / 3.0));
        assert!((r2 - 0.5).abs() < 1e-15);
    }

    #[test]
    fn agreement_compares_labels_not_codes() {
        assert_eq!(agreement(&classes(&["1", "2"], &[0, 1, 1]), &classes(&["2", "1.0"], &[1, 0, 1])), Some(2.0 / 3.0));
        assert_eq!(agreement(&classes(&["1"], &[0]), &Prediction::Values(Matrix::zeros(1, 1))), None);
    }

    #[test]
    fn comparisons_that_make_no_sense_are_rejected() {
        let none = score(&classes(&["a", "b"], &[0]), &data(Target::None, 1)).unwrap_err();
        assert_eq!(none.to_string(), "the data have no target to compare with");
    }
}
