//! Reads an object in one pass: what is wanted of its members, and the place of the whole.
//!
//! The JSON reader tells where a member stands, but not where the object around it does. That
//! follows from its members: a brace stands before the first key and behind the last value. To
//! read the object as a value first and its members from it again would mean to walk through
//! everything twice, and a long conversation is nothing but such objects.

use std::borrow::Cow;

use bytestring::ByteString;
use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::raw::{Key, Kind, Raw, visit_scalars};
use super::write::ObjectWriter;

/// What is wanted of an object.
pub(super) trait Members<'de>: Default {
    /// Takes the member that comes next in `map`; gives its text and where it ends.
    fn member<A: MapAccess<'de>>(
        &mut self,
        document: &'de ByteString,
        key: &str,
        map: &mut A,
    ) -> Result<Value<'de>, A::Error>;
}

/// The text of a member's value, and where it ends in the document.
pub(super) struct Value<'de> {
    text: Text<'de>,
    end: usize,
}

enum Text<'de> {
    Borrowed(&'de str),
    Held(Raw),
}

/// An object that was read, or what stands there instead.
pub(super) enum Object<T> {
    /// An object: its members, its text, and where it ends in the document.
    Found(T, Raw, usize),
    /// Another kind of value.
    Other(Kind),
}

/// Reads one object of `document`.
pub(super) struct ObjectSeed<'de, T> {
    document: &'de ByteString,
    members: T,
}

impl<'de, T: Default> ObjectSeed<'de, T> {
    pub(super) fn new(document: &'de ByteString) -> Self {
        ObjectSeed {
            document,
            members: T::default(),
        }
    }
}

impl<'de> Value<'de> {
    /// A member that is kept as it stands.
    pub(super) fn raw(document: &ByteString, value: &'de RawValue) -> Value<'de> {
        let text = value.get();
        let end = offset(document, text).saturating_add(text.len());
        Value {
            text: Text::Borrowed(text),
            end,
        }
    }

    /// A member that was read as an object.
    pub(super) fn object<T>(object: &Object<T>) -> Value<'de> {
        match object {
            Object::Found(_, raw, end) => Value {
                text: Text::Held(raw.clone()),
                end: *end,
            },
            Object::Other(_) => Value::unplaced(),
        }
    }

    /// A member of which nobody asks where it stands.
    pub(super) fn unplaced() -> Value<'de> {
        Value {
            text: Text::Borrowed("null"),
            end: usize::MAX,
        }
    }

    fn text(&self) -> &str {
        match &self.text {
            Text::Borrowed(text) => text,
            Text::Held(raw) => raw.get(),
        }
    }
}

impl<'de, T: Members<'de>> DeserializeSeed<'de> for ObjectSeed<'de, T> {
    type Value = Object<T>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, T: Members<'de>> Visitor<'de> for ObjectSeed<'de, T> {
    type Value = Object<T>;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut place = Place::default();
        while let Some(Key(key)) = map.next_key()? {
            let before = match &key {
                Cow::Borrowed(key) => place.before(self.document, key),
                Cow::Owned(_) => None,
            };
            let value = self.members.member(self.document, &key, &mut map)?;
            place.add(before, &key, &value);
        }
        let (raw, end) = place.close(self.document);
        Ok(Object::Found(self.members, raw, end))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        while seq.next_element::<serde::de::IgnoredAny>()?.is_some() {}
        Ok(Object::Other(Kind::Array))
    }

    visit_scalars!(Object::Other);
}

/// Where the object stands, as far as it is known.
#[derive(Default)]
struct Place {
    start: Option<usize>,
    end: Option<usize>,
    /// The object written anew: its first key is spelled with escapes, so that its text stands
    /// in no document.
    rewritten: Option<String>,
}

impl Place {
    /// The place of the brace before a first key.
    fn before(&self, document: &ByteString, key: &str) -> Option<usize> {
        if self.end.is_some() {
            return self.start;
        }
        let quote = offset(document, key).checked_sub(1)?;
        let before = document.get(..quote)?.trim_end_matches(WHITE);
        before.ends_with('{').then(|| before.len() - 1)
    }

    fn add(&mut self, before: Option<usize>, key: &str, value: &Value<'_>) {
        let first = self.end.is_none();
        if first {
            self.start = before;
        }
        self.end = Some(value.end);
        if self.start.is_some() {
            return;
        }
        let text = self.rewritten.get_or_insert_default();
        if first {
            let mut object = ObjectWriter::begin(text);
            object.member(key, value.text());
        } else {
            let mut member = String::new();
            ObjectWriter::begin(&mut member).member(key, value.text());
            text.push(',');
            text.push_str(&member[1..]);
        }
    }

    fn close(self, document: &ByteString) -> (Raw, usize) {
        let end = self.end.and_then(|end| {
            let rest = document.get(end..)?;
            let white = rest.len() - rest.trim_start_matches(WHITE).len();
            Some(end + white + 1)
        });
        let raw = match (self.start, end, self.rewritten) {
            (Some(start), Some(end), _) => Raw::slice(document, start, end),
            (_, _, Some(mut text)) => {
                text.push('}');
                Raw::written(text)
            }
            _ => Raw::literal("{}"),
        };
        (raw, end.unwrap_or(usize::MAX))
    }
}

const WHITE: [char; 4] = [' ', '\t', '\n', '\r'];

/// A key as a slice of its document, or else as a copy.
pub(super) fn shared(document: &ByteString, key: &str) -> ByteString {
    let start = offset(document, key);
    match document.get(start..start.wrapping_add(key.len())) {
        Some(found) if std::ptr::eq(found.as_ptr(), key.as_ptr()) => document.slice_ref(found),
        _ => ByteString::from(key),
    }
}

/// Where `text`, a slice of `document`, begins in it.
fn offset(document: &ByteString, text: &str) -> usize {
    (text.as_ptr() as usize).wrapping_sub(document.as_ptr() as usize)
}

/// Reads an array of objects, or says what stands there instead.
pub(super) enum Objects<T> {
    /// The elements.
    Array(Vec<Object<T>>),
    /// Another kind of value.
    Other(Kind),
}

/// Reads one array of objects of `document`.
pub(super) struct ObjectsSeed<'de>(pub(super) &'de ByteString);

/// Makes the visitor generic over what is wanted of the objects.
struct ObjectsVisitor<'de, T>(&'de ByteString, std::marker::PhantomData<T>);

impl<'de> ObjectsSeed<'de> {
    /// The next value of `map`.
    pub(super) fn next<A: MapAccess<'de>, T: Members<'de>>(
        self,
        map: &mut A,
    ) -> Result<Objects<T>, A::Error> {
        map.next_value_seed(ObjectsVisitor(self.0, std::marker::PhantomData))
    }
}

impl<'de, T: Members<'de>> DeserializeSeed<'de> for ObjectsVisitor<'de, T> {
    type Value = Objects<T>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, T: Members<'de>> Visitor<'de> for ObjectsVisitor<'de, T> {
    type Value = Objects<T>;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut elements = Vec::with_capacity(16);
        while let Some(element) = seq.next_element_seed(ObjectSeed::new(self.0))? {
            elements.push(element);
        }
        Ok(Objects::Array(elements))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        while map
            .next_entry::<serde::de::IgnoredAny, serde::de::IgnoredAny>()?
            .is_some()
        {}
        Ok(Objects::Other(Kind::Object))
    }

    visit_scalars!(Objects::Other);
}
