//! The Fisher discriminant on a basis: the paper's KFLD+Approx, for which no n x n matrix is needed.
//!
//! In the coordinates `v_i` of the rows the scatter is the m x m matrix `B = sum_i d_i (v_i - mean_g)(v_i - mean_g)'`, and for the means
//! combined by the columns of H, `d = (mean_1, mean_2, ..) H`:
//!
//! ```text
//! weight        (B + lambda I) w = d
//! coefficients  (L B L' + lambda I) a = L d,   w = L'a      min a'N'a + C a'a, a'm' = 2      [Franc2003 (7)]
//! none          w = B^+ d
//! ```
//!
//! `L v_i` is `k_z(x_i)`, so that the second line needs no inverse of K^z although the paper writes one. Its penalty depends on the length of the
//! vectors in feature space, that of the first does not. Cost: n m^2 / 2 + m^3 / 3, some m^3 more for the second, 9 m^3 on one thread for the third.
use super::{
    Fisher, Penalty,
    solve::{Directions, mixes, not_definite, scaled_apart},
};
use crate::{
    Error, Result,
    basis::Basis,
    data::Dataset,
    kernel::Kernel,
    learn::{FrameLearner, InFrame, Report, scatter::Scatter},
    linalg::{Cholesky, Eigen, Lower, Matrix, dot, rows_times, weighted_gram},
    watch::{Status, Watch},
};

impl FrameLearner for Fisher {
    fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    fn learn_in_frame(&self, data: &Dataset, basis: &Basis, watch: &Watch) -> Result<InFrame> {
        let rows = self.rows(data)?;
        watch.report("solving", 0, None, None);
        let found = self.directions_in(&basis.coordinates, basis.frame.lower(), &rows.scatter)?;
        let mut outputs = rows_times(&found.coefficients.transposed(), &basis.coordinates).transposed();
        watch.report("threshold", 0, None, None);
        let (offsets, calibration) = self.offsets_and_calibration(data, &rows, &mut outputs)?;
        Ok(InFrame {
            offsets,
            decision: rows.decision(),
            calibration,
            metadata: self.metadata(data, &rows, &found),
            report: Report {
                objective: found.objective,
                dual_objective: None,
                iterations: 1,
                status: Status::Converged,
                evaluations: 0,
                support: None,
            },
            weights: found.coefficients,
            multipliers: None,
        })
    }
}

impl Fisher {
    fn directions_in(&self, coordinates: &Matrix, lower: &Lower, scatter: &Scatter) -> Result<Directions> {
        let means = means(coordinates, scatter);
        // One row for each output: the means of the classes, combined.
        let combine =
            |mix: &Vec<f64>| (0..means.cols()).map(|j| (0..mix.len()).map(|g| mix[g] * means.at(g, j)).sum()).collect::<Vec<f64>>();
        let rows: Vec<Vec<f64>> = mixes(scatter.count).iter().map(combine).collect();
        let combined = Matrix::from_fn(rows.len(), means.cols(), |k, j| rows[k][j]);
        let spread = spread(coordinates, scatter, &means);
        let (solved, rank) = match self.penalty {
            Penalty::Weight => (solve(spread, self.lambda, &combined)?, None),
            Penalty::Coefficients => (self.on_coefficients(&spread, lower.matrix(), &combined)?, None),
            Penalty::None => {
                let largest = (0..coordinates.rows()).map(|i| scatter.roots[i].powi(2) * dot(coordinates.row(i), coordinates.row(i)));
                pseudo_inverse(&spread, largest.fold(0.0, f64::max), &combined)?
            }
        };
        let separations: Vec<f64> = solved.iter().zip(combined.iter()).map(|(w, d)| dot(w, d)).collect();
        scaled_apart(solved, &separations, rank, scatter.count)
    }

    /// [Franc2003 (7)]
    fn on_coefficients(&self, spread: &Matrix, lower: &Matrix, combined: &Matrix) -> Result<Matrix> {
        let squared = rows_times(&rows_times(lower, spread), lower);
        let a = solve(squared, self.lambda, &rows_times(combined, lower))?;
        Ok(rows_times(&a, &lower.transposed()))
    }
}

/// The mean of each group, weighted.
fn means(coordinates: &Matrix, scatter: &Scatter) -> Matrix {
    let mut means: Matrix = Matrix::zeros(scatter.count, coordinates.cols());
    for (i, row) in coordinates.iter().enumerate() {
        // The unit vector of a group has the roots of its rows' shares.
        let share = scatter.units[i] * scatter.units[i];
        means.row_mut(scatter.groups[i]).iter_mut().zip(row).for_each(|(mean, v)| *mean += share * v);
    }
    means
}

/// B, both triangles.
fn spread(coordinates: &Matrix, scatter: &Scatter, means: &Matrix) -> Matrix {
    let mut centred = coordinates.clone();
    for (i, &group) in scatter.groups.iter().enumerate() {
        centred.row_mut(i).iter_mut().zip(means.row(group)).for_each(|(v, mean)| *v -= mean);
    }
    let shares: Vec<f64> = scatter.roots.iter().map(|root| root * root).collect();
    let mut spread = weighted_gram(&centred, &shares);
    spread.mirror_lower();
    spread
}

/// The solution of `(A + lambda I) x = b` for every row b.
fn solve(mut a: Matrix, lambda: f64, rows: &Matrix) -> Result<Matrix> {
    (0..a.rows()).for_each(|j| a.row_mut(j)[j] += lambda);
    let Some(factor) = Cholesky::new(&a) else { return Err(not_definite(lambda)) };
    let mut solution = rows.transposed();
    factor.solve(&mut solution);
    Ok(solution.transposed())
}

/// `B^+ d` for every row d, and the directions used; `size` is the largest square of a weighted row.
fn pseudo_inverse(spread: &Matrix, size: f64, rows: &Matrix) -> Result<(Matrix, Option<usize>)> {
    let Some(eigen) = Eigen::of(spread) else { return Err(Error::data("the eigenvalues of the scatter were not found; scale the data")) };
    let largest = eigen.values.first().copied().unwrap_or(0.0);
    let rank = eigen.values.iter().filter(|&&value| value > Fisher::NO_SCATTER * largest && value > 1e-13 * size).count();
    if rank == 0 {
        return Err(Error::data("the rows of each class coincide, so there is no scatter to measure by; use the penalty weight"));
    }
    let mut solved: Matrix = Matrix::zeros(rows.rows(), spread.rows());
    for k in 0..rows.rows() {
        for (value, vector) in eigen.values.iter().zip(eigen.vectors.iter()).take(rank) {
            let part = dot(vector, rows.row(k)) / value;
            solved.row_mut(k).iter_mut().zip(vector).for_each(|(sum, v)| *sum += part * v);
        }
    }
    Ok((solved, Some(rank)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        basis::{BasisBudget, GreedyBasis},
        data::{Dataset, banana, waveform3},
        kernel::{
            Precomputed,
            block::{block, symmetric},
        },
        learn::{Learner, OnBasis, Shrink, Threshold},
        linalg::outer_product,
    };

    fn on_basis(fisher: &Fisher, vectors: usize, data: &Dataset) -> crate::learn::Fit {
        let (basis, budget) = (Box::new(GreedyBasis::default()), BasisBudget::vectors(vectors));
        let learner = OnBasis { basis, budget, learner: Box::new(fisher.clone()), shrink: Shrink::Never };
        learner.learn(data, &Watch::none()).unwrap()
    }

    fn largest_difference(a: &Matrix, b: &Matrix) -> f64 {
        a.values().iter().zip(b.values()).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
    }

    #[test]
    fn it_is_the_discriminant_of_the_projected_kernel() {
        let weights = Some((0..90).map(|i| 1.0 + (i % 3) as f64).collect());
        for data in [banana(90, 2), waveform3(90, 2)] {
            let data = Dataset { weights: weights.clone(), ..data };
            let kernel = Kernel::gaussian(0.3);
            for (penalty, bias) in [(Penalty::Weight, Threshold::LeastError), (Penalty::None, Threshold::Midpoint)] {
                let fisher = Fisher { kernel: kernel.clone(), penalty, lambda: 0.01, bias, ..Fisher::default() };
                let fit = on_basis(&fisher, 9, &data);
                let columns = block(&kernel, &data.points, &fit.machine.expansion.vectors);
                let mut half = columns.clone();
                Cholesky::new(&symmetric(&kernel, &fit.machine.expansion.vectors)).unwrap().lower().solve_rows(half.values_mut());
                let rows = Dataset { points: outer_product(&half).into(), ..data.clone() };
                let naive = Fisher { kernel: Kernel::Precomputed(Precomputed {}), ..fisher }.learn(&rows, &Watch::none()).unwrap();
                let (have, want) = (fit.machine.outputs_for(&data.points).unwrap(), naive.machine.outputs_for(&rows.points).unwrap());
                assert!(largest_difference(&have, &want) < 1e-4, "{penalty:?} {}", largest_difference(&have, &want));
                assert!((fit.report.objective / naive.report.objective - 1.0).abs() < 1e-5);
                assert!(fit.machine.calibration.is_some() && fit.machine.metadata.rank == naive.machine.metadata.rank);
            }
        }
    }

    #[test]
    fn franc_eq_7_is_solved_and_no_other_coefficients_are_better() {
        let data = banana(80, 3);
        let kernel = Kernel::gaussian(0.5);
        let fisher = Fisher { kernel: kernel.clone(), penalty: Penalty::Coefficients, lambda: 0.05, ..Fisher::default() };
        let fit = on_basis(&fisher, 7, &data);
        let columns = block(&kernel, &data.points, &fit.machine.expansion.vectors);
        let codes = &data.classes().unwrap().codes;
        // f'Zf + C a'a over a for which the means lie 2 apart, as it is written.
        let objective = |a: &[f64]| {
            let f: Vec<f64> = columns.iter().map(|row| dot(row, a)).collect();
            let of = |class: u32| f.iter().zip(codes).filter(move |(_, code)| **code == class).map(|(f, _)| *f);
            let mean = |class: u32| of(class).sum::<f64>() / of(class).count() as f64;
            let scatter = |class: u32| of(class).map(|f| (f - mean(class)).powi(2)).sum::<f64>() / of(class).count() as f64;
            let factor = 2.0 / (mean(1) - mean(0));
            (factor * factor * (scatter(0) + scatter(1) + 0.05 * dot(a, a)), mean(1) - mean(0))
        };
        let a = fit.machine.expansion.coefficients.to_dense().col(0);
        let (best, apart) = objective(&a);
        assert!((apart - 2.0).abs() < 1e-8 && (best / fit.report.objective - 1.0).abs() < 1e-8, "{best} {}", fit.report.objective);
        let size = dot(&a, &a).sqrt();
        for j in 0..7 {
            for step in [-1e-3, 1e-3] {
                let mut moved = a.clone();
                moved[j] += step * size;
                assert!(objective(&moved).0 >= best * (1.0 - 1e-12), "{j}");
            }
        }
    }

    #[test]
    fn on_all_points_every_penalty_gives_the_full_discriminant() {
        let data = banana(60, 1);
        for penalty in [Penalty::Weight, Penalty::Coefficients] {
            let fisher = Fisher { kernel: Kernel::gaussian(2.0), penalty, lambda: 0.01, bias: Threshold::Midpoint, ..Fisher::default() };
            let (full, all) = (fisher.learn(&data, &Watch::none()).unwrap(), on_basis(&fisher, 60, &data));
            let (have, want) = (all.machine.outputs_for(&data.points).unwrap(), full.machine.outputs_for(&data.points).unwrap());
            assert!(largest_difference(&have, &want) < 1e-6, "{penalty:?} {}", largest_difference(&have, &want));
            assert!((all.report.objective / full.report.objective - 1.0).abs() < 1e-6);
        }
    }
}
