//! Headers that operators add to requests.

use crate::secret::Secret;

use super::item::Item;
use super::section::Section;

/// The name of a header that cannot be set, and why.
pub(super) type Reserved = (&'static str, &'static str);

const OWN: &str = "Handback sets this header itself; take it out";

/// Headers that are part of how a request is sent.
pub(super) const FRAMING_HEADERS: &[Reserved] = &[
    ("accept-encoding", OWN),
    ("connection", OWN),
    ("content-length", OWN),
    ("expect", OWN),
    ("host", OWN),
    ("te", OWN),
    ("trailer", OWN),
    ("transfer-encoding", OWN),
    ("upgrade", OWN),
];

/// Headers that say what is sent and what is wanted.
pub(super) const BODY_HEADERS: &[Reserved] = &[("accept", OWN), ("content-type", OWN)];

/// Headers of the calls of service tools.
pub(super) const CALL_HEADERS: &[Reserved] = &[("idempotency-key", OWN)];

/// Headers of spans on their way.
pub(super) const EXPORT_HEADERS: &[Reserved] = &[("content-encoding", OWN)];

/// Headers of the Model Context Protocol.
pub(super) const MCP_HEADERS: &[Reserved] = &[
    ("last-event-id", OWN),
    ("mcp-protocol-version", OWN),
    ("mcp-session-id", OWN),
];

/// Headers by the operator's names, none of those that are `reserved`.
pub(super) fn headers(section: &Section<'_>, reserved: &[Reserved]) -> Vec<(String, Secret)> {
    let mut headers: Vec<(String, Secret)> = Vec::new();
    for (name, item) in section.items() {
        let name = name.to_ascii_lowercase();
        if !is_header_name(&name) {
            item.mistake("the key is not a header name; use letters, digits and hyphens");
        } else if let Some((_, why)) = reserved.iter().find(|(own, _)| *own == name) {
            item.mistake(why);
        } else if headers.iter().any(|(other, _)| *other == name) {
            item.mistake("the header is there in another spelling; take one of the two out");
        } else if let Some(value) = header_value(&item) {
            headers.push((name, value));
        }
    }
    headers
}

/// Whether `name`, in lower case, is a token (RFC 9110, section 5.6.2).
fn is_header_name(name: &str) -> bool {
    let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !name.is_empty() && name.bytes().all(token)
}

/// A secret that can be sent in a header.
pub(super) fn header_value(item: &Item<'_>) -> Option<Secret> {
    let text = item.secret()?;
    if text.is_empty() {
        return item.wrong("the value is empty; set it, or take the key out");
    }
    if text.trim() != text || !text.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
        return item.wrong(
            "no header can carry this value; take out spaces at the ends, line breaks \
             and characters that are not ASCII",
        );
    }
    Some(Secret::new(text))
}
