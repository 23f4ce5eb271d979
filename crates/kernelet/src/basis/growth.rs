//! A basis grown out of candidates: the incremental Cholesky factor of their kernel matrix, one column for each one chosen.
//!
//! Axis i holds the i-th coordinate of every candidate. With d_j the squared distance of candidate j from the span, choosing k adds the
//! axis `(K[:, k] - sum_i axis_i axis_i[k]) / sqrt(d_k)`, and each d falls by the square of its new coordinate.
//!
//! Cost of m choices among n candidates: n m (d + m) time, n m numbers.
use crate::parallel::*;

use super::{
    Basis, DEPENDENT,
    gram::{CHUNK, Gram},
};
use crate::{
    data::Points,
    kernel::{
        Kernel,
        simd::{self, Job, multiply_add},
    },
    linalg::{Factor, Matrix, dot},
    watch::Status,
};

/// What candidates have in a span that was there before.
pub(crate) struct Known {
    /// One row of coordinates for each candidate.
    pub coordinates: Matrix,
    /// The squared distance of each from that span.
    pub gaps: Vec<f64>,
}

/// The basis so far.
pub(crate) struct Growth<'a> {
    gram: Gram<'a>,
    /// Coordinates in a span that was there before; none where there was none.
    known: Option<Matrix>,
    /// One after the other, n numbers each.
    axes: Vec<f64>,
    /// k(x, x) of each candidate.
    squares: Vec<f64>,
    /// The squared distance of each candidate from the span.
    gaps: Vec<f64>,
    chosen: Vec<usize>,
    factor: Factor,
}

impl<'a> Growth<'a> {
    pub fn new(gram: Gram<'a>) -> Self {
        let squares = gram.diagonal();
        Growth { gram, known: None, axes: vec![], gaps: squares.clone(), squares, chosen: vec![], factor: Factor::default() }
    }

    /// Growth beyond a span that was there before: axes, gaps and factor are of what the candidates have beyond it.
    pub fn beyond(gram: Gram<'a>, known: Known) -> Self {
        Growth { known: Some(known.coordinates), gaps: known.gaps, ..Growth::new(gram) }
    }

    /// Number of candidates.
    pub fn candidates(&self) -> usize {
        self.squares.len()
    }

    /// The candidates chosen, in order.
    pub fn chosen(&self) -> &[usize] {
        &self.chosen
    }

    /// k(x, x) of each candidate.
    pub fn squares(&self) -> &[f64] {
        &self.squares
    }

    /// The squared distance of each candidate from the span.
    pub fn gaps(&self) -> &[f64] {
        &self.gaps
    }

    /// True for candidates that lie in the span to working precision; choosing them would wreck the factor.
    pub fn is_dependent(&self, i: usize) -> bool {
        // NaN, which a comparison would let pass, cannot occur: points are checked and gaps are clamped.
        self.gaps[i] <= DEPENDENT * self.squares[i]
    }

    /// The newest axis.
    pub fn axis(&self) -> &[f64] {
        let n = self.candidates();
        &self.axes[self.axes.len().saturating_sub(n)..]
    }

    /// Chooses candidate `k`; false, and no change, when it lies in the span.
    pub fn choose(&mut self, k: usize) -> bool {
        if self.is_dependent(k) {
            return false;
        }
        let (n, m) = (self.candidates(), self.chosen.len());
        let mut row: Vec<f64> = (0..m).map(|i| self.axes[i * n + k]).collect();
        let root = self.gaps[k].sqrt();
        let mut axis = vec![0.0; n];
        self.gram.column(k, &mut axis);
        if let Some(known) = self.known.as_ref().filter(|known| known.cols() > 0) {
            let own = known.row(k);
            axis.par_chunks_mut(CHUNK).zip(known.values().par_chunks(CHUNK * known.cols())).for_each(|(axis, rows)| {
                axis.iter_mut().zip(rows.chunks_exact(known.cols())).for_each(|(value, row)| *value -= dot(row, own));
            });
        }
        let (axes, weights) = (&self.axes, &row);
        axis.par_chunks_mut(CHUNK).zip(self.gaps.par_chunks_mut(CHUNK)).enumerate().for_each(|(c, (axis, gaps))| {
            simd::run(NewAxis { axes, n, first: c * CHUNK, weights, root, axis, gaps });
        });
        axis[k] = root;
        self.gaps[k] = 0.0;
        self.axes.extend_from_slice(&axis);
        row.push(root);
        self.factor.push(&row);
        self.chosen.push(k);
        true
    }

    /// The chosen points as a basis.
    pub fn into_basis(self, kernel: &Kernel, points: &Points, status: Status) -> Basis {
        let (n, m) = (self.candidates(), self.chosen.len());
        let coordinates = Matrix::new(self.axes, m, n).unwrap_or_default().transposed();
        Basis::of_points(kernel, points, self.chosen, self.factor.to_lower(m), coordinates, status)
    }

    /// The coordinates of all candidates, one row for each, the factor of the chosen ones' matrix, and which they are.
    pub fn into_coordinates(self) -> (Matrix, Factor, Vec<usize>) {
        let (n, m) = (self.candidates(), self.chosen.len());
        (Matrix::new(self.axes, m, n).unwrap_or_default().transposed(), self.factor, self.chosen)
    }

    /// The factor of the chosen candidates' matrix.
    pub fn into_factor(self) -> (Factor, Vec<usize>) {
        (self.factor, self.chosen)
    }
}

/// A part of the new axis, and what it takes off the gaps.
struct NewAxis<'a> {
    axes: &'a [f64],
    n: usize,
    first: usize,
    weights: &'a [f64],
    root: f64,
    axis: &'a mut [f64],
    gaps: &'a mut [f64],
}

impl Job for NewAxis<'_> {
    type Output = ();

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let len = self.axis.len();
        let earlier = |i: usize| &self.axes[i * self.n + self.first..][..len];
        // Four earlier axes at a time: the new one is then read and written a quarter as often.
        let (fours, rest) = self.weights.as_chunks::<4>();
        for (f, w) in fours.iter().enumerate() {
            let (a, b, c, d) = (earlier(4 * f), earlier(4 * f + 1), earlier(4 * f + 2), earlier(4 * f + 3));
            for (k, value) in self.axis.iter_mut().enumerate() {
                let two = multiply_add::<FMA>(-w[1], b[k], multiply_add::<FMA>(-w[0], a[k], *value));
                *value = multiply_add::<FMA>(-w[3], d[k], multiply_add::<FMA>(-w[2], c[k], two));
            }
        }
        for (i, &weight) in rest.iter().enumerate() {
            for (value, &e) in self.axis.iter_mut().zip(earlier(4 * fours.len() + i)) {
                *value = multiply_add::<FMA>(-weight, e, *value);
            }
        }
        for (value, gap) in self.axis.iter_mut().zip(self.gaps) {
            *value /= self.root;
            *gap = (*gap - *value * *value).max(0.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::block::symmetric;

    #[test]
    fn coordinates_gaps_and_factor_are_those_of_the_projection() {
        let points: Points = Matrix::from_fn(40, 3, |i, j| ((i * 3 + j) as f64 * 1.7).sin()).into();
        let kernel = Kernel::gaussian(0.7);
        let matrix = symmetric(&kernel, &points);
        for gram in [Gram::of(&kernel, &points), Gram::Matrix(matrix.clone())] {
            let mut growth = Growth::new(gram);
            for k in [3, 17, 0, 39, 25] {
                assert!(growth.choose(k) && !growth.choose(k));
            }
            for j in 0..40 {
                // By definition: the gap is k(x, x) - k' (K^z)^-1 k.
                let mut solved = Matrix::from_fn(5, 1, |i, _| matrix.at(growth.chosen()[i], j));
                let k = solved.col(0);
                let z = Matrix::from_fn(5, 5, |a, b| matrix.at(growth.chosen()[a], growth.chosen()[b]));
                crate::linalg::Cholesky::new(&z).unwrap().solve(&mut solved);
                let gap = 1.0 - dot(&k, solved.values());
                assert!((growth.gaps()[j] - gap).abs() < 1e-12, "{j}");
            }
            let (factor, chosen) = growth.into_factor();
            for i in 0..5 {
                for j in 0..=i {
                    let product = dot(&factor.row(i)[..=j], factor.row(j));
                    assert!((product - matrix.at(chosen[i], chosen[j])).abs() < 1e-13);
                }
            }
        }
    }

    #[test]
    fn duplicates_of_a_chosen_candidate_are_dependent() {
        let points: Points = Matrix::from_fn(6, 2, |i, j| ((i / 2 + j) as f64).sin()).into();
        let mut growth = Growth::new(Gram::of(&Kernel::gaussian(1.0), &points));
        assert!(growth.choose(0) && growth.is_dependent(1) && !growth.choose(1) && growth.choose(2));
    }
}
