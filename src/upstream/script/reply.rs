//! What comes of a request: an answer of the script, or an error.
//!
//! Invariant: the errors that a script does not write itself name no tool and quote no result.

use bytes::Bytes;

use super::Moment;
use super::answer::Played;
use super::conversation::{Conversation, Role};
use super::ids;
use super::wire::{ErrorBody, Problem};
use super::writer::{Writer, json};

/// The type of a body in one piece.
const JSON: &str = "application/json";
/// The type of a stream.
const EVENTS: &str = "text/event-stream";
/// The longest excerpt of a message in an error, in characters.
const EXCERPT: usize = 120;

/// What a server would answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The HTTP status: 200, or that of an error.
    pub status: u16,
    /// The value of the `content-type` header: `application/json` or `text/event-stream`.
    pub content_type: &'static str,
    /// The body: of a stream one whole event per item, otherwise one item.
    pub body: Vec<Bytes>,
}

/// The reply for an answer that fits.
pub(super) fn played(played: &Played, conversation: &Conversation, moment: Moment) -> Reply {
    match played {
        Played::Error {
            status,
            message,
            code,
            kind,
        } => {
            let kind = kind.as_deref().unwrap_or(match status {
                400..=499 => "invalid_request_error",
                _ => "server_error",
            });
            let code = code.as_deref();
            error(
                *status,
                Problem {
                    message,
                    r#type: kind,
                    param: None,
                    code,
                },
            )
        }
        Played::Message {
            text,
            calls,
            finish,
        } => {
            let id = ids::answer(moment.seed);
            let answer = Writer {
                id: &id,
                text: text.as_deref(),
                calls,
                finish,
                conversation,
                moment,
            };
            let (content_type, body) = if conversation.stream {
                (EVENTS, answer.events())
            } else {
                (JSON, vec![answer.whole()])
            };
            Reply {
                status: 200,
                content_type,
                body,
            }
        }
    }
}

/// The reply to what is no chat-completions request.
pub(super) fn malformed(script: &str, problem: &serde_json::Error) -> Reply {
    let message = format!(
        "the script '{script}' cannot read the request: {problem}; send a JSON object with \
         `model` and `messages`"
    );
    bad_request(&message, "malformed_request", None)
}

/// The reply where no answer fits; `lacks_tools` is the number of one that would, if its tools
/// were offered.
///
/// It may reach the caller of the gateway, who must not learn of tools that are not its own:
/// neither names nor results are quoted.
pub(super) fn unmatched(
    script: &str,
    conversation: &Conversation,
    lacks_tools: Option<usize>,
) -> Reply {
    let last = match conversation.last() {
        None => "there is no message but instructions".to_owned(),
        Some(message) => match message.role {
            Role::Assistant => format!(
                "the last message is the assistant's {}",
                quote(&message.text)
            ),
            Role::Tool => {
                format!(
                    "the last message is a tool result of {} bytes",
                    message.text.len()
                )
            }
            Role::User => format!("the last message is the user's {}", quote(&message.text)),
        },
    };
    let tools = lacks_tools.map_or_else(String::new, |number| {
        format!(" answer {number} would fit, but calls a tool that the request does not offer;")
    });
    let message = format!(
        "no answer of the script '{script}' fits: {last};{tools} add an answer for it, or one \
         without `when` at the end of the script"
    );
    bad_request(&message, "no_matching_answer", Some("messages"))
}

fn quote(text: &str) -> String {
    let clean = |character: char| {
        if character.is_control() {
            ' '
        } else {
            character
        }
    };
    let excerpt: String = text.chars().take(EXCERPT).map(clean).collect();
    let more = if text.chars().count() > EXCERPT {
        "..."
    } else {
        ""
    };
    format!("\"{excerpt}{more}\"")
}

fn bad_request(message: &str, code: &str, param: Option<&str>) -> Reply {
    error(
        400,
        Problem {
            message,
            r#type: "invalid_request_error",
            param,
            code: Some(code),
        },
    )
}

/// Errors are one JSON body even where a stream was asked for, as with every server.
fn error(status: u16, problem: Problem<'_>) -> Reply {
    Reply {
        status,
        content_type: JSON,
        body: vec![json(&ErrorBody { error: problem }).into()],
    }
}
