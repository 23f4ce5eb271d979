//! Expansions: several vectors of feature space written on the same expansion vectors.
use crate::{Error, Result, data::Points, kernel::Kernel, linalg::Matrix};

/// Psi_k = sum_j coefficients_jk Phi(vectors_j), one for each output k. [Schoelkopf1998 (4)]
#[derive(Clone, Debug, PartialEq)]
pub struct Expansion {
    /// The kernel.
    pub kernel: Kernel,
    /// The expansion vectors, shared by all outputs.
    pub vectors: Points,
    /// Their coefficients.
    pub coefficients: Coefficients,
}

/// The coefficients of an expansion.
#[derive(Clone, Debug, PartialEq)]
pub enum Coefficients {
    /// One row for each vector, one column for each output.
    Dense(Matrix),
    /// One-vs-one: each vector has a coefficient only for the pairs its own class takes part in.
    Pairwise(Pairwise),
}

/// One-vs-one coefficients in LIBSVM's layout: `classes - 1` numbers a vector instead of `classes (classes - 1) / 2`.
///
/// Vectors are grouped by class. Output (a, b), a < b, uses the vectors of class a with their coefficient `b - 1` and those of class b
/// with their coefficient `a`. Outputs come in the order (0,1), (0,2), .., (1,2), ..
#[derive(Clone, Debug, PartialEq)]
pub struct Pairwise {
    /// Class c owns vectors `starts[c]..starts[c + 1]`.
    pub starts: Vec<usize>,
    /// One row for each vector, `classes - 1` columns.
    pub values: Matrix,
}

impl Pairwise {
    /// Number of classes.
    pub fn n_classes(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// The pairs of classes, in the order of the outputs.
    pub fn pairs(classes: usize) -> impl Iterator<Item = (usize, usize)> {
        (0..classes).flat_map(move |a| (a + 1..classes).map(move |b| (a, b)))
    }

    /// The place of the pair (a, b), a < b, among the outputs.
    pub(crate) fn place(classes: usize, a: usize, b: usize) -> usize {
        a * (2 * classes - a - 1) / 2 + b - a - 1
    }

    /// The same coefficients as a dense matrix, with a column for each pair.
    pub fn to_dense(&self) -> Matrix {
        let classes = self.n_classes();
        let mut dense = Matrix::zeros(self.values.rows(), classes * classes.saturating_sub(1) / 2);
        for (k, (a, b)) in Self::pairs(classes).enumerate() {
            for j in self.starts[a]..self.starts[a + 1] {
                dense.row_mut(j)[k] = self.values.at(j, b - 1);
            }
            for j in self.starts[b]..self.starts[b + 1] {
                dense.row_mut(j)[k] = self.values.at(j, a);
            }
        }
        dense
    }
}

impl Coefficients {
    /// Number of outputs.
    pub fn n_outputs(&self) -> usize {
        match self {
            Coefficients::Dense(matrix) => matrix.cols(),
            Coefficients::Pairwise(p) => p.n_classes() * p.n_classes().saturating_sub(1) / 2,
        }
    }

    /// The stored numbers, one row for each vector.
    pub fn stored(&self) -> &Matrix {
        match self {
            Coefficients::Dense(matrix) => matrix,
            Coefficients::Pairwise(p) => &p.values,
        }
    }

    /// One row for each vector, one column for each output.
    pub fn to_dense(&self) -> Matrix {
        match self {
            Coefficients::Dense(matrix) => matrix.clone(),
            Coefficients::Pairwise(p) => p.to_dense(),
        }
    }
}

impl Expansion {
    /// Checks that the parts fit together and every number is finite.
    pub fn check(&self) -> Result<()> {
        self.kernel.check()?;
        self.vectors.check_finite()?;
        let stored = self.coefficients.stored();
        if stored.rows() != self.vectors.len() {
            return Err(Error::Shape { what: "rows of coefficients", expected: self.vectors.len(), found: stored.rows() });
        }
        if let Some(at) = stored.values().iter().position(|v| !v.is_finite()) {
            let (row, column) = (at / stored.cols(), at % stored.cols());
            return Err(Error::NotFinite { what: "a coefficient", row, column, value: stored.values()[at] });
        }
        if let Coefficients::Pairwise(p) = &self.coefficients {
            let ordered =
                p.starts.first() == Some(&0) && p.starts.windows(2).all(|w| w[0] <= w[1]) && p.starts.last() == Some(&self.vectors.len());
            if !ordered || p.n_classes() < 2 || stored.cols() != p.n_classes() - 1 {
                return Err(Error::data("the classes of the one-vs-one coefficients do not fit their vectors"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairwise_coefficients_unfold_in_libsvm_order() {
        // Three classes with one vector each; the vector of class c has its two coefficients 10c + 1 and 10c + 2.
        let values = Matrix::from_fn(3, 2, |i, j| (10 * i + j + 1) as f64);
        let pairwise = Pairwise { starts: vec![0, 1, 2, 3], values };
        // pair (0,1): class 0 column 0, class 1 column 0; (0,2): class 0 column 1, class 2 column 0; (1,2): class 1 column 1, class 2 column 1.
        assert_eq!(pairwise.to_dense().values(), [1.0, 2.0, 0.0, 11.0, 0.0, 12.0, 0.0, 21.0, 22.0]);
        assert_eq!(Coefficients::Pairwise(pairwise).n_outputs(), 3);
    }
}
