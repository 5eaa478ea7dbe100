//! How a case writes down one answer of the upstream, and how it goes over the wire.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::delivery::Delivery;
use super::script::{Answer, Step, chunk, completion};

/// One answer: a `message` for both wires, events, JSON, or any body.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Play {
    #[serde(default = "ok")]
    pub(crate) status: u16,
    #[serde(default)]
    pub(crate) headers: BTreeMap<String, String>,
    /// In place of the content type that goes with the body; empty for none at all.
    content_type: Option<String>,

    /// A message, sent whole or as one delta.
    pub(crate) message: Option<Value>,
    /// The finish reason that goes with `message`.
    #[serde(default = "stop")]
    finish: Value,
    /// The usage that goes with `message`.
    usage: Option<Value>,
    /// Further fields of the answer or of each chunk that go with `message`.
    #[serde(default)]
    beside: Map<String, Value>,

    /// The events of a stream; see [`event_text`].
    pub(crate) events: Option<Vec<Value>>,
    /// What ends a line of the stream.
    #[serde(default = "line_feed")]
    line_end: String,

    /// A JSON body.
    pub(crate) json: Option<Value>,
    /// Any body.
    pub(crate) body: Option<String>,
    /// A byte order mark stands before the body.
    #[serde(default)]
    byte_order_mark: bool,
}

/// What the upstream speaks where a case leaves it open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wire {
    Json,
    Events,
}

fn ok() -> u16 {
    200
}

fn stop() -> Value {
    json!("stop")
}

fn line_feed() -> String {
    "\n".to_owned()
}

impl Play {
    /// The answer as the scripted upstream plays it.
    pub(crate) fn answer(&self, wire: Wire, delivery: Delivery) -> Answer {
        let (usual_type, body) = self.content(wire);
        let mut bytes = Vec::new();
        if self.byte_order_mark {
            bytes.extend_from_slice("\u{feff}".as_bytes());
        }
        bytes.extend_from_slice(body.as_bytes());
        let content_type = self.content_type.as_deref().unwrap_or(usual_type);
        let mut headers: Vec<(String, String)> = self.headers.clone().into_iter().collect();
        if !content_type.is_empty() {
            headers.push(("content-type".to_owned(), content_type.to_owned()));
        }
        Answer {
            status: self.status,
            headers,
            steps: delivery
                .writes(&bytes)
                .into_iter()
                .map(Step::Write)
                .collect(),
            ..Answer::stream(Vec::new())
        }
    }

    fn content(&self, wire: Wire) -> (&'static str, String) {
        const EVENT_STREAM: &str = "text/event-stream";
        const JSON: &str = "application/json";
        match (&self.message, &self.events, &self.json, &self.body) {
            (Some(message), None, None, None) => match wire {
                Wire::Json => (JSON, self.whole(message).to_string()),
                Wire::Events => (EVENT_STREAM, self.stream(&self.as_events(message))),
            },
            (None, Some(events), None, None) => (EVENT_STREAM, self.stream(events)),
            (None, None, Some(json), None) => (JSON, json.to_string()),
            (None, None, None, Some(body)) => (JSON, body.clone()),
            _ => panic!("an answer is one of message, events, json and body: {self:?}"),
        }
    }

    fn whole(&self, message: &Value) -> Value {
        let mut answer = completion(message, "");
        answer["choices"][0]["finish_reason"] = self.finish.clone();
        if let Some(usage) = &self.usage {
            answer["usage"] = usage.clone();
        }
        for (key, value) in &self.beside {
            answer[key] = value.clone();
        }
        answer
    }

    /// A message as one delta: its calls get an index, as the reference has it for deltas.
    fn as_events(&self, message: &Value) -> Vec<Value> {
        let mut delta = message.clone();
        if let Some(calls) = delta["tool_calls"].as_array_mut() {
            for (index, call) in calls.iter_mut().enumerate() {
                call["index"] = json!(index);
            }
        } else if delta["tool_calls"].is_null() && message.get("tool_calls").is_none() {
            delta
                .as_object_mut()
                .map(|delta| delta.remove("tool_calls"));
        }
        let mut first = chunk(&json!([{"index": 0, "delta": delta, "finish_reason": null}]));
        let mut last = chunk(&json!([{"index": 0, "delta": {}, "finish_reason": self.finish}]));
        for (key, value) in &self.beside {
            first[key] = value.clone();
            last[key] = value.clone();
        }
        let mut events = vec![json!({"chunk": first}), json!({"chunk": last})];
        if let Some(usage) = &self.usage {
            let mut closing = chunk(&json!([]));
            closing["usage"] = usage.clone();
            events.push(json!({"chunk": closing}));
        }
        events.push(json!("[DONE]"));
        events
    }

    fn stream(&self, events: &[Value]) -> String {
        let text: String = events.iter().map(event_text).collect();
        text.replace('\n', &self.line_end)
    }
}

/// An event of a case as text.
///
/// - `"[DONE]"`, or any text: the data of an event;
/// - `{"lines": [..]}`: the lines of a block as they are;
/// - `{"chunk": ..}`: a chunk as it is;
/// - `{"delta": .., "finish": .., "beside": {..}}`: a chunk with one choice, all keys optional,
///   and further fields of the chunk.
fn event_text(event: &Value) -> String {
    if let Some(data) = event.as_str() {
        return format!("data: {data}\n\n");
    }
    if let Some(lines) = event["lines"].as_array() {
        let lines: Vec<&str> = lines.iter().filter_map(Value::as_str).collect();
        return lines.join("\n") + "\n\n";
    }
    if let Some(chunk) = event.get("chunk") {
        return format!("data: {chunk}\n\n");
    }
    for key in event.as_object().into_iter().flat_map(Map::keys) {
        let known = ["delta", "finish", "beside"].contains(&key.as_str());
        assert!(known, "an event has no {key}: {event}");
    }
    let delta = event.get("delta").cloned().unwrap_or_else(|| json!({}));
    let mut chunk = chunk(&json!([
        {"index": 0, "delta": delta, "finish_reason": event["finish"]}
    ]));
    for (key, value) in event["beside"].as_object().into_iter().flatten() {
        chunk[key] = value.clone();
    }
    format!("data: {chunk}\n\n")
}
