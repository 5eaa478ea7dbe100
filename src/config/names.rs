//! Names that sections give themselves, and references to them.

use super::item::Item;
use super::report::instead;
use super::section::Section;

/// The names of one kind of section: each is given once, and each reference has to
/// meet one.
pub(super) struct Names {
    /// What the sections are called in messages: `upstream`.
    kind: &'static str,
    given: Vec<Given>,
    /// Whether each section so far had a name that could be read. If not, nobody can
    /// say that a reference meets nothing.
    complete: bool,
}

struct Given {
    name: String,
    path: String,
    line: Option<usize>,
}

impl Names {
    pub(super) fn new(kind: &'static str) -> Self {
        Self {
            kind,
            given: Vec::new(),
            complete: true,
        }
    }

    /// Reads the key `name` of `section` and keeps it. `such_as` is what it could be.
    pub(super) fn give(&mut self, section: &mut Section<'_>, such_as: &str) -> Option<String> {
        let item = section.require("name", such_as, |item| {
            item.name().map(|name| (name, item.line))
        });
        let Some((name, line)) = item else {
            self.complete = false;
            return None;
        };
        if let Some(first) = self.given.iter().find(|given| given.name == name) {
            let place = first
                .line
                .map(|line| format!(" on line {line}"))
                .unwrap_or_default();
            let text = format!(
                "the name \"{name}\" is taken by {}{place}; choose another",
                first.path
            );
            section
                .findings
                .mistake(Some(line), &format!("{}.name", section.path), text);
            return None;
        }
        let path = section.path.clone();
        self.given.push(Given {
            name: name.clone(),
            path,
            line: section.line,
        });
        Some(name)
    }

    /// Whether any of the names fits; true if not all of them could be read.
    pub(super) fn any(&self, fits: impl Fn(&str) -> bool) -> bool {
        !self.complete || self.given.iter().any(|given| fits(&given.name))
    }

    /// Reads a reference to one of the names.
    pub(super) fn refer(&self, item: &Item<'_>) -> Option<String> {
        let name = item.text()?;
        let names = || self.given.iter().map(|given| given.name.as_str());
        if names().any(|known| known == name) {
            return Some(name.to_owned());
        }
        if !self.complete {
            return None;
        }
        let kind = self.kind;
        let help = match self.given.len() {
            0 => format!("; add an [[{kind}s]] section of that name"),
            _ => instead(name, names(), '"'),
        };
        item.wrong(&format!("no {kind} is named {}{help}", item.shown()?))
    }
}
