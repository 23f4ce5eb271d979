//! Regression of targets less their mean: estimators without an offset fit what is left, and the mean becomes the offset of the machine.
//!
//! For a target far from 0 the penalty of the weights would else pull every prediction towards 0, and few vectors would go into the mean.
use super::{Fit, Learner};
use crate::{
    Error, Result,
    data::{Dataset, Target},
    machine::Machine,
    watch::Watch,
};

/// Subtracts the weighted means of the targets, then learns.
pub struct Centred {
    /// The estimator of what is left.
    pub learner: Box<dyn Learner>,
}

/// Rows whose targets have the mean 0, and the means that they had.
pub(crate) fn centred(data: &Dataset) -> Result<(Dataset, Vec<f64>)> {
    data.check()?;
    let values = data.values()?;
    let weight: f64 = (0..data.len()).map(|i| data.weight(i)).sum();
    if weight <= 0.0 {
        return Err(Error::data("no row has a weight above 0"));
    }
    let mut means = vec![0.0; values.cols()];
    for (i, row) in values.iter().enumerate() {
        means.iter_mut().zip(row).for_each(|(mean, value)| *mean += data.weight(i) * value / weight);
    }
    let mut rest = values.clone();
    rest.values_mut().iter_mut().zip(means.iter().cycle()).for_each(|(value, mean)| *value -= mean);
    Ok((Dataset { target: Target::Values(rest), ..data.clone() }, means))
}

impl Learner for Centred {
    fn name(&self) -> &'static str {
        self.learner.name()
    }

    fn check(&self) -> Result<()> {
        self.learner.check()
    }

    fn learn(&self, data: &Dataset, watch: &Watch) -> Result<Fit> {
        let (rest, means) = centred(data)?;
        Ok(moved(self.learner.learn(&rest, watch)?, &means))
    }

    fn warm_starts(&self) -> bool {
        self.learner.warm_starts()
    }

    fn learn_from(&self, earlier: &Machine, data: &Dataset, watch: &Watch) -> Result<Fit> {
        let (rest, means) = centred(data)?;
        Ok(moved(self.learner.learn_from(earlier, &rest, watch)?, &means))
    }

    fn learn_path(&self, data: &Dataset, watch: &Watch) -> Result<Vec<Fit>> {
        let (rest, means) = centred(data)?;
        Ok(self.learner.learn_path(&rest, watch)?.into_iter().map(|fit| moved(fit, &means)).collect())
    }
}

fn moved(mut fit: Fit, means: &[f64]) -> Fit {
    fit.machine.offsets.iter_mut().zip(means).for_each(|(offset, mean)| *offset += mean);
    fit
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{data::Generator, kernel::Kernel, learn::Ridge};

    #[test]
    fn targets_that_are_moved_move_the_machine_alone() {
        let data = Dataset { weights: Some((0..60).map(|i| f64::from(i % 3)).collect()), ..Generator::Sinc.make(60, 1) };
        let mut far = data.clone();
        let mut values = data.values().unwrap().clone();
        values.values_mut().iter_mut().for_each(|value| *value += 1000.0);
        far.target = Target::Values(values);
        let ridge = || Ridge { kernel: Kernel::gaussian(0.5), lambda: 0.5 };
        let learner = Centred { learner: Box::new(ridge()) };
        let outputs = |data: &Dataset| {
            let fit = learner.learn(data, &Watch::none()).unwrap();
            (fit.machine.outputs_for(&data.points).unwrap(), fit.report.objective, fit.machine.offsets[0])
        };
        let ((near, a, offset), (moved, b, farther)) = (outputs(&data), outputs(&far));
        assert!(near.values().iter().zip(moved.values()).all(|(x, y)| (x + 1000.0 - y).abs() < 1e-9));
        assert!((a - b).abs() < 1e-9 * a && (farther - offset - 1000.0).abs() < 1e-9);
        // Without it the penalty pulls the predictions towards 0.
        let plain = ridge().learn(&far, &Watch::none()).unwrap();
        assert!(
            plain.machine.score(&far).unwrap().loss()
                > 100.0 * learner.learn(&far, &Watch::none()).unwrap().machine.score(&far).unwrap().loss()
        );
    }

    #[test]
    fn rows_without_a_weight_have_no_mean() {
        let data = Dataset { weights: Some(vec![0.0; 10]), ..Generator::Sinc.make(10, 1) };
        assert_eq!(centred(&data).unwrap_err().to_string(), "no row has a weight above 0");
    }
}
