//! What pairing does to single messages.

use bytestring::ByteString;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::wire::message::CallHead;
use crate::wire::raw::Members;
use crate::wire::write::{ObjectWriter, hex_into, quoted, with_member};
use crate::wire::{Message, Raw, Role};

/// Longest id that upstreams take, in characters.
const ID_CHARS: usize = 40;

/// Whether two tool messages say the same, in whatever spelling.
pub(super) fn same_result(one: &Message, other: &Message) -> bool {
    let (one, other) = (one.field("content"), other.field("content"));
    one == other || value(one.as_ref()).is_some_and(|one| value(other.as_ref()) == Some(one))
}

fn value(content: Option<&Raw>) -> Option<Value> {
    serde_json::from_str(content?.get()).ok()
}

/// `id` in a form that every upstream takes: a longer one is replaced by one that follows from
/// it, so that it is the same in every request.
pub(super) fn short_id(id: &ByteString) -> ByteString {
    if id.chars().count() <= ID_CHARS {
        return id.clone();
    }
    derived_id(id)
}

/// An id that follows from another: the same in every request.
pub(super) fn derived_id(id: &ByteString) -> ByteString {
    let digest = Sha256::digest(id.as_bytes());
    let mut short = String::from("call_");
    hex_into(&mut short, &digest[..16]);
    ByteString::from(short)
}

/// The message with short ids.
pub(super) fn with_short_ids(message: Message) -> Message {
    with_ids(message, short_id)
}

/// The message with other ids: of its calls, or of the one that it answers.
pub(super) fn with_ids(message: Message, other: impl Fn(&ByteString) -> ByteString) -> Message {
    let with_calls = if message.calls.iter().any(|call| other(&call.id) != call.id) {
        with_call_ids(message, &other)
    } else {
        message
    };
    let answers = with_calls.answers.as_ref().map(&other);
    match answers {
        Some(id) if with_calls.answers.as_ref() != Some(&id) => Message {
            raw: Raw::written(with_calls.text_with("tool_call_id", &quoted(&id))),
            answers: Some(id),
            ..with_calls
        },
        _ => with_calls,
    }
}

fn with_call_ids(message: Message, other: impl Fn(&ByteString) -> ByteString) -> Message {
    let calls: Vec<CallHead> = message
        .calls
        .iter()
        .map(|call| CallHead {
            id: other(&call.id),
            name: call.name.clone(),
        })
        .collect();
    let list = message.field("tool_calls");
    let elements = elements(list.as_ref().map_or("[]", Raw::get))
        .into_iter()
        .zip(&calls)
        .map(|(element, call)| with_member(&element, "id", &quoted(&call.id)));
    let list = format!("[{}]", elements.collect::<Vec<_>>().join(","));
    Message {
        raw: Raw::written(message.text_with("tool_calls", &list)),
        calls,
        ..message
    }
}

/// Consecutive assistant messages as one: their texts, their reasoning and their calls behind
/// each other, of other members the first.
pub(super) fn merged(run: Vec<Message>) -> Message {
    let mut texts: Vec<String> = Vec::new();
    let mut calls: Vec<String> = Vec::new();
    let mut fields: Vec<(String, String)> = Vec::new();
    for message in &run {
        for (key, value) in members(message) {
            match key.as_str() {
                "content" if is_text(&value) => texts.push(body(&value).to_owned()),
                "content" => {}
                "tool_calls" => calls.extend(elements(&value)),
                _ => add(&mut fields, key, value),
            }
        }
    }
    let mut out = String::new();
    let mut object = ObjectWriter::begin(&mut out);
    for (key, value) in &fields {
        object.member(key, value);
    }
    if texts.is_empty() {
        object.member("content", "null");
    } else {
        object.member("content", &format!("\"{}\"", texts.join("\\n\\n")));
    }
    object.member("tool_calls", &format!("[{}]", calls.join(",")));
    object.end();
    let calls = run.into_iter().flat_map(|message| message.calls).collect();
    Message {
        role: Role::Assistant,
        raw: Raw::written(out),
        calls,
        answers: None,
    }
}

/// Whether a content says anything that can be joined. Parts are not: a run with parts in it is
/// rare enough that its first text has to do.
fn is_text(content: &str) -> bool {
    content.starts_with('"') && content != "\"\""
}

fn body(text: &str) -> &str {
    text.get(1..text.len() - 1).unwrap_or("")
}

fn add(fields: &mut Vec<(String, String)>, key: String, value: String) {
    match fields.iter_mut().find(|(known, _)| *known == key) {
        None => fields.push((key, value)),
        Some((_, old))
            if key.starts_with("reasoning") && old.starts_with('"') && value.starts_with('"') =>
        {
            *old = format!("\"{}{}\"", body(old), body(&value));
        }
        Some(_) => {}
    }
}

/// The elements of an array as text.
fn elements(list: &str) -> Vec<String> {
    let elements: Vec<&serde_json::value::RawValue> =
        serde_json::from_str(list).unwrap_or_default();
    elements
        .iter()
        .map(|element| element.get().to_owned())
        .collect()
}

fn members(message: &Message) -> Vec<(String, String)> {
    let members = Members::of(message.raw.get());
    members
        .into_iter()
        .map(|(key, value)| (key.into_owned(), value.get().to_owned()))
        .collect()
}
