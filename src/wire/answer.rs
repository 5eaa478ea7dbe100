//! What an upstream sends: a whole answer, a chunk of a stream, or an error in any envelope.

mod shape;

use std::borrow::Cow;

use bytes::Bytes;
use bytestring::ByteString;
use serde::Deserialize;
use serde::de::{Deserializer, SeqAccess, Visitor};
use serde_json::value::RawValue;

use shape::Shape;

use super::delta::{Claim, Delta};
use super::raw::{Kind, Raw, says};
use super::usage::Usage;

use super::failure::in_place_of_answer;
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
    /// A chunk with a message in it, as some servers end a stream whose text they have sent in
    /// deltas: the whole answer once more.
    Message {
        /// The delta beside it, which comes first.
        beside: Option<Delta>,
        /// The message, and what the chunk says besides.
        message: Box<Delta>,
    },
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
    if !text.starts_with('{')
        && let Some(part) = aside(text)
    {
        return Ok(part);
    }
    if text.starts_with('[') {
        return in_list(text);
    }
    let top: Top<'_> = serde_json::from_str(text)?;
    if let Some(failure) = top.failure(text) {
        return Ok(Part::Failed(failure));
    }
    if top.is_empty() {
        return Ok(Part::Nothing);
    }
    top.chunk(&document)
}

/// Reads the data of an event that is called an error.
pub fn error_event(data: &[u8]) -> Failure {
    let text = String::from_utf8_lossy(data);
    failure(&text).unwrap_or_else(|| Failure::of_text(text.trim()))
}

/// What servers put into data to keep a stream alive, in place of a comment.
const PINGS: [&str; 4] = ["heartbeat", "keep-alive", "keepalive", "ping"];

/// Data of a stream that is no JSON: its end, or nothing.
fn aside(text: &str) -> Option<Part> {
    let word = text.trim_matches('"').trim();
    if word.eq_ignore_ascii_case("[DONE]") {
        return Some(Part::Done);
    }
    let nothing = word.is_empty() || word.eq_ignore_ascii_case("null") || text.starts_with(':');
    let word = word.trim_matches(['[', ']']);
    let is = |known: &str| word.eq_ignore_ascii_case(known);
    (nothing || PINGS.into_iter().any(is)).then_some(Part::Nothing)
}

/// A list is no answer: some servers put their errors in one.
fn in_list(text: &str) -> Result<Part, Malformed> {
    failure(text).map(Part::Failed).ok_or(Malformed::NoChoices)
}

/// Reads a whole answer.
pub fn whole(body: Bytes) -> Result<Part, Malformed> {
    let document = ByteString::try_from(body).map_err(|_| Malformed::NotText)?;
    let text = document.trim_start_matches('\u{feff}').trim();
    if text.starts_with('[') {
        return in_list(text);
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
    /// Where some families report how a request went, beside choices too.
    #[serde(borrow, default)]
    base_resp: Option<&'a RawValue>,
    #[serde(borrow, default)]
    code: Option<&'a RawValue>,
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
        let names_one =
            |error: &RawValue| !matches!(error.get(), "\"\"" | "{}" | "[]" | "false" | "0");
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
        // What tells of the answer is read once only, unless it may tell of an error after all.
        let alone = self.choices.0.is_none() && self.usage.is_none();
        if alone || self.base_resp.is_some() || self.code.is_some() {
            in_place_of_answer(text)
        } else {
            None
        }
    }

    /// Whether nothing in it is passed on or counted.
    fn is_empty(&self) -> bool {
        self.choices.0.is_none()
            && self.usage.is_none()
            && self.system_fingerprint.is_none()
            && self.service_tier.is_none()
    }

    fn chunk(mut self, document: &ByteString) -> Result<Part, Malformed> {
        let choice = self.choices.0.as_mut();
        let Some(choice) = choice.filter(|choice| choice.message.is_some() && choice.is_first())
        else {
            return Ok(Part::Delta(self.delta(document, false)?));
        };
        let mut beside = Delta::default();
        if let Some(shape) = choice.delta.take() {
            shape.add_to(&mut beside, document, false)?;
        }
        let mut message = self.delta(document, true)?;
        if beside.text.is_some() {
            beside.logprobs = message.logprobs.take();
        }
        Ok(Part::Message {
            beside: beside.says_something().then_some(beside),
            message: Box::new(message),
        })
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
        if let Some(shape) = choice.message.or(choice.delta) {
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
    /// Whether its index is 0, in whatever spelling, or absent, which empty text is too.
    fn is_first(&self) -> bool {
        self.index.is_none_or(|index| {
            let index = index.get().trim_matches('"').trim();
            index == "0" || index.is_empty() || index.parse() == Ok(0.0)
        })
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
