//! What a caller who comes back cannot bring, and how it is put back in its place.
//!
//! A caller sends the visible part of a turn: one assistant message with the external calls, and
//! their results. What happened before that message in the same request, the internal calls that
//! were parked with it, and the members of the upstream's message that bind it to its provider
//! are [`Hidden`]. With both, the history that the model saw is written again, byte for byte.
//!
//! The visible part is the caller's (contract K5): where it changed the text or the arguments,
//! its version is shown to the model, and what was bound to the original is left out. Text that
//! is missing, trimmed or sent in parts is unchanged; so are arguments of the same value.

use bytestring::ByteString;
use serde::{Deserialize, Serialize};

use super::core::Core;
use super::edits;
use super::foreign;
use super::history::History;
use super::notes;
use super::origins::Origins;
use super::round::{Reply, Round, RoundCall};
use super::said;
use crate::wire::Message;

/// The hidden part of one request that ended with a handback.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Hidden {
    /// The turn that it belongs to.
    turn: u64,
    /// The replies of the calls that the handback before this one had parked, in order.
    parked: Vec<String>,
    /// What was said and done unseen before the handback.
    messages: Vec<Message>,
    /// Which upstream these are from.
    #[serde(default, skip_serializing_if = "Origins::is_empty")]
    origins: Origins,
    /// The handback: the model's message and its calls.
    round: Round,
    /// All text that the caller was given with it, escaped.
    said: String,
    /// What was used up of the turn's bounds.
    rounds: u32,
    #[serde(default)]
    free_rounds: u32,
    repairs: u32,
    service_calls: u32,
}

/// A turn that goes on with a request.
#[derive(Clone, Debug, PartialEq)]
pub struct Resume {
    pub(super) turn: u64,
    /// The handback with the caller's results; its parked calls are to be run. None if there is
    /// nothing to be run.
    pub(super) round: Option<Round>,
    /// The caller's messages behind the results.
    pub(super) then: Vec<Message>,
    pub(super) rounds: u32,
    pub(super) free_rounds: u32,
    pub(super) repairs: u32,
    pub(super) service_calls: u32,
}

impl Resume {
    /// The round whose parked calls are to be run, and what stands behind its results.
    pub(super) fn take_round(&mut self) -> Option<(Round, Vec<Message>)> {
        let round = self.round.take()?;
        Some((round, std::mem::take(&mut self.then)))
    }
}

/// The visible part of a handback as the caller sent it.
pub(super) struct Visible<'a> {
    /// The assistant message, merged if it was several.
    pub(super) message: Message,
    /// The result of each of its calls, where there is one.
    pub(super) results: Vec<Option<Message>>,
    /// Replies of parked calls that a later handback of the same turn brought.
    pub(super) parked: Option<&'a [String]>,
    /// The results are due: parked calls are still to be run.
    pub(super) due: bool,
}

impl Hidden {
    /// What is hidden of a handback; none if the caller has all of it (contract K1).
    pub(super) fn of(core: &Core, round: &Round) -> Option<Hidden> {
        let messages = core.messages.get(core.request_start..).unwrap_or_default();
        let internal = round.calls.iter().any(|call| call.visible.is_none());
        // A turn in which anything ran unseen carries on what it used of its bounds, and who is
        // active in it.
        let carried = internal
            || core.unseen
            || core.service_calls > 0
            || round.has_provider_fields()
            || core.provider.ids_bind && round.has_ids_of_its_own();
        carried.then(|| Hidden {
            turn: core.turn,
            parked: core.parked.clone(),
            messages: messages.to_vec(),
            origins: core.origins.since(core.request_start),
            round: round.clone(),
            said: core.said.clone(),
            rounds: core.rounds,
            free_rounds: core.free_rounds,
            repairs: core.repairs,
            service_calls: core.service_calls,
        })
    }

    /// The hidden part without the id that is about to be replaced by its own seal, which the
    /// caller never sees.
    #[must_use]
    pub fn with_sealed(mut self, id: &ByteString) -> Hidden {
        self.rename(id, &ByteString::new());
        self
    }

    /// The hidden part that was opened from `id`: its call goes by that name with the caller.
    #[must_use]
    pub fn under_sealed(mut self, id: &ByteString) -> Hidden {
        self.rename(&ByteString::new(), id);
        self
    }

    fn rename(&mut self, from: &ByteString, to: &ByteString) {
        let call = self
            .round
            .calls
            .iter_mut()
            .find(|call| call.visible.as_ref() == Some(from));
        if let Some(call) = call {
            call.visible = Some(to.clone());
        }
    }

    /// The ids under which the caller knows the calls of the handback.
    pub(super) fn visible_ids(&self) -> impl Iterator<Item = &ByteString> {
        let calls = self.round.calls.iter();
        calls.filter_map(|call| call.visible.as_ref())
    }

    /// All text that the caller was given with the handback, escaped.
    pub(super) fn said(&self) -> &str {
        &self.said
    }

    /// The turn that it belongs to: handbacks of one turn bring each other's replies.
    pub(super) fn turn(&self) -> u64 {
        self.turn
    }

    /// The replies that belong to the handback before this one.
    pub(super) fn parked(&self) -> &[String] {
        &self.parked
    }

    /// Writes the hidden messages and the handback again. Gives the round if parked calls of it
    /// are to be run, and the caller's results in it.
    pub(super) fn restore(self, visible: &Visible<'_>, out: &mut History) -> Option<Round> {
        let edited = !said::is_said(&self.said, &visible.message);
        let mut messages = self.messages;
        if edited {
            // The caller's text stands for all that was said, so it is said once, and what was
            // bound to the original is left out (contract K5); what is bound to a call stays.
            let unsaid = |message| match said::without_text_of_model(message) {
                Ok(message) => foreign::without_own_fields(message),
                Err(message) => message,
            };
            messages = messages.into_iter().map(unsaid).collect();
        }
        out.append(messages, &self.origins);
        let answered = visible.results.iter().any(Option::is_some);
        let due = visible.due && answered;
        let mut merged = edits::merge(self.round, visible, edited);
        let mut calls = std::mem::take(&mut merged.calls);
        let mut replies = visible.parked.unwrap_or_default().iter();
        for call in &mut calls {
            // Every internal call has its reply among them, one that never ran too.
            let kept = if call.visible.is_none() {
                replies.next()
            } else {
                None
            };
            if call.result.is_some() {
                continue;
            }
            let text = match &call.visible {
                None if due => continue,
                None if answered => kept.map_or(notes::NOT_KEPT, String::as_str),
                _ => notes::NOT_RUN_BY_CALLER,
            };
            call.result = Some(Reply::Text(text.to_owned()));
        }
        let round = Round { calls, ..merged };
        if round.calls.iter().any(|call| call.result.is_none()) {
            return Some(round);
        }
        let origin = Origins::all(&round.upstream);
        out.append(round.into_messages().collect(), &origin);
        None
    }

    /// The hidden part of a carry that names no more than the upstream of the handback: earlier
    /// releases took out themselves what was of another.
    #[must_use]
    pub fn or_from(mut self, upstream: &str) -> Hidden {
        if self.round.upstream.is_empty() {
            self.round.upstream = ByteString::from(upstream);
            self.origins = Origins::all(&self.round.upstream);
        }
        self
    }

    /// How the turn goes on behind the handback.
    pub(super) fn resume(&self) -> Resume {
        Resume {
            turn: self.turn,
            round: None,
            then: Vec::new(),
            rounds: self.rounds,
            free_rounds: self.free_rounds,
            repairs: self.repairs,
            service_calls: self.service_calls,
        }
    }
}

impl AsRef<Hidden> for Hidden {
    fn as_ref(&self) -> &Hidden {
        self
    }
}

impl Round {
    fn has_provider_fields(&self) -> bool {
        self.calls.iter().any(|call| !call.call.extra.is_empty())
            || foreign::binds_to_provider(&self.message)
    }

    /// Whether the upstream knows one of its calls by another id than the caller.
    fn has_ids_of_its_own(&self) -> bool {
        let mut ids = self.calls.iter().map(|call| (&call.visible, &call.call.id));
        ids.any(|(visible, id)| visible.as_ref().is_some_and(|visible| visible != id))
    }

    /// The replies of its internal calls, in order.
    pub(super) fn internal_replies(&self) -> Vec<String> {
        let internal = self.calls.iter().filter(|call| call.visible.is_none());
        let text = |call: &RoundCall| match &call.result {
            Some(Reply::Text(text)) => text.clone(),
            _ => String::new(),
        };
        internal.map(text).collect()
    }

    /// The messages of a round in which everything has its result.
    pub(super) fn into_messages(self) -> impl Iterator<Item = Message> {
        std::iter::once(self.message).chain(self.calls.into_iter().map(RoundCall::into_message))
    }
}
