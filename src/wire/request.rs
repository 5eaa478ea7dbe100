//! The body of a chat-completions request (contract R2, R4, R5).

use bytes::Bytes;
use bytestring::ByteString;
use serde::de::{DeserializeSeed, MapAccess};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::message::{self, Message, legacy};
use super::object::{Members, Object, ObjectSeed, Objects, ObjectsSeed, Value, shared};
use super::raw::{Kind, Raw};
use super::refusal::{Code, Refusal, excerpt};
use super::tool::{self, Tool};

/// A request, read once: what Handback acts on as values, the rest as it was sent.
#[derive(Debug)]
pub struct ChatRequest {
    /// The agent, team or upstream model that is asked.
    pub model: ByteString,
    /// The conversation, in the order sent.
    pub messages: Vec<Message>,
    /// The caller's tools, in the order sent.
    pub tools: Vec<Tool>,
    /// `tool_choice` if it is there and not null.
    pub tool_choice: Option<Raw>,
    /// Whether the answer is to be streamed.
    pub stream: bool,
    /// Whether a streamed answer ends with a chunk of usage.
    pub include_usage: bool,
    /// Every other field, in order, `stream` and `stream_options` not among them.
    pub fields: Vec<Field>,
    /// `stream_options` as it was sent.
    pub stream_options: Option<Raw>,
}

/// A field of a request that is passed on as it was sent.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Field {
    /// Its key.
    pub key: ByteString,
    /// Its value.
    pub value: Raw,
}

impl ChatRequest {
    /// Reads a body.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "what it returns owns the body"
    )]
    pub fn parse(body: Bytes) -> Result<ChatRequest, Refusal> {
        let Ok(document) = ByteString::try_from(body.clone()) else {
            return Err(not_json(&not_utf8(&body)));
        };
        let text = document.trim_start_matches('\u{feff}');
        let top = match read(&document, text).map_err(|error| not_json(&error.to_string()))? {
            Object::Found(top, ..) => top,
            Object::Other(kind) => {
                let message = format!(
                    "the body is {}; send a JSON object with model and messages",
                    kind.name()
                );
                return Err(Refusal {
                    code: Code::InvalidType,
                    param: None,
                    message,
                });
            }
        };
        build(&document, top)
    }
}

/// Reads `text`, a part of `document`, to its end.
fn read<'a>(document: &'a ByteString, text: &'a str) -> Result<Object<Top<'a>>, serde_json::Error> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let top = ObjectSeed::new(document).deserialize(&mut reader)?;
    reader.end()?;
    Ok(top)
}

/// Where the first byte stands that is no UTF-8.
fn not_utf8(body: &[u8]) -> String {
    let at = std::str::from_utf8(body).map_or_else(|error| error.valid_up_to(), str::len);
    let before = &body[..at];
    let line = memchr::memchr_iter(b'\n', before).count() + 1;
    let column = before
        .iter()
        .rev()
        .take_while(|byte| **byte != b'\n')
        .count()
        + 1;
    format!("not UTF-8 at line {line} column {column}")
}

fn not_json(detail: &str) -> Refusal {
    let message = format!("the body is not valid JSON: {detail}");
    Refusal {
        code: Code::InvalidJson,
        param: None,
        message,
    }
}

/// The members of the body. The long ones are read element by element in the same pass.
#[derive(Default)]
struct Top<'a> {
    model: Option<&'a RawValue>,
    messages: Option<Objects<message::Head<'a>>>,
    tools: Option<Objects<tool::Head<'a>>>,
    rest: Vec<(ByteString, &'a RawValue)>,
    twice: Option<&'static str>,
}

impl<'de> Members<'de> for Top<'de> {
    fn member<A: MapAccess<'de>>(
        &mut self,
        document: &'de ByteString,
        key: &str,
        map: &mut A,
    ) -> Result<Value<'de>, A::Error> {
        let twice = match key {
            "model" => self.model.replace(map.next_value()?).map(|_| "model"),
            "messages" => self
                .messages
                .replace(ObjectsSeed(document).next(map)?)
                .map(|_| "messages"),
            "tools" => self
                .tools
                .replace(ObjectsSeed(document).next(map)?)
                .map(|_| "tools"),
            _ => {
                self.rest.push((shared(document, key), map.next_value()?));
                None
            }
        };
        self.twice = self.twice.or(twice);
        Ok(Value::unplaced())
    }
}

fn build(document: &ByteString, top: Top<'_>) -> Result<ChatRequest, Refusal> {
    if let Some(key) = top.twice {
        return Err(Refusal::at(
            Code::DuplicateKey,
            key,
            format!("{key} stands twice in the body; send it once"),
        ));
    }
    let model = model(document, top.model)?;
    let mut request = ChatRequest {
        model,
        messages: Vec::new(),
        tools: Vec::new(),
        tool_choice: None,
        stream: false,
        include_usage: false,
        fields: Vec::with_capacity(top.rest.len()),
        stream_options: None,
    };
    for (key, value) in top.rest {
        field(document, &mut request, key, value)?;
    }
    request.messages = messages(document, top.messages)?;
    request.tools = tools(document, top.tools)?;
    Ok(request)
}

fn model(document: &ByteString, value: Option<&RawValue>) -> Result<ByteString, Refusal> {
    const WANTED: &str = "the name of an agent; GET /v1/models lists them";
    let value = value.ok_or_else(|| {
        Refusal::at(
            Code::MissingRequiredParameter,
            "model",
            format!("model is missing; send {WANTED}"),
        )
    })?;
    match Raw::of(document, value).shared_text() {
        Some(name) if !name.is_empty() => Ok(name),
        _ => Err(Refusal::wrong_type("model", value.get(), WANTED)),
    }
}

/// Sorts one of the short fields: acted on, refused, or passed on.
fn field(
    document: &ByteString,
    request: &mut ChatRequest,
    key: ByteString,
    value: &RawValue,
) -> Result<(), Refusal> {
    let text = value.get();
    let known = |known: &'static str| {
        Refusal::at(
            Code::DuplicateKey,
            known,
            format!("{known} stands twice in the body; send it once"),
        )
    };
    match &*key {
        "functions" | "function_call" if text != "null" => {
            return Err(legacy(key.to_string(), &key));
        }
        "functions" | "function_call" => {}
        "n" if text == "null" || text.parse() == Ok(1.0) => {}
        "n" => {
            let message = format!("n is {}; only 1 is supported: leave it out", excerpt(text));
            return Err(Refusal::at(Code::UnsupportedValue, "n", message));
        }
        "stream" => {
            request.stream = match text {
                "true" => true,
                "false" | "null" => false,
                _ => return Err(Refusal::wrong_type("stream", text, "true or false")),
            }
        }
        "stream_options" => {
            request.include_usage = include_usage(text)?;
            if text != "null"
                && request
                    .stream_options
                    .replace(Raw::of(document, value))
                    .is_some()
            {
                return Err(known("stream_options"));
            }
        }
        "tool_choice" => {
            if text != "null"
                && request
                    .tool_choice
                    .replace(Raw::of(document, value))
                    .is_some()
            {
                return Err(known("tool_choice"));
            }
        }
        _ => {
            request.fields.push(Field {
                key,
                value: Raw::of(document, value),
            });
        }
    }
    Ok(())
}

fn include_usage(text: &str) -> Result<bool, Refusal> {
    #[derive(Deserialize)]
    struct Options<'a> {
        #[serde(borrow, default)]
        include_usage: Option<&'a RawValue>,
    }
    const WANTED: &str = "an object such as {\"include_usage\":true}, or null";
    if text == "null" {
        return Ok(false);
    }
    let options = text
        .starts_with('{')
        .then(|| serde_json::from_str::<Options<'_>>(text).ok())
        .flatten();
    let options = options.ok_or_else(|| Refusal::wrong_type("stream_options", text, WANTED))?;
    match options.include_usage.map(RawValue::get) {
        Some("true") => Ok(true),
        None | Some("false") => Ok(false),
        Some(other) => Err(Refusal::wrong_type(
            "stream_options.include_usage",
            other,
            "true or false",
        )),
    }
}

fn messages(
    document: &ByteString,
    value: Option<Objects<message::Head<'_>>>,
) -> Result<Vec<Message>, Refusal> {
    const WANTED: &str = "an array of messages";
    let elements = match value {
        Some(Objects::Array(elements)) if elements.is_empty() => {
            let message = "messages is []; send at least one message";
            return Err(Refusal::at(Code::EmptyArray, "messages", message));
        }
        Some(Objects::Array(elements)) => elements,
        Some(Objects::Other(kind)) => {
            let message = format!("messages is {}; send {WANTED}", kind.name());
            return Err(Refusal::at(Code::InvalidType, "messages", message));
        }
        None => {
            let message = format!("messages is missing; send {WANTED}");
            return Err(Refusal::at(
                Code::MissingRequiredParameter,
                "messages",
                message,
            ));
        }
    };
    let mut messages = Vec::with_capacity(elements.len());
    for (at, element) in elements.into_iter().enumerate() {
        messages.push(Message::read(document, element, at)?);
    }
    Ok(messages)
}

fn tools(
    document: &ByteString,
    value: Option<Objects<tool::Head<'_>>>,
) -> Result<Vec<Tool>, Refusal> {
    match value {
        None | Some(Objects::Other(Kind::Null)) => Ok(Vec::new()),
        Some(Objects::Other(kind)) => {
            let message = format!("tools is {}; send an array of tools, or null", kind.name());
            Err(Refusal::at(Code::InvalidType, "tools", message))
        }
        Some(Objects::Array(elements)) => {
            let read = |(at, element)| Tool::read(document, element, at);
            elements.into_iter().enumerate().map(read).collect()
        }
    }
}
