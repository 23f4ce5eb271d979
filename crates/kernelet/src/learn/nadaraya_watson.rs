//! Nadaraya-Watson regression: the mean of the targets near by, with nothing to learn.
//!
//! `f(x) = sum_i weight_i y_i k(x, x_i) / sum_i weight_i k(x, x_i)`. The machine has an output for each target, the numerator, and one
//! more, the denominator ([`Decision::Ratio`]); all share the vectors, so that the outputs can be compressed jointly. Far from all
//! rows both sums vanish: the smallest of weights, 1e-9 of a row of weight 1, is given to the mean of the targets everywhere, so that the
//! prediction tends to that mean. Kernels must be functions of the distance.
//!
//! Cost: none to learn; every row is a vector, so that prediction costs n kernel values.
use super::{
    Fit, Learner,
    parzen::{at_once, check_window, windows},
};
use crate::{
    Error, Result,
    data::Dataset,
    kernel::Kernel,
    linalg::Matrix,
    machine::{Decision, Machine, Metadata},
    watch::Watch,
};

/// The weight of the mean everywhere.
const FAR: f64 = 1e-9;

/// The Nadaraya-Watson regressor.
#[derive(Clone, Debug)]
pub struct NadarayaWatson {
    /// The kernel, a function of the distance.
    pub kernel: Kernel,
}

impl Default for NadarayaWatson {
    fn default() -> Self {
        NadarayaWatson { kernel: Kernel::gaussian(1.0) }
    }
}

impl Learner for NadarayaWatson {
    fn name(&self) -> &'static str {
        "nadaraya-watson"
    }

    fn check(&self) -> Result<()> {
        check_window(&self.kernel, self.name())
    }

    fn learn(&self, data: &Dataset, _: &Watch) -> Result<Fit> {
        self.check()?;
        data.check()?;
        let targets = data.values()?;
        let rows: Vec<usize> = (0..data.len()).filter(|&i| data.weight(i) > 0.0).collect();
        if rows.is_empty() {
            return Err(Error::data("no row has a weight above 0"));
        }
        let (q, total) = (targets.cols(), rows.iter().map(|&i| data.weight(i)).sum::<f64>());
        let coefficients =
            Matrix::from_fn(rows.len(), q + 1, |j, k| data.weight(rows[j]) * if k < q { targets.at(rows[j], k) } else { 1.0 });
        let mean = |k: usize| coefficients.iter().map(|row| row[k] / total).sum::<f64>();
        let offsets: Vec<f64> = (0..=q).map(|k| FAR * mean(k)).collect();
        let metadata = Metadata { learner: Some(self.name().into()), n_rows: Some(data.len()), ..Metadata::default() };
        let machine = Machine { offsets, decision: Decision::Ratio, metadata, ..windows(&self.kernel, data, &rows, coefficients) };
        machine.check().map_err(|_| Error::data("the weighted targets are too large; scale them"))?;
        Ok(at_once(machine))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{data::Target, machine::Prediction};

    fn predict(machine: &Machine, x: &Matrix) -> Matrix {
        let Prediction::Values(values) = machine.predict(&x.clone().into()).unwrap() else { panic!() };
        values
    }

    #[test]
    fn predictions_agree_with_the_definition() {
        let x = Matrix::from_fn(40, 2, |i, j| ((3 * i + j) as f64).sin());
        let y = Matrix::from_fn(40, 2, |i, k| x.at(i, 0) + (k as f64 + 1.0) * x.at(i, 1).powi(2) + 3.0);
        let mut data = Dataset::new(x.clone(), Target::Values(y.clone()));
        data.weights = Some((0..40).map(|i| (i % 3) as f64).collect());
        let learner = NadarayaWatson { kernel: Kernel::gaussian(3.0) };
        let machine = learner.learn(&data, &Watch::none()).unwrap().machine;
        let at = Matrix::from_fn(15, 2, |i, j| ((5 * i + 2 * j) as f64).cos());
        let have = predict(&machine, &at);
        assert_eq!((have.rows(), have.cols(), machine.n_outputs()), (15, 2, 3));
        for i in 0..15 {
            let k: Vec<f64> = (0..40).map(|j| data.weight(j) * learner.kernel.eval(at.row(i), x.row(j))).collect();
            for target in 0..2 {
                let want = (0..40).map(|j| k[j] * y.at(j, target)).sum::<f64>() / k.iter().sum::<f64>();
                assert!((have.at(i, target) - want).abs() < 1e-8, "{} {want}", have.at(i, target));
            }
        }
        assert!(machine.score(&data).unwrap().loss() < 0.1);
        let bytes = crate::model::native::to_bytes(&machine).unwrap();
        assert_eq!(crate::model::native::from_bytes(&bytes, "m").unwrap(), machine);
    }

    #[test]
    fn far_away_the_mean_is_predicted() {
        let data = Dataset::new(Matrix::from_fn(4, 1, |i, _| i as f64), Target::Values(Matrix::column(vec![1.0, 2.0, 3.0, 6.0])));
        let machine = NadarayaWatson::default().learn(&data, &Watch::none()).unwrap().machine;
        let far = predict(&machine, &Matrix::from_fn(1, 1, |_, _| 1e6));
        assert!((far.at(0, 0) - 3.0).abs() < 1e-12);
        let huge = Dataset::new(Matrix::from_fn(2, 1, |i, _| i as f64), Target::Values(Matrix::column(vec![1e308, 1e308])));
        let outcome = NadarayaWatson::default().learn(&huge, &Watch::none());
        assert!(outcome.is_err() || outcome.unwrap().machine.check().is_ok());
        let polynomial = Kernel::named("polynomial", 1.0, 2, 1.0).unwrap();
        assert!(NadarayaWatson { kernel: polynomial }.check().is_err());
    }
}
