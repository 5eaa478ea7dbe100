//! Tests of the parts; `tests/script.rs` plays whole conversations.
//!
//! Invariant: no test reads a file, a clock or the environment.

mod conditions;
mod mistakes;
mod refusals;
mod templates;
mod wire;

use serde_json::{Value, json};

use super::{Moment, Script};

const MOMENT: Moment = Moment {
    seed: 7,
    created: 1_764_500_000,
};

/// A request with these messages that offers `tools`.
fn request(messages: &Value, tools: &[&str]) -> Value {
    let tools: Vec<Value> = tools
        .iter()
        .map(|name| json!({ "type": "function", "function": { "name": name } }))
        .collect();
    json!({ "model": "m", "messages": messages, "tools": tools })
}

fn user(text: &str) -> Value {
    json!({ "role": "user", "content": text })
}

fn assistant(text: &str) -> Value {
    json!({ "role": "assistant", "content": text })
}

fn calls(id: &str, tool: &str) -> Value {
    let function = json!({ "name": tool, "arguments": "{}" });
    json!({ "role": "assistant", "content": null,
            "tool_calls": [{ "id": id, "type": "function", "function": function }] })
}

fn result(id: &str, text: &str) -> Value {
    json!({ "role": "tool", "tool_call_id": id, "content": text })
}

/// The one JSON body of the reply and its status.
fn play(script: &str, request: &Value) -> (u16, Value) {
    let script = Script::parse(script, "test").unwrap();
    let reply = script.answer(request.to_string().as_bytes(), MOMENT);
    assert_eq!(reply.content_type, "application/json");
    assert_eq!(reply.body.len(), 1);
    (
        reply.status,
        serde_json::from_slice(&reply.body[0]).unwrap(),
    )
}

/// The text of the answer.
fn said(script: &str, request: &Value) -> String {
    let (status, body) = play(script, request);
    assert_eq!(status, 200, "{body}");
    body["choices"][0]["message"]["content"]
        .as_str()
        .unwrap()
        .to_owned()
}

/// The arguments of the answer's calls, as they are on the wire.
fn called(script: &str, request: &Value) -> Vec<(String, String)> {
    let (status, body) = play(script, request);
    assert_eq!(status, 200, "{body}");
    let calls = body["choices"][0]["message"]["tool_calls"]
        .as_array()
        .unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    calls
        .iter()
        .map(|call| {
            (
                text(&call["function"]["name"]),
                text(&call["function"]["arguments"]),
            )
        })
        .collect()
}
