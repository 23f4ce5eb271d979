//! Which rows are these? Fingerprints of rows, so that a model knows its training rows again.
//!
//! A row has a hash of 32 bits of its numbers that are not zero, rounded to single precision: dense or sparse, double or single precision, in any order
//! and any part of the rows. Of many rows those with the smallest hashes are kept, a random sample that is the same wherever the rows come from: a row whose
//! hash is below the largest that is kept is known to be among the rows or not; nothing is known of the others. A new row is mistaken for a known one with
//! a probability of (rows) / 2^32.
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use super::Points;

/// Fingerprints of rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fingerprints {
    /// Whether every row has its fingerprint here; otherwise those with the smallest hashes have.
    pub all: bool,
    /// The hashes in ascending order, without repetition; written as hexadecimal text.
    #[serde(serialize_with = "to_text", deserialize_with = "from_text")]
    hashes: Vec<u32>,
}

impl Fingerprints {
    /// Fingerprints of the rows, at most so many.
    pub fn of(points: &Points, most: usize) -> Self {
        let mut hashes: Vec<u32> = hashes(points);
        hashes.sort_unstable();
        hashes.dedup();
        let all = hashes.len() <= most;
        hashes.truncate(most);
        Fingerprints { all, hashes }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.hashes.len()
    }

    /// True when there is none.
    pub fn is_empty(&self) -> bool {
        self.hashes.is_empty()
    }

    /// For each row whether it is known; none where nothing is known of it.
    pub fn known(&self, points: &Points) -> Vec<Option<bool>> {
        let last = self.hashes.last().copied();
        let look = |hash: u32| match self.all || last.is_some_and(|last| hash <= last) {
            true => Some(self.hashes.binary_search(&hash).is_ok()),
            false => None,
        };
        hashes(points).into_iter().map(look).collect()
    }
}

/// The hash of each row.
fn hashes(points: &Points) -> Vec<u32> {
    if let Points::Sparse(rows) = points {
        let of_row = |i: usize| {
            let (columns, values) = rows.row(i);
            finish(columns.iter().zip(values).fold(0, |hash, (&column, &value)| with(hash, column as usize, value)))
        };
        return (0..rows.len()).map(of_row).collect();
    }
    let dim = points.dim();
    let mut row = vec![0.0f64; dim];
    (0..points.len())
        .map(|i| {
            points.copy_rows(i..i + 1, dim, &mut row);
            finish(row.iter().enumerate().fold(0, |hash, (column, &value)| with(hash, column, value)))
        })
        .collect()
}

/// The hash with one more number; zeros leave it as it is.
fn with(hash: u64, column: usize, value: f64) -> u64 {
    let single = value as f32;
    if single == 0.0 {
        return hash;
    }
    mixed(hash ^ mixed(((column as u64) << 32) | u64::from(single.to_bits())))
}

fn finish(hash: u64) -> u32 {
    (mixed(hash) >> 32) as u32
}

/// A permutation of 64 bits in which every bit depends on every other: multiplications by odd numbers and shifts.
fn mixed(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

fn to_text<S: Serializer>(hashes: &[u32], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&hashes.iter().map(|hash| format!("{hash:08x}")).collect::<String>())
}

fn from_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u32>, D::Error> {
    let text = String::deserialize(deserializer)?;
    let bad = || D::Error::custom("fingerprints of rows are ascending numbers of eight hexadecimal digits");
    if !text.is_ascii() || text.len() % 8 != 0 {
        return Err(bad());
    }
    let read = |part: &[u8]| std::str::from_utf8(part).ok().and_then(|part| u32::from_str_radix(part, 16).ok()).ok_or_else(bad);
    let hashes: Vec<u32> = text.as_bytes().chunks(8).map(read).collect::<Result<_, _>>()?;
    if hashes.windows(2).all(|pair| pair[0] < pair[1]) { Ok(hashes) } else { Err(bad()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{data::Csr, linalg::Matrix};

    fn rows(n: usize, shift: f64) -> Matrix {
        Matrix::from_fn(n, 3, |i, j| if (i + j) % 4 == 0 { 0.0 } else { ((i * 3 + j) as f64 + shift).sin() })
    }

    #[test]
    fn rows_are_known_again_in_any_order_and_storage() {
        let x = rows(200, 0.0);
        let known = Fingerprints::of(&x.clone().into(), 1000);
        assert!(known.all && known.len() == 200 && !known.is_empty());
        let some = x.select(&[150, 3, 77]);
        let wide = Matrix::from_fn(3, 5, |i, j| if j < 3 { some.at(i, j) } else { 0.0 });
        let single = Matrix::new(some.values().iter().map(|&v| v as f32).collect(), 3, 3).unwrap();
        for points in [some.clone().into(), Points::from(Csr::from_dense(&some)), wide.into(), Points::from(single)] {
            assert_eq!(known.known(&points), [Some(true); 3]);
        }
        assert!(known.known(&rows(500, 0.5).into()).iter().all(|known| *known == Some(false)));
    }

    #[test]
    fn a_sample_says_where_it_knows_nothing_and_is_never_wrong() {
        let x = rows(1000, 0.0);
        let known = Fingerprints::of(&x.clone().into(), 100);
        assert!(!known.all && known.len() == 100);
        let own = known.known(&x.into());
        assert_eq!(own.iter().filter(|known| **known == Some(true)).count(), 100);
        assert!(!own.contains(&Some(false)));
        let others = known.known(&rows(1000, 0.5).into());
        let looked = others.iter().flatten().count();
        assert!((60..140).contains(&looked) && !others.contains(&Some(true)), "{looked}");
    }

    #[test]
    fn they_return_from_text_and_damage_is_rejected() {
        let known = Fingerprints::of(&rows(20, 0.0).into(), 10);
        let text = serde_json::to_string(&known).unwrap();
        assert_eq!(serde_json::from_str::<Fingerprints>(&text).unwrap(), known);
        for bad in ["0000000", "0000000g", "0000000200000001", "0000000é"] {
            let text = format!(r#"{{"all": true, "hashes": "{bad}"}}"#);
            assert!(serde_json::from_str::<Fingerprints>(&text).unwrap_err().to_string().contains("hexadecimal"), "{bad}");
        }
    }
}
