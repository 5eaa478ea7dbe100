//! The turn engine: what happens between a caller's message and the answer, as a value.
//!
//! A [`Turn`] takes one [`Input`] at a time and says what is to be done as [`Action`]s. Whoever
//! runs it performs the actions and feeds what comes of them:
//!
//! ```text
//!            Turn::open ──> AskModel  (or, with parked calls, Calling)
//!                             │  deltas, end of answer
//!                             ▼
//!   ┌───────────────────> Asking ── text, fields ──> Say (to the caller, at once)
//!   │                         │
//!   │        internal calls   │  external calls (mixed or not)   neither
//!   │             ┌───────────┼──────────────┐                      │
//!   │             ▼           │              ▼                      ▼
//!   │  ┌────── Calling <──────┼──────── HandedBack              Finished
//!   │  │          ▲           │ invalid      │
//!   │  │ replies  │           │ calls        │ results of the caller
//!   └──┴──────────┴───────────┴──────────────┘
//! ```
//!
//! **The engine's contract.** Every input is answered before the next is fed: its actions are
//! performed in order. A turn is the same whether it ran through or was stored and read back
//! between any two inputs ([`Snapshot`]). What is over stays over: an ended or failed turn
//! answers every further input by staying as it is.
//!
//! Invariant: no async, IO, clock, randomness, environment or log in this folder. Time comes in
//! as epoch milliseconds, ids come from the seed that the turn was opened with.
//!
//! Deliberately absent: envelopes and event streams (the doors' business), and anything that
//! knows whether the caller wants a stream.

mod action;
mod asking;
mod calling;
mod core;
mod edits;
mod foreign;
mod gather;
mod handed_back;
mod hidden;
pub mod history;
mod ids;
mod input;
pub mod limits;
mod notes;
mod origins;
mod pairing;
mod pairs;
mod pieces;
mod round;
mod said;
mod stopped;
mod verdict;

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

pub use action::{Action, Answered, Ask, Say, ServiceCall};
pub use core::Setup;
pub use hidden::{Hidden, Resume};
pub use history::{Conversation, Handback, History};
pub use ids::{CARRIER, begins_like};
pub use input::{CallerResult, Input, Millis, Provider};
pub use limits::{ArgumentPolicy, Limits};
pub use origins::Origins;
pub use stopped::Stopped;

use asking::Asking;
use calling::Calling;
use core::Core;
use handed_back::HandedBack;

use crate::wire::Message;

/// One turn, in the state in which it waits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Turn {
    /// For the model's answer.
    Asking(Box<Asking>),
    /// For the replies of services.
    Calling(Box<Calling>),
    /// For the caller's results.
    HandedBack(Box<HandedBack>),
    /// For nothing: it was answered.
    Finished,
    /// For nothing: it failed.
    Stopped(Stopped),
}

impl Turn {
    /// Opens a turn and asks the model.
    ///
    /// A follow-up with parked calls runs these first.
    pub fn open(mut setup: Setup, actions: &mut Vec<Action>) -> Turn {
        let parked = setup.resume.as_mut().and_then(Resume::take_round);
        let core = Core::new(setup);
        match parked {
            Some((round, then)) => Calling::resume(core, round, then, actions),
            None => Asking::ask(core, actions),
        }
    }

    /// After a handback: what the caller cannot bring when it comes back. None if it has
    /// everything.
    pub fn hidden(&self) -> Option<Hidden> {
        if let Turn::HandedBack(state) = self {
            state.hidden()
        } else {
            None
        }
    }

    /// Takes one input; what is to be done is appended to `actions`.
    #[must_use]
    pub fn handle(self, input: Input, actions: &mut Vec<Action>) -> Turn {
        let next = match (self, input) {
            (over @ (Turn::Finished | Turn::Stopped(_)), _) => return over,
            (_, Input::Cancelled) => Err(Stopped::Cancelled),
            (_, Input::TimeUp) => Err(Stopped::TurnTimeout),
            (Turn::Asking(state), Input::Delta(delta)) => state.delta(delta, actions),
            (Turn::Asking(state), Input::AnswerEnded) => (*state).ended(actions),
            (Turn::Asking(_), Input::AnswerFailed) => Err(Stopped::ModelFailed),
            (Turn::Asking(state), Input::AskedAgain { provider }) => {
                state.asked_again(provider, actions)
            }
            (Turn::Calling(state), Input::ServiceReplied { id, result }) => {
                Ok(state.replied(&id, result, actions))
            }
            (
                Turn::Calling(state),
                Input::Transferred {
                    services,
                    arguments,
                    provider,
                },
            ) => Ok(state.transferred(services, arguments, provider)),
            (
                Turn::HandedBack(state),
                Input::CallerReturned {
                    results,
                    messages,
                    now,
                },
            ) => Ok(state.returned(&results, messages, now, actions)),
            // Late or foreign: a reply of a call that is settled, a delta after the end.
            (waiting, _) => Ok(waiting),
        };
        next.unwrap_or_else(|stopped| {
            actions.push(Action::Stop(stopped.clone()));
            Turn::Stopped(stopped)
        })
    }

    /// The turn as it goes on where another upstream serves the model.
    #[must_use]
    pub fn served_by(mut self, provider: Provider) -> Turn {
        let core = match &mut self {
            Turn::Asking(state) => Some(&mut state.core),
            Turn::Calling(state) => Some(&mut state.core),
            Turn::HandedBack(state) => Some(&mut state.core),
            Turn::Finished | Turn::Stopped(_) => None,
        };
        if let Some(core) = core {
            core.provider = provider;
        }
        self
    }

    /// The whole conversation in the round that is due.
    pub fn messages(&self) -> &[Message] {
        self.core().map_or(&[], |core| &core.messages)
    }

    /// The conversation as the model is to see it in the round that is due: without what other
    /// upstreams have bound to their messages (contract U3).
    pub fn shown(&self) -> Cow<'_, [Message]> {
        self.core().map_or(Cow::Borrowed(&[]), Core::shown)
    }

    /// The tools of the turn.
    pub fn catalogue(&self) -> Option<&crate::tools::Catalogue> {
        self.core().map(|core| &core.catalogue)
    }

    /// Whether the model may be asked again in place of an answer that broke off: nothing of that
    /// answer is with the caller.
    pub fn may_ask_again(&self) -> bool {
        matches!(self, Turn::Asking(state) if !state.has_said())
    }

    /// When the turn's time is up; `None` once it is over.
    pub fn deadline(&self) -> Option<Millis> {
        self.core().map(|core| core.deadline)
    }

    /// The turn's own number, the same in all its requests; 0 once it is over.
    pub fn id(&self) -> u64 {
        self.core().map_or(0, |core| core.turn)
    }

    /// Model requests so far.
    pub fn rounds(&self) -> u32 {
        self.core().map_or(0, |core| core.rounds)
    }

    fn core(&self) -> Option<&Core> {
        match self {
            Turn::Asking(state) => Some(&state.core),
            Turn::Calling(state) => Some(&state.core),
            Turn::HandedBack(state) => Some(&state.core),
            Turn::Finished | Turn::Stopped(_) => None,
        }
    }
}

/// The version of the stored form of a turn.
pub const SNAPSHOT_VERSION: u32 = 1;

/// A turn as it is stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    /// [`SNAPSHOT_VERSION`] of the release that wrote it.
    pub version: u32,
    /// The turn.
    pub turn: Turn,
}

impl Snapshot {
    /// The stored form of `turn`.
    pub fn of(turn: Turn) -> Snapshot {
        Snapshot {
            version: SNAPSHOT_VERSION,
            turn,
        }
    }
}
