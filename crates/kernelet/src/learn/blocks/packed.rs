//! Asks and sums as bytes, to be sent to other processes: a mark with the version, a header in JSON, then arrays of numbers.
use serde::{Serialize, de::DeserializeOwned};

use crate::{Error, Result, linalg::Matrix};

/// The mark of these bytes; its last digit is the version.
const MARK: &[u8; 8] = b"KRNLSUM4";

/// A header and arrays.
pub(super) struct Packed {
    header: Vec<u8>,
    arrays: Vec<Vec<f64>>,
}

impl Packed {
    pub fn new(header: &impl Serialize, arrays: Vec<Vec<f64>>) -> Result<Self> {
        let header = serde_json::to_vec(header).map_err(|error| Error::data(format!("this cannot be sent: {error}")))?;
        Ok(Packed { header, arrays })
    }

    pub fn to_bytes(&self) -> Vec<u8> {
        let count = |count: usize| (count as u64).to_le_bytes();
        let mut bytes = MARK.to_vec();
        bytes.extend(count(self.header.len()));
        bytes.extend(&self.header);
        for array in &self.arrays {
            bytes.extend(count(array.len()));
            array.iter().for_each(|v| bytes.extend(v.to_le_bytes()));
        }
        bytes
    }

    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let Some(mut rest) = bytes.strip_prefix(MARK) else {
            let other = bytes.starts_with(&MARK[..7]);
            let reason = if other {
                "these sums are of another version of kernelet; use the same one everywhere"
            } else {
                "these are no sums of kernelet"
            };
            return Err(Error::data(reason));
        };
        let header = part(&mut rest, 1)?.to_vec();
        let mut arrays = vec![];
        while !rest.is_empty() {
            arrays.push(part(&mut rest, 8)?.as_chunks::<8>().0.iter().map(|v| f64::from_le_bytes(*v)).collect());
        }
        Ok(Packed { header, arrays })
    }

    pub fn header<T: DeserializeOwned>(&self) -> Result<T> {
        serde_json::from_slice(&self.header).map_err(|error| Error::data(format!("sums with a header that cannot be read: {error}")))
    }

    /// The arrays, which must be so many.
    pub fn arrays<const COUNT: usize>(self) -> Result<[Vec<f64>; COUNT]> {
        let found = self.arrays.len();
        self.arrays.try_into().map_err(|_| Error::Shape { what: "arrays of sums", expected: COUNT, found })
    }
}

/// Takes a part off: its length, then so many items.
fn part<'a>(rest: &mut &'a [u8], item: usize) -> Result<&'a [u8]> {
    let cut = || Error::data("sums that are cut short");
    let (len, after) = rest.split_first_chunk().ok_or_else(cut)?;
    let bytes = usize::try_from(u64::from_le_bytes(*len)).ok().and_then(|len| len.checked_mul(item)).ok_or_else(cut)?;
    let (part, after) = after.split_at_checked(bytes).ok_or_else(cut)?;
    *rest = after;
    Ok(part)
}

/// A matrix of numbers that were sent.
pub(super) fn matrix(what: &'static str, values: Vec<f64>, rows: usize, cols: usize) -> Result<Matrix> {
    let found = values.len();
    Matrix::new(values, rows, cols).ok_or(Error::Shape { what, expected: rows.saturating_mul(cols), found })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back_and_damage_is_reported() {
        let bytes = Packed::new(&(3, "x"), vec![vec![1.5, f64::MIN_POSITIVE], vec![]]).unwrap().to_bytes();
        let back = Packed::from_bytes(&bytes).unwrap();
        assert_eq!(back.header::<(u8, String)>().unwrap(), (3, "x".into()));
        assert_eq!(back.arrays::<2>().unwrap(), [vec![1.5, f64::MIN_POSITIVE], vec![]]);
        assert!(Packed::from_bytes(&bytes).unwrap().arrays::<3>().is_err());
        for len in 0..bytes.len() - 8 {
            assert!(Packed::from_bytes(&bytes[..len]).and_then(|p| p.arrays::<2>()).is_err(), "{len}");
        }
        let mut other = bytes;
        other[7] = b'1';
        assert!(Packed::from_bytes(&other).err().unwrap().to_string().contains("another version"));
    }
}
