//! What pairing does to single messages.

use bytestring::ByteString;
use sha2::{Digest, Sha256};

use crate::wire::message::CallHead;
use crate::wire::raw::Members;
use crate::wire::write::{ObjectWriter, quoted};
use crate::wire::{Message, Raw};

/// Longest id that upstreams take, in characters.
const ID_CHARS: usize = 40;

const HEX: &[u8; 16] = b"0123456789abcdef";

/// Whether two tool messages say the same.
pub(super) fn same_result(one: &Message, other: &Message) -> bool {
    one.field("content") == other.field("content")
}

/// `id` in a form that every upstream takes: a longer one is replaced by one that follows from
/// it, so that it is the same in every request.
pub(super) fn short_id(id: &ByteString) -> ByteString {
    if id.chars().count() <= ID_CHARS {
        return id.clone();
    }
    let digest = Sha256::digest(id.as_bytes());
    let mut short = String::from("call_");
    for byte in &digest[..16] {
        short.push(char::from(HEX[usize::from(byte >> 4)]));
        short.push(char::from(HEX[usize::from(byte & 15)]));
    }
    ByteString::from(short)
}

/// The message with short ids in its calls.
pub(super) fn with_short_ids(message: Message) -> Message {
    if message
        .calls
        .iter()
        .all(|call| short_id(&call.id) == call.id)
    {
        return message;
    }
    let calls: Vec<CallHead> = message
        .calls
        .iter()
        .map(|call| CallHead {
            id: short_id(&call.id),
            name: call.name.clone(),
        })
        .collect();
    let elements = elements(&message)
        .into_iter()
        .zip(&calls)
        .map(|(element, call)| {
            let element = Message {
                raw: Raw::written(element),
                ..message.clone()
            };
            element.text_with("id", &quoted(&call.id))
        });
    let list = format!("[{}]", elements.collect::<Vec<_>>().join(","));
    Message {
        raw: Raw::written(message.text_with("tool_calls", &list)),
        calls,
        ..message
    }
}

/// A tool message with a short id.
pub(super) fn with_short_answer(message: Message) -> Message {
    let Some(id) = &message.answers else {
        return message;
    };
    let short = short_id(id);
    if short == *id {
        return message;
    }
    Message {
        raw: Raw::written(message.text_with("tool_call_id", &quoted(&short))),
        answers: Some(short),
        ..message
    }
}

/// Consecutive assistant messages as one: their texts and their calls behind each other, of
/// other members the first.
pub(super) fn merged(run: Vec<Message>) -> Message {
    let mut run = run.into_iter();
    let Some(first) = run.next() else {
        return Message::system("");
    };
    run.fold(first, join)
}

fn join(first: Message, second: Message) -> Message {
    let content = match (first.field("content"), second.field("content")) {
        (Some(a), Some(b)) if !a.body().is_empty() && !b.body().is_empty() => {
            Raw::written(format!("\"{}\\n\\n{}\"", a.body(), b.body()))
        }
        (a, b) => {
            let says = |content: &Raw| !matches!(content.get(), "null" | "\"\"");
            let null = || Raw::written("null");
            a.filter(says)
                .or_else(|| b.filter(says))
                .unwrap_or_else(null)
        }
    };
    let mut calls = elements(&first);
    calls.extend(elements(&second));
    let mut out = String::new();
    let mut object = ObjectWriter::begin(&mut out);
    let (earlier, later) = (members(&first), members(&second));
    let new = later
        .iter()
        .filter(|(key, _)| !earlier.iter().any(|(known, _)| known == key));
    for (key, value) in earlier.iter().chain(new) {
        if key != "content" && key != "tool_calls" {
            object.member(key, value);
        }
    }
    object.member("content", content.get());
    object.member("tool_calls", &format!("[{}]", calls.join(",")));
    object.end();
    let calls = [first.calls, second.calls].concat();
    Message {
        raw: Raw::written(out),
        calls,
        ..first
    }
}

/// The elements of `tool_calls` as text.
fn elements(message: &Message) -> Vec<String> {
    let list = message.field("tool_calls");
    let elements: Vec<&serde_json::value::RawValue> = list
        .as_ref()
        .and_then(|list| serde_json::from_str(list.get()).ok())
        .unwrap_or_default();
    elements
        .iter()
        .map(|element| element.get().to_owned())
        .collect()
}

fn members(message: &Message) -> Vec<(String, String)> {
    let members =
        Members::parse(message.raw.get()).map_or_else(|_| Vec::new(), |members| members.0);
    members
        .into_iter()
        .map(|(key, value)| (key.into_owned(), value.get().to_owned()))
        .collect()
}
