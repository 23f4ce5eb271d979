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
        offsets: vec![0.0; expansion.coefficients.n_outputs()],
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
    Ok(Weights::of(expansion)?.squared_norms)
}

/// `sum_k ||Psi_k - Psi'_k||^2`, see [`Weights::residual`].
pub fn residual(expansion: &Expansion, smaller: &Expansion) -> Result<f64> {
    Weights::of(expansion)?.residual(smaller)
}

/// The weight vectors of a machine that others are compared with: N^2 kernel values once, N m for each machine of m vectors.
#[derive(Clone, Debug)]
pub struct Weights<'a> {
    expansion: &'a Expansion,
    /// `<Psi_k, Phi(x)>` at its own vectors.
    values: Matrix,
    /// `||Psi_k||^2` for each output.
    pub squared_norms: Vec<f64>,
}

impl<'a> Weights<'a> {
    /// Those of an expansion.
    pub fn of(expansion: &'a Expansion) -> Result<Self> {
        let values = inner_products(expansion, &expansion.vectors)?;
        let squared_norms = products(&expansion.coefficients, &values);
        Ok(Weights { expansion, values, squared_norms })
    }

    /// `sum_k ||Psi_k - Psi'_k||^2` by the definition: the difference is an expansion on the vectors of both, and the sum over its
    /// coefficients times its values has no large terms left to cancel.
    pub fn residual(&self, smaller: &Expansion) -> Result<f64> {
        let difference = |mut values: Matrix, points: &Points| -> Result<Matrix> {
            let other = inner_products(smaller, points)?;
            values.values_mut().iter_mut().zip(other.values()).for_each(|(v, o)| *v -= o);
            Ok(values)
        };
        let at_own = difference(self.values.clone(), &self.expansion.vectors)?;
        let at_theirs = difference(inner_products(self.expansion, &smaller.vectors)?, &smaller.vectors)?;
        let own: f64 = products(&self.expansion.coefficients, &at_own).iter().sum();
        let theirs: f64 = products(&smaller.coefficients, &at_theirs).iter().sum();
        Ok((own - theirs).max(0.0))
    }

    /// The same over `sum_k ||Psi_k||^2`.
    pub fn relative(&self, residual: f64) -> f64 {
        let start: f64 = self.squared_norms.iter().sum();
        if start > 0.0 { residual / start } else { 0.0 }
    }
}

/// For each output the sum of coefficients times values.
fn products(coefficients: &Coefficients, values: &Matrix) -> Vec<f64> {
    let (a, b) = (coefficients.to_dense().transposed(), values.transposed());
    (0..a.rows()).map(|k| dot(a.row(k), b.row(k))).collect()
}
