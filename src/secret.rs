//! A text that must never be shown.

use std::fmt;

/// A text that lives in the configuration and in headers, and nowhere else: an
/// API key, a header's value.
///
/// `Debug` is redacted and there is no `Display`, so that a secret can only get
/// into a log, an error or a snapshot where somebody wrote [`Secret::expose`].
/// There is no `PartialEq` either: comparing secrets byte by byte leaks through
/// time how much of a guess was right.
#[derive(Clone)]
pub struct Secret(String);

impl Secret {
    /// Wraps `text`.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text itself. Never pass it to a log, an error or an answer.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(redacted)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_shows_nothing_of_the_text() {
        let secret = Secret::new("sk-live-123");
        assert_eq!(format!("{secret:?}"), "Secret(redacted)");
        assert_eq!(secret.expose(), "sk-live-123");
    }
}
