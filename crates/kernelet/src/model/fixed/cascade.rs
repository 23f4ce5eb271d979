//! A cascade in whole numbers: all its machines see one row, and thresholds are whole numbers in the units of the outputs.
use crate::parallel::*;

use super::{Fixed, Width};
use crate::{
    Error, Result,
    data::{Label, Points},
    linalg::Matrix,
    machine::{
        Coefficients, Decision, Expansion, Machine, Prediction,
        cascade::{Cascade, Stage, are_few, pairwise_of, vote_among},
    },
};

/// A cascade in whole numbers. Thresholds below 0 count as 0.
#[derive(Clone, Debug)]
pub struct FixedCascade {
    pub(in crate::model) stages: Vec<FixedStage>,
    /// The full machine, where the cascade has one.
    pub(in crate::model) full: Option<Fixed>,
    /// Whether the pairs of a few candidate classes may decide alone.
    pub(in crate::model) pairs: bool,
    labels: Vec<Label>,
}

/// A stage in whole numbers.
#[derive(Clone, Debug)]
pub(in crate::model) struct FixedStage {
    /// What was made of whole numbers: the machine of the stage, with an error head its outputs and the error times the threshold.
    pub(in crate::model) machine: Machine,
    pub(in crate::model) fixed: Fixed,
    /// The threshold in the unit of each output; with an error head the least error times the threshold.
    pub(in crate::model) bounds: Vec<i64>,
    pub(in crate::model) head: bool,
}

impl FixedCascade {
    /// The cascade in whole numbers; `rows` are used as by [`Fixed::of`].
    pub fn of(cascade: &Cascade, width: Width, rows: Option<&Points>) -> Result<FixedCascade> {
        cascade.check()?;
        let machines: Vec<Machine> = cascade.stages.iter().map(compared).collect();
        let all: Vec<&Machine> = machines.iter().chain(&cascade.full).collect();
        let mut fixed = Fixed::together(&all, width, rows)?.into_iter();
        let mut stages = vec![];
        for ((stage, machine), fixed) in cascade.stages.iter().zip(&machines).zip(&mut fixed) {
            let least = stage.threshold.max(0.0) * stage.head.as_ref().map_or(1.0, |head| head.floor);
            // Beyond the range of a sum no output is.
            let bound = |&shift: &i32| (least * 2f64.powi(shift)).floor().min(width.largest_sum()) as i64;
            let bounds = fixed.shifts.iter().map(bound).collect();
            stages.push(FixedStage { machine: machine.clone(), fixed, bounds, head: stage.head.is_some() });
        }
        let pairs = cascade.full.as_ref().is_some_and(|full| pairwise_of(full).is_some());
        Ok(FixedCascade { stages, full: fixed.next(), pairs, labels: cascade.labels() })
    }

    /// The whole numbers that stand for a row as it was measured.
    pub fn quantised(&self, row: &[f64]) -> Vec<i32> {
        self.stages.first().map_or_else(Vec::new, |stage| stage.fixed.quantised(row))
    }

    /// The class of a row of whole numbers, none where no machine answers, and the stage that answered, as [`crate::machine::cascade::Answers`] counts them.
    pub fn class(&self, row: &[i32]) -> (Option<usize>, usize) {
        let mut near = vec![];
        for (place, stage) in self.stages.iter().enumerate() {
            let sums = stage.fixed.sums(row);
            let class = if stage.head { usize::from(sums.first() > Some(&0)) } else { stage.fixed.class(&sums) };
            near = stage.near(&sums, class);
            if near.len() == 1 {
                return (Some(class), place);
            }
        }
        let class = self.full.as_ref().map(|full| {
            let sums = full.sums(row);
            let n = full.decision.labels().len();
            match self.pairs && are_few(near.len(), n) {
                true => vote_among(&near, n, &sums.iter().map(|&sum| sum as f64).collect::<Vec<f64>>()),
                false => full.class(&sums),
            }
        });
        (class, self.stages.len())
    }

    /// The classes of rows, in the order of [`Cascade::labels`].
    pub fn predict(&self, points: &Points) -> Result<Prediction> {
        let dim = self.stages.first().map_or(0, |stage| stage.machine.dim());
        if !points.is_sparse() && points.dim() != dim {
            return Err(Error::Shape { what: "features of a row", expected: dim, found: points.dim() });
        }
        points.check_finite()?;
        let abstained = self.labels.len().saturating_sub(1);
        let mut codes = vec![0u32; points.len()];
        codes.par_iter_mut().enumerate().for_each_init(
            || vec![0.0; dim],
            |row, (i, code)| {
                points.copy_rows(i..i + 1, dim, row);
                *code = self.class(&self.quantised(row)).0.unwrap_or(abstained) as u32;
            },
        );
        Ok(Prediction::Classes { labels: self.labels.clone(), codes })
    }
}

impl FixedStage {
    /// The class and those that are not behind it by more than the threshold, ascending.
    fn near(&self, sums: &[i64], class: usize) -> Vec<usize> {
        let bound = |k: usize| self.bounds.get(k).copied().unwrap_or(0);
        let sum = |k: usize| sums.get(k).copied().unwrap_or(0);
        let n = self.machine.decision.labels().len();
        let far = |other: usize| match &self.machine.decision {
            _ if self.head => sum(0).abs() > sum(1).max(bound(0)),
            Decision::Votes { .. } => {
                let (a, b) = (class.min(other), class.max(other));
                let k = a * (2 * n - a - 1) / 2 + b - a - 1;
                (if class == a { sum(k) } else { -sum(k) }) > bound(k)
            }
            Decision::Largest { .. } => sum(class) - sum(other) > bound(0),
            _ => sum(0).abs() > bound(0),
        };
        (0..n).filter(|&other| other == class || !far(other)).collect()
    }
}

/// The machine whose outputs are compared. With an error head |f| / error > threshold becomes |f| > threshold error, and both have one unit as the outputs of
/// classes have that are compared.
fn compared(stage: &Stage) -> Machine {
    let mut machine = stage.evaluated();
    machine.calibration = None;
    if stage.head.is_some() {
        let times = stage.threshold.max(0.0);
        let own = machine.expansion.coefficients.to_dense();
        let last = own.cols().saturating_sub(1);
        let scaled = Matrix::from_fn(own.rows(), own.cols(), |j, k| if k == last { own.at(j, k) * times } else { own.at(j, k) });
        machine.expansion = Expansion { coefficients: Coefficients::Dense(scaled), ..machine.expansion };
        machine.offsets.iter_mut().skip(last).for_each(|offset| *offset *= times);
        machine.decision = Decision::Largest { labels: stage.machine.decision.labels() };
    }
    machine
}
