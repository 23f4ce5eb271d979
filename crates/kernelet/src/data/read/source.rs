//! Where bytes come from: a file or standard input, unpacked when they are gzip.
use std::{
    borrow::Cow,
    fs,
    io::{self, Read},
    path::Path,
};

use flate2::read::MultiGzDecoder;

use crate::{Error, Result};

/// What standard input is called in messages.
pub(super) const STANDARD_INPUT: &str = "standard input";

/// Unpacked data may always be this large, and beyond it at most [`GROWTH`] times as large as they were packed.
const ALWAYS_ALLOWED: u64 = 1 << 28;
const GROWTH: u64 = 200;

const GZIP: [u8; 2] = [0x1f, 0x8b];

/// All bytes of a file, or of standard input for `-`.
pub(super) fn load(path: &str) -> Result<Vec<u8>> {
    if path == "-" {
        let mut bytes = Vec::new();
        return match io::stdin().lock().read_to_end(&mut bytes) {
            Ok(_) => Ok(bytes),
            Err(source) => Err(Error::io(STANDARD_INPUT, source)),
        };
    }
    if Path::new(path).is_dir() {
        return Err(Error::io(path, io::ErrorKind::IsADirectory.into()));
    }
    fs::read(path).map_err(|source| Error::io(path, source))
}

/// The bytes themselves, or what they unpack to when they begin like a gzip file.
pub(super) fn unpacked<'a>(bytes: &'a [u8], origin: &str) -> Result<Cow<'a, [u8]>> {
    if !bytes.starts_with(&GZIP) {
        return Ok(Cow::Borrowed(bytes));
    }
    gunzip(bytes, origin, unpacked_limit(bytes.len())).map(Cow::Owned)
}

fn gunzip(bytes: &[u8], origin: &str, limit: u64) -> Result<Vec<u8>> {
    let mut content = Vec::new();
    match MultiGzDecoder::new(bytes).take(limit + 1).read_to_end(&mut content) {
        Err(_) => Err(Error::format(origin, None, None, "the gzip data are damaged or cut short")),
        Ok(_) if content.len() as u64 > limit => Err(grown_too_large(origin)),
        Ok(_) => Ok(content),
    }
}

/// The most bytes that so many packed bytes may unpack to: far above what real data need, far below what fills a machine.
pub(super) fn unpacked_limit(packed: usize) -> u64 {
    (packed as u64).saturating_mul(GROWTH).max(ALWAYS_ALLOWED)
}

/// The refusal of data that unpack to more than [`unpacked_limit`].
pub(super) fn grown_too_large(origin: &str) -> Error {
    Error::format(
        origin,
        None,
        None,
        format!("the data unpack to more than {GROWTH} times their size; store them uncompressed if that is right"),
    )
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::{Compression, write::GzEncoder};

    use super::*;

    fn packed(content: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(content).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn gzip_is_known_by_its_first_bytes() {
        assert_eq!(unpacked(b"1 1:2\n", "a").unwrap(), &b"1 1:2\n"[..]);
        assert_eq!(unpacked(&packed(b"1 1:2\n"), "a").unwrap(), &b"1 1:2\n"[..]);
        let joined = [packed(b"1 1:2\n"), packed(b"2 1:3\n")].concat();
        assert_eq!(unpacked(&joined, "a").unwrap(), &b"1 1:2\n2 1:3\n"[..]);
    }

    #[test]
    fn gzip_cut_short_is_an_error() {
        let whole = packed(b"1 1:2\n2 1:3\n");
        for len in 2..whole.len() {
            let text = unpacked(&whole[..len], "a.svm.gz").unwrap_err().to_string();
            assert_eq!(text, "a.svm.gz: the gzip data are damaged or cut short");
        }
    }

    #[test]
    fn a_small_file_that_unpacks_to_a_huge_one_is_refused() {
        let bomb = packed(&[0; 1001]);
        assert_eq!(gunzip(&bomb, "a.gz", 1001).unwrap().len(), 1001);
        let text = gunzip(&bomb, "a.gz", 1000).unwrap_err().to_string();
        assert_eq!(text, "a.gz: the data unpack to more than 200 times their size; store them uncompressed if that is right");
    }

    #[test]
    fn a_missing_file_and_a_directory_are_told_apart() {
        let folder = std::env::temp_dir();
        let missing = folder.join("kernelet-there-is-no-such-file.svm");
        let folder = folder.to_str().unwrap();
        assert_eq!(load(folder).unwrap_err().to_string(), format!("{folder}: this is a directory, not a file"));
        let missing = missing.to_str().unwrap();
        assert_eq!(load(missing).unwrap_err().to_string(), format!("{missing}: there is no such file"));
    }
}
