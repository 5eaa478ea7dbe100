//! Everything a turn can ask for.

use bytestring::ByteString;
use serde::{Deserialize, Serialize};

use super::stopped::Stopped;
use crate::tools::{Offer, SideEffect};
use crate::wire::chunk::FinishReason;
use crate::wire::{Call, Raw, Usage};

/// One thing to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Give the caller the end of its answer: the last action of a request. With external calls
    /// it is a handback.
    Answer(Box<Answered>),
    /// Send the turn's messages to the model.
    AskModel(Ask),
    /// Run a service tool; its reply comes back as an input.
    CallService(ServiceCall),
    /// Pass this on to the caller at once.
    Say(Say),
    /// Tell the caller that the turn failed.
    Stop(Stopped),
}

/// How the model is asked.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Ask {
    /// The number of the round, from 1.
    pub round: u32,
    /// The tools it is offered.
    pub offer: Offer,
    /// The `tool_choice` that holds for this round.
    pub choice: Option<Raw>,
}

/// A piece of the answer that the caller can have before the round is over.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Say {
    /// A piece of the arguments of a call (contract S5).
    CallArguments {
        /// The call's place among the external ones.
        index: usize,
        /// The piece: a JSON string.
        piece: Raw,
    },
    /// The beginning of a call whose arguments follow in pieces (contract S5).
    CallHead {
        /// The call's place among the external ones.
        index: usize,
        /// The id under which it is handed back.
        id: ByteString,
        /// The function.
        name: ByteString,
    },
    /// Members of the message that Handback does not act on.
    Fields(Vec<(ByteString, Raw)>),
    /// The model has begun to answer; the first thing that is said. Whether it began with text,
    /// be it empty.
    Opened {
        /// Text is to follow.
        with_text: bool,
    },
    /// A piece of text.
    Text {
        /// A JSON string.
        text: Raw,
        /// `logprobs` of it.
        logprobs: Option<Raw>,
    },
}

/// The end of an answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Answered {
    /// Why it ended.
    pub finish: FinishReason,
    /// The external calls, with the ids under which they are handed back.
    pub calls: Vec<Call>,
    /// Usage over all rounds of the request.
    pub usage: Option<Usage>,
    /// `system_fingerprint` of the last round.
    pub system_fingerprint: Option<Raw>,
    /// `service_tier` of the last round.
    pub service_tier: Option<Raw>,
    /// A call is handed back although its arguments do not fit its schema (contract A6).
    pub unrepaired: bool,
}

/// A call of a service tool.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct ServiceCall {
    /// The call, its arguments checked.
    pub call: Call,
    /// Whether it may run beside others.
    pub side_effect: SideEffect,
    /// It was parked with a handback of an earlier request.
    #[serde(default)]
    pub parked: bool,
    /// How many calls before it in its round are the same in all but the id.
    #[serde(default)]
    pub alike: u32,
}
