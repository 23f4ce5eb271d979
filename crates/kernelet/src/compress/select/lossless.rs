//! The lossless form of l0: the smallest lambda with `sum_i lambda_i beta_i Phi(x_i) = w`, then `beta_i <- beta_i sum_k |lambda_ik|`, again and
//! again [Weston2004 (Algorithm 3.4)], [Weston2004 (Algorithm 3.5)].
//!
//! With B = diag(beta), `lambda = (B K B)^+ B K alpha`; K^1 and K^2 are exchanged in print. It is the smallest solution, not any, that makes
//! weights fall to zero: as many stay as the kernel matrix has rank. With `K = F F'` and F of full column rank r,
//! `lambda = B F (F' B^2 F)^+ F' alpha`, so that a pass costs n r^2 and not n^3.
use super::{
    independent::{full_rank, ordered, pivots},
    l0::L0,
};
use crate::{
    Result,
    basis::check_definite,
    compress::{Budget, Path, Task},
    linalg::{Eigen, Matrix, dot, weighted_gram},
    machine::inner_products,
    watch::{Status, Watch},
};

/// Scales below this part of the largest are zero.
const ZERO: f64 = 1e-8;

/// The most passes; some 20 are usual.
const PASSES: usize = 200;

/// The machine on the vectors that stay; `sizes` are the scales to begin with, where candidates have any.
pub(super) fn reduce(method: &L0, task: &Task, sizes: Option<Vec<f64>>, budget: &Budget, watch: &Watch) -> Result<Path> {
    let expansion = &task.machine.expansion;
    check_definite(&expansion.kernel)?;
    let (growth, status) = pivots(task, method.tolerance, watch);
    let (rank, chosen) = (growth.chosen().len(), growth.chosen().to_vec());
    let note = full_rank(task, rank, method.tolerance);
    if note.is_some() || status == Status::Cancelled {
        return ordered(task, &chosen, status, note, budget, watch);
    }
    let basis = growth.into_basis(&expansion.kernel, task.candidates(), status);
    let mut target = inner_products(expansion, basis.frame.vectors())?.transposed();
    basis.frame.lower().solve_rows(target.values_mut());
    let scales = sizes.unwrap_or_else(|| vec![1.0; task.candidates().len()]);
    let (scales, status) = rescaled(&basis.coordinates, &target, scales, watch);
    let largest = scales.iter().copied().fold(0.0, f64::max);
    let stay: Vec<usize> = (0..scales.len()).filter(|&i| scales[i] > ZERO * largest).collect();
    // A run that was stopped, or did not settle, has more than it needs; the pivots are always enough.
    let stay = if stay.is_empty() || stay.len() > rank { chosen } else { stay };
    ordered(task, &stay, status, None, budget, watch)
}

/// The passes: coordinates of the candidates (n x r), those of the targets (q x r), the scales to begin with.
fn rescaled(coordinates: &Matrix, target: &Matrix, mut scales: Vec<f64>, watch: &Watch) -> (Vec<f64>, Status) {
    for pass in 0..PASSES {
        if watch.cancelled() {
            return (scales, Status::Cancelled);
        }
        let largest = scales.iter().copied().fold(0.0, f64::max);
        if largest <= 0.0 {
            break;
        }
        // Relative to the largest, so that squares neither overflow nor vanish.
        let squares: Vec<f64> = scales.iter().map(|s| (s / largest).powi(2)).collect();
        let Some(eigen) = Eigen::of(&weighted_gram(coordinates, &squares)) else { break };
        let solved: Vec<Vec<f64>> = target.iter().map(|t| pseudo_solve(&eigen, t)).collect();
        let mut moved = 0.0_f64;
        for (i, row) in coordinates.iter().enumerate() {
            // b_ik = beta_i lambda_ik, the coefficients; the scale becomes the sum of their sizes.
            let new: f64 = solved.iter().map(|x| (squares[i] * dot(row, x)).abs()).sum();
            moved = moved.max((new - scales[i]).abs() / largest);
            scales[i] = if new < ZERO * ZERO * largest { 0.0 } else { new };
        }
        watch.report("passes", pass as u64 + 1, None, Some(moved));
        if moved < 1e-12 {
            break;
        }
    }
    (scales, Status::Converged)
}

/// `M^+ t`.
fn pseudo_solve(eigen: &Eigen, t: &[f64]) -> Vec<f64> {
    let mut x = vec![0.0; t.len()];
    for i in 0..eigen.rank(t.len()) {
        let vector = eigen.vectors.row(i);
        let part = dot(vector, t) / eigen.values[i];
        x.iter_mut().zip(vector).for_each(|(x, v)| *x += part * v);
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        compress::{Sparsifier, toy},
        draw::Draw,
        kernel::{Kernel, block::symmetric},
        machine::{Coefficients, Expansion, Machine, residual, squared_norm},
    };

    /// The paper's Figure 1: two clouds in 10 dimensions, a linear machine on n of their points.
    fn clouds(n: usize, outputs: usize) -> Machine {
        let mut draw = Draw::seeded(n as u64);
        let mean = |i: usize, j: usize| if j >= 5 { 0.0 } else { [1.0, -1.0][i % 2] };
        let vectors = Matrix::from_fn(n, 10, |i, j| mean(i, j) + 4.0 * draw.normal());
        let coefficients = Matrix::from_fn(n, outputs, |i, k| [1.0, -1.0][(i + k) % 2] * draw.uniform());
        let like = toy::machine(Kernel::named("linear", 1.0, 0, 0.0).unwrap(), 3, outputs);
        let expansion =
            Expansion { kernel: like.expansion.kernel.clone(), vectors: vectors.into(), coefficients: Coefficients::Dense(coefficients) };
        Machine { expansion, ..like }
    }

    #[test]
    fn algorithm_3_4_finds_ten_vectors_in_ten_dimensions_whatever_their_number() {
        for n in [15, 100, 500] {
            let machine = clouds(n, 1);
            let method = L0 { lossless: true, ..L0::default() };
            let path = method.sparsify(&Task::of(&machine), &Budget::default(), &Watch::none()).unwrap();
            let small = path.last().unwrap();
            let start: f64 = squared_norm(&machine.expansion).unwrap().iter().sum();
            assert_eq!((small.n_vectors(), path.note), (10, None));
            assert!(residual(&machine.expansion, &small.expansion).unwrap() < 1e-12 * start);
        }
    }

    #[test]
    fn algorithm_3_5_shares_them_among_outputs() {
        let machine = clouds(120, 4);
        let method = L0 { lossless: true, ..L0::default() };
        let small = method.sparsify(&Task::of(&machine), &Budget::default(), &Watch::none()).unwrap().last().unwrap();
        let start: f64 = squared_norm(&machine.expansion).unwrap().iter().sum();
        assert!(small.n_vectors() == 10 && residual(&machine.expansion, &small.expansion).unwrap() < 1e-12 * start);
    }

    #[test]
    fn one_pass_is_the_smallest_solution_by_definition() {
        let machine = clouds(30, 1);
        let alpha = machine.expansion.coefficients.to_dense().col(0);
        let k = symmetric(&machine.expansion.kernel, &machine.expansion.vectors);
        // (B K B)^+ B K alpha with B = diag |alpha|, from all eigenvectors.
        let bkb = Matrix::from_fn(30, 30, |i, j| alpha[i].abs() * k.at(i, j) * alpha[j].abs());
        let right: Vec<f64> = (0..30).map(|i| alpha[i].abs() * dot(k.row(i), &alpha)).collect();
        let eigen = Eigen::of(&bkb).unwrap().truncated(10);
        let mut lambda = vec![0.0; 30];
        for i in 0..10 {
            let part = dot(eigen.vectors.row(i), &right) / eigen.values[i];
            lambda.iter_mut().zip(eigen.vectors.row(i)).for_each(|(l, v)| *l += part * v);
        }
        let (growth, status) = pivots(&Task::of(&machine), 1e-10, &Watch::none());
        let basis = growth.into_basis(&machine.expansion.kernel, &machine.expansion.vectors, status);
        let mut target = inner_products(&machine.expansion, basis.frame.vectors()).unwrap().transposed();
        basis.frame.lower().solve_rows(target.values_mut());
        let squares: Vec<f64> = alpha.iter().map(|a| a * a).collect();
        let x = pseudo_solve(&Eigen::of(&weighted_gram(&basis.coordinates, &squares)).unwrap(), target.row(0));
        for i in 0..30 {
            let have = alpha[i].abs() * dot(basis.coordinates.row(i), &x);
            assert!((have - lambda[i]).abs() < 1e-9, "{i}: {have} {}", lambda[i]);
        }
    }

    #[test]
    fn a_kernel_of_full_rank_leaves_nothing_to_remove_and_says_so() {
        let machine = toy::machine(Kernel::gaussian(2.0), 25, 2);
        let method = L0 { lossless: true, ..L0::default() };
        let path = method.sparsify(&Task::of(&machine), &Budget::default(), &Watch::none()).unwrap();
        assert!(path.last().unwrap().n_vectors() == 25 && path.note.unwrap().contains("full rank"));
    }
}
