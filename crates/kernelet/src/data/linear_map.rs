//! The linear map of a [`Scale`]: a scaled row of d features becomes its K products with the rows of the map.
//!
//! Cost of a row: K d multiply-adds, or K for each stored value of a sparse row that is not shifted. Rows are worked on in chunks of 256,
//! each by one thread, so any number of threads gives the same bits.
use std::ops::Range;

use crate::parallel::*;

use super::{Csr, Points, Scale};
use crate::{
    Error, Result,
    linalg::{Matrix, dot, product_transposed},
};

/// Rows of one unit of work.
const CHUNK: usize = 256;

impl Scale {
    /// Numbers that a row has afterwards: as many as features unless there is a map.
    pub fn output_dim(&self) -> usize {
        self.map.as_ref().map_or(self.dim(), Matrix::rows)
    }

    /// Checks that the parts fit together and every number is finite.
    pub(crate) fn check(&self) -> Result<()> {
        self.check_shape()?;
        for values in [self.shift.as_deref().unwrap_or_default(), &self.factor[..]] {
            if let Some(column) = values.iter().position(|v| !v.is_finite()) {
                return Err(Error::NotFinite { what: "a number of the scaling", row: 0, column, value: values[column] });
            }
        }
        let Some(map) = &self.map else { return Ok(()) };
        match map.values().iter().position(|v| !v.is_finite()) {
            Some(at) => {
                let (row, column) = (at / map.cols(), at % map.cols());
                Err(Error::NotFinite { what: "a number of the linear map", row, column, value: map.at(row, column) })
            }
            None => Ok(()),
        }
    }

    pub(super) fn check_shape(&self) -> Result<()> {
        if let Some(shift) = self.shift.as_ref().filter(|shift| shift.len() != self.dim()) {
            return Err(Error::Shape { what: "shifts of the scaling", expected: self.dim(), found: shift.len() });
        }
        match &self.map {
            Some(map) if map.cols() != self.dim() => {
                Err(Error::Shape { what: "columns of the linear map", expected: self.dim(), found: map.cols() })
            }
            // Without columns the number of rows would be a claim that no number backs.
            Some(map) if map.values().is_empty() => Err(Error::data("the linear map is empty")),
            _ => Ok(()),
        }
    }

    /// This scaling and then `next`, which has no shift, as one. A scaling that ends in a map already has no other after it.
    pub fn then(&self, next: &Scale) -> Result<Scale> {
        if self.map.is_some() || next.shift.is_some() {
            return Err(Error::data("only a scaling without a shift can follow another, and none can follow a linear map"));
        }
        if next.dim() != self.dim() {
            return Err(Error::Shape { what: "features of the scaling that follows", expected: self.dim(), found: next.dim() });
        }
        let factor = self.factor.iter().zip(&next.factor).map(|(first, then)| first * then).collect();
        let both = Scale { shift: self.shift.clone(), factor, map: next.map.clone() };
        both.check()?;
        Ok(both)
    }

    /// All rows scaled and mapped, on all threads of the current pool.
    pub(super) fn mapped(&self, map: &Matrix, points: &Points) -> Matrix {
        let (dim, width) = (map.cols().max(1), map.rows().max(1));
        let mut out = Matrix::zeros(points.len(), map.rows());
        out.values_mut().par_chunks_mut(CHUNK * width).enumerate().for_each_init(Vec::new, |dense, (c, out)| {
            let rows = c * CHUNK..c * CHUNK + out.len() / width;
            match points {
                Points::Sparse(sparse) if self.shift.is_none() => self.map_sparse(map, sparse, rows, out),
                _ => {
                    dense.resize(rows.len() * map.cols(), 0.0);
                    points.copy_rows(rows, map.cols(), dense);
                    dense.chunks_exact_mut(dim).for_each(|row| self.scale_row(row));
                    map_dense(map, dense, out);
                }
            }
        });
        out
    }

    /// Some sparse rows scaled and mapped, without shifts; features that the map does not know are dropped. One thread.
    pub(crate) fn map_sparse(&self, map: &Matrix, sparse: &Csr, rows: Range<usize>, out: &mut [f64]) {
        for (i, out) in rows.zip(out.chunks_exact_mut(map.rows().max(1))) {
            out.fill(0.0);
            let (columns, values) = sparse.row(i);
            for (&column, value) in columns.iter().zip(values).take_while(|(column, _)| (**column as usize) < map.cols()) {
                let value = value * self.factor[column as usize];
                out.iter_mut().enumerate().for_each(|(k, out)| *out += value * map.at(k, column as usize));
            }
        }
    }
}

/// `out = rows map'` for dense rows that are scaled already. One thread; a single row allocates nothing.
pub(crate) fn map_dense(map: &Matrix, rows: &[f64], out: &mut [f64]) {
    match rows.len() == map.cols() {
        true => out.iter_mut().zip(map.iter()).for_each(|(out, weights)| *out = dot(rows, weights)),
        false => product_transposed(rows, map.values(), map.cols(), out),
    }
}

/// A map as JSON has it: a list of its rows.
pub(super) mod as_rows {
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

    use crate::linalg::Matrix;

    pub fn serialize<S: Serializer>(map: &Option<Matrix>, serializer: S) -> Result<S::Ok, S::Error> {
        map.as_ref().map(|map| map.iter().collect::<Vec<&[f64]>>()).serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Matrix>, D::Error> {
        let Some(rows) = Option::<Vec<Vec<f64>>>::deserialize(deserializer)? else { return Ok(None) };
        let (count, dim) = (rows.len(), rows.first().map_or(0, Vec::len));
        if rows.iter().any(|row| row.len() != dim) {
            return Err(D::Error::custom("the rows of the map have different lengths"));
        }
        Matrix::new(rows.concat(), count, dim).map(Some).ok_or_else(|| D::Error::custom("the map is not a matrix"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A scale of four features with a map to three numbers.
    fn scale(shift: Option<Vec<f64>>) -> Scale {
        let map = Matrix::from_fn(3, 4, |k, j| ((5 * k + 2 * j) as f64).sin());
        Scale { shift, factor: vec![0.5, 2.0, 0.0, -1.0], map: Some(map) }
    }

    fn rows(n: usize) -> Matrix {
        Matrix::from_fn(n, 4, |i, j| if (i + j) % 3 == 0 { 0.0 } else { f64::from(((3 * i + j) as f32).cos()) })
    }

    fn naive(scale: &Scale, x: &Matrix) -> Matrix {
        let map = scale.map.as_ref().unwrap();
        let shift = |j: usize| scale.shift.as_ref().map_or(0.0, |shift| shift[j]);
        Matrix::from_fn(x.rows(), map.rows(), |i, k| {
            (0..map.cols()).map(|j| map.at(k, j) * (x.at(i, j) - shift(j)) * scale.factor[j]).sum()
        })
    }

    fn assert_close(have: &Matrix, want: &Matrix, tolerance: f64) {
        assert_eq!((have.rows(), have.cols()), (want.rows(), want.cols()));
        have.values().iter().zip(want.values()).for_each(|(a, b)| assert!((a - b).abs() <= tolerance, "{a} {b}"));
    }

    #[test]
    fn every_storage_agrees_with_the_definition() {
        for shift in [None, Some(vec![0.3, -1.0, 0.2, 7.0])] {
            let scale = scale(shift);
            assert_eq!((scale.dim(), scale.output_dim()), (4, 3));
            for n in [0, 1, 2, 256, 600] {
                let (x, want) = (rows(n), naive(&scale, &rows(n)));
                let single = Matrix::from_fn(n, 4, |i, j| x.at(i, j) as f32);
                for points in [Points::from(x.clone()), Csr::from_dense(&x).into()] {
                    let have = scale.apply(&points).unwrap();
                    assert!(matches!(have, Points::F64(_)));
                    assert_close(&have.to_dense(), &want, 1e-14);
                }
                let have = scale.apply(&single.into()).unwrap();
                assert!(matches!(have, Points::F32(_)));
                assert_close(&have.to_dense(), &want, 1e-6);
            }
            let row = scale.apply_row(rows(5).row(4).to_vec());
            assert_close(&Matrix::new(row, 1, 3).unwrap(), &naive(&scale, &rows(5).select(&[4])), 1e-14);
        }
    }

    #[test]
    fn sparse_columns_may_be_missing_or_too_many() {
        let wide = Matrix::from_fn(5, 6, |i, j| (i + j) as f64);
        let (narrow, padded) =
            (Matrix::from_fn(5, 2, |i, j| wide.at(i, j)), Matrix::from_fn(5, 4, |i, j| if j < 2 { wide.at(i, j) } else { 0.0 }));
        for scale in [scale(None), scale(Some(vec![1.0; 4]))] {
            let apply = |rows: &Matrix| scale.apply(&Csr::from_dense(rows).into()).unwrap().to_dense();
            assert_close(&apply(&wide), &naive(&scale, &wide), 1e-13);
            assert_close(&apply(&narrow), &naive(&scale, &padded), 1e-13);
            assert!(scale.apply(&wide.clone().into()).unwrap_err().to_string().starts_with("features: expected 4, found 6"));
        }
    }

    #[test]
    fn any_number_of_threads_gives_the_same_bits() {
        let x = rows(1000);
        for points in [Points::from(x.clone()), Csr::from_dense(&x).into()] {
            let run = |threads| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                pool.install(|| scale(None).apply(&points).unwrap())
            };
            assert_eq!(run(1), run(2));
            assert_eq!(run(1), run(8));
        }
    }

    #[test]
    fn one_scaling_after_another_is_both() {
        let first = Scale::new(Some(vec![1.0, 2.0, 0.0, -1.0]), vec![0.5, 1.0, 3.0, 2.0]);
        let x = Points::from(rows(50));
        for next in [scale(None), Scale::new(None, vec![2.0, 0.5, 1.0, 0.0])] {
            let both = first.then(&next).unwrap();
            let want = next.apply(&first.apply(&x).unwrap()).unwrap().to_dense();
            assert_close(&both.apply(&x).unwrap().to_dense(), &want, 1e-13);
            assert_eq!((&both.shift, &both.map), (&first.shift, &next.map));
        }
        let refused = [
            (scale(None), Scale::new(None, vec![1.0; 3])),
            (first.clone(), scale(Some(vec![0.0; 4]))),
            (first.clone(), Scale::new(None, vec![1.0; 3])),
            (Scale::new(None, vec![1e300; 4]), Scale::new(None, vec![1e300; 4])),
        ];
        refused.iter().for_each(|(first, next)| assert!(first.then(next).is_err()));
    }

    #[test]
    fn maps_that_do_not_fit_are_refused_in_words() {
        let with = |map: Matrix| Scale { map: Some(map), ..scale(None) };
        let cases = [
            (with(Matrix::zeros(3, 5)), "columns of the linear map: expected 4, found 5"),
            (with(Matrix::zeros(0, 4)), "the linear map is empty"),
            (Scale { shift: None, factor: vec![], map: Some(Matrix::zeros(3, 0)) }, "the linear map is empty"),
            (
                with(Matrix::from_fn(2, 4, |i, j| if (i, j) == (1, 2) { f64::NAN } else { 0.0 })),
                "a number of the linear map in row 2, column 3 is NaN",
            ),
        ];
        for (scale, words) in cases {
            let error = scale.check().unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
            assert!(scale.apply(&Matrix::from_fn(2, scale.dim(), |_, _| 1.0).into()).is_err());
        }
        let large = with(Matrix::from_fn(1, 4, |_, _| 1e300));
        let text = large.apply(&Matrix::from_fn(2, 4, |i, _| 1e20 * i as f64).into()).unwrap_err().to_string();
        assert!(text.starts_with("a scaled value in row 2, column 1"), "{text}");
    }

    #[test]
    fn json_has_a_list_of_rows_and_nothing_where_there_is_no_map() {
        let text =
            serde_json::to_string(&Scale { map: Some(Matrix::from_fn(2, 1, |k, _| k as f64)), ..Scale::new(None, vec![2.0]) }).unwrap();
        assert_eq!(text, r#"{"shift":null,"factor":[2.0],"map":[[0.0],[1.0]]}"#);
        let back: Scale = serde_json::from_str(&text).unwrap();
        assert_eq!(serde_json::to_string(&back).unwrap(), text);
        for plain in [r#"{"shift":null,"factor":[2.0]}"#, r#"{"shift":null,"factor":[2.0],"map":null}"#] {
            assert_eq!(serde_json::from_str::<Scale>(plain).unwrap(), Scale::new(None, vec![2.0]));
        }
        let ragged = serde_json::from_str::<Scale>(r#"{"shift":null,"factor":[2.0,1.0],"map":[[0.0,1.0],[1.0]]}"#).unwrap_err();
        assert!(ragged.to_string().contains("the rows of the map have different lengths"));
    }
}
