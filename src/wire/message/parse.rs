//! Reads a message of a request (contract R8).

use bytestring::ByteString;

use super::calls::{self, ToolCalls};
use super::{Message, Role};
use crate::wire::cursor::{Cursor, NotJson};
use crate::wire::raw::{Kind, Members, Raw, says};
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
struct Head<'a> {
    role: Option<&'a str>,
    content: Option<&'a str>,
    tool_calls: Option<&'a str>,
    tool_call_id: Option<&'a str>,
    function_call: Option<&'a str>,
    id: Option<&'a str>,
    twice: Option<&'static str>,
}

impl<'a> Head<'a> {
    fn member(&mut self, key: &str, value: &'a str) {
        let (slot, name) = match key {
            "role" => (&mut self.role, "role"),
            "content" => (&mut self.content, "content"),
            "tool_calls" => (&mut self.tool_calls, "tool_calls"),
            "tool_call_id" => (&mut self.tool_call_id, "tool_call_id"),
            "function_call" => (&mut self.function_call, "function_call"),
            "id" => (&mut self.id, "id"),
            _ => return,
        };
        if slot.replace(value).is_some() {
            self.twice = Some(name);
        }
    }
}

/// What has to change in a message before it goes upstream.
struct Changes {
    content: Option<String>,
    tool_calls: Option<ToolCalls>,
}

impl Message {
    /// Reads a message from its text.
    pub fn parse(document: &ByteString) -> Result<Message, Refusal> {
        let mut cursor = Cursor::new(document);
        Message::read(document, &mut cursor, 0).unwrap_or_else(|_| Err(unreadable("message")))
    }

    /// Walks through the element `at` of `messages`.
    pub(in crate::wire) fn read<'a>(
        document: &'a ByteString,
        cursor: &mut Cursor<'a>,
        at: usize,
    ) -> Result<Result<Message, Refusal>, NotJson> {
        let kind = cursor.kind()?;
        if kind != Kind::Object {
            cursor.value()?;
            let wanted = "a message object with role and content";
            let place = format!("messages[{at}]");
            return Ok(Err(Refusal::wrong_type(place, kind.name(), wanted)));
        }
        let mut head = Head::default();
        let text = cursor.object(|cursor, key| {
            head.member(&key, cursor.value()?);
            Ok(())
        })?;
        Ok(Message::of(document, &head, text, at))
    }

    fn of(
        document: &ByteString,
        head: &Head<'_>,
        text: &str,
        at: usize,
    ) -> Result<Message, Refusal> {
        if let Some(key) = head.twice {
            return Err(twice(&format!("messages[{at}].{key}")));
        }
        let role = role(head, at)?;
        if head.function_call.is_some_and(|call| call != "null") {
            return Err(legacy(
                format!("messages[{at}].function_call"),
                "function_call",
            ));
        }
        let mut changes = Changes {
            content: content(head, role, at)?,
            tool_calls: None,
        };
        let mut calls = Vec::new();
        if role == Role::Assistant
            && let Some(found) = head.tool_calls
        {
            (calls, changes.tool_calls) = calls::parse(document, found, at)?;
        }
        let answers = if role == Role::Tool {
            Some(answered_id(document, head, at)?)
        } else {
            None
        };
        let untidy = head.id.is_some() || changes.content.is_some() || changes.tool_calls.is_some();
        let raw = if untidy {
            rewritten(text, &changes)
        } else {
            Raw::within(document, text)
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
    value: Option<&str>,
    place: &dyn Fn() -> String,
    wanted: &str,
) -> Result<ByteString, Refusal> {
    let value = value.ok_or_else(|| missing(&place(), wanted))?;
    match Raw::within(document, value).shared_text() {
        Some(text) if text.is_empty() => Err(Refusal::at(
            Code::InvalidValue,
            place(),
            format!("{} is empty; send {wanted}", place()),
        )),
        Some(text) => Ok(text),
        None => Err(Refusal::wrong_type(place(), value, wanted)),
    }
}

fn role(head: &Head<'_>, at: usize) -> Result<Role, Refusal> {
    const ROLES: &str = "one of system, developer, user, assistant, tool";
    let place = || format!("messages[{at}].role");
    let raw = head.role.ok_or_else(|| missing(&place(), ROLES))?;
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
            format!("{} is {}; send {ROLES}", place(), excerpt(raw)),
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
    match value.as_bytes().first() {
        Some(b'"') => Ok(None),
        Some(b'n') => empty(),
        Some(b'[') => parts(value, tool, at),
        _ => {
            let place = format!("messages[{at}].content");
            Err(Refusal::wrong_type(
                place,
                value,
                "a string, an array of parts, or null",
            ))
        }
    }
}

fn parts(value: &str, tool: bool, at: usize) -> Result<Option<String>, Refusal> {
    let mut parts = Vec::new();
    let walked = Cursor::new(value).array(|cursor| {
        parts.push(cursor.value()?);
        Ok(())
    });
    if walked.is_err() {
        return Ok(None);
    }
    if let Some((nth, part)) = parts
        .iter()
        .enumerate()
        .find(|(_, part)| !part.starts_with('{'))
    {
        let place = format!("messages[{at}].content[{nth}]");
        return Err(Refusal::wrong_type(
            place,
            part,
            "a part such as {\"type\":\"text\",\"text\":\"...\"}",
        ));
    }
    if !tool {
        return Ok(None);
    }
    let texts: Option<Vec<String>> = parts.iter().map(|part| plain_text(part)).collect();
    Ok(texts.map(|texts| quoted(&texts.join("\n"))))
}

/// The text of a part that is nothing but text.
fn plain_text(part: &str) -> Option<String> {
    let members = Members::parse(part).ok()?;
    let plain = members
        .0
        .iter()
        .all(|(key, _)| key == "type" || key == "text");
    if !plain || !says(members.get("type")?.get(), "text") {
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
    let members = Members::of(text);
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
