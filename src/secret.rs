//! A text that must never be shown.

use std::fmt;

use http::{HeaderMap, HeaderName, HeaderValue};

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

/// A header that cannot be sent; its name.
#[derive(Debug, thiserror::Error)]
#[error("a header holds characters that HTTP forbids: {0}")]
pub struct NotAHeader(String);

/// Headers of the configuration as a client takes them. No log of its shows their values.
pub fn headers(settings: &[(String, Secret)]) -> Result<HeaderMap, NotAHeader> {
    let mut headers = HeaderMap::with_capacity(settings.len());
    for (name, value) in settings {
        let parsed = HeaderName::from_bytes(name.as_bytes());
        let parsed = parsed.map_err(|_| NotAHeader(name.clone()))?;
        headers.insert(parsed, header_value(name, value.expose())?);
    }
    Ok(headers)
}

/// The value of the header `name`, which no log shows.
pub fn header_value(name: &str, text: &str) -> Result<HeaderValue, NotAHeader> {
    let mut value = HeaderValue::from_str(text).map_err(|_| NotAHeader(name.to_owned()))?;
    value.set_sensitive(true);
    Ok(value)
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

    #[test]
    fn debug_of_headers_shows_no_value() {
        let header = |name: &str, value: &str| [(name.to_owned(), Secret::new(value))];
        let sent = headers(&header("x-key", "sk-live-123")).unwrap();
        assert_eq!(sent["x-key"], "sk-live-123");
        assert!(!format!("{sent:?}").contains("sk-live"));
        for (name, value) in [("x key", "a"), ("x-key", "a\nb")] {
            let refused = headers(&header(name, value)).unwrap_err().to_string();
            assert!(refused.ends_with(name), "{refused}");
        }
    }
}
