//! Everything that can happen to a turn.

use std::time::Duration;

use bytestring::ByteString;
use serde::{Deserialize, Serialize};

use super::limits::ArgumentPolicy;
use crate::tools::ServiceTool;
use crate::wire::{Delta, Message};

/// Milliseconds since the Unix epoch.
#[derive(Clone, Copy, Debug, Default, Eq, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Millis(pub u64);

impl Millis {
    /// Whether no more than `window` has passed since `earlier`.
    pub fn is_within(self, earlier: Millis, window: Duration) -> bool {
        u128::from(self.0.saturating_sub(earlier.0)) <= window.as_millis()
    }
}

/// One thing that happened.
#[expect(
    clippy::large_enum_variant,
    reason = "deltas are by far the most frequent, and a box would cost each an allocation"
)]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Input {
    /// The model's answer is complete: the upstream said so.
    AnswerEnded,
    /// The model request failed, or its answer broke off.
    AnswerFailed,
    /// It failed before anything of its answer was said, and is to be made again
    /// ([`super::Turn::may_ask_again`]; contract U5).
    AskedAgain {
        /// Who is asked.
        provider: Provider,
    },
    /// The caller came back after a handback.
    CallerReturned {
        /// What it ran. Either all results that are due or none (contract P1 to P3).
        results: Vec<CallerResult>,
        /// Its new messages, which follow the results.
        messages: Vec<Message>,
        /// When: the time of the turn is counted per request.
        now: Millis,
    },
    /// The caller is gone, or has had enough.
    Cancelled,
    /// A piece of the model's answer.
    Delta(Delta),
    /// A service replied, or its time was up: what the model is to be told.
    ServiceReplied {
        /// The call it is about.
        id: ByteString,
        /// The result as text.
        result: String,
    },
    /// The time of the turn is up.
    TimeUp,
    /// Another agent took the conversation over: what its services offer, and how strictly it
    /// takes arguments. Its turn to be asked is the next round.
    Transferred {
        /// The service tools from now on.
        services: Vec<ServiceTool>,
        /// How strictly arguments are taken from now on.
        arguments: ArgumentPolicy,
        /// Who serves its model.
        provider: Provider,
    },
}

/// The upstream that serves a model.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Provider {
    /// Its name: what it binds to its messages is shown to no other (contract U3). Empty if that
    /// is not known.
    pub upstream: ByteString,
    /// The ids that it gives carry something: they bind like a provider field.
    pub ids_bind: bool,
}

/// What the caller's function gave.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct CallerResult {
    /// The id under which the call was handed back.
    pub id: ByteString,
    /// The caller's tool message.
    pub message: Message,
}
