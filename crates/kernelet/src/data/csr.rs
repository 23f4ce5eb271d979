//! Sparse rows: for each row the columns that are not zero, in ascending order.
use crate::{Error, Result, linalg::Matrix};

/// Compressed sparse rows. Columns are counted from 0 and ascend strictly within a row.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Csr {
    starts: Vec<usize>,
    columns: Vec<u32>,
    values: Vec<f64>,
    dim: usize,
}

/// One sparse row: its columns and their values.
pub type SparseRow<'a> = (&'a [u32], &'a [f64]);

impl Csr {
    /// Rows from the usual three arrays; row i is `starts[i]..starts[i + 1]` of the other two.
    pub fn new(starts: Vec<usize>, columns: Vec<u32>, values: Vec<f64>, dim: usize) -> Result<Self> {
        if columns.len() != values.len() {
            return Err(Error::Shape { what: "values of sparse rows", expected: columns.len(), found: values.len() });
        }
        let ordered = starts.first() == Some(&0) && starts.windows(2).all(|w| w[0] <= w[1]) && starts.last() == Some(&columns.len());
        if !ordered {
            return Err(Error::data("the row starts of sparse rows must begin at 0, never fall, and end at the number of values"));
        }
        let rows = Csr { starts, columns, values, dim };
        for i in 0..rows.len() {
            let (columns, _) = rows.row(i);
            if columns.windows(2).any(|w| w[0] >= w[1]) || columns.last().is_some_and(|&c| c as usize >= dim) {
                return Err(Error::data(format!("the columns of sparse row {} must ascend and stay below {dim}", i + 1)));
            }
        }
        Ok(rows)
    }

    /// The nonzero entries of a dense matrix.
    pub fn from_dense(matrix: &Matrix) -> Self {
        let mut rows = Csr { starts: vec![0], dim: matrix.cols(), ..Csr::default() };
        for row in matrix.iter() {
            for (j, &value) in row.iter().enumerate().filter(|(_, v)| **v != 0.0) {
                rows.columns.push(j as u32);
                rows.values.push(value);
            }
            rows.starts.push(rows.values.len());
        }
        rows
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// True when there is no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of columns.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// Number of stored values.
    pub fn stored(&self) -> usize {
        self.values.len()
    }

    /// Stored values over all places; 0 for an empty matrix.
    pub fn density(&self) -> f64 {
        self.stored() as f64 / ((self.len() * self.dim).max(1)) as f64
    }

    /// Row `i`.
    pub fn row(&self, i: usize) -> SparseRow<'_> {
        let range = self.starts[i]..self.starts[i + 1];
        (&self.columns[range.clone()], &self.values[range])
    }

    /// The three arrays: row starts, columns, values.
    pub fn parts(&self) -> (&[usize], &[u32], &[f64]) {
        (&self.starts, &self.columns, &self.values)
    }

    /// The same rows with every stored value replaced by `map(column, value)`.
    pub fn mapped(&self, map: impl Fn(usize, f64) -> f64) -> Csr {
        let values = self.columns.iter().zip(&self.values).map(|(&c, &v)| map(c as usize, v)).collect();
        Csr { values, ..self.clone() }
    }

    /// The same rows in `dim` columns: missing ones are zero. `dim` must not be below the present one.
    pub fn widened(mut self, dim: usize) -> Csr {
        self.dim = self.dim.max(dim);
        self
    }

    /// The chosen rows, in the order given.
    pub fn select(&self, indices: &[usize]) -> Csr {
        let mut chosen = Csr { starts: vec![0], dim: self.dim, ..Csr::default() };
        for &i in indices {
            let (columns, values) = self.row(i);
            chosen.columns.extend_from_slice(columns);
            chosen.values.extend_from_slice(values);
            chosen.starts.push(chosen.values.len());
        }
        chosen
    }

    /// True where the columns are many beside the stored values: what counts all columns is then better done with those that occur.
    pub(crate) fn is_mostly_empty(&self) -> bool {
        const ALWAYS: usize = 1 << 16;
        const EACH: usize = 4;
        self.dim > ALWAYS.max(EACH * self.stored())
    }

    /// The columns that occur, ascending, and the rows with these columns alone, renumbered from 0.
    pub fn compacted(&self) -> (Vec<u32>, Csr) {
        let mut occur = self.columns.clone();
        occur.sort_unstable();
        occur.dedup();
        let columns = self.columns.iter().map(|column| occur.partition_point(|c| c < column) as u32).collect();
        let dim = occur.len();
        (occur, Csr { columns, dim, ..self.clone() })
    }

    /// Columns as rows: row j of the result lists the rows of `self` in which column j is not zero.
    pub fn transposed(&self) -> Csr {
        let mut starts = vec![0usize; self.dim + 1];
        for &c in &self.columns {
            starts[c as usize + 1] += 1;
        }
        for j in 0..self.dim {
            starts[j + 1] += starts[j];
        }
        let mut next = starts.clone();
        let (mut columns, mut values) = (vec![0u32; self.stored()], vec![0.0; self.stored()]);
        for i in 0..self.len() {
            let (row_columns, row_values) = self.row(i);
            for (&c, &v) in row_columns.iter().zip(row_values) {
                let place = &mut next[c as usize];
                columns[*place] = i as u32;
                values[*place] = v;
                *place += 1;
            }
        }
        Csr { starts, columns, values, dim: self.len() }
    }
}

/// Sparse rows by column. Columns that never occur take no memory, however large their numbers are.
#[derive(Debug)]
pub(crate) struct ByColumn {
    /// The columns that occur; none where they are few enough to count all.
    occur: Option<Vec<u32>>,
    columns: Csr,
}

impl ByColumn {
    pub fn new(rows: &Csr) -> Self {
        if !rows.is_mostly_empty() {
            return ByColumn { occur: None, columns: rows.transposed() };
        }
        let (occur, compact) = rows.compacted();
        ByColumn { occur: Some(occur), columns: compact.transposed() }
    }

    /// The rows in which a column is not zero, and its values there.
    pub fn column(&self, column: u32) -> SparseRow<'_> {
        let place = match &self.occur {
            None => Some(column as usize),
            Some(occur) => occur.binary_search(&column).ok(),
        };
        place.filter(|&place| place < self.columns.len()).map_or((&[], &[]), |place| self.columns.row(place))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Csr {
        Csr::new(vec![0, 2, 2, 3], vec![0, 3, 1], vec![1.0, 2.0, 3.0], 4).unwrap()
    }

    #[test]
    fn the_transpose_of_the_transpose_is_the_matrix() {
        let a = example();
        assert_eq!(a.transposed().row(3), (&[0u32][..], &[2.0][..]));
        assert_eq!(a.transposed().transposed(), a);
        assert_eq!(a.select(&[2, 0]).row(1), a.row(0));
    }

    #[test]
    fn columns_are_found_whether_all_are_counted_or_not() {
        let near = example();
        let far = Csr::new(vec![0, 2, 2, 3], vec![0, 4_294_967_294, 70_000], vec![1.0, 2.0, 3.0], u32::MAX as usize).unwrap();
        let (near, far) = (ByColumn::new(&near), ByColumn::new(&far));
        for (a, b) in [(0, 0), (3, 4_294_967_294), (1, 70_000), (2, 5), (9, 4_294_967_293)] {
            assert_eq!(near.column(a), far.column(b));
        }
        assert_eq!(far.column(70_000), (&[2u32][..], &[3.0][..]));
    }

    #[test]
    fn broken_rows_are_rejected() {
        assert!(Csr::new(vec![0, 2], vec![1, 1], vec![1.0, 2.0], 4).is_err());
        assert!(Csr::new(vec![0, 1], vec![4], vec![1.0], 4).is_err());
        assert!(Csr::new(vec![0, 5], vec![1], vec![1.0], 4).is_err());
        assert!(Csr::new(vec![], vec![], vec![], 4).is_err());
    }
}
