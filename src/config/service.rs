//! The sections `[[services]]`.

use crate::services::settings::{HttpServiceSettings, HttpTool, Kind, ServiceSettings};

use super::headers::{CALL_HEADERS, FRAMING_HEADERS, headers};
use super::item::Item;
use super::mcp::mcp;
use super::names::Names;
use super::section::Section;
use super::tool::tool;

/// Longest prefix of tool names, in characters: half of what a name may have.
const PREFIX_CHARS: usize = 32;

/// What services of some kind have. Where the kind is unknown nothing can be said about them.
const KEYS: [&str; 9] = [
    "headers",
    "tools",
    "prefix",
    "url",
    "command",
    "env",
    "deny",
    "timeout",
    "description_limit",
];

#[derive(Clone, Copy)]
enum Word {
    Clock,
    Http,
    Mcp,
}

/// Reads one service and gives its name to `names`.
pub(super) fn service(mut section: Section<'_>, names: &mut Names) -> Option<ServiceSettings> {
    let name = names.give(&mut section, "\"kb\"");
    if let (Some(name), Some(item)) = (&name, section.find("name"))
        && name.contains(['.', '*'])
    {
        item.mistake(
            "the name of a service has no dots and stars, since agents write SERVICE.TOOL",
        );
    }
    let words = [
        ("clock", Word::Clock),
        ("http", Word::Http),
        ("mcp", Word::Mcp),
    ];
    let word = section.require("kind", "\"http\"", |item| item.choice(&words));
    let kind = match word {
        Some(Word::Clock) => Some(Kind::Clock),
        Some(Word::Http) => http(&mut section).map(Kind::Http),
        Some(Word::Mcp) => mcp(&mut section).map(Kind::Mcp),
        None => {
            for key in KEYS {
                section.take(key);
            }
            None
        }
    };
    section.done();
    Some(ServiceSettings {
        name: name?,
        kind: kind?,
    })
}

/// Reads what an HTTP service has.
fn http(section: &mut Section<'_>) -> Option<HttpServiceSettings> {
    let reserved = [FRAMING_HEADERS, CALL_HEADERS].concat();
    let headers = section.read("headers", |item| {
        item.section().map(|table| headers(&table, &reserved))
    });
    let prefix = section.read("prefix", prefix).unwrap_or_default();
    let none = section.find("tools").is_none_or(|item| item.is_empty());
    if none {
        section.mistake("there are no tools; add a section [[services.tools]]");
    }
    let sections = section.sections("tools");
    let count = sections.len();
    let mut names = Names::new("tool");
    let mut tools: Vec<HttpTool> = Vec::with_capacity(count);
    for section in sections {
        tools.extend(tool(section, &prefix, &mut names));
    }
    // With a tool missing nobody could say whether a reference to it is right.
    (count > 0 && tools.len() == count).then_some(HttpServiceSettings {
        headers: headers.unwrap_or_default(),
        tools,
        prefix,
    })
}

/// Reads what stands before the names of tools; it may be empty.
pub(super) fn prefix(item: &Item<'_>) -> Option<String> {
    let text = item.secret()?;
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    if text.len() > PREFIX_CHARS || !text.bytes().all(plain) {
        return item.not(&format!(
            "a prefix of tool names; use at most {PREFIX_CHARS} of the characters \
             A-Z, a-z, 0-9, _ and -"
        ));
    }
    Some(text.to_owned())
}
