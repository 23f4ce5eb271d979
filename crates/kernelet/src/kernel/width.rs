//! A width to begin with: gamma from the spread of the rows.
use crate::{Error, Result, data::Points, linalg::Real};

/// 1 / (d v), with d the number of features and v the variance of all numbers of the rows, zeros included: scikit-learn's `scale`.
///
/// An error where all numbers are the same, or spread so far that the variance is not finite.
pub fn gamma_by_scale(points: &Points) -> Result<f64> {
    let dim = points.dim() as f64;
    let variance = match points {
        Points::F64(matrix) => variance(matrix.values(), 0.0),
        Points::F32(matrix) => variance(matrix.values(), 0.0),
        Points::Sparse(rows) => variance(rows.parts().2, points.len() as f64 * dim - rows.stored() as f64),
    };
    gamma_by_variance(points.dim(), variance)
}

/// The same where the variance of all numbers is known.
pub fn gamma_by_variance(dim: usize, variance: f64) -> Result<f64> {
    let gamma = 1.0 / (dim as f64 * variance);
    match gamma.is_finite() && gamma > 0.0 {
        true => Ok(gamma),
        false if variance == 0.0 => {
            Err(Error::data("all features are the same number in every row, so gamma cannot be found from them; give it as a number"))
        }
        false => Err(Error::data(format!("gamma cannot be found from features with the variance {variance:e}; scale them"))),
    }
}

/// The variance of these numbers and so many zeros.
fn variance<R: Real>(values: &[R], zeros: f64) -> f64 {
    let count = values.len() as f64 + zeros;
    let mean = values.iter().map(|value| value.to_f64()).sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value.to_f64() - mean).powi(2)).sum();
    (squares + zeros * mean * mean) / count
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{data::Csr, linalg::Matrix};

    #[test]
    fn dense_and_sparse_rows_agree_with_the_definition() {
        let matrix = Matrix::new(vec![1.0, 0.0, 0.0, 3.0, 0.0, 2.0], 3, 2).unwrap();
        let single = Matrix::new(vec![1.0f32, 0.0, 0.0, 3.0, 0.0, 2.0], 3, 2).unwrap();
        // Mean 1, squares 14, so the variance is 14/6 - 1 = 4/3.
        for points in [Points::from(Csr::from_dense(&matrix)), matrix.into(), single.into()] {
            assert!((gamma_by_scale(&points).unwrap() - 3.0 / 8.0).abs() < 1e-15);
        }
    }

    #[test]
    fn rows_without_spread_are_rejected_with_an_error() {
        let constant = gamma_by_scale(&Matrix::from_fn(4, 2, |_, _| 1.5).into()).unwrap_err();
        assert!(constant.to_string().starts_with("all features are the same number in every row"));
        let wide = gamma_by_scale(&Matrix::from_fn(2, 1, |i, _| if i == 0 { 1e200 } else { -1e200 }).into()).unwrap_err();
        assert_eq!(wide.to_string(), "gamma cannot be found from features with the variance inf; scale them");
        assert!(gamma_by_scale(&Matrix::<f64>::zeros(0, 2).into()).is_err());
    }
}
