//! The arrays of a safetensors file: numbers in little-endian order under a JSON header that gives each a name, a type and a shape.
use std::borrow::Cow;

use safetensors::{Dtype, View, tensor::Metadata};

use crate::{Error, Result, linalg::Matrix, linalg::Real};

/// A number type that arrays are made of.
pub(super) trait Number: Copy {
    const DTYPE: Dtype;
    fn encode(values: &[Self]) -> Vec<u8>;
    fn decode(bytes: &[u8]) -> Vec<Self>;
}

impl Number for f64 {
    const DTYPE: Dtype = Dtype::F64;
    fn encode(values: &[Self]) -> Vec<u8> {
        values.iter().flat_map(|value| value.to_le_bytes()).collect()
    }
    fn decode(bytes: &[u8]) -> Vec<Self> {
        bytes.as_chunks().0.iter().map(|&chunk| f64::from_le_bytes(chunk)).collect()
    }
}

impl Number for f32 {
    const DTYPE: Dtype = Dtype::F32;
    fn encode(values: &[Self]) -> Vec<u8> {
        values.iter().flat_map(|value| value.to_le_bytes()).collect()
    }
    fn decode(bytes: &[u8]) -> Vec<Self> {
        bytes.as_chunks().0.iter().map(|&chunk| f32::from_le_bytes(chunk)).collect()
    }
}

impl Number for u8 {
    const DTYPE: Dtype = Dtype::U8;
    fn encode(values: &[Self]) -> Vec<u8> {
        values.to_vec()
    }
    fn decode(bytes: &[u8]) -> Vec<Self> {
        bytes.to_vec()
    }
}

impl Number for u32 {
    const DTYPE: Dtype = Dtype::U32;
    fn encode(values: &[Self]) -> Vec<u8> {
        values.iter().flat_map(|value| value.to_le_bytes()).collect()
    }
    fn decode(bytes: &[u8]) -> Vec<Self> {
        bytes.as_chunks().0.iter().map(|&chunk| u32::from_le_bytes(chunk)).collect()
    }
}

/// Places are 64-bit in files, whatever the machine.
impl Number for usize {
    const DTYPE: Dtype = Dtype::U64;
    fn encode(values: &[Self]) -> Vec<u8> {
        values.iter().flat_map(|&value| (value as u64).to_le_bytes()).collect()
    }
    fn decode(bytes: &[u8]) -> Vec<Self> {
        let place = |chunk| usize::try_from(u64::from_le_bytes(chunk)).unwrap_or(usize::MAX);
        bytes.as_chunks().0.iter().map(|&chunk| place(chunk)).collect()
    }
}

/// An array to be written to a file.
pub(super) struct Array {
    dtype: Dtype,
    shape: Vec<usize>,
    bytes: Vec<u8>,
}

impl Array {
    pub(super) fn list<T: Number>(values: &[T]) -> Self {
        Array { dtype: T::DTYPE, shape: vec![values.len()], bytes: T::encode(values) }
    }

    pub(super) fn matrix<T: Number + Real>(matrix: &Matrix<T>) -> Self {
        Array { shape: vec![matrix.rows(), matrix.cols()], ..Array::list(matrix.values()) }
    }
}

impl View for Array {
    fn dtype(&self) -> Dtype {
        self.dtype
    }
    fn shape(&self) -> &[usize] {
        &self.shape
    }
    fn data(&self) -> Cow<'_, [u8]> {
        Cow::Borrowed(&self.bytes)
    }
    fn data_len(&self) -> usize {
        self.bytes.len()
    }
}

/// The arrays of a file, found by name. What is asked for is copied out; no claim of the header allocates anything.
pub(super) struct Arrays<'a> {
    header: Metadata,
    data: &'a [u8],
    pub(super) origin: &'a str,
}

impl<'a> Arrays<'a> {
    /// True when the content looks like a safetensors file, whole or not.
    pub(super) fn recognise(bytes: &[u8]) -> bool {
        bytes.get(8) == Some(&b'{') && bytes.first_chunk().is_some_and(|length| u64::from_le_bytes(*length) < 1 << 40)
    }

    /// Reads the header and checks that the arrays fill the rest of the file exactly.
    pub(super) fn open(bytes: &'a [u8], origin: &'a str) -> Result<Self> {
        let bad = |reason: String| Error::format(origin, None, None, reason);
        let truncated = || bad("the file is truncated".into());
        let (length, rest) = bytes.split_first_chunk().ok_or_else(truncated)?;
        let length = usize::try_from(u64::from_le_bytes(*length)).map_err(|_| truncated())?;
        let (json, data) = rest.split_at_checked(length).ok_or_else(truncated)?;
        let header: Metadata = serde_json::from_slice(json).map_err(|error| bad(format!("the header is not understood: {error}")))?;
        match header.data_len() {
            claimed if claimed > data.len() => Err(truncated()),
            claimed if claimed < data.len() => Err(bad(format!("{} bytes follow the last array", data.len() - claimed))),
            _ => Ok(Arrays { header, data, origin }),
        }
    }

    /// An error about this file.
    pub(super) fn bad(&self, reason: impl Into<String>) -> Error {
        Error::format(self.origin, None, None, reason)
    }

    /// An entry of the free metadata.
    pub(super) fn entry(&self, key: &str) -> Option<&str> {
        self.header.metadata().as_ref()?.get(key).map(String::as_str)
    }

    /// The names of all arrays.
    pub(super) fn names(&self) -> Vec<String> {
        self.header.offset_keys()
    }

    /// The type of an array, if it is there.
    pub(super) fn dtype(&self, name: &str) -> Option<Dtype> {
        self.header.info(name).map(|info| info.dtype)
    }

    /// An array of one dimension.
    pub(super) fn list<T: Number>(&self, name: &str) -> Result<Vec<T>> {
        let (_, bytes) = self.array::<T, 1>(name)?;
        Ok(T::decode(bytes))
    }

    /// An array of two dimensions.
    pub(super) fn matrix<T: Number + Real>(&self, name: &str) -> Result<Matrix<T>> {
        let ([rows, cols], bytes) = self.array::<T, 2>(name)?;
        let matrix = Matrix::new(T::decode(bytes), rows, cols);
        matrix.ok_or_else(|| self.bad(format!("the array `{name}` does not hold {rows} x {cols} numbers")))
    }

    fn array<T: Number, const N: usize>(&self, name: &str) -> Result<([usize; N], &'a [u8])> {
        let info = self.header.info(name).ok_or_else(|| self.bad(format!("the array `{name}` is missing")))?;
        if info.dtype != T::DTYPE {
            return Err(self.bad(format!("the array `{name}` has the type {}, but must have {}", info.dtype, T::DTYPE)));
        }
        let Ok(shape) = <[usize; N]>::try_from(&info.shape[..]) else {
            return Err(self.bad(format!("the array `{name}` has {} dimensions, but must have {N}", info.shape.len())));
        };
        let bytes = self.data.get(info.data_offsets.0..info.data_offsets.1);
        Ok((shape, bytes.ok_or_else(|| self.bad("the file is truncated"))?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file with this header and this many zero bytes of data.
    fn file(header: &str, data: usize) -> Vec<u8> {
        let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
        bytes.extend(header.bytes());
        bytes.resize(bytes.len() + data, 0);
        bytes
    }

    #[test]
    fn what_is_written_is_read_back() {
        let matrix = Matrix::from_fn(2, 3, |i, j| (i as f32) - 0.1 * j as f32);
        let places = [0usize, 7, 1 << 40];
        let arrays = [("m", Array::matrix(&matrix)), ("p", Array::list(&places)), ("u", Array::list(&[3u32]))];
        let bytes = safetensors::serialize(arrays, None).unwrap();
        assert!(Arrays::recognise(&bytes));
        let arrays = Arrays::open(&bytes, "a").unwrap();
        assert_eq!(arrays.matrix::<f32>("m").unwrap(), matrix);
        assert_eq!(arrays.list::<usize>("p").unwrap(), places);
        assert_eq!(arrays.list::<u32>("u").unwrap(), [3]);
        let refusals = [
            (arrays.list::<f64>("x").map(drop), "a: the array `x` is missing"),
            (arrays.list::<f64>("u").map(drop), "a: the array `u` has the type U32, but must have F64"),
            (arrays.matrix::<f64>("m").map(drop), "a: the array `m` has the type F32, but must have F64"),
            (arrays.list::<f32>("m").map(drop), "a: the array `m` has 2 dimensions, but must have 1"),
        ];
        for (result, text) in refusals {
            assert_eq!(result.unwrap_err().to_string(), text);
        }
    }

    #[test]
    fn a_file_of_the_wrong_length_is_rejected_with_an_error() {
        let header = r#"{"a":{"dtype":"F64","shape":[2],"data_offsets":[0,16]}}"#;
        assert!(Arrays::open(&file(header, 16), "a").is_ok());
        let refuse = |bytes: &[u8]| Arrays::open(bytes, "a").map(|_| ()).unwrap_err().to_string();
        assert_eq!(refuse(&file(header, 15)), "a: the file is truncated");
        assert_eq!(refuse(&file(header, 17)), "a: 1 bytes follow the last array");
        assert_eq!(refuse(&file(header, 16)[..20]), "a: the file is truncated");
        assert_eq!(refuse(b"{}"), "a: the file is truncated");
        assert!(refuse(&file("{nonsense", 0)).starts_with("a: the header is not understood: "));
    }

    #[test]
    fn claims_beyond_all_bounds_are_rejected_and_allocate_nothing() {
        let huge = 1u64 << 60;
        let one = |name: &str, start: u64, end: u64| {
            format!(r#""{name}":{{"dtype":"U8","shape":[{}],"data_offsets":[{start},{end}]}}"#, end - start)
        };
        // Each array is a legal claim; together they end just below the largest number there is.
        let many: Vec<String> = (0..15).map(|i| one(&format!("a{i}"), i * huge, (i + 1) * huge)).collect();
        let last = one("z", 15 * huge, u64::MAX);
        let headers = [
            format!("{{{},{last}}}", many.join(",")),
            format!(r#"{{"a":{{"dtype":"F64","shape":[{huge},{huge}],"data_offsets":[0,8]}}}}"#),
            r#"{"a":{"dtype":"F64","shape":[1],"data_offsets":[8,0]}}"#.to_string(),
        ];
        for header in headers {
            assert!(Arrays::open(&file(&header, 8), "a").is_err(), "{header}");
        }
        let mut bytes = file("{}", 0);
        bytes[..8].fill(255);
        assert!(Arrays::open(&bytes, "a").is_err() && !Arrays::recognise(&bytes));
    }
}
