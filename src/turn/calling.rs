//! The state that waits for services.

use bytestring::ByteString;
use serde::{Deserialize, Serialize};

use super::Turn;
use super::action::{Action, ServiceCall};
use super::asking::Asking;
use super::core::Core;
use super::input::Provider;
use super::limits::ArgumentPolicy;
use super::notes;
use super::round::{Reply, Round, RoundCall};
use crate::tools::ServiceTool;
use crate::wire::Message;

/// Service tools run; the round goes on when all have replied.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Calling {
    pub(super) core: Box<Core>,
    round: Round,
    /// The caller's messages that stand behind the results of the round.
    then: Vec<Message>,
    /// The round was handed back by an earlier request.
    #[serde(default)]
    resumed: bool,
}

impl Calling {
    /// Runs the internal calls that have no result yet.
    pub(super) fn start(core: Box<Core>, round: Round, actions: &mut Vec<Action>) -> Turn {
        Calling {
            core,
            round,
            then: Vec::new(),
            resumed: false,
        }
        .run(actions)
    }

    /// Runs the internal calls that a handback had parked. `then` follows the results.
    pub(super) fn resume(
        core: Box<Core>,
        round: Round,
        then: Vec<Message>,
        actions: &mut Vec<Action>,
    ) -> Turn {
        Calling {
            core,
            round,
            then,
            resumed: true,
        }
        .run(actions)
    }

    fn run(self, actions: &mut Vec<Action>) -> Turn {
        let mut state = Box::new(self);
        let resumed = state.resumed;
        let mut before: Vec<(ByteString, ByteString)> = Vec::new();
        for call in state
            .round
            .calls
            .iter_mut()
            .filter(|call| call.is_pending())
        {
            let own = (call.call.name.clone(), call.call.arguments.clone());
            let alike = before.iter().filter(|other| **other == own).count();
            before.push(own);
            if state.core.service_calls == state.core.limits.service_calls {
                call.result = Some(Reply::Text(notes::CALL_LIMIT.to_owned()));
                continue;
            }
            state.core.service_calls += 1;
            actions.push(Action::CallService(ServiceCall {
                call: call.call.clone(),
                side_effect: call.side_effect,
                parked: resumed,
                alike: u32::try_from(alike).unwrap_or(u32::MAX),
            }));
        }
        state.go_on(actions)
    }

    /// Another agent takes the conversation over.
    pub(super) fn transferred(
        mut self: Box<Self>,
        services: Vec<ServiceTool>,
        arguments: ArgumentPolicy,
        provider: Provider,
    ) -> Turn {
        self.core.transfer(services, arguments, provider);
        Turn::Calling(self)
    }

    /// Takes the reply of a service; one that nobody waits for is dropped.
    pub(super) fn replied(
        mut self: Box<Self>,
        id: &ByteString,
        result: String,
        actions: &mut Vec<Action>,
    ) -> Turn {
        if let Some(call) = self
            .round
            .calls
            .iter_mut()
            .find(|call| call.is_pending() && call.call.id == *id)
        {
            call.result = Some(Reply::Text(result));
        }
        self.go_on(actions)
    }

    fn go_on(self: Box<Self>, actions: &mut Vec<Action>) -> Turn {
        if self.round.calls.iter().any(RoundCall::is_pending) {
            return Turn::Calling(self);
        }
        let Calling {
            mut core,
            round,
            then,
            resumed,
        } = *self;
        if resumed {
            core.parked = round.internal_replies();
        }
        let upstream = round.upstream.clone();
        core.extend(Some(&upstream), round.into_messages());
        core.extend(None, then);
        if resumed {
            core.request_start = core.messages.len();
        } else {
            core.unseen = true;
        }
        Asking::ask(core, actions)
    }
}
