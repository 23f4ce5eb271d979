//! Any selection method, on a part of the vectors at a time [Weston2004 (3.6)].
//!
//! The vectors are cut into chunks. A chunk is compressed towards what the machine is without the vectors outside it,
//! `w - sum_outside beta_i Phi(x_i)`, with its share of the budget, while those outside are held fixed; what it could not
//! explain is thereby left to the chunks that follow. After the first pass each chunk has another turn against what the others have
//! become. In the end all vectors found are fitted together, in the order in which they explain most.
//!
//! Cost: that of the method on `size` candidates for each of n / size chunks and each pass, and up to n^2 d for the chunk's target; memory is
//! that of the method on one chunk and m^2 for the last fit, never n^2.
use super::{
    super::{Budget, Path, Sparsifier, Task, budget::Spending},
    independent::ordered,
};
use crate::{
    Error, Result,
    frame::check_definite,
    linalg::Matrix,
    machine::{Coefficients, Decision, Expansion, Machine},
    watch::{Status, Watch},
};

/// A selection method on chunks of the vectors. A budget of residual holds for each chunk.
pub struct Chunked {
    /// The method.
    pub method: Box<dyn Sparsifier>,
    /// Vectors in a chunk.
    pub size: usize,
    /// How often each chunk has its turn.
    pub passes: usize,
}

impl Sparsifier for Chunked {
    fn name(&self) -> &'static str {
        self.method.name()
    }

    fn check(&self) -> Result<()> {
        if self.size == 0 {
            return Err(Error::parameter("chunk", 0, "at least 1"));
        }
        if self.passes == 0 {
            return Err(Error::parameter("passes", 0, "at least 1"));
        }
        self.method.check()
    }

    fn sparsify(&self, task: &Task, budget: &Budget, watch: &Watch) -> Result<Path> {
        self.check()?;
        budget.check()?;
        task.check()?;
        check_definite(&task.machine.expansion.kernel)?;
        if task.candidates.is_some() {
            return Err(Error::Unsupported {
                method: "work in chunks",
                with: "candidates other than the machine's own vectors".into(),
                instead: "leave out the chunks".into(),
            });
        }
        let n = task.machine.vectors();
        if self.size >= n {
            return self.method.sparsify(task, budget, watch);
        }
        let (mut parts, status) = self.turns(task, budget, watch)?;
        parts.sort_unstable();
        ordered(task, &parts, status, None, budget, watch)
    }
}

impl Chunked {
    /// The vectors that all chunks together chose.
    fn turns(&self, task: &Task, budget: &Budget, watch: &Watch) -> Result<(Vec<usize>, Status)> {
        let spending = Spending::begin(budget);
        let n = task.machine.vectors();
        let alpha = task.machine.expansion.coefficients.to_dense();
        // What each vector lacks: alpha - beta, zero before its chunk has had a turn.
        let mut lacking = Matrix::zeros(n, alpha.cols());
        let mut chosen: Vec<Vec<usize>> = vec![vec![]; n.div_ceil(self.size)];
        let (turns, mut status) = (self.passes * chosen.len(), Status::Converged);
        for turn in 0..turns {
            if watch.cancelled() {
                status = Status::Cancelled;
                break;
            }
            if turn > 0 && spending.out_of_time() {
                break;
            }
            let chunk = turn % chosen.len();
            let inside = chunk * self.size..((chunk + 1) * self.size).min(n);
            inside.clone().for_each(|i| lacking.row_mut(i).copy_from_slice(alpha.row(i)));
            let share = share(budget.max_vectors, inside.start, inside.end, n);
            chosen[chunk].clear();
            if share > 0 && lacking.values().iter().any(|v| *v != 0.0) {
                let part = self.chunk(task, &lacking, inside.clone(), &Budget { max_vectors: share, ..budget.clone() }, &watch.silent())?;
                for (&place, beta) in part.chosen.iter().zip(last_coefficients(&part).iter()) {
                    let i = inside.start + place;
                    lacking.row_mut(i).iter_mut().zip(beta).for_each(|(left, b)| *left -= b);
                    chosen[chunk].push(i);
                }
            }
            watch.report("chunks", turn as u64 + 1, Some(turns as u64), None);
        }
        Ok((chosen.into_iter().flatten().collect(), status))
    }

    /// One turn: the machine of what is lacking, on the vectors inside.
    fn chunk(&self, task: &Task, lacking: &Matrix, inside: std::ops::Range<usize>, budget: &Budget, watch: &Watch) -> Result<Path> {
        let Expansion { kernel, vectors, .. } = &task.machine.expansion;
        let used: Vec<usize> = (0..lacking.rows()).filter(|&i| lacking.row(i).iter().any(|v| *v != 0.0)).collect();
        let expansion =
            Expansion { kernel: kernel.clone(), vectors: vectors.select(&used), coefficients: Coefficients::Dense(lacking.select(&used)) };
        let machine = Machine { expansion, decision: Decision::Features, calibration: None, ..task.machine.clone() };
        let points = vectors.select(&inside.clone().collect::<Vec<_>>());
        // Before any other chunk had a turn, the candidates are the machine's vectors, and methods may look at their coefficients.
        let own = used.len() == inside.len() && used.first() == Some(&inside.start) && used.last() == Some(&(inside.end - 1));
        self.method.sparsify(&Task { machine: &machine, data: task.data, candidates: (!own).then_some(&points) }, budget, watch)
    }
}

fn last_coefficients(path: &Path) -> Matrix {
    path.len().checked_sub(1).map(|last| path.coefficients(last)).unwrap_or_default()
}

/// The part of a budget that falls to the vectors from `first` to `end` of `n`; all parts together are the whole.
fn share(budget: usize, first: usize, end: usize, n: usize) -> usize {
    if budget >= n {
        return budget;
    }
    budget * end / n - budget * first / n
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        kernel::Kernel,
        sparsify::{
            residual,
            select::{Independent, L0, L1, Pursuit},
            squared_norm, toy,
        },
    };

    #[test]
    fn shares_add_up() {
        for (budget, n, size) in [(7, 50, 8), (3, 50, 8), (50, 51, 10)] {
            let total: usize = (0..n).step_by(size).map(|first| share(budget, first, (first + size).min(n), n)).sum();
            assert_eq!(total, budget);
        }
    }

    #[test]
    fn budgets_are_kept_and_the_machine_is_nearly_as_close_as_the_one_made_at_once() {
        let machine = toy::machine(Kernel::gaussian(0.2), 120, 2);
        let task = Task::of(&machine);
        let start: f64 = squared_norm(&machine.expansion).unwrap().iter().sum();
        let methods: [fn() -> Box<dyn Sparsifier>; 3] =
            [|| Box::new(Pursuit::default()), || Box::new(L1::default()), || Box::new(L0::default())];
        for make in methods {
            let whole = make().sparsify(&task, &Budget::vectors(24), &Watch::none()).unwrap().levels().last().copied().unwrap();
            let chunked = Chunked { method: make(), size: 40, passes: 2 };
            let path = chunked.sparsify(&task, &Budget::vectors(24), &Watch::none()).unwrap();
            let last = path.levels().last().copied().unwrap();
            let direct = residual(&machine.expansion, &path.last().unwrap().expansion).unwrap();
            assert!(last.vectors <= 24 && last.vectors > 15 && (direct - last.residual).abs() < 1e-10 * start, "{last:?}");
            assert!(last.relative_residual < 0.3 && whole.relative_residual < 0.3, "{}: {last:?} {whole:?}", chunked.name());
        }
    }

    #[test]
    fn exact_reduction_in_chunks_is_exact() {
        let machine = toy::machine(Kernel::named("linear", 1.0, 0, 0.0).unwrap(), 100, 1);
        let chunked = Chunked { method: Box::new(Independent::default()), size: 30, passes: 1 };
        let small = chunked.sparsify(&Task::of(&machine), &Budget::default(), &Watch::none()).unwrap().last().unwrap();
        let start: f64 = squared_norm(&machine.expansion).unwrap().iter().sum();
        assert!(small.vectors() == 3 && residual(&machine.expansion, &small.expansion).unwrap() < 1e-12 * start);
    }

    #[test]
    fn sizes_and_passes_are_checked_and_a_large_chunk_is_the_method_itself() {
        let make = |size, passes| Chunked { method: Box::new(Pursuit::default()), size, passes };
        assert!(make(0, 1).check().is_err() && make(5, 0).check().is_err());
        let machine = toy::machine(Kernel::gaussian(0.2), 30, 1);
        let whole = Pursuit::default().sparsify(&Task::of(&machine), &Budget::vectors(5), &Watch::none()).unwrap();
        let chunked = make(30, 2).sparsify(&Task::of(&machine), &Budget::vectors(5), &Watch::none()).unwrap();
        assert_eq!(whole.chosen, chunked.chosen);
    }
}
