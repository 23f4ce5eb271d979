//! Figures of merit: error and confusion for classes, squared error for numbers, agreement between two machines.
use super::running::score;
use crate::{
    Result,
    data::{Dataset, Label},
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
    use crate::{
        data::{Classes, Points, Target},
        linalg::Matrix,
    };

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
