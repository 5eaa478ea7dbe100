//! Who may call: keys, and which models each of them may use.
//!
//! A door asks [`Access::admit`] once per request and carries the [`Caller`] on.
//! Rates are deliberately absent: [`KeySettings`] names them, but this version does
//! not count requests or tokens.
//!
//! Invariant: a key is hashed as soon as it arrives and compared by its digest
//! only; no key is ever stored, logged or part of an error.

mod pattern;
mod settings;

use std::collections::HashMap;
use std::sync::Arc;

use thiserror::Error;

pub use pattern::Pattern;
pub use settings::{KeyDigest, KeySettings};

/// The name of callers where no keys are configured. No key may have it.
pub const ANONYMOUS: &str = "anonymous";

/// Decides who may call.
#[derive(Debug)]
pub struct Access {
    /// Empty means open: everybody is anonymous and may use everything.
    keys: HashMap<KeyDigest, Arc<KeySettings>>,
}

impl Access {
    /// Admits whoever has one of `keys`. Without any key this is [`Access::open`]:
    /// the configuration has made sure that this was meant. Of two keys with the
    /// same digest the later one counts; the configuration refuses such a pair.
    pub fn new(keys: Vec<KeySettings>) -> Self {
        Self {
            keys: keys
                .into_iter()
                .map(|key| (key.digest, Arc::new(key)))
                .collect(),
        }
    }

    /// Admits everybody, whatever they send: client libraries insist on sending
    /// some key.
    pub fn open() -> Self {
        Self::new(Vec::new())
    }

    /// Whether no keys are configured, so that everybody is admitted.
    pub fn is_open(&self) -> bool {
        self.keys.is_empty()
    }

    /// Finds out who calls, from the value of the `authorization` header.
    ///
    /// # Errors
    ///
    /// [`Refused`], unless everybody is admitted.
    pub fn admit(&self, authorization: Option<&[u8]>) -> Result<Caller, Refused> {
        if self.is_open() {
            return Ok(Caller { key: None });
        }
        let key = bearer(authorization.ok_or(Refused::Missing)?)?;
        let key = self.keys.get(&KeyDigest::of(key)).ok_or(Refused::Unknown)?;
        Ok(Caller {
            key: Some(Arc::clone(key)),
        })
    }
}

/// Why a caller is not admitted.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum Refused {
    /// The header has another scheme than `Bearer`, or no scheme at all.
    #[error("the authorization header does not read 'Bearer KEY'")]
    Malformed,
    /// There is no `authorization` header, or no key in it.
    #[error("no key was sent; send the header 'authorization: Bearer KEY'")]
    Missing,
    /// The key is none of those configured.
    #[error("the key is not known here")]
    Unknown,
}

/// An admitted caller. Cloning it is cheap.
#[derive(Clone, Debug)]
pub struct Caller {
    /// Absent for anonymous callers.
    key: Option<Arc<KeySettings>>,
}

impl Caller {
    /// The name of the caller's key, [`ANONYMOUS`] where there are no keys.
    pub fn name(&self) -> &str {
        self.key.as_ref().map_or(ANONYMOUS, |key| &key.name)
    }

    /// Whether the caller may use `model`, the name of an agent or of a model of
    /// the pass-through.
    pub fn may_use(&self, model: &str) -> bool {
        self.key
            .as_ref()
            .is_none_or(|key| key.models.iter().any(|pattern| pattern.matches(model)))
    }

    /// Whether the caller's key allows strings as `tool_choice`. The agent may
    /// allow them too; either is enough.
    pub fn tool_choice_strings(&self) -> bool {
        self.key.as_ref().is_some_and(|key| key.tool_choice_strings)
    }
}

/// The key in an `authorization` header. The scheme is case-insensitive and any
/// number of spaces may follow it (RFC 9110, section 11.4).
fn bearer(header: &[u8]) -> Result<&[u8], Refused> {
    const SCHEME: &[u8] = b"bearer";

    let header = header.trim_ascii();
    let (scheme, key) = header
        .split_at_checked(SCHEME.len())
        .ok_or(Refused::Malformed)?;
    if !scheme.eq_ignore_ascii_case(SCHEME) {
        return Err(Refused::Malformed);
    }
    match key.trim_ascii_start() {
        [] => Err(Refused::Missing),
        trimmed if trimmed.len() == key.len() => Err(Refused::Malformed),
        trimmed => Ok(trimmed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn desk() -> Access {
        Access::new(vec![KeySettings {
            name: "desk".to_owned(),
            digest: KeyDigest::of(b"k-1"),
            models: vec![Pattern::new("support.*")],
            tool_choice_strings: true,
            concurrent: None,
            requests_per_minute: None,
            tokens_per_minute: None,
        }])
    }

    #[test]
    fn a_known_key_is_admitted_under_its_name() {
        for header in ["Bearer k-1", "bearer k-1", "BEARER   k-1 "] {
            let caller = desk().admit(Some(header.as_bytes())).unwrap();
            assert_eq!(caller.name(), "desk");
            assert!(caller.may_use("support.agent"));
            assert!(!caller.may_use("gpt-5"));
            assert!(caller.tool_choice_strings());
        }
    }

    #[test]
    fn anything_else_is_refused() {
        for (header, refused) in [
            (None, Refused::Missing),
            (Some("Bearer "), Refused::Missing),
            (Some("Bearer"), Refused::Missing),
            (Some(""), Refused::Malformed),
            (Some("k-1"), Refused::Malformed),
            (Some("Basic azox"), Refused::Malformed),
            (Some("Bearerk-1"), Refused::Malformed),
            (Some("Bearer k-2"), Refused::Unknown),
            (Some("Bearer k-1 k-1"), Refused::Unknown),
        ] {
            let answer = desk().admit(header.map(str::as_bytes));
            assert_eq!(answer.unwrap_err(), refused, "{header:?}");
        }
    }

    #[test]
    fn without_keys_everybody_is_anonymous_and_may_use_everything() {
        for header in [None, Some(&b"Bearer sk-unused"[..]), Some(b"nonsense")] {
            let caller = Access::open().admit(header).unwrap();
            assert_eq!(caller.name(), ANONYMOUS);
            assert!(caller.may_use("anything/at-all"));
            assert!(!caller.tool_choice_strings());
        }
    }
}
