//! More vectors for a machine that has some: rows where the machine of the span is least able to follow its negative gradient.
//!
//! The negative gradient of class k is `g_k = sum_i s_ik Phi(x_i)`, of which the weights are the part in the span. A new vector z can take up
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
    let active: Vec<usize> = (0..points.len()).filter(|&i| solution.negative_gradient.row(i).iter().any(|s| *s != 0.0)).collect();
    let mut projected: Matrix = Matrix::zeros(candidates.len(), solution.negative_gradient.cols());
    for rows in active.chunks(1024) {
        let (values, negative_gradient) =
            (block(frame.kernel(), candidates, &points.select(rows)), solution.negative_gradient.select(rows).transposed());
        for (out, values) in projected.values_mut().chunks_exact_mut(negative_gradient.rows().max(1)).zip(values.iter()) {
            out.iter_mut().zip(negative_gradient.iter()).for_each(|(out, negative_gradient)| *out += dot(values, negative_gradient));
        }
    }
    let score = |j: usize| {
        let gap = own[j] - dot(coordinates.row(j), coordinates.row(j));
        if gap <= DEPENDENT.sqrt() * own[j] {
            return 0.0;
        }
        let rest = |k: usize| -> f64 { projected.at(j, k) - solution.norms[k] * dot(coordinates.row(j), &solution.weights.col(k)) };
        (0..projected.cols()).map(|k| rest(k).powi(2)).sum::<f64>() / gap
    };
    (0..candidates.len()).map(score).collect()
}
