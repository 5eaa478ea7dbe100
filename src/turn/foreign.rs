//! A message as another upstream than its own is shown it (contract U3): without what binds it to
//! its provider, be it members or ids that carry something.

use bytestring::ByteString;

use super::ids;
use super::pairing;
use crate::wire::raw::Members;
use crate::wire::write::ObjectWriter;
use crate::wire::{Message, Raw};

/// Members of a message that go back to the upstream with it.
const PROVIDER_FIELDS: [&str; 4] = [
    "extra_content",
    "reasoning_content",
    "reasoning",
    "reasoning_details",
];

/// Whether a member binds its message to its provider.
pub(super) fn is_provider_field(key: &str) -> bool {
    PROVIDER_FIELDS.contains(&key)
}

/// Whether a message has members that bind it to its provider.
pub(super) fn binds_to_provider(message: &Message) -> bool {
    Members::parse(message.raw.get())
        .is_ok_and(|members| members.0.iter().any(|(key, _)| is_provider_field(key)))
}

/// The message as an upstream sees it that it is not from.
pub(super) fn unbound(message: &Message) -> Message {
    without_provider_fields(pairing::with_ids(message.clone(), foreign_id))
}

/// The message without the members that bind it or its calls to its provider.
pub(super) fn without_provider_fields(message: Message) -> Message {
    without_fields(message, unbound_calls)
}

/// The message without the members that bind it to its provider; its calls keep theirs.
pub(super) fn without_own_fields(message: Message) -> Message {
    without_fields(message, str::to_owned)
}

fn without_fields(message: Message, calls: impl Fn(&str) -> String) -> Message {
    if !mentions_any(message.raw.get()) {
        return message;
    }
    let mut text = String::with_capacity(message.raw.get().len());
    let mut object = ObjectWriter::begin(&mut text);
    for (key, value) in Members::of(message.raw.get()) {
        if key == "tool_calls" {
            object.member(&key, &calls(value.get()));
        } else if !is_provider_field(&key) {
            object.member(&key, value.get());
        }
    }
    object.end();
    Message {
        raw: Raw::written(text),
        ..message
    }
}

/// An id of another upstream: what it may carry is nobody else's, and not everybody takes every
/// character.
fn foreign_id(id: &ByteString) -> ByteString {
    if ids::is_plain(id) {
        id.clone()
    } else {
        pairing::derived_id(id)
    }
}

/// Whether a text can hold anything that binds it to its provider. Keys can be spelled with
/// escapes.
fn mentions_any(text: &str) -> bool {
    text.contains("reasoning") || text.contains("extra_content") || text.contains("\\u")
}

/// The calls of a message with nothing but what every upstream knows.
fn unbound_calls(list: &str) -> String {
    const KNOWN: [&str; 3] = ["id", "type", "function"];
    let elements: Vec<Members<'_>> = serde_json::from_str(list).unwrap_or_default();
    let mut out = String::from("[");
    for (nth, element) in elements.iter().enumerate() {
        if nth > 0 {
            out.push(',');
        }
        let mut object = ObjectWriter::begin(&mut out);
        for (key, value) in element
            .0
            .iter()
            .filter(|(key, _)| KNOWN.contains(&key.as_ref()))
        {
            object.member(key, value.get());
        }
        object.end();
    }
    out.push(']');
    out
}
