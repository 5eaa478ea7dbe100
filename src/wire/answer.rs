//! What an upstream sends: a whole answer, a chunk of a stream, or an error in any envelope.

use std::borrow::Cow;
use std::marker::PhantomData;

use bytes::Bytes;
use bytestring::ByteString;
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::delta::{CallDelta, Claim, Delta};
use super::raw::{Key, Raw};
use super::usage::Usage;

pub use super::failure::{Failure, failure};

/// One message of an upstream.
#[derive(Debug)]
pub enum Part {
    /// It says something of the answer.
    Delta(Delta),
    /// The stream is at its end: `[DONE]`.
    Done,
    /// The upstream reports an error.
    Failed(Failure),
    /// It says nothing that matters (an event without data, a ping).
    Nothing,
}

/// Bytes that are no answer.
#[derive(Debug, thiserror::Error)]
pub enum Malformed {
    /// Not JSON, or of another shape than an answer.
    #[error("not an answer: {0}")]
    Json(#[from] serde_json::Error),
    /// JSON without choices.
    #[error("an answer without choices")]
    NoChoices,
    /// Not text.
    #[error("not UTF-8")]
    NotText,
}

/// Reads the data of one event of a stream.
pub fn event(data: Bytes) -> Result<Part, Malformed> {
    let document = ByteString::try_from(data).map_err(|_| Malformed::NotText)?;
    let text = document.trim();
    if text == "[DONE]" {
        return Ok(Part::Done);
    }
    if text.is_empty() {
        return Ok(Part::Nothing);
    }
    let top: Top<'_> = serde_json::from_str(text)?;
    if let Some(failure) = top.failure(text) {
        return Ok(Part::Failed(failure));
    }
    Ok(Part::Delta(top.delta(&document, false)))
}

/// Reads a whole answer.
pub fn whole(body: Bytes) -> Result<Part, Malformed> {
    let document = ByteString::try_from(body).map_err(|_| Malformed::NotText)?;
    let text = document.trim_start_matches('\u{feff}').trim();
    if text.starts_with('[') {
        return failure(text).map(Part::Failed).ok_or(Malformed::NoChoices);
    }
    let top: Top<'_> = serde_json::from_str(text)?;
    if let Some(failure) = top.failure(text) {
        return Ok(Part::Failed(failure));
    }
    let said = |choice: &Choice<'_>| choice.message.is_some() || choice.delta.is_some();
    if !top.choices.0.as_ref().is_some_and(said) {
        return Err(Malformed::NoChoices);
    }
    Ok(Part::Delta(top.delta(&document, true)))
}

#[derive(Deserialize)]
struct Top<'a> {
    #[serde(borrow, default)]
    choices: First<Choice<'a>>,
    #[serde(borrow, default)]
    usage: Option<&'a RawValue>,
    #[serde(borrow, default)]
    system_fingerprint: Option<&'a RawValue>,
    #[serde(borrow, default)]
    service_tier: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
    #[serde(borrow, default)]
    object: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Choice<'a> {
    #[serde(borrow, default)]
    delta: Option<Shape<'a>>,
    #[serde(borrow, default)]
    message: Option<Shape<'a>>,
    #[serde(borrow, default)]
    finish_reason: Option<&'a RawValue>,
    #[serde(borrow, default)]
    logprobs: Option<&'a RawValue>,
}

impl Top<'_> {
    /// The error that stands where an answer should, whatever envelope it is in.
    fn failure(&self, text: &str) -> Option<Failure> {
        let error = self
            .error
            .is_some_and(|error| !matches!(error.get(), "\"\"" | "{}" | "false"));
        let reported = error
            || self
                .object
                .is_some_and(|object| object.get() == "\"error\"");
        let unnamed = || Failure {
            message: "the upstream reported an error".to_owned(),
            ..Failure::default()
        };
        reported.then(|| failure(text).unwrap_or_else(unnamed))
    }

    fn delta(self, document: &ByteString, whole: bool) -> Delta {
        let raw = |value: &RawValue| Raw::of(document, value);
        let mut delta = Delta {
            usage: self.usage.map(raw).and_then(Usage::new),
            system_fingerprint: self.system_fingerprint.map(raw),
            service_tier: self.service_tier.map(raw),
            ..Delta::default()
        };
        let Some(choice) = self.choices.0 else {
            return delta;
        };
        let finish = choice.finish_reason.map(raw);
        delta.finish =
            finish.and_then(|finish| Claim::parse(&finish.text().unwrap_or(Cow::Borrowed("stop"))));
        delta.logprobs = choice.logprobs.map(raw);
        if let Some(shape) = choice.delta.or(choice.message) {
            shape.add_to(&mut delta, document, whole);
        }
        delta
    }
}

/// The first element of an array; nothing for null and `[]`.
struct First<T>(Option<T>);

impl<T> Default for First<T> {
    fn default() -> Self {
        First(None)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for First<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Walk<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Walk<T> {
            type Value = First<T>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an array")
            }

            fn visit_unit<E>(self) -> Result<Self::Value, E> {
                Ok(First(None))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
                let first = seq.next_element()?;
                while seq.next_element::<IgnoredAny>()?.is_some() {}
                Ok(First(first))
            }
        }
        deserializer.deserialize_any(Walk(PhantomData))
    }
}

/// A `delta` or a `message`.
#[derive(Default)]
struct Shape<'a> {
    content: Option<&'a RawValue>,
    calls: Option<Vec<CallShape<'a>>>,
    rest: Vec<(Cow<'a, str>, &'a RawValue)>,
}

impl Shape<'_> {
    fn add_to(self, delta: &mut Delta, document: &ByteString, whole: bool) {
        delta.text = self.content.and_then(|content| text(document, content));
        for (nth, call) in self.calls.into_iter().flatten().enumerate() {
            let mut call = call.delta(document);
            if whole {
                // The elements of a whole answer are one call each, whatever they say.
                call.index = Some(nth as u64);
            }
            delta.calls.push(call);
        }
        let fields = self
            .rest
            .into_iter()
            .map(|(key, value)| (shared(document, key), Raw::of(document, value)));
        delta.fields.extend(fields);
    }
}

/// Content as one string. Parts become their text; a server that sends parts sends text in them.
fn text(document: &ByteString, content: &RawValue) -> Option<Raw> {
    #[derive(Deserialize)]
    struct TextPart<'a> {
        #[serde(borrow, default)]
        text: Option<&'a RawValue>,
    }
    match content.get().as_bytes().first() {
        Some(b'"') => Some(Raw::of(document, content)),
        Some(b'[') => {
            let parts: Vec<TextPart<'_>> = serde_json::from_str(content.get()).ok()?;
            let raws = parts
                .into_iter()
                .filter_map(|part| part.text)
                .map(|text| Raw::of(document, text));
            let bodies: String = raws.map(|raw| raw.body().to_owned()).collect();
            Some(Raw::written(format!("\"{bodies}\"")))
        }
        _ => None,
    }
}

fn shared(document: &ByteString, key: Cow<'_, str>) -> ByteString {
    match key {
        Cow::Borrowed(key) => document.slice_ref(key),
        Cow::Owned(key) => ByteString::from(key),
    }
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
                .map(|(key, value)| (shared(document, key), Raw::of(document, value)))
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
