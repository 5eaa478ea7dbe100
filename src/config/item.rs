//! Reads a value of the file as what it is meant to be.
//!
//! Each method gives a value, or records a mistake and gives `None`. So the caller
//! can go on with a default: what it builds is thrown away then, but what else it
//! finds is not.

use std::net::SocketAddr;
use std::time::Duration;

use url::Url;

use super::report::{Findings, did_you_mean, excerpt, listed};
use super::section::Section;
use super::tree::{Node, Value};
use super::units;

/// The longest duration: more is a slip, and no clock counts without end.
const LONGEST: Duration = Duration::from_hours(365 * 24);

/// A value of the file and where it stands.
pub(super) struct Item<'a> {
    pub(super) path: String,
    pub(super) line: usize,
    pub(super) node: &'a Node,
    pub(super) findings: &'a Findings,
}

impl<'a> Item<'a> {
    /// A text that is not empty. Never for secrets: a mistake shows the value.
    pub(super) fn text(&self) -> Option<&'a str> {
        match &self.node.value {
            Value::Text { text, .. } if text.is_empty() => self.wrong("the text is empty"),
            Value::Text { text, .. } => Some(text),
            _ => self.not("a text in quotes"),
        }
    }

    /// An address without secrets: people put keys into the user's name and the query, so a URL
    /// with either is refused unseen. `instead` is the key that takes them.
    pub(super) fn plain_url(&self, example: &str, instead: &str) -> Option<Url> {
        let such_as = format!("write one such as \"{example}\"");
        let Ok(url) = Url::parse(self.text()?) else {
            return self.wrong(&format!("the value is not a URL; {such_as}"));
        };
        if !url.username().is_empty() || url.password().is_some() {
            return self.wrong(&format!(
                "the URL holds a user name or password; take it out and set {instead}"
            ));
        }
        if url.query().is_some() || url.fragment().is_some() {
            return self.wrong("the URL holds a query or fragment; take out all from ? or # on");
        }
        if !matches!(url.scheme(), "http" | "https") {
            return self.not(&format!("an http or https URL; {such_as}"));
        }
        Some(url)
    }

    /// A text that something is called by.
    pub(super) fn name(&self) -> Option<String> {
        let name = self.text()?;
        if name.trim() != name || name.chars().any(char::is_control) {
            return self.not("a name; take out spaces at the ends, tabs and line breaks");
        }
        Some(name.to_owned())
    }

    /// The text of a secret, which may be empty. No mistake shows the value.
    pub(super) fn secret(&self) -> Option<&'a str> {
        match &self.node.value {
            Value::Text { text, .. } => Some(text),
            Value::Broken => None,
            _ => self.wrong("the value is not a text in quotes"),
        }
    }

    /// Whether this is a text made empty by a placeholder: how an operator leaves a
    /// key out where the environment has nothing to say.
    pub(super) fn left_out(&self) -> bool {
        matches!(&self.node.value, Value::Text { text, written: Some(_) } if text.is_empty())
    }

    /// `true` or `false`.
    pub(super) fn flag(&self) -> Option<bool> {
        match self.node.value {
            Value::Boolean(flag) => Some(flag),
            _ => self.not("true or false, without quotes"),
        }
    }

    /// A whole number of at least `least`.
    pub(super) fn number<N: TryFrom<i64>>(&self, least: i64) -> Option<N> {
        match self.node.value {
            Value::Integer(number) if number < least => {
                self.unfit(&format!("is too small; the least is {least}"))
            }
            Value::Integer(number) => N::try_from(number)
                .ok()
                .or_else(|| self.unfit("is too large a number")),
            _ => self.not("a whole number"),
        }
    }

    /// A share: a number from 0 to 1.
    pub(super) fn share(&self) -> Option<f64> {
        let share: Option<f64> = match &self.node.value {
            Value::Float(number) => number.parse().ok(),
            Value::Integer(number) => i32::try_from(*number).ok().map(f64::from),
            _ => None,
        };
        share
            .filter(|share| (0.0..=1.0).contains(share))
            .or_else(|| self.not("a share; write a number from 0 to 1, such as 0.1"))
    }

    /// A duration of at least `least`.
    pub(super) fn duration(&self, least: Duration) -> Option<Duration> {
        let duration = match &self.node.value {
            Value::Text { text, .. } => units::duration(text),
            _ => None,
        };
        match duration {
            None => self.not(r#"a duration; write a number and ms, s, m or h, such as "10s""#),
            Some(time) if time < least => self.unfit("is too short; it must be above zero"),
            Some(time) if time > LONGEST => self.unfit("is too long; the limit is a year, 8760h"),
            Some(time) => Some(time),
        }
    }

    /// A size of at least one byte.
    pub(super) fn size(&self) -> Option<usize> {
        let size = match &self.node.value {
            Value::Integer(number) => u64::try_from(*number).ok(),
            Value::Text { text, .. } => units::size(text),
            _ => None,
        };
        match size.map(usize::try_from) {
            None => self.not(
                r#"a size; write bytes, or a number and KiB, MiB, GiB, KB, MB or GB, such as "20MiB""#,
            ),
            Some(Ok(0)) => self.unfit("is too small; it must be above zero"),
            Some(Err(_)) => self.unfit("is too large"),
            Some(Ok(size)) => Some(size),
        }
    }

    /// An IP address and a port.
    pub(super) fn address(&self) -> Option<SocketAddr> {
        let text = self.text()?;
        let such_as = match text.strip_prefix(':').map(str::parse::<u16>) {
            Some(Ok(port)) => format!("0.0.0.0:{port}"),
            _ => "127.0.0.1:8080".to_owned(),
        };
        let wanted = format!(r#"an IP address and a port; write both, such as "{such_as}""#);
        text.parse().ok().or_else(|| self.not(&wanted))
    }

    /// One of the names in `choices`.
    pub(super) fn choice<T: Copy>(&self, choices: &[(&str, T)]) -> Option<T> {
        let text = self.text()?;
        if let Some((_, choice)) = choices.iter().find(|(name, _)| *name == text) {
            return Some(*choice);
        }
        let names = || choices.iter().map(|(name, _)| *name);
        let help = did_you_mean(text, names(), '"').unwrap_or_default();
        self.not(&format!("one of {}{help}", listed(names(), '"')))
    }

    /// The items of a list of `what`.
    pub(super) fn list(&self, what: &str) -> Option<Vec<Item<'a>>> {
        let Value::Array(nodes) = &self.node.value else {
            return self.other(&format!("a list of {what}"));
        };
        let item = |(index, node): (usize, &'a Node)| Item {
            path: format!("{}[{index}]", self.path),
            line: node.line,
            node,
            findings: self.findings,
        };
        Some(nodes.iter().enumerate().map(item).collect())
    }

    /// Whether this is a list of nothing.
    pub(super) fn is_empty(&self) -> bool {
        matches!(&self.node.value, Value::Array(nodes) if nodes.is_empty())
    }

    /// A table.
    pub(super) fn section(&self) -> Option<Section<'a>> {
        match &self.node.value {
            Value::Table(entries) => Some(Section::new(
                self.path.clone(),
                Some(self.line),
                entries,
                self.findings,
            )),
            Value::Array(_) if !self.path.contains(['.', '[']) => self.wrong(&format!(
                "there can be only one of these; write [{}]",
                self.path
            )),
            _ => self.other("a table"),
        }
    }

    /// Records that the value is of another kind than is `wanted`, without showing it:
    /// what stands where a list or a table should can be anything, a secret too.
    fn other<T>(&self, wanted: &str) -> Option<T> {
        let kind = match &self.node.value {
            Value::Broken => return None,
            Value::Array(_) => "a list",
            Value::Boolean(_) => "true or false",
            Value::Datetime(_) => "a date",
            Value::Float(_) | Value::Integer(_) => "a number",
            Value::Table(_) => "a table",
            Value::Text { .. } => "a text",
        };
        self.wrong(&format!("{kind} is not {wanted}"))
    }

    /// Records that the value is not what is `wanted`.
    pub(super) fn not<T>(&self, wanted: &str) -> Option<T> {
        self.unfit(&format!("is not {wanted}"))
    }

    /// Records what is the matter with the value, which is put in front of `text`;
    /// silent if something is known to be wrong with it already.
    pub(super) fn unfit<T>(&self, text: &str) -> Option<T> {
        self.wrong(&format!("{} {text}", self.shown()?))
    }

    /// The value as a mistake may show it: in quotes, and as its placeholder if it came
    /// from the environment; `None` if something is known to be wrong with it already.
    pub(super) fn shown(&self) -> Option<String> {
        Some(match &self.node.value {
            Value::Broken => return None,
            Value::Array(_) => "a list".to_owned(),
            Value::Boolean(flag) => flag.to_string(),
            Value::Datetime(shown) | Value::Float(shown) => shown.clone(),
            Value::Integer(number) => number.to_string(),
            Value::Table(_) => "a table".to_owned(),
            Value::Text { text, written } => excerpt(written.as_ref().unwrap_or(text)),
        })
    }

    /// `part` of the text as a mistake may show it: the value as a whole, as
    /// [`Item::shown`], where that part came from the environment.
    pub(super) fn shown_part(&self, part: &str) -> Option<String> {
        match &self.node.value {
            Value::Text {
                written: Some(written),
                ..
            } if !written.contains(part) => self.shown(),
            _ => Some(excerpt(part)),
        }
    }

    /// Records a mistake and gives `None`.
    pub(super) fn wrong<T>(&self, text: &str) -> Option<T> {
        self.mistake(text);
        None
    }

    /// Records a mistake.
    pub(super) fn mistake(&self, text: &str) {
        self.findings.mistake(Some(self.line), &self.path, text);
    }

    /// Records that this version reads the key but does not act on it.
    pub(super) fn idle(&self) {
        let text = "this version reads it but does not act on it yet";
        self.findings.warning(self.line, &self.path, text);
    }
}
