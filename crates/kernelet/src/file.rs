//! Writing files so that nobody ever sees half of one: into a temporary file beside the target, which then takes the target's place.
use std::{
    fs::{self, File, OpenOptions},
    io::{self, BufWriter, ErrorKind, Seek, Write},
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

use crate::{Error, Result};

/// Writes a file whole or not at all. `write` fills a temporary file in the target's directory, which is flushed, synced and renamed
/// over the target; after any error the old file, if there was one, is untouched and the temporary file is gone.
///
/// A link is followed, an existing file keeps its permissions, and a device or pipe (`/dev/stdout`) is written to directly.
pub fn write_atomically(path: impl AsRef<Path>, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    let path = path.as_ref();
    Filled::new(path, write).and_then(Filled::put_in_place).map_err(|source| Error::io(path, source))
}

/// Writes files that belong together, each like [`write_atomically`]: none takes its place before all are written.
pub fn write_together(files: &[(&Path, &[u8])]) -> Result<()> {
    let fill =
        |&(path, bytes): &(&Path, &[u8])| Filled::new(path, |writer| writer.write_all(bytes)).map_err(|source| Error::io(path, source));
    let filled = files.iter().map(fill).collect::<Result<Vec<_>>>()?;
    let put = |(filled, (path, _)): (Filled, &(&Path, &[u8]))| filled.put_in_place().map_err(|source| Error::io(path, source));
    filled.into_iter().zip(files).try_for_each(put)
}

/// A temporary file with its whole content, which can take the place of its target; none for a device or pipe, which has it already.
struct Filled(Option<Place>);

impl Filled {
    fn new(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<Self> {
        let Some(place) = Place::prepare(path)? else {
            return write_directly(path, write).map(|()| Filled(None));
        };
        // Open, and so locked, until it has its name: before that it could be taken for a leftover.
        let Place { target, permissions, temporary, file } = place;
        let file = fill(file, write)?;
        if let Some(permissions) = &permissions {
            fs::set_permissions(&temporary.path, permissions.clone())?;
        }
        Ok(Filled(Some(Place { target, permissions, temporary, file })))
    }

    fn put_in_place(self) -> io::Result<()> {
        let Some(Place { target, mut temporary, file, .. }) = self.0 else { return Ok(()) };
        fs::rename(&temporary.path, &target)?;
        temporary.renamed = true;
        drop(file);
        Ok(())
    }
}

/// Checks that [`write_atomically`] can write to `path`, before long work begins whose result would have no place.
pub fn check_writable(path: impl AsRef<Path>) -> Result<()> {
    let path = path.as_ref();
    Place::prepare(path).map(drop).map_err(|source| Error::io(path, source))
}

/// Where a file is to be written, and the temporary file that is to take that place.
struct Place {
    target: PathBuf,
    permissions: Option<fs::Permissions>,
    temporary: Temporary,
    file: File,
}

impl Place {
    /// None for a device or pipe, which is written to directly.
    fn prepare(path: &Path) -> io::Result<Option<Place>> {
        let there = fs::metadata(path).ok();
        if path.file_name().is_none() || there.as_ref().is_some_and(|there| there.is_dir()) {
            return Err(ErrorKind::IsADirectory.into());
        }
        if there.as_ref().is_some_and(|there| !there.is_file()) {
            return Ok(None);
        }
        let permissions = there.map(|there| there.permissions());
        if permissions.as_ref().is_some_and(|permissions| permissions.readonly()) {
            return Err(io::Error::other("the file is read-only"));
        }
        let target = followed(path)?;
        let directory = target.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        remove_leftovers(directory);
        let (temporary, file) = Temporary::create(directory, permissions.as_ref()).map_err(|source| of_directory(directory, source))?;
        Ok(Some(Place { target, permissions, temporary, file }))
    }
}

fn write_directly(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut writer = BufWriter::new(OpenOptions::new().write(true).open(path)?);
    write(&mut writer)?;
    writer.flush()
}

fn fill(file: File, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<File> {
    let mut writer = BufWriter::new(file);
    write(&mut writer)?;
    let file = writer.into_inner().map_err(|error| error.into_error())?;
    file.sync_all()?;
    Ok(file)
}

/// A new file in the directory for temporary files that nobody else may read; it is gone with the value, or with the next one after this process was killed.
pub(crate) struct Scratch {
    temporary: Temporary,
    /// Open, and so locked.
    file: File,
}

impl Scratch {
    pub fn new() -> Result<Self> {
        let directory = std::env::temp_dir();
        remove_leftovers(&directory);
        let failed = |source| Error::io(&directory, of_directory(&directory, source));
        let (temporary, file) = Temporary::create(&directory, private().as_ref()).map_err(failed)?;
        Ok(Scratch { temporary, file })
    }

    pub fn path(&self) -> &Path {
        &self.temporary.path
    }

    /// Fills the file; what was in it is gone.
    pub fn write(&mut self, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
        let mut writer = BufWriter::new(&self.file);
        let written = self.file.set_len(0).and_then(|()| writer.seek(io::SeekFrom::Start(0)));
        written.and_then(|_| write(&mut writer)).and_then(|()| writer.flush()).map_err(|source| Error::io(&self.temporary.path, source))
    }
}

/// Permissions to read and write for the owner alone.
#[cfg(unix)]
fn private() -> Option<fs::Permissions> {
    Some(std::os::unix::fs::PermissionsExt::from_mode(0o600))
}

/// Not here.
#[cfg(not(unix))]
fn private() -> Option<fs::Permissions> {
    None
}

/// A file that is removed when dropped, unless it was renamed.
struct Temporary {
    path: PathBuf,
    renamed: bool,
}

impl Temporary {
    /// A new file with a name nobody has and no more permissions than the file it is to replace. It is locked while it is written, so that
    /// what a killed process has left behind can be distinguished from what another is writing.
    fn create(directory: &Path, permissions: Option<&fs::Permissions>) -> io::Result<(Self, File)> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        loop {
            let path = directory.join(format!("{BEFORE}{}-{}{AFTER}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed)));
            match options_for(permissions).open(&path) {
                Ok(file) => {
                    let temporary = Temporary { path, renamed: false };
                    // File systems without locks have no leftovers removed either.
                    let _ = file.lock();
                    if temporary.path.exists() {
                        return Ok((temporary, file));
                    }
                }
                Err(error) if error.kind() == ErrorKind::AlreadyExists => continue,
                Err(error) => return Err(error),
            }
        }
    }
}

const BEFORE: &str = ".kernelet-";
const AFTER: &str = ".tmp";

/// How a temporary file is created in place of one with these permissions.
fn options_for(permissions: Option<&fs::Permissions>) -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    if let Some(permissions) = permissions {
        use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
        options.mode(permissions.mode() & 0o777);
    }
    #[cfg(not(unix))]
    let _ = permissions;
    options
}

/// Removes the temporary files of processes that were killed: those that nobody holds a lock on.
fn remove_leftovers(directory: &Path) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let ours = name.to_str().is_some_and(|name| name.starts_with(BEFORE) && name.ends_with(AFTER));
        if !ours || !entry.file_type().is_ok_and(|kind| kind.is_file()) {
            continue;
        }
        if let Ok(file) = OpenOptions::new().write(true).open(entry.path())
            && file.try_lock().is_ok()
        {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Where a path leads when links are followed, also those to a file that is not there yet.
fn followed(path: &Path) -> io::Result<PathBuf> {
    const MOST_LINKS: usize = 40;
    let mut target = path.to_path_buf();
    for _ in 0..MOST_LINKS {
        match fs::read_link(&target) {
            Err(_) => return Ok(fs::canonicalize(&target).unwrap_or(target)),
            Ok(next) => target = target.parent().unwrap_or(Path::new("")).join(next),
        }
    }
    Err(io::Error::other("the links lead nowhere"))
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.renamed {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Why a directory takes no new file, as a sentence.
fn of_directory(directory: &Path, source: io::Error) -> io::Error {
    let name = directory.display();
    match source.kind() {
        ErrorKind::NotFound => io::Error::other(format!("the directory {name} does not exist")),
        ErrorKind::NotADirectory => io::Error::other(format!("{name} is not a directory")),
        ErrorKind::PermissionDenied => io::Error::other(format!("no permission to write in the directory {name}")),
        ErrorKind::ReadOnlyFilesystem => io::Error::other(format!("the directory {name} is on a read-only file system")),
        _ => source,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An empty directory of this test's own.
    fn directory(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("kernelet-file-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        path
    }

    fn entries(directory: &Path) -> usize {
        fs::read_dir(directory).unwrap().count()
    }

    #[test]
    fn a_new_file_appears_and_an_old_one_is_replaced() {
        let directory = directory("replace");
        let path = directory.join("a");
        for text in ["long enough", "short"] {
            write_atomically(&path, |w| w.write_all(text.as_bytes())).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
        assert_eq!(entries(&directory), 1);
        fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn a_check_leaves_nothing_behind() {
        let directory = directory("check");
        let path = directory.join("a");
        check_writable(&path).unwrap();
        assert_eq!(entries(&directory), 0);
        write_atomically(&path, |w| w.write_all(b"old")).unwrap();
        check_writable(&path).unwrap();
        assert_eq!((fs::read_to_string(&path).unwrap().as_str(), entries(&directory)), ("old", 1));
        fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn after_an_error_the_old_file_is_untouched_and_nothing_is_left_behind() {
        let directory = directory("error");
        let path = directory.join("a");
        write_atomically(&path, |w| w.write_all(b"old")).unwrap();
        let error = write_atomically(&path, |w| w.write_all(b"new").and(Err(ErrorKind::StorageFull.into()))).unwrap_err();
        assert_eq!(error.to_string(), format!("{}: there is no space left on the disk", path.display()));
        assert_eq!((fs::read_to_string(&path).unwrap().as_str(), entries(&directory)), ("old", 1));
        fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn of_files_that_belong_together_none_is_replaced_where_one_cannot_be_written() {
        let directory = directory("together");
        let [first, second] = ["first", "second"].map(|name| directory.join(name));
        fs::write(&first, "old").unwrap();
        fs::create_dir(&second).unwrap();
        assert!(write_together(&[(&first, b"new"), (&second, b"new")]).is_err());
        assert_eq!((fs::read_to_string(&first).unwrap().as_str(), entries(&directory)), ("old", 2));
        fs::remove_dir(&second).unwrap();
        write_together(&[(&first, b"new"), (&second, b"newer")]).unwrap();
        assert_eq!((fs::read(&first).unwrap(), fs::read(&second).unwrap()), (b"new".to_vec(), b"newer".to_vec()));
        fs::remove_dir_all(&directory).unwrap();
    }

    #[test]
    fn targets_that_cannot_be_written_are_rejected_with_an_error() {
        let directory = directory("refuse");
        let refuse = |path: &Path| {
            let refused = write_atomically(path, |_| Ok(())).unwrap_err().to_string();
            assert_eq!(check_writable(path).unwrap_err().to_string(), refused);
            refused
        };
        assert_eq!(refuse(&directory), format!("{}: this is a directory, not a file", directory.display()));
        let missing = directory.join("missing");
        let path = missing.join("a");
        assert_eq!(refuse(&path), format!("{}: the directory {} does not exist", path.display(), missing.display()));
        let path = directory.join("a");
        write_atomically(&path, |_| Ok(())).unwrap();
        assert!(refuse(&path.join("b")).ends_with("is not a directory"));
        let mut permissions = fs::metadata(&path).unwrap().permissions();
        permissions.set_readonly(true);
        fs::set_permissions(&path, permissions).unwrap();
        assert!(refuse(&path).ends_with("the file is read-only"));
        assert!(refuse(Path::new("")).contains("directory"));
        let denied = of_directory(&directory, ErrorKind::PermissionDenied.into()).to_string();
        assert_eq!(denied, format!("no permission to write in the directory {}", directory.display()));
        fs::remove_dir_all(directory).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn links_are_followed_permissions_kept_and_devices_written_to() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let directory = directory("unix");
        let (path, link) = (directory.join("a"), directory.join("link"));
        write_atomically(&path, |_| Ok(())).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        symlink(&path, &link).unwrap();
        write_atomically(&link, |w| w.write_all(b"through")).unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(&path).unwrap(), "through");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        // A link to a file that is not there yet makes that file, and stays a link.
        let (later, ahead) = (directory.join("later"), directory.join("ahead"));
        symlink("later", &ahead).unwrap();
        check_writable(&ahead).unwrap();
        write_atomically(&ahead, |w| w.write_all(b"made")).unwrap();
        assert!(fs::symlink_metadata(&ahead).unwrap().is_symlink() && fs::read_to_string(&later).unwrap() == "made");
        let circle = directory.join("circle");
        symlink(&circle, &circle).unwrap();
        assert!(write_atomically(&circle, |_| Ok(())).unwrap_err().to_string().ends_with("the links lead nowhere"));
        check_writable("/dev/null").unwrap();
        write_atomically("/dev/null", |w| w.write_all(b"gone")).unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
        fs::remove_dir_all(directory).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn what_replaces_a_private_file_is_private_from_its_first_byte() {
        use std::os::unix::fs::PermissionsExt;
        let directory = directory("private");
        let path = directory.join("a");
        write_atomically(&path, |_| Ok(())).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        write_atomically(&path, |w| {
            let modes: Vec<u32> =
                fs::read_dir(&directory)?.flatten().map(|entry| entry.metadata().unwrap().permissions().mode() & 0o777).collect();
            assert_eq!(modes, [0o600, 0o600]);
            w.write_all(b"secret")
        })
        .unwrap();
        fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn leftovers_of_killed_processes_are_removed_and_those_of_living_ones_are_not() {
        let directory = directory("leftovers");
        let (dead, other) = (directory.join(".kernelet-1-0.tmp"), directory.join(".kernelet-notes"));
        fs::write(&dead, "half").unwrap();
        fs::write(&other, "mine").unwrap();
        // Another writer is at work meanwhile; both end with a whole file.
        write_atomically(directory.join("a"), |w| {
            write_atomically(directory.join("b"), |w| w.write_all(b"b"))
                .map_err(|error| io::Error::other(error.to_string()))
                .and_then(|()| w.write_all(b"a"))
        })
        .unwrap();
        assert!(!dead.exists() && other.exists());
        let names = ["a", "b"].map(|name| fs::read_to_string(directory.join(name)).unwrap());
        assert_eq!((names, entries(&directory)), (["a".into(), "b".into()], 3));
        fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn of_many_writers_at_once_the_last_one_wins_whole() {
        let directory = directory("many");
        let path = directory.join("a");
        std::thread::scope(|scope| {
            for writer in 0..8u8 {
                let path = &path;
                scope.spawn(move || {
                    for _ in 0..10 {
                        write_atomically(path, |w| w.write_all(&[writer; 50_000])).unwrap();
                    }
                });
            }
        });
        let bytes = fs::read(&path).unwrap();
        assert!(bytes.len() == 50_000 && bytes.iter().all(|byte| *byte == bytes[0]) && entries(&directory) == 1);
        fs::remove_dir_all(directory).unwrap();
    }
}
