//! One answer of a script: when it fits, and what it is.
//!
//! Invariant: an answer that fits has something to give: a text, a call or an error.

use serde::Deserialize;

use super::call::{self, Call, NotOffered, PlayedCall};
use super::condition::When;
use super::conversation::Conversation;
use super::list;
use super::template::Template;

/// An answer and its conditions.
#[derive(Debug, Deserialize)]
#[serde(try_from = "Written")]
pub(super) struct Answer {
    pub when: When,
    gives: Gives,
}

/// What an answer consists of.
#[derive(Debug)]
enum Gives {
    Error(Failure),
    Message {
        say: Option<Template>,
        calls: Vec<Call>,
        finish: Option<String>,
    },
}

/// An answer as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    #[serde(default)]
    when: When,
    say: Option<Template>,
    #[serde(default, deserialize_with = "list::tables")]
    calls: Vec<Call>,
    finish: Option<Finish>,
    error: Option<Failure>,
}

/// A `finish_reason`: any, since scripts may play servers with reasons of their own.
#[derive(Deserialize)]
#[serde(try_from = "String")]
struct Finish(String);

/// An error instead of an answer.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Failure {
    status: Status,
    message: Template,
    code: Option<String>,
    r#type: Option<String>,
}

/// An HTTP status of the 400s or 500s.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(try_from = "i64")]
struct Status(u16);

/// An answer that fits, its references filled in.
#[derive(Debug)]
pub(super) enum Played {
    Error {
        status: u16,
        message: String,
        code: Option<String>,
        kind: Option<String>,
    },
    Message {
        text: Option<String>,
        calls: Vec<PlayedCall>,
        finish: String,
    },
}

impl Answer {
    /// Whether there is no conversation that the answer does not fit.
    pub(super) fn fits_always(&self) -> bool {
        let gives_always = match &self.gives {
            Gives::Error(_) => true,
            Gives::Message { say, calls, .. } => {
                let made = |call: &Call| call.if_not_offered == NotOffered::Call;
                calls
                    .iter()
                    .all(|call| call.if_not_offered != NotOffered::NoMatch)
                    && (say.is_some() || calls.iter().any(made))
            }
        };
        gives_always && self.when.is_empty()
    }

    /// The answer, if it fits.
    pub(super) fn play(&self, conversation: &Conversation) -> Option<Played> {
        if !self.when.holds(conversation) {
            return None;
        }
        match &self.gives {
            Gives::Error(failure) => Some(Played::Error {
                status: failure.status.0,
                message: failure.message.text(conversation),
                code: failure.code.clone(),
                kind: failure.r#type.clone(),
            }),
            Gives::Message { say, calls, finish } => {
                let calls = call::play(calls, conversation)?;
                if say.is_none() && calls.is_empty() {
                    return None;
                }
                let usual = if calls.is_empty() {
                    "stop"
                } else {
                    "tool_calls"
                };
                Some(Played::Message {
                    text: say.as_ref().map(|say| say.text(conversation)),
                    calls,
                    finish: finish.clone().unwrap_or_else(|| usual.to_owned()),
                })
            }
        }
    }
}

impl TryFrom<Written> for Answer {
    type Error = &'static str;

    fn try_from(written: Written) -> Result<Self, Self::Error> {
        let Written {
            when,
            say,
            calls,
            finish,
            error,
        } = written;
        let says_something = say.is_some() || !calls.is_empty();
        let gives = match error {
            Some(_) if says_something || finish.is_some() => {
                return Err(
                    "an answer is either an `error` or has `say`, `calls` and `finish`; \
                            remove one side, or make two answers of it",
                );
            }
            Some(failure) => Gives::Error(failure),
            None if says_something => Gives::Message {
                say,
                calls,
                finish: finish.map(|Finish(reason)| reason),
            },
            None => return Err("the answer gives nothing; add `say`, `calls` or `error`"),
        };
        Ok(Self { when, gives })
    }
}

impl TryFrom<String> for Finish {
    type Error = &'static str;

    fn try_from(reason: String) -> Result<Self, Self::Error> {
        if reason.is_empty() {
            return Err("the reason is empty; write one, such as \"length\", or leave the key out");
        }
        Ok(Self(reason))
    }
}

impl TryFrom<i64> for Status {
    type Error = String;

    fn try_from(number: i64) -> Result<Self, Self::Error> {
        match u16::try_from(number) {
            Ok(status @ 400..=599) => Ok(Self(status)),
            _ => Err(format!(
                "{number} is not the status of an error; write one of 400 to 599"
            )),
        }
    }
}
