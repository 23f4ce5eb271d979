//! Two classes: rounds of actions on the normal approximation at the peak of the posterior.
//!
//! At the peak, the machine is a regression with row weights B and targets `f + B^-1 (y - p)` ([`laplace`](super::laplace)). A round does the
//! actions that raise the evidence of that regression most, then seeks the new peak. The round counts only where the evidence at
//! the new peak is higher; else fewer actions are tried, at last one, and an action that fails alone is barred until another
//! succeeds. So the evidence rises from round to round, and the run ends when no action promises more than the tolerance.
use super::{
    Settings, Solved,
    design::{Design, Stack},
    laplace::{Peak, Sides, peak, weighted},
    model::{Action, Basis, Model, Problem},
};
use crate::{
    Error, Result,
    watch::{Status, Watch},
};

/// Most actions of one round.
const MOST_ACTIONS: usize = 256;
/// Columns outside the model that the actions of one round may add: those that promise most at its beginning.
const SHORTLIST: usize = 128;
/// Exchanges that fail in succession before a climb ends.
const MOST_FAILURES: u32 = 1;

/// A peak and the model around it.
struct Place {
    model: Model,
    peak: Peak,
    squares: Vec<f64>,
    targets: Vec<f64>,
}

/// The machine of greatest evidence for two classes: the best of a climb from nothing and of `restarts` climbs from half of the best.
pub(super) fn solve(design: &Design, sides: &Sides, settings: &Settings, watch: &Watch) -> Result<Solved> {
    let mut best = stand(design, start(design, sides, settings, watch), sides, watch).ok_or_else(broken)?;
    let mut actions = 0;
    let mut status = climb(&mut best, design, sides, settings, &mut actions, watch);
    for restart in 0..settings.restarts {
        if status != Status::Converged {
            break;
        }
        let Some(mut other) = stand(design, best.model.half(restart % 2), sides, watch) else { break };
        status = climb(&mut other, design, sides, settings, &mut actions, watch);
        if other.peak.evidence > best.peak.evidence {
            best = other;
        }
    }
    Ok(Solved::new(best.model, best.peak.evidence, actions, status))
}

/// Rounds of actions until none helps.
fn climb(here: &mut Place, design: &Design, sides: &Sides, settings: &Settings, actions: &mut u64, watch: &Watch) -> Status {
    let (mut limit, mut failures, mut barred) = (8, 0, design.repeated().to_vec());
    loop {
        if watch.cancelled() {
            return Status::Cancelled;
        }
        if *actions >= settings.max_iterations {
            return Status::IterationLimit;
        }
        let (basis, done, exchanged) = improve(here, design, limit, &barred, settings, watch);
        let Some(&last) = done.last().filter(|_| failures < MOST_FAILURES) else { return Status::Converged };
        let trial = peak(&basis, sides).filter(|trial| trial.evidence > here.peak.evidence);
        let next = trial.and_then(|trial| around(design, basis, trial, watch));
        *actions += done.len() as u64;
        match next {
            Some(next) => {
                *here = next;
                (limit, failures) = ((2 * limit).min(MOST_ACTIONS), 0);
                barred.copy_from_slice(design.repeated());
                watch.report("relevance vectors", *actions, None, Some(-here.peak.evidence));
            }
            None if done.len() > 1 && !exchanged => limit = (done.len() / 4).max(1),
            None => {
                failures += u32::from(exchanged);
                barred[here.model.column_of(last)] = true;
            }
        }
    }
}

fn broken() -> Error {
    Error::data("the matrix of the relevance vector machine is not positive definite to working precision; scale the data, or change gamma")
}

/// The constant alone, where there is one.
fn start(design: &Design, sides: &Sides, settings: &Settings, watch: &Watch) -> Basis {
    let mut basis = Basis { chosen: vec![], alpha: vec![], columns: Stack::new(design.rows()), mean: vec![] };
    if settings.offset {
        let total: f64 = sides.weights.iter().sum();
        let share: f64 = sides.targets.iter().zip(sides.weights).map(|(y, w)| y * w).sum::<f64>() / total;
        basis.chosen.push(design.rows());
        basis.alpha.push(super::OFFSET_PRECISION);
        basis.columns.push(&design.column(design.rows(), watch));
        basis.mean.push((share / (1.0 - share)).ln());
    }
    basis
}

fn stand(design: &Design, basis: Basis, sides: &Sides, watch: &Watch) -> Option<Place> {
    let peak = peak(&basis, sides)?;
    around(design, basis, peak, watch)
}

/// The model around a peak: one pass over all columns.
fn around(design: &Design, basis: Basis, peak: Peak, watch: &Watch) -> Option<Place> {
    let mut rows = weighted(&basis.columns, &peak.curvature);
    // B t = B f + (y - p).
    let targets: Vec<f64> = peak.outputs.iter().zip(&peak.curvature).zip(&peak.slopes).map(|((f, b), g)| b * f + g).collect();
    rows.push(&targets);
    let mut pass = design.pass(Some(&peak.curvature), &rows, watch);
    let targets = pass.products.row(rows.len() - 1).to_vec();
    pass.products.remove(rows.len() - 1);
    let problem = Problem { design, weights: &peak.curvature, targets: &targets, squares: &pass.squares, constant: 0.0, open: None };
    let mut model = Model::new(basis, pass.products, &problem)?;
    model.basis.mean.copy_from_slice(&peak.coefficients);
    Some(Place { model, squares: pass.squares, targets, peak })
}

/// The basis after up to `limit` actions, each the best of its moment, or after an exchange where no action helps; the actions; and
/// whether they are an exchange.
fn improve(here: &Place, design: &Design, limit: usize, barred: &[bool], settings: &Settings, watch: &Watch) -> (Basis, Vec<Action>, bool) {
    let Place { model, peak, squares, targets } = here;
    let problem = Problem { design, weights: &peak.curvature, targets, squares, constant: 0.0, open: None };
    let open = model.shortlist(SHORTLIST, &problem, barred);
    let problem = Problem { open: Some(&open), ..problem };
    let mut closed = vec![true; design.rows()];
    open.iter().filter(|&&c| c < design.rows()).for_each(|&c| closed[c] = barred[c]);
    let (mut model, mut done) = (model.clone(), vec![]);
    while done.len() < limit {
        let Some((action, gain)) = model.best(&problem, &closed).filter(|(_, gain)| *gain > settings.tolerance) else { break };
        model.apply(action, gain, &problem, watch);
        done.push(action);
    }
    if !done.is_empty() {
        return (model.basis, done, false);
    }
    let exchange = model.best_exchange(&problem, &closed, watch);
    let exchange = exchange.filter(|pair| pair[0].1 + pair[1].1 > settings.tolerance);
    for (action, gain) in exchange.into_iter().flatten() {
        model.apply(action, gain, &problem, watch);
        done.push(action);
    }
    (model.basis, done, true)
}
