//! Rows of a cache as bytes, and where groups of them begin.
use serde::{Deserialize, Serialize};

use crate::{
    data::{Csr, Points},
    linalg::Matrix,
};

/// How the features of a row are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Storage {
    /// All of them in double precision.
    Double,
    /// All of them in single precision.
    Single,
    /// Those that are stored: their number, columns and values.
    Sparse,
}

/// Features, targets and weights of some rows.
pub(super) type Rows = (Points, Matrix, Option<Vec<f64>>);

impl Storage {
    /// What suits these rows; text of pairs is sparse even where a block of it is dense.
    pub fn of(points: &Points, pairs: bool) -> Self {
        match points {
            _ if pairs => Storage::Sparse,
            Points::Sparse(_) => Storage::Sparse,
            Points::F32(_) => Storage::Single,
            Points::F64(_) => Storage::Double,
        }
    }

    /// Adds row i to the bytes; returns how many of its values are stored.
    pub fn put(self, points: &Points, i: usize, bytes: &mut Vec<u8>) -> u64 {
        match (self, points) {
            (Storage::Sparse, Points::Sparse(rows)) => {
                let (columns, values) = rows.row(i);
                put_pairs(columns.iter().copied().zip(values.iter().copied()), columns.len(), bytes)
            }
            (Storage::Sparse, _) => {
                let row = one_row(points, i);
                let stored = || row.iter().enumerate().filter(|(_, v)| **v != 0.0).map(|(j, v)| (j as u32, *v));
                put_pairs(stored(), stored().count(), bytes)
            }
            (Storage::Single, _) => {
                let mut row = vec![0f32; points.dim()];
                points.copy_rows(i..i + 1, points.dim(), &mut row);
                row.iter().for_each(|v| bytes.extend(v.to_le_bytes()));
                row.len() as u64
            }
            (Storage::Double, _) => {
                let row = one_row(points, i);
                row.iter().for_each(|v| bytes.extend(v.to_le_bytes()));
                row.len() as u64
            }
        }
    }

    /// So many rows, features and targets that these bytes are; none where they are not.
    pub fn rows(self, bytes: &[u8], (count, dim, n_targets): (usize, usize, usize), weighted: bool) -> Option<Rows> {
        let mut rest = bytes;
        let (mut targets, mut weights) = (vec![], vec![]);
        let (mut double, mut single) = (vec![], vec![]);
        let (mut starts, mut columns) = (vec![0], vec![]);
        for _ in 0..count {
            targets.extend(doubles(&mut rest, n_targets)?);
            weights.extend(doubles(&mut rest, usize::from(weighted))?);
            match self {
                Storage::Double => double.extend(doubles(&mut rest, dim)?),
                Storage::Single => single.extend(taken(&mut rest, 4, dim)?.as_chunks::<4>().0.iter().map(|v| f32::from_le_bytes(*v))),
                Storage::Sparse => {
                    let stored = u32::from_le_bytes(*taken(&mut rest, 4, 1)?.first_chunk()?) as usize;
                    columns.extend(taken(&mut rest, 4, stored)?.as_chunks::<4>().0.iter().map(|v| u32::from_le_bytes(*v)));
                    double.extend(doubles(&mut rest, stored)?);
                    starts.push(double.len());
                }
            }
        }
        let points: Points = match self {
            Storage::Double => Matrix::new(double, count, dim)?.into(),
            Storage::Single => Matrix::new(single, count, dim)?.into(),
            Storage::Sparse => Csr::new(starts, columns, double, dim).ok()?.into(),
        };
        rest.is_empty().then(|| Some((points, Matrix::new(targets, count, n_targets)?, weighted.then_some(weights))))?
    }
}

/// Rows of which the index knows where they begin.
#[derive(Clone, Copy)]
pub(super) struct Group {
    pub start: u64,
    /// CRC-32 of their bytes.
    pub sum: u32,
}

impl Group {
    pub const BYTES: usize = 16;

    pub fn of(bytes: &[u8; Self::BYTES]) -> Option<Group> {
        let (start, sum) = bytes.split_first_chunk::<8>()?;
        let sum = u32::try_from(u64::from_le_bytes(*sum.first_chunk()?)).ok()?;
        Some(Group { start: u64::from_le_bytes(*start), sum })
    }

    pub fn to_bytes(self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[..8].copy_from_slice(&self.start.to_le_bytes());
        bytes[8..].copy_from_slice(&u64::from(self.sum).to_le_bytes());
        bytes
    }

    pub fn add(&mut self, bytes: &[u8]) {
        let mut sum = crc32fast::Hasher::new_with_initial(self.sum);
        sum.update(bytes);
        self.sum = sum.finalize();
    }
}

/// The CRC-32 of index and footer.
pub(super) fn sum_of(index: &[u8], footer: &[u8]) -> u32 {
    let mut sum = crc32fast::Hasher::new();
    sum.update(index);
    sum.update(footer);
    sum.finalize()
}

fn one_row(points: &Points, i: usize) -> Vec<f64> {
    let mut row = vec![0.0; points.dim()];
    points.copy_rows(i..i + 1, points.dim(), &mut row);
    row
}

fn put_pairs(pairs: impl Iterator<Item = (u32, f64)> + Clone, count: usize, bytes: &mut Vec<u8>) -> u64 {
    bytes.extend((count as u32).to_le_bytes());
    pairs.clone().for_each(|(column, _)| bytes.extend(column.to_le_bytes()));
    pairs.for_each(|(_, value)| bytes.extend(value.to_le_bytes()));
    count as u64
}

/// The next `count` numbers of `size` bytes each.
fn taken<'a>(rest: &mut &'a [u8], size: usize, count: usize) -> Option<&'a [u8]> {
    let (part, after) = rest.split_at_checked(size.checked_mul(count)?)?;
    *rest = after;
    Some(part)
}

fn doubles<'a>(rest: &mut &'a [u8], count: usize) -> Option<impl Iterator<Item = f64> + use<'a>> {
    Some(taken(rest, 8, count)?.as_chunks::<8>().0.iter().map(|v| f64::from_le_bytes(*v)))
}
