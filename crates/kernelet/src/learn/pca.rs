//! Kernel principal component analysis (Schölkopf, Smola and Müller 1998).
//!
//! The directions w_k of feature space along which the rows vary most: eigenvectors of the covariance of Phi(x) about its mean. With
//! the shares d_i of the rows (1/n, or by weight), `D = diag(d)`, `q = D^1/2 1` and `P = I - q q'`,
//!
//! ```text
//! P D^1/2 K D^1/2 P u_k = variance_k u_k,     w_k = sum_i c_ik Phi(x_i),     c_k = D^1/2 u_k / sqrt(variance_k)
//! feature_k(x) = w_k.(Phi(x) - mean) = sum_i c_ik k(x_i, x) - q'D^1/2 K c_k
//! ```
//!
//! The coefficients of a component sum to zero, so that the means of the rows of K cancel and centring is an offset: an ordinary machine. A component's
//! sign is chosen so that the largest entry of u_k is positive.
//!
//! Few components of many rows come from block Lanczos ([`Largest`]), about 10 n^2 for each; more than a tenth of the rows, or up to
//! 500 rows, from a whole eigendecomposition, 9 n^3 on one thread. Memory: the kernel matrix, n^2, and a second one for the whole decomposition.
use super::{
    Fit, Learner, Report,
    gram::{USUAL_BYTES, kernel_matrix, require_definite, vectors},
    scatter::Scatter,
};
use crate::{
    Error, Result,
    data::Dataset,
    error::require_positive,
    kernel::Kernel,
    linalg::{Eigen, Largest, Matrix, dot, rows_times},
    machine::{Coefficients, Decision, Expansion, FeatureMetadata, Machine, Metadata},
    watch::{Status, Watch},
};

/// Up to so many rows all eigenvalues are computed at once.
const SMALL: usize = 500;

/// More components than this fraction of the rows come from a full eigendecomposition.
const MANY: usize = 10;

/// How many components are kept.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Components {
    /// So many; where the rows span fewer, all of them, with the status [`Status::Capped`].
    Count(usize),
    /// As many as have this part of the variance; above 0, at most 1.
    Explained(f64),
}

/// Kernel principal component analysis.
///
/// ```
/// use kernelet::{data::banana, learn::{Components, Pca}, prelude::*};
///
/// let data = banana(200, 1);
/// let pca = Pca { kernel: Kernel::gaussian(1.0), components: Components::Count(3), ..Pca::default() };
/// let machine = pca.learn(&data, &Watch::none())?.machine;
/// let features = machine.outputs_for(&data.points)?;
/// assert_eq!((features.rows(), features.cols()), (200, 3));
/// let explained = machine.metadata.features.map(|features| features.explained()).unwrap_or_default();
/// assert!(explained[0] > explained[1]);
///
/// // The same with 20 vectors instead of all rows:
/// let train = Train::from_json(r#"{"learner": "pca", "gamma": 1, "components": 3, "vectors": 20}"#)?;
/// assert_eq!(train.run(&data, &Given::default(), &Watch::none())?.machine().n_vectors(), 20);
/// # Ok::<(), kernelet::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Pca {
    /// The kernel; it must be definite. With [`Kernel::Precomputed`] row i of the data holds the kernel values of training row i with all training rows.
    pub kernel: Kernel,
    /// How many components are kept.
    pub components: Components,
    /// Divide the features by their standard deviations over the training rows.
    pub whiten: bool,
    /// A component is found when the residual of its eigenvector is below this part of its variance.
    pub tolerance: f64,
    /// Seed of the iterative solver's first block.
    pub seed: u64,
    /// Most bytes of the kernel matrix; more is refused.
    pub cache_bytes: usize,
}

impl Default for Pca {
    fn default() -> Self {
        Pca {
            kernel: Kernel::gaussian(1.0),
            components: Components::Count(10),
            whiten: false,
            tolerance: 1e-8,
            seed: 0,
            cache_bytes: USUAL_BYTES,
        }
    }
}

/// The components found and how.
struct Kept {
    eigen: Eigen,
    status: Status,
    products: u64,
}

impl Learner for Pca {
    fn name(&self) -> &'static str {
        "pca"
    }

    fn check(&self) -> Result<()> {
        self.kernel.check()?;
        require_positive("tolerance", self.tolerance)?;
        match self.components {
            Components::Count(0) => return Err(Error::parameter("components", 0, "at least 1")),
            Components::Explained(part) if !(part > 0.0 && part <= 1.0) => {
                return Err(Error::parameter("explained", part, "above 0 and at most 1"));
            }
            _ => {}
        }
        require_definite(&self.kernel, self.name())
    }

    fn learn(&self, data: &Dataset, watch: &Watch) -> Result<Fit> {
        self.check()?;
        data.check()?;
        let rows: Vec<usize> = (0..data.len()).filter(|&i| data.weight(i) > 0.0).collect();
        if rows.is_empty() {
            return Err(Error::data("no row has a weight above 0"));
        }
        let before = watch.evaluations();
        let mut gram = kernel_matrix(&self.kernel, data, &rows, self.cache_bytes, watch)?;
        let whole: f64 = rows.iter().map(|&i| data.weight(i)).sum();
        let shares: Vec<f64> = rows.iter().map(|&i| data.weight(i) / whole).collect();
        let scatter = Scatter::new(&shares, vec![0; rows.len()]);
        scatter.scale(&mut gram);
        let means = scatter.group_rows(&gram);
        let total = total_variance(&gram, &scatter, &means)?;
        let found = self.find(gram, &scatter, &means, total, watch)?;
        let report = Report {
            objective: (total - found.eigen.values.iter().sum::<f64>()).max(0.0),
            dual_objective: None,
            iterations: found.products,
            status: found.status,
            evaluations: watch.evaluations() - before,
            support: None,
        };
        let features = FeatureMetadata {
            variances: found.eigen.values.clone(),
            total_variance: total,
            whitened: self.whiten,
            weighted: shares.iter().any(|share| *share != shares[0]),
        };
        let (coefficients, offsets) = self.fold(&found.eigen, &scatter, &means);
        let vectors = vectors(&self.kernel, data, &rows);
        let machine = Machine {
            expansion: Expansion { kernel: self.kernel.clone(), vectors, coefficients: Coefficients::Dense(coefficients) },
            offsets,
            decision: Decision::Features,
            scale: None,
            names: data.names.clone(),
            calibration: None,
            metadata: self.metadata(data, &report, features),
        };
        machine.check()?;
        Ok(Fit { machine, report })
    }
}

/// The sum of all eigenvalues, or an error where it is nothing but rounding.
fn total_variance(gram: &Matrix, scatter: &Scatter, means: &Matrix) -> Result<f64> {
    let size: f64 = (0..gram.rows()).map(|i| gram.at(i, i)).sum();
    let total = scatter.trace(gram, means);
    match total > 1e-13 * size {
        true => Ok(total),
        false => {
            Err(Error::data("all rows are the same point in feature space, so nothing varies; other rows or another kernel are needed"))
        }
    }
}

impl Pca {
    fn metadata(&self, data: &Dataset, report: &Report, features: FeatureMetadata) -> Metadata {
        Metadata {
            learner: Some(self.name().into()),
            n_rows: Some(data.len()),
            objective: Some(report.objective),
            features: Some(features),
            ..Metadata::default()
        }
    }

    /// The components that are kept, of the scaled kernel matrix.
    fn find(&self, gram: Matrix, scatter: &Scatter, means: &Matrix, total: f64, watch: &Watch) -> Result<Kept> {
        let n = gram.rows();
        let mut count = match self.components {
            Components::Count(count) => count,
            Components::Explained(_) => 16,
        };
        while n > SMALL && count <= n / MANY {
            let multiply = |block: &Matrix| {
                let mut block = block.clone();
                scatter.project_rows(&mut block);
                let mut image = rows_times(&block, &gram);
                scatter.project_rows(&mut image);
                image
            };
            let wanted = Largest { count, tolerance: self.tolerance, seed: self.seed, ..Largest::default() };
            let found = wanted.find(n, &multiply, watch);
            if let Some(kept) = self.kept(&found.eigen, n, total, found.status != Status::Converged) {
                return Ok(self.ended(found.eigen.truncated(kept), found.status, found.products));
            }
            count *= 2;
        }
        watch.report("eigenvectors", 0, None, None);
        let mut gram = gram;
        scatter.project(&mut gram, means);
        let Some(eigen) = Eigen::of(&gram) else { return Err(Error::data("the eigenvalues were not found; scale the data")) };
        let kept = self.kept(&eigen, n, total, true).unwrap_or(eigen.values.len());
        Ok(self.ended(eigen.truncated(kept), Status::Converged, n as u64))
    }

    /// How many of these pairs are kept; None where they are too few and there may be more.
    fn kept(&self, eigen: &Eigen, n: usize, total: f64, all: bool) -> Option<usize> {
        let rank = eigen.rank(n);
        match self.components {
            Components::Count(count) => Some(rank.min(count)),
            Components::Explained(part) => {
                let mut sum = 0.0;
                // What rounding leaves out of the sum of all must not ask for one more.
                let enough = eigen.values[..rank].iter().position(|value| {
                    sum += value;
                    sum >= part * total * (1.0 - 1e-12)
                });
                enough.map(|last| last + 1).or((all || rank < eigen.values.len()).then_some(rank))
            }
        }
    }

    fn ended(&self, eigen: Eigen, status: Status, products: u64) -> Kept {
        let short = matches!(self.components, Components::Count(count) if eigen.values.len() < count);
        Kept { status: if short { status.worse(Status::Capped) } else { status }, eigen, products }
    }

    /// Coefficients and offsets of the features.
    fn fold(&self, eigen: &Eigen, scatter: &Scatter, means: &Matrix) -> (Matrix, Vec<f64>) {
        let (n, q) = (eigen.vectors.cols(), eigen.values.len());
        let (mut coefficients, mut offsets) = (Matrix::zeros(n, q), vec![0.0; q]);
        for (k, (value, vector)) in eigen.values.iter().zip(eigen.vectors.iter()).enumerate() {
            let length = if self.whiten { *value } else { value.sqrt() };
            let factor = sign(vector) / length;
            for (i, (u, root)) in vector.iter().zip(&scatter.roots).enumerate() {
                coefficients.row_mut(i)[k] = factor * u * root;
            }
            offsets[k] = -factor * dot(means.row(0), vector);
        }
        (coefficients, offsets)
    }
}

/// The sign of the largest entry; of entries as large to six digits, that of the first.
fn sign(vector: &[f64]) -> f64 {
    let most = vector.iter().fold(0.0, |most: f64, v| most.max(v.abs()));
    vector.iter().find(|v| v.abs() >= most * (1.0 - 1e-6)).map_or(1.0, |v| v.signum())
}
