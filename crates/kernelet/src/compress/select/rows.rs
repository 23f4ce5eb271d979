//! Penalties on the largest coefficient of each vector over all outputs, so that outputs share their vectors.
//!
//! `min sum_k |w_k - sum_i b_ik Phi(x_i)|^2 + lambda sum_i c_i max_k |b_ik|` [Weston2004 (5)]. With `r_ik = <w_k - w'_k, Phi(x_i)>`, a vector
//! that is not used has `2 sum_k |r_ik| <= lambda c_i`. So the problem is solved on few candidates, those that break this bound join, and it is
//! solved again, from where it stood. Row by row that takes some tens to hundreds of sweeps where the kernel matrix is good-natured; where
//! it is not, an interior-point method takes over.
//!
//! Cost: for each penalty some sweeps of q m^2 on the m candidates in question, or one or two interior-point runs of about 50 q m^3, and
//! n m q for the bounds.
use super::{
    descent, interior,
    scan::Scan,
    supports::{Support, Supports},
    whole::Whole,
};
use crate::{
    compress::Budget,
    linalg::{Matrix, rows_times},
    watch::{Status, Watch},
};

/// Vectors whose largest coefficient is below this part of the largest of all are not used.
const ZERO: f64 = 1e-6;

/// How far a bound may be broken.
const SLACK: f64 = 1e-7;

/// A solution: candidates in use, their coefficients (one row for each output), and the bounds' left-hand sides `sum_k |r_ik|` of all.
#[derive(Clone)]
struct Solution {
    used: Vec<usize>,
    coefficients: Matrix,
    unexplained: Vec<f64>,
}

impl Solution {
    /// No vectors at all.
    fn nothing(whole: &Whole) -> Solution {
        Solution { used: vec![], coefficients: Matrix::zeros(whole.values.rows(), 0), unexplained: sums(&whole.values) }
    }
}

/// The best supports of all sizes at falling penalties.
pub(super) fn scan(whole: &Whole, weights: &[f64], budget: &Budget, watch: &Watch) -> (Supports, Status) {
    let nothing = Solution::nothing(whole);
    let first = nothing.unexplained.iter().zip(weights).map(|(sum, weight)| sum / weight).fold(0.0, f64::max);
    let at = |above: &Solution, penalty: f64| {
        let solution = solve_shared(whole, &scaled(weights, penalty), above, &expected(above, weights, penalty));
        let support = Support::projection(whole, &solution.used);
        (solution, support)
    };
    Scan { first, start: whole.start, candidates: whole.gram.rows(), budget }.run(nothing, &at, watch)
}

fn scaled(weights: &[f64], penalty: f64) -> Vec<f64> {
    weights.iter().map(|weight| weight * penalty).collect()
}

/// Candidates that will probably be used at a lower penalty, given the solution at the one before: those it uses, and the worst of those
/// whose bounds it breaks.
fn expected(last: &Solution, weights: &[f64], penalty: f64) -> Vec<usize> {
    let mut is_used = vec![false; weights.len()];
    last.used.iter().for_each(|&i| is_used[i] = true);
    let ratio = |i: usize| last.unexplained[i] / (weights[i] * penalty);
    let broken = (0..weights.len()).filter(|&i| !is_used[i] && weights[i].is_finite() && ratio(i) > 1.0).map(|i| (ratio(i), i)).collect();
    let mut expected = last.used.clone();
    expected.extend(worst(broken, last.used.len()));
    expected
}

/// The candidates that break their bounds most, at most a few more than half of those in use: the cost is cubic in their number, and most
/// of the others keep their bounds once these have joined.
fn worst(mut broken: Vec<(f64, usize)>, used: usize) -> Vec<usize> {
    broken.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    broken.into_iter().take(10 + used / 2).map(|(_, i)| i).collect()
}

/// `sum_k |r_ik|` for each column.
fn sums(rows: &Matrix) -> Vec<f64> {
    let mut sums = vec![0.0; rows.cols()];
    rows.iter().for_each(|row| sums.iter_mut().zip(row).for_each(|(sum, r)| *sum += r.abs()));
    sums
}

/// The minimum over all candidates whose penalty is finite, begun at a solution and on those expected to be used, of which the first are
/// those of that solution.
fn solve_shared(whole: &Whole, penalties: &[f64], start: &Solution, expected: &[usize]) -> Solution {
    let (mut tried, mut b) = (expected.to_vec(), start.coefficients.clone());
    loop {
        let all: Vec<f64> = tried.iter().map(|&i| penalties[i]).collect();
        let gram = Matrix::from_fn(tried.len(), tried.len(), |a, b| whole.gram.at(tried[a], tried[b]));
        let values = Matrix::from_fn(whole.values.rows(), tried.len(), |k, a| whole.values.at(k, tried[a]));
        let before = widened(&b, tried.len());
        b = descent::solve(&gram, &values, &all, before).unwrap_or_else(|| interior::solve(&gram, &values, &all));
        let mut unexplained = rows_times(&b, &columns(whole, &tried));
        unexplained.values_mut().iter_mut().zip(whole.values.values()).for_each(|(r, v)| *r = v - *r);
        let unexplained = sums(&unexplained);
        let mut is_tried = vec![false; penalties.len()];
        tried.iter().for_each(|&i| is_tried[i] = true);
        let broken = (0..penalties.len()).filter(|&i| !is_tried[i] && unexplained[i] > penalties[i] * (1.0 + SLACK));
        let broken = worst(broken.map(|i| (unexplained[i] / penalties[i], i)).collect(), tried.len());
        if broken.is_empty() {
            return used(&b, &tried, unexplained);
        }
        tried.extend(broken);
    }
}

/// The coefficients with zeros for candidates that have none yet.
fn widened(b: &Matrix, candidates: usize) -> Matrix {
    Matrix::from_fn(b.rows(), candidates, |k, a| if a < b.cols() { b.at(k, a) } else { 0.0 })
}

/// The columns of the kernel matrix for some candidates: n x m.
fn columns(whole: &Whole, some: &[usize]) -> Matrix {
    whole.gram.select(some).transposed()
}

fn used(b: &Matrix, tried: &[usize], unexplained: Vec<f64>) -> Solution {
    let sizes: Vec<f64> = (0..tried.len()).map(|a| b.iter().fold(0.0, |most: f64, row| most.max(row[a].abs()))).collect();
    let largest = sizes.iter().copied().fold(0.0, f64::max);
    let places: Vec<usize> = (0..tried.len()).filter(|&a| sizes[a] > ZERO * largest).collect();
    let coefficients = Matrix::from_fn(b.rows(), places.len(), |k, a| b.at(k, places[a]));
    Solution { used: places.into_iter().map(|a| tried[a]).collect(), coefficients, unexplained }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        compress::{
            Sparsifier, Task,
            select::{L0, L1},
            toy,
        },
        kernel::Kernel,
        machine::{residual, squared_norm},
    };

    fn whole(n: usize, outputs: usize) -> (crate::machine::Machine, Whole) {
        let machine = toy::machine(Kernel::gaussian(0.4), n, outputs);
        let whole = Whole::of(&Task::of(&machine), &Watch::none()).unwrap();
        (machine, whole)
    }

    #[test]
    fn the_conditions_for_a_minimum_are_met() {
        let (_, whole) = whole(40, 3);
        let sum = sums(&whole.values);
        let first = sum.iter().copied().fold(0.0, f64::max);
        for part in [0.8, 0.3, 0.05, 0.005] {
            let penalty = part * first;
            let solution = solve_shared(&whole, &[penalty; 40], &Solution::nothing(&whole), &[]);
            let r = {
                let mut r = rows_times(&solution.coefficients, &columns(&whole, &solution.used));
                r.values_mut().iter_mut().zip(whole.values.values()).for_each(|(r, v)| *r = v - *r);
                r
            };
            for i in 0..40 {
                let sum: f64 = r.col(i).iter().map(|r| r.abs()).sum();
                assert!(sum <= penalty * (1.0 + 1e-5), "{part} {i}: {sum} {penalty}");
                let Some(a) = solution.used.iter().position(|&u| u == i) else { continue };
                // Used: the bound is met, by outputs at the largest size and with their sign alone.
                assert!((sum - penalty).abs() < 1e-4 * penalty, "{part} {i}: {sum} {penalty}");
                let most = solution.coefficients.col(a).iter().fold(0.0, |m: f64, b| m.max(b.abs()));
                for k in 0..3 {
                    let (b, r) = (solution.coefficients.at(k, a), r.at(k, i));
                    assert!((r * (most - b * r.signum())).abs() < 1e-4 * penalty * most, "{part} {i} {k}: {b} {most} {r}");
                }
            }
        }
    }

    /// The nearest point to `v` with `step penalty max_k |b_k|` added: what the projection on the ball `sum_k |b_k| <= step penalty` leaves.
    fn shrunk(v: &[f64], radius: f64) -> Vec<f64> {
        let mut sizes: Vec<f64> = v.iter().map(|v| v.abs()).collect();
        sizes.sort_by(|a, b| b.total_cmp(a));
        if sizes.iter().sum::<f64>() <= radius {
            return vec![0.0; v.len()];
        }
        let (mut sum, mut cap) = (0.0, 0.0);
        for (k, size) in sizes.iter().enumerate() {
            sum += size;
            let level = (sum - radius) / (k + 1) as f64;
            if level < *size {
                cap = level;
            }
        }
        v.iter().map(|v| v.clamp(-cap, cap)).collect()
    }

    fn objective(whole: &Whole, b: &[Vec<f64>], penalty: f64) -> f64 {
        let n = whole.gram.rows();
        let mut value = 0.0;
        for (k, values) in whole.values.iter().enumerate() {
            for i in 0..n {
                let row: f64 = (0..n).map(|j| whole.gram.at(i, j) * b[j][k]).sum();
                value += b[i][k] * (0.5 * row - values[i]);
            }
        }
        value + penalty * b.iter().map(|b| b.iter().fold(0.0, |m: f64, b| m.max(b.abs()))).sum::<f64>()
    }

    /// The same problem by many small steps: proximal gradient with momentum that restarts where it leads up.
    fn by_small_steps(whole: &Whole, penalty: f64) -> Vec<Vec<f64>> {
        let (n, q) = (whole.gram.rows(), whole.values.rows());
        let step = 1.0 / (0..n).map(|i| (0..n).map(|j| whole.gram.at(i, j).abs()).sum()).fold(0.0, f64::max);
        let mut b = vec![vec![0.0; q]; n];
        let (mut ahead, mut pace) = (b.clone(), 1.0f64);
        for _ in 0..100_000 {
            let next: Vec<Vec<f64>> = (0..n)
                .map(|i| {
                    let moved: Vec<f64> = (0..q)
                        .map(|k| {
                            let product: f64 = (0..n).map(|j| whole.gram.at(i, j) * ahead[j][k]).sum();
                            ahead[i][k] - step * (product - whole.values.at(k, i))
                        })
                        .collect();
                    shrunk(&moved, step * penalty)
                })
                .collect();
            let along: f64 =
                (0..n).flat_map(|i| (0..q).map(move |k| (i, k))).map(|(i, k)| (ahead[i][k] - next[i][k]) * (next[i][k] - b[i][k])).sum();
            let faster = 0.5 * (1.0 + (1.0 + 4.0 * pace * pace).sqrt());
            let push = if along > 0.0 { 0.0 } else { (pace - 1.0) / faster };
            pace = if along > 0.0 { 1.0 } else { faster };
            ahead = (0..n).map(|i| (0..q).map(|k| next[i][k] + push * (next[i][k] - b[i][k])).collect()).collect();
            b = next;
        }
        b
    }

    #[test]
    fn eq_5_the_minimum_is_that_of_many_small_steps() {
        let (_, whole) = whole(15, 3);
        let first = sums(&whole.values).iter().copied().fold(0.0, f64::max);
        for part in [0.5, 0.1, 0.01] {
            let penalty = part * first;
            let slow = by_small_steps(&whole, penalty);
            let solution = solve_shared(&whole, &[penalty; 15], &Solution::nothing(&whole), &[]);
            let mut have = vec![vec![0.0; 3]; 15];
            for (a, &i) in solution.used.iter().enumerate() {
                (0..3).for_each(|k| have[i][k] = solution.coefficients.at(k, a));
            }
            let size = slow.iter().flatten().fold(0.0, |a: f64, b| a.max(b.abs()));
            let off = slow.iter().flatten().zip(have.iter().flatten()).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(off < 1e-5 * size && (part < 0.5 || solution.used.len() < 15), "{part}: {off:e} of {size}, {}", solution.used.len());
            let (slow, have) = (objective(&whole, &slow, penalty), objective(&whole, &have, penalty));
            assert!((slow - have).abs() < 1e-9 * slow.abs(), "{part}: {slow} {have}");
        }
    }

    #[test]
    fn no_penalty_of_a_fine_grid_leaves_a_better_support() {
        let (machine, whole) = whole(50, 3);
        let path = L1::default().sparsify(&Task::of(&machine), &Budget::vectors(15), &Watch::none()).unwrap();
        let first = sums(&whole.values).iter().copied().fold(0.0, f64::max);
        let at = |penalty: f64| Support::projection(&whole, &solve_shared(&whole, &[penalty; 50], &Solution::nothing(&whole), &[]).used);
        let fine = (1..400).map(|j| at(first * 0.98_f64.powi(j))).collect::<Vec<_>>();
        super::super::supports::assert_none_is_better(&fine, &path, 15, 1e-9);
    }

    #[test]
    fn outputs_share_their_vectors_and_residuals_are_those_by_definition() {
        let (machine, _) = whole(50, 3);
        let start: f64 = squared_norm(&machine.expansion).unwrap().iter().sum();
        let methods: [Box<dyn Sparsifier>; 2] = [Box::new(L1::default()), Box::new(L0::default())];
        for method in methods {
            let path = method.sparsify(&Task::of(&machine), &Budget::vectors(12), &Watch::none()).unwrap();
            let sizes: Vec<usize> = path.levels().iter().map(|level| level.n_vectors).collect();
            assert!(*sizes.last().unwrap() <= 12 && *sizes.last().unwrap() >= 10, "{} {sizes:?}", method.name());
            for (i, level) in path.levels().into_iter().enumerate() {
                let direct = residual(&machine.expansion, &path.machine(i).unwrap().expansion).unwrap();
                assert!((direct - level.residual).abs() < 1e-10 * start, "{direct} {level:?}");
            }
        }
    }
}
