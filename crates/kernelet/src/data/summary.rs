//! What scaling and the width of the kernel need of the rows: moments and ranges, of parts that can be put together.
use super::{Points, Scale, Scaling};
use crate::{Error, Result};

/// Means, spreads and ranges of the features of some rows.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Summary {
    /// Rows that were seen.
    pub rows: f64,
    /// The mean of each feature.
    pub means: Vec<f64>,
    /// The sum of squared deviations from the mean.
    pub squares: Vec<f64>,
    /// The least value of each feature.
    pub low: Vec<f64>,
    /// The greatest value of each feature.
    pub high: Vec<f64>,
    /// Whether the rows are sparse.
    pub sparse: bool,
}

impl Summary {
    /// Of these rows, each counted once. Deviations are taken from the mean, in a second look.
    pub fn of(points: &Points) -> Self {
        let (n, dim) = (points.len() as f64, points.dim());
        let (mut means, mut squares) = (vec![0.0; dim], vec![0.0; dim]);
        let (mut low, mut high) = (vec![f64::INFINITY; dim], vec![f64::NEG_INFINITY; dim]);
        let mut stored = vec![0.0; dim];
        each_stored(points, |j, value| {
            means[j] += value;
            (low[j], high[j], stored[j]) = (low[j].min(value), high[j].max(value), stored[j] + 1.0);
        });
        means.iter_mut().for_each(|mean| *mean /= n.max(1.0));
        each_stored(points, |j, value| squares[j] += (value - means[j]) * (value - means[j]));
        for j in (0..dim).filter(|&j| stored[j] < n) {
            squares[j] += (n - stored[j]) * means[j] * means[j];
            (low[j], high[j]) = (low[j].min(0.0), high[j].max(0.0));
        }
        Summary { rows: n, means, squares, low, high, sparse: points.is_sparse() }
    }

    /// Adds the rows of another one (Chan, Golub and LeVeque, 1979).
    pub fn add(&mut self, other: &Summary) {
        if self.rows == 0.0 {
            *self = other.clone();
            return;
        }
        let rows = self.rows + other.rows;
        for j in 0..self.means.len().min(other.means.len()) {
            let apart = other.means[j] - self.means[j];
            self.squares[j] += other.squares[j] + apart * apart * self.rows * other.rows / rows;
            self.means[j] += apart * other.rows / rows;
            (self.low[j], self.high[j]) = (self.low[j].min(other.low[j]), self.high[j].max(other.high[j]));
        }
        self.rows = rows;
        self.sparse |= other.sparse;
    }

    /// The scale of the rows, as [`Scaling::fit`] has it; None where nothing is scaled.
    pub fn scale(&self, scaling: Scaling) -> Result<Option<Scale>> {
        if let Some(j) = self.squares.iter().position(|square| !square.is_finite()) {
            return Err(Error::data(format!("feature {} has values too large to be scaled; divide it by a power of ten", j + 1)));
        }
        let inverse = |spread: f64| if (1.0 / spread).is_finite() { 1.0 / spread } else { 1.0 };
        let ranges = || self.low.iter().zip(&self.high);
        Ok(match scaling {
            Scaling::None => None,
            Scaling::Standard => {
                let deviation = |(&square, (low, high)): (&f64, (&f64, &f64))| if low == high { 0.0 } else { (square / self.rows).sqrt() };
                let factor = self.squares.iter().zip(ranges()).map(deviation).map(inverse).collect();
                Some(Scale::new((!self.sparse).then(|| self.means.clone()), factor))
            }
            Scaling::MinMax if self.sparse => {
                Some(Scale::new(None, ranges().map(|(low, high)| inverse(low.abs().max(high.abs()))).collect()))
            }
            Scaling::MinMax => {
                let middle = ranges().map(|(low, high)| if low == high { *low } else { low / 2.0 + high / 2.0 }).collect();
                Some(Scale::new(Some(middle), ranges().map(|(low, high)| inverse(high / 2.0 - low / 2.0)).collect()))
            }
        })
    }

    /// The summary of the rows after a scale without a map.
    pub fn scaled(&self, scale: &Scale) -> Self {
        let shift = |j: usize| scale.shift.as_ref().map_or(0.0, |shift| shift[j]);
        let of = |values: &[f64]| values.iter().enumerate().map(|(j, v)| (v - shift(j)) * scale.factor[j]).collect();
        let squares = self.squares.iter().zip(&scale.factor).map(|(s, f)| s * f * f).collect();
        Summary { means: of(&self.means), low: of(&self.low), high: of(&self.high), squares, ..self.clone() }
    }

    /// The variance of all values together.
    pub fn variance(&self) -> f64 {
        let dim = self.means.len().max(1) as f64;
        let mean = self.means.iter().sum::<f64>() / dim;
        self.means.iter().zip(&self.squares).map(|(m, s)| (m - mean) * (m - mean) + s / self.rows.max(1.0)).sum::<f64>() / dim
    }
}

/// Calls `visit(column, value)` for every stored value.
pub(super) fn each_stored(points: &Points, mut visit: impl FnMut(usize, f64)) {
    match points {
        Points::F64(matrix) => matrix.iter().for_each(|row| row.iter().enumerate().for_each(|(j, &value)| visit(j, value))),
        Points::F32(matrix) => matrix.iter().for_each(|row| row.iter().enumerate().for_each(|(j, &value)| visit(j, value.into()))),
        Points::Sparse(rows) => {
            let (_, columns, values) = rows.parts();
            columns.iter().zip(values).for_each(|(&column, &value)| visit(column as usize, value));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{data::Csr, linalg::Matrix};

    #[test]
    fn parts_put_together_scale_as_all_rows_at_once() {
        let rows = Matrix::from_fn(90, 4, |i, j| {
            if j == 3 {
                2.0
            } else if (i + j) % 3 == 0 {
                0.0
            } else {
                1e3 + ((i * 4 + j) as f64).sin()
            }
        });
        for points in [Points::F64(rows.clone()), Points::Sparse(Csr::from_dense(&rows))] {
            let mut summary = Summary::default();
            for part in [0..7, 7..40, 40..90] {
                summary.add(&Summary::of(&points.select(&part.collect::<Vec<_>>())));
            }
            for scaling in [Scaling::None, Scaling::Standard, Scaling::MinMax] {
                let (have, want) = (summary.scale(scaling).unwrap(), scaling.fit(&points).unwrap());
                let Some((have, want)) = have.zip(want) else { continue };
                let near = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| (a - b).abs() <= 1e-12 * b.abs());
                assert!(near(&have.factor, &want.factor), "{have:?} {want:?}");
                assert_eq!(have.shift.is_some(), want.shift.is_some());
                assert!(near(&have.shift.clone().unwrap_or_default(), &want.shift.clone().unwrap_or_default()));
                let scaled = want.apply(&points).unwrap().to_dense();
                let mean = scaled.values().iter().sum::<f64>() / 360.0;
                let variance = scaled.values().iter().map(|v| (v - mean).powi(2)).sum::<f64>() / 360.0;
                assert!((summary.scaled(&have).variance() - variance).abs() < 1e-9 * variance);
            }
        }
    }
}
