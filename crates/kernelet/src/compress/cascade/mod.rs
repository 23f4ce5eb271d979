//! Cascades: which small machines come before a large one, and at which thresholds, so that hardly an answer differs?
//!
//! | rows | used for |
//! |---|---|
//! | design | one or two stages and the shape of their thresholds: the least cost at the rate of disagreement that calibration can pass; error heads |
//! | calibration | one factor tau of all thresholds, by fixed-sequence testing from the safest down: the last tau whose number of disagreements would be rarer than the level at the rate that is allowed |
//!
//! Calibration rows need no labels, but must be new to all machines. The promise is exact for rows drawn as they were. Cost: the outputs of all machines on both
//! parts, and seven thresholds for each pair of stages on the design rows.
mod head;
mod rows;
mod shape;

use crate::{
    Error, Result,
    data::Points,
    evaluate::binomial::{is_below, last_passed, rows_needed, upper},
    machine::{
        Machine,
        cascade::{Cascade, Promise, Stage, can_be_stage},
    },
    text::exact,
};

use head::head_for;
use rows::{Outcome, Reference, Table};
use shape::{Shape, passable, shape};

/// Factors of the thresholds that are tested, from the largest to the smallest.
const TAUS: usize = 80;
const LARGEST_TAU: f64 = 8.0;
const SMALLEST_TAU: f64 = 0.3;

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
    let stages = Stages::of(full, small, design)?;
    let fitted = stages.fit(&stages.on(design)?, &stages.on(calibration)?, goal)?;
    stages.cascade(&fitted, goal.abstain)
}

/// A machine, and the small ones that may come before it, with error heads.
pub struct Stages<'a> {
    full: &'a Machine,
    stages: Vec<Stage>,
}

/// What all machines make of rows: computed once, it is enough for any thresholds.
pub struct OnRows {
    reference: Reference,
    tables: Vec<Table>,
}

impl OnRows {
    /// Some of the rows, in any order, also repeated.
    pub fn select(&self, rows: &[usize]) -> OnRows {
        OnRows { reference: self.reference.select(rows), tables: self.tables.iter().map(|table| table.select(rows)).collect() }
    }
}

/// Which stages come before the full machine, at which thresholds, and what is promised of them.
#[derive(Clone, Debug)]
pub struct Fitted {
    /// The stages, by their places among [`Stages`].
    pub stages: Vec<usize>,
    /// One for each stage.
    pub thresholds: Vec<f64>,
    /// The fraction of the calibration rows that each stage answers.
    pub exits: Vec<f64>,
    /// What is promised.
    pub promise: Promise,
}

/// What thresholds do on rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Effect {
    /// For each row the place of the class that is answered; that of the full machine where the cascade abstains.
    pub classes: Vec<usize>,
    /// The fraction of the rows that are answered otherwise than by the full machine.
    pub disagreement: f64,
    /// Kernel evaluations as a fraction of the full machine's.
    pub cost: f64,
}

impl<'a> Stages<'a> {
    /// The machines that can be stages, smaller than the full one; heads are fitted to the rows of `design`.
    pub fn of(full: &'a Machine, small: Vec<Machine>, design: &Points) -> Result<Self> {
        if !can_be_stage(&full.decision) {
            return Err(Error::data("a cascade is for classifiers that decide by a sign, by votes or by the largest output"));
        }
        let small = small.into_iter().filter(|machine| can_be_stage(&machine.decision) && machine.n_vectors() < full.n_vectors());
        let mut stages = vec![];
        for machine in small {
            let head = head_for(&machine, full, design)?;
            let plain = Stage { machine, head: None, threshold: 0.0, exits: 0.0 };
            stages.extend(head.map(|head| Stage { head: Some(head), ..plain.clone() }));
            stages.push(plain);
        }
        Ok(Stages { full, stages })
    }

    /// The stages on rows. Cost: the outputs of all machines.
    pub fn on(&self, rows: &Points) -> Result<OnRows> {
        let (reference, outputs) = Reference::of(self.full, rows)?;
        let tables = self.stages.iter().map(|stage| Table::of(stage, self.full, &outputs, rows)).collect::<Result<_>>()?;
        Ok(OnRows { reference, tables })
    }

    /// The vectors of a stage, and whether it has an error head.
    pub fn about(&self, place: usize) -> Option<(usize, bool)> {
        self.stages.get(place).map(|stage| (stage.machine.n_vectors(), stage.head.is_some()))
    }

    /// Stages and thresholds: shaped on `design`, scaled and tested on `calibration`.
    pub fn fit(&self, design: &OnRows, calibration: &OnRows, goal: &CascadeGoal) -> Result<Fitted> {
        let fewest = calibration.reference.groups(goal.by_class).iter().map(Vec::len).min().unwrap_or(0);
        let shape = shape(&design.tables, &design.reference, passable(fewest, goal), goal.abstain)
            .ok_or_else(|| Error::data("no small machine can come before the full one: it is too small itself"))?;
        let tables: Vec<&Table> = shape.stages.iter().map(|&place| &calibration.tables[place]).collect();
        calibrated(&shape, &tables, &calibration.reference, goal)
    }

    /// The cascade with these stages and thresholds.
    pub fn cascade(&self, fitted: &Fitted, abstain: bool) -> Result<Cascade> {
        let stage = |(&place, (&threshold, &exits)): (&usize, (&f64, &f64))| {
            self.stages.get(place).map(|stage| Stage { threshold, exits, ..stage.clone() })
        };
        let stages = fitted.stages.iter().zip(fitted.thresholds.iter().zip(&fitted.exits)).filter_map(stage).collect();
        let cascade = Cascade { stages, full: (!abstain).then(|| self.full.clone()), promise: fitted.promise.clone() };
        cascade.check()?;
        Ok(cascade)
    }

    /// What thresholds do on rows.
    pub fn effect(&self, fitted: &Fitted, rows: &OnRows, abstain: bool) -> Effect {
        let tables: Vec<&Table> = fitted.stages.iter().map(|&place| &rows.tables[place]).collect();
        let outcome = Outcome::of(&tables, &fitted.thresholds, &rows.reference, abstain);
        let n = rows.reference.labels.len();
        Effect { disagreement: outcome.n_wrong() as f64 / n.max(1) as f64, cost: outcome.cost(&rows.reference), classes: outcome.classes }
    }
}

/// The factor of the thresholds, and the promise.
fn calibrated(shape: &Shape, tables: &[&Table], reference: &Reference, goal: &CascadeGoal) -> Result<Fitted> {
    let (level, n) = (1.0 - goal.confidence, reference.labels.len());
    let ratio = (SMALLEST_TAU / LARGEST_TAU).powf(1.0 / (TAUS - 1) as f64);
    let taus = (0..TAUS).map(|i| LARGEST_TAU * ratio.powi(i as i32));
    let counted = |tau: f64| Outcome::of(tables, &shape.scaled(tau), reference, goal.abstain);
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
            exact(goal.max_disagreement),
            100.0 * goal.confidence
        )));
    };
    let outcome = counted(tau);
    let exits = |place: usize| outcome.stages.iter().filter(|stage| **stage == place).count() as f64 / n.max(1) as f64;
    let promise = Promise {
        max_disagreement: goal.max_disagreement,
        confidence: goal.confidence,
        by_class: goal.by_class,
        bound: groups.iter().map(|group| upper(outcome.wrong_among(group), group.len(), level)).fold(0.0, f64::max),
        calibration_rows: n,
        disagreements: outcome.n_wrong(),
        cost: outcome.cost(reference),
        full_vectors: reference.n_vectors,
    };
    Ok(Fitted { thresholds: shape.scaled(tau), exits: (0..tables.len()).map(exits).collect(), stages: shape.stages.clone(), promise })
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
        machine::Decision,
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
    fn outputs_that_were_computed_once_give_the_cascade_of_the_rows_that_are_drawn() {
        let train = waveform3(300, 1);
        let machine = full(&train, 0.05);
        let (design, pool) = (waveform3(400, 2).points, waveform3(1500, 3).points);
        let drawn: Vec<usize> = (0..1500).map(|i| i * 7 % 1200).collect();
        let made = cascade(&machine, small(&machine, &train, &[8, 24]), &design, &pool.select(&drawn), &GOAL).unwrap();
        let stages = Stages::of(&machine, small(&machine, &train, &[8, 24]), &design).unwrap();
        let (design, on_pool) = (stages.on(&design).unwrap(), stages.on(&pool).unwrap());
        let fitted = stages.fit(&design, &on_pool.select(&drawn), &GOAL).unwrap();
        assert_eq!(fitted.promise, made.promise);
        let effect = stages.effect(&fitted, &on_pool, false);
        let answers = made.predict(&pool).unwrap();
        assert_eq!(effect.cost, answers.evaluations as f64 / (1500 * machine.n_vectors()) as f64);
        for (row, class) in effect.classes.iter().enumerate() {
            assert_eq!(answers.prediction.label(row), machine.decision.labels().get(*class));
        }
        let sizes: Vec<usize> = fitted.stages.iter().filter_map(|&place| Some(stages.about(place)?.0)).collect();
        assert_eq!(sizes, made.stages.iter().map(|stage| stage.machine.n_vectors()).collect::<Vec<_>>());
    }

    #[test]
    fn each_class_is_promised_and_a_cascade_may_abstain() {
        let train = banana(300, 1);
        let machine = full(&train, 1.0);
        let stages = || small(&machine, &train, &[8, 24]);
        let (design, cal) = (banana(600, 2).points, banana(2000, 3).points);
        let goal = CascadeGoal { by_class: true, ..GOAL };
        let made = cascade(&machine, stages(), &design, &cal, &goal).unwrap();
        let (reference, _) = Reference::of(&machine, &cal).unwrap();
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
