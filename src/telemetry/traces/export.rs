//! Spans on their way to the operator's collector: OTLP over HTTP, in batches, on a thread of their
//! own.
//!
//! No request waits for it. Spans that the collector does not take, after a few repetitions, are
//! lost, and so are those that end while too many wait; the metrics count both. The log has the
//! first failure of a row and then one in a while, never the collector's headers.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use opentelemetry::trace::TracerProvider as _;
use opentelemetry::{Context, InstrumentationScope, KeyValue};
use opentelemetry_otlp::{ExporterBuildError, Protocol, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{
    BatchConfigBuilder, BatchSpanProcessor, Sampler, SdkTracerProvider, Span, SpanData,
    SpanExporter, SpanProcessor,
};
use prometheus::IntCounter;
use reqwest::redirect::Policy;

use super::Traces;
use crate::secret::{self, NotAHeader};
use crate::telemetry::Metrics;
use crate::telemetry::settings::TracesSettings;

/// Spans that may wait.
const WAITING: usize = 2048;
/// Spans that are sent together.
const BATCH: usize = 512;
/// How long a span may wait for others.
const GATHER: Duration = Duration::from_secs(1);
/// How long a batch may take, its repetitions included.
const SENDING: Duration = Duration::from_secs(5);
/// How long the end of the process waits for the spans that are left.
const FAREWELL: Duration = Duration::from_secs(3);
/// Of failures in a row the first is told, and then every one of so many.
const TOLD: u64 = 100;

/// Why spans cannot be sent at all.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The exporter cannot be set up.
    #[error("the exporter cannot be set up: {0}")]
    Build(#[from] ExporterBuildError),
    /// The HTTP client cannot be set up.
    #[error("the HTTP client cannot be set up")]
    Client(#[from] reqwest::Error),
    /// A header holds characters that HTTP forbids.
    #[error(transparent)]
    Header(#[from] NotAHeader),
    /// The metrics of it cannot be registered.
    #[error("the metrics cannot be registered: {0}")]
    Metrics(#[from] prometheus::Error),
}

/// Sends the spans of this process. Those that are left when it is dropped are sent within a few
/// seconds, or never.
pub struct Exporter {
    provider: SdkTracerProvider,
    sample: f64,
}

impl Exporter {
    /// Starts the thread that sends. Nothing is connected to yet.
    pub fn start(settings: &TracesSettings, metrics: &Metrics) -> Result<Exporter, ExportError> {
        // The client sets up a runtime of its own, which it cannot on a thread that has one.
        let otlp = thread::scope(|scope| scope.spawn(|| otlp(settings)).join())
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        let spans = metrics.spans()?;
        let spans = |outcome| spans.with_label_values(&[outcome]);
        let waiting = Arc::new(AtomicUsize::new(0));
        let sending = Sending {
            otlp,
            waiting: Arc::clone(&waiting),
            failures: AtomicU64::new(0),
            exported: spans("exported"),
            failed: spans("failed"),
        };
        let config = BatchConfigBuilder::default()
            .with_max_queue_size(WAITING)
            .with_max_export_batch_size(BATCH)
            .with_scheduled_delay(GATHER);
        let batches = BatchSpanProcessor::builder(sending)
            .with_batch_config(config.build())
            .build();
        let bounded = Bounded {
            batches,
            waiting,
            dropped: spans("dropped"),
        };
        let resource = Resource::builder()
            .with_service_name(settings.service.clone())
            .with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")));
        let provider = SdkTracerProvider::builder()
            .with_resource(resource.build())
            // Spans are only made of what is traced.
            .with_sampler(Sampler::AlwaysOn)
            .with_span_processor(bounded)
            .build();
        Ok(Exporter {
            provider,
            sample: settings.sample,
        })
    }

    /// What makes the spans.
    pub fn traces(&self) -> Traces {
        let scope = InstrumentationScope::builder("handback")
            .with_version(env!("CARGO_PKG_VERSION"))
            .build();
        Traces {
            tracer: self.provider.tracer_with_scope(scope),
            sample: self.sample,
        }
    }
}

impl Drop for Exporter {
    fn drop(&mut self) {
        if self.provider.shutdown_with_timeout(FAREWELL).is_err() {
            tracing::warn!("the last spans could not be sent before the end");
        }
    }
}

fn otlp(settings: &TracesSettings) -> Result<opentelemetry_otlp::SpanExporter, ExportError> {
    let client = reqwest::blocking::Client::builder()
        .default_headers(secret::headers(&settings.headers)?)
        // A key goes where the operator wrote, and nowhere else.
        .redirect(Policy::none())
        .timeout(SENDING)
        .build()?;
    let exporter = opentelemetry_otlp::SpanExporter::builder()
        .with_http()
        .with_http_client(client)
        .with_protocol(Protocol::HttpBinary)
        .with_endpoint(settings.endpoint.as_str())
        .with_timeout(SENDING);
    Ok(exporter.build()?)
}

/// Counts the spans that wait, and drops those that are too many. The SDK drops them too, without
/// a word.
#[derive(Debug)]
struct Bounded {
    batches: BatchSpanProcessor,
    waiting: Arc<AtomicUsize>,
    dropped: IntCounter,
}

impl SpanProcessor for Bounded {
    fn on_start(&self, span: &mut Span, context: &Context) {
        self.batches.on_start(span, context);
    }

    fn on_end(&self, span: SpanData) {
        if self.waiting.fetch_add(1, Ordering::Relaxed) < WAITING {
            self.batches.on_end(span);
        } else {
            self.waiting.fetch_sub(1, Ordering::Relaxed);
            self.dropped.inc();
        }
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.batches.force_flush()
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.batches.shutdown_with_timeout(timeout)
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.batches.set_resource(resource);
    }
}

/// Sends batches, counts them, and tells the log.
#[derive(Debug)]
struct Sending {
    otlp: opentelemetry_otlp::SpanExporter,
    waiting: Arc<AtomicUsize>,
    /// In a row, until now.
    failures: AtomicU64,
    exported: IntCounter,
    failed: IntCounter,
}

impl SpanExporter for Sending {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let spans = batch.len();
        self.waiting.fetch_sub(spans, Ordering::Relaxed);
        let sent = self.otlp.export(batch).await;
        let spans = u64::try_from(spans).unwrap_or(u64::MAX);
        match &sent {
            Ok(()) => {
                self.exported.inc_by(spans);
                let failures = self.failures.swap(0, Ordering::Relaxed);
                if failures > 0 {
                    tracing::info!(failures, "spans can be sent again");
                }
            }
            Err(error) => {
                self.failed.inc_by(spans);
                let before = self.failures.fetch_add(1, Ordering::Relaxed);
                if before.is_multiple_of(TOLD) {
                    let failures = before + 1;
                    tracing::warn!(failures, spans, %error, "spans could not be sent");
                }
            }
        }
        sent
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.otlp.shutdown_with_timeout(timeout)
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.otlp.set_resource(resource);
    }
}
