//! The body of a chat-completions request (contract R2, R4, R5).

use bytes::Bytes;
use bytestring::ByteString;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::cursor::{Cursor, NotJson};
use super::message::{Message, legacy};
use super::raw::{Kind, Raw, shared};
use super::refusal::{Code, Refusal, excerpt};
use super::tool::Tool;

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
        let mut cursor = Cursor::new(text);
        match Top::read(&document, &mut cursor) {
            Ok(Some(top)) => build(&document, top),
            Ok(None) => {
                let message = format!(
                    "the body is {}; send a JSON object with model and messages",
                    Kind::of(text.trim_start()).name()
                );
                Err(Refusal {
                    code: Code::InvalidType,
                    param: None,
                    message,
                })
            }
            Err(NotJson) => Err(not_json(&wrong_in(text))),
        }
    }
}

/// What is wrong in a text that is no JSON.
fn wrong_in(text: &str) -> String {
    match serde_json::from_str::<IgnoredAny>(text) {
        Err(error) => error.to_string(),
        // All that is left: the reader of values does not decode what it passes over.
        Ok(_) => "a key holds an escape that is no character".to_owned(),
    }
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

/// The members of the body, walked through once. What is refused in one of the long ones is said
/// only after the whole body turned out to be JSON.
#[derive(Default)]
struct Top<'a> {
    model: Option<&'a str>,
    messages: Option<Elements<Message>>,
    tools: Option<Elements<Tool>>,
    rest: Vec<(ByteString, &'a str)>,
    twice: Option<&'static str>,
}

/// What a member turned out to be of which an array is wanted.
enum Elements<T> {
    Array(Result<Vec<T>, Refusal>),
    Other(Kind),
}

impl<'a> Top<'a> {
    /// Reads the text before `cursor` to its end; `None` if it is no object.
    fn read(document: &'a ByteString, cursor: &mut Cursor<'a>) -> Result<Option<Top<'a>>, NotJson> {
        let mut top = Top::default();
        let is_object = cursor.kind()? == Kind::Object;
        if is_object {
            cursor.object(|cursor, key| top.member(document, &key, cursor))?;
        } else {
            cursor.value()?;
        }
        cursor.end()?;
        Ok(is_object.then_some(top))
    }

    fn member(
        &mut self,
        document: &'a ByteString,
        key: &str,
        cursor: &mut Cursor<'a>,
    ) -> Result<(), NotJson> {
        let twice = match key {
            "model" => self.model.replace(cursor.value()?).map(|_| "model"),
            "messages" => {
                let read = |cursor: &mut Cursor<'a>, at| Message::read(document, cursor, at);
                let messages = Elements::read(cursor, read)?;
                self.messages.replace(messages).map(|_| "messages")
            }
            "tools" => {
                let read = |cursor: &mut Cursor<'a>, at| Tool::read(document, cursor, at);
                let tools = Elements::read(cursor, read)?;
                self.tools.replace(tools).map(|_| "tools")
            }
            _ => {
                self.rest.push((shared(document, key), cursor.value()?));
                None
            }
        };
        self.twice = self.twice.or(twice);
        Ok(())
    }
}

impl<T> Elements<T> {
    fn read<'a>(
        cursor: &mut Cursor<'a>,
        mut read: impl FnMut(&mut Cursor<'a>, usize) -> Result<Result<T, Refusal>, NotJson>,
    ) -> Result<Elements<T>, NotJson> {
        let kind = cursor.kind()?;
        if kind != Kind::Array {
            cursor.value()?;
            return Ok(Elements::Other(kind));
        }
        let mut elements = Ok(Vec::with_capacity(16));
        cursor.array(|cursor| {
            match &mut elements {
                Ok(found) => match read(cursor, found.len())? {
                    Ok(element) => found.push(element),
                    Err(refusal) => elements = Err(refusal),
                },
                Err(_) => drop(cursor.value()?),
            }
            Ok(())
        })?;
        Ok(Elements::Array(elements))
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
    request.messages = messages(top.messages)?;
    request.tools = tools(top.tools)?;
    Ok(request)
}

fn model(document: &ByteString, value: Option<&str>) -> Result<ByteString, Refusal> {
    const WANTED: &str = "the name of an agent; GET /v1/models lists them";
    let value = value.ok_or_else(|| {
        Refusal::at(
            Code::MissingRequiredParameter,
            "model",
            format!("model is missing; send {WANTED}"),
        )
    })?;
    match Raw::within(document, value).shared_text() {
        Some(name) if !name.is_empty() => Ok(name),
        _ => Err(Refusal::wrong_type("model", value, WANTED)),
    }
}

/// Sorts one of the short fields: acted on, refused, or passed on.
fn field(
    document: &ByteString,
    request: &mut ChatRequest,
    key: ByteString,
    text: &str,
) -> Result<(), Refusal> {
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
                    .replace(Raw::within(document, text))
                    .is_some()
            {
                return Err(known("stream_options"));
            }
        }
        "tool_choice" => {
            if text != "null"
                && request
                    .tool_choice
                    .replace(Raw::within(document, text))
                    .is_some()
            {
                return Err(known("tool_choice"));
            }
        }
        _ => {
            request.fields.push(Field {
                key,
                value: Raw::within(document, text),
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

fn messages(value: Option<Elements<Message>>) -> Result<Vec<Message>, Refusal> {
    const WANTED: &str = "an array of messages";
    match value {
        Some(Elements::Array(Ok(messages))) if messages.is_empty() => {
            let message = "messages is []; send at least one message";
            Err(Refusal::at(Code::EmptyArray, "messages", message))
        }
        Some(Elements::Array(messages)) => messages,
        Some(Elements::Other(kind)) => {
            let message = format!("messages is {}; send {WANTED}", kind.name());
            Err(Refusal::at(Code::InvalidType, "messages", message))
        }
        None => {
            let message = format!("messages is missing; send {WANTED}");
            Err(Refusal::at(
                Code::MissingRequiredParameter,
                "messages",
                message,
            ))
        }
    }
}

fn tools(value: Option<Elements<Tool>>) -> Result<Vec<Tool>, Refusal> {
    match value {
        None | Some(Elements::Other(Kind::Null)) => Ok(Vec::new()),
        Some(Elements::Other(kind)) => {
            let message = format!("tools is {}; send an array of tools, or null", kind.name());
            Err(Refusal::at(Code::InvalidType, "tools", message))
        }
        Some(Elements::Array(tools)) => tools,
    }
}
