//! New keys, made of bytes that are handed in: a caller's, and one that seals continuations.
//!
//! What goes into the configuration and what a person has to read are kept apart, so that the
//! first can be redirected into a file.

use std::io::{self, Write};

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};

use crate::access::{ANONYMOUS, KeyDigest};

/// What a key is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyOf {
    /// A caller of this name.
    Caller(String),
    /// Sealing continuations.
    Continuations,
}

/// A new key, written out.
#[derive(Clone, PartialEq, Eq)]
pub struct NewKey {
    /// What the configuration takes.
    pub lines: String,
    /// What to do with it.
    pub note: String,
}

impl NewKey {
    /// The note on standard error, then the lines on standard output.
    pub fn print(&self) -> io::Result<()> {
        io::stderr().write_all(self.note.as_bytes())?;
        io::stdout().write_all(self.lines.as_bytes())
    }
}

/// A name that the configuration would refuse.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} cannot be the name of a key: it must not be empty, \"anonymous\", or hold control characters or spaces at its ends"
)]
pub struct WrongName(String);

/// A new key.
pub fn make(of: &KeyOf, random: [u8; 32]) -> Result<NewKey, WrongName> {
    match of {
        KeyOf::Caller(name) => for_caller(name, random),
        KeyOf::Continuations => Ok(for_continuations(random)),
    }
}

/// A key for a caller: the lines hold its digest alone, the key itself stands in the note.
fn for_caller(name: &str, random: [u8; 32]) -> Result<NewKey, WrongName> {
    let taken = name.is_empty() || name == ANONYMOUS;
    if taken || name.trim() != name || name.chars().any(char::is_control) {
        return Err(WrongName(name.to_owned()));
    }
    let key = format!("hb-{}", URL_SAFE_NO_PAD.encode(random));
    // In the configuration `${` begins a placeholder.
    let name = toml::Value::String(name.replace("${", "$${"));
    let digest = KeyDigest::of(key.as_bytes()).to_hex();
    Ok(NewKey {
        lines: format!("[[keys]]\nname = {name}\nsha256 = \"{digest}\"\n"),
        note: format!("the key, which is shown this once and kept nowhere: {key}\n"),
    })
}

/// A key that seals continuations, as an element of `continuation.keys`.
fn for_continuations(random: [u8; 32]) -> NewKey {
    NewKey {
        lines: format!("{}\n", STANDARD.encode(random)),
        note: "put it first in continuation.keys on every replica; take the old one out once continuation.max_age has passed\n".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_hold_no_key() {
        let Ok(new) = for_caller("support-desk", [7; 32]) else {
            panic!()
        };
        let (_, key) = new.note.trim().rsplit_once(' ').unwrap();
        assert!(!new.lines.contains(key), "{}", new.lines);
        assert!(new.lines.contains(&KeyDigest::of(key.as_bytes()).to_hex()));
    }

    #[test]
    fn names_that_the_configuration_refuses_are_refused() {
        for name in ["", "anonymous", " a", "a\n", "a\u{7f}b"] {
            assert!(for_caller(name, [7; 32]).is_err(), "{name:?}");
        }
    }
}
