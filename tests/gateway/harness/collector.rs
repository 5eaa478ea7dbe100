//! A collector of traces: takes spans as OTLP over HTTP, and keeps them.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue, any_value};
use opentelemetry_proto::tonic::trace::v1::Span as Sent;
use prost::Message as _;
use serde_json::{Value, json};

use super::script::Answer;
use super::upstream::Upstream;

/// The key that spans come with, which nobody else may ever see.
pub(crate) const COLLECTOR_KEY: &str = "collector-s3cret-key";

/// A running collector. Dropping it stops it.
pub(crate) struct Collector(Upstream);

/// A span as it was received.
#[derive(Clone, Debug)]
pub(crate) struct Span {
    pub(crate) name: String,
    pub(crate) kind: i32,
    /// In hexadecimal digits, as `traceparent` has it.
    pub(crate) trace: String,
    pub(crate) id: String,
    /// Empty at the top of a trace.
    pub(crate) parent: String,
    /// In nanoseconds since the Unix epoch.
    pub(crate) begun: u64,
    pub(crate) ended: u64,
    pub(crate) attributes: BTreeMap<String, Value>,
    pub(crate) events: Vec<(String, BTreeMap<String, Value>)>,
    /// Whether its status is that of an error.
    pub(crate) failed: bool,
}

impl Collector {
    /// A collector that takes everything.
    pub(crate) async fn start() -> Self {
        Self(Upstream::playing([taken()]).await)
    }

    /// From now on it answers like this; the last one repeats.
    pub(crate) fn play(&self, answers: impl IntoIterator<Item = Answer>) {
        self.0.play(answers);
    }

    /// Where it listens.
    pub(crate) fn authority(&self) -> String {
        self.0.authority()
    }

    /// The section of the configuration that sends spans here, with further lines.
    pub(crate) fn toml(&self, lines: &str) -> String {
        toml(&self.authority(), lines)
    }

    /// Everything that it was sent, as bytes.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let requests = self.0.requests();
        let bodies = requests.into_iter().map(|request| request.body);
        bodies.flatten().collect()
    }

    /// Everything that it was sent, in the order in which it began.
    pub(crate) fn spans(&self) -> Vec<Span> {
        let mut spans = Vec::new();
        for request in self.0.requests() {
            assert_eq!(request.target, "/v1/traces");
            let expected = format!("Bearer {COLLECTOR_KEY}");
            assert_eq!(request.header("authorization"), Some(expected.as_str()));
            let content_type = request.header("content-type");
            assert_eq!(content_type, Some("application/x-protobuf"));
            let sent = ExportTraceServiceRequest::decode(request.body.as_slice());
            for of_resource in sent.expect("it is OTLP").resource_spans {
                let resource = of_resource.resource.expect("spans say whose they are");
                let resource = attributes(&resource.attributes);
                assert_eq!(resource["service.name"], "handback-test", "{resource:?}");
                let scopes = of_resource.scope_spans.into_iter();
                spans.extend(scopes.flat_map(|scope| scope.spans));
            }
        }
        let mut spans: Vec<Span> = spans.into_iter().map(received).collect();
        spans.sort_by_key(|span| span.begun);
        spans
    }
}

/// The section of the configuration that sends spans to an address.
pub(crate) fn toml(authority: &str, lines: &str) -> String {
    format!(
        "[telemetry]\ntraces = \"http://{authority}/v1/traces\"\nservice = \"handback-test\"\n\
         headers = {{ authorization = \"Bearer {COLLECTOR_KEY}\" }}\n{lines}\n"
    )
}

/// What a collector says that has taken everything.
pub(crate) fn taken() -> Answer {
    Answer::body(200, "application/x-protobuf", "")
}

impl Span {
    /// What its request to somebody else has to bear.
    pub(crate) fn traceparent(&self) -> String {
        format!("00-{}-{}-01", self.trace, self.id)
    }

    /// An attribute, null if there is none.
    pub(crate) fn get(&self, key: &str) -> &Value {
        self.attributes.get(key).unwrap_or(&Value::Null)
    }
}

fn received(sent: Sent) -> Span {
    let events = sent.events.into_iter();
    let events = events.map(|event| (event.name, attributes(&event.attributes)));
    Span {
        name: sent.name,
        kind: sent.kind,
        trace: hex(&sent.trace_id),
        id: hex(&sent.span_id),
        parent: hex(&sent.parent_span_id),
        begun: sent.start_time_unix_nano,
        ended: sent.end_time_unix_nano,
        attributes: attributes(&sent.attributes),
        events: events.collect(),
        failed: sent.status.is_some_and(|status| status.code == 2),
    }
}

fn attributes(sent: &[KeyValue]) -> BTreeMap<String, Value> {
    let pair = |pair: &KeyValue| (pair.key.clone(), value(pair.value.as_ref()));
    sent.iter().map(pair).collect()
}

fn value(sent: Option<&AnyValue>) -> Value {
    match sent.and_then(|value| value.value.as_ref()) {
        Some(any_value::Value::StringValue(text)) => json!(text),
        Some(any_value::Value::BoolValue(flag)) => json!(flag),
        Some(any_value::Value::IntValue(number)) => json!(number),
        Some(any_value::Value::ArrayValue(list)) => {
            list.values.iter().map(|item| value(Some(item))).collect()
        }
        other => panic!("{other:?} is no value that the gateway sends"),
    }
}

fn hex(bytes: &[u8]) -> String {
    let mut text = String::new();
    for byte in bytes {
        let _ = write!(text, "{byte:02x}");
    }
    text
}
