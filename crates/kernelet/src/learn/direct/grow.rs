//! More vectors for a machine that has some: rows where the machine of the span is least able to follow what pulls it.
//!
//! What pulls class k is `g_k = sum_i s_ik Phi(x_i)`, of which the weights are the part in the span. A new vector z can take up
//! `(g_k . Phi(z) - w_k . Phi(z))^2 / gap(z)` of the rest, where gap(z) is the squared distance of Phi(z) from the span.
use crate::{
    basis::{DEPENDENT, Frame},
    data::Points,
    draw::Draw,
    kernel::block::{block, diagonal},
    linalg::{Matrix, dot},
};

use super::inner::Solution;

/// Candidates for each vector that is added.
const CANDIDATES: usize = 20;

/// The fewest candidates: one of them is among the best twentieth with probability 0.95.
const FEWEST: usize = 59;

/// Rows for `count` more vectors, or as many as are of use, best first.
pub(super) fn more(frame: &Frame, points: &Points, solution: &Solution, count: usize, seed: u64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..points.len()).collect();
    Draw::seeded(seed).shuffle(&mut order);
    order.truncate((CANDIDATES * count).max(FEWEST));
    let candidates = points.select(&order);
    let mut scores = scores(frame, &candidates, points, solution);
    let own = diagonal(frame.kernel(), &candidates);
    let mut chosen = vec![];
    while chosen.len() < count {
        let best = (0..scores.len()).fold(0, |best, j| if scores[j] > scores[best] { j } else { best });
        if scores.get(best).is_none_or(|score| *score <= 0.0) {
            break;
        }
        chosen.push(order[best]);
        // A vector takes with it what its neighbours would have brought.
        let near = block(frame.kernel(), &candidates, &candidates.select(&[best]));
        for (j, score) in scores.iter_mut().enumerate() {
            *score *= (1.0 - near.at(j, 0).powi(2) / (own[j] * own[best])).max(0.0);
        }
        scores[best] = 0.0;
    }
    chosen
}

fn scores(frame: &Frame, candidates: &Points, points: &Points, solution: &Solution) -> Vec<f64> {
    let coordinates = frame.coordinates(candidates);
    let own = diagonal(frame.kernel(), candidates);
    let pulling: Vec<usize> = (0..points.len()).filter(|&i| solution.pulls.row(i).iter().any(|s| *s != 0.0)).collect();
    let mut pulled: Matrix = Matrix::zeros(candidates.len(), solution.pulls.cols());
    for rows in pulling.chunks(1024) {
        let (values, pulls) = (block(frame.kernel(), candidates, &points.select(rows)), solution.pulls.select(rows).transposed());
        for (out, values) in pulled.values_mut().chunks_exact_mut(pulls.rows().max(1)).zip(values.iter()) {
            out.iter_mut().zip(pulls.iter()).for_each(|(out, pulls)| *out += dot(values, pulls));
        }
    }
    let score = |j: usize| {
        let gap = own[j] - dot(coordinates.row(j), coordinates.row(j));
        if gap <= DEPENDENT.sqrt() * own[j] {
            return 0.0;
        }
        let rest = |k: usize| -> f64 { pulled.at(j, k) - solution.norms[k] * dot(coordinates.row(j), &solution.weights.col(k)) };
        (0..pulled.cols()).map(|k| rest(k).powi(2)).sum::<f64>() / gap
    };
    (0..candidates.len()).map(score).collect()
}
