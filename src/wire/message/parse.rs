//! Reads a message of a request (contract R8).

use bytestring::ByteString;
use serde::Deserialize;
use serde::de::{DeserializeSeed, MapAccess};
use serde_json::value::RawValue;

use super::calls::{self, ToolCalls};
use super::{Message, Role};
use crate::wire::object::{Members, Object, ObjectSeed, Value};
use crate::wire::raw::{self, Elements, Raw};
use crate::wire::refusal::{Code, Refusal, excerpt};
use crate::wire::write::{ObjectWriter, quoted};

impl Role {
    fn parse(text: &str) -> Option<Role> {
        Some(match text {
            "assistant" => Role::Assistant,
            "developer" => Role::Developer,
            "system" => Role::System,
            "tool" => Role::Tool,
            "user" => Role::User,
            _ => return None,
        })
    }
}

/// The members of a message that Handback looks at. A present `null` is told from an absence.
#[derive(Default)]
pub(in crate::wire) struct Head<'a> {
    role: Option<&'a RawValue>,
    content: Option<&'a RawValue>,
    tool_calls: Option<&'a RawValue>,
    tool_call_id: Option<&'a RawValue>,
    function_call: Option<&'a RawValue>,
    id: Option<&'a RawValue>,
    twice: Option<&'static str>,
}

impl<'de> Members<'de> for Head<'de> {
    fn member<A: MapAccess<'de>>(
        &mut self,
        document: &'de ByteString,
        key: &str,
        map: &mut A,
    ) -> Result<Value<'de>, A::Error> {
        let value: &RawValue = map.next_value()?;
        let (slot, name) = match key {
            "role" => (&mut self.role, "role"),
            "content" => (&mut self.content, "content"),
            "tool_calls" => (&mut self.tool_calls, "tool_calls"),
            "tool_call_id" => (&mut self.tool_call_id, "tool_call_id"),
            "function_call" => (&mut self.function_call, "function_call"),
            "id" => (&mut self.id, "id"),
            _ => return Ok(Value::raw(document, value)),
        };
        if slot.replace(value).is_some() {
            self.twice = Some(name);
        }
        Ok(Value::raw(document, value))
    }
}

/// Reads a member that is there, be it `null`.
pub(super) fn present<'de, D: serde::Deserializer<'de>>(
    d: D,
) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(d).map(Some)
}

/// What has to change in a message before it goes upstream.
struct Changes {
    content: Option<String>,
    tool_calls: Option<ToolCalls>,
}

impl Message {
    /// Reads the element `at` of `messages`.
    pub fn parse(document: &ByteString, value: &RawValue, at: usize) -> Result<Message, Refusal> {
        let mut reader = serde_json::Deserializer::from_str(value.get());
        let object = ObjectSeed::new(document)
            .deserialize(&mut reader)
            .map_err(|_| unreadable(&format!("messages[{at}]")))?;
        Message::read(document, object, at)
    }

    /// Takes the element `at` of `messages`, its members read.
    pub(in crate::wire) fn read(
        document: &ByteString,
        object: Object<Head<'_>>,
        at: usize,
    ) -> Result<Message, Refusal> {
        let (head, raw) = match object {
            Object::Found(head, raw, _) => (head, raw),
            Object::Other(kind) => {
                let wanted = "a message object with role and content";
                return Err(Refusal::wrong_type(
                    format!("messages[{at}]"),
                    kind.name(),
                    wanted,
                ));
            }
        };
        if let Some(key) = head.twice {
            return Err(twice(&format!("messages[{at}].{key}")));
        }
        let role = role(&head, at)?;
        if head.function_call.is_some_and(|call| call.get() != "null") {
            return Err(legacy(
                format!("messages[{at}].function_call"),
                "function_call",
            ));
        }
        let mut changes = Changes {
            content: content(&head, role, at)?,
            tool_calls: None,
        };
        let mut calls = Vec::new();
        if role == Role::Assistant
            && let Some(found) = head.tool_calls
        {
            (calls, changes.tool_calls) = calls::parse(document, found, at)?;
        }
        let answers = if role == Role::Tool {
            Some(answered_id(document, &head, at)?)
        } else {
            None
        };
        let untidy = head.id.is_some() || changes.content.is_some() || changes.tool_calls.is_some();
        let raw = if untidy {
            rewritten(raw.get(), &changes)
        } else {
            raw
        };
        Ok(Message {
            role,
            raw,
            calls,
            answers,
        })
    }
}

/// The message that says that a legacy form is not taken and what to use (contract R5).
pub(in crate::wire) fn legacy(param: String, what: &str) -> Refusal {
    let message = format!(
        "{what} is not supported; send functions in tools, and calls and results as tool_calls and messages of role tool"
    );
    Refusal::at(Code::UnsupportedParameter, param, message)
}

/// A value whose members cannot be told apart: a key stands twice, or is no text.
pub(super) fn unreadable(place: &str) -> Refusal {
    let message =
        format!("{place} cannot be read: a key stands twice, or is no text; send each key once");
    Refusal::at(Code::InvalidValue, place, message)
}

/// A member that stands twice: it cannot be told which one an upstream would take.
pub(in crate::wire) fn twice(place: &str) -> Refusal {
    Refusal::at(
        Code::DuplicateKey,
        place,
        format!("{place} stands twice; send it once"),
    )
}

/// A required member that is absent.
pub(super) fn missing(place: &str, wanted: &str) -> Refusal {
    Refusal::at(
        Code::MissingRequiredParameter,
        place,
        format!("{place} is missing; send {wanted}"),
    )
}

/// A member that must be text and not empty.
pub(super) fn required_text(
    document: &ByteString,
    value: Option<&RawValue>,
    place: &dyn Fn() -> String,
    wanted: &str,
) -> Result<ByteString, Refusal> {
    let value = value.ok_or_else(|| missing(&place(), wanted))?;
    match Raw::of(document, value).shared_text() {
        Some(text) if text.is_empty() => Err(Refusal::at(
            Code::InvalidValue,
            place(),
            format!("{} is empty; send {wanted}", place()),
        )),
        Some(text) => Ok(text),
        None => Err(Refusal::wrong_type(place(), value.get(), wanted)),
    }
}

fn role(head: &Head<'_>, at: usize) -> Result<Role, Refusal> {
    const ROLES: &str = "one of system, developer, user, assistant, tool";
    let place = || format!("messages[{at}].role");
    let value = head.role.ok_or_else(|| missing(&place(), ROLES))?;
    let raw = value.get();
    let plain = raw
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'));
    if let Some(role) = plain.and_then(Role::parse) {
        return Ok(role);
    }
    let name: String =
        serde_json::from_str(raw).map_err(|_| Refusal::wrong_type(place(), raw, ROLES))?;
    if name == "function" {
        return Err(legacy(place(), "role function"));
    }
    Role::parse(&name).ok_or_else(|| {
        Refusal::at(
            Code::InvalidValue,
            place(),
            format!("{} is {}; send {ROLES}", place(), excerpt(value.get())),
        )
    })
}

/// Checks the content; gives the text that takes its place where it cannot go upstream as it is:
/// a tool result of null is an empty one (contract P8), and one of plain text parts is their
/// text, a line each, since many upstreams take only strings there.
fn content(head: &Head<'_>, role: Role, at: usize) -> Result<Option<String>, Refusal> {
    let tool = role == Role::Tool;
    let empty = || Ok(tool.then(|| "\"\"".to_owned()));
    let Some(value) = head.content else {
        return empty();
    };
    match value.get().as_bytes().first() {
        Some(b'"') => Ok(None),
        Some(b'n') => empty(),
        Some(b'[') => parts(value, tool, at),
        _ => {
            let place = format!("messages[{at}].content");
            Err(Refusal::wrong_type(
                place,
                value.get(),
                "a string, an array of parts, or null",
            ))
        }
    }
}

fn parts(value: &RawValue, tool: bool, at: usize) -> Result<Option<String>, Refusal> {
    let Ok(Elements::Array(parts)) = serde_json::from_str(value.get()) else {
        return Ok(None);
    };
    if let Some((nth, part)) = parts
        .iter()
        .enumerate()
        .find(|(_, part)| !part.get().starts_with('{'))
    {
        let place = format!("messages[{at}].content[{nth}]");
        return Err(Refusal::wrong_type(
            place,
            part.get(),
            "a part such as {\"type\":\"text\",\"text\":\"...\"}",
        ));
    }
    if !tool {
        return Ok(None);
    }
    let texts: Option<Vec<String>> = parts.iter().map(|part| plain_text(part.get())).collect();
    Ok(texts.map(|texts| quoted(&texts.join("\n"))))
}

/// The text of a part that is nothing but text.
fn plain_text(part: &str) -> Option<String> {
    let members = raw::Members::parse(part).ok()?;
    let plain = members
        .0
        .iter()
        .all(|(key, _)| key == "type" || key == "text");
    if !plain || members.get("type")?.get() != "\"text\"" {
        return None;
    }
    serde_json::from_str(members.get("text")?.get()).ok()
}

fn answered_id(document: &ByteString, head: &Head<'_>, at: usize) -> Result<ByteString, Refusal> {
    let place = || format!("messages[{at}].tool_call_id");
    required_text(
        document,
        head.tool_call_id,
        &place,
        "the id of the call that this result answers",
    )
}

fn rewritten(text: &str, changes: &Changes) -> Raw {
    let mut out = String::with_capacity(text.len() + 32);
    let mut object = ObjectWriter::begin(&mut out);
    let members = raw::Members::of(text);
    let mut content = changes.content.as_deref();
    for (key, value) in &members {
        match key.as_ref() {
            "id" => {}
            "tool_calls" => match &changes.tool_calls {
                Some(ToolCalls::Dropped) => {}
                Some(ToolCalls::Rewritten(calls)) => object.member(key, calls),
                None => object.member(key, value.get()),
            },
            "content" => object.member(key, content.take().unwrap_or(value.get())),
            _ => object.member(key, value.get()),
        }
    }
    if let Some(content) = content {
        object.member("content", content);
    }
    object.end();
    Raw::written(out)
}
