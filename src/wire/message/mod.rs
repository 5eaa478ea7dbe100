//! One message of a conversation: what Handback acts on, and the whole as it goes upstream.
//!
//! Invariant: a message is its text. What is read from it follows from that text alone.

mod calls;
mod parse;

use bytestring::ByteString;
use serde::{Deserialize, Serialize};

use super::raw::{Members, Raw};
use super::refusal::Refusal;
use super::write::{ObjectWriter, on_one_line, with_member};

pub(super) use parse::{legacy, twice};

/// Who speaks (contract R8).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Role {
    /// The model.
    Assistant,
    /// Instructions, as newer models call them.
    Developer,
    /// Instructions.
    System,
    /// The result of a call.
    Tool,
    /// The caller's user.
    User,
}

/// A message in the form in which it goes upstream.
///
/// `raw` is the caller's own text wherever nothing in it had to change: without `id`, without an
/// empty `tool_calls`, with `arguments` as text (contract R8). A message is stored as that text
/// alone; the rest is read from it again.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// The whole message.
    pub raw: Raw,
    /// The calls of an assistant message, in order.
    pub calls: Vec<CallHead>,
    /// The call that a tool message answers.
    pub answers: Option<ByteString>,
}

/// What pairing needs of a call in the history; its arguments stay in the message's text.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct CallHead {
    /// The id that results refer to.
    pub id: ByteString,
    /// The name of the function.
    pub name: ByteString,
}

/// A model's call of a function.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
pub struct Call {
    /// The id that results refer to.
    pub id: ByteString,
    /// The name of the function.
    pub name: ByteString,
    /// The arguments: text that should be a JSON object.
    pub arguments: ByteString,
    /// Other members of the call as the upstream sent them (a thought signature in
    /// `extra_content`, say).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extra: Vec<(ByteString, Raw)>,
}

impl Message {
    /// A message from text of this program's making.
    pub(crate) fn written(text: impl Into<ByteString>) -> Result<Message, Refusal> {
        Message::parse(&text.into())
    }

    /// A system message.
    pub fn system(text: &str) -> Message {
        let mut out = String::new();
        let mut object = ObjectWriter::begin(&mut out);
        object.member("role", "\"system\"");
        object.string("content", text);
        object.end();
        Message {
            role: Role::System,
            raw: Raw::written(out),
            calls: Vec::new(),
            answers: None,
        }
    }

    /// A tool message: what came of the call `id` of the function `name`. Some upstreams refuse
    /// a result without a name.
    pub fn tool(id: &ByteString, name: &str, content: &str) -> Message {
        let mut out = String::new();
        let mut object = ObjectWriter::begin(&mut out);
        object.member("role", "\"tool\"");
        object.string("tool_call_id", id);
        object.string("name", name);
        object.string("content", content);
        object.end();
        Message {
            role: Role::Tool,
            raw: Raw::written(out),
            calls: Vec::new(),
            answers: Some(id.clone()),
        }
    }

    /// An assistant message: its text in escaped form if there is any, its other fields, and
    /// its calls.
    pub fn assistant(body: Option<&str>, fields: &[(ByteString, Raw)], calls: &[Call]) -> Message {
        let mut out = String::new();
        let mut object = ObjectWriter::begin(&mut out);
        object.member("role", "\"assistant\"");
        let content = object.key("content");
        match body {
            Some(body) => content.extend(["\"", body, "\""]),
            None if calls.is_empty() => content.push_str("\"\""),
            None => content.push_str("null"),
        }
        for (key, value) in fields {
            object.member(key, value.get());
        }
        if !calls.is_empty() {
            write_calls(object.key("tool_calls"), calls);
        }
        object.end();
        let calls = calls
            .iter()
            .map(|call| CallHead {
                id: call.id.clone(),
                name: call.name.clone(),
            })
            .collect();
        Message {
            role: Role::Assistant,
            raw: Raw::written(out),
            calls,
            answers: None,
        }
    }

    /// A member of the message as it stands there.
    pub fn field(&self, key: &str) -> Option<Raw> {
        let value = Members::parse(self.raw.get()).ok()?.get(key)?;
        Some(Raw::written(value.get().to_owned()))
    }

    /// The text of the message with `key` set to the JSON text `value`, other members as they are.
    pub fn text_with(&self, key: &str, value: &str) -> String {
        with_member(self.raw.get(), key, value)
    }
}

impl Call {
    /// Appends the call as an element of `tool_calls`; in a stream it has an `index`.
    pub fn write(&self, out: &mut String, index: Option<usize>) {
        let mut object = ObjectWriter::begin(out);
        if let Some(index) = index {
            object.member("index", &index.to_string());
        }
        object.string("id", &self.id);
        object.member("type", "\"function\"");
        let mut function = ObjectWriter::begin(object.key("function"));
        function.string("name", &self.name);
        function.string("arguments", &self.arguments);
        function.end();
        for (key, value) in &self.extra {
            object.member(key, &on_one_line(value.get()));
        }
        object.end();
    }
}

/// Appends calls as the value of `tool_calls`.
pub fn write_calls(out: &mut String, calls: &[Call]) {
    out.push('[');
    for (nth, call) in calls.iter().enumerate() {
        if nth > 0 {
            out.push(',');
        }
        call.write(out, None);
    }
    out.push(']');
}

impl Serialize for Message {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.raw.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Message {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Raw::deserialize(deserializer)?;
        Message::written(raw.get().to_owned()).map_err(serde::de::Error::custom)
    }
}
