//! Folds whatever a caller got into one shape, so that one expectation serves a whole answer and
//! a stream, and checks on the way what [`super::conformance`] cannot see in a single body or
//! event: the contract's rules for ids and arguments (A2) and for the order of a stream (S1, S3).
//!
//! The shape: `status`; `message`, `finish_reason`, `usage` and other keys of the answer;
//! `error` if there is one; `streamed`, whether an event stream carried it; `chunks`, how many.

use serde_json::{Map, Value, json};

use super::caller::Reply;
use super::sse;
use super::stream::Stream;

/// How external calls are to arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Calls {
    /// Checked, and each whole in one chunk (A6, S1).
    Checked,
    /// As the model writes them: unchecked, and forwarded in pieces (S5).
    Forwarded,
}

/// Folds a reply, or says which rule it breaks.
pub(crate) fn fold(reply: &Reply, calls: Calls) -> Result<Value, String> {
    if reply.header("x-request-id").is_empty() {
        return Err("no x-request-id header".to_owned());
    }
    if reply.broken {
        return Err("the connection broke inside the body".to_owned());
    }
    let content_type = reply.header("content-type");
    if content_type.starts_with("text/event-stream") {
        return folded_stream(reply, calls);
    }
    if !content_type.starts_with("application/json") {
        return Err(format!("the content type is {content_type:?}"));
    }
    let body: Value = serde_json::from_slice(&reply.body)
        .map_err(|error| format!("the body is not JSON ({error})"))?;
    if (200..300).contains(&reply.status) {
        return folded_completion(reply.status, &body, calls);
    }
    Ok(json!({"status": reply.status, "streamed": false, "error": body["error"]}))
}

fn folded_completion(status: u16, body: &Value, calls: Calls) -> Result<Value, String> {
    let mut answer = body.as_object().ok_or("the answer is no object")?.clone();
    let choice = answer.remove("choices").unwrap_or_default()[0].take();
    let message = choice["message"].as_object().ok_or("no message")?;
    checked_finish(&choice["finish_reason"], message)?;
    checked_calls(message, calls)?;
    answer.insert("status".to_owned(), json!(status));
    answer.insert("streamed".to_owned(), json!(false));
    answer.insert("message".to_owned(), choice["message"].clone());
    answer.insert("finish_reason".to_owned(), choice["finish_reason"].clone());
    Ok(Value::Object(answer))
}

fn folded_stream(reply: &Reply, calls: Calls) -> Result<Value, String> {
    if reply.status != 200 {
        return Err(format!("an event stream with status {}", reply.status));
    }
    let mut stream = Stream::new(calls);
    for (position, event) in sse::events(&reply.body)?.iter().enumerate() {
        stream
            .take(event)
            .map_err(|broken| format!("event {position}: {broken}"))?;
    }
    stream.end(reply.status)
}

/// Finish reason and calls have to agree (A3).
pub(crate) fn checked_finish(reason: &Value, message: &Map<String, Value>) -> Result<(), String> {
    let calls = message.get("tool_calls");
    if (reason == "tool_calls") != calls.is_some() {
        return Err(format!("finish reason {reason} with calls {calls:?}"));
    }
    Ok(())
}

/// The calls of a message are ones that a caller can answer (A2).
pub(crate) fn checked_calls(message: &Map<String, Value>, mode: Calls) -> Result<(), String> {
    let mut ids = Vec::new();
    let calls = message.get("tool_calls").and_then(Value::as_array);
    for call in calls.into_iter().flatten() {
        let id = call["id"].as_str().unwrap_or_default();
        if ids.contains(&id) {
            return Err(format!("two calls with the id {id:?}"));
        }
        ids.push(id);
        let arguments = call["function"]["arguments"].as_str().unwrap_or_default();
        let parsed = serde_json::from_str::<Map<String, Value>>(arguments);
        if mode == Calls::Checked && parsed.is_err() {
            return Err(format!("arguments that are no JSON object: {arguments:?}"));
        }
    }
    Ok(())
}
