//! The file as a tree of values that know their lines, placeholders replaced.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::placeholder;
use super::report::{Finding, Findings, Report};

/// One value and where it stands.
#[derive(Debug)]
pub(super) struct Node {
    /// The line it starts on, counted from 1; of a table its header's.
    pub(super) line: usize,
    pub(super) value: Value,
}

/// A value of the file.
#[derive(Debug)]
pub(super) enum Value {
    Array(Vec<Node>),
    Boolean(bool),
    /// Something that a mistake has been recorded about already: whoever reads it
    /// has nothing to add.
    Broken,
    Datetime(String),
    /// Spelled as in the file, without underscores and plus sign.
    Float(String),
    Integer(i64),
    /// In the order of the file.
    Table(Vec<Entry>),
    Text {
        text: String,
        /// The text before its placeholders were replaced, if it had any. It stands
        /// for the value in whatever people get to see.
        written: Option<String>,
    },
}

/// A key and its value.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) key: String,
    /// Where the key stands.
    pub(super) line: usize,
    pub(super) node: Node,
}

/// Parses `source`. Placeholders that cannot be replaced are recorded in `findings`.
///
/// # Errors
///
/// The mistakes of syntax, the first of each line. There is no telling what the
/// rest of such a file means, so it is not looked at.
pub(super) fn parse(
    source: &str,
    file: &str,
    env: &dyn Fn(&str) -> Option<String>,
    findings: &Findings,
) -> Result<Vec<Entry>, Report> {
    let lines = Lines::of(source);
    let (table, errors) = DeTable::parse_recoverable(source);
    if errors.is_empty() {
        return Ok(Builder {
            lines,
            env,
            findings,
        }
        .table("", table.get_ref()));
    }
    let mut mistakes: Vec<Finding> = Vec::new();
    for error in errors {
        let (line, column) = lines.place(error.span().map_or(0, |span| span.start));
        if mistakes.iter().all(|mistake| mistake.line != Some(line)) {
            let text = format!("not TOML: {}", error.message());
            let (line, column) = (Some(line), Some(column));
            mistakes.push(Finding {
                line,
                column,
                path: String::new(),
                text,
            });
        }
    }
    Err(Report::new(file.to_owned(), mistakes))
}

/// The path of `key` in the table at `path`.
pub(super) fn join(path: &str, key: &str) -> String {
    let bare = |character: char| character.is_ascii_alphanumeric() || "_-".contains(character);
    let key = if !key.is_empty() && key.chars().all(bare) {
        key.to_owned()
    } else {
        format!("{key:?}")
    };
    if path.is_empty() {
        key
    } else {
        format!("{path}.{key}")
    }
}

struct Builder<'a> {
    lines: Lines<'a>,
    env: &'a dyn Fn(&str) -> Option<String>,
    findings: &'a Findings,
}

impl Builder<'_> {
    fn table(&self, path: &str, table: &DeTable<'_>) -> Vec<Entry> {
        let mut entries: Vec<(Range<usize>, Entry)> = table
            .iter()
            .map(|(key, value)| {
                let name = key.get_ref().clone().into_owned();
                let node = self.node(&join(path, &name), value);
                let line = self.lines.place(key.span().start).0;
                (
                    key.span(),
                    Entry {
                        key: name,
                        line,
                        node,
                    },
                )
            })
            .collect();
        // The parser's tables are sorted by key; operators think in the order of
        // their file.
        entries.sort_by_key(|(span, _)| span.start);
        entries.into_iter().map(|(_, entry)| entry).collect()
    }

    fn node(&self, path: &str, value: &Spanned<DeValue<'_>>) -> Node {
        let line = self.lines.place(value.span().start).0;
        let value = match value.get_ref() {
            DeValue::Array(items) => Value::Array(
                items
                    .iter()
                    .enumerate()
                    .map(|(index, item)| self.node(&format!("{path}[{index}]"), item))
                    .collect(),
            ),
            DeValue::Boolean(flag) => Value::Boolean(*flag),
            DeValue::Datetime(time) => Value::Datetime(time.to_string()),
            DeValue::Float(float) => Value::Float(float.as_str().trim_start_matches('+').into()),
            DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
                .map_or_else(
                    |_| self.broken(line, path, format!("{number} is too large a number")),
                    Value::Integer,
                ),
            DeValue::String(text) => self.text(line, path, text),
            DeValue::Table(table) => Value::Table(self.table(path, table)),
        };
        Node { line, value }
    }

    fn text(&self, line: usize, path: &str, text: &str) -> Value {
        match placeholder::fill(text, self.env) {
            Ok(filled) => Value::Text {
                text: filled.text,
                written: filled.replaced.then(|| text.to_owned()),
            },
            Err(faults) => {
                for fault in faults {
                    self.broken(line, path, fault.to_string());
                }
                Value::Broken
            }
        }
    }

    fn broken(&self, line: usize, path: &str, text: String) -> Value {
        self.findings.mistake(Some(line), path, text);
        Value::Broken
    }
}

/// Finds lines and columns, both counted from 1, of places in a text.
struct Lines<'a> {
    source: &'a str,
    /// Where each line starts.
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    fn of(source: &'a str) -> Self {
        let breaks = source.match_indices('\n').map(|(place, _)| place + 1);
        Self {
            source,
            starts: std::iter::once(0).chain(breaks).collect(),
        }
    }

    fn place(&self, byte: usize) -> (usize, usize) {
        let line = self.starts.partition_point(|start| *start <= byte);
        let start = line
            .checked_sub(1)
            .and_then(|index| self.starts.get(index))
            .unwrap_or(&0);
        let column = self
            .source
            .get(*start..byte)
            .map_or(0, |before| before.chars().count());
        (line, column + 1)
    }
}
