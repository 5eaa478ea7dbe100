//! What stands in each span.

use std::borrow::Cow;
use std::time::{Duration, SystemTime};

use opentelemetry::trace::{
    Span as _, SpanBuilder, SpanKind, Status, TraceContextExt, Tracer as _,
};
use opentelemetry::{Array, Context, KeyValue, StringValue, Value};
use opentelemetry_sdk::trace::{SdkTracer, Span};

use super::LONGEST_TEXT;
use super::told::{ModelFailure, ModelRequest, Request, Tokens};
use crate::telemetry::{Decision, RoundOutcome, ServiceCall};

// The names of the semantic conventions: general ones, and those for generative AI.
const AGENT: &str = "gen_ai.agent.name";
const ERROR: &str = "error.type";
const FINISH: &str = "gen_ai.response.finish_reasons";
const INPUT_TOKENS: &str = "gen_ai.usage.input_tokens";
const MODEL: &str = "gen_ai.request.model";
const OPERATION: &str = "gen_ai.operation.name";
const OUTPUT_TOKENS: &str = "gen_ai.usage.output_tokens";
const PROVIDER: &str = "gen_ai.provider.name";
const STATUS: &str = "http.response.status_code";
const TOOL: &str = "gen_ai.tool.name";

// What they have no name for.
const KEY: &str = "handback.key";
const OUTCOME: &str = "handback.outcome";
const PAUSE: &str = "handback.pause_ms";
const REQUEST_ID: &str = "handback.request_id";
const ROUND: &str = "handback.round";
const ROUNDS: &str = "handback.rounds";
const SERVICE: &str = "handback.service";
const STREAM: &str = "handback.stream";
const TURN: &str = "handback.turn";

/// A request under way.
pub(super) struct RequestSpan(Open);

impl RequestSpan {
    pub(super) fn begin(below: &Below<'_>) -> RequestSpan {
        RequestSpan(below.begin("chat", SpanKind::Server, Vec::new()))
    }

    /// What its rounds and calls are below.
    pub(super) fn context(&self) -> Context {
        Context::new().with_remote_span_context(self.0.span.span_context().clone())
    }

    pub(super) fn end(self, request: &Request<'_>) {
        let mut open = self.0;
        if let Some(agent) = request.agent {
            open.span.update_name(format!("chat {agent}"));
        }
        open.set([
            KeyValue::new(OPERATION, "invoke_agent"),
            text(REQUEST_ID, request.id),
            KeyValue::new(STREAM, request.stream),
            count(STATUS, request.status),
            KeyValue::new(OUTCOME, request.outcome),
            count(ROUNDS, request.rounds),
        ]);
        let named = [
            (AGENT, request.agent),
            (KEY, request.key),
            (TURN, request.turn),
        ];
        for (key, name) in named {
            open.set(name.map(|name| text(key, name)));
        }
        open.set([match request.detail {
            Ok(finish) => KeyValue::new(FINISH, list(finish)),
            Err(code) => text(ERROR, code),
        }]);
        // What is the caller's fault is none of the server's (semantic conventions for HTTP).
        if request.failed {
            open.span.set_status(Status::error(""));
        }
        open.end(request.duration);
    }
}

/// A round under way.
pub struct RoundSpan(Open);

impl RoundSpan {
    pub(super) fn begin(below: &Below<'_>, request: &ModelRequest<'_>) -> RoundSpan {
        let attributes = vec![
            KeyValue::new(OPERATION, "chat"),
            text(AGENT, request.agent),
            text(PROVIDER, request.upstream),
            text(MODEL, request.model),
            count(ROUND, request.round),
        ];
        let name = format!("round {}", request.round);
        RoundSpan(below.begin(name, SpanKind::Client, attributes))
    }

    /// Its place in the trace, for the upstream.
    pub fn traceparent(&self) -> String {
        self.0.traceparent()
    }

    /// Something was decided, `after` its beginning; with a pause, about a failure.
    pub fn decided(
        &mut self,
        after: Duration,
        decision: Decision,
        about: Option<(ModelFailure, Duration)>,
    ) {
        let mut attributes = Vec::new();
        if let Some((failure, pause)) = about {
            attributes.extend(of_failure(failure));
            let pause = u64::try_from(pause.as_millis()).unwrap_or(u64::MAX);
            attributes.push(count(PAUSE, pause));
        }
        let Open { span, start } = &mut self.0;
        span.add_event_with_timestamp(decision.as_str(), *start + after, attributes);
    }

    /// It is over: how, and why if it failed.
    pub fn end(
        self,
        duration: Duration,
        outcome: RoundOutcome,
        failure: Option<ModelFailure>,
        tokens: Tokens,
    ) {
        let mut open = self.0;
        let counts = [(INPUT_TOKENS, tokens.input), (OUTPUT_TOKENS, tokens.output)];
        for (key, tokens) in counts {
            open.set(tokens.map(|tokens| count(key, tokens)));
        }
        open.set([KeyValue::new(OUTCOME, outcome.as_str())]);
        if let Some(failure) = failure {
            open.set(of_failure(failure));
            open.span.set_status(Status::error(failure.kind));
        }
        open.end(duration);
    }
}

/// A call of a service tool under way.
pub struct CallSpan(Open);

impl CallSpan {
    pub(super) fn begin(below: &Below<'_>) -> CallSpan {
        CallSpan(below.begin("call", SpanKind::Internal, Vec::new()))
    }

    /// Its place in the trace, for the service.
    pub fn traceparent(&self) -> String {
        self.0.traceparent()
    }

    /// It is over; it was one of this agent and round.
    pub fn end(self, call: &ServiceCall<'_>, agent: &str, round: u32) {
        let mut open = self.0;
        let name = format!("call {}.{}", call.service, call.tool);
        open.span.update_name(name);
        open.set([
            KeyValue::new(OPERATION, "execute_tool"),
            text(AGENT, agent),
            text(TOOL, call.tool),
            text(SERVICE, call.service),
            count(ROUND, round),
            text(OUTCOME, call.outcome),
        ]);
        if !call.completed {
            open.set([text(ERROR, call.outcome)]);
            open.span.set_status(Status::error(call.outcome.to_owned()));
        }
        open.end(call.duration);
    }
}

/// Where a span begins: below what, and when.
pub(super) struct Below<'a> {
    pub(super) tracer: &'a SdkTracer,
    pub(super) parent: &'a Context,
    pub(super) start: SystemTime,
}

impl Below<'_> {
    fn begin(
        &self,
        name: impl Into<Cow<'static, str>>,
        kind: SpanKind,
        attributes: Vec<KeyValue>,
    ) -> Open {
        let builder = SpanBuilder::from_name(name)
            .with_kind(kind)
            .with_start_time(self.start)
            .with_attributes(attributes);
        Open {
            span: Box::new(self.tracer.build_with_context(builder, self.parent)),
            start: self.start,
        }
    }
}

/// A span under way.
struct Open {
    span: Box<Span>,
    start: SystemTime,
}

impl Open {
    /// W3C Trace Context, "traceparent": version, trace, span, and that it is sampled.
    fn traceparent(&self) -> String {
        let context = self.span.span_context();
        format!("00-{}-{}-01", context.trace_id(), context.span_id())
    }

    fn set(&mut self, attributes: impl IntoIterator<Item = KeyValue>) {
        self.span.set_attributes(attributes);
    }

    fn end(mut self, duration: Duration) {
        self.span.end_with_timestamp(self.start + duration);
    }
}

fn of_failure(failure: ModelFailure) -> impl Iterator<Item = KeyValue> {
    let answered = failure.status != 0;
    let status = answered.then(|| count(STATUS, failure.status));
    std::iter::once(KeyValue::new(ERROR, failure.kind)).chain(status)
}

fn text(key: &'static str, value: &str) -> KeyValue {
    KeyValue::new(key, cut(value).to_owned())
}

fn list(value: &str) -> Value {
    Value::Array(Array::String(vec![StringValue::from(
        cut(value).to_owned(),
    )]))
}

fn count(key: &'static str, value: impl Into<u64>) -> KeyValue {
    KeyValue::new(key, i64::try_from(value.into()).unwrap_or(i64::MAX))
}

/// A text that is not longer than any may be, whole characters.
fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(LONGEST_TEXT)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut_on_a_character() {
        assert_eq!(cut("gpt-5-mini"), "gpt-5-mini");
        let text = format!("a{}", "\u{e9}".repeat(LONGEST_TEXT));
        assert_eq!(cut(&text).len(), LONGEST_TEXT - 1);
    }
}
