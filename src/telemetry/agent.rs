//! What an agent does, counted: its rounds, and the calls of its service tools.

use std::time::Duration;

use prometheus::{Histogram, HistogramVec, IntCounterVec};

use super::Metrics;

/// The series of one agent. Those of its rounds are looked up once, so that a request without
/// service tools looks up none.
#[derive(Clone, Debug)]
pub struct AgentMetrics {
    agent: String,
    abandoned: Histogram,
    answered: Histogram,
    failed: Histogram,
    service_calls: IntCounterVec,
    service_durations: HistogramVec,
    decisions: IntCounterVec,
    upstream_errors: IntCounterVec,
}

/// What was decided about an upstream that failed (contract U5).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Decision {
    /// The agent's next fallback is asked.
    FellBack,
    /// It answers again after a rest.
    Recovered,
    /// The request is made again.
    Repeated,
    /// It is left alone for a while.
    Rests,
}

impl Decision {
    /// The word for logs and metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Decision::FellBack => "fell_back",
            Decision::Recovered => "recovered",
            Decision::Repeated => "repeated",
            Decision::Rests => "rests",
        }
    }
}

/// How a round ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum RoundOutcome {
    /// Before the end of the answer: the caller went away, or the time of the turn was up.
    Abandoned,
    /// With an answer.
    Answered,
    /// With a model request that failed.
    Failed,
}

impl RoundOutcome {
    /// The word for logs and metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            RoundOutcome::Abandoned => "abandoned",
            RoundOutcome::Answered => "answered",
            RoundOutcome::Failed => "failed",
        }
    }
}

/// A call of a service tool that is over.
#[derive(Clone, Copy, Debug)]
pub struct ServiceCall<'a> {
    /// The service, as it is configured.
    pub service: &'a str,
    /// The tool. A name that the operator has written: a server that lists its own tools could
    /// make up a series with every name.
    pub tool: &'a str,
    /// How it ended.
    pub outcome: &'a str,
    /// Whether that was with a result.
    pub completed: bool,
    /// How long it took.
    pub duration: Duration,
}

impl Metrics {
    /// The series of an agent.
    pub fn agent(&self, name: &str) -> AgentMetrics {
        let rounds =
            |outcome: RoundOutcome| self.rounds.with_label_values(&[name, outcome.as_str()]);
        AgentMetrics {
            agent: name.to_owned(),
            abandoned: rounds(RoundOutcome::Abandoned),
            answered: rounds(RoundOutcome::Answered),
            failed: rounds(RoundOutcome::Failed),
            service_calls: self.service_calls.clone(),
            service_durations: self.service_durations.clone(),
            decisions: self.decisions.clone(),
            upstream_errors: self.upstream_errors.clone(),
        }
    }
}

impl AgentMetrics {
    /// A round is over.
    pub fn round(&self, outcome: RoundOutcome, duration: Duration) {
        let series = match outcome {
            RoundOutcome::Abandoned => &self.abandoned,
            RoundOutcome::Answered => &self.answered,
            RoundOutcome::Failed => &self.failed,
        };
        series.observe(duration.as_secs_f64());
    }

    /// Something was decided about an upstream.
    pub fn decided(&self, upstream: &str, decision: Decision) {
        let labels = [&*self.agent, upstream, decision.as_str()];
        self.decisions.with_label_values(&labels).inc();
    }

    /// A model request failed that was not the last.
    pub fn upstream_error(&self, kind: &str) {
        self.upstream_errors.with_label_values(&[kind]).inc();
    }

    /// A call of a service tool is over.
    pub fn service_call(&self, call: &ServiceCall<'_>) {
        let labels = [&*self.agent, call.service, call.tool, call.outcome];
        self.service_calls.with_label_values(&labels).inc();
        self.service_durations
            .with_label_values(&[call.service, call.tool])
            .observe(call.duration.as_secs_f64());
    }
}
