//! The outcome of a vote of pairs from a guess.
//!
//! All pairs of 26 classes are 325 outputs, and their sums take longer than the kernel values. But a class that wins all its own pairs has won the vote, whatever the
//! others say, and how sure the vote is follows from these pairs too. So rows are evaluated by the pairs of the class that is guessed, those that lose one of them by the
//! pairs of the class that beat it most, and only the rest by all pairs.
use std::sync::OnceLock;

use super::{Coefficients, Decision, Expansion, Machine, Metadata, Pairwise, Predictor};
use crate::{Result, data::Points, linalg::Matrix};

/// A machine of dense pairs, made ready.
#[derive(Debug)]
pub(super) struct GuessedVotes {
    machine: Machine,
    prepare: fn(&Machine) -> Predictor,
    /// The pairs of each class.
    classes: Vec<OnceLock<Predictor>>,
    whole: OnceLock<Predictor>,
}

impl GuessedVotes {
    /// None for machines that decide otherwise, or have few pairs.
    pub fn of(machine: &Machine, prepare: fn(&Machine) -> Predictor) -> Option<Self> {
        let Decision::Votes { labels } = &machine.decision else { return None };
        let all = labels.len() * labels.len().saturating_sub(1) / 2;
        let dense = matches!(machine.expansion.coefficients, Coefficients::Dense(_));
        (dense && labels.len() > 4 && machine.n_outputs() == all).then(|| GuessedVotes {
            machine: machine.clone(),
            prepare,
            classes: labels.iter().map(|_| OnceLock::new()).collect(),
            whole: OnceLock::new(),
        })
    }

    /// Outputs that lead to the same class, score and order of classes as all of them; those of pairs without the class that wins may be 0.
    pub fn outputs(&self, points: &Points, guesses: &[usize]) -> Result<Matrix> {
        let mut outputs = Matrix::zeros(points.len(), self.machine.n_outputs());
        let mut asked: Vec<(usize, usize)> = guesses.iter().copied().enumerate().collect();
        for _ in 0..2 {
            asked = self.ask(points, &asked, &mut outputs)?;
        }
        if !asked.is_empty() {
            let rows: Vec<usize> = asked.iter().map(|(row, _)| *row).collect();
            let found = self.whole.get_or_init(|| (self.prepare)(&self.machine)).outputs(&points.select(&rows))?;
            rows.iter().zip(found.iter()).for_each(|(&row, found)| outputs.row_mut(row).copy_from_slice(found));
        }
        Ok(outputs)
    }

    /// Evaluates rows by the pairs of a class each. The rows that lose one of them are left, with the class that beats it most, and 0 for outputs.
    fn ask(&self, points: &Points, asked: &[(usize, usize)], outputs: &mut Matrix) -> Result<Vec<(usize, usize)>> {
        let mut left = vec![];
        for (class, ready) in self.classes.iter().enumerate() {
            let rows: Vec<usize> = asked.iter().filter(|(_, guess)| *guess == class).map(|(row, _)| *row).collect();
            if rows.is_empty() {
                continue;
            }
            let own: Vec<(usize, usize, bool)> = self.pairs(class).collect();
            let found = ready.get_or_init(|| (self.prepare)(&self.of_pairs(&own))).outputs(&points.select(&rows))?;
            for (&row, found) in rows.iter().zip(found.iter()) {
                // An output above 0 is a vote for the first class of the pair.
                let beaten = own.iter().zip(found).filter(|((_, _, first), f)| (**f > 0.0) != *first);
                match beaten.max_by(|a, b| a.1.abs().total_cmp(&b.1.abs())) {
                    Some(((_, other, _), _)) => left.push((row, *other)),
                    None => own.iter().zip(found).for_each(|((place, _, _), f)| outputs.row_mut(row)[*place] = *f),
                }
            }
        }
        Ok(left)
    }

    /// The pairs of a class: the place among all, the other class, and whether it is the first of the pair.
    fn pairs(&self, class: usize) -> impl Iterator<Item = (usize, usize, bool)> {
        let all = Pairwise::pairs(self.classes.len()).enumerate();
        all.filter_map(move |(place, (a, b))| match (a == class, b == class) {
            (true, _) => Some((place, b, true)),
            (_, true) => Some((place, a, false)),
            _ => None,
        })
    }

    fn of_pairs(&self, pairs: &[(usize, usize, bool)]) -> Machine {
        let all = self.machine.expansion.coefficients.to_dense();
        let coefficients = Matrix::from_fn(all.rows(), pairs.len(), |j, k| all.at(j, pairs[k].0));
        let offsets = pairs.iter().map(|(place, _, _)| self.machine.offsets[*place]).collect();
        let expansion = Expansion { coefficients: Coefficients::Dense(coefficients), ..self.machine.expansion.clone() };
        let (scale, metadata) = (self.machine.scale.clone(), Metadata::default());
        Machine { expansion, offsets, decision: Decision::Features, scale, names: None, calibration: None, metadata }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{kernel::Kernel, machine::cascade::Stage};

    #[test]
    fn any_guess_leads_to_the_class_the_score_and_the_order_of_all_pairs() {
        let (m, q, n) = (30, 6, 400);
        let mut state = 7u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as f64 / (1u64 << 31) as f64 - 0.5
        };
        let mut matrix = |rows, cols| Matrix::from_fn(rows, cols, |_, _| next());
        let (vectors, coefficients, points) = (matrix(m, 2), matrix(m, q * (q - 1) / 2), Points::from(matrix(n, 2)));
        let machine = Machine {
            expansion: Expansion {
                kernel: Kernel::gaussian(20.0),
                vectors: vectors.into(),
                coefficients: Coefficients::Dense(coefficients),
            },
            offsets: vec![0.01; q * (q - 1) / 2],
            decision: Decision::Votes { labels: (0..q).map(|k| crate::data::Label::new(k.to_string())).collect() },
            scale: None,
            names: None,
            calibration: None,
            metadata: Metadata::default(),
        };
        let stage = Stage { machine: machine.clone(), head: None, threshold: 0.0, exits: 0.0 };
        let all = machine.outputs_for(&points).unwrap();
        let ready = GuessedVotes::of(&machine, Predictor::new).unwrap();
        let (mut sure, mut wrong) = (0, 0);
        for shift in 0..3 {
            let guesses: Vec<usize> = all.iter().map(|row| (machine.decision.class(row) + shift) % q).collect();
            let some = ready.outputs(&points, &guesses).unwrap();
            for (have, want) in some.iter().zip(all.iter()) {
                let (have, want) = (stage.judge(have), stage.judge(want));
                assert!(have.class == want.class && (have.score - want.score).abs() < 1e-12);
                assert!(have.ranks.iter().zip(&want.ranks).all(|(have, want)| have.0 == want.0 && (have.1 - want.1).abs() < 1e-12));
            }
            sure += some.iter().filter(|row| row.contains(&0.0)).count();
            wrong += some.iter().filter(|row| !row.contains(&0.0)).count();
        }
        assert!(sure > 0 && wrong > 0, "some rows are decided by the pairs of one class, some by all: {sure} {wrong}");
        let few = Machine { decision: Decision::Features, ..machine };
        assert!(GuessedVotes::of(&few, Predictor::new).is_none());
    }
}
