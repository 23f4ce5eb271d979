//! Figures of merit of probabilities: logarithmic loss, Brier score and calibration error.
use super::sets::{calibration_error, reliability};
use crate::{
    Error, Result,
    data::{Dataset, Label},
    linalg::Matrix,
};

/// No probability counts as less than this, so that one row cannot make the loss infinite.
const LEAST: f64 = 1e-15;

/// Bins of the calibration error.
pub const CALIBRATION_BINS: usize = 15;

/// How well probabilities fit the truth; all are 0 at best.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProbabilityScores {
    /// The mean over the rows of -log P(true class).
    pub log_loss: f64,
    /// The mean over the rows of sum_c (P(c) - [c is the true class])^2; for two classes half of that, the squared error of one of them.
    pub brier: f64,
    /// The expected calibration error in 15 bins: the mean distance between the largest probability and how often its class is the true one.
    pub calibration_error: f64,
}

/// Compares probabilities of the classes `labels` with the target of `data`. A class that is not among the labels has probability 0.
pub fn score_probabilities(probabilities: &Matrix, labels: &[Label], data: &Dataset) -> Result<ProbabilityScores> {
    if data.is_empty() {
        return Err(Error::data("the data have no rows"));
    }
    data.check_lengths()?;
    if (probabilities.rows(), probabilities.cols()) != (data.len(), labels.len()) {
        let (expected, found) = (data.len() * labels.len(), probabilities.values().len());
        return Err(Error::Shape { what: "probabilities of all rows and labels", expected, found });
    }
    let truth = data.classes()?;
    let places = truth.places_in(labels);
    let (mut loss, mut squares) = (0.0, 0.0);
    for (row, &code) in probabilities.iter().zip(&truth.codes) {
        let place = places[code as usize];
        loss -= place.map_or(0.0, |place| row[place]).clamp(LEAST, 1.0).ln();
        let error = |(c, p): (usize, &f64)| (p - f64::from(u8::from(place == Some(c)))).powi(2);
        squares += row.iter().enumerate().map(error).sum::<f64>() + f64::from(u8::from(place.is_none()));
    }
    let (n, half) = (data.len() as f64, if labels.len() == 2 { 0.5 } else { 1.0 });
    let calibration_error = calibration_error(&reliability(probabilities, labels, data, CALIBRATION_BINS)?);
    Ok(ProbabilityScores { log_loss: loss / n, brier: half * squares / n, calibration_error })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Classes, Points, Target};

    #[test]
    fn scores_agree_with_the_definition() {
        let data =
            |texts: &[&str]| Dataset::new(Points::from(Matrix::<f64>::zeros(texts.len(), 1)), Target::Classes(Classes::from_texts(texts)));
        let labels: Vec<Label> = ["b", "a"].map(Label::new).to_vec();
        let p = Matrix::new(vec![0.2, 0.8, 0.7, 0.3, 0.5, 0.5], 3, 2).unwrap();
        let scores = score_probabilities(&p, &labels, &data(&["a", "b", "b"])).unwrap();
        assert!((scores.log_loss + (0.8f64.ln() + 0.7f64.ln() + 0.5f64.ln()) / 3.0).abs() < 1e-15);
        assert!((scores.brier - (0.04 + 0.09 + 0.25) / 3.0).abs() < 1e-15);
        let foreign = score_probabilities(&p, &labels, &data(&["a", "b", "z"])).unwrap();
        assert!((foreign.log_loss + (0.8f64.ln() + 0.7f64.ln() + 1e-15f64.ln()) / 3.0).abs() < 1e-12);
        let three: Vec<Label> = ["a", "b", "c"].map(Label::new).to_vec();
        let p = Matrix::new(vec![0.2, 0.5, 0.3], 1, 3).unwrap();
        assert!((score_probabilities(&p, &three, &data(&["b"])).unwrap().brier - (0.04 + 0.25 + 0.09)).abs() < 1e-15);
    }
}
