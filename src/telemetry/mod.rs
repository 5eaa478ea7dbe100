//! What the operator sees: metrics, and one log line per request.
//!
//! Log lines are JSON on standard error ([`log()`]). They are gathered in memory and written
//! together, a moment later, by a thread of their own ([`LogLines`]), so that a request pays for
//! no system call.
//!
//! Invariant: no content of a conversation, no key and no URL of an upstream in either.

mod lines;
mod log;

pub use lines::LogLines;
pub use log::log;

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
    /// Requests that are being answered.
    pub in_flight: IntGauge,
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
        let registry = Registry::new();
        let counter = |name: &str, help: &str| IntCounter::new(name, help);
        let metrics = Metrics {
            requests: IntCounterVec::new(
                Opts::new("handback_requests_total", "Requests by agent and outcome."),
                &["agent", "outcome"],
            )?,
            durations: HistogramVec::new(
                HistogramOpts::new(
                    "handback_request_duration_seconds",
                    "Durations of requests by agent and outcome.",
                )
                .buckets(BUCKETS.to_vec()),
                &["agent", "outcome"],
            )?,
            upstream_errors: IntCounterVec::new(
                Opts::new(
                    "handback_upstream_errors_total",
                    "Model requests that failed, by kind.",
                ),
                &["kind"],
            )?,
            in_flight: IntGauge::new(
                "handback_requests_in_flight",
                "Requests that are being answered.",
            )?,
            dropped_results: counter(
                "handback_dropped_results_total",
                "Results that no call of the history bears.",
            )?,
            placeholders: counter(
                "handback_placeholder_results_total",
                "Calls of a history without a result.",
            )?,
            unrepaired: counter(
                "handback_unrepaired_handbacks_total",
                "Handbacks with arguments that do not fit their schema.",
            )?,
            registry,
        };
        metrics
            .registry
            .register(Box::new(metrics.requests.clone()))?;
        metrics
            .registry
            .register(Box::new(metrics.durations.clone()))?;
        metrics
            .registry
            .register(Box::new(metrics.upstream_errors.clone()))?;
        metrics
            .registry
            .register(Box::new(metrics.in_flight.clone()))?;
        metrics
            .registry
            .register(Box::new(metrics.dropped_results.clone()))?;
        metrics
            .registry
            .register(Box::new(metrics.placeholders.clone()))?;
        metrics
            .registry
            .register(Box::new(metrics.unrepaired.clone()))?;
        Ok(metrics)
    }

    /// All of them in Prometheus' text format.
    pub fn text(&self) -> String {
        TextEncoder::new()
            .encode_to_string(&self.registry.gather())
            .unwrap_or_default()
    }
}
