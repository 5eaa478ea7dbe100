//! What an upstream sends: a whole answer, a chunk of a stream, or an error in any envelope.

use std::borrow::Cow;

use bytes::Bytes;
use bytestring::ByteString;
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::delta::{CallDelta, Claim, Delta};
use super::raw::{Key, Kind, Members, Raw, says, shared};
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
    /// Content that is no text.
    #[error("content that is no text")]
    Content,
    /// Not JSON, or of another shape than an answer.
    #[error("not an answer of chat completions (line {} column {})", .0.line(), .0.column())]
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
    Ok(Part::Delta(top.delta(&document, false)?))
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
    Ok(Part::Delta(top.delta(&document, true)?))
}

#[derive(Deserialize)]
struct Top<'a> {
    #[serde(borrow, default)]
    choices: First<'a>,
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
    #[serde(borrow, default)]
    message: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Choice<'a> {
    #[serde(borrow, default)]
    index: Option<&'a RawValue>,
    #[serde(borrow, default)]
    delta: Option<Shape<'a>>,
    #[serde(borrow, default)]
    message: Option<Shape<'a>>,
    #[serde(borrow, default)]
    finish_reason: Option<&'a RawValue>,
    #[serde(borrow, default)]
    logprobs: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

impl Top<'_> {
    /// The error that stands where an answer should, whatever envelope it is in.
    fn failure(&self, text: &str) -> Option<Failure> {
        let names_one = |error: &RawValue| !matches!(error.get(), "\"\"" | "{}" | "false");
        if self.error.is_some_and(names_one)
            || self
                .object
                .is_some_and(|object| says(object.get(), "error"))
        {
            let unnamed = || Failure {
                message: "no message".to_owned(),
                ..Failure::default()
            };
            return Some(failure(text).unwrap_or_else(unnamed));
        }
        // In the choice, as gateways pass on that the provider behind them failed.
        let of_choice = self.choices.0.as_ref().and_then(|choice| choice.error);
        if let Some(error) = of_choice.filter(|error| names_one(error)) {
            return failure(&format!("{{\"error\":{}}}", error.get()));
        }
        // Data with a message of its own and nothing of an answer: some servers fail that way.
        let empty = self.choices.0.is_none() && self.usage.is_none() && self.message.is_some();
        if empty { failure(text) } else { None }
    }

    fn delta(self, document: &ByteString, whole: bool) -> Result<Delta, Malformed> {
        let raw = |value: &RawValue| Raw::of(document, value);
        let mut delta = Delta {
            usage: self.usage.map(raw).and_then(Usage::new),
            system_fingerprint: self.system_fingerprint.map(raw).filter(is_text),
            service_tier: self.service_tier.map(raw).filter(is_text),
            ..Delta::default()
        };
        // Only one choice is ever asked for.
        let Some(choice) = self.choices.0.filter(|choice| whole || choice.is_first()) else {
            return Ok(delta);
        };
        let finish = choice.finish_reason.map(raw);
        delta.finish =
            finish.and_then(|finish| Claim::parse(&finish.text().unwrap_or(Cow::Borrowed("stop"))));
        let logprobs = choice.logprobs.map(raw);
        delta.logprobs = logprobs.filter(|value| value.kind() == Kind::Object);
        if let Some(shape) = choice.delta.or(choice.message) {
            shape.add_to(&mut delta, document, whole)?;
        }
        Ok(delta)
    }
}

/// The reference knows text only, and typed clients fail at anything else.
fn is_text(value: &Raw) -> bool {
    value.kind() == Kind::String
}

impl Choice<'_> {
    fn is_first(&self) -> bool {
        self.index.is_none_or(|index| index.get() == "0")
    }
}

/// The choice with index 0, or else the first; nothing for null and `[]`.
#[derive(Default)]
struct First<'a>(Option<Choice<'a>>);

impl<'de: 'a, 'a> Deserialize<'de> for First<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Walk;
        impl<'de> Visitor<'de> for Walk {
            type Value = First<'de>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an array")
            }

            fn visit_unit<E>(self) -> Result<Self::Value, E> {
                Ok(First(None))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
                let mut found: Option<Choice<'de>> = seq.next_element()?;
                while let Some(next) = seq.next_element::<Choice<'de>>()? {
                    if next.is_first() && !found.as_ref().is_some_and(Choice::is_first) {
                        found = Some(next);
                    }
                }
                Ok(First(found))
            }
        }
        deserializer.deserialize_any(Walk)
    }
}

/// A `delta` or a `message`.
#[derive(Default)]
struct Shape<'a> {
    content: Option<&'a RawValue>,
    calls: Option<Vec<CallShape<'a>>>,
    /// The form before `tool_calls`: one function, without an id.
    function: Option<FunctionShape<'a>>,
    rest: Vec<(Cow<'a, str>, &'a RawValue)>,
}

impl Shape<'_> {
    fn add_to(
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
