//! Are new rows like those that a cascade was calibrated on? Where fewer or more of them leave early than there, its promise is about other rows.
use serde::Serialize;

use super::binomial::{lower, upper};
use crate::{Result, data::Points, machine::cascade::CascadePredictor};

/// The probability of an alarm for rows like those of calibration, at most.
const FALSE_ALARMS: f64 = 0.01;

/// The fraction of rows that the stages of a cascade answer, beside that of the calibration rows.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ExitRate {
    /// Rows that were looked at.
    #[serde(rename = "rows")]
    pub n_rows: usize,
    /// The fraction that the stages answered.
    pub exits: f64,
    /// The same on the calibration rows.
    pub expected: f64,
    /// True when the two differ by more than chance: the rows are not like those of calibration.
    pub alarm: bool,
}

/// Compares the exit rate on rows with that of calibration: an alarm where the bounds of the two rates do not overlap.
pub fn exit_rate(ready: &CascadePredictor, points: &Points) -> Result<ExitRate> {
    let (cascade, answers) = (ready.cascade(), ready.predict(points)?);
    let (n, before) = (points.len(), cascade.promise.calibration_rows);
    let left = answers.stages.iter().filter(|stage| **stage < cascade.stages.len()).count();
    let expected: f64 = cascade.stages.iter().map(|stage| stage.exits).sum();
    let at_calibration = ((expected * before as f64).round() as usize).min(before);
    let each = 0.25 * FALSE_ALARMS;
    let alarm = n > 0
        && before > 0
        && (upper(left, n, each) < lower(at_calibration, before, each) || lower(left, n, each) > upper(at_calibration, before, each));
    Ok(ExitRate { n_rows: n, exits: left as f64 / n.max(1) as f64, expected, alarm })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        compress::part_of,
        data::banana,
        kernel::Kernel,
        learn::{Learner, Svc},
        linalg::Matrix,
        machine::cascade::{Cascade, Promise, Stage},
        watch::Watch,
    };

    #[test]
    fn rows_that_are_shifted_raise_an_alarm_and_others_do_not() {
        let full = Svc { kernel: Kernel::gaussian(1.0), c: 10.0, ..Svc::default() }.learn(&banana(300, 1), &Watch::none()).unwrap().machine;
        let some: Vec<usize> = (0..full.n_vectors()).collect();
        let promise = Promise {
            max_disagreement: 0.01,
            confidence: 0.95,
            by_class: false,
            bound: 0.01,
            calibration_rows: 2000,
            disagreements: 0,
            cost: 1.0,
            full_vectors: full.n_vectors(),
        };
        let stages = vec![Stage { machine: part_of(&full, &some), head: None, threshold: 0.8, exits: 0.0 }];
        let mut cascade = Cascade { stages, full: Some(full), promise };
        cascade.stages[0].exits = exit_rate(&cascade.ready(), &banana(2000, 2).points).unwrap().exits;
        let same = exit_rate(&cascade.ready(), &banana(1000, 3).points).unwrap();
        assert!(!same.alarm && (same.exits - same.expected).abs() < 0.06, "{same:?}");
        let rows = banana(1000, 3).points.to_dense();
        let shifted = exit_rate(&cascade.ready(), &Matrix::from_fn(1000, 2, |i, j| 0.3 * rows.at(i, j)).into()).unwrap();
        assert!(shifted.alarm, "{shifted:?}");
        assert!(!exit_rate(&cascade.ready(), &Matrix::<f64>::zeros(0, 2).into()).unwrap().alarm);
    }
}
