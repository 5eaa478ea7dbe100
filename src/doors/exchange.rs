//! What every request has: an id, a place in the metrics, a line in the log.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use actix_web::http::header::{self, HeaderName, HeaderValue};
use actix_web::{HttpRequest, HttpResponse};
use bytestring::ByteString;

use super::problem::{Problem, Public};
use crate::access::{Access, Caller};
use crate::drive::{self, Drive, Roster, TurnName};
use crate::telemetry::Metrics;
use crate::telemetry::traces::{self, RequestTrace, Traces};
use crate::wire::write::hex_into;

/// What the handlers of one worker share.
pub struct Shared {
    /// Who may call.
    pub access: Arc<Access>,
    /// The agents, with this worker's connections.
    pub roster: Arc<Roster>,
    /// What is counted.
    pub metrics: Metrics,
    /// What makes spans, if the operator wants any.
    pub traces: Option<Traces>,
    /// Largest body, in bytes.
    pub max_body: usize,
    /// Set once the process is to end.
    pub draining: Arc<AtomicBool>,
    /// When the process began, in seconds since the Unix epoch: `created` of its models.
    pub started: u64,
}

/// The header that names a request, in and out.
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The header that names a caller's span.
const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");

/// Longest id that is taken over from a caller, in characters.
const ID_CHARS: usize = 128;

/// One request from its first byte to its last. Dropped without an end, it is the caller who
/// went away.
pub struct Exchange {
    shared: Arc<Shared>,
    id: HeaderValue,
    begun: Instant,
    /// The agent that is asked, once it is known to exist.
    pub agent: Option<Arc<str>>,
    /// Who asks, once it is known.
    pub caller: Option<Caller>,
    /// Whether the answer is streamed.
    pub stream: bool,
    /// The turn that it is a request of, once it is open.
    pub turn: Option<u64>,
    /// Model requests made.
    pub rounds: u32,
    /// Bytes of the request's body.
    pub request_bytes: usize,
    /// Its trace, if it may have one.
    trace: Option<Box<RequestTrace>>,
    ended: bool,
}

/// How a request ended, for metrics: few words, so that there are few series.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Outcome {
    /// With the final answer.
    Answered,
    /// The caller went away.
    Cancelled,
    /// With an error that is not the caller's.
    Failed,
    /// With external calls.
    HandedBack,
    /// With an error of the caller's.
    Refused,
}

impl Outcome {
    fn as_str(self) -> &'static str {
        match self {
            Outcome::Answered => "answered",
            Outcome::Cancelled => "cancelled",
            Outcome::Failed => "failed",
            Outcome::HandedBack => "handed_back",
            Outcome::Refused => "refused",
        }
    }

    fn of_status(status: u16) -> Outcome {
        match status {
            0..400 => Outcome::Answered,
            400..500 => Outcome::Refused,
            _ => Outcome::Failed,
        }
    }
}

impl Exchange {
    /// Begins an exchange. The caller's id is kept if it is fit to be shown.
    pub fn begin(request: &HttpRequest, shared: &Arc<Shared>) -> Exchange {
        shared.metrics.in_flight.inc();
        let given = request
            .headers()
            .get(&REQUEST_ID)
            .filter(|id| is_fit(id))
            .cloned();
        #[expect(
            clippy::disallowed_methods,
            reason = "doors measure how long a request takes"
        )]
        let begun = Instant::now();
        Exchange {
            shared: Arc::clone(shared),
            id: given.unwrap_or_else(fresh_id),
            begun,
            agent: None,
            caller: None,
            stream: false,
            turn: None,
            rounds: 0,
            request_bytes: 0,
            trace: None,
            ended: false,
        }
    }

    /// From here on it may have a trace.
    pub fn trace(&mut self, request: &HttpRequest) {
        let Some(traces) = &self.shared.traces else {
            return;
        };
        let caller = request.headers().get(TRACEPARENT);
        let caller = caller.and_then(|value| value.to_str().ok());
        let trace = traces.request(caller, self.begun, drive::now());
        self.trace = Some(Box::new(trace));
    }

    /// Its turn is open.
    pub fn opened(&mut self, drive: &mut Drive) {
        self.turn = Some(drive.turn());
        let trace = self.trace.as_mut();
        if let Some(trace) = trace.and_then(|trace| trace.open(drive.turn())) {
            drive.trace(trace);
        }
    }

    /// Finds out who asks.
    pub fn admit(&mut self, request: &HttpRequest) -> Result<Caller, Problem> {
        let authorization = request
            .headers()
            .get(header::AUTHORIZATION)
            .map(HeaderValue::as_bytes);
        let caller = self
            .shared
            .access
            .admit(authorization)
            .map_err(|refused| Problem::new(Public::InvalidApiKey, refused.to_string()))?;
        self.caller = Some(caller.clone());
        Ok(caller)
    }

    /// Takes down what has become of the turn.
    pub fn driven(&mut self, drive: &Drive) {
        self.rounds = drive.rounds();
        self.turn = Some(drive.turn());
    }

    /// What the handlers share.
    pub fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// The id for log lines.
    pub fn id(&self) -> &str {
        self.id.to_str().unwrap_or("-")
    }

    /// The id for the response's header.
    pub fn id_header(&self) -> (HeaderName, HeaderValue) {
        (REQUEST_ID, self.id.clone())
    }

    /// Ends with an error response.
    pub fn refuse(mut self, problem: &Problem) -> HttpResponse {
        let code = ByteString::from(problem.code());
        self.end(
            problem.status(),
            Outcome::of_status(problem.status()),
            &code,
        );
        self.respond(problem.response())
    }

    /// Ends with a response that is complete.
    pub fn finish(
        mut self,
        outcome: Outcome,
        detail: &str,
        response: HttpResponse,
    ) -> HttpResponse {
        self.end(response.status().as_u16(), outcome, detail);
        self.respond(response)
    }

    /// Counts and logs the end; `detail` is a finish reason or an error code.
    pub fn end(&mut self, status: u16, outcome: Outcome, detail: &str) {
        if std::mem::replace(&mut self.ended, true) {
            return;
        }
        let metrics = &self.shared.metrics;
        let duration = self.begun.elapsed();
        let agent = self.agent.as_deref().unwrap_or("-");
        let labels = [agent, outcome.as_str()];
        let turn = self.turn.map(TurnName::of);
        metrics.in_flight.dec();
        metrics.requests.with_label_values(&labels).inc();
        metrics
            .durations
            .with_label_values(&labels)
            .observe(duration.as_secs_f64());
        tracing::info!(
            request_id = self.id(),
            key = self.caller.as_ref().map_or("-", Caller::name),
            agent,
            turn = turn.as_ref().map(TurnName::as_str),
            stream = self.stream,
            status,
            outcome = outcome.as_str(),
            detail,
            rounds = self.rounds,
            request_bytes = self.request_bytes,
            duration_us = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX),
            "request"
        );
        if let Some(trace) = self.trace.take() {
            let succeeded = matches!(outcome, Outcome::Answered | Outcome::HandedBack);
            trace.end(&traces::Request {
                id: self.id(),
                agent: self.agent.as_deref(),
                key: self.caller.as_ref().map(Caller::name),
                turn: turn.as_ref().map(TurnName::as_str),
                stream: self.stream,
                status,
                outcome: outcome.as_str(),
                detail: if succeeded { Ok(detail) } else { Err(detail) },
                failed: outcome == Outcome::Failed,
                rounds: self.rounds,
                duration,
            });
        }
    }

    fn respond(&self, mut response: HttpResponse) -> HttpResponse {
        let (name, value) = self.id_header();
        response.headers_mut().insert(name, value);
        response
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        let draining = self.shared.draining.load(Ordering::Relaxed);
        self.end(
            499,
            Outcome::Cancelled,
            if draining {
                "shutting_down"
            } else {
                "caller_gone"
            },
        );
    }
}

/// Of a sane length and of characters that mean nothing to whoever reads headers and logs.
fn is_fit(id: &HeaderValue) -> bool {
    let bytes = id.as_bytes();
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.:/+=@#".contains(byte);
    (1..=ID_CHARS).contains(&bytes.len()) && bytes.iter().all(plain)
}

fn fresh_id() -> HeaderValue {
    HeaderValue::from_str(&random_id("req_")).unwrap_or_else(|_| HeaderValue::from_static("req_"))
}

/// An id that nobody can guess: `prefix` and 32 hexadecimal digits.
pub(super) fn random_id(prefix: &str) -> String {
    let mut id = String::with_capacity(prefix.len() + 32);
    id.push_str(prefix);
    hex_into(&mut id, &rand::random::<[u8; 16]>());
    id
}
