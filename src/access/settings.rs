//! What one `[[keys]]` section says.

use std::fmt;

use sha2::{Digest, Sha256};

use super::pattern::Pattern;

/// One key that callers authenticate with, and what it may do.
#[derive(Clone, Debug)]
pub struct KeySettings {
    /// The name in logs and metrics; continuations are bound to it. Not empty,
    /// unique among the keys, never [`super::ANONYMOUS`].
    pub name: String,
    /// What the key is recognised by; unique among the keys.
    pub digest: KeyDigest,
    /// The model names that the key may use: one match is enough. Default one
    /// pattern, `*`; never empty.
    pub models: Vec<Pattern>,
    /// Whether `tool_choice` may be one of the strings that client libraries always
    /// send. Default false; an agent can allow it too.
    pub tool_choice_strings: bool,
    /// Requests at once, at least 1. Absent means no bound, the default.
    pub concurrent: Option<u32>,
    /// Requests per minute, at least 1. Absent means no bound, the default.
    pub requests_per_minute: Option<u32>,
    /// Tokens per minute, the prompt's and the answer's together, at least 1.
    /// Absent means no bound, the default.
    pub tokens_per_minute: Option<u64>,
}

/// The SHA-256 digest of a key. Keys are looked up by it, so that no comparison of
/// secrets can leak through its time how much of a guess was right.
///
/// `Debug` shows the first four bytes: enough to tell two keys apart, too little to
/// test a guess against.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct KeyDigest([u8; 32]);

impl KeyDigest {
    /// The digest of `key`.
    pub fn of(key: &[u8]) -> Self {
        Self(Sha256::digest(key).into())
    }

    /// Reads 64 hexadecimal digits, in either case; `None` if they are anything
    /// else.
    pub fn from_hex(text: &str) -> Option<Self> {
        if text.len() != 64 {
            return None;
        }
        let mut bytes = [0; 32];
        for (byte, digits) in bytes.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
            let high = char::from(*digits.first()?).to_digit(16)?;
            let low = char::from(*digits.get(1)?).to_digit(16)?;
            *byte = u8::try_from(high * 16 + low).ok()?;
        }
        Some(Self(bytes))
    }

    /// The digest as 64 hexadecimal digits.
    pub fn to_hex(self) -> String {
        let digits = |byte: &u8| [byte >> 4, byte & 15].map(u32::from);
        let digits = self.0.iter().flat_map(digits);
        digits
            .filter_map(|digit| char::from_digit(digit, 16))
            .collect()
    }
}

impl fmt::Debug for KeyDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [first, second, third, fourth, ..] = self.0;
        write!(
            f,
            "KeyDigest({first:02x}{second:02x}{third:02x}{fourth:02x}..)"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hexadecimal_digests_are_read_in_either_case() {
        // `printf abc | sha256sum`
        let hex = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(KeyDigest::from_hex(hex), Some(KeyDigest::of(b"abc")));
        assert_eq!(KeyDigest::of(b"abc").to_hex(), hex);
        assert_eq!(
            KeyDigest::from_hex(&hex.to_uppercase()),
            Some(KeyDigest::of(b"abc"))
        );
        assert_eq!(
            format!("{:?}", KeyDigest::of(b"abc")),
            "KeyDigest(ba7816bf..)"
        );
    }

    #[test]
    fn anything_else_is_no_digest() {
        let multibyte = "é".repeat(32);
        for text in [
            "",
            "ba78",
            &"g".repeat(64),
            &"a".repeat(65),
            &"+a".repeat(32),
            &multibyte,
        ] {
            assert_eq!(KeyDigest::from_hex(text), None, "{text}");
        }
    }
}
