//! Randomly pivoted Cholesky: the next point is drawn with probability in proportion to its squared distance from the span
//! (Chen, Epperly, Tropp, Webber 2022). It costs what greedy choice costs, and its mean error is near the best that is possible.
//!
//! With blocks (Epperly, Tropp, Webber 2024) several points are proposed at once and each is kept with the probability that makes the result
//! distributed as one by one; the work is then in matrix products. Cost either way: n m (d + m) time, n m numbers.
use rayon::prelude::*;

use super::{
    super::basis::{Basis, BasisBudget, BasisMethod},
    greedy_basis::grow,
    kmeans::drawn,
};
use crate::{
    Result,
    data::{Points, draw::Draw},
    frame::DEPENDENT,
    kernel::{
        Kernel,
        block::{Columns, Scratch, diagonal, symmetric},
    },
    linalg::{Factor, Lower, Matrix, Product, Real, dot},
    watch::{Status, Watch},
};

/// Rows of one unit of work.
const CHUNK: usize = 512;

/// Randomly pivoted Cholesky.
#[derive(Clone, Debug, Default)]
pub struct RpCholesky {
    /// Points proposed at once; 1 is the plain form. None: an eighth of the vectors asked for.
    pub block: Option<usize>,
    /// Seed of the draws.
    pub seed: u64,
}

impl BasisMethod for RpCholesky {
    fn name(&self) -> &'static str {
        "rpcholesky"
    }

    fn choose(&self, kernel: &Kernel, points: &Points, budget: &BasisBudget, watch: &Watch) -> Result<Basis> {
        budget.check(kernel, points)?;
        let mut draw = Draw::seeded(self.seed);
        let most = budget.max_vectors.min(points.len());
        match self.block.unwrap_or(most / 8).clamp(1, most) {
            1 => Ok(grow(
                kernel,
                points,
                budget,
                |growth| {
                    let target = draw.uniform() * growth.gaps().iter().sum::<f64>();
                    drawn(growth.gaps(), target)
                },
                watch,
            )),
            block => Ok(Blocks::new(kernel, points, most).run(block, budget, &mut draw, watch)),
        }
    }
}

/// The basis so far, in the form that blocks need: the coordinates of all points row by row.
struct Blocks<'a> {
    kernel: &'a Kernel,
    points: &'a Points,
    /// n rows of `most` numbers, of which the first are filled.
    coordinates: Matrix,
    squares: Vec<f64>,
    gaps: Vec<f64>,
    chosen: Vec<usize>,
}

impl<'a> Blocks<'a> {
    fn new(kernel: &'a Kernel, points: &'a Points, most: usize) -> Self {
        let squares = diagonal(kernel, points);
        Blocks { kernel, points, coordinates: Matrix::zeros(points.len(), most), gaps: squares.clone(), squares, chosen: vec![] }
    }

    fn run(mut self, block: usize, budget: &BasisBudget, draw: &mut Draw, watch: &Watch) -> Basis {
        let (most, mut status) = (self.coordinates.cols(), Status::Converged);
        let mut empty_rounds = 0;
        while self.chosen.len() < most && empty_rounds < 3 {
            if watch.cancelled() && !self.chosen.is_empty() {
                status = Status::Cancelled;
                break;
            }
            let largest = self.gaps.iter().copied().fold(0.0, f64::max);
            if largest <= budget.max_error || largest == 0.0 {
                break;
            }
            let proposed = self.propose(block, draw);
            let (kept, factor) = self.keep(&proposed, most - self.chosen.len(), draw);
            empty_rounds = if kept.is_empty() { empty_rounds + 1 } else { 0 };
            self.add(&kept, &factor.to_lower(kept.len()));
            watch.evaluated((kept.len() * self.points.len()) as u64);
            watch.report("vectors", self.chosen.len() as u64, Some(most as u64), Some(largest));
        }
        self.finish(status)
    }

    /// Distinct points, each drawn in proportion to its distance.
    fn propose(&self, block: usize, draw: &mut Draw) -> Vec<usize> {
        let mut sums = Vec::with_capacity(self.gaps.len());
        let mut sum = 0.0;
        for gap in &self.gaps {
            sum += gap;
            sums.push(sum);
        }
        let mut proposed: Vec<usize> = vec![];
        for _ in 0..block {
            let target = draw.uniform() * sum;
            let place = sums.partition_point(|s| *s <= target).min(sums.len() - 1);
            if !proposed.contains(&place) && self.gaps[place] > DEPENDENT * self.squares[place] {
                proposed.push(place);
            }
        }
        proposed
    }

    /// Goes through the proposals in order: each is kept with probability (distance now) / (distance when proposed). Returns those kept and the
    /// factor of what their kernel matrix has beyond the span.
    fn keep(&self, proposed: &[usize], room: usize, draw: &mut Draw) -> (Vec<usize>, Factor) {
        let m = self.chosen.len();
        let mut rest = symmetric(self.kernel, &self.points.select(proposed));
        for i in 0..proposed.len() {
            for j in 0..=i {
                let known = dot(&self.coordinates.row(proposed[i])[..m], &self.coordinates.row(proposed[j])[..m]);
                rest.row_mut(i)[j] -= known;
            }
        }
        let (mut kept, mut places, mut factor) = (vec![], vec![], Factor::default());
        for (i, &point) in proposed.iter().enumerate() {
            let column = places.iter().map(|&j: &usize| rest.at(i, j)).collect();
            let (mut row, gap) = factor.row_for(column, rest.at(i, i));
            let passes = draw.uniform() * rest.at(i, i) < gap && gap > DEPENDENT * self.squares[point];
            if passes && kept.len() < room {
                row.push(gap.sqrt());
                factor.push(&row);
                kept.push(point);
                places.push(i);
            }
        }
        (kept, factor)
    }

    /// Adds the coordinates along the new vectors: `(K[:, kept] - G G[kept]') T^-T`.
    fn add(&mut self, kept: &[usize], lower: &Lower) {
        let (m, s, most, dim) = (self.chosen.len(), kept.len(), self.coordinates.cols(), self.points.len());
        if s == 0 || dim == 0 {
            return;
        }
        let columns = Columns::new(self.kernel, &self.points.select(kept));
        // Minus the known coordinates of the new vectors, one column for each.
        let minus = Matrix::from_fn(m, s, |i, j| -self.coordinates.row(kept[j])[i]);
        let (points, minus) = (self.points, minus.values());
        let chunks = self.coordinates.values_mut().par_chunks_mut(CHUNK * most).zip(self.gaps.par_chunks_mut(CHUNK)).enumerate();
        chunks.for_each_init(
            || (Scratch::default(), vec![]),
            |(scratch, values), (c, (coordinates, gaps))| {
                values.resize(gaps.len() * s, 0.0);
                columns.fill(points, c * CHUNK..c * CHUNK + gaps.len(), values, scratch);
                f64::add_product(Product { a: coordinates, stride: most, inner: m, b: minus, cols: s }, values);
                lower.solve_rows(values);
                for ((row, new), gap) in coordinates.chunks_exact_mut(most).zip(values.chunks_exact(s)).zip(gaps) {
                    row[m..m + s].copy_from_slice(new);
                    *gap = (*gap - dot(new, new)).max(0.0);
                }
            },
        );
        // A vector has no coordinates along those kept after it; rounding would leave some.
        for (j, &point) in kept.iter().enumerate() {
            let row = self.coordinates.row_mut(point);
            row[m..m + s].fill(0.0);
            row[m..=m + j].copy_from_slice(&lower.matrix().row(j)[..=j]);
            self.gaps[point] = 0.0;
        }
        self.chosen.extend_from_slice(kept);
    }

    fn finish(self, status: Status) -> Basis {
        let (m, most) = (self.chosen.len(), self.coordinates.cols());
        let lower = Matrix::from_fn(m, m, |i, j| if j <= i { self.coordinates.row(self.chosen[i])[j] } else { 0.0 });
        let mut values = self.coordinates.into_values();
        if m < most {
            for i in 0..self.points.len() {
                values.copy_within(i * most..i * most + m, i * m);
            }
            values.truncate(self.points.len() * m);
        }
        let coordinates = Matrix::new(values, self.points.len(), m).unwrap_or_default();
        Basis::of_points(self.kernel, self.points, self.chosen, Lower::new(lower), coordinates, status)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::banana;

    fn basis(block: Option<usize>, seed: u64) -> Basis {
        let points = banana(400, 5).points;
        RpCholesky { block, seed }.choose(&Kernel::gaussian(0.8), &points, &BasisBudget::vectors(40), &Watch::none()).unwrap()
    }

    #[test]
    fn coordinates_and_factor_are_those_of_the_chosen_points_with_and_without_blocks() {
        let points = banana(400, 5).points;
        for block in [Some(1), Some(7), None] {
            let found = basis(block, 3);
            assert_eq!((found.frame.len(), found.chosen.len(), found.coordinates.cols()), (40, 40, 40));
            let again = Basis::of_vectors(&Kernel::gaussian(0.8), &points, &points.select(&found.chosen), vec![], 0.0).unwrap();
            for (a, b) in found.coordinates.values().iter().zip(again.coordinates.values()) {
                assert!((a - b).abs() < 1e-6, "{block:?}: {a} {b}");
            }
            assert!((found.mean_error() - again.mean_error()).abs() < 1e-9);
        }
    }

    #[test]
    fn blocks_leave_the_same_mean_error_as_one_by_one_and_less_than_greedy_choice() {
        let (points, kernel, budget) = (banana(400, 5).points, Kernel::gaussian(1.0), BasisBudget::vectors(20));
        let mean = |method: &dyn Fn(u64) -> Box<dyn BasisMethod>| {
            let error = |seed| method(seed).choose(&kernel, &points, &budget, &Watch::none()).unwrap().mean_error();
            (0..20).map(error).sum::<f64>() / 20.0
        };
        let plain = mean(&|seed| Box::new(RpCholesky { block: Some(1), seed }));
        let blocks = mean(&|seed| Box::new(RpCholesky { block: Some(8), seed }));
        let greedy = mean(&|seed| Box::new(super::super::GreedyBasis { seed }));
        assert!((plain - blocks).abs() < 0.15 * plain && plain < greedy, "{plain} {blocks} {greedy}");
    }

    #[test]
    fn seeds_and_threads_and_few_distinct_points() {
        assert_eq!(basis(None, 1).chosen, basis(None, 1).chosen);
        let alone = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap().install(|| basis(None, 1));
        assert_eq!((alone.chosen, alone.coordinates), (basis(None, 1).chosen, basis(None, 1).coordinates));
        let few: Points = Matrix::from_fn(50, 1, |i, _| (i % 4) as f64).into();
        for block in [Some(1), Some(4)] {
            let found =
                RpCholesky { block, seed: 0 }.choose(&Kernel::gaussian(1.0), &few, &BasisBudget::vectors(20), &Watch::none()).unwrap();
            assert_eq!(found.frame.len(), 4);
            assert!(found.largest_error() < 1e-9);
        }
    }
}
