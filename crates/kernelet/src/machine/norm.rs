//! Lengths and distances of the weight vectors of machines in feature space.
use super::{Coefficients, Decision, Expansion, Machine, Metadata};
use crate::{
    Result,
    data::Points,
    linalg::{Matrix, dot},
};

/// f_k without its offset, for points in the space of the vectors: `<Psi_k, Phi(x)>`.
pub(crate) fn inner_products(expansion: &Expansion, points: &Points) -> Result<Matrix> {
    let machine = Machine {
        offsets: vec![0.0; expansion.coefficients.outputs()],
        expansion: expansion.clone(),
        decision: Decision::Features,
        scale: None,
        names: None,
        calibration: None,
        metadata: Metadata::default(),
    };
    machine.outputs_for(points)
}

/// `||Psi_k||^2` for each output.
pub fn squared_norm(expansion: &Expansion) -> Result<Vec<f64>> {
    let values = inner_products(expansion, &expansion.vectors)?;
    Ok(products(&expansion.coefficients, &values))
}

/// `sum_k ||Psi_k - Psi'_k||^2` by the definition: the difference is an expansion on the vectors of both, and the sum over its
/// coefficients times its values has no large terms left to cancel.
pub fn residual(expansion: &Expansion, smaller: &Expansion) -> Result<f64> {
    let difference_at = |points: &Points| -> Result<Matrix> {
        let (mut values, other) = (inner_products(expansion, points)?, inner_products(smaller, points)?);
        values.values_mut().iter_mut().zip(other.values()).for_each(|(v, o)| *v -= o);
        Ok(values)
    };
    let own: f64 = products(&expansion.coefficients, &difference_at(&expansion.vectors)?).iter().sum();
    let theirs: f64 = products(&smaller.coefficients, &difference_at(&smaller.vectors)?).iter().sum();
    Ok((own - theirs).max(0.0))
}

/// For each output the sum of coefficients times values.
fn products(coefficients: &Coefficients, values: &Matrix) -> Vec<f64> {
    let (a, b) = (coefficients.to_dense().transposed(), values.transposed());
    (0..a.rows()).map(|k| dot(a.row(k), b.row(k))).collect()
}
