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
        self.give_beside(section, such_as, None)
    }

    /// As [`Names::give`], but a name that is one of `others` is taken, too.
    pub(super) fn give_beside(
        &mut self,
        section: &mut Section<'_>,
        such_as: &str,
        others: Option<&Names>,
    ) -> Option<String> {
        let item = section.require("name", such_as, |item| {
            item.name().map(|name| (name, item.line))
        });
        let Some((name, line)) = item else {
            self.complete = false;
            return None;
        };
        let holder = self.holder(&name).or_else(|| others?.holder(&name));
        if let Some(first) = holder {
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

    /// Whether a section has given itself this name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.holder(name).is_some()
    }

    /// Reads a reference to one of the names.
    pub(super) fn refer(&self, item: &Item<'_>) -> Option<String> {
        let name = item.text()?;
        self.refer_as(item, name, &item.shown()?)
    }

    /// As [`Names::refer`], where `name` is only a part of the value; `shown` is how a mistake
    /// shows it.
    pub(super) fn refer_as(&self, item: &Item<'_>, name: &str, shown: &str) -> Option<String> {
        if self.has(name) {
            return Some(name.to_owned());
        }
        if !self.complete {
            return None;
        }
        let kind = self.kind;
        let names = self.given.iter().map(|given| given.name.as_str());
        let help = match self.given.len() {
            0 => format!("; add a section [[{kind}s]] of that name"),
            _ => instead(name, names, '"'),
        };
        item.wrong(&format!("no {kind} is named {shown}{help}"))
    }

    fn holder(&self, name: &str) -> Option<&Given> {
        self.given.iter().find(|given| given.name == name)
    }
}
