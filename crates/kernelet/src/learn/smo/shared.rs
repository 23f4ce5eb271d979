//! Kernel rows that several problems over the same points share: a row that one of them computed serves the others.
use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicUsize, Ordering},
};

use super::{RowSource, scan::LANES};

/// Kernel rows behind a common store. Whole rows are kept while the store has free slots; rows in some columns are taken from them.
pub(crate) struct SharedRows {
    /// All rows in the columns of this source.
    rows: Box<dyn RowSource>,
    store: Arc<Store>,
    /// The columns among all points; None for all of them.
    columns: Option<Vec<usize>>,
}

struct Store {
    rows: Vec<OnceLock<Box<[f32]>>>,
    /// How many more rows fit.
    free: AtomicUsize,
}

impl SharedRows {
    /// Shares `rows` through a store of at most `bytes` bytes.
    pub fn new(rows: Box<dyn RowSource>, bytes: usize) -> Self {
        let width = rows.len().next_multiple_of(LANES);
        let store = Store { rows: vec![OnceLock::new(); rows.len()], free: AtomicUsize::new(bytes / (4 * width.max(1))) };
        SharedRows { rows, store: Arc::new(store), columns: None }
    }

    fn keep(&self, i: usize, row: &[f32]) {
        let taken = self.store.free.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |free| free.checked_sub(1));
        // Another thread may have stored the same row first; this slot then stays unused, without further effect.
        if taken.is_ok() {
            let _ = self.store.rows[i].set(row.into());
        }
    }
}

impl RowSource for SharedRows {
    fn len(&self) -> usize {
        self.rows.len()
    }

    fn diagonal(&self) -> Vec<f64> {
        self.rows.diagonal()
    }

    fn row(&self, i: usize, out: &mut [f32]) -> u64 {
        match (self.store.rows[i].get(), &self.columns) {
            (Some(row), None) => out.copy_from_slice(&row[..out.len()]),
            (Some(row), Some(columns)) => {
                out.iter_mut().zip(columns).for_each(|(out, &column)| *out = row[column]);
                out[columns.len()..].fill(0.0);
            }
            (None, Some(_)) => return self.rows.row(i, out),
            (None, None) => {
                let made = self.rows.row(i, out);
                self.keep(i, out);
                return made;
            }
        }
        0
    }

    fn columns(&self, keep: &[usize]) -> Box<dyn RowSource> {
        let columns = keep.iter().map(|&t| self.columns.as_ref().map_or(t, |columns| columns[t])).collect();
        Box::new(SharedRows { rows: self.rows.columns(keep), store: self.store.clone(), columns: Some(columns) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{data::Points, kernel::Kernel, learn::smo::rows_of, linalg::Matrix};

    #[test]
    fn shared_rows_are_computed_once_and_are_the_same_numbers() {
        let points = Points::from(Matrix::from_fn(100, 3, |i, j| ((i * 13 + j * 7) as f64).sin()));
        let rows = || rows_of(&Kernel::gaussian(0.7), &points, 1e-3).unwrap();
        // Space for two rows.
        let (plain, shared) = (rows(), SharedRows::new(rows(), 2 * 4 * 128));
        let get = |source: &dyn RowSource, i: usize, width: usize| {
            let mut out = vec![9.0; width];
            let made = source.row(i, &mut out);
            (made, out)
        };
        let narrow = shared.columns(&[3, 50, 99]).columns(&[0, 2]);
        let want = plain.columns(&[3, 99]);
        for (i, first, again) in [(7, 100, 0), (50, 100, 0), (8, 100, 100)] {
            assert_eq!(get(&*narrow, i, 64), (2, get(&*want, i, 64).1));
            assert_eq!(get(&shared, i, 128), (first, get(&*plain, i, 128).1));
            assert_eq!(get(&shared, i, 128), (again, get(&*plain, i, 128).1));
            assert_eq!(get(&*narrow, i, 64), (if again == 0 { 0 } else { 2 }, get(&*want, i, 64).1));
        }
    }
}
