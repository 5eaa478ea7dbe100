//! What an operator sees of a turn: each round and each call of a service tool, how long it took
//! and how it ended, in metrics, log and trace. No content.
//!
//! Every line bears the name of its turn: the same in a follow-up, on any replica, if the handback
//! before it carried something.

use std::sync::Arc;
use std::time::Duration;

use super::agent::{Agent, Bound};
use super::clock::Stopwatch;
use super::source::Source;
use crate::services::Outcome;
use crate::telemetry::traces::{CallSpan, ModelFailure, ModelRequest, RoundSpan, Tokens, Trace};
use crate::telemetry::{Decision, RoundOutcome, ServiceCall};
use crate::upstream::Error;
use crate::wire::usage::Usage;

/// Watches the rounds of one request.
pub(super) struct Rounds {
    turn: u64,
    /// What spans hang on, if the request is traced.
    trace: Option<Trace>,
    under_way: Option<Round>,
}

struct Round {
    number: u32,
    agent: Arc<Agent>,
    time: Stopwatch,
    traced: Option<Traced>,
}

/// What a span is told of a round beyond what a log line is.
struct Traced {
    span: RoundSpan,
    /// The last that the upstream said of it.
    usage: Option<Usage>,
}

impl Rounds {
    pub(super) fn of(turn: u64) -> Rounds {
        Rounds {
            turn,
            trace: None,
            under_way: None,
        }
    }

    /// From here on the rounds and calls are part of a trace.
    pub(super) fn trace(&mut self, trace: Trace) {
        self.trace = Some(trace);
    }

    /// An earlier attempt at the request is taken up, and its turn.
    pub(super) fn resume(&mut self, turn: u64) {
        self.turn = turn;
    }

    pub(super) fn turn(&self) -> u64 {
        self.turn
    }

    /// A model is asked. Gives the place of that in the trace, if there is one.
    pub(super) fn begin(
        &mut self,
        number: u32,
        agent: &Arc<Agent>,
        source: &Source,
        model: &str,
    ) -> Option<String> {
        let time = Stopwatch::start();
        let span = self.trace.as_ref().map(|trace| {
            let request = ModelRequest {
                round: number,
                agent: &agent.name,
                upstream: &source.name,
                model,
            };
            trace.round(time.begun(), &request)
        });
        let traceparent = span.as_ref().map(RoundSpan::traceparent);
        self.under_way = Some(Round {
            number,
            agent: Arc::clone(agent),
            time,
            traced: span.map(|span| Traced { span, usage: None }),
        });
        traceparent
    }

    /// The upstream says what the answer takes.
    pub(super) fn used(&mut self, usage: &Usage) {
        let round = self.under_way.as_mut();
        if let Some(traced) = round.and_then(|round| round.traced.as_mut()) {
            traced.usage = Some(usage.clone());
        }
    }

    /// The upstream of the round answers again after a rest.
    pub(super) fn recovered(&mut self, source: &Source) {
        let Some(round) = &mut self.under_way else {
            return;
        };
        round.decided(source, Decision::Recovered, None);
        tracing::info!(upstream = &*source.name, "the upstream answers again");
    }

    /// Something was decided about the model request of the round, which failed: one line, one
    /// count and one event for each decision.
    pub(super) fn decided(
        &mut self,
        source: &Source,
        decision: Decision,
        error: &Error,
        pause: Duration,
    ) {
        let Some(round) = &mut self.under_way else {
            return;
        };
        round.decided(source, decision, Some((failure(error), pause)));
        // The last error of a request is counted where it is answered with.
        if decision != Decision::Rests {
            round.agent.metrics.upstream_error(error.kind());
        }
        tracing::warn!(
            agent = round.agent.name,
            upstream = &*source.name,
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
        self.over(outcome, None);
    }

    /// The round is over: its model request has failed.
    pub(super) fn failed(&mut self, failure: ModelFailure) {
        self.over(RoundOutcome::Failed, Some(failure));
    }

    fn over(&mut self, outcome: RoundOutcome, failure: Option<ModelFailure>) {
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
        if let Some(Traced { span, usage }) = round.traced {
            let [input, output] = usage.as_ref().map_or([None; 2], Usage::tokens);
            span.end(duration, outcome, failure, Tokens { input, output });
        }
    }

    /// Where a call of a round belongs.
    pub(super) fn call(&self, round: u32) -> Place {
        Place {
            turn: self.turn,
            round,
            trace: self.trace.clone(),
        }
    }
}

impl Drop for Rounds {
    fn drop(&mut self) {
        self.end(RoundOutcome::Abandoned);
    }
}

impl Round {
    fn decided(
        &mut self,
        source: &Source,
        decision: Decision,
        about: Option<(ModelFailure, Duration)>,
    ) {
        self.agent.metrics.decided(&source.name, decision);
        if let Some(Traced { span, .. }) = &mut self.traced {
            span.decided(self.time.elapsed(), decision, about);
        }
    }
}

/// What is told of an error.
pub(super) fn failure(error: &Error) -> ModelFailure {
    ModelFailure {
        kind: error.kind(),
        status: error.status(),
    }
}

/// Where a call of a service tool belongs.
pub(super) struct Place {
    turn: u64,
    round: u32,
    trace: Option<Trace>,
}

/// One call of a service tool, from its beginning.
pub(super) struct Watched<'a> {
    place: &'a Place,
    time: Stopwatch,
    span: Option<CallSpan>,
}

impl Watched<'_> {
    pub(super) fn begin(place: &Place) -> Watched<'_> {
        let time = Stopwatch::start();
        let trace = place.trace.as_ref();
        let span = trace.map(|trace| trace.call(time.begun()));
        Watched { place, time, span }
    }

    /// Its place in the trace, if there is one.
    pub(super) fn traceparent(&self) -> Option<String> {
        self.span.as_ref().map(CallSpan::traceparent)
    }

    /// The call is over, whoever still waits for it.
    pub(super) fn end(self, bound: &Bound, outcome: Outcome) {
        let Place { turn, round, .. } = *self.place;
        let duration = self.time.elapsed();
        let agent = &bound.agent;
        let call = ServiceCall {
            service: &bound.service_name,
            tool: bound.series(),
            outcome: outcome.as_str(),
            completed: outcome == Outcome::Completed,
            duration,
        };
        agent.metrics.service_call(&call);
        tracing::info!(
            turn = TurnName::of(turn).as_str(),
            agent = agent.name,
            service = bound.service_name,
            tool = bound.own_name,
            outcome = outcome.as_str(),
            round,
            duration_us = micros(duration),
            "service call"
        );
        if let Some(span) = self.span {
            span.end(&call, &agent.name, round);
        }
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
