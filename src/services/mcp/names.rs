//! The names under which the model sees a server's tools.
//!
//! MCP allows names that chat completions forbids. Such a name keeps what it can and gets a digest
//! of itself at its end, so that it is the same on every replica and after every restart, whatever
//! else the server offers.

use sha2::{Digest, Sha256};

use crate::tools::name::{NAME_CHARS, is_valid};

/// Bytes of the digest that a changed name carries, two characters each.
const DIGEST_BYTES: usize = 4;

/// What stands for a name of which nothing can be kept.
const NAMELESS: &str = "tool";

/// The name for the model of the tool that the server calls `own`.
pub(super) fn seen(prefix: &str, own: &str) -> String {
    let whole = format!("{prefix}{own}");
    if is_valid(&whole) {
        return whole;
    }
    let room = NAME_CHARS.saturating_sub(prefix.len() + 1 + 2 * DIGEST_BYTES);
    let mut name = String::from(prefix);
    name.push_str(&words(own, room));
    name.push('_');
    for byte in &Sha256::digest(own.as_bytes())[..DIGEST_BYTES] {
        for digit in [byte >> 4, byte & 15] {
            name.push(char::from(b"0123456789abcdef"[usize::from(digit)]));
        }
    }
    name
}

/// The characters of `own` that may stay, at most `room`, with one `_` for each run of others
/// between them.
fn words(own: &str, room: usize) -> String {
    let allowed = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let words: Vec<&str> = own
        .split(|c| !allowed(c))
        .filter(|word| !word.is_empty())
        .collect();
    let mut kept = words.join("_");
    if kept.is_empty() {
        NAMELESS.clone_into(&mut kept);
    }
    kept.truncate(room);
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn names_that_are_allowed_stay() {
        assert_eq!(seen("", "find_customer-2"), "find_customer-2");
        assert_eq!(seen("crm_", "find"), "crm_find");
    }

    #[test]
    fn other_names_are_readable_valid_distinct_and_always_the_same() {
        let long = "x".repeat(65);
        let own = [
            "calendar.listEvents",
            "calendar/listEvents",
            "admin/users",
            "\u{5929}\u{6c14}\u{67e5}\u{8be2}",
            "\u{6587}\u{7ae0}",
            "a b",
            "",
            "...",
            &long,
        ];
        let names: HashSet<String> = own.iter().map(|own| seen("p-", own)).collect();
        assert_eq!(names.len(), own.len());
        assert!(names.iter().all(|name| is_valid(name)), "{names:?}");
        assert_eq!(
            seen("", "calendar.listEvents"),
            "calendar_listEvents_af36e6df"
        );
        assert!(seen("", "\u{6587}\u{7ae0}").starts_with("tool_"));
    }

    #[test]
    fn the_longest_prefix_leaves_room() {
        assert_eq!(seen(&"p".repeat(32), &"x.".repeat(40)).len(), NAME_CHARS);
    }
}
