//! The files of a journal: sealed texts, one behind the other.
//!
//! A file is replaced as a whole or added to, each in one step, so that a process that is killed
//! leaves what was there or what is new. What does not open ends a file: the rest of it was cut
//! off.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::continuation::Ciphers;
use crate::continuation::settings::ContinuationSettings;
use crate::turn::Millis;

/// Files that are kept; when there are more, the oldest are removed first.
const FILES: usize = 20_000;
/// Bytes that are kept; when there are more, the oldest files are removed first.
const BYTES: u64 = 1024 * 1024 * 1024;
/// Largest file that is read, in bytes.
const FILE_BYTES: u64 = 256 * 1024 * 1024;
/// Longest time between two looks for files that are too old.
const SWEEP: Duration = Duration::from_secs(30);
/// Bytes of the length that stands before each text.
const LENGTH_BYTES: usize = 4;
/// How the names of files end that are not complete.
const UNFINISHED: &str = ".new";

/// The folder.
pub(super) struct Files {
    folder: PathBuf,
    ciphers: Ciphers,
    window: Duration,
}

impl Files {
    /// Opens a folder, for the process' user alone if it is made.
    pub(super) fn open(folder: &Path, settings: &ContinuationSettings) -> io::Result<Files> {
        make(folder)?;
        Ok(Files {
            folder: folder.to_owned(),
            ciphers: Ciphers::new(settings, rand::random()),
            window: settings.retry_window,
        })
    }

    /// Makes this text the whole of a file.
    pub(super) fn replace(&self, name: &str, text: &[u8]) -> io::Result<()> {
        let sealed = self.sealed(name, text)?;
        let unfinished = self
            .folder
            .join(format!("{name}-{:x}{UNFINISHED}", rand::random::<u64>()));
        let mut file = match create(&unfinished) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                make(&self.folder)?;
                create(&unfinished)?
            }
            created => created?,
        };
        file.write_all(&sealed)?;
        fs::rename(&unfinished, self.folder.join(name))
    }

    /// Adds this text to a file. One that is gone is not needed any more.
    pub(super) fn append(&self, name: &str, text: &[u8]) -> io::Result<()> {
        let sealed = self.sealed(name, text)?;
        unless_gone(
            self.known(name)
                .and_then(|mut file| file.write_all(&sealed)),
        )
    }

    /// The texts of a file; none if there is no such file, or it is too old.
    pub(super) fn read(&self, name: &str, now: Millis) -> io::Result<Vec<Vec<u8>>> {
        let path = self.folder.join(name);
        // Whoever puts something else there is not waited for.
        let is_due =
            |about: fs::Metadata| about.is_file() && now.is_within(modified(&about), self.window);
        if !fs::symlink_metadata(&path).is_ok_and(is_due) {
            return Ok(Vec::new());
        }
        let mut bytes = Vec::new();
        let file = File::open(path);
        unless_gone(file.and_then(|file| file.take(FILE_BYTES).read_to_end(&mut bytes)))?;
        let mut texts = Vec::new();
        let mut rest = &bytes[..];
        while let Some((text, behind)) = self.opened(name, rest) {
            texts.push(text);
            rest = behind;
        }
        Ok(texts)
    }

    /// Removes a file, if it is there.
    pub(super) fn remove(&self, name: &str) -> io::Result<()> {
        unless_gone(fs::remove_file(self.folder.join(name)))
    }

    /// How long to wait between two looks for files that are too old.
    pub(super) fn pause(&self) -> Duration {
        (self.window / 3).clamp(Duration::from_millis(100), SWEEP)
    }

    /// Makes a file new.
    pub(super) fn touch(&self, name: &str, now: SystemTime) -> io::Result<()> {
        unless_gone(self.known(name).and_then(|file| file.set_modified(now)))
    }

    /// Removes what is too old and what is too much.
    pub(super) fn sweep(&self, now: Millis) -> io::Result<()> {
        let mut kept = Vec::new();
        for file in fs::read_dir(&self.folder)? {
            let file = file?;
            let name = file.file_name();
            if !name.to_str().is_some_and(is_own) {
                continue;
            }
            let Ok(about) = file.metadata() else {
                continue;
            };
            let modified = modified(&about);
            if now.is_within(modified, self.window) {
                kept.push((modified, about.len(), file.path()));
            } else {
                unless_gone(fs::remove_file(file.path()))?;
            }
        }
        kept.sort_unstable();
        let mut bytes: u64 = kept.iter().map(|(_, length, _)| length).sum();
        let mut count = kept.len();
        for (_, length, path) in kept {
            if count <= FILES && bytes <= BYTES {
                break;
            }
            unless_gone(fs::remove_file(path))?;
            bytes -= length;
            count -= 1;
        }
        Ok(())
    }

    /// A file that is there, to be added to.
    fn known(&self, name: &str) -> io::Result<File> {
        OpenOptions::new().append(true).open(self.folder.join(name))
    }

    /// A text as it stands in the file of this name, and in no other.
    fn sealed(&self, name: &str, text: &[u8]) -> io::Result<Vec<u8>> {
        let sealed = self.ciphers.seal(text, &bound(name), rand::random());
        let sealed = sealed.ok_or(io::ErrorKind::FileTooLarge)?;
        let length = u32::try_from(sealed.len()).map_err(|_| io::ErrorKind::FileTooLarge)?;
        Ok([&length.to_be_bytes()[..], &sealed].concat())
    }

    fn opened<'a>(&self, name: &str, bytes: &'a [u8]) -> Option<(Vec<u8>, &'a [u8])> {
        let (length, rest) = bytes.split_first_chunk::<LENGTH_BYTES>()?;
        let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
        let (sealed, rest) = rest.split_at_checked(length)?;
        Some((self.ciphers.open(sealed, &bound(name))?, rest))
    }
}

/// Makes a folder for the process' user alone, unless it is there.
fn make(folder: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Makes a file for the process' user alone.
fn create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// What is authenticated with the texts of a file.
fn bound(name: &str) -> Vec<u8> {
    format!("handback journal {name}").into_bytes()
}

/// Whether a file of the folder is the journal's.
fn is_own(name: &str) -> bool {
    name.starts_with("attempt-") || name.starts_with("parked-")
}

/// When a file was written last.
fn modified(about: &fs::Metadata) -> Millis {
    let modified = about.modified().ok();
    let since = modified.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let millis = since.unwrap_or_default().as_millis();
    Millis(u64::try_from(millis).unwrap_or(u64::MAX))
}

/// The same without the error that a file is not there.
fn unless_gone<T: Default>(result: io::Result<T>) -> io::Result<T> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(T::default()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::continuation::settings::SealingKey;

    const NAME: &str = "attempt-1";

    fn files(folder: &Path, key: u8) -> Files {
        let settings = ContinuationSettings {
            keys: vec![SealingKey::new([key; 32])],
            retry_window: Duration::from_hours(1),
            ..ContinuationSettings::default()
        };
        Files::open(folder, &settings).unwrap()
    }

    fn now() -> Millis {
        crate::drive::clock::now_millis()
    }

    fn read(files: &Files) -> Vec<Vec<u8>> {
        files.read(NAME, now()).unwrap()
    }

    #[test]
    fn what_is_written_is_read_by_whoever_has_the_key() {
        let folder = tempfile::tempdir().unwrap();
        let one = files(folder.path(), 1);
        one.replace(NAME, b"old").unwrap();
        one.replace(NAME, b"one").unwrap();
        one.append(NAME, b"two").unwrap();
        let again = files(folder.path(), 1);
        assert_eq!(read(&again), [b"one", b"two"]);
        assert!(read(&files(folder.path(), 2)).is_empty());
        one.remove(NAME).unwrap();
        one.append(NAME, b"late").unwrap();
        assert!(read(&again).is_empty());
    }

    #[test]
    fn a_file_ends_where_it_was_cut_off() {
        let folder = tempfile::tempdir().unwrap();
        let files = files(folder.path(), 1);
        files.replace(NAME, b"one").unwrap();
        files.append(NAME, b"two").unwrap();
        let path = folder.path().join(NAME);
        let whole = fs::read(&path).unwrap();
        for length in 0..whole.len() {
            fs::write(&path, &whole[..length]).unwrap();
            let texts = read(&files);
            assert!(texts.len() < 2 && texts.iter().all(|text| text == b"one"));
        }
    }

    #[test]
    fn a_text_counts_in_its_own_file_only() {
        let folder = tempfile::tempdir().unwrap();
        let files = files(folder.path(), 1);
        files.replace("attempt-2", b"one").unwrap();
        fs::copy(folder.path().join("attempt-2"), folder.path().join(NAME)).unwrap();
        assert!(read(&files).is_empty());
    }

    #[test]
    fn what_is_too_old_is_not_read_and_swept_away() {
        let folder = tempfile::tempdir().unwrap();
        let files = files(folder.path(), 1);
        fs::write(folder.path().join("notes.txt"), "another's").unwrap();
        files.replace(NAME, b"one").unwrap();
        let later = Millis(now().0 + 2 * 3_600_000);
        assert!(files.read(NAME, later).unwrap().is_empty());
        files.sweep(later).unwrap();
        let left = fs::read_dir(folder.path()).unwrap();
        let left: Vec<_> = left.map(|file| file.unwrap().file_name()).collect();
        assert_eq!(left, ["notes.txt"]);
    }
}
