//! Error heads: how far may a small machine for two classes be off?
use crate::{
    Result,
    data::Points,
    linalg::{Cholesky, Matrix, transposed_times, weighted_gram},
    machine::{Coefficients, Decision, Expansion, Machine, cascade::Head},
};

/// The penalty of an error head, and its least output as a fraction of the mean error.
const HEAD_PENALTY: f64 = 1.0;
const HEAD_FLOOR: f64 = 0.3;

/// Outputs beyond this fraction of their median size are sure of the class, and how far beyond does not matter.
const SURE: f64 = 0.2;

/// The error head of a machine for two classes: a ridge regression of |f - f'| on the kernel values of its vectors. Both outputs are clipped where they are
/// sure of the class: small machines are free to be off there, and unclipped such rows would be most of the error.
pub(super) fn head_for(small: &Machine, full: &Machine, rows: &Points) -> Result<Option<Head>> {
    let two = matches!((&small.decision, &full.decision), (Decision::Sign { .. }, Decision::Sign { .. }));
    let m = small.n_vectors();
    if !two || rows.len() < 2 * m.max(10) {
        return Ok(None);
    }
    let (f, g) = (full.outputs_for(rows)?.col(0), small.outputs_for(rows)?.col(0));
    let mut sizes: Vec<f64> = f.iter().map(|f| f.abs()).collect();
    sizes.sort_by(f64::total_cmp);
    let sure = SURE * sizes.get(sizes.len() / 2).copied().unwrap_or(0.0);
    let errors: Vec<f64> = f.iter().zip(&g).map(|(a, b)| (a.clamp(-sure, sure) - b.clamp(-sure, sure)).abs()).collect();
    let mean = errors.iter().sum::<f64>() / errors.len() as f64;
    let identity = Matrix::from_fn(m, m, |i, j| if i == j { 1.0 } else { 0.0 });
    let expansion = Expansion { coefficients: Coefficients::Dense(identity), ..small.expansion.clone() };
    let values =
        Machine { expansion, offsets: vec![0.0; m], decision: Decision::Features, calibration: None, ..small.clone() }.outputs_for(rows)?;
    let with_one = Matrix::from_fn(rows.len(), m + 1, |i, j| if j < m { values.at(i, j) } else { 1.0 });
    let mut system = weighted_gram(&with_one, &vec![1.0; rows.len()]);
    for j in 0..=m {
        system.row_mut(j)[j] += HEAD_PENALTY;
    }
    let mut solution = Matrix::column(transposed_times(&with_one, &errors));
    let Some(factor) = Cholesky::new(&system).filter(|_| mean > 0.0) else { return Ok(None) };
    factor.solve(&mut solution);
    let mut coefficients = solution.into_values();
    let offset = coefficients.pop().unwrap_or(0.0);
    Ok(Some(Head { coefficients, offset, floor: HEAD_FLOOR * mean }))
}
