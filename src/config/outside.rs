//! What reading a configuration needs from outside, given as functions: so reading
//! it is the same with files and environment of a test.

use std::io;
use std::path::{Path, PathBuf};

use super::item::Item;

/// The file system as the configuration sees it.
pub(super) struct Outside<'a> {
    /// The folder of the configuration, which relative paths start from.
    pub(super) folder: &'a Path,
    /// Reads a file of text.
    pub(super) read: &'a dyn Fn(&Path) -> io::Result<String>,
    /// Whether there is such a file.
    pub(super) is_file: &'a dyn Fn(&Path) -> bool,
}

impl Outside<'_> {
    /// The path of a file that has to be there.
    pub(super) fn file(&self, item: &Item<'_>) -> Option<PathBuf> {
        let path = self.path(item)?;
        if (self.is_file)(&path) {
            return Some(path);
        }
        item.not("a file; relative paths start from the folder of the configuration")
    }

    /// The text of a file, without white space at its end.
    pub(super) fn text(&self, item: &Item<'_>) -> Option<String> {
        let text = match (self.read)(&self.path(item)?) {
            Ok(text) => text.trim_end().to_owned(),
            Err(error) => return item.unfit(&format!("cannot be read: {error}")),
        };
        if text.is_empty() {
            item.unfit("is an empty file; fill it")
        } else {
            Some(text)
        }
    }

    /// The path of a folder, which need not be there.
    pub(super) fn folder(&self, item: &Item<'_>) -> Option<PathBuf> {
        let path = self.path(item)?;
        if (self.is_file)(&path) {
            return item.unfit("is a file; name a folder");
        }
        Some(path)
    }

    fn path(&self, item: &Item<'_>) -> Option<PathBuf> {
        let text = item.text()?;
        // A private key that was pasted in; no message should show it.
        if text.contains('\n') {
            return item.wrong("the value is not a path; put the text in a file and name that");
        }
        Some(self.folder.join(text))
    }
}
