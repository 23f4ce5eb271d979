//! The basis that all sparse methods share.
//!
//! For vectors z_1..m with kernel matrix `K^z = L L'`, the rows of `L^-1` applied to Phi(z_1), .., Phi(z_m) are an orthonormal basis of
//! their span, and `c(x) = L^-1 k_z(x)` are the coordinates of Phi(x) in it. The papers write the same object in five forms:
//! coefficients `(K^z)^-1 K^zx alpha` [Schoelkopf1998 (17)], [Weston2004 (7)], coordinates of the projection
//! [Franc2003 (3)], `T psi_z` up to a rotation [Wu2006 (41)], and `K[:, i] R'` [Diethe2015 (5)]. Inner products of coordinates are the kernel
//! `psi_z(x)' (K^z)^-1 psi_z(x')` [Wu2006 (40)]. The paper's T is `Lambda^-1/2 V'` from eigenvectors [Wu2006 (42)], ours is `L^-1`: either has
//! `T'T = (K^z)^-1` [Wu2006 (43)], which is printed without the prime of the last V.
use std::sync::OnceLock;

use crate::parallel::*;

use crate::{
    Error, Result,
    data::Points,
    kernel::{
        Kernel,
        block::{CHUNK, Columns, Scratch, symmetric},
    },
    linalg::{Cholesky, Lower, Matrix, dot},
    machine::{Coefficients, Decision, Expansion, Machine, Metadata},
};

/// Vectors whose gap is below this fraction of k(z, z) count as lying in the span.
pub const DEPENDENT: f64 = 1e-12;

/// What is usually added to the diagonal of K^z, as a fraction of its largest entry, so that vectors may come near one another or meet.
pub const JITTER: f64 = 1e-10;

/// An orthonormal basis of span{Phi(z_1), .., Phi(z_m)}.
///
/// Cost: m^3 / 3 to make, m d + m^2 for the coordinates of a row.
#[derive(Debug)]
pub struct Frame {
    /// Made when kernel values are first asked for.
    columns: OnceLock<Columns>,
    kernel: Kernel,
    vectors: Points,
    lower: Lower,
}

impl Frame {
    /// The coordinates as a machine: `c(x) = L^-1 k_z(x)`.
    pub fn coordinates_machine(&self) -> Machine {
        let m = self.len();
        let identity = Matrix::from_fn(m, m, |i, j| if i == j { 1.0 } else { 0.0 });
        let coefficients = Coefficients::Dense(self.coefficients(&identity));
        let expansion = Expansion { kernel: self.kernel().clone(), vectors: self.vectors().clone(), coefficients };
        let metadata = Metadata { learner: Some("basis".into()), ..Metadata::default() };
        let decision = Decision::Features;
        Machine { expansion, offsets: vec![0.0; m], decision, scale: None, names: None, calibration: None, metadata }
    }

    /// The frame of given vectors. `jitter` times the largest k(z, z) is added to the diagonal of K^z, so that near-duplicates do no
    /// harm; where that is not enough it is raised tenfold until the factor exists, which ends at the latest at 1e-4.
    pub fn fixed(kernel: &Kernel, vectors: &Points, jitter: f64) -> Result<Frame> {
        check_definite(kernel)?;
        let matrix = symmetric(kernel, vectors);
        let largest = (0..matrix.rows()).map(|i| matrix.at(i, i)).fold(0.0, f64::max);
        raising(jitter, |relative| {
            let mut raised = matrix.clone();
            (0..raised.rows()).for_each(|i| raised.row_mut(i)[i] += relative * largest);
            Ok(Cholesky::new(&raised).map(|factor| Frame::of(kernel, vectors, factor.lower())))
        })
    }

    /// The frame of vectors whose factor is known.
    pub fn of(kernel: &Kernel, vectors: &Points, lower: Lower) -> Frame {
        Frame { columns: OnceLock::new(), kernel: kernel.clone(), vectors: vectors.clone(), lower }
    }

    /// Number of vectors.
    pub fn len(&self) -> usize {
        self.vectors.len()
    }

    /// True without vectors.
    pub fn is_empty(&self) -> bool {
        self.vectors.is_empty()
    }

    /// The kernel.
    pub fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    /// The vectors.
    pub fn vectors(&self) -> &Points {
        &self.vectors
    }

    /// The vectors, ready for kernel blocks.
    pub(crate) fn columns(&self) -> &Columns {
        self.columns.get_or_init(|| Columns::new(&self.kernel, &self.vectors))
    }

    /// The factor L of K^z.
    pub fn lower(&self) -> &Lower {
        &self.lower
    }

    /// The coordinates of every row, on all threads: row i is `c(x_i)'`. [Franc2003 (3)], [Wu2006 (41)], [Diethe2015 (5)]
    pub fn coordinates(&self, points: &Points) -> Matrix {
        let m = self.len();
        let mut out = Matrix::zeros(points.len(), m);
        if m > 0 {
            out.values_mut().par_chunks_mut(CHUNK * m).enumerate().for_each_init(Scratch::default, |scratch, (c, out)| {
                let first = c * CHUNK;
                self.columns().fill(points, first..first + out.len() / m, out, scratch);
                self.lower.solve_rows(out);
            });
        }
        out
    }

    /// The coefficients on the vectors of what has coordinates `w` (m x q): `L^-T w`. [Schoelkopf1998 (17)], [Weston2004 (7)]
    pub fn coefficients(&self, w: &Matrix) -> Matrix {
        let mut rows = w.transposed();
        self.lower.solve_rows_transposed(rows.values_mut());
        rows.transposed()
    }

    /// The squared distance of each Phi(x) from the span, Franc2003's se(x).
    pub fn gaps(&self, points: &Points) -> Vec<f64> {
        let own = crate::kernel::block::diagonal(&self.kernel, points);
        self.coordinates(points).iter().zip(own).map(|(c, k)| (k - dot(c, c)).max(0.0)).collect()
    }
}

/// What `make` makes with the first jitter, from this one on, that is enough.
pub(crate) fn raising<T>(jitter: f64, mut make: impl FnMut(f64) -> Result<Option<T>>) -> Result<T> {
    let mut relative = jitter;
    while relative <= 1e-4 {
        if let Some(made) = make(relative)? {
            return Ok(made);
        }
        relative = (10.0 * relative).max(1e-14);
    }
    Err(Error::data(
        "the kernel matrix of the vectors cannot be factored, even with 1e-4 of its diagonal added; the kernel is not positive definite on them",
    ))
}

/// An error for kernels that have no feature space of their own to project in.
pub fn check_definite(kernel: &Kernel) -> Result<()> {
    if kernel.profile().definite() {
        return Ok(());
    }
    Err(Error::Unsupported {
        method: "projection in feature space",
        with: format!("the {} kernel, which is not positive definite", kernel.name()),
        instead: "use the gaussian kernel, or the criterion of outputs on data".into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(n: usize, seed: f64) -> Points {
        Matrix::from_fn(n, 3, |i, j| ((i * 3 + j) as f64 * 1.7 + seed).sin()).into()
    }

    #[test]
    fn inner_products_of_coordinates_are_those_of_the_projections() {
        for kernel in Kernel::examples().into_iter().filter(|k| k.profile().definite() && k.gamma().is_some()) {
            let (z, x) = (points(6, 0.3), points(300, 0.1));
            let frame = Frame::fixed(&kernel, &z, 0.0).unwrap();
            let c = frame.coordinates(&x);
            // By definition: k_z(x)' (K^z)^-1 k_z(x').
            let (zd, xd) = (z.to_dense(), x.to_dense());
            let factor = Cholesky::new(&symmetric(&kernel, &z)).unwrap();
            for i in [0, 7, 299] {
                let k_z = |i: usize| Matrix::from_fn(6, 1, |j, _| kernel.eval(zd.row(j), xd.row(i)));
                let mut solved = k_z(i);
                factor.solve(&mut solved);
                for j in [0, 5, 298] {
                    let want = dot(solved.values(), k_z(j).values());
                    assert!((dot(c.row(i), c.row(j)) - want).abs() < 1e-7 * (1.0 + want.abs()), "{}", kernel.name());
                }
            }
            // A vector of the frame has no gap, and its coordinates give its coefficient back.
            assert!(frame.gaps(&z).iter().all(|gap| *gap < 1e-7));
            let w = frame.coordinates(&z).select(&[2]).transposed();
            let beta = frame.coefficients(&w);
            for j in 0..6 {
                assert!((beta.at(j, 0) - f64::from(j == 2)).abs() < 1e-4, "{} {beta:?}", kernel.name());
            }
        }
    }

    #[test]
    fn eq_42_43_the_factor_and_the_whitening_of_the_paper_differ_by_a_rotation() {
        let (kernel, z) = (Kernel::gaussian(0.5), points(6, 0.3));
        let frame = Frame::fixed(&kernel, &z, 0.0).unwrap();
        let k = symmetric(&kernel, &z);
        let eigen = crate::linalg::Eigen::of(&k).unwrap();
        let whitening = Matrix::from_fn(6, 6, |i, j| eigen.vectors.at(i, j) / eigen.values[i].sqrt());
        // Rows of the solution are those of the transpose of L^-1.
        let mut inverse = Matrix::from_fn(6, 6, |i, j| f64::from(i == j));
        frame.lower().solve_rows(inverse.values_mut());
        let inverse = inverse.transposed();
        for t in [&whitening, &inverse] {
            // T'T K^z = I.
            let square = Matrix::from_fn(6, 6, |i, j| dot(&t.col(i), &t.col(j)));
            for i in 0..6 {
                for j in 0..6 {
                    let product = dot(square.row(i), &k.col(j));
                    assert!((product - f64::from(i == j)).abs() < 1e-6, "{i} {j}: {product}");
                }
            }
        }
    }

    #[test]
    fn coincident_vectors_are_harmless_and_indefinite_kernels_are_rejected() {
        let z = points(4, 0.3).select(&[0, 1, 1, 2, 3, 3]);
        let frame = Frame::fixed(&Kernel::gaussian(0.5), &z, 1e-10).unwrap();
        assert!(frame.coordinates(&points(20, 0.1)).values().iter().all(|v| v.is_finite()));
        let sigmoid = Kernel::named("sigmoid", 1.0, 0, 0.5).unwrap();
        assert!(Frame::fixed(&sigmoid, &z, 1e-10).unwrap_err().to_string().contains("not positive definite"));
    }
}
