//! Least squares with a penalty on the largest coefficient of each row, one row after the other.
//!
//! `min sum_k (1/2 b_k'K b_k - v_k'b_k) + sum_i c_i max_k |b_ik|`, half of [Weston2004 (5)]. With all other rows held, row i is best at
//! `K_ii b_ik = sign(s_k) min(|s_k|, theta)` for `s_k = r_ik + K_ii b_ik`: what s has beyond its nearest point with `sum_k |p_k| <= c_i`, and zero
//! where s itself is such a point. A sweep sets each row so; what a row moves by, times K_ii, is how far it was from its condition.
//!
//! Cost of a sweep: m q log q, and m q for each row that moves. Where kernel matrices have condition numbers of 1e10 and more it takes
//! more sweeps than the interior-point method is worth: then it gives up.
use crate::linalg::{Matrix, rows_times};

/// Sweeps end when every condition holds to this part of its penalty.
const SETTLED: f64 = 1e-9;

/// The most sweeps: some, and so many for each candidate. That is a fifth of what the interior-point method costs.
const SWEEPS: (usize, usize) = (200, 5);

/// The coefficients, one row for each output, begun at `b`; none where they do not settle.
pub(super) fn solve(gram: &Matrix, values: &Matrix, penalties: &[f64], mut b: Matrix) -> Option<Matrix> {
    let (q, m) = (values.rows(), values.cols());
    let mut r = rows_times(&b, gram);
    r.values_mut().iter_mut().zip(values.values()).for_each(|(r, v)| *r = v - *r);
    let (mut target, mut sorted) = (vec![0.0; q], vec![0.0; q]);
    for _ in 0..SWEEPS.0 + SWEEPS.1 * m {
        let mut worst = 0.0_f64;
        for i in (0..m).filter(|&i| gram.at(i, i) > 0.0) {
            let square = gram.at(i, i);
            (0..q).for_each(|k| target[k] = r.at(k, i) + square * b.at(k, i));
            let most = largest_size(&target, penalties[i], &mut sorted);
            let mut moved = 0.0;
            for k in 0..q {
                let new = target[k].clamp(-most, most) / square;
                let step = new - b.at(k, i);
                if step != 0.0 {
                    b.row_mut(k)[i] = new;
                    r.row_mut(k).iter_mut().zip(gram.row(i)).for_each(|(r, g)| *r -= step * g);
                    moved += (step * square).abs();
                }
            }
            worst = worst.max(moved / penalties[i]);
        }
        if worst <= SETTLED {
            return Some(b);
        }
    }
    None
}

/// theta: sizes beyond it add up to the penalty; 0 where all sizes together do not reach it.
fn largest_size(target: &[f64], penalty: f64, sorted: &mut [f64]) -> f64 {
    sorted.iter_mut().zip(target).for_each(|(sorted, t)| *sorted = t.abs());
    sorted.sort_unstable_by(|a, b| b.total_cmp(a));
    let (mut sum, mut theta) = (0.0, 0.0_f64);
    for (j, size) in sorted.iter().enumerate() {
        sum += size;
        let cut = (sum - penalty) / (j + 1) as f64;
        if *size <= cut {
            break;
        }
        theta = cut;
    }
    theta.max(0.0)
}

#[cfg(test)]
mod tests {
    use super::{super::interior, *};
    use crate::{
        data::Points,
        draw::Draw,
        kernel::{Kernel, block::symmetric},
    };

    fn problem(gamma: f64) -> (Matrix, Matrix) {
        let mut draw = Draw::seeded(3);
        let points: Points = Matrix::from_fn(30, 4, |_, _| draw.between(-2.0, 2.0)).into();
        (symmetric(&Kernel::gaussian(gamma), &points), Matrix::from_fn(3, 30, |_, _| draw.between(-1.0, 1.0)))
    }

    #[test]
    fn one_row_is_what_its_definition_says() {
        let mut sorted = [0.0; 4];
        for (target, penalty) in [([3.0, -2.0, 0.5, 1.0], 2.0), ([1.0, 1.0, -1.0, 1.0], 1.0), ([5.0, 0.0, 0.0, 0.0], 2.0)] {
            let theta = largest_size(&target, penalty, &mut sorted);
            let beyond: f64 = target.iter().map(|t: &f64| (t.abs() - theta).max(0.0)).sum();
            assert!((beyond - penalty).abs() < 1e-14, "{target:?}");
        }
        assert_eq!(largest_size(&[0.5, -0.5, 0.0, 0.1], 2.0, &mut sorted), 0.0);
    }

    #[test]
    fn it_finds_what_the_interior_point_method_finds_from_any_start() {
        let (gram, values) = problem(0.5);
        for penalty in [1.0, 0.2, 0.05] {
            let want = interior::solve(&gram, &values, &[penalty; 30]);
            for start in [Matrix::zeros(3, 30), Matrix::from_fn(3, 30, |k, i| ((k + i) as f64).sin())] {
                let have = solve(&gram, &values, &[penalty; 30], start).unwrap();
                let off = want.values().iter().zip(have.values()).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
                assert!(off < 1e-6, "{penalty}: {off}");
            }
        }
    }

    #[test]
    fn it_gives_up_where_rows_are_nearly_the_same() {
        let (gram, values) = problem(1e-4);
        assert!(solve(&gram, &values, &[1e-9; 30], Matrix::zeros(3, 30)).is_none());
    }
}
