//! The members of a `delta` or a `message`, as they stand on the wire.

use std::borrow::Cow;

use bytestring::ByteString;
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::{Malformed, is_text};
use crate::wire::delta::{CallDelta, Delta};
use crate::wire::raw::{Key, Kind, Members, Raw, shared};

/// A `delta` or a `message`.
#[derive(Default)]
pub(super) struct Shape<'a> {
    content: Option<&'a RawValue>,
    calls: Option<Vec<CallShape<'a>>>,
    /// The form before `tool_calls`: one function, without an id.
    function: Option<FunctionShape<'a>>,
    rest: Vec<(Cow<'a, str>, &'a RawValue)>,
}

impl Shape<'_> {
    /// Adds what it says to a delta. The calls of a whole message are one each.
    pub(super) fn add_to(
        self,
        delta: &mut Delta,
        document: &ByteString,
        whole: bool,
    ) -> Result<(), Malformed> {
        if let Some(content) = self.content {
            delta.text = text(document, content)?;
        }
        for (nth, call) in self.calls.into_iter().flatten().enumerate() {
            let mut call = call.delta(document);
            if whole {
                // The elements of a whole answer are one call each, whatever they say.
                call.index = Some(nth as u64);
            }
            delta.calls.push(call);
        }
        if let Some(function) = self.function {
            let call = CallShape {
                function: Some(function),
                ..CallShape::default()
            };
            delta.calls.push(CallDelta {
                index: Some(0),
                ..call.delta(document)
            });
        }
        let fields = self
            .rest
            .into_iter()
            .map(|(key, value)| (shared(document, &key), Raw::of(document, value)))
            .filter(|(key, value)| fits(key, value.kind()));
        delta.fields.extend(fields);
        Ok(())
    }
}

/// Whether a member of a message may be passed on. Typed clients fail at one that the reference
/// knows and that is of another type; what it does not know they pass over.
fn fits(key: &str, kind: Kind) -> bool {
    match key {
        "refusal" => kind == Kind::String,
        "annotations" => kind == Kind::Array,
        "audio" => kind == Kind::Object,
        _ => true,
    }
}

/// Content as one string. Parts become their text; a server that sends parts sends text in them.
fn text(document: &ByteString, content: &RawValue) -> Result<Option<Raw>, Malformed> {
    match content.get().as_bytes().first() {
        Some(b'"') => Ok(Some(Raw::of(document, content))),
        Some(b'n') => Ok(None),
        Some(b'[') => {
            let parts: Vec<&RawValue> = serde_json::from_str(content.get())?;
            let mut bodies = String::from("\"");
            for part in parts {
                let members = Members::parse(part.get()).map_err(|_| Malformed::Content)?;
                let text = members.get("text").map(|text| Raw::of(document, text));
                bodies.push_str(
                    text.as_ref()
                        .filter(|text| is_text(text))
                        .map_or("", Raw::body),
                );
            }
            bodies.push('"');
            Ok(Some(Raw::written(bodies)))
        }
        _ => Err(Malformed::Content),
    }
}

/// The form before `tool_calls`; what is no object there says nothing.
fn function(value: Option<&RawValue>) -> Option<FunctionShape<'_>> {
    let text = value?.get();
    let is_object = text.starts_with('{');
    serde_json::from_str(text).ok().filter(|_| is_object)
}

impl<'de: 'a, 'a> Deserialize<'de> for Shape<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Walk;
        impl<'de> Visitor<'de> for Walk {
            type Value = Shape<'de>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a message object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut shape = Shape::default();
                while let Some(Key(key)) = map.next_key()? {
                    match key.as_ref() {
                        "role" => drop(map.next_value::<IgnoredAny>()?),
                        "content" => shape.content = Some(map.next_value()?),
                        "tool_calls" => shape.calls = map.next_value()?,
                        "function_call" => shape.function = function(map.next_value()?),
                        _ => shape.rest.extend(
                            map.next_value::<Option<&RawValue>>()?
                                .map(|value| (key, value)),
                        ),
                    }
                }
                Ok(shape)
            }
        }
        deserializer.deserialize_map(Walk)
    }
}

#[derive(Default)]
struct CallShape<'a> {
    index: Option<&'a RawValue>,
    id: Option<&'a RawValue>,
    function: Option<FunctionShape<'a>>,
    rest: Vec<(Cow<'a, str>, &'a RawValue)>,
}

#[derive(Deserialize)]
struct FunctionShape<'a> {
    #[serde(borrow, default)]
    name: Option<&'a RawValue>,
    #[serde(borrow, default)]
    arguments: Option<&'a RawValue>,
}

impl CallShape<'_> {
    fn delta(self, document: &ByteString) -> CallDelta {
        let text = |value: Option<&RawValue>| {
            let raw = Raw::of(document, value?);
            // Some servers count their ids: a number is as good as its text.
            let text = raw.shared_text().unwrap_or_else(|| raw.get().into());
            (!text.is_empty()).then_some(text)
        };
        let index = self
            .index
            .and_then(|index| index.get().trim_matches('"').parse().ok());
        let function = self.function.unwrap_or(FunctionShape {
            name: None,
            arguments: None,
        });
        CallDelta {
            index,
            id: text(self.id),
            name: text(function.name),
            arguments: function
                .arguments
                .map(|arguments| Raw::of(document, arguments)),
            extra: self
                .rest
                .into_iter()
                .map(|(key, value)| (shared(document, &key), Raw::of(document, value)))
                .collect(),
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for CallShape<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Walk;
        impl<'de> Visitor<'de> for Walk {
            type Value = CallShape<'de>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a tool call object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut call = CallShape::default();
                while let Some(Key(key)) = map.next_key()? {
                    match key.as_ref() {
                        "index" => call.index = map.next_value()?,
                        "id" => call.id = map.next_value()?,
                        "type" => drop(map.next_value::<IgnoredAny>()?),
                        "function" => call.function = map.next_value()?,
                        _ => call.rest.extend(
                            map.next_value::<Option<&RawValue>>()?
                                .map(|value| (key, value)),
                        ),
                    }
                }
                Ok(call)
            }
        }
        deserializer.deserialize_map(Walk)
    }
}
