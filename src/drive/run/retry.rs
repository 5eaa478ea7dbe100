//! The same request again: waits for an attempt that still runs, or takes up one that broke off
//! (contract K7).

use std::sync::Arc;

use super::Drive;
use super::again::Course;
use crate::drive::attempt::{Attempt, Beginning};
use crate::drive::checkpoint::Standing;
use crate::drive::once::Replies;
use crate::drive::order::Failure;
use crate::turn::{Action, Say, ServiceCall, Stopped, Turn};

impl Drive {
    /// Waits until nobody else works on the request, within the time of the turn, and goes about
    /// it as the one before has left it.
    pub(super) async fn begin(&mut self) -> Result<(), Failure> {
        let Some(attempt) = &mut self.attempt else {
            return Ok(());
        };
        if attempt.has_to_wait() {
            tracing::info!(
                agent = self.agent.name,
                "another attempt at the same request is waited for"
            );
        }
        let beginning = tokio::select! {
            biased;
            beginning = attempt.begin() => beginning,
            () = &mut self.time => {
                self.calls.wrote = true;
                return Err(Failure::Stopped(Stopped::TurnTimeout));
            }
        };
        match beginning {
            Beginning::Anew => {}
            Beginning::Answered(said, answered) => {
                tracing::info!(agent = self.agent.name, "answered with another attempt");
                self.turn = Turn::Finished;
                self.actions = said.into_iter().map(Action::Say).collect();
                self.actions.push_back(Action::Answer(answered));
            }
            Beginning::Resumed(said, standing) => self.resume(said, *standing),
        }
        Ok(())
    }

    /// Says again what was said, asks again for the calls of the round, and goes on.
    fn resume(&mut self, said: Vec<Say>, standing: Standing) {
        tracing::info!(
            agent = standing.agent,
            round = standing.rounds,
            "an earlier attempt is taken up"
        );
        let member = |name: &str| self.team.as_ref()?.agent(name).cloned();
        if let Some(agent) = member(&standing.agent) {
            self.bound = agent.tools();
            self.agent = agent;
        }
        // It begins with the agent's own upstream, as every request does.
        self.course = Course::default();
        self.turn = standing.turn.served_by(self.agent.source.provider());
        self.watch.resume(self.turn.id());
        self.rounds = standing.rounds;
        self.seed = standing.seed;
        self.calls.wrote = standing.wrote;
        let calls = standing.calls.into_iter().map(Action::CallService);
        self.actions = said.into_iter().map(Action::Say).chain(calls).collect();
    }

    /// Keeps the turn as it stands before the calls of a round, of which this is one.
    pub(super) fn remember(&mut self, call: &ServiceCall) {
        let round = self.turn.rounds();
        let Some(attempt) = self.attempt.as_mut().filter(|at| !at.stands_at(round)) else {
            return;
        };
        // It is the first of them: the others are all that is left to be done.
        let others = self.actions.iter().filter_map(|action| match action {
            Action::CallService(call) => Some(call),
            _ => None,
        });
        let calls: Vec<ServiceCall> = std::iter::once(call).chain(others).cloned().collect();
        attempt.stand(Standing {
            turn: self.turn.clone(),
            calls,
            said: attempt.said(),
            agent: self.agent.name.clone(),
            rounds: self.rounds,
            seed: self.seed,
            wrote: self.calls.wrote,
        });
    }

    /// Where the replies of the round are kept.
    pub(super) fn replies(&self) -> Option<Arc<Replies>> {
        self.attempt.as_ref().and_then(Attempt::replies)
    }
}
