//! The state that waits for the caller.

use serde::{Deserialize, Serialize};

use super::Turn;
use super::action::Action;
use super::asking::answered;
use super::calling::Calling;
use super::core::Core;
use super::hidden::Hidden;
use super::input::{CallerResult, Millis};
use super::notes;
use super::round::{Reply, Round};
use crate::wire::chunk::FinishReason;
use crate::wire::{Call, Message};

/// External calls are with the caller; internal calls of the same answer are parked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HandedBack {
    pub(super) core: Box<Core>,
    round: Round,
}

impl HandedBack {
    /// Ends the request with the external calls of a round (contract A2, A5).
    pub(super) fn hand_back(
        core: Box<Core>,
        round: Round,
        unrepaired: bool,
        actions: &mut Vec<Action>,
    ) -> Turn {
        let external = round.calls.iter().filter_map(|call| {
            let id = call.visible.clone()?;
            Some(Call {
                id,
                ..call.call.clone()
            })
        });
        let answer = answered(
            &core,
            FinishReason::ToolCalls,
            external.collect(),
            unrepaired,
        );
        actions.push(Action::Answer(Box::new(answer)));
        Turn::HandedBack(Box::new(HandedBack { core, round }))
    }

    /// Takes the caller's results, all or none. Without any, no parked call runs either
    /// (contract P3). A part of them changes nothing: the caller is refused (contract P2).
    pub(super) fn returned(
        mut self: Box<Self>,
        results: &[CallerResult],
        messages: Vec<Message>,
        now: Millis,
        actions: &mut Vec<Action>,
    ) -> Turn {
        let none = results.is_empty();
        let mut round = self.round.clone();
        for call in round.calls.iter_mut().filter(|call| call.result.is_none()) {
            if none {
                call.result = Some(Reply::Text(notes::NOT_RUN_BY_CALLER.to_owned()));
                continue;
            }
            let Some(visible) = &call.visible else {
                continue;
            };
            match results.iter().find(|result| result.id == *visible) {
                Some(found) => call.result = Some(Reply::of_caller(&found.message, &call.call.id)),
                None => return Turn::HandedBack(self),
            }
        }
        self.core.begin_request(now);
        Calling::resume(self.core, round, messages, actions)
    }

    /// What the caller cannot bring when it comes back.
    pub(super) fn hidden(&self) -> Option<Hidden> {
        Hidden::of(&self.core, &self.round)
    }
}
