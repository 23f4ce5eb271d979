//! Where the search for a new vector begins.
use super::{residual::Residual, target::Target};
use crate::{
    Error, Result, basis::KMeans, compress::Task, data::Points, draw::Draw, kernel::block::block, linalg::Matrix, machine::inner_products,
    watch::Watch,
};

/// Points that searches begin at.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum StartsFrom {
    /// The machine's vectors, or the candidates of the task: the one that explains most, the others at random.
    #[default]
    Vectors,
    /// Centres of clusters of them.
    KMeans,
    /// These, in the space of the machine's vectors.
    Given(Points),
}

/// How many searches there are for each vector, and where they begin.
#[derive(Clone, Debug, PartialEq)]
pub struct Starts {
    /// Where from.
    pub from: StartsFrom,
    /// How many at most; the best result is kept.
    pub count: usize,
    /// Seed of what is drawn.
    pub seed: u64,
}

/// More starts than this are a slip of the keyboard.
const MOST: usize = 1_000_000;

impl Default for Starts {
    fn default() -> Self {
        Starts { from: StartsFrom::Vectors, count: 10, seed: 0 }
    }
}

impl Starts {
    /// An error when there is no start.
    pub fn check(&self) -> Result<()> {
        match (self.count, &self.from) {
            (0, _) => Err(Error::parameter("starts", 0, "at least 1")),
            (MOST.., _) => {
                Err(Error::parameter("starts", self.count, format!("below {MOST}: each is a search of its own for every vector")))
            }
            (_, StartsFrom::Given(points)) if points.is_empty() => Err(Error::data("there are no points to start from")),
            _ => Ok(()),
        }
    }
}

/// Points to start from, with what the residual is there.
pub(super) struct Pool {
    points: Points,
    /// p at each point: one row a point.
    unexplained: Matrix,
    /// Frame coordinates of the points, one axis after the other.
    axes: Vec<f64>,
    draw: Draw,
    count: usize,
}

impl Pool {
    pub fn new(starts: &Starts, task: &Task, target: &Target, watch: &Watch) -> Result<Pool> {
        let points = match &starts.from {
            StartsFrom::Vectors => task.candidates().clone(),
            StartsFrom::KMeans => KMeans { seed: starts.seed, ..KMeans::default() }.centres(task.candidates(), starts.count, watch)?.into(),
            StartsFrom::Given(points) => points.clone(),
        };
        points.check_finite()?;
        if points.dim() != target.shift.len() {
            return Err(Error::Shape { what: "features of the starts", expected: target.shift.len(), found: points.dim() });
        }
        let own = task.candidates.is_none() && starts.from == StartsFrom::Vectors;
        let unexplained = if own { target.values.clone() } else { inner_products(&task.machine.expansion, &points)? };
        Ok(Pool { points, unexplained, axes: vec![], draw: Draw::seeded(starts.seed), count: starts.count })
    }

    /// The next starts: the point that explains most, then others at random, none twice.
    pub fn draw(&mut self, target: &Target) -> Matrix {
        let n = self.points.len();
        let square = |row: &[f64]| row.iter().map(|v| v * v).sum::<f64>();
        let squares = self.unexplained.iter().map(square).enumerate();
        let best = squares.fold((0, 0.0), |best, next| if next.1 > best.1 { next } else { best }).0;
        let mut order: Vec<usize> = (0..n).filter(|&i| i != best).collect();
        let others = order.len().min(self.count.saturating_sub(1));
        for i in 0..others {
            let j = i + self.draw.below(order.len() - i);
            order.swap(i, j);
        }
        let chosen: Vec<usize> = std::iter::once(best).chain(order.into_iter().take(others)).collect();
        target.inside(&self.points.select(&chosen))
    }

    /// Takes the newest vector of the residual into account. Cost: n (d + m + q).
    pub fn take_off(&mut self, residual: &Residual, z: &[f64], row: &[f64], y: &[f64]) {
        let (n, target) = (self.points.len(), residual.target());
        let vector = target.outside(Matrix::new(z.to_vec(), 1, z.len()).unwrap_or_default());
        let mut axis = block(&target.kernel, &self.points, &vector).into_values();
        let Some((root, weights)) = row.split_last() else { return };
        for (weight, before) in weights.iter().zip(self.axes.chunks_exact(n)) {
            axis.iter_mut().zip(before).for_each(|(a, b)| *a -= weight * b);
        }
        axis.iter_mut().for_each(|a| *a /= root);
        for (i, a) in axis.iter().enumerate() {
            self.unexplained.row_mut(i).iter_mut().zip(y).for_each(|(r, y)| *r -= a * y);
        }
        self.axes.extend(axis);
    }
}
