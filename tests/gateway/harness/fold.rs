//! Folds whatever a caller got into one shape, so that one expectation serves a whole answer and
//! a stream, and checks on the way that it keeps the contract's rules for answers (A1, A2), for
//! streams (S1, S3) and for errors.
//!
//! The shape: `status`; `message`, `finish_reason`, `usage` and other keys of the answer;
//! `error` if there is one; `streamed`, whether an event stream carried it; `chunks`, how many.

use serde_json::{Map, Value, json};

use super::caller::Reply;
use super::sse;
use super::stream::Stream;

/// The finish reasons of the API reference that Handback may give.
const FINISH_REASONS: [&str; 4] = ["stop", "length", "tool_calls", "content_filter"];

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
    let error = checked_error(&body)?;
    Ok(json!({"status": reply.status, "streamed": false, "error": error}))
}

/// The error object of a body or of an event: exactly one, with exactly its four keys.
pub(crate) fn checked_error(body: &Value) -> Result<Value, String> {
    let keys: Vec<&String> = body.as_object().into_iter().flat_map(Map::keys).collect();
    if keys != ["error"] {
        return Err(format!("an error body with the keys {keys:?}"));
    }
    let error = body["error"].as_object().ok_or("the error is no object")?;
    let mut keys: Vec<&str> = error.keys().map(String::as_str).collect();
    keys.sort_unstable();
    if keys != ["code", "message", "param", "type"] {
        return Err(format!("an error with the keys {keys:?}"));
    }
    for key in ["message", "type"] {
        if error[key].as_str().is_none_or(str::is_empty) {
            return Err(format!("the error's {key} is {}", error[key]));
        }
    }
    for key in ["param", "code"] {
        if !error[key].is_null() && !error[key].is_string() {
            return Err(format!("the error's {key} is {}", error[key]));
        }
    }
    Ok(body["error"].clone())
}

fn folded_completion(status: u16, body: &Value, calls: Calls) -> Result<Value, String> {
    let mut answer = body.as_object().ok_or("the answer is no object")?.clone();
    checked_envelope(body, "chat.completion")?;
    let choices = answer.remove("choices").unwrap_or_default();
    let [choice] = choices.as_array().map_or(&[][..], Vec::as_slice) else {
        return Err(format!("not exactly one choice: {choices}"));
    };
    if choice["index"] != 0 {
        return Err(format!("the choice's index is {}", choice["index"]));
    }
    let message = choice["message"].as_object().ok_or("no message")?;
    if message.get("role") != Some(&json!("assistant")) || !message.contains_key("content") {
        return Err("a message without role or content".to_owned());
    }
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

/// What whole answers and chunks have in common.
pub(crate) fn checked_envelope(body: &Value, object: &str) -> Result<(), String> {
    if body["object"] != object {
        return Err(format!("the object is {}", body["object"]));
    }
    for key in ["id", "model"] {
        if body[key].as_str().is_none_or(str::is_empty) {
            return Err(format!("the {key} is {}", body[key]));
        }
    }
    if !body["created"].is_u64() {
        return Err(format!("created is {}", body["created"]));
    }
    Ok(())
}

/// Finish reason and calls have to agree (A3).
pub(crate) fn checked_finish(reason: &Value, message: &Map<String, Value>) -> Result<(), String> {
    if !FINISH_REASONS.iter().any(|known| reason == known) {
        return Err(format!("the finish reason is {reason}"));
    }
    let calls = message.get("tool_calls");
    if calls.is_some_and(|calls| calls.as_array().is_none_or(Vec::is_empty)) {
        return Err("tool_calls that hold no call".to_owned());
    }
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
        let id = call["id"].as_str().filter(|id| !id.is_empty());
        let id = id.ok_or_else(|| format!("a call without id: {call}"))?;
        if ids.contains(&id) {
            return Err(format!("two calls with the id {id:?}"));
        }
        ids.push(id);
        if call["type"] != "function" {
            return Err(format!("a call of type {}", call["type"]));
        }
        let function = &call["function"];
        if function["name"].as_str().is_none_or(str::is_empty) {
            return Err(format!("a call without name: {call}"));
        }
        let arguments = function["arguments"].as_str();
        let arguments = arguments.ok_or_else(|| format!("arguments that are no string: {call}"))?;
        let parsed = serde_json::from_str::<Map<String, Value>>(arguments);
        if mode == Calls::Checked && parsed.is_err() {
            return Err(format!("arguments that are no JSON object: {arguments:?}"));
        }
    }
    Ok(())
}
