//! `POST /v1/chat/completions`.
//!
//! A request is read, turned into an order, and driven. The first thing that comes of it decides
//! how the caller is answered: an error is an HTTP error (contract S3), everything else opens
//! the answer, whole or streamed.
//!
//! Invariant: both forms say the same, and neither says anything that the drive did not.

mod delivery;
mod stream;
mod whole;

use std::sync::Arc;
use std::time::Duration;

use actix_web::http::Version;
use actix_web::http::header::{self, HeaderName, HeaderValue};
use actix_web::web::{Data, Payload};
use actix_web::{HttpRequest, HttpResponse};
use bytestring::ByteString;

use super::body;
use super::exchange::{Exchange, Outcome, Shared, random_id};
use super::problem::Problem;
use crate::drive::{self, Drive, Event, Failure, Order};
use crate::wire::Raw;
use crate::wire::chunk::{FinishReason, Heading};
use crate::wire::request::{ChatRequest, Field};

/// How long a stream may be silent before a comment keeps it alive (contract S2).
const KEEP_ALIVE_AFTER: Duration = Duration::from_secs(15);

/// The header that says that a call is handed back although its arguments do not fit (A6).
const UNREPAIRED: (&str, &str) = ("x-handback-arguments", "unrepaired");

/// The header that says that a turn goes on without its hidden part (K3).
const LOST: (&str, &str) = ("x-handback-continuation", "lost");

/// The header that tells a client library not to send a request again: a tool with side effects
/// has been run for it (K7), or the fault is one that only the operator can mend.
const DO_NOT_RETRY: (&str, &str) = ("x-should-retry", "false");

/// What every piece of one answer repeats.
struct Answer {
    id: String,
    created: u64,
    model: ByteString,
    include_usage: bool,
}

impl Answer {
    fn heading(&self) -> Heading<'_> {
        Heading {
            id: &self.id,
            created: self.created,
            model: &self.model,
        }
    }
}

/// Answers one request.
pub async fn complete(
    request: HttpRequest,
    payload: Payload,
    shared: Data<Arc<Shared>>,
) -> HttpResponse {
    let mut exchange = Exchange::begin(&request, &shared);
    exchange.trace(&request);
    let (drive, answer) = match open(&request, payload, &mut exchange).await {
        Ok(opened) => opened,
        Err(problem) => return exchange.refuse(&problem),
    };
    if exchange.stream {
        stream::respond(
            drive,
            answer,
            exchange,
            request.version() > Version::HTTP_10,
        )
        .await
    } else {
        whole::respond(drive, &answer, exchange).await
    }
}

/// Reads a request and starts what it asks for.
async fn open(
    request: &HttpRequest,
    payload: Payload,
    exchange: &mut Exchange,
) -> Result<(Box<Drive>, Answer), Problem> {
    let caller = exchange.admit(request)?;
    let shared = Arc::clone(exchange.shared());
    let body = body::read(request, payload, shared.max_body).await?;
    exchange.request_bytes = body.len();
    let chat = ChatRequest::parse(body.clone())?;
    let found = shared
        .roster
        .find(&chat.model)
        .filter(|_| caller.may_use(&chat.model));
    let found = found
        .cloned()
        .ok_or_else(|| Problem::model_not_found(&chat.model))?;
    exchange.agent = Some(found.label);
    exchange.stream = chat.stream;
    let answer = Answer {
        id: random_id("chatcmpl-"),
        created: drive::now_seconds(),
        model: chat.model.clone(),
        include_usage: chat.include_usage,
    };
    let header = |name: &str| {
        let value = request.headers().get(name);
        value.map(|value| value.as_bytes().to_vec())
    };
    let mut drive = Drive::start(Order {
        agent: found.agent,
        team: found.team,
        model: chat.model,
        messages: chat.messages,
        tools: chat.tools,
        tool_choice: chat.tool_choice,
        tool_choice_strings: caller.tool_choice_strings(),
        fields: upstream_fields(chat.fields, chat.stream, chat.stream_options),
        authorization: header(header::AUTHORIZATION.as_str()),
        idempotency_key: header("idempotency-key").filter(|key| !key.is_empty()),
        key: caller.name().to_owned(),
        patient: !chat.stream,
        body,
        common: Arc::clone(shared.roster.common()),
    })
    .await?;
    exchange.opened(&mut drive);
    let mended = drive.mended();
    shared.metrics.dropped_results.inc_by(mended.dropped as u64);
    shared
        .metrics
        .placeholders
        .inc_by(mended.placeholders as u64);
    Ok((drive, answer))
}

/// The caller's fields, and how the model is to answer: as the caller is to be answered, always
/// said out loud, since servers differ in what they do unasked.
fn upstream_fields(mut fields: Vec<Field>, stream: bool, options: Option<Raw>) -> Vec<Field> {
    let stream = if stream { "true" } else { "false" };
    fields.push(Field {
        key: ByteString::from_static("stream"),
        value: Raw::literal(stream),
    });
    fields.extend(options.map(|value| Field {
        key: ByteString::from_static("stream_options"),
        value,
    }));
    fields
}

/// Counts a failure; gives the caller's view of it. What an upstream says of a request can quote
/// it, and stays out of the log.
fn failed(failure: &Failure, exchange: &Exchange) -> Problem {
    let problem = Problem::from(failure);
    if let Failure::Upstream(error) = failure {
        exchange
            .shared()
            .metrics
            .upstream_errors
            .with_label_values(&[error.kind()])
            .inc();
        let status = error.status();
        tracing::warn!(
            request_id = exchange.id(),
            kind = error.kind(),
            status,
            "model request failed"
        );
    }
    problem
}

/// Refuses with a failure before anything of an answer was sent.
fn refuse(failure: &Failure, drive: &Drive, exchange: Exchange) -> HttpResponse {
    let problem = failed(failure, &exchange);
    let mut response = exchange.refuse(&problem);
    if drive.wrote() || problem.is_operators() {
        let (name, value) = DO_NOT_RETRY;
        response.headers_mut().insert(
            HeaderName::from_static(name),
            HeaderValue::from_static(value),
        );
    }
    response
}

/// The outcome of an answer that is complete.
fn outcome(finish: FinishReason) -> Outcome {
    if finish == FinishReason::ToolCalls {
        Outcome::HandedBack
    } else {
        Outcome::Answered
    }
}

/// Whether the event ends the answer with arguments that do not fit.
fn is_unrepaired(event: &Event) -> bool {
    matches!(event, Event::Answered(answered) if answered.unrepaired)
}
