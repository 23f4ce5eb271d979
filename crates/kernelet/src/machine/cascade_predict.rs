//! A cascade made ready to predict.
//!
//! The machines of the stages are prepared once, the full machine's parts when a row first needs them. Rows go through the stages in blocks that stay in cache, in which each
//! stage sees the rows that those before it did not answer: in chunks, of which one thread does each, and without arrays of outputs. What is left of all blocks goes to the
//! full machine together.
use std::borrow::Cow;

use super::{
    Prediction, Predictor,
    cascade::{Answers, Cascade, Left, Stage, pairwise_of},
    deferred::Deferred,
    each::Rows,
    guessed_votes::GuessedVotes,
    predict::Precision,
};
use crate::{Result, data::Points, kernel::fused::ROWS, parallel::*};

/// Numbers of the rows of a block: what a stage has read is in cache for the next.
const BLOCK: usize = 1 << 17;

/// Rows of a block at least: a stage after the first has few of them.
const FEWEST: usize = 4 * ROWS;

/// A cascade made ready to predict: build it once, use it for many rows, from any thread.
#[derive(Debug)]
pub struct CascadePredictor<'a> {
    cascade: Cow<'a, Cascade>,
    stages: Vec<Ready>,
    full: Option<Deferred>,
}

/// A stage made ready.
#[derive(Debug)]
enum Ready {
    Outputs(Box<Predictor>),
    /// Of many pairs.
    Votes(Box<GuessedVotes>),
}

impl Ready {
    fn of(stage: &Stage, first: bool, precision: Precision) -> Self {
        match GuessedVotes::of(&stage.machine, first, precision) {
            Some(votes) => Ready::Votes(Box::new(votes)),
            None => Ready::Outputs(Box::new(precision.prepare(&stage.evaluated()))),
        }
    }

    /// Writes the classes of rows, and returns those that are left; `guesses` has the rows in the order given, or is empty.
    fn see(&self, stage: &Stage, points: &Points, rows: &Rows, guesses: &[Left], ask: bool, classes: &mut [u32]) -> Result<Vec<Left>> {
        match self {
            Ready::Outputs(predictor) => {
                predictor.each(points, rows, classes, |i, outputs, left| stage.see(rows.at(i), outputs, ask, left))
            }
            Ready::Votes(votes) => votes.see(stage, points, rows, guesses, ask, classes),
        }
    }
}

impl<'a> CascadePredictor<'a> {
    /// Prepares a cascade, in double precision.
    pub fn new(cascade: Cow<'a, Cascade>) -> Self {
        Self::with(cascade, Precision::Double)
    }

    /// Prepares a cascade in single precision, as [`Predictor::single`].
    pub fn single(cascade: Cow<'a, Cascade>) -> Self {
        Self::with(cascade, Precision::Single)
    }

    fn with(cascade: Cow<'a, Cascade>, precision: Precision) -> Self {
        let stages = cascade.stages.iter().enumerate().map(|(place, stage)| Ready::of(stage, place == 0, precision)).collect();
        let full = cascade.full.as_ref().map(|full| Deferred::of(full, precision));
        CascadePredictor { cascade, stages, full }
    }

    /// The cascade.
    pub fn cascade(&self) -> &Cascade {
        &self.cascade
    }

    /// Answers rows: each stage sees those that the stages before it did not answer.
    pub fn predict(&self, points: &Points) -> Result<Answers> {
        let (n, cascade) = (points.len(), self.cascade());
        let size = (BLOCK / points.dim().max(1)).next_multiple_of(ROWS).max(FEWEST);
        let (mut codes, mut stages) = (vec![0; n], vec![0; n]);
        // Few rows are done before threads are woken.
        let found: Vec<Result<(Vec<Left>, u64)>> = if n <= size {
            vec![self.stages(points, 0, &mut codes, &mut stages)]
        } else {
            let blocks = codes.par_chunks_mut(size).zip(stages.par_chunks_mut(size)).enumerate();
            blocks.map(|(block, (codes, stages))| self.stages(points, block * size, codes, stages)).collect()
        };
        let (mut left, mut evaluations) = (vec![], 0);
        for found in found {
            let (mut own, needed) = found?;
            left.append(&mut own);
            evaluations += needed;
        }
        let labels = cascade.labels();
        match cascade.full.as_ref().zip(self.full.as_ref()) {
            None => left.iter().for_each(|left| codes[left.row] = labels.len().saturating_sub(1) as u32),
            Some((full, deferred)) => {
                let (classes, needed) = deferred.answer(full, points, &left)?;
                evaluations += needed;
                left.iter().zip(classes).for_each(|(left, class)| codes[left.row] = class);
            }
        }
        Ok(Answers { prediction: Prediction::Classes { labels, codes }, stages, evaluations })
    }

    /// Rows from the first one on through the stages: their classes and stages, what is left, and the kernel evaluations.
    fn stages(&self, points: &Points, first: usize, codes: &mut [u32], stages: &mut [usize]) -> Result<(Vec<Left>, u64)> {
        let (cascade, mut evaluations) = (self.cascade(), 0);
        let pairs = cascade.full.as_ref().is_some_and(|full| pairwise_of(full).is_some());
        let mut left: Vec<Left> = vec![];
        for (place, (stage, ready)) in cascade.stages.iter().zip(&self.stages).enumerate() {
            // Candidate classes are those of the last stage.
            let ask = pairs && place + 1 == cascade.stages.len();
            if place == 0 {
                evaluations += (codes.len() * stage.machine.n_vectors()) as u64;
                left = ready.see(stage, points, &Rows::All(first..first + codes.len()), &[], ask, codes)?;
                continue;
            }
            let seen: Vec<usize> = left.iter().map(|left| left.row).collect();
            evaluations += (seen.len() * stage.machine.n_vectors()) as u64;
            let mut classes = vec![0; seen.len()];
            left = ready.see(stage, points, &Rows::Some(&seen), &left, ask, &mut classes)?;
            seen.iter().zip(classes).for_each(|(row, class)| (codes[row - first], stages[row - first]) = (class, place));
        }
        left.iter().for_each(|left| stages[left.row - first] = cascade.stages.len());
        Ok((left, evaluations))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        compress::part_of,
        data::{Csr, waveform3},
        kernel::Kernel,
        learn::{Learner, Svc},
        machine::cascade::Promise,
        watch::Watch,
    };

    #[test]
    fn blocks_parts_and_single_rows_of_any_storage_have_the_same_answers() {
        let full = Svc { kernel: Kernel::gaussian(0.05), ..Svc::default() }.learn(&waveform3(100, 1), &Watch::none()).unwrap().machine;
        let stage = |size: usize, threshold: f64| {
            let some: Vec<usize> = (0..full.n_vectors()).step_by(full.n_vectors() / size).collect();
            Stage { machine: part_of(&full, &some), head: None, threshold, exits: 0.5 }
        };
        let promise = Promise {
            max_disagreement: 0.01,
            confidence: 0.95,
            by_class: false,
            bound: 0.01,
            calibration_rows: 0,
            disagreements: 0,
            cost: 1.0,
            full_vectors: full.n_vectors(),
        };
        let mut cascade = Cascade { stages: vec![stage(5, 0.0), stage(20, 0.0)], full: Some(full.clone()), promise };
        // About half of the rows leave at each stage.
        for stage in &mut cascade.stages {
            let outputs = stage.machine.outputs_for(&waveform3(400, 3).points).unwrap();
            let mut scores: Vec<f64> = outputs.iter().map(|row| stage.answer(row).1).collect();
            scores.sort_by(f64::total_cmp);
            stage.threshold = scores[200];
        }
        let rows = waveform3(BLOCK / 21 + 2 * ROWS, 2).points;
        assert!(rows.len() > (BLOCK / 21).next_multiple_of(ROWS), "more than one block");
        for ready in [cascade.ready(), CascadePredictor::single(Cow::Borrowed(&cascade))] {
            let all = ready.predict(&rows).unwrap();
            let counts: Vec<usize> = (0..3).map(|stage| all.stages.iter().filter(|s| **s == stage).count()).collect();
            assert!(counts.iter().all(|count| *count > 100), "{counts:?}");
            let sparse = ready.predict(&Csr::from_dense(&rows.to_dense()).into()).unwrap();
            assert_eq!((&sparse.prediction, &sparse.stages, sparse.evaluations), (&all.prediction, &all.stages, all.evaluations));
            let part: Vec<usize> = (0..rows.len()).rev().step_by(40).collect();
            let some = ready.predict(&rows.select(&part)).unwrap();
            assert_eq!(some.prediction, all.prediction.select(&part));
            let mut evaluations = 0;
            for (&row, stage) in part.iter().zip(&some.stages) {
                let alone = ready.predict(&rows.select(&[row])).unwrap();
                assert_eq!((&alone.prediction, &alone.stages), (&all.prediction.select(&[row]), &vec![all.stages[row]]));
                assert_eq!(alone.stages[0], *stage);
                evaluations += alone.evaluations;
            }
            assert_eq!(evaluations, some.evaluations);
        }
    }
}
