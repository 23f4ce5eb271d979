//! Prediction sets that cover the truth with a chosen probability: split conformal prediction.
//!
//! On n calibration rows, which the machine was not trained on, a score says how badly each target fits the prediction. For a confidence P the
//! set of a new row has every target whose score is at most the k-th smallest of the n scores, k = ceil((n + 1) P): where the new row is drawn as the
//! calibration rows were, it contains the truth with a probability of at least P, and of at most P + 1/(n + 1) where no two scores are equal
//! (Vovk, Gammerman and Shafer, Algorithmic Learning in a Random World, 2005). The machine may be anything; a poor one has large sets.
//!
//! Scores of classes: `1 - P(class)` where the machine has probabilities, else the largest class score of the others less that of the class. Of
//! numbers: `|y - f(x)|`, over the deviation at x where the machine has one; each number of several has an interval of its own.
use serde::{Deserialize, Serialize};

use super::{Decision, Machine};
use crate::{
    Error, Result,
    data::{Dataset, Label, Points},
    linalg::Matrix,
};

/// So many scores are all kept; of more the ranks that [`kept_ranks`] lists.
const MOST_SCORES: usize = 512;
/// Of more scores the ranks of these parts of the confidences from 0 to 1 are kept ..
const GRID: usize = 200;
/// .. and so many of the largest.
const LARGEST: usize = 200;

/// How badly a target fits a prediction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ScoreKind {
    /// 1 - P(class).
    Probability,
    /// The largest class score of the others less that of the class.
    Margin,
    /// |y - f(x)|.
    Residual,
    /// |y - f(x)| over the deviation at x.
    StandardisedResidual,
}

/// The scores of calibration rows, from which the threshold for every confidence follows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SetScores {
    /// What a score is.
    pub score: ScoreKind,
    /// The number of calibration rows.
    #[serde(rename = "rows")]
    pub n_rows: usize,
    /// The scores of the ranks that are kept, ascending: one list for classes, one for each predicted number.
    pub scores: Vec<Vec<f64>>,
}

/// What the sets of some rows contain.
#[derive(Clone, Debug, PartialEq)]
pub enum PredictionSets {
    /// For each row and each class whether the set has it.
    Classes {
        /// The classes in order.
        labels: Vec<Label>,
        /// For each row whether its set has each class.
        members: Vec<Vec<bool>>,
    },
    /// The ends of an interval for each predicted number.
    Intervals {
        /// The lower ends, one row for each row.
        lower: Matrix,
        /// The upper ends.
        upper: Matrix,
    },
}

/// The ranks, from 1, of the scores that are kept of `n`: all of few. Of many those of confidences that are multiples of 1/200, and the largest.
fn kept_ranks(n: usize) -> Vec<usize> {
    if n <= MOST_SCORES {
        return (1..=n).collect();
    }
    let grid = (1..GRID).map(|part| rank_for(n, part as f64 / GRID as f64));
    let mut ranks: Vec<usize> = grid.chain(n + 1 - LARGEST..=n).collect();
    ranks.sort_unstable();
    ranks.dedup();
    ranks
}

/// ceil((n + 1) P), where a product that is a whole number but for rounding is that number.
fn rank_for(n: usize, confidence: f64) -> usize {
    let product = (n as f64 + 1.0) * confidence;
    let nearest = product.round();
    if (product - nearest).abs() <= 1e-12 * product { nearest as usize } else { product.ceil() as usize }
}

impl SetScores {
    /// The scores of rows: one list for classes, one for each predicted number.
    fn of(score: ScoreKind, mut lists: Vec<Vec<f64>>) -> Self {
        let n_rows = lists.first().map_or(0, Vec::len);
        let ranks = kept_ranks(n_rows);
        for list in &mut lists {
            list.sort_unstable_by(f64::total_cmp);
            *list = ranks.iter().map(|rank| list[rank - 1]).collect();
        }
        SetScores { score, n_rows, scores: lists }
    }

    /// The number of rows that a confidence needs.
    pub fn needed_rows(confidence: f64) -> usize {
        let mut n = (confidence / (1.0 - confidence)).floor().max(1.0) as usize;
        while rank_for(n, confidence) > n {
            n += 1;
        }
        n
    }

    /// The largest score of each list that a set of this confidence may contain.
    fn thresholds(&self, confidence: f64) -> Result<Vec<f64>> {
        if !(confidence > 0.0 && confidence < 1.0) {
            return Err(Error::parameter("confidence", confidence, "above 0 and below 1"));
        }
        let rank = rank_for(self.n_rows, confidence);
        if rank > self.n_rows {
            let (needed, most) = (SetScores::needed_rows(confidence), self.n_rows as f64 / (self.n_rows as f64 + 1.0));
            return Err(Error::data(format!(
                "a confidence of {confidence} needs at least {needed} calibration rows, but the model has {}; calibrate it on more rows, or \
                 ask for at most {}",
                self.n_rows,
                (most * 1000.0).floor() / 1000.0
            )));
        }
        // The next larger rank that is kept covers at least as much.
        let place = kept_ranks(self.n_rows).partition_point(|&kept| kept < rank);
        Ok(self.scores.iter().map(|list| list[place]).collect())
    }

    fn check(&self, lists: usize) -> Result<()> {
        let ranks = if (1..usize::MAX).contains(&self.n_rows) { kept_ranks(self.n_rows) } else { vec![] };
        let sound = |list: &Vec<f64>| {
            list.len() == ranks.len() && list.iter().all(|score| score.is_finite()) && list.windows(2).all(|pair| pair[0] <= pair[1])
        };
        match !ranks.is_empty() && self.scores.len() == lists && self.scores.iter().all(sound) {
            true => Ok(()),
            false => Err(Error::data("the scores of the calibration rows do not fit the machine")),
        }
    }
}

impl Machine {
    /// The scores of calibration rows, which the machine must not have been trained on; they go to `metadata.sets`.
    pub fn set_scores(&self, rows: &Dataset) -> Result<SetScores> {
        let score = self.score_kind()?;
        rows.check()?;
        if rows.weights.is_some() {
            return Err(Error::data("calibration rows all count the same; leave their weights out"));
        }
        let outputs = self.outputs_for(&rows.points)?;
        let lists = match score {
            ScoreKind::Probability | ScoreKind::Margin => {
                let classes = rows.classes()?;
                let places = classes.places_in(&self.decision.labels());
                if let Some(unknown) = places.iter().position(Option::is_none) {
                    let label = &classes.labels[unknown];
                    return Err(Error::data(format!("the calibration rows have the class {label}, which the model does not predict")));
                }
                let all = self.class_nonconformity(score, &outputs)?;
                let own = |(row, &code): (&Vec<f64>, &u32)| places[code as usize].map_or(f64::INFINITY, |place| row[place]);
                vec![all.iter().zip(&classes.codes).map(own).collect()]
            }
            ScoreKind::Residual | ScoreKind::StandardisedResidual => {
                let (centres, widths) = self.centres_and_widths(score, &outputs, &rows.points)?;
                let values = rows.values()?;
                if values.cols() != centres.cols() {
                    return Err(Error::Shape { what: "targets of a calibration row", expected: centres.cols(), found: values.cols() });
                }
                let one = |i: usize, k: usize| (values.at(i, k) - centres.at(i, k)).abs() / widths.at(i, k);
                (0..centres.cols()).map(|k| (0..rows.len()).map(|i| one(i, k)).collect()).collect()
            }
        };
        let scores = SetScores::of(score, lists);
        scores.check(self.n_score_lists())?;
        Ok(scores)
    }

    /// The prediction sets of rows with these outputs (as [`Predictor::outputs`](super::Predictor::outputs) gives them): each contains the truth with a
    /// probability of at least `confidence`, where the rows are like the calibration rows.
    ///
    /// ```
    /// use kernelet::{data::banana, machine::PredictionSets, prelude::*};
    ///
    /// let train = Train::from_json(r#"{"gamma": 1, "c": 10, "vectors": 10}"#)?;
    /// let given = Given { calibrate: Some(banana(500, 2)), ..Given::default() };
    /// let machine = train.run(&banana(200, 1), &given, &Watch::none())?.fit.machine;
    ///
    /// let new = banana(1000, 3);
    /// let sets = machine.prediction_sets(&machine.outputs_for(&new.points)?, &new.points, 0.9)?;
    /// let PredictionSets::Classes { members, .. } = &sets else { panic!() };
    /// let covered = members.iter().zip(&new.classes()?.codes).filter(|(members, code)| members[**code as usize]).count();
    /// assert!(covered > 860 && covered < 940);
    /// # Ok::<(), kernelet::Error>(())
    /// ```
    pub fn prediction_sets(&self, outputs: &Matrix, points: &Points, confidence: f64) -> Result<PredictionSets> {
        let (sets, thresholds) = self.set_thresholds(confidence)?;
        if outputs.cols() != self.n_outputs() || outputs.rows() != points.len() {
            return Err(Error::Shape {
                what: "outputs of the rows",
                expected: points.len() * self.n_outputs(),
                found: outputs.values().len(),
            });
        }
        match sets.score {
            ScoreKind::Probability | ScoreKind::Margin => {
                let threshold = thresholds.first().copied().unwrap_or(f64::INFINITY);
                let scores = self.class_nonconformity(sets.score, outputs)?;
                let members = scores.iter().map(|row| row.iter().map(|score| *score <= threshold).collect()).collect();
                Ok(PredictionSets::Classes { labels: self.decision.labels(), members })
            }
            ScoreKind::Residual | ScoreKind::StandardisedResidual => {
                let (centres, widths) = self.centres_and_widths(sets.score, outputs, points)?;
                let end = |side: f64| {
                    Matrix::from_fn(centres.rows(), centres.cols(), |i, k| centres.at(i, k) + side * thresholds[k] * widths.at(i, k))
                };
                Ok(PredictionSets::Intervals { lower: end(-1.0), upper: end(1.0) })
            }
        }
    }

    /// An error that says why there are no prediction sets of this confidence, where there are none.
    pub fn check_sets(&self, confidence: f64) -> Result<()> {
        self.set_thresholds(confidence).map(drop)
    }

    fn set_thresholds(&self, confidence: f64) -> Result<(&SetScores, Vec<f64>)> {
        self.score_kind()?;
        let sets = self.metadata.sets.as_ref().ok_or_else(|| Error::Unsupported {
            method: "asking for prediction sets",
            with: "a model without calibration scores".into(),
            instead: "train or compress it with --calibrate and rows that it is not trained on".into(),
        })?;
        Ok((sets, sets.thresholds(confidence)?))
    }

    /// Checks that stored scores are of the kind that the machine has.
    pub(super) fn check_set_scores(&self) -> Result<()> {
        let Some(sets) = &self.metadata.sets else { return Ok(()) };
        match self.score_kind()? == sets.score {
            true => sets.check(self.n_score_lists()),
            false => Err(Error::data("the scores of the calibration rows are not those that the machine has")),
        }
    }

    /// What a score of this machine is.
    fn score_kind(&self) -> Result<ScoreKind> {
        let no = |with: &str| {
            let instead = "use a classifier or a regressor".into();
            Err(Error::Unsupported { method: "asking for prediction sets", with: with.into(), instead })
        };
        match self.decision {
            Decision::Features => no("a model that makes features"),
            Decision::Novelty => no("a one-class model, whose training rows have no target"),
            Decision::Values if self.has_deviations() => Ok(ScoreKind::StandardisedResidual),
            Decision::Values | Decision::Ratio => Ok(ScoreKind::Residual),
            _ if self.check_probabilities().is_ok() => Ok(ScoreKind::Probability),
            _ => Ok(ScoreKind::Margin),
        }
    }

    fn n_score_lists(&self) -> usize {
        match self.decision {
            Decision::Values => self.n_outputs(),
            Decision::Ratio => self.n_outputs().saturating_sub(1),
            _ => 1,
        }
    }

    /// For each row the score of each class.
    fn class_nonconformity(&self, score: ScoreKind, outputs: &Matrix) -> Result<Vec<Vec<f64>>> {
        if score == ScoreKind::Probability {
            return Ok(self.probabilities(outputs)?.iter().map(|row| row.iter().map(|p| 1.0 - p).collect()).collect());
        }
        Ok(outputs.iter().map(|row| below_the_others(&self.decision.class_scores(row))).collect())
    }

    /// The predicted numbers, and what their residuals are divided by.
    fn centres_and_widths(&self, score: ScoreKind, outputs: &Matrix, points: &Points) -> Result<(Matrix, Matrix)> {
        let numbers: Vec<f64> = outputs.iter().flat_map(|row| self.decision.numbers(row)).collect();
        let lists = self.n_score_lists();
        let centres = Matrix::new(numbers, outputs.rows(), lists).ok_or_else(|| Error::data("the machine predicts no numbers"))?;
        let widths = match score {
            ScoreKind::StandardisedResidual => self.deviations(points)?,
            _ => Matrix::from_fn(outputs.rows(), lists, |_, _| 1.0),
        };
        Ok((centres, widths))
    }
}

/// For each class the largest score of the others less its own.
fn below_the_others(scores: &[f64]) -> Vec<f64> {
    let largest = |but: Option<usize>| {
        let others = scores.iter().enumerate().filter(|(c, _)| Some(*c) != but);
        others.fold((None, f64::NEG_INFINITY), |(at, most), (c, &score)| if score > most { (Some(c), score) } else { (at, most) })
    };
    let (top, most) = largest(None);
    let (_, second) = largest(top);
    scores.iter().enumerate().map(|(c, score)| if Some(c) == top { second - score } else { most - score }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        data::Target,
        kernel::Kernel,
        machine::{Calibration, Coefficients, Expansion, Metadata},
    };

    /// A machine with the outputs x_1, x_2, ..
    fn machine(decision: Decision, outputs: usize) -> Machine {
        let unit = Matrix::from_fn(outputs, outputs, |i, j| f64::from(u8::from(i == j)));
        Machine {
            expansion: Expansion {
                kernel: Kernel::named("linear", 1.0, 1, 0.0).unwrap(),
                vectors: unit.clone().into(),
                coefficients: Coefficients::Dense(unit),
            },
            offsets: vec![0.0; outputs],
            decision,
            scale: None,
            names: None,
            calibration: None,
            metadata: Metadata::default(),
        }
    }

    fn largest(classes: usize) -> Decision {
        Decision::Largest { labels: (0..classes).map(|c| Label::new(c.to_string())).collect() }
    }

    fn uniform(seed: &mut u64) -> f64 {
        *seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (*seed >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Rows of three class scores, whose classes follow them with errors.
    fn rows(n: usize, seed: &mut u64) -> Dataset {
        let points = Matrix::from_fn(n, 3, |_, _| uniform(seed));
        let noisy = |i: usize, seed: &mut u64| {
            let values: Vec<f64> = points.row(i).iter().map(|v| v + 0.5 * uniform(seed)).collect();
            (0..3).fold(0, |best, c| if values[c] > values[best] { c } else { best })
        };
        let texts: Vec<String> = (0..n).map(|i| noisy(i, seed).to_string()).collect();
        Dataset::new(points, Target::from_labels(&texts))
    }

    fn calibrated(mut machine: Machine, data: &Dataset) -> Machine {
        machine.metadata.sets = Some(machine.set_scores(data).unwrap());
        machine.check().unwrap();
        machine
    }

    fn cover(machine: &Machine, data: &Dataset, confidence: f64) -> f64 {
        let outputs = machine.outputs_for(&data.points).unwrap();
        let hits = match machine.prediction_sets(&outputs, &data.points, confidence).unwrap() {
            PredictionSets::Classes { members, .. } => {
                members.iter().zip(&data.classes().unwrap().codes).filter(|(row, code)| row[**code as usize]).count()
            }
            PredictionSets::Intervals { lower, upper } => {
                let y = data.values().unwrap();
                (0..data.len()).filter(|&i| lower.at(i, 0) <= y.at(i, 0) && y.at(i, 0) <= upper.at(i, 0)).count()
            }
        };
        hits as f64 / data.len() as f64
    }

    #[test]
    fn the_threshold_is_the_smallest_score_whose_rank_is_large_enough() {
        for n in [1usize, 2, 9, 10, 19, 99, 512, 513, 2000, 12_345] {
            let list: Vec<f64> = (1..=n).map(|rank| rank as f64).collect();
            let scores = SetScores::of(ScoreKind::Residual, vec![list.into_iter().rev().collect()]);
            scores.check(1).unwrap();
            assert!(scores.scores[0].len() <= MOST_SCORES);
            for thousandth in 1..1000usize {
                // In whole numbers: the smallest k with 1000 k >= (n + 1) thousandth.
                let rank = ((n + 1) * thousandth).div_ceil(1000);
                let have = scores.thresholds(thousandth as f64 / 1000.0);
                if rank > n {
                    let needed = SetScores::needed_rows(thousandth as f64 / 1000.0);
                    assert!(needed > n && have.unwrap_err().to_string().contains(&format!("needs at least {needed} calibration rows")));
                    assert!(((needed + 1) * thousandth).div_ceil(1000) <= needed && (needed * thousandth).div_ceil(1000) > needed - 1);
                    continue;
                }
                let have = have.unwrap()[0] as usize;
                let exact = n <= MOST_SCORES || thousandth % 5 == 0 || rank + LARGEST > n;
                let most = if exact { rank } else { rank + (n + 1) / GRID + 1 };
                assert!((rank..=most).contains(&have), "{n} {thousandth}: {rank} {have}");
            }
        }
    }

    #[test]
    fn sets_cover_as_often_as_they_say_over_many_draws() {
        let mut seed = 1;
        let probabilities = Calibration::Sigmoid { a: vec![-3.0; 3], b: vec![1.0; 3] };
        let with = Machine { calibration: Some(probabilities), ..machine(largest(3), 3) };
        for bare in [machine(largest(3), 3), with] {
            for confidence in [0.8, 0.95] {
                let draws = 300;
                let mean = (0..draws).map(|_| {
                    let machine = calibrated(bare.clone(), &rows(99, &mut seed));
                    cover(&machine, &rows(200, &mut seed), confidence)
                });
                let mean = mean.sum::<f64>() / f64::from(draws);
                // Standard error about 0.0025; the exact value is between P and P + 1/100.
                assert!(mean > confidence - 0.008 && mean < confidence + 0.018, "{confidence}: {mean}");
            }
        }
    }

    #[test]
    fn intervals_cover_as_often_as_they_say_and_are_wide_where_the_deviation_is() {
        let mut seed = 2;
        let mut draw = |n: usize| {
            let points = Matrix::from_fn(n, 1, |_, _| uniform(&mut seed));
            let values = Matrix::from_fn(n, 1, |i, _| points.at(i, 0) + (uniform(&mut seed) - 0.5));
            Dataset::new(points, Target::Values(values))
        };
        let plain = calibrated(machine(Decision::Values, 1), &draw(399));
        let new = draw(4000);
        assert!((cover(&plain, &new, 0.9) - 0.9).abs() < 0.05);
        let laplace = Some(Calibration::Sigmoid { a: vec![0.3], b: vec![] });
        let scaled = calibrated(Machine { calibration: laplace, ..machine(Decision::Values, 1) }, &draw(399));
        assert_eq!(scaled.metadata.sets.as_ref().unwrap().score, ScoreKind::StandardisedResidual);
        assert!((cover(&scaled, &new, 0.9) - 0.9).abs() < 0.05);
    }

    #[test]
    fn scores_of_a_machine_that_has_changed_are_rejected() {
        let mut seed = 3;
        let fitted = calibrated(machine(largest(3), 3), &rows(50, &mut seed));
        let changed = Machine { calibration: Some(Calibration::Shares), ..fitted.clone() };
        assert!(changed.check().unwrap_err().to_string().contains("are not those that the machine has"));
        for spoil in [0usize, 1, 2, 3] {
            let mut broken = fitted.clone();
            let sets = broken.metadata.sets.as_mut().unwrap();
            match spoil {
                0 => sets.n_rows = usize::MAX,
                1 => sets.scores[0][3] = f64::NAN,
                2 => sets.scores[0][3] = 99.0,
                _ => sets.scores.clear(),
            }
            assert!(broken.check().unwrap_err().to_string().contains("do not fit the machine"), "{spoil}");
        }
        assert_eq!(fitted.uncalibrated().metadata.sets, None);
    }

    #[test]
    fn what_has_no_sets_is_reported() {
        let mut seed = 4;
        let data = rows(20, &mut seed);
        let bare = machine(largest(3), 3);
        let error = |result: Result<()>| result.unwrap_err().to_string();
        assert!(error(bare.check_sets(0.9)).contains("train or compress it with --calibrate"));
        assert!(error(machine(Decision::Novelty, 1).check_sets(0.9)).contains("one-class"));
        let fitted = calibrated(bare.clone(), &data);
        for confidence in [0.0, 1.0, f64::NAN, -0.5] {
            assert!(error(fitted.check_sets(confidence)).contains("above 0 and below 1"));
        }
        let expected = "a confidence of 0.99 needs at least 99 calibration rows, but the model has 20; calibrate it on more rows, or ask for at most 0.952";
        assert_eq!(error(fitted.check_sets(0.99)), expected);
        let weighted = Dataset { weights: Some(vec![1.0; 20]), ..data.clone() };
        assert!(error(bare.set_scores(&weighted).map(drop)).contains("leave their weights out"));
        let foreign = Dataset { target: Target::from_labels(&["z"; 20]), ..data };
        assert!(error(bare.set_scores(&foreign).map(drop)).contains("the class z, which the model does not predict"));
    }

    #[test]
    fn class_scores_are_largest_for_the_predicted_class() {
        let labels = |n: usize| (0..n).map(|c| Label::new(c.to_string())).collect::<Vec<_>>();
        let words = vec![vec![1, 1, -1], vec![-1, 1, 1], vec![1, -1, 1], vec![-1, -1, -1]];
        let rules = [
            (Decision::Sign { negative: Label::new("a"), positive: Label::new("b") }, 1),
            (largest(4), 4),
            (Decision::Votes { labels: labels(4) }, 6),
            (Decision::Codes { labels: labels(4), words }, 3),
        ];
        let mut seed = 5;
        for (rule, outputs) in rules {
            for _ in 0..200 {
                let row: Vec<f64> = (0..outputs).map(|_| uniform(&mut seed) - 0.5).collect();
                let scores = rule.class_scores(&row);
                let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                // Ties of votes go to the lower class, however clear the others are.
                let tie = if matches!(rule, Decision::Votes { .. }) { 0.67 } else { 0.0 };
                assert!(scores[rule.class(&row)] >= most - tie, "{rule:?} {row:?}");
                let below = below_the_others(&scores);
                for (c, below) in below.iter().enumerate() {
                    let others = scores.iter().enumerate().filter(|(other, _)| *other != c).map(|(_, s)| *s);
                    assert_eq!(*below, others.fold(f64::NEG_INFINITY, f64::max) - scores[c]);
                }
            }
        }
    }
}
