//! Scaling of features. It is part of the model, so that prediction takes raw rows.
//!
//! | scaling | dense feature | sparse feature |
//! |---|---|---|
//! | standard | mean 0 and standard deviation 1 | standard deviation 1, not centred |
//! | minmax | from -1 to 1 | largest magnitude 1, not shifted |
//!
//! Sparse rows are never shifted, so that zero stays zero. A feature that is constant, or spreads so little (below about 1e-308)
//! that it cannot be divided by its spread, has factor 1: shifted it becomes 0, unshifted it stays as it is.
use serde::{Deserialize, Serialize};

use super::{Csr, Points, linear_map::as_rows, memory, summary::each_stored};
use crate::{
    Error, Named, Result,
    linalg::{Matrix, Real, dot},
};

/// x_j becomes `(x_j - shift_j) * factor_j`, and where there is a map the row x becomes `map * x` afterwards. Without shifts and map zero
/// stays zero and sparse rows stay sparse.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scale {
    /// Subtracted first; None: nothing is.
    pub shift: Option<Vec<f64>>,
    /// Multiplied afterwards.
    pub factor: Vec<f64>,
    /// One row for each number of the result, one column for each feature; None: the result is the scaled row.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "as_rows")]
    pub map: Option<Matrix>,
}

/// Numbers for each feature that fitting a scale holds.
const NUMBERS: usize = 8;

impl Scale {
    /// Shifts and factors without a map.
    pub fn new(shift: Option<Vec<f64>>, factor: Vec<f64>) -> Self {
        Scale { shift, factor, map: None }
    }

    /// Mean 0 and standard deviation 1 for each feature; sparse points are divided by the deviation only.
    ///
    /// The deviation is that of the rows themselves (divided by n, not n - 1) about their mean, zeros included.
    pub fn standard(points: &Points) -> Result<Self> {
        check_usable(points)?;
        memory::require("scaling", NUMBERS, points.dim())?;
        let ranges = ranges(points);
        let (means, deviations) = moments(points, &ranges);
        let factor = deviations.into_iter().map(inverse).collect();
        Ok(Scale::new((!points.is_sparse()).then_some(means), factor))
    }

    /// Each feature from -1 to 1, up to rounding; sparse points are divided by the feature's largest magnitude.
    pub fn minmax(points: &Points) -> Result<Self> {
        check_usable(points)?;
        memory::require("scaling", NUMBERS, points.dim())?;
        let ranges = ranges(points);
        if points.is_sparse() {
            return Ok(Scale::new(None, ranges.iter().map(|range| inverse(range.largest())).collect()));
        }
        // Halves first: the whole range of huge numbers can overflow.
        let middle = ranges.iter().map(|range| if range.low == range.high { range.low } else { range.low / 2.0 + range.high / 2.0 });
        let factor = ranges.iter().map(|range| inverse(range.high / 2.0 - range.low / 2.0)).collect();
        Ok(Scale::new(Some(middle.collect()), factor))
    }

    /// Number of features.
    pub fn dim(&self) -> usize {
        self.factor.len()
    }

    /// The points scaled. Single precision stays single precision; sparse points stay sparse unless there is a shift or a map, which makes
    /// them dense (double precision).
    ///
    /// Dense points must have the features of the scale. Sparse points may lack columns, which are zero, or have more: a feature
    /// that was unknown when the scale was fitted has no scale and no part in the model, and is dropped.
    /// A number that is not finite, before or after scaling, is an error.
    pub fn apply(&self, points: &Points) -> Result<Points> {
        self.check_shape()?;
        if !points.is_sparse() && points.dim() != self.dim() {
            return Err(Error::Shape { what: "features", expected: self.dim(), found: points.dim() });
        }
        points.check_finite()?;
        let scaled: Points = match (points, &self.map) {
            (Points::F32(_), Some(map)) => {
                let mapped = self.mapped(map, points);
                Matrix::from_fn(mapped.rows(), mapped.cols(), |i, k| mapped.at(i, k) as f32).into()
            }
            (_, Some(map)) => self.mapped(map, points).into(),
            (Points::F64(matrix), None) => self.scaled(matrix.clone()).into(),
            (Points::F32(matrix), None) => self.scaled(matrix.clone()).into(),
            (Points::Sparse(rows), None) if self.shift.is_none() => {
                fitted(rows, self.dim())?.mapped(|j, value| value * self.factor[j]).into()
            }
            (Points::Sparse(rows), None) => {
                memory::require("a scaling that moves zeros", rows.len(), self.dim())?;
                let mut dense = Matrix::<f64>::zeros(rows.len(), self.dim());
                points.copy_rows(0..rows.len(), self.dim(), dense.values_mut());
                self.scaled(dense).into()
            }
        };
        match scaled.check_finite() {
            Err(Error::NotFinite { row, column, value, .. }) => Err(Error::NotFinite { what: "a scaled value", row, column, value }),
            _ => Ok(scaled),
        }
    }

    /// One dense row, scaled and mapped; a number that is not finite stays so.
    pub fn apply_row(&self, mut row: Vec<f64>) -> Vec<f64> {
        self.scale_row(&mut row);
        match &self.map {
            Some(map) => map.iter().map(|weights| dot(weights, &row)).collect(),
            None => row,
        }
    }

    /// One dense row scaled in place, as it is before the map; a number that is not finite stays so.
    pub fn scale_row(&self, row: &mut [f64]) {
        row.iter_mut().enumerate().for_each(|(j, value)| *value = self.one(j, *value));
    }

    fn scaled<R: Real>(&self, mut matrix: Matrix<R>) -> Matrix<R> {
        for i in 0..matrix.rows() {
            for (j, value) in matrix.row_mut(i).iter_mut().enumerate() {
                *value = R::from_f64(self.one(j, value.to_f64()));
            }
        }
        matrix
    }

    /// Feature j scaled. Where the difference overflows, it is multiplied before it is taken.
    fn one(&self, j: usize, value: f64) -> f64 {
        let (shift, factor) = (self.shift.as_ref().map_or(0.0, |shift| shift[j]), self.factor[j]);
        let difference = value - shift;
        if difference.is_finite() { difference * factor } else { value * factor - shift * factor }
    }
}

/// How features are scaled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Scaling {
    /// Not at all.
    #[default]
    None,
    /// See [`Scale::standard`].
    Standard,
    /// See [`Scale::minmax`].
    MinMax,
}

impl Named for Scaling {
    const NAMES: &'static [(&'static str, Self)] = &[("none", Scaling::None), ("standard", Scaling::Standard), ("minmax", Scaling::MinMax)];
}

impl Scaling {
    /// The scale of these points; None where nothing is scaled.
    pub fn fit(self, points: &Points) -> Result<Option<Scale>> {
        match self {
            Scaling::None => Ok(None),
            Scaling::Standard => Scale::standard(points).map(Some),
            Scaling::MinMax => Scale::minmax(points).map(Some),
        }
    }

    /// What the user should know: that sparse points were not centred.
    pub fn note(self, points: &Points) -> Option<&'static str> {
        match self {
            Scaling::Standard if points.is_sparse() => {
                Some("the data are sparse: features were divided by their standard deviation but not centred")
            }
            Scaling::MinMax if points.is_sparse() => {
                Some("the data are sparse: features were divided by their largest magnitude but not shifted")
            }
            _ => None,
        }
    }
}

/// The least and the greatest value of a feature, and how many of its values are stored.
#[derive(Clone)]
struct Range {
    low: f64,
    high: f64,
    stored: usize,
}

impl Range {
    fn largest(&self) -> f64 {
        self.low.abs().max(self.high.abs())
    }

    /// A power of two within a factor of two of the largest magnitude: division by it is exact and keeps squares from overflow.
    fn unit(&self) -> f64 {
        let exponent = self.largest().to_bits() & f64::INFINITY.to_bits();
        f64::from_bits(exponent).max(f64::MIN_POSITIVE)
    }
}

/// Means and deviations, in two passes with the second correcting the mean of the first. Values are counted in each feature's unit.
fn moments(points: &Points, ranges: &[Range]) -> (Vec<f64>, Vec<f64>) {
    let rows = points.len() as f64;
    let units: Vec<f64> = ranges.iter().map(Range::unit).collect();
    let mut means = vec![0.0; ranges.len()];
    each_stored(points, |j, value| means[j] += value / units[j]);
    means.iter_mut().for_each(|mean| *mean /= rows);
    let (mut sums, mut squares) = (vec![0.0; ranges.len()], vec![0.0; ranges.len()]);
    each_stored(points, |j, value| {
        let difference = value / units[j] - means[j];
        sums[j] += difference;
        squares[j] += difference * difference;
    });
    let mut deviations = vec![0.0; ranges.len()];
    for (j, range) in ranges.iter().enumerate() {
        let zeros = points.len().saturating_sub(range.stored) as f64;
        let correction = (sums[j] - zeros * means[j]) / rows;
        let variance = (squares[j] + zeros * means[j] * means[j]) / rows - correction * correction;
        let constant = range.low == range.high;
        means[j] = ((means[j] + correction) * units[j]).clamp(range.low, range.high);
        deviations[j] = if constant { 0.0 } else { variance.max(0.0).sqrt() * units[j] };
    }
    (means, deviations)
}

fn ranges(points: &Points) -> Vec<Range> {
    let mut ranges = vec![Range { low: f64::INFINITY, high: f64::NEG_INFINITY, stored: 0 }; points.dim()];
    each_stored(points, |j, value| {
        let range = &mut ranges[j];
        *range = Range { low: range.low.min(value), high: range.high.max(value), stored: range.stored + 1 };
    });
    for range in ranges.iter_mut().filter(|range| range.stored < points.len()) {
        *range = Range { low: range.low.min(0.0), high: range.high.max(0.0), ..*range };
    }
    ranges
}

/// The rows in exactly `dim` columns.
fn fitted(rows: &Csr, dim: usize) -> Result<Csr> {
    if rows.dim() <= dim {
        return Ok(rows.clone().widened(dim));
    }
    let (mut starts, mut columns, mut values) = (vec![0], vec![], vec![]);
    for i in 0..rows.len() {
        let (row_columns, row_values) = rows.row(i);
        let kept = row_columns.partition_point(|&column| (column as usize) < dim);
        columns.extend_from_slice(&row_columns[..kept]);
        values.extend_from_slice(&row_values[..kept]);
        starts.push(values.len());
    }
    Csr::new(starts, columns, values, dim)
}

fn inverse(spread: f64) -> f64 {
    let inverse = 1.0 / spread;
    if inverse.is_finite() { inverse } else { 1.0 }
}

fn check_usable(points: &Points) -> Result<()> {
    match points.is_empty() {
        true => Err(Error::data("the data have no rows, so there is nothing to scale by")),
        false => points.check_finite(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Matrix {
        Matrix::new(vec![1.0, 0.0, 7.0, 2.0, 0.0, 7.0, 3.0, -4.0, 7.0, 10.0, 2.0, 7.0], 4, 3).unwrap()
    }

    fn single(matrix: &Matrix) -> Matrix<f32> {
        Matrix::new(matrix.values().iter().map(|&v| v as f32).collect(), matrix.rows(), matrix.cols()).unwrap()
    }

    fn assert_close(have: &[f64], want: &[f64], tolerance: f64) {
        assert_eq!(have.len(), want.len());
        for (have, want) in have.iter().zip(want) {
            assert!((have - want).abs() <= tolerance, "{have} is not {want}");
        }
    }

    #[test]
    fn standard_features_have_mean_zero_and_deviation_one() {
        let scale = Scale::standard(&example().into()).unwrap();
        assert_eq!(scale.shift.as_deref(), Some(&[4.0, -0.5, 7.0][..]));
        // Variances 12.5 and 4.75, divided by n as scikit-learn's StandardScaler does.
        assert_close(&scale.factor, &[12.5f64.sqrt().recip(), 4.75f64.sqrt().recip(), 1.0], 1e-15);
        for points in [example().into(), single(&example()).into()] {
            let scaled = scale.apply(&points).unwrap();
            assert!(std::mem::discriminant(&scaled) == std::mem::discriminant(&points));
            let again = Scale::standard(&scaled).unwrap();
            assert_close(&again.shift.unwrap(), &[0.0; 3], 1e-7);
            assert_close(&again.factor, &[1.0; 3], 1e-7);
            assert_eq!(scaled.to_dense().col(2), [0.0; 4]);
        }
    }

    #[test]
    fn minmax_features_go_from_minus_one_to_one() {
        let scale = Scale::minmax(&example().into()).unwrap();
        let scaled = scale.apply(&example().into()).unwrap().to_dense();
        assert_close(&scaled.col(0), &[-1.0, -7.0 / 9.0, -5.0 / 9.0, 1.0], 1e-15);
        assert_close(&scaled.col(1), &[1.0 / 3.0, 1.0 / 3.0, -1.0, 1.0], 1e-15);
        assert_eq!(scaled.col(2), [0.0; 4]);
    }

    #[test]
    fn sparse_points_are_divided_but_not_shifted() {
        let sparse: Points = Csr::from_dense(&example()).into();
        let scale = Scale::standard(&sparse).unwrap();
        assert_eq!(scale, Scale::new(None, Scale::standard(&example().into()).unwrap().factor));
        let scaled = scale.apply(&sparse).unwrap();
        assert!(scaled.is_sparse());
        assert_close(&scaled.to_dense().col(1), &[0.0, 0.0, -4.0 / 4.75f64.sqrt(), 2.0 / 4.75f64.sqrt()], 1e-15);
        assert_eq!(Scale::minmax(&sparse).unwrap().factor, [0.1, 0.25, 1.0 / 7.0]);
        assert!(Scaling::Standard.note(&sparse).is_some_and(|note| note.contains("not centred")));
        assert!(Scaling::MinMax.note(&sparse).is_some() && Scaling::None.note(&sparse).is_none());
        assert!(Scaling::Standard.note(&example().into()).is_none());
    }

    #[test]
    fn sparse_columns_may_be_missing_or_too_many_but_dense_ones_may_not() {
        let scale = Scale::new(None, vec![2.0, 3.0]);
        let rows = |values: &[f64]| Points::from(Csr::from_dense(&Matrix::new(values.to_vec(), 1, values.len()).unwrap()));
        assert_eq!(scale.apply(&rows(&[1.0])).unwrap(), rows(&[2.0, 0.0]));
        assert_eq!(scale.apply(&rows(&[1.0, 1.0, 9.0])).unwrap(), rows(&[2.0, 3.0]));
        let shifted = Scale { shift: Some(vec![1.0, 2.0]), ..scale.clone() };
        assert_eq!(shifted.apply(&rows(&[1.0, 0.0, 9.0])).unwrap(), Matrix::new(vec![0.0, -6.0], 1, 2).unwrap().into());
        assert_eq!(shifted.apply(&rows(&[1.0])).unwrap(), Matrix::new(vec![0.0, -6.0], 1, 2).unwrap().into());
        let text = scale.apply(&example().into()).unwrap_err().to_string();
        assert_eq!(text, "features: expected 2, found 3");
        assert!(Scale { shift: Some(vec![]), ..scale }.apply(&rows(&[1.0])).is_err());
    }

    #[test]
    fn the_deviation_survives_a_large_mean() {
        let values: Vec<f64> = (0..1000).map(|i| 1e9 + f64::from(i % 2)).collect();
        let scale = Scale::standard(&Matrix::column(values).into()).unwrap();
        assert_eq!((scale.shift.unwrap()[0], scale.factor[0]), (1e9 + 0.5, 2.0));
        // A sum of 0.1 is not exact, yet a constant column is constant.
        let constant = Scale::standard(&Matrix::column(vec![0.1; 777]).into()).unwrap();
        assert_eq!(constant, Scale::new(Some(vec![0.1]), vec![1.0]));
    }

    #[test]
    fn huge_and_tiny_values_scale_without_overflow() {
        let huge = [f64::MAX, f64::MAX, f64::MAX, -f64::MAX];
        for unit in [1.0, 1e-4, 1e-154, 1e-300] {
            let points: Points = Matrix::column(huge.iter().map(|v| v * unit * unit).collect()).into();
            let scaled = Scale::standard(&points).unwrap().apply(&points).unwrap().to_dense();
            let low = 1.0 / 3f64.sqrt();
            assert_close(scaled.values(), &[low, low, low, -3.0 * low], 1e-6);
            let scaled = Scale::minmax(&points).unwrap().apply(&points).unwrap().to_dense();
            assert_close(scaled.values(), &[1.0, 1.0, 1.0, -1.0], 1e-6);
        }
        let tiny: Points = Matrix::column(vec![0.0, 5e-324, 0.0]).into();
        for scaling in Scaling::all() {
            let scale = scaling.fit(&tiny).unwrap();
            assert!(scale.is_none_or(|scale| scale.apply(&tiny).is_ok()));
        }
    }

    #[test]
    fn what_cannot_be_scaled_is_rejected_with_an_error() {
        let empty: Points = Matrix::<f64>::zeros(0, 3).into();
        let bad: Points = Matrix::column(vec![1.0, f64::NAN]).into();
        for scaling in [Scaling::Standard, Scaling::MinMax] {
            assert_eq!(Scaling::named(scaling.name()), Some(scaling));
            assert!(scaling.fit(&empty).unwrap_err().to_string().starts_with("the data have no rows"));
            assert!(scaling.fit(&bad).unwrap_err().to_string().starts_with("a value in row 2, column 1 is NaN"));
        }
        assert_eq!((Scaling::named("max"), Scaling::None.fit(&bad).unwrap()), (None, None));
        let large = Scale::new(None, vec![1e300]);
        let text = large.apply(&Matrix::column(vec![1.0, 1e10]).into()).unwrap_err().to_string();
        assert_eq!(text, "a scaled value in row 2, column 1 is inf; every number must be finite");
        let single = large.apply(&Matrix::<f32>::column(vec![1.0]).into()).unwrap_err().to_string();
        assert_eq!(single, "a scaled value in row 1, column 1 is inf; every number must be finite");
    }
}
