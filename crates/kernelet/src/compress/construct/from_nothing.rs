//! Refinement as a method of its own, from clusters or random vectors: no first phase.
use super::refine::{Refinement, refine};
use crate::{
    Result,
    basis::{KMeans, distinct_rows},
    compress::{Budget, Path, Refit, Sparsifier, Task, budget::Spending, refit},
    data::Points,
    linalg::Matrix,
    machine::{Coefficients, Expansion, Machine, residual, squared_norm},
    watch::{Status, Watch},
};

/// Vectors that refinement begins with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RefineFrom {
    /// Centres of clusters of the machine's vectors, or of the candidates of the task.
    #[default]
    KMeans,
    /// Some of them, at random.
    Random,
}

/// Refinement as a method of its own.
#[derive(Clone, Debug, Default)]
pub struct Refine {
    /// How vectors are refined.
    pub how: Refinement,
    /// Where it begins.
    pub from: RefineFrom,
    /// Machines of 1, 2, 4, .. vectors up to the most; without, the largest alone, unless a residual is to be reached.
    pub grid: bool,
    /// Seed of clusters and draws.
    pub seed: u64,
}

impl Sparsifier for Refine {
    fn name(&self) -> &'static str {
        "refine"
    }

    fn check(&self) -> Result<()> {
        self.how.check()
    }

    fn sparsify(&self, task: &Task, budget: &Budget, watch: &Watch) -> Result<Path> {
        self.check()?;
        budget.check()?;
        task.check()?;
        let spending = Spending::begin(budget);
        let start: f64 = squared_norm(&task.machine.expansion)?.iter().sum();
        let most = budget.max_vectors.min(task.candidates().len());
        let mut size = if self.grid || budget.max_residual > 0.0 { 1 } else { most };
        let (mut levels, mut residuals, mut status): (Vec<Expansion>, Vec<f64>, Status) = (vec![], vec![], Status::Converged);
        loop {
            let refined = refine(&self.begin(task, size, watch)?, &self.how, task, watch)?;
            status = status.worse(refined.status);
            let reached = residual(&task.machine.expansion, &refined.machine.expansion)?;
            // Fewer distinct points than asked for give the same machine again.
            if levels.last().is_none_or(|last| last.vectors.len() < refined.machine.n_vectors()) {
                levels.push(refined.machine.expansion);
                residuals.push(reached);
            }
            if size >= most || spending.is_spent(size, reached / start) || watch.cancelled() {
                return Ok(Path::list(task.machine, levels, residuals, start).ended(vec![], watch.ended(status)));
            }
            size = (2 * size).min(most);
        }
    }
}

impl Refine {
    fn begin(&self, task: &Task, size: usize, watch: &Watch) -> Result<Machine> {
        let points = task.candidates();
        let vectors: Points = match self.from {
            RefineFrom::KMeans => KMeans { seed: self.seed, ..KMeans::default() }.centres(points, size, watch)?.into(),
            RefineFrom::Random => points.select(&distinct_rows(points, size, self.seed)),
        };
        let coefficients = Coefficients::Dense(Matrix::zeros(vectors.len(), task.machine.n_outputs()));
        let expansion = Expansion { kernel: task.machine.expansion.kernel.clone(), vectors, coefficients };
        let machine = Machine { expansion, ..task.machine.uncalibrated() };
        refit(&machine, Refit::Projection, task, None, watch)
    }
}
