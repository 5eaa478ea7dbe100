//! What a script looks at in a request.
//!
//! Invariant: reading is lenient. Only what makes it impossible to say what the conversation is
//! refuses a request; everything that is not looked at may be anything.

use serde::Deserialize;

use super::request;

/// Who wrote a message, without those who instruct the model.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(super) enum Role {
    Assistant,
    Tool,
    User,
}

/// A message, its content as one text.
#[derive(Debug)]
pub(super) struct Message {
    pub role: Role,
    pub text: String,
    calls: Vec<Call>,
    /// The call that a result is for.
    answers: Option<String>,
    /// The tool that a result is from; most clients leave it out.
    tool: Option<String>,
}

#[derive(Debug)]
struct Call {
    id: String,
    tool: String,
}

/// A request as scripts see it.
#[derive(Debug)]
pub(super) struct Conversation {
    pub model: String,
    pub stream: bool,
    pub include_usage: bool,
    /// Bytes of the messages and the tools, for the usage.
    pub prompt_bytes: usize,
    messages: Vec<Message>,
    /// Where in `messages` the turn starts.
    turn: usize,
    offered: Vec<String>,
    forced: Option<String>,
}

impl Conversation {
    /// Reads the body of a request.
    pub(super) fn read(body: &[u8]) -> Result<Self, serde_json::Error> {
        let request: request::Request<'_> = serde_json::from_slice(body)?;
        let messages: Vec<request::Message> = serde_json::from_str(request.messages.get())?;
        let tools: Vec<request::Tool> = match request.tools {
            Some(tools) => serde_json::from_str(tools.get())?,
            None => Vec::new(),
        };
        let (offered, forced) = match request.tool_choice {
            Some(request::Choice::Mode(mode)) if mode == "none" => (Vec::new(), None),
            Some(request::Choice::Named { function }) => (names(tools), Some(function.name)),
            _ => (names(tools), None),
        };
        let messages: Vec<Message> = messages.into_iter().filter_map(Message::read).collect();
        let final_answer =
            |message: &Message| message.role == Role::Assistant && message.calls.is_empty();
        Ok(Self {
            model: request.model.into_owned(),
            stream: request.stream.unwrap_or_default(),
            include_usage: request
                .stream_options
                .and_then(|options| options.include_usage)
                .unwrap_or_default(),
            prompt_bytes: request.messages.get().len()
                + request.tools.map_or(0, |tools| tools.get().len()),
            turn: messages
                .iter()
                .rposition(final_answer)
                .map_or(0, |last| last + 1),
            messages,
            offered,
            forced,
        })
    }

    /// The last message, instructions aside.
    pub(super) fn last(&self) -> Option<&Message> {
        self.messages.last()
    }

    /// The text of the last user message.
    pub(super) fn last_user(&self) -> Option<&str> {
        let user = self
            .messages
            .iter()
            .rfind(|message| message.role == Role::User)?;
        Some(&user.text)
    }

    /// The texts of all messages, instructions aside.
    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        self.messages.iter().map(|message| message.text.as_str())
    }

    /// Whether the request offers this tool.
    pub(super) fn offers(&self, tool: &str) -> bool {
        self.offered.iter().any(|offered| offered == tool)
    }

    /// The tool that `tool_choice` names.
    pub(super) fn forced(&self) -> Option<&str> {
        self.forced.as_deref()
    }

    /// How often the model has answered in this turn.
    pub(super) fn rounds(&self) -> usize {
        self.this_turn()
            .iter()
            .filter(|message| message.role == Role::Assistant)
            .count()
    }

    /// The last result of this tool in this turn.
    pub(super) fn result(&self, tool: &str) -> Option<&str> {
        let turn = self.this_turn();
        let (_, result) = turn.iter().enumerate().rfind(|(place, message)| {
            message.role == Role::Tool
                && tool_of(message, turn.get(..*place).unwrap_or_default()) == Some(tool)
        })?;
        Some(&result.text)
    }

    fn this_turn(&self) -> &[Message] {
        self.messages.get(self.turn..).unwrap_or_default()
    }
}

/// The tool that `result` is from: what the nearest call with its id called, since ids may
/// come again; where there is no such call, what the message says itself.
fn tool_of<'m>(result: &'m Message, before: &'m [Message]) -> Option<&'m str> {
    let id = result.answers.as_deref();
    let call = before
        .iter()
        .rev()
        .flat_map(|message| &message.calls)
        .find(|call| Some(call.id.as_str()) == id);
    call.map(|call| call.tool.as_str())
        .or(result.tool.as_deref())
}

fn names(tools: Vec<request::Tool>) -> Vec<String> {
    tools
        .into_iter()
        .filter_map(|tool| tool.function)
        .map(|function| function.name)
        .collect()
}

impl Message {
    /// `None` for system and developer messages, and for roles that nobody knows.
    fn read(message: request::Message) -> Option<Self> {
        let role = match &*message.role {
            "assistant" => Role::Assistant,
            "tool" => Role::Tool,
            "user" => Role::User,
            _ => return None,
        };
        let text = match message.content {
            Some(request::Content::Text(text)) => text,
            Some(request::Content::Parts(parts)) => {
                parts.into_iter().filter_map(|part| part.text).collect()
            }
            Some(request::Content::Other(_)) | None => String::new(),
        };
        let calls = message.tool_calls.unwrap_or_default().into_iter();
        let calls = calls.filter_map(|call| {
            Some(Call {
                id: call.id?,
                tool: call.function?.name,
            })
        });
        Some(Self {
            role,
            text,
            calls: calls.collect(),
            answers: message.tool_call_id,
            tool: message.name,
        })
    }
}
