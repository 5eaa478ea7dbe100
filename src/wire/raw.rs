//! JSON text that somebody else wrote, kept as they wrote it.

use std::borrow::Cow;

use bytestring::ByteString;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde::ser::Serializer;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::cursor::Cursor;
use super::write::quoted;

/// One JSON value as its text: a shared document and the range in which the value stands.
///
/// Cloning counts a reference. Two values that stood beside each other in one document can be
/// written as one slice of it ([`super::splice`]).
#[derive(Clone)]
pub struct Raw {
    document: ByteString,
    start: usize,
    end: usize,
}

/// What a JSON value is, told by its first byte.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Kind {
    /// `[...]`
    Array,
    /// `true` or `false`
    Bool,
    /// `null`
    Null,
    /// A number of any spelling.
    Number,
    /// `{...}`
    Object,
    /// `"..."`
    String,
}

impl Kind {
    /// The name for people, with its article.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Array => "an array",
            Kind::Bool => "a boolean",
            Kind::Null => "null",
            Kind::Number => "a number",
            Kind::Object => "an object",
            Kind::String => "a string",
        }
    }

    /// The kind of the JSON value `text`.
    pub(super) fn of(text: &str) -> Kind {
        let first = text.as_bytes().first();
        first
            .and_then(|byte| Kind::begun_by(*byte))
            .unwrap_or(Kind::Null)
    }

    /// The kind of value that begins with `byte`.
    pub(super) fn begun_by(byte: u8) -> Option<Kind> {
        Some(match byte {
            b'[' => Kind::Array,
            b't' | b'f' => Kind::Bool,
            b'{' => Kind::Object,
            b'"' => Kind::String,
            b'n' => Kind::Null,
            b'-' | b'0'..=b'9' => Kind::Number,
            _ => return None,
        })
    }
}

impl Raw {
    /// A value from text that this program wrote and knows to be JSON.
    pub(crate) fn written(text: impl Into<ByteString>) -> Raw {
        let document = text.into();
        let end = document.len();
        Raw {
            document,
            start: 0,
            end,
        }
    }

    /// A value that is known when the program is compiled.
    pub(crate) fn literal(text: &'static str) -> Raw {
        Raw::written(ByteString::from_static(text))
    }

    /// A JSON string that says `text`.
    pub fn string(text: &str) -> Raw {
        Raw::written(quoted(text))
    }

    /// A value of text that must be checked first.
    pub fn parse(text: &str) -> Result<Raw, serde_json::Error> {
        let value: &RawValue = serde_json::from_str(text)?;
        Ok(Raw::written(value.get().to_owned()))
    }

    /// The place of `value` in the document it was parsed from; a copy if it stands elsewhere.
    pub fn of(document: &ByteString, value: &RawValue) -> Raw {
        Raw::within(document, value.get())
    }

    /// The JSON value `text`, a slice of `document`; a copy if it is none.
    pub(super) fn within(document: &ByteString, text: &str) -> Raw {
        match start(document, text) {
            Some(start) => Raw {
                document: document.clone(),
                start,
                end: start + text.len(),
            },
            None => Raw::written(text.to_owned()),
        }
    }

    /// The text of the value.
    pub fn get(&self) -> &str {
        self.document.get(self.start..self.end).unwrap_or("null")
    }

    /// What the value is.
    pub fn kind(&self) -> Kind {
        Kind::of(self.get())
    }

    /// Whether the value is `null`.
    pub fn is_null(&self) -> bool {
        self.kind() == Kind::Null
    }

    /// The text of a JSON string still in its escaped form, without the quotes. Two such bodies
    /// put behind each other are the body of the joined text. Empty for other kinds.
    pub fn body(&self) -> &str {
        body_of(self.get()).unwrap_or("")
    }

    /// The decoded text of a JSON string, in place where it holds no escapes. `None` for other
    /// kinds and for escapes that are no text (a lone surrogate).
    pub fn text(&self) -> Option<Cow<'_, str>> {
        decode(self.get())
    }

    /// As [`Raw::text`], sharing the document.
    pub fn shared_text(&self) -> Option<ByteString> {
        Some(match self.text()? {
            Cow::Borrowed(text) => self.document.slice_ref(text),
            Cow::Owned(text) => ByteString::from(text),
        })
    }

    /// The document and the range, for a writer that joins neighbours.
    pub(super) fn parts(&self) -> (&ByteString, usize, usize) {
        (&self.document, self.start, self.end)
    }
}

/// A key as a slice of its document, or else as a copy.
pub(super) fn shared(document: &ByteString, key: &str) -> ByteString {
    match start(document, key) {
        Some(_) => document.slice_ref(key),
        None => ByteString::from(key),
    }
}

/// Where `text` begins in `document`, if it is a slice of it.
fn start(document: &ByteString, text: &str) -> Option<usize> {
    let start = (text.as_ptr() as usize).wrapping_sub(document.as_ptr() as usize);
    let found = document.get(start..start.wrapping_add(text.len()))?;
    std::ptr::eq(found.as_ptr(), text.as_ptr()).then_some(start)
}

/// Decodes the JSON string `text`, quotes included.
fn decode(text: &str) -> Option<Cow<'_, str>> {
    let body = body_of(text)?;
    if memchr::memchr(b'\\', body.as_bytes()).is_none() {
        return Some(Cow::Borrowed(body));
    }
    serde_json::from_str(text).ok().map(Cow::Owned)
}

/// Whether `text` is the JSON string of `word`, in whatever spelling.
pub fn says(text: &str, word: &str) -> bool {
    decode(text).is_some_and(|said| said == word)
}

fn body_of(text: &str) -> Option<&str> {
    text.strip_prefix('"')?.strip_suffix('"')
}

/// Whether `text` is one JSON object and nothing else.
pub fn is_object(text: &str) -> bool {
    let mut cursor = Cursor::new(text);
    cursor.kind() == Ok(Kind::Object) && cursor.value().is_ok() && cursor.end().is_ok()
}

/// The members of a JSON object in the order in which they stand, keys decoded.
pub struct Members<'a>(pub Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'a> Members<'a> {
    /// Reads the members of `text`; an error if it is no JSON object.
    pub fn parse(text: &'a str) -> Result<Members<'a>, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// The members of a text that was an object when it was read first; none of another.
    pub fn of(text: &'a str) -> Vec<(Cow<'a, str>, &'a RawValue)> {
        Members::parse(text).map_or_else(|_| Vec::new(), |members| members.0)
    }

    /// The last member of that name.
    pub fn get(&self, key: &str) -> Option<&'a RawValue> {
        self.0
            .iter()
            .rev()
            .find(|(name, _)| name == key)
            .map(|(_, value)| *value)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Walk;
        impl<'de> Visitor<'de> for Walk {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::with_capacity(8);
                while let Some(Key(key)) = map.next_key()? {
                    members.push((key, map.next_value()?));
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Walk)
    }
}

/// A key that borrows its text where it holds no escapes.
pub(super) struct Key<'a>(pub(super) Cow<'a, str>);

impl<'de> Deserialize<'de> for Key<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl<'de> Visitor<'de> for Text {
            type Value = Key<'de>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a string")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Key(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Key(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(Text)
    }
}

impl std::fmt::Debug for Raw {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.get())
    }
}

impl PartialEq for Raw {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl Eq for Raw {}

impl Serialize for Raw {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let value: &RawValue =
            serde_json::from_str(self.get()).map_err(serde::ser::Error::custom)?;
        value.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Box::<RawValue>::deserialize(deserializer)?;
        Ok(Raw::written(String::from(Box::<str>::from(value))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_a_slice_of_its_document() {
        let document = ByteString::from_static(r#"{"a": [1.0, 1e-7], "b":"x\ny"}"#);
        let members = Members::parse(&document).unwrap();
        let a = Raw::of(&document, members.get("a").unwrap());
        assert_eq!(a.get(), "[1.0, 1e-7]");
        assert_eq!(a.kind(), Kind::Array);
        let b = Raw::of(&document, members.get("b").unwrap());
        assert_eq!(b.body(), "x\\ny");
        assert_eq!(b.text().unwrap(), "x\ny");
    }

    #[test]
    fn a_value_of_another_document_is_copied() {
        let other = String::from("\"elsewhere\"");
        let value: &RawValue = serde_json::from_str(&other).unwrap();
        assert_eq!(Raw::of(&ByteString::from_static("{}"), value).get(), other);
    }

    #[test]
    fn deep_nesting_is_no_recursion() {
        let deep = format!("{{\"a\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
        assert!(is_object(&deep));
        assert!(Members::parse(&deep).is_ok());
    }
}
