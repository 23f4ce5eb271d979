//! A cascade made ready to predict.
//!
//! The machines of the stages are prepared once, the full machine's parts when a row first needs them. Each stage sees the rows that those before it did not answer, all
//! of them together: in chunks, of which one thread does each, and without arrays of outputs.
use std::borrow::Cow;

use super::{
    Machine, Prediction, Predictor,
    cascade::{Answer, Answers, Cascade, Stage, pairwise_of},
    deferred::Deferred,
    each::Rows,
    guessed_votes::GuessedVotes,
};
use crate::{Result, data::Points};

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
    fn of(stage: &Stage, first: bool, prepare: fn(&Machine) -> Predictor) -> Self {
        match GuessedVotes::of(&stage.machine, first, prepare) {
            Some(votes) => Ready::Votes(Box::new(votes)),
            None => Ready::Outputs(Box::new(prepare(&stage.evaluated()))),
        }
    }

    fn answers(&self, stage: &Stage, points: &Points, rows: &Rows, guesses: &[usize], ask: bool) -> Result<Vec<Answer>> {
        match self {
            Ready::Outputs(predictor) => predictor.each(points, rows.clone(), |_, outputs| stage.answer_with(outputs, ask)),
            Ready::Votes(votes) => votes.answers(stage, points, rows, guesses, ask),
        }
    }
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
        let stages = cascade.stages.iter().enumerate().map(|(place, stage)| Ready::of(stage, place == 0, prepare)).collect();
        let full = cascade.full.as_ref().map(|full| Deferred::of(full, prepare));
        CascadePredictor { cascade, stages, full }
    }

    /// The cascade.
    pub fn cascade(&self) -> &Cascade {
        &self.cascade
    }

    /// Answers rows: each stage sees those that the stages before it did not answer.
    pub fn predict(&self, points: &Points) -> Result<Answers> {
        let (n, cascade) = (points.len(), self.cascade());
        let (mut codes, mut stages, mut evaluations) = (vec![0u32; n], vec![cascade.stages.len(); n], 0u64);
        let pairs = cascade.full.as_ref().is_some_and(|full| pairwise_of(full).is_some());
        // None at first: all rows.
        let mut live: Option<Vec<usize>> = None;
        let (mut guesses, mut candidates): (Vec<usize>, Vec<Vec<usize>>) = (vec![], vec![]);
        for (place, (stage, ready)) in cascade.stages.iter().zip(&self.stages).enumerate() {
            let rows = live.as_deref().map_or(Rows::All(0..n), Rows::Some);
            evaluations += (rows.len() * stage.machine.n_vectors()) as u64;
            // Candidate classes are those of the last stage.
            let last = pairs && place + 1 == cascade.stages.len();
            let answers = ready.answers(stage, points, &rows, &guesses, last)?;
            let mut left = vec![];
            guesses.clear();
            candidates.clear();
            for (i, answer) in answers.into_iter().enumerate() {
                let row = rows.at(i);
                if answer.score > stage.threshold {
                    (codes[row], stages[row]) = (answer.class as u32, place);
                    continue;
                }
                left.push(row);
                guesses.push(answer.class);
                candidates.push(answer.candidates);
            }
            live = Some(left);
        }
        let (labels, live) = (cascade.labels(), live.unwrap_or_default());
        match cascade.full.as_ref().zip(self.full.as_ref()) {
            None => live.iter().for_each(|&row| codes[row] = labels.len().saturating_sub(1) as u32),
            Some((full, deferred)) => {
                let (classes, needed) = deferred.answer(full, points, &live, &candidates)?;
                evaluations += needed;
                live.iter().zip(classes).for_each(|(&row, class)| codes[row] = class as u32);
            }
        }
        Ok(Answers { prediction: Prediction::Classes { labels, codes }, stages, evaluations })
    }
}
