//! The smallest machine whose goals are certified on fresh rows.
//!
//! The sizes are fixed by the rows that choose: from four times the size that is good enough there down to a quarter of it. They are tested on the rows that
//! certify from the largest down, each at the full level; the first failure ends it, and the last that passed is taken. The machines are made without
//! looking at these rows, so that the probability of a wrong promise is at most the level, however many sizes are tested.
use super::{
    certificate::{Certificate, RowKind, Tally},
    run::{Candidate, Run},
};
use crate::{Error, Result, data::Dataset, evaluate::binomial::last_passed, machine::Prediction};

/// The ratio of one size to the next.
const RATIO: f64 = std::f64::consts::SQRT_2;

/// Sizes above and below the one that is good enough where sizes are chosen.
const STEPS: i32 = 4;

/// How sure a promise is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trust {
    /// The probability with which what is promised holds.
    pub confidence: f64,
    /// Where the rows come from, as far as the user says.
    pub origin: super::Origin,
}

impl Default for Trust {
    fn default() -> Self {
        Trust { confidence: 0.95, origin: super::Origin::Auto }
    }
}

/// The sizes that are tested, largest first.
fn sizes(chosen: usize, most: usize) -> Vec<usize> {
    let at = |step: i32| ((chosen as f64 * RATIO.powi(step)).round() as usize).clamp(1, most);
    let mut sizes: Vec<usize> = (-STEPS..=STEPS).rev().map(at).collect();
    sizes.dedup();
    sizes
}

impl Run<'_> {
    /// The machine of the smallest size that passes, with what is promised of it; where none passes, that of the size chosen.
    pub fn certified(&mut self, chosen: usize, most: usize, rows: &Dataset, trust: &Trust, seed: u64) -> Result<(Candidate, Certificate)> {
        let before = self.task.machine.predict(&rows.points)?;
        let mut passed: Option<(Candidate, Certificate)> = None;
        last_passed(sizes(chosen, most), |&size| -> Result<bool> {
            let Some(candidate) = self.led(size) else { return Ok(false) };
            let certificate = self.certificate(&candidate, &before, rows, trust, seed)?;
            let residual = self.goals.max_residual.is_none_or(|bound| candidate.metrics.residual.is_some_and(|r| r <= bound));
            let passes = residual && certificate.meets(self.goals);
            if passes {
                passed = Some((candidate, certificate));
            }
            Ok(passes && !self.watch.cancelled())
        })?;
        if let Some(passed) = passed {
            return Ok(passed);
        }
        let candidate = self.at(chosen).cloned().ok_or_else(|| self.first_failure())?;
        let certificate = self.certificate(&candidate, &before, rows, trust, seed)?;
        Ok((candidate, certificate))
    }

    fn certificate(&self, candidate: &Candidate, before: &Prediction, rows: &Dataset, trust: &Trust, seed: u64) -> Result<Certificate> {
        let mut tally = Tally::default();
        tally.add(before, &candidate.machine.predict(&rows.points)?, rows, self.validator.metric)?;
        let mut certificate = tally.certificate(RowKind::Fresh, trust.confidence, seed);
        if !certificate.meets(self.goals) {
            certificate.rows_needed = tally.rows_needed(self.goals, trust.confidence);
        }
        if certificate.loss.is_none() && self.goals.max_loss.is_some() {
            return Err(Error::data("the loss is measured on rows with targets; give them with the data, or ask for an agreement"));
        }
        Ok(certificate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_fall_from_the_largest_and_stay_within_the_bound() {
        assert_eq!(sizes(16, 1000), [64, 45, 32, 23, 16, 11, 8, 6, 4]);
        assert_eq!(sizes(16, 30), [30, 23, 16, 11, 8, 6, 4]);
        assert_eq!(sizes(1, 2), [2, 1]);
    }
}
