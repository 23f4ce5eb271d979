//! The outcome of a vote of pairs from a guess.
//!
//! All pairs of 26 classes are 325 outputs, and their sums take longer than the kernel values. But a class that wins all its own pairs has won the vote, whatever the
//! others say, and how sure the vote is follows from these pairs too. So rows are evaluated by the pairs of the class that is guessed, those that lose one of them by the
//! pairs of the class that beat it most, and only the rest by all pairs. A guess is the class of the stage before, or the largest of the sums of each class's pairs: as many
//! outputs as there are classes, in single precision, because a guess decides nothing.
use std::sync::OnceLock;

use super::{
    Coefficients, Decision, Expansion, Machine, Metadata, Pairwise, Predictor,
    cascade::{EXPONENTIAL, Left, Stage},
    decision::first_largest,
    each::Rows,
    predict::Precision,
};
use crate::{Result, data::Points, linalg::Matrix, parallel::*};

/// A machine of dense pairs, made ready.
#[derive(Debug)]
pub(super) struct GuessedVotes {
    machine: Machine,
    precision: Precision,
    guess: OnceLock<Predictor>,
    /// The pairs of each class.
    classes: Vec<OnceLock<Predictor>>,
    whole: OnceLock<Predictor>,
}

/// A row whose class is not known yet: its place among those asked for, and the class that is guessed.
type Guess = (usize, usize);

/// A pair of a class: its place among all, the other class, and 1 where the class is the first of the pair, else -1.
type Pair = (usize, usize, f64);

impl GuessedVotes {
    /// None for machines that decide otherwise, or have so few pairs or so many features that it takes less to evaluate all pairs; the first stage makes its own guesses.
    pub fn of(machine: &Machine, first: bool, precision: Precision) -> Option<Self> {
        let Decision::Votes { labels } = &machine.decision else { return None };
        let all = labels.len() * labels.len().saturating_sub(1) / 2;
        let dense = matches!(machine.expansion.coefficients, Coefficients::Dense(_));
        // Multiply-adds for each vector; groups of rows are small, and single precision is twice as fast.
        let (value, own) = (machine.expansion.vectors.dim() + EXPONENTIAL, labels.len());
        let guessed = (value + own) + (value + own) / 4 + if first { (value + own) / 2 } else { 0 };
        (dense && machine.n_outputs() == all && guessed < value + all).then(|| GuessedVotes {
            machine: machine.clone(),
            precision,
            guess: OnceLock::new(),
            classes: labels.iter().map(|_| OnceLock::new()).collect(),
            whole: OnceLock::new(),
        })
    }

    /// Writes the classes of rows and returns those that are left, with the candidate classes where they are asked for; `guesses` has a class for each row, or is empty.
    pub fn see(&self, stage: &Stage, points: &Points, rows: &Rows, guesses: &[Left], ask: bool, classes: &mut [u32]) -> Result<Vec<Left>> {
        if rows.len() == 0 {
            return Ok(vec![]);
        }
        let mut guesses: Vec<Guess> = match guesses {
            [] => {
                let sums = self.guess.get_or_init(|| Predictor::single(&self.sums()));
                sums.each(points, rows, classes, |_, outputs, _: &mut Vec<()>| first_largest(outputs) as u32)?;
                classes.iter().map(|class| *class as usize).enumerate().collect()
            }
            guesses => guesses.iter().map(|left| left.class as usize).enumerate().collect(),
        };
        let mut left = vec![];
        for _ in 0..2 {
            guesses = self.by_pairs((stage, ask), (points, rows), &guesses, classes, &mut left)?;
        }
        if !guesses.is_empty() {
            let chosen: Vec<usize> = guesses.iter().map(|(place, _)| rows.at(*place)).collect();
            let mut found = vec![0; chosen.len()];
            let whole = self.whole.get_or_init(|| self.precision.prepare(&self.machine));
            left.extend(whole.each(points, &Rows::Some(&chosen), &mut found, |i, outputs, left| stage.see(chosen[i], outputs, ask, left))?);
            guesses.iter().zip(found).for_each(|((place, _), class)| classes[*place] = class);
        }
        left.sort_unstable_by_key(|left: &Left| left.row);
        Ok(left)
    }

    /// Evaluates rows by the pairs of a class each. Returns those that lose one of them, with the class that beats them most.
    fn by_pairs(
        &self,
        (stage, ask): (&Stage, bool),
        (points, rows): (&Points, &Rows),
        guesses: &[Guess],
        classes: &mut [u32],
        left: &mut Vec<Left>,
    ) -> Result<Vec<Guess>> {
        let mut groups = vec![vec![]; self.classes.len()];
        guesses.iter().for_each(|&(place, class)| groups[class].push(place));
        let groups: Vec<(usize, Vec<usize>)> = groups.into_iter().enumerate().filter(|(_, places)| !places.is_empty()).collect();
        let found = groups.into_par_iter().map(|(class, places)| {
            let own: Vec<Pair> = self.pairs(class).collect();
            let ready = self.classes[class].get_or_init(|| self.precision.prepare(&self.of_pairs(&own)));
            let chosen: Vec<usize> = places.iter().map(|&place| rows.at(place)).collect();
            let mut beaten = vec![None; chosen.len()];
            let left = ready.each(points, &Rows::Some(&chosen), &mut beaten, |i, outputs, left| {
                let beaten = beaten_by(&own, outputs);
                if beaten.is_none() {
                    let score = outputs.iter().map(|f| f.abs()).fold(f64::INFINITY, f64::min);
                    let others = own.iter().zip(outputs).map(|((_, other, _), f)| (*other, f.abs()));
                    stage.leave(chosen[i], (class, score), ask.then_some(others), left);
                }
                beaten
            })?;
            Ok((class, places, beaten, left))
        });
        let mut unknown = vec![];
        for found in found.collect::<Vec<Result<_>>>() {
            let (class, places, beaten, more) = found?;
            left.extend(more);
            for (place, beaten) in places.into_iter().zip(beaten) {
                match beaten {
                    None => classes[place] = class as u32,
                    Some(other) => unknown.push((place, other)),
                }
            }
        }
        Ok(unknown)
    }

    fn pairs(&self, class: usize) -> impl Iterator<Item = Pair> {
        let n = self.classes.len();
        (0..n).filter(move |other| *other != class).map(move |other| {
            let place = Pairwise::place(n, class.min(other), class.max(other));
            (place, other, if class < other { 1.0 } else { -1.0 })
        })
    }

    fn of_pairs(&self, pairs: &[Pair]) -> Machine {
        let all = self.machine.expansion.coefficients.to_dense();
        let coefficients = Matrix::from_fn(all.rows(), pairs.len(), |j, k| all.at(j, pairs[k].0));
        self.with(coefficients, pairs.iter().map(|(place, _, _)| self.machine.offsets[*place]).collect())
    }

    /// One output for each class: the sum of its pairs.
    fn sums(&self) -> Machine {
        let all = self.machine.expansion.coefficients.to_dense();
        let sum = |of: &dyn Fn(usize) -> f64, class: usize| self.pairs(class).map(|(place, _, sign)| sign * of(place)).sum();
        let n = self.classes.len();
        let coefficients = Matrix::from_fn(all.rows(), n, |j, class| sum(&|place| all.at(j, place), class));
        self.with(coefficients, (0..n).map(|class| sum(&|place| self.machine.offsets[place], class)).collect())
    }

    fn with(&self, coefficients: Matrix, offsets: Vec<f64>) -> Machine {
        let expansion = Expansion { coefficients: Coefficients::Dense(coefficients), ..self.machine.expansion.clone() };
        let (scale, metadata) = (self.machine.scale.clone(), Metadata::default());
        Machine { expansion, offsets, decision: Decision::Features, scale, names: None, calibration: None, metadata }
    }
}

/// The class that beats a class most by the outputs of its pairs; none where it wins all. An output above 0 is a vote for the first class of the pair.
fn beaten_by(own: &[Pair], outputs: &[f64]) -> Option<usize> {
    let beaten = own.iter().zip(outputs).filter(|((_, _, sign), f)| (**f > 0.0) != (*sign > 0.0));
    beaten.max_by(|a, b| a.1.abs().total_cmp(&b.1.abs())).map(|((_, other, _), _)| *other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{kernel::Kernel, machine::cascade::Candidates};

    #[test]
    fn any_guess_leads_to_the_class_the_score_and_the_candidates_of_all_pairs() {
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
        let stage = Stage { machine: machine.clone(), head: None, threshold: 0.05, exits: 0.0 };
        let all = machine.outputs_for(&points).unwrap();
        let ready = GuessedVotes::of(&machine, false, Precision::Double).unwrap();
        let rows = Rows::All(0..n);
        let (mut with_candidates, mut by_sums) = (0, 0);
        for shift in 0..4 {
            // The last time the guesses are its own.
            let shifted = |(row, outputs): (usize, &[f64])| {
                let class = ((machine.decision.class(outputs) + shift) % q) as u32;
                Left { row, class, candidates: Candidates::default() }
            };
            let guesses: Vec<Left> = if shift < 3 { all.iter().enumerate().map(shifted).collect() } else { vec![] };
            let mut classes = vec![0; n];
            let left = ready.see(&stage, &points, &rows, &guesses, true, &mut classes).unwrap();
            let mut want = vec![];
            for (row, (class, outputs)) in classes.iter().zip(all.iter()).enumerate() {
                assert_eq!(*class, stage.see(row, outputs, true, &mut want));
            }
            assert!(!left.is_empty() && left.len() == want.len());
            for (have, want) in left.iter().zip(&want) {
                assert_eq!((have.row, have.class, have.candidates), (want.row, want.class, want.candidates));
                let ranks = stage.judge(all.row(have.row)).ranks;
                let near = ranks.iter().take_while(|rank| rank.1 <= stage.threshold).count();
                assert_eq!(have.candidates.classes().len(), if (2..q).contains(&near) { near } else { 0 });
                with_candidates += usize::from(!have.candidates.classes().is_empty());
            }
        }
        let sums = ready.guess.get().unwrap().outputs(&points).unwrap();
        for (sums, row) in sums.iter().zip(all.iter()) {
            let of = |class: usize| ready.pairs(class).map(|(place, _, sign)| sign * row[place]).sum::<f64>();
            assert!((0..q).all(|class| (sums[class] - of(class)).abs() < 1e-4));
            by_sums += usize::from(first_largest(sums) == machine.decision.class(row));
        }
        assert!(with_candidates > 0 && by_sums > n / 2, "{with_candidates} {by_sums}");
        let few = Machine { decision: Decision::Features, ..machine };
        assert!(GuessedVotes::of(&few, false, Precision::Double).is_none());
    }
}
