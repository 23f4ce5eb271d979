//! Where bytes come from: a file or standard input, unpacked when they are gzip.
use std::{
    borrow::Cow,
    fs,
    io::{self, Read},
    path::Path,
};

use flate2::read::MultiGzDecoder;

use crate::{Error, Result, data::memory};

/// What standard input is called in messages.
pub(super) const STANDARD_INPUT: &str = "standard input";

/// What a path is called in messages.
pub(super) fn name_of(path: &str) -> &str {
    if path == "-" { STANDARD_INPUT } else { path }
}

/// Unpacked data may always be this large, and beyond it at most [`GROWTH`] times as large as they were packed.
const ALWAYS_ALLOWED: u64 = 1 << 28;
const GROWTH: u64 = 200;

/// A packed file that has to be held as a whole may unpack to this much.
const LARGEST_PACKED_WHOLE: usize = 4usize.saturating_mul(1 << 30);

const GZIP: [u8; 2] = [0x1f, 0x8b];

/// The bytes of a file that is read whole before it is looked at, such as a range file or a description; of a device that does not end, an error.
pub fn read_whole(path: impl AsRef<Path>) -> Result<Vec<u8>> {
    let (path, mut bytes) = (path.as_ref(), vec![]);
    open_file(path)?.read_to_end(&mut bytes).map_err(|source| Error::io(path, source))?;
    Ok(bytes)
}

/// All bytes of a file, or of standard input for `-`.
pub(super) fn load(path: &str) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.read_to_end(&mut bytes).map_err(|source| Error::io(name_of(path), source))?;
    Ok(bytes)
}

fn open(path: &str) -> Result<Box<dyn Read + Send>> {
    if path == "-" {
        return Ok(Box::new(io::stdin()));
    }
    is_file(path)?;
    open_file(Path::new(path))
}

/// An error where nothing has this name, or a directory.
pub(super) fn is_file(path: &str) -> Result<()> {
    match fs::metadata(path) {
        Ok(there) if there.is_dir() => Err(Error::io(path, io::ErrorKind::IsADirectory.into())),
        Ok(_) => Ok(()),
        Err(source) => Err(Error::io(path, source)),
    }
}

fn open_file(path: &Path) -> Result<Box<dyn Read + Send>> {
    let file = fs::File::open(path).map_err(|source| Error::io(path, source))?;
    match file.metadata().is_ok_and(|there| is_device(&there)) {
        true => Ok(Box::new(Bounded { source: file, left: memory::limit() })),
        false => Ok(Box::new(file)),
    }
}

#[cfg(unix)]
fn is_device(there: &fs::Metadata) -> bool {
    std::os::unix::fs::FileTypeExt::is_char_device(&there.file_type())
}

#[cfg(not(unix))]
fn is_device(_: &fs::Metadata) -> bool {
    false
}

/// A device, which may have no end.
struct Bounded {
    source: fs::File,
    left: usize,
}

impl Read for Bounded {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 {
            return Err(io::Error::other("the device does not end; give a file"));
        }
        let most = buffer.len().min(self.left);
        let read = self.source.read(&mut buffer[..most])?;
        self.left -= read;
        Ok(read)
    }
}

/// Bytes as they are needed, unpacked when they begin like a gzip file. Nothing is kept, so what they unpack to has no limit.
pub(super) struct Stream {
    source: Box<dyn Read + Send>,
    packed: bool,
    origin: String,
}

impl Stream {
    /// The content of a file, or of standard input for `-`.
    pub(super) fn of(path: &str) -> Result<Stream> {
        let (mut source, origin) = (open(path)?, name_of(path).to_string());
        let mut first = Vec::with_capacity(GZIP.len());
        source.by_ref().take(GZIP.len() as u64).read_to_end(&mut first).map_err(|source| Error::io(&origin, source))?;
        let packed = first == GZIP;
        let whole = io::Cursor::new(first).chain(source);
        let source: Box<dyn Read + Send> = if packed { Box::new(MultiGzDecoder::new(io::BufReader::new(whole))) } else { Box::new(whole) };
        Ok(Stream { source, packed, origin })
    }

    /// Whether the content can be read at any place of a file with this name.
    #[cfg(feature = "parquet")]
    pub(super) fn is_plain_file(&self, path: &str) -> bool {
        !self.packed && path != "-" && fs::metadata(path).is_ok_and(|about| about.is_file())
    }

    /// Adds bytes to `buffer` until it has `len`; false when the content ended before that.
    pub(super) fn fill(&mut self, buffer: &mut Vec<u8>, len: usize) -> Result<bool> {
        let missing = len.saturating_sub(buffer.len());
        match self.source.by_ref().take(missing as u64).read_to_end(buffer) {
            Ok(added) => Ok(added == missing),
            Err(error) if self.packed && error.kind() != io::ErrorKind::OutOfMemory => Err(damaged(&self.origin)),
            Err(error) => Err(Error::io(&self.origin, error)),
        }
    }

    /// Adds everything that is left to `buffer`.
    pub(super) fn rest(&mut self, buffer: &mut Vec<u8>) -> Result<()> {
        let limit = if self.packed { LARGEST_PACKED_WHOLE } else { usize::MAX };
        match self.fill(buffer, limit)? {
            true => Err(grown_too_large(&self.origin)),
            false => Ok(()),
        }
    }
}

/// The bytes without the mark that some programs put before UTF-8 text.
pub(super) fn unmarked(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes)
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
        Err(_) => Err(damaged(origin)),
        Ok(_) if content.len() as u64 > limit => Err(grown_too_large(origin)),
        Ok(_) => Ok(content),
    }
}

/// The error of gzip data that cannot be unpacked.
pub(super) fn damaged(origin: &str) -> Error {
    Error::format(origin, None, None, "the gzip data are damaged or cut short")
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
    fn a_small_file_that_unpacks_to_a_huge_one_is_rejected() {
        let bomb = packed(&[0; 1001]);
        assert_eq!(gunzip(&bomb, "a.gz", 1001).unwrap().len(), 1001);
        let text = gunzip(&bomb, "a.gz", 1000).unwrap_err().to_string();
        assert_eq!(text, "a.gz: the data unpack to more than 200 times their size; store them uncompressed if that is right");
    }

    #[test]
    fn a_missing_file_and_a_directory_have_different_errors() {
        let folder = std::env::temp_dir();
        let missing = folder.join("kernelet-there-is-no-such-file.svm");
        let folder = folder.to_str().unwrap();
        assert_eq!(load(folder).unwrap_err().to_string(), format!("{folder}: this is a directory, not a file"));
        let missing = missing.to_str().unwrap();
        assert_eq!(load(missing).unwrap_err().to_string(), format!("{missing}: there is no such file"));
    }
}
