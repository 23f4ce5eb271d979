//! Cascades: which small machines come before a large one, and at which thresholds, so that hardly an answer differs?
//!
//! | rows | used for |
//! |---|---|
//! | design | one or two stages and the shape of their thresholds: the least cost with at most 0.6 of the disagreement that is allowed; error heads |
//! | calibration | one factor tau of all thresholds, by fixed-sequence testing from the safest down: the last tau whose number of disagreements would be rarer than the level at the rate that is allowed |
//!
//! Calibration rows need no labels, but must be new to all machines. The promise is exact for rows drawn as they were. Cost: the outputs of all machines on both
//! parts, and 24 x 24 thresholds for each pair of stages on the design rows.
use std::collections::HashMap;

use crate::{
    Error, Result,
    data::Points,
    evaluate::binomial::{is_below, last_passed, rows_needed, upper},
    linalg::{Cholesky, Matrix, transposed_times, weighted_gram},
    machine::{
        Coefficients, Decision, Expansion, Machine, Predictor,
        cascade::{Cascade, Head, Judged, MOST_CANDIDATES, Promise, Stage, can_be_stage, vectors_of, vote_among},
    },
};

/// The fraction of the allowed disagreement that thresholds are shaped for; the rest is what calibration takes.
const SHAPED_FOR: f64 = 0.6;

/// Thresholds of a stage that are tried.
const THRESHOLDS: usize = 24;

/// Factors of the thresholds that are tested, from the largest to the smallest.
const TAUS: usize = 80;
const LARGEST_TAU: f64 = 8.0;
const SMALLEST_TAU: f64 = 0.3;

/// The penalty of an error head, and its least output as a fraction of the mean error.
const HEAD_PENALTY: f64 = 1.0;
const HEAD_FLOOR: f64 = 0.1;

/// What is asked of a cascade.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CascadeGoal {
    /// The fraction of rows whose answer may differ from the full machine's.
    pub max_disagreement: f64,
    /// The probability with which no more than that differ.
    pub confidence: f64,
    /// The same for the rows of each class.
    pub by_class: bool,
    /// Leave the full machine out, and do not answer the rows that would go to it.
    pub abstain: bool,
}

impl CascadeGoal {
    /// The calibration rows without a disagreement that it takes at least; of each class, where each is promised.
    pub fn rows_needed(&self) -> usize {
        rows_needed(self.max_disagreement, 1.0 - self.confidence)
    }
}

/// A cascade of a machine and some of the small machines that were made from it. `design` and `calibration` are rows as they come from files.
pub fn cascade(full: &Machine, small: Vec<Machine>, design: &Points, calibration: &Points, goal: &CascadeGoal) -> Result<Cascade> {
    if !can_be_stage(&full.decision) {
        return Err(Error::data("a cascade is for classifiers that decide by a sign, by votes or by the largest output"));
    }
    let small = small.into_iter().filter(|machine| can_be_stage(&machine.decision) && machine.n_vectors() < full.n_vectors());
    let on_design = Reference::of(full, design)?;
    let mut stages = vec![];
    for machine in small {
        let head = head_for(&machine, full, design)?;
        let plain = Stage { machine, head: None, threshold: 0.0, exits: 0.0 };
        stages.extend(head.map(|head| Stage { head: Some(head), ..plain.clone() }));
        stages.push(plain);
    }
    let tables: Vec<Table> = stages.iter().map(|stage| Table::of(stage, full, &on_design, design)).collect::<Result<_>>()?;
    let shape = shape(&tables, &on_design, goal)
        .ok_or_else(|| Error::data("no small machine can come before the full one: it is too small itself"))?;
    let chosen: Vec<Stage> = shape.stages.iter().map(|&place| stages[place].clone()).collect();
    calibrated(full, chosen, &shape, calibration, goal)
}

/// The factor of the thresholds, and the promise.
fn calibrated(full: &Machine, mut stages: Vec<Stage>, shape: &Shape, calibration: &Points, goal: &CascadeGoal) -> Result<Cascade> {
    let reference = Reference::of(full, calibration)?;
    let tables: Vec<Table> = stages.iter().map(|stage| Table::of(stage, full, &reference, calibration)).collect::<Result<_>>()?;
    let tables: Vec<&Table> = tables.iter().collect();
    let (level, n) = (1.0 - goal.confidence, reference.labels.len());
    let ratio = (SMALLEST_TAU / LARGEST_TAU).powf(1.0 / (TAUS - 1) as f64);
    let taus = (0..TAUS).map(|i| LARGEST_TAU * ratio.powi(i as i32));
    let counted = |tau: f64| Outcome::of(&tables, &shape.scaled(tau), &reference, goal.abstain);
    let groups = reference.groups(goal.by_class);
    if let Some(group) = groups.iter().find(|group| group.len() < goal.rows_needed()) {
        return Err(Error::data(format!(
            "a class, or all of them together, has {} calibration rows, but {} are needed without a disagreement; give more of them",
            group.len(),
            goal.rows_needed()
        )));
    }
    let passed = last_passed(taus, |&tau| -> Result<bool> {
        let outcome = counted(tau);
        Ok(groups.iter().all(|group| is_below(outcome.wrong_among(group), group.len(), goal.max_disagreement, level)))
    })?;
    let Some(tau) = passed else {
        return Err(Error::data(format!(
            "no thresholds keep the disagreement below {} with {} % confidence on {n} calibration rows; give more of them, allow more disagreement, or larger stages with more effort",
            goal.max_disagreement,
            100.0 * goal.confidence
        )));
    };
    let outcome = counted(tau);
    for (place, (stage, threshold)) in stages.iter_mut().zip(shape.scaled(tau)).enumerate() {
        stage.threshold = threshold;
        stage.exits = outcome.stages.iter().filter(|stage| **stage == place).count() as f64 / n.max(1) as f64;
    }
    let promise = Promise {
        max_disagreement: goal.max_disagreement,
        confidence: goal.confidence,
        by_class: goal.by_class,
        bound: groups.iter().map(|group| upper(outcome.wrong_among(group), group.len(), level)).fold(0.0, f64::max),
        calibration_rows: n,
        disagreements: outcome.wrong.iter().filter(|wrong| **wrong).count(),
        cost: outcome.evaluations as f64 / (n.max(1) * full.n_vectors().max(1)) as f64,
        full_vectors: full.n_vectors(),
    };
    let cascade = Cascade { stages, full: (!goal.abstain).then(|| full.clone()), promise };
    cascade.check()?;
    Ok(cascade)
}

/// What the full machine makes of rows.
struct Reference {
    outputs: Matrix,
    labels: Vec<usize>,
    n_vectors: usize,
}

impl Reference {
    fn of(full: &Machine, rows: &Points) -> Result<Self> {
        let outputs = full.outputs_for(rows)?;
        let labels = outputs.iter().map(|row| full.decision.class(row)).collect();
        Ok(Reference { outputs, labels, n_vectors: full.n_vectors() })
    }

    /// All rows, or those of each class that has any.
    fn groups(&self, by_class: bool) -> Vec<Vec<usize>> {
        if !by_class {
            return vec![(0..self.labels.len()).collect()];
        }
        let classes = self.labels.iter().max().map_or(0, |last| last + 1);
        let of = |class: usize| (0..self.labels.len()).filter(|&i| self.labels[i] == class).collect::<Vec<_>>();
        (0..classes).map(of).filter(|group| !group.is_empty()).collect()
    }
}

/// A stage on rows.
struct Table {
    n_vectors: usize,
    rows: Vec<Judged>,
    /// For each row the label and the cost of deciding among its first 2, 3, .. classes; empty where the whole machine decides.
    among: Vec<Vec<(usize, usize)>>,
}

impl Table {
    fn of(stage: &Stage, full: &Machine, reference: &Reference, points: &Points) -> Result<Self> {
        let outputs = Predictor::new(&stage.evaluated()).outputs(points)?;
        let rows: Vec<Judged> = outputs.iter().map(|row| stage.judge(row)).collect();
        let mut among = vec![vec![]; rows.len()];
        if let (Coefficients::Pairwise(pairwise), Decision::Votes { labels }) = (&full.expansion.coefficients, &full.decision) {
            let mut costs: HashMap<Vec<usize>, usize> = HashMap::new();
            for (i, judged) in rows.iter().enumerate() {
                for size in 2..=MOST_CANDIDATES.min(labels.len().saturating_sub(1)) {
                    let mut classes: Vec<usize> = judged.ranks.iter().take(size).map(|rank| rank.0).collect();
                    classes.sort_unstable();
                    let label = vote_among(&classes, labels.len(), reference.outputs.row(i));
                    let cost = *costs.entry(classes).or_insert_with_key(|classes| vectors_of(pairwise, classes).len());
                    among[i].push((label, cost));
                }
            }
        }
        Ok(Table { n_vectors: stage.machine.n_vectors(), rows, among })
    }

    /// The label and the cost of a row that the last stage does not answer.
    fn deferred(&self, row: usize, threshold: f64, reference: &Reference) -> (usize, usize) {
        let size = self.rows[row].ranks.iter().take_while(|rank| rank.1 <= threshold).count();
        let part = size.checked_sub(2).and_then(|place| self.among[row].get(place));
        part.copied().unwrap_or((reference.labels[row], reference.n_vectors))
    }

    /// The largest threshold at which the answer of a row still differs; 0 where it never does.
    fn last_wrong(&self, row: usize, reference: &Reference) -> f64 {
        let (judged, label) = (&self.rows[row], reference.labels[row]);
        let mut last = if judged.class != label { judged.score } else { 0.0 };
        for (place, (other, _)) in self.among[row].iter().enumerate() {
            if *other != label {
                last = judged.ranks.get(place + 2).map_or(last, |rank| rank.1);
            }
        }
        last
    }
}

/// A cascade on rows.
struct Outcome {
    wrong: Vec<bool>,
    stages: Vec<usize>,
    evaluations: u64,
}

impl Outcome {
    fn of(tables: &[&Table], thresholds: &[f64], reference: &Reference, abstain: bool) -> Self {
        let n = reference.labels.len();
        let mut outcome = Outcome { wrong: vec![false; n], stages: vec![tables.len(); n], evaluations: 0 };
        for row in 0..n {
            let mut answer = None;
            for (place, (table, threshold)) in tables.iter().zip(thresholds).enumerate() {
                outcome.evaluations += table.n_vectors as u64;
                if table.rows[row].score > *threshold {
                    answer = Some(table.rows[row].class);
                    outcome.stages[row] = place;
                    break;
                }
            }
            let label = match (answer, tables.last().zip(thresholds.last())) {
                (Some(class), _) => class,
                // What is not answered does not differ.
                (None, Some((table, threshold))) if !abstain => {
                    let (label, cost) = table.deferred(row, *threshold, reference);
                    outcome.evaluations += cost as u64;
                    label
                }
                _ => reference.labels[row],
            };
            outcome.wrong[row] = label != reference.labels[row];
        }
        outcome
    }

    fn wrong_among(&self, rows: &[usize]) -> usize {
        rows.iter().filter(|&&row| self.wrong[row]).count()
    }
}

/// Stages by their places, and their thresholds before calibration.
#[derive(Clone, Debug)]
struct Shape {
    stages: Vec<usize>,
    thresholds: Vec<f64>,
    /// What is added to each threshold where the factor is above 1, so that thresholds near 0 rise too.
    added: Vec<f64>,
}

impl Shape {
    fn scaled(&self, tau: f64) -> Vec<f64> {
        self.thresholds.iter().zip(&self.added).map(|(threshold, added)| threshold * tau + added * (tau - 1.0).max(0.0)).collect()
    }
}

/// One or two stages with the least cost on the design rows.
fn shape(tables: &[Table], reference: &Reference, goal: &CascadeGoal) -> Option<Shape> {
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
            let wrong = outcome.wrong.iter().filter(|wrong| **wrong).count();
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

/// The error head of a machine for two classes: a ridge regression of |f - f'| on the kernel values of its vectors.
fn head_for(small: &Machine, full: &Machine, rows: &Points) -> Result<Option<Head>> {
    let two = matches!((&small.decision, &full.decision), (Decision::Sign { .. }, Decision::Sign { .. }));
    let m = small.n_vectors();
    if !two || rows.len() < 2 * m.max(10) {
        return Ok(None);
    }
    let (f, g) = (full.outputs_for(rows)?.col(0), small.outputs_for(rows)?.col(0));
    let errors: Vec<f64> = f.iter().zip(&g).map(|(a, b)| (a - b).abs()).collect();
    let mean = errors.iter().sum::<f64>() / errors.len() as f64;
    let identity = Matrix::from_fn(m, m, |i, j| if i == j { 1.0 } else { 0.0 });
    let expansion = Expansion { coefficients: Coefficients::Dense(identity), ..small.expansion.clone() };
    let values =
        Machine { expansion, offsets: vec![0.0; m], decision: Decision::Features, calibration: None, ..small.clone() }.outputs_for(rows)?;
    let with_one = Matrix::from_fn(rows.len(), m + 1, |i, j| if j < m { values.at(i, j) } else { 1.0 });
    let mut system = weighted_gram(&with_one, &vec![1.0; rows.len()]);
    for j in 0..=m {
        system.row_mut(j)[j] += HEAD_PENALTY;
    }
    let mut solution = Matrix::column(transposed_times(&with_one, &errors));
    let Some(factor) = Cholesky::new(&system).filter(|_| mean > 0.0) else { return Ok(None) };
    factor.solve(&mut solution);
    let mut coefficients = solution.into_values();
    let offset = coefficients.pop().unwrap_or(0.0);
    Ok(Some(Head { coefficients, offset, floor: HEAD_FLOOR * mean }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        compress::part_of,
        data::{Dataset, banana, waveform3},
        evaluate::agreement,
        kernel::Kernel,
        learn::{Learner, Svc},
        watch::Watch,
    };

    fn full(data: &Dataset, gamma: f64) -> Machine {
        Svc { kernel: Kernel::gaussian(gamma), c: 5.0, ..Svc::default() }.learn(data, &Watch::none()).unwrap().machine
    }

    /// Machines of some of the vectors, with coefficients that fit the outputs.
    fn small(machine: &Machine, data: &Dataset, sizes: &[usize]) -> Vec<Machine> {
        let task = crate::compress::Task { machine, data: Some(data), candidates: None };
        let of = |size: &usize| {
            let step = machine.n_vectors() / size;
            let some: Vec<usize> = (0..*size).map(|i| i * step).collect();
            crate::compress::refit(&part_of(machine, &some), crate::compress::Refit::Outputs, &task, None, &Watch::none()).unwrap()
        };
        sizes.iter().map(of).collect()
    }

    const GOAL: CascadeGoal = CascadeGoal { max_disagreement: 0.02, confidence: 0.9, by_class: false, abstain: false };

    #[test]
    fn the_promise_holds_on_new_rows_and_the_cost_is_that_of_the_answers() {
        for (train, gamma, draw) in [(banana(300, 1), 1.0, banana as fn(usize, u64) -> Dataset), (waveform3(300, 1), 0.05, waveform3)] {
            let machine = full(&train, gamma);
            let stages = small(&machine, &train, &[8, 24]);
            let cal = draw(1500, 3).points;
            let made = cascade(&machine, stages, &draw(800, 2).points, &cal, &GOAL).unwrap();
            let answers = made.predict(&cal).unwrap();
            let differ = 1.0 - agreement(&machine.predict(&cal).unwrap(), &answers.prediction).unwrap();
            assert!((differ - made.promise.disagreements as f64 / 1500.0).abs() < 1e-12);
            assert!((answers.evaluations as f64 / (1500 * machine.n_vectors()) as f64 - made.promise.cost).abs() < 1e-12);
            assert!(made.promise.bound <= 0.02 && made.promise.cost < 1.0, "{:?}", made.promise);
            let exits: f64 = made.stages.iter().map(|stage| stage.exits).sum();
            assert!((exits - answers.stages.iter().filter(|stage| **stage < made.stages.len()).count() as f64 / 1500.0).abs() < 1e-12);
            let pool = draw(20_000, 4).points;
            let truly = 1.0 - agreement(&machine.predict(&pool).unwrap(), &made.predict(&pool).unwrap().prediction).unwrap();
            assert!(truly <= 0.02, "{truly}");
        }
    }

    #[test]
    fn each_class_is_promised_and_a_cascade_may_abstain() {
        let train = banana(300, 1);
        let machine = full(&train, 1.0);
        let stages = || small(&machine, &train, &[8, 24]);
        let (design, cal) = (banana(600, 2).points, banana(2000, 3).points);
        let goal = CascadeGoal { by_class: true, ..GOAL };
        let made = cascade(&machine, stages(), &design, &cal, &goal).unwrap();
        let reference = Reference::of(&machine, &cal).unwrap();
        let codes = |prediction: &crate::machine::Prediction| match prediction {
            crate::machine::Prediction::Classes { codes, .. } => codes.clone(),
            _ => vec![],
        };
        let answers = codes(&made.predict(&cal).unwrap().prediction);
        for group in reference.groups(true) {
            let wrong = group.iter().filter(|&&i| answers[i] as usize != reference.labels[i]).count();
            assert!(is_below(wrong, group.len(), 0.02, 0.1 + 1e-9), "{wrong} of {}", group.len());
        }
        let alone = cascade(&machine, stages(), &design, &cal, &CascadeGoal { abstain: true, ..GOAL }).unwrap();
        assert!(alone.full.is_none() && alone.promise.cost < 1.0 && alone.labels().len() == 3);
    }

    #[test]
    fn too_few_rows_and_machines_that_are_no_classifiers_are_rejected() {
        let train = banana(200, 1);
        let machine = full(&train, 1.0);
        let few = cascade(&machine, small(&machine, &train, &[8]), &banana(200, 2).points, &banana(50, 3).points, &GOAL);
        assert!(few.unwrap_err().to_string().contains("has 50 calibration rows, but 114 are needed without"));
        assert_eq!(CascadeGoal { max_disagreement: 0.001, confidence: 0.95, ..GOAL }.rows_needed(), 2995);
        let none = cascade(&machine, vec![], &train.points, &train.points, &GOAL);
        assert!(none.unwrap_err().to_string().contains("no small machine"));
        let values = Machine { decision: Decision::Values, ..machine.clone() };
        assert!(cascade(&values, vec![], &train.points, &train.points, &GOAL).unwrap_err().to_string().contains("classifiers"));
    }
}
