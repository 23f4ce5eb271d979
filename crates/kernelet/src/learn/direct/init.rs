//! Where the vectors of direct training start.
use crate::{
    Error, Result,
    basis::{BasisBudget, BasisMethod, KMeans, RpCholesky, distinct_rows},
    data::Points,
    kernel::Kernel,
    linalg::Matrix,
    watch::Watch,
};

/// Where the vectors start.
#[derive(Clone, Debug, PartialEq, Default)]
pub enum Init {
    /// Distinct rows drawn at random.
    Random,
    /// Centres of k-means.
    #[default]
    KMeans,
    /// Rows spread by k-means++, without rounds of k-means.
    Spread,
    /// Rows chosen by randomly pivoted Cholesky.
    RpCholesky,
    /// These: more where there are fewer than wanted, the first where there are more.
    Given(Matrix),
}

/// Rows for each vector that a start looks at, and the fewest in all.
const ROWS_A_VECTOR: usize = 50;
const FEWEST_SAMPLED: usize = 10_000;

impl Init {
    /// So many vectors to start with, or as many as there are distinct rows.
    pub(crate) fn first(&self, kernel: &Kernel, all: &Points, vectors: usize, seed: u64, watch: &Watch) -> Result<Matrix> {
        // A start need not see every row: a sample of many rows for each vector has the same clusters.
        let enough = (ROWS_A_VECTOR * vectors).max(FEWEST_SAMPLED);
        let sample = (all.len() > enough).then(|| all.select(&distinct_rows(all, enough, seed)));
        let rows = sample.as_ref().unwrap_or(all);
        match self {
            Init::Random => Ok(rows.select(&distinct_rows(rows, vectors, seed)).to_dense()),
            Init::KMeans => KMeans { seed, ..KMeans::default() }.centres(rows, vectors, watch),
            Init::Spread => KMeans { seed, max_rounds: 0 }.centres(rows, vectors, watch),
            Init::RpCholesky => {
                let chosen = RpCholesky { seed, block: None }.choose(kernel, rows, &BasisBudget::vectors(vectors), watch)?;
                Ok(chosen.frame.vectors().to_dense())
            }
            Init::Given(given) if given.cols() == rows.dim() && given.rows() > 0 => {
                let kept: Vec<usize> = (0..given.rows().min(vectors)).collect();
                let mut values = given.select(&kept).into_values();
                let missing = vectors - kept.len();
                let more = rows.select(&distinct_rows(rows, missing, seed)).to_dense();
                values.extend_from_slice(more.values());
                Ok(Matrix::new(values, kept.len() + more.rows(), rows.dim()).unwrap_or_default())
            }
            Init::Given(given) => {
                Err(Error::Shape { what: "features of the vectors to start from", expected: rows.dim(), found: given.cols() })
            }
        }
    }
}
