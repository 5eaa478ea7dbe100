//! Writes an answer as a server does, in one piece or as events.
//!
//! Invariant: both forms say the same: the same id, calls, finish reason and usage, and the
//! pieces of a text or of arguments join to the whole.

use bytes::Bytes;
use serde::Serialize;

use super::Moment;
use super::call::PlayedCall;
use super::conversation::Conversation;
use super::ids;
use super::wire::{
    ArgumentsOnly, Call, Choice, Chunk, ChunkChoice, ChunkUsage, Completion, Delta, Fragment,
    Function, Message, Usage,
};

/// The longest piece of arguments, in characters: about what servers send at once.
const FRAGMENT: usize = 16;

/// Writes one answer.
pub(super) struct Writer<'a> {
    pub id: &'a str,
    pub text: Option<&'a str>,
    pub calls: &'a [PlayedCall],
    pub finish: &'a str,
    pub conversation: &'a Conversation,
    pub moment: Moment,
}

impl<'a> Writer<'a> {
    /// The answer in one piece.
    pub(super) fn whole(&self) -> Bytes {
        let calls = self.calls.iter().enumerate();
        let calls = calls.map(|(place, call)| self.call(place, None, &call.name, &call.arguments));
        let message = Message {
            role: "assistant",
            content: self.text,
            refusal: (),
            tool_calls: calls.collect(),
        };
        let choice = Choice {
            index: 0,
            message,
            logprobs: (),
            finish_reason: self.finish,
        };
        let completion = Completion {
            id: self.id,
            object: "chat.completion",
            created: self.moment.created,
            model: &self.conversation.model,
            choices: [choice],
            usage: self.usage(),
        };
        json(&completion).into()
    }

    /// The answer as the events of a stream.
    pub(super) fn events(&self) -> Vec<Bytes> {
        // Servers open a text with an empty one, and calls with none.
        let opening = self.text.map(|_| "");
        let role = Delta::Role {
            role: "assistant",
            content: opening,
            refusal: (),
        };
        let mut events = vec![self.delta(role, None)];
        for content in self
            .text
            .unwrap_or_default()
            .split_inclusive(char::is_whitespace)
        {
            events.push(self.delta(Delta::Content { content }, None));
        }
        for (place, call) in self.calls.iter().enumerate() {
            let start = [self.call(place, Some(place), &call.name, "")];
            events.push(self.delta(Delta::Call { tool_calls: start }, None));
            for arguments in fragments(&call.arguments) {
                let function = ArgumentsOnly { arguments };
                let tool_calls = [Fragment {
                    index: place,
                    function,
                }];
                events.push(self.delta(Delta::Arguments { tool_calls }, None));
            }
        }
        events.push(self.delta(Delta::Finish {}, Some(self.finish)));
        if self.conversation.include_usage {
            events.push(self.chunk(Vec::new(), ChunkUsage::Total(self.usage())));
        }
        events.push(Bytes::from_static(b"data: [DONE]\n\n"));
        events
    }

    fn delta(&self, delta: Delta<'a>, finish_reason: Option<&'a str>) -> Bytes {
        self.chunk(
            vec![ChunkChoice {
                index: 0,
                delta,
                logprobs: (),
                finish_reason,
            }],
            ChunkUsage::Later,
        )
    }

    fn chunk(&self, choices: Vec<ChunkChoice<'a>>, usage: ChunkUsage) -> Bytes {
        let chunk = Chunk {
            id: self.id,
            object: "chat.completion.chunk",
            created: self.moment.created,
            model: &self.conversation.model,
            choices,
            usage: self.conversation.include_usage.then_some(usage),
        };
        [b"data: ", json(&chunk).as_slice(), b"\n\n"]
            .concat()
            .into()
    }

    fn call(
        &self,
        place: usize,
        index: Option<usize>,
        name: &'a str,
        arguments: &'a str,
    ) -> Call<'a> {
        let id = ids::call(self.moment.seed, place);
        Call {
            index,
            id,
            r#type: "function",
            function: Function { name, arguments },
        }
    }

    /// The estimate that the documentation of the form promises.
    fn usage(&self) -> Usage {
        let calls = self
            .calls
            .iter()
            .map(|call| call.name.len() + call.arguments.len());
        let written = self.text.map_or(0, str::len) + calls.sum::<usize>();
        let prompt_tokens = self.conversation.prompt_bytes.div_ceil(4);
        let completion_tokens = written.div_ceil(4);
        let total_tokens = prompt_tokens + completion_tokens;
        Usage {
            prompt_tokens,
            completion_tokens,
            total_tokens,
        }
    }
}

/// `text` in pieces, at least two of them if it has two characters.
fn fragments(text: &str) -> impl Iterator<Item = &str> {
    let length = (text.chars().count() / 3).clamp(1, FRAGMENT);
    let mut rest = text;
    std::iter::from_fn(move || {
        let end = rest
            .char_indices()
            .nth(length)
            .map_or(rest.len(), |(place, _)| place);
        let (piece, behind) = rest.split_at_checked(end)?;
        rest = behind;
        (!piece.is_empty()).then_some(piece)
    })
}

/// The JSON text of one of the shapes.
pub(super) fn json(value: &impl Serialize) -> Vec<u8> {
    // Cannot fail: these are structs of texts and numbers.
    serde_json::to_vec(value).unwrap_or_default()
}
