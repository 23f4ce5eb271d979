//! A basis for points that arrive in blocks and are not kept.
//!
//! A point joins the basis when its squared distance from the span of those that have joined, `k(x, x) - |L^-1 k_z(x)|^2`, is at least
//! epsilon. The span only grows, so that after one pass every point that was seen is nearer than epsilon to it. [Franc2003 (Section 3)] names this
//! form. The basis depends on the order of the points, and is larger than the greedy one for the same epsilon.
//!
//! Cost of a block of b points: b m (d + m), and b (d + m) for each that joins. Memory: b m + m^2 + m d numbers.
use crate::parallel::*;

use super::{Basis, BasisBudget, BasisMethod, DEPENDENT, Frame, JITTER};
use crate::{
    Error, Result,
    data::{Csr, Points},
    error::require_positive,
    kernel::{
        Kernel,
        block::{CHUNK, Columns, Scratch, diagonal},
    },
    linalg::{Factor, Matrix, dot},
    watch::Watch,
};

/// The online form as a method: the points that join in one pass over the rows, with the largest error of the budget as epsilon.
#[derive(Clone, Debug, Default)]
pub struct OnePass {}

impl BasisMethod for OnePass {
    fn name(&self) -> &'static str {
        "online-basis"
    }

    fn choose(&self, kernel: &Kernel, points: &Points, budget: &BasisBudget, watch: &Watch) -> Result<Basis> {
        budget.check(kernel, points)?;
        let mut online = OnlineBasis::new(kernel, budget.max_error)?;
        online.push_block(points)?;
        let chosen: Vec<usize> = online.joined().iter().copied().take(budget.max_vectors).collect();
        watch.evaluated((chosen.len() * points.len()) as u64);
        Basis::of_vectors(kernel, points, &points.select(&chosen), chosen, JITTER)
    }
}

/// The basis of the points seen so far.
pub struct OnlineBasis {
    kernel: Kernel,
    epsilon: f64,
    vectors: Vec<Points>,
    factor: Factor,
    joined: Vec<usize>,
    seen: usize,
}

impl OnlineBasis {
    /// An empty basis; `epsilon`, above 0, is the squared distance from which points join.
    pub fn new(kernel: &Kernel, epsilon: f64) -> Result<Self> {
        require_positive("epsilon", epsilon)?;
        BasisBudget::vectors(1).check_for(kernel)?;
        Ok(OnlineBasis { kernel: kernel.clone(), epsilon, vectors: vec![], factor: Factor::default(), joined: vec![], seen: 0 })
    }

    /// Number of vectors.
    pub fn len(&self) -> usize {
        self.joined.len()
    }

    /// True before the first vector.
    pub fn is_empty(&self) -> bool {
        self.joined.is_empty()
    }

    /// Which of all points seen have joined, counted from 0.
    pub fn joined(&self) -> &[usize] {
        &self.joined
    }

    /// Number of points seen.
    pub fn seen(&self) -> usize {
        self.seen
    }

    /// Looks at a block of points, in order; returns how many joined. A block that is rejected leaves the basis as it was.
    pub fn push_block(&mut self, points: &Points) -> Result<usize> {
        if points.is_empty() {
            return Ok(0);
        }
        BasisBudget::vectors(1).check(&self.kernel, points)?;
        if let Some(first) = self.vectors.first().filter(|first| first.dim() != points.dim()) {
            return Err(Error::Shape { what: "features of the block", expected: first.dim(), found: points.dim() });
        }
        let squares = diagonal(&self.kernel, points);
        let old = self.frame();
        let coordinates = old.as_ref().map(|frame| frame.coordinates(points)).unwrap_or_else(|| Matrix::zeros(points.len(), 0));
        let mut gaps: Vec<f64> = coordinates.iter().zip(&squares).map(|(c, k)| k - dot(c, c)).collect();
        // Coordinates along the vectors that join in this block, one list of all points for each.
        let (mut axes, mut new): (Vec<Vec<f64>>, Vec<usize>) = (vec![], vec![]);
        for i in 0..points.len() {
            if gaps[i] < self.epsilon || gaps[i] <= DEPENDENT * squares[i] {
                continue;
            }
            let root = gaps[i].sqrt();
            let mut row: Vec<f64> = coordinates.row(i).iter().copied().chain(axes.iter().map(|axis| axis[i])).collect();
            let axis = self.axis(points, i, &coordinates, &axes, root);
            gaps.iter_mut().zip(&axis).for_each(|(gap, c)| *gap -= c * c);
            row.push(root);
            self.factor.push(&row);
            axes.push(axis);
            new.push(i);
        }
        self.joined.extend(new.iter().map(|i| self.seen + i));
        self.seen += points.len();
        if !new.is_empty() {
            self.vectors.push(points.select(&new));
        }
        Ok(new.len())
    }

    /// The coordinate of every point of the block along point `i`, which joins.
    fn axis(&self, points: &Points, i: usize, coordinates: &Matrix, axes: &[Vec<f64>], root: f64) -> Vec<f64> {
        let column = Columns::new(&self.kernel, &points.select(&[i]));
        let mut axis = vec![0.0; points.len()];
        axis.par_chunks_mut(CHUNK).enumerate().for_each_init(Scratch::default, |scratch, (c, axis)| {
            let first = c * CHUNK;
            column.fill(points, first..first + axis.len(), axis, scratch);
            for (j, value) in axis.iter_mut().enumerate() {
                let earlier: f64 = axes.iter().map(|earlier| earlier[first + j] * earlier[i]).sum();
                *value = (*value - dot(coordinates.row(first + j), coordinates.row(i)) - earlier) / root;
            }
        });
        axis
    }

    /// The vectors in the order in which they joined; sparse where all blocks were.
    pub fn vectors(&self) -> Option<Points> {
        let dim = self.vectors.first()?.dim();
        if let Some(rows) = sparse(&self.vectors, dim) {
            return Some(rows);
        }
        let values: Vec<f64> = self.vectors.iter().flat_map(|block| block.to_dense().into_values()).collect();
        Matrix::new(values, self.len(), dim).map(Points::from)
    }

    /// The frame of the vectors; none before the first.
    pub fn frame(&self) -> Option<Frame> {
        Some(Frame::of(&self.kernel, &self.vectors()?, self.factor.to_lower(self.len())))
    }
}

/// All blocks in one, where all are sparse.
fn sparse(blocks: &[Points], dim: usize) -> Option<Points> {
    let (mut starts, mut columns, mut values) = (vec![0], vec![], vec![]);
    for block in blocks {
        let Points::Sparse(rows) = block else { return None };
        for i in 0..rows.len() {
            let (c, v) = rows.row(i);
            columns.extend_from_slice(c);
            values.extend_from_slice(v);
            starts.push(values.len());
        }
    }
    Csr::new(starts, columns, values, dim).ok().map(Points::Sparse)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{data::banana, kernel::block::symmetric, linalg::Cholesky};

    /// The rule as it is written: one point after the other, every error from the inverse of the kernel matrix.
    fn literal(kernel: &Kernel, points: &Points, epsilon: f64) -> Vec<usize> {
        let k = symmetric(kernel, points);
        let mut joined: Vec<usize> = vec![];
        for x in 0..points.len() {
            let z = Matrix::from_fn(joined.len(), joined.len(), |i, j| k.at(joined[i], joined[j]));
            let column = Matrix::from_fn(joined.len(), 1, |i, _| k.at(joined[i], x));
            let mut solved = column.clone();
            if !joined.is_empty() {
                Cholesky::new(&z).unwrap().solve(&mut solved);
            }
            if k.at(x, x) - dot(column.values(), solved.values()) >= epsilon {
                joined.push(x);
            }
        }
        joined
    }

    #[test]
    fn as_a_method_it_is_one_pass_and_leaves_no_row_farther_than_epsilon() {
        let (points, kernel) = (crate::data::banana(150, 1).points, Kernel::gaussian(1.0));
        let basis = OnePass {}.choose(&kernel, &points, &BasisBudget { max_vectors: usize::MAX, max_error: 0.1 }, &Watch::none()).unwrap();
        let mut blocks = OnlineBasis::new(&kernel, 0.1).unwrap();
        for first in (0..150).step_by(40) {
            blocks.push_block(&points.select(&(first..(first + 40).min(150)).collect::<Vec<_>>())).unwrap();
        }
        assert_eq!((&basis.chosen[..], basis.chosen[0]), (blocks.joined(), 0));
        assert!(basis.largest_error() <= 0.1 * (1.0 + 1e-9) && basis.frame.len() < 100, "{}", basis.frame.len());
        assert!(OnePass {}.choose(&kernel, &points, &BasisBudget::vectors(5), &Watch::none()).is_err());
    }

    #[test]
    fn blocks_of_any_size_join_what_the_literal_rule_joins_and_leave_every_error_below_the_bound() {
        let dense = banana(300, 4).points;
        let sparse: Points = Csr::from_dense(&dense.to_dense()).into();
        for (kernel, epsilon) in [(Kernel::gaussian(1.0), 0.05), (Kernel::named("polynomial", 1.0, 2, 1.0).unwrap(), 0.01)] {
            let want = literal(&kernel, &dense, epsilon);
            for points in [&dense, &sparse] {
                for size in [1, 7, 64, 300] {
                    let mut basis = OnlineBasis::new(&kernel, epsilon).unwrap();
                    let mut count = 0;
                    for first in (0..300).step_by(size) {
                        let block = points.select(&(first..(first + size).min(300)).collect::<Vec<_>>());
                        count += basis.push_block(&block).unwrap();
                    }
                    assert_eq!((basis.joined(), basis.seen(), count), (&want[..], 300, basis.len()), "{} {size}", kernel.name());
                    let frame = basis.frame().unwrap();
                    assert_eq!(frame.vectors().to_dense(), dense.select(&want).to_dense());
                    assert!(frame.gaps(&dense).iter().all(|gap| *gap < epsilon), "{} {size}", kernel.name());
                }
            }
        }
    }

    #[test]
    fn bad_blocks_and_bounds_are_rejected_with_an_error_and_change_nothing() {
        let kernel = Kernel::gaussian(1.0);
        assert!(OnlineBasis::new(&kernel, 0.0).is_err() && OnlineBasis::new(&kernel, f64::NAN).is_err());
        assert!(OnlineBasis::new(&Kernel::named("sigmoid", 1.0, 0, 0.5).unwrap(), 0.1).is_err());
        let mut basis = OnlineBasis::new(&kernel, 0.1).unwrap();
        assert!(basis.is_empty() && basis.frame().is_none());
        assert_eq!(basis.push_block(&Matrix::<f64>::zeros(0, 2).into()).unwrap(), 0);
        assert_eq!(basis.push_block(&Matrix::<f64>::zeros(5, 2).into()).unwrap(), 1);
        let wrong = basis.push_block(&Matrix::<f64>::zeros(5, 3).into()).unwrap_err();
        assert_eq!(wrong.to_string(), "features of the block: expected 2, found 3");
        assert!(basis.push_block(&Matrix::from_fn(2, 2, |i, _| if i == 1 { f64::NAN } else { 0.0 }).into()).is_err());
        assert_eq!((basis.len(), basis.seen(), basis.joined()), (1, 5, &[0][..]));
    }
}
