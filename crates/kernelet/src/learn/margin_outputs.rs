//! One linear support vector machine for each output of a decision, all on the same coordinates.
//!
//! [`Decision::side`] defines on which side of an output the rows of a class are; rows of classes that an output does not separate are left
//! out of its problem. Cost: that of [`margin`] for each output.
use std::sync::atomic::{AtomicU64, Ordering};

use crate::parallel::*;

use super::{
    margin::{MarginSettings, MarginSolution},
    margin_active,
    margin_problem::MarginProblem,
    squared_margin,
};
use crate::{
    linalg::Matrix,
    machine::Decision,
    watch::{Status, Watch},
};

/// What each output should say about each row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sides<'a> {
    /// What the outputs mean.
    pub decision: &'a Decision,
    /// The class of each row, as a place in the decision's labels.
    pub classes: &'a [usize],
    /// The cost of each row's margin error; rows of cost 0 are left out.
    pub costs: &'a [f64],
}

/// The machine of one output.
#[derive(Clone, Debug)]
pub(crate) struct OutputMachine {
    /// The rows it was trained on.
    pub rows: Vec<usize>,
    /// The side of each of them.
    pub signs: Vec<f64>,
    /// Its weights and multipliers.
    pub solution: MarginSolution,
}

impl Sides<'_> {
    /// The rows that `output` is about, and their sides.
    fn of(&self, output: usize) -> (Vec<usize>, Vec<f64>) {
        let side = |i: usize| self.decision.side(output, self.classes[i]).map(|side| (i, side));
        (0..self.classes.len()).filter(|&i| self.costs[i] > 0.0).filter_map(side).unzip()
    }

    /// The first output that has rows on one side only.
    pub fn one_sided(&self) -> Option<usize> {
        (0..self.decision.n_outputs().unwrap_or(0)).find(|&output| !has_both(&self.of(output).1))
    }
}

fn has_both(signs: &[f64]) -> bool {
    signs.iter().any(|y| *y > 0.0) && signs.iter().any(|y| *y < 0.0)
}

/// Solves for all outputs. An output with rows on one side only says that side everywhere.
pub(crate) fn solve_outputs(coordinates: &Matrix, sides: &Sides, settings: &MarginSettings, watch: &Watch) -> Vec<OutputMachine> {
    let quiet = watch.silent();
    solve_each(coordinates, sides, &|problem| margin_active::solve(problem, settings, &quiet), watch)
}

/// The same with squared slacks and penalised offsets.
pub(crate) fn solve_squared(coordinates: &Matrix, sides: &Sides, watch: &Watch) -> Vec<OutputMachine> {
    let quiet = watch.silent();
    solve_each(coordinates, sides, &|problem| squared_margin::solve(problem, &quiet), watch)
}

fn solve_each(
    coordinates: &Matrix,
    sides: &Sides,
    solver: &(dyn Fn(&MarginProblem) -> MarginSolution + Sync),
    watch: &Watch,
) -> Vec<OutputMachine> {
    let (count, done) = (sides.decision.n_outputs().unwrap_or(0), AtomicU64::new(0));
    let solve = |output: usize| {
        let (rows, signs) = sides.of(output);
        let solution = match has_both(&signs) {
            false => constant(coordinates.cols(), &signs),
            true => {
                let costs: Vec<f64> = rows.iter().map(|&i| sides.costs[i]).collect();
                let chosen = if rows.len() == coordinates.rows() { None } else { Some(coordinates.select(&rows)) };
                let problem = MarginProblem { rows: chosen.as_ref().unwrap_or(coordinates), signs: &signs, costs: &costs, margins: None };
                solver(&problem)
            }
        };
        watch.report("solving", done.fetch_add(1, Ordering::Relaxed) + 1, Some(count as u64), None);
        OutputMachine { rows, signs, solution }
    };
    (0..count).into_par_iter().with_max_len(1).map(solve).collect()
}

fn constant(m: usize, signs: &[f64]) -> MarginSolution {
    let (weights, multipliers, offset) = (vec![0.0; m], vec![0.0; signs.len()], signs.first().copied().unwrap_or(0.0));
    MarginSolution { weights, offset, multipliers, primal: 0.0, dual: 0.0, iterations: 0, status: Status::Converged }
}

/// The weights, one column for each output.
pub(crate) fn weights_of(machines: &[OutputMachine]) -> Matrix {
    let m = machines.first().map_or(0, |machine| machine.solution.weights.len());
    Matrix::from_fn(m, machines.len(), |j, k| machines[k].solution.weights[j])
}

/// The offset of each output.
pub(crate) fn offsets_of(machines: &[OutputMachine]) -> Vec<f64> {
    machines.iter().map(|machine| machine.solution.offset).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Label;

    #[test]
    fn each_output_has_its_rows_and_an_output_without_one_side_is_constant() {
        let labels: Vec<Label> = ["a", "b", "c"].map(Label::new).to_vec();
        let decision = Decision::Votes { labels };
        let rows = Matrix::from_fn(20, 2, |i, j| ((3 * i + j) as f64).sin() + if j == 0 { (i % 2) as f64 } else { 0.0 });
        let classes: Vec<usize> = (0..20).map(|i| i % 2).collect();
        let sides = Sides { decision: &decision, classes: &classes, costs: &[1.0; 20] };
        assert_eq!(sides.one_sided(), Some(1));
        let machines = solve_outputs(&rows, &sides, &MarginSettings::default(), &Watch::none());
        assert_eq!((machines.len(), machines[0].rows.len(), machines[1].rows.len()), (3, 20, 10));
        // Class c has no rows: the pairs (a, c) and (b, c) always vote for the class that has.
        assert_eq!((machines[1].solution.offset, machines[2].solution.offset), (1.0, 1.0));
        assert_eq!(weights_of(&machines).col(1), [0.0, 0.0]);
        assert!(machines[0].solution.relative_gap() <= 1e-9 && offsets_of(&machines)[0] != 1.0);
        // A row without cost counts for nothing.
        let costs: Vec<f64> = (0..20).map(|i| f64::from(i > 0)).collect();
        let fewer = solve_outputs(&rows, &Sides { costs: &costs, ..sides }, &MarginSettings::default(), &Watch::none());
        assert_eq!(fewer[0].rows, (1..20).collect::<Vec<_>>());
    }
}
