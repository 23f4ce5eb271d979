//! Ridge regression on a basis: `(V'DV + lambda I) w = V'Dy` for the rows V in coordinates and their weights D.
//!
//! Cost: n m^2 / 2 + m^3 / 3; all targets share the one factor.
use super::{FrameLearner, InFrame};
use crate::{
    Error, Result,
    basis::Basis,
    data::Dataset,
    kernel::Kernel,
    learn::{Learner, Report, Ridge},
    linalg::{Cholesky, Matrix, dot, times, transposed_times, weighted_gram},
    machine::{Decision, Metadata},
    watch::{Status, Watch},
};

impl FrameLearner for Ridge {
    fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    fn learn_in_frame(&self, data: &Dataset, basis: &Basis, watch: &Watch) -> Result<InFrame> {
        data.check_lengths()?;
        watch.report("solving", 0, None, None);
        let (rows, targets) = (&basis.coordinates, data.values()?);
        let counts: Vec<f64> = (0..data.len()).map(|i| data.weight(i)).collect();
        let mut square = weighted_gram(rows, &counts);
        (0..square.rows()).for_each(|j| square.row_mut(j)[j] += self.lambda);
        let Some(factor) = Cholesky::new(&square) else {
            return Err(Error::data(format!(
                "the squares of the coordinates with lambda {} on their diagonal are not positive definite to working precision; raise lambda",
                self.lambda
            )));
        };
        let right_side = |k: usize| {
            let weighted: Vec<f64> = targets.col(k).iter().zip(&counts).map(|(y, count)| y * count).collect();
            transposed_times(rows, &weighted)
        };
        let right_sides: Vec<Vec<f64>> = (0..targets.cols()).map(right_side).collect();
        let mut weights = Matrix::from_fn(rows.cols(), targets.cols(), |j, k| right_sides[k][j]);
        factor.solve(&mut weights);
        let objective = self.objective_in(rows, targets, &counts, &weights);
        if !objective.is_finite() {
            return Err(Error::data("the coefficients are not finite; scale the data and targets, or raise lambda"));
        }
        Ok(InFrame {
            offsets: vec![0.0; targets.cols()],
            weights,
            decision: Decision::Values,
            calibration: None,
            metadata: Metadata { learner: Some(self.name().into()), lambda: Some(self.lambda), ..Metadata::default() },
            report: Report { objective, dual_objective: None, iterations: 1, status: Status::Converged, evaluations: 0, support: None },
            multipliers: None,
        })
    }
}

impl Ridge {
    fn objective_in(&self, rows: &Matrix, targets: &Matrix, counts: &[f64], weights: &Matrix) -> f64 {
        let of_target = |k: usize| {
            let w = weights.col(k);
            let outputs = times(rows, &w);
            let loss: f64 = (0..outputs.len()).map(|i| counts[i] * (targets.at(i, k) - outputs[i]).powi(2)).sum();
            loss + self.lambda * dot(&w, &w)
        };
        (0..targets.cols()).map(of_target).sum()
    }
}
