//! Kernel regression with Huber's loss: squares for small residuals, absolute values for large ones, so that outliers hardly count.
//!
//! Minimise `1/2 sum_k |w_k|^2 + C sum_i weight_i sum_k loss(y_ik - f_k(x_i))` with `loss(r) = r^2 / 2` up to epsilon and
//! `epsilon (|r| - epsilon / 2)` above it (Huber, 1964). Offsets are not penalised.
//!
//! Every row is a vector of the full machine; it is solved by Newton's method in the frame of the rows ([`FrameLearner`]). Cost: n^3 / 3 for
//! the frame and n^3 / 2 for each of some ten rounds; memory 3 n^2. With a basis or a budget it is n m^2.
use super::{
    Fit, FrameLearner, InFrame, Learner, Report,
    direct::{Coordinates, Inner, OfResiduals, ResidualLoss, Smooth},
    gram::{USUAL_BYTES, require_definite},
    on_rows::on_all_rows,
};
use crate::{
    Error, Result,
    basis::Basis,
    data::Dataset,
    error::{require_cost, require_positive},
    kernel::Kernel,
    machine::{Decision, Metadata},
    watch::{Status, Watch},
};

/// Kernel regression with Huber's loss.
///
/// ```
/// use kernelet::{data::sinc, learn::{Huber, Learner}, prelude::*};
///
/// let data = sinc(200, 0.1, 1)?;
/// let huber = Huber { kernel: Kernel::gaussian(0.3), c: 10.0, epsilon: 0.1, ..Huber::default() };
/// assert!(huber.learn(&data, &Watch::none())?.machine.score(&data)?.loss() < 0.02); // the mean squared error; the noise has a variance of 0.01
/// # Ok::<(), kernelet::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Huber {
    /// The kernel; it must be definite.
    pub kernel: Kernel,
    /// The cost of an error; above 0.
    pub c: f64,
    /// Residuals up to this are squared, larger ones count linearly; above 0, in the unit of the target.
    pub epsilon: f64,
    /// Most bytes of the full machine's kernel matrix; more is refused.
    pub cache_bytes: usize,
}

impl Default for Huber {
    fn default() -> Self {
        Huber { kernel: Kernel::gaussian(1.0), c: 1.0, epsilon: 1.0, cache_bytes: USUAL_BYTES }
    }
}

impl Huber {
    /// C times the weight of each row.
    pub(crate) fn costs(&self, rows: &Dataset) -> Vec<f64> {
        (0..rows.len()).map(|i| self.c * rows.weight(i)).collect()
    }
}

impl Learner for Huber {
    fn name(&self) -> &'static str {
        "huber"
    }

    fn check(&self) -> Result<()> {
        self.kernel.check()?;
        require_cost(self.c)?;
        require_positive("epsilon", self.epsilon)?;
        if let Kernel::Precomputed(_) = self.kernel {
            return Err(Error::Unsupported {
                method: "huber",
                with: "a precomputed kernel".into(),
                instead: "train with a kernel that has a formula".into(),
            });
        }
        require_definite(&self.kernel, self.name())
    }

    fn learn(&self, data: &Dataset, watch: &Watch) -> Result<Fit> {
        self.check()?;
        data.check()?;
        data.values()?;
        on_all_rows(self, data, self.cache_bytes, watch)
    }
}

impl FrameLearner for Huber {
    fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    fn learn_in_frame(&self, data: &Dataset, basis: &Basis, watch: &Watch) -> Result<InFrame> {
        data.check_lengths()?;
        let (targets, costs) = (data.values()?, self.costs(data));
        let loss = OfResiduals { targets, costs: &costs, loss: ResidualLoss::Huber { epsilon: self.epsilon } };
        let coordinates = Coordinates::given(&basis.frame, &data.points, &basis.coordinates);
        let solution = Smooth::new(loss).reporting(Some("solving")).solve(&coordinates, watch);
        if !solution.value.is_finite() {
            return Err(Error::data("the coefficients are not finite; scale the data and targets, or lower C"));
        }
        let status = watch.ended(Status::Converged);
        Ok(InFrame {
            calibration: None,
            metadata: Metadata { learner: Some(self.name().into()), c: Some(self.c), epsilon: Some(self.epsilon), ..Metadata::default() },
            report: Report { objective: solution.value, dual_objective: None, iterations: 1, status, evaluations: 0, support: None },
            decision: Decision::Values,
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
        data::{Target, sinc},
        kernel::block::symmetric,
        learn::Ridge,
        linalg::Matrix,
    };

    fn huber(c: f64, epsilon: f64) -> Huber {
        Huber { kernel: Kernel::gaussian(0.5), c, epsilon, ..Huber::default() }
    }

    /// Every seventh target is far off.
    fn with_outliers(data: &Dataset) -> Dataset {
        let values = data.values().unwrap();
        let far = Matrix::from_fn(values.rows(), 1, |i, _| values.at(i, 0) + if i % 7 == 3 { 20.0 } else { 0.0 });
        Dataset { target: Target::Values(far), ..data.clone() }
    }

    /// With w = sum_i a_i Phi(x_i): a_i = C loss'(r_i), whose sum is zero.
    #[test]
    fn the_gradient_vanishes_at_the_machine_by_definition() {
        let data = with_outliers(&sinc(80, 0.1, 1).unwrap());
        for epsilon in [0.05, 1.0, 100.0] {
            let learner = huber(2.0, epsilon);
            let fit = learner.learn(&data, &Watch::none()).unwrap();
            let outputs = fit.machine.outputs_for(&data.points).unwrap();
            let want: Vec<f64> =
                (0..80).map(|i| 2.0 * (data.values().unwrap().at(i, 0) - outputs.at(i, 0)).clamp(-epsilon, epsilon)).collect();
            assert!(want.iter().sum::<f64>().abs() < 1e-6, "{epsilon}: {}", want.iter().sum::<f64>());
            let gram = symmetric(&learner.kernel, &data.points);
            let coefficients = fit.machine.expansion.coefficients.to_dense();
            for i in 0..80 {
                let along = |a: &dyn Fn(usize) -> f64| (0..80).map(|j| gram.at(i, j) * a(j)).sum::<f64>();
                let (found, right) = (along(&|j| coefficients.at(j, 0)), along(&|j| want[j]));
                assert!((found - right).abs() < 1e-5 * right.abs().max(1.0), "{epsilon}, row {i}: {found} {right}");
            }
        }
    }

    #[test]
    fn outliers_hardly_count() {
        let clean = sinc(150, 0.1, 2).unwrap();
        let data = with_outliers(&clean);
        let error = |fit: Fit| fit.machine.score(&clean).unwrap().loss();
        let robust = error(huber(10.0, 0.1).learn(&data, &Watch::none()).unwrap());
        let ridge = Ridge { kernel: Kernel::gaussian(0.5), lambda: 0.1 };
        let squared = error(ridge.learn(&data, &Watch::none()).unwrap());
        assert!(robust < 0.05 && squared > 20.0 * robust, "{robust} {squared}");
    }

    #[test]
    fn weights_are_copies_and_bad_settings_are_rejected() {
        let data = with_outliers(&sinc(60, 0.1, 3).unwrap());
        let twice = Dataset { weights: Some((0..60).map(|i| f64::from(i % 3)).collect()), ..data.clone() };
        let rows: Vec<usize> = (0..60).flat_map(|i| vec![i; i % 3]).collect();
        let learner = huber(2.0, 0.2);
        let outputs = |data: &Dataset| learner.learn(data, &Watch::none()).unwrap().machine.outputs_for(&twice.points).unwrap();
        let (a, b) = (outputs(&twice), outputs(&data.select(&rows)));
        assert!(a.values().iter().zip(b.values()).all(|(a, b)| (a - b).abs() < 1e-6));
        assert!(huber(0.0, 1.0).check().is_err() && huber(1.0, 0.0).check().is_err() && huber(1.0, f64::NAN).check().is_err());
        let small = Huber { cache_bytes: 1000, ..learner };
        assert!(small.learn(&data, &Watch::none()).unwrap_err().to_string().contains("ask for few vectors"));
    }
}
