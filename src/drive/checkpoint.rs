//! What is kept of an attempt, so that the same request can take it up where it stood.
//!
//! The engine is pure, so a turn that is about to call services is all there is to keep: the calls
//! are asked for again, those that ran answer from memory, and the turn goes on as if nothing had
//! happened. What the caller was told before that is told again, word for word.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::once::Replies;
use crate::turn::{Answered, Say, ServiceCall, Turn};

/// One attempt at a request, by whoever works on it now.
#[derive(Default)]
pub(super) struct Record {
    /// What the caller was told, in order.
    pub(super) said: Vec<Say>,
    /// Where it can be taken up; none before a service was called.
    pub(super) checkpoint: Option<Checkpoint>,
    /// How it ended: for those who waited for it, and for a caller who did not get it.
    pub(super) answer: Option<Box<Answered>>,
}

/// A turn that is about to call services, and what became of the calls.
#[derive(Clone)]
pub(super) struct Checkpoint {
    pub(super) standing: Standing,
    /// What became of the calls so far. Those whose caller has gone still end up here.
    pub(super) replies: Arc<Replies>,
}

/// A turn that is about to call services.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Standing {
    pub(super) turn: Turn,
    /// The calls of the round.
    pub(super) calls: Vec<ServiceCall>,
    /// How much of what the caller was told stands before them.
    pub(super) said: usize,
    /// The name of the agent that was active.
    pub(super) agent: String,
    pub(super) rounds: u32,
    pub(super) seed: u64,
    /// A tool with side effects was run in an earlier round.
    pub(super) wrote: bool,
}

impl Record {
    /// Nothing is known of the request.
    pub(super) fn is_blank(&self) -> bool {
        self.checkpoint.is_none() && self.answer.is_none()
    }

    /// Bytes that are kept, roughly: the conversation, which holds on to the caller's body, what
    /// was said, and the replies of at most `reply_limit` each.
    pub(super) fn bytes(&self, reply_limit: usize) -> usize {
        let Some(checkpoint) = &self.checkpoint else {
            return 0;
        };
        let messages = checkpoint.standing.turn.messages().iter();
        let messages: usize = messages.map(|message| message.raw.get().len()).sum();
        let said: usize = self.said.iter().map(said_bytes).sum();
        messages + said + checkpoint.replies.bytes(reply_limit)
    }
}

fn said_bytes(say: &Say) -> usize {
    let content = match say {
        Say::CallArguments { piece, .. } => piece.get().len(),
        Say::CallHead { id, name, .. } => id.len() + name.len(),
        Say::Fields(fields) => fields
            .iter()
            .map(|(key, value)| key.len() + value.get().len())
            .sum(),
        Say::Opened { .. } => 0,
        Say::Text { text, logprobs } => {
            text.get().len() + logprobs.as_ref().map_or(0, |logprobs| logprobs.get().len())
        }
    };
    size_of::<Say>() + content
}
