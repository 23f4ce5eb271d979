//! The exact solution with the most zero coefficients, where it can be found by trying.
//!
//! Where the kernel matrix is not of full rank, many coefficients give the same machine, and the one with the fewest vectors may have fewer than the rank
//! [Schoelkopf1998 (footnote 1)]. In the coordinates of a largest independent set the vectors are rows c_i of r numbers and the weight vectors are `w_k = sum_i
//! alpha_ik c_i`: the fewest rows whose span has all w_k are searched by trying all sets of one row, of two, and so on, as long as there are not too many. Beyond that
//! the problem is hard, and the independent set is what is left.
//!
//! Cost: at most [`MOST_SETS`] steps of r s operations for each size s.
use crate::linalg::{Matrix, dot};

/// The most sets of one size that are tried.
const MOST_SETS: f64 = 200_000.0;

/// What may be left of the squared length of a weight vector, and of a row that lies in the span of others.
const NOTHING: f64 = 1e-18;

/// The fewest rows of `coordinates` whose span has all rows of `weights`, where they are fewer than `rank` and can be found.
pub(super) fn sparsest(coordinates: &Matrix, weights: &Matrix, rank: usize) -> Option<Vec<usize>> {
    let mut sets = 1.0;
    for size in 1..rank {
        sets *= (coordinates.rows() + 1).saturating_sub(size) as f64 / size as f64;
        if sets > MOST_SETS {
            return None;
        }
        let lengths = weights.iter().map(|w| dot(w, w)).collect();
        let mut search = Search { coordinates, lengths, chosen: vec![], directions: vec![] };
        if search.complete(0, size, weights) {
            return Some(search.chosen);
        }
    }
    None
}

/// Sets that begin with the rows chosen so far.
struct Search<'a> {
    coordinates: &'a Matrix,
    /// Squared lengths of the weight vectors.
    lengths: Vec<f64>,
    chosen: Vec<usize>,
    /// An orthonormal basis of the rows chosen.
    directions: Vec<Vec<f64>>,
}

impl Search<'_> {
    /// True where `more` rows from `first` on explain what is `left` of the weight vectors; they are then chosen.
    fn complete(&mut self, first: usize, more: usize, left: &Matrix) -> bool {
        if more == 0 {
            return left.iter().zip(&self.lengths).all(|(rest, length)| dot(rest, rest) <= NOTHING * length);
        }
        for i in first..self.coordinates.rows() {
            let Some(direction) = self.direction(i) else { continue };
            let rest = without(left, &direction);
            self.chosen.push(i);
            self.directions.push(direction);
            if self.complete(i + 1, more - 1, &rest) {
                return true;
            }
            self.chosen.pop();
            self.directions.pop();
        }
        false
    }

    /// The part of row i outside the span, of length 1; none where there is nothing.
    fn direction(&self, i: usize) -> Option<Vec<f64>> {
        let mut row = self.coordinates.row(i).to_vec();
        let length = dot(&row, &row);
        for direction in &self.directions {
            let part = dot(direction, &row);
            row.iter_mut().zip(direction).for_each(|(value, d)| *value -= part * d);
        }
        let rest = dot(&row, &row);
        if rest <= NOTHING * length {
            return None;
        }
        row.iter_mut().for_each(|value| *value /= rest.sqrt());
        Some(row)
    }
}

/// The rows without their parts along a direction.
fn without(rows: &Matrix, direction: &[f64]) -> Matrix {
    let mut rest = rows.clone();
    for k in 0..rest.rows() {
        let part = dot(rest.row(k), direction);
        rest.row_mut(k).iter_mut().zip(direction).for_each(|(value, d)| *value -= part * d);
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        compress::{Budget, Sparsifier, Task, select::Independent, toy},
        kernel::Kernel,
        linalg::Cholesky,
        machine::{Coefficients, residual, squared_norm},
        watch::Watch,
    };

    #[test]
    fn footnote_1_a_machine_of_few_vectors_hidden_in_many_coefficients_is_found() {
        for outputs in [1, 2] {
            let mut machine = toy::machine(Kernel::named("linear", 1.0, 0, 0.0).unwrap(), 40, outputs);
            let points = machine.expansion.vectors.to_dense();
            let d = points.cols();
            // Weight vectors of rows 7 and 20, or of one of them, written with all rows: random coefficients, and what they lack.
            let wanted = |k: usize, j: usize| 2.0 * points.at(7, j) - 3.0 * k as f64 * points.at(20, j);
            let start = machine.expansion.coefficients.to_dense();
            let lacking = Matrix::from_fn(d, outputs, |j, k| wanted(k, j) - (0..40).map(|i| start.at(i, k) * points.at(i, j)).sum::<f64>());
            let normal = Matrix::from_fn(d, d, |a, b| (0..40).map(|i| points.at(i, a) * points.at(i, b)).sum());
            let mut solved = lacking.clone();
            Cholesky::new(&normal).unwrap().solve(&mut solved);
            let hidden = |i: usize, k: usize| start.at(i, k) + (0..d).map(|j| points.at(i, j) * solved.at(j, k)).sum::<f64>();
            machine.expansion.coefficients = Coefficients::Dense(Matrix::from_fn(40, outputs, hidden));
            let path = Independent::default().sparsify(&Task::of(&machine), &Budget::default(), &Watch::none()).unwrap();
            let mut chosen = path.chosen.clone();
            chosen.sort_unstable();
            assert_eq!(chosen, if outputs == 1 { vec![7] } else { vec![7, 20] });
            let whole: f64 = squared_norm(&machine.expansion).unwrap().iter().sum();
            assert!(residual(&machine.expansion, &path.last().unwrap().expansion).unwrap() < 1e-12 * whole);
        }
    }

    #[test]
    fn the_fewest_rows_are_found_or_none_where_there_are_no_fewer_than_the_rank() {
        let rows = Matrix::from_fn(12, 4, |i, j| ((i * i * 7 + 3 * j * j + 5 * i * j + 1) as f64 * 1.37).sin());
        let combined = |places: &[usize]| Matrix::from_fn(1, 4, |_, j| places.iter().map(|&i| (i + 1) as f64 * rows.at(i, j)).sum());
        for places in [vec![3], vec![2, 9], vec![1, 5, 11]] {
            assert_eq!(sparsest(&rows, &combined(&places), 4), Some(places));
        }
        let generic = Matrix::from_fn(1, 4, |_, j| (j as f64 * 2.2 + 0.4).cos());
        assert_eq!(sparsest(&rows, &generic, 4), None);
        assert_eq!(
            sparsest(&Matrix::from_fn(2000, 6, |i, j| ((i + 7 * j) as f64).sin()), &Matrix::from_fn(1, 6, |_, j| j as f64), 6),
            None
        );
    }
}
