//! Figures of merit of rows that come block by block: those of all rows at once, without keeping any.
use super::metrics::{Confusion, Scores};
use crate::{
    Error, Result,
    data::{Classes, Dataset, Target},
    linalg::Matrix,
    machine::Prediction,
};

/// Scores of all rows so far.
#[derive(Clone, Debug, Default)]
pub struct RunningScores {
    found: Option<Found>,
}

#[derive(Clone, Debug)]
enum Found {
    /// And how many of the labels can be predicted.
    Classes(Confusion, usize),
    Values(Vec<Moments>),
}

/// What the scores of one target need.
#[derive(Clone, Copy, Debug, Default)]
struct Moments {
    rows: f64,
    squared: f64,
    absolute: f64,
    mean: f64,
    /// Squared deviations of the target from its mean.
    spread: f64,
}

impl RunningScores {
    /// Compares the prediction of one more block with its targets. Classes of different blocks are matched by their labels.
    pub fn add(&mut self, prediction: &Prediction, data: &Dataset) -> Result<()> {
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
                let own = labels.len();
                let nothing = || Found::Classes(Confusion { labels: labels.clone(), counts: vec![vec![0; own]; own] }, own);
                let Found::Classes(confusion, _) = self.found.get_or_insert_with(nothing) else { return Err(mixed()) };
                confusion.count(codes, truth);
                Ok(())
            }
            (Prediction::Values(values), Target::Values(truth)) if values.cols() == truth.cols() => {
                let Found::Values(all) = self.found.get_or_insert_with(|| Found::Values(vec![Moments::default(); truth.cols()])) else {
                    return Err(mixed());
                };
                if all.len() != truth.cols() {
                    return Err(Error::Shape { what: "targets of a row", expected: all.len(), found: truth.cols() });
                }
                all.iter_mut().enumerate().for_each(|(k, moments)| *moments = moments.with(Moments::of(values, truth, k)));
                Ok(())
            }
            (Prediction::Values(values), Target::Values(truth)) => {
                Err(Error::Shape { what: "targets of a row", expected: values.cols(), found: truth.cols() })
            }
            (_, Target::None) => Err(Error::data("the data have no target to compare with")),
            (Prediction::Classes { .. }, _) => Err(Error::data("the machine predicts classes, but the data have numbers")),
            (Prediction::Values(_), _) => Err(Error::data("the machine predicts numbers, but the data have classes")),
        }
    }

    /// The scores; an error where there were no rows.
    pub fn scores(self) -> Result<Scores> {
        match self.found {
            None => Err(Error::data("the data have no rows")),
            Some(Found::Classes(confusion, own)) => Ok(Scores::Classes(confusion.in_order(own))),
            Some(Found::Values(all)) => Ok(values_scores(&all)),
        }
    }
}

fn mixed() -> Error {
    Error::data("some rows have classes and some have numbers")
}

impl Confusion {
    /// Counts rows; the first labels are those that are predicted.
    fn count(&mut self, codes: &[u32], truth: &Classes) {
        let foreign = truth.labels.iter().filter(|label| !self.labels.contains(label)).cloned().collect::<Vec<_>>();
        self.labels.extend(foreign);
        self.counts.resize(self.labels.len(), vec![]);
        self.counts.iter_mut().for_each(|row| row.resize(self.labels.len(), 0));
        let places: Vec<usize> = truth.places_in(&self.labels).into_iter().flatten().collect();
        for (&predicted, &true_code) in codes.iter().zip(&truth.codes) {
            self.counts[places[true_code as usize]][predicted as usize] += 1;
        }
    }

    /// With the labels behind the first `own`, which only the data have, in the order of labels, whichever block had them first.
    fn in_order(self, own: usize) -> Self {
        let foreign: Vec<u32> = (0..(self.labels.len() - own) as u32).collect();
        let mut order: Vec<usize> = (0..self.labels.len()).collect();
        Classes::new(self.labels[own..].to_vec(), &foreign)
            .codes
            .iter()
            .enumerate()
            .for_each(|(i, &place)| order[own + place as usize] = own + i);
        Confusion {
            labels: order.iter().map(|&c| self.labels[c].clone()).collect(),
            counts: order.iter().map(|&t| order.iter().map(|&p| self.counts[t][p]).collect()).collect(),
        }
    }
}

impl Moments {
    fn of(values: &Matrix, truth: &Matrix, target: usize) -> Self {
        let (have, want) = (values.col(target), truth.col(target));
        let rows = want.len() as f64;
        let mean = want.iter().sum::<f64>() / rows;
        Moments {
            rows,
            squared: have.iter().zip(&want).map(|(a, b)| (a - b) * (a - b)).sum(),
            absolute: have.iter().zip(&want).map(|(a, b)| (a - b).abs()).sum(),
            mean,
            spread: want.iter().map(|b| (b - mean) * (b - mean)).sum(),
        }
    }

    /// Those of other rows too; deviations move from two means to the common one.
    fn with(self, other: Moments) -> Self {
        if self.rows == 0.0 {
            return other;
        }
        let (rows, apart) = (self.rows + other.rows, other.mean - self.mean);
        Moments {
            rows,
            squared: self.squared + other.squared,
            absolute: self.absolute + other.absolute,
            mean: self.mean + apart * (other.rows / rows),
            spread: self.spread + other.spread + apart * apart * self.rows * (other.rows / rows),
        }
    }

    fn r2(&self) -> f64 {
        match (self.spread > 0.0, self.squared > 0.0) {
            (true, _) => 1.0 - self.squared / self.spread,
            (false, true) => 0.0,
            (false, false) => 1.0,
        }
    }
}

fn values_scores(all: &[Moments]) -> Scores {
    let q = all.len().max(1) as f64;
    let count = all.first().map_or(0.0, |moments| moments.rows) * q;
    Scores::Values {
        mse: all.iter().map(|moments| moments.squared).sum::<f64>() / count,
        r2: all.iter().map(Moments::r2).sum::<f64>() / q,
        mae: all.iter().map(|moments| moments.absolute).sum::<f64>() / count,
    }
}

/// Compares a prediction with the target of `data`.
pub fn score(prediction: &Prediction, data: &Dataset) -> Result<Scores> {
    let mut running = RunningScores::default();
    running.add(prediction, data)?;
    running.scores()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Label, Points};

    fn data(target: Target, rows: usize) -> Dataset {
        Dataset::new(Points::from(Matrix::<f64>::zeros(rows, 1)), target)
    }

    #[test]
    fn classes_of_blocks_are_counted_as_those_of_all_rows() {
        let labels: Vec<Label> = ["b", "a"].map(Label::new).to_vec();
        let (texts, codes): (Vec<&str>, Vec<u32>) = ([("z", 0), ("a", 1), ("y", 1), ("b", 0), ("z", 1), ("a", 0)].into_iter()).unzip();
        let of = |rows: std::ops::Range<usize>| {
            let prediction = Prediction::Classes { labels: labels.clone(), codes: codes[rows.clone()].to_vec() };
            (prediction, data(Target::Classes(Classes::from_texts(&texts[rows.clone()])), rows.len()))
        };
        let (prediction, whole) = of(0..6);
        let want = score(&prediction, &whole).unwrap();
        let Scores::Classes(confusion) = &want else { panic!() };
        assert_eq!(confusion.labels.iter().map(Label::text).collect::<Vec<_>>(), ["b", "a", "y", "z"]);
        for cut in 1..6 {
            let mut running = RunningScores::default();
            for (prediction, data) in [of(0..cut), of(cut..6)] {
                running.add(&prediction, &data).unwrap();
            }
            assert_eq!(running.scores().unwrap(), want, "{cut}");
        }
        assert!(RunningScores::default().scores().is_err());
    }

    #[test]
    fn numbers_of_blocks_have_the_scores_of_all_rows() {
        let truth = Matrix::from_fn(90, 2, |i, k| 1000.0 + ((3 * i + k) as f64).sin());
        let values = Matrix::from_fn(90, 2, |i, k| truth.at(i, k) + 0.1 * ((i * i + k) as f64).cos());
        let of = |rows: &[usize]| (Prediction::Values(values.select(rows)), data(Target::Values(truth.select(rows)), rows.len()));
        let all: Vec<usize> = (0..90).collect();
        let (prediction, whole) = of(&all);
        let Scores::Values { mse, r2, mae } = score(&prediction, &whole).unwrap() else { panic!() };
        let mut running = RunningScores::default();
        for block in all.chunks(7) {
            let (prediction, data) = of(block);
            running.add(&prediction, &data).unwrap();
        }
        let Scores::Values { mse: a, r2: b, mae: c } = running.clone().scores().unwrap() else { panic!() };
        for (have, want) in [(a, mse), (b, r2), (c, mae)] {
            assert!((have - want).abs() < 1e-12 * want.abs().max(1.0), "{have} {want}");
        }
        let classes = Prediction::Classes { labels: vec![Label::new("a")], codes: vec![0] };
        assert!(running.add(&classes, &data(Target::Classes(Classes::from_texts(&["a"])), 1)).is_err());
    }
}
