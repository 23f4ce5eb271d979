//! The rows of a file in blocks that can be read in any order, as often as training passes over them.
//!
//! A NumPy array whose rows lie one after the other is read where it lies. Everything else (text, tables, packed files, standard input) is read once, in
//! blocks where it can be, and written as a [`cache`](super::cache) of rows in binary.
use std::{borrow::Cow, path::Path};

use super::{Format, Reading, array_blocks::ArrayBlocks, cache::CachedBlocks, format_of};
use crate::{
    Result,
    data::{Outline, RowBlock, RowBlocks},
    file::Scratch,
};

/// The rows of a file in blocks.
pub struct FileBlocks {
    source: Source,
    /// The file of rows where no other was named.
    _scratch: Option<Scratch>,
    /// Notes for the user, a sentence each.
    pub notes: Vec<String>,
}

enum Source {
    Array(Box<ArrayBlocks>),
    Cached(Box<CachedBlocks>),
}

impl FileBlocks {
    /// Opens a file, or standard input for `-`, whose target is read as `how` says. The cache is used where it was made of the same file in the same
    /// way, else made; without one a temporary file is used. `memory` is the number of bytes for everything.
    pub fn open(path: &str, how: &Reading, cache: Option<&Path>, memory: usize) -> Result<Self> {
        let how = Reading { format: Some(format_of(path, how)?), ..how.clone() };
        if how.format == Some(Format::Npy)
            && cache.is_none()
            && let Some(array) = ArrayBlocks::open(path, &how, memory)?
        {
            let notes = array.notes().to_vec();
            return Ok(FileBlocks { source: Source::Array(Box::new(array)), _scratch: None, notes });
        }
        let (cached, scratch) = match cache {
            Some(cache) => (CachedBlocks::open(path, &how, cache, memory)?, None),
            None => {
                let mut scratch = Scratch::new()?;
                (CachedBlocks::in_scratch(path, &how, &mut scratch, memory)?, Some(scratch))
            }
        };
        let notes = cached.notes().to_vec();
        Ok(FileBlocks { source: Source::Cached(Box::new(cached)), _scratch: scratch, notes })
    }

    /// Whether rows were read from a cache that was there before.
    pub fn reused_cache(&self) -> bool {
        matches!(&self.source, Source::Cached(cached) if cached.reused())
    }

    fn blocks(&self) -> &dyn RowBlocks {
        match &self.source {
            Source::Array(array) => &**array,
            Source::Cached(cached) => &**cached,
        }
    }
}

impl RowBlocks for FileBlocks {
    fn outline(&self) -> &Outline {
        self.blocks().outline()
    }

    fn n_blocks(&self) -> usize {
        self.blocks().n_blocks()
    }

    fn block(&self, index: usize) -> Result<Cow<'_, RowBlock>> {
        self.blocks().block(index)
    }
}

#[cfg(test)]
mod tests {
    use std::{
        fs,
        path::PathBuf,
        time::{Duration, SystemTime},
    };

    use super::{
        super::{Wanted, npy, read},
        *,
    };
    use crate::data::{HeldBlocks, STRIDE};

    const MEMORY: usize = 1 << 20;

    /// A folder that is gone with the value.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let folder = std::env::temp_dir().join(format!("kernelet-file-blocks-{}-{name}", std::process::id()));
            fs::create_dir_all(&folder).unwrap();
            Folder(folder)
        }
        fn file(&self, name: &str, bytes: &[u8]) -> String {
            fs::write(self.0.join(name), bytes).unwrap();
            self.0.join(name).to_str().unwrap().into()
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            fs::remove_dir_all(&self.0).unwrap();
        }
    }

    fn classes() -> Reading {
        Reading { wanted: Wanted::Classes, ..Reading::default() }
    }

    /// The blocks of a file are those of the data set that the file is when it is read whole.
    fn assert_same(path: &str, how: &Reading, cache: Option<&Path>) -> FileBlocks {
        let found = FileBlocks::open(path, how, cache, MEMORY).unwrap();
        let whole = read(path, how).unwrap();
        let held = HeldBlocks::within(&whole.dataset, MEMORY).unwrap();
        assert_eq!(found.outline(), held.outline(), "{path}");
        assert_eq!((found.n_blocks(), &found.notes), (held.n_blocks(), &whole.notes), "{path}");
        for index in (0..held.n_blocks()).rev() {
            assert_eq!(*found.block(index).unwrap(), *held.block(index).unwrap(), "{path}, block {index}");
        }
        found
    }

    fn rows(n: usize) -> impl Iterator<Item = (usize, f64, f64)> {
        (0..n).map(|i| ([10, 9, 7][i % 3], (i as f64).sin(), (i * i) as f64))
    }

    #[test]
    fn a_cache_that_claims_what_it_has_not_is_rejected() {
        let folder = Folder::new("claims");
        let (source, cache) = (folder.file("a.svm", b"1 1:1 2:2\n-1 1:2\n1 2:3\n"), folder.0.join("cache"));
        let how = Reading { wanted: Wanted::Classes, ..Reading::default() };
        FileBlocks::open(&source, &how, Some(&cache), MEMORY).unwrap();
        let bytes = fs::read(&cache).unwrap();
        let end = bytes.len() - 24;
        let length = u64::from_le_bytes(bytes[end..end + 8].try_into().unwrap()) as usize;
        let footer: serde_json::Value = serde_json::from_slice(&bytes[end - length..end]).unwrap();
        let index = &bytes[footer["index"].as_u64().unwrap() as usize..end - length];
        for (name, value) in [
            ("dim", u64::MAX),
            ("dim", 1 << 40),
            ("n_targets", u64::MAX),
            ("n_targets", 1 << 61),
            ("n_rows", u64::MAX),
            ("stored", u64::MAX),
        ] {
            let mut claims = footer.clone();
            claims[name] = value.into();
            let text = claims.to_string();
            let sum = u64::from(crc32fast::hash(&[index, text.as_bytes()].concat()));
            let parts =
                [&bytes[..end - length], text.as_bytes(), &(text.len() as u64).to_le_bytes(), &sum.to_le_bytes(), &bytes[end + 16..]];
            fs::write(&cache, parts.concat()).unwrap();
            let error = FileBlocks::open(&source, &how, Some(&cache), MEMORY).err().unwrap().to_string();
            assert!(error.contains("the cache is cut short or damaged"), "{name}: {error}");
        }
    }

    #[test]
    fn a_byte_that_changed_anywhere_in_a_cache_is_noticed() {
        let folder = Folder::new("byte");
        let (source, cache) = (folder.file("a.svm", b"1 1:1 2:2\n-1 1:2\n1 2:3\n"), folder.0.join("cache"));
        let how = Reading { wanted: Wanted::Classes, ..Reading::default() };
        FileBlocks::open(&source, &how, Some(&cache), MEMORY).unwrap();
        let bytes = fs::read(&cache).unwrap();
        for place in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[place] ^= 1;
            fs::write(&cache, changed).unwrap();
            let found = FileBlocks::open(&source, &how, Some(&cache), MEMORY).and_then(|blocks| blocks.block(0).map(|_| ()));
            assert!(found.is_err(), "byte {place} of {}", bytes.len());
        }
    }

    #[test]
    fn files_beside_a_cache_are_kept_and_a_scratch_file_is_private_and_gone() {
        let folder = Folder::new("beside");
        let (source, cache) = (folder.file("a.svm", b"1 1:1 2:2\n-1 1:2\n"), folder.0.join("cache"));
        let beside = folder.file("cache.part", b"precious");
        let how = Reading { wanted: Wanted::Classes, ..Reading::default() };
        FileBlocks::open(&source, &how, Some(&cache), MEMORY).unwrap();
        assert_eq!(fs::read(&beside).unwrap(), b"precious");
        let blocks = FileBlocks::open(&source, &how, None, MEMORY).unwrap();
        let scratch = blocks._scratch.as_ref().unwrap().path().to_path_buf();
        #[cfg(unix)]
        assert_eq!(std::os::unix::fs::PermissionsExt::mode(&fs::metadata(&scratch).unwrap().permissions()) & 0o777, 0o600);
        drop(blocks);
        assert!(!scratch.exists());
    }

    #[test]
    fn every_format_has_the_blocks_of_the_file_that_is_read_whole() {
        let folder = Folder::new("formats");
        let n = 3 * STRIDE + 17;
        let csv: String = rows(n).map(|(label, a, b)| format!("{a},{b},c{label}\n")).collect();
        assert_same(&folder.file("a.csv", format!("a,b,t\n{csv}").as_bytes()), &classes(), None);
        let dense: String = rows(n).map(|(label, a, b)| format!("{label} 1:{a} 2:{b}\n")).collect();
        assert_same(&folder.file("a.svm", dense.as_bytes()), &classes(), None);
        let sparse: String = rows(n).map(|(label, a, b)| format!("{label} {}:{a} 60:{b}\n", 1 + label)).collect();
        assert_same(&folder.file("b.svm", sparse.as_bytes()), &classes(), None);
        let text: String = rows(n).map(|(label, a, _)| format!("{a},w{label},{label}\n")).collect();
        let learned = assert_same(&folder.file("b.csv", format!("a,b,t\n{text}").as_bytes()), &classes(), None);
        assert!(learned.outline().table.is_some());
        #[cfg(feature = "parquet")]
        for count in [Some(4), None] {
            let table = super::super::parquet::tests::written(count, b"setosa");
            assert_same(&folder.file("a.parquet", &table), &classes(), None);
        }
        let numbers: Vec<u8> = rows(n).flat_map(|(label, a, b)| [a, b, label as f64]).flat_map(f64::to_le_bytes).collect();
        for (name, fortran) in [("a.npy", false), ("b.npy", true)] {
            let array = npy::tests::written("<f8", fortran, &format!("({n}, 3)"), &numbers);
            let path = folder.file(name, &array);
            assert_same(&path, &classes(), None);
            assert_same(&path, &Reading { wanted: Wanted::Values, ..Reading::default() }, None);
            assert_same(&path, &classes(), Some(&folder.0.join(name).with_extension("blocks")));
        }
        let single: Vec<u8> = rows(n).flat_map(|(label, a, b)| [a as f32, b as f32, label as f32]).flat_map(f32::to_le_bytes).collect();
        assert_same(&folder.file("c.npy", &npy::tests::written("<f4", false, &format!("({n}, 3)"), &single)), &classes(), None);
    }

    #[test]
    fn a_cache_is_used_again_made_again_when_the_source_changes_and_rejected_when_cut_short() {
        let folder = Folder::new("cache");
        let text = |n: usize| rows(n).map(|(label, a, b)| format!("{label} 1:{a} 2:{b}\n")).collect::<String>();
        let (path, cache) = (folder.file("a.svm", text(700).as_bytes()), folder.0.join("rows"));
        let open = |how: &Reading| FileBlocks::open(&path, how, Some(&cache), MEMORY);
        let reused = |how: &Reading| open(how).unwrap().reused_cache();
        assert!(!reused(&classes()) && reused(&classes()));
        // Another time with the same bytes is the same file; other settings, other bytes of the same length and other lengths are not.
        let later = || {
            let file = fs::File::options().append(true).open(&path).unwrap();
            file.set_modified(SystemTime::now() + Duration::from_secs(60)).unwrap();
        };
        later();
        assert!(reused(&classes()));
        let values = Reading { wanted: Wanted::Values, ..Reading::default() };
        assert!(!reused(&values) && reused(&values));
        fs::write(&path, text(700).replacen("10 ", "11 ", 1)).unwrap();
        later();
        assert!(!reused(&values));
        fs::write(&path, text(701)).unwrap();
        assert!(!reused(&values));
        let bytes = fs::read(&cache).unwrap();
        for len in [9, 100, bytes.len() / 2, bytes.len() - 1] {
            fs::write(&cache, &bytes[..len]).unwrap();
            let error = open(&values).err().unwrap().to_string();
            assert!(error.ends_with("the cache is cut short or damaged; delete it, and it is made again"), "{len}: {error}");
        }
        fs::write(&cache, "precious").unwrap();
        assert!(open(&values).err().unwrap().to_string().ends_with("this is no cache of rows, and is left as it is; name another file"));
        assert_eq!(fs::read(&cache).unwrap(), b"precious");
    }

    #[test]
    fn a_truncated_array_and_bad_rows_are_errors() {
        let folder = Folder::new("bad");
        let numbers: Vec<u8> = (0..30).flat_map(|v| f64::from(v).to_le_bytes()).collect();
        let short = folder.file("a.npy", &npy::tests::written("<f8", false, "(12, 3)", &numbers));
        let error = FileBlocks::open(&short, &classes(), None, MEMORY).err().unwrap().to_string();
        assert!(error.ends_with("the file ends 2 rows before the header promises"), "{error}");
        let path = folder.file("b.npy", &npy::tests::written("<f8", false, "(10, 3)", &numbers));
        let open = FileBlocks::open(&path, &classes(), None, MEMORY).unwrap();
        fs::write(&path, "gone").unwrap();
        assert!(open.block(0).unwrap_err().to_string().contains("it was changed while it was read"));
        let bad = folder.file("c.svm", b"1 1:2\n2 1:nan\n");
        assert!(FileBlocks::open(&bad, &classes(), None, MEMORY).is_err());
        let empty = folder.file("d.svm", b"");
        assert!(FileBlocks::open(&empty, &classes(), None, MEMORY).is_err());
        assert!(FileBlocks::open("no-such-file.svm", &classes(), None, MEMORY).is_err());
    }
}
