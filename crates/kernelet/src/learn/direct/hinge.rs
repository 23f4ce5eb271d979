//! Machines with hinge loss, one for each class, on shared coordinates: an interior-point method each, from the solution before.
use crate::parallel::*;

use super::{
    coordinates::Coordinates,
    inner::{Inner, Solution},
};
use crate::{
    learn::{
        margin::{self, MarginSettings, MarginSolution},
        margin_problem::MarginProblem,
    },
    linalg::Matrix,
    watch::{Status, Watch},
};

/// `min 1/2 |w|^2 + sum_i c_i max(0, 1 - y_ik (w.v_i + b))` for each class k [Wu2006 (28)]. The optimal value is that of the
/// dual [Wu2006 (44)]; the derivatives by the outputs are its multipliers times the signs.
///
/// Minimised over the vectors too, this is the sparse large-margin machine: `1/2 w'w + C sum_i xi_i` [Wu2006 (20)] with margins of at least
/// `1 - xi_i` [Wu2006 (21)], `xi_i >= 0` [Wu2006 (22)] and `w = sum_i beta_i Phi(z_i)` [Wu2006 (23)].
pub(super) struct Hinge<'a> {
    /// n x q, +1 or -1.
    pub signs: &'a Matrix,
    /// Above 0, one for each row.
    pub costs: &'a [f64],
    last: Vec<MarginSolution>,
}

impl<'a> Hinge<'a> {
    pub fn new(signs: &'a Matrix, costs: &'a [f64]) -> Self {
        Hinge { signs, costs, last: vec![] }
    }
}

impl Inner for Hinge<'_> {
    fn solve(&mut self, coordinates: &Coordinates, watch: &Watch) -> Solution {
        let rows = coordinates.whole();
        let solve = |k: usize| {
            let signs = self.signs.col(k);
            let problem = MarginProblem { rows: &rows, signs: &signs, costs: self.costs, margins: None };
            margin::solve(&problem, &MarginSettings::default(), self.last.get(k), watch)
        };
        let solutions: Vec<MarginSolution> = (0..self.signs.cols()).into_par_iter().map(solve).collect();
        let q = solutions.len();
        let solution = Solution {
            weights: Matrix::from_fn(rows.cols(), q, |j, k| solutions[k].weights[j]),
            offsets: solutions.iter().map(|s| s.offset).collect(),
            negative_gradient: Matrix::from_fn(rows.rows(), q, |i, k| solutions[k].multipliers[i] * self.signs.at(i, k)),
            value: solutions.iter().map(|s| s.primal).sum(),
            norms: vec![1.0; q],
        };
        self.last = solutions;
        solution
    }

    /// Of each solution what a start is made of.
    fn memory(&self) -> Vec<f64> {
        self.last.iter().flat_map(|last| last.weights.iter().chain([&last.offset]).chain(&last.multipliers).copied()).collect()
    }

    fn remember(&mut self, memory: &[f64], m: usize) -> bool {
        let each = m + 1 + self.signs.rows();
        let solution = |numbers: &[f64]| MarginSolution {
            weights: numbers[..m].to_vec(),
            offset: numbers[m],
            multipliers: numbers[m + 1..].to_vec(),
            primal: 0.0,
            dual: 0.0,
            iterations: 0,
            status: Status::Converged,
        };
        self.last = memory.chunks_exact(each).map(solution).collect();
        [0, each * self.signs.cols()].contains(&memory.len())
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        data::banana,
        kernel::Kernel,
        learn::{
            Learner,
            direct::{DirectLoss, Margin, Search},
        },
        watch::Watch,
    };

    #[test]
    fn eq_20_to_23_the_objective_is_that_of_the_expansion_and_its_slacks_written_out() {
        let (data, kernel) = (banana(120, 3), Kernel::gaussian(1.0));
        let search = Search { n_vectors: 5, iterations: 40, ..Search::default() };
        let learner = Margin { kernel: kernel.clone(), c: 2.0, loss: DirectLoss::Hinge, search, ..Margin::default() };
        let fit = learner.learn(&data, &Watch::none()).unwrap();
        let (z, beta) = (fit.machine.expansion.vectors.to_dense(), fit.machine.expansion.coefficients.to_dense().col(0));
        assert_eq!(z.rows(), 5);
        let (rows, codes) = (data.points.to_dense(), &data.classes().unwrap().codes);
        // w = sum_j beta_j Phi(z_j), the smallest slacks that the margins allow.
        let w_times_w: f64 =
            (0..5).flat_map(|i| (0..5).map(move |j| (i, j))).map(|(i, j)| beta[i] * beta[j] * kernel.eval(z.row(i), z.row(j))).sum();
        let slack = |i: usize| {
            let output: f64 = (0..5).map(|j| beta[j] * kernel.eval(z.row(j), rows.row(i))).sum::<f64>() + fit.machine.offsets[0];
            (1.0 - (2.0 * f64::from(codes[i]) - 1.0) * output).max(0.0)
        };
        let objective = 0.5 * w_times_w + 2.0 * (0..data.len()).map(slack).sum::<f64>();
        assert!((objective - fit.report.objective).abs() < 1e-6 * objective, "{objective} {}", fit.report.objective);
    }
}
