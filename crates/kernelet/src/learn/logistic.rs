//! Kernel logistic regression: classes with probabilities from training.
//!
//! Minimise `1/2 sum_k |w_k|^2 + C sum_i weight_i loss_i`, where the loss is `log(1 + exp(-y f))` for two classes and `-log p_y`,
//! `p = softmax(f)`, for several. Offsets are not penalised. The outputs are the logarithms of odds, so that probabilities need no further
//! rows: 1 / (1 + exp(-f)), or the softmax.
//!
//! Every row is a vector of the full machine; it is solved by Newton's method in the frame of the rows ([`FrameLearner`]). Cost: n^3 / 3 for
//! the frame and n^3 / 2 for each of some ten rounds; memory 3 n^2. With a basis or a budget it is n m^2.
use super::{
    ClassWeights, Fit, FrameLearner, InFrame, Learner, Report,
    direct::{Coordinates, Inner, LogisticLoss, Smooth, Softmax},
    gram::{USUAL_BYTES, require_definite},
    on_rows::on_all_rows,
};
use crate::{
    Error, Result,
    basis::Basis,
    data::{Dataset, check_classes},
    error::require_cost,
    kernel::Kernel,
    machine::{Calibration, Decision, Metadata, NormalClasses},
    watch::{Status, Watch},
};

/// Kernel logistic regression.
#[derive(Clone, Debug)]
pub struct Logistic {
    /// The kernel; it must be definite.
    pub kernel: Kernel,
    /// The cost of an error; above 0.
    pub c: f64,
    /// Factors of C for each class. With other than equal ones, probabilities are those of the weighted rows.
    pub class_weights: ClassWeights,
    /// Most bytes of the full machine's kernel matrix; more is refused.
    pub cache_bytes: usize,
}

/// C = 1, the default of the margin's losses, pulls probabilities of logistic regression far to the middle (docs/probabilities.md).
impl Default for Logistic {
    fn default() -> Self {
        Logistic { kernel: Kernel::gaussian(1.0), c: 10.0, class_weights: ClassWeights::Equal, cache_bytes: USUAL_BYTES }
    }
}

/// The rows as the solver needs them.
pub(crate) struct LogisticRows {
    pub codes: Vec<usize>,
    pub signs: Vec<f64>,
    pub costs: Vec<f64>,
    pub decision: Decision,
    weights: Vec<f64>,
}

impl LogisticRows {
    /// The optimum on coordinates of the rows; its rounds are reported under the name of the stage, where one is given.
    pub fn inner(&self, stage: Option<&'static str>) -> Box<dyn Inner + '_> {
        let classes = self.decision.labels().len();
        match classes {
            2 => Box::new(Smooth::new(LogisticLoss { signs: &self.signs, costs: &self.costs }).reporting(stage)),
            _ => Box::new(Smooth::new(Softmax { codes: &self.codes, costs: &self.costs, classes }).reporting(stage)),
        }
    }

    /// Softmax is what normal classes have whose means are the unit vectors and whose covariance is the unit matrix.
    pub fn calibration(classes: usize) -> Calibration {
        if classes == 2 {
            return Calibration::Sigmoid { a: vec![-1.0], b: vec![0.0] };
        }
        let units: Vec<Vec<f64>> = (0..classes).map(|k| (0..classes).map(|j| f64::from(j == k)).collect()).collect();
        Calibration::NormalClasses(NormalClasses { constants: vec![0.0; classes], precisions: vec![units.concat()], means: units })
    }
}

impl Learner for Logistic {
    fn name(&self) -> &'static str {
        "logistic"
    }

    fn check(&self) -> Result<()> {
        self.kernel.check()?;
        require_cost(self.c)?;
        if let Kernel::Precomputed(_) = self.kernel {
            return Err(Error::Unsupported {
                method: "logistic",
                with: "a precomputed kernel".into(),
                instead: "train with a kernel that has a formula".into(),
            });
        }
        require_definite(&self.kernel, self.name())
    }

    fn learn(&self, data: &Dataset, watch: &Watch) -> Result<Fit> {
        self.check()?;
        data.check()?;
        check_classes(data)?;
        on_all_rows(self, data, self.cache_bytes, watch)
    }
}

impl Logistic {
    /// The rows that count, which must all have a weight above 0.
    pub(crate) fn rows(&self, data: &Dataset) -> Result<LogisticRows> {
        let classes = check_classes(data)?;
        let weights = self.class_weights.of(classes)?;
        let codes: Vec<usize> = classes.codes.iter().map(|&code| code as usize).collect();
        let labels = classes.labels.clone();
        let decision = match &labels[..] {
            [negative, positive] => Decision::Sign { negative: negative.clone(), positive: positive.clone() },
            _ => Decision::Largest { labels },
        };
        let costs = codes.iter().enumerate().map(|(i, &code)| self.c * weights[code] * data.weight(i)).collect();
        Ok(LogisticRows { signs: codes.iter().map(|&code| if code == 1 { 1.0 } else { -1.0 }).collect(), costs, decision, codes, weights })
    }
}

impl FrameLearner for Logistic {
    fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    fn learn_in_frame(&self, data: &Dataset, basis: &Basis, watch: &Watch) -> Result<InFrame> {
        let rows = self.rows(data)?;
        let solution = rows.inner(Some("solving")).solve(&Coordinates::given(&basis.frame, &data.points, &basis.coordinates), watch);
        if !solution.value.is_finite() {
            return Err(Error::data("the coefficients are not finite; scale the data, or lower C"));
        }
        let status = watch.ended(Status::Converged);
        Ok(InFrame {
            calibration: Some(LogisticRows::calibration(rows.decision.labels().len())),
            metadata: Metadata {
                learner: Some(self.name().into()),
                c: Some(self.c),
                class_weights: (self.class_weights != ClassWeights::Equal).then(|| rows.weights.clone()),
                ..Metadata::default()
            },
            report: Report { objective: solution.value, dual_objective: None, iterations: 1, status, evaluations: 0, support: None },
            decision: rows.decision,
            weights: solution.weights,
            offsets: solution.offsets,
            multipliers: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        data::{banana, waveform3},
        kernel::block::symmetric,
        linalg::Matrix,
    };

    #[test]
    fn the_gradient_vanishes_at_the_machine_by_definition() {
        for (data, gamma) in [(banana(80, 1), 0.5), (waveform3(90, 1), 0.05)] {
            let learner = Logistic { kernel: Kernel::gaussian(gamma), c: 2.0, ..Logistic::default() };
            let fit = learner.learn(&data, &Watch::none()).unwrap();
            let outputs = fit.machine.outputs_for(&data.points).unwrap();
            let p = fit.machine.probabilities(&outputs).unwrap();
            let codes = &data.classes().unwrap().codes;
            let coefficients = fit.machine.expansion.coefficients.to_dense();
            // With w_k = sum_i a_ik Phi(x_i): a_ik = C (1{y_i = k} - p_ik), whose sums are zero.
            for k in 0..coefficients.cols() {
                let class = if coefficients.cols() == 1 { 1 } else { k };
                let want = |i: usize| 2.0 * (f64::from(codes[i] as usize == class) - p.at(i, class));
                let along = |a: &dyn Fn(usize) -> f64| {
                    let gram = symmetric(&learner.kernel, &data.points);
                    (0..data.len()).map(|i| (0..data.len()).map(|j| gram.at(i, j) * a(j)).sum::<f64>()).collect::<Vec<_>>()
                };
                let (found, want_out) = (along(&|i| coefficients.at(i, k)), along(&want));
                assert!(found.iter().zip(&want_out).all(|(a, b)| (a - b).abs() < 1e-5), "{k}");
                assert!((0..data.len()).map(want).sum::<f64>().abs() < 1e-5);
            }
            assert!(p.iter().all(|row| (row.iter().sum::<f64>() - 1.0).abs() < 1e-12));
        }
    }

    #[test]
    fn every_round_is_reported_with_an_objective_that_falls_to_the_optimum() {
        for data in [banana(80, 1), waveform3(90, 1)] {
            let seen = std::sync::Mutex::new(vec![]);
            let note = |progress: &crate::watch::Progress| {
                if progress.stage == "solving" {
                    seen.lock().unwrap().push((progress.done, progress.figure.unwrap()));
                }
            };
            let learner = Logistic { kernel: Kernel::gaussian(0.5), c: 2.0, ..Logistic::default() };
            let fit = learner.learn(&data, &Watch::none().with_reporter(note)).unwrap();
            let seen = seen.into_inner().unwrap();
            assert!(seen.len() > 2 && seen.iter().enumerate().all(|(k, &(done, _))| done == k as u64));
            assert!(seen.windows(2).all(|pair| pair[1].1 < pair[0].1), "{seen:?}");
            assert!((seen.last().unwrap().1 - fit.report.objective).abs() < 1e-3 * fit.report.objective);
        }
    }

    #[test]
    fn weights_are_copies_and_bad_settings_are_rejected() {
        let learner = Logistic { kernel: Kernel::gaussian(0.5), ..Logistic::default() };
        for data in [banana(60, 2), waveform3(60, 2)] {
            let twice = Dataset { weights: Some((0..60).map(|i| f64::from(i % 3)).collect()), ..data.clone() };
            let rows: Vec<usize> = (0..60).flat_map(|i| vec![i; i % 3]).collect();
            let (a, b) = (learner.learn(&twice, &Watch::none()).unwrap(), learner.learn(&data.select(&rows), &Watch::none()).unwrap());
            let outputs = |fit: &Fit| fit.machine.outputs_for(&data.points).unwrap();
            let apart = |a: Matrix, b: Matrix| a.values().iter().zip(b.values()).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(apart(outputs(&a), outputs(&b)) < 1e-8);
            // Softmax leaves a number common to all offsets free.
            let offsets = &a.machine.offsets;
            assert!(offsets.len() == 1 || offsets.iter().sum::<f64>().abs() < 1e-12);
        }
        let data = banana(60, 2);
        assert!(Logistic { c: 0.0, ..learner.clone() }.check().is_err());
        let small = Logistic { cache_bytes: 1000, ..learner };
        assert!(small.learn(&data, &Watch::none()).unwrap_err().to_string().contains("ask for few vectors"));
    }
}
