//! What the operator sees: metrics, and log lines: one for each request, one for each call of a
//! service tool. Where it is asked for, the same as spans of a trace ([`traces`]).
//!
//! Log lines are JSON on standard error ([`log()`]). They are gathered in memory and written
//! together, a moment later, by a thread of their own ([`LogLines`]), so that a request pays for
//! no system call.
//!
//! Invariant: no content of a conversation, no key and no URL of an upstream in any of them.

mod agent;
mod lines;
mod log;
pub mod settings;
pub mod traces;

pub use agent::{AgentMetrics, Decision, RoundOutcome, ServiceCall};
pub use lines::LogLines;
pub use log::log;

use prometheus::core::Collector;
use prometheus::{
    HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGauge, Opts, Registry, TextEncoder,
};

/// Everything that is counted.
#[derive(Clone, Debug)]
pub struct Metrics {
    registry: Registry,
    /// Requests by agent and outcome.
    pub requests: IntCounterVec,
    /// Their durations, from the first byte read to the last one given to the connection.
    pub durations: HistogramVec,
    /// Model requests that failed, by kind of failure.
    pub upstream_errors: IntCounterVec,
    /// What was decided about upstreams that failed, by agent, upstream and decision.
    decisions: IntCounterVec,
    /// Requests that are being answered.
    pub in_flight: IntGauge,
    /// Durations of rounds, by agent and outcome.
    rounds: HistogramVec,
    /// Calls of service tools by agent, service, tool and outcome.
    service_calls: IntCounterVec,
    /// Their durations, by service and tool.
    service_durations: HistogramVec,
    /// Results of a history that no call of it bears (contract P4).
    pub dropped_results: IntCounter,
    /// Calls of a history that got a placeholder (contract P3, P7).
    pub placeholders: IntCounter,
    /// Handbacks with arguments that do not fit their schema (contract A6).
    pub unrepaired: IntCounter,
}

/// Buckets of the durations, in seconds: a refusal takes microseconds, a turn minutes.
const BUCKETS: [f64; 14] = [
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 20.0, 60.0, 300.0,
];

impl Metrics {
    /// Registers all of them.
    pub fn new() -> Result<Metrics, prometheus::Error> {
        let new = Registry::new();
        Ok(Metrics {
            requests: counters(
                &new,
                "handback_requests_total",
                "Requests by agent and outcome.",
                &["agent", "outcome"],
            )?,
            durations: histograms(
                &new,
                "handback_request_duration_seconds",
                "Durations of requests by agent and outcome.",
                &["agent", "outcome"],
            )?,
            upstream_errors: counters(
                &new,
                "handback_upstream_errors_total",
                "Model requests that failed, by kind.",
                &["kind"],
            )?,
            decisions: counters(
                &new,
                "handback_upstream_decisions_total",
                "Decisions about upstreams that failed (repeated, fell_back, rests, recovered) by agent and upstream.",
                &["agent", "upstream", "decision"],
            )?,
            in_flight: registered(
                &new,
                IntGauge::new(
                    "handback_requests_in_flight",
                    "Requests that are being answered.",
                )?,
            )?,
            rounds: histograms(
                &new,
                "handback_round_duration_seconds",
                "Durations of rounds, from the model request to the end of its answer, by agent and outcome.",
                &["agent", "outcome"],
            )?,
            service_calls: counters(
                &new,
                "handback_service_calls_total",
                "Calls of service tools by agent, service, tool and outcome.",
                &["agent", "service", "tool", "outcome"],
            )?,
            service_durations: histograms(
                &new,
                "handback_service_call_duration_seconds",
                "Durations of calls of service tools by service and tool.",
                &["service", "tool"],
            )?,
            dropped_results: counter(
                &new,
                "handback_dropped_results_total",
                "Results that no call of the history bears.",
            )?,
            placeholders: counter(
                &new,
                "handback_placeholder_results_total",
                "Calls of a history without a result.",
            )?,
            unrepaired: counter(
                &new,
                "handback_unrepaired_handbacks_total",
                "Handbacks with arguments that do not fit their schema.",
            )?,
            registry: new,
        })
    }

    /// Spans of traces by what became of them: registered where there are any.
    fn spans(&self) -> Result<IntCounterVec, prometheus::Error> {
        counters(
            &self.registry,
            "handback_spans_total",
            "Spans of traces by outcome (exported, failed, dropped).",
            &["outcome"],
        )
    }

    /// All of them in Prometheus' text format.
    pub fn text(&self) -> String {
        TextEncoder::new()
            .encode_to_string(&self.registry.gather())
            .unwrap_or_default()
    }
}

fn registered<C: Collector + Clone + 'static>(
    registry: &Registry,
    collector: C,
) -> Result<C, prometheus::Error> {
    registry.register(Box::new(collector.clone()))?;
    Ok(collector)
}

fn counter(registry: &Registry, name: &str, help: &str) -> Result<IntCounter, prometheus::Error> {
    registered(registry, IntCounter::new(name, help)?)
}

fn counters(
    registry: &Registry,
    name: &str,
    help: &str,
    labels: &[&str],
) -> Result<IntCounterVec, prometheus::Error> {
    registered(registry, IntCounterVec::new(Opts::new(name, help), labels)?)
}

fn histograms(
    registry: &Registry,
    name: &str,
    help: &str,
    labels: &[&str],
) -> Result<HistogramVec, prometheus::Error> {
    let options = HistogramOpts::new(name, help).buckets(BUCKETS.to_vec());
    registered(registry, HistogramVec::new(options, labels)?)
}
