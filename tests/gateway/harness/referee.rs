//! What holds for every request that reaches an upstream, whatever the case: it is one that the
//! API reference and the strictest servers accept.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::gateway::{UPSTREAM_KEY, UPSTREAM_MODEL};
use super::http::Request;

/// The longest call id that the API reference allows.
const LONGEST_CALL_ID: usize = 40;

/// Checks a request that the upstream got for a streamed or a whole answer.
pub(crate) fn check(request: &Request, streamed: bool) -> Result<(), String> {
    let line = format!("{} {}", request.method, request.target);
    if line != "POST /v1/chat/completions" {
        return Err(format!("the upstream was asked {line}"));
    }
    let content_type = request.header("content-type").unwrap_or_default();
    if !content_type.starts_with("application/json") {
        return Err(format!(
            "the upstream got the content type {content_type:?}"
        ));
    }
    let body: Value = serde_json::from_slice(&request.body)
        .map_err(|error| format!("the upstream got broken JSON ({error})"))?;
    check_fields(&body, streamed)?;
    check_tools(&body)?;
    check_messages(&body["messages"])
}

/// Checks that the upstream was shown the key, or the headers that a case names instead.
pub(crate) fn check_headers(
    request: &Request,
    expected: &BTreeMap<String, Option<String>>,
) -> Result<(), String> {
    let usual = BTreeMap::from([(
        "authorization".to_owned(),
        Some(format!("Bearer {UPSTREAM_KEY}")),
    )]);
    let expected = if expected.is_empty() {
        &usual
    } else {
        expected
    };
    for (name, value) in expected {
        let shown = request.header(name);
        if shown != value.as_deref() {
            return Err(format!("the upstream was shown {name}: {shown:?}"));
        }
    }
    Ok(())
}

fn check_fields(body: &Value, streamed: bool) -> Result<(), String> {
    if body["stream"] != json!(streamed) {
        return Err(format!("stream is {}, not {streamed}", body["stream"]));
    }
    if !streamed && body.get("stream_options").is_some() {
        return Err("stream options without a stream".to_owned());
    }
    if body["model"] != UPSTREAM_MODEL {
        return Err(format!("the model is {}", body["model"]));
    }
    Ok(())
}

fn check_tools(body: &Value) -> Result<(), String> {
    let Some(tools) = body.get("tools") else {
        for needs_tools in ["tool_choice", "parallel_tool_calls"] {
            if body.get(needs_tools).is_some() {
                return Err(format!("{needs_tools} without tools"));
            }
        }
        return Ok(());
    };
    let tools = tools.as_array().filter(|tools| !tools.is_empty());
    let tools = tools.ok_or_else(|| format!("tools are {}", body["tools"]))?;
    let mut names = BTreeSet::new();
    for tool in tools {
        let name = tool["function"]["name"].as_str().unwrap_or_default();
        if !names.insert(name) {
            return Err(format!("two tools named {name:?}"));
        }
        let parameters = &tool["function"]["parameters"];
        if parameters["type"] == "object" && !parameters["properties"].is_object() {
            return Err(format!("the tool {name:?} has no properties: {parameters}"));
        }
    }
    match body.get("tool_choice") {
        None => Ok(()),
        // For servers that know strings only.
        Some(choice) if choice == "required" && names.len() == 1 => Ok(()),
        Some(choice) if names.contains(choice["function"]["name"].as_str().unwrap_or_default()) => {
            Ok(())
        }
        Some(choice) => Err(format!("tool_choice is {choice}")),
    }
}

/// Each call is followed by its result, and nothing else is a result.
fn check_messages(messages: &Value) -> Result<(), String> {
    let messages = messages.as_array().ok_or("no messages")?;
    let mut due: Vec<&str> = Vec::new();
    for (position, message) in messages.iter().enumerate() {
        let place = format!("messages[{position}]");
        if message.get("id").is_some() {
            return Err(format!("{place} has an id"));
        }
        if message["role"] == "tool" {
            let id = message["tool_call_id"].as_str().unwrap_or_default();
            if due.first() != Some(&id) {
                return Err(format!("{place} is a result of {id:?}, due were {due:?}"));
            }
            due.remove(0);
            continue;
        }
        if !due.is_empty() {
            return Err(format!("{place} comes before the results of {due:?}"));
        }
        due = calls_of(message).map_err(|broken| format!("{place}: {broken}"))?;
    }
    if due.is_empty() {
        return Ok(());
    }
    Err(format!("the results of {due:?} are missing at the end"))
}

/// The ids of a message's calls.
fn calls_of(message: &Value) -> Result<Vec<&str>, String> {
    let Some(calls) = message.get("tool_calls") else {
        return Ok(Vec::new());
    };
    let calls = calls.as_array().filter(|calls| !calls.is_empty());
    let calls = calls.ok_or("tool_calls that hold no call")?;
    let mut ids: Vec<&str> = Vec::new();
    for call in calls {
        let id = call["id"].as_str().unwrap_or_default();
        if id.is_empty() || id.len() > LONGEST_CALL_ID || ids.contains(&id) {
            return Err(format!("the call id {id:?} after {ids:?}"));
        }
        if !call["function"]["arguments"].is_string() {
            return Err(format!("arguments that are no string: {call}"));
        }
        ids.push(id);
    }
    Ok(ids)
}
