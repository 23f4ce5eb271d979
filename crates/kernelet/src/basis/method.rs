//! Bases chosen before training: which vectors span the subspace that contains the weight vector?
//!
//! A [`BasisMethod`] uses the points, and a few methods their targets too. It returns a [`Basis`]: vectors, and where they were computed anyway, the
//! coordinates of all points in their frame.
use super::{Frame, check_definite};
use crate::{
    Error, Result,
    data::{Dataset, Points},
    kernel::{Kernel, block::diagonal},
    linalg::{Lower, Matrix, dot},
    watch::{Status, Watch},
};

/// When a basis is large enough: whichever bound is met first.
#[derive(Clone, Debug, PartialEq)]
pub struct BasisBudget {
    /// The most vectors.
    pub max_vectors: usize,
    /// Stop once no point is farther than this from the span: the largest squared distance, Franc2003's epsilon.
    pub max_error: f64,
}

impl BasisBudget {
    /// So many vectors.
    pub fn vectors(max_vectors: usize) -> Self {
        BasisBudget { max_vectors, max_error: 0.0 }
    }

    /// An error when a bound makes no sense, or the points and the kernel allow no basis.
    pub fn check(&self, kernel: &Kernel, points: &Points) -> Result<()> {
        self.check_for(kernel)?;
        if points.is_empty() {
            return Err(Error::data("the data have no rows"));
        }
        points.check_finite()?;
        let squares = diagonal(kernel, points);
        if !squares.iter().all(|square| square.is_finite()) {
            return Err(Error::data("the kernel values are too large to be finite; scale the data"));
        }
        match squares.iter().any(|square| *square > 0.0) {
            true => Ok(()),
            false => Err(Error::data("k(x, x) is 0 for every row, so that the rows span nothing; use another kernel, such as gaussian")),
        }
    }

    /// An error when a bound makes no sense or the kernel allows no basis; this needs no points.
    pub fn check_for(&self, kernel: &Kernel) -> Result<()> {
        if self.max_vectors == 0 {
            return Err(Error::parameter("vectors", 0, "at least 1"));
        }
        if self.max_error.is_nan() || self.max_error < 0.0 {
            return Err(Error::parameter("max-error", self.max_error, "0 or above"));
        }
        kernel.check()?;
        if let Kernel::Precomputed(_) = kernel {
            return Err(Error::Unsupported {
                method: "a basis of vectors",
                with: "a precomputed kernel, whose values between vectors are not in the model".into(),
                instead: "train with a kernel that has a formula".into(),
            });
        }
        check_definite(kernel)
    }
}

/// Vectors chosen to span the subspace that contains the weight vector of a machine.
#[derive(Debug)]
pub struct Basis {
    /// The vectors with their factor.
    pub frame: Frame,
    /// Which points they are, where they are points.
    pub chosen: Vec<usize>,
    /// The coordinates of all points.
    pub coordinates: Matrix,
    /// The squared distance of each point from the span.
    pub errors: Vec<f64>,
    /// How the run ended.
    pub status: Status,
    /// Kernel evaluations made.
    pub evaluations: u64,
}

/// Chooses a basis.
pub trait BasisMethod: Send + Sync {
    /// The name on the command line, in Python and in model files.
    fn name(&self) -> &'static str;
    /// Vectors for these points. Fewer than asked for where the points span no more. Cancelling returns those found so far.
    fn choose(&self, kernel: &Kernel, points: &Points, budget: &BasisBudget, watch: &Watch) -> Result<Basis>;
    /// Its form, where it has several.
    fn variant(&self) -> Option<String> {
        None
    }
    /// True where each vector comes after the others, so that the first of them are a basis too; centres of clusters move with their number.
    fn grows(&self) -> bool {
        true
    }
    /// An error when a parameter is outside its range.
    fn check(&self) -> Result<()> {
        Ok(())
    }
    /// Vectors for rows with a target, by methods that look at it; the others look at the points alone.
    fn choose_for(&self, kernel: &Kernel, data: &Dataset, budget: &BasisBudget, watch: &Watch) -> Result<Basis> {
        self.choose(kernel, &data.points, budget, watch)
    }
}

impl Basis {
    /// The basis of vectors that come without coordinates.
    pub(crate) fn of_vectors(kernel: &Kernel, points: &Points, vectors: &Points, chosen: Vec<usize>, jitter: f64) -> Result<Basis> {
        let frame = Frame::fixed(kernel, vectors, jitter)?;
        let coordinates = frame.coordinates(points);
        let errors = errors(kernel, points, &coordinates);
        let evaluations = (vectors.len() * (points.len() + vectors.len())) as u64;
        Ok(Basis { frame, chosen, coordinates, errors, status: Status::Converged, evaluations })
    }

    /// The basis of chosen points whose factor and coordinates are known.
    pub(crate) fn of_points(
        kernel: &Kernel,
        points: &Points,
        chosen: Vec<usize>,
        lower: Lower,
        coordinates: Matrix,
        status: Status,
    ) -> Basis {
        let errors = errors(kernel, points, &coordinates);
        let evaluations = (chosen.len() * points.len()) as u64;
        let frame = Frame::of(kernel, &points.select(&chosen), lower);
        Basis { frame, chosen, coordinates, errors, status, evaluations }
    }

    /// The basis of the first `size` vectors, where each vector came after the others: not for centres of clusters, which move with their number.
    pub fn leading(&self, size: usize) -> Basis {
        let (size, all) = (size.min(self.frame.len()), self.coordinates.cols());
        let places: Vec<usize> = (0..size).collect();
        let lower = Lower::new(Matrix::from_fn(size, size, |i, j| self.frame.lower().matrix().at(i, j)));
        let rest = self.coordinates.iter().map(|row| dot(&row[size..all], &row[size..all]));
        Basis {
            frame: Frame::of(self.frame.kernel(), &self.frame.vectors().select(&places), lower),
            chosen: self.chosen.iter().take(size).copied().collect(),
            coordinates: Matrix::from_fn(self.coordinates.rows(), size, |i, j| self.coordinates.at(i, j)),
            errors: self.errors.iter().zip(rest).map(|(error, rest)| error + rest).collect(),
            status: self.status,
            evaluations: self.evaluations,
        }
    }

    /// The largest squared distance of a point from the span.
    pub fn largest_error(&self) -> f64 {
        self.errors.iter().copied().fold(0.0, f64::max)
    }

    /// The mean squared distance of the points from the span.
    pub fn mean_error(&self) -> f64 {
        self.errors.iter().sum::<f64>() / self.errors.len().max(1) as f64
    }

    /// The kernel evaluations that Franc2003's procedure would make, which computes each error anew: `2 n m - m (m - 1) / 2`.
    pub fn evaluations_of_the_paper(&self) -> u64 {
        let (n, m) = (self.errors.len() as u64, self.frame.len() as u64);
        2 * n * m - m * m.saturating_sub(1) / 2
    }
}

fn errors(kernel: &Kernel, points: &Points, coordinates: &Matrix) -> Vec<f64> {
    let own = diagonal(kernel, points);
    coordinates.iter().zip(own).map(|(c, k)| (k - dot(c, c)).max(0.0)).collect()
}
