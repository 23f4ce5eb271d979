//! Which rows are these? Fingerprints of rows, so that a model knows its training rows again.
//!
//! A row has a hash of 32 bits of its numbers that are not zero, rounded to single precision: dense or sparse, double or single precision, in any order
//! and any part of the rows. Of many rows those with the smallest hashes are kept, a random sample that is the same wherever the rows come from: a row whose
//! hash is below the largest that is kept is known to be among the rows or not; nothing is known of the others. A new row is mistaken for a known one with
//! a probability of (rows) / 2^32.
//!
//! Two sets of rows at hand are compared by 64 bits of the same hash, together with the targets ([`Overlap`]).
use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use super::{Dataset, Points, Target};

/// Fingerprints that every model keeps, however small it is.
const FEWEST: usize = 64;

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
        Fingerprints::smallest(true, hashes(points).into_iter().map(short).collect(), most)
    }

    /// How many a model keeps whose vectors and coefficients are so many numbers: an eighth of their bytes. A number has 8 bytes, and a fingerprint as many
    /// characters.
    pub(crate) fn most_beside(numbers: usize) -> usize {
        (numbers / 8).max(FEWEST)
    }

    /// Those with these hashes, in any order.
    pub(crate) fn of_hashes(all: bool, hashes: Vec<u32>) -> Self {
        Fingerprints::smallest(all, hashes, usize::MAX)
    }

    /// Those of these rows and of others together, at most so many. However rows are grouped, the result is the same.
    pub fn merged(&self, other: &Fingerprints, most: usize) -> Self {
        // What a sample does not have says nothing above its largest hash.
        let known = |hash: &u32| [self, other].iter().all(|part| part.all || part.hashes.last().is_some_and(|last| hash <= last));
        let both = [&self.hashes[..], &other.hashes].concat();
        Fingerprints::smallest(self.all && other.all, both.into_iter().filter(known).collect(), most)
    }

    fn smallest(all: bool, mut hashes: Vec<u32>, most: usize) -> Self {
        hashes.sort_unstable();
        hashes.dedup();
        let all = all && hashes.len() <= most;
        hashes.truncate(most);
        Fingerprints { all, hashes }
    }

    /// The hashes in ascending order.
    pub(crate) fn hashes(&self) -> &[u32] {
        &self.hashes
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
        hashes(points).into_iter().map(short).map(look).collect()
    }
}

/// What two data sets share, by the features, rounded to single precision, and the targets of their rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Overlap {
    /// The rows of the first that the second has too.
    pub shared: Vec<usize>,
    /// Rows of the second that it has more than once: in data of few different rows, new rows are old ones by chance.
    pub repeated: usize,
    /// All rows of the second.
    pub n_others: usize,
}

impl Overlap {
    /// What `rows` share with `others`. Cost: all numbers of both.
    pub fn of(rows: &Dataset, others: &Dataset) -> Self {
        let mut counts: HashMap<u64, usize> = HashMap::new();
        keys(others).into_iter().for_each(|key| *counts.entry(key).or_default() += 1);
        let repeated: usize = counts.values().filter(|count| **count > 1).sum();
        let shared = keys(rows).into_iter().enumerate().filter(|(_, key)| counts.contains_key(key)).map(|(row, _)| row).collect();
        Overlap { shared, repeated, n_others: others.len() }
    }

    /// True where more of `n` rows are shared than chance explains: three standard deviations, at a rate of repeated rows that is above the true one
    /// with a probability of about 99 %, because few rows have few repetitions or none.
    pub fn beyond_chance(&self, n: usize) -> bool {
        let (n, repeated) = (n as f64, self.repeated as f64);
        let p = ((repeated + 2.33 * repeated.sqrt() + 4.6) / self.n_others.max(1) as f64).min(1.0);
        self.shared.len() as f64 > n * p + 3.0 * (n * p * (1.0 - p)).sqrt()
    }
}

/// For each row whether an earlier one has the same numbers, in single precision. Cost: all numbers.
pub(crate) fn repeated(points: &Points) -> Vec<bool> {
    let mut known = HashSet::new();
    hashes(points).into_iter().map(|hash| !known.insert(hash)).collect()
}

/// The hash of each row with its target.
fn keys(data: &Dataset) -> Vec<u64> {
    let mut keys = hashes(&data.points);
    match &data.target {
        Target::None => {}
        Target::Classes(classes) => {
            let bytes = |text: &str| text.bytes().fold(0, |hash, byte| mixed(hash ^ u64::from(byte)));
            let labels: Vec<u64> = classes.labels.iter().map(|label| bytes(label.text())).collect();
            keys.iter_mut().zip(&classes.codes).for_each(|(key, &code)| *key = mixed(*key ^ labels[code as usize]));
        }
        Target::Values(values) => keys.iter_mut().zip(values.iter()).for_each(|(key, row)| {
            *key = row.iter().fold(*key, |hash, value| mixed(hash ^ value.to_bits()));
        }),
    }
    keys
}

/// The hash of each row.
fn hashes(points: &Points) -> Vec<u64> {
    if let Points::Sparse(rows) = points {
        let of_row = |i: usize| {
            let (columns, values) = rows.row(i);
            mixed(columns.iter().zip(values).fold(0, |hash, (&column, &value)| with(hash, column as usize, value)))
        };
        return (0..rows.len()).map(of_row).collect();
    }
    let dim = points.dim();
    let mut row = vec![0.0f64; dim];
    (0..points.len())
        .map(|i| {
            points.copy_rows(i..i + 1, dim, &mut row);
            mixed(row.iter().enumerate().fold(0, |hash, (column, &value)| with(hash, column, value)))
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

/// What a model keeps of a hash.
fn short(hash: u64) -> u32 {
    (hash >> 32) as u32
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
    use crate::{
        data::{Csr, banana},
        linalg::Matrix,
    };

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
    fn those_of_parts_are_those_of_all_rows_however_they_are_grouped() {
        let x = rows(300, 0.0);
        for most in [0, 40, 1000] {
            let of = |range: std::ops::Range<usize>| Fingerprints::of(&x.select(&range.collect::<Vec<_>>()).into(), most);
            let all = Fingerprints::of(&x.clone().into(), most);
            let one = of(0..120).merged(&of(120..130), most).merged(&of(130..300), most);
            let other = of(200..300).merged(&of(0..150).merged(&of(100..200), most), most);
            assert_eq!((&one, &other), (&all, &all), "{most}");
            assert_eq!(Fingerprints::of_hashes(all.all, all.hashes().iter().rev().copied().collect()), all);
        }
        // A large sample beside a small one reports nothing beyond the smaller one's range.
        let (few, many) = (Fingerprints::of(&x.select(&(0..200).collect::<Vec<_>>()).into(), 10), Fingerprints::of(&x.clone().into(), 250));
        let both = few.merged(&many, 250);
        assert!(!both.all && both.known(&x.into()).iter().all(|known| *known != Some(false)));
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

    #[test]
    fn rows_of_one_set_are_found_in_another_however_they_are_stored() {
        let data = banana(60, 1);
        let mixed = data.select(&[5, 17]);
        let fresh = banana(50, 2);
        assert_eq!(Overlap::of(&mixed, &data).shared, [0, 1]);
        assert_eq!(Overlap::of(&fresh, &data), Overlap { shared: vec![], repeated: 0, n_others: 60 });
        let sparse = Dataset { points: Csr::from_dense(&mixed.points.to_dense()).into(), ..mixed.clone() };
        assert_eq!(Overlap::of(&sparse, &data).shared, [0, 1]);
        // The same features with another target are another row.
        let other = Dataset { target: Target::Values(Matrix::column(vec![1.0, 2.0])), ..mixed };
        assert!(Overlap::of(&other, &data).shared.is_empty());
    }

    #[test]
    fn rows_that_repeat_anyway_are_shared_by_chance() {
        let row = |i: usize| Dataset::new(Matrix::from_fn(40, 1, |j, _| ((i + j) % 4) as f64), Target::None);
        let overlap = Overlap::of(&row(1), &row(0));
        assert_eq!((overlap.shared.len(), overlap.repeated, overlap.beyond_chance(40)), (40, 40, false));
        let of = |shared: usize, repeated| Overlap { shared: (0..shared).collect(), repeated, n_others: 1000 };
        assert!(of(1, 0).beyond_chance(2) && of(30, 0).beyond_chance(1000) && of(60, 10).beyond_chance(1000));
        // Letter: of 1,000 rows 4 are repeated in one draw, and 12 of 1,000 others are among them.
        assert!(!of(12, 4).beyond_chance(1000) && !of(0, 0).beyond_chance(100));
    }
}
