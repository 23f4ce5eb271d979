//! The scatter of feature vectors about the means of their groups, written on the kernel matrix.
//!
//! Row i counts `d_i` and belongs to the group g. With `D = diag(d)` and unit vectors `q_g = D^1/2 1_g / |D^1/2 1_g|`, the scatter about
//! the weighted group means is
//!
//! ```text
//! S = sum_i d_i (Phi(x_i) - mean_g) (Phi(x_i) - mean_g)' = Phi' D^1/2 P D^1/2 Phi,     P = I - sum_g q_g q_g'
//! ```
//!
//! One group gives the covariance of kernel PCA, the classes as groups the within-class scatter of Fisher's discriminant: the Z of
//! `[Franc2003 (5)]` is `D^1/2 P D^1/2`. The eigenvalues of S other than zero are those of `P G P`, `G = D^1/2 K D^1/2`.
//! Cost of everything here: a few n^2.
use crate::parallel::*;

use crate::linalg::{Matrix, dot};

/// Rows of one unit of work, so that any number of threads gives the same bits.
const CHUNK: usize = 256;

/// How much each row counts, and its group.
#[derive(Clone, Debug)]
pub(crate) struct Scatter {
    /// The diagonal of D^1/2.
    pub roots: Vec<f64>,
    /// The group of each row.
    pub groups: Vec<usize>,
    /// The one entry of Q = (q_1, q_2, ..) that each row has.
    pub units: Vec<f64>,
    /// Number of groups.
    pub count: usize,
}

impl Scatter {
    /// Rows that count `shares`, all above 0, in groups numbered from 0 without gaps.
    pub fn new(shares: &[f64], groups: Vec<usize>) -> Self {
        let count = groups.iter().max().map_or(0, |&last| last + 1);
        let mut sums = vec![0.0; count];
        groups.iter().zip(shares).for_each(|(&g, share)| sums[g] += share);
        let units = groups.iter().zip(shares).map(|(&g, share)| (share / sums[g]).sqrt()).collect();
        Scatter { roots: shares.iter().map(|share| share.sqrt()).collect(), groups, units, count }
    }

    /// K becomes G = D^1/2 K D^1/2.
    pub fn scale(&self, gram: &mut Matrix) {
        let n = self.roots.len();
        gram.values_mut().par_chunks_exact_mut(n.max(1)).zip(&self.roots).for_each(|(row, root)| {
            row.iter_mut().zip(&self.roots).for_each(|(value, other)| *value *= root * other);
        });
    }

    /// A P for every row of A.
    pub fn project_rows(&self, rows: &mut Matrix) {
        let n = self.units.len();
        rows.values_mut().par_chunks_exact_mut(n.max(1)).for_each(|row| {
            let parts = self.parts(row);
            row.iter_mut().zip(&self.units).zip(&self.groups).for_each(|((value, unit), &g)| *value -= unit * parts[g]);
        });
    }

    /// Q'r.
    pub fn parts(&self, row: &[f64]) -> Vec<f64> {
        if self.count == 1 {
            return vec![dot(row, &self.units)];
        }
        let mut parts = vec![0.0; self.count];
        row.iter().zip(&self.units).zip(&self.groups).for_each(|((value, unit), &g)| parts[g] += value * unit);
        parts
    }

    /// Q'G, one row a group.
    pub fn group_rows(&self, gram: &Matrix) -> Matrix {
        let n = self.units.len();
        let mut rows = Matrix::zeros(self.count, n);
        // G is symmetric, so that column j of Q'G comes from row j of G.
        let columns: Vec<Vec<f64>> = gram.values().par_chunks_exact(n.max(1)).with_min_len(CHUNK).map(|row| self.parts(row)).collect();
        for (j, parts) in columns.iter().enumerate() {
            parts.iter().enumerate().for_each(|(g, part)| rows.row_mut(g)[j] = *part);
        }
        rows
    }

    /// G becomes P G P; `group_rows` is Q'G.
    pub fn project(&self, gram: &mut Matrix, group_rows: &Matrix) {
        let n = self.units.len();
        let inner: Vec<Vec<f64>> = group_rows.iter().map(|row| self.parts(row)).collect();
        gram.values_mut().par_chunks_exact_mut(n.max(1)).enumerate().for_each(|(i, row)| {
            let (unit, own) = (self.units[i], self.groups[i]);
            let sums = group_rows.row(own);
            // What row i loses for each group, and what column j loses.
            let part: Vec<f64> = (0..self.count).map(|g| unit * inner[own][g] - group_rows.at(g, i)).collect();
            for (j, value) in row.iter_mut().enumerate() {
                *value += self.units[j] * part[self.groups[j]] - unit * sums[j];
            }
        });
    }

    /// The trace of P G P.
    pub fn trace(&self, gram: &Matrix, group_rows: &Matrix) -> f64 {
        let whole: f64 = (0..gram.rows()).map(|i| gram.at(i, i)).sum();
        let taken: f64 = (0..self.count).map(|g| self.parts(group_rows.row(g))[g]).sum();
        whole - taken
    }

    /// Q h for the numbers h of the groups.
    pub fn spread(&self, numbers: &[f64]) -> Vec<f64> {
        self.units.iter().zip(&self.groups).map(|(unit, &g)| unit * numbers[g]).collect()
    }

    /// D^1/2 t: coefficients of feature vectors from a vector in the scaled rows.
    pub fn coefficients(&self, scaled: &[f64]) -> Vec<f64> {
        scaled.iter().zip(&self.roots).map(|(t, root)| t * root).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn projections_and_traces_agree_with_the_matrices_written_out() {
        let n = 9;
        let shares: Vec<f64> = (0..n).map(|i| 0.5 + (i % 4) as f64).collect();
        let groups = vec![0, 1, 1, 0, 2, 2, 0, 1, 2];
        let scatter = Scatter::new(&shares, groups.clone());
        let kernel = Matrix::from_fn(n, n, |i, j| (-0.1 * (i as f64 - j as f64).powi(2)).exp());
        let sums: Vec<f64> = (0..3).map(|g| (0..n).filter(|&i| groups[i] == g).map(|i| shares[i]).sum()).collect();
        // Row i less the weighted mean of its group, as coefficients of the feature vectors.
        let centred = Matrix::from_fn(n, n, |i, j| {
            let mean = if groups[i] == groups[j] { shares[j] / sums[groups[j]] } else { 0.0 };
            shares[i].sqrt() * (f64::from(i == j) - mean)
        });
        let product = |a: &Matrix, b: &Matrix| Matrix::from_fn(n, n, |i, j| dot(a.row(i), b.row(j)));
        let want = product(&product(&centred, &kernel), &centred);
        let mut have = kernel.clone();
        scatter.scale(&mut have);
        let group_rows = scatter.group_rows(&have);
        let trace = scatter.trace(&have, &group_rows);
        scatter.project(&mut have, &group_rows);
        for (a, b) in have.values().iter().zip(want.values()) {
            assert!((a - b).abs() < 1e-13, "{a} {b}");
        }
        assert!((trace - (0..n).map(|i| want.at(i, i)).sum::<f64>()).abs() < 1e-12);
        let mut again = have.clone();
        scatter.project_rows(&mut again);
        assert!(again.values().iter().zip(have.values()).all(|(a, b)| (a - b).abs() < 1e-13));
    }
}
