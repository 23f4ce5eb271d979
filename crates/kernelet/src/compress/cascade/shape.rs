//! Which stages, and the shape of their thresholds: the least cost on design rows.
use super::{
    CascadeGoal,
    rows::{Outcome, Reference, Table},
};

/// The fraction of the allowed disagreement that thresholds are shaped for; the rest is what calibration takes.
const SHAPED_FOR: f64 = 0.6;

/// Thresholds of a stage that are tried.
const THRESHOLDS: usize = 24;

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

/// One or two stages with the least cost on the design rows.
pub(super) fn shape(tables: &[Table], reference: &Reference, goal: &CascadeGoal) -> Option<Shape> {
    let allowed = SHAPED_FOR * goal.max_disagreement * reference.labels.len() as f64;
    let grids: Vec<Vec<f64>> = tables.iter().map(|table| grid(table, reference, allowed)).collect();
    let singles = (0..tables.len()).map(|a| vec![a]);
    let pairs = (0..tables.len()).flat_map(|a| (0..tables.len()).map(move |b| vec![a, b]));
    let pairs = pairs.filter(|pair| tables[pair[0]].n_vectors < tables[pair[1]].n_vectors);
    let mut best: Option<(u64, usize, Vec<usize>, Vec<f64>)> = None;
    for stages in singles.chain(pairs) {
        let chosen: Vec<&Table> = stages.iter().map(|&place| &tables[place]).collect();
        for thresholds in products(stages.iter().map(|&place| grids[place].as_slice())) {
            let outcome = Outcome::of(&chosen, &thresholds, reference, goal.abstain);
            let wrong = outcome.n_wrong();
            // Without a full machine a row that is not answered is what costs.
            let left = outcome.stages.iter().filter(|stage| **stage == stages.len()).count();
            let cost = outcome.evaluations + if goal.abstain { (left * reference.n_vectors) as u64 } else { 0 };
            if wrong as f64 <= allowed && best.as_ref().is_none_or(|best| cost < best.0) {
                best = Some((cost, wrong, stages.clone(), thresholds));
            }
        }
    }
    let (_, _, stages, thresholds) = best?;
    let added = stages.iter().map(|&place| added(&tables[place], reference)).collect();
    Some(Shape { stages, thresholds, added })
}

/// Half of the largest score of a wrong answer, or a little where there is none.
fn added(table: &Table, reference: &Reference) -> f64 {
    let worst =
        (0..table.rows.len()).filter(|&i| table.rows[i].class != reference.labels[i]).map(|i| table.rows[i].score).fold(0.0, f64::max);
    let mut scores: Vec<f64> = table.rows.iter().map(|row| row.score).filter(|score| score.is_finite()).collect();
    scores.sort_by(f64::total_cmp);
    let median = scores.get(scores.len() / 2).copied().unwrap_or(1.0);
    0.5 * worst.max(0.02 * median)
}

/// The thresholds of a stage that are worth trying: just above the scores at which answers become right, and some above all of them.
fn grid(table: &Table, reference: &Reference, allowed: f64) -> Vec<f64> {
    let wrong = (0..table.rows.len()).map(|row| table.last_wrong(row, reference)).filter(|score| *score > 0.0 && score.is_finite());
    let mut wrong: Vec<f64> = wrong.collect();
    wrong.sort_by(|a, b| b.total_cmp(a));
    let few = wrong.len() as f64 <= allowed;
    let largest = wrong.first().copied().unwrap_or(1e-3);
    let kept = ((4.0 * allowed) as usize + 8).max(12);
    wrong.truncate(kept);
    let mut grid: Vec<f64> = wrong.iter().map(|score| score * 1.0001).chain([1.5 * largest, 2.2 * largest]).collect();
    if few {
        grid.push(1e-9);
    }
    grid.sort_by(f64::total_cmp);
    grid.dedup();
    if grid.len() <= THRESHOLDS {
        return grid;
    }
    let last = grid.len() - 1;
    (0..THRESHOLDS).map(|i| grid[i * last / (THRESHOLDS - 1)]).collect()
}

/// All choices of one value from each list.
fn products<'a>(lists: impl Iterator<Item = &'a [f64]>) -> Vec<Vec<f64>> {
    lists.fold(vec![vec![]], |chosen, list| {
        chosen.iter().flat_map(|before| list.iter().map(move |value| before.iter().copied().chain([*value]).collect())).collect()
    })
}
