//! Traces: what happened in a turn, and when, in OpenTelemetry's terms.
//!
//! | span | kind | what |
//! |---|---|---|
//! | `chat AGENT` | server | a request, below the span that its caller names in `traceparent` |
//! | `round N` | client | a model request and its answer; what was decided about one that failed is an event |
//! | `call SERVICE.TOOL` | internal | a call of a service tool |
//!
//! Attributes have the names of the semantic conventions for generative AI where there is one, and
//! begin with `handback.` otherwise. The spans of two requests of one turn are found by
//! `handback.turn`, which is the turn's name in the log.
//!
//! Whether a request is traced is its caller's decision, if it has a trace. Else the number of the
//! turn decides, so that requests that the log has as one turn are traced together.
//!
//! Spans are made where metrics and log lines are, of the same words and durations. Those of one
//! request share the reading of the wall clock at its beginning: none lies outside its parent
//! because the clock was set.
//!
//! Invariant: no content of a conversation, no arguments, results and ids of calls, no key and no
//! address of an upstream in a span. What callers can make up is cut (`LONGEST_TEXT`).
//!
//! Invariant: where the operator wants no traces, a request costs the look whether they are wanted
//! and nothing else.
//!
//! Deliberately absent: `tracestate`, which would carry what other vendors wrote from callers to
//! upstreams.

mod export;
mod span;
mod told;

use std::sync::Arc;
use std::time::{Instant, SystemTime};

use opentelemetry::Context;
use opentelemetry::propagation::{Extractor, TextMapPropagator};
use opentelemetry::trace::TraceContextExt;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::SdkTracer;

pub use export::{ExportError, Exporter};
pub use span::{CallSpan, RoundSpan};
pub use told::{ModelFailure, ModelRequest, Request, Tokens};

use span::{Below, RequestSpan};

/// Longest text of an attribute, in bytes.
const LONGEST_TEXT: usize = 256;

/// The header that names the caller's span (W3C Trace Context).
const TRACEPARENT: &str = "traceparent";

/// Makes the spans of this process.
#[derive(Clone, Debug)]
pub struct Traces {
    tracer: SdkTracer,
    /// The share of turns that is traced.
    sample: f64,
}

impl Traces {
    /// A request begins, at this moment of both clocks. `traceparent` as it came.
    pub fn request(
        &self,
        traceparent: Option<&str>,
        begun: Instant,
        now: SystemTime,
    ) -> RequestTrace {
        let caller = traceparent.map_or_else(Context::new, |header| {
            TraceContextPropagator::new()
                .extract_with_context(&Context::new(), &Traceparent(header))
        });
        RequestTrace {
            traces: self.clone(),
            clocks: Clocks { begun, now },
            caller,
            stage: Stage::Begun,
        }
    }
}

/// Whether a turn is one of the share that is traced. Its number is as good as random.
fn takes(sample: f64, turn: u64) -> bool {
    let part = u32::try_from(turn >> 32).unwrap_or(u32::MAX);
    f64::from(part) / (f64::from(u32::MAX) + 1.0) < sample
}

/// The trace of one request.
pub struct RequestTrace {
    traces: Traces,
    clocks: Clocks,
    /// The caller's span, if it named one.
    caller: Context,
    stage: Stage,
}

enum Stage {
    /// It is not known yet whether it is traced.
    Begun,
    Traced(RequestSpan),
    Untraced,
}

impl RequestTrace {
    /// Its turn is known: what the rounds and calls of it hang on, if it is traced.
    pub fn open(&mut self, turn: u64) -> Option<Trace> {
        self.decide(turn);
        let Stage::Traced(span) = &self.stage else {
            return None;
        };
        Some(Trace(Arc::new(Parent {
            tracer: self.traces.tracer.clone(),
            context: span.context(),
            clocks: self.clocks,
        })))
    }

    /// It is over. One that was refused before its turn began counts as a turn of its own.
    pub fn end(mut self, request: &Request<'_>) {
        if matches!(self.stage, Stage::Begun) {
            self.decide(rand::random());
        }
        if let Stage::Traced(span) = self.stage {
            span.end(request);
        }
    }

    fn decide(&mut self, turn: u64) {
        let caller = self.caller.span().span_context().clone();
        let traced = if caller.is_valid() {
            caller.is_sampled()
        } else {
            takes(self.traces.sample, turn)
        };
        self.stage = if traced {
            Stage::Traced(RequestSpan::begin(&Below {
                tracer: &self.traces.tracer,
                parent: &self.caller,
                start: self.clocks.now,
            }))
        } else {
            Stage::Untraced
        };
    }
}

/// What the rounds and calls of a request that is traced hang on.
#[derive(Clone)]
pub struct Trace(Arc<Parent>);

struct Parent {
    tracer: SdkTracer,
    context: Context,
    clocks: Clocks,
}

impl Trace {
    /// A round begins.
    pub fn round(&self, begun: Instant, request: &ModelRequest<'_>) -> RoundSpan {
        RoundSpan::begin(&self.below(begun), request)
    }

    /// A call of a service tool begins.
    pub fn call(&self, begun: Instant) -> CallSpan {
        CallSpan::begin(&self.below(begun))
    }

    fn below(&self, begun: Instant) -> Below<'_> {
        Below {
            tracer: &self.0.tracer,
            parent: &self.0.context,
            start: self.0.clocks.at(begun),
        }
    }
}

/// One moment by both clocks.
#[derive(Clone, Copy)]
struct Clocks {
    begun: Instant,
    now: SystemTime,
}

impl Clocks {
    /// A later moment by the wall clock.
    fn at(self, moment: Instant) -> SystemTime {
        self.now + moment.saturating_duration_since(self.begun)
    }
}

/// A request's headers, as far as traces are concerned.
struct Traceparent<'a>(&'a str);

impl Extractor for Traceparent<'_> {
    fn get(&self, key: &str) -> Option<&str> {
        (key == TRACEPARENT).then_some(self.0)
    }

    fn keys(&self) -> Vec<&str> {
        vec![TRACEPARENT]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_of_the_turns_is_taken_by_their_numbers() {
        for turn in [0, 1, 1 << 62, u64::MAX] {
            assert!(takes(1.0, turn), "{turn}");
            assert!(!takes(0.0, turn), "{turn}");
            assert_eq!(takes(0.25, turn), turn < 1 << 62, "{turn}");
        }
    }
}
