//! How an argument is written into a URL.
//!
//! | JSON | in the URL |
//! |---|---|
//! | string | as it is |
//! | number, `true`, `false` | as the model spelled it |
//! | array | its items with commas between them, `null` left out; an empty one is as absent |
//! | object | compact JSON |
//! | `null` | as absent |
//!
//! All of it is percent-encoded but for the commas of arrays, so that a comma in an item stays
//! apart from one between items.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::value::RawValue;

use crate::wire::write::compact;

/// Everything but the unreserved characters (RFC 3986, section 2.3).
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// A string whose escapes are no text.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Unusable;

/// `text` with everything encoded that means something in a URL.
pub(super) fn encode(text: &str) -> String {
    utf8_percent_encode(text, RESERVED).to_string()
}

/// The value `json`, encoded; `None` if there is nothing to write.
pub(super) fn encoded(json: &str) -> Result<Option<String>, Unusable> {
    let Some(items) = json.starts_with('[').then(|| items(json)) else {
        return Ok(scalar(json)?.map(|text| encode(&text)));
    };
    let mut texts = Vec::new();
    for item in items? {
        texts.extend(scalar(item.get())?.map(|text| encode(&text)));
    }
    Ok((!texts.is_empty()).then(|| texts.join(",")))
}

fn items(json: &str) -> Result<Vec<&RawValue>, Unusable> {
    serde_json::from_str(json).map_err(|_| Unusable)
}

/// A value as text; lists within lists are JSON.
fn scalar(json: &str) -> Result<Option<String>, Unusable> {
    Ok(match json.as_bytes().first() {
        Some(b'"') => Some(serde_json::from_str(json).map_err(|_| Unusable)?),
        Some(b'{' | b'[') => Some(compact(json)),
        Some(b'n') | None => None,
        Some(_) => Some(json.to_owned()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_value_has_its_form() {
        for (json, text) in [
            (r#""plain-._~""#, Some("plain-._~")),
            (r#""""#, Some("")),
            (
                r#""a/b?c&d=e#f %2F+""#,
                Some("a%2Fb%3Fc%26d%3De%23f%20%252F%2B"),
            ),
            ("\"\\u00fc \u{5929}\"", Some("%C3%BC%20%E5%A4%A9")),
            ("1.0", Some("1.0")),
            ("-12345678901234567890", Some("-12345678901234567890")),
            ("1e+7", Some("1e%2B7")),
            ("true", Some("true")),
            ("null", None),
            ("[]", None),
            ("[null]", None),
            (
                r#"["a,b", 1, null, {"k": "v"}, [1, 2]]"#,
                Some("a%2Cb,1,%7B%22k%22%3A%22v%22%7D,%5B1%2C2%5D"),
            ),
            (
                r#"{ "a" : [1, "x y"] }"#,
                Some("%7B%22a%22%3A%5B1%2C%22x%20y%22%5D%7D"),
            ),
        ] {
            assert_eq!(encoded(json), Ok(text.map(str::to_owned)), "{json}");
        }
        assert_eq!(encoded(r#""\ud800""#), Err(Unusable));
        assert_eq!(encoded(r#"["\ud800"]"#), Err(Unusable));
    }
}
