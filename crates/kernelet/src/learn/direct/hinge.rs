//! Machines with hinge loss, one for each class, on shared coordinates: an interior-point method each, from the solution before.
use rayon::prelude::*;

use super::{
    coordinates::Coordinates,
    inner::{Inner, Solution},
};
use crate::{
    learn::margin::{self, MarginProblem, MarginSettings, MarginSolution},
    linalg::Matrix,
    watch::Watch,
};

/// `min 1/2 |w|^2 + sum_i c_i max(0, 1 - y_ik (w.v_i + b))` for each class k [Wu2006 (28)]. The optimal value is that of the
/// dual [Wu2006 (44)]; the derivatives by the outputs are its multipliers times the signs.
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
            let problem = MarginProblem { rows: &rows, signs: &signs, costs: self.costs };
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
}
