//! The shapes of a request, as far as a script looks at them.
//!
//! Invariant: every key that a client may leave out may also be null.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

/// The request. Messages and tools stay text first, so that their size is known.
#[derive(Deserialize)]
pub(super) struct Request<'a> {
    #[serde(borrow)]
    pub model: Cow<'a, str>,
    #[serde(borrow)]
    pub messages: &'a RawValue,
    #[serde(borrow)]
    pub tools: Option<&'a RawValue>,
    pub tool_choice: Option<Choice>,
    pub stream: Option<bool>,
    pub stream_options: Option<StreamOptions>,
}

/// What a streamed answer shall have besides.
#[derive(Deserialize)]
pub(super) struct StreamOptions {
    pub include_usage: Option<bool>,
}

/// `tool_choice`: a word, or the one function to call.
#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum Choice {
    Mode(String),
    Named { function: Function },
    Other(IgnoredAny),
}

/// A tool that is offered.
#[derive(Deserialize)]
pub(super) struct Tool {
    pub function: Option<Function>,
}

/// A function, as far as its name.
#[derive(Deserialize)]
pub(super) struct Function {
    pub name: String,
}

/// A message of any role.
#[derive(Deserialize)]
pub(super) struct Message {
    pub role: String,
    pub content: Option<Content>,
    pub tool_calls: Option<Vec<Call>>,
    pub tool_call_id: Option<String>,
    pub name: Option<String>,
}

/// The content of a message.
#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum Content {
    Text(String),
    Parts(Vec<Part>),
    Other(IgnoredAny),
}

/// A part of a content; other parts than texts have no text.
#[derive(Deserialize)]
pub(super) struct Part {
    pub text: Option<String>,
}

/// A call in a message of the model.
#[derive(Deserialize)]
pub(super) struct Call {
    pub id: Option<String>,
    pub function: Option<Function>,
}
