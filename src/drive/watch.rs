//! What an operator sees of a turn: each round and each call of a service tool, how long it took
//! and how it ended. No content.
//!
//! Every line bears the name of its turn: the same in a follow-up, on any replica, if the handback
//! before it carried something.

use std::sync::Arc;
use std::time::Duration;

use super::agent::{Agent, Bound};
use super::clock::Stopwatch;
use super::source::Source;
use crate::services::Outcome;
use crate::telemetry::{Decision, RoundOutcome, ServiceCall};
use crate::upstream::Error;

/// Watches the rounds of one request.
pub(super) struct Rounds {
    turn: u64,
    under_way: Option<Round>,
}

struct Round {
    number: u32,
    agent: Arc<Agent>,
    time: Stopwatch,
}

impl Rounds {
    pub(super) fn of(turn: u64) -> Rounds {
        Rounds {
            turn,
            under_way: None,
        }
    }

    /// An earlier attempt at the request is taken up, and its turn.
    pub(super) fn resume(&mut self, turn: u64) {
        self.turn = turn;
    }

    pub(super) fn turn(&self) -> u64 {
        self.turn
    }

    /// The model is asked.
    pub(super) fn begin(&mut self, number: u32, agent: &Arc<Agent>) {
        self.under_way = Some(Round {
            number,
            agent: Arc::clone(agent),
            time: Stopwatch::start(),
        });
    }

    /// The upstream of the round answers again after a rest.
    pub(super) fn recovered(&self, source: &Source) {
        let Some(round) = &self.under_way else {
            return;
        };
        let decision = Decision::Recovered;
        round.agent.metrics.decided(&source.name, decision);
        tracing::info!(upstream = source.name, "the upstream answers again");
    }

    /// Something was decided about the model request of the round, which failed: one line and one
    /// count for each decision.
    pub(super) fn decided(
        &self,
        source: &Source,
        decision: Decision,
        error: &Error,
        pause: Duration,
    ) {
        let Some(round) = &self.under_way else {
            return;
        };
        round.agent.metrics.decided(&source.name, decision);
        // The last error of a request is counted where it is answered with.
        if decision != Decision::Rests {
            round.agent.metrics.upstream_error(error.kind());
        }
        tracing::warn!(
            agent = round.agent.name,
            upstream = source.name,
            round = round.number,
            kind = error.kind(),
            upstream_status = error.status(),
            decision = decision.as_str(),
            pause_ms = u64::try_from(pause.as_millis()).unwrap_or(u64::MAX),
            "model request failed"
        );
    }

    /// The round is over, if there is one.
    pub(super) fn end(&mut self, outcome: RoundOutcome) {
        let Some(round) = self.under_way.take() else {
            return;
        };
        let duration = round.time.elapsed();
        round.agent.metrics.round(outcome, duration);
        tracing::debug!(
            turn = TurnName::of(self.turn).as_str(),
            agent = round.agent.name,
            round = round.number,
            outcome = outcome.as_str(),
            duration_us = micros(duration),
            "round"
        );
    }
}

impl Drop for Rounds {
    fn drop(&mut self) {
        self.end(RoundOutcome::Abandoned);
    }
}

/// One call of a service tool, from its beginning.
pub(super) struct Watched {
    turn: u64,
    round: u32,
    time: Stopwatch,
}

impl Watched {
    pub(super) fn begin(turn: u64, round: u32) -> Watched {
        Watched {
            turn,
            round,
            time: Stopwatch::start(),
        }
    }

    /// The call is over, whoever still waits for it.
    pub(super) fn end(self, bound: &Bound, outcome: Outcome) {
        let duration = self.time.elapsed();
        bound.agent.metrics.service_call(&ServiceCall {
            service: &bound.service_name,
            tool: bound.series(),
            outcome: outcome.as_str(),
            duration,
        });
        tracing::info!(
            turn = TurnName::of(self.turn).as_str(),
            agent = bound.agent.name,
            service = bound.service_name,
            tool = bound.own_name,
            outcome = outcome.as_str(),
            round = self.round,
            duration_us = micros(duration),
            "service call"
        );
    }
}

/// A turn's name in the log.
pub struct TurnName([u8; 16]);

impl TurnName {
    /// The name of the turn with this number.
    pub fn of(turn: u64) -> TurnName {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let bytes = turn.to_be_bytes();
        let digit = |at: usize| {
            let byte = bytes[at / 2];
            let half = if at.is_multiple_of(2) {
                byte >> 4
            } else {
                byte & 15
            };
            DIGITS[usize::from(half)]
        };
        TurnName(std::array::from_fn(digit))
    }

    /// As text.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}
