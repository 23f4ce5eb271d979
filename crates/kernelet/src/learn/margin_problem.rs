//! Sums of hinge losses on given coordinates, the problem of [`margin`](super::margin) [Wu2006 (28)].
use std::borrow::Cow;

use crate::linalg::{Matrix, times, transposed_times};

/// Rows, and for each term of the loss a sign, a margin and the cost of an error. There is a term for each row, or several all rows one after the other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MarginProblem<'a> {
    /// One row of coordinates each.
    pub rows: &'a Matrix,
    /// +1 or -1.
    pub signs: &'a [f64],
    /// The cost of each term's margin error, above 0.
    pub costs: &'a [f64],
    /// The margin of each term; none where all are 1.
    pub margins: Option<&'a [f64]>,
}

impl MarginProblem<'_> {
    /// The number of terms.
    pub fn len(&self) -> usize {
        self.signs.len()
    }

    /// The row of a term.
    pub fn row(&self, term: usize) -> usize {
        term % self.rows.rows().max(1)
    }

    /// The margin of a term.
    pub fn margin(&self, term: usize) -> f64 {
        self.margins.map_or(1.0, |margins| margins[term])
    }

    /// The largest margin, the size of things; 1 where all are 0.
    pub fn size(&self) -> f64 {
        let largest = self.margins.map_or(1.0, |margins| margins.iter().fold(0.0, |most: f64, margin| most.max(margin.abs())));
        if largest > 0.0 { largest } else { 1.0 }
    }

    /// `w.v` of every term.
    pub fn values(&self, weights: &[f64]) -> Vec<f64> {
        let values = times(self.rows, weights);
        match self.len() == values.len() {
            true => values,
            false => (0..self.len()).map(|term| values[self.row(term)]).collect(),
        }
    }

    /// The sum of the rows with these factors of their terms.
    pub fn sum(&self, factors: &[f64]) -> Vec<f64> {
        transposed_times(self.rows, &self.by_row(factors))
    }

    /// The sum of the numbers of the terms of each row.
    pub fn by_row<'b>(&self, numbers: &'b [f64]) -> Cow<'b, [f64]> {
        let n = self.rows.rows();
        if numbers.len() == n {
            return Cow::Borrowed(numbers);
        }
        Cow::Owned((0..n).map(|i| numbers.iter().skip(i).step_by(n).sum()).collect())
    }
}

/// The offset of least loss for given values: the loss is a convex chain of straight pieces whose slope changes at `y_i t_i - f_i`.
pub(crate) fn best_offset(values: &[f64], problem: &MarginProblem) -> f64 {
    let mut corners: Vec<(f64, f64)> =
        (0..values.len()).map(|i| (problem.signs[i] * problem.margin(i) - values[i], problem.costs[i])).collect();
    corners.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let mut slope: f64 = -problem.costs.iter().zip(problem.signs).filter(|(_, y)| **y > 0.0).map(|(c, _)| c).sum::<f64>();
    let tolerance = 1e-12 * problem.costs.iter().sum::<f64>();
    for (i, (corner, cost)) in corners.iter().enumerate() {
        slope += cost;
        if slope.abs() <= tolerance {
            return corners.get(i + 1).map_or(*corner, |next| 0.5 * (corner + next.0));
        }
        if slope > 0.0 {
            return *corner;
        }
    }
    corners.last().map_or(0.0, |corner| corner.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draw::Draw;

    #[test]
    fn the_best_offset_is_the_best_of_a_fine_grid() {
        let mut draw = Draw::seeded(9);
        let signs: Vec<f64> = (0..40).map(|_| if draw.chance(0.4) { 1.0 } else { -1.0 }).collect();
        let rows = Matrix::column(signs.iter().map(|y| y + draw.normal()).collect());
        let costs: Vec<f64> = (0..40).map(|i| 1.0 + (i % 4) as f64).collect();
        let problem = MarginProblem { rows: &rows, signs: &signs, costs: &costs, margins: None };
        let values = rows.col(0);
        let loss = |b: f64| -> f64 { (0..40).map(|i| costs[i] * (1.0 - signs[i] * (values[i] + b)).max(0.0)).sum() };
        let best = loss(best_offset(&values, &problem));
        assert!((-4000..4000).all(|k| loss(f64::from(k) * 1e-3) >= best - 1e-9));
    }

    #[test]
    fn a_row_with_two_terms_is_the_same_as_a_row_written_twice() {
        let mut draw = Draw::seeded(2);
        let rows = Matrix::from_fn(7, 3, |_, _| draw.normal());
        let twice = rows.select(&(0..14).map(|i| i % 7).collect::<Vec<_>>());
        let numbers: Vec<f64> = (0..14).map(|_| draw.normal()).collect();
        let (signs, weights) = ([1.0; 14], [0.5, -1.0, 2.0]);
        let of = |rows| MarginProblem { rows, signs: &signs, costs: &signs, margins: Some(&numbers) };
        let (short, long) = (of(&rows), of(&twice));
        assert_eq!(short.values(&weights), long.values(&weights));
        assert!(short.sum(&numbers).iter().zip(long.sum(&numbers)).all(|(a, b)| (a - b).abs() < 1e-14));
        assert_eq!(short.size(), numbers.iter().fold(0.0, |most: f64, number| most.max(number.abs())));
        assert_eq!(of(&rows).row(9), 2);
    }
}
