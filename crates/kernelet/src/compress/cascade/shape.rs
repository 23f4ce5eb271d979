//! Which stages, and the shape of their thresholds: the least cost on design rows at the rate of disagreement that calibration can pass.
//!
//! That rate may be below one in the number of design rows, and the stages that look best among many have been lucky there. So thresholds follow from the tail of the
//! scores of wrong answers, which is taken to be exponential: of the k largest of n the mean excess b over the next one, u, with half its standard error, gives the threshold u + b ln(k / (n r))
//! at the rate r. Two stages share the rate in several proportions.
use super::{
    CascadeGoal,
    rows::{Outcome, Reference, Table},
};
use crate::evaluate::binomial::is_below;

/// Of the wrong answers of a stage the part with the largest scores is the tail, at most so many of them.
const TAIL: f64 = 0.5;
const LONGEST_TAIL: usize = 30;

/// So many standard errors of the mean excess are added to it: tails of few answers are uncertain.
const CAUTION: f64 = 0.5;

/// Of the rate, what is left to the first of two stages.
const PARTS: [f64; 7] = [0.05, 0.15, 0.3, 0.5, 0.7, 0.85, 0.95];

/// The least threshold, which rows with equal largest outputs do not exceed.
const LEAST: f64 = 1e-9;

/// Stages by their places, and their thresholds before calibration.
#[derive(Clone, Debug)]
pub(super) struct Shape {
    pub stages: Vec<usize>,
    thresholds: Vec<f64>,
    /// What is added to each threshold where the factor is above 1, so that thresholds near 0 rise too.
    added: Vec<f64>,
}

impl Shape {
    pub fn scaled(&self, tau: f64) -> Vec<f64> {
        self.thresholds.iter().zip(&self.added).map(|(threshold, added)| threshold * tau + added * (tau - 1.0).max(0.0)).collect()
    }
}

/// The rate of disagreement that calibration on so many rows passes about every second time.
pub(super) fn passable(rows: usize, goal: &CascadeGoal) -> f64 {
    let passes = |wrong: usize| is_below(wrong, rows, goal.max_disagreement, 1.0 - goal.confidence);
    let (mut low, mut high) = (0, rows);
    while low < high {
        let middle = low + (high - low) / 2;
        if passes(middle) { low = middle + 1 } else { high = middle }
    }
    // `low` wrong rows are the fewest that do not pass; the median of a Poisson variable is about its mean less a third.
    (low as f64 - 0.3).max(0.3) / rows.max(1) as f64
}

/// One or two stages with the least cost on the design rows at this rate of disagreement.
pub(super) fn shape(tables: &[Table], reference: &Reference, rate: f64, abstain: bool) -> Option<Shape> {
    let n = reference.labels.len();
    let wanted = rate * n as f64;
    let wrong: Vec<Vec<f64>> = tables.iter().map(|table| (0..n).map(|row| table.wrong(row, reference)).collect()).collect();
    let last_wrong: Vec<Vec<f64>> = tables.iter().map(|table| (0..n).map(|row| table.last_wrong(row, reference)).collect()).collect();
    let single = |a: usize| (vec![a], vec![threshold(last_wrong[a].clone(), wanted)]);
    let double = |a: usize, b: usize, part: f64| {
        let first = threshold(wrong[a].clone(), part * wanted);
        let left = (0..n).filter(|&row| tables[a].rows[row].score <= first).map(|row| last_wrong[b][row]).collect();
        (vec![a, b], vec![first, threshold(left, (1.0 - part) * wanted)])
    };
    let pairs = (0..tables.len()).flat_map(|a| (0..tables.len()).map(move |b| (a, b)));
    let pairs = pairs.filter(|&(a, b)| tables[a].n_vectors < tables[b].n_vectors);
    let doubles = pairs.flat_map(|(a, b)| PARTS.map(|part| (a, b, part))).map(|(a, b, part)| double(a, b, part));
    let mut best: Option<(u64, Vec<usize>, Vec<f64>)> = None;
    for (stages, thresholds) in (0..tables.len()).map(single).chain(doubles) {
        let chosen: Vec<&Table> = stages.iter().map(|&place| &tables[place]).collect();
        let outcome = Outcome::of(&chosen, &thresholds, reference, abstain);
        // Without a full machine a row that is not answered is what costs.
        let left = outcome.stages.iter().filter(|stage| **stage == stages.len()).count();
        let cost = outcome.evaluations + if abstain { (left * reference.n_vectors) as u64 } else { 0 };
        if best.as_ref().is_none_or(|best| cost < best.0) {
            best = Some((cost, stages, thresholds));
        }
    }
    let (_, stages, thresholds) = best?;
    let added = stages.iter().map(|&place| added(&tables[place], reference)).collect();
    Some(Shape { stages, thresholds, added })
}

/// Half of the largest score of a wrong answer, or a little where there is none.
fn added(table: &Table, reference: &Reference) -> f64 {
    let worst = (0..table.rows.len()).map(|row| table.wrong(row, reference)).filter(|score| score.is_finite()).fold(0.0, f64::max);
    let mut scores: Vec<f64> = table.rows.iter().map(|row| row.score).filter(|score| score.is_finite()).collect();
    scores.sort_by(f64::total_cmp);
    let median = scores.get(scores.len() / 2).copied().unwrap_or(1.0);
    0.5 * worst.max(0.02 * median)
}

/// The threshold that so many of these scores of wrong answers are expected to exceed; 0 stands for an answer that is right.
fn threshold(scores: Vec<f64>, wanted: f64) -> f64 {
    let mut wrong: Vec<f64> = scores.into_iter().filter(|score| *score > 0.0 && score.is_finite()).collect();
    wrong.sort_by(|a, b| b.total_cmp(a));
    let tail = ((TAIL * wrong.len() as f64) as usize).clamp(1, LONGEST_TAIL).min(wrong.len());
    if wanted >= tail as f64 {
        // There are enough of them to be counted.
        return wrong.get(wanted as usize).map_or(LEAST, |score| score * 1.0001);
    }
    let start = wrong.get(tail).copied().unwrap_or(0.0);
    let excess = wrong.iter().take(tail).map(|score| score - start).sum::<f64>() / tail as f64;
    let cautious = excess * (1.0 + CAUTION / (tail as f64).sqrt());
    (start + cautious * (tail as f64 / wanted).ln()).max(LEAST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thresholds_are_those_of_an_exponential_tail() {
        // Scores of wrong answers are the quantiles of an exponential distribution with mean 2: so many of 1000 exceed t.
        let scores: Vec<f64> = (0..1000).map(|i| -2.0 * ((i as f64 + 0.5) / 1000.0).ln()).collect();
        for wanted in [0.1f64, 1.0, 10.0] {
            let exact = 2.0 * ((1000.0f64 / 30.0).ln() + (1.0 + CAUTION / 30f64.sqrt()) * (30.0 / wanted).ln());
            assert!(
                (threshold(scores.clone(), wanted) / exact - 1.0).abs() < 0.05,
                "{wanted}: {} {exact}",
                threshold(scores.clone(), wanted)
            );
        }
        let counted = threshold(scores.clone(), 100.0);
        assert_eq!(scores.iter().filter(|score| **score > counted).count(), 100);
        assert_eq!(threshold(vec![0.0; 50], 1.0), LEAST);
        assert_eq!(threshold(vec![3.0, 0.0], 1.0), LEAST);
        assert!(threshold(vec![3.0, 0.0, f64::INFINITY], 0.1) > 3.0);
    }

    #[test]
    fn the_rate_that_passes_is_below_the_goal_and_grows_with_the_rows() {
        let goal = CascadeGoal { max_disagreement: 0.001, confidence: 0.95, by_class: false, abstain: false };
        // scipy: binom.cdf(2, 6500, 0.001) = 0.043, binom.cdf(3, 6500, 0.001) = 0.11
        assert!((passable(6500, &goal) - 2.7 / 6500.0).abs() < 1e-15);
        assert!((passable(2995, &goal) - 0.7 / 2995.0).abs() < 1e-15);
        assert!(passable(1_000_000, &goal) > 0.0009 && passable(1_000_000, &goal) < 0.001);
        assert!(passable(10, &goal) > 0.0);
    }
}
