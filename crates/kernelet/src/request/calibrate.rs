//! Rows to calibrate prediction sets on: they must be new to the machine.
use super::{compress::Compress, compressed::Compressed, train::Train};
use crate::{
    Error, Named, Result,
    compress::recalibrated,
    data::{Dataset, Overlap, read::Wanted, shuffled},
    machine::Machine,
};

/// So many rows are enough for the probabilities of a small machine.
const MOST_ROWS: usize = 5000;

/// What is said where a small machine has lost its prediction sets.
pub(super) const SETS_LEFT_OUT: &str =
    "the prediction sets of the model belong to its own outputs and are left out; calibrate the small one on new rows";

/// An error where rows are among those that a machine is made from: their errors are too small, and sets would cover less than they say.
fn check_new(rows: &Dataset, others: &Dataset) -> Result<()> {
    let overlap = Overlap::of(rows, others);
    match overlap.shared.first().filter(|_| overlap.beyond_chance(rows.len())) {
        None => Ok(()),
        Some(first) => Err(Error::data(format!(
            "{} of {} calibration rows are training rows, the first in row {}; they fit too well to tell how far new rows are off: give rows \
             that are not trained on",
            overlap.shared.len(),
            rows.len(),
            first + 1
        ))),
    }
}

impl Train {
    /// An error where prediction sets cannot be calibrated on these rows.
    pub(super) fn check_calibration_rows(&self, rows: &Dataset, data: &Dataset) -> Result<()> {
        if self.wanted() == Wanted::Nothing {
            return Err(Error::request(format!("`calibrate` is for targets, but {} learns without them", self.learner().name())));
        }
        rows.check()?;
        check_new(rows, data)
    }
}

impl Compress {
    /// An error where prediction sets of the small machine cannot be calibrated on these rows, because they are among the `data` it is made with.
    pub fn check_calibration_rows(&self, rows: &Dataset, data: Option<&Dataset>) -> Result<()> {
        rows.check()?;
        data.map_or(Ok(()), |data| check_new(rows, data))
    }
}

impl Compressed {
    /// Probabilities for the machines that have none yet, where the large one has.
    pub(super) fn recalibrate(&mut self, large: &Machine, data: &Dataset) -> Result<()> {
        if large.calibration.is_none() {
            return Ok(());
        }
        let rows = data.select(&shuffled(data.len(), 0).into_iter().take(MOST_ROWS).collect::<Vec<_>>());
        for machine in self.sizes.iter_mut().map(|(_, machine)| machine).chain([&mut self.machine]) {
            if machine.calibration.is_none() {
                machine.calibration = recalibrated(machine, large, &rows, false)?;
            }
        }
        Ok(())
    }

    /// Calibrates prediction sets of the small machine, of all sizes, on rows that none of them was made from.
    pub fn calibrate(&mut self, rows: &Dataset) -> Result<()> {
        self.path = None;
        self.notes.retain(|note| note != SETS_LEFT_OUT);
        for machine in self.sizes.iter_mut().map(|(_, machine)| machine).chain([&mut self.machine]) {
            machine.metadata.sets = Some(machine.set_scores(rows)?);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{data::banana, request::Given, watch::Watch};

    #[test]
    fn training_rows_are_rejected_with_their_number() {
        let (data, fresh) = (banana(80, 1), banana(60, 2));
        let train = Train::from_json(r#"{"gamma": 1}"#).unwrap();
        let run = |rows: Dataset| train.run(&data, &Given { calibrate: Some(rows), ..Given::default() }, &Watch::none());
        let machine = run(fresh.clone()).unwrap().fit.machine;
        assert_eq!(machine.metadata.sets.as_ref().map(|sets| sets.n_rows), Some(60));
        let error = run(data.select(&[3, 4])).unwrap_err().to_string();
        assert!(error.contains("2 of 2 calibration rows are training rows, the first in row 1"), "{error}");
        let without = train.run(&data, &Given::default(), &Watch::none()).unwrap().fit.machine;
        assert_eq!(without.metadata.sets, None);
    }

    #[test]
    fn features_have_no_sets() {
        let data = banana(40, 1);
        let train = Train::from_json(r#"{"learner": "pca"}"#).unwrap();
        let error = train.run(&data, &Given { calibrate: Some(banana(40, 2)), ..Given::default() }, &Watch::none()).unwrap_err();
        assert!(error.to_string().contains("pca learns without them"), "{error}");
    }
}
