//! How much of new rows the features of kernel PCA keep.
//!
//! `|Phi(x) - mean|^2 = k(x, x) - 2 mean.Phi(x) + |mean|^2`, of which the features hold the sum of their squares; the rest is what is
//! lost. The mean is that of the training rows, which are the machine's vectors. Cost: n m and m^2 kernel values.
use crate::{
    Error, Result,
    data::Points,
    kernel::{Kernel, block},
    linalg::Matrix,
    machine::{Coefficients, Expansion, Machine},
};

/// How much of some rows the features keep.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reconstruction {
    /// The mean squared distance of the rows, in feature space, from the mean of the training rows.
    pub variance: f64,
    /// The mean squared distance from what the features say of them.
    pub residual: f64,
}

impl Reconstruction {
    /// The part of the variance that the features keep.
    pub fn explained(&self) -> f64 {
        match self.variance > 0.0 {
            true => 1.0 - self.residual / self.variance,
            false => 1.0,
        }
    }
}

/// Measures a machine of kernel PCA on rows.
pub fn reconstruction(machine: &Machine, points: &Points) -> Result<Reconstruction> {
    let no = |with: &str| {
        let instead = "measure a machine that `pca` trained on rows of equal weight and that still has all of them".into();
        Err(Error::Unsupported { method: "reconstruction", with: with.into(), instead })
    };
    let Some(features) = &machine.metadata.features else { return no("a machine that is not of kernel PCA") };
    if features.weighted || machine.metadata.n_rows != Some(machine.n_vectors()) || features.variances.len() != machine.n_outputs() {
        return no("a machine whose vectors are not its training rows");
    }
    if matches!(machine.expansion.kernel, Kernel::Precomputed(_)) {
        return no("a precomputed kernel");
    }
    if points.is_empty() {
        return Err(Error::data("the data have no rows"));
    }
    points.check_finite()?;
    let rows = match &machine.scale {
        Some(scale) => scale.apply(points)?,
        None => points.clone(),
    };
    let (m, n) = (machine.n_vectors(), points.len() as f64);
    let coefficients = Coefficients::Dense(Matrix::from_fn(m, 1, |_, _| 1.0 / m as f64));
    let mean =
        Machine { expansion: Expansion { coefficients, ..machine.expansion.clone() }, offsets: vec![0.0], scale: None, ..machine.clone() };
    let squared_mean = mean.outputs_for(&machine.expansion.vectors)?.values().iter().sum::<f64>() / m as f64;
    let products = mean.outputs_for(&rows)?;
    let squares = block::diagonal(&machine.expansion.kernel, &rows);
    let variance: f64 = squares.iter().zip(products.values()).map(|(k, p)| (k - 2.0 * p + squared_mean).max(0.0)).sum();
    let factors = features.variances.iter().map(|v| if features.whitened { *v } else { 1.0 }).collect::<Vec<f64>>();
    let outputs = machine.outputs_for(points)?;
    let kept: f64 = outputs.iter().map(|row| row.iter().zip(&factors).map(|(f, factor)| f * f * factor).sum::<f64>()).sum();
    Ok(Reconstruction { variance: variance / n, residual: ((variance - kept) / n).max(0.0) })
}
