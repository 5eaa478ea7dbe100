//! Writes JSON text.

use std::borrow::Cow;

use super::raw::Members;

/// `text` as a JSON string, quotes included.
pub fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    quote_into(&mut out, text);
    out
}

/// Appends `text` to `out` as a JSON string, quotes included.
pub fn quote_into(out: &mut String, text: &str) {
    out.push('"');
    let mut plain = 0;
    for (at, byte) in text.bytes().enumerate() {
        let escape = match byte {
            b'"' => "\\\"",
            b'\\' => "\\\\",
            b'\n' => "\\n",
            b'\r' => "\\r",
            b'\t' => "\\t",
            0..=0x1f => "",
            _ => continue,
        };
        out.push_str(&text[plain..at]);
        plain = at + 1;
        if escape.is_empty() {
            out.push_str("\\u00");
            out.push(char::from(b'0' + (byte >> 4)));
            out.push(char::from(b"0123456789abcdef"[usize::from(byte & 0xf)]));
        } else {
            out.push_str(escape);
        }
    }
    out.push_str(&text[plain..]);
    out.push('"');
}

/// JSON text without the white space between its tokens; what is inside strings stays.
pub fn compact(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let (mut quoted, mut escaped) = (false, false);
    for c in text.chars() {
        if quoted {
            quoted = escaped || c != '"';
            escaped = !escaped && c == '\\';
        } else if matches!(c, ' ' | '\t' | '\n' | '\r') {
            continue;
        } else {
            quoted = c == '"';
        }
        out.push(c);
    }
    out
}

/// Appends bytes as hexadecimal digits.
pub fn hex_into(out: &mut String, bytes: &[u8]) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    for byte in bytes {
        out.push(char::from(DIGITS[usize::from(byte >> 4)]));
        out.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
}

/// Writes one JSON object member by member.
pub struct ObjectWriter<'a> {
    out: &'a mut String,
    first: bool,
}

impl<'a> ObjectWriter<'a> {
    /// Opens an object at the end of `out`.
    pub fn begin(out: &'a mut String) -> ObjectWriter<'a> {
        out.push('{');
        ObjectWriter { out, first: true }
    }

    /// Writes a key; the caller writes its value to what is returned.
    pub fn key(&mut self, key: &str) -> &mut String {
        if !self.first {
            self.out.push(',');
        }
        self.first = false;
        quote_into(self.out, key);
        self.out.push(':');
        self.out
    }

    /// Writes a member whose value is JSON text already.
    pub fn member(&mut self, key: &str, value: &str) {
        self.key(key).push_str(value);
    }

    /// Writes a member whose value is a string.
    pub fn string(&mut self, key: &str, value: &str) {
        quote_into(self.key(key), value);
    }

    /// Closes the object.
    pub fn end(self) {
        self.out.push('}');
    }
}

/// The object `text` with `key` set to the JSON text `value`, other members as they are.
pub fn with_member(text: &str, key: &str, value: &str) -> String {
    let mut out = String::with_capacity(text.len() + value.len() + key.len() + 4);
    let mut object = ObjectWriter::begin(&mut out);
    let mut found = false;
    for (name, old) in Members::of(text) {
        object.member(&name, if name == key { value } else { old.get() });
        found = found || name == key;
    }
    if !found {
        object.member(key, value);
    }
    object.end();
    out
}

/// JSON text on one line: line ends can stand only between its tokens, and become spaces.
pub fn on_one_line(text: &str) -> Cow<'_, str> {
    if memchr::memchr2(b'\n', b'\r', text.as_bytes()).is_none() {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.replace(['\n', '\r'], " "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoting_is_what_serde_json_writes() {
        for text in [
            "",
            "plain",
            "q\" b\\ n\n r\r t\t",
            "\u{0}\u{1f}\u{7f}",
            "\u{5317}\u{1f5a8}",
        ] {
            let back: String = serde_json::from_str(&quoted(text)).unwrap();
            assert_eq!(back, text);
        }
    }

    #[test]
    fn compact_text_keeps_strings_and_numbers() {
        assert_eq!(
            compact("{ \"a b\" : [ 1.0 , \"x \\\" y\\\\\" ] }"),
            r#"{"a b":[1.0,"x \" y\\"]}"#
        );
    }
}
