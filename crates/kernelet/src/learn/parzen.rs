//! Parzen windows: classes by sums of kernels, with nothing to learn.
//!
//! The output of class c is `f_c(x) = weight_c / n sum_{i in c} weight_i k(x, x_i)`: the fraction of the class times a density estimate of its
//! rows, up to a factor that all classes have in common. The largest wins, which is Bayes' rule for these estimates, and
//! `P(c | x) = f_c(x) / sum f` are the probabilities. With balanced class weights all classes have the same share.
//! Kernels must be functions of the distance, which are never negative. Far from all rows every output is 0: the first class wins, with
//! equal probabilities.
//!
//! Cost: none to learn; every row is a vector, so that prediction costs n kernel values. All outputs share the vectors: a target
//! for compression.
use super::{ClassWeights, Fit, Learner, Report};
use crate::{
    Error, Result,
    data::{Classes, Dataset, check_classes},
    kernel::{Argument, Kernel},
    linalg::Matrix,
    machine::{Calibration, Coefficients, Decision, Expansion, Machine, Metadata},
    watch::{Status, Watch},
};

/// The Parzen window classifier.
#[derive(Clone, Debug)]
pub struct Parzen {
    /// The kernel, a function of the distance.
    pub kernel: Kernel,
    /// Factors of the classes' shares.
    pub class_weights: ClassWeights,
}

impl Default for Parzen {
    fn default() -> Self {
        Parzen { kernel: Kernel::gaussian(1.0), class_weights: ClassWeights::Equal }
    }
}

impl Learner for Parzen {
    fn name(&self) -> &'static str {
        "parzen"
    }

    fn check(&self) -> Result<()> {
        check_window(&self.kernel, self.name())
    }

    fn learn(&self, data: &Dataset, _: &Watch) -> Result<Fit> {
        self.check()?;
        let Classes { labels, codes } = check_classes(data)?;
        let factors = self.class_weights.of(data.classes()?)?;
        let rows: Vec<usize> = (0..data.len()).filter(|&i| data.weight(i) > 0.0).collect();
        let total: f64 = rows.iter().map(|&i| data.weight(i)).sum();
        let mut coefficients = Matrix::zeros(rows.len(), labels.len());
        for (j, &i) in rows.iter().enumerate() {
            let class = codes[i] as usize;
            coefficients.row_mut(j)[class] = factors[class] * data.weight(i) / total;
        }
        let weighted = (self.class_weights != ClassWeights::Equal).then_some(factors);
        let machine = Machine {
            offsets: vec![0.0; labels.len()],
            decision: Decision::Largest { labels: labels.clone() },
            calibration: Some(Calibration::Shares),
            ..windows(&self.kernel, data, &rows, coefficients)
        };
        let metadata =
            Metadata { learner: Some(self.name().into()), class_weights: weighted, n_rows: Some(data.len()), ..Metadata::default() };
        Ok(at_once(Machine { metadata, ..machine }))
    }
}

/// Refuses kernels that are not functions of the distance.
pub(super) fn check_window(kernel: &Kernel, method: &'static str) -> Result<()> {
    kernel.check()?;
    match kernel.profile().argument() == Argument::SquaredDistance {
        true => Ok(()),
        false => Err(Error::Unsupported {
            method,
            with: format!("the {} kernel", kernel.name()),
            instead: "windows must never be negative; use a function of the distance, such as gaussian".into(),
        }),
    }
}

/// A machine on the chosen rows; offsets and decision are set later.
pub(super) fn windows(kernel: &Kernel, data: &Dataset, rows: &[usize], coefficients: Matrix) -> Machine {
    Machine {
        expansion: Expansion { kernel: kernel.clone(), vectors: data.points.select(rows), coefficients: Coefficients::Dense(coefficients) },
        offsets: vec![],
        decision: Decision::Values,
        scale: None,
        names: data.names.clone(),
        calibration: None,
        metadata: Metadata::default(),
    }
}

/// A fit that needed no work.
pub(super) fn at_once(machine: Machine) -> Fit {
    let report = Report { objective: 0.0, dual_objective: None, iterations: 0, status: Status::Converged, evaluations: 0, support: None };
    Fit { machine, report }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Generator, waveform3};

    #[test]
    fn outputs_and_probabilities_agree_with_the_definition() {
        let (mut data, test) = (waveform3(60, 1), waveform3(20, 2));
        data.weights = Some((0..60).map(|i| (i % 4) as f64).collect());
        for class_weights in [ClassWeights::Equal, ClassWeights::Balanced] {
            let learner = Parzen { kernel: Kernel::named("matern32", 0.3, 1, 0.0).unwrap(), class_weights: class_weights.clone() };
            let machine = learner.learn(&data, &Watch::none()).unwrap().machine;
            assert!(machine.check().is_ok());
            assert_eq!(machine.n_vectors(), 45);
            let outputs = machine.outputs_for(&test.points).unwrap();
            let p = machine.probabilities(&outputs).unwrap();
            let (x, z, codes) = (test.points.to_dense(), data.points.to_dense(), &data.classes().unwrap().codes);
            let factors = class_weights.of(data.classes().unwrap()).unwrap();
            let total: f64 = data.weights.as_ref().unwrap().iter().sum();
            for i in 0..20 {
                let mut want = [0.0; 3];
                for j in 0..60 {
                    let class = codes[j] as usize;
                    want[class] += factors[class] * data.weight(j) / total * learner.kernel.eval(x.row(i), z.row(j));
                }
                let sum: f64 = want.iter().sum();
                for c in 0..3 {
                    assert!((outputs.at(i, c) - want[c]).abs() < 1e-14 && (p.at(i, c) - want[c] / sum).abs() < 1e-12);
                }
            }
        }
    }

    #[test]
    fn two_classes_are_separated_and_far_away_nothing_is_known() {
        let (train, test) = (Generator::Banana.make(300, 1), Generator::Banana.make(500, 2));
        let machine = Parzen { kernel: Kernel::gaussian(2.0), ..Parzen::default() }.learn(&train, &Watch::none()).unwrap().machine;
        // Measured: 0.186.
        assert!(machine.score(&test).unwrap().loss() < 0.195);
        let far = machine.probabilities(&machine.outputs_for(&Matrix::from_fn(1, 2, |_, _| 1e6).into()).unwrap()).unwrap();
        assert_eq!(far.values(), [0.5, 0.5]);
        let linear = Parzen { kernel: Kernel::named("linear", 1.0, 1, 0.0).unwrap(), ..Parzen::default() };
        assert!(linear.check().unwrap_err().to_string().contains("function of the distance"));
    }
}
