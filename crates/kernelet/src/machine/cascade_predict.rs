//! A cascade made ready to predict.
//!
//! The machines of the stages are prepared once, the full machine when a row first needs all of it. Rows with few candidate classes need those pairs of a
//! one-vs-one machine alone: all rows that have a class among their candidates meet the vectors of this class together, which are prepared once. A row needs
//! fewer of them, those with a coefficient in its pairs, and these are what is counted; but to gather them for each set of candidates takes longer than to evaluate
//! all of the class.
use std::{borrow::Cow, collections::HashMap, sync::OnceLock};

use super::{
    Coefficients, Decision, Expansion, Machine, Metadata, Pairwise, Prediction, Predictor,
    cascade::{Answers, Cascade, Judged, candidates, pairwise_of, vectors_of, vote_among},
    guessed_votes::GuessedVotes,
};
use crate::{Result, data::Points, linalg::Matrix};

/// A cascade made ready to predict: build it once, use it for many rows, from any thread.
#[derive(Debug)]
pub struct CascadePredictor<'a> {
    cascade: Cow<'a, Cascade>,
    prepare: fn(&Machine) -> Predictor,
    stages: Vec<Predictor>,
    /// Stages of many pairs, whose rows are guessed by the stage before.
    votes: Vec<Option<GuessedVotes>>,
    full: OnceLock<Predictor>,
    /// The vectors of each class of a one-vs-one machine.
    classes: Vec<OnceLock<Predictor>>,
}

impl<'a> CascadePredictor<'a> {
    /// Prepares a cascade, in double precision.
    pub fn new(cascade: Cow<'a, Cascade>) -> Self {
        Self::with(cascade, Predictor::new)
    }

    /// Prepares a cascade in single precision, as [`Predictor::single`].
    pub fn single(cascade: Cow<'a, Cascade>) -> Self {
        Self::with(cascade, Predictor::single)
    }

    fn with(cascade: Cow<'a, Cascade>, prepare: fn(&Machine) -> Predictor) -> Self {
        let stages = cascade.stages.iter().map(|stage| prepare(&stage.evaluated())).collect();
        let later = |place: usize, machine: &Machine| (place > 0).then(|| GuessedVotes::of(machine, prepare)).flatten();
        let votes = cascade.stages.iter().enumerate().map(|(place, stage)| later(place, &stage.machine)).collect();
        let classes = cascade.full.as_ref().and_then(pairwise_of).map_or(0, Pairwise::n_classes);
        CascadePredictor {
            cascade,
            prepare,
            stages,
            votes,
            full: OnceLock::new(),
            classes: (0..classes).map(|_| OnceLock::new()).collect(),
        }
    }

    /// The cascade.
    pub fn cascade(&self) -> &Cascade {
        &self.cascade
    }

    /// Answers rows: each stage sees those that the stages before it did not answer.
    pub fn predict(&self, points: &Points) -> Result<Answers> {
        points.check_finite()?;
        let (n, cascade) = (points.len(), self.cascade());
        let (mut codes, mut stages, mut evaluations) = (vec![0u32; n], vec![cascade.stages.len(); n], 0u64);
        let mut live: Vec<usize> = (0..n).collect();
        let (mut last, mut guesses): (Vec<Judged>, Vec<usize>) = (vec![], vec![]);
        for (place, (stage, predictor)) in cascade.stages.iter().zip(&self.stages).enumerate() {
            evaluations += (live.len() * stage.machine.n_vectors()) as u64;
            let rows = rows_of(points, &live);
            let outputs = match &self.votes[place] {
                Some(votes) => votes.outputs(&rows, &guesses)?,
                None => predictor.outputs(&rows)?,
            };
            let mut left = vec![];
            guesses.clear();
            for (row, outputs) in live.into_iter().zip(outputs.iter()) {
                let (class, score) = stage.answer(outputs);
                if score > stage.threshold {
                    (codes[row], stages[row]) = (class as u32, place);
                    continue;
                }
                left.push(row);
                guesses.push(class);
                // Candidate classes are those of the last stage.
                if place + 1 == cascade.stages.len() {
                    last.push(stage.judge(outputs));
                }
            }
            live = left;
        }
        let labels = cascade.labels();
        match &cascade.full {
            None => live.iter().for_each(|&row| codes[row] = labels.len().saturating_sub(1) as u32),
            Some(full) => evaluations += self.deferred(full, points, &live, &last, &mut codes)?,
        }
        Ok(Answers { prediction: Prediction::Classes { labels, codes }, stages, evaluations })
    }

    /// Answers the rows that are left by the full machine; gives the kernel evaluations that they need.
    fn deferred(&self, full: &Machine, points: &Points, live: &[usize], judged: &[Judged], codes: &mut [u32]) -> Result<u64> {
        let threshold = self.cascade.stages.last().map_or(0.0, |stage| stage.threshold);
        let pairwise = pairwise_of(full);
        let (mut whole, mut some) = (vec![], vec![]);
        for (&row, judged) in live.iter().zip(judged) {
            match pairwise.and_then(|_| candidates(judged, threshold)) {
                Some(classes) => some.push((row, classes)),
                None => whole.push(row),
            }
        }
        let mut evaluations = (whole.len() * full.n_vectors()) as u64;
        if !whole.is_empty() {
            let outputs = self.full.get_or_init(|| (self.prepare)(full)).outputs(&rows_of(points, &whole))?;
            whole.iter().zip(outputs.iter()).for_each(|(&row, outputs)| codes[row] = full.decision.class(outputs) as u32);
        }
        let Some(pairwise) = pairwise.filter(|_| !some.is_empty()) else { return Ok(evaluations) };
        let outputs = self.outputs_among(full, pairwise, points, &some)?;
        let mut needed: HashMap<&[usize], usize> = HashMap::new();
        for ((row, classes), outputs) in some.iter().zip(outputs.iter()) {
            codes[*row] = vote_among(classes, pairwise.n_classes(), outputs) as u32;
            evaluations += *needed.entry(classes).or_insert_with(|| vectors_of(pairwise, classes).len()) as u64;
        }
        Ok(evaluations)
    }

    /// The outputs of the pairs of each row's candidate classes; those of other pairs say nothing.
    fn outputs_among(&self, full: &Machine, pairwise: &Pairwise, points: &Points, rows: &[(usize, Vec<usize>)]) -> Result<Matrix> {
        let n = pairwise.n_classes();
        let mut outputs = Matrix::from_fn(rows.len(), full.n_outputs(), |_, k| full.offsets[k]);
        for (class, ready) in self.classes.iter().enumerate() {
            let places: Vec<usize> = (0..rows.len()).filter(|&place| rows[place].1.contains(&class)).collect();
            if places.is_empty() {
                continue;
            }
            let chosen: Vec<usize> = places.iter().map(|&place| rows[place].0).collect();
            let found = ready.get_or_init(|| (self.prepare)(&of_class(full, pairwise, class))).outputs(&rows_of(points, &chosen))?;
            for (&place, found) in places.iter().zip(found.iter()) {
                let sums = outputs.row_mut(place);
                for &other in rows[place].1.iter().filter(|&&other| other != class) {
                    let (a, b) = (class.min(other), class.max(other));
                    sums[a * (2 * n - a - 1) / 2 + b - a - 1] += found[if other > class { other - 1 } else { other }];
                }
            }
        }
        Ok(outputs)
    }
}

/// What the vectors of a class add to its pairs with all others.
fn of_class(machine: &Machine, pairwise: &Pairwise, class: usize) -> Machine {
    let rows: Vec<usize> = (pairwise.starts[class]..pairwise.starts[class + 1]).collect();
    let coefficients = pairwise.values.select(&rows);
    let offsets = vec![0.0; coefficients.cols()];
    let expansion = Expansion {
        kernel: machine.expansion.kernel.clone(),
        vectors: machine.expansion.vectors.select(&rows),
        coefficients: Coefficients::Dense(coefficients),
    };
    let (scale, metadata) = (machine.scale.clone(), Metadata::default());
    Machine { expansion, offsets, decision: Decision::Features, scale, names: None, calibration: None, metadata }
}

/// Some rows in ascending order; all of them are not copied.
fn rows_of<'a>(points: &'a Points, rows: &[usize]) -> Cow<'a, Points> {
    if rows.len() == points.len() { Cow::Borrowed(points) } else { Cow::Owned(points.select(rows)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        data::waveform3,
        kernel::Kernel,
        learn::{Learner, Svc},
        machine::cascade::Promise,
        watch::Watch,
    };

    #[test]
    fn the_pairs_of_candidate_classes_have_the_outputs_of_the_whole_machine() {
        let data = waveform3(200, 1);
        let full = Svc { kernel: Kernel::gaussian(0.05), ..Svc::default() }.learn(&data, &Watch::none()).unwrap().machine;
        let promise = Promise {
            max_disagreement: 0.1,
            confidence: 0.9,
            by_class: false,
            bound: 0.1,
            calibration_rows: 1,
            disagreements: 0,
            cost: 1.0,
            full_vectors: full.n_vectors(),
        };
        let pairwise = pairwise_of(&full).unwrap();
        let ready = CascadePredictor::new(Cow::Owned(Cascade { stages: vec![], full: Some(full.clone()), promise }));
        let whole = full.outputs_for(&data.points).unwrap();
        for classes in [vec![0, 1], vec![0, 2], vec![1, 2], vec![0, 1, 2]] {
            let rows: Vec<(usize, Vec<usize>)> = (0..200).step_by(3).map(|row| (row, classes.clone())).collect();
            let outputs = ready.outputs_among(&full, pairwise, &data.points, &rows).unwrap();
            for ((row, _), have) in rows.iter().zip(outputs.iter()) {
                for (k, (a, b)) in Pairwise::pairs(3).enumerate().filter(|(_, (a, b))| classes.contains(a) && classes.contains(b)) {
                    assert!((have[k] - whole.at(*row, k)).abs() < 1e-12, "{a} {b}: {} {}", have[k], whole.at(*row, k));
                }
                assert_eq!(vote_among(&classes, 3, have), vote_among(&classes, 3, whole.row(*row)));
            }
        }
    }
}
