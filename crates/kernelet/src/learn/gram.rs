//! The whole kernel matrix in memory, for learners that factor it.
use crate::{
    Error, Result,
    data::{Csr, Dataset, Points},
    kernel::{Kernel, block},
    linalg::Matrix,
    watch::Watch,
};

/// Bytes that a kernel matrix may take by default: 32,768 rows.
pub(crate) const USUAL_BYTES: usize = 8usize.saturating_mul(1 << 30);

/// K(X, X) of the chosen rows. A precomputed kernel reads it from the data; more than `most_bytes` is refused.
pub(crate) fn kernel_matrix(kernel: &Kernel, data: &Dataset, rows: &[usize], most_bytes: usize, watch: &Watch) -> Result<Matrix> {
    let n = rows.len();
    let needed = n.saturating_mul(n).saturating_mul(size_of::<f64>());
    if needed > most_bytes {
        let (needed, most) = (needed >> 20, most_bytes >> 20);
        return Err(Error::data(format!(
            "the kernel matrix of {n} rows takes {needed} megabytes, but the limit is {most}; raise it with cache, or learn from fewer rows"
        )));
    }
    watch.report("kernel matrix", 0, None, None);
    let gram = match kernel {
        Kernel::Precomputed(_) if data.dim() != data.len() => {
            return Err(Error::Shape { what: "columns of a precomputed kernel matrix", expected: data.len(), found: data.dim() });
        }
        Kernel::Precomputed(_) => {
            let all = data.points.to_dense();
            Matrix::from_fn(n, n, |i, j| all.at(rows[i], rows[j]))
        }
        _ => {
            watch.evaluated((n * (n + 1) / 2) as u64);
            block::symmetric(kernel, &data.points.select(rows))
        }
    };
    match gram.values().iter().all(|value| value.is_finite()) {
        true => Ok(gram),
        false => Err(Error::data("the kernel values are too large to be finite; scale the data")),
    }
}

/// The chosen rows as expansion vectors; for a precomputed kernel the unit rows of their places.
pub(crate) fn vectors(kernel: &Kernel, data: &Dataset, rows: &[usize]) -> Points {
    if !matches!(kernel, Kernel::Precomputed(_)) {
        return data.points.select(rows);
    }
    let columns = rows.iter().map(|&i| i as u32).collect();
    let units = Csr::new((0..=rows.len()).collect(), columns, vec![1.0; rows.len()], data.dim());
    units.map_or_else(|_| data.points.select(&[]), Points::Sparse)
}

/// An error where the kernel is known not to be definite, which `method` needs.
pub(crate) fn require_definite(kernel: &Kernel, method: &'static str) -> Result<()> {
    if matches!(kernel, Kernel::Precomputed(_)) || kernel.profile().definite() {
        return Ok(());
    }
    let instead = "use a definite kernel, such as gaussian".into();
    Err(Error::Unsupported { method, with: format!("the {} kernel", kernel.name()), instead })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Generator;

    #[test]
    fn too_many_rows_and_values_that_overflow_are_rejected_with_an_error() {
        let data = Generator::Banana.make(400, 1);
        let rows: Vec<usize> = (0..400).collect();
        let error = kernel_matrix(&Kernel::gaussian(1.0), &data, &rows, 1 << 20, &Watch::none()).unwrap_err();
        assert!(error.to_string().starts_with("the kernel matrix of 400 rows takes 1 megabytes, but the limit is 1; raise it"), "{error}");
        let far = Dataset { points: Matrix::from_fn(2, 1, |i, _| 1e100 * (i as f64 + 1.0)).into(), ..data.select(&[0, 1]) };
        let cubed = Kernel::named("polynomial", 1.0, 3, 0.0).unwrap();
        assert!(kernel_matrix(&cubed, &far, &[0, 1], USUAL_BYTES, &Watch::none()).is_err());
    }
}
