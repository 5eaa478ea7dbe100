//! The internal calls of a turn: run, or hand the conversation over.

use std::sync::Arc;

use super::Drive;
use super::again::Course;
use crate::drive::agent::{Agent, Bound};
use crate::drive::calls::Job;
use crate::drive::team::Team;
use crate::tools::ServiceTool;
use crate::turn::{Input, ServiceCall};
use crate::wire::write::quoted;

impl Drive {
    /// Runs an internal call, or hands the conversation over.
    pub(super) fn call(&mut self, call: ServiceCall) {
        let name = &call.call.name;
        let target = self
            .team
            .as_ref()
            .and_then(|team| team.target(name))
            .cloned();
        if let Some(target) = target {
            self.transfer(&call, target);
            return;
        }
        // A call beside a transfer belongs to whoever made it.
        let known = if self.former.is_empty() {
            &self.bound
        } else {
            &self.former
        };
        let bound = known
            .iter()
            .find(|bound| bound.tool.tool.name == *name)
            .cloned();
        let origin = if call.parked {
            self.handback
        } else {
            self.request
        };
        let (turn, round) = (self.turn.id(), self.turn.rounds());
        let idempotency_key = origin
            .unwrap_or_default()
            .idempotency_key(turn, round, &call);
        self.calls.push(Job {
            call,
            bound,
            idempotency_key,
            replies: self.replies(),
            place: self.watch.call(round),
        });
    }

    /// Hands the conversation to a member of the team: whoever is asked next is another.
    fn transfer(&mut self, call: &ServiceCall, target: Arc<Agent>) {
        let provider = target.source.provider();
        let bound = std::mem::replace(&mut self.bound, target.tools());
        if self.former.is_empty() {
            self.former = bound;
        }
        let services = offered(&self.bound, self.team.as_deref(), &target);
        let arguments = target.arguments;
        let result = format!(
            "{{\"status\":\"transferred\",\"to\":{}}}",
            quoted(&target.name)
        );
        tracing::info!(
            from = self.agent.name,
            to = target.name,
            "conversation transferred"
        );
        self.agent = target;
        self.course = Course::default();
        self.feed(Input::Transferred {
            services,
            arguments,
            provider,
        });
        self.feed(Input::ServiceReplied {
            id: call.call.id.clone(),
            result,
        });
    }
}

/// The service tools that an agent is offered: its own, and its team's.
pub(super) fn offered(bound: &[Bound], team: Option<&Team>, agent: &Agent) -> Vec<ServiceTool> {
    let own = bound.iter().map(|bound| bound.tool.clone());
    own.chain(team.map(|team| team.tools(agent)).unwrap_or_default())
        .collect()
}
