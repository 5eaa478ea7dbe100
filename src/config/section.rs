//! Reads a section of the file, key by key.

use super::item::Item;
use super::report::{Findings, instead};
use super::tree::{Entry, Value, join};

/// A table of the file, read key by key.
pub(super) struct Section<'a> {
    pub(super) path: String,
    pub(super) line: Option<usize>,
    entries: &'a [Entry],
    /// What has been asked for so far; in the end, every key that there can be.
    known: Vec<&'static str>,
    pub(super) findings: &'a Findings,
}

impl<'a> Section<'a> {
    /// The file as a whole.
    pub(super) fn root(entries: &'a [Entry], findings: &'a Findings) -> Self {
        Self::new(String::new(), None, entries, findings)
    }

    /// The table at `path`, which starts on `line`.
    pub(super) fn new(
        path: String,
        line: Option<usize>,
        entries: &'a [Entry],
        findings: &'a Findings,
    ) -> Self {
        Self {
            path,
            line,
            entries,
            known: Vec::new(),
            findings,
        }
    }

    /// The value of `key`, if there is one.
    pub(super) fn take(&mut self, key: &'static str) -> Option<Item<'a>> {
        self.known.push(key);
        self.find(key)
    }

    /// The value of `key` for another look at it.
    pub(super) fn find(&self, key: &str) -> Option<Item<'a>> {
        let entry = self.entries.iter().find(|entry| entry.key == key)?;
        Some(self.item(entry))
    }

    /// The value of `key`, read by `read`; `None` if it is absent or wrong.
    pub(super) fn read<T>(
        &mut self,
        key: &'static str,
        read: impl FnOnce(&Item<'a>) -> Option<T>,
    ) -> Option<T> {
        read(&self.take(key)?)
    }

    /// As [`Section::read`], but it is a mistake if the key is absent; `such_as` is
    /// what could be written.
    pub(super) fn require<T>(
        &mut self,
        key: &'static str,
        such_as: &str,
        read: impl FnOnce(&Item<'a>) -> Option<T>,
    ) -> Option<T> {
        let item = self.take(key);
        if item.is_none() {
            self.mistake(&format!(
                "`{key}` is missing; add it, such as {key} = {such_as}"
            ));
        }
        read(&item?)
    }

    /// The sections of the list `key` (`[[key]]`); empty if it is absent or wrong.
    pub(super) fn sections(&mut self, key: &'static str) -> Vec<Section<'a>> {
        let Some(item) = self.take(key) else {
            return Vec::new();
        };
        if let Value::Table(_) = item.node.value {
            let header = match self.path.split_once('[') {
                Some((list, _)) => format!("{list}.{key}"),
                None => key.to_owned(),
            };
            item.mistake(&format!(
                "there can be several of these; write [[{header}]]"
            ));
            return Vec::new();
        }
        item.list("sections")
            .unwrap_or_default()
            .iter()
            .filter_map(Item::section)
            .collect()
    }

    /// All entries, for tables whose keys are the operator's own.
    pub(super) fn items(&self) -> Vec<(&'a str, Item<'a>)> {
        self.entries
            .iter()
            .map(|entry| (entry.key.as_str(), self.item(entry)))
            .collect()
    }

    /// Ends the reading: every key that nobody asked for is a mistake.
    pub(super) fn done(self) {
        for entry in self.entries {
            let key = entry.key.as_str();
            if self.known.contains(&key) {
                continue;
            }
            let text = format!(
                "unknown key{}",
                instead(key, self.known.iter().copied(), '`')
            );
            self.findings
                .mistake(Some(entry.line), &join(&self.path, &entry.key), text);
        }
    }

    /// Records a mistake about the section as a whole.
    pub(super) fn mistake(&self, text: &str) {
        self.findings.mistake(self.line, &self.path, text);
    }

    fn item(&self, entry: &'a Entry) -> Item<'a> {
        let path = join(&self.path, &entry.key);
        Item {
            path,
            line: entry.node.line,
            node: &entry.node,
            findings: self.findings,
        }
    }
}
