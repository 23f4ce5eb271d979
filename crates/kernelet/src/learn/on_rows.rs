//! The full machine of an estimator that learns in a frame: every row that counts is a vector.
use super::{Fit, FrameLearner, fit, support::rows_that_count};
use crate::{
    Error, Result,
    basis::{Basis, JITTER},
    data::Dataset,
    watch::Watch,
};

/// The machine on all rows, whose kernel matrix may take so many bytes.
pub(super) fn on_all_rows(learner: &dyn FrameLearner, data: &Dataset, most_bytes: usize, watch: &Watch) -> Result<Fit> {
    let rows = data.select(&rows_that_count(data)?);
    let bytes = rows.len().saturating_mul(rows.len()).saturating_mul(size_of::<f64>());
    if bytes > most_bytes {
        return Err(Error::data(format!(
            "the kernel matrix of {} rows takes {} MB, above the limit of {} MB; ask for few vectors, or raise the limit",
            rows.len(),
            bytes >> 20,
            most_bytes >> 20
        )));
    }
    watch.report("kernel matrix", 0, None, None);
    let basis = Basis::of_vectors(learner.kernel(), &rows.points, &rows.points, (0..rows.len()).collect(), JITTER)?;
    watch.evaluated(basis.evaluations);
    let found = learner.learn_in_frame(&rows, &basis, watch)?;
    let mut fit = fit(&basis, found, &rows)?;
    fit.machine.metadata.n_rows = Some(data.len());
    fit.report.evaluations += basis.evaluations;
    fit.machine.check()?;
    Ok(fit)
}
