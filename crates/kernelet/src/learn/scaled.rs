//! A learner behind a scaling: the scale is fitted on the training rows and becomes part of the machine.
use super::{Fit, Learner, occurring};
use crate::{
    Error, Result,
    data::{Dataset, Scale, Scaling, memory},
    machine::Machine,
    watch::Watch,
};

/// Scales the rows, then learns. Inside cross-validation each fold is scaled by its own training rows.
pub struct Scaled {
    /// How the scale is found.
    pub how: HowToScale,
    /// The estimator, trained on the scaled rows.
    pub learner: Box<dyn Learner>,
}

/// Where a scale comes from.
#[derive(Clone, Debug)]
pub enum HowToScale {
    /// Fitted on the training rows.
    Fitted(Scaling),
    /// Given, for example by a range file of svm-scale.
    Given(Scale),
}

impl HowToScale {
    /// The scale for these rows; None where nothing is to be done.
    pub fn scale_for(&self, data: &Dataset) -> Result<Option<Scale>> {
        match self {
            HowToScale::Fitted(scaling) => scaling.fit(&data.points),
            HowToScale::Given(scale) => Ok(Some(scale.clone())),
        }
    }
}

impl Learner for Scaled {
    fn name(&self) -> &'static str {
        self.learner.name()
    }

    fn check(&self) -> Result<()> {
        self.learner.check()
    }

    fn learn(&self, data: &Dataset, watch: &Watch) -> Result<Fit> {
        self.run(data, |data| occurring::learn(data, |data| Ok(vec![self.learner.learn(data, watch)?])))
    }

    fn warm_starts(&self) -> bool {
        self.learner.warm_starts()
    }

    fn learn_from(&self, earlier: &Machine, data: &Dataset, watch: &Watch) -> Result<Fit> {
        if data.points.is_sparse() {
            memory::require("a warm start", earlier.n_vectors(), data.dim())?;
        }
        self.run(data, |data| Ok(vec![self.learner.learn_from(earlier, data, watch)?]))
    }

    fn learn_path(&self, data: &Dataset, watch: &Watch) -> Result<Vec<Fit>> {
        self.scaled(data, |data| occurring::learn(data, |data| self.learner.learn_path(data, watch)))
    }
}

impl Scaled {
    fn scaled(&self, data: &Dataset, learn: impl Fn(&Dataset) -> Result<Vec<Fit>>) -> Result<Vec<Fit>> {
        data.check()?;
        let Some(scale) = self.how.scale_for(data)? else { return learn(data) };
        let scaled = Dataset { points: scale.apply(&data.points)?, ..data.clone() };
        let mut fits = learn(&scaled)?;
        for fit in &mut fits {
            // A learned metric comes after the scaling.
            fit.machine.scale = Some(match &fit.machine.scale {
                None => scale.clone(),
                Some(learned) => scale.then(learned)?,
            });
        }
        Ok(fits)
    }

    fn run(&self, data: &Dataset, learn: impl Fn(&Dataset) -> Result<Vec<Fit>>) -> Result<Fit> {
        self.scaled(data, learn)?.pop().ok_or_else(|| Error::data("nothing was learned"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        data::Generator,
        kernel::Kernel,
        learn::{Ridge, Svc},
        machine::Prediction,
    };

    #[test]
    fn the_machine_takes_raw_rows() {
        let data = Generator::Banana.make(200, 1);
        let mut stretched = data.points.to_dense();
        (0..200).for_each(|i| stretched.row_mut(i)[0] = 1e4 + 1e3 * stretched.at(i, 0));
        let stretched = Dataset { points: stretched.into(), ..data.clone() };
        let learn = |data: &Dataset| {
            let learner = Box::new(Svc { kernel: Kernel::gaussian(0.5), c: 10.0, ..Svc::default() });
            Scaled { how: HowToScale::Fitted(Scaling::Standard), learner }.learn(data, &Watch::none()).unwrap().machine
        };
        let (plain, scaled) = (learn(&data).predict(&data.points).unwrap(), learn(&stretched).predict(&stretched.points).unwrap());
        let (Prediction::Classes { codes: a, .. }, Prediction::Classes { codes: b, .. }) = (plain, scaled) else { panic!() };
        let differ = a.iter().zip(&b).filter(|(a, b)| a != b).count();
        assert!(differ <= 1, "{differ} rows differ");
    }

    #[test]
    fn without_scaling_nothing_changes() {
        let data = Generator::Sinc.make(50, 1);
        let how = HowToScale::Fitted(Scaling::None);
        let fit = Scaled { how, learner: Box::new(Ridge::default()) }.learn(&data, &Watch::none()).unwrap();
        assert_eq!(fit.machine.scale, None);
        assert_eq!(fit.machine, Ridge::default().learn(&data, &Watch::none()).unwrap().machine);
    }
}
