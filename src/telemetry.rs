//! What the operator sees: metrics, and one log line per request.
//!
//! Log lines are JSON on standard error. They are gathered in memory and written together, a
//! moment later, by a thread of their own, so that a request pays for no system call.
//!
//! Invariant: no content of a conversation, no key and no URL of an upstream in either.

use std::io::Write;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

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

/// What is logged where nothing else is asked for: not the server library's own steps.
const FILTER: &str = "info,actix_server=warn,actix_http=off";

/// Sets up logging. `filter` is a directive such as `info` or `handback=debug,warn`.
pub fn log(filter: Option<&str>) -> LogLines {
    let lines = LogLines::default();
    let writer = lines.clone();
    let filter = tracing_subscriber::EnvFilter::try_new(filter.unwrap_or(FILTER))
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new(FILTER));
    let subscriber = tracing_subscriber::fmt()
        .json()
        .flatten_event(true)
        .with_current_span(false)
        .with_span_list(false)
        .with_target(false)
        .with_env_filter(filter)
        .with_writer(move || writer.clone())
        .finish();
    // A second call, in a test, keeps the first subscriber.
    let _ = tracing::subscriber::set_global_default(subscriber);
    lines.start();
    lines
}

/// How long a line may wait for others.
const GATHER: Duration = Duration::from_millis(50);
/// Bytes that may wait; further lines are dropped and counted, since a request must not wait for
/// a reader of its log.
const WAITING_BYTES: usize = 4 * 1024 * 1024;

/// Log lines on their way to standard error.
#[derive(Clone, Debug, Default)]
pub struct LogLines(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    waiting: Mutex<Waiting>,
    wake: Condvar,
}

#[derive(Debug, Default)]
struct Waiting {
    text: Vec<u8>,
    dropped: u64,
}

impl LogLines {
    /// Writes what is waiting. Called when the process ends.
    pub fn flush(&self) {
        let waiting = std::mem::take(&mut *self.lock());
        write_out(&waiting);
    }

    fn start(&self) {
        let lines = self.clone();
        let thread = std::thread::Builder::new().name("log".to_owned());
        // Without the thread, lines wait until the end of the process.
        let _ = thread.spawn(move || lines.write_forever());
    }

    fn write_forever(&self) {
        loop {
            let mut waiting = self.lock();
            while waiting.text.is_empty() {
                waiting = self
                    .0
                    .wake
                    .wait(waiting)
                    .unwrap_or_else(PoisonError::into_inner);
            }
            // Nobody notifies while there is text: this is a pause in which more of it gathers.
            let (mut waiting, _) = self
                .0
                .wake
                .wait_timeout(waiting, GATHER)
                .unwrap_or_else(PoisonError::into_inner);
            let out = std::mem::take(&mut *waiting);
            drop(waiting);
            write_out(&out);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.0
            .waiting
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

fn write_out(waiting: &Waiting) {
    let mut out = std::io::stderr().lock();
    // There is nowhere to report it to that standard error cannot be written.
    let _ = out.write_all(&waiting.text);
    if waiting.dropped > 0 {
        let _ = writeln!(
            out,
            "{{\"level\":\"WARN\",\"message\":\"log lines dropped\",\"lines\":{}}}",
            waiting.dropped
        );
    }
}

impl Write for LogLines {
    fn write(&mut self, line: &[u8]) -> std::io::Result<usize> {
        let mut waiting = self.lock();
        let first = waiting.text.is_empty();
        if waiting.text.len() + line.len() > WAITING_BYTES {
            waiting.dropped += 1;
        } else {
            waiting.text.extend_from_slice(line);
        }
        drop(waiting);
        if first {
            self.0.wake.notify_one();
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
