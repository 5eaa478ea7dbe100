//! What is wrong with a script, and where.
//!
//! Invariant: every mistake in a text has its line, and inside an answer the answer's number.

use std::ops::Range;
use std::path::PathBuf;

use thiserror::Error;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Why a script cannot be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ScriptError {
    /// The file cannot be read.
    #[error("the script {} cannot be read: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// The text is not TOML, or not a script.
    #[error("{script}:{line}: {}{message}", place(*answer, key))]
    Wrong {
        /// The script's file or name.
        script: String,
        /// Counted from 1.
        line: usize,
        /// The number of the answer, counted from 1; absent outside of answers.
        answer: Option<usize>,
        /// The key, such as `when.user_says`; may be empty.
        key: String,
        /// What is wrong and what to write instead.
        message: String,
    },
}

impl ScriptError {
    /// A mistake at `span` of `text`, or in the text as a whole.
    pub(super) fn wrong(
        text: &str,
        script: &str,
        span: Option<Range<usize>>,
        message: &str,
    ) -> Self {
        let at = span.map_or(0, |span| span.start);
        let line = 1 + text.bytes().take(at).filter(|byte| *byte == b'\n').count();
        // Where the text is not even TOML there is no key to name.
        let steps = DeTable::parse(text)
            .ok()
            .and_then(|table| in_table(table.get_ref(), at))
            .unwrap_or_default();
        let (answer, key) = split(&steps);
        Self::Wrong {
            script: script.to_owned(),
            line,
            answer,
            key,
            message: message.to_owned(),
        }
    }
}

fn place(answer: Option<usize>, key: &str) -> String {
    let answer = answer.map(|number| format!("answer {number}"));
    let key = (!key.is_empty()).then(|| format!("`{key}`"));
    let parts: Vec<String> = answer.into_iter().chain(key).collect();
    if parts.is_empty() {
        String::new()
    } else {
        parts.join(", ") + ": "
    }
}

/// A step from the root of a file to one of its values.
enum Step {
    Key(String),
    Item(usize),
}

/// The number of the answer, and the keys below it. Which item of a list is meant is told by
/// the line well enough.
fn split(steps: &[Step]) -> (Option<usize>, String) {
    let (answer, below) = match steps {
        [Step::Key(answers), Step::Item(index), below @ ..] if answers == "answers" => {
            (Some(index + 1), below)
        }
        all => (None, all),
    };
    let keys: Vec<&str> = below
        .iter()
        .filter_map(|step| match step {
            Step::Key(key) => Some(key.as_str()),
            Step::Item(_) => None,
        })
        .collect();
    (answer, keys.join("."))
}

/// The steps to the key or the innermost value that stands at byte `at`.
fn in_table(table: &DeTable<'_>, at: usize) -> Option<Vec<Step>> {
    table.iter().find_map(|(key, value)| {
        let below = if key.span().contains(&at) {
            Some(Vec::new())
        } else {
            in_value(value, at)
        };
        Some(prepend(
            Step::Key(key.get_ref().clone().into_owned()),
            below?,
        ))
    })
}

/// The same below `value`. The parts come first: the span of a table is its header, which does
/// not enclose them.
fn in_value(value: &Spanned<DeValue<'_>>, at: usize) -> Option<Vec<Step>> {
    let below = match value.get_ref() {
        DeValue::Table(table) => in_table(table, at),
        DeValue::Array(items) => items
            .iter()
            .enumerate()
            .find_map(|(index, item)| Some(prepend(Step::Item(index), in_value(item, at)?))),
        _ => None,
    };
    below.or_else(|| value.span().contains(&at).then(Vec::new))
}

fn prepend(first: Step, mut rest: Vec<Step>) -> Vec<Step> {
    rest.insert(0, first);
    rest
}
